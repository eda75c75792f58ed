//! Objects that become much more than they are: what that may cost everybody.

use serde_json::{Value, json};

use crate::rig::manifests::{Ingress, in_namespace};
use crate::row::{ask, told};
use crate::scene::{Dialect, Scene};
use crate::weigh::{Added, LITTLE, WEIGHT, Weight};
use crate::weights;

/// Networks, comma-separated.
fn networks(count: usize) -> String {
    let network = |number: usize| format!("100.{}.{}.{}", 64 + (number >> 16), (number >> 8) & 255, number & 255);
    (0..count).map(network).collect::<Vec<_>>().join(",")
}

/// Adds paths of a host that lead to port 80 of `web`.
fn paths(object: Ingress, host: &str, kind: &str, paths: impl IntoIterator<Item = String>) -> Value {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let paths = paths.into_iter().map(|path| json!({"path": path, "pathType": kind, "backend": backend}));
    let mut object = object.build();
    object["spec"]["rules"] = json!([{"host": host, "http": {"paths": paths.collect::<Vec<_>>()}}]);
    object
}

fn denylist(scene: &Scene) -> Vec<Value> {
    let attack = scene.of_evil("attack").annotation("denylist-source-range", &networks(2500));
    vec![paths(attack, &scene.host("own"), "Prefix", (0..200).map(|number| format!("/{number}")))]
}

/// A Service of the attacker's with these ports and addresses, each port with a path.
fn ports(scene: &Scene, count: usize, addresses: usize) -> Vec<Value> {
    let numbers = || (0..count).map(|number| 1000 + number);
    let service_ports: Vec<_> = numbers().map(|port| json!({"name": format!("p{port}"), "port": port})).collect();
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "many"}, "spec": {"ports": service_ports}});
    let slice_ports: Vec<_> =
        numbers().map(|port| json!({"name": format!("p{port}"), "port": port, "protocol": "TCP"})).collect();
    let endpoints: Vec<_> = (0..addresses)
        .map(|number| json!({"addresses": [format!("10.{}.{}.{}", 100 + (number >> 16), (number >> 8) & 255, number & 255)]}))
        .collect();
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "many", "labels": {"kubernetes.io/service-name": "many"}},
        "addressType": "IPv4", "endpoints": endpoints, "ports": slice_ports
    });
    let mut attack = scene.of_evil("attack").build();
    let paths: Vec<_> = numbers()
        .map(|port| {
            let backend = json!({"service": {"name": "many", "port": {"number": port}}});
            json!({"path": format!("/{port}"), "pathType": "Prefix", "backend": backend})
        })
        .collect();
    attack["spec"]["rules"] = json!([{"host": scene.host("own"), "http": {"paths": paths}}]);
    [service, slice].map(|object| in_namespace(&scene.evil, object)).into_iter().chain([attack]).collect()
}

fn expressions(scene: &Scene) -> Vec<Value> {
    let attack = scene.of_evil("attack").annotation("use-regex", "true");
    let expression = |number: usize| format!("/{number}(?:[ab][cd][ef]){{469}}");
    vec![paths(attack, &scene.host("own"), "ImplementationSpecific", (0..600).map(expression))]
}

fn limits(scene: &Scene) -> Vec<Value> {
    let object = |number: usize| {
        let object = scene.of_evil(&format!("attack-{number}")).host(&scene.host(&format!("own-{number}")), "web");
        let object = object.annotation("limit-rps", "5").annotation("limit-rpm", "5");
        object.annotation("limit-connections", "5").build()
    };
    (0..200).map(object).collect()
}

fn unknown_annotations(scene: &Scene) -> Vec<Value> {
    let object = |number: usize| {
        let object = scene.of_evil(&format!("attack-{number}")).host(&scene.host(&format!("own-{number}")), "web");
        (0..60).fold(object, |object, key| object.annotation(&format!("unknown-{key}"), "x")).build()
    };
    (0..200).map(object).collect()
}

fn invalid_expressions(scene: &Scene) -> Vec<Value> {
    let object = |number: usize| {
        let object = scene.of_evil(&format!("attack-{number}")).annotation("use-regex", "true");
        let host = scene.host(&format!("own-{number}"));
        object.path(&host, "ImplementationSpecific", &format!("/{number}("), "web").build()
    };
    (0..150).map(object).collect()
}

/// Our own reader lets them pass, and PCRE does not.
fn expressions_that_only_nginx_refuses(scene: &Scene) -> Vec<Value> {
    let object = |number: usize| {
        let object = scene.of_evil(&format!("attack-{number}")).annotation("use-regex", "true");
        let host = scene.host(&format!("own-{number}"));
        object.path(&host, "ImplementationSpecific", &format!("/a{number}(?<=a+)"), "web").build()
    };
    (0..500).map(object).collect()
}

/// nginx refuses them and names no line.
fn contradicting_buffers(scene: &Scene) -> Vec<Value> {
    let object = |number: usize| {
        let object = scene.of_evil(&format!("attack-{number}")).host(&scene.host(&format!("own-{number}")), "web");
        object.annotation("proxy-buffer-size", "64k").annotation("proxy-busy-buffers-size", "1k").build()
    };
    (0..60).map(object).collect()
}

/// As many expressions as a host may have of everybody together, and then a thousand.
fn on_the_shops_host(scene: &Scene) -> Vec<Value> {
    let object = |part: usize| {
        let object = scene.of_evil(&format!("attack-{part}")).annotation("use-regex", "true");
        let expression = |number: usize| format!("/e/{part}/{number}/[a-z]+");
        paths(object, &scene.host("shop"), "ImplementationSpecific", (0..1000).map(expression))
    };
    (0..11).map(object).collect()
}

fn certificates(scene: &Scene) -> Vec<Value> {
    // A chain of a hundred, which each of a hundred hosts shows.
    let secret = crate::rig::manifests::tls_secret("pair", &[&scene.host("*")]);
    let hosts: Vec<_> = (0..100).map(|number| scene.host(&format!("own-{number}"))).collect();
    let attack =
        hosts.iter().fold(scene.of_evil("attack"), |attack, host| attack.host(host, "web").tls(&[host], "pair"));
    vec![attack.build(), in_namespace(&scene.evil, secret)]
}

weights! {
    a_list_is_written_once => Weight {
        name: "list-times-paths",
        attack: denylist,
        during: &[ask("http://own.{h}/7").gets("evil")],
        // Two lists, each of 40 KiB, and 400 paths.
        most: Added { written: 1 << 10, nginx: 48 << 10, ..LITTLE },
        ..WEIGHT
    };
    an_upstream_has_so_many_endpoints => Weight {
        name: "endpoints",
        attack: |scene| ports(scene, 3, 15_000),
        told: &[told("", &["TooManyEndpoints"])],
        most: Added { written: 1 << 10, nginx: 48 << 10, daemon: 192 << 10, ..LITTLE },
        ..WEIGHT
    };
    an_object_has_so_many_paths_and_a_namespace_so_many_files => Weight {
        name: "ports-times-paths",
        attack: |scene| ports(scene, 2_500, 1),
        told: &[told("Ingress attack", &[])],
        ..WEIGHT
    };
    expressions_have_a_size => Weight {
        name: "large-expressions",
        attack: expressions,
        told: &[told("Ingress attack", &[])],
        unwritten: &["{469}"],
        most: Added { written: 1 << 10, nginx: 48 << 10, ..LITTLE },
        ..WEIGHT
    };
    limits_share_their_memory => Weight {
        name: "zones",
        attack: limits,
        during: &[ask("http://own-7.{h}/").gets("evil")],
        most: Added { files: 900, written: 2 << 10, nginx: 128 << 10, reserved: 1200 << 10, ..LITTLE },
        ..WEIGHT
    };
    findings_are_bounded => Weight {
        name: "unknown-annotations",
        attack: unknown_annotations,
        told: &[told("Ingress attack-0", &["UnknownAnnotation"])],
        most: Added { files: 900, written: 2 << 10, nginx: 64 << 10, ..LITTLE },
        ..WEIGHT
    };
    invalid_expressions_cost_little => Weight {
        name: "invalid-expressions",
        attack: invalid_expressions,
        told: &[told("Ingress attack-7", &["Quarantined", "InvalidPath", "RefusedValue"])],
        during: &[ask("http://own-7.{h}/7")],
        most: Added { files: 320, written: 1 << 10, nginx: 48 << 10, ..LITTLE },
        ..WEIGHT
    };
    a_thousand_expressions_that_only_nginx_refuses_keep_nobody_waiting => Weight {
        name: "refused-expressions",
        attack: expressions_that_only_nginx_refuses,
        told: &[told("", &["Quarantined"])],
        during: &[ask("http://own-7.{h}/a7")],
        unwritten: &["(?<=a+)"],
        most: Added { tests: 12, ..LITTLE },
        ..WEIGHT
    };
    what_only_nginx_refuses_is_tested_together => Weight {
        name: "contradicting-buffers",
        attack: contradicting_buffers,
        told: &[told("", &["Quarantined"])],
        during: &[ask("http://own-7.{h}/")],
        most: Added { tests: 40, ..LITTLE },
        ..WEIGHT
    };
    paths_of_a_host_count_by_namespace => Weight {
        name: "paths-of-a-host",
        attack: on_the_shops_host,
        only: Some(Dialect::IngressNginx),
        told: &[told("", &["TooManyPaths"])],
        most: Added { files: 20, written: 16 << 10, nginx: 512 << 10, reserved: 512 << 10, daemon: 256 << 10, ..LITTLE },
        ..WEIGHT
    };
    a_certificate_is_kept_once => Weight {
        name: "certificate-of-many-hosts",
        attack: certificates,
        during: &[ask("https://own-7.{h}/").gets("evil").certificate("*.{h}")],
        most: Added { files: 500, written: 1 << 10, nginx: 48 << 10, ..LITTLE },
        ..WEIGHT
    };
}
