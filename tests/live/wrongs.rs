//! Objects with a mistake, at least one for each reason that an Event can have.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use rig::ECHO;
use rig::cluster::Cluster;
use rig::cluster::proxy::{Action, Proxy};
use rig::manifests::{Ingress, endpoint_slice, ingress, secret, service, tls_secret};

/// The reasons that are not among [`wrongs`], and why.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("Unreadable", "it is about a file, and an Event is about an object of the cluster"),
    ("DuplicateObject", "an API server has one object of each name"),
    ("ForeignClass", "that an object is another's is no warning, and not told as an Event"),
    ("HostOwned", "it takes two namespaces: tests/live/tenants.rs"),
    ("HostNotAllowed", "it is about the settings: crates/translate/src/tests/tenants.rs"),
    ("SharedHost", "it takes two namespaces: crates/translate/src/tests/tenants.rs"),
    ("TlsConflict", "it takes two namespaces: crates/translate/src/tests/certificates.rs"),
    ("HostRuleConflict", "it takes two objects: crates/translate/src/tests/client_certificates.rs"),
    ("TlsWithoutPath", "it takes two objects: crates/translate/src/tests/certificates.rs"),
    ("ForeignChallenge", "it takes two namespaces: crates/translate/src/tests/strangers.rs"),
    ("TooManyPaths", "it takes more paths than an object has room for: crates/translate/src/tests/hosts_and_paths.rs"),
    ("OverBudget", "it takes more than objects ask for: tests/end_to_end/budgets.rs"),
    ("NotStapled", "the settings of the tests ask for no answers: tests/end_to_end/stapling.rs"),
    ("HostsRemoved", "it is about many objects: tests/end_to_end/hosts.rs"),
    ("NearBudget", "it is about the settings: crates/translate/src/admit/tests.rs"),
    ("TooManyEndpoints", "it takes more pods than there are: crates/translate/src/tables/endpoints.rs"),
    ("UnresolvedName", "names are not resolved where ExternalNameDisabled is found: a test of its own"),
    (
        "AddressesLeftOut",
        "names are not resolved where ExternalNameDisabled is found: tests/end_to_end/external_names.rs",
    ),
    ("PortConflict", "it is about the settings and this host: tests/end_to_end/streams.rs"),
    ("DrainingWorkers", "it is about this host: tests/end_to_end/many_objects.rs"),
    ("WithoutWebSockets", "it is no warning, and not told as an Event: crates/translate/src/tests/modes.rs"),
    ("MoreFindings", "it takes more than twenty others: crates/model/src/finding/limit.rs"),
    ("StatusContention", "it takes another controller: tests/live/contention.rs"),
    ("MissingCapability", "the nginx of the tests lacks nothing: crates/nginx/src/gate/route_tests.rs"),
    ("MissingAddress", "it is about the settings of this node: tests/live/addresses.rs"),
    ("MissingRight", "it is about the settings of this node: tests/live/rights.rs"),
    ("PublishingFailed", "it is about this node, and an Event could not be written: tests/live/refusals.rs"),
    ("DefaultServerTaken", "it is about this host: crates/nginx/src/gate/tests.rs"),
    ("UnknownField", "an API server drops such fields: tests/check_and_render"),
    ("MissingConfigMap", "it is about the settings: tests/live/config_map.rs"),
    ("UnknownKey", "it is about a ConfigMap that the settings name: tests/live/config_map.rs"),
    ("EveryClientTrusted", "it is about a ConfigMap that the settings name: tests/end_to_end/proxy_protocol.rs"),
    ("UnsupportedKey", "it is about a ConfigMap that the settings name: tests/live/config_map.rs"),
    ("NotAdmitted", "a daemon never tells it: tests/live/admission.rs"),
    ("SettingsRefused", "it is about this host: tests/end_to_end/settings.rs"),
    ("Pinned", "it is about this host: tests/live/pinned.rs"),
    ("ReloadFailed", "it is about this host: tests/end_to_end/failure.rs"),
    ("WriteFailed", "it is about this host: tests/end_to_end/disk.rs"),
    ("NginxDown", "it is about this host: tests/end_to_end/failure.rs"),
];

/// An Ingress with a host of its own that is as it should be.
pub fn good(name: &str) -> Ingress {
    ingress(name).class("nginx").host(&format!("{name}.example"), "web")
}

fn to_service(name: &str, service: &str) -> Ingress {
    ingress(name).class("nginx").host(&format!("{name}.example"), service)
}

fn to_port(name: &str, port: u16) -> Ingress {
    let backend = json!({"service": {"name": "web", "port": {"number": port}}});
    ingress(name).class("nginx").path_to(&format!("{name}.example"), "Prefix", "/", backend)
}

/// Ingresses with something wrong: the reason, the object that the Event is on, and what of the
/// field it names.
pub fn wrongs() -> Vec<(&'static str, &'static str, &'static str, Ingress)> {
    let with = |name: &str, key: &str, value: &str| good(name).annotation(key, value);
    let with_tls = |name: &str, secret: &str| good(name).tls(&[&format!("{name}.example")], secret);
    let with_path = |name: &str, path: &str| {
        ingress(name).class("nginx").path(&format!("{name}.example"), "ImplementationSpecific", path, "web")
    };
    let resource = json!({"resource": {"apiGroup": "example.com", "kind": "Bucket", "name": "b"}});
    // The API server counts the length of a name, and not that of its labels.
    let long_label = format!("{}.example", "a".repeat(64));
    vec![
        ("MissingService", "Ingress no-service", "paths[0]", to_service("no-service", "none")),
        ("MissingPort", "Ingress no-port", "paths[0]", to_port("no-port", 81)),
        ("NoEndpoints", "Ingress no-pods", "paths[0]", to_service("no-pods", "idle")),
        (
            "MirrorLeftOut",
            "Ingress no-mirror",
            "mirror-target",
            with("no-mirror", "mirror-target", "http://127.0.0.1:8080/"),
        ),
        ("ExternalNameDisabled", "Ingress by-name", "paths[0]", to_service("by-name", "named")),
        ("UnreachableMode", "Ingress by-node", "paths[0]", to_service("by-node", "portless")),
        ("ForbiddenTarget", "Ingress to-metadata", "paths[0]", to_service("to-metadata", "metadata")),
        (
            "UnsupportedBackend",
            "Ingress bucket",
            "paths[0]",
            ingress("bucket").class("nginx").path_to("b.example", "Prefix", "/", resource),
        ),
        (
            "InvalidHost",
            "Ingress long-label",
            "rules[0]",
            ingress("long-label").class("nginx").host(&long_label, "web"),
        ),
        ("InvalidPath", "Ingress control", "paths[0].path", with_path("control", "/\u{1}")),
        ("LiteralPath", "Ingress starred", "paths[0]", with_path("starred", "/*")),
        ("PathConflict", "Ingress z-tardy", "paths[0]", ingress("z-tardy").class("nginx").host("first.example", "web")),
        ("CanaryWithoutMain", "Ingress lonely", "paths[0]", with("lonely", "canary", "true")),
        ("HostConflict", "Ingress taken", "", good("taken")),
        ("MissingSecret", "Ingress no-secret", "tls[0]", with_tls("no-secret", "none")),
        ("InvalidCertificate", "Secret garbage", "", with_tls("bad-secret", "garbage")),
        ("CertificateHostMismatch", "Ingress not-named", "tls[0]", with_tls("not-named", "other")),
        ("DoubtfulCertificate", "Ingress doubtful", "tls[0]", with_tls("doubtful", "doubtful")),
        ("CertificateExpired", "Ingress expired", "tls[0]", with_tls("expired", "expired")),
        ("CertificateEnding", "Ingress ending", "tls[0]", with_tls("ending", "ending")),
        ("CertificateNotYetValid", "Ingress early", "tls[0]", with_tls("early", "early")),
        ("InvalidValue", "Ingress bad-value", "proxy-read-timeout", with("bad-value", "proxy-read-timeout", "soon")),
        ("UnknownAnnotation", "Ingress misspelt", "proxy-bodysize", with("misspelt", "proxy-bodysize", "1m")),
        (
            "UnsupportedAnnotation",
            "Ingress unserved",
            "enable-opentelemetry",
            with("unserved", "enable-opentelemetry", "true"),
        ),
        (
            "InvalidSecurityValue",
            "Ingress open",
            "whitelist-source-range",
            with("open", "whitelist-source-range", "everybody"),
        ),
        (
            "CrossNamespace",
            "Ingress crosses",
            "auth-secret",
            with("crosses", "auth-type", "basic").annotation("auth-secret", "elsewhere/users"),
        ),
        (
            "InvalidSecret",
            "Ingress no-passwords",
            "auth-secret",
            with("no-passwords", "auth-type", "basic").annotation("auth-secret", "garbage"),
        ),
        ("NoEffectAlone", "Ingress half", "auth-secret", with("half", "auth-secret", "garbage")),
        ("ClosedRoute", "Ingress for-nobody", "auth-type", with("for-nobody", "auth-type", "basic")),
        ("RefusedValue", "Ingress no-canary", "canary", with("no-canary", "canary", "maybe")),
        ("Quarantined", "Ingress no-buffers", "", with("no-buffers", "proxy-busy-buffers-size", "1m")),
        ("AboveCeiling", "Ingress patient", "proxy-read-timeout", with("patient", "proxy-read-timeout", "2147483647")),
        ("NearestUsed", "Ingress fastest", "load-balance", with("fastest", "load-balance", "ewma")),
        ("Undecodable", "Ingress newer", "", good("newer")),
    ]
}

/// Writes them, and what they refer to. The API server takes nothing that cannot be decoded: the
/// proxy puts it into what is read.
pub async fn write_wrongs(cluster: &mut Cluster) -> Proxy {
    let service_of = |name: &str, spec: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
    let ports = json!([{"name": "http", "port": 80}]);
    let mut portless = service("portless", ECHO);
    portless["metadata"]["annotations"] = json!({"ingressd/endpoints": "nodeport"});
    cluster.daemon.set("upstreams.external-names", "false");
    cluster.nginx.write_site("other", "server { listen 80; server_name taken.example; }");
    cluster.objects.serve("web", &["10.244.0.1"]).await;
    cluster
        .objects
        .apply_all([
            service("idle", ECHO),
            service_of("named", json!({"type": "ExternalName", "externalName": "elsewhere.example", "ports": ports})),
            portless,
            service("metadata", ECHO),
            endpoint_slice("metadata", &["168.63.129.16"], 80),
            secret("garbage", "kubernetes.io/tls", &[("tls.crt", "garbage"), ("tls.key", "garbage")]),
            tls_secret("other", &["other.example"]),
            doubtful("doubtful"),
            dated("expired", -2000, -1000),
            dated("ending", -80, 10),
            dated("early", 1, 90),
            good("first").build(),
        ])
        .await;
    for (.., wrong) in wrongs() {
        cluster.objects.apply(wrong).await;
    }
    let proxy = cluster.put_proxy_between().await;
    let make_newer = |list: &mut Value| {
        let items = list["items"].as_array_mut().unwrap();
        items.iter_mut().filter(|item| item["metadata"]["name"] == "newer").for_each(|item| {
            item["spec"]["rules"] = json!({"newer": "form"});
        });
    };
    proxy.rules.add(|call| call.lists("ingresses"), Action::Edit(Arc::new(make_newer)));
    proxy
}

/// A certificate with its key behind it, which nobody reads there.
fn doubtful(name: &str) -> Value {
    let made = rcgen::generate_simple_self_signed(vec![format!("{name}.example")]).unwrap();
    let key = made.signing_key.serialize_pem();
    secret(name, "kubernetes.io/tls", &[("tls.crt", &(made.cert.pem() + &key)), ("tls.key", &key)])
}

/// A certificate that is valid between these days from today.
fn dated(name: &str, begins: i64, ends: i64) -> Value {
    let day = |days: i64| {
        let seconds = Duration::from_secs(days.unsigned_abs() * 24 * 3600);
        let now = SystemTime::now();
        if days < 0 { now - seconds } else { now + seconds }.into()
    };
    let mut parameters = rcgen::CertificateParams::new(vec![format!("{name}.example")]).unwrap();
    (parameters.not_before, parameters.not_after) = (day(begins), day(ends));
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    secret(name, "kubernetes.io/tls", &[("tls.crt", &certificate.pem()), ("tls.key", &key.serialize_pem())])
}
