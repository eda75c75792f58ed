//! The surroundings of a machine: a control plane, pods, clients and a second node, in networks
//! that the test made.

use std::net::Ipv4Addr;

use rig::backends::Backends;
use rig::cluster::administrator;
use rig::cluster::control_plane::ControlPlane;
use rig::cluster::objects::Objects;
use rig::daemon::{Daemon, Source};
use rig::namespace::{self, Namespace, ip};
use rig::nginx::Nginx;
use rig::open_to_all;

/// The addresses of pods, to which the machine has a static route.
const PODS: &str = "10.244.0.0/16";

/// Everything around one machine. What runs ends with it.
pub struct Surroundings {
    /// The objects of the cluster. No other test uses it, so names stay as they are written.
    pub objects: Objects,
    /// The network of the machine.
    pub network: Namespace,
    /// Where clients reach the machine.
    pub address: Ipv4Addr,
    /// The control plane.
    pub plane: ControlPlane,
    /// What answers behind the nodes.
    _backends: Backends,
    /// Where clients and pods are: the network of the test.
    here: Ipv4Addr,
    folder: tempfile::TempDir,
}

/// Runs a test in a network of its own, which has the pods and the clients. Unlike elsewhere there
/// are several threads: clients go on while the test waits for a command on the machine.
pub fn run(test: impl AsyncFnOnce() + Send + 'static) {
    namespace::run_alone(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(test());
    });
}

impl Surroundings {
    /// Sets everything up, with the classes and nothing else in the cluster.
    pub async fn new() -> Self {
        let plane = ControlPlane::start_new().unwrap_or_else(|error| panic!("no control plane: {error}"));
        let here = Namespace::current().connect_to(&plane.namespace);
        let network = Namespace::new_empty();
        let address = network.connect_to(&plane.namespace);
        network.within(|| {
            ip(&["route", "add", PODS, "via", &here.to_string()]);
            ip(&["route", "add", "default", "via", &rig::cluster::network::CONTROL_PLANE.to_string()]);
        });
        let objects = Objects::new(administrator(&plane).await, "default").await;
        objects.write_classes().await;
        let folder = tempfile::Builder::new().prefix("ingressd-boot-").tempdir().unwrap();
        // nginx's workers, who are not root, have to get in.
        open_to_all(folder.path());
        Surroundings { objects, network, address, plane, _backends: Backends::start().await, here, folder }
    }

    /// Gives the network of the test, beside clients and pods, another address, at which the
    /// machine reaches it.
    pub fn add_address(&self, address: &str) {
        ip(&["address", "add", &format!("{address}/32"), "dev", "cluster0"]);
        self.network.within(|| ip(&["route", "add", address, "via", &self.here.to_string()]));
    }

    /// A folder for what runs beside the machine.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The kubeconfig of an administrator of the cluster, with everything in it.
    pub fn administrator(&self) -> String {
        let text = std::fs::read_to_string(self.plane.kubeconfig()).unwrap();
        let authority = std::fs::read(self.plane.authority()).unwrap();
        let authority = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, authority);
        let file = format!("certificate-authority: {}", self.plane.authority().display());
        assert!(text.contains(&file), "{text}");
        text.replace(&file, &format!("certificate-authority-data: {authority}"))
    }

    /// A second node with this kubeconfig, beside clients and pods. It serves already when this
    /// returns.
    pub async fn start_other_node(&self, kubeconfig: &str) -> OtherNode {
        let nginx = Nginx::prepare(&self.folder.path().join("nginx"));
        let file = self.folder.path().join("kubeconfig");
        write_for_owner(&file, kubeconfig);
        let source = Source {
            settings: format!("kubeconfig = {file:?}"),
            specification: "ingressd/nginx".to_owned(),
            ingress_nginx: "k8s.io/ingress-nginx".to_owned(),
        };
        let mut daemon = Daemon::prepare(self.folder.path(), &nginx, source);
        daemon.set("publish.node", "other");
        daemon.set("publish.addresses", &format!("[\"{}\"]", self.here));
        nginx.start();
        daemon.start();
        daemon.ready().await;
        OtherNode { address: self.here.to_string(), _daemon: daemon, _nginx: nginx }
    }
}

/// Another node, which notices what becomes of the first.
pub struct OtherNode {
    /// Where clients reach it, which it publishes.
    pub address: String,
    _daemon: Daemon,
    _nginx: Nginx,
}

fn write_for_owner(path: &std::path::Path, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}
