//! A tenant's mistakes of each sort at the API server: it gets Events about them, and no other
//! tenant does.

use serde_json::{Value, json};

use rig::ECHO;
use rig::client::get;
use rig::cluster;
use rig::cluster::objects::ADDRESS;
use rig::manifests::{Ingress, in_namespace, ingress, secret, service_at, tls_secret};
use rig::wait;

/// Names of the victim's that no Event on an object of another namespace contains. Both sides name
/// the victim's host.
const TREASURES: &[&str] = &["treasure", "vault", "jewel"];

/// A mistake in an object of the attacker's, the reason of its Event, and words of the cause and
/// of the remedy in its note.
type Wrong = (&'static str, fn(Ingress) -> Ingress, &'static str, &'static [&'static str]);

const WRONGS: &[Wrong] = &[
    (
        "costly",
        |own| expression(own, "/(a+)+[b]"),
        "InvalidPath",
        &["its repetitions can take the same characters in too many ways", "503"],
    ),
    ("unreadable", |own| expression(own, "/x("), "InvalidPath", &["503"]),
    // Our own reader accepts this expression, and PCRE does not.
    ("refused", |own| expression(own, "/x(?<=a+)"), "Quarantined", &["lookbehind assertion is not fixed length"]),
    // nginx names no line of it.
    (
        "contradicting",
        |own| own.annotation("proxy-buffer-size", "64k").annotation("proxy-busy-buffers-size", "1k"),
        "Quarantined",
        &["busy_buffers"],
    ),
    (
        "garbage",
        |own| own.tls(&["garbage.example"], "garbage"),
        "InvalidCertificate",
        &["tls.key holds no private key"],
    ),
    ("missing", |own| own.tls(&["missing.example"], "none"), "MissingSecret", &["none"]),
    (
        "many",
        |own| (0..6).fold(own, |own, number| own.path("many.example", "Exact", &format!("/{number}"), "web")),
        "OverBudget",
        &["limits.object-paths"],
    ),
    (
        "long",
        |own| own.annotation("allowlist-source-range", "10.0.0.0/8,10.1.0.0/16,x"),
        "InvalidSecurityValue",
        &["503"],
    ),
    ("foreign", |own| own.path("shop.example", "Prefix", "/", "web"), "PathConflict", &["another namespace"]),
    (
        "others",
        |own| own.annotation("auth-type", "basic").annotation("auth-secret", "@VICTIM@/users"),
        "CrossNamespace",
        &["another namespace"],
    ),
    ("ceiling", |own| own.annotation("client-body-buffer-size", "1g"), "AboveCeiling", &["limits.body-buffer"]),
    ("alias", |own| own.annotation("server-alias", "~(a+)+$"), "RefusedValue", &["too many ways"]),
];

fn expression(own: Ingress, path: &str) -> Ingress {
    own.annotation("use-regex", "true").path("expression.example", "ImplementationSpecific", path, "web")
}

fn text<'e>(event: &'e Value, field: &str) -> &'e str {
    event[field].as_str().unwrap_or_default()
}

#[test]
fn the_event_of_a_mistake_is_on_its_object_alone_with_cause_and_remedy() {
    cluster::run(async |cluster| {
        cluster.daemon.set("limits.object-paths", "5");
        cluster.objects.serve("vault", &["10.244.0.1"]).await;
        let shop = ingress("jewel").class("nginx").host("shop.example", "vault").tls(&["shop.example"], "treasure");
        let users = secret("users", "Opaque", &[("auth", "a:$apr1$x$vxlZ.6wQkoYjY5ZDKOuOA0\n")]);
        cluster.objects.apply_all([tls_secret("treasure", &["shop.example"]), users]).await;
        cluster.objects.apply(shop.annotation("ssl-redirect", "false")).await;
        cluster.start().await;
        cluster.objects.until_published("jewel", &[ADDRESS]).await;

        let namespace = format!("evil-{}", cluster.objects.namespace());
        cluster.objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
        let evil = cluster.objects.in_namespace(&namespace);
        let garbage = secret("garbage", "kubernetes.io/tls", &[("tls.crt", "garbage"), ("tls.key", "garbage")]);
        for object in service_at("web", &["10.244.0.2"], ECHO).into_iter().chain([garbage]) {
            cluster.objects.apply(in_namespace(&namespace, object)).await;
        }
        for (name, wrong, ..) in WRONGS {
            let own = ingress(name).class("nginx").host(&format!("{name}.example"), "web");
            let mut object: Value = wrong(own).namespace(&namespace).build();
            for value in object["metadata"]["annotations"].as_object_mut().into_iter().flat_map(|all| all.values_mut())
            {
                *value = value.as_str().unwrap().replace("@VICTIM@", cluster.objects.namespace()).into();
            }
            cluster.objects.apply(object).await;
        }
        for (name, _, reason, words) in WRONGS {
            let found = async || {
                let all = evil.events().await.into_iter();
                let about = all.filter(|event| event["regarding"]["name"] == *name && text(event, "type") == "Warning");
                about
                    .map(|event| (text(&event, "reason").to_owned(), text(&event, "note").to_owned()))
                    .collect::<Vec<_>>()
            };
            let is_reported = |(reported, note): &(String, String)| {
                reported == reason && words.iter().all(|word| note.contains(word))
            };
            wait::until_right(&format!("{reason} of {name}"), found, |found| found.iter().any(is_reported)).await;
        }

        // An Event about a later mistake reaches the victim. Before that it got no Event but those
        // which say that its object is served.
        let broken =
            ingress("later").class("nginx").host("later.example", "vault").annotation("proxy-read-timeout", "soon");
        cluster.objects.apply(broken).await;
        let reported = async || cluster.objects.events().await;
        let is_reported = |all: &Vec<Value>| {
            all.iter().any(|event| event["regarding"]["name"] == "later" && text(event, "type") == "Warning")
        };
        let of_victim = wait::until_right("what the victim is told", reported, is_reported).await;
        let others: Vec<_> = of_victim
            .iter()
            .filter(|event| event["regarding"]["name"] != "later" && text(event, "reason") != "Synced")
            .collect();
        assert!(others.is_empty(), "{others:#?}");
        for event in evil.events().await {
            let note = text(&event, "note");
            assert!(TREASURES.iter().all(|name| !note.contains(name)), "{note}");
            // A path on the node would lead readers of Events nowhere.
            assert!(!note.contains("docs/findings.md#"), "{note}");
        }
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        assert_eq!(cluster.objects.addresses("jewel").await, [ADDRESS]);
        evil.clear().await;
    });
}
