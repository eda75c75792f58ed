//! How many findings about one object are told; it must not know who reads them.

use std::cmp::Reverse;

use super::{Finding, Reason};
use crate::model::Origin;

/// How many findings about one object are told at most: somebody may write thousands of annotations that nobody knows, and
/// each would be a line of the journal and an Event.
const MOST: usize = 50;

/// Of sorted findings, keeps the severest of each object and says how many more there are; they are sorted again then.
pub fn limit(findings: &mut Vec<Finding>) {
    let is_crowd = |pair: (&Finding, &Finding)| pair.0.origin.object == pair.1.origin.object;
    if !findings.iter().zip(findings.iter().skip(MOST)).any(is_crowd) {
        return;
    }
    let mut kept = Vec::with_capacity(findings.len());
    for of_object in findings.chunk_by(|one, other| one.origin.object == other.origin.object) {
        let mut severest: Vec<_> = of_object.iter().collect();
        // What is equally bad stays in order.
        severest.sort_by_key(|finding| Reverse(finding.severity));
        let more = severest.split_off(severest.len().min(MOST)).len();
        kept.extend(severest.into_iter().cloned());
        if let (Some(first), 1..) = (of_object.first(), more) {
            let note = format!("{more} more findings about the object are not told; mend these first");
            kept.push(Finding::new(Reason::MoreFindings, Origin::object(&first.origin.object), note));
        }
    }
    kept.sort();
    *findings = kept;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Field, Kind, ObjectId};

    fn findings(name: &str, reason: Reason, count: u16) -> Vec<Finding> {
        let object = Arc::new(ObjectId::new(Kind::Ingress, "shop", name));
        (0..count).map(|number| Finding::new(reason, Origin::field(&object, Field::Rule(number)), "x")).collect()
    }

    fn limited(all: &[Vec<Finding>]) -> Vec<Finding> {
        let mut findings = all.concat();
        findings.sort();
        limit(&mut findings);
        findings
    }

    #[test]
    fn the_severest_findings_of_an_object_are_told_and_how_many_more_there_are() {
        let crowd = [
            findings("crowd", Reason::UnknownAnnotation, 30_000),
            findings("crowd", Reason::InvalidHost, 7),
            findings("other", Reason::SharedHost, 3),
        ];
        let told = limited(&crowd);
        assert!(told.is_sorted());
        let count = |reason| told.iter().filter(|finding| finding.reason == reason).count();
        assert_eq!([Reason::InvalidHost, Reason::UnknownAnnotation, Reason::SharedHost].map(count), [7, 43, 3]);
        let more: Vec<_> = told.iter().filter(|finding| finding.reason == Reason::MoreFindings).collect();
        assert!(matches!(&more[..], [more] if more.note.starts_with("29957 more")), "{more:?}");
        let first =
            told.iter().filter(|finding| finding.reason == Reason::UnknownAnnotation).map(|one| &one.origin.field);
        assert!(first.eq((0..43).map(Field::Rule).collect::<Vec<_>>().iter()), "always the same ones");
    }

    #[test]
    fn fifty_are_told_one_by_one() {
        let all = findings("busy", Reason::UnknownAnnotation, 50);
        assert_eq!(limited(std::slice::from_ref(&all)), all);
    }
}
