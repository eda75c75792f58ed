//! Certificates, and objects without a host: which certificate is shown, and which object answers
//! for hosts that no other has.

use serde_json::{Value, json};

use super::hosts::SHOP;
use crate::row::{ROW, Row, STEP, Step, VICTIM_OLDER, ask, reported};
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;
use rig::manifests::{in_namespace, secret, tls_secret};

/// The shop over TLS, plain as well.
fn with_tls(scene: &Scene) -> Vec<Value> {
    let host = scene.host("shop");
    let shop = scene.of_victim("shop").host(&host, "web").tls(&[&host], "pair").annotation("ssl-redirect", "false");
    vec![shop.build(), certificate(&scene.victim, &[&host, "victim.test"])]
}

fn certificate(namespace: &str, hosts: &[&str]) -> Value {
    in_namespace(namespace, tls_secret("pair", hosts))
}

/// A Secret with a certificate for these names that ended long ago.
fn ended(name: &str, hosts: &[&str]) -> Value {
    let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut parameters = rcgen::CertificateParams::new(hosts).unwrap();
    (parameters.not_before, parameters.not_after) =
        (rcgen::date_time_ymd(2020, 1, 1), rcgen::date_time_ymd(2021, 1, 1));
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    secret(name, "kubernetes.io/tls", &[("tls.crt", &certificate.pem()), ("tls.key", &key.serialize_pem())])
}

/// An attack by an entry of `spec.tls` with a certificate for these names.
fn by_certificate(scene: &Scene, path: Option<&str>, names: &[&str]) -> Vec<Value> {
    let host = scene.host("shop");
    let attack = scene.of_evil("attack").host(&scene.host("own"), "web").tls(&[&host], "pair");
    let attack = path.iter().fold(attack, |attack, path| attack.path(&host, "Prefix", path, "web"));
    vec![attack.annotation("ssl-redirect", "false").build(), certificate(&scene.evil, names)]
}

const WITH_TLS: &[crate::row::Ask] =
    &[ask("https://shop.{h}/").gets("victim").certificate("victim.test"), ask("http://shop.{h}/").gets("victim")];

/// A host that no Ingress names, and a host without a certificate.
const DEFAULTS: &[crate::row::Ask] = &[
    ask("https://unknown.{h}/").certificate("!evil.test"),
    ask("https://shop.{h}/").certificate("!evil.test"),
    ask("http://unknown.{h}/").never("evil"),
];

/// An authority of the attacker's, and a rule about clients on the shop's host, beside a path that
/// is free.
fn by_authority(scene: &Scene, verify: &str, is_there: bool) -> Vec<Value> {
    let attack = scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/evil", "web");
    let attack = attack.annotation("auth-tls-secret", "authority").annotation("auth-tls-verify-client", verify);
    let key = rcgen::KeyPair::generate().unwrap();
    let authority = rcgen::CertificateParams::new(vec!["evil.test".to_owned()]).unwrap().self_signed(&key).unwrap();
    let secret = in_namespace(&scene.evil, secret("authority", "Opaque", &[("ca.crt", &authority.pem())]));
    [attack.annotation("ssl-redirect", "false").build()].into_iter().chain(is_there.then_some(secret)).collect()
}

pub const ROWS: &[Row] = &[
    Row {
        name: "certificates-of-clients-for-anothers-host",
        orders: VICTIM_OLDER,
        victim: with_tls,
        attack: |scene| by_authority(scene, "on", true),
        clients: WITH_TLS,
        during: &[ask("https://shop.{h}/evil").by("victim", "503"), ask("http://shop.{h}/evil").by("victim", "503")],
        reported: &[
            reported("Ingress attack", &["HostOwned"]).only(Namespace),
            reported("Ingress attack", &["ClosedRoute"]).only(Shared),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "broken-certificates-of-clients-for-anothers-host",
        orders: VICTIM_OLDER,
        victim: with_tls,
        attack: |scene| by_authority(scene, "optional", false),
        clients: WITH_TLS,
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "certificate-for-another-name",
        victim: with_tls,
        attack: |scene| by_certificate(scene, Some("/evil"), &["evil.test"]),
        clients: WITH_TLS,
        reported: &[reported("Ingress attack", &["HostOwned"]).only(Namespace)],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "certificate-that-is-none",
        orders: VICTIM_OLDER,
        victim: with_tls,
        attack: |scene| {
            let garbage =
                [("tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), ("tls.key", "garbage")];
            let mut objects = by_certificate(scene, Some("/evil"), &["evil.test"]);
            objects[1] = in_namespace(&scene.evil, secret("pair", "kubernetes.io/tls", &garbage));
            objects
        },
        clients: WITH_TLS,
        during: &[ask("https://shop.{h}/evil").by("victim", "evil").certificate("victim.test")],
        reported: &[
            reported("Ingress attack", &["HostOwned"]).only(Namespace),
            reported("", &["TlsConflict"]).only(Shared),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "certificate-that-has-ended",
        orders: VICTIM_OLDER,
        victim: with_tls,
        attack: |scene| {
            let mut objects = by_certificate(scene, Some("/evil"), &["evil.test"]);
            objects[1] = in_namespace(&scene.evil, ended("pair", &["evil.test", &scene.host("shop")]));
            objects
        },
        clients: WITH_TLS,
        during: &[ask("https://shop.{h}/evil").by("victim", "evil").certificate("victim.test")],
        reported: &[
            reported("Ingress attack", &["HostOwned"]).only(Namespace),
            reported("Ingress attack", &["TlsConflict"]).only(Shared),
        ],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "certificate-for-the-same-name",
        orders: VICTIM_OLDER,
        victim: with_tls,
        attack: |scene| by_certificate(scene, Some("/evil"), &["evil.test", &scene.host("shop"), &scene.host("*")]),
        clients: WITH_TLS,
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "certificate-without-a-route",
        victim: with_tls,
        attack: |scene| by_certificate(scene, None, &["evil.test", &scene.host("shop")]),
        clients: WITH_TLS,
        ..ROW
    },
    Row {
        name: "certificate-for-a-host-without-one",
        attack: |scene| by_certificate(scene, None, &["evil.test", &scene.host("shop")]),
        clients: SHOP,
        during: &[ask("https://shop.{h}/").gets("victim").certificate("!evil.test")],
        ..ROW
    },
    Row {
        name: "mismatch-for-a-host-without-one",
        attack: |scene| by_certificate(scene, Some("/evil"), &["evil.test"]),
        clients: SHOP,
        during: &[ask("https://shop.{h}/").gets("victim").certificate("!evil.test")],
        reported: &[reported("Ingress attack", &["HostOwned", "CertificateHostMismatch"])],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "own-certificate-for-another-name",
        // The certificate is never served, not even to the namespace that brought it: the default
        // one is.
        attack: |scene| {
            let host = scene.host("own");
            let own = scene.of_evil("own").host(&host, "web").tls(&[&host], "pair").annotation("ssl-redirect", "false");
            vec![own.build(), certificate(&scene.evil, &["evil.test"])]
        },
        clients: SHOP,
        during: &[ask("https://own.{h}/").gets("evil").certificate("!evil.test")],
        reported: &[reported("Ingress own", &["CertificateHostMismatch"])],
        ..ROW
    },
    Row {
        name: "certificate-that-turns-bad",
        // The victim's renewed certificate is for another name by mistake: one that names the host
        // goes before it, whose ever it is.
        victim: with_tls,
        attack: |scene| by_certificate(scene, Some("/evil"), &["evil.test", &scene.host("shop")]),
        clients: &[ask("http://shop.{h}/").gets("victim")],
        during: &[ask("https://shop.{h}/").certificate("victim.test")],
        steps: &[Step {
            victim: Some(|scene| {
                let mut objects = with_tls(scene);
                objects[1] = certificate(&scene.victim, &["mistaken.test"]);
                objects
            }),
            asks: &[ask("https://shop.{h}/").gets("victim")],
            ..STEP
        }],
        allowed: &["SharedHost"],
        ..ROW
    },
    Row {
        name: "tls-without-a-host",
        attack: |scene| {
            let mut attack = scene.of_evil("attack").host(&scene.host("own"), "web").build();
            attack["spec"]["tls"] = json!([{"secretName": "pair"}, {"hosts": ["*"], "secretName": "pair"}]);
            let host = scene.host("unknown");
            vec![attack, certificate(&scene.evil, &["evil.test", &host])]
        },
        clients: SHOP,
        during: DEFAULTS,
        ..ROW
    },
    Row {
        name: "rule-without-a-host",
        orders: VICTIM_OLDER,
        attack: |scene| {
            let mut attack = scene.of_evil("attack").path("", "Prefix", "/", "web").default_backend("web").build();
            attack["spec"]["tls"] = json!([{"secretName": "pair"}]);
            vec![attack, certificate(&scene.evil, &["evil.test"])]
        },
        clients: SHOP,
        during: &[
            ask("https://unknown.{h}/").gets("default").certificate("!evil.test"),
            ask("http://unknown.{h}/").gets("default"),
            ask("http://unknown.{h}/x/y").gets("default"),
            ask("https://shop.{h}/").gets("victim").certificate("!evil.test"),
        ],
        reported: &[reported("Ingress attack", &[])],
        ..ROW
    },
    Row {
        name: "default-backend-alone",
        attack: |scene| vec![scene.of_evil("attack").default_backend("web").build()],
        clients: SHOP,
        during: &[ask("http://unknown.{h}/").gets("default")],
        reported: &[reported("Ingress attack", &[])],
        ..ROW
    },
];
