//! Expressions, and annotations that make paths expressions: they concern only their own
//! namespace.

use serde_json::Value;

use super::hosts::SHOP;
use crate::row::{ROW, Row, STEP, Step, VICTIM_OLDER, ask, reported};
use crate::scene::Dialect::{IngressNginx, Specification};
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;

/// An attack by expressions on the shop's host.
fn expressions(scene: &Scene, paths: &[&str]) -> Vec<Value> {
    let attack = scene.of_evil("attack").annotation("use-regex", "true");
    let host = scene.host("shop");
    vec![paths.iter().fold(attack, |attack, path| attack.path(&host, "ImplementationSpecific", path, "web")).build()]
}

/// What the victim has anyway: a private path as Exact and as Prefix, and everything else.
fn private(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let list =
        scene.of_victim("private").path(&host, "Exact", "/exact", "admin").path(&host, "Prefix", "/below", "admin");
    vec![
        scene.of_victim("shop").host(&host, "web").build(),
        list.annotation("allowlist-source-range", "10.244.5.0/24").build(),
    ]
}

/// A victim that uses expressions itself.
fn own_expressions(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let shop = scene.of_victim("shop").annotation("use-regex", "true");
    let list = scene.of_victim("list").annotation("use-regex", "true");
    vec![
        shop.path(&host, "ImplementationSpecific", "/item/[0-9]+", "web").build(),
        list.path(&host, "ImplementationSpecific", "/item/secret", "admin")
            .annotation("allowlist-source-range", "10.244.5.0/24")
            .build(),
    ]
}

pub const ROWS: &[Row] = &[
    Row {
        name: "regex-mode",
        orders: VICTIM_OLDER,
        victim: private,
        attack: |scene| expressions(scene, &["/zzz(/|$)"]),
        clients: &[
            ask("http://shop.{h}/exact").gets("403"),
            ask("http://shop.{h}/exact").from("10.244.5.7").gets("admin"),
            ask("http://shop.{h}/exact/x").gets("victim"),
            ask("http://shop.{h}/exactx").gets("victim"),
            ask("http://shop.{h}/EXACT").gets("victim"),
            ask("http://shop.{h}/below/x").gets("403"),
            ask("http://shop.{h}/belowx").gets("victim"),
            ask("http://shop.{h}/BELOW").gets("victim"),
            ask("http://shop.{h}/").gets("victim"),
        ],
        during: &[ask("http://shop.{h}/zzz").by("victim", "evil")],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "regex-mode-by-rewrite",
        victim: private,
        attack: |scene| {
            let attack = scene.of_evil("attack").annotation("rewrite-target", "/$1");
            vec![attack.path(&scene.host("shop"), "ImplementationSpecific", "/zzz/(.*)", "web").build()]
        },
        clients: &[
            ask("http://shop.{h}/exact").gets("403"),
            ask("http://shop.{h}/exact/x").gets("victim"),
            ask("http://shop.{h}/below/x").gets("403"),
            ask("http://shop.{h}/belowx").gets("victim"),
            ask("http://shop.{h}/").gets("victim"),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "expression-of-everything",
        orders: VICTIM_OLDER,
        attack: |scene| expressions(scene, &["/.*", "/", "/.+", "/(.*)", "/?.*"]),
        clients: SHOP,
        during: &[ask("http://shop.{h}/x").with(&[("authorization", "Basic YTpi")]).gets("victim")],
        reported: &[reported("Ingress attack", &["HostOwned", "PathConflict", "SharedHost"])],
        ..ROW
    },
    Row {
        name: "expression-at-the-same-place",
        victim: private,
        attack: |scene| {
            expressions(scene, &["/exact", "/exac[t]", "/(exact|other)", "/below.*", "/BELOW/x", "/[a-z]+"])
        },
        clients: &[
            ask("http://shop.{h}/exact").gets("403"),
            ask("http://shop.{h}/exact").from("10.244.5.7").gets("admin"),
            ask("http://shop.{h}/below").gets("403"),
            ask("http://shop.{h}/below/x").gets("403"),
            ask("http://shop.{h}/below/x").from("10.244.5.7").gets("admin"),
            ask("http://shop.{h}/").gets("victim"),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "expression-against-expressions",
        victim: own_expressions,
        attack: |scene| {
            expressions(scene, &["/item/.*", "/item/[0-9a-z]{1,9}/?", "/[^x]+", "/item/secret", "/item/[0-9]+"])
        },
        clients: &[
            ask("http://shop.{h}/item/1").gets("victim"),
            ask("http://shop.{h}/item/secret").gets("403"),
            ask("http://shop.{h}/item/secret").from("10.244.5.7").gets("admin"),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "literal-against-expressions",
        victim: own_expressions,
        attack: |scene| {
            let host = scene.host("shop");
            let attack = scene.of_evil("attack").path(&host, "Exact", "/item/secret", "web");
            vec![attack.path(&host, "Prefix", "/item/secret/", "web").build()]
        },
        clients: &[
            ask("http://shop.{h}/item/1").gets("victim"),
            ask("http://shop.{h}/item/secret").gets("403"),
            ask("http://shop.{h}/item/secret").from("10.244.5.7").gets("admin"),
        ],
        reported: &[reported("Ingress attack", &["HostOwned", "PathConflict", "SharedHost"])],
        ..ROW
    },
    Row {
        name: "redirect-to-the-slash",
        // An expression, or a path that nginx takes for no plain location, ends no redirect of the
        // owner's.
        victim: |scene| {
            let host = scene.host("shop");
            let docs = scene.of_victim("docs").path(&host, "Prefix", "/docs/", "web");
            vec![docs.path(&host, "Exact", "/one/", "admin").path(&host, "Prefix", "/a b?\"$x{}/", "admin").build()]
        },
        attack: |scene| {
            let long = format!("/{}", "a".repeat(300));
            let text = scene.of_evil("text").path(&scene.host("shop"), "Prefix", &long, "web").build();
            [expressions(scene, &["/zzz", "/[a-z]+"]), vec![text]].concat()
        },
        clients: &[
            ask("http://shop.{h}/docs").gets("301").header("location", "http://shop.{h}/docs/").dialect(IngressNginx),
            ask("http://shop.{h}/docs?x=1")
                .gets("301")
                .header("location", "http://shop.{h}/docs/?x=1")
                .dialect(IngressNginx),
            ask("http://shop.{h}/one").gets("301").header("location", "http://shop.{h}/one/").dialect(IngressNginx),
            ask("http://shop.{h}/a%20b%3f%22$x%7b%7d")
                .gets("301")
                .header("location", "http://shop.{h}/a%20b%3F%22$x%7B%7D/")
                .dialect(IngressNginx),
            ask("http://shop.{h}/docs").gets("victim").dialect(Specification),
            ask("http://shop.{h}/docs/x").gets("victim"),
            ask("http://shop.{h}/DOCS/").never("victim"),
            ask("http://shop.{h}/one/").gets("admin"),
            ask("http://shop.{h}/one/x").never("admin"),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "expression-below",
        victim: |scene| vec![scene.of_victim("shop").host(&scene.host("shop"), "web").build()],
        attack: |scene| expressions(scene, &["/free/[a-z]+"]),
        clients: &[
            ask("http://shop.{h}/").gets("victim"),
            ask("http://shop.{h}/fre").gets("victim"),
            ask("http://shop.{h}/x/free/y").gets("victim"),
        ],
        during: &[ask("http://shop.{h}/free/a").by("victim", "evil")],
        reported: &[
            reported("Ingress shop", &["SharedHost"]).to_victim().words("/free").only(Shared),
            reported("Ingress attack", &["HostOwned"]).only(Namespace),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "expression-below-a-protected-path",
        victim: private,
        attack: |scene| expressions(scene, &["/below/[a-z]+", "/below/open(/.*)?"]),
        clients: &[
            ask("http://shop.{h}/below/a").gets("403"),
            ask("http://shop.{h}/below/open").gets("403"),
            ask("http://shop.{h}/below/open").from("10.244.5.7").gets("admin"),
            ask("http://shop.{h}/").gets("victim"),
        ],
        reported: &[reported("Ingress attack", &["HostOwned", "PathConflict"])],
        ..ROW
    },
    Row {
        name: "two-expression-users",
        // Each namespace's expressions are evaluated as if the others were not there.
        only: Some(Shared),
        victim: |scene| {
            let host = scene.host("shop");
            let shop = scene.of_victim("shop").annotation("use-regex", "true");
            vec![shop.path(&host, "ImplementationSpecific", "/v/[a-z]+", "web").build()]
        },
        attack: |scene| expressions(scene, &["/w/[a-z]+", "/.*"]),
        clients: &[ask("http://shop.{h}/v/a").gets("victim")],
        during: &[ask("http://shop.{h}/w/a").gets("evil")],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "order-of-own-expressions",
        // In which order the owner's are tried does not depend on who else asks for the host.
        victim: |scene| {
            let host = scene.host("shop");
            let shop = scene.of_victim("shop").annotation("use-regex", "true");
            let shop = shop.path(&host, "Exact", "/b", "admin").path(&host, "ImplementationSpecific", "/B", "web");
            let shop = shop.path(&host, "Exact", "/", "web").path(&host, "Exact", "/A", "admin");
            vec![shop.path(&host, "ImplementationSpecific", "/[x-z]+/x", "web").build()]
        },
        attack: |scene| expressions(scene, &["/a(/|$)(.*)", "/[a-z]+"]),
        clients: &[
            ask("http://shop.{h}/A").gets("admin"),
            ask("http://shop.{h}/b").gets("admin"),
            ask("http://shop.{h}/").gets("victim"),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "order-of-own-paths",
        // The same holds for an expression and a text that stand for the same paths, and for a
        // shorter and a longer one.
        victim: |scene| {
            let host = scene.host("shop");
            let rewrite = scene.of_victim("a-rewrite").annotation("rewrite-target", "/target");
            let rewrite = rewrite.annotation("use-regex", "true").path(&host, "ImplementationSpecific", "/", "web");
            let rewrite = rewrite.path(&host, "ImplementationSpecific", "/.own", "web");
            let rewrite = rewrite.path(&host, "ImplementationSpecific", "/A", "admin").build();
            vec![rewrite, scene.of_victim("b-text").path(&host, "Prefix", "/.own", "admin").build()]
        },
        attack: |scene| {
            vec![scene.of_evil("attack").path(&scene.host("shop"), "ImplementationSpecific", "/other", "web").build()]
        },
        clients: &[
            ask("http://shop.{h}/.own").gets("victim").dialect(IngressNginx),
            ask("http://shop.{h}/.own/x").gets("victim").dialect(IngressNginx),
            ask("http://shop.{h}/A").gets("admin"),
            ask("http://shop.{h}/a/x").gets("admin").dialect(IngressNginx),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "later-path-under-foreign-expressions",
        attack: |scene| expressions(scene, &["/zzz/.*", "/new.*", "/.*"]),
        clients: SHOP,
        // What the victim adds while the attack stands belongs to it as far as it is below its own
        // older path.
        steps: &[Step {
            victim: Some(|scene| {
                let new = scene.later("later").path(&scene.host("shop"), "Exact", "/private", "admin");
                [scene.shop(), vec![new.annotation("allowlist-source-range", "10.244.5.0/24").build()]].concat()
            }),
            asks: &[
                ask("http://shop.{h}/private").gets("403"),
                ask("http://shop.{h}/private").from("10.244.5.7").gets("admin"),
            ],
            ..STEP
        }],
        allowed: &["SharedHost"],
        ..ROW
    },
];
