//! Namespaces that ask for more than they may have on a host: only they go without.

use serde_json::Value;

use super::hosts::SHOP;
use crate::row::{Ask, ROW, Row, STEP, Step, ask, reported};
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;

/// So many paths, or expressions, of one namespace on one host are allowed where these rows are
/// tried.
pub const SETTINGS: &[(&str, &str)] = &[("limits.paths-of-host", "6"), ("limits.expressions-of-host", "4")];

/// Twelve paths of the attacker on the shop's host, each in an object of its own, the first to
/// come first.
fn many(scene: &Scene, kind: &str, path: fn(usize) -> String) -> Vec<Value> {
    let object = |number: usize| {
        let object = scene.of_evil(&format!("attack-{number:02}"));
        let object = if kind == "Prefix" { object } else { object.annotation("use-regex", "true") };
        object.path(&scene.host("shop"), kind, &path(number), "web").build()
    };
    (0..12).map(object).collect()
}

/// What the victim adds while the attack stands: a path that is protected, and one that is an
/// expression.
fn private(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let list = |name: &str| scene.later(name).annotation("allowlist-source-range", "10.244.5.0/24");
    let expression = list("expression").annotation("use-regex", "true");
    let new = [
        list("private").path(&host, "Exact", "/private", "admin").build(),
        expression.path(&host, "ImplementationSpecific", "/hidden/[a-z]+", "admin").build(),
    ];
    [scene.shop(), new.to_vec()].concat()
}

const PRIVATE: &[Step] = &[Step {
    victim: Some(private),
    asks: &[
        ask("http://shop.{h}/private").gets("403"),
        ask("http://shop.{h}/private").from("10.244.5.7").gets("admin"),
        ask("http://shop.{h}/hidden/x").gets("403"),
        ask("http://shop.{h}/hidden/x").from("10.244.5.7").gets("admin"),
    ],
    ..STEP
}];

/// What is within the limit is served, and what is over it is as if it had not been asked for.
const COUNTED: &[Ask] =
    &[ask("http://shop.{h}/e/0/x").by("victim", "evil"), ask("http://shop.{h}/e/11/x").gets("victim")];

/// What the shop's own expressions do not change.
const STEADY: &[Ask] = &[
    ask("http://shop.{h}/").gets("victim"),
    ask("http://shop.{h}/deep/er?x=1").gets("victim"),
    ask("http://shop.{h}/admin").gets("403"),
    ask("http://shop.{h}/admin").from("10.244.5.7").gets("admin"),
];

const OVER: Row = Row {
    clients: STEADY,
    during: COUNTED,
    steps: PRIVATE,
    reported: &[
        reported("Ingress attack-11", &["TooManyPaths"]).only(Shared),
        reported("Ingress attack-11", &["HostOwned"]).only(Namespace),
    ],
    allowed: &["SharedHost"],
    ..ROW
};

pub const ROWS: &[Row] = &[
    Row { name: "paths-of-a-host", attack: |scene| many(scene, "Prefix", |number| format!("/e/{number}")), ..OVER },
    Row {
        name: "expressions-of-a-host",
        attack: |scene| many(scene, "ImplementationSpecific", |number| format!("/e/{number}/[a-z]+")),
        ..OVER
    },
    Row {
        name: "expressions-beside-expressions",
        // The owner has nearly as many as it may have.
        victim: |scene| {
            let object = scene.of_victim("expressions").annotation("use-regex", "true");
            let own = |object, number| {
                let path = format!("/own/{number}/[a-z]+");
                rig::manifests::Ingress::path(object, &scene.host("shop"), "ImplementationSpecific", &path, "admin")
            };
            [scene.shop(), vec![(0..3).fold(object, own).build()]].concat()
        },
        attack: |scene| many(scene, "ImplementationSpecific", |number| format!("/e/{number}/[a-z]+")),
        clients: &[
            ask("http://shop.{h}/").gets("victim"),
            ask("http://shop.{h}/admin").gets("403"),
            ask("http://shop.{h}/own/0/x").gets("admin"),
            ask("http://shop.{h}/own/2/x").gets("admin"),
        ],
        steps: &[],
        reported: &[
            reported("Ingress attack-11", &["TooManyPaths"]).only(Shared),
            reported("Ingress attack-11", &["HostOwned"]).only(Namespace),
            // The victim has five of six paths of its own, whatever the others have.
            reported("Ingress shop", &["NearBudget"]).to_victim().words("limits.paths-of-host"),
        ],
        allowed: &["SharedHost", "NearBudget"],
        ..OVER
    },
    Row {
        name: "left-out-and-protected",
        // The namespace is over the limit on a host of its own: what was to be protected is closed
        // and not open.
        attack: |scene| {
            let host = scene.host("own");
            let own = |number: usize| scene.of_evil("own").path(&host, "Prefix", &format!("/p/{number}"), "web");
            let open = (1..5).fold(own(0).host(&host, "web"), |object, number| {
                object.path(&host, "Prefix", &format!("/p/{number}"), "web")
            });
            let list = scene.of_evil("private").path(&host, "Prefix", "/private", "web");
            let list = list.annotation("allowlist-source-range", "10.244.5.0/24");
            vec![open.build(), list.path(&host, "Prefix", "/other", "web").build()]
        },
        clients: SHOP,
        during: &[
            ask("http://own.{h}/").gets("evil"),
            ask("http://own.{h}/private/x").gets("503"),
            ask("http://own.{h}/other").from("10.244.5.7").gets("503"),
        ],
        steps: &[],
        reported: &[reported("Ingress private", &["TooManyPaths"])],
        ..OVER
    },
];
