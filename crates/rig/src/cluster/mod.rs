//! The surroundings of every test on a cluster: a control plane that all share, and a node,
//! namespace and classes of its own.
//!
//! ```no_run
//! #[test]
//! fn a_host_is_served() {
//!     cluster::run(async |cluster| {
//!         cluster.objects.serve_shop().await;
//!         cluster.start().await;
//!         assert_eq!(get("http://shop.example/").send().await.status, 200);
//!     });
//! }
//! ```
//!
//! The control plane runs in a network namespace of its own. So does each test, with nginx,
//! daemon, backends and clients, and there every pod address is local; a bridge connects them. A
//! test waits for events, never for time to pass.

pub mod certificates;
pub mod control_plane;
pub mod credentials;
pub mod history;
pub mod network;
pub mod node;
pub mod objects;
pub mod pods;
pub mod proxy;
pub mod rights;

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::backends::Backends;
use crate::daemon::{Daemon, Source};
use crate::namespace::{self, Namespace};
use crate::nginx::Nginx;
use crate::open_to_all;
use control_plane::{ControlPlane, Turn};
use credentials::Credentials;
use network::CONTROL_PLANE;
use objects::Objects;
use proxy::Proxy;

/// Everything that a test needs. What runs ends with it, but for the control plane.
pub struct Cluster {
    /// The control plane, which other tests use too.
    pub control_plane: &'static ControlPlane,
    /// The test's objects.
    pub objects: Objects,
    /// The daemon, not started.
    pub daemon: Daemon,
    /// The nginx, not started.
    pub nginx: Nginx,
    /// What answers behind nginx.
    pub backends: Backends,
    /// The credentials of the daemon.
    pub credentials: Credentials,
    /// The address of the test's node.
    pub address: Ipv4Addr,
    folder: tempfile::TempDir,
    turn: Option<Turn>,
}

/// Runs a test together with others.
///
/// # Panics
///
/// When the test does.
pub fn run(test: impl AsyncFnOnce(&mut Cluster) + Send + 'static) {
    run_in_turn(false, &next_name(), test);
}

/// Runs a test while no other runs: it may stop, pause and change the control plane, and leaves it
/// as it was.
///
/// # Panics
///
/// When the test does.
pub fn run_alone(test: impl AsyncFnOnce(&mut Cluster) + Send + 'static) {
    run_in_turn(true, &next_name(), test);
}

/// Runs something in the namespace `default`, where nothing is renamed.
pub fn run_in_default(action: impl AsyncFnOnce(&mut Cluster) + Send + 'static) {
    run_in_turn(true, "default", action);
}

fn next_name() -> String {
    static TESTS: AtomicU16 = AtomicU16::new(1);
    format!("test-{}", TESTS.fetch_add(1, Ordering::Relaxed))
}

fn run_in_turn(alone: bool, namespace: &str, test: impl AsyncFnOnce(&mut Cluster) + Send + 'static) {
    let namespace = namespace.to_owned();
    namespace::run_alone(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut cluster = Cluster::new(Turn::take(alone).await, &namespace).await;
            test(&mut cluster).await;
            // Nothing of the test runs any more when its objects go, and the control plane is
            // still there for it.
            let objects = cluster.objects.in_namespace(&namespace);
            let _turn = cluster.turn.take();
            drop(cluster);
            objects.clear().await;
        });
    });
}

impl Cluster {
    async fn new(turn: Turn, namespace: &str) -> Self {
        let control_plane = ControlPlane::shared();
        let address = Namespace::current().connect_to(&control_plane.namespace);
        let objects = Objects::new(administrator(control_plane).await, namespace).await;
        objects.write_classes().await;
        let folder = tempfile::Builder::new().prefix("ingressd-test-").tempdir().unwrap();
        // nginx's workers, who are not root, have to get in.
        open_to_all(folder.path());
        let nginx = Nginx::prepare(&folder.path().join("nginx"));
        let authority = fs::read_to_string(control_plane.authority()).unwrap();
        let credentials = folder.path().join("credentials");
        let credentials = Credentials::make(&credentials, &objects, &rights::shipped(), &url(), &authority).await;
        let source = Source {
            settings: settings(&credentials, &objects),
            specification: objects.controller("ingressd"),
            ingress_nginx: objects.controller("nginx"),
        };
        let daemon = Daemon::prepare(folder.path(), &nginx, source);
        let backends = Backends::start().await;
        Cluster { control_plane, objects, daemon, nginx, backends, credentials, address, folder, turn: Some(turn) }
    }

    /// Starts nginx, then the daemon, and waits until everything in the cluster is served.
    pub async fn start(&mut self) {
        self.nginx.start();
        self.daemon.start();
        self.daemon.ready().await;
    }

    /// Puts a proxy between the daemon, which must not have been started yet, and the API server.
    pub async fn put_proxy_between(&self) -> Proxy {
        let server = (CONTROL_PLANE, control_plane::PORT).into();
        let proxy = Proxy::start(server, &self.authority()).await;
        self.credentials.write_authority(&proxy.authority());
        self.credentials.write_kubeconfig(&proxy.url());
        proxy
    }

    /// Lets tests be alone that wait for that, while this one has nothing to do with the control
    /// plane for minutes.
    pub fn give_way(&mut self) {
        self.turn = None;
    }

    /// Uses the control plane again, which is as it was, but may have another authority.
    pub async fn take_turn(&mut self) {
        if self.turn.is_none() {
            self.turn = Some(Turn::take(false).await);
            self.reconnect().await;
        }
    }

    /// Makes the test's own client anew, after the control plane got another authority.
    pub async fn reconnect(&mut self) {
        self.objects.set_client(administrator(self.control_plane).await);
    }

    /// The authority that signed the API server's certificate, PEM.
    pub fn authority(&self) -> Vec<u8> {
        fs::read(self.control_plane.authority()).unwrap()
    }

    /// The test's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The API server, and the namespace with the Leases of this test's nodes.
fn settings(credentials: &Credentials, objects: &Objects) -> String {
    format!("kubeconfig = {:?}\npublish.namespace = {:?}\n", credentials.kubeconfig(), objects.namespace())
}

/// The URL of the API server.
pub fn url() -> String {
    format!("https://{CONTROL_PLANE}:{}", control_plane::PORT)
}

/// A client to which everything is allowed.
pub async fn administrator(control_plane: &ControlPlane) -> Client {
    let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("--- nginx's error log ---\n{}", self.nginx.error_log());
        }
    }
}
