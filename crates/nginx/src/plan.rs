//! A model together with the decisions that one nginx requires.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use super::access_log::{AccessLog, AccessLogOptions};
use super::firewall::{FirewallOptions, FirewallRules};
use super::geoip::{Geo, GeoOptions};
use super::global::{Global, StapleSource};
use super::sites_beside::SitesBeside;
use super::stream_log::StreamLog;
use ingressd_model::catalogue::DirectiveRow;
use ingressd_model::{CertificateId, Cidr, Handler, Model, Protocols, Tables};

/// The administrator's settings for nginx.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateOptions {
    /// The port that clients use for https, for redirects; 443 is left out of URLs.
    pub public_https_port: u16,
    /// Whether HTTP/2 is offered.
    pub http2: bool,
    /// The offered versions of TLS.
    pub tls_protocols: Protocols,
    /// The loopback address that serves the generation number and `stub_status`.
    pub status: SocketAddr,
    /// The port of [`Inside`].
    pub passthrough_port: u16,
    /// Whether nginx uses that port now, by the files in place: connections may be on their way to
    /// it.
    pub has_passthrough: bool,
    /// The folder that nginx will see as the current generation, for example
    /// `/etc/nginx/ingressd/current`.
    pub current: PathBuf,
    /// Idle connections kept to each upstream by each worker.
    pub upstream_keepalive: u32,
    /// How many of a worker's connections, in percent, the TCP connections of one namespace or
    /// service may take.
    pub stream_percent: u32,
    /// How many requests of one namespace nginx works on at once; 0 for any number.
    pub requests_of_namespace: u32,
    /// Settings that hold for all hosts.
    pub global: Global,
    /// The settings for access logs.
    pub access_log: AccessLogOptions,
    /// The file with the log for the daemon's figures, with a wildcard: it may be missing.
    pub traffic: Option<PathBuf>,
    /// Whether its lines tell how long connecting took, which costs a fifth of a line.
    pub traffic_connects: bool,
    /// Where the rules of the firewall are.
    pub firewall: FirewallOptions,
    /// Where databases are that tell where clients are.
    pub geo: GeoOptions,
    /// Whether hosts with the same configuration share a `server` block.
    pub shared_servers: bool,
}

impl GateOptions {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        GateOptions {
            public_https_port: 0,
            http2: false,
            tls_protocols: Protocols::Both,
            status: SocketAddr::from(([127, 0, 0, 1], 0)),
            passthrough_port: 0,
            has_passthrough: false,
            current: PathBuf::new(),
            upstream_keepalive: 0,
            stream_percent: 0,
            requests_of_namespace: 0,
            global: Global::empty(),
            access_log: AccessLogOptions::empty(),
            traffic: None,
            traffic_connects: false,
            firewall: FirewallOptions::empty(),
            geo: GeoOptions::empty(),
            shared_servers: false,
        }
    }
}

/// How HTTP/2 is switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Http2 {
    /// HTTP/2 is off.
    #[default]
    Off,
    /// As a parameter of `listen`, before 1.25.1.
    Parameter,
    /// By the directive `http2`, since 1.25.1.
    Directive,
}

/// One `listen` directive of ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Listen {
    /// Address and port.
    pub address: SocketAddr,
    /// Whether it has the parameter `ssl`.
    pub ssl: bool,
    /// Whether clients must begin with a header of the PROXY protocol.
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
    /// nginx itself, on behalf of clients whose addresses it sends by the PROXY protocol.
    Inside,
    /// nginx itself, on behalf of proxies whose headers about their clients are trusted.
    InsideTrusted,
}

impl ConnectedBy {
    /// Whether nginx itself connects there.
    pub fn is_inside(self) -> bool {
        self != ConnectedBy::Outside
    }
}

/// The loopback addresses on which nginx listens for itself when TLS of some host is passed
/// through. The same port is used on each, so that one setting is enough.
pub struct Inside;

impl Inside {
    /// For TLS that is terminated here.
    pub const HTTPS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));
    /// For TLS that is passed through.
    pub const PASSED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    /// For TLS that is terminated here and comes from trusted proxies.
    pub const TRUSTED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
    /// All of these addresses.
    pub const ALL: [IpAddr; 3] = [Self::HTTPS, Self::PASSED, Self::TRUSTED];
}

/// The stream server that selects the way of a connection by the server name (SNI) before TLS is
/// terminated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preread {
    /// The sockets for clients.
    pub listens: Vec<SocketAddr>,
    /// Whether clients must begin with a header of the PROXY protocol.
    pub proxy_protocol: bool,
    /// The port of [`Inside`].
    pub port: u16,
    /// Whether we write the sizes of the hash tables of `map`; otherwise the host's or nginx's own
    /// are enough.
    pub sizes_tables: bool,
}

/// The size of nginx's hash table of server names, a directive at http level that we write when
/// the host does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NamesHash {
    /// `server_names_hash_max_size`, a power of two.
    pub max_size: u32,
    /// `server_names_hash_bucket_size` in bytes, a power of two.
    pub bucket_size: u32,
}

/// A directive in our servers that overrides what they would inherit from the host's `http` level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reset {
    /// The directive.
    pub row: &'static DirectiveRow,
    /// Its arguments, as they are written.
    pub arguments: &'static str,
}

/// The decisions that one nginx requires, apart from the model; they change rarely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decisions {
    /// The sockets of our servers.
    pub listens: Vec<Listen>,
    /// How HTTP/2 is switched on.
    pub http2: Http2,
    /// Whether every server names its certificate: this is needed where another site is the
    /// default server of one of our sockets, or where the host names a certificate for all sites.
    pub explicit_certificates: bool,
    /// Directives that override the host's `http` level in our servers.
    pub resets: Vec<Reset>,
    /// The size of the hash table of server names.
    pub names_hash: Option<NamesHash>,
    /// Whether we set `variables_hash_max_size`, because the host's `nginx.conf` does not.
    pub variables_hash_max_size: bool,
    /// Whether we set `variables_hash_bucket_size`, which limits how long names may be.
    pub variables_hash_bucket_size: bool,
    /// The longest server name in bytes that fits into nginx's hash table; longer ones are written
    /// as regular expressions.
    pub longest_name: usize,
    /// The port of https URLs.
    pub public_https_port: u16,
    /// The address that serves the generation number, and whether it also serves `stub_status`.
    pub status: Option<(SocketAddr, bool)>,
    /// The folder that nginx will see as the current generation.
    pub current: PathBuf,
    /// Idle connections kept to each upstream by each worker; `None` without the module.
    pub upstream_keepalive: Option<u32>,
    /// Whether nginx keeps idle connections by default, where no upstream asks for it.
    pub keeps_connections: bool,
    /// Settings that hold for all hosts.
    pub global: Global,
    /// Whether nginx knows `keepalive_time` (1.19.10).
    pub keepalive_time: bool,
    /// Whether hosts of the ingress-nginx dialect remove the header `Server` from their responses.
    pub clears_server_header: bool,
    /// The decision about access logs.
    pub access_log: AccessLog,
    /// The file with the log for the daemon's figures, which may be missing.
    pub traffic: Option<PathBuf>,
    /// Whether its lines tell how long connecting took, which costs a fifth of a line.
    pub traffic_connects: bool,
    /// How many connections of each worker one namespace with TLS passthrough, or one TCP or UDP
    /// service, may take.
    pub stream_connections: u32,
    /// How many requests of one namespace nginx works on at once; 0 for any number.
    pub requests_of_namespace: u32,
    /// How many idle connections a worker keeps to each upstream of these namespaces, which have
    /// so many that it would keep too many otherwise.
    pub kept_of_namespaces: BTreeMap<Arc<str>, u32>,
    /// How connections to TCP and UDP services are; `None` where there are none of these, or no
    /// log.
    pub stream_log: Option<StreamLog>,
    /// Whether hosts with the same configuration share a `server` block.
    pub shared_servers: bool,
    /// The offered versions of TLS.
    pub tls_protocols: Protocols,
    /// Where nginx asks whether a certificate is revoked, to send the answer with it.
    pub staples: BTreeMap<CertificateId, StapleSource>,
    /// Whether the client's address may come from a header (`realip` module).
    pub real_ip: bool,
    /// Load balancers that are trusted to send clients' addresses by the PROXY protocol.
    pub proxies: Vec<Cidr>,
    /// Whether the client addresses of TCP services may come from the PROXY protocol.
    pub stream_real_ip: bool,
    /// The stream server in front of TLS, where some host is passed through.
    pub preread: Option<Preread>,
    /// Whether nginx knows `keepalive_min_timeout`.
    pub keepalive_min_timeout: bool,
    /// Whether nginx has `hash` for upstreams; without the module endpoints are used in turn.
    pub upstream_hash: bool,
    /// Whether nginx has `random`.
    pub upstream_random: bool,
    /// Whether it has that for TCP and UDP services.
    pub stream_random: bool,
    /// Whether nginx has `split_clients`, so that the key of the choice may differ from request to
    /// request.
    pub split_clients: bool,
    /// The rule files of the firewall that servers load.
    pub firewall: FirewallRules,
    /// What is looked up of the addresses of clients.
    pub geo: Geo,
    /// The folder of the cache for authentication answers, which nginx creates. `None` where no
    /// place is known to be nginx's own.
    pub answer_memory: Option<PathBuf>,
}

/// A model that this nginx can serve, together with the decisions that nginx requires.
///
/// The gate guarantees what rendering relies on: every upstream, certificate and password file
/// that a route names is in the model, and every value fits into an nginx token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The model, without what this nginx cannot do.
    pub model: Arc<Model>,
    /// What changes often beside it, as much as this nginx can have of it.
    pub tables: Arc<Tables>,
    pub decisions: Arc<Decisions>,
    /// How often connections of clients were counted anew. A worker that is ended takes no
    /// connection of its off the count, which the next workers would take over for ever. The gate
    /// knows nothing of it.
    pub recounts: u32,
    /// The other sites beside which it is served; nothing that is written depends on them.
    pub sites_beside: SitesBeside,
}

impl Plan {
    /// Whether it counts connections or requests of clients.
    pub fn counts(&self) -> bool {
        let limits = |handler: &Handler| handler.behaviour.limits.as_deref()?.connections;
        self.decisions.requests_of_namespace > 0
            || self.model.servers.iter().flat_map(|server| server.handlers()).any(|handler| limits(handler).is_some())
    }

    /// The networks that are trusted to name clients, by headers or by the PROXY protocol.
    pub fn trusted(&self) -> &[Cidr] {
        let Plan { model, decisions, .. } = self;
        if model.forwarded.trusts_proxies() { &model.forwarded.trusted } else { &decisions.proxies }
    }
}
