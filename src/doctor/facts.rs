//! What is known when checks judge: values without files, clocks or networks behind them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use ipnet::IpNet;
use serde_json::Value;

use crate::apply::process::Table;
use crate::apply::{Survey, Tested};
use crate::config::{AskedOfNode, Settings};
use crate::finding::Finding;
use crate::model::Validity;
use crate::model::catalogue::Module;
use crate::publish::probe::Leases;
use crate::setup::Layout;
use crate::source::cluster::probe::{AccessReview, NodeNetworks, Server};
use crate::translate::EndpointMode;

/// Everything that is known. What was not asked for, or could not be asked, is `None`; what was asked in vain says why.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What the administrator wrote.
    pub settings: Settings,
    /// Now, in seconds since 1970.
    pub now: i64,
    /// Whether whoever looks may see everything.
    pub is_root: bool,
    /// The host's nginx; the text says why there is none.
    pub nginx: Result<Nginx, String>,
    /// Who listens on this host.
    pub listeners: Vec<OpenSocket>,
    /// SELinux and AppArmor.
    pub confinement: Confinement,
    /// What the daemon says of itself; `None` when none answers.
    pub daemon: Option<Value>,
    /// The process that answers for it; `None` when none does.
    pub daemon_process: Option<u32>,
    /// Whether a daemon has put a generation in place on this host.
    pub has_generation: bool,
    /// The certificates of the generation in place.
    pub certificates: Vec<Served>,
    /// Where objects come from.
    pub source: Source,
    /// What the objects ask for.
    pub objects: Option<Result<Objects, String>>,
}

/// The host's nginx.
#[derive(Debug, Clone)]
pub struct Nginx {
    /// What it is, and what its sites claim.
    pub survey: Survey,
    /// Where its files stand.
    pub layout: Layout,
    /// What `nginx -t` says of its configuration.
    pub tested: Result<Tested, String>,
    /// Its processes, or why none are held to be it.
    pub master: Result<Table, String>,
    /// How many files a worker may have open.
    pub worker_files: Option<u64>,
    /// How many hosts each module would serve that is not part of nginx.
    pub wanted: BTreeMap<Module, usize>,
    /// What the gate says of this host.
    pub findings: Vec<Finding>,
}

/// A socket that takes connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSocket {
    pub address: SocketAddr,
    /// Who has it open; empty when that cannot be seen.
    pub holders: Vec<Holder>,
}

/// A process that has a socket open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    pub name: String,
}

/// What confines processes on this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Whether SELinux enforces; `None` where there is none.
    pub selinux_enforces: Option<bool>,
    /// SELinux' switch that lets web servers connect to the network; `None` where there is none.
    pub may_connect: Option<bool>,
    /// AppArmor's profile for nginx, with its mode.
    pub apparmor: Option<String>,
    /// The last denials for nginx or ingressd that can be seen.
    pub denials: Vec<String>,
}

/// A certificate that nginx serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    pub file: PathBuf,
    /// The names in it, or its subject.
    pub names: Vec<String>,
    /// The hosts that use it.
    pub hosts: Vec<String>,
    /// When it is valid, or why it cannot be read.
    pub validity: Result<Validity, String>,
}

/// Where objects come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Nobody said.
    None,
    /// A folder of manifests.
    Manifests(PathBuf),
    Cluster(Box<Cluster>),
}

#[derive(Debug, Clone)]
pub struct Cluster {
    pub kubeconfig: PathBuf,
    /// Whether it can be used, or why not.
    pub credentials: Result<(), String>,
    /// The API server; `None` without credentials.
    pub server: Option<Result<Server, String>>,
    /// What is allowed, each permission that is needed.
    pub permissions: Vec<Permission>,
    /// Whether everything is allowed.
    pub all_allowed: bool,
    pub nodes: Option<Result<Vec<NodeNetworks>, String>>,
    /// How pods are reached from here: networks, the Nodes that have them, and the route.
    pub routes: Vec<Network>,
    pub leases: Option<Result<Leases, String>>,
}

/// A permission of the roles that the packages ship.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The resource, with its group.
    pub resource: String,
    /// What it is for.
    pub purpose: &'static str,
    /// Whether anything works without it under these settings.
    pub required: bool,
    /// Each verb in each namespace, and whether it is allowed, or why that is not known.
    pub answers: Vec<(AccessReview, Result<bool, String>)>,
}

/// Pods' addresses in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The network, or a single address.
    pub network: IpNet,
    /// The Node that has it; empty when that is not known.
    pub node: String,
    /// Where this host sends what is for it, or why nowhere.
    pub route: Result<Route, String>,
}

/// An entry of this host's routing table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// How long the prefix is that it is for: 0 is the default route.
    pub prefix: u8,
    /// The next router.
    pub gateway: Option<IpAddr>,
    pub interface: Option<String>,
    /// Whether it leads to this host itself.
    pub local: bool,
}

/// What the objects ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Objects {
    /// How many Ingresses there are.
    pub ingresses: usize,
    /// How many of them are ours.
    pub accepted: usize,
    /// How many hosts they have.
    pub hosts: usize,
    /// How many groups of endpoints nginx gets.
    pub upstreams: usize,
    /// How many findings are errors.
    pub errors: usize,
    /// How many are warnings.
    pub warnings: usize,
    /// What the ConfigMap of an ingress-nginx asks of nginx.conf.
    pub asked: Vec<AskedOfNode>,
    /// A sample of the addresses of each mode of reaching endpoints.
    pub samples: Vec<Sample>,
}

/// A sample of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// How endpoints would be reached.
    pub mode: EndpointMode,
    /// How many addresses there are in all.
    pub known: usize,
    /// The addresses that were tried, and what came of it.
    pub tried: Vec<(SocketAddr, Reached)>,
}

/// What came of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// Somebody answers.
    Yes,
    /// The address is reached, but nothing listens there.
    Refused,
    /// It is not, and why.
    No(Arc<str>),
}
