//! Plans the writes of status, from the desired addresses, the cache, and what was written since:
//! which objects, in which order, and which have to wait; it must not know how writing is done.

use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::networking::v1::Ingress;
use tokio::time::Instant;

use super::address::Address;
use super::call::Failure;
use super::contention::Contention;
use super::desired::{Carries, Nodes, Subject, desired};
use super::member::Revision;
use super::served::Served;
use crate::model::ObjectId;
use crate::source::{Stored, Version};

/// Time to the next attempt after one that failed: twice as long each time.
const RETRY: Duration = Duration::from_secs(2);

/// The longest such time when the API may take it later, and when it refuses what the object holds.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
const LONGEST_AFTER_REFUSAL: Duration = Duration::from_secs(600);

/// Addresses to be written into the status of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The object.
    pub id: Arc<ObjectId>,
    /// Its uid: another object of the same name must not get them.
    pub uid: Arc<str>,
    /// The version in the cache.
    pub over: Arc<str>,
    /// The version that the write was decided for, which is newer if the cache is behind what we
    /// wrote. The write names it, so that a late write of a former leader changes nothing.
    pub at: Arc<str>,
    /// The addresses, sorted; an empty list withdraws what our group applied, and only that.
    pub addresses: Vec<Address>,
    /// Whether an address is withdrawn to which no more requests should be sent.
    pub urgent: bool,
    /// Whether an address comes back that was withdrawn because of a node, not because of the
    /// object.
    pub back: bool,
    /// Whether addresses were written before and somebody else changed them.
    pub again: bool,
    /// Whether it could not be written the last time.
    pub failed: bool,
    /// Whether an address of a node is withdrawn that somebody else wrote, into an object that is ours.
    pub theirs: bool,
    created: Option<Timestamp>,
}

/// What is to be done now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The writes, the most pressing first.
    pub writes: Vec<Write>,
    /// When something that waits has to be looked at again.
    pub next: Option<Instant>,
    /// Objects whose status somebody else keeps changing, sorted.
    pub contended: Vec<Arc<ObjectId>>,
    /// Whether an object has to be looked at again when its write has ended.
    pub left_out: bool,
}

/// The objects that are being written, and what is written.
pub type UnderWay = HashMap<Arc<ObjectId>, Write>;

/// What is remembered of each object.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The field manager of all nodes of the group.
    manager: Arc<str>,
    entries: HashMap<Arc<ObjectId>, Entry>,
    /// The observed revision of our generation at the plan before.
    known: Option<Revision>,
}

#[derive(Debug)]
struct Entry {
    uid: Arc<str>,
    version: Version,
    /// The revision in which that version was first seen, or in which the object became ours without changing.
    needs: Option<Revision>,
    /// Whether our generation knew that version and it was not ours.
    foreign: bool,
    written: Option<Written>,
    contention: Contention,
    patience: Option<Patience>,
    /// Whether the last write failed, whatever became of the object since.
    failed: bool,
    /// The version that turned out not to be the newest.
    outdated: Option<Arc<str>>,
}

/// A write failed: how long the pause is, until when, and which addresses could not be written. Others need not wait.
#[derive(Debug)]
struct Patience {
    pause: Duration,
    until: Instant,
    addresses: Vec<Address>,
}

/// What we wrote last; the cache may not have it yet.
#[derive(Debug)]
struct Written {
    addresses: Vec<Address>,
    /// The version that the API gave it.
    version: Option<Arc<str>>,
    /// The version in the cache when it was written.
    over: Arc<str>,
    /// Whether an address was withdrawn by it that may come back.
    withdrew: bool,
}

/// The addresses in the status of an Ingress, sorted, and whether that is all that stands there.
pub fn published(ingress: &Stored<Ingress>) -> (Vec<Address>, bool) {
    let status = ingress.published.as_ref().and_then(|published| published.status.as_ref());
    let status = status.and_then(|status| status.load_balancer.as_ref());
    let entries = status.and_then(|balancer| balancer.ingress.as_deref()).unwrap_or_default();
    let mut plain = true;
    let mut addresses = Vec::with_capacity(entries.len());
    for entry in entries {
        let (text, other) = match &entry.ip {
            Some(ip) => (Some(ip), entry.hostname.is_some()),
            None => (entry.hostname.as_ref(), false),
        };
        let has_ports = entry.ports.as_ref().is_some_and(|ports| !ports.is_empty());
        match text.and_then(|text| text.parse().ok()).filter(|_| !other && !has_ports) {
            Some(address) => addresses.push(address),
            None => plain = false,
        }
    }
    addresses.sort();
    (addresses, plain)
}

impl Ledger {
    /// An empty ledger for this field manager.
    pub fn new(manager: Arc<str>) -> Self {
        Ledger { manager, ..Ledger::default() }
    }

    /// Compares what should be with what is. Objects in `under_way` are being written.
    pub fn plan(&mut self, served: &Served, nodes: &Nodes, under_way: &UnderWay, now: Instant) -> Plan {
        let mut plan = Plan::default();
        let mut accepted = served.accepted.iter().peekable();
        let mut closed = served.closed.iter().peekable();
        let mut lacking = served.lacks.iter().peekable();
        let mut carried = served.carried.as_deref().map(|carried| carried.iter().peekable());
        let inside = served.snapshot.ingresses.iter().map(|stored| (stored, true));
        let outside = served.snapshot.outside.iter().map(|stored| (stored, false));
        for (stored, is_inside) in inside.chain(outside) {
            let metadata = &stored.object.metadata;
            let (Some(uid), Some(version)) = (&metadata.uid, stored.revision()) else { continue };
            let entry = Self::entry(&mut self.entries, self.known, stored, uid, version);
            let seen = published(stored);
            let (current, is_stale) = entry.current(seen, version);
            let is_carried = carried.as_mut().map(|list| is_inside && is_next(list, &stored.id, |carried| &carried.id));
            let is_accepted = is_inside && is_next(&mut accepted, &stored.id, |id| id);
            let is_lacking = is_inside && is_next(&mut lacking, &stored.id, |id| id);
            entry.judge(is_accepted, served.carries);
            let subject = Subject {
                id: &stored.id,
                accepted: is_accepted,
                disputed: is_lacking && !is_accepted,
                closed: is_accepted && is_next(&mut closed, &stored.id, |id| id),
                carried: carries(is_carried, entry.needs, served.carries),
                needs: entry.needs,
                current: &current.0,
            };
            let addresses = desired(subject, nodes);
            if entry.contention.is_contended(now) {
                plan.contended.push(Arc::clone(&stored.id));
            }
            if let Some(sent) = under_way.get(&stored.id) {
                // Another controller may have changed it again before the answer came.
                let is_new = *sent.over != *version && !is_exactly(&current, &sent.addresses);
                plan.left_out |= is_new || sent.addresses != addresses;
                continue;
            }
            let applied = stored.published.as_ref().and_then(|published| published.is_applied_by(&self.manager));
            let is_done = match addresses.is_empty() {
                true => !entry.is_ours(subject, nodes, applied),
                false => is_exactly(&current, &addresses),
            };
            if is_done {
                (entry.outdated, entry.patience, entry.failed) = (None, None, false);
                continue;
            }
            let over: Arc<str> = version.into();
            let at = entry.newest(&over, is_stale);
            if entry.outdated.as_ref().is_some_and(|outdated| *outdated != at) {
                (entry.outdated, entry.patience) = (None, None);
            }
            let back = entry.written.as_ref().is_some_and(|written| written.withdrew);
            let urgent = current.0.iter().any(|address| nodes.knows(address) && !addresses.contains(address));
            let written = entry.written.as_ref().filter(|written| !is_exactly(&current, &written.addresses));
            // Whatever is desired by now, the other controller would change it again. The
            // withdrawal of an address does not wait for that, unless it was overwritten as well.
            let waits = written.is_some_and(|written| !urgent || written.addresses == addresses);
            let contended = entry.contention.paused_until(now).filter(|_| waits);
            let refused = entry.patience.as_ref().filter(|patience| patience.addresses == addresses);
            let waits = [contended, refused.map(|patience| patience.until)];
            if let Some(until) = waits.into_iter().flatten().filter(|until| *until > now).max() {
                plan.next = plan.next.into_iter().chain([until]).min();
                continue;
            }
            plan.writes.push(Write {
                id: Arc::clone(&stored.id),
                uid: Arc::clone(&entry.uid),
                over,
                at,
                urgent,
                back,
                again: written.is_some_and(|written| !written.addresses.is_empty()),
                failed: entry.failed,
                theirs: addresses.is_empty() && is_accepted && applied == Some(false),
                addresses,
                created: metadata.creation_timestamp.as_ref().map(|time| time.0),
            });
        }
        if self.entries.len() > served.snapshot.published().count() {
            let known: HashSet<_> = served.snapshot.published().map(|stored| &stored.id).collect();
            self.entries.retain(|id, _| known.contains(id));
        }
        self.known = served.carries;
        // Failed writes go last: while one write at a time is tried, it must not be the same one
        // each time.
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

    fn entry<'a>(
        entries: &'a mut HashMap<Arc<ObjectId>, Entry>,
        known: Option<Revision>,
        stored: &Stored<Ingress>,
        uid: &str,
        version: &str,
    ) -> &'a mut Entry {
        let needs = Revision::of(Some(version));
        let fresh = || Entry {
            uid: uid.into(),
            version: stored.version.clone(),
            needs,
            // It was there before it was ours, as in a namespace that was not served.
            foreign: needs.zip(known).is_some_and(|(needs, known)| needs <= known),
            written: None,
            contention: Contention::default(),
            patience: None,
            failed: false,
            outdated: None,
        };
        let entry = entries.entry(Arc::clone(&stored.id)).or_insert_with(fresh);
        if *entry.uid != *uid {
            *entry = fresh();
        } else if entry.version != stored.version {
            entry.version = stored.version.clone();
            entry.needs = needs;
            (entry.foreign, entry.patience) = (false, None);
        }
        entry
    }

    /// A write is sent.
    pub fn sent(&mut self, write: &Write, now: Instant) {
        if let Some(entry) = self.entries.get_mut(&write.id).filter(|_| write.again) {
            entry.contention.rewritten(now);
        }
    }

    /// A write succeeded and gave the object this version.
    pub fn wrote(&mut self, write: &Write, version: Option<&str>) {
        if let Some(entry) = self.entries.get_mut(&write.id).filter(|entry| entry.uid == write.uid) {
            (entry.patience, entry.failed) = (None, false);
            entry.written = Some(Written {
                addresses: write.addresses.clone(),
                version: version.map(Arc::from),
                over: Arc::clone(&write.over),
                withdrew: write.urgent,
            });
        }
    }

    /// A write failed. Others go first until its time comes again, or until the cache has the version that it has to be
    /// written over.
    pub fn failed(&mut self, write: &Write, failure: &Failure, now: Instant) {
        let longest = if matches!(failure, Failure::Refused(_)) { LONGEST_AFTER_REFUSAL } else { LONGEST_RETRY };
        if let Some(entry) = self.entries.get_mut(&write.id) {
            let pause = entry.patience.as_ref().map_or(RETRY, |patience| (patience.pause * 2).min(longest));
            entry.patience = Some(Patience { pause, until: now + pause, addresses: write.addresses.clone() });
            entry.outdated = matches!(failure, Failure::Conflict(_)).then(|| Arc::clone(&write.at));
            entry.failed = entry.outdated.is_none();
        }
    }

    /// Whether a write failed because the object is another by now, which the cache will tell. When that happens twice for the
    /// same version, it is something else.
    pub fn is_outdated(&self, write: &Write, failure: &Failure) -> bool {
        let before = self.entries.get(&write.id).and_then(|entry| entry.outdated.as_ref());
        matches!(failure, Failure::Conflict(_)) && before != Some(&write.at)
    }

    /// Whether no write waits for another attempt.
    pub fn is_clear(&self) -> bool {
        self.entries.values().all(|entry| entry.patience.is_none())
    }

    /// Another node leads: what we wrote says nothing any more about the status.
    pub fn forget(&mut self) {
        *self = Self::new(Arc::clone(&self.manager));
    }
}

impl Entry {
    /// The object is ours or not, as of a generation with the observed revision `carries`. If it
    /// became ours without changing, as when its class was created, no node serves it whose
    /// observed revision is older.
    fn judge(&mut self, accepted: bool, carries: Option<Revision>) {
        let Some((needs, carries)) = self.needs.zip(carries) else { return };
        match accepted {
            false => self.foreign |= needs <= carries,
            true if std::mem::take(&mut self.foreign) => self.needs = Some(needs.max(carries)),
            true => {}
        }
    }

    /// The addresses in the status as far as we know, and whether the cache is behind what we
    /// wrote.
    fn current(&self, seen: (Vec<Address>, bool), version: &str) -> ((Vec<Address>, bool), bool) {
        let Some(written) = &self.written else { return (seen, false) };
        let is_stale = match (Revision::of(Some(version)), Revision::of(written.version.as_deref())) {
            (Some(seen), Some(written)) => seen < written,
            _ => *written.over == *version,
        };
        match is_stale {
            true => ((written.addresses.clone(), true), true),
            false => (seen, false),
        }
    }

    /// The newest version that we know of, when this is the one in the cache.
    fn newest(&self, cached: &Arc<str>, is_stale: bool) -> Arc<str> {
        let written = self.written.as_ref().and_then(|written| written.version.as_ref());
        Arc::clone(written.filter(|_| is_stale).unwrap_or(cached))
    }

    /// Whether the status has something that we have to withdraw: what our group applied, and in
    /// an object of ours the address of a node, whoever wrote it. If the object does not say who
    /// applied what, that is any address in an object of ours, because a node may have had another
    /// address before, and a known address of a node in other objects. That is tried only once.
    fn is_ours(&self, subject: Subject<'_>, nodes: &Nodes, applied: Option<bool>) -> bool {
        let withdrawn = self.written.as_ref().is_some_and(|written| written.addresses.is_empty());
        let is_meant = |address: &Address| match applied {
            Some(true) => true,
            Some(false) => subject.accepted && nodes.knows(address),
            None => subject.accepted || nodes.knows(address),
        };
        !withdrawn && subject.current.iter().any(is_meant)
    }
}

/// Whether the status has exactly these addresses.
fn is_exactly((current, is_plain): &(Vec<Address>, bool), addresses: &[Address]) -> bool {
    *is_plain && *current == addresses
}

/// Whether our confirmed generation serves an object. One that is older than the object's content says nothing about it.
fn carries(is_carried: Option<bool>, needs: Option<Revision>, carries: Option<Revision>) -> Carries {
    match is_carried {
        None => Carries::Unknown,
        Some(false) => Carries::No,
        Some(true) if needs.zip(carries).is_some_and(|(needs, carries)| carries < needs) => Carries::Unknown,
        Some(true) => Carries::Yes,
    }
}

/// Whether this object is next in a sorted list that is walked in order; smaller ones are skipped.
fn is_next<'a, T: 'a>(
    list: &mut Peekable<impl Iterator<Item = &'a T>>,
    id: &Arc<ObjectId>,
    of: impl Fn(&T) -> &Arc<ObjectId>,
) -> bool {
    // Names are mostly shared, which is seen sooner than that they are alike.
    while list.next_if(|item| !Arc::ptr_eq(of(item), id) && of(item) < id).is_some() {}
    list.next_if(|item| of(item) == id).is_some()
}

#[cfg(test)]
mod tests;
