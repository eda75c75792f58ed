//! Canaries, sessions, hashing, limits, and certificates of clients and backends: their effects on
//! another namespace.

use serde_json::Value;

use super::hosts::SHOP;
use crate::row::{Ask, ROW, Row, STEP, Step, VICTIM_OLDER, ask, reported};
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;
use rig::authority::Authority;
use rig::manifests::{Ingress, in_namespace, secret, tls_secret};

/// A canary that wants everything that there is, by each of its means.
fn greedy(canary: Ingress) -> Ingress {
    let all =
        [("canary", "true"), ("canary-weight", "100"), ("canary-by-header", "X-Part"), ("canary-by-cookie", "part")];
    all.into_iter().fold(canary, |canary, (key, value)| canary.annotation(key, value))
}

const BY_HEADER: &[(&str, &str)] = &[("x-part", "always")];
const BY_COOKIE: &[(&str, &str)] = &[("cookie", "part=always; INGRESSCOOKIE=0123456789abcdef0123456789abcdef")];
const AWAY: &[(&str, &str)] = &[("x-part", "never")];

/// The shop for clients who would be a canary's.
const PARTS: &[Ask] = &[
    ask("http://shop.{h}/").gets("victim"),
    ask("http://shop.{h}/").with(BY_HEADER).gets("victim"),
    ask("http://shop.{h}/").with(BY_COOKIE).gets("victim"),
    ask("http://shop.{h}/admin").with(BY_HEADER).gets("403"),
    ask("http://shop.{h}/admin").with(BY_COOKIE).gets("403"),
    ask("http://shop.{h}/admin").with(BY_HEADER).from("10.244.5.7").gets("admin"),
];

/// The shop, and a canary of its own for those who ask for it.
fn with_canary(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let canary = scene.of_victim("part").host(&host, "admin").annotation("canary", "true");
    let canary = canary.annotation("canary-by-header", "X-Part").annotation("canary-by-cookie", "part");
    vec![scene.of_victim("shop").host(&host, "web").build(), canary.build()]
}

/// The shop, whose clients stay with an endpoint by the cookie `route`.
fn with_session(scene: &Scene) -> Vec<Value> {
    let shop = scene.of_victim("shop").host(&scene.host("shop"), "web").annotation("affinity", "cookie");
    vec![shop.annotation("session-cookie-name", "route").annotation("session-cookie-path", "/shop").build()]
}

/// Session cookies that another host may have set.
const ROUTES: &[(&str, &str)] = &[("cookie", "route=0123456789abcdef0123456789abcdef; route=x")];

/// The victim's Secret, as an object of another namespace names it.
fn of_the_victim(scene: &Scene) -> String {
    format!("{}/authority", scene.victim)
}

/// The shop, for clients with a certificate.
fn with_certificates_of_clients(scene: &Scene) -> Vec<Value> {
    let authority = secret("authority", "Opaque", &[("ca.crt", &Authority::new("victim").pem())]);
    let shop = scene.of_victim("shop").host(&scene.host("shop"), "web").annotation("auth-tls-secret", "authority");
    vec![shop.build(), in_namespace(&scene.victim, authority)]
}

/// A path of the victim's on a host without a certificate, for whose clients there is a rule.
fn asks_for_certificates(scene: &Scene, verify: &str) -> Vec<Value> {
    let authority = secret("authority", "Opaque", &[("ca.crt", &Authority::new("victim").pem())]);
    let shop = scene.of_victim("shop").path(&scene.host("shop"), "Prefix", "/here", "web");
    let shop = shop.annotation("auth-tls-secret", "authority").annotation("auth-tls-verify-client", verify);
    vec![shop.build(), in_namespace(&scene.victim, authority)]
}

/// A path of the attacker's beside it, with a certificate that names the host.
fn brings_a_certificate(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let attack = scene.of_evil("attack").path(&host, "Prefix", "/evil", "web").tls(&[&host], "pair");
    vec![attack.build(), in_namespace(&scene.evil, tls_secret("pair", &[&host]))]
}

/// A rule of the attacker's about clients of the shop's host, with a path that lets everybody in.
fn lets_in(scene: &Scene, verify: &str) -> Vec<Value> {
    let attack = scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/evil", "web");
    let attack = attack.annotation("auth-tls-verify-client", verify).annotation("auth-tls-secret", "authority");
    let authority = secret("authority", "Opaque", &[("ca.crt", &Authority::new("evil").pem())]);
    vec![attack.host(&scene.host("own"), "web").build(), in_namespace(&scene.evil, authority)]
}

pub const ROWS: &[Row] = &[
    Row {
        name: "canary-of-anothers-path",
        orders: VICTIM_OLDER,
        attack: |scene| {
            let host = scene.host("shop");
            let canary = scene.of_evil("attack").host(&host, "web").path(&host, "Exact", "/admin", "web");
            vec![greedy(canary).build()]
        },
        clients: PARTS,
        reported: &[reported("Ingress attack", &["CanaryWithoutMain"])],
        ..ROW
    },
    Row {
        name: "canary-beside-a-canary",
        victim: with_canary,
        // An older canary of the path is the one that counts, in its own namespace.
        attack: |scene| vec![greedy(scene.of_evil("attack").host(&scene.host("shop"), "web")).build()],
        clients: &[
            ask("http://shop.{h}/").gets("victim"),
            ask("http://shop.{h}/").with(BY_HEADER).gets("admin"),
            ask("http://shop.{h}/").with(BY_COOKIE).gets("admin"),
            ask("http://shop.{h}/").with(AWAY).gets("victim"),
        ],
        reported: &[reported("Ingress attack", &["CanaryWithoutMain"])],
        ..ROW
    },
    Row {
        name: "canary-that-is-none-any-more",
        victim: with_canary,
        attack: |scene| vec![greedy(scene.of_evil("attack").host(&scene.host("shop"), "web")).build()],
        clients: &[ask("http://shop.{h}/").gets("victim"), ask("http://shop.{h}/").with(BY_HEADER).gets("admin")],
        // A canary has no claim, so that what becomes of it has none of before.
        steps: &[Step {
            attack: Some(|scene| vec![scene.of_evil("attack").host(&scene.host("shop"), "web").build()]),
            reported: &[
                reported("Ingress attack", &["HostOwned"]).only(Namespace),
                reported("Ingress attack", &["PathConflict"]).only(Shared),
            ],
            ..STEP
        }],
        ..ROW
    },
    Row {
        name: "canary-and-main-below-anothers-path",
        attack: |scene| {
            let host = scene.host("shop");
            let main = scene.of_evil("main").path(&host, "Prefix", "/part", "web");
            vec![main.build(), greedy(scene.of_evil("attack").path(&host, "Prefix", "/part", "web")).build()]
        },
        clients: PARTS,
        during: &[ask("http://shop.{h}/part").with(BY_HEADER).by("victim", "evil")],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "cookie-of-anothers-session",
        victim: with_session,
        attack: |scene| {
            let attack = scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/evil", "web");
            let attack = attack.host(&scene.host("own"), "web").annotation("affinity", "cookie");
            let attack = attack.annotation("session-cookie-name", "route").annotation("session-cookie-path", "/");
            vec![attack.annotation("session-cookie-domain", &scene.fill("{h}")).build()]
        },
        clients: &[
            ask("http://shop.{h}/").gets("victim").cookie("route", "; Path=/shop; HttpOnly"),
            ask("http://shop.{h}/x").with(ROUTES).gets("victim").cookie("", ""),
        ],
        during: &[ask("http://own.{h}/").gets("evil").cookie("route", "; Path=/; Domain={h}; HttpOnly")],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "hashing-of-a-service-of-the-same-name",
        victim: |scene| {
            let shop = scene.of_victim("shop").host(&scene.host("shop"), "web");
            vec![shop.annotation("upstream-hash-by", "$request_uri").build()]
        },
        attack: |scene| {
            let own = |name: &str| scene.of_evil(name).host(&scene.host(name), "web");
            vec![
                own("hash").annotation("upstream-hash-by", "$request_uri").build(),
                own("cookie").annotation("affinity", "cookie").build(),
                own("address").annotation("upstream-hash-by", "$remote_addr$http_cookie").build(),
            ]
        },
        clients: &[
            ask("http://shop.{h}/").gets("victim").cookie("", ""),
            ask("http://shop.{h}/x?y=z").with(ROUTES).gets("victim").cookie("", ""),
        ],
        during: &[
            ask("http://hash.{h}/").gets("evil"),
            ask("http://cookie.{h}/").gets("evil").cookie("INGRESSCOOKIE", "; Path=/; HttpOnly"),
            ask("http://address.{h}/").gets("evil"),
        ],
        ..ROW
    },
    Row {
        name: "limits-beside-anothers-paths",
        attack: |scene| {
            let attack = scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/evil", "web");
            let attack = attack.annotation("limit-rpm", "1").annotation("limit-burst-multiplier", "1");
            vec![attack.annotation("limit-connections", "1").host(&scene.host("own"), "web").build()]
        },
        clients: SHOP,
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "certificate-of-another-for-backends",
        victim: with_certificates_of_clients,
        attack: |scene| {
            let object = |name: &str| {
                let object = scene.of_evil(name).host(&scene.host(name), "web");
                object.annotation("backend-protocol", "HTTPS").annotation("proxy-ssl-secret", &of_the_victim(scene))
            };
            let clients = scene.of_evil("clients").host(&scene.host("clients"), "web");
            vec![
                object("shown").build(),
                object("verified").annotation("proxy-ssl-verify", "on").build(),
                clients.annotation("auth-tls-secret", &of_the_victim(scene)).build(),
            ]
        },
        clients: &[ask("https://shop.{h}/").gets("400")],
        during: &[
            ask("http://shown.{h}/").gets("503"),
            ask("http://verified.{h}/").gets("503"),
            ask("https://clients.{h}/").gets("503"),
        ],
        reported: &[
            reported("Ingress shown", &["CrossNamespace"]),
            reported("Ingress verified", &["CrossNamespace"]),
            reported("Ingress clients", &["CrossNamespace"]),
        ],
        ..ROW
    },
    Row {
        name: "copies-to-another-service",
        attack: |scene| {
            let own = |name: &str| scene.of_evil(name).host(&scene.host(name), "web");
            let service = format!("http://web.{}.svc", scene.victim);
            vec![
                own("copies").annotation("mirror-target", &service).build(),
                own("itself").annotation("mirror-target", "http://127.0.0.1:10246/").build(),
                own("params")
                    .annotation("backend-protocol", "FCGI")
                    .annotation("fastcgi-params-configmap", &format!("{}/params", scene.victim))
                    .build(),
            ]
        },
        clients: SHOP,
        during: &[
            ask("http://copies.{h}/").gets("evil"),
            ask("http://itself.{h}/").gets("evil"),
            ask("http://params.{h}/").gets("503"),
        ],
        reported: &[
            reported("Ingress copies", &["CrossNamespace"]),
            reported("Ingress itself", &["MirrorLeftOut"]),
            reported("Ingress params", &["CrossNamespace"]),
        ],
        ..ROW
    },
    Row {
        name: "clients-without-certificate",
        orders: VICTIM_OLDER,
        victim: with_certificates_of_clients,
        attack: |scene| lets_in(scene, "off"),
        clients: &[ask("https://shop.{h}/").gets("400"), ask("http://shop.{h}/").gets("308")],
        during: &[ask("https://shop.{h}/evil").gets("400")],
        reported: &[reported("Ingress attack", &["HostOwned", "PathConflict"])],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "certificate-beside-a-rule",
        victim: |scene| asks_for_certificates(scene, "on"),
        attack: brings_a_certificate,
        clients: &[
            ask("http://shop.{h}/here").gets("308"),
            ask("http://shop.{h}/other").gets("308"),
            ask("https://shop.{h}/here").gets("400"),
        ],
        during: &[ask("https://shop.{h}/evil").gets("400")],
        allowed: &["TlsConflict"],
        ..ROW
    },
    Row {
        name: "certificate-beside-a-weak-rule",
        victim: |scene| asks_for_certificates(scene, "optional"),
        attack: brings_a_certificate,
        clients: &[ask("http://shop.{h}/here").gets("victim"), ask("https://shop.{h}/here").gets("victim")],
        allowed: &["TlsConflict"],
        ..ROW
    },
    Row {
        name: "clients-of-another-authority",
        victim: with_certificates_of_clients,
        attack: |scene| lets_in(scene, "optional_no_ca"),
        clients: &[ask("https://shop.{h}/").gets("400")],
        during: &[ask("https://shop.{h}/evil").gets("400")],
        reported: &[reported("Ingress attack", &["HostOwned", "PathConflict"])],
        allowed: &["SharedHost"],
        ..ROW
    },
];
