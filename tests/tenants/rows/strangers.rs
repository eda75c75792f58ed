//! What a stranger protects, takes by letters, or wants certificates for, on a host of the victim.

use serde_json::{Value, json};

use super::hosts::SHOP;
use crate::row::{ROW, Row, STEP, Step, VICTIM_OLDER, ask, reported};
use crate::scene::Order;
use crate::scene::Ownership::Shared;
use crate::scene::Scene;

/// Addresses that no client of the rows has.
const NOBODY: &str = "192.0.2.0/24";

/// An attack by protected paths of the shop's host.
fn protected(scene: &Scene, paths: &[&str]) -> Vec<Value> {
    let attack = scene.of_evil("attack").annotation("allowlist-source-range", NOBODY);
    let host = scene.host("shop");
    vec![paths.iter().fold(attack, |attack, path| attack.path(&host, "Prefix", path, "web")).build()]
}

/// An expression for each letter and digit with which a path may begin.
fn letters(scene: &Scene) -> Vec<Value> {
    let attack = scene.of_evil("attack").annotation("use-regex", "true");
    let host = scene.host("shop");
    let letters = ('a'..='z').chain('0'..='9').map(|letter| format!("/{letter}.*"));
    let others = ["/[.].*", "/_.*", "/-.*", "/%.*", "/~.*"].map(str::to_owned);
    let paths = letters.chain(others);
    vec![paths.fold(attack, |attack, path| attack.path(&host, "ImplementationSpecific", &path, "web")).build()]
}

pub const ROWS: &[Row] = &[
    Row {
        name: "protection-of-a-stranger",
        orders: VICTIM_OLDER,
        only: Some(Shared),
        attack: |scene| protected(scene, &["/.well-known/acme-challenge", "/api"]),
        clients: SHOP,
        during: &[ask("http://shop.{h}/.well-known/acme-challenge/token").gets("victim")],
        reported: &[reported("Ingress attack", &["PathConflict"]).words("hosts.challenges")],
        steps: &[Step {
            victim: Some(|scene| {
                let host = scene.host("shop");
                let solver = scene.later("solver").path(&host, "Exact", "/.well-known/acme-challenge/token", "admin");
                let later = scene.later("later").path(&host, "Prefix", "/api/v2", "admin").build();
                [scene.shop(), vec![solver.build(), later]].concat()
            }),
            asks: &[
                ask("http://shop.{h}/.well-known/acme-challenge/token").gets("admin"),
                ask("http://shop.{h}/api/v2/x").gets("admin"),
                ask("http://shop.{h}/api/v1").gets("403"),
            ],
            ..STEP
        }],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "expressions-for-all-letters",
        orders: VICTIM_OLDER,
        attack: letters,
        clients: SHOP,
        during: &[
            ask("http://shop.{h}/login").with(&[("cookie", "session=1")]).gets("victim"),
            ask("http://shop.{h}/9/x").gets("victim"),
            ask("http://shop.{h}/.well-known/acme-challenge/token").gets("victim"),
        ],
        reported: &[reported("Ingress attack", &["HostOwned", "PathConflict"])],
        ..ROW
    },
    Row {
        name: "letters-in-regex-mode",
        orders: VICTIM_OLDER,
        attack: |scene| {
            let host = scene.host("shop");
            let mode = scene.of_evil("mode").annotation("use-regex", "true");
            let mode = mode.path(&host, "ImplementationSpecific", "/team(/|$)(.*)", "web").build();
            vec![scene.of_evil("attack").path(&host, "Prefix", "/l", "web").build(), mode]
        },
        clients: SHOP,
        during: &[
            ask("http://shop.{h}/login").gets("victim"),
            ask("http://shop.{h}/l/x").by("victim", "evil"),
            ask("http://shop.{h}/teams").gets("victim"),
            ask("http://shop.{h}/team/x").by("victim", "evil"),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "challenges-below-everything",
        orders: VICTIM_OLDER,
        victim: |scene| vec![scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/shop", "web").build()],
        attack: |scene| {
            let attack = scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/", "web");
            vec![attack.path(&scene.host("shop"), "Prefix", "/.well-known", "web").build()]
        },
        clients: &[
            ask("http://shop.{h}/shop").gets("victim"),
            ask("http://shop.{h}/.well-known/acme-challenge/token").gets("default"),
            ask("http://shop.{h}/.well-known/acme-challenge").gets("default"),
        ],
        during: &[ask("http://shop.{h}/x").by("default", "evil")],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "wildcard-with-protection",
        orders: &[Order::AttackerFirst],
        only: Some(Shared),
        attack: |scene| {
            let attack = scene.of_evil("attack").annotation("allowlist-source-range", NOBODY);
            vec![attack.host(&scene.host("*"), "web").build()]
        },
        during: SHOP,
        ..ROW
    },
    Row {
        name: "external-name-of-a-victim",
        attack: |scene| {
            let name = format!("web.{}.svc.cluster.local", scene.victim);
            let service = json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "other", "namespace": scene.evil},
                "spec": {"type": "ExternalName", "externalName": name, "ports": [{"port": 80}]},
            });
            vec![scene.of_evil("attack").host(&scene.host("own"), "other").build(), service]
        },
        clients: SHOP,
        during: &[ask("http://own.{h}/").gets("503")],
        reported: &[reported("Ingress attack", &["CrossNamespace"])],
        ..ROW
    },
];
