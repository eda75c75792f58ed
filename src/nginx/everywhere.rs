//! What every host gets, whoever asks for it: the administrator's choices that are more than one directive; it must not know how they are written.

use std::time::Duration;

use crate::model::{ByteSize, Cidr, HeaderName, HeaderValue, LogLine, Pattern, Refused, UrlPath};

/// What holds for all hosts of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Everywhere {
    /// Headers of all answers, in the place of those of backends.
    pub answer_headers: Vec<SetHeader>,
    /// Headers of all requests to backends, besides those that every backend gets.
    pub request_headers: Vec<SetHeader>,
    /// The header by which trusted proxies tell the client's address, where it is not `X-Forwarded-For`.
    pub client_header: Option<HeaderName>,
    /// The header by which they tell the host, where it is not `X-Forwarded-Host`.
    pub host_header: Option<HeaderName>,
    /// Whether requests that bring no `X-Request-ID` get one, where backends are told of it.
    pub request_ids: bool,
    /// Whether backends are told what was asked for, as it came.
    pub original_uri: bool,
    /// Headers of backends that do not reach clients.
    pub hidden_headers: Vec<HeaderName>,
    /// Answers of hosts of the ingress-nginx dialect name nginx in the header `Server`.
    pub server_header: bool,
    /// Clients that are turned away.
    pub blocked_networks: Vec<Cidr>,
    /// Programs that are.
    pub blocked_agents: Vec<Test>,
    /// Requests that come from other pages.
    pub blocked_referers: Vec<Test>,
    /// Beginnings of paths whose routes send nobody to https.
    pub plain_paths: Vec<UrlPath>,
    /// Status of requests above a rate.
    pub rate_status: u16,
    /// Status of those of clients with too many connections.
    pub connections_status: u16,
    /// How long sessions of TLS may be taken up.
    pub session_timeout: Duration,
    /// Memory for them; 0 keeps none.
    pub session_cache: ByteSize,
    /// Whether clients keep them.
    pub session_tickets: bool,
    /// Requests of one connection to an endpoint.
    pub keepalive_requests: u32,
    /// How long such a connection is used.
    pub keepalive_time: Duration,
    /// How long it may be idle.
    pub keepalive_timeout: Duration,
}

/// How long connections to endpoints are used where nobody says otherwise, as nginx does it.
pub const KEEPALIVE_TIME: Duration = Duration::from_secs(3600);
/// How long they may be idle.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(60);

impl Everywhere {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        Everywhere {
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
            keepalive_requests: 0,
            keepalive_time: Duration::ZERO,
            keepalive_timeout: Duration::ZERO,
        }
    }
}

impl Everywhere {
    /// Whether a header tells the first name of a server, which hosts may share.
    pub fn tells_server_name(&self) -> bool {
        self.answer_headers.iter().chain(&self.request_headers).any(|header| header.value.tells_server_name())
    }

    /// Whether anybody is turned away.
    pub fn blocks(&self) -> bool {
        !(self.blocked_networks.is_empty() && self.blocked_agents.is_empty() && self.blocked_referers.is_empty())
    }
}

/// A header with its value: text and variables that say nothing but what the client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetHeader {
    /// Its name: letters, digits, `-` and `_`.
    pub name: HeaderName,
    /// Its value.
    pub value: LogLine,
}

/// What a header of a request is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// This value, in small or large letters.
    Exact(HeaderValue),
    /// Those that match.
    Expression {
        /// The expression.
        pattern: Pattern,
        /// Whether small letters are told from others.
        case_sensitive: bool,
    },
}

impl Test {
    /// A value, or an expression behind `~` or `~*`.
    pub fn new(text: &str) -> Result<Self, Refused> {
        let expression = |text: &str, case_sensitive| {
            Pattern::new(text.trim()).map(|pattern| Test::Expression { pattern, case_sensitive })
        };
        match (text.strip_prefix("~*"), text.strip_prefix('~')) {
            _ if text.is_empty() => Err(Refused::because("it is empty")),
            (Some(text), _) => expression(text, false),
            (_, Some(text)) => expression(text, true),
            _ => HeaderValue::new(text).map(Test::Exact),
        }
    }
}
