//! What fills the templates: proven words and nothing else, so that no text can reach a file unquoted.

mod variables;

use serde::Serialize;

pub use variables::*;

use super::token::{Literal, Number, Path, Text, Word, Words};

/// What needs nothing.
#[derive(Debug, Serialize)]
pub struct Nothing {}

/// The file that all servers share.
#[derive(Debug, Serialize)]
pub struct Shared {
    /// The table of server names, when it is ours to size.
    pub names_hash: Vec<NamesHash>,
    /// Whether the table of variables is ours to size.
    pub variables_hash_max_size: bool,
    pub variables_hash_bucket_size: bool,
    /// Whether servers take back the host's limits of requests.
    pub unlimited_requests: bool,
    /// Whether servers take back the host's limits of connections.
    pub unlimited_connections: bool,
    /// Whether servers take back a certificate of the host for backends.
    pub nothing: bool,
    /// Whether headers of anybody are believed about clients.
    pub trusts_proxies: bool,
    /// Whether backends of some host get the detailed headers.
    pub detailed: bool,
    /// The port that plain requests come to, or the variable that holds it where it is not one.
    pub plain_port: Word,
    /// The variable with the scheme of the client's request.
    pub scheme: Word,
    /// Whether the PROXY protocol is believed about it.
    pub tells_scheme: bool,
    /// The variable with the address that the connection came from.
    pub peer: Word,
    /// Where nginx connects to itself and tells that address by the PROXY protocol; none or one.
    pub inside: Vec<Inside>,
    /// Whether anybody is believed about the port that clients connect to.
    pub trusts: bool,
    /// Who that is.
    pub trusted: Vec<Word>,
    /// The variable with the port that they tell.
    pub told_port: Word,
    /// The variable by which a believed peer tells the host.
    pub told_host: Word,
    /// What identifies a request that brings nothing of the kind.
    pub request_id: Word,
    /// Whether the client is added to the list it sent.
    pub append: bool,
    /// Whether some host asks clients for certificates.
    pub asks_clients: bool,
    /// Policies of strict transport security.
    pub hsts: Vec<Hsts>,
    /// The server for the daemon itself.
    pub status: Vec<StatusServer>,
}

/// Where nginx connects to itself.
#[derive(Debug, Serialize)]
pub struct Inside {
    /// The variable with the address that any other connection came from.
    pub peer: Word,
    pub addresses: Vec<Word>,
}

/// Sizes of a table of names.
#[derive(Debug, Serialize)]
pub struct NamesHash {
    /// Number of buckets.
    pub max_size: Number,
    /// Bytes in each.
    pub bucket_size: Number,
}

/// A policy of strict transport security.
#[derive(Debug, Serialize)]
pub struct Hsts {
    /// The variable that holds it on https.
    pub variable: Word,
    /// The header's value.
    pub value: Text,
}

/// The server for the daemon itself.
#[derive(Debug, Serialize)]
pub struct StatusServer {
    /// Where it listens.
    pub address: Word,
    /// What it takes back of the host's `http` level.
    pub resets: Vec<Directive>,
    /// Whether it tells nginx's counters.
    pub stub_status: bool,
}

/// The beginning of a server.
#[derive(Debug, Serialize)]
pub struct Listens {
    /// Arguments of each `listen`.
    pub listens: Vec<Words>,
}

/// A name of a server.
#[derive(Debug, Serialize)]
pub struct Name {
    pub name: Literal,
}

/// The beginning of a table from hosts to upstreams.
#[derive(Debug, Serialize)]
pub struct Backends {
    /// The variable that holds what is found.
    pub variable: Word,
}

/// A line of such a table.
#[derive(Debug, Serialize)]
pub struct Backend {
    pub host: Literal,
    pub upstream: Word,
}

/// What a server says, from its names to its locations.
#[derive(Debug, Serialize)]
pub struct Server {
    /// HTTP/2 by directive.
    pub http2: bool,
    /// The certificate, none or one.
    pub certificate: Vec<Path>,
    /// Versions of TLS, where there is a certificate.
    pub protocols: Vec<Words>,
    /// How sessions are taken up, where there is one.
    pub sessions: Vec<Directive>,
    /// The access logs; none where those of the host count.
    pub access_log: Vec<Words>,
    /// Whether nginx knows `keepalive_min_timeout`.
    pub keepalive_min_timeout: bool,
    /// Whether a route speaks gRPC to its backend.
    pub grpc: bool,
    /// Whether backends get the detailed headers, and answers as they come.
    pub detailed: bool,
    /// Whether anybody is believed about clients.
    pub trusts_proxies: bool,
    /// Whether the PROXY protocol is believed about the scheme.
    pub tells_scheme: bool,
    /// Who is believed about the client's address, and by which word; none or one.
    pub real_ip: Vec<RealIp>,
    /// The variable with the policy of strict transport security, none or one.
    pub hsts: Vec<Word>,
    /// What it takes back of the host's `http` level.
    pub resets: Vec<Directive>,
    /// What all its locations would set alike; these are its last lines.
    pub common: Vec<Directive>,
}

/// What every server says because all hosts are to have it.
#[derive(Debug, Serialize)]
pub struct Everywhere {
    /// Variables that tell requests that are turned away.
    pub blocked: Vec<Word>,
    /// Headers.
    pub directives: Vec<Directive>,
}

/// The rules of a firewall.
#[derive(Debug, Serialize)]
pub struct Firewall {
    /// One for each file of them, or for files of one pattern.
    pub directives: Vec<Directive>,
}

/// What a server asks of certificates of clients.
#[derive(Debug, Serialize)]
pub struct ClientCertificates {
    /// The file with the authorities.
    pub authority: Path,
    /// The file with what they took back, none or one.
    pub revoked: Vec<Path>,
    /// What clients have to show.
    pub verify: Word,
    /// How many authorities may stand between.
    pub depth: Number,
    /// Where others are sent, none or one URL.
    pub error_page: Vec<Text>,
    /// Whether anybody is believed about clients.
    pub trusts_proxies: bool,
}

/// The variable that tells who is not let in.
#[derive(Debug, Serialize)]
pub struct Stranger {
    pub variable: Word,
    /// The expression that matches whom is let in.
    pub pattern: Literal,
}

/// Who is believed about the client's address.
#[derive(Debug, Serialize)]
pub struct RealIp {
    /// What tells it: a header, or nginx's word for the PROXY protocol.
    pub header: Word,
    /// The networks of those who are believed.
    pub networks: Vec<Word>,
}

/// A location, from its first line to the headers that its backend gets: those are a template of their own.
#[derive(Debug, Serialize)]
pub struct Location {
    /// `=`, `~`, `~*`, or `^~`; or the name of a location that only nginx itself sends requests to.
    pub modifier: Word,
    /// The path or expression; nothing behind a name.
    pub path: Words,
    /// Plain settings, one line each, directly below the first line.
    pub directives: Vec<Directive>,
    /// Whether paths that a backend may read otherwise are refused here, and not in the whole server.
    pub strict_paths: bool,
    /// What features say, in order.
    pub statements: Vec<Statement>,
    /// To a backend, none or one.
    pub pass: Vec<Pass>,
}

/// A directive of a feature: one of the lists has one element, the others none.
#[derive(Debug, Default, Serialize)]
pub struct Statement {
    /// For some requests only.
    pub conditional: Vec<Conditional>,
    /// For those whose variable compares like this.
    pub compared: Vec<Compared>,
    /// For all of them.
    pub plain: Vec<Directive>,
}

/// A directive for requests for which a variable is set.
#[derive(Debug, Serialize)]
pub struct Conditional {
    /// The variable.
    pub condition: Word,
    /// The name of the directive.
    pub name: Word,
    pub arguments: Words,
}

/// A directive for requests for which a variable is like something else.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// The variable.
    pub variable: Word,
    /// How it is compared.
    pub operator: Word,
    /// What with.
    pub value: Words,
    /// The name of the directive.
    pub name: Word,
    /// Its arguments.
    pub arguments: Words,
}

/// To a backend.
#[derive(Debug, Serialize)]
pub struct Pass {
    /// `proxy_pass`, `grpc_pass` or `fastcgi_pass`.
    pub directive: Word,
    /// `http://`, `https://`, `$scheme://`, `grpc://` or `grpcs://`; nothing for FastCGI.
    pub scheme: Word,
    /// The upstream, or the variable with its name.
    pub upstream: Word,
}

/// Headers that a location sets for its backend, besides the list that every backend gets.
#[derive(Debug, Serialize)]
pub struct RequestHeaders {
    pub headers: Vec<RequestHeader>,
}

/// A header that a location sets for its backend.
#[derive(Debug, Serialize)]
pub struct RequestHeader {
    /// `proxy_set_header`, `grpc_set_header` or `fastcgi_param`.
    pub directive: Word,
    pub name: Word,
    pub value: Words,
}

#[derive(Debug, Clone, Serialize)]
pub struct Directive {
    pub name: Word,
    pub arguments: Words,
}

/// A table for all hosts.
#[derive(Debug, Serialize)]
pub struct Lookup {
    /// What is looked up.
    pub source: Words,
    pub variable: Word,
    pub default: Text,
    pub rows: Vec<LookupRow>,
}

#[derive(Debug, Serialize)]
pub struct LookupRow {
    pub key: Words,
    pub value: Words,
}

/// A long list, for all locations that refer to it.
#[derive(Debug, Serialize)]
pub struct List {
    /// The variable that tells whether a client is denied.
    pub variable: Word,
    /// Whether whoever is in none of the networks is.
    pub denied: bool,
    pub networks: Vec<ListNetwork>,
}

#[derive(Debug, Serialize)]
pub struct ListNetwork {
    pub network: Word,
    /// What the variable holds for its clients.
    pub denied: Word,
}

/// A group of endpoints.
#[derive(Debug, Serialize)]
pub struct Upstream {
    pub name: Word,
    /// The variable of the session by which an endpoint is chosen; none or one.
    pub session: Vec<Word>,
    /// The text by which it is chosen; none or one.
    pub key: Vec<Text>,
    /// Whether the one with the fewest connections is chosen.
    pub least_connections: bool,
    /// Whether it is the one of two by chance that has fewer.
    pub two_by_chance: bool,
    pub endpoints: Vec<Endpoint>,
    /// Idle connections, none or one.
    pub keepalive: Vec<Number>,
    /// How long those are used.
    pub reuse: Vec<Directive>,
}

/// A TCP or UDP service.
#[derive(Debug, Serialize)]
pub struct Stream {
    /// Addresses with what is spoken there.
    pub listens: Vec<Words>,
    /// Proxies that are believed about their clients.
    pub trusted: Vec<Word>,
    /// How long a header of the PROXY protocol is waited for; none or one.
    pub header_timeout: Vec<Word>,
    /// How long nothing may be sent.
    pub timeout: Word,
    /// Whether other endpoints are tried.
    pub next_upstream: bool,
    /// For how long.
    pub next_upstream_timeout: Word,
    /// How many.
    pub next_upstream_tries: Number,
    /// How many datagrams are an answer; none or one.
    pub responses: Vec<Number>,
    /// Whether endpoints get a header of the PROXY protocol.
    pub sends_proxy_protocol: bool,
    /// The name of the endpoints.
    pub upstream: Word,
}

/// Where TLS goes by the name in its handshake, before anybody opens it.
#[derive(Debug, Serialize)]
pub struct Passthrough {
    /// The sizes of tables, when they are ours to write; none or one.
    pub sizes: Vec<NamesHash>,
    /// Where proxies go whose headers are believed; none or one.
    pub sorted: Vec<Sorted>,
    /// Where TLS goes that is opened here, or the variable that says so.
    pub inside: Word,
    /// The hosts within wildcards that are not opened.
    pub wildcards: Vec<PassedHost>,
    /// Hosts within those that are opened here all the same.
    pub opened: Vec<OpenedHost>,
    /// Other hosts that are not opened.
    pub hosts: Vec<PassedHost>,
    /// The name of endpoints that nobody has.
    pub nobody: Word,
    /// Addresses with what clients begin with.
    pub listens: Vec<Words>,
    /// Proxies that are believed about their clients.
    pub trusted: Vec<Word>,
    /// How long a header of the PROXY protocol is waited for; none or one.
    pub header_timeout: Vec<Word>,
    /// Where what is not opened comes to once more.
    pub within: Words,
    /// How long nothing may be sent.
    pub timeout: Word,
    /// Whether other endpoints are tried.
    pub next_upstream: bool,
    /// For how long.
    pub next_upstream_timeout: Word,
    /// How many.
    pub next_upstream_tries: Number,
}

/// Where connections go by who begins them.
#[derive(Debug, Serialize)]
pub struct Sorted {
    pub clients: Word,
    /// Those whose headers are believed.
    pub proxies: Vec<SortedNetwork>,
}

/// A network of proxies, and where their connections go.
#[derive(Debug, Serialize)]
pub struct SortedNetwork {
    pub network: Word,
    /// Where they go.
    pub inside: Word,
}

/// A host whose TLS is not opened.
#[derive(Debug, Serialize)]
pub struct PassedHost {
    /// The host, or what follows the first label of each.
    pub name: Literal,
    /// Where such connections come to once more.
    pub passed: Word,
    /// Its endpoints.
    pub upstream: Word,
}

/// A host whose TLS is opened.
#[derive(Debug, Serialize)]
pub struct OpenedHost {
    pub name: Literal,
    pub passed: Word,
}

/// Endpoints of TCP or UDP services.
#[derive(Debug, Serialize)]
pub struct StreamUpstream {
    pub name: Word,
    pub endpoints: Vec<Endpoint>,
    /// Whether there are none: nginx takes no upstream without a server.
    pub empty: bool,
}

#[derive(Debug, Serialize)]
pub struct Endpoint {
    /// Address and port.
    pub address: Word,
    /// Its share, when it is not 1: none or one.
    pub weight: Vec<Number>,
}
