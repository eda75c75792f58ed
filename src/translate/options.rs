//! What the administrator decides about the meaning of objects.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use super::tables::{ANNOTATIONS, Scope, Table, Trust};
use super::{AllowedHosts, AllowedSnippets, Limits, StreamOptions};
use crate::model::{Certificate, Cidr, ClaimOrder, Directive, HeaderName, HostListeners, LookupTable, Origin, UrlPath};

/// Whose semantics an object has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// The Ingress specification to the letter; annotations of ingress-nginx are read.
    Specification,
    /// ingress-nginx with its quirks.
    IngressNginx,
}

impl Dialect {
    /// Whether its objects ask for strict paths, by what the administrator says of all, if anything.
    pub fn has_strict_paths(self, everywhere: Option<bool>) -> bool {
        everywhere.unwrap_or(self == Dialect::Specification)
    }
}

/// How endpoints are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointMode {
    /// Pod addresses from EndpointSlices.
    Pod,
    /// Node addresses with the Service's node port.
    NodePort,
    /// The Service's cluster address.
    ClusterIp,
    /// The address that a load balancer gave to the Service.
    LoadBalancer,
    /// The first of load balancer, node port, cluster address and pod that the Service offers and this host reaches.
    Auto,
}

/// Whose a host is when several namespaces ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum HostOwnership {
    /// As users of the dialect expect: shared with ingress-nginx, by namespace with the specification.
    #[default]
    Dialect,
    /// The namespace's that asked first.
    Namespace,
    /// Each path is the namespace's that asked for it first.
    Shared,
}

/// Which classes are ours and how their objects are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRule {
    /// `spec.controller` of the IngressClass, for example `ingressd/nginx`.
    pub controller: Arc<str>,
    /// The semantics of its objects.
    pub dialect: Dialect,
    /// The name of an IngressClass that counts for this rule whatever its `spec.controller` says, if any.
    pub class_name: Option<Arc<str>>,
    /// The value of the legacy annotation `kubernetes.io/ingress.class` that counts for this rule, if any.
    pub legacy_class: Option<Arc<str>>,
    /// Whether objects without any class belong to this rule.
    pub without_class: bool,
    /// How endpoints of its objects are reached, when not as everywhere.
    pub endpoints: Option<EndpointMode>,
    /// Whose the hosts of its objects are, when not as everywhere.
    pub ownership: Option<HostOwnership>,
    /// The annotations that are read on its objects.
    pub annotations: &'static Table,
}

impl ClassRule {
    /// The class of a controller, whose objects are read by a dialect and no other rule.
    pub fn new(controller: &str, dialect: Dialect) -> Self {
        ClassRule {
            controller: controller.into(),
            dialect,
            class_name: None,
            legacy_class: None,
            without_class: false,
            endpoints: None,
            ownership: None,
            annotations: &ANNOTATIONS,
        }
    }

    /// Whether a host that an object of the class asks for first is for its namespace alone.
    pub fn is_exclusive(&self, everywhere: HostOwnership) -> bool {
        match self.ownership.unwrap_or(everywhere) {
            HostOwnership::Dialect => self.dialect == Dialect::Specification,
            HostOwnership::Namespace => true,
            HostOwnership::Shared => false,
        }
    }
}

/// The defaults of RFC 6797 for hosts with TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hsts {
    /// Whether it is sent: `None` follows the dialect (ingress-nginx sends it, the specification does not).
    pub enabled: Option<bool>,
    /// Seconds.
    pub max_age: u64,
    /// `includeSubDomains`.
    pub include_subdomains: bool,
    /// `preload`.
    pub preload: bool,
}

/// The value of an annotation for objects that do not have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultValue {
    /// The key without its prefix.
    pub key: &'static str,
    /// The value as written.
    pub value: Arc<str>,
    /// Where it was written.
    pub origin: Origin,
}

/// What the administrator decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Classes that are ours, the first match counts.
    pub classes: Vec<ClassRule>,
    /// Where clients come to.
    pub listeners: HostListeners,
    /// Whose a host is when several namespaces ask for it.
    pub ownership: HostOwnership,
    /// For how many seconds a host or path stays reserved for a namespace of which no object asks for it any more.
    pub host_grace: i64,
    /// The order of claims that other nodes have seen, those first that may know most: what is seen for the first time here may
    /// not be new to them.
    pub claim_orders: Arc<[Arc<ClaimOrder>]>,
    /// Namespaces whose objects without a host may take the place of `default_backend` and bring a certificate for unknown hosts.
    pub catch_all: Vec<Arc<str>>,
    /// Whether objects with `spec.defaultBackend` are left alone.
    pub no_catch_all: bool,
    /// How endpoints are reached.
    pub endpoints: EndpointMode,
    /// Networks that this host reaches directly; `auto` takes pod addresses only within them.
    pub reachable: Vec<Cidr>,
    /// Whether Services of type ExternalName are served.
    pub external_names: bool,
    /// Whether loopback and link-local addresses may be upstreams; only the demo says yes.
    pub local_upstreams: bool,
    /// Whether references may name other namespaces.
    pub cross_namespace: bool,
    /// Addresses of this host and of other edge nodes, each with a port of our own listeners there; no port of them is an
    /// upstream.
    pub own_addresses: Vec<SocketAddr>,
    /// Those that may be an upstream all the same, because the administrator says so.
    pub own_upstreams: Vec<SocketAddr>,
    /// Ports of our own listeners on every such address.
    pub own_ports: Vec<u16>,
    /// Namespace and name of the Service for requests that nobody takes.
    pub default_backend: Option<(Arc<str>, Arc<str>)>,
    /// Namespace and name of the Secret with the certificate for hosts that have none.
    pub default_certificate: Option<(Arc<str>, Arc<str>)>,
    /// The certificate where neither the host nor the settings name one; made once by the daemon.
    pub self_signed: Option<Arc<Certificate>>,
    /// Whether hosts with a certificate send plain requests to https, when no annotation says otherwise.
    pub ssl_redirect: bool,
    /// Whether all hosts do.
    pub force_ssl_redirect: bool,
    /// 301, 302, 307 or 308.
    pub redirect_status: u16,
    /// Strict transport security.
    pub hsts: Hsts,
    /// Clients that are let in everywhere but where an annotation says otherwise; empty lets in all.
    pub allowlist: Vec<Cidr>,
    /// Clients that are never let in, except where an annotation says otherwise.
    pub denylist: Vec<Cidr>,
    /// Paths below which nobody is asked for a password, and no service whether a request may pass.
    pub no_authentication: Vec<UrlPath>,
    /// How much whoever may write an Ingress is trusted: annotations that need more are refused.
    pub max_trust: Trust,
    /// Whether requests whose path may mean something else to a backend are refused where routes of a host are protected
    /// differently: `None` follows the dialect (the specification refuses them, ingress-nginx does not).
    pub strict_paths: Option<bool>,
    /// Proxies in front of this node whose forwarded headers are believed.
    pub trusted_proxies: Vec<Cidr>,
    /// Append to `X-Forwarded-For` instead of replacing it.
    pub append_forwarded_for: bool,
    /// Which hosts which namespace may claim; empty lets every namespace claim every host.
    pub allowed_hosts: Vec<AllowedHosts>,
    /// Which snippets count in which namespace; empty lets nobody write any.
    pub snippets: Vec<AllowedSnippets>,
    /// Whether those in annotations do at all.
    pub annotation_snippets: bool,
    /// Whether objects may have TLS of their hosts passed on unopened.
    pub passthrough: bool,
    /// TCP and UDP services.
    pub streams: StreamOptions,
    /// Rules of the firewall are read once for all hosts.
    pub shares_firewall_rules: bool,
    /// How much one object and one namespace may ask for.
    pub limits: Limits,
    /// Headers of answers that objects may set.
    pub allowed_headers: Vec<HeaderName>,
    /// Keys of the ConfigMap of an ingress-nginx that are no annotations, and what each is about.
    pub keys_of_config_map: &'static [(&'static str, Scope)],
    /// What objects ask for that do not say otherwise.
    pub defaults: Arc<[DefaultValue]>,
    /// What every server says, whatever its host; sorted by name, each at most once.
    pub server_directives: Vec<Directive>,
    /// Tables for all hosts, by which snippets look something up.
    pub lookup_tables: Arc<[LookupTable]>,
    /// Seconds since 1970 at which validity of certificates is judged; given by the caller because there is no clock here.
    pub now: i64,
}

impl Options {
    /// Whether objects of a namespace may say what happens to requests for hosts that nobody has.
    pub fn may_be_catch_all(&self, namespace: &str) -> bool {
        self.default_backend.is_none() || self.is_catch_all(namespace)
    }

    /// Whether the administrator names the namespace for what no host has.
    pub fn is_catch_all(&self, namespace: &str) -> bool {
        self.catch_all.iter().any(|named| **named == *namespace)
    }

    /// The modes in which anything may be reached, but for Services that choose their own.
    pub fn modes(&self) -> BTreeSet<EndpointMode> {
        let of_classes = self.classes.iter().map(|class| class.endpoints.unwrap_or(self.endpoints));
        // What no object asks for has no class.
        let of_none = self.default_backend.is_some().then_some(self.endpoints);
        of_classes.chain(of_none).collect()
    }

    /// Whether anything depends on the labels of namespaces.
    pub fn needs_labels(&self) -> bool {
        let of_snippets = self.snippets.iter().map(|entry| &entry.selector);
        self.allowed_hosts.iter().map(|entry| &entry.selector).chain(of_snippets).any(Option::is_some)
    }
}

impl Options {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        Options {
            classes: Vec::new(),
            listeners: HostListeners::empty(),
            ownership: HostOwnership::default(),
            host_grace: 0,
            claim_orders: Arc::default(),
            catch_all: Vec::new(),
            no_catch_all: false,
            endpoints: EndpointMode::Pod,
            reachable: Vec::new(),
            external_names: false,
            local_upstreams: false,
            cross_namespace: false,
            own_addresses: Vec::new(),
            own_upstreams: Vec::new(),
            own_ports: Vec::new(),
            default_backend: None,
            default_certificate: None,
            self_signed: None,
            ssl_redirect: false,
            force_ssl_redirect: false,
            redirect_status: 0,
            hsts: Hsts { enabled: None, max_age: 0, include_subdomains: false, preload: false },
            allowlist: Vec::new(),
            denylist: Vec::new(),
            no_authentication: Vec::new(),
            max_trust: Trust::Low,
            strict_paths: None,
            trusted_proxies: Vec::new(),
            append_forwarded_for: false,
            allowed_hosts: Vec::new(),
            snippets: Vec::new(),
            annotation_snippets: false,
            passthrough: false,
            streams: StreamOptions::empty(),
            shares_firewall_rules: false,
            limits: Limits::empty(),
            allowed_headers: Vec::new(),
            keys_of_config_map: &[],
            defaults: Arc::default(),
            server_directives: Vec::new(),
            lookup_tables: Arc::default(),
            now: 0,
        }
    }
}
