//! The views that fill the templates. They hold only checked tokens, so that no text can reach a
//! file unquoted.

mod variables;

use serde::Serialize;

pub use variables::*;

use super::token::{Literal, Number, Path, Text, Word, Words};

/// The view of a template without values.
#[derive(Debug, Serialize)]
pub struct Nothing {}

/// The view of the file that all servers share.
#[derive(Debug, Serialize)]
pub struct Shared {
    /// The size of the hash table of server names, when we set it.
    pub names_hash: Vec<NamesHash>,
    /// Whether we set the size of the hash table of variables.
    pub variables_hash_max_size: bool,
    pub variables_hash_bucket_size: bool,
    /// Whether servers override the host's limits of request rates.
    pub unlimited_requests: bool,
    /// Whether servers override the host's limits of connections.
    pub unlimited_connections: bool,
    /// Whether servers override a certificate of the host for backends.
    pub nothing: bool,
    /// Whether some proxy is trusted to send headers about clients.
    pub trusts_proxies: bool,
    /// Whether backends of some host get the detailed headers.
    pub detailed: bool,
    /// The port of plain requests, or the variable with it when there are several.
    pub plain_port: Word,
    /// The variable with the scheme of the client's request.
    pub scheme: Word,
    /// The variable with the peer address of the connection.
    pub peer: Word,
    /// The socket on which nginx connects to itself and sends that address by the PROXY protocol;
    /// none or one.
    pub inside: Vec<Inside>,
    /// Whether some proxy is trusted to name the port that clients connect to.
    pub trusts: bool,
    /// The networks of these proxies.
    pub trusted: Vec<Word>,
    /// The variable with the port that they send.
    pub told_port: Word,
    /// The variable with the host that a trusted proxy sends.
    pub told_host: Word,
    /// The request ID for requests without one.
    pub request_id: Word,
    /// Whether the client's address is appended to the list that it sent.
    pub append: bool,
    /// Whether some host requests client certificates.
    pub asks_clients: bool,
    /// The HSTS policies.
    pub hsts: Vec<Hsts>,
    /// The daemon's own status server.
    pub status: Vec<StatusServer>,
}

/// The socket on which nginx connects to itself.
#[derive(Debug, Serialize)]
pub struct Inside {
    /// The variable with the peer address of all other connections.
    pub peer: Word,
    pub addresses: Vec<Word>,
}

/// The size of a hash table of names.
#[derive(Debug, Serialize)]
pub struct NamesHash {
    /// The maximum size of the table, as in `*_hash_max_size`.
    pub max_size: Number,
    /// The size of a bucket in bytes.
    pub bucket_size: Number,
}

/// An HSTS policy.
#[derive(Debug, Serialize)]
pub struct Hsts {
    /// The variable that has the value on https only.
    pub variable: Word,
    /// The header's value.
    pub value: Text,
}

/// The daemon's own status server.
#[derive(Debug, Serialize)]
pub struct StatusServer {
    /// Where it listens.
    pub address: Word,
    /// The directives that override the host's `http` level.
    pub resets: Vec<Directive>,
    /// Whether it serves `stub_status`.
    pub stub_status: bool,
}

/// The beginning of a server block.
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

/// The beginning of a `map` from hosts to upstreams.
#[derive(Debug, Serialize)]
pub struct Backends {
    /// The variable with the result.
    pub variable: Word,
}

/// A row of such a table.
#[derive(Debug, Serialize)]
pub struct Backend {
    pub host: Literal,
    pub upstream: Word,
}

/// The part of a server between its names and its locations.
#[derive(Debug, Serialize)]
pub struct Server {
    /// Whether HTTP/2 is switched on by its directive.
    pub http2: bool,
    /// The certificate, none or one.
    pub certificate: Vec<Path>,
    /// Versions of TLS, when there is a certificate.
    pub protocols: Vec<Words>,
    /// Directives about TLS sessions, when there is a certificate.
    pub sessions: Vec<Directive>,
    /// The access logs; none where those of the host are inherited.
    pub access_log: Vec<Words>,
    /// Whether nginx knows `keepalive_min_timeout`.
    pub keepalive_min_timeout: bool,
    /// Whether a route uses gRPC.
    pub grpc: bool,
    /// Whether backends get the detailed headers, and responses are passed on unchanged.
    pub detailed: bool,
    /// Whether some proxy is trusted to name clients.
    pub trusts_proxies: bool,
    /// The trusted sources of the client's address; none or one.
    pub real_ip: Vec<RealIp>,
    /// The variable with the HSTS policy; none or one.
    pub hsts: Vec<Word>,
    /// The directives that override the host's `http` level.
    pub resets: Vec<Directive>,
    /// Directives that all its locations would set alike; these are its last lines.
    pub common: Vec<Directive>,
}

/// The directives of every server that come from settings for all hosts.
#[derive(Debug, Serialize)]
pub struct Everywhere {
    /// Variables that say which requests are refused.
    pub blocked: Vec<Word>,
    /// Directives that set or remove headers.
    pub directives: Vec<Directive>,
}

/// The rules of the web application firewall.
#[derive(Debug, Serialize)]
pub struct Firewall {
    /// One directive for each file of rules, or for each pattern of files.
    pub directives: Vec<Directive>,
}

/// What a server requires of client certificates.
#[derive(Debug, Serialize)]
pub struct ClientCertificates {
    /// The file with the certificate authorities.
    pub authority: Path,
    /// The file with revocation lists; none or one.
    pub revoked: Vec<Path>,
    /// The argument of `ssl_verify_client`.
    pub verify: Word,
    /// The depth of the certificate chain.
    pub depth: Number,
    /// The URL that refused clients are sent to; none or one.
    pub error_page: Vec<Text>,
    /// Whether some proxy is trusted to name clients.
    pub trusts_proxies: bool,
}

/// The variable that says which clients are refused by a common name condition.
#[derive(Debug, Serialize)]
pub struct Stranger {
    pub variable: Word,
    /// The expression that matches accepted subjects.
    pub pattern: Literal,
}

/// The trusted sources of the client's address.
#[derive(Debug, Serialize)]
pub struct RealIp {
    /// The argument of `real_ip_header`: a header, or `proxy_protocol`.
    pub header: Word,
    /// The trusted networks.
    pub networks: Vec<Word>,
}

/// A location from its first line to the request headers, which are a template of their own.
#[derive(Debug, Serialize)]
pub struct Location {
    /// `=`, `~`, `~*` or `^~`; or the name of an internal location.
    pub modifier: Word,
    /// The path or expression; empty behind a name.
    pub path: Words,
    /// Plain directives, one line each, directly below the first line.
    pub directives: Vec<Directive>,
    /// Whether ambiguous paths are refused in this location, and not in the whole server.
    pub strict_paths: bool,
    /// The directives of features, in order.
    pub statements: Vec<Statement>,
    /// The backend, none or one.
    pub pass: Vec<Pass>,
}

/// A directive of a feature: one of the lists has one element, the others are empty.
#[derive(Debug, Default, Serialize)]
pub struct Statement {
    /// It applies when a variable is set.
    pub conditional: Vec<Conditional>,
    /// It applies when a variable compares with a value.
    pub compared: Vec<Compared>,
    /// It applies to all requests.
    pub plain: Vec<Directive>,
}

/// A directive that applies to requests for which a variable is set.
#[derive(Debug, Serialize)]
pub struct Conditional {
    /// The variable.
    pub condition: Word,
    /// The name of the directive.
    pub name: Word,
    pub arguments: Words,
}

/// A directive that applies to requests for which a variable compares with a value.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// The variable.
    pub variable: Word,
    /// The operator of nginx's `if`.
    pub operator: Word,
    /// The value to compare with.
    pub value: Words,
    /// The name of the directive.
    pub name: Word,
    /// Its arguments.
    pub arguments: Words,
}

/// How requests are passed to a backend.
#[derive(Debug, Serialize)]
pub struct Pass {
    /// `proxy_pass`, `grpc_pass` or `fastcgi_pass`.
    pub directive: Word,
    /// `http://`, `https://`, `$scheme://`, `grpc://` or `grpcs://`; empty for FastCGI.
    pub scheme: Word,
    /// The upstream, or the variable with its name.
    pub upstream: Word,
}

/// Request headers that a location sets for its backend, in addition to the usual list.
#[derive(Debug, Serialize)]
pub struct RequestHeaders {
    pub headers: Vec<RequestHeader>,
}

/// A request header that a location sets for its backend.
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

/// A `map` table that snippets use.
#[derive(Debug, Serialize)]
pub struct Lookup {
    /// The text that is looked up.
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

/// A long address list, for all locations that use it.
#[derive(Debug, Serialize)]
pub struct List {
    /// The variable that says whether a client is denied.
    pub variable: Word,
    /// Whether clients outside of all networks are denied.
    pub denied: bool,
    pub networks: Vec<ListNetwork>,
}

#[derive(Debug, Serialize)]
pub struct ListNetwork {
    pub network: Word,
    /// The value of the variable for clients of the network.
    pub denied: Word,
}

/// An upstream with its endpoints.
#[derive(Debug, Serialize)]
pub struct Upstream {
    pub name: Word,
    /// The variable with the session that selects an endpoint; none or one.
    pub session: Vec<Word>,
    /// The hash key that selects an endpoint; none or one.
    pub key: Vec<Text>,
    /// Whether the endpoint with the fewest connections is selected.
    pub least_connections: bool,
    /// Whether the less busy of two random endpoints is selected.
    pub two_by_chance: bool,
    pub endpoints: Vec<Endpoint>,
    /// The number of idle connections; none or one.
    pub keepalive: Vec<Number>,
    /// Directives about the reuse of connections.
    pub reuse: Vec<Directive>,
}

/// A TCP or UDP service.
#[derive(Debug, Serialize)]
pub struct Stream {
    /// The arguments of each `listen`.
    pub listens: Vec<Words>,
    /// The networks of proxies that are trusted to name their clients.
    pub trusted: Vec<Word>,
    /// The timeout for the header of the PROXY protocol; none or one.
    pub header_timeout: Vec<Word>,
    /// The timeout between two reads or writes.
    pub timeout: Word,
    /// Whether other endpoints are tried after a failure.
    pub next_upstream: bool,
    /// For how long they are tried.
    pub next_upstream_timeout: Word,
    /// How many are tried.
    pub next_upstream_tries: Number,
    /// The number of datagrams of a UDP response; none or one.
    pub responses: Vec<Number>,
    /// Whether endpoints get a header of the PROXY protocol.
    pub sends_proxy_protocol: bool,
    /// The name of the upstream.
    pub upstream: Word,
}

/// The selection of an upstream for TLS connections by server name (SNI), before TLS is
/// terminated.
#[derive(Debug, Serialize)]
pub struct Passthrough {
    /// The sizes of hash tables, when we set them; none or one.
    pub sizes: Vec<NamesHash>,
    /// The way of connections from proxies whose headers are trusted; none or one.
    pub sorted: Vec<Sorted>,
    /// The address where TLS is terminated, or the variable with it.
    pub inside: Word,
    /// Wildcard hosts with passthrough.
    pub wildcards: Vec<PassedHost>,
    /// Hosts within those wildcards whose TLS is terminated here all the same.
    pub opened: Vec<OpenedHost>,
    /// Other hosts with passthrough.
    pub hosts: Vec<PassedHost>,
    /// The name of an upstream without endpoints.
    pub nobody: Word,
    /// The arguments of each `listen`.
    pub listens: Vec<Words>,
    /// The networks of proxies that are trusted to name their clients.
    pub trusted: Vec<Word>,
    /// The timeout for the header of the PROXY protocol; none or one.
    pub header_timeout: Vec<Word>,
    /// The internal socket to which connections with passthrough come a second time.
    pub within: Words,
    /// The timeout between two reads or writes.
    pub timeout: Word,
    /// Whether other endpoints are tried after a failure.
    pub next_upstream: bool,
    /// For how long they are tried.
    pub next_upstream_timeout: Word,
    /// How many are tried.
    pub next_upstream_tries: Number,
}

/// Where connections go, by their source address.
#[derive(Debug, Serialize)]
pub struct Sorted {
    pub clients: Word,
    /// The networks of proxies whose headers are trusted.
    pub proxies: Vec<SortedNetwork>,
}

/// A network of proxies, and the socket for its connections.
#[derive(Debug, Serialize)]
pub struct SortedNetwork {
    pub network: Word,
    /// The socket for them.
    pub inside: Word,
}

/// A host with TLS passthrough.
#[derive(Debug, Serialize)]
pub struct PassedHost {
    /// The host, or for a wildcard the part behind its first label.
    pub name: Literal,
    /// The internal socket to which these connections come a second time.
    pub passed: Word,
    /// Its upstream.
    pub upstream: Word,
}

/// A host whose TLS is terminated.
#[derive(Debug, Serialize)]
pub struct OpenedHost {
    pub name: Literal,
    pub passed: Word,
}

/// The upstream of a TCP or UDP service.
#[derive(Debug, Serialize)]
pub struct StreamUpstream {
    pub name: Word,
    pub endpoints: Vec<Endpoint>,
    /// Whether there are no endpoints: nginx refuses an upstream without a server.
    pub empty: bool,
}

#[derive(Debug, Serialize)]
pub struct Endpoint {
    /// Address and port.
    pub address: Word,
    /// Its weight, when it is not 1: none or one.
    pub weight: Vec<Number>,
}
