//! Watches one object of the cluster that has addresses (a Node or a Service).

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Service};
use tokio::sync::watch;

use super::trouble::Trouble;
use crate::source::cluster::{Clients, Failure, Found, Known, Sink, Stream, Timing};

/// The timing of the watch. A single object changes seldom, and bookmarks arrive when nothing
/// changes.
pub const TIMING: Timing = Timing {
    answer: Duration::from_secs(30),
    silence: Duration::from_secs(300),
    lasting: Duration::from_secs(5),
    pauses: (Duration::from_millis(500), Duration::from_secs(1)),
};

/// The state of a watched object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Followed {
    /// It was not read yet.
    #[default]
    Unknown,
    /// We have no right to read it.
    Refused,
    /// It does not exist.
    Absent,
    /// It exists and has these addresses: their type, and the address as written.
    Present(Vec<(String, String)>),
}

/// A kind of object that has addresses.
pub trait Addressed: Known {
    /// The type of each address, and the address as written.
    fn addresses(&self) -> Vec<(String, String)>;
}

impl Addressed for Node {
    fn addresses(&self) -> Vec<(String, String)> {
        let addresses = self.status.iter().flat_map(|status| status.addresses.iter().flatten());
        addresses.map(|address| (address.type_.clone(), address.address.clone())).collect()
    }
}

/// The addresses of its load balancer, and its `externalIPs`.
impl Addressed for Service {
    fn addresses(&self) -> Vec<(String, String)> {
        let balancer = self.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let entries = balancer.iter().flat_map(|balancer| balancer.ingress.iter().flatten());
        let entries = entries.filter_map(|entry| entry.ip.clone().or_else(|| entry.hostname.clone()));
        let entries = entries.map(|address| ("status.loadBalancer".to_owned(), address));
        let external = self.spec.iter().flat_map(|spec| spec.external_ips.iter().flatten());
        entries.chain(external.map(|address| ("spec.externalIPs".to_owned(), address.clone()))).collect()
    }
}

/// Watches the object of this name, namespaced or not, for ever. The last state is kept while the
/// object cannot be read.
pub async fn follow<K: Addressed>(
    clients: &Clients,
    namespace: Option<&str>,
    name: &str,
    reported: watch::Sender<Followed>,
    trouble: Trouble,
) {
    let selector = format!("metadata.name={name}");
    let stream = Stream::<K>::new(clients, clients.watch.clone(), namespace, TIMING).fields(Some(&selector));
    stream.follow(&mut StateReporter { listed: Followed::Absent, reported, trouble }).await;
}

/// Reports the state of the object.
struct StateReporter {
    listed: Followed,
    reported: watch::Sender<Followed>,
    trouble: Trouble,
}

impl StateReporter {
    fn report(&self, now: Followed) {
        self.reported.send_if_modified(|before| {
            let differs = *before != now;
            *before = now;
            differs
        });
    }
}

impl<K: Addressed> Sink<K> for StateReporter {
    fn begin(&mut self) {
        self.listed = Followed::Absent;
    }

    fn page(&mut self, found: Vec<Found<K>>) {
        for object in found.into_iter().filter_map(|found| found.object.ok()) {
            self.listed = Followed::Present(object.addresses());
        }
    }

    fn end(&mut self) {
        let listed = std::mem::replace(&mut self.listed, Followed::Absent);
        self.report(listed);
    }

    fn applied(&mut self, found: Found<K>) {
        if let Ok(object) = found.object {
            self.report(Followed::Present(object.addresses()));
        }
    }

    fn deleted(&mut self, _: &str, _: &str) {
        self.report(Followed::Absent);
    }

    fn heard(&mut self, _: Option<&str>) {
        self.trouble.worked();
    }

    fn failed(&mut self, failure: &Failure) {
        self.trouble.failed(failure.code(), failure);
        // There is nothing to wait for.
        if failure.is_refusal() && *self.reported.borrow() == Followed::Unknown {
            self.report(Followed::Refused);
        }
    }
}
