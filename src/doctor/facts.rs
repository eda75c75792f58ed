//! The facts for the checks: plain values without files, clocks or networks.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use ipnet::IpNet;
use serde_json::Value;

use crate::daemon::PageFault;
use crate::setup::Layout;
use ingressd_apply::process::Table;
use ingressd_apply::{Survey, Tested};
use ingressd_cluster::publish::probe::Leases;
use ingressd_cluster::source::cluster::probe::{AccessReview, NodeNetworks, Server};
use ingressd_config::{AskedOfNode, Settings};
use ingressd_model::Validity;
use ingressd_model::catalogue::Module;
use ingressd_model::finding::Finding;
use ingressd_translate::EndpointMode;

/// All facts. A fact that was not needed or not available is `None`; one that could not be
/// gathered has the reason.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What the administrator wrote, under the ConfigMap where that was read.
    pub settings: Settings,
    /// The ConfigMap that could not be read although the settings name it, and why.
    pub unread_layer: Option<String>,
    /// Now, in seconds since 1970.
    pub now: i64,
    /// Whether the user is root, who can see everything.
    pub is_root: bool,
    /// The host's nginx, or why nothing is known of its configuration.
    pub nginx: Result<Nginx, NoNginx>,
    /// The folders that ingressd and nginx write to.
    pub folders: Vec<Folder>,
    /// All listening sockets of this host.
    pub listeners: Vec<OpenSocket>,
    /// SELinux and AppArmor.
    pub confinement: Confinement,
    /// The daemon's status; `None` when none responds.
    pub daemon: Option<Value>,
    /// The PID of the daemon; `None` when none responds.
    pub daemon_process: Option<u32>,
    /// Whether a daemon has put a generation in place on this host.
    pub has_generation: bool,
    /// The certificates of the generation in place.
    pub certificates: Vec<Served>,
    /// What is wrong with the files by which other machines may see the status page; `None` where
    /// the settings name none.
    pub page_faults: Option<Vec<PageFault>>,
    /// Where objects come from.
    pub source: Source,
    /// The demand of the objects.
    pub objects: Option<Result<Objects, String>>,
}

/// The host's nginx.
#[derive(Debug, Clone)]
pub struct Nginx {
    /// Its capabilities, and the claims of its sites.
    pub survey: Survey,
    /// The layout of its files.
    pub layout: Layout,
    /// The result of `nginx -t`.
    pub tested: Result<Tested, String>,
    /// Its processes, or why none are considered to be its.
    pub master: Result<Table, String>,
    /// The limit of open files of a worker.
    pub worker_files: Option<u64>,
    /// The files that the master has open.
    pub master_files: Option<OpenFiles>,
    /// How many hosts each third-party module would serve.
    pub wanted: BTreeMap<Module, usize>,
    /// The findings of the gate about this host.
    pub findings: Vec<Finding>,
}

/// Why nothing is known of nginx's configuration.
#[derive(Debug, Clone)]
pub struct NoNginx {
    pub why: String,
    /// The result of `nginx -t`, where nginx is there and its configuration cannot be read.
    pub tested: Option<Result<Tested, String>>,
    /// Its processes, or why none are considered to be its.
    pub master: Result<Table, String>,
}

/// The open files of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// How many there are.
    pub open: u64,
    /// How many there may be.
    pub limit: u64,
}

/// The room in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    pub path: PathBuf,
    /// What is written there.
    pub purpose: &'static str,
    /// What is free, or why that is not known.
    pub free: Result<Free, String>,
}

/// What is free on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Free {
    pub bytes: u64,
    /// Files that can be made; `None` where the file system does not count them.
    pub inodes: Option<u64>,
    pub read_only: bool,
}

impl Facts {
    /// nginx's processes, or why none are considered to be its.
    pub fn master(&self) -> Result<&Table, &str> {
        let master = match &self.nginx {
            Ok(nginx) => &nginx.master,
            Err(none) => &none.master,
        };
        master.as_ref().map_err(String::as_str)
    }
}

/// A listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSocket {
    pub address: SocketAddr,
    /// The processes that have it open; empty when they cannot be seen.
    pub holders: Vec<Holder>,
}

/// A process that has a socket open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    pub pid: u32,
    pub name: String,
}

/// The confinement of processes on this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Whether SELinux is enforcing; `None` without SELinux.
    pub selinux_enforces: Option<bool>,
    /// SELinux's boolean that lets web servers connect to the network; `None` when it does not
    /// exist.
    pub may_connect: Option<bool>,
    /// AppArmor's profile of nginx, with its mode.
    pub apparmor: Option<String>,
    /// The last visible denials for nginx or ingressd.
    pub denials: Vec<String>,
}

/// A certificate that nginx serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    pub file: PathBuf,
    /// Its names, or its subject.
    pub names: Vec<String>,
    /// The hosts that use it.
    pub hosts: Vec<String>,
    /// Its validity, or why it cannot be read.
    pub validity: Result<Validity, String>,
}

/// Where objects come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// The settings name no source.
    None,
    /// A folder of manifests.
    Manifests(PathBuf),
    Cluster(Box<Cluster>),
}

#[derive(Debug, Clone)]
pub struct Cluster {
    pub kubeconfig: PathBuf,
    /// Whether the credentials can be used, or why not.
    pub credentials: Result<(), String>,
    /// The API server; `None` without credentials.
    pub server: Option<Result<Server, String>>,
    /// The needed rights, each with the responses of the API server.
    pub permissions: Vec<Permission>,
    /// Whether all rights are granted.
    pub all_allowed: bool,
    pub nodes: Option<Result<Vec<NodeNetworks>, String>>,
    /// The routes to pods: networks with their Nodes.
    pub routes: Vec<Network>,
    pub leases: Option<Result<Leases, String>>,
}

/// A right of the roles that the packages contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The resource, with its group.
    pub resource: String,
    pub purpose: &'static str,
    /// Whether it is necessary under these settings.
    pub required: bool,
    /// Each verb in each namespace, and whether it is allowed, or why that is not known.
    pub answers: Vec<(AccessReview, Result<bool, String>)>,
}

/// A pod network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The network, or a single address.
    pub network: IpNet,
    /// The Node with the network; empty when that is not known.
    pub node: String,
    /// The route to it, or why there is none.
    pub route: Result<Route, String>,
}

/// An entry of this host's routing table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The length of its prefix: 0 is the default route.
    pub prefix: u8,
    /// The next router.
    pub gateway: Option<IpAddr>,
    pub interface: Option<String>,
    /// Whether it leads to this host itself.
    pub local: bool,
}

/// The demand of the objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Objects {
    /// The number of Ingresses.
    pub ingresses: usize,
    /// How many of them are of our classes.
    pub accepted: usize,
    /// The number of hosts.
    pub hosts: usize,
    /// The number of upstreams.
    pub upstreams: usize,
    /// The number of paths that are expressions.
    pub expressions: usize,
    /// The number of findings that are errors.
    pub errors: usize,
    /// The number of findings that are warnings.
    pub warnings: usize,
    /// Wildcard hosts that `hosts.allowed` gives to no namespace that has them.
    pub free_wildcards: Vec<String>,
    /// Objects with routes that an authentication service decides about, and no strict paths.
    pub loose: Vec<String>,
    /// What the ConfigMap of an ingress-nginx asks of nginx.conf.
    pub asked: Vec<AskedOfNode>,
    /// A sample of the addresses of each mode of reaching endpoints.
    pub samples: Vec<Sample>,
}

/// A sample of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The endpoint mode.
    pub mode: EndpointMode,
    /// The total number of addresses.
    pub known: usize,
    /// The addresses that were tried, with the results.
    pub tried: Vec<(SocketAddr, Reached)>,
}

/// The result of a connection attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// The connection succeeded.
    Yes,
    /// The host was reached, but the port is closed.
    Refused,
    /// It failed for this reason.
    No(Arc<str>),
}
