//! Starts and stops all tasks that publish.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};

use super::announcer::Announcer;
use super::counts::Counts;
use super::election::{Leadership, holder_of};
use super::leader::Elector;
use super::locator::Locator;
use super::members::Members;
use super::membership::{Identity, Membership, asked};
use super::options::Options;
use super::order::Writes;
use super::own_addresses::OwnAddresses;
use super::peers;
use super::served::Served;
use super::statuses::{Outputs, Parts, Statuses};
use super::trouble::Board;
use super::view::Outlook;
use super::writer::Inputs;
use crate::source::cluster::Clients;
use ingressd_model::ObjectId;

/// How long a clean stop may take: an unavailable API must not keep the daemon from ending.
const FAREWELL: Duration = Duration::from_secs(3);

/// All tasks that publish. When it is dropped they end at once, as if the host had crashed.
#[derive(Debug)]
pub struct Publisher {
    stop: watch::Sender<bool>,
    /// The tasks that end by themselves when they are asked to.
    leaving: Vec<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
    outlook: Outlook,
    /// A sender that is kept where no status is written, so that receivers of reports about
    /// contention keep waiting.
    _silence: Option<watch::Sender<Vec<Arc<ObjectId>>>>,
}

impl Publisher {
    /// Starts to publish `served` as the node of this identity, as soon as it has a value. `run`
    /// differs between two processes, also of hosts whose identities are the same.
    pub fn start(
        clients: &Clients,
        identity: Arc<str>,
        run: &Arc<str>,
        (options, statuses): (Options, Statuses),
        counts: &Counts,
        served: watch::Receiver<Option<Served>>,
    ) -> Self {
        let options = Arc::new(options);
        let (stop, stopped) = watch::channel(false);
        let (report_leadership, leadership) = watch::channel(Leadership::default());
        let (send_members, members) = watch::channel(Members::new(options.lease_duration));
        let (report_contended, contended) = watch::channel(Vec::new());
        let (report_writes, writes) = watch::channel(if options.status { Writes::Now } else { Writes::Never });
        let board = Board::default();
        let (locator, place) = Locator::start(&options, &identity, clients, &board);
        let inputs = Inputs {
            served: served.clone(),
            members: members.clone(),
            leadership: leadership.clone(),
            place: place.clone(),
        };
        let outlook = Outlook {
            identity: Arc::clone(&identity),
            manager: options.manager().into(),
            leadership,
            members,
            contended: contended.clone(),
            place: place.clone(),
            mode: options.mode,
            writes: writes.clone(),
            board: board.clone(),
        };

        let leases = Api::<Lease>::namespaced(clients.lease.clone(), &options.namespace);
        let trouble = board.trouble("the Lease of this node cannot be written");
        let duplicate = board.trouble("another host has the name and the machine ID of this one");
        let node = Identity { node: Arc::clone(&identity), run: Arc::clone(run) };
        let membership = Membership::new(leases.clone(), node, Arc::clone(&options), (trouble, duplicate), writes);
        let (lease, timing) = (Arc::clone(&options.lease), options.timing());
        let trouble = board.trouble("the Lease of the leader cannot be read or written");
        let candidate = Elector::new(leases, lease, holder_of(&identity, run), timing, trouble);
        let leading = lead(candidate, served.clone(), place.clone(), report_leadership, stopped.clone());
        let leaving = vec![tokio::spawn(membership.run(served, place, stopped)), tokio::spawn(leading)];

        let (watched, settings) = (clients.clone(), Arc::clone(&options));
        let trouble = board.trouble("the Leases of the other nodes cannot be watched");
        let watching = async move { peers::watch(&watched, &settings, send_members, trouble).await };
        let mut others = vec![tokio::spawn(locator.run()), tokio::spawn(watching)];
        let client = || clients.write.clone();
        let silence = if options.status {
            let outputs = Outputs::new(report_contended, report_writes, statuses);
            for row in statuses.0 {
                let (identity, options, outputs) = (Arc::clone(&identity), Arc::clone(&options), outputs.clone());
                let trouble = board.trouble(row.trouble);
                let parts = Parts { client: client(), identity, options, counts: counts.clone(), outputs, trouble };
                others.push(tokio::spawn(row.start(parts, inputs.clone())));
            }
            None
        } else {
            Some(report_contended)
        };
        if options.events {
            let trouble = board.trouble("Events cannot be written");
            let announcer = Announcer::new(client(), identity, &options, counts.clone(), trouble);
            others.push(tokio::spawn(announcer.run(inputs, contended)));
        }
        Publisher { stop, leaving, others, outlook, _silence: silence }
    }

    /// A view of publishing that can be asked at any time, also during the stop.
    pub fn outlook(&self) -> &Outlook {
        &self.outlook
    }

    /// Checks that no task has ended unexpectedly.
    ///
    /// # Panics
    ///
    /// When a task has ended: a node that holds the Lease and writes nothing is worse than one
    /// that is started again.
    pub fn expect_alive(&self) {
        let ended = self.leaving.iter().chain(&self.others).any(JoinHandle::is_finished);
        assert!(!ended, "a task that publishes has ended; what it said stands above");
    }

    /// Stops cleanly: the record of this node stays valid for the grace period, and the leader's
    /// Lease is released.
    pub async fn stop(mut self) {
        self.others.iter().for_each(JoinHandle::abort);
        self.stop.send_replace(true);
        let leaving = std::mem::take(&mut self.leaving);
        let aborts: Vec<_> = leaving.iter().map(JoinHandle::abort_handle).collect();
        let all = async {
            for task in leaving {
                // A task that panicked has nothing left to finish.
                let _ = task.await;
            }
        };
        if tokio::time::timeout(FAREWELL, all).await.is_err() {
            tracing::warn!("the other nodes could not be told that this one stops; its Lease ends by itself");
            aborts.iter().for_each(AbortHandle::abort);
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.leaving.iter().chain(&self.others).for_each(JoinHandle::abort);
    }
}

/// Competes for the Lease once this node knows what it serves and under which addresses: before
/// that, it could write nothing as the leader.
async fn lead(
    candidate: Elector,
    mut served: watch::Receiver<Option<Served>>,
    mut place: watch::Receiver<Option<Arc<OwnAddresses>>>,
    reported: watch::Sender<Leadership>,
    mut stop: watch::Receiver<bool>,
) {
    let known = async {
        let informed = served.wait_for(|served| served.as_ref().is_some_and(|served| served.informed)).await.is_ok();
        informed && place.wait_for(Option::is_some).await.is_ok()
    };
    tokio::select! {
        known = known => {
            if !known {
                return;
            }
        }
        () = asked(&mut stop) => return,
    }
    candidate.run(reported, stop).await;
}
