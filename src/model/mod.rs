//! What traffic should do, in the words of HTTP: it must not know Kubernetes, nginx versions, files or processes.

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
mod digest;
mod effective;
mod error_pages;
pub mod expression;
mod external_authentication;
mod fastcgi;
mod firewall;
mod instance;
pub mod language;
mod listener;
mod lookup;
mod mirror;
mod name;
mod origin;
mod passthrough;
mod route;
mod server;
mod snippet;
mod split;
mod stream;
mod template;
mod upstream;
mod validity;
mod value;
mod variables;

pub use access::{AccessList, BasicAuthentication, ClientLimits, LONG_LIST, LimitRate, ListMark};
pub use access_log::{LogLine, LogPart, LogVariable, USUAL_LINE, Unlogged};
pub use answer_header::{AnswerHeader, LONGEST_HEADER_NAME};
pub use backend_headers::{BackendHeaders, Connection, RouteVariable};
pub use backend_tls::{BackendTls, Protocols};
pub use balance::{Balance, CookiePath, SameSite, Session, SessionCookie};
pub use behaviour::{Behaviour, Cors, HttpsRedirect, OriginPattern, Rewrite, RewritePattern};
pub use catalogue::{Argument, Directive};
pub use certificate::{Certificate, CertificateId, PasswordFile, PasswordFileId, SecretBytes};
pub use claim_order::{AgedClaim, ClaimOrder, Extent, Lateness, Seniority};
pub use client_certificates::{Authority, ClientCertificates, Demand};
pub use digest::{Digest, Digester, hexadecimal};
pub use effective::{Effective, Written, WrittenAt};
pub use error_pages::ErrorPages;
pub use external_authentication::{
    AnswerDuration, AnswerMemory, AuthenticationPolicy, ExternalAuthentication, LONGEST_MEMORY, Satisfy,
};
pub use fastcgi::FastCgi;
pub use firewall::{Firewall, FirewallSetting};
pub use instance::Instance;
pub use listener::{HostListeners, Listener, Port, Serves, Transport};
pub use lookup::{LookupKey, LookupRows, LookupTable};
pub use mirror::{Mirror, MirrorPolicy};
pub use name::{is_label, is_subdomain};
pub use origin::{Field, Kind, ObjectId, Origin};
pub use passthrough::{Passthrough, Passthroughs};
pub use route::{Action, PathMatch, Protocol, Route};
pub use server::{Handover, Hsts, RouteCount, Server, ServerName, StrictPaths, TlsTermination};
pub use snippet::{
    Burden, LONGEST_HOST, OwnVariable, RewriteFlag, Snippet, SnippetCondition, SnippetDirective, SnippetHeader,
    SnippetPart, SnippetStatement, SnippetText,
};
pub use split::{Branch, Choice, Share, Split, Test, Tested};
pub use stream::{Stream, StreamPolicy, StreamUpstream, StreamUpstreamId};
pub use template::{Template, TemplatePart};
pub use upstream::{ConnectionReuse, Endpoint, Upstream, UpstreamId};
pub use validity::{Standing, Validity, in_words};
pub use value::{
    ByteSize, Cidr, Ciphers, FileName, HeaderName, HeaderText, HeaderValue, HostExpression, HostName, LONGEST,
    LONGEST_FOR_REQUEST, LONGEST_LINE, OriginUrl, ParameterName, Pattern, RedirectUrl, Refused, RewriteTarget,
    TargetPart, Text, UrlPath, Variable, longest_variable,
};
pub use variables::Variables;

use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that traffic should do: the product of `translate` and the input of the nginx gate.
///
/// All lists are sorted by their key, so that equal input gives equal bytes. Values that change rarely (servers),
/// often (endpoints) and sometimes (certificates) are kept apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    /// Where clients come to for hosts.
    pub listeners: Vec<Listener>,
    /// One entry for each host, sorted by name; the catch-all server, when present, comes first.
    pub servers: Vec<Arc<Server>>,
    /// Groups of endpoints, sorted by identity.
    pub upstreams: Vec<Arc<Upstream>>,
    /// Certificates with their keys, sorted by identity.
    pub certificates: Vec<Arc<Certificate>>,
    /// Password files for basic authentication, sorted by identity.
    pub password_files: Vec<Arc<PasswordFile>>,
    /// Authorities that sign certificates of clients and backends, sorted by identity.
    pub authorities: Vec<Arc<Authority>>,
    /// The certificate for hosts that have none of their own; `None` lets the gate leave TLS out.
    pub default_certificate: Option<CertificateId>,
    /// Which clients are believed about the address, scheme and host of a request.
    pub forwarded: Forwarded,
    /// What every server says, whatever its host; sorted by name, each at most once.
    pub server_directives: Vec<Directive>,
    /// Tables for all hosts, by which snippets look something up.
    pub lookup_tables: Arc<[LookupTable]>,
    /// How large each zone is in which clients are counted, by the namespace of the object that limits them; elsewhere it is
    /// [`cost::LARGEST_ZONE`].
    pub zones: BTreeMap<Arc<str>, ByteSize>,
    /// TCP and UDP services, sorted by port.
    pub streams: Vec<Arc<Stream>>,
    /// Hosts whose TLS is not opened here.
    pub passthroughs: Passthroughs,
    /// Where connections of both go, sorted by identity.
    pub stream_upstreams: Vec<Arc<StreamUpstream>>,
}

impl Model {
    /// Whether anything is to be served over TLS.
    pub fn asks_for_tls(&self) -> bool {
        self.listeners.iter().any(|listener| listener.serves.has_tls())
    }

    /// Whether clients of hosts are told by the PROXY protocol.
    pub fn has_proxy_protocol(&self) -> bool {
        self.listeners.iter().any(|listener| listener.proxy_protocol)
    }

    /// How large the zones of objects of this namespace are.
    pub fn zone_size(&self, namespace: &str) -> ByteSize {
        self.zones.get(namespace).copied().unwrap_or(cost::LARGEST_ZONE)
    }
}

/// Which clients are believed when they say on whose behalf they speak.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// Proxies in front of this node whose `X-Forwarded-*` headers are believed; empty believes nobody.
    pub trusted: Vec<Cidr>,
    /// Append the client address to `X-Forwarded-For` instead of replacing the header.
    pub append: bool,
}

impl Forwarded {
    /// Whether anybody is believed.
    pub fn trusts_proxies(&self) -> bool {
        !self.trusted.is_empty()
    }
}
