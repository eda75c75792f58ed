//! Cross-origin requests of browsers.

use http::Method;
use rig::client::{Reply, Request, get};
use rig::manifests::{Ingress, ingress};

fn open(name: &str) -> Ingress {
    ingress(name).host(&format!("{name}.test"), "web").annotation("enable-cors", "true")
}

fn allowed(reply: &Reply) -> Option<&str> {
    reply.header("access-control-allow-origin")
}

#[test]
fn allowed_origins_are_echoed_and_others_are_not() {
    rig::run(async |rig| {
        let origins = "https://app.example.com, https://*.partner.example:8443";
        rig.manifests.write(
            "cors.yaml",
            &[
                open("any").build(),
                open("some").annotation("cors-allow-origin", origins).build(),
                ingress("none").host("none.test", "web").build(),
            ],
        );
        rig.start().await;
        for (host, origin, expected) in [
            ("any", "https://whoever.example", Some("*")),
            ("some", "https://app.example.com", Some("https://app.example.com")),
            ("some", "https://eu.partner.example:8443", Some("https://eu.partner.example:8443")),
            ("some", "https://a.eu.partner.example:8443", None),
            ("some", "https://partner.example:8443", None),
            ("some", "http://app.example.com", None),
            ("some", "https://app.example.com.evil.example", None),
            ("some", "https://appxexample.com", None),
            ("none", "https://app.example.com", None),
        ] {
            let request = get(&format!("http://{host}.test/?status=404")).header("Origin", origin);
            let reply = request.send().await;
            assert_eq!(reply.status, 404);
            assert_eq!(allowed(&reply), expected, "{host} for {origin}");
        }
    });
}

#[test]
fn preflights_are_answered_without_the_backend() {
    rig::run(async |rig| {
        rig.manifests.write(
            "cors.yaml",
            &[
                open("api")
                    .annotation("cors-allow-origin", "https://app.example.com")
                    .annotation("cors-allow-methods", "GET, PUT")
                    .annotation("cors-allow-headers", "X-One, X-Two")
                    .annotation("cors-max-age", "600")
                    .build(),
                open("stars")
                    .annotation("cors-allow-origin", "https://app.example.com,")
                    .annotation("cors-allow-methods", "*")
                    .annotation("cors-allow-headers", "Authorization, *")
                    .annotation("cors-expose-headers", "*, X-CustomResponseHeader")
                    .build(),
            ],
        );
        rig.start().await;
        let reply = get("http://stars.test/").header("Origin", "https://app.example.com").send().await;
        assert_eq!(reply.header("access-control-expose-headers"), Some("*, X-CustomResponseHeader"));
        assert_eq!(reply.header("access-control-allow-methods"), Some("GET, PUT, POST, DELETE, PATCH, OPTIONS"));
        assert!(reply.header("access-control-allow-headers").is_some_and(|list| list.starts_with("DNT,Keep-Alive,")));
        let preflight = Request::new(Method::OPTIONS, "http://api.test/")
            .header("Origin", "https://app.example.com")
            .header("Access-Control-Request-Method", "PUT");
        let reply = preflight.send().await;
        assert_eq!((reply.status, reply.header("x-echo-address")), (204, None));
        for (name, value) in [
            ("access-control-allow-origin", "https://app.example.com"),
            ("access-control-allow-methods", "GET, PUT"),
            ("access-control-allow-headers", "X-One, X-Two"),
            ("access-control-allow-credentials", "true"),
            ("access-control-max-age", "600"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{name}");
        }
    });
}
