//! The state of each Ingress of our class, from the result of the last cycle and what nginx
//! serves.

use std::collections::HashSet;
use std::sync::Arc;

use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{Snapshot, Version};
use ingressd_translate::Accepted;

/// How the last cycle judged the newest version of an Ingress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// It is to be served.
    Good,
    /// An earlier version takes its place.
    Earlier,
    /// It cannot be served, and there is no earlier one.
    Refused,
}

/// The judgement of the last cycle about an Ingress of our class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The Ingress.
    pub id: Arc<ObjectId>,
    /// The version that is to be served.
    pub version: Option<Version>,
    pub judged: Judged,
}

/// The state of an Ingress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its newest version is served.
    Served,
    /// Its newest version is served but for some routes, which answer 503 or are left out.
    Partly,
    /// All its routes answer 503, because a fault of the object closes them, or because a Service,
    /// its port or its endpoints are missing; or that keeps a canary from its share.
    Closed,
    /// An earlier version is served, because the newest cannot be.
    LastGood,
    /// Nothing of it is served.
    Refused,
    /// Its newest version is not in force yet: the node is pinned, nginx takes no changes, or a
    /// change is under way.
    Waiting,
}

impl Standing {
    /// All of them.
    pub const ALL: [Standing; 6] = [
        Standing::Served,
        Standing::Partly,
        Standing::Closed,
        Standing::LastGood,
        Standing::Refused,
        Standing::Waiting,
    ];

    /// The words for people and machines.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Served => "ok",
            Standing::Partly => "partly",
            Standing::Closed => "closed",
            Standing::LastGood => "last good",
            Standing::Refused => "refused",
            Standing::Waiting => "waiting",
        }
    }

    /// The state that follows from what nginx serves of it, if anything, and from the last cycle,
    /// if there was one.
    pub fn of(served: Option<&Accepted>, judgement: Option<&Judgement>) -> Self {
        let (Some(accepted), Some(judgement)) = (served, judgement) else {
            return match judgement.map(|judgement| judgement.judged) {
                Some(Judged::Refused) => Standing::Refused,
                _ => Standing::Waiting,
            };
        };
        match judgement.judged {
            Judged::Good if judgement.version.as_ref() != Some(&accepted.version) => Standing::Waiting,
            Judged::Earlier | Judged::Refused => Standing::LastGood,
            Judged::Good if accepted.is_closed() => Standing::Closed,
            Judged::Good if accepted.served == 0 => Standing::Refused,
            Judged::Good if accepted.answering() == 0 => Standing::Closed,
            Judged::Good if accepted.answering_503() > 0 || accepted.served < accepted.routes => Standing::Partly,
            Judged::Good => Standing::Served,
        }
    }
}

/// How a cycle judged each Ingress of our class, sorted by object. `newest` is the state of the
/// source, with earlier versions of objects that it cannot decode; `accepted` is what is to be
/// served of it, sorted.
pub fn judge(newest: &Snapshot, accepted: &[Accepted], findings: &[Finding]) -> Vec<Judgement> {
    let foreign = findings.iter().filter(|finding| finding.reason == Reason::ForeignClass);
    let foreign: HashSet<_> = foreign.map(|finding| &finding.origin.object).collect();
    let unread = newest.left_out.iter().map(|left_out| &left_out.id).filter(|id| id.kind == Kind::Ingress);
    let mut judgements: Vec<_> = newest
        .ingresses
        .iter()
        .map(|stored| &stored.id)
        .chain(unread)
        .filter(|id| !foreign.contains(id))
        .map(|id| judgement(id, newest, accepted))
        .collect();
    judgements.sort_by(|one, other| one.id.cmp(&other.id));
    judgements.dedup_by(|later, first| later.id == first.id);
    judgements
}

fn judgement(id: &Arc<ObjectId>, newest: &Snapshot, accepted: &[Accepted]) -> Judgement {
    let served = find(accepted, id).map(|accepted| &accepted.version);
    let written = newest.ingresses.find(&id.namespace, &id.name).map(|stored| &stored.version);
    let judged = match served {
        None => Judged::Refused,
        Some(_) if newest.left_out(id).is_some() || served != written => Judged::Earlier,
        Some(_) => Judged::Good,
    };
    Judgement { id: Arc::clone(id), version: served.cloned(), judged }
}

/// The object with this identity in a sorted list.
pub fn find<'a>(accepted: &'a [Accepted], id: &ObjectId) -> Option<&'a Accepted> {
    accepted.binary_search_by(|accepted| (*accepted.id).cmp(id)).ok().map(|index| &accepted[index])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::Origin;

    fn id(name: &str) -> Arc<ObjectId> {
        Arc::new(ObjectId::new(Kind::Ingress, "shop", name))
    }

    fn accepted(name: &str, version: &str, served: u32, closed: u32) -> Accepted {
        let version = Version(version.into());
        Accepted { id: id(name), version, hosts: Vec::new(), routes: 2, parts: 0, closed, served, unanswered: 0 }
    }

    #[test]
    fn what_is_served_and_what_was_judged_tell_how_an_object_stands() {
        let judgement = |version: Option<&str>, judged| Judgement {
            id: id("a"),
            version: version.map(|version| Version(version.into())),
            judged,
        };
        let closed = Accepted { routes: 0, ..accepted("a", "2", 0, 1) };
        let unanswered = |unanswered, closed| Accepted { unanswered, ..accepted("a", "2", 2, closed) };
        let good = judgement(Some("2"), Judged::Good);
        for (served, judgement, expected) in [
            (Some(accepted("a", "2", 2, 0)), Some(good.clone()), Standing::Served),
            (Some(accepted("a", "2", 2, 1)), Some(good.clone()), Standing::Partly),
            (Some(accepted("a", "2", 1, 0)), Some(good.clone()), Standing::Partly),
            (Some(closed), Some(good.clone()), Standing::Closed),
            (Some(unanswered(1, 0)), Some(good.clone()), Standing::Partly),
            (Some(unanswered(2, 0)), Some(good.clone()), Standing::Closed),
            (Some(unanswered(2, 1)), Some(good.clone()), Standing::Closed),
            (Some(accepted("a", "2", 0, 0)), Some(good.clone()), Standing::Refused),
            // nginx did not take it, or a generation is pinned.
            (Some(accepted("a", "1", 2, 0)), Some(good.clone()), Standing::Waiting),
            (None, Some(good), Standing::Waiting),
            (Some(accepted("a", "1", 2, 0)), None, Standing::Waiting),
            (Some(accepted("a", "1", 2, 0)), Some(judgement(Some("1"), Judged::Earlier)), Standing::LastGood),
            (Some(accepted("a", "1", 2, 0)), Some(judgement(None, Judged::Refused)), Standing::LastGood),
            (None, Some(judgement(None, Judged::Refused)), Standing::Refused),
            (None, Some(judgement(Some("1"), Judged::Earlier)), Standing::Waiting),
        ] {
            assert_eq!(Standing::of(served.as_ref(), judgement.as_ref()), expected, "{served:?} {judgement:?}");
        }
    }

    #[test]
    fn what_is_another_controllers_is_not_judged_and_what_cannot_be_read_is() {
        let left_out =
            ["unread", "unread-and-new"].map(|name| ingressd_objects::LeftOut { id: id(name), place: None, uid: None });
        let newest = Snapshot { left_out: left_out.into(), ..Snapshot::default() };
        let foreign = Finding::new(Reason::ForeignClass, Origin::object(&id("unread-and-new")), "x");
        let accepted = [accepted("unread", "1", 1, 0)];
        let judged = |findings: &[Finding]| {
            let judgements = judge(&newest, &accepted, findings);
            judgements.iter().map(|judgement| (judgement.id.name.to_string(), judgement.judged)).collect::<Vec<_>>()
        };
        let unread = ("unread".to_owned(), Judged::Earlier);
        assert_eq!(judged(&[]), [unread.clone(), ("unread-and-new".to_owned(), Judged::Refused)]);
        assert_eq!(judged(&[foreign]), [unread]);
    }
}
