//! Settings of the administrator that hold for all hosts and are more than one directive. It must
//! not know how they are written.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ingressd_model::catalogue::{Module, Version};
use ingressd_model::{
    ByteSize, Cidr, DhParameters, HeaderName, HeaderValue, LogLine, LogPart, LogVariable, Pattern, Refused, Text,
    TicketKey, UrlPath,
};

/// What holds for all hosts of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Global {
    /// Headers that are set in all responses, and replace those of backends.
    pub answer_headers: Vec<SetHeader>,
    /// Headers that are set in all requests to backends, besides the usual ones.
    pub request_headers: Vec<SetHeader>,
    /// The header in which trusted proxies send the client's address, where it is not
    /// `X-Forwarded-For`.
    pub client_header: Option<HeaderName>,
    /// The header in which trusted proxies send the host, where it is not `X-Forwarded-Host`.
    pub host_header: Option<HeaderName>,
    /// Whether a request without `X-Request-ID` gets one, where backends get that header.
    pub request_ids: bool,
    /// Whether backends get the original URI of the request in `X-Original-URI`.
    pub original_uri: bool,
    /// Headers of backends that are removed from responses.
    pub hidden_headers: Vec<HeaderName>,
    /// Whether responses of hosts of the ingress-nginx dialect have a `Server` header that names
    /// nginx.
    pub server_header: bool,
    /// Networks whose clients are refused.
    pub blocked_networks: Vec<Cidr>,
    /// User agents that are refused.
    pub blocked_agents: Vec<HeaderTest>,
    /// Referers that are refused.
    pub blocked_referers: Vec<HeaderTest>,
    /// Path prefixes whose routes are not redirected to https.
    pub plain_paths: Vec<UrlPath>,
    /// The status of requests above a rate limit.
    pub rate_status: u16,
    /// The status of requests of clients with too many connections.
    pub connections_status: u16,
    /// How long TLS sessions may be resumed.
    pub session_timeout: Duration,
    /// The size of the TLS session cache; 0 means no cache.
    pub session_cache: ByteSize,
    /// Whether clients may resume TLS sessions by tickets.
    pub session_tickets: bool,
    /// The key by which they are encrypted then; nginx makes one of its own where there is none.
    pub ticket_key: Option<TicketKey>,
    /// Parameters for ciphers with DHE, which are not offered without.
    pub dh_parameters: Option<DhParameters>,
    /// Whether certificates are served with an answer about their revocation (OCSP), of the
    /// responders below.
    pub ocsp: bool,
    /// The responders that may be asked.
    pub ocsp_responders: Vec<OcspResponder>,
    /// Memory for the first part of an answer of gRPC, for routes that say nothing of it.
    pub grpc_buffer: Option<ByteSize>,
    /// The type of texts by which snippets answer; `text/plain` where there is none.
    pub default_type: Option<Text>,
    /// Programs that get answers as they are, where answers are compressed.
    pub uncompressed: Option<Uncompressed>,
    /// How many requests one connection to an endpoint serves.
    pub keepalive_requests: u32,
    /// How long a connection to an endpoint is used.
    pub keepalive_time: Duration,
    /// How long a connection to an endpoint may be idle.
    pub keepalive_timeout: Duration,
}

/// nginx's own default of `keepalive_time` for connections to endpoints.
pub const KEEPALIVE_TIME: Duration = Duration::from_secs(3600);
/// nginx's own default of `keepalive_timeout` for connections to endpoints.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(60);

impl Global {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        Global {
            answer_headers: Vec::new(),
            request_headers: Vec::new(),
            client_header: None,
            host_header: None,
            request_ids: false,
            original_uri: false,
            hidden_headers: Vec::new(),
            server_header: false,
            blocked_networks: Vec::new(),
            blocked_agents: Vec::new(),
            blocked_referers: Vec::new(),
            plain_paths: Vec::new(),
            rate_status: 0,
            connections_status: 0,
            session_timeout: Duration::ZERO,
            session_cache: ByteSize(0),
            session_tickets: false,
            ticket_key: None,
            dh_parameters: None,
            ocsp: false,
            ocsp_responders: Vec::new(),
            grpc_buffer: None,
            default_type: None,
            uncompressed: None,
            keepalive_requests: 10_000,
            keepalive_time: KEEPALIVE_TIME,
            keepalive_timeout: KEEPALIVE_TIMEOUT,
        }
    }
}

impl Default for Global {
    /// What a plan has that serves nothing yet; the settings have other defaults.
    fn default() -> Self {
        Global::empty()
    }
}

impl Global {
    /// Whether a header contains the first name of the server, which differs when hosts share a
    /// server.
    pub fn names_server(&self) -> bool {
        self.answer_headers.iter().chain(&self.request_headers).any(|header| header.value.names_server())
    }

    /// The variables in headers that nginx has decoded.
    pub fn decoded(&self) -> impl Iterator<Item = &str> {
        self.answer_headers.iter().chain(&self.request_headers).flat_map(|header| header.value.decoded())
    }

    /// Whether a header contains this property of the route.
    pub fn reports(&self, wanted: LogVariable) -> bool {
        self.answer_headers.iter().chain(&self.request_headers).any(|header| header.value.reports(wanted))
    }

    /// Whether a header contains any property of the route.
    pub fn names_route(&self) -> bool {
        let mut parts = self.answer_headers.iter().chain(&self.request_headers).flat_map(|header| header.value.parts());
        parts.any(|part| matches!(part, LogPart::Route(_)))
    }

    /// Puts dashes in the place of variables that an nginx lacks, and returns the names of these
    /// with their headers.
    pub fn fit(&mut self, has: impl Fn(Option<Module>, Version) -> bool) -> Vec<(HeaderName, Arc<str>)> {
        let mut all = Vec::new();
        for header in self.answer_headers.iter_mut().chain(&mut self.request_headers) {
            let (fitted, missing) = header.value.fit(&has);
            header.value = fitted;
            all.extend(missing.into_iter().map(|name| (header.name.clone(), name)));
        }
        all
    }

    /// Whether a header contains what nginx has decoded of the path.
    pub fn writes_decoded_path(&self) -> bool {
        self.decoded().any(|name| ["document_uri", "request_filename", "uri"].contains(&name))
    }

    /// Whether any client is refused.
    pub fn blocks(&self) -> bool {
        !(self.blocked_networks.is_empty() && self.blocked_agents.is_empty() && self.blocked_referers.is_empty())
    }
}

/// Which programs get answers as they are, by the value of `User-Agent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uncompressed {
    /// Old versions of the Internet Explorer, for which nginx has a word.
    OldExplorers,
    /// Those that match, in small or large letters.
    Matching(Pattern),
}

/// A responder (OCSP) as certificates name it, and the address at which nginx asks it: nginx would
/// look up a name whenever it starts, and wait for DNS once for each host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OcspResponder {
    /// Its host in lower case, and its port behind a colon.
    name: String,
    /// Where it is.
    pub address: SocketAddr,
}

impl OcspResponder {
    /// Parses `name=address`, each perhaps with a port; 80 without.
    pub fn new(text: &str) -> Result<Self, Refused> {
        let form = || Refused::because("it is not of the form name=address, each with :port where that is not 80");
        let (name, address) = text.split_once('=').ok_or_else(form)?;
        let of_ip = |address: &str| Some(SocketAddr::new(address.parse().ok()?, HTTP));
        let address = address.parse().ok().or_else(|| of_ip(address)).ok_or_else(form)?;
        let name = Self::name(name).ok_or_else(form)?;
        Ok(OcspResponder { name, address })
    }

    /// Whether the host of a URL, with or without a port, is this one.
    pub fn is(&self, host: &str) -> bool {
        Self::name(host).is_some_and(|name| name == self.name)
    }

    fn name(host: &str) -> Option<String> {
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => (host, HTTP),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_address = address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
        let is_host = is_address || (!host.is_empty() && host.bytes().all(is_name));
        is_host.then(|| format!("{}:{port}", host.to_ascii_lowercase()))
    }
}

/// The port of URLs without one.
const HTTP: u16 = 80;

/// Where nginx asks about a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StapleSource {
    /// The address of the responder.
    pub address: SocketAddr,
    /// The path, which the certificate names: letters, digits, `/`, `.`, `_`, `~` and `-`.
    pub path: Arc<str>,
}

/// A header with its value: text, and variables that are no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetHeader {
    /// Its name: letters, digits, `-` and `_`.
    pub name: HeaderName,
    pub value: LogLine,
}

/// A condition on a request header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderTest {
    /// It equals this value, case-insensitively.
    Exact(HeaderValue),
    /// It matches this expression.
    Expression {
        /// The expression.
        pattern: Pattern,
        /// Whether case is significant.
        case_sensitive: bool,
    },
}

impl HeaderTest {
    /// Parses a value, or an expression behind `~` or `~*`.
    pub fn new(text: &str) -> Result<Self, Refused> {
        let expression = |text: &str, case_sensitive| {
            Pattern::new(text.trim()).map(|pattern| HeaderTest::Expression { pattern, case_sensitive })
        };
        match (text.strip_prefix("~*"), text.strip_prefix('~')) {
            _ if text.is_empty() => Err(Refused::because("it is empty")),
            (Some(text), _) => expression(text, false),
            (_, Some(text)) => expression(text, true),
            _ => HeaderValue::new(text).map(HeaderTest::Exact),
        }
    }
}
