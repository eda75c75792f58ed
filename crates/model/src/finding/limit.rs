//! Limits on how many findings are reported for one object and for one namespace.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use super::{Finding, Reason, count};
use crate::Origin;

/// The most findings that are shown at once, of all namespaces together.
const MOST_SHOWN: usize = 2000;

/// Keeps the `most` severest findings of each object and adds one that says how many more there
/// are. The findings are sorted before and afterwards.
///
/// Without a limit, an object with thousands of unknown annotations would cause as many lines of
/// the journal and Events.
pub fn limit(findings: &mut Vec<Finding>, most: usize) {
    let are_too_many = |pair: (&Finding, &Finding)| pair.0.origin.object == pair.1.origin.object;
    if !findings.iter().zip(findings.iter().skip(most)).any(are_too_many) {
        return;
    }
    let mut kept = Vec::with_capacity(findings.len());
    for of_object in findings.chunk_by(|one, other| one.origin.object == other.origin.object) {
        let mut severest: Vec<_> = of_object.iter().collect();
        // The sort is stable: findings of equal severity stay in order.
        severest.sort_by_key(|finding| Reverse(finding.severity));
        let more = severest.split_off(severest.len().min(most)).len();
        kept.extend(severest.into_iter().cloned());
        if let (Some(first), 1..) = (of_object.first(), more) {
            let note = format!(
                "{} not shown; correct these first",
                count(more, "more finding of the object is", "more findings of the object are")
            );
            kept.push(Finding::new(Reason::MoreFindings, Origin::object(&first.origin.object), note));
        }
    }
    kept.sort();
    *findings = kept;
}

/// Orders items so that each key (a namespace, for example) has its turn: the first item of each
/// key, then the second of each, and so on.
pub fn in_turn<T, K: Eq + Hash>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut counts = HashMap::new();
    let place = |item| {
        let count = counts.entry(key(&item)).or_insert(0_usize);
        *count += 1;
        (*count, item)
    };
    let mut placed: Vec<_> = items.into_iter().map(place).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, item)| item).collect()
}

/// The findings that are shown, and how many more there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown<'a> {
    /// In the order in which they came.
    pub findings: Vec<&'a Finding>,
    /// How many are left out, by namespace.
    pub left_out: BTreeMap<Arc<str>, usize>,
}

impl<'a> Shown<'a> {
    /// Shows the severest findings: at most `of_namespace` for each namespace, and at most
    /// `MOST_SHOWN` of all.
    pub fn of(findings: &'a [Finding], of_namespace: usize) -> Self {
        Shown::within(findings, of_namespace, MOST_SHOWN)
    }

    fn within(findings: &'a [Finding], of_namespace: usize, most: usize) -> Self {
        let namespace = |finding: &Finding| Arc::clone(&finding.origin.object.namespace);
        let mut severest: Vec<_> = findings.iter().enumerate().collect();
        severest.sort_by_key(|(_, finding)| Reverse(finding.severity));
        let mut counts = HashMap::<_, usize>::new();
        let mut left_out = BTreeMap::<_, usize>::new();
        let mut shown = Vec::new();
        for (place, finding) in in_turn(severest, |(_, finding)| namespace(finding)) {
            let count = counts.entry(&finding.origin.object.namespace).or_default();
            if shown.len() < most && *count < of_namespace {
                *count += 1;
                shown.push((place, finding));
            } else {
                *left_out.entry(namespace(finding)).or_default() += 1;
            }
        }
        shown.sort_by_key(|(place, _)| *place);
        Shown { findings: shown.into_iter().map(|(_, finding)| finding).collect(), left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, Kind, ObjectId};

    fn findings(name: &str, reason: Reason, count: u16) -> Vec<Finding> {
        let object = Arc::new(ObjectId::new(Kind::INGRESS, "shop", name));
        (0..count).map(|number| Finding::new(reason, Origin::field(&object, Field::Rule(number)), "x")).collect()
    }

    fn limited(all: &[Vec<Finding>]) -> Vec<Finding> {
        let mut findings = all.concat();
        findings.sort();
        limit(&mut findings, 50);
        findings
    }

    #[test]
    fn the_severest_findings_of_an_object_are_reported_and_how_many_more_there_are() {
        let bulk = [
            findings("crowd", Reason::UnknownAnnotation, 30_000),
            findings("crowd", Reason::InvalidHost, 7),
            findings("other", Reason::SharedHost, 3),
        ];
        let reported = limited(&bulk);
        assert!(reported.is_sorted());
        let count = |reason| reported.iter().filter(|finding| finding.reason == reason).count();
        assert_eq!([Reason::InvalidHost, Reason::UnknownAnnotation, Reason::SharedHost].map(count), [7, 43, 3]);
        let more: Vec<_> = reported.iter().filter(|finding| finding.reason == Reason::MoreFindings).collect();
        assert!(matches!(&more[..], [more] if more.note.starts_with("29957 more")), "{more:?}");
        let first =
            reported.iter().filter(|finding| finding.reason == Reason::UnknownAnnotation).map(|one| &one.origin.field);
        assert!(first.eq((0..43).map(Field::Rule).collect::<Vec<_>>().iter()), "always the same ones");
    }

    #[test]
    fn fifty_are_reported_one_by_one() {
        let all = findings("busy", Reason::UnknownAnnotation, 50);
        assert_eq!(limited(std::slice::from_ref(&all)), all);
    }

    fn of(namespace: &str, reason: Reason, count: u16) -> Vec<Finding> {
        let object = Arc::new(ObjectId::new(Kind::INGRESS, namespace, "a"));
        (0..count).map(|number| Finding::new(reason, Origin::field(&object, Field::Rule(number)), "x")).collect()
    }

    #[test]
    fn each_namespace_shows_its_severest_and_none_takes_the_place_of_another() {
        let mut all = [
            of("crowd", Reason::UnknownAnnotation, 500),
            of("crowd", Reason::InvalidHost, 3),
            of("heap", Reason::UnknownAnnotation, 500),
            of("victim", Reason::UnknownAnnotation, 2),
        ]
        .concat();
        all.sort();
        for (of_namespace, most, expected) in
            [(10, 100, [10, 10, 2]), (100, 12, [5, 5, 2]), (1000, 2000, [503, 500, 2])]
        {
            let shown = Shown::within(&all, of_namespace, most);
            let count = |namespace: &str| {
                shown.findings.iter().filter(|finding| &*finding.origin.object.namespace == namespace).count()
            };
            assert_eq!(["crowd", "heap", "victim"].map(count), expected);
            assert_eq!(shown.findings.iter().filter(|finding| finding.reason == Reason::InvalidHost).count(), 3);
            assert_eq!(shown.findings.len() + shown.left_out.values().sum::<usize>(), all.len());
            assert_eq!(shown.left_out.get("crowd").copied().unwrap_or(0), 503 - expected[0]);
            assert!(shown.findings.is_sorted());
        }
    }
}
