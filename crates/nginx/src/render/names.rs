//! Names of files, upstreams, zones and variables. They are unique: two things never share a name.
//!
//! Parts are joined by characters that cannot occur in them, or hashed when they may contain any
//! character.

mod locations;

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

pub use self::locations::{
    EMPTY, branches, empty_file, empty_hosts, empty_hosts_file, empty_question_file, handler, stand_in, stand_in_file,
    stand_in_of_handler,
};
use super::file_set::{Digest, FilePath};
use super::search_order::SearchOrder;
use ingressd_model::{
    CertificateId, ClientCertificates, ClientLimits, CorsPart, Endpoint, ExternalAuthentication, HeaderName, Hsts,
    LimitRate, ListMark, MirrorPolicy, ObjectId, PasswordFileId, Pattern, Port, Protocol, Server, ServerName,
    SessionCookie, Split, Transport, Upstream, UpstreamId, UpstreamIdentity, hexadecimal,
};

/// The file that all servers share. It sorts before every other file.
pub const SHARED: &str = "http/00-ingressd.conf";

/// The path [`SHARED`] as a shared pointer.
pub fn shared_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| SHARED.into());
    Arc::clone(&PATH)
}

/// The file with the log format.
pub fn access_log_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| "http/10-access-log.conf".into());
    Arc::clone(&PATH)
}

/// The file with the key of sessions that clients keep.
pub fn ticket_key_file() -> FilePath {
    "certs/session-ticket.key".into()
}

/// The file with parameters for ciphers with DHE.
pub fn dh_parameters_file() -> FilePath {
    "certs/dhparam.pem".into()
}

/// The file with the conditions for refused clients.
pub fn blocked_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| "http/10-blocked.conf".into());
    Arc::clone(&PATH)
}

/// The file with the GeoIP2 databases. It sorts before the files that use their variables.
pub fn geo_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| "http/05-geoip2.conf".into());
    Arc::clone(&PATH)
}

/// The file with the tables that snippets use.
pub fn lookup_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| "http/10-lookup.conf".into());
    Arc::clone(&PATH)
}

/// The file of a variable, or of those that begin with its name.
pub fn variable_file(name: &str) -> FilePath {
    format!("http/10-{}.conf", name.replace('_', "-")).into()
}

/// The copy of a variable that holds no control characters.
pub fn line(variable: &str) -> String {
    format!("line_{variable}")
}

/// The file with the rules of the firewall, when all sites share them.
pub fn firewall_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| "http/10-firewall.conf".into());
    Arc::clone(&PATH)
}

/// Paths that most servers require, as shared pointers.
static CATCH_ALL: LazyLock<FilePath> = LazyLock::new(|| "http/server-catch-all.conf".into());
static SELF_SIGNED: LazyLock<FilePath> = LazyLock::new(|| "certs/self-signed.pem".into());

/// The longest readable part of a file name; file systems allow 255 bytes.
const LONGEST_READABLE: usize = 200;

/// The number of hexadecimal digits of a hash. By default nginx's table of variables takes names
/// of at most 46 bytes.
const HASH_DIGITS: usize = 20;

/// The least number of hexadecimal digits before the name of an upstream, and how many lengths
/// there are.
const PREFIX_DIGITS: (usize, usize) = (3, 16);

/// A short hash of several parts; their boundaries matter.
fn hash(parts: &[&str]) -> String {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part.as_bytes());
    }
    Digest::of(&bytes).hexadecimal(HASH_DIGITS / 2)
}

fn object(id: &ObjectId) -> [&str; 3] {
    [id.kind.name(), &id.namespace, &id.name]
}

/// The name of an upstream: `HASH.ingressd.NAMESPACE.SERVICE.PORT[.MODE][.PROTOCOL]`.
///
/// For each `proxy_pass`, nginx compares its name with those of all upstreams, one by one: first
/// the length, then the bytes. Similar applications have names of equal length with the same
/// prefix, so the hash comes first, and its length varies.
pub fn upstream(id: &UpstreamId) -> String {
    let readable = readable(id);
    let mut name = hash(&[&readable]);
    let (least, lengths) = PREFIX_DIGITS;
    let digit = name.chars().next_back().and_then(|digit| digit.to_digit(16)).unwrap_or_default();
    name.truncate(least + usize::try_from(digit).unwrap_or_default() % lengths);
    name + "." + &readable
}

/// A hash that identifies an upstream.
pub fn upstream_hash(id: &UpstreamId) -> String {
    hash(&[&readable(id)])
}

fn readable(id: &UpstreamId) -> String {
    let UpstreamIdentity { namespace, service, port, mode, protocol, balance, tls, reuse } = &**id;
    let balance = balance.as_deref().map(|balance| hash(&[&format!("{balance:?}")]));
    let balance = balance.as_deref().unwrap_or_default();
    // The letter cannot be the first digit of the other number.
    let tls = tls.as_deref().map(|tls| format!("t{}", hash(&[&format!("{tls:?}")])));
    let protocol = protocol_name(*protocol);
    let reuse = reuse.as_deref().map(|reuse| format!("k{}", hash(&[&format!("{reuse:?}")])));
    let suffixes: Vec<_> =
        [*mode, protocol, balance].into_iter().chain(tls.as_deref()).chain(reuse.as_deref()).collect();
    composed([namespace, service, port], &suffixes)
}

/// A name from parts that Kubernetes names and suffixes of ours, which may be empty.
fn composed(parts: [&str; 3], suffixes: &[&str]) -> String {
    let plain = |part: &&str| {
        !part.is_empty() && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-'))
    };
    let length: usize = parts.iter().map(|part| part.len()).sum();
    match parts.iter().all(plain) && length <= LONGEST_READABLE - 40 {
        true => {
            let suffixes = suffixes.iter().filter(|suffix| !suffix.is_empty());
            suffixes.fold(format!("ingressd.{}", parts.join(".")), |name, suffix| format!("{name}.{suffix}"))
        }
        // It has two parts, which no readable name has.
        false => format!("ingressd.{}", hash(&[&parts, suffixes].concat())),
    }
}

/// The name of the upstream of a TCP or UDP service: `ingressd.NAMESPACE.SERVICE.PORT[.MODE].tcp`.
pub fn stream_upstream(id: &UpstreamId) -> String {
    let UpstreamIdentity { namespace, service, port, mode, .. } = &**id;
    composed([namespace, service, port], &[mode, transport_name(id.transport())])
}

pub fn stream_upstream_file(id: &UpstreamId) -> FilePath {
    format!("stream/20-upstream-{}.conf", stream_upstream(id)).into()
}

/// The file with how connections to TCP and UDP services are logged. It sorts before those of the
/// services.
pub fn stream_log_file() -> FilePath {
    "stream/10-log.conf".into()
}

/// The file of a TCP or UDP service.
pub fn stream_file(port: Port) -> FilePath {
    format!("stream/{}-{}.conf", transport_name(port.transport), port.number).into()
}

/// The file for TLS passthrough, by the port on which nginx listens for itself.
pub fn passthrough_file(port: u16) -> FilePath {
    format!("stream/{PASSTHROUGH}-{port}.conf").into()
}

/// The prefix of that file's name.
const PASSTHROUGH: &str = "passthrough";

/// The name of an upstream without endpoints. It has two parts, as only hashed names have.
pub const NOBODY: &str = "ingressd.nobody";

/// The name of the upstream by which connections to hosts with TLS passthrough of a namespace are
/// counted. Its second part is none of the others'.
pub fn passed(namespace: &str) -> String {
    format!("ingressd.passed-{}", hash(&[namespace]))
}

/// The port on which nginx listens because of this file: that of a TCP or UDP service, or the
/// internal one for passthrough.
pub fn stream_port(path: &str) -> Option<Port> {
    let (name, number) = path.strip_prefix("stream/")?.strip_suffix(".conf")?.split_once('-')?;
    let is_named = |transport: &Transport| transport_name(*transport) == name;
    let transport = match name {
        PASSTHROUGH => Transport::Tcp,
        _ => [Transport::Tcp, Transport::Udp].into_iter().find(is_named)?,
    };
    Some(Port { transport, number: number.parse().ok()? })
}

fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    }
}

/// The suffix of an upstream's name; no mode of reaching endpoints has one of these names.
fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http => "",
        Protocol::Https => "https",
        Protocol::Grpc => "grpc",
        Protocol::Grpcs => "grpcs",
        Protocol::AutoHttp => "autohttp",
        Protocol::FastCgi => "fcgi",
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
    }
}

/// The file of an upstream. It sorts before the servers, which use it, and after those of
/// namespaces with fewer upstreams.
pub fn upstream_file(id: &UpstreamId, search_order: &SearchOrder) -> FilePath {
    format!("http/2{}-upstream-{}.conf", search_order.step(id), readable(id)).into()
}

/// The file of the catch-all server.
pub fn catch_all_file() -> FilePath {
    Arc::clone(&CATCH_ALL)
}

/// The file of a server. nginx tries regular expressions in the order of files: exact names that
/// are written as expressions come first (`exact`), then wildcards, those of namespaces with many
/// after the others, then the users' expressions (`z`). A plus sign occurs in no host name.
pub fn server_file(server: &Server, search_order: &SearchOrder) -> FilePath {
    let kind;
    let (kind, host) = match &server.name {
        ServerName::CatchAll => return catch_all_file(),
        ServerName::Expression(expression) => {
            return format!("http/server-z+{:020}+{}.conf", server.order, hash(&[expression.as_str()])).into();
        }
        ServerName::Exact(host) => ("exact", host.as_str()),
        ServerName::Wildcard(host) => match search_order.step_of_wildcard(server) {
            0 => ("wildcard", host.as_str()),
            step => {
                kind = format!("wildcards-{step}");
                (&*kind, host.as_str())
            }
        },
    };
    match host.len() <= LONGEST_READABLE {
        true => format!("http/server-{kind}-{host}.conf").into(),
        // A plus sign occurs in no host name.
        false => format!("http/server-{kind}-+{}.conf", hash(&[host])).into(),
    }
}

/// The file of the reserved wildcards: after those that are served, before the users' expressions.
pub fn reserved_file() -> FilePath {
    "http/server-y+reserved.conf".into()
}

/// A name for the hosts that share a server, made from the digest of what they share.
pub fn likeness(digest: Digest) -> String {
    digest.hexadecimal(HASH_DIGITS / 2)
}

/// The file of a server that several hosts share. A plus sign occurs in no host name.
pub fn block_file(likeness: &str, part: u64) -> FilePath {
    format!("http/server-alike+{likeness}+{part}.conf").into()
}

/// The prefix of the variables of such a server, without the dollar sign. It is as long for every
/// part.
pub fn block_variables(likeness: &str, part: u64) -> String {
    format!("{BACKEND}_{}", hash(&[likeness, &part.to_string()]))
}

const BACKEND: &str = "backend";

/// The file of a certificate with its key.
pub fn certificate_file(id: &CertificateId) -> FilePath {
    match id {
        CertificateId::SelfSigned => Arc::clone(&SELF_SIGNED),
        CertificateId::Secret(secret) => format!("certs/{}.pem", hash(&object(secret))).into(),
    }
}

/// The file of a client certificate for backends: that of the Secret, shared with its other uses.
pub fn client_file(secret: &Arc<ObjectId>) -> FilePath {
    certificate_file(&CertificateId::Secret(Arc::clone(secret)))
}

/// The file of a certificate authority.
pub fn authority_file(id: &ObjectId) -> FilePath {
    format!("certs/{}-authority.pem", hash(&object(id))).into()
}

/// The file of a certificate revocation list.
pub fn revoked_file(id: &ObjectId) -> FilePath {
    format!("certs/{}-revoked.pem", hash(&object(id))).into()
}

/// The variable that says which clients are refused by a common name condition.
pub fn stranger(certificates: &ClientCertificates) -> String {
    format!("stranger_{}", hash(&[certificates.common_name.as_ref().map_or("", Pattern::as_str)]))
}

/// The file of names and passwords.
pub fn password_file(id: &PasswordFileId) -> FilePath {
    let [kind, namespace, name] = object(&id.secret);
    format!("auth/{}", hash(&[kind, namespace, name, if id.map { "map" } else { "file" }])).into()
}

/// The internal location that asks an authentication service for a namespace; each distinct policy
/// has one. Cached answers begin with this name, and those of one namespace must let no client
/// into another one: the service may have judged by the path. Its name does not begin with a
/// slash, so no request path matches it.
pub fn authentication(external: &ExternalAuthentication, namespace: &str) -> String {
    let ExternalAuthentication { service, policy, origin: _ } = external;
    let whose = policy.memory.as_ref().map(|_| namespace);
    let (service, policy) = (readable(service), format!("{policy:?}"));
    let parts: Vec<_> = [&*service, &*policy].into_iter().chain(whose).collect();
    format!("{OURS}-auth-{}", hash(&parts))
}

/// The internal location that sends copies to a service; each distinct policy has one. `reported`
/// are the headers that an authentication service sets. Its name does not begin with a slash, so
/// no request path matches it.
pub fn mirror(service: &UpstreamId, policy: &MirrorPolicy, reported: &[HeaderName]) -> String {
    format!("{OURS}-mirror-{}", hash(&[&readable(service), &format!("{policy:?}"), &format!("{reported:?}")]))
}

/// The variable with the encoded request URI, and the prefix of those for the steps.
pub const ESCAPED_URI: &str = "escaped_uri";

/// The file of the variables with the cookies of an authentication service.
pub fn authentication_cookies_file() -> FilePath {
    "http/10-authentication-cookies.conf".into()
}

pub fn escaped_uri_file() -> FilePath {
    "http/10-escaped-uri.conf".into()
}

/// The zone of the cache of authentication answers.
pub const ANSWER_MEMORY: &str = "ingressd_authentication";

/// The file of that zone.
pub fn answer_memory_file() -> FilePath {
    "http/10-authentication.conf".into()
}

/// The prefix of our names.
const OURS: &str = "ingressd";

/// The variable with the origin of a request that is allowed; the location sets it.
pub const ORIGIN: &str = "origin";

/// The variable that says whether a request asks what an allowed origin may do.
pub const PREFLIGHT: &str = "preflight";

/// The file of these two. It sorts before the files that use them.
pub fn cross_origin_file() -> FilePath {
    "http/05-cors.conf".into()
}

/// The variable of a part of CORS: with the origin of a request if it is allowed, or with a text
/// that allowed origins get.
pub fn cors(part: &CorsPart) -> String {
    match part {
        CorsPart::Origins(origins) => format!("origins_{}", hash(&[&format!("{origins:?}")])),
        CorsPart::Text(text) => format!("text_{}", hash(&[text])),
    }
}

/// The file of such a variable.
pub fn cors_file(name: &str) -> FilePath {
    format!("http/10-cors-{}.conf", name.replace('_', "-")).into()
}

/// The variable with the upstream of a request whose route is split, and the prefix of its other
/// variables.
pub fn split(split: &Split, upstream: &UpstreamId) -> String {
    format!("split_{}", hash(&[&format!("{split:?}"), &readable(upstream)]))
}

/// The variable with the session of a client, by the name of its cookie.
pub fn session(cookie: &HeaderName) -> String {
    format!("session_{}", hash(&[cookie.as_str()]))
}

/// What a cookie says behind the session of a client that the tests of a split brought to this
/// upstream.
pub fn side(id: &UpstreamId) -> String {
    format!(".{}", upstream_hash(id))
}

/// The variable with the path of the cookie; the location sets it.
pub const COOKIE_PATH: &str = "cookie_path";

/// The variable with the cookie for clients without a session.
pub fn session_cookie(cookie: &SessionCookie) -> String {
    format!("cookie_{}", hash(&[&format!("{cookie:?}")]))
}

/// The same where the cookie names an endpoint of this upstream.
pub fn naming_cookie(cookie: &SessionCookie, upstream: &UpstreamId) -> String {
    format!("cookie_{}", hash(&[&format!("{cookie:?}"), &readable(upstream)]))
}

/// The same where requests are split between this upstream and others.
pub fn split_cookie(cookie: &SessionCookie, split: &Split, upstream: &UpstreamId) -> String {
    format!("cookie_{}", hash(&[&format!("{cookie:?}"), &readable(upstream), &format!("{split:?}")]))
}

/// The variable with the keys of the endpoint that a client's cookie names.
pub fn named_endpoint(id: &UpstreamId) -> String {
    format!("named_{}", upstream_hash(id))
}

/// The variable with the key by which such an upstream selects an endpoint.
pub fn endpoint_key(id: &UpstreamId) -> String {
    format!("key_{}", upstream_hash(id))
}

/// The variable with the name of the endpoint that has answered.
pub fn answering_endpoint(id: &UpstreamId) -> String {
    format!("answer_{}", upstream_hash(id))
}

/// The name that clients get of an endpoint: the same on all nodes, and for all upstreams of the
/// Service.
pub fn endpoint(upstream: &Upstream, endpoint: &Endpoint) -> String {
    let UpstreamIdentity { namespace, service, .. } = &*upstream.id;
    let uid = upstream.uid.as_deref().unwrap_or_default();
    hash(&["endpoint", uid, namespace, service, &endpoint.address.to_string()])
}

/// The variable with the address of the endpoint that has answered.
pub const ANSWERED: &str = "answered";

/// The file of that variable.
pub fn answered_file() -> FilePath {
    "http/10-answered.conf".into()
}

/// The variable with the `SameSite` attribute for clients that know `None`.
pub const SAME_SITE: &str = "same_site";

/// The file of that variable.
pub fn same_site_file() -> FilePath {
    "http/10-same-site.conf".into()
}

/// The file of the variable with the path of a session's cookie.
pub fn cookie_path_file() -> FilePath {
    "http/10-cookie-path.conf".into()
}

/// The variable with a random number below this number of endpoints.
pub fn turn(endpoints: u8) -> String {
    format!("turn_{endpoints}")
}

/// The file of that variable.
pub fn turn_file(endpoints: u8) -> FilePath {
    format!("http/10-turn-{endpoints}.conf").into()
}

/// The variable that says which clients a long list denies.
pub fn list(mark: ListMark) -> String {
    format!("denied_{}", hexadecimal(&mark.0))
}

pub fn list_file(mark: ListMark) -> FilePath {
    variable_file(&list(mark))
}

/// The variable with the client that is counted for an object. The names of its zones are derived
/// from it: nginx refuses to reload when a zone keeps its name and changes its key.
pub fn limits(limits: &ClientLimits) -> String {
    format!("limit_{}", hash(&object(&limits.origin.object)))
}

/// The file of those zones. It also says how often connections were counted anew.
pub fn limits_file(name: &str, recounts: u32) -> FilePath {
    format!("{LIMITS}{}{}.conf", name.trim_start_matches("limit_"), anew('-', recounts)).into()
}

/// The file of the zone in which the requests of each namespace are counted.
pub fn requests_file(recounts: u32) -> FilePath {
    format!("{LIMITS}requests{}.conf", anew('-', recounts)).into()
}

pub fn requests_zone(recounts: u32) -> String {
    format!("ingressd_requests{}", anew('_', recounts))
}

/// The variable with the namespace of a request.
pub const COUNTED: &str = "counted";

const LIMITS: &str = "http/10-limit-";

/// How often connections were counted anew, when this file is in place.
pub fn recounts(path: &str) -> Option<u32> {
    path.strip_prefix(LIMITS)?.strip_suffix(".conf")?.split_once('-')?.1.parse().ok()
}

/// The end of names of what was made anew so often.
fn anew(separator: char, recounts: u32) -> String {
    if recounts == 0 { String::new() } else { format!("{separator}{recounts}") }
}

/// The variable that says whether a client is not counted.
pub fn exempt(limits: &str) -> String {
    limits.replacen("limit", "exempt", 1)
}

/// nginx compares the name of a zone with those of all others, as it does with variables.
pub fn rate_zone(limits: &str, rate: LimitRate) -> String {
    let (number, unit) = match rate {
        LimitRate::PerSecond(number) => (number, "second"),
        LimitRate::PerMinute(number) => (number, "minute"),
    };
    format!("{}_ingressd_{number}_per_{unit}", limits.trim_start_matches("limit_"))
}

pub fn connection_zone(limits: &str, recounts: u32) -> String {
    format!("{}_ingressd_connections{}", limits.trim_start_matches("limit_"), anew('_', recounts))
}

/// The variable with an HSTS policy on https, and nothing on http.
pub fn hsts(hsts: &Hsts) -> String {
    let mut name = format!("hsts_{}", hsts.max_age);
    for (set, suffix) in [(hsts.include_subdomains, "_sub"), (hsts.preload, "_preload")] {
        if set {
            let _ = write!(name, "{suffix}");
        }
    }
    name
}

#[cfg(test)]
mod tests;
