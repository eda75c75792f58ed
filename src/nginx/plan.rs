//! Facts about an nginx and the decisions that follow from them; it must not know how facts are gathered.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use crate::model::Model;
use crate::model::catalogue::{Module, Version};

/// What an nginx can do, as `nginx -V` and its `load_module` lines tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Its version.
    pub version: Version,
    /// The modules it has.
    pub modules: BTreeSet<Module>,
}

/// What other sites and the host's own `nginx.conf` already set, read from the tree that nginx would load, ours left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// `listen` lines of other sites.
    pub listens: Vec<NeighbourListen>,
    /// Names of directives at http level, for example `gzip`.
    pub http_directives: BTreeSet<String>,
    /// Host names that other sites claim.
    pub server_names: BTreeSet<String>,
    /// Names of `upstream`, shared memory zones and variables are ours alone by prefix; nothing to record.
    /// Value of `worker_processes`, when a number.
    pub worker_processes: Option<u32>,
}

/// One `listen` of another site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeighbourListen {
    /// The file and line, for messages.
    pub place: String,
    /// The address; unspecified for a bare port.
    pub address: SocketAddr,
    /// Whether it claims to be the default server.
    pub default_server: bool,
    /// Whether it speaks TLS.
    pub ssl: bool,
    /// Whether it speaks HTTP/2 by parameter of `listen`.
    pub http2: bool,
}

/// What the administrator decides about listeners and paths.
#[derive(Debug, Clone)]
pub struct GateOptions {
    /// Addresses for HTTP and HTTPS; unspecified IPv4 and IPv6 by default.
    pub addresses: Vec<IpAddr>,
    /// Port for HTTP, 0 for none.
    pub http_port: u16,
    /// Port for HTTPS, 0 for none.
    pub https_port: u16,
    /// Port that clients use for https, for redirects; 443 is left out of URLs.
    pub public_https_port: u16,
    /// Whether HTTP/2 is offered.
    pub http2: bool,
    /// Loopback address that serves the generation number and stub_status.
    pub status: SocketAddr,
    /// Addresses of DNS servers for ExternalName Services; empty answers 503 for those.
    pub resolvers: Vec<SocketAddr>,
    /// The folder that nginx will see as the current generation, for example `/etc/nginx/ingressd/current`.
    pub current: PathBuf,
    /// Idle connections kept to each upstream by each worker.
    pub upstream_keepalive: u32,
    /// Where access logs go: `None` leaves the host's own setting.
    pub access_log: Option<PathBuf>,
}

impl Default for GateOptions {
    fn default() -> Self {
        GateOptions {
            addresses: vec![IpAddr::from([0, 0, 0, 0]), IpAddr::from([0u16; 8])],
            http_port: 80,
            https_port: 443,
            public_https_port: 443,
            http2: true,
            status: SocketAddr::from(([127, 0, 0, 1], 10246)),
            resolvers: Vec::new(),
            current: PathBuf::from("/etc/nginx/ingressd/current"),
            upstream_keepalive: 32,
            access_log: None,
        }
    }
}

/// How HTTP/2 is switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Http2 {
    /// Not at all.
    #[default]
    Off,
    /// As a parameter of `listen`, before 1.25.1.
    Parameter,
    /// By the directive `http2`, since 1.25.1.
    Directive,
}

/// One `listen` of ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Listen {
    /// Address and port.
    pub address: SocketAddr,
    /// Whether TLS is spoken.
    pub ssl: bool,
    /// Whether our catch-all server is the default of this socket.
    pub default_server: bool,
}

/// A model together with the decisions that this nginx makes necessary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What traffic should do, without what this nginx cannot do.
    pub model: Model,
    /// Where we listen.
    pub listens: Vec<Listen>,
    /// How HTTP/2 is switched on.
    pub http2: Http2,
}
