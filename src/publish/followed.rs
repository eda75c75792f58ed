//! Watches one object of the cluster that has addresses; it must not know which of them count.

use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::trouble::Trouble;

/// How long after a failure it is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// How long the watch may be silent before the object is requested anew: a dead connection reports
/// nothing.
const SILENCE: Duration = Duration::from_secs(300);

/// What is known of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Followed {
    /// Nothing yet.
    #[default]
    Unknown,
    /// It may not be seen.
    Refused,
    /// It is not there.
    Absent,
    /// It is there, and these are its addresses: what sort of address, and the address as it is written.
    Present(Vec<(String, String)>),
}

/// An object that has addresses.
pub trait Addressed: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static {
    /// What sort of address, and the address as it is written.
    fn addresses(&self) -> Vec<(String, String)>;
}

impl Addressed for Node {
    fn addresses(&self) -> Vec<(String, String)> {
        let addresses = self.status.iter().flat_map(|status| status.addresses.iter().flatten());
        addresses.map(|address| (address.type_.clone(), address.address.clone())).collect()
    }
}

/// What its load balancer was given, and the addresses that its owner says lead to it.
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

/// Watches the object of this name for ever. What was seen stays while it cannot be seen.
pub async fn follow<K: Addressed>(api: Api<K>, name: &str, told: watch::Sender<Followed>, mut trouble: Trouble) {
    let selection = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let tell = |now: Followed| {
        told.send_if_modified(|before| {
            let differs = *before != now;
            *before = now;
            differs
        });
    };
    loop {
        let mut events = pin!(watcher(api.clone(), selection.clone()));
        let mut listed = Followed::Absent;
        while let Ok(Some(event)) = timeout(SILENCE, events.next()).await {
            match event {
                Ok(Event::Init) => listed = Followed::Absent,
                Ok(Event::InitApply(object)) => listed = Followed::Present(object.addresses()),
                Ok(Event::InitDone) => {
                    trouble.worked();
                    tell(std::mem::replace(&mut listed, Followed::Absent));
                }
                Ok(Event::Apply(object)) => {
                    trouble.worked();
                    tell(Followed::Present(object.addresses()));
                }
                Ok(Event::Delete(_)) => {
                    trouble.worked();
                    tell(Followed::Absent);
                }
                Err(error) => {
                    let code = code(&error);
                    trouble.failed(code, &error);
                    // Nothing is to be waited for.
                    if matches!(code, 403 | 404) && *told.borrow() == Followed::Unknown {
                        tell(Followed::Refused);
                    }
                    sleep(RETRY).await;
                    // After a 410 the old version would be requested again and again.
                    if matches!(error, watcher::Error::WatchStartFailed(_)) {
                        break;
                    }
                }
            }
        }
    }
}

/// The code of the API's answer, 0 when there was none.
fn code(error: &watcher::Error) -> u16 {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => status.code,
        watcher::Error::WatchError(status) => status.code,
        _ => 0,
    }
}
