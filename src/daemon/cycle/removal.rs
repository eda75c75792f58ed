//! A change that takes many hosts away at once: it is told as one error, and waits for the
//! administrator where the settings say so. It must not know what gives a host.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::searches::Searches;
use super::{Cycle, Stages};
use crate::daemon::host_counts::HostCounts;
use crate::daemon::host_findings::nginx;
use crate::daemon::objects;
use ingressd_model::finding::{Finding, Reason, count, count_of};
use ingressd_model::{ObjectId, ObjectState, Origin};
use ingressd_objects::Snapshot;

/// So many hosts are told when they are also at least half of all.
const MANY: usize = 10;

/// How long a removal is told, unless the hosts come back.
const MEMORY: Duration = Duration::from_secs(24 * 3600);

type Hosts = BTreeSet<Arc<str>>;

/// What is known about hosts that went.
#[derive(Debug, Default)]
pub(super) struct Removals {
    /// What was confirmed last; `None` before.
    confirmed: Option<ConfirmedHosts>,
    removal: Option<Removal>,
    held: Option<Removal>,
    /// Whether the administrator lets the next removal pass.
    passes: bool,
}

/// States that were confirmed, and their hosts.
#[derive(Debug, Clone, Default)]
struct ConfirmedHosts {
    states: Vec<Arc<ObjectState>>,
    hosts: HostCounts,
}

#[derive(Debug)]
struct Removal {
    hosts: Hosts,
    of: usize,
    cause: Cause,
    at: Instant,
}

/// What changed beside the hosts.
#[derive(Debug, Default)]
struct Cause {
    object: Option<Arc<ObjectId>>,
    words: String,
}

impl Cycle {
    /// Lets the removal pass that is held. Returns false when none is.
    pub fn let_pass(&mut self) -> bool {
        self.removals.passes = self.removals.held.is_some();
        self.removals.passes
    }

    /// Where the snapshot takes more hosts away than the settings allow at once, the one that
    /// keeps them: deleted Ingresses stay with what they need, and classes and namespaces are as
    /// before. All other changes are in it.
    pub(super) fn hold<'a>(&mut self, snapshot: &'a Snapshot, stages: &mut impl Stages) -> Cow<'a, Snapshot> {
        self.removals.held = None;
        let most = stages.most_removed();
        // Before the first confirmation there is nothing to keep.
        let is_first = self.confirmed.is_empty();
        if most == 0 || is_first || self.removals.passes || !may_remove(&self.confirmed, snapshot) {
            return Cow::Borrowed(snapshot);
        }
        let (_, product, _) = self.make(snapshot, stages, &Searches::default());
        let cause = || Cause::of(&self.confirmed, snapshot);
        let after = self.removals.confirmed.clone();
        let removal = after.and_then(|mut after| after.follow(&product.states, cause, stages.now()));
        let Some(removal) = removal.filter(|removal| removal.hosts.len() > most) else {
            return Cow::Borrowed(snapshot);
        };
        self.removals.held = Some(removal);
        let mut held = snapshot.clone();
        held.ingress_classes.clone_from(&self.confirmed.ingress_classes);
        held.namespaces.clone_from(&self.confirmed.namespaces);
        for id in gone(&self.confirmed, snapshot) {
            if let Some((row, list)) = self.confirmed.list(id.kind)
                && let Some(stored) = list.shared(&id.namespace, &id.name)
            {
                row.edit(&mut held).put(stored);
            }
        }
        let needed = self.needed_by_held(&held, snapshot);
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        objects::put_back_needed(&mut held, &needed, &self.confirmed, |_| false, &*store);
        Cow::Owned(held)
    }

    /// What objects need that are in the snapshot only because their removal is held: the source
    /// knows of them no more.
    pub(super) fn needed_by_held(&self, held: &Snapshot, newest: &Snapshot) -> BTreeSet<ObjectId> {
        let only_held = self.removals.held.iter().flat_map(|_| gone(held, newest));
        only_held.flat_map(|id| self.needed(held, &id)).collect()
    }

    /// Begins with the hosts of an earlier run: as soon as something is applied, its record is not
    /// the one of what is in place any more.
    pub(super) fn recall_hosts(&mut self, stages: &impl Stages) {
        self.removals.confirmed.get_or_insert_with(|| {
            let mut earlier = ConfirmedHosts::default();
            earlier.follow(&stages.states_of_earlier_run(), Cause::default, stages.now());
            earlier
        });
    }

    /// Records which hosts are confirmed now.
    pub(super) fn confirm_hosts(&mut self, snapshot: &Snapshot, states: &[Arc<ObjectState>], stages: &impl Stages) {
        let cause = || Cause::of(&self.confirmed, snapshot);
        let removals = &mut self.removals;
        let confirmed = removals.confirmed.get_or_insert_default();
        match confirmed.follow(states, cause, stages.now()) {
            Some(removal) if removal.is_large() => removals.removal = Some(removal),
            _ => {
                let is_over = |removal: &Removal| {
                    let back = removal.hosts.iter().filter(|host| confirmed.hosts.has(host)).count();
                    back * 2 > removal.hosts.len() || stages.now() - removal.at > MEMORY
                };
                removals.removal.take_if(|removal| is_over(removal));
            }
        }
        removals.passes = false;
    }

    /// The error about a removal, and that about one that is held.
    pub(super) fn findings_of_removals(&self) -> impl Iterator<Item = Finding> {
        let reported = self.removals.removal.as_ref().map(|removal| {
            removal.finding(
                "no longer served",
                "if that was not meant, restore what is gone; the error ends when the hosts are back, after a day, or with `systemctl reload ingressd`",
            )
        });
        let held = self.removals.held.as_ref().map(|held| {
            held.finding(
                "served only because hosts.most-removed-at-once holds a change",
                "restore what is gone, or let the change pass with `ingressd resume`",
            )
        });
        reported.into_iter().chain(held)
    }
}

impl ConfirmedHosts {
    /// Goes on to other states, and tells what is lost.
    fn follow(&mut self, now: &[Arc<ObjectState>], cause: impl FnOnce() -> Cause, at: Instant) -> Option<Removal> {
        let (before, of) = (std::mem::replace(&mut self.states, now.to_vec()), self.hosts.len());
        let mut gone = Vec::new();
        for either in ObjectState::differences(&before, now) {
            let (before, now) = either.left_and_right();
            now.iter().for_each(|state| self.hosts.add(state.hosts()));
            gone.extend(before);
        }
        let lost: Hosts = gone.iter().flat_map(|state| self.hosts.take_out(state.hosts())).cloned().collect();
        (!lost.is_empty()).then(|| Removal { hosts: lost, of, cause: cause(), at })
    }
}

impl Removal {
    fn is_large(&self) -> bool {
        self.hosts.len() >= MANY && self.hosts.len() * 2 >= self.of
    }

    fn finding(&self, what: &str, remedy: &str) -> Finding {
        let origin = Origin::object(&self.cause.object.clone().unwrap_or_else(nginx));
        let hosts = count_of(self.hosts.len(), self.of, "host", "hosts");
        Finding::new(Reason::HostsRemoved, origin, format!("{hosts} {what}: {}; {remedy}", self.cause.words))
    }
}

impl Cause {
    fn of(before: &Snapshot, now: &Snapshot) -> Self {
        let gone =
            |what: &str, id: &Arc<ObjectId>| Cause { object: Some(Arc::clone(id)), words: format!("{id} {what}") };
        if let Some(class) = before.ingress_classes.iter().find(|class| now.ingress_class(&class.id.name).is_none()) {
            return gone("is gone", &class.id);
        }
        let changed = before.namespaces.iter().find(|known| {
            now.namespaces.find(&known.id.namespace, &known.id.name).is_none_or(|found| found.version != known.version)
        });
        if let Some(namespace) = changed {
            return gone("was changed or deleted", &namespace.id);
        }
        let words = match self::gone(before, now).count() {
            0 => "objects or settings were changed".to_owned(),
            gone => {
                format!("{} gone or no longer in a namespace that is served", count(gone, "object is", "objects are"))
            }
        };
        Cause { object: None, words }
    }
}

/// The objects that may ask for routes and are gone.
fn gone(before: &Snapshot, now: &Snapshot) -> impl Iterator<Item = Arc<ObjectId>> {
    let changed = now.changed(before, |row| row.kind.asks_for_routes());
    changed.into_iter().filter(|id| now.entry(id).is_none())
}

/// Whether objects are gone or different that hosts depend on.
fn may_remove(before: &Snapshot, now: &Snapshot) -> bool {
    !before.ingress_classes.is(&now.ingress_classes)
        || !before.namespaces.is(&now.namespaces)
        || gone(before, now).next().is_some()
}
