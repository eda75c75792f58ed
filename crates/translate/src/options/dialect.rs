//! What sets the dialects apart: each difference is a field here. It must not know annotations.

use ingressd_model::HeaderSet;

/// The semantics of objects.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// Its name in the settings.
    pub name: &'static str,
    /// Whether a host belongs to the namespace that claimed it first, unless the settings say
    /// otherwise.
    pub has_exclusive_hosts: bool,
    /// Whether the protection of a path also holds for other spellings of it, unless the settings
    /// say otherwise.
    pub has_strict_paths: bool,
    /// Whether `appProtocol` of Services counts, unless the settings say otherwise.
    pub heeds_app_protocol: bool,
    /// Whether hosts with TLS send HSTS, unless the settings say otherwise.
    pub sends_hsts: bool,
    /// The headers that backends expect.
    pub header_set: HeaderSet,
    /// A path that answers 200 for load balancers, on hosts that no object names.
    pub health: Option<&'static str>,
    /// Whether a backend may name the target port of a Service, and any port of a Service of type
    /// ExternalName.
    pub accepts_target_ports: bool,
    /// Which paths are expressions when an object asks for them.
    pub expressions: ExpressionScope,
    /// Whether `/path/` answers requests for `/path` with a redirect.
    pub redirects_to_slash: bool,
    /// Whether redirects of all requests leave out a slash at the end of a path.
    pub strips_trailing_slash: bool,
    /// Whether requests of a host that no path matches belong to its oldest object alone, which
    /// may also redirect them.
    pub rest_is_of_oldest: bool,
    /// Which entry of `spec.tls` counts for a host that none lists.
    pub unlisted_host: UnlistedHost,
}

impl Dialect {
    /// Whether its objects have strict paths, given the setting for all objects.
    pub fn has_strict_paths(&self, common: Option<bool>) -> bool {
        common.unwrap_or(self.has_strict_paths)
    }
}

/// Which paths are expressions when an object asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpressionScope {
    /// Those of the object with the type ImplementationSpecific.
    Object,
    /// All of the host, case-insensitively.
    Host,
}

/// Which entry of `spec.tls` counts for a host that none lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnlistedHost {
    /// One for a wildcard above it, or else one without hosts.
    ByEntry,
    /// One whose certificate names the host.
    ByCertificate,
}

/// The Ingress specification, strictly; annotations of ingress-nginx are read.
pub static SPECIFICATION: Dialect = Dialect {
    name: "specification",
    has_exclusive_hosts: true,
    has_strict_paths: true,
    heeds_app_protocol: true,
    sends_hsts: false,
    header_set: HeaderSet::Usual,
    health: None,
    accepts_target_ports: false,
    expressions: ExpressionScope::Object,
    redirects_to_slash: false,
    strips_trailing_slash: false,
    rest_is_of_oldest: false,
    unlisted_host: UnlistedHost::ByEntry,
};

/// The semantics of ingress-nginx, with its peculiarities.
pub static INGRESS_NGINX: Dialect = Dialect {
    name: "ingress-nginx",
    has_exclusive_hosts: false,
    has_strict_paths: false,
    heeds_app_protocol: false,
    sends_hsts: true,
    header_set: HeaderSet::Detailed,
    health: Some("/healthz"),
    accepts_target_ports: true,
    expressions: ExpressionScope::Host,
    redirects_to_slash: true,
    strips_trailing_slash: true,
    rest_is_of_oldest: true,
    unlisted_host: UnlistedHost::ByCertificate,
};

/// All dialects.
pub static DIALECTS: [&Dialect; 2] = [&SPECIFICATION, &INGRESS_NGINX];
