//! Services that authenticate requests: no namespace uses those of another, and none opens another
//! namespace's routes.

use serde_json::Value;

use super::hosts::SHOP;
use crate::row::{Ask, ROW, Row, ask, reported};
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;

/// A host of the attacker's own that has a service asked.
fn asking(scene: &Scene, url: &str) -> Vec<Value> {
    vec![scene.of_evil("attack").host(&scene.host("own"), "web").annotation("auth-url", url).build()]
}

/// The attacker's own host is closed.
const CLOSED: &[Ask] = &[ask("http://own.{h}/").gets("503")];

/// A shop whose authentication service is a path of the same host that no Ingress has yet.
fn asks_its_host(scene: &Scene) -> Vec<Value> {
    let shop = scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/", "web");
    vec![shop.annotation("auth-url", "https://$host/oauth2/auth").build()]
}

/// A shop whose authentication service is another path of the same host and namespace.
fn asks_its_own_service(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let shop = scene.of_victim("shop").path(&host, "Prefix", "/app", "web");
    let service = scene.of_victim("service").path(&host, "Prefix", "/oauth2", "admin");
    vec![shop.annotation("auth-url", "https://$host/oauth2/auth").build(), service.build()]
}

pub const ROWS: &[Row] = &[
    Row {
        name: "asks-another-service",
        attack: |scene| asking(scene, &format!("http://web.{}.svc.cluster.local/", scene.victim)),
        clients: SHOP,
        during: CLOSED,
        reported: &[reported("Ingress attack", &["CrossNamespace"])],
        ..ROW
    },
    Row {
        name: "asks-with-others-headers",
        attack: |scene| {
            let attack = scene.of_evil("attack").host(&scene.host("own"), "web");
            let attack = attack.annotation("auth-url", "http://10.244.2.1:8080/");
            vec![attack.annotation("auth-proxy-set-headers", &format!("{}/headers", scene.victim)).build()]
        },
        clients: SHOP,
        during: CLOSED,
        reported: &[reported("Ingress attack", &["CrossNamespace"])],
        ..ROW
    },
    Row {
        name: "answers-with-others-headers",
        attack: |scene| {
            let attack = scene.of_evil("attack").host(&scene.host("own"), "web");
            vec![attack.annotation("custom-headers", &format!("{}/headers", scene.victim)).build()]
        },
        clients: SHOP,
        during: CLOSED,
        reported: &[reported("Ingress attack", &["CrossNamespace"])],
        ..ROW
    },
    Row {
        name: "answers-for-another",
        victim: asks_its_host,
        attack: |scene| vec![scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/oauth2", "web").build()],
        clients: &[ask("http://shop.{h}/").gets("503"), ask("http://shop.{h}/deep/er").gets("503")],
        // Nothing younger of another namespace lies below what is protected.
        during: &[ask("http://shop.{h}/oauth2/auth").gets("503").only(Shared)],
        reported: &[reported("Ingress attack", &["HostOwned"]).only(Namespace)],
        allowed: &["CrossNamespace", "ClosedRoute", "MissingService", "SharedHost"],
        ..ROW
    },
    Row {
        name: "answers-below-anothers-service",
        victim: asks_its_own_service,
        attack: |scene| {
            let attack = scene.of_evil("attack").path(&scene.host("shop"), "Exact", "/oauth2/auth", "web");
            vec![attack.build()]
        },
        // The service of its own namespace lets clients in, whoever has the path for clients.
        clients: &[ask("http://shop.{h}/app").gets("victim"), ask("http://shop.{h}/oauth2/start").gets("admin")],
        during: &[ask("http://shop.{h}/oauth2/auth").by("admin", "evil")],
        reported: &[reported("Ingress attack", &["HostOwned"]).only(Namespace)],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "closed-below-anothers-service",
        victim: asks_its_own_service,
        // Nobody answers there.
        attack: |scene| {
            let attack = scene.of_evil("attack").path(&scene.host("shop"), "Exact", "/oauth2/auth", "none");
            vec![attack.build()]
        },
        clients: &[ask("http://shop.{h}/app").gets("victim")],
        during: &[ask("http://shop.{h}/oauth2/auth").by("admin", "503")],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "opts-out-for-another",
        victim: |scene| {
            let shop = scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/", "web");
            vec![shop.annotation("auth-url", "http://10.244.1.1:8080/?status=403").build()]
        },
        attack: |scene| {
            let attack = scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/mine", "web");
            let attack = attack.annotation("enable-global-auth", "false").annotation("satisfy", "any");
            vec![attack.annotation("auth-url", "http://10.244.2.1:8080/").build()]
        },
        clients: &[ask("http://shop.{h}/").gets("403"), ask("http://shop.{h}/deep/er").gets("403")],
        during: &[ask("http://shop.{h}/mine").gets("403").only(Shared)],
        reported: &[reported("Ingress attack", &["HostOwned"]).only(Namespace)],
        allowed: &["SharedHost"],
        ..ROW
    },
];
