//! Objects that grow far beyond their size, and their cost for others.

use serde_json::{Value, json};

use crate::row::{ask, reported};
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;
use crate::weigh::{Added, LITTLE, WEIGHT, Weight};
use crate::weights;
use rig::manifests::{Ingress, in_namespace};

/// A client that is on the lists.
const LISTED: &str = "10.244.9.9";

/// Networks, comma-separated, the first of which has this number, and the last is this one.
fn networks(first: usize, count: usize, last: &str) -> String {
    let network = |number: usize| format!("100.{}.{}.{}", 64 + (number >> 16), (number >> 8) & 255, number & 255);
    (first..first + count - 1).map(network).chain([last.to_owned()]).collect::<Vec<_>>().join(",")
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
    // There are 25,000 entries, as many as one object may have in each list, and 200 paths for
    // each of them.
    let object = |part: usize| {
        let object = scene.of_evil(&format!("attack-{part}"));
        let object = object.annotation("denylist-source-range", &networks(part * 5000, 5000, LISTED));
        paths(object, &scene.host("own"), "Prefix", (0..200).map(|number| format!("/{part}/{number}")))
    };
    (0..5).map(object).collect()
}

/// A Service of the attacker's with these ports and addresses, each port with a path, in so many
/// objects.
fn ports(scene: &Scene, count: usize, addresses: usize, objects: usize) -> Vec<Value> {
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
    let path = |port: &usize| {
        let backend = json!({"service": {"name": "many", "port": {"number": port}}});
        json!({"path": format!("/{port}"), "pathType": "Prefix", "backend": backend})
    };
    let numbers: Vec<_> = numbers().collect();
    let object = |(part, ports): (usize, &[usize])| {
        let mut attack = scene.of_evil(&format!("attack-{part}")).build();
        let paths: Vec<_> = ports.iter().map(path).collect();
        attack["spec"]["rules"] = json!([{"host": scene.host("own"), "http": {"paths": paths}}]);
        attack
    };
    let attack = numbers.chunks(count.div_ceil(objects)).enumerate().map(object);
    [service, slice].map(|object| in_namespace(&scene.evil, object)).into_iter().chain(attack).collect()
}

fn expressions(scene: &Scene) -> Vec<Value> {
    let object = |part: usize| {
        let attack = scene.of_evil(&format!("attack-{part}")).annotation("use-regex", "true");
        let expression = |number: usize| format!("/{part}/{number}(?:[ab][cd][ef]){{469}}");
        paths(attack, &scene.host("own"), "ImplementationSpecific", (0..750).map(expression))
    };
    // There are 3000 in both namespaces.
    (0..2).map(object).collect()
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
    // A chain of a hundred certificates is shown by each of a hundred hosts.
    let secret = rig::manifests::tls_secret("pair", &[&scene.host("*")]);
    let hosts: Vec<_> = (0..100).map(|number| scene.host(&format!("own-{number}"))).collect();
    let attack =
        hosts.iter().fold(scene.of_evil("attack"), |attack, host| attack.host(host, "web").tls(&[host], "pair"));
    vec![attack.build(), in_namespace(&scene.evil, secret)]
}

weights! {
    a_list_is_written_once => Weight {
        name: "list-times-paths",
        attack: denylist,
        during: &[ask("http://own.{h}/4/199").gets("evil"), ask("http://own.{h}/4/199").from(LISTED).gets("403")],
        // There are ten lists, each of 80 KiB, and 2000 paths.
        most: Added { files: 40, written: 4 << 10, nginx: 192 << 10, reserved: 192 << 10, ..LITTLE },
        ..WEIGHT
    };
    an_upstream_has_so_many_endpoints => Weight {
        name: "endpoints",
        // There are a million in both namespaces.
        attack: |scene| ports(scene, 25, 20_000, 1),
        reported: &[reported("", &["TooManyEndpoints"])],
        // Of a million, each namespace may have limits.namespace-endpoints.
        most: Added {
            files: 60,
            written: 6 << 10,
            nginx: 192 << 10,
            reserved: 192 << 10,
            daemon: 192 << 10,
            ..LITTLE
        },
        ..WEIGHT
    };
    an_object_has_so_many_paths => Weight {
        name: "paths-of-an-object",
        attack: |scene| ports(scene, 2_500, 1, 1),
        reported: &[reported("Ingress attack-0", &["OverBudget"]).words("limits.object-paths")],
        ..WEIGHT
    };
    a_namespace_has_so_many_ports => Weight {
        name: "ports-times-paths",
        // What fits is served, and of 8000 ports and paths, which are below the default, the rest
        // is not.
        settings: &[("limits.namespace-upstreams", "200")],
        attack: |scene| ports(scene, 8_000, 1, 50),
        reported: &[reported("Ingress attack-49", &["OverBudget"]).words("limits.namespace-upstreams")],
        during: &[ask("http://own.{h}/1007").gets("502")],
        most: Added { files: 420, written: 1 << 10, nginx: 48 << 10, daemon: 192 << 10, ..LITTLE },
        ..WEIGHT
    };
    a_namespace_has_so_many_files => Weight {
        name: "files",
        settings: &[("limits.namespace-files", "200")],
        attack: |scene| ports(scene, 8_000, 1, 50),
        reported: &[reported("Ingress attack-49", &["OverBudget"]).words("limits.namespace-files")],
        most: Added { files: 420, written: 1 << 10, nginx: 48 << 10, daemon: 192 << 10, ..LITTLE },
        ..WEIGHT
    };
    expressions_have_a_size => Weight {
        name: "large-expressions",
        attack: expressions,
        reported: &[reported("Ingress attack-1", &[])],
        unwritten: &["{469}"],
        // Each path answers 503 by itself.
        most: Added { written: 2 << 10, nginx: 160 << 10, reserved: 160 << 10, ..LITTLE },
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
        reported: &[reported("Ingress attack-0", &["UnknownAnnotation"])],
        most: Added { files: 900, written: 2 << 10, nginx: 64 << 10, ..LITTLE },
        ..WEIGHT
    };
    invalid_expressions_cost_little => Weight {
        name: "invalid-expressions",
        attack: invalid_expressions,
        reported: &[reported("Ingress attack-7", &["Quarantined", "InvalidPath", "RefusedValue"])],
        during: &[ask("http://own-7.{h}/7")],
        most: Added { files: 320, written: 1 << 10, nginx: 48 << 10, ..LITTLE },
        ..WEIGHT
    };
    a_thousand_expressions_that_only_nginx_refuses_keep_nobody_waiting => Weight {
        name: "refused-expressions",
        attack: expressions_that_only_nginx_refuses,
        reported: &[reported("", &["Quarantined"])],
        during: &[ask("http://own-7.{h}/a7")],
        unwritten: &["(?<=a+)"],
        most: Added { tests: 12, ..LITTLE },
        ..WEIGHT
    };
    what_only_nginx_refuses_is_tested_together => Weight {
        name: "contradicting-buffers",
        attack: contradicting_buffers,
        reported: &[reported("", &["Quarantined"])],
        during: &[ask("http://own-7.{h}/")],
        most: Added { tests: 40, ..LITTLE },
        ..WEIGHT
    };
    expressions_of_a_shared_host_count_by_namespace => Weight {
        name: "paths-of-a-host",
        ownership: Some(Shared),
        attack: on_the_shops_host,
        reported: &[reported("", &["TooManyPaths"])],
        during: &[ask("http://shop.{h}/e/0/0/x").gets("evil"), ask("http://shop.{h}/e/10/999/x").gets("victim")],
        most: Added { files: 40, written: 16 << 10, nginx: 512 << 10, reserved: 512 << 10, daemon: 256 << 10, ..LITTLE },
        ..WEIGHT
    };
    expressions_on_a_host_of_another_cost_nothing => Weight {
        name: "paths-of-anothers-host",
        ownership: Some(Namespace),
        attack: on_the_shops_host,
        reported: &[reported("Ingress attack-0", &["HostOwned"])],
        during: &[ask("http://shop.{h}/e/0/0/x").gets("victim")],
        most: Added { daemon: 256 << 10, ..LITTLE },
        ..WEIGHT
    };
    a_list_on_a_shared_host_is_written_once => Weight {
        name: "list-of-a-shared-host",
        ownership: Some(Shared),
        attack: |scene| {
            let attack = scene.of_evil("attack").annotation("denylist-source-range", &networks(0, 5000, LISTED));
            vec![paths(attack, &scene.host("shop"), "Prefix", (0..200).map(|number| format!("/e/{number}")))]
        },
        during: &[ask("http://shop.{h}/e/7").gets("evil"), ask("http://shop.{h}/e/7").from(LISTED).gets("403")],
        most: Added { written: 2 << 10, nginx: 96 << 10, ..LITTLE },
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
