//! A model together with the decisions that one nginx makes necessary.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use super::access_log::{AccessLog, AccessLogOptions};
use super::everywhere::Everywhere;
use super::firewall::{FirewallOptions, FirewallRules};
use super::geoip::{Geo, GeoOptions};
use super::stream_log::StreamLog;
use crate::model::catalogue::DirectiveRow;
use crate::model::{Cidr, Model, Protocols};

/// What the administrator decides about nginx.
#[derive(Debug, Clone)]
pub struct GateOptions {
    /// Port that clients use for https, for redirects; 443 is left out of URLs.
    pub public_https_port: u16,
    /// Whether HTTP/2 is offered.
    pub http2: bool,
    /// Versions of TLS.
    pub tls_protocols: Protocols,
    /// Loopback address that serves the generation number and stub_status.
    pub status: SocketAddr,
    /// The port of [`Inside`].
    pub passthrough_port: u16,
    /// nginx has that port now, by the files in place: connections may be on their way to it.
    pub has_passthrough: bool,
    /// The folder that nginx will see as the current generation, for example `/etc/nginx/ingressd/current`.
    pub current: PathBuf,
    /// Idle connections kept to each upstream by each worker.
    pub upstream_keepalive: u32,
    /// What all hosts get.
    pub everywhere: Everywhere,
    /// How requests are logged.
    pub access_log: AccessLogOptions,
    /// Where the rules of the firewall are.
    pub firewall: FirewallOptions,
    /// Where databases are that tell where clients are.
    pub geo: GeoOptions,
    /// Whether hosts that are served alike share a `server` block.
    pub shared_servers: bool,
}

impl Default for GateOptions {
    fn default() -> Self {
        GateOptions {
            public_https_port: 443,
            http2: true,
            tls_protocols: Protocols::Both,
            status: SocketAddr::from(([127, 0, 0, 1], 10246)),
            passthrough_port: 10247,
            has_passthrough: false,
            current: PathBuf::from("/etc/nginx/ingressd/current"),
            upstream_keepalive: 32,
            everywhere: Everywhere::default(),
            access_log: AccessLogOptions::default(),
            firewall: FirewallOptions::default(),
            geo: GeoOptions::default(),
            shared_servers: true,
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
    /// Whether clients begin with a header of the PROXY protocol.
    pub proxy_protocol: bool,
    /// Whether our catch-all server is the default of this socket.
    pub default_server: bool,
    /// Who connects to it.
    pub connected_by: ConnectedBy,
}

/// Who connects to a socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ConnectedBy {
    /// Clients.
    #[default]
    Outside,
    /// nginx itself, for clients, of which it tells by the PROXY protocol.
    Inside,
    /// nginx itself, for proxies whose headers are believed about their clients.
    InsideTrusted,
}

impl ConnectedBy {
    /// Whether nginx itself connects there.
    pub fn is_inside(self) -> bool {
        self != ConnectedBy::Outside
    }
}

/// Loopback addresses on which nginx listens for itself where TLS of some host is not opened here. A port of each is taken, so
/// that one setting is enough.
pub struct Inside;

impl Inside {
    /// For what is opened here.
    pub const HTTPS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));
    /// For what is not.
    pub const PASSED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    /// For what is opened here and comes from proxies whose headers are believed.
    pub const TRUSTED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
    /// All of them.
    pub const ALL: [IpAddr; 3] = [Self::HTTPS, Self::PASSED, Self::TRUSTED];
}

/// How TLS is told apart by the name in its handshake, before anybody opens it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preread {
    /// Where clients come to.
    pub listens: Vec<SocketAddr>,
    /// Whether they begin with a header of the PROXY protocol.
    pub proxy_protocol: bool,
    /// The port of [`Inside`].
    pub port: u16,
    /// Whether the sizes of the tables of `map` are ours to write; otherwise they are those that nginx has by itself, or better.
    pub sizes_tables: bool,
}

/// The size of nginx's table of server names, an http-level setting that is ours to write when the host does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NamesHash {
    /// `server_names_hash_max_size`, a power of two.
    pub max_size: u32,
    /// `server_names_hash_bucket_size` in bytes, a power of two.
    pub bucket_size: u32,
}

/// A line of our servers that takes back what the host's `http` level says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reset {
    /// The directive.
    pub row: &'static DirectiveRow,
    /// Its arguments, as nginx reads them.
    pub arguments: &'static str,
}

/// What one nginx makes necessary, apart from the model; it changes rarely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Where we listen.
    pub listens: Vec<Listen>,
    /// How HTTP/2 is switched on.
    pub http2: Http2,
    /// Every server names its certificate: another site is the default server of a socket of ours, or the host names
    /// one for all sites.
    pub explicit_certificates: bool,
    /// What our servers take back of the host's `http` level.
    pub resets: Vec<Reset>,
    /// The table of server names.
    pub names_hash: Option<NamesHash>,
    /// The table of variables is ours to size: the host's `nginx.conf` does not.
    pub variables_hash_max_size: bool,
    /// The same of its buckets, which limit how long names may be.
    pub variables_hash_bucket_size: bool,
    /// Longest server name in bytes that nginx's table takes; longer ones are written as regular expressions.
    pub longest_name: usize,
    /// The port of https URLs.
    pub public_https_port: u16,
    /// The address that serves the generation number, and whether it serves `stub_status`.
    pub status: Option<(SocketAddr, bool)>,
    /// The folder that nginx will see as the current generation.
    pub current: PathBuf,
    /// Idle connections kept to each upstream by each worker; `None` without the module.
    pub upstream_keepalive: Option<u32>,
    /// Whether nginx keeps idle connections also where nobody asks for that.
    pub keeps_connections: bool,
    /// What all hosts get.
    pub everywhere: Everywhere,
    /// Whether `keepalive_time` is known (1.19.10).
    pub keepalive_time: bool,
    /// Whether hosts of the ingress-nginx dialect take the header `Server` out of their answers.
    pub clears_server_header: bool,
    /// How requests are logged.
    pub access_log: AccessLog,
    /// How connections to TCP and UDP services are; `None` where there are none of these, or no log.
    pub stream_log: Option<StreamLog>,
    /// Whether hosts that are served alike share a `server` block.
    pub shared_servers: bool,
    /// Versions of TLS that hosts offer.
    pub tls_protocols: Protocols,
    /// Whether the client's address may come from a header (`realip` module).
    pub real_ip: bool,
    /// Load balancers that are believed about clients when they tell them by the PROXY protocol.
    pub proxies: Vec<Cidr>,
    /// Whether the addresses of clients of TCP services may come from the PROXY protocol.
    pub stream_real_ip: bool,
    /// Where TLS of some host is not opened here.
    pub preread: Option<Preread>,
    /// Whether `keepalive_min_timeout` is known.
    pub keepalive_min_timeout: bool,
    /// Whether endpoints may be chosen by a text: without the module each takes its turn.
    pub upstream_hash: bool,
    /// The same where they may be chosen by how many connections they have.
    pub upstream_least_conn: bool,
    /// The same where they may be chosen by chance.
    pub upstream_random: bool,
    /// Whether what they are chosen by may differ from request to request.
    pub split_clients: bool,
    /// What servers read for the firewall.
    pub firewall: FirewallRules,
    /// What is looked up of the addresses of clients.
    pub geo: Geo,
    /// Where answers about clients may be remembered: nginx makes the folder. `None` where there is no place that is known to be its own.
    pub answer_memory: Option<PathBuf>,
}

/// A model that this nginx can serve, together with the decisions it makes necessary.
///
/// The gate has proven what rendering relies on: every upstream, certificate and password file that a route
/// names is in the model, and every value fits into a token of nginx.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What traffic should do, without what this nginx cannot do.
    pub model: Model,
    /// The decisions.
    pub decisions: Arc<Decisions>,
}

impl Plan {
    /// Who is believed about clients, by headers or by the PROXY protocol.
    pub fn trusted(&self) -> &[Cidr] {
        let Plan { model, decisions } = self;
        if model.forwarded.trusts_proxies() { &model.forwarded.trusted } else { &decisions.proxies }
    }
}
