//! Plans the writes of statuses from what is desired, what the cache has, and what was written
//! since: which objects, in which order, and which have to wait.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::address::Address;
use super::call::Failure;
use super::contention::Contention;
use super::desired::{Nodes, desired};
use super::member::Revision;
use super::served::Served;
use super::status::{Content, IngressAddresses, Situation, StatusStrategy};
use ingressd_model::{ObjectId, ObjectState, differences};
use ingressd_objects::{Entry as Object, KindRow as _, List, Snapshot, Stored, Version};

/// The first pause after a failed write; it doubles each time.
const RETRY: Duration = Duration::from_secs(2);

/// The longest pause when the API may accept the write later, and when it refuses the content.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
const LONGEST_AFTER_REFUSAL: Duration = Duration::from_secs(600);

/// A status to write for one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write<C = Vec<Address>> {
    /// The object.
    pub id: Arc<ObjectId>,
    /// Its UID: another object with the same name must not get the status.
    pub uid: Arc<str>,
    /// The `resourceVersion` in the cache.
    pub over: Arc<str>,
    /// The `resourceVersion` that the write was decided for, which is newer if the cache is behind
    /// what we wrote. The write names it, so that a late write of a former leader changes nothing.
    pub at: Arc<str>,
    /// The content to publish. An empty content withdraws what our group applied, and only that.
    pub content: C,
    /// Whether it withdraws an address to which no more requests should be sent.
    pub urgent: bool,
    /// Whether it restores an address that was withdrawn because of a node, not because of the
    /// object.
    pub back: bool,
    /// Whether another controller changed what was written before.
    pub again: bool,
    /// Whether the last attempt failed.
    pub failed: bool,
    /// Whether it withdraws, from an object of ours, an address of a node that another field
    /// manager wrote.
    pub theirs: bool,
    created: Option<Timestamp>,
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan<C = Vec<Address>> {
    /// The writes, the most urgent first.
    pub writes: Vec<Write<C>>,
    /// When an object that waits has to be compared again.
    pub next: Option<Instant>,
    /// Objects whose status another field manager keeps changing, sorted.
    pub contended: Vec<Arc<ObjectId>>,
    /// Whether an object was skipped because it is being written, and has to be compared again
    /// afterwards.
    pub left_out: bool,
}

impl<C> Default for Plan<C> {
    fn default() -> Self {
        Plan { writes: Vec::new(), next: None, contended: Vec::new(), left_out: false }
    }
}

/// The writes in progress, by object.
pub type UnderWay<C = Vec<Address>> = HashMap<Arc<ObjectId>, Write<C>>;

/// The state that is remembered about each object.
#[derive(Debug)]
pub struct Ledger<S: StatusStrategy = IngressAddresses> {
    strategy: S,
    /// The field manager of all nodes of the group.
    manager: Arc<str>,
    entries: HashMap<Arc<ObjectId>, Entry<S::Content>>,
    /// What the previous plan was made of; `None` before the first.
    planned: Option<(Served, Nodes)>,
    /// The objects that have to be compared again even if nothing changes.
    unsettled: BTreeSet<Arc<ObjectId>>,
    /// How many objects were compared for the last plan.
    looked_at: usize,
}

#[derive(Debug)]
struct Entry<C> {
    uid: Arc<str>,
    version: Version,
    /// The revision in which that version was first seen, or in which the object became ours
    /// without a change of its own.
    needs: Option<Revision>,
    /// Whether the object was known at the previous plan and was not ours.
    foreign: bool,
    written: Option<LastWrite<C>>,
    contention: Contention,
    patience: Option<Patience<C>>,
    /// Whether the last write failed, whatever happened to the object since.
    failed: bool,
    /// The version whose write failed because the cache was behind.
    outdated: Option<Arc<str>>,
}

/// The pause after a failed write: how long, until when, and the content that failed. Another
/// content need not wait.
#[derive(Debug)]
struct Patience<C> {
    pause: Duration,
    until: Instant,
    content: C,
}

/// What we wrote last; the cache may not have it yet.
#[derive(Debug)]
struct LastWrite<C> {
    content: C,
    /// The `resourceVersion` that the API returned.
    version: Option<Arc<str>>,
    /// The `resourceVersion` in the cache at the time of the write.
    over: Arc<str>,
    /// Whether the write withdrew an address that may come back.
    withdrew: bool,
}

impl<S: StatusStrategy> Ledger<S> {
    /// An empty ledger for this kind and this field manager.
    pub fn new(strategy: S, manager: Arc<str>) -> Self {
        Ledger { strategy, manager, entries: HashMap::new(), planned: None, unsettled: BTreeSet::new(), looked_at: 0 }
    }

    pub fn strategy(&self) -> &S {
        &self.strategy
    }

    /// Compares the desired statuses with the present ones, of the objects of which something may
    /// be different since the previous plan. Those in `under_way` are being written.
    pub fn plan(
        &mut self,
        served: &Served,
        nodes: &Nodes,
        under_way: &UnderWay<S::Content>,
        now: Instant,
    ) -> Plan<S::Content> {
        let mut plan = Plan::default();
        let ids = self.take_unsettled(served, nodes);
        self.looked_at = ids.len();
        tracing::debug!(objects = self.looked_at, "compared for their statuses");
        for id in ids {
            let inside = served.snapshot.entry(&id);
            let state = inside.and_then(|_| ObjectState::find(&served.states, &id)).map(|state| &**state);
            let Some(object) = inside.or_else(|| served.snapshot.outside.entry(&id)) else {
                self.entries.remove(&id);
                continue;
            };
            if !self.compare((object, state), (served, nodes), under_way.get(&id), now, &mut plan) {
                self.unsettled.insert(id);
            }
        }
        self.planned = Some((served.clone(), nodes.clone()));
        // Failed writes go last: while only one write at a time is tried, it must not be the same
        // one each time.
        plan.writes.sort_by(|left, right| {
            (right.urgent, left.failed, right.created, &left.id).cmp(&(
                left.urgent,
                right.failed,
                left.created,
                &right.id,
            ))
        });
        plan
    }

    /// The objects of which something may be different: all where what is said of nodes or of all
    /// objects differs. That a revision is observed changes nothing but for those that wait for
    /// it, which are not settled.
    fn take_unsettled(&mut self, served: &Served, nodes: &Nodes) -> BTreeSet<Arc<ObjectId>> {
        let mut ids = std::mem::take(&mut self.unsettled);
        let planned = self.planned.as_ref().filter(|(before, planned)| {
            (before.confirmed, before.pinned) == (served.confirmed, served.pinned)
                && before.observed <= served.observed
                && nodes.follow(planned)
        });
        let nothing = Served::default();
        let before = planned.map_or(&nothing, |(before, _)| before);
        if planned.is_none() {
            ids.extend(self.entries.keys().cloned());
        }
        let lists: [fn(&Snapshot) -> &List<_>; 2] = [S::Kind::list, |snapshot| snapshot.outside.list::<S::Kind>()];
        for list in lists {
            let [before, now] = [before, served].map(|served| list(&served.snapshot));
            let is_same = |one: &Stored<_>, other: &Stored<_>| {
                Arc::ptr_eq(&one.object, &other.object)
                    && one.published.as_ref().map(Arc::as_ptr) == other.published.as_ref().map(Arc::as_ptr)
            };
            let found = differences(&before[..], &now[..], is_same, |one, other| one.id.cmp(&other.id));
            ids.extend(found.map(|either| Arc::clone(&either.reduce(|_, stored| stored).id)));
        }
        let states = ObjectState::differences(&before.states, &served.states);
        let states = states.map(|either| &either.reduce(|_, state| state).id);
        ids.extend(states.filter(|id| id.kind == S::Kind::MODEL_KIND).cloned());
        ids
    }

    /// Compares the status of an object, and plans a write where it has to be another one. Returns
    /// whether the object is settled: as long as nothing changes it need not be compared again.
    fn compare(
        &mut self,
        (object, state): (Object<'_>, Option<&ObjectState>),
        (served, nodes): (&Served, &Nodes),
        sent: Option<&Write<S::Content>>,
        now: Instant,
        plan: &mut Plan<S::Content>,
    ) -> bool {
        let known = self.planned.as_ref().and_then(|(before, _)| before.observed);
        let written = object.published.and_then(|published| Some((published, published.revision.as_deref()?)));
        let Some((published, version)) = written else { return true };
        let Some(entry) = Self::entry(&mut self.entries, known, object, version) else { return true };
        let (id, applied) = (object.id, published.is_applied_by(&self.manager));
        let (current, is_stale) = entry.current(self.strategy.current(published), version);
        let is_accepted = state.is_some_and(|state| served.accepts(state));
        entry.judge(is_accepted, served.observed);
        let offer = served.offer(state, entry.needs);
        let addresses = desired(id, (offer, entry.needs), current.0.addresses(), nodes);
        let is_current = entry.needs.zip(served.observed).is_none_or(|(needs, observed)| needs <= observed);
        let content = self.strategy.content(Situation { id, served, published, state, is_current, addresses });
        let is_contended = entry.contention.is_contended(now);
        if is_contended {
            plan.contended.push(Arc::clone(id));
        }
        if let Some(sent) = sent {
            // Another controller may have changed the object again before the response came.
            let is_new = *sent.over != *version && !is_exactly(&current, &sent.content);
            plan.left_out |= is_new || sent.content != content;
            return false;
        }
        let is_done = match content.is_empty() {
            true => !entry.withdraws(is_accepted, &current.0, nodes, applied),
            false => is_exactly(&current, &content),
        };
        if is_done {
            (entry.outdated, entry.patience, entry.failed) = (None, None, false);
            return !is_contended && entry.is_observed(served.observed, nodes);
        }
        let over: Arc<str> = version.into();
        let at = entry.newest(&over, is_stale);
        if entry.outdated.as_ref().is_some_and(|outdated| *outdated != at) {
            (entry.outdated, entry.patience) = (None, None);
        }
        let back = entry.written.as_ref().is_some_and(|written| written.withdrew);
        let mut addresses = current.0.addresses().iter();
        let urgent = addresses.any(|address| nodes.knows(address) && !content.addresses().contains(address));
        let written = entry.written.as_ref().filter(|written| !is_exactly(&current, &written.content));
        // Whatever is desired now, the other controller would change it again. The withdrawal of
        // an address does not wait for that, unless it was overwritten as well.
        let waits = written.is_some_and(|written| !urgent || written.content == content);
        let contended = entry.contention.paused_until(now).filter(|_| waits);
        let refused = entry.patience.as_ref().filter(|patience| patience.content == content);
        let waits = [contended, refused.map(|patience| patience.until)];
        if let Some(until) = waits.into_iter().flatten().filter(|until| *until > now).max() {
            plan.next = plan.next.into_iter().chain([until]).min();
            return false;
        }
        plan.writes.push(Write {
            id: Arc::clone(id),
            uid: Arc::clone(&entry.uid),
            over,
            at,
            urgent,
            back,
            again: written.is_some_and(|written| !written.content.is_empty()),
            failed: entry.failed,
            theirs: content.is_empty() && is_accepted && applied == Some(false),
            content,
            created: object.object.created(),
        });
        false
    }

    /// What is remembered about an object; `None` for one without a UID.
    fn entry<'a>(
        entries: &'a mut HashMap<Arc<ObjectId>, Entry<S::Content>>,
        known: Option<Revision>,
        object: Object<'_>,
        version: &str,
    ) -> Option<&'a mut Entry<S::Content>> {
        let (uid, needs) = (object.object.uid()?, Revision::of(Some(version)));
        let fresh = || Entry {
            uid: uid.into(),
            version: object.version.clone(),
            needs,
            // The object existed before it became ours, for example in a namespace that was not
            // served.
            foreign: needs.zip(known).is_some_and(|(needs, known)| needs <= known),
            written: None,
            contention: Contention::default(),
            patience: None,
            failed: false,
            outdated: None,
        };
        let entry = entries.entry(Arc::clone(object.id)).or_insert_with(fresh);
        if *entry.uid != *uid {
            *entry = fresh();
        } else if entry.version != *object.version {
            entry.version = object.version.clone();
            entry.needs = needs;
            (entry.foreign, entry.patience) = (false, None);
        }
        Some(entry)
    }

    /// Records that a write is sent.
    pub fn sent(&mut self, write: &Write<S::Content>, now: Instant) {
        if let Some(entry) = self.entries.get_mut(&write.id).filter(|_| write.again) {
            entry.contention.rewritten(now);
        }
    }

    /// Records that a write succeeded and returned this version.
    pub fn wrote(&mut self, write: &Write<S::Content>, version: Option<&str>) {
        if let Some(entry) = self.entries.get_mut(&write.id).filter(|entry| entry.uid == write.uid) {
            (entry.patience, entry.failed) = (None, false);
            entry.written = Some(LastWrite {
                content: write.content.clone(),
                version: version.map(Arc::from),
                over: Arc::clone(&write.over),
                withdrew: write.urgent,
            });
        }
    }

    /// Records that a write failed. Other objects go first until its pause is over, or until the
    /// cache has the version that it has to be based on.
    pub fn failed(&mut self, write: &Write<S::Content>, failure: &Failure, now: Instant) {
        let longest = if matches!(failure, Failure::Refused(_)) { LONGEST_AFTER_REFUSAL } else { LONGEST_RETRY };
        if let Some(entry) = self.entries.get_mut(&write.id) {
            let pause = entry.patience.as_ref().map_or(RETRY, |patience| (patience.pause * 2).min(longest));
            entry.patience = Some(Patience { pause, until: now + pause, content: write.content.clone() });
            entry.outdated = matches!(failure, Failure::Conflict(_)).then(|| Arc::clone(&write.at));
            entry.failed = entry.outdated.is_none();
        }
    }

    /// Whether a write failed because the object has changed, which the cache will show. When that
    /// happens twice for the same version, there is another cause.
    pub fn is_outdated(&self, write: &Write<S::Content>, failure: &Failure) -> bool {
        let before = self.entries.get(&write.id).and_then(|entry| entry.outdated.as_ref());
        matches!(failure, Failure::Conflict(_)) && before != Some(&write.at)
    }

    /// Whether no write waits for another attempt.
    pub fn is_clear(&self) -> bool {
        self.entries.values().all(|entry| entry.patience.is_none())
    }

    /// Forgets what this node wrote, because another node leads now.
    pub fn forget(&mut self) {
        (self.entries, self.planned, self.unsettled) = (HashMap::new(), None, BTreeSet::new());
    }
}

impl<C: Content> Entry<C> {
    /// Records whether the object is ours, as of a generation with this `observed` revision. If it
    /// became ours without a change of its own, for example because its class was created, nodes
    /// with an older observed revision do not serve it.
    fn judge(&mut self, accepted: bool, observed: Option<Revision>) {
        let Some((needs, observed)) = self.needs.zip(observed) else { return };
        match accepted {
            false => self.foreign |= needs <= observed,
            true if std::mem::take(&mut self.foreign) => self.needs = Some(needs.max(observed)),
            true => {}
        }
    }

    /// The present status as far as we know, and whether the cache is behind what we wrote.
    fn current(&self, seen: (C, bool), version: &str) -> ((C, bool), bool) {
        let Some(written) = &self.written else { return (seen, false) };
        let is_stale = match (Revision::of(Some(version)), Revision::of(written.version.as_deref())) {
            (Some(seen), Some(written)) => seen < written,
            _ => *written.over == *version,
        };
        match is_stale {
            true => ((written.content.clone(), true), true),
            false => (seen, false),
        }
    }

    /// The newest version that we know, when this is the one in the cache.
    fn newest(&self, cached: &Arc<str>, is_stale: bool) -> Arc<str> {
        let written = self.written.as_ref().and_then(|written| written.version.as_ref());
        Arc::clone(written.filter(|_| is_stale).unwrap_or(cached))
    }

    /// Whether the status has something that we have to withdraw: what our group applied, and in
    /// an object of ours the address of a node, also when another field manager wrote it. If the
    /// object has no managed fields, it is any address in an object of ours, because a node may
    /// have had another address before, and the known addresses of nodes in other objects. That is
    /// tried only once.
    fn withdraws(&self, is_accepted: bool, current: &C, nodes: &Nodes, applied: Option<bool>) -> bool {
        let withdrawn = self.written.as_ref().is_some_and(|written| written.content.is_empty());
        let has = |is_meant: &dyn Fn(&Address) -> bool| current.addresses().iter().any(is_meant);
        let is_meant = match applied {
            Some(true) => !current.is_empty(),
            Some(false) => is_accepted && has(&|address| nodes.knows(address)),
            None => has(&|address| is_accepted || nodes.knows(address)),
        };
        !withdrawn && is_meant
    }

    /// Whether all that is said of nodes takes the object into account, as they are now.
    fn is_observed(&self, own: Option<Revision>, nodes: &Nodes) -> bool {
        let mut observed = nodes.others.iter().map(|(member, _)| member.observed).chain([own]);
        self.needs.is_none_or(|needs| observed.all(|observed| observed.is_some_and(|observed| needs <= observed)))
    }
}

/// Whether the status has exactly this content.
fn is_exactly<C: Content>((current, is_plain): &(C, bool), content: &C) -> bool {
    *is_plain && current == content
}

#[cfg(test)]
mod tests;
