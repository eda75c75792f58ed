//! The values of an object over time, from a watch of the test.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::objects::Objects;
use crate::wait;

/// The pause before a watch is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// Every state of a part of one object, in order, from the beginning of the watch. It ends with
/// this value.
pub struct History<T> {
    what: String,
    states: Arc<Mutex<Vec<T>>>,
    watch: JoinHandle<()>,
}

impl Objects {
    /// Follows the addresses of an Ingress.
    pub async fn follow_addresses(&self, name: &str) -> History<Vec<String>> {
        self.follow("Ingress", name, addresses).await
    }

    /// Follows the holder of a Lease; empty when it has none.
    pub async fn follow_holder(&self, name: &str) -> History<String> {
        self.follow("Lease", name, |lease| text(&lease["spec"]["holderIdentity"])).await
    }

    /// Follows what `part` shows of an object; a state is remembered when it differs from the one
    /// before.
    pub async fn follow<T>(&self, kind: &str, name: &str, part: fn(&Value) -> T) -> History<T>
    where
        T: Clone + PartialEq + Debug + Send + 'static,
    {
        let api = self.api(kind);
        let named = ListParams::default().fields(&format!("metadata.name={name}"));
        let list = api.list(&named).await.unwrap();
        let show = move |object: &DynamicObject| part(&serde_json::to_value(object).unwrap());
        let states = Arc::new(Mutex::new(list.items.iter().map(show).collect::<Vec<_>>()));
        let parameters = WatchParams::default().fields(&format!("metadata.name={name}")).timeout(290);
        let mut version = list.metadata.resource_version.unwrap();
        let reported = Arc::clone(&states);
        let report = move |object: &DynamicObject| {
            let (state, mut states) = (show(object), reported.lock().unwrap_or_else(PoisonError::into_inner));
            if states.last() != Some(&state) {
                states.push(state);
            }
        };
        let watch = tokio::spawn(async move {
            // A watch ends from time to time, and goes on where it was.
            loop {
                let Ok(events) = api.watch(&parameters, &version).await else {
                    sleep(PAUSE).await;
                    continue;
                };
                let mut events = events.boxed();
                while let Some(Ok(event)) = events.next().await {
                    match event {
                        WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                            version = object.metadata.resource_version.clone().unwrap();
                            report(&object);
                        }
                        // A server that was started anew remembers nothing of before: the watch
                        // begins anew, too.
                        WatchEvent::Error(_) => {
                            let Ok(list) = api.list(&named).await else { break };
                            version = list.metadata.resource_version.unwrap();
                            list.items.iter().for_each(&report);
                            break;
                        }
                        WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
                    }
                }
            }
        });
        History { what: format!("{kind} {name}"), states, watch }
    }
}

impl<T: Clone + PartialEq + Debug> History<T> {
    /// All states so far.
    pub fn states(&self) -> Vec<T> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many states there are so far, for [`History::since`].
    pub fn mark(&self) -> usize {
        self.states().len()
    }

    /// The state at the mark and all that followed.
    pub fn since(&self, mark: usize) -> Vec<T> {
        self.states().split_off(mark - 1)
    }

    /// Waits until the last state is as it should be.
    pub async fn until(&self, right: impl Fn(&T) -> bool) {
        let last = async || self.states();
        wait::until_right(&self.what, last, |states| states.last().is_some_and(&right)).await;
    }
}

impl History<Vec<String>> {
    /// Waits until these are the addresses.
    pub async fn until_published(&self, addresses: &[&str]) {
        self.until(|published| *published == addresses).await;
    }

    /// Fails when an address was ever missing after there was one.
    pub fn was_never_empty(&self) {
        let states = self.states();
        let published: Vec<_> = states.iter().skip_while(|addresses| addresses.is_empty()).collect();
        assert!(published.iter().all(|addresses| !addresses.is_empty()), "{}: {states:?}", self.what);
    }
}

impl<T> Drop for History<T> {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// The addresses in the status of an Ingress.
pub fn addresses(ingress: &Value) -> Vec<String> {
    let entries = ingress["status"]["loadBalancer"]["ingress"].as_array().cloned().unwrap_or_default();
    let address = |entry: &Value| text(entry.get("ip").unwrap_or(&entry["hostname"]));
    entries.iter().map(address).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
