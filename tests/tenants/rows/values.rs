//! Values that take nginx's memory or time from others: they are refused, or limited to what the
//! administrator allows.

use serde_json::Value;

use super::hosts::SHOP;
use crate::row::{Ask, ROW, Row, ask, reported};
use crate::scene::Scene;
use rig::manifests::{Ingress, in_namespace, secret};

/// A host of the attacker's own with an annotation.
fn own(scene: &Scene, annotations: &[(&str, &str)]) -> Vec<Value> {
    let own = scene.of_evil("attack").host(&scene.host("own"), "web");
    vec![annotations.iter().fold(own, |own, (key, value)| own.annotation(key, value)).build()]
}

/// A host of the attacker's own whose password file holds this.
fn with_password(scene: &Scene, entry: &str) -> Vec<Value> {
    let annotations = [("auth-type", "basic"), ("auth-secret", "users")];
    let users = secret("users", "Opaque", &[("auth", entry)]);
    [own(scene, &annotations), vec![in_namespace(&scene.evil, users)]].concat()
}

/// An expression of the attacker's on a host of its own, beside a path that is as it should be.
fn with_expression(scene: &Scene, expression: &str) -> Vec<Value> {
    let host = scene.host("own");
    let fits = scene.of_evil("fits").path(&host, "Prefix", "/fits", "web");
    let attack: Ingress = scene.of_evil("attack").annotation("use-regex", "true");
    vec![attack.path(&host, "ImplementationSpecific", expression, "web").build(), fits.build()]
}

/// The attacker's own host is closed, not open.
const CLOSED: &[Ask] = &[ask("http://own.{h}/").gets("503")];

/// What is refused is refused alone.
const REFUSED_ALONE: &[Ask] = &[ask("http://own.{h}/fits").gets("evil")];

const SIZE: Row = Row { clients: SHOP, reported: &[reported("Ingress attack", &[])], ..ROW };

const EXPRESSION: Row =
    Row { clients: SHOP, during: REFUSED_ALONE, reported: &[reported("Ingress attack", &[])], ..ROW };

const PASSWORD: Row = Row { clients: SHOP, during: CLOSED, reported: &[reported("", &["InvalidSecret"])], ..ROW };

pub const ROWS: &[Row] = &[
    Row {
        name: "buffer-of-a-body",
        attack: |scene| own(scene, &[("client-body-buffer-size", "1073741823")]),
        unwritten: &["1073741823"],
        ..SIZE
    },
    Row {
        name: "buffers-of-answers",
        attack: |scene| {
            own(
                scene,
                &[("proxy-buffer-size", "123456789"), ("proxy-buffers-number", "54321"), ("proxy-buffering", "on")],
            )
        },
        unwritten: &["123456789", "54321"],
        ..SIZE
    },
    Row {
        name: "temporary-files",
        attack: |scene| own(scene, &[("proxy-max-temp-file-size", "999999999999"), ("proxy-buffering", "on")]),
        unwritten: &["999999999999"],
        ..SIZE
    },
    Row {
        name: "size-of-a-body",
        attack: |scene| own(scene, &[("proxy-body-size", "888888888888")]),
        unwritten: &["888888888888"],
        ..SIZE
    },
    Row {
        name: "years-of-waiting",
        attack: |scene| {
            own(
                scene,
                &[
                    ("proxy-read-timeout", "2147483646"),
                    ("proxy-send-timeout", "2147483645"),
                    ("proxy-connect-timeout", "2147483644"),
                    ("proxy-next-upstream-timeout", "2147483643"),
                ],
            )
        },
        unwritten: &["2147483646", "2147483645", "2147483644", "2147483643"],
        ..SIZE
    },
    Row {
        name: "counts-of-tries",
        attack: |scene| {
            own(
                scene,
                &[
                    ("proxy-next-upstream-tries", "77777777"),
                    ("limit-burst-multiplier", "66666666"),
                    ("limit-rps", "1"),
                ],
            )
        },
        unwritten: &["77777777", "66666666"],
        ..SIZE
    },
    Row {
        name: "rounds-of-a-password",
        attack: |scene| {
            with_password(scene, "a:$6$rounds=100000$salt$EaIMPCVrbfLtLr7K6d9RdOHd0sBhfKBBMBKZLJ7XHqqxkBDQZXqo3t9\n")
        },
        ..PASSWORD
    },
    Row {
        name: "rounds-of-bcrypt",
        attack: |scene| with_password(scene, "a:$2y$18$abcdefghijklmnopqrstuuWZ1Yb3KGJXcYPcmKZFwKXC9eq0zBZ3K\n"),
        ..PASSWORD
    },
    Row {
        name: "length-of-a-password",
        attack: |scene| with_password(scene, &format!("a:$6$salt${}\n", "x".repeat(100_000))),
        ..PASSWORD
    },
    Row { name: "plain-password", attack: |scene| with_password(scene, "a:{PLAIN}secret\n"), ..PASSWORD },
    Row {
        name: "large-expression",
        attack: |scene| with_expression(scene, "/L(?:[ab][cd][ef]){470}"),
        unwritten: &["{470}"],
        ..EXPRESSION
    },
    Row {
        name: "nested-repetition",
        attack: |scene| with_expression(scene, "/N(a+)+[bcxyz]$"),
        unwritten: &["[bcxyz]"],
        ..EXPRESSION
    },
    Row {
        name: "repetition-of-what-overlaps",
        attack: |scene| with_expression(scene, "/O(?:.?){30}[~^]"),
        unwritten: &["(?:.?){30}"],
        ..EXPRESSION
    },
    Row {
        name: "many-stars",
        attack: |scene| with_expression(scene, "/S.*x.*x.*x.*x.*x.*x.*x.*x.*x.*x.*x.*x.*x.*x.*x.*x.*[~^]"),
        unwritten: &["x.*x.*x.*x.*x.*x.*x.*x.*x.*x.*x.*x"],
        ..EXPRESSION
    },
    Row {
        name: "key-that-takes-seconds",
        attack: |scene| {
            let host = format!("{}.big.test", scene.mark);
            let own = scene.of_evil("attack").host(&host, "web").tls(&[&host], "pair");
            let key = include_str!("../../../crates/rig/src/keys/rsa-16384.pem");
            let certificate = include_str!("../../../crates/rig/src/keys/rsa-16384-big.test.pem");
            let pair = secret("pair", "kubernetes.io/tls", &[("tls.crt", certificate), ("tls.key", key)]);
            vec![own.annotation("ssl-redirect", "false").build(), in_namespace(&scene.evil, pair)]
        },
        clients: SHOP,
        reported: &[reported("", &["InvalidCertificate"])],
        ..ROW
    },
];
