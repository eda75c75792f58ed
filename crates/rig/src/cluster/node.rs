//! Further edge nodes, each with a network, an nginx and a daemon of its own.

use std::net::Ipv4Addr;

use serde_json::Value;
use tokio::runtime::Handle;

use super::Cluster;
use crate::backends::Backends;
use crate::daemon::{Daemon, Source};
use crate::namespace::Namespace;
use crate::nginx::Nginx;
use crate::open_to_all;

/// An edge node. What runs on it ends with it.
pub struct Node {
    /// The name by which other nodes know it.
    pub name: String,
    /// Where clients reach it, which it publishes.
    pub address: String,
    /// Its network.
    pub namespace: Namespace,
    /// The daemon, not started.
    pub daemon: Daemon,
    /// The nginx, not started.
    pub nginx: Nginx,
    /// What answers behind its nginx.
    pub backends: Backends,
}

impl Cluster {
    /// Adds a node of this name, which shares the work with others that are added.
    pub fn add_node(&self, name: &str) -> Node {
        let namespace = Namespace::of_a_test();
        let address: Ipv4Addr = namespace.connect_to(&self.control_plane.namespace);
        let folder = self.folder().join(name);
        std::fs::create_dir(&folder).unwrap();
        open_to_all(&folder);
        let source = Source {
            settings: super::settings(&self.credentials, &self.objects),
            specification: self.objects.controller("ingressd"),
            ingress_nginx: self.objects.controller("nginx"),
        };
        let runtime = Handle::current();
        let (nginx, mut daemon, backends) = namespace.within(|| {
            let nginx = Nginx::prepare(&folder.join("nginx"));
            nginx.is_at(address.into());
            let daemon = Daemon::prepare(&folder, &nginx, source);
            (nginx, daemon, runtime.block_on(Backends::start()))
        });
        daemon.set("publish.node", name);
        daemon.set("publish.addresses", &format!("[\"{address}\"]"));
        Node { name: name.to_owned(), address: address.to_string(), namespace, daemon, nginx, backends }
    }
}

impl Node {
    /// Starts nginx, then the daemon, and waits until everything in the cluster is served.
    pub async fn start(&mut self) {
        self.nginx.start();
        self.daemon.start();
        self.daemon.ready().await;
    }

    /// Whether it holds itself to be the leader; `None` when it does not answer.
    pub async fn leads(&self) -> Option<bool> {
        Some(self.daemon.status().await?["role"] == "leader")
    }

    /// Waits until it leads.
    pub async fn until_leader(&mut self) -> Value {
        let what = format!("{} to lead", self.name);
        self.daemon.status_when(&what, |status| status["role"] == "leader").await
    }

    /// How many statuses it wrote.
    pub async fn status_writes(&self) -> f64 {
        self.daemon.metric("ingressd_status_writes_total{result=\"written\"}").await
    }

    /// Takes it out, or back in, as its administrator does.
    pub fn drain(&self, drained: bool) {
        let mut command = self.daemon.command(if drained { "drain" } else { "undrain" });
        if drained {
            command.arg("--no-wait");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
