//! Watches the Leases of all nodes of the group.

use k8s_openapi::api::coordination::v1::Lease;
use tokio::sync::watch;
use tokio::time::Instant;

use super::followed;
use super::member::GROUP_LABEL;
use super::members::Members;
use super::options::Options;
use super::trouble::Trouble;
use crate::source::cluster::{Clients, Failure, Found, Sink, Stream, Timing};

/// Watches for ever. A connection that is silent for the duration of a Lease is dropped: at least
/// our own record should have changed.
pub async fn watch(clients: &Clients, options: &Options, reported: watch::Sender<Members>, trouble: Trouble) {
    let silence = options.lease_duration;
    let timing = Timing { answer: silence, silence, ..followed::TIMING };
    let selector = format!("{GROUP_LABEL}={}", options.lease);
    let stream = Stream::<Lease>::new(clients, clients.watch.clone(), Some(&options.namespace), timing);
    stream.labels(Some(&selector)).follow(&mut MembersUpdater { listed: Vec::new(), reported, trouble }).await;
}

/// Updates the members.
struct MembersUpdater {
    listed: Vec<Lease>,
    reported: watch::Sender<Members>,
    trouble: Trouble,
}

impl Sink<Lease> for MembersUpdater {
    fn begin(&mut self) {
        self.listed.clear();
    }

    fn page(&mut self, found: Vec<Found<Lease>>) {
        self.listed.extend(found.into_iter().filter_map(|found| found.object.ok()));
    }

    fn end(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        self.reported.send_modify(|members| members.replace(&listed, Instant::now()));
    }

    fn applied(&mut self, found: Found<Lease>) {
        if let Ok(lease) = found.object {
            self.reported.send_modify(|members| members.apply(&lease, Instant::now()));
        }
    }

    fn deleted(&mut self, _: &str, name: &str) {
        self.reported.send_modify(|members| members.delete(name, Instant::now()));
    }

    fn heard(&mut self, _: Option<&str>) {
        self.trouble.worked();
    }

    fn failed(&mut self, failure: &Failure) {
        self.trouble.failed(0, failure);
    }
}
