//! The administrator's settings about the meaning of objects.

pub mod allowed;
pub mod bounds;
pub mod dialect;
pub mod limits;
pub mod snippets;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::annotation::{Layer, Scope, Table, Trust};
use crate::{AllowedHosts, AllowedSnippets, Dialect, Limits};
use ingressd_model::{Cidr, Directive, HeaderName, HostListeners, LookupTable, StreamPolicy, UrlPath};

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
    /// The first of load balancer, node port, cluster IP and pod that the Service has and this
    /// host can reach.
    Auto,
}

/// Who owns a host that several namespaces claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum HostOwnership {
    /// As users of the dialect expect: shared with ingress-nginx, exclusive with the
    /// specification.
    #[default]
    Dialect,
    /// The namespace that claimed it first, exclusively.
    Namespace,
    /// Each path belongs to the namespace that claimed it first.
    Shared,
}

/// A rule that selects Ingresses, and how they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRule {
    /// `spec.controller` of the IngressClass, for example `ingressd/nginx`.
    pub controller: Arc<str>,
    /// The dialect of its objects.
    pub dialect: &'static Dialect,
    /// The name of an IngressClass that belongs to this rule whatever its `spec.controller` is, if
    /// any.
    pub class_name: Option<Arc<str>>,
    /// The value of the legacy annotation `kubernetes.io/ingress.class` for this rule, if any.
    pub legacy_class: Option<Arc<str>>,
    /// Whether objects without any class belong to this rule.
    pub without_class: bool,
    /// How endpoints of its objects are reached, when that differs from the general setting.
    pub endpoints: Option<EndpointMode>,
    /// Who owns the hosts of its objects, when that differs from the general setting.
    pub ownership: Option<HostOwnership>,
    /// The annotations of its objects.
    pub annotations: &'static Table,
}

impl ClassRule {
    /// Whether a host is exclusive when an object of the class claims it first.
    pub fn is_exclusive(&self, common: HostOwnership) -> bool {
        match self.ownership.unwrap_or(common) {
            HostOwnership::Dialect => self.dialect.has_exclusive_hosts,
            HostOwnership::Namespace => true,
            HostOwnership::Shared => false,
        }
    }
}

/// The default HSTS policy of hosts with TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hsts {
    /// Whether it is sent: `None` follows the dialect (ingress-nginx sends it, the specification
    /// does not).
    pub enabled: Option<bool>,
    /// The max-age in seconds.
    pub max_age: u64,
    /// `includeSubDomains`.
    pub include_subdomains: bool,
    pub preload: bool,
}

/// The administrator's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The class rules; the first match counts.
    pub classes: Vec<ClassRule>,
    /// Whether an object without a class gets the default one, which an API server writes into it.
    pub fills_in_class: bool,
    /// The listeners for hosts.
    pub listeners: HostListeners,
    /// Who owns a host that several namespaces claim.
    pub ownership: HostOwnership,
    /// For how many seconds a host or path stays reserved after the last object of the namespace
    /// that claims it is gone.
    pub host_grace: i64,
    /// Namespaces whose objects without a host may replace `default_backend` and set a certificate
    /// for unknown hosts.
    pub catch_all: Vec<Arc<str>>,
    /// Namespaces that may take challenges of certificate authorities on hosts of others.
    pub challenges: Vec<Arc<str>>,
    /// Whether objects with `spec.defaultBackend` are ignored.
    pub no_catch_all: bool,
    /// How endpoints are reached.
    pub endpoints: EndpointMode,
    /// Networks that this host reaches directly; `auto` uses pod addresses only within them.
    pub reachable: Vec<Cidr>,
    /// Whether Services of type ExternalName are served.
    pub external_names: bool,
    /// The domain of names that only the cluster has.
    pub cluster_domain: Arc<str>,
    /// Whether loopback and link-local addresses may be upstreams; only the demo sets this.
    pub local_upstreams: bool,
    /// Whether references may name other namespaces.
    pub cross_namespace: bool,
    /// Services that objects of all namespaces may use, by namespace and name.
    pub shared_services: Vec<(Arc<str>, Arc<str>)>,
    /// Whether `appProtocol` of Services counts: `None` follows the dialect (ingress-nginx ignores
    /// it, the specification does not).
    pub app_protocol: Option<bool>,
    /// Addresses that may be upstreams nevertheless, by the administrator's decision.
    pub own_upstreams: Vec<SocketAddr>,
    /// Ports of our own listeners on every such address.
    pub own_ports: Vec<u16>,
    /// Namespace and name of the Service for requests that match nothing.
    pub default_backend: Option<(Arc<str>, Arc<str>)>,
    /// Namespace and name of the Secret with the certificate for hosts without one.
    pub default_certificate: Option<(Arc<str>, Arc<str>)>,
    /// Whether hosts with a certificate redirect plain requests to https, when no annotation
    /// decides that.
    pub ssl_redirect: bool,
    /// Whether all hosts do so.
    pub force_ssl_redirect: bool,
    /// 301, 302, 307 or 308.
    pub redirect_status: u16,
    /// The HSTS policy.
    pub hsts: Hsts,
    /// Allowed clients where no annotation decides that; empty allows all.
    pub allowlist: Vec<Cidr>,
    /// Denied clients where no annotation decides that.
    pub denylist: Vec<Cidr>,
    /// Path prefixes for which neither passwords nor authentication services are used.
    pub no_authentication: Vec<UrlPath>,
    /// The trust in authors of Ingresses: annotations that need more are refused.
    pub max_trust: Trust,
    /// Whether ambiguous paths are refused where routes of a host are protected differently:
    /// `None` follows the dialect (the specification refuses them, ingress-nginx does not).
    pub strict_paths: Option<bool>,
    /// Proxies in front of this node whose forwarded headers are trusted.
    pub trusted_proxies: Vec<Cidr>,
    /// Whether these are trusted about addresses of clients alone.
    pub only_addresses: bool,
    /// Whether to append to `X-Forwarded-For` instead of replacing it.
    pub append_forwarded_for: bool,
    /// Which namespaces may claim which hosts; empty allows everything.
    pub allowed_hosts: Vec<AllowedHosts>,
    /// Which snippets are allowed in which namespaces; empty allows none.
    pub snippets: Vec<AllowedSnippets>,
    /// Whether snippets in annotations are allowed at all.
    pub annotation_snippets: bool,
    /// Whether objects may ask for TLS passthrough.
    pub passthrough: bool,
    /// TCP and UDP services.
    pub streams: StreamOptions,
    /// Whether the rules of the firewall are loaded once for all hosts.
    pub shares_firewall_rules: bool,
    /// Limits for objects, namespaces and the node.
    pub limits: Limits,
    /// Response headers that objects may set.
    pub allowed_headers: Vec<HeaderName>,
    /// Keys of the ConfigMap of an ingress-nginx that are no annotations, and what each is about.
    pub keys_of_config_map: &'static [(&'static str, Scope)],
    /// What the ConfigMap of an ingress-nginx says for all objects.
    pub defaults: Layer,
    /// What every server says, whatever its host; sorted by name, each at most once.
    pub server_directives: Vec<Directive>,
    /// Lookup tables that snippets use.
    pub lookup_tables: Arc<[LookupTable]>,
}

impl Options {
    /// Whether objects of a namespace may handle requests for unknown hosts.
    pub fn may_be_catch_all(&self, namespace: &str) -> bool {
        self.default_backend.is_none() || self.is_catch_all(namespace)
    }

    /// Whether objects of a namespace may use a Service of this namespace and name.
    pub fn may_use_service(&self, own: &str, namespace: &str, name: &str) -> bool {
        let is_named = |(of, named): &(Arc<str>, Arc<str>)| **of == *namespace && **named == *name;
        own == namespace || self.cross_namespace || self.shared_services.iter().any(is_named)
    }

    /// Whether `appProtocol` of Services counts for objects of a dialect.
    pub fn heeds_app_protocol(&self, dialect: &Dialect) -> bool {
        self.app_protocol.unwrap_or(dialect.heeds_app_protocol)
    }

    /// Whether the administrator names the namespace for unknown hosts.
    pub fn is_catch_all(&self, namespace: &str) -> bool {
        self.catch_all.iter().any(|named| **named == *namespace)
    }

    /// All modes in which endpoints may be reached, except those that Services select themselves.
    pub fn modes(&self) -> BTreeSet<EndpointMode> {
        let of_classes = self.classes.iter().map(|class| class.endpoints.unwrap_or(self.endpoints));
        // The default backend has no class.
        let of_none = self.default_backend.is_some().then_some(self.endpoints);
        of_classes.chain(of_none).collect()
    }

    /// Whether the labels of namespaces matter.
    pub fn needs_labels(&self) -> bool {
        let of_snippets = self.snippets.iter().map(|entry| &entry.selector);
        self.allowed_hosts.iter().map(|entry| &entry.selector).chain(of_snippets).any(Option::is_some)
    }
}

/// What the administrator decides about TCP and UDP services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamOptions {
    /// Namespace and name of the ConfigMap with TCP services in ingress-nginx's form.
    pub tcp_services: Option<(Arc<str>, Arc<str>)>,
    /// The same for UDP services.
    pub udp_services: Option<(Arc<str>, Arc<str>)>,
    /// Timeouts and retries of connections.
    pub policy: StreamPolicy,
    /// TCP ports that are used already, each with the setting that says so.
    pub reserved: Vec<(u16, &'static str)>,
}
