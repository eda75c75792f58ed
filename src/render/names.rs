//! Names of files, upstreams, zones and variables, such that two things never share one.
//!
//! Parts are joined by characters that cannot occur in them, or hashed when they may hold anything.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use super::crowds::Crowds;
use super::file_set::{Digest, FilePath};
use crate::model::{
    CertificateId, ClientCertificates, ClientLimits, Cors, ExternalAuthentication, HeaderName, Hsts, LimitRate,
    ListMark, MirrorPolicy, ObjectId, PasswordFileId, Pattern, Port, Protocol, Server, ServerName, SessionCookie,
    Split, StreamUpstreamId, Transport, UpstreamId, hexadecimal,
};

/// The file with what all servers share. It sorts before every other.
pub const SHARED: &str = "http/00-ingressd.conf";

/// [`SHARED`], once for all files that require it.
pub fn shared_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| SHARED.into());
    Arc::clone(&PATH)
}

/// The file with how requests are logged.
pub fn access_log_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| "http/10-access-log.conf".into());
    Arc::clone(&PATH)
}

/// The file with who is turned away everywhere.
pub fn blocked_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| "http/10-blocked.conf".into());
    Arc::clone(&PATH)
}

/// The file with tables for all hosts.
pub fn lookup_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| "http/10-lookup.conf".into());
    Arc::clone(&PATH)
}

/// The file with the rules of the firewall, where all sites share them.
pub fn firewall_file() -> FilePath {
    static PATH: LazyLock<FilePath> = LazyLock::new(|| "http/10-firewall.conf".into());
    Arc::clone(&PATH)
}

/// Files that most servers require.
static CATCH_ALL: LazyLock<FilePath> = LazyLock::new(|| "http/server-catch-all.conf".into());
static SELF_SIGNED: LazyLock<FilePath> = LazyLock::new(|| "certs/self-signed.pem".into());

/// Longest part of a file name that is kept readable; file systems take 255 bytes.
const LONGEST_READABLE: usize = 200;

/// Hexadecimal digits of a hash. nginx's default table of variables takes names of at most 46 bytes.
const HASH_DIGITS: usize = 20;

/// The fewest hexadecimal digits before the name of an upstream, and how many numbers of digits there are.
const PREFIX_DIGITS: (usize, usize) = (3, 16);

/// A short hash of parts; their boundaries count.
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
/// For each `proxy_pass`, nginx compares its name with those of all upstreams, one by one: first the lengths, then the
/// letters. Alike applications have names of one length with the same beginning; so the hash comes first, and its
/// length varies.
pub fn upstream(id: &UpstreamId) -> String {
    let readable = readable(id);
    let mut name = hash(&[&readable]);
    let (least, lengths) = PREFIX_DIGITS;
    let digit = name.chars().next_back().and_then(|digit| digit.to_digit(16)).unwrap_or_default();
    name.truncate(least + usize::try_from(digit).unwrap_or_default() % lengths);
    name + "." + &readable
}

/// A hash that tells an upstream from all others.
pub fn upstream_hash(id: &UpstreamId) -> String {
    hash(&[&readable(id)])
}

fn readable(id: &UpstreamId) -> String {
    let UpstreamId { namespace, service, port, mode, protocol, balance, tls, reuse } = id;
    let balance = balance.as_deref().map(|balance| hash(&[&format!("{balance:?}")]));
    let balance = balance.as_deref().unwrap_or_default();
    // A letter that no number of the other has at its beginning.
    let tls = tls.as_deref().map(|tls| format!("t{}", hash(&[&format!("{tls:?}")])));
    let protocol = protocol_name(*protocol);
    let reuse = reuse.as_deref().map(|reuse| format!("k{}", hash(&[&format!("{reuse:?}")])));
    let suffixes: Vec<_> =
        [*mode, protocol, balance].into_iter().chain(tls.as_deref()).chain(reuse.as_deref()).collect();
    composed([namespace, service, port], &suffixes)
}

/// A name of parts that Kubernetes names and of suffixes of ours, which may be empty.
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
        // Two parts, which no readable name has.
        false => format!("ingressd.{}", hash(&[&parts, suffixes].concat())),
    }
}

/// The name of the endpoints of TCP and UDP services: `ingressd.NAMESPACE.SERVICE.PORT[.MODE].tcp`.
pub fn stream_upstream(id: &StreamUpstreamId) -> String {
    let StreamUpstreamId { namespace, service, port, mode } = id;
    composed([namespace, service, &port.number.to_string()], &[mode, transport_name(port.transport)])
}

pub fn stream_upstream_file(id: &StreamUpstreamId) -> FilePath {
    format!("stream/20-upstream-{}.conf", stream_upstream(id)).into()
}

/// The file of a TCP or UDP service.
pub fn stream_file(port: Port) -> FilePath {
    format!("stream/{}-{}.conf", transport_name(port.transport), port.number).into()
}

/// The file by which TLS goes unopened where it should, by the port on which nginx listens for itself.
pub fn passthrough_file(port: u16) -> FilePath {
    format!("stream/{PASSTHROUGH}-{port}.conf").into()
}

/// What that file begins with.
const PASSTHROUGH: &str = "passthrough";

/// The name of endpoints that nobody has. Of two parts, of which no name is but hashes.
pub const NOBODY: &str = "ingressd.nobody";

/// The port of the host that nginx listens on because of this file, where it is that of a TCP or UDP service, or its own.
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

/// The end of an upstream's name; no mode of reaching endpoints is called so.
fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http => "",
        Protocol::Https => "https",
        Protocol::Grpc => "grpc",
        Protocol::Grpcs => "grpcs",
        Protocol::AutoHttp => "autohttp",
        Protocol::FastCgi => "fcgi",
    }
}

/// The file of an upstream. It sorts before its users, the servers, and behind those of namespaces that have fewer.
pub fn upstream_file(id: &UpstreamId, crowds: &Crowds) -> FilePath {
    format!("http/2{}-upstream-{}.conf", crowds.step(id), readable(id)).into()
}

/// The file of the server for unknown hosts.
pub fn catch_all_file() -> FilePath {
    Arc::clone(&CATCH_ALL)
}

/// The file of a server. nginx tries regular expressions in the order of files: an exact name, where it has to be
/// written as one, precedes wildcards because `exact` does, wildcards of which a namespace has many come after the others, and
/// expressions come last because `z` does. A plus sign occurs in no host name.
pub fn server_file(server: &Server, crowds: &Crowds) -> FilePath {
    let kind;
    let (kind, host) = match &server.name {
        ServerName::CatchAll => return catch_all_file(),
        ServerName::Expression(expression) => {
            return format!("http/server-z+{:020}+{}.conf", server.order, hash(&[expression.as_str()])).into();
        }
        ServerName::Exact(host) => ("exact", host.as_str()),
        ServerName::Wildcard(host) => match crowds.step_of_wildcard(server) {
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

/// The file of the wildcards that nobody serves and no expression takes: behind those that are served, and before expressions.
pub fn reserved_file() -> FilePath {
    "http/server-y+reserved.conf".into()
}

/// What hosts that share a server are called by, from the digest of what they share.
pub fn likeness(digest: Digest) -> String {
    digest.hexadecimal(HASH_DIGITS / 2)
}

/// The file of a server that hosts share. A plus sign occurs in no host name.
pub fn block_file(likeness: &str, part: usize) -> FilePath {
    format!("http/server-alike+{likeness}+{part}.conf").into()
}

/// The beginning of the variables of such a server, without the dollar sign.
pub fn block_variables(likeness: &str, part: usize) -> String {
    format!("backend_{likeness}_{part}")
}

/// The file of a certificate with its key.
pub fn certificate_file(id: &CertificateId) -> FilePath {
    match id {
        CertificateId::SelfSigned => Arc::clone(&SELF_SIGNED),
        CertificateId::Secret(secret) => format!("certs/{}.pem", hash(&object(secret))).into(),
    }
}

/// The file of a certificate that is shown to backends: that of the Secret, whoever else it is shown to.
pub fn client_file(secret: &Arc<ObjectId>) -> FilePath {
    certificate_file(&CertificateId::Secret(Arc::clone(secret)))
}

/// The file of an authority's certificates.
pub fn authority_file(id: &ObjectId) -> FilePath {
    format!("certs/{}-authority.pem", hash(&object(id))).into()
}

/// The file of what an authority took back.
pub fn revoked_file(id: &ObjectId) -> FilePath {
    format!("certs/{}-revoked.pem", hash(&object(id))).into()
}

/// The variable that tells clients who are not let in, by what their certificate has to be.
pub fn stranger(certificates: &ClientCertificates) -> String {
    format!("stranger_{}", hash(&[certificates.common_name.as_ref().map_or("", Pattern::as_str)]))
}

/// The file of that variable.
pub fn stranger_file(name: &str) -> FilePath {
    format!("http/10-{}.conf", name.replace('_', "-")).into()
}

/// The file of names and passwords.
pub fn password_file(id: &PasswordFileId) -> FilePath {
    let [kind, namespace, name] = object(&id.secret);
    format!("auth/{}", hash(&[kind, namespace, name, if id.map { "map" } else { "file" }])).into()
}

/// The location by which a service is asked about clients, for each way in which one is. No slash begins it: no path leads there.
pub fn authentication(external: &ExternalAuthentication) -> String {
    let ExternalAuthentication { service, policy, origin: _ } = external;
    format!("{OURS}-auth-{}", hash(&[&readable(service), &format!("{policy:?}")]))
}

/// The location by which copies go to a service, for each sort of copy; `told` are headers that another service tells of clients. No
/// slash begins it: no path leads there.
pub fn mirror(service: &UpstreamId, policy: &MirrorPolicy, told: &[HeaderName]) -> String {
    format!("{OURS}-mirror-{}", hash(&[&readable(service), &format!("{policy:?}"), &format!("{told:?}")]))
}

/// The variable that holds the target of a request encoded, and what those before it begin with.
pub const ESCAPED_URI: &str = "escaped_uri";

pub fn escaped_uri_file() -> FilePath {
    "http/10-escaped-uri.conf".into()
}

/// The zone of answers about clients that are remembered.
pub const ANSWER_MEMORY: &str = "ingressd_authentication";

/// The file of that zone.
pub fn answer_memory_file() -> FilePath {
    "http/10-authentication.conf".into()
}

/// What our names begin with.
const OURS: &str = "ingressd";

/// The prefix of the variables for a set of origins.
pub fn cors(cors: &Cors) -> String {
    format!("cors_{}", hash(&[&format!("{cors:?}")]))
}

/// The file of those variables.
pub fn cors_file(name: &str) -> FilePath {
    format!("http/10-{}.conf", name.replace('_', "-")).into()
}

/// The variable that holds the upstream of a request of a route that is split, and what its others begin with.
pub fn split(split: &Split, upstream: &UpstreamId) -> String {
    format!("split_{}", hash(&[&format!("{split:?}"), &readable(upstream)]))
}

/// The file of those variables.
pub fn split_file(name: &str) -> FilePath {
    format!("http/10-{}.conf", name.replace('_', "-")).into()
}

/// The variable that holds the session of a client, by the name of its cookie.
pub fn session(cookie: &HeaderName) -> String {
    format!("session_{}", hash(&[cookie.as_str()]))
}

/// The variable that holds the path of the cookie, in whichever location.
pub const COOKIE_PATH: &str = "cookie_path";

/// The variable that holds the cookie for clients without a session.
pub fn session_cookie(cookie: &SessionCookie) -> String {
    format!("cookie_{}", hash(&[&format!("{cookie:?}")]))
}

/// The variable with what cookies say of `SameSite` to programs that know `None`.
pub const SAME_SITE: &str = "same_site";

/// The file of that variable.
pub fn same_site_file() -> FilePath {
    "http/10-same-site.conf".into()
}

/// The file of either.
pub fn session_file(name: &str) -> FilePath {
    format!("http/10-{}.conf", name.replace('_', "-")).into()
}

/// The variable that is one of so many numbers by chance.
pub fn turn(endpoints: u8) -> String {
    format!("turn_{endpoints}")
}

/// The file of that variable.
pub fn turn_file(endpoints: u8) -> FilePath {
    format!("http/10-turn-{endpoints}.conf").into()
}

/// The variable that tells whom a long list denies.
pub fn list(mark: ListMark) -> String {
    format!("denied_{}", hexadecimal(&mark.0))
}

pub fn list_file(mark: ListMark) -> FilePath {
    format!("http/10-{}.conf", list(mark).replace('_', "-")).into()
}

/// The variable that holds the client to be counted for an object, and the prefix of its zones. A zone's name follows
/// from the variable: nginx refuses to reload when a zone keeps its name and changes its key.
pub fn limits(limits: &ClientLimits) -> String {
    format!("limit_{}", hash(&object(&limits.origin.object)))
}

/// The file of those zones.
pub fn limits_file(name: &str) -> FilePath {
    format!("http/10-{}.conf", name.replace('_', "-")).into()
}

pub fn rate_zone(limits: &str, rate: LimitRate) -> String {
    match rate {
        LimitRate::PerSecond(number) => format!("ingressd_{limits}_{number}_per_second"),
        LimitRate::PerMinute(number) => format!("ingressd_{limits}_{number}_per_minute"),
    }
}

pub fn connection_zone(limits: &str) -> String {
    format!("ingressd_{limits}_connections")
}

/// The variable that holds a policy on https and nothing on http.
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
mod tests {
    use super::*;

    fn id(namespace: &str, service: &str, port: &str, mode: &'static str) -> UpstreamId {
        let protocol = Protocol::Http;
        let (namespace, service, port) = (namespace.into(), service.into(), port.into());
        UpstreamId { namespace, service, port, mode, protocol, balance: None, tls: None, reuse: None }
    }

    #[test]
    fn the_file_of_a_service_tells_its_port_and_no_other_does() {
        for (transport, number) in [(Transport::Tcp, 5432), (Transport::Udp, 53)] {
            let port = Port { transport, number };
            assert_eq!(stream_port(&stream_file(port)), Some(port));
            let id = StreamUpstreamId { namespace: "a".into(), service: "b".into(), port, mode: "" };
            assert_eq!(stream_port(&stream_upstream_file(&id)), None);
            let inside = Port { transport: Transport::Tcp, number };
            assert_eq!(stream_port(&passthrough_file(number)), Some(inside));
        }
    }

    #[test]
    fn names_that_nginx_compares_are_read_in_order() {
        let paths = [
            "http/server-exact-z.example.conf",
            "http/server-wildcard-z.example.conf",
            "http/server-wildcards-1-a.example.conf",
            "http/server-wildcards-2-a.example.conf",
            &reserved_file(),
            "http/server-z+00000000000000000000+0.conf",
        ];
        assert!(paths.is_sorted());
    }

    #[test]
    fn upstreams_never_share_a_name() {
        let ids = [
            id("a-b", "c", "80", ""),
            id("a", "b-c", "80", ""),
            id("a", "b", "c-80", ""),
            id("a", "b", "c.80", ""),
            id("a.b", "c", "80", ""),
            id("a", "b.c", "80", ""),
            id("a", "b", "80", "nodeport"),
            id("a", "b", "80.nodeport", ""),
            id("a", "../b;", "80", ""),
            id("a", &"b".repeat(200), "80", ""),
        ];
        let names: std::collections::BTreeSet<_> = ids.iter().map(upstream).collect();
        assert_eq!(names.len(), ids.len());
        let safe = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        assert!(names.iter().all(|name| safe(name) && name.len() < 220), "{names:?}");
    }
}
