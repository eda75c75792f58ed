//! Options of a whole host that one object sets, through the real nginx.

use serde_json::{Value, json};

use rig::Rig;
use rig::client::get;
use rig::manifests::{Ingress, ingress, tls_secret};
use rig::status::{quarantined, reports};

const AES128: &str = "ECDHE-ECDSA-AES128-GCM-SHA256";
const AES256: &str = "ECDHE-ECDSA-AES256-GCM-SHA384";
const CHACHA: &str = "ECDHE-ECDSA-CHACHA20-POLY1305";

/// An object of the host `HOST.test` from this year.
fn object(name: &str, year: u16, host: &str) -> Ingress {
    let ingress = ingress(name).created(&format!("{year}-01-01T00:00:00Z"));
    ingress.path(&format!("{host}.test"), "Prefix", &format!("/{name}"), "web")
}

/// The cipher that a client gets from a host, as the client calls it, without what all of them
/// have.
async fn cipher(host: &str) -> String {
    let peer = get(&format!("https://{host}.test/")).send().await.peer.unwrap();
    assert_eq!(peer.version, "TLSv1_2");
    peer.cipher.replace("TLS_ECDHE_ECDSA_WITH_", "")
}

async fn start(rig: &mut Rig, objects: Vec<Ingress>) {
    rig.daemon.set("ingress-nginx.configmap", "default/controller");
    let data = json!({ "ssl-protocols": "TLSv1.2", "ssl-ciphers": AES256 });
    let mut all = vec![
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "controller" }, "data": data }),
        tls_secret("cert", &["own.test", "order.test"]),
    ];
    all.extend(objects.into_iter().map(Ingress::build));
    rig.manifests.write("objects.yaml", &all);
    rig.start().await;
}

#[test]
fn ciphers_are_those_of_the_host_and_else_those_of_the_config_map() {
    rig::run(async |rig| {
        let of = |name: &str, year: u16, host: &str, ciphers: &str| {
            object(name, year, host).annotation("ssl-ciphers", ciphers)
        };
        let objects = vec![
            object("plain", 2020, "plain"),
            // The host uses the default certificate, which it has to name itself to have ciphers
            // of its own.
            of("bare", 2020, "bare", AES128),
            of("own", 2020, "own", AES128).tls(&["own.test"], "cert"),
            of("younger", 2021, "own", CHACHA),
            of("order", 2020, "order", &format!("{CHACHA}:{AES128}:{AES256}")).tls(&["order.test"], "cert"),
            of("client", 2020, "client", &format!("{CHACHA}:{AES256}"))
                .annotation("ssl-prefer-server-ciphers", "false"),
        ];
        start(rig, objects).await;
        for (host, expected) in [
            ("plain", "AES_256_GCM_SHA384"),
            ("bare", "AES_128_GCM_SHA256"),
            ("own", "AES_128_GCM_SHA256"),
            ("order", "CHACHA20_POLY1305_SHA256"),
            // This client prefers AES256.
            ("client", "AES_256_GCM_SHA384"),
        ] {
            assert_eq!(cipher(host).await, expected, "{host}");
        }
        let reported = |status: &Value| reports(status, "Ingress younger", "HostRuleConflict");
        rig.daemon.status_when("the younger object's finding", reported).await;
    });
}

#[test]
fn ciphers_that_do_not_exist_harm_their_object_alone() {
    rig::run(async |rig| {
        let bad = |ciphers: &str| object("bad", 2020, "bad").annotation("ssl-ciphers", ciphers);
        start(rig, vec![object("plain", 2020, "plain")]).await;
        rig.manifests.write("bad.yaml", &[bad(AES128).build()]);
        get("https://bad.test/")
            .send_until("ciphers", |reply| reply.peer.as_ref().is_some_and(|peer| peer.cipher.contains("AES_128")))
            .await;
        rig.manifests.write("bad.yaml", &[bad("NO-SUCH-CIPHER").build(), object("new", 2021, "new").build()]);
        rig.daemon.status_when("a quarantined object", |status| quarantined(status) == ["Ingress bad"]).await;
        get("https://new.test/new").send_until("the new object", |reply| reply.status == 200).await;
        assert_eq!(cipher("bad").await, "AES_128_GCM_SHA256");
        assert_eq!(cipher("plain").await, "AES_256_GCM_SHA384");
    });
}

#[test]
fn a_host_has_other_names_another_beginning_and_a_name_with_www() {
    rig::run(async |rig| {
        let shop = |name: &str, path: &str| {
            let base =
                ingress(name).class("nginx").path("shop.test", "Prefix", path, "web").tls(&["shop.test"], "cert");
            base.annotation("ssl-redirect", "false")
        };
        rig.manifests.write(
            "objects.yaml",
            &[
                tls_secret("cert", &["shop.test", "www.shop.test", "alias.test", "safe.test", "www.safe.test"]),
                ingress("safe")
                    .class("nginx")
                    .path("safe.test", "Prefix", "/", "web")
                    .tls(&["safe.test"], "cert")
                    .annotation("from-to-www-redirect", "true")
                    .build(),
                shop("main", "/")
                    .annotation("server-alias", "alias.test, *.alias.test, taken.test")
                    .annotation("from-to-www-redirect", "true")
                    .annotation("app-root", "/start")
                    .build(),
                shop("api", "/api").annotation("permanent-redirect", "https://api.example/").build(),
                ingress("taken").class("nginx").path("taken.test", "Prefix", "/", "web").build(),
                ingress("www")
                    .class("nginx")
                    .path("www.plain.test", "Prefix", "/", "web")
                    .annotation("from-to-www-redirect", "true")
                    .build(),
            ],
        );
        rig.start().await;
        for (url, status, location) in [
            ("http://shop.test/x", 200, None),
            ("http://shop.test/", 302, Some("/start")),
            ("https://shop.test/?a=b", 302, Some("/start")),
            ("http://alias.test/x", 200, None),
            ("https://alias.test/", 302, Some("/start")),
            ("http://any.alias.test/x", 200, None),
            // Other objects of the namespace have their paths there too.
            ("http://alias.test/api", 301, Some("https://api.example/")),
            // A host keeps the options of an object with a rule for it.
            ("http://taken.test/", 200, None),
            ("http://taken.test/api", 200, None),
            ("http://www.shop.test/a?b=c", 308, Some("http://shop.test/a?b=c")),
            ("https://www.shop.test/", 308, Some("https://shop.test/")),
            // A browser is told by https what holds for both hosts.
            ("http://www.safe.test/a?b=c", 308, Some("https://www.safe.test/a?b=c")),
            ("https://www.safe.test/a?b=c", 308, Some("https://safe.test/a?b=c")),
            ("http://plain.test/", 308, Some("http://www.plain.test/")),
            ("http://www.plain.test/", 200, None),
        ] {
            let reply = get(url).send().await;
            assert_eq!((reply.status, reply.header("location")), (status, location), "{url}");
        }
        // The certificate that covers a name is served for it.
        for host in ["alias.test", "www.shop.test"] {
            let peer = get(&format!("https://{host}/x")).send().await.peer.unwrap();
            assert!(peer.names.iter().any(|name| name == host), "{host}: {:?}", peer.names);
        }
    });
}
