//! TLS passthrough to a Service: which namespace may take a host.

use serde_json::Value;

use crate::row::{ROW, Row, STEP, Step, VICTIM_OLDER, ask, reported};
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;
use rig::manifests::{Ingress, in_namespace, tls_secret};

/// The shop over TLS, plain as well; everything or one path.
fn with_tls(scene: &Scene, path: &str) -> Vec<Value> {
    let host = scene.host("shop");
    let shop = scene.of_victim("shop").path(&host, "Prefix", path, "web").tls(&[&host], "pair");
    let certificate = in_namespace(&scene.victim, tls_secret("pair", &[&host, "victim.test"]));
    vec![shop.annotation("ssl-redirect", "false").build(), certificate]
}

/// An object that has TLS of its hosts passed on, and has a host of its own, so that connections
/// are told apart at all.
fn passing(scene: &Scene) -> Ingress {
    scene.of_evil("attack").host(&scene.host("own"), "web").annotation("ssl-passthrough", "true")
}

const WITH_TLS: &[crate::row::Ask] =
    &[ask("https://shop.{h}/app").gets("victim").certificate("victim.test"), ask("http://shop.{h}/app").gets("victim")];

pub const ROWS: &[Row] = &[
    Row {
        name: "passing-anothers-host",
        orders: VICTIM_OLDER,
        victim: |scene| with_tls(scene, "/"),
        attack: |scene| vec![passing(scene).host(&scene.host("shop"), "web").build()],
        clients: WITH_TLS,
        reported: &[
            reported("Ingress attack", &["HostOwned"]).only(Namespace),
            reported("Ingress attack", &["PathConflict"]).only(Shared),
        ],
        ..ROW
    },
    Row {
        name: "passing-the-rest-of-anothers-host",
        orders: VICTIM_OLDER,
        victim: |scene| with_tls(scene, "/app"),
        attack: |scene| vec![passing(scene).host(&scene.host("shop"), "web").build()],
        clients: WITH_TLS,
        during: &[ask("https://shop.{h}/").by("default", "503")],
        reported: &[
            reported("Ingress attack", &["HostOwned"]).only(Namespace),
            reported("Ingress attack", &["ClosedRoute"]).words("asked for").only(Shared),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "passing-all-hosts-around-anothers",
        orders: VICTIM_OLDER,
        victim: |scene| with_tls(scene, "/"),
        attack: |scene| vec![passing(scene).host(&scene.host("*"), "web").build()],
        clients: WITH_TLS,
        ..ROW
    },
    Row {
        name: "passing-all-hosts-while-the-owner-is-away",
        orders: VICTIM_OLDER,
        victim: |scene| with_tls(scene, "/"),
        attack: |scene| vec![passing(scene).host(&scene.host("*"), "web").build()],
        steps: &[
            Step { victim: Some(|_| Vec::new()), asks: &[ask("https://shop.{h}/app")], ..STEP },
            Step { victim: Some(|scene| with_tls(scene, "/")), asks: WITH_TLS, ..STEP },
        ],
        ..ROW
    },
    Row {
        name: "passing-what-nobody-names",
        orders: VICTIM_OLDER,
        victim: |scene| with_tls(scene, "/"),
        attack: |scene| vec![passing(scene).host("", "web").build()],
        clients: WITH_TLS,
        during: &[ask("https://unknown.{h}/").certificate("!evil.test")],
        ..ROW
    },
];
