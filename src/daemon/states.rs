//! What a cycle adds to the states of objects: first what the gate leaves of them, then the
//! verdict about their newest versions, and at last what nginx serves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use itertools::{EitherOrBoth, Itertools as _};

use ingressd_model::{Kind, ObjectId, ObjectState, ServedVersion, Server, Verdict, WorkingVersion};
use ingressd_nginx::Plan;
use ingressd_objects::Snapshot;

type States = [Arc<ObjectState>];

/// What the gate leaves of them, and `unwritten` of the routes in the model. Routes that the gate
/// left out are not served, and an object without any route is not served either. Whether a route
/// has a backend that answers is known of the whole model only.
pub fn gated<'a>(states: &mut States, plan: &Plan, unwritten: impl Iterator<Item = &'a Arc<ObjectId>>) {
    let served = Server::routes_by_object(plan.model.servers.iter().map(Arc::as_ref));
    let unanswered = plan.model.unanswered_by_object(&plan.tables);
    let unwritten = unwritten.counts();
    for state in states {
        let Some(before) = &state.working else { continue };
        let count = served.get(&*state.id).copied().unwrap_or_default();
        let more = unanswered.get(&*state.id).copied().unwrap_or_default();
        let lost = unwritten.get(&state.id).and_then(|lost| u32::try_from(*lost).ok()).unwrap_or_default();
        let served = count.open + before.parts;
        let unanswered = before.unanswered.saturating_add(more).min(served);
        let (closed, served) = (before.closed.max(count.closed) + lost, served.saturating_sub(lost));
        if (closed, served, unanswered) != (before.closed, before.served, before.unanswered) {
            let working = Arc::new(WorkingVersion { closed, served, unanswered, ..WorkingVersion::clone(before) });
            Arc::make_mut(state).working = Some(working);
        }
    }
}

/// Adds how a cycle judged each object. `newest` is the state of the source, with earlier versions
/// of objects that it cannot decode.
pub fn judge(newest: &Snapshot, states: Vec<Arc<ObjectState>>) -> Vec<Arc<ObjectState>> {
    let unread = newest.left_out.iter().filter(|left_out| left_out.id.kind == Kind::Ingress);
    let all = newest.ingresses.iter().map(|stored| (&stored.id, Some(&stored.version)));
    // What cannot be read has no version.
    let all: BTreeMap<_, _> = all.chain(unread.map(|left_out| (&left_out.id, None))).collect();
    let both = states.into_iter().merge_join_by(all, |state, (id, _)| state.id.cmp(id));
    let judged = both.map(|either| {
        let (mut state, newest) = match either {
            EitherOrBoth::Left(state) => (state, None),
            EitherOrBoth::Both(state, (_, version)) => (state, Some(version)),
            EitherOrBoth::Right((id, _)) => return Arc::new(ObjectState::new(id, Verdict::Refused)),
        };
        let verdict = match (newest, &state.working) {
            _ if !state.is_ours() => state.verdict,
            (None, _) => Verdict::Unjudged,
            (Some(_), None) => Verdict::Refused,
            (Some(newest), Some(working)) if newest == Some(&working.version) => Verdict::Good,
            (Some(_), Some(_)) => Verdict::LastGood,
        };
        if state.verdict != verdict {
            Arc::make_mut(&mut state).verdict = verdict;
        }
        state
    });
    judged.collect()
}

/// Adds what is served of the objects in another list, which are perhaps not in this one.
fn with_served(
    states: &States,
    others: &States,
    mut served: impl FnMut(&ObjectState) -> Option<ServedVersion>,
) -> Vec<Arc<ObjectState>> {
    let both = states.iter().merge_join_by(others, |state, other| state.id.cmp(&other.id));
    let with = both.filter_map(|either| {
        let (state, served) = match either {
            EitherOrBoth::Left(state) => (ObjectState::clone(state), None),
            EitherOrBoth::Both(state, other) => (ObjectState::clone(state), served(other)),
            EitherOrBoth::Right(gone) => (ObjectState::new(&gone.id, Verdict::Unjudged), Some(served(gone)?)),
        };
        Some(Arc::new(ObjectState { served, ..state }))
    });
    with.collect()
}

/// After a failure nginx goes on with what it served `before`.
pub fn unchanged(states: &States, before: &States) -> Vec<Arc<ObjectState>> {
    with_served(states, before, |before| before.served.clone())
}

/// nginx serves the versions that are to be served according to `contents`, or will when it
/// starts. `now` is the time, where it is known to serve them, and `before` what it served, where
/// that is known: otherwise it may have been all of it.
pub fn in_place(
    states: &States,
    contents: &States,
    before: Option<&States>,
    now: Option<Instant>,
) -> Vec<Arc<ObjectState>> {
    let mut earlier = before.unwrap_or_default().iter().peekable();
    let served = |of: &ObjectState| {
        let what = Arc::clone(of.working.as_ref()?);
        while earlier.next_if(|earlier| earlier.id < of.id).is_some() {}
        let known = earlier.next_if(|earlier| earlier.id == of.id).and_then(|known| known.served.as_ref());
        let same = known.filter(|known| known.what.version == what.version && known.what.served > 0);
        let since = same.and_then(|same| same.since).or(now).filter(|_| what.served > 0);
        Some(ServedVersion { since, is_earlier: same.map_or(before.is_none(), |same| same.is_earlier), what })
    };
    with_served(states, contents, served)
}

/// The list, in which each state that is as before is the same, and which is the same itself when
/// all are.
pub fn shared(mut states: Vec<Arc<ObjectState>>, before: &Arc<States>) -> Arc<States> {
    let both = states.iter_mut().merge_join_by(before.iter(), |state, before| state.id.cmp(&before.id));
    let mut is_same = true;
    for either in both {
        match either {
            EitherOrBoth::Both(state, before) if state == before => *state = Arc::clone(before),
            _ => is_same = false,
        }
    }
    if is_same { Arc::clone(before) } else { states.into() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use ingressd_model::Version;
    use ingressd_model::finding::Reason;
    use ingressd_objects::{Ingress, LeftOut, Stored};

    fn id(name: &str) -> Arc<ObjectId> {
        Arc::new(ObjectId::new(Kind::Ingress, "shop", name))
    }

    /// States of objects in these versions with one route each.
    fn states(objects: &[(&str, &str)]) -> Vec<Arc<ObjectState>> {
        let working = |version: &str| WorkingVersion::whole(Version(version.into()), Vec::new(), 1);
        objects.iter().map(|(name, version)| Arc::new(ObjectState::of(&id(name), working(version)))).collect()
    }

    #[test]
    fn the_newest_version_is_judged_and_what_cannot_be_read_has_none() {
        let stored = |name: &str| Stored {
            id: id(name),
            version: Version("2".into()),
            object: Arc::new(Ingress::default()),
            published: None,
            place: None,
        };
        let left_out = ["unread", "unread-and-new"].map(|name| LeftOut { id: id(name), place: None, uid: None });
        let ingresses = ["foreign", "good", "last-good", "refused", "unread"].map(stored);
        let newest =
            Snapshot { ingresses: ingresses.into_iter().collect(), left_out: left_out.into(), ..Snapshot::default() };
        let mut given = states(&[("gone", "1"), ("good", "2"), ("last-good", "1"), ("unread", "2")]);
        let foreign = Verdict::NotOurs(Reason::ForeignClass);
        given.insert(0, Arc::new(ObjectState::new(&id("foreign"), foreign)));
        let judged = judge(&newest, given);
        let expected = [
            ("foreign", foreign),
            ("gone", Verdict::Unjudged),
            ("good", Verdict::Good),
            ("last-good", Verdict::LastGood),
            ("refused", Verdict::Refused),
            ("unread", Verdict::LastGood),
            ("unread-and-new", Verdict::Refused),
        ];
        assert_eq!(judged.iter().map(|state| (&*state.id.name, state.verdict)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn each_version_is_served_since_it_was_first_confirmed_and_what_stays_is_the_same() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let confirm = |objects: &[(&str, &str)], before: Option<&States>, now| {
            let states = states(objects);
            in_place(&states, &states, before, Some(now))
        };
        let first: Arc<States> = confirm(&[("a", "1"), ("b", "1"), ("d", "1")], None, at(1)).into();
        let second = confirm(&[("b", "1"), ("c", "1"), ("d", "2")], Some(&first), at(2));
        let served = second.iter().map(|state| (&*state.id.name, state.served.as_ref().unwrap()));
        let since: Vec<_> = served.map(|(name, served)| (name, served.since.unwrap(), served.is_earlier)).collect();
        assert_eq!(since, [("b", at(1), true), ("c", at(2), false), ("d", at(2), false)]);
        let second = shared(second, &first);
        assert!(Arc::ptr_eq(&first[1], &second[0]) && !Arc::ptr_eq(&first[2], &second[2]));
        let third = confirm(&[("b", "1"), ("c", "1"), ("d", "2")], Some(&second), at(3));
        assert!(Arc::ptr_eq(&shared(third, &second), &second));
        // What nginx did not take changes nothing of what it serves.
        let failed = unchanged(&states(&[("b", "2"), ("e", "1")]), &second);
        let served = |state: &ObjectState| state.in_place().map(|version| version.version.0.to_string());
        let failed: Vec<_> = failed.iter().map(|state| (&*state.id.name, served(state))).collect();
        let some = |version: &str| Some(version.to_owned());
        assert_eq!(failed, [("b", some("1")), ("c", some("1")), ("d", some("2")), ("e", None)]);
    }
}
