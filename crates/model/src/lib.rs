//! The model: what traffic should do, in the terms of HTTP.

mod access;
mod access_log;
mod answer_header;
mod backend_headers;
mod backend_tls;
mod balance;
mod behaviour;
pub mod catalogue;
mod certificate;
mod claim_order;
mod client_certificates;
pub mod cost;
mod difference;
mod digest;
mod effective;
mod error_pages;
pub mod expression;
mod external_authentication;
mod fastcgi;
pub mod finding;
mod firewall;
mod geoip;
mod instance;
mod json_log;
mod kind;
pub mod language;
mod listener;
mod log_format;
mod lookup;
mod mirror;
mod name;
mod origin;
mod passthrough;
pub mod request_path;
mod route;
mod server;
mod snippet;
mod split;
mod state;
mod stream;
mod tables;
mod template;
mod upstream;
mod validity;
mod value;
mod variable_class;
mod variables;

pub use access::{AccessList, BasicAuthentication, ClientLimits, LONG_LIST, LimitRate, ListMark};
pub use access_log::{LogLine, LogPart, LogVariable, USUAL_LINE, USUAL_LINE_OF_STREAMS, Unlogged};
pub use answer_header::{AnswerHeader, LONGEST_HEADER_NAME};
pub use backend_headers::{BackendHeaders, Connection, RouteVariable};
pub use backend_tls::{BackendTls, Protocols};
pub use balance::{Balance, CookiePath, SameSite, Session, SessionCookie};
pub use behaviour::{Behaviour, Cors, CorsPart, HttpsRedirect, OriginPattern, Rewrite, RewritePattern};
pub use catalogue::{Argument, Directive};
pub use certificate::{
    Certificate, CertificateId, DhParameters, PasswordFile, PasswordFileId, Presented, SecretBytes, TicketKey,
};
pub use claim_order::{AgedClaim, ClaimOrder, Extent, Lateness, Seniority};
pub use client_certificates::{Authority, ClientCertificates, Demand};
pub use difference::differences;
pub use digest::{Digest, Digester, hexadecimal};
pub use effective::{Effective, Written, WrittenAt};
pub use error_pages::{ErrorPages, StandIn};
pub use external_authentication::{
    AnswerDuration, AnswerMemory, AuthenticationPolicy, ExternalAuthentication, LONGEST_MEMORY, Satisfy,
};
pub use fastcgi::FastCgi;
pub use firewall::{Firewall, FirewallSetting};
pub use geoip::{GeoDatabase, GeoVariable};
pub use instance::Instance;
pub use json_log::{JSON_FIELDS, JsonField};
pub use kind::{Kind, KindName};
pub use listener::{HostListeners, Listener, Port, Serves, Transport};
pub use log_format::{FormatPart, log_format};
pub use lookup::{LookupKey, LookupRows, LookupTable};
pub use mirror::{Mirror, MirrorPolicy};
pub use name::{is_label, is_subdomain};

pub use origin::{Field, ObjectId, Origin, position, shared_text};
pub use passthrough::{Passthrough, Passthroughs};
pub use route::{Action, Handler, PathMatch, Protocol, Route};
pub use server::{HeaderSet, Hsts, RouteCount, Server, ServerName, StrictPaths, TlsTermination};
pub use snippet::{
    Burden, LONGEST_HOST, OwnVariable, RewriteFlag, Snippet, SnippetCondition, SnippetDirective, SnippetHeader,
    SnippetPart, SnippetStatement, SnippetText,
};
pub use split::{Branch, Choice, Share, Split, Test, Tested};
pub use state::{
    ObjectPlace, ObjectState, PlaceKind, RefusedVersion, ServedVersion, Standing, Verdict, Version, WorkingVersion,
};
pub use stream::{Stream, StreamPolicy};
pub use tables::Tables;
pub use template::{Template, TemplatePart};
pub use upstream::{ConnectionReuse, Endpoint, Upstream, UpstreamId, UpstreamIdentity};
pub use validity::{Validity, ValidityPhase, in_words};
pub use value::{
    ByteSize, Cidr, Ciphers, FileName, HeaderName, HeaderText, HeaderValue, HostExpression, HostName, LONGEST,
    LONGEST_FOR_REQUEST, LONGEST_LINE, OriginUrl, ParameterName, Pattern, RedirectUrl, Refused, RewriteTarget,
    TargetPart, Text, UrlPath, Variable, longest_variable,
};
pub use variable_class::VariableClass;
pub use variables::Variables;

use std::collections::BTreeMap;
use std::sync::Arc;

/// The complete configuration of traffic: the product of `translate` and the input of the nginx
/// gate.
///
/// All lists are sorted by their key, so that equal input gives equal bytes. What changes often
/// stands beside it, in [`Tables`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    /// The listeners for hosts.
    pub listeners: Vec<Listener>,
    /// One server for each host, sorted by name; the catch-all server, if any, comes first.
    pub servers: Vec<Arc<Server>>,
    /// The upstreams of hosts, sorted by identity.
    pub upstreams: Vec<Arc<Upstream>>,
    /// The certificates that are presented, sorted by identity.
    pub certificates: Vec<Arc<Presented>>,
    /// Password files for basic authentication, sorted by identity.
    pub password_files: Vec<Arc<PasswordFile>>,
    /// Certificate authorities for client and backend certificates, sorted by identity.
    pub authorities: Vec<Arc<Authority>>,
    /// The certificate for hosts without one; without it the gate leaves TLS out.
    pub default_certificate: Option<CertificateId>,
    /// Which proxies are trusted to name the address, scheme and host of a request.
    pub forwarded: Forwarded,
    /// The directives of every server; sorted by name, without duplicates.
    pub server_directives: Vec<Directive>,
    /// Lookup tables that snippets use.
    pub lookup_tables: Arc<[LookupTable]>,
    /// The size of the zones for limits, by the namespace of the object that sets them; for other
    /// namespaces it is [`cost::LARGEST_ZONE`].
    pub zones: BTreeMap<Arc<str>, ByteSize>,
    /// TCP and UDP services, sorted by port.
    pub streams: Vec<Arc<Stream>>,
    /// Hosts with TLS passthrough.
    pub passthroughs: Passthroughs,
    /// The upstreams of both, sorted by identity.
    pub stream_upstreams: Vec<Arc<Upstream>>,
}

impl Model {
    /// Whether anything is to be served by TLS.
    pub fn asks_for_tls(&self) -> bool {
        self.listeners.iter().any(|listener| listener.serves.has_tls())
    }

    /// Whether clients of hosts use the PROXY protocol.
    pub fn has_proxy_protocol(&self) -> bool {
        self.listeners.iter().any(|listener| listener.proxy_protocol)
    }

    /// The size of the zones for objects of this namespace.
    pub fn zone_size(&self, namespace: &str) -> ByteSize {
        self.zones.get(namespace).copied().unwrap_or(cost::LARGEST_ZONE)
    }
}

/// Which proxies are trusted to name their clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// The networks of proxies whose `X-Forwarded-*` headers are trusted; when empty, none are.
    pub trusted: Vec<Cidr>,
    /// Whether they are trusted about addresses of clients alone, and not about host and scheme.
    pub only_addresses: bool,
    /// Whether the client address is appended to `X-Forwarded-For` instead of replacing it.
    pub append: bool,
}

impl Forwarded {
    /// Whether any proxy is trusted in all that it tells.
    pub fn trusts_proxies(&self) -> bool {
        !self.trusted.is_empty() && !self.only_addresses
    }
}
