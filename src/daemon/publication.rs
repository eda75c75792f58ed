//! Makes `Served`, the published state of this host, from the events of the main loop.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::cycle::Report;
use super::feed::Observed;
use super::link::Link;
use super::states::{self, Step};
use super::status::Status;
use ingressd_apply::{Contents, Outcome, Pinned};
use ingressd_cluster::publish::{Address, Counts, Life, Options, Outlook, Publisher, Revision, Served, Statuses};
use ingressd_cluster::source::cluster::{History, Need, WatchHealth};
use ingressd_config::Settings;
use ingressd_model::{ClaimOrder, ObjectState};
use ingressd_objects::Snapshot;
use ingressd_translate::Claims;

/// The files with the host name and the machine ID, which together identify a node.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";
const MACHINE_ID: &str = "/etc/machine-id";

/// Tells this process from every other one, on this host or another.
static RUN: LazyLock<Arc<str>> = LazyLock::new(|| format!("{:016x}", RandomState::new().hash_one(())).into());

/// How long a running nginx may fail to answer, for example on an overloaded host, before this
/// node is withdrawn. It may well serve, and its requests would go to other nodes, which may be as
/// busy. An nginx that does not run, or serves another generation, is not counted as silent.
const SILENCE: Duration = Duration::from_secs(5);

/// What a cycle depends on in the records of other nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peers {
    /// The addresses of all other nodes that may be alive.
    pub addresses: BTreeSet<IpAddr>,
    /// The orders in which other nodes, and an earlier run of this one, saw namespaces claim what
    /// several of them claim.
    pub claim_orders: Arc<[Arc<ClaimOrder>]>,
}

/// The published state, and the publisher.
#[derive(Debug)]
pub struct Publication {
    /// The connection to the cluster; `None` when the source is a folder, because there is no
    /// cluster to publish to.
    link: Option<Link>,
    options: Options,
    statuses: Statuses,
    counts: Counts,
    /// The API server that is published to, and what its revisions belong to.
    history: Option<History>,
    publisher: Option<Publisher>,
    reported: watch::Sender<Option<Served>>,
    served: Served,
    states: Arc<[Arc<ObjectState>]>,
    /// From those of cycles; empty where the last one was not confirmed.
    step: Step,
    /// Whether the states tell what was served last.
    knows: bool,
    /// The objects that the running cycle works on, and those that the confirmed generation was
    /// made from.
    cycled: Option<(u64, Arc<Snapshot>)>,
    confirmed: Option<u64>,
    read: Option<u64>,
    /// The claims whose order is published.
    claims: Option<Arc<Claims>>,
    /// Since when nginx runs and does not answer.
    silent: Option<Instant>,
    /// Since when the source reads another API server, or older data of the same, of which it has
    /// not read everything yet.
    asked_anew: Option<Instant>,
}

impl Publication {
    /// Starts, or continues as under the earlier settings: a leader keeps its Lease. Nothing is
    /// published before the first cycle has ended.
    pub async fn start(
        (settings, statuses): (&Settings, Statuses),
        link: Option<Link>,
        counts: &Counts,
        earlier: Option<Self>,
    ) -> Self {
        let options = &settings.publish_options();
        match earlier {
            Some(earlier) if earlier.is_as(options, link.as_ref()) => {
                // Revisions of the feed begin anew.
                let served = Served { settings: settings.decisive.clone(), ..earlier.served };
                return Publication { served, cycled: None, confirmed: None, read: None, ..earlier };
            }
            // Where the settings switch publishing off, this node is withdrawn.
            Some(earlier) if !earlier.is_at(link.as_ref()) => earlier.leave().await,
            Some(earlier) => earlier.stop().await,
            None => {}
        }
        let mut publication = Publication {
            history: link.as_ref().and_then(known_history),
            link,
            options: options.clone(),
            statuses,
            counts: counts.clone(),
            publisher: None,
            reported: watch::Sender::new(None),
            served: Served { settings: settings.decisive.clone(), statuses, ..Served::default() },
            states: Arc::default(),
            step: Step::default(),
            knows: false,
            cycled: None,
            confirmed: None,
            read: None,
            claims: None,
            silent: None,
            asked_anew: None,
        };
        publication.publish();
        publication
    }

    fn publish(&mut self) {
        self.publisher = self.link.as_ref().map(|link| {
            let identity = identity(self.options.node.as_deref());
            let (served, options) = (self.reported.subscribe(), (self.options.clone(), self.statuses));
            Publisher::start(link.clients(), identity, &RUN, options, &self.counts, served)
        });
    }

    /// Starts anew when the kubeconfig names another API server, which may belong to another
    /// cluster: its leader and members have nothing to do with those known so far. The same when
    /// the store of the API server was restored from a backup: what was written since is lost, and
    /// revisions begin again below those known so far. Returns whether it did.
    pub fn follow_server(&mut self) -> bool {
        let history = self.link.as_ref().and_then(known_history);
        if history.is_none() || history == self.history {
            return false;
        }
        let Some(before) = std::mem::replace(&mut self.history, history.clone()) else { return false };
        let restored = history.and_then(|history| history.restored).filter(|_| self.is_server_of(&before));
        if restored.is_some() {
            tracing::warn!(
                "the API server has older data than before, as after its store was restored from a backup: \
                 everything is read and published anew"
            );
        }
        // Nothing can be written to another server any more; the record there expires by itself.
        // And nothing that was read before is published now.
        self.publisher = None;
        self.forget(restored.unwrap_or_else(Instant::now));
        self.publish();
        true
    }

    fn is_server_of(&self, before: &History) -> bool {
        self.history.as_ref().is_some_and(|history| history.server == before.server)
    }

    /// Checks that the tasks of publishing still run.
    ///
    /// # Panics
    ///
    /// When one of them has ended unexpectedly.
    pub fn expect_alive(&self) {
        self.publisher.iter().for_each(Publisher::expect_alive);
    }

    /// Forgets the objects, which may be those of another cluster. nginx serves the same as
    /// before.
    fn forget(&mut self, since: Instant) {
        let Served { serving, statuses, .. } = self.served;
        let settings = self.served.settings.take();
        self.served = Served { serving, settings, statuses, ..Served::default() };
        (self.cycled, self.confirmed, self.read, self.claims) = (None, None, None, None);
        (self.knows, self.step) = (false, Step::default());
        self.asked_anew = Some(since);
        self.reported.send_replace(None);
    }

    /// The connection to the cluster.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    fn is_as(&self, options: &Options, link: Option<&Link>) -> bool {
        self.is_at(link) && self.options == *options
    }

    /// Whether this is the cluster that is published to, with the same credentials.
    fn is_at(&self, link: Option<&Link>) -> bool {
        self.link.as_ref().zip(link).is_some_and(|(ours, link)| link.is_same(ours))
    }

    /// A view of the publisher.
    pub fn outlook(&self) -> Option<&Outlook> {
        self.publisher.as_ref().map(Publisher::outlook)
    }

    /// What a cycle depends on in the records of other nodes.
    pub fn peers(&self) -> Peers {
        let Some(outlook) = self.outlook() else { return Peers::default() };
        let view = outlook.view();
        let others =
            view.members.iter().filter(|peer| peer.member.identity != view.identity && peer.life != Life::Expired);
        let addresses = others.flat_map(|peer| &peer.member.addresses);
        let addresses = addresses.filter_map(|address| match address {
            Address::Ip(address) => Some(*address),
            Address::Name(_) => None,
        });
        Peers { addresses: addresses.collect(), claim_orders: outlook.claim_orders() }
    }

    /// Whether the records of other nodes are still to be read.
    pub fn awaits_peers(&self) -> bool {
        self.outlook().is_some_and(|outlook| !outlook.knows_members())
    }

    /// Waits until they were read.
    pub async fn peers_known(&self) {
        match self.outlook() {
            Some(outlook) => outlook.members_known().await,
            None => std::future::pending().await,
        }
    }

    /// Sets what an earlier run served.
    pub fn found(&mut self, contents: &Contents, now: Instant) {
        if !std::mem::replace(&mut self.knows, true) {
            self.states = states::in_place(&[], &contents.objects, None, Some(now)).into();
        }
    }

    /// The states of objects. They go on while the source moves to another cluster.
    pub fn states(&self) -> &Arc<[Arc<ObjectState>]> {
        &self.states
    }

    fn set_states(&mut self, states: Vec<Arc<ObjectState>>) {
        self.states = states::shared(states, &self.states);
    }

    /// Records that the source was read. Returns whether a cycle is needed to know what is served,
    /// even if nothing changed.
    pub fn read(&mut self, observed: &Observed) -> bool {
        let Some(snapshot) = &observed.snapshot else { return false };
        if let Some(since) = self.asked_anew {
            let needed = |watch: &&WatchHealth| watch.need == Need::Required;
            if !observed.watches.iter().filter(needed).all(|watch| watch.heard.is_some_and(|heard| heard > since)) {
                return false;
            }
        }
        self.served.snapshot = Arc::clone(snapshot);
        self.read = Some(observed.revision);
        if self.confirmed == self.read {
            // Only statuses differ: the generation includes this revision as well.
            self.served.observed = newest(snapshot);
        }
        self.asked_anew.take().is_some()
    }

    /// Records that a cycle begins with what was read last.
    pub fn began(&mut self) {
        self.cycled = self.read.map(|revision| (revision, Arc::clone(&self.served.snapshot)));
    }

    /// Records that a cycle ended; `pinned` is the generation that the administrator pinned.
    pub fn concluded(&mut self, report: &Report, pinned: Option<&Pinned>, now: Instant) {
        let is_confirmed = matches!(report.outcome, Outcome::Confirmed { .. } | Outcome::Unchanged { .. });
        // After a failure nginx goes on with the earlier generation, of which nothing is
        // withdrawn. New objects are accepted all the same, and other nodes may serve them.
        let before = self.knows.then_some(&*self.states);
        let states = match report.outcome.is_in_place() {
            true => states::still_in_place(&mut self.step, &report.product.states, before, is_confirmed.then_some(now)),
            false => states::unchanged(&report.product.states, &self.states),
        };
        self.set_states(states);
        tracing::debug!(states = self.step.looked_at, "looked at for what is served");
        if !is_confirmed {
            self.step = Step::default();
        }
        self.knows |= is_confirmed;
        let Some((revision, snapshot)) = self.cycled.take() else { return self.pin_states(pinned, now) };
        self.served.informed = true;
        self.pin(pinned, now);
        self.served.states = Arc::clone(&self.states);
        if is_confirmed {
            (self.confirmed, self.served.confirmed) = (Some(revision), true);
            // A status that was published meanwhile makes no new version of an object.
            let latest = if self.read == Some(revision) { &self.served.snapshot } else { &snapshot };
            self.served.observed = newest(latest);
            if self.claims.as_ref().is_none_or(|claims| !Arc::ptr_eq(claims, &report.product.claims)) {
                self.served.claim_order = Arc::new(report.product.claims.order());
                self.claims = Some(Arc::clone(&report.product.claims));
            }
        }
    }

    /// A pinned generation serves what it did when it was made, and nothing that is newer.
    fn pin_states(&mut self, pinned: Option<&Pinned>, now: Instant) {
        let Some(contents) = pinned.and_then(|pinned| pinned.contents.as_ref()) else { return };
        let before = self.knows.then_some(&*self.states);
        self.set_states(states::in_place(&self.states, &contents.objects, before, Some(now)));
        (self.knows, self.step) = (true, Step::default());
    }

    /// Records that the node is pinned, or not any more.
    pub fn pin(&mut self, pinned: Option<&Pinned>, now: Instant) {
        self.pin_states(pinned, now);
        self.served.pinned = pinned.map(|pinned| pinned.pin.generation);
        let Some(pinned) = pinned else { return };
        self.confirmed = None;
        self.served.confirmed = pinned.contents.is_some();
        self.served.states = Arc::clone(&self.states);
        let Some(contents) = &pinned.contents else {
            // It is not known what is served: published addresses stay, and none are added.
            (self.knows, self.step, self.served.observed) = (false, Step::default(), Some(Revision(0)));
            return;
        };
        // A revision that the cluster has not reached is of the time before a restore.
        let newest = newest(&self.served.snapshot);
        let revision =
            contents.revision.map(Revision).filter(|revision| newest.is_none_or(|newest| *revision <= newest));
        self.served.observed = Some(revision.unwrap_or(Revision(0)));
    }

    /// Publishes the current state, if it differs.
    pub fn report(&mut self, status: &Status, drained: bool, now: Instant) {
        let serving = self.is_serving(status, now);
        self.served.generation = status.generation;
        self.served.findings = Arc::clone(&status.findings);
        (self.served.serving, self.served.drained) = (serving, drained);
        if *self.served.phase != *status.phase.name() {
            self.served.phase = status.phase.name().into();
        }
        self.served.nginx = Arc::clone(&status.nginx_version);
        // nginx serves the generation of an earlier run whether or not the objects can be read, so
        // that is no reason to withdraw the node.
        let is_known = self.served.informed || (serving && !self.awaits_peers());
        let Some(outlook) = self.outlook().filter(|_| is_known) else { return };
        if self.claims.is_none() {
            // Until this run knows better, its record repeats the order of the previous run.
            let order = outlook.own_claim_order();
            self.served.claim_order = order;
        }
        self.reported.send_if_modified(|reported| {
            let differs = reported.as_ref().is_none_or(|reported| !reported.is_same(&self.served));
            if differs {
                *reported = Some(self.served.clone());
            }
            differs
        });
    }

    fn is_serving(&mut self, status: &Status, now: Instant) -> bool {
        let runs = status.master.is_some() && status.generation.is_some();
        if !runs || status.served.is_some() {
            self.silent = None;
            return runs && status.served == status.generation;
        }
        let since = *self.silent.get_or_insert(now);
        self.served.serving && now < since + SILENCE
    }

    /// The published state, for status and commands.
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// Stops cleanly because the host shuts down, and nginx with it: this node is withdrawn at
    /// once.
    pub async fn leave(mut self) {
        self.served.serving = false;
        if self.reported.borrow().is_some() {
            self.reported.send_replace(Some(self.served.clone()));
        }
        self.stop().await;
    }

    /// Stops cleanly while nginx goes on: the addresses of this node stay published for the grace
    /// period.
    pub async fn stop(self) {
        if let Some(publisher) = self.publisher {
            publisher.stop().await;
        }
    }
}

fn known_history(link: &Link) -> Option<History> {
    Some(link.clients().history()).filter(|history| history.server.is_some())
}

/// The observed revision of Ingresses.
pub fn newest(snapshot: &Snapshot) -> Option<Revision> {
    let lists = snapshot.lists().filter(|(row, _)| row.status.is_some());
    let published = lists.flat_map(|(_, list)| list.entries()).filter_map(|entry| entry.published);
    let versions = published.map(|published| published.revision.as_deref());
    versions.filter_map(Revision::of).chain(snapshot.position.map(Revision)).max()
}

/// The identity of this node. Host names of machines may be equal, and so may the machine IDs of
/// copies.
fn identity(node: Option<&str>) -> Arc<str> {
    format!("{}_{}", node_name(node), read(MACHINE_ID)).into()
}

/// The name of this node, where settings give none or this one.
pub fn node_name(node: Option<&str>) -> String {
    node.map_or_else(|| read(HOST_NAME), str::to_owned)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
