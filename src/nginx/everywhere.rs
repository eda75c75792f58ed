//! What every host gets, whoever asks for it: the administrator's choices that are more than one directive; it must not know how they are written.

use std::time::Duration;

use crate::model::{
    ByteSize, Cidr, DhParameters, HeaderName, HeaderValue, LogLine, Pattern, Refused, Text, TicketKey, UrlPath,
};

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
    /// The key by which they are encrypted then; nginx makes one of its own where there is none.
    pub ticket_key: Option<TicketKey>,
    /// Parameters for ciphers with DHE, which are not offered without.
    pub dh_parameters: Option<DhParameters>,
    /// Memory for the first part of an answer of gRPC, for routes that say nothing of it.
    pub grpc_buffer: Option<ByteSize>,
    /// The type of texts by which snippets answer; `text/plain` where there is none.
    pub default_type: Option<Text>,
    /// Programs that get answers as they are, where answers are compressed.
    pub uncompressed: Option<Uncompressed>,
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

impl Default for Everywhere {
    fn default() -> Self {
        Everywhere {
            answer_headers: Vec::new(),
            request_headers: Vec::new(),
            client_header: None,
            host_header: None,
            request_ids: true,
            original_uri: false,
            hidden_headers: Vec::new(),
            server_header: false,
            blocked_networks: Vec::new(),
            blocked_agents: Vec::new(),
            blocked_referers: Vec::new(),
            plain_paths: Vec::new(),
            rate_status: 503,
            connections_status: 503,
            session_timeout: Duration::from_secs(600),
            session_cache: ByteSize(10 << 20),
            session_tickets: false,
            ticket_key: None,
            dh_parameters: None,
            grpc_buffer: None,
            default_type: None,
            uncompressed: None,
            keepalive_requests: 10_000,
            keepalive_time: KEEPALIVE_TIME,
            keepalive_timeout: KEEPALIVE_TIMEOUT,
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

/// Which programs get answers as they are, by the value of `User-Agent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uncompressed {
    /// Old versions of the Internet Explorer, for which nginx has a word.
    OldExplorers,
    /// Those that match, in small or large letters.
    Matching(Pattern),
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
