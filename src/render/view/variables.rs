//! The views of templates with variables and zones that servers share.

use serde::Serialize;

use crate::render::token::{Literal, Number, Path, Text, Word};

/// The variables for a set of allowed origins.
#[derive(Debug, Serialize)]
pub struct Cors {
    /// Whether every origin is allowed.
    pub any: bool,
    /// The variable with the allowed origin, or nothing.
    pub origin: Word,
    /// Expressions that match allowed origins.
    pub origins: Vec<Literal>,
    /// Response headers for requests of an allowed origin.
    pub headers: Vec<CorsHeader>,
    /// The variable that says whether a request is a preflight.
    pub preflight: Word,
}

/// A response header for requests of an allowed origin.
#[derive(Debug, Serialize)]
pub struct CorsHeader {
    /// The variable with the allowed origin or nothing.
    pub origin: Word,
    pub variable: Word,
    pub value: Text,
}

/// The variables of a traffic split.
#[derive(Debug, Serialize)]
pub struct Split {
    /// Shares of the requests that pass no test.
    pub shares: Vec<Shares>,
    /// Tests of one header or cookie each, the last first.
    pub tests: Vec<Tests>,
}

/// The variable with a client's session.
#[derive(Debug, Serialize)]
pub struct Session {
    /// Expressions that extract the cookie where nginx has no variable for it; none or one.
    pub expressions: Vec<SessionExpression>,
    /// The variable with the value of the cookie that the client sent.
    pub given: Word,
    /// The variable with the session.
    pub session: Word,
}

/// An expression that extracts a cookie from the `Cookie` header.
#[derive(Debug, Serialize)]
pub struct SessionExpression {
    /// The variable with its value.
    pub given: Word,
    /// The expression with a capture for the value.
    pub pattern: Literal,
}

/// The variable with the cookie for clients without a session.
#[derive(Debug, Serialize)]
pub struct SessionCookie {
    /// The variable with the scheme of the request.
    pub scheme: Word,
    /// The variable with the value of the cookie that the client sent.
    pub given: Word,
    /// The variable.
    pub cookie: Word,
    /// The value of `Set-Cookie` in responses by https.
    pub secure: Text,
    /// The value of `Set-Cookie` in other responses.
    pub plain: Text,
    /// The new cookie when an endpoint failed; none or one.
    pub changes: Vec<SessionChange>,
}

/// The variable with the cookie for clients that get another session because an endpoint failed.
#[derive(Debug, Serialize)]
pub struct SessionChange {
    /// The variable with the scheme of the request.
    pub scheme: Word,
    /// The variable with the cookie when no endpoint failed.
    pub unchanged: Word,
    /// The variable.
    pub cookie: Word,
    /// The value of `Set-Cookie` in responses by https.
    pub secure: Text,
    /// The value of `Set-Cookie` in other responses.
    pub plain: Text,
}

/// The variable with the `SameSite` attribute for clients that know `None`.
#[derive(Debug, Serialize)]
pub struct SameSite {
    /// The variable.
    pub variable: Word,
}

/// Shares of requests (`split_clients`).
#[derive(Debug, Serialize)]
pub struct Shares {
    /// The key by which requests are distributed.
    pub key: Word,
    /// The variable with the upstream.
    pub variable: Word,
    pub parts: Vec<SplitPart>,
    /// The upstream of the remaining requests.
    pub rest: Word,
}

/// A share and its upstream.
#[derive(Debug, Serialize)]
pub struct SplitPart {
    /// The percentage.
    pub percent: Word,
    /// The upstream.
    pub upstream: Word,
}

/// Clients and requests that are refused on all hosts.
#[derive(Debug, Serialize)]
pub struct Blocked {
    /// Refused by address; none or one.
    pub networks: Vec<BlockedNetworks>,
    /// Refused by a header, one element for each header.
    pub headers: Vec<BlockedHeader>,
}

/// Clients that are refused.
#[derive(Debug, Serialize)]
pub struct BlockedNetworks {
    /// The variable that says so.
    pub variable: Word,
    pub networks: Vec<Word>,
}

/// Values of a header whose requests are refused.
#[derive(Debug, Serialize)]
pub struct BlockedHeader {
    /// The variable with the header.
    pub header: Word,
    /// The variable that says so.
    pub variable: Word,
    /// Expressions that match them.
    pub values: Vec<Literal>,
}

/// The variables and formats of access logs.
#[derive(Debug, Serialize)]
pub struct AccessLog {
    /// Whether the line contains a variable about backends.
    pub backends: bool,
    /// Whether it contains the namespace of the Service.
    pub namespace: bool,
    /// Whether it contains the name of the Service.
    pub service: bool,
    /// Whether it contains the port of the Service.
    pub port: bool,
    /// Whether it contains all three as one name.
    pub upstream: bool,
    /// Whether it contains the Service of a canary.
    pub alternative: bool,
    /// Whether it contains the name of the Ingress.
    pub ingress: bool,
    /// Whether it contains the request ID.
    pub request_id: bool,
    /// Requests that are not logged, none or one.
    pub skip: Vec<LogSkip>,
    /// The format, none or one.
    pub formats: Vec<LogFormat>,
}

/// Requests that are not logged.
#[derive(Debug, Serialize)]
pub struct LogSkip {
    /// The variable that says whether a request is logged.
    pub variable: Word,
    /// The requests: a path with its query, or an expression.
    pub requests: Vec<Literal>,
}

/// A format of the access log (`log_format`).
#[derive(Debug, Serialize)]
pub struct LogFormat {
    pub name: Word,
    /// The escaping of values.
    pub escape: Word,
    /// The line.
    pub line: Text,
}

/// Tests of one header or cookie.
#[derive(Debug, Serialize)]
pub struct Tests {
    /// The variable with the tested value.
    pub subject: Word,
    /// The variable with the upstream.
    pub variable: Word,
    /// The tests, in order.
    pub branches: Vec<SplitBranch>,
    /// The upstream, or the variable with it, when no test passes.
    pub rest: Word,
}

/// A test and its upstream.
#[derive(Debug, Serialize)]
pub struct SplitBranch {
    /// The expression for values that pass.
    pub pattern: Literal,
    /// The upstream of these requests.
    pub upstream: Word,
}

/// The zones of an object with limits per client.
#[derive(Debug, Serialize)]
pub struct Limits {
    /// The variable that says which clients are exempt.
    pub exempt: Word,
    /// The exempt networks.
    pub networks: Vec<Word>,
    /// The variable with the client that is counted.
    pub client: Word,
    /// Zones of request rates.
    pub rates: Vec<RateZone>,
    /// Zones of connections, none or one.
    pub connections: Vec<ConnectionZone>,
}

#[derive(Debug, Serialize)]
pub struct ConnectionZone {
    /// The variable with the client that is counted.
    pub client: Word,
    /// The name of the zone.
    pub zone: Word,
    /// The size of the zone.
    pub size: Word,
}

#[derive(Debug, Serialize)]
pub struct RateZone {
    /// The variable with the client that is counted.
    pub client: Word,
    /// The name of the zone.
    pub zone: Word,
    /// The size of the zone.
    pub size: Word,
    /// The number of requests.
    pub number: Number,
    /// `r/s` or `r/m`.
    pub unit: Word,
}

/// The variable with the encoded request URI.
#[derive(Debug, Serialize)]
pub struct EscapedUri {
    /// The variable with the URI before the first step.
    pub first: Word,
    /// The steps, each of which encodes one character.
    pub stages: Vec<EscapedStage>,
    /// The variable of the last step.
    pub last: Word,
    /// The variable that other directives use.
    pub escaped: Word,
}

/// A step, which encodes one character.
#[derive(Debug, Serialize)]
pub struct EscapedStage {
    /// The input variable.
    pub from: Word,
    /// The output variable.
    pub to: Word,
}

/// The cache of authentication answers.
#[derive(Debug, Serialize)]
pub struct AnswerMemory {
    pub folder: Path,
    /// The name of the zone.
    pub zone: Word,
}
