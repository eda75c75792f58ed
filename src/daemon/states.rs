//! What a cycle adds to the states of objects: first what the gate leaves of them, then the
//! verdict about their newest versions, and at last what nginx serves.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use itertools::{EitherOrBoth, Itertools as _};

use ingressd_model::finding::Reason;
use ingressd_model::{
    Handler, ObjectId, ObjectState, RouteCount, ServedVersion, Server, UpstreamId, Verdict, WorkingVersion,
};
use ingressd_nginx::Plan;
use ingressd_objects::{Row, Snapshot};

type States = [Arc<ObjectState>];

/// A step from states to states. It keeps what it made of those that are the same in memory the
/// next time, so that it looks only at those that differ.
#[derive(Debug, Default)]
pub struct Step {
    given: Vec<Arc<ObjectState>>,
    made: Vec<Arc<ObjectState>>,
    /// How many states it looked at the last time.
    pub looked_at: usize,
}

impl Step {
    /// Makes a state of each. Of objects that were `touched` something else is different.
    pub fn make(
        &mut self,
        given: Vec<Arc<ObjectState>>,
        touched: &BTreeSet<Arc<ObjectId>>,
        make: impl Fn(&ObjectState) -> ObjectState,
    ) -> Vec<Arc<ObjectState>> {
        self.looked_at = 0;
        let before = self.given.iter().zip(&self.made);
        let both = given.iter().merge_join_by(before, |state, (known, _)| order(state, known));
        let made = both.filter_map(|either| {
            let (state, known) = either.left_and_right();
            let state = state?;
            let same = known.filter(|(known, _)| Arc::ptr_eq(known, state));
            if let Some((_, made)) = same.filter(|_| touched.is_empty() || !touched.contains(&state.id)) {
                return Some(Arc::clone(made));
            }
            self.looked_at += 1;
            let made = make(state);
            let equal = [Some(state), known.map(|(_, made)| made)].into_iter().flatten().find(|one| ***one == made);
            Some(equal.map_or_else(|| Arc::new(made), Arc::clone))
        });
        let made: Vec<_> = made.collect();
        (self.given, self.made) = (given, made.clone());
        made
    }
}

fn order(one: &Arc<ObjectState>, other: &Arc<ObjectState>) -> Ordering {
    if Arc::ptr_eq(one, other) { Ordering::Equal } else { one.id.cmp(&other.id) }
}

/// What the gate leaves of states, and how many routes of each object that are.
#[derive(Debug, Default)]
pub struct GatedStates {
    /// How many states had to be looked at.
    pub step: Step,
    servers: Vec<Arc<Server>>,
    empty: HashSet<UpstreamId>,
    unwritten: HashMap<Arc<ObjectId>, u32>,
    counts: HashMap<Arc<ObjectId>, Counts>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    routes: RouteCount,
    unanswered: u32,
}

impl GatedStates {
    /// What the gate leaves of them, and `unwritten` of the routes in the model. Routes that the
    /// gate left out are not served, and an object without any route is not served either. Whether
    /// a route has a backend that answers is known of the whole model only.
    pub fn states<'a>(
        &mut self,
        states: Vec<Arc<ObjectState>>,
        plan: &Plan,
        unwritten: impl Iterator<Item = &'a Arc<ObjectId>>,
    ) -> Vec<Arc<ObjectState>> {
        let mut touched = self.follow(plan);
        let mut lost = HashMap::<_, u32>::new();
        unwritten.for_each(|id| *lost.entry(Arc::clone(id)).or_default() += 1);
        touched.extend(self.unwritten.keys().chain(lost.keys()).cloned());
        self.unwritten = lost;
        let (counts, lost) = (&self.counts, &self.unwritten);
        self.step.make(states, &touched, |state| {
            let Some(before) = &state.working else { return state.clone() };
            let Counts { routes, unanswered } = counts.get(&state.id).copied().unwrap_or_default();
            let lost = lost.get(&state.id).copied().unwrap_or_default();
            let served = routes.open + before.parts;
            let unanswered = before.unanswered.saturating_add(unanswered).min(served);
            let (closed, served) = (before.closed.max(routes.closed) + lost, served.saturating_sub(lost));
            if (closed, served, unanswered) == (before.closed, before.served, before.unanswered) {
                return state.clone();
            }
            let working = WorkingVersion { closed, served, unanswered, ..WorkingVersion::clone(before) };
            ObjectState { working: Some(Arc::new(working)), ..state.clone() }
        })
    }

    /// Counts again what differs. Returns the objects with routes there.
    fn follow(&mut self, plan: &Plan) -> BTreeSet<Arc<ObjectId>> {
        let empty: HashSet<_> = plan.tables.without_endpoints(&plan.model).map(|one| one.id.clone()).collect();
        let flipped: HashSet<_> = empty.symmetric_difference(&self.empty).collect();
        let uses_flipped = |server: &Server| {
            let mut upstreams = server.handlers().flat_map(Handler::upstreams);
            !flipped.is_empty() && upstreams.any(|upstream| flipped.contains(upstream))
        };
        let order = |one: &&Arc<Server>, other: &&Arc<Server>| match Arc::ptr_eq(one, other) {
            true => Ordering::Equal,
            false => one.name.cmp(&other.name),
        };
        let mut touched = BTreeSet::new();
        for either in self.servers.iter().merge_join_by(&plan.model.servers, order) {
            let (before, now) = either.left_and_right();
            if let Some((one, other)) = before.zip(now)
                && Arc::ptr_eq(one, other)
                && !uses_flipped(one)
            {
                continue;
            }
            for (server, empty, is_now) in [(before, &self.empty, false), (now, &empty, true)] {
                let Some(server) = server else { continue };
                let mut count = |id: &Arc<ObjectId>, routes: RouteCount, unanswered: u32| {
                    let known = self.counts.entry(Arc::clone(id)).or_default();
                    known.routes.open = sum(known.routes.open, routes.open, is_now);
                    known.routes.closed = sum(known.routes.closed, routes.closed, is_now);
                    known.unanswered = sum(known.unanswered, unanswered, is_now);
                    touched.insert(Arc::clone(id));
                };
                server.count_routes(|id, routes| count(id, routes, 0));
                let unanswered = server.unanswered(|upstream| empty.contains(upstream));
                unanswered.for_each(|id| count(id, RouteCount::default(), 1));
            }
        }
        for id in &touched {
            let is_nothing = |counts: &Counts| (counts.routes, counts.unanswered) == Default::default();
            if self.counts.get(id).is_some_and(is_nothing) {
                self.counts.remove(id);
            }
        }
        (self.servers, self.empty) = (plan.model.servers.clone(), empty);
        touched
    }
}

fn sum(known: u32, more: u32, is_now: bool) -> u32 {
    if is_now { known.saturating_add(more) } else { known.saturating_sub(more) }
}

/// How a cycle judges each object.
#[derive(Debug, Default)]
pub struct JudgedStates {
    /// How many states had to be looked at.
    pub step: Step,
    newest: Snapshot,
    /// Why the translation refused versions.
    replaced: BTreeMap<Arc<ObjectId>, Reason>,
    /// The objects that nothing was made of.
    missing: BTreeSet<Arc<ObjectId>>,
}

impl JudgedStates {
    /// Adds how a cycle judged each object. `newest` is the state of the source, with earlier
    /// versions of objects that it cannot decode. Versions that earlier ones take the place of are
    /// in quarantine, but for those that the translation refused, which are `replaced`.
    pub fn states(
        &mut self,
        newest: &Snapshot,
        replaced: BTreeMap<Arc<ObjectId>, Reason>,
        states: Vec<Arc<ObjectState>>,
    ) -> Vec<Arc<ObjectState>> {
        let has_status = |row: &Row| row.status.is_some();
        let mut touched = newest.changed(&self.newest, has_status);
        if replaced != self.replaced {
            touched.extend(replaced.keys().chain(self.replaced.keys()).cloned());
        }
        let (now, before) = (&newest.left_out, &self.newest.left_out);
        if now != before {
            let has_status = |kind| newest.list(kind).is_some_and(|(row, _)| has_status(row));
            let both = now.iter().chain(before).filter(|left_out| has_status(left_out.id.kind));
            touched.extend(both.map(|left_out| Arc::clone(&left_out.id)));
        }
        // What cannot be read has no version.
        let newest_version = |id: &ObjectId| match newest.entry(id) {
            _ if newest.left_out(id).is_some() => Some(None),
            found => found.map(|entry| Some(entry.version)),
        };
        let why = |id: &ObjectId| match newest.left_out(id) {
            Some(left_out) => left_out.why,
            None => replaced.get(id).copied().unwrap_or(Reason::Quarantined),
        };
        let identified = |state: ObjectState| {
            let (uid, generation) = match (newest.left_out(&state.id), newest.entry(&state.id)) {
                (Some(left_out), _) => (left_out.uid.clone(), None),
                (None, Some(entry)) => (entry.object.shared_uid(), entry.published.and_then(|one| one.generation)),
                (None, None) => (None, None),
            };
            ObjectState { uid, generation, ..state }
        };
        let gone = ObjectState::differences(&self.step.given, &states).filter_map(EitherOrBoth::just_left);
        let mut missing = std::mem::take(&mut self.missing);
        missing.extend(gone.map(|state| Arc::clone(&state.id)).chain(touched.iter().cloned()));
        missing.retain(|id| newest_version(id).is_some() && ObjectState::find(&states, id).is_none());
        let mut judged = self.step.make(states, &touched, |state| {
            let verdict = match (newest_version(&state.id), &state.working) {
                _ if !state.is_ours() => state.verdict,
                (None, _) => Verdict::Unjudged,
                (Some(Some(_)), None) if matches!(state.verdict, Verdict::Refused(_)) => state.verdict,
                (Some(_), None) => Verdict::Refused(why(&state.id)),
                (Some(newest), Some(working)) if newest == Some(&working.version) => Verdict::Good,
                (Some(_), Some(_)) => Verdict::LastGood(why(&state.id)),
            };
            identified(ObjectState { verdict, ..state.clone() })
        });
        if !missing.is_empty() {
            let missing = missing.iter().map(|id| identified(ObjectState::new(id, Verdict::Refused(why(id)))));
            judged.extend(missing.map(Arc::new));
            judged.sort_by(|one, other| one.id.cmp(&other.id));
        }
        (self.newest, self.missing, self.replaced) = (newest.clone(), missing, replaced);
        judged
    }
}

/// What nginx serves, with what was known of it.
fn serve(
    state: &ObjectState,
    known: Option<&ServedVersion>,
    before_is_known: bool,
    now: Option<Instant>,
) -> Option<ServedVersion> {
    let what = Arc::clone(state.working.as_ref()?);
    let same = known.filter(|known| known.what.version == what.version && known.what.served > 0);
    let since = same.and_then(|same| same.since).or(now).filter(|_| what.served > 0);
    let is_earlier = what.served > 0 && same.map_or(!before_is_known, |same| same.is_earlier);
    Some(ServedVersion { since, is_earlier, what })
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
    with_served(states, contents, |state| serve(state, known(before, &state.id), before.is_some(), now))
}

/// The same where the states are the contents, and the step before did this too.
pub fn still_in_place(
    step: &mut Step,
    states: &[Arc<ObjectState>],
    before: Option<&States>,
    now: Option<Instant>,
) -> Vec<Arc<ObjectState>> {
    step.make(states.to_vec(), &BTreeSet::new(), |state| {
        let served = serve(state, known(before, &state.id), before.is_some(), now);
        ObjectState { served, ..state.clone() }
    })
}

fn known<'a>(before: Option<&'a States>, id: &ObjectId) -> Option<&'a ServedVersion> {
    ObjectState::find(before?, id)?.served.as_ref()
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
    use ingressd_model::{Kind, Version};
    use ingressd_objects::{Ingress, LeftOut, Published, Stored};

    fn id(name: &str) -> Arc<ObjectId> {
        Arc::new(ObjectId::new(Kind::INGRESS, "shop", name))
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
            object: Arc::new(Ingress { uid: Some(format!("uid-{name}").into()), ..Ingress::default() }),
            published: Some(Arc::new(Published { generation: Some(2), ..Published::default() })),
            place: None,
        };
        let left_out = ["unread", "unread-and-new"].map(|name| LeftOut {
            id: id(name),
            place: None,
            uid: Some(format!("uid-{name}").into()),
            why: if name == "unread" { Reason::InvalidPath } else { Reason::Undecodable },
        });
        let names = ["bad-again", "foreign", "good", "last-good", "over", "refused", "unread"];
        let ingresses = names.map(stored);
        let newest =
            Snapshot { ingresses: ingresses.into_iter().collect(), left_out: left_out.into(), ..Snapshot::default() };
        let of = [("bad-again", "1"), ("gone", "1"), ("good", "2"), ("last-good", "1"), ("unread", "2")];
        let mut given = states(&of);
        let foreign = Verdict::NotOurs(Reason::ForeignClass);
        given.insert(1, Arc::new(ObjectState::new(&id("foreign"), foreign)));
        let over = Verdict::Refused(Reason::OverBudget);
        given.insert(5, Arc::new(ObjectState::new(&id("over"), over)));
        let mut judging = JudgedStates::default();
        let replaced = BTreeMap::from([(id("bad-again"), Reason::InvalidPath)]);
        let judged = judging.states(&newest, replaced, given.clone());
        let expected = [
            ("bad-again", Verdict::LastGood(Reason::InvalidPath)),
            ("foreign", foreign),
            ("gone", Verdict::Unjudged),
            ("good", Verdict::Good),
            ("last-good", Verdict::LastGood(Reason::Quarantined)),
            ("over", over),
            ("refused", Verdict::Refused(Reason::Quarantined)),
            ("unread", Verdict::LastGood(Reason::InvalidPath)),
            ("unread-and-new", Verdict::Refused(Reason::Undecodable)),
        ];
        assert_eq!(judged.iter().map(|state| (&*state.id.name, state.verdict)).collect::<Vec<_>>(), expected);
        for state in &judged {
            let (name, is_gone) = (&*state.id.name, &*state.id.name == "gone");
            let generation = (!is_gone && !name.starts_with("unread")).then_some(2);
            let uid = (!is_gone).then(|| format!("uid-{name}"));
            assert_eq!((state.uid.as_deref(), state.generation), (uid.as_deref(), generation), "{name}");
        }
        // nginx refuses now what the translation refused before, and a field that is not read
        // differs.
        let mut again = stored("good");
        again.published = Some(Arc::new(Published { generation: Some(3), ..Published::default() }));
        let mut later = newest.clone();
        again.object = Arc::clone(&later.ingresses[2].object);
        later.ingresses.edit()[2] = again;
        let judged = judging.states(&later, BTreeMap::new(), given);
        assert_eq!(judged[0].verdict, Verdict::LastGood(Reason::Quarantined));
        assert_eq!((judged[3].generation, judging.step.looked_at), (Some(3), 2));
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
