//! What fills the templates of variables and zones that servers share.

use serde::Serialize;

use crate::render::token::{Literal, Number, Path, Text, Word};

/// The variables of a set of origins.
#[derive(Debug, Serialize)]
pub struct Cors {
    /// Every origin is allowed.
    pub any: bool,
    /// The variable with the allowed origin or nothing.
    pub origin: Word,
    /// Expressions that match allowed origins.
    pub origins: Vec<Literal>,
    /// Headers that accompany an allowed origin.
    pub headers: Vec<CorsHeader>,
    /// The variable that tells a preflight.
    pub preflight: Word,
}

/// A header that accompanies an allowed origin.
#[derive(Debug, Serialize)]
pub struct CorsHeader {
    /// The variable with the allowed origin or nothing.
    pub origin: Word,
    pub variable: Word,
    pub value: Text,
}

/// How requests are split.
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
    /// How the cookie is found where nginx has no variable for it; none or one.
    pub expressions: Vec<SessionExpression>,
    /// The variable with the value of the cookie, if the client has sent one.
    pub given: Word,
    /// The variable with the session.
    pub session: Word,
}

/// How a cookie is found in the header with all of them.
#[derive(Debug, Serialize)]
pub struct SessionExpression {
    /// The variable with its value.
    pub given: Word,
    /// The expression that catches it.
    pub pattern: Literal,
}

/// The variable with the cookie for clients without a session.
#[derive(Debug, Serialize)]
pub struct SessionCookie {
    /// The variable with the scheme of the request.
    pub scheme: Word,
    /// The variable with the value of the cookie, if the client has sent one.
    pub given: Word,
    /// The variable.
    pub cookie: Word,
    /// The value of `Set-Cookie` on answers by https.
    pub secure: Text,
    /// The same on others.
    pub plain: Text,
}

/// Shares of requests.
#[derive(Debug, Serialize)]
pub struct Shares {
    /// The variable by which they are shared out.
    pub key: Word,
    /// The variable with the upstream.
    pub variable: Word,
    pub parts: Vec<SplitPart>,
    /// The upstream of the rest.
    pub rest: Word,
}

/// A share and its upstream.
#[derive(Debug, Serialize)]
pub struct SplitPart {
    /// How many of a hundred requests.
    pub percent: Word,
    /// Where they go.
    pub upstream: Word,
}

/// Who is turned away everywhere.
#[derive(Debug, Serialize)]
pub struct Blocked {
    /// By address, none or one.
    pub networks: Vec<BlockedNetworks>,
    /// By a header each.
    pub headers: Vec<BlockedHeader>,
}

/// Clients that are turned away.
#[derive(Debug, Serialize)]
pub struct BlockedNetworks {
    /// The variable that tells them.
    pub variable: Word,
    pub networks: Vec<Word>,
}

/// Values of a header whose requests are turned away.
#[derive(Debug, Serialize)]
pub struct BlockedHeader {
    /// The variable with the header.
    pub header: Word,
    /// The variable that tells them.
    pub variable: Word,
    /// Expressions that match them.
    pub values: Vec<Literal>,
}

/// How requests are logged.
#[derive(Debug, Serialize)]
pub struct AccessLog {
    /// Whether the line tells anything of backends.
    pub backends: bool,
    /// Whether it tells the namespace of the Service.
    pub namespace: bool,
    /// Whether it tells the Service.
    pub service: bool,
    /// Whether it tells its port.
    pub port: bool,
    /// Whether it tells all three as one name.
    pub upstream: bool,
    /// Whether it tells that of a canary.
    pub alternative: bool,
    /// Whether it tells the Ingress.
    pub ingress: bool,
    /// Whether it tells requests apart.
    pub request_id: bool,
    /// Requests that are not logged, none or one.
    pub skip: Vec<LogSkip>,
    /// The line, none or one.
    pub formats: Vec<LogFormat>,
}

/// Requests that are not logged.
#[derive(Debug, Serialize)]
pub struct LogSkip {
    /// The variable that tells whether a request is logged.
    pub variable: Word,
    /// The requests: a path with its query, or an expression.
    pub requests: Vec<Literal>,
}

/// A line of the access log.
#[derive(Debug, Serialize)]
pub struct LogFormat {
    pub name: Word,
    /// How values are escaped.
    pub escape: Word,
    /// What it says.
    pub line: Text,
}

/// Tests of one header or cookie.
#[derive(Debug, Serialize)]
pub struct Tests {
    /// The variable with its value.
    pub subject: Word,
    /// The variable with the upstream.
    pub variable: Word,
    /// The tests in order.
    pub branches: Vec<SplitBranch>,
    /// The upstream, or the variable with it, where none is passed.
    pub rest: Word,
}

/// A test and its upstream.
#[derive(Debug, Serialize)]
pub struct SplitBranch {
    /// The expression that matches what passes.
    pub pattern: Literal,
    /// Where such requests go.
    pub upstream: Word,
}

/// The zones of an object that limits its clients.
#[derive(Debug, Serialize)]
pub struct Limits {
    /// The variable that tells exempt clients.
    pub exempt: Word,
    /// The exempt networks.
    pub networks: Vec<Word>,
    /// The variable with the client that is counted.
    pub client: Word,
    /// Zones of rates.
    pub rates: Vec<RateZone>,
    /// Zones of connections, none or one.
    pub connections: Vec<ConnectionZone>,
}

#[derive(Debug, Serialize)]
pub struct ConnectionZone {
    /// The variable with the client that is counted.
    pub client: Word,
    /// Its name.
    pub zone: Word,
    /// Its bytes.
    pub size: Word,
}

#[derive(Debug, Serialize)]
pub struct RateZone {
    /// The variable with the client that is counted.
    pub client: Word,
    /// Its name.
    pub zone: Word,
    /// Its bytes.
    pub size: Word,
    /// Requests.
    pub number: Number,
    /// `r/s` or `r/m`.
    pub unit: Word,
}

/// The variable that holds the target of a request encoded.
#[derive(Debug, Serialize)]
pub struct EscapedUri {
    /// The variable in which nothing is encoded yet.
    pub first: Word,
    /// The steps, each of which encodes one character.
    pub stages: Vec<EscapedStage>,
    /// The variable of the last of them.
    pub last: Word,
    /// The variable that is referred to.
    pub escaped: Word,
}

/// A step.
#[derive(Debug, Serialize)]
pub struct EscapedStage {
    /// The variable before it.
    pub from: Word,
    /// The variable behind it.
    pub to: Word,
}

/// Where answers about clients are remembered.
#[derive(Debug, Serialize)]
pub struct AnswerMemory {
    pub folder: Path,
    /// Its name.
    pub zone: Word,
}
