//! Regular expressions for hosts, through the real nginx.

use rig::ECHO;
use rig::client::get;
use rig::manifests::{Ingress, in_namespace, ingress, service_at, tls_secret};

/// An object of the ingress-nginx dialect, which asks for its hosts since this year.
fn object(namespace: &str, name: &str, year: u16) -> Ingress {
    ingress(name).namespace(namespace).class("nginx").created(&format!("{year}-01-01T00:00:00Z"))
}

#[test]
fn an_expression_takes_the_hosts_that_nobody_has() {
    rig::run(async |rig| {
        rig.serve(&["shops", "team"]);
        let mut objects = service_at("team", &["10.244.1.2"], ECHO).map(|object| in_namespace("team", object)).to_vec();
        objects.extend([
            tls_secret("cert", &["shops.test"]),
            object("default", "shops", 2020)
                .host("shops.test", "shops")
                .tls(&["shops.test"], "cert")
                .annotation("server-alias", r"~^[a-z]{2}[.a-z]*-shop\.test$")
                .build(),
            object("default", "moved", 2020)
                .path("shops.test", "Prefix", "/moved", "shops")
                .annotation("permanent-redirect", "https://moved.example/")
                .build(),
            object("team", "hosts", 2021).host("taken-shop.test", "team").host("*.x-shop.test", "team").build(),
            object("team", "broken", 2021).host("kept-shop.test", "team").annotation("server-alias", "a b").build(),
            object("team", "rest", 2022).host("rest.test", "team").annotation("server-alias", r"~., ~^(\d+)$").build(),
        ]);
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        for (url, status, location) in [
            ("http://my-shop.test/x?y", 308, Some("https://my-shop.test/x?y")),
            ("https://my-shop.test/moved", 301, Some("https://moved.example/")),
            ("http://shops.test/x", 308, Some("https://shops.test/x")),
        ] {
            let reply = get(url).send().await;
            assert_eq!((reply.status, reply.header("location")), (status, location), "{url}");
        }
        let long = format!("{}-shop.test", "a".repeat(250));
        rig.expect([
            (get("https://my-shop.test/"), "shops"),
            (get("https://MY.other-shop.test/"), "shops"),
            // These are other hosts of that namespace, whatever the expression says.
            (get("http://taken-shop.test/"), "team"),
            (get("http://ab.x-shop.test/"), "team"),
            (get("http://kept-shop.test/"), "404"),
            // The older expression leaves these hosts to it.
            (get("http://1-shop.test/"), "team"),
            (get("http://my-shop.test.evil/"), "team"),
            // These are the node itself, and texts that are no hosts.
            (get("http://x.test/").header("host", "192.0.2.1"), "404"),
            (get("http://x.test/").header("host", "[2001:db8::1]"), "404"),
            (get("http://x.test/").header("host", &long), "404"),
        ])
        .await;
        let peer = get("https://my-shop.test/").send().await.peer.unwrap();
        assert_eq!(peer.names, ["shops.test"], "the certificate of the host");

        // The command shows the owner of a host that only an expression matches, and of one
        // without a rule.
        let reported = |host: &str| {
            let mut command = rig.daemon.command("status");
            let output = command.args(["--host", host]).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        let (code, text) = reported("my-shop.test");
        let takes = "expression  ~^[a-z]{2}[.a-z]*-shop\\.test$ takes it, because nobody has this name\n\
                     expression  ~. would take it next\n";
        assert!(code == Some(0) && text.contains(takes), "{text}");
        assert!(text.contains("default/shops  ok") && !text.contains("team/rest"), "{text}");
        let (_, text) = reported("1-shop.test");
        assert!(text.contains("expression  ~. takes it") && text.contains("team/rest  ok"), "{text}");
        for named in ["taken-shop.test", "ab.x-shop.test", "kept-shop.test"] {
            assert!(!reported(named).1.contains("expression"), "{named}");
        }

        // An Ingress that names one of the hosts gets it.
        rig.manifests.write("late.yaml", &[object("team", "late", 2023).host("my-shop.test", "team").build()]);
        get("http://my-shop.test/").send_until("the host's own answer", |reply| reply.status == 200).await;
        rig.expect([(get("https://our-shop.test/"), "shops")]).await;
    });
}
