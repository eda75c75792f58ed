//! What the backend learns about the client; this test must not know how headers are written.

use crate::rig;
use crate::rig::client::get;
use crate::rig::manifests::{ingress, tls_secret};

/// Headers that a client would like to choose.
const FORGED: &[(&str, &str)] = &[
    ("X-Forwarded-For", "1.2.3.4"),
    ("X-Forwarded-Host", "evil.test"),
    ("X-Forwarded-Port", "1"),
    ("X-Forwarded-Proto", "gopher"),
    ("X-Forwarded-Scheme", "gopher"),
    ("X-Scheme", "gopher"),
    ("X-Real-IP", "1.2.3.4"),
    ("Proxy", "http://evil.test/"),
];

#[test]
fn nobody_is_believed_by_default() {
    rig::run(async |rig| {
        // The same for backends that speak gRPC, where nginx has directives of its own.
        let object = |name: &str, protocol: &str| {
            let host = format!("{name}.test");
            let object = ingress(name).host(&host, "web").tls(&[&host], "s").annotation("ssl-redirect", "false");
            object.annotation("backend-protocol", protocol).build()
        };
        let secret = tls_secret("s", &["h.test", "g.test"]);
        rig.manifests.write("headers.yaml", &[secret, object("h", "HTTP"), object("g", "GRPC")]);
        rig.start().await;
        for (url, host, scheme, port) in [
            ("http://h.test/", "h.test", "http", "80"),
            ("https://h.test/", "h.test", "https", "443"),
            ("http://g.test/", "g.test", "http", "80"),
            ("https://g.test/", "g.test", "https", "443"),
        ] {
            let request = get(url).from("10.244.9.9");
            let request = FORGED.iter().fold(request, |request, (name, value)| request.header(name, value));
            let seen = request.send().await.echo();
            let spoken = if host == "g.test" { "HTTP/2" } else { "HTTP/1.1" };
            assert_eq!(seen.protocol, spoken, "{url}");
            for (name, value) in [
                ("host", Some(host)),
                ("x-real-ip", Some("10.244.9.9")),
                ("x-forwarded-for", Some("10.244.9.9")),
                ("x-forwarded-host", Some(host)),
                ("x-forwarded-port", Some(port)),
                ("x-forwarded-proto", Some(scheme)),
                ("x-forwarded-scheme", Some(scheme)),
                ("x-scheme", Some(scheme)),
                ("x-original-forwarded-for", Some("1.2.3.4")),
                ("proxy", None),
            ] {
                assert_eq!(seen.header(name), value, "{name} of {url}");
            }
        }
    });
}

#[test]
fn trusted_proxies_are_believed() {
    rig::run(async |rig| {
        rig.manifests.write("headers.yaml", &[ingress("h").host("h.test", "web").build()]);
        rig.daemon.set("access.trusted-proxies", r#"["10.244.9.0/24"]"#);
        rig.start().await;
        let forwarded = |from: &str| {
            let request = get("http://h.test/").from(from).header("X-Forwarded-For", "192.0.2.77");
            request.header("X-Forwarded-Proto", "https").header("X-Forwarded-Host", "outside.test")
        };
        let seen = forwarded("10.244.9.9").send().await.echo();
        assert_eq!(seen.header("x-real-ip"), Some("192.0.2.77"));
        assert_eq!(seen.header("x-forwarded-proto"), Some("https"));
        assert_eq!(seen.header("x-forwarded-host"), Some("outside.test"));
        let seen = forwarded("10.244.8.8").send().await.echo();
        assert_eq!(seen.header("x-real-ip"), Some("10.244.8.8"));
        assert_eq!(seen.header("x-forwarded-proto"), Some("http"));
    });
}

#[test]
fn each_request_has_an_identity() {
    rig::run(async |rig| {
        rig.manifests.write("headers.yaml", &[ingress("h").host("h.test", "web").build()]);
        rig.start().await;
        let one = get("http://h.test/").send().await.echo();
        let two = get("http://h.test/").send().await.echo();
        let identity = one.header("x-request-id").unwrap();
        assert_eq!(identity.len(), 32);
        assert_ne!(Some(identity), two.header("x-request-id"));
        let given = get("http://h.test/").header("X-Request-ID", "mine").send().await.echo();
        assert_eq!(given.header("x-request-id"), Some("mine"));
    });
}

#[test]
fn connections_to_backends_are_kept() {
    rig::run(async |rig| {
        rig.manifests.write("headers.yaml", &[ingress("h").host("h.test", "web").build()]);
        rig.start().await;
        let request = get("http://h.test/");
        // One connection means one worker.
        let mut connection = request.connect().await.unwrap();
        let one = connection.send(&request).await.unwrap().echo();
        let two = connection.send(&request).await.unwrap().echo();
        assert_eq!(one.client, two.client);
        assert_eq!((one.protocol.as_str(), one.header("connection")), ("HTTP/1.1", None));
    });
}
