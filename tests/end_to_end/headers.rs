//! Headers about the client that backends get.

use std::fs;

use rig::client::{Request, get};
use rig::manifests::{ingress, secret, tls_secret};
use rig::status::notes;
use serde_json::Value;

/// Headers that a client would like to choose.
const FORGED: &[(&str, &str)] = &[
    ("X-Forwarded-For", "1.2.3.4"),
    ("X-Forwarded-Host", "evil.test"),
    ("X-Forwarded-Port", "1"),
    ("X-Forwarded-Proto", "gopher"),
    ("X-Forwarded-Scheme", "gopher"),
    ("X-Scheme", "gopher"),
    ("X-Original-Forwarded-Host", "evil.test"),
    ("X-Real-IP", "1.2.3.4"),
    ("Proxy", "http://evil.test/"),
];

/// Headers about URL, scheme, client and certificate that frameworks trust, and that only a
/// trusted proxy may send.
const TRUSTED: &[&str] = &[
    "Forwarded",
    "X-Forwarded-Prefix",
    "X-Forwarded-Server",
    "X-Forwarded-Ssl",
    "X-Forwarded-Protocol",
    "X-Original-URL",
    "X-Rewrite-URL",
    "Client-IP",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "X-Forwarded-Client-Cert",
    "ssl-client-cert",
    "ssl-client-issuer-dn",
    "ssl-client-subject-dn",
    "ssl-client-verify",
];

/// Sends every header that a framework might trust.
fn claiming(request: Request) -> Request {
    TRUSTED.iter().fold(request, |request, name| request.header(name, "told"))
}

/// Hosts by protocol of the backend, in both dialects, and one that asks for a password, where
/// headers are listed anew.
fn hosts() -> Vec<Value> {
    let passwords = secret("users", "Opaque", &[("auth", "user:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")]);
    let mut objects = vec![passwords];
    for (class, mark) in [("ingressd", "s"), ("nginx", "n")] {
        for protocol in ["HTTP", "GRPC"] {
            let name = format!("{}-{mark}", protocol.to_lowercase());
            let object = ingress(&name).class(class).host(&format!("{name}.test"), "web");
            objects.push(object.annotation("backend-protocol", protocol).build());
        }
        let name = format!("auth-{mark}");
        let object = ingress(&name).class(class).host(&format!("{name}.test"), "web");
        objects.push(object.annotation("auth-type", "basic").annotation("auth-secret", "users").build());
    }
    objects
}

const HOSTS: [&str; 6] = ["http-s.test", "grpc-s.test", "auth-s.test", "http-n.test", "grpc-n.test", "auth-n.test"];

/// A request for one of [`HOSTS`] that is let in.
fn ask(host: &str) -> Request {
    get(&format!("http://{host}/")).header("Authorization", "Basic dXNlcjpwYXNzd29yZA==")
}

#[test]
fn what_frameworks_trust_reaches_no_backend_from_strangers() {
    rig::run(async |rig| {
        // Some hosts let through what nginx drops by itself.
        let lenient = "underscores_in_headers on;\nignore_invalid_headers off;\n";
        fs::write(rig.nginx.prefix().join("conf.d/host.conf"), lenient).unwrap();
        rig.manifests.write("headers.yaml", &hosts());
        rig.start().await;
        for host in HOSTS {
            let request = TRUSTED
                .iter()
                .fold(claiming(ask(host)), |request, name| request.header(&name.replace('-', "_"), "told"));
            let seen = request.send().await.echo();
            let reported: Vec<_> = seen.headers.iter().filter(|(_, value)| value == "told").collect();
            assert!(reported.is_empty(), "{host}: {reported:?}");
            assert_eq!(seen.header("x-ingress-hops"), Some("1"), "{host}");
        }
    });
}

#[test]
fn a_default_server_that_lets_through_what_nginx_drops_is_reported() {
    rig::run(async |rig| {
        let site = "server { listen 80 default_server; server_name site.test; underscores_in_headers on; }\n";
        rig.nginx.write_site("site.conf", site);
        rig.manifests.write("headers.yaml", &hosts());
        rig.start().await;
        let status = rig.daemon.status().await.unwrap();
        let reported = notes(&status, "Host nginx", "HostConflict");
        assert!(
            reported.iter().any(|note| note.contains("site.conf:1") && note.contains("X_Forwarded_For")),
            "{status:#}"
        );
    });
}

#[test]
fn trusted_proxies_say_what_frameworks_trust() {
    rig::run(async |rig| {
        let warnings = rig.folder().join("warnings.log");
        let log = format!("error_log {} warn;\n", warnings.display());
        fs::write(rig.nginx.prefix().join("conf.d/host.conf"), log).unwrap();
        rig.manifests.write("headers.yaml", &hosts());
        rig.daemon.set("access.trusted-proxies", r#"["10.244.9.0/24"]"#);
        rig.start().await;
        for host in HOSTS {
            let seen = claiming(ask(host).from("10.244.9.9")).send().await.echo();
            for name in TRUSTED {
                assert_eq!(seen.header(&name.to_ascii_lowercase()), Some("told"), "{name} of {host}");
            }
            let seen = claiming(ask(host).from("10.244.8.8")).send().await.echo();
            let reported: Vec<_> = seen.headers.iter().filter(|(_, value)| value == "told").collect();
            assert!(reported.is_empty(), "{host}: {reported:?}");
            // A proxy that sends no such header causes no warning for each request.
            assert_eq!(ask(host).from("10.244.9.9").send().await.echo().header("forwarded"), None, "{host}");
        }
        let log = fs::read_to_string(warnings).unwrap();
        assert!(!log.contains("uninitialized"), "{log}");
    });
}

#[test]
fn redirects_name_only_hosts_that_are_hosts() {
    rig::run(async |rig| {
        let object = ingress("h").host("h.test", "web").annotation("force-ssl-redirect", "true").build();
        rig.manifests.write("headers.yaml", &[object, ingress("p").host("p.test", "web").build()]);
        rig.daemon.set("access.trusted-proxies", r#"["10.244.9.0/24"]"#);
        rig.start().await;
        for (reported, expected) in [
            ("outside.test", "outside.test"),
            ("outside.test:8443", "outside.test"),
            (" outside.test , other.test", "outside.test"),
            ("[2001:db8::1]:8443", "[2001:db8::1]"),
            ("outside.test/path", "h.test"),
            ("outside.test\\@evil.test", "h.test"),
            ("user@evil.test", "h.test"),
            ("evil.test?", "h.test"),
            ("evil.test#", "h.test"),
            ("<b>", "h.test"),
            ("evil.test:80x", "h.test"),
            ("outside.test evil.test", "h.test"),
        ] {
            let request =
                |host: &str| get(&format!("http://{host}/x")).from("10.244.9.9").header("X-Forwarded-Host", reported);
            let redirect = request("h.test").send().await;
            assert_eq!(redirect.header("location"), Some(format!("https://{expected}/x").as_str()), "{reported:?}");
            // Backends make links of the host, and get no other one.
            let seen = request("p.test").send().await.echo();
            let host = seen.header("x-forwarded-host").unwrap().split(':').next().unwrap().to_owned();
            assert!(
                expected == "h.test" && host == "p.test" || reported.trim().starts_with(&host),
                "{reported:?}: {host}"
            );
        }
    });
}

#[test]
fn no_client_is_trusted_by_default() {
    rig::run(async |rig| {
        // The same holds for backends that speak gRPC, for which nginx has directives of its own.
        let object = |name: &str, class: &str, protocol: &str| {
            let host = format!("{name}.test");
            let object = ingress(name).class(class).host(&host, "web").tls(&[&host], "s");
            object.annotation("ssl-redirect", "false").annotation("backend-protocol", protocol).build()
        };
        let names = ["h.test", "g.test", "h-n.test", "g-n.test"];
        let objects = [
            tls_secret("s", &names),
            object("h", "ingressd", "HTTP"),
            object("g", "ingressd", "GRPC"),
            object("h-n", "nginx", "HTTP"),
            object("g-n", "nginx", "GRPC"),
        ];
        rig.manifests.write("headers.yaml", &objects);
        rig.start().await;
        for (scheme, port, host) in [("http", "80"), ("https", "443")]
            .into_iter()
            .flat_map(|(scheme, port)| names.map(|host| (scheme, port, host)))
        {
            let request = get(&format!("{scheme}://{host}/")).from("10.244.9.9");
            let request = FORGED.iter().fold(request, |request, (name, value)| request.header(name, value));
            let seen = request.send().await.echo();
            let spoken = if host.starts_with('g') { "HTTP/2" } else { "HTTP/1.1" };
            assert_eq!(seen.protocol, spoken, "{host}");
            // Headers that only ingress-nginx sends are sent only by its dialect, and cannot be
            // forged in either.
            let detailed = |value| host.ends_with("-n.test").then_some(value);
            for (name, value) in [
                ("host", Some(host)),
                ("x-real-ip", Some("10.244.9.9")),
                ("x-forwarded-for", Some("10.244.9.9")),
                ("x-forwarded-host", Some(host)),
                ("x-forwarded-port", Some(port)),
                ("x-forwarded-proto", Some(scheme)),
                ("x-forwarded-scheme", detailed(scheme)),
                ("x-scheme", detailed(scheme)),
                ("x-original-forwarded-for", detailed("1.2.3.4")),
                ("x-original-forwarded-host", detailed("evil.test")),
                ("proxy", None),
            ] {
                assert_eq!(seen.header(name), value, "{name} of {scheme}://{host}");
            }
        }
    });
}

#[test]
fn a_host_of_both_dialects_has_the_headers_of_its_oldest_object() {
    rig::run(async |rig| {
        let [old, new] = ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"];
        let pair = |host: &str, first: &str, second: &str| {
            let object = |class: &str, date: &str, path: &str| {
                let object = ingress(&format!("{class}-{}", &host[..1])).class(class).created(date);
                object.path(host, "Prefix", path, "web").build()
            };
            [object(first, old, "/old"), object(second, new, "/new")]
        };
        rig.manifests.write(
            "headers.yaml",
            &[pair("a.test", "ingressd", "nginx"), pair("b.test", "nginx", "ingressd")].concat(),
        );
        rig.start().await;
        for (host, scheme) in [("a.test", None), ("b.test", Some("http"))] {
            for path in ["/old", "/new"] {
                let seen = get(&format!("http://{host}{path}")).header("X-Scheme", "gopher").send().await.echo();
                assert_eq!(seen.header("x-scheme"), scheme, "{host}{path}");
                assert_eq!(seen.header("x-request-id").is_some(), scheme.is_some(), "{host}{path}");
            }
        }
    });
}

#[test]
fn headers_of_trusted_proxies_count() {
    rig::run(async |rig| {
        rig.manifests.write("headers.yaml", &[ingress("h").host("h.test", "web").build()]);
        rig.daemon.set("access.trusted-proxies", r#"["10.244.9.0/24"]"#);
        // So do variables of ingress-nginx in headers of the administrator.
        let header = "['X-Asked: ${pass_access_scheme}://${best_http_host}:${pass_server_port}']";
        rig.daemon.set("headers.requests", header);
        rig.start().await;
        let forwarded = |from: &str| {
            let request = get("http://h.test/").from(from).header("X-Forwarded-For", "192.0.2.77");
            request.header("X-Forwarded-Proto", "https").header("X-Forwarded-Host", "outside.test")
        };
        let seen = forwarded("10.244.9.9").send().await.echo();
        assert_eq!(seen.header("x-real-ip"), Some("192.0.2.77"));
        assert_eq!(seen.header("x-forwarded-proto"), Some("https"));
        assert_eq!(seen.header("x-forwarded-host"), Some("outside.test"));
        assert_eq!(seen.header("x-asked"), Some("https://outside.test:443"));
        // Of lists, which nginx also makes of repeated headers, the first entry is the client's.
        for (scheme, port, expected) in [
            ("https, https", "443, 80", ["https", "443"]),
            ("https,http", "8443,443", ["https", "8443"]),
            ("HTTPS , http", "443 ,80", ["https", "443"]),
            ("http, https", "80, 443", ["http", "80"]),
            ("gopher, https", "x, 443", ["http", "80"]),
            // Without a port it is the usual one of the scheme.
            ("https", "", ["https", "443"]),
            ("https,http", "x", ["https", "443"]),
            ("http", "", ["http", "80"]),
        ] {
            let request = get("http://h.test/").from("10.244.9.9");
            let request = request.header("X-Forwarded-Proto", scheme).header("X-Forwarded-Port", port);
            let seen = request.send().await.echo();
            let reported = ["x-forwarded-proto", "x-forwarded-port"].map(|name| seen.header(name).unwrap_or_default());
            assert_eq!(reported, expected, "{scheme} {port}");
        }
        let seen = forwarded("10.244.8.8").send().await.echo();
        assert_eq!(seen.header("x-real-ip"), Some("10.244.8.8"));
        assert_eq!(seen.header("x-forwarded-proto"), Some("http"));
        assert_eq!(seen.header("x-asked"), Some("http://h.test:80"));
    });
}

#[test]
fn each_request_has_an_identity_where_backends_may_count_on_one() {
    rig::run(async |rig| {
        let object = |name: &str, class| ingress(name).class(class).host(&format!("{name}.test"), "web").build();
        rig.manifests.write("headers.yaml", &[object("n", "nginx"), object("s", "ingressd")]);
        rig.start().await;
        let one = get("http://n.test/").send().await.echo();
        let two = get("http://n.test/").send().await.echo();
        let identity = one.header("x-request-id").unwrap();
        assert_eq!(identity.len(), 32);
        assert_ne!(Some(identity), two.header("x-request-id"));
        assert_eq!(get("http://s.test/").send().await.echo().header("x-request-id"), None);
        for host in ["n.test", "s.test"] {
            let given = get(&format!("http://{host}/")).header("X-Request-ID", "mine").send().await.echo();
            assert_eq!(given.header("x-request-id"), Some("mine"), "{host}");
        }
    });
}

#[test]
fn connections_to_backends_are_kept() {
    rig::run(async |rig| {
        rig.manifests.write("headers.yaml", &[ingress("h").host("h.test", "web").build()]);
        rig.start().await;
        let request = get("http://h.test/");
        // One connection is handled by one worker.
        let mut connection = request.connect().await.unwrap();
        let one = connection.send(&request).await.unwrap().echo();
        let two = connection.send(&request).await.unwrap().echo();
        assert_eq!(one.client, two.client);
        assert_eq!((one.protocol.as_str(), one.header("connection")), ("HTTP/1.1", None));
    });
}
