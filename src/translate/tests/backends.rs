//! Services, ports, endpoints and modes; they must not know paths.

use super::{findings, ingress, options, path, routes, translate, upstreams};
use crate::translate::Options;

#[test]
fn endpoints_and_modes() {
    let translation = translate(include_str!("../../../tests/golden/endpoints.yaml"), options());
    let expected = [
        "by-balancer 80loadbalancer 192.0.2.80:80*1",
        "by-cluster 80clusterip 10.96.0.15:80*1",
        "by-node 80nodeport 192.0.2.11:30080*1 192.0.2.12:30080*1",
        "by-node-local 80nodeport 192.0.2.12:30081*2",
        "draining 80 10.244.3.2:80*1",
        "headless 80 10.244.3.1:80*1",
        "mixed 80 10.244.3.4:80*1",
    ];
    assert_eq!(upstreams(&translation), expected);
    assert_eq!(findings(&translation), ["endpoints ForbiddenTarget"]);
}

#[test]
fn ports() {
    let documents = include_str!("../../../tests/golden/ports.yaml");
    let translation = translate(documents, options());
    let mut found = findings(&translation);
    found.sort();
    assert_eq!(found, ["ports MissingPort", "ports MissingService", "ports NoEndpoints"]);
    assert_eq!(upstreams(&translation), ["web 80 10.244.0.1:8080*1 10.244.0.2:8080*1"]);
}

#[test]
fn target_ports_count_in_ingress_nginx_only() {
    let by_target = path("/", "Prefix", "web").replace("number: 80", "number: 8080");
    for (class, expected) in [("nginx", "  / -> web Http"), ("ingressd", "  / -> 503")] {
        let document = ingress("i", class, "a.example", "", std::slice::from_ref(&by_target));
        assert_eq!(routes(&translate(&document, options()))[1], expected, "{class}");
    }
}

#[test]
fn external_names() {
    let documents = include_str!("../../../tests/golden/external-name.yaml");
    let translation = translate(documents, options());
    assert_eq!(upstreams(&translation), ["public 80 backend.example.net:80"]);
    assert_eq!(findings(&translation), ["names ForbiddenTarget"; 6]);
    let off = translate(documents, Options { external_names: false, ..options() });
    assert_eq!(findings(&off), ["names ExternalNameDisabled"; 7]);
}

#[test]
fn other_backends() {
    let resource = "{path: /, pathType: Prefix, backend: {resource: {apiGroup: x, kind: Bucket, name: b}}}".to_owned();
    let translation = translate(&ingress("i", "ingressd", "a.example", "", &[resource]), options());
    assert_eq!(routes(&translation)[1], "  / -> 404");
    assert_eq!(findings(&translation), ["i UnsupportedBackend"]);
    let protocols = translate(include_str!("../../../tests/golden/protocols.yaml"), options());
    let lines = routes(&protocols);
    assert!(
        lines.contains(&"  / -> h2c Grpc".to_owned()) && lines.contains(&"  / -> web Grpcs".to_owned()),
        "{lines:?}"
    );
}
