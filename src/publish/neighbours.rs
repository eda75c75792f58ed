//! Watches the records of all nodes; it must not know what follows from them.

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

/// Watches for ever. A connection on which nothing comes for as long as a Lease counts is given up: at least our own record
/// should have come.
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
                    // A version that the API has forgotten would be asked for again and again.
                    if matches!(error, watcher::Error::WatchStartFailed(_)) {
                        break;
                    }
                }
            }
        }
    }
}
