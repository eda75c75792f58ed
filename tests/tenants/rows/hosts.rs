//! Claims on hosts and paths: which namespace has them, and since when.

use serde_json::Value;

use crate::row::{Ask, ROW, Row, STEP, Step, VICTIM_OLDER, ask, reported};
use crate::scene::Order;
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;

/// The shop as its clients know it.
pub const SHOP: &[Ask] = &[
    ask("http://shop.{h}/").gets("victim"),
    ask("http://shop.{h}/deep/er?x=1").gets("victim"),
    ask("http://shop.{h}/admin").gets("403"),
    ask("http://shop.{h}/admin").from("10.244.5.7").gets("admin"),
    ask("http://shop.{h}/admin/x").gets("victim"),
    ask("http://shop.{h}/adminx").gets("victim"),
];

/// The finding about a refused claim.
const REFUSED: &[&str] = &["HostOwned", "PathConflict"];

/// An attack that only adds paths to the shop's host: path types and paths.
fn claims(scene: &Scene, paths: &[(&str, &str)]) -> Vec<Value> {
    let attack = scene.of_evil("attack").host(&scene.host("own"), "web");
    let host = scene.host("shop");
    vec![paths.iter().fold(attack, |attack, (kind, path)| attack.path(&host, kind, path, "web")).build()]
}

/// The attacker's own host, which no other Ingress names.
const OWN: Ask = ask("http://own.{h}/").gets("evil");

pub const ROWS: &[Row] = &[
    Row {
        name: "same-host",
        orders: VICTIM_OLDER,
        attack: |scene| claims(scene, &[("Prefix", "/")]),
        clients: SHOP,
        during: &[OWN],
        reported: &[
            reported("Ingress attack", &["HostOwned"]).only(Namespace),
            reported("Ingress attack", &["PathConflict"]).only(Shared),
        ],
        ..ROW
    },
    Row {
        name: "same-path-any-type",
        orders: VICTIM_OLDER,
        attack: |scene| {
            claims(
                scene,
                &[
                    ("Exact", "/"),
                    ("ImplementationSpecific", "/"),
                    ("Prefix", "/admin"),
                    ("Prefix", "/admin/"),
                    ("ImplementationSpecific", "/admin"),
                    ("Exact", "/admin/"),
                ],
            )
        },
        clients: SHOP,
        reported: &[reported("Ingress attack", REFUSED)],
        ..ROW
    },
    Row {
        name: "same-path-trailing-slash",
        victim: |scene| {
            let host = scene.host("shop");
            vec![scene.of_victim("shop").path(&host, "Prefix", "/a", "web").path(&host, "Exact", "/b/", "web").build()]
        },
        attack: |scene| {
            claims(scene, &[("Exact", "/a"), ("Exact", "/a/"), ("Prefix", "/a/"), ("Exact", "/b"), ("Prefix", "/b")])
        },
        clients: &[
            ask("http://shop.{h}/a").gets("victim"),
            ask("http://shop.{h}/a/").gets("victim"),
            ask("http://shop.{h}/a/x").gets("victim"),
            ask("http://shop.{h}/b/").gets("victim"),
            ask("http://shop.{h}/b"),
            ask("http://shop.{h}/b/x"),
        ],
        reported: &[reported("Ingress attack", REFUSED)],
        ..ROW
    },
    Row {
        name: "host-in-capitals",
        attack: |scene| {
            let host = scene.host("shop").to_uppercase();
            vec![scene.of_evil("attack").host(&host, "web").path(&host, "Exact", "/admin", "web").build()]
        },
        clients: SHOP,
        reported: &[reported("Ingress attack", &[])],
        ..ROW
    },
    Row {
        name: "free-path-of-a-host",
        only: Some(Namespace),
        victim: |scene| vec![scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/shop", "web").build()],
        attack: |scene| claims(scene, &[("Prefix", "/free"), ("Exact", "/")]),
        clients: &[
            ask("http://shop.{h}/shop").gets("victim"),
            ask("http://shop.{h}/free").gets("default"),
            ask("http://shop.{h}/").gets("default"),
        ],
        during: &[OWN],
        reported: &[reported("Ingress attack", &["HostOwned"]).words("!web")],
        ..ROW
    },
    Row {
        name: "free-path-of-a-shared-host",
        only: Some(Shared),
        victim: |scene| vec![scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/shop", "web").build()],
        attack: |scene| claims(scene, &[("Prefix", "/free")]),
        clients: &[ask("http://shop.{h}/shop").gets("victim"), ask("http://shop.{h}/").gets("default")],
        during: &[OWN, ask("http://shop.{h}/free").gets("evil")],
        ..ROW
    },
    Row {
        name: "path-below",
        orders: VICTIM_OLDER,
        victim: |scene| vec![scene.of_victim("shop").host(&scene.host("shop"), "web").build()],
        attack: |scene| claims(scene, &[("Prefix", "/login"), ("Prefix", "/.well-known/acme-challenge")]),
        clients: &[ask("http://shop.{h}/").gets("victim"), ask("http://shop.{h}/loginx").gets("victim")],
        during: &[
            ask("http://shop.{h}/login").by("victim", "evil"),
            ask("http://shop.{h}/.well-known/acme-challenge/token").gets("victim"),
        ],
        reported: &[
            reported("Ingress shop", &["SharedHost"]).to_victim().words("/").only(Shared),
            reported("Ingress attack", &["HostOwned"]).only(Namespace),
            reported("Ingress attack", &["PathConflict"]).words("hosts.challenges").only(Shared),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "below-a-protected-path",
        victim: |scene| {
            let list = |name: &str, path: &str| {
                let object = scene.of_victim(name).path(&scene.host("shop"), "Prefix", path, "web");
                object.annotation("allowlist-source-range", "10.244.5.0/24").build()
            };
            let closed = scene.of_victim("closed").path(&scene.host("shop"), "Prefix", "/closed", "web");
            vec![list("list", "/list"), closed.annotation("allowlist-source-range", "everybody").build()]
        },
        attack: |scene| {
            claims(
                scene,
                &[
                    ("Prefix", "/list/open"),
                    ("Exact", "/list/exact"),
                    ("ImplementationSpecific", "/list/other"),
                    ("Prefix", "/closed/open"),
                ],
            )
        },
        clients: &[
            ask("http://shop.{h}/list").gets("403"),
            ask("http://shop.{h}/list/open").gets("403"),
            ask("http://shop.{h}/list/exact").gets("403"),
            ask("http://shop.{h}/list/other").gets("403"),
            ask("http://shop.{h}/list/open").from("10.244.5.7").gets("victim"),
            ask("http://shop.{h}/closed/open").gets("503"),
        ],
        reported: &[reported("Ingress attack", REFUSED)],
        allowed: &["InvalidSecurityValue", "ClosedRoute"],
        ..ROW
    },
    Row {
        name: "below-a-password",
        victim: |scene| {
            let object = scene.of_victim("shop").host(&scene.host("shop"), "web");
            let object = object.annotation("auth-type", "basic").annotation("auth-secret", "users").build();
            let users = rig::manifests::secret("users", "Opaque", &[("auth", "a:$apr1$x$vxlZ.6wQkoYjY5ZDKOuOA0\n")]);
            vec![object, rig::manifests::in_namespace(&scene.victim, users)]
        },
        attack: |scene| {
            claims(scene, &[("Prefix", "/open"), ("Exact", "/exact"), ("ImplementationSpecific", "/other")])
        },
        clients: &[
            ask("http://shop.{h}/").gets("401"),
            ask("http://shop.{h}/open").gets("401"),
            ask("http://shop.{h}/exact").gets("401"),
            ask("http://shop.{h}/other").gets("401"),
        ],
        reported: &[reported("Ingress attack", REFUSED)],
        ..ROW
    },
    Row {
        name: "exact-host-below-a-wildcard",
        orders: VICTIM_OLDER,
        only: Some(Namespace),
        victim: |scene| vec![scene.of_victim("shop").host(&scene.host("*"), "web").build()],
        attack: |scene| vec![scene.of_evil("attack").host(&scene.host("login"), "web").build()],
        clients: &[ask("http://login.{h}/").gets("victim"), ask("http://other.{h}/").gets("victim")],
        reported: &[reported("Ingress attack", &["HostOwned"])],
        ..ROW
    },
    Row {
        // A host stays with its namespace for a while, also where another namespace has the
        // wildcard above it.
        name: "wildcard-while-the-owner-is-away",
        orders: VICTIM_OLDER,
        attack: |scene| vec![scene.of_evil("attack").host(&scene.host("*"), "web").build()],
        clients: &[ask("http://shop.{h}/"), ask("http://shop.{h}/admin")],
        during: &[ask("http://shop.{h}/").gets("victim"), ask("http://other.{h}/").gets("evil")],
        steps: &[
            Step {
                victim: Some(|_| Vec::new()),
                asks: &[ask("http://shop.{h}/"), ask("http://other.{h}/").gets("evil")],
                ..STEP
            },
            Step { victim: Some(Scene::shop), asks: SHOP, ..STEP },
        ],
        ..ROW
    },
    Row {
        name: "wildcard-above-an-exact-host",
        victim: |scene| {
            let host = scene.host("shop");
            vec![scene.of_victim("shop").path(&host, "Prefix", "/here", "web").build()]
        },
        attack: |scene| vec![scene.of_evil("attack").host(&scene.host("*"), "web").build()],
        clients: &[ask("http://shop.{h}/here").gets("victim"), ask("http://shop.{h}/other").gets("default")],
        during: &[ask("http://other.{h}/").gets("evil")],
        ..ROW
    },
    Row {
        name: "default-backend-of-a-host",
        victim: |scene| vec![scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/here", "web").build()],
        attack: |scene| {
            let mut attack = scene.of_evil("attack").default_backend("web").build();
            attack["spec"]["rules"] = serde_json::json!([{"host": scene.host("shop")}]);
            vec![attack]
        },
        clients: &[ask("http://shop.{h}/here").gets("victim")],
        during: &[ask("http://shop.{h}/other").gets("default").only(Namespace)],
        reported: &[reported("Ingress attack", &["HostOwned"]).only(Namespace)],
        ..ROW
    },
    Row {
        name: "settings-of-a-host",
        attack: |scene| {
            let attack = scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/evil", "web");
            let attack = attack.annotation("force-ssl-redirect", "true").annotation("custom-headers", "evil/none");
            vec![attack.annotation("app-root", "/evil").annotation("proxy-body-size", "1").build()]
        },
        clients: SHOP,
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "redirect-from-www",
        attack: |scene| {
            let attack = scene.of_evil("attack").host(&scene.host("www.shop"), "web");
            vec![attack.annotation("from-to-www-redirect", "true").build()]
        },
        clients: SHOP,
        ..ROW
    },
    Row {
        name: "redirect-of-the-shop-from-www",
        orders: &[Order::Young, Order::Edited, Order::SameSecond],
        victim: |scene| {
            let shop = scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/", "web");
            vec![shop.annotation("from-to-www-redirect", "true").build()]
        },
        attack: |scene| {
            let asks = scene.of_evil("asks").path(&scene.host("shop"), "Prefix", "/evil", "web");
            vec![
                asks.annotation("from-to-www-redirect", "true").build(),
                scene.of_evil("attack").host(&scene.host("www.shop"), "web").build(),
            ]
        },
        clients: &[ask("http://www.shop.{h}/").gets("308"), ask("http://www.shop.{h}/x").gets("308")],
        reported: &[
            reported("Ingress attack", &["HostOwned"]).only(Namespace),
            reported("Ingress attack", &["PathConflict"]).only(Shared),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "start-of-anothers-expression",
        // The attacker has the host, and the victim everything but one path of it.
        orders: &[Order::AttackerFirst],
        only: Some(Shared),
        victim: |scene| {
            let shop = scene.of_victim("shop").path(&scene.host("shop"), "ImplementationSpecific", "/(.*)", "web");
            vec![shop.annotation("use-regex", "true").build()]
        },
        attack: |scene| vec![scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/evil", "web").build()],
        during: &[ask("http://shop.{h}/").gets("victim"), ask("http://shop.{h}/x").gets("victim")],
        steps: &[Step {
            attack: Some(|scene| {
                let attack = scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/evil", "web");
                vec![attack.annotation("app-root", "/evil").build()]
            }),
            asks: &[ask("http://shop.{h}/").gets("victim"), ask("http://shop.{h}/x").gets("victim")],
            reported: &[reported("Ingress attack", &["HostRuleConflict"])],
            ..STEP
        }],
        ..ROW
    },
    Row {
        name: "root-of-a-shop-with-a-start",
        victim: |scene| {
            let shop = scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/start", "web");
            vec![shop.annotation("app-root", "/start").build()]
        },
        attack: |scene| claims(scene, &[("Exact", "/"), ("Prefix", "/")]),
        clients: &[ask("http://shop.{h}/").gets("302"), ask("http://shop.{h}/start").gets("victim")],
        during: &[OWN],
        ..ROW
    },
    Row {
        name: "alias-of-a-host",
        attack: |scene| {
            let attack = scene.of_evil("attack").host(&scene.host("own"), "web");
            vec![attack.annotation("server-alias", &scene.host("shop")).build()]
        },
        clients: SHOP,
        reported: &[reported("Ingress attack", &[])],
        ..ROW
    },
    Row {
        name: "expression-for-hosts",
        attack: |scene| {
            let attack = scene.of_evil("attack").host(&scene.host("own"), "web");
            let all = format!(r"~\.{}$", scene.fill("{h}").replace('.', r"\."));
            vec![attack.annotation("server-alias", &all).build()]
        },
        clients: SHOP,
        during: &[OWN, ask("http://unknown.{h}/").gets("default")],
        reported: &[
            reported("Ingress attack", &["HostNotAllowed"]).only(Namespace),
            reported("Ingress attack", &["HostOwned"]).only(Shared),
        ],
        ..ROW
    },
    Row {
        name: "first-come",
        orders: &[Order::AttackerFirst],
        victim: |scene| {
            let host = scene.host("shop");
            vec![
                scene.of_victim("shop").host(&host, "web").build(),
                scene.of_victim("other").host(&scene.host("other"), "web").build(),
            ]
        },
        attack: |scene| claims(scene, &[("Prefix", "/")]),
        during: &[ask("http://shop.{h}/").gets("evil"), ask("http://other.{h}/").gets("victim")],
        reported: &[
            reported("Ingress shop", &["HostOwned"]).to_victim().only(Namespace),
            reported("Ingress shop", &["PathConflict"]).to_victim().only(Shared),
        ],
        ..ROW
    },
    Row {
        name: "made-anew",
        orders: VICTIM_OLDER,
        // The date is later than that of the duplicate that waits.
        victim: shop_alone,
        attack: |scene| claims(scene, &[("Prefix", "/")]),
        during: &[ask("http://shop.{h}/").gets("victim")],
        steps: &[
            Step { victim: Some(|_| Vec::new()), asks: &[ask("http://shop.{h}/"), ask("http://shop.{h}/x")], ..STEP },
            Step { victim: Some(made_anew), asks: &[ask("http://shop.{h}/").gets("victim")], ..STEP },
        ],
        ..ROW
    },
    Row {
        name: "gone-over-a-restart",
        victim: shop_alone,
        attack: |scene| claims(scene, &[("Prefix", "/")]),
        during: &[ask("http://shop.{h}/").gets("victim")],
        steps: &[Step { victim: Some(|_| Vec::new()), asks: &[ask("http://shop.{h}/")], ..STEP }],
        ..ROW
    },
    Row {
        name: "path-taken-back",
        // The victim gives a path up for a moment, as a rollback of a release does.
        victim: |scene| {
            let host = scene.host("shop");
            vec![scene.of_victim("shop").path(&host, "Prefix", "/a", "web").path(&host, "Prefix", "/b", "web").build()]
        },
        attack: |scene| claims(scene, &[("Prefix", "/b")]),
        clients: &[ask("http://shop.{h}/a").gets("victim")],
        during: &[ask("http://shop.{h}/b").gets("victim")],
        steps: &[
            Step {
                victim: Some(|scene| {
                    vec![scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/a", "web").build()]
                }),
                asks: &[ask("http://shop.{h}/b")],
                ..STEP
            },
            Step {
                victim: Some(|scene| {
                    let host = scene.host("shop");
                    let shop = scene.of_victim("shop").path(&host, "Prefix", "/a", "web");
                    vec![shop.path(&host, "Prefix", "/b", "web").build()]
                }),
                asks: &[ask("http://shop.{h}/b").gets("victim")],
                ..STEP
            },
        ],
        ..ROW
    },
];

fn shop_alone(scene: &Scene) -> Vec<Value> {
    vec![scene.of_victim("shop").host(&scene.host("shop"), "web").build()]
}

fn made_anew(scene: &Scene) -> Vec<Value> {
    vec![scene.later("shop").host(&scene.host("shop"), "web").build()]
}
