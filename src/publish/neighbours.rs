//! Watches the Leases of all nodes of the group; it must not know what follows from them.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::member::GROUP_LABEL;
use super::roster::Roster;
use super::trouble::Trouble;

/// How long after a failure it is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Watches for ever. A connection that is silent for the duration of a Lease is given up: at least
/// our own record should have changed.
pub async fn watch(
    leases: Api<Lease>,
    group: &str,
    duration: Duration,
    told: watch::Sender<Roster>,
    mut trouble: Trouble,
) {
    let selection = watcher::Config::default().labels(&format!("{GROUP_LABEL}={group}"));
    let mut list = Vec::new();
    loop {
        let mut events = pin!(watcher(leases.clone(), selection.clone()));
        while let Ok(Some(event)) = timeout(duration, events.next()).await {
            let now = Instant::now();
            match event {
                Ok(Event::Init) => list.clear(),
                Ok(Event::InitApply(lease)) => list.push(lease),
                Ok(Event::InitDone) => {
                    trouble.worked();
                    told.send_modify(|roster| roster.replace(&list, now));
                    list.clear();
                }
                Ok(Event::Apply(lease)) => {
                    trouble.worked();
                    told.send_modify(|roster| roster.apply(&lease, now));
                }
                Ok(Event::Delete(lease)) => {
                    trouble.worked();
                    told.send_modify(|roster| roster.delete(&lease, now));
                }
                Err(error) => {
                    trouble.failed(0, &error);
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
