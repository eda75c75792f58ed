//! Tracks the addresses of this node while they change.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Service};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::followed::{Followed, follow};
use super::host::{Host, Interface};
use super::kernel::Kernel;
use super::options::{Announced, Mode, Options};
use super::own_addresses::OwnAddresses;
use super::trouble::{Board, Trouble};
use crate::source::cluster::Clients;

/// How long to wait after a change of the host's network: changes come in groups, and a new IPv6
/// address is checked for duplicates first.
const SETTLING: Duration = Duration::from_millis(300);

/// How often the host's network is read while the kernel reports no changes.
const LOOK: Duration = Duration::from_secs(5);

/// How long the kernel may take to list the interfaces.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tracks the addresses of this node.
pub struct Locator {
    options: Arc<Options>,
    /// The name of this host's Node object.
    node: Arc<str>,
    host: Host,
    knows_host: bool,
    /// The netlink connection; `None` while the kernel does not answer.
    kernel: Option<Kernel>,
    trouble: Trouble,
    object: watch::Receiver<Followed>,
    reported: watch::Sender<Option<Arc<OwnAddresses>>>,
    /// The task that watches an object of the cluster; it ends when this is dropped.
    following: JoinSet<()>,
}

impl Locator {
    /// Starts to track. Addresses that need no API request are known at once.
    pub fn start(
        options: &Arc<Options>,
        identity: &str,
        clients: &Clients,
        board: &Board,
    ) -> (Self, watch::Receiver<Option<Arc<OwnAddresses>>>) {
        let name = identity.rsplit_once('_').map_or(identity, |(name, _)| name).to_ascii_lowercase();
        let node = options.node_object.clone().unwrap_or_else(|| name.into());
        let (report_object, object) = watch::channel(Followed::Unknown);
        let mut following = JoinSet::new();
        match &options.service {
            Some((namespace, name)) if options.mode == Mode::Service => {
                let trouble = board.trouble("the Service of publish.service cannot be watched");
                let (clients, namespace, name) = (clients.clone(), Arc::clone(namespace), Arc::clone(name));
                following.spawn(async move {
                    follow::<Service>(&clients, Some(&namespace), &name, report_object, trouble).await;
                });
            }
            _ if options.addresses.iter().any(|entry| matches!(entry, Announced::Node(_))) => {
                let trouble = board.trouble("the Node of this host cannot be watched");
                let (clients, name) = (clients.clone(), Arc::clone(&node));
                following.spawn(async move { follow::<Node>(&clients, None, &name, report_object, trouble).await });
            }
            _ => {}
        }
        let (reported, own_addresses) = watch::channel(None);
        let mut locator = Locator {
            options: Arc::clone(options),
            node,
            host: Host::default(),
            knows_host: false,
            kernel: None,
            trouble: board.trouble("the addresses of this host cannot be read, which is tried again every 5 s"),
            object,
            reported,
            following,
        };
        if !locator.asks_host() {
            locator.report();
        }
        (locator, own_addresses)
    }

    /// Whether the settings need the host's own addresses.
    fn asks_host(&self) -> bool {
        let asks = |entry: &Announced| matches!(entry, Announced::Automatic | Announced::Interface(_));
        self.options.mode != Mode::Service && self.options.addresses.iter().any(asks)
    }

    /// Tracks for ever.
    pub async fn run(mut self) {
        let asks_host = self.asks_host();
        if asks_host {
            self.look().await;
        }
        loop {
            tokio::select! {
                () = changed(&mut self.kernel), if asks_host => self.look().await,
                reported = self.object.changed(), if !self.following.is_empty() => {
                    if reported.is_err() {
                        return;
                    }
                    match asks_host {
                        // A look that was due soon is taken now.
                        true => self.look().await,
                        false => self.report(),
                    }
                }
                // No change will ever be reported.
                () = std::future::pending() => {}
            }
        }
    }

    async fn look(&mut self) {
        let asked = timeout(PATIENCE, self.ask()).await;
        match asked.unwrap_or_else(|_| Err("the kernel does not answer".into())) {
            Ok(interfaces) => {
                self.trouble.worked();
                self.knows_host = true;
                self.host = Host::with(interfaces);
            }
            Err(error) => {
                self.kernel = None;
                self.trouble.failed(0, &error);
                // Known addresses stay. An interface that was never read cannot be missing yet.
                let is_interface = |entry: &Announced| matches!(entry, Announced::Interface(_));
                if !self.knows_host && self.options.addresses.iter().any(is_interface) {
                    return;
                }
                self.host = Host::with(std::mem::take(&mut self.host.interfaces));
            }
        }
        self.report();
    }

    async fn ask(&mut self) -> Result<BTreeMap<String, Interface>, Box<dyn Error + Send + Sync>> {
        let kernel = match &mut self.kernel {
            Some(kernel) => kernel,
            none => none.insert(Kernel::open()?),
        };
        kernel.forget();
        Ok(kernel.interfaces().await?)
    }

    fn report(&mut self) {
        let found = OwnAddresses::of(&self.options, &self.node, &self.host, &self.object.borrow_and_update());
        let Some(found) = found else { return };
        self.reported.send_if_modified(|reported| {
            if reported.as_deref() == Some(&found) {
                return false;
            }
            report(reported.as_deref(), &found);
            *reported = Some(Arc::new(found));
            true
        });
    }
}

/// Waits until the host's network may have changed.
async fn changed(kernel: &mut Option<Kernel>) {
    match kernel {
        Some(listening) => {
            if !listening.changed().await {
                *kernel = None;
            }
            sleep(SETTLING).await;
        }
        None => sleep(LOOK).await,
    }
}

/// Logs the addresses. The text may quote others, so control characters are escaped for terminals.
fn report(before: Option<&OwnAddresses>, now: &OwnAddresses) {
    if before.is_none_or(|before| before.addresses != now.addresses) {
        let list: Vec<_> = now.addresses.iter().map(ToString::to_string).collect();
        match list.is_empty() {
            true => tracing::warn!("this node has no address that could be published"),
            false => tracing::info!("this node publishes these addresses: {}", list.join(", ")),
        }
    }
    let is_new = |missing: &&(&'static str, String)| before.is_none_or(|before| !before.missing.contains(missing));
    for (key, why) in now.missing.iter().filter(is_new) {
        tracing::warn!(REASON = "MissingAddress", "{key}: {}", why.replace(char::is_control, " "));
    }
}
