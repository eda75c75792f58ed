//! Objects of two namespaces, drawn at random from small pools in which much overlaps.

use std::sync::LazyLock;

use ingressd_echo::ADDRESS_HEADER;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::sample::subsequence;
use serde_json::{Value, json};

use rig::authority::Authority;
use rig::manifests::{self, in_namespace};

/// The certificate of the authority of both sides.
static AUTHORITY: LazyLock<String> = LazyLock::new(|| Authority::new("authority").pem());

/// Hosts, each below the name of its draw.
pub const HOSTS: &[&str] = &["a", "b", "*", "www.a"];

/// Paths, literal ones and expressions.
pub const PATHS: &[&str] = &[
    "/",
    "/a",
    "/a/",
    "/a/b",
    "/A",
    "/ab",
    "/a.b",
    "/a/b/c",
    "/.well-known",
    "/(",
    "/a/[0-9]+",
    "/(.*)",
    "/a(/|$)(.*)",
    "/.*",
    "/[a-z]+",
    "/a/(b|c)",
];

const TYPES: &[&str] = &["Prefix", "Exact", "ImplementationSpecific"];

/// Annotations of both sides; some entries have several.
const ANNOTATIONS: &[&[(&str, &str)]] = &[
    &[("use-regex", "true")],
    &[("use-regex", "true"), ("rewrite-target", "/$1")],
    &[("rewrite-target", "/target")],
    &[("allowlist-source-range", "10.244.5.0/24")],
    &[("allowlist-source-range", "everybody")],
    &[("denylist-source-range", "10.244.5.0/24")],
    &[("auth-type", "basic"), ("auth-secret", "users")],
    &[("force-ssl-redirect", "true")],
    &[("ssl-redirect", "false")],
    &[("proxy-body-size", "1")],
    &[("enable-cors", "true")],
    &[("custom-http-errors", "404")],
    &[("upstream-vhost", "other.test")],
    &[("permanent-redirect", "https://elsewhere.test/")],
    &[("canary", "true"), ("canary-by-header", "X-Part"), ("canary-by-cookie", "other")],
    &[("canary", "true"), ("canary-by-cookie", "part")],
    &[("canary", "true"), ("canary-weight", "100")],
    &[("affinity", "cookie"), ("session-cookie-name", "route"), ("session-cookie-path", "/a")],
    &[("affinity", "cookie"), ("affinity-mode", "persistent"), ("session-cookie-samesite", "Lax")],
    &[("upstream-hash-by", "$request_uri")],
    &[("auth-tls-secret", "authority"), ("ssl-redirect", "false")],
    &[("auth-tls-secret", "authority"), ("auth-tls-verify-client", "optional")],
    &[("proxy-ssl-secret", "authority"), ("proxy-ssl-verify", "on")],
    // These concern whole hosts.
    &[("app-root", OWN_ROOT)],
    &[("from-to-www-redirect", "true")],
    &[("auth-url", "$scheme://$host/a/b?status=200"), ("auth-response-headers", ADDRESS_HEADER)],
    // These limits are above the number of requests that the test sends.
    &[("limit-rps", "1000"), ("limit-connections", "100")],
];

/// Where the victim sends requests for the root of a host.
pub const OWN_ROOT: &str = "/own";

/// Annotations of the attacker alone.
const OF_EVIL: &[&[(&str, &str)]] = &[
    &[("app-root", "/evil")],
    &[("from-to-www-redirect", "true")],
    &[("server-alias", "a.{h}")],
    &[("default-backend", "web")],
    &[("backend-protocol", "HTTPS")],
    &[("preserve-trailing-slash", "true")],
    &[("limit-rpm", "1"), ("limit-burst-multiplier", "1"), ("limit-connections", "1")],
    &[("auth-tls-secret", "authority"), ("auth-tls-verify-client", "off")],
    &[("auth-tls-secret", "none")],
    &[("backend-protocol", "HTTPS"), ("proxy-ssl-secret", "authority"), ("proxy-ssl-verify", "on")],
    &[("session-cookie-name", "route"), ("session-cookie-domain", "{h}"), ("affinity", "cookie")],
    &[("server-snippet", SNIPPET)],
    &[("configuration-snippet", SNIPPET)],
    &[("mirror-target", "http://web.{n}.svc:80/taken")],
    &[("auth-url", "http://web.{n}.svc.cluster.local/?status=401"), ("auth-signin", "https://{h}/taken")],
    &[("auth-url", "$scheme://$host/a"), ("auth-response-headers", "X-Taken"), ("auth-keepalive", "4")],
    &[("auth-url", "http://web.{n}.svc/?header=x-taken:yes"), ("auth-response-headers", "X-Taken"), ("satisfy", "any")],
    &[("backend-protocol", "FCGI"), ("fastcgi-index", "taken.php")],
    &[("backend-protocol", "AUTO_HTTP"), ("proxy-http-version", "1.0")],
    &[("backend-protocol", "GRPC")],
    &[("custom-http-errors", "404,503"), ("default-backend", "web")],
    &[("x-forwarded-prefix", "/taken"), ("rewrite-target", "/taken")],
    &[("enable-modsecurity", "true")],
    &[
        ("auth-tls-secret", "authority"),
        ("auth-tls-match-cn", "CN=taken"),
        ("auth-tls-error-page", "https://{h}/taken"),
    ],
    &[("ssl-ciphers", "ECDHE-RSA-AES256-GCM-SHA384"), ("ssl-prefer-server-ciphers", "true")],
    &[("proxy-cookie-path", "/ /taken"), ("connection-proxy-header", "close")],
    &[("use-regex", "true"), ("app-root", "/taken"), ("permanent-redirect", "https://{h}/taken")],
    &[("ssl-passthrough", "true")],
];

/// A snippet whose effect would be seen in a response, or by a backend.
const SNIPPET: &str = "add_header X-Taken yes always;\nproxy_set_header X-Taken yes;\nproxy_hide_header X-Echo;\n\
    if ($http_x_part) { return 410; }\nrewrite ^/a(.*)$ /taken$1 break;\nset $taken yes;\nproxy_set_header Host $taken;\n\
    client_max_body_size 1k;\nexpires 1h;\n";

/// The host that is an alias of the attacker's.
const ALIAS: &str = "a";

/// A host and the one that `from-to-www-redirect` redirects to it.
const COUNTERPARTS: [&str; 2] = ["a", "www.a"];

/// Most paths that one object has on each of its hosts.
pub const MOST_PATHS: usize = 4;

/// Most objects of a side.
pub const MOST_OBJECTS: usize = 3;

/// An Ingress.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Whether its class is that of ingress-nginx.
    quirky: bool,
    hosts: Vec<&'static str>,
    /// Indices into the types and the paths.
    paths: Vec<(usize, usize)>,
    annotations: Vec<&'static [(&'static str, &'static str)]>,
    /// Whether it brings a certificate, and whether that names its hosts.
    certificate: Option<bool>,
    /// Whether its date is before that of the other side's objects.
    older: bool,
    /// Whether it has a rule without a host as well.
    hostless: bool,
}

/// Both sides' objects.
#[derive(Debug, Clone)]
pub struct Draw {
    pub victim: Vec<Drawn>,
    pub evil: Vec<Drawn>,
}

/// Draws both sides.
pub fn draw() -> impl Strategy<Value = Draw> {
    let victim = vec(drawn(false), 1..=MOST_OBJECTS);
    let evil = vec(drawn(true), 1..=MOST_OBJECTS);
    (victim, evil).prop_map(|(mut victim, mut evil)| {
        // A canary needs a main object: the victim's canaries are of its own paths, and the
        // attacker's of the victim's paths.
        let (hosts, paths) = (victim[0].hosts.clone(), victim[0].paths.clone());
        let canaries = victim.iter_mut().skip(1).chain(&mut evil).filter(|drawn| drawn.is_canary());
        canaries.for_each(|canary| (canary.hosts, canary.paths) = (hosts.clone(), paths.clone()));
        Draw { victim, evil }
    })
}

impl Drawn {
    /// The host that is redirected to one of its own, if any.
    /// The host that is redirected to one of its own, if any.
    pub fn redirected(&self) -> Option<&'static str> {
        let asks = self.annotations.iter().copied().flatten().any(|(key, _)| *key == "from-to-www-redirect");
        let [one, other] = COUNTERPARTS.map(|host| self.hosts.contains(&host));
        match (one, other) {
            (true, false) if asks && !self.is_canary() => Some(COUNTERPARTS[1]),
            (false, true) if asks && !self.is_canary() => Some(COUNTERPARTS[0]),
            _ => None,
        }
    }

    fn has_alias(&self) -> bool {
        self.annotations.iter().copied().flatten().any(|(key, _)| *key == "server-alias")
    }

    fn is_canary(&self) -> bool {
        self.annotations.iter().copied().flatten().any(|(key, _)| *key == "canary")
    }
}

fn drawn(is_evil: bool) -> impl Strategy<Value = Drawn> {
    let annotations = if is_evil { [ANNOTATIONS, OF_EVIL].concat() } else { ANNOTATIONS.to_vec() };
    (
        any::<bool>(),
        subsequence(HOSTS, 1..=2),
        vec((0..TYPES.len(), 0..PATHS.len()), 1..=MOST_PATHS),
        subsequence(annotations, 0..=3),
        proptest::option::weighted(0.3, any::<bool>()),
        any::<bool>(),
        proptest::bool::weighted(0.15),
    )
        .prop_map(move |(quirky, hosts, mut paths, mut annotations, certificate, older, hostless)| {
            // All objects of the victim can be served: an object that is refused claims nothing.
            if !is_evil {
                annotations.retain(|entries| quirky || !entries.iter().any(|(_, value)| value.contains('$')));
                paths.iter_mut().filter(|(_, path)| PATHS[*path] == "/(").for_each(|(_, path)| *path = 0);
            }
            Drawn { quirky, hosts, paths, annotations, certificate, older, hostless: hostless && is_evil }
        })
}

/// A path that a side asks for on a host.
pub struct Claim {
    pub host: &'static str,
    pub path: &'static str,
    /// Whether it is that path alone.
    pub exact: bool,
    /// The number of its backend.
    pub backend: usize,
    /// Whether it is only a part of what another object has.
    pub is_part: bool,
}

/// Everything that a side asks for.
pub fn claims(side: &[Drawn]) -> Vec<Claim> {
    // The aliases of a host have all paths that the namespace has on the host, also those of other
    // objects than the one that names the alias.
    let has_alias = side.iter().any(Drawn::has_alias);
    let of = |(object, drawn): (usize, &Drawn)| {
        let paths = drawn.paths.iter().enumerate();
        let claims = paths.flat_map(move |(number, (kind, path))| {
            let (path, exact, backend) = (PATHS[*path], TYPES[*kind] == "Exact", object * MOST_PATHS + number);
            let is_part = drawn.is_canary();
            let claim = move |host| Claim { host, path, exact, backend, is_part };
            drawn.hosts.clone().into_iter().chain(has_alias.then_some(ALIAS)).map(claim)
        });
        claims.collect::<Vec<_>>()
    };
    side.iter().enumerate().flat_map(of).collect()
}

/// The objects of a side in a namespace, with hosts below a suffix. Of the attacker's all backends
/// are `web`.
pub fn objects(side: &[Drawn], is_evil: bool, namespace: &str, suffix: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    for (number, drawn) in side.iter().enumerate() {
        let created = match (is_evil, drawn.older) {
            (false, _) => "2026-01-02T00:00:00Z",
            (true, true) => "2026-01-01T00:00:00Z",
            (true, false) => "2026-01-03T00:00:00Z",
        };
        let class = if drawn.quirky { "nginx" } else { "ingressd" };
        let mut object =
            manifests::ingress(&format!("object-{number}")).namespace(namespace).class(class).created(created);
        let hosts: Vec<_> = drawn.hosts.iter().map(|host| format!("{host}.{suffix}")).collect();
        for host in hosts.iter().map(String::as_str).chain(drawn.hostless.then_some("")) {
            for (place, (kind, path)) in drawn.paths.iter().enumerate() {
                let backend = number * MOST_PATHS + place;
                let service = if is_evil { "web".to_owned() } else { format!("web-{backend}") };
                object = object.path(host, TYPES[*kind], PATHS[*path], &service);
            }
        }
        for (key, value) in drawn.annotations.iter().copied().flatten() {
            object = object.annotation(key, &value.replace("{h}", suffix).replace("{n}", namespace));
        }
        let mut object = object.build();
        if let Some(good) = drawn.certificate {
            let secret = if good { "good" } else { "bad" };
            object["spec"]["tls"] = json!([{"hosts": hosts, "secretName": secret}]);
        }
        objects.push(object);
    }
    if side.iter().any(|drawn| drawn.certificate.is_some()) {
        let mark = if is_evil { "evil.test" } else { "victim.test" };
        objects.push(manifests::tls_secret("good", &[&format!("*.{suffix}"), mark]));
        objects.push(manifests::tls_secret("bad", &[mark]));
    }
    let authority = manifests::secret("authority", "Opaque", &[("ca.crt", &AUTHORITY)]);
    objects.push(authority);
    objects.push(manifests::secret("users", "Opaque", &[("auth", "a:$apr1$x$vxlZ.6wQkoYjY5ZDKOuOA0\n")]));
    objects.into_iter().map(|object| in_namespace(namespace, object)).collect()
}
