//! Redirects.
use rig::client::get;
use rig::manifests::{Ingress, ingress, tls_secret};
use rig::status::notes;

fn secured(name: &str, class: &str) -> Ingress {
    let host = format!("{name}.test");
    ingress(name).class(class).host(&host, "web").tls(&[&host], "certificate")
}

#[test]
fn plain_requests_are_sent_to_https() {
    rig::run(async |rig| {
        rig.manifests.write(
            "redirects.yaml",
            &[
                tls_secret("certificate", &["*.test"]),
                secured("spec", "ingressd").build(),
                secured("nginx", "nginx").build(),
                secured("off", "nginx").annotation("ssl-redirect", "false").build(),
                ingress("plain").host("plain.test", "web").build(),
                ingress("forced").host("forced.test", "web").annotation("force-ssl-redirect", "true").build(),
            ],
        );
        rig.start().await;
        for (url, status, location) in [
            ("http://spec.test/a/?b=c", 308, Some("https://spec.test/a/?b=c")),
            ("http://nginx.test/a?b=c", 308, Some("https://nginx.test/a?b=c")),
            ("http://nginx.test/a/", 308, Some("https://nginx.test/a")),
            ("http://off.test/", 200, None),
            ("http://plain.test/", 200, None),
            ("http://forced.test/x", 308, Some("https://forced.test/x")),
            ("https://spec.test/", 200, None),
            ("https://forced.test/", 200, None),
        ] {
            let reply = get(url).send().await;
            assert_eq!((reply.status, reply.header("location")), (status, location), "{url}");
        }
    });
}

#[test]
fn annotations_send_elsewhere() {
    rig::run(async |rig| {
        let moved = |name: &str, annotations: &[(&str, &str)]| {
            let base = ingress(name).host(&format!("{name}.test"), "web");
            annotations.iter().fold(base, |ingress, (key, value)| ingress.annotation(key, value)).build()
        };
        let target = "https://new.example/x?y=1";
        rig.manifests.write(
            "redirects.yaml",
            &[
                moved("permanent", &[("permanent-redirect", target)]),
                moved("coded", &[("permanent-redirect", target), ("permanent-redirect-code", "308")]),
                moved("temporal", &[("temporal-redirect", target)]),
                moved("both", &[("temporal-redirect", target), ("permanent-redirect", "https://other.example/")]),
            ],
        );
        rig.start().await;
        for (host, status) in [("permanent", 301), ("coded", 308), ("temporal", 302), ("both", 302)] {
            let reply = get(&format!("http://{host}.test/any")).send().await;
            assert_eq!((reply.status, reply.header("location")), (status, Some(target)), "{host}");
        }
    });
}

#[test]
fn a_redirect_takes_over_groups_and_variables() {
    rig::run(async |rig| {
        let moved = |name: &str, target: &str| {
            let host = format!("{name}.test");
            let moved = ingress(name).class("nginx").path(&host, "ImplementationSpecific", "/(older|old)(/.*)?", "web");
            // This asks tables with expressions of their own before.
            let moved = moved.annotation("enable-cors", "true").annotation("force-ssl-redirect", "true");
            moved.tls(&[&host], "certificate").annotation("use-regex", "true").annotation("permanent-redirect", target)
        };
        let plain = |name: &str, target: &str| {
            ingress(name).class("nginx").host(&format!("{name}.test"), "web").annotation("temporal-redirect", target)
        };
        rig.manifests.write(
            "moved.yaml",
            &[
                tls_secret("certificate", &["*.test"]),
                moved("group", "https://new.example/$1/x$2?from=$host").build(),
                moved("path", "/new/$1").build(),
                // What follows the slash could be another host.
                moved("slashes", "/$2").build(),
                plain("whole", "https://new.example$request_uri").build(),
                plain("own", "$scheme://$host/moved$uri").build(),
                plain("literal", "https://new.example/$1").build(),
            ],
        );
        rig.start().await;
        for (url, location) in [
            ("https://group.test/older/a%20b", "https://new.example/older/x/a%20b?from=group.test"),
            ("https://group.test/old", "https://new.example/old/x?from=group.test"),
            ("https://path.test/old/a", "https://path.test/new/old"),
            ("https://slashes.test/old/evil.test", "https://slashes.test//evil.test"),
            ("http://whole.test/a?b=%20", "https://new.example/a?b=%20"),
            ("http://own.test/a", "http://own.test/moved/a"),
        ] {
            let reply = get(url).header("Origin", "https://other.test").send().await;
            assert_eq!(reply.header("location"), Some(location), "{url}");
        }
        // Its path is no expression, so there is no group.
        assert_eq!(get("http://literal.test/a").send().await.status, 404);
        let status = rig.daemon.status().await.unwrap();
        assert!(notes(&status, "Ingress literal", "RefusedValue")[0].contains("set use-regex"), "{status}");
    });
}

#[test]
fn strict_transport_security_follows_the_dialect() {
    rig::run(async |rig| {
        rig.manifests.write(
            "hsts.yaml",
            &[
                tls_secret("certificate", &["*.test"]),
                secured("spec", "ingressd").build(),
                secured("nginx", "nginx").build(),
            ],
        );
        rig.start().await;
        let header = async |url: &str| {
            let backend = "?header=Strict-Transport-Security:max-age%3D1";
            let reply = get(&format!("{url}{backend}")).send().await;
            reply.header("strict-transport-security").map(str::to_owned)
        };
        // A header of the backend is passed on where we set none, and replaced where we do.
        assert_eq!(header("https://spec.test/").await.as_deref(), Some("max-age=1"));
        assert_eq!(header("https://nginx.test/").await.as_deref(), Some("max-age=31536000; includeSubDomains"));
        assert_eq!(get("http://nginx.test/").send().await.header("strict-transport-security"), None);
    });
}
