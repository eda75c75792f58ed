//! Services, ports, endpoints and modes.

use std::sync::Arc;

use super::manifests::snapshot;
use super::{at, findings, ingress, named, options, path, routes, translate, translate_in, upstreams};
use crate::{NameAnswer, Names, Options, StreamOptions, Wanted, World};
use ingressd_model::HostName;
use ingressd_model::finding::Finding;

#[test]
fn endpoints_and_modes() {
    let translation = translate(include_str!("../../../../tests/golden/endpoints.yaml"), options());
    let expected = [
        "by-balancer 80loadbalancer 192.0.2.80:80*1",
        "by-cluster 80clusterip 10.96.0.15:80*1",
        "by-node 80nodeport 192.0.2.11:30080*1 192.0.2.12:30080*1",
        "by-node-local 80nodeport 192.0.2.12:30081*2",
        "draining 80 10.244.3.2:80*1",
        "forbidden 80",
        "headless 80 10.244.3.1:80*1",
        "mixed 80 10.244.3.4:80*1",
    ];
    assert_eq!(upstreams(&translation), expected);
    assert_eq!(findings(&translation), ["endpoints ForbiddenTarget"]);
}

#[test]
fn ports() {
    let documents = include_str!("../../../../tests/golden/ports.yaml");
    let translation = translate(documents, options());
    let mut found = findings(&translation);
    found.sort();
    assert_eq!(found, ["ports MissingPort", "ports MissingService", "ports NoEndpoints"]);
    assert_eq!(upstreams(&translation), ["idle 80", "web 80 10.244.0.1:8080*1 10.244.0.2:8080*1"]);
}

#[test]
fn an_upstream_of_two_ways_to_call_a_port_is_in_memory_once() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\n\
                   spec: {type: ExternalName, externalName: 192.0.2.1, ports: [{name: http, port: 80}]}\n---\n";
    let named = path("/named", "Prefix", "web").replace("number: 80", "name: http");
    let route = ingress("i", "ingressd", "a.example", "", &[path("/", "Prefix", "web"), named]);
    let model = translate(&[service, &route].concat(), options()).model;
    let [server] = &model.servers[..] else { panic!("{:?}", model.servers) };
    let [first, second] = &server.routes[..] else { panic!("{:?}", server.routes) };
    assert!(std::ptr::eq(&**first.action.upstream().unwrap(), &**second.action.upstream().unwrap()));
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
fn a_target_port_of_an_external_name_counts_wherever_the_service_is_named() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: outside, namespace: default}\n\
        spec: {type: ExternalName, externalName: 192.0.2.1, ports: [{name: http, port: 80, targetPort: 8081}, \
        {name: https, port: 443, targetPort: 8443}, {name: same, port: 90}, {name: named, port: 91, targetPort: x}]}\n";
    let found = |class: &str, annotations: &str, paths: &[String], options: Options| {
        let object = ingress("i", class, "a.example", annotations, paths);
        let translation = translate(&[service, &object].join("---\n"), options);
        (upstreams(&translation).join(", "), findings(&translation))
    };
    let to = |port: &str| path("/", "Prefix", "outside").replace("number: 80", port);
    for (class, port, expected) in [
        ("nginx", "number: 80", "outside 80 192.0.2.1:8081*1"),
        ("nginx", "name: https", "outside 443 192.0.2.1:8443*1"),
        ("ingressd", "name: https", "outside 443 192.0.2.1:8443*1"),
        ("ingressd", "number: 90", "outside 90 192.0.2.1:90*1"),
        ("ingressd", "number: 91", "outside 91 192.0.2.1:91*1"),
        // In ingress-nginx a port of the backend may be named as well, and any other number.
        ("nginx", "number: 8443", "outside 443 192.0.2.1:8443*1"),
        ("nginx", "number: 7000", "outside 7000 192.0.2.1:7000*1"),
        ("ingressd", "number: 7000", ""),
        ("nginx", "name: none", ""),
    ] {
        let reported: &[&str] = if expected.is_empty() { &["i MissingPort"] } else { &[] };
        let expected = (expected.to_owned(), reported.iter().map(ToString::to_string).collect());
        assert_eq!(found(class, "", &[to(port)], options()), expected, "{class} {port}");
    }
    const WEB: &str = "web 80 10.244.0.1:8080*1 10.244.0.2:8080*1";
    let common = Options { default_backend: Some(("default".into(), "outside".into())), ..options() };
    for (annotations, options) in [
        ("auth-url: 'http://outside.default.svc.cluster.local/'", options()),
        ("mirror-target: 'http://outside.default.svc/'", options()),
        ("custom-http-errors: '404', default-backend: outside", options()),
        ("custom-http-errors: '404'", common),
    ] {
        let (upstreams, _) = found("ingressd", annotations, &[path("/", "Prefix", "web")], options);
        assert_eq!(upstreams, format!("outside 80 192.0.2.1:8081*1, {WEB}"), "{annotations}");
    }
}

/// A route to a Service of type ExternalName.
fn external(name: &str) -> String {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: named, namespace: default}\n";
    let spec = format!("spec: {{type: ExternalName, externalName: '{name}', ports: [{{port: 80}}]}}");
    let route = ingress("i", "ingressd", "a.example", "", &[path("/", "Prefix", "named")]);
    [service, &spec, "\n---\n", &route].concat()
}

#[test]
fn external_names_are_those_addresses_of_an_answer_that_may_take_requests() {
    type Row<'a> = (&'a str, Option<(&'a [&'a str], Option<&'a str>)>, &'a [&'a str], &'a [&'a str]);
    // The upstream is there, and its routes answer 503.
    const EMPTY: &[&str] = &["named 80"];
    let rows: &[Row<'_>] = &[
        // Each row: the name, the DNS answer, the upstreams, the findings.
        (
            "b.example",
            Some((&["192.0.2.1", "2001:db8::1"], None)),
            &["named 80 192.0.2.1:80*1 [2001:db8::1]:80*1"],
            &[],
        ),
        ("B.example.", Some((&["192.0.2.1"], None)), &["named 80 192.0.2.1:80*1"], &[]),
        ("b.example", None, EMPTY, &["i UnresolvedName"]),
        ("b.example", Some((&[], None)), EMPTY, &["i UnresolvedName"]),
        ("b.example", Some((&[], Some("there is no such name"))), EMPTY, &["i UnresolvedName"]),
        ("b.example", Some((&["192.0.2.1"], Some("DNS fails"))), &["named 80 192.0.2.1:80*1"], &["i UnresolvedName"]),
        ("b.example", Some((&["127.0.0.1"], None)), EMPTY, &["i ForbiddenTarget"]),
        ("b.example", Some((&["::1"], None)), EMPTY, &["i ForbiddenTarget"]),
        ("b.example", Some((&["::ffff:127.0.0.1"], None)), EMPTY, &["i ForbiddenTarget"]),
        ("b.example", Some((&["169.254.169.254"], None)), EMPTY, &["i ForbiddenTarget"]),
        ("b.example", Some((&["fe80::1"], None)), EMPTY, &["i ForbiddenTarget"]),
        ("b.example", Some((&["0.0.0.0"], None)), EMPTY, &["i ForbiddenTarget"]),
        ("b.example", Some((&["192.0.2.99"], None)), EMPTY, &["i ForbiddenTarget"]),
        ("b.example", Some((&["127.0.0.1", "192.0.2.1"], None)), &["named 80 192.0.2.1:80*1"], &["i ForbiddenTarget"]),
        ("localhost", None, EMPTY, &["i ForbiddenTarget"]),
        ("192.0.2.1", None, &["named 80 192.0.2.1:80*1"], &[]),
    ];
    for (name, answer, expected, reasons) in rows {
        let answer = answer.map(|(addresses, failure)| NameAnswer {
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            failure: failure.map(Into::into),
            ..NameAnswer::default()
        });
        let names = answer.iter().map(|answer| (HostName::new("b.example").unwrap(), answer.clone()));
        let world = World { names: Arc::new(Names(names.collect())), ..at(&["192.0.2.99:80"]) };
        let translation = translate_in(&world, &external(name), options());
        assert_eq!(upstreams(&translation), *expected, "{name} {answer:?}");
        assert_eq!(findings(&translation), *reasons, "{name} {answer:?}");
        assert_eq!(routes(&translation)[1], "  / -> named Http", "{name} {answer:?}");
    }
}

#[test]
fn only_names_that_may_be_served_are_asked_for() {
    let wanted = |documents: &str, options: &Options| {
        let Wanted { referred, others } = Wanted::of(&snapshot(documents), options);
        let names = [referred, others].map(|names| names.keys().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        names.join("; others ")
    };
    let of = |name: &str| wanted(&external(name), &options());
    assert_eq!(of("B.example."), "b.example; others ");
    for name in ["192.0.2.1", "localhost", "a b"] {
        assert_eq!(of(name), "; others ", "{name}");
    }
    assert_eq!(wanted(&external("b.example"), &Options { external_names: false, ..options() }), "; others ");
    let documents = external("b.example");
    let by_settings = Options { default_backend: Some(("default".into(), "named".into())), ..options() };
    let elsewhere = |annotation: &str| {
        let object = ingress("i", "ingressd", "a.example", annotation, &[path("/", "Prefix", "web")]);
        let (service, _) = documents.split_once("\n---\n").unwrap();
        [service, &object].join("\n---\n")
    };
    let tcp_services = Some(("x".into(), "tcp".into()));
    let by_map = Options { streams: StreamOptions { tcp_services, ..StreamOptions::default() }, ..options() };
    for (what, documents, options, expected) in [
        (
            "another Service",
            documents.replace("{name: named, port", "{name: other, port"),
            options(),
            "; others b.example",
        ),
        (
            "another class",
            documents.replace("ingressClassName: ingressd", "ingressClassName: x"),
            options(),
            "; others b.example",
        ),
        (
            "another namespace",
            documents.replace("named, namespace: default", "named, namespace: x"),
            options(),
            "; others b.example",
        ),
        (
            "the settings",
            documents.replace("{name: named, port", "{name: other, port"),
            by_settings,
            "b.example; others ",
        ),
        ("an auth-url", elsewhere("auth-url: 'http://named.default.svc/'"), options(), "b.example; others "),
        ("a mirror", elsewhere("mirror-target: 'http://named.default.svc/'"), options(), "b.example; others "),
        ("an error page", elsewhere("default-backend: named"), options(), "b.example; others "),
        (
            "a TCP service",
            elsewhere("")
                + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: tcp, namespace: x}\n\
                data: {'7': 'default/named:80'}",
            by_map,
            "b.example; others ",
        ),
        (
            "default backend",
            documents
                .replace("{name: named, port", "{name: other, port")
                .replace("rules:", "defaultBackend: {service: {name: named, port: {number: 80}}}, rules:"),
            options(),
            "b.example; others ",
        ),
    ] {
        assert_eq!(wanted(&documents, &options), expected, "{what}: {documents}");
    }
}

#[test]
fn only_what_is_served_asks_for_a_name() {
    let dated = |document: String, year: u32| {
        document.replace(
            "kind: Ingress\nmetadata: {",
            &format!("kind: Ingress\nmetadata: {{creationTimestamp: '{year}-01-01T00:00:00Z', "),
        )
    };
    let own = || external("b.example");
    let annotated = |annotation: &str| {
        own().replace("annotations: {", &format!("annotations: {{nginx.ingress.kubernetes.io/{annotation}"))
    };
    let after = |document: String| format!("{}\n---\n{}", dated(own(), 2026), dated(document, 2025));
    let first = ingress("first", "ingressd", "a.example", "", &[path("/", "Prefix", "web")]);
    let small = |limits: fn(&mut crate::Limits)| {
        let mut options = options();
        limits(&mut options.limits);
        options
    };
    for (what, documents, options, expected) in [
        ("served", own(), options(), "b.example default"),
        ("what protects it is wrong", annotated("allowlist-source-range: everybody"), options(), ""),
        ("redirected", annotated("permanent-redirect: 'https://example.org'"), options(), ""),
        ("no host", own().replace("host: 'a.example'", "host: 192.0.2.1"), options(), ""),
        ("no path", own().replace("path: '/',", "path: 'x',"), options(), ""),
        ("another object has the path", after(first.clone()), options(), ""),
        (
            "another namespace has the host",
            after(first.replace("namespace: default", "namespace: other")),
            options(),
            "",
        ),
        ("too many paths", own(), small(|limits| limits.object.paths = 0), ""),
        ("a namespace with too much", own(), small(|limits| limits.namespace.hosts = 0), ""),
        ("a node with too much", own(), small(|limits| limits.node.memory = 1), ""),
    ] {
        let names = translate(&documents, options).names;
        let names: Vec<_> = names
            .iter()
            .map(|(name, namespaces)| {
                format!("{name} {}", Vec::from_iter(namespaces.iter().map(|one| &**one)).join(","))
            })
            .collect();
        assert_eq!(names.join(" "), expected, "{what}: {documents}");
    }
}

#[test]
fn an_answer_that_is_cut_is_reported() {
    let answer = NameAnswer { addresses: vec!["192.0.2.1".parse().unwrap()], is_cut: true, ..NameAnswer::default() };
    let world = named(Names([(HostName::new("b.example").unwrap(), answer)].into()));
    let translation = translate_in(&world, &external("b.example"), options());
    assert_eq!(upstreams(&translation), ["named 80 192.0.2.1:80*1"]);
    assert_eq!(findings(&translation), ["i AddressesLeftOut"]);
}

#[test]
fn an_external_name_is_no_way_to_other_namespaces() {
    // The Service is in the namespace `default`.
    for (name, domain, is_refused) in [
        ("admin.victim.svc.cluster.local", "cluster.local", true),
        ("Admin.victim.SVC.cluster.local.", "cluster.local", true),
        ("admin.victim.svc", "cluster.local", true),
        ("10-1-2-3.victim.pod.cluster.local", "cluster.local", true),
        ("p-0.web.victim.svc.cluster.local", "cluster.local", true),
        ("admin.victim.svc.corp.example", "corp.example", true),
        ("admin.victim.svc.corp.example", "cluster.local", false),
        ("kubernetes.default.svc", "cluster.local", false),
        ("p-0.web.default.svc.cluster.local", "cluster.local", false),
        ("victim.example", "cluster.local", false),
    ] {
        let options = Options { cluster_domain: domain.into(), ..options() };
        let answer = NameAnswer { addresses: vec!["192.0.2.1".parse().unwrap()], ..NameAnswer::default() };
        let host = HostName::new(name.to_ascii_lowercase().trim_end_matches('.')).unwrap();
        let world = named(Names([(host, answer)].into_iter().collect()));
        let translation = translate_in(&world, &external(name), options.clone());
        let expected: &[&str] = if is_refused { &["i CrossNamespace"] } else { &[] };
        assert_eq!(findings(&translation), expected, "{name}");
        assert_eq!(translation.names.is_empty(), is_refused, "{name}");
        let open = Options { cross_namespace: true, ..options };
        assert!(findings(&translate_in(&world, &external(name), open)).is_empty(), "{name}");
    }
}

#[test]
fn a_service_that_is_shared_by_name_is_used_by_all_namespaces_and_no_other_is() {
    let shared = |port: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: proxy, namespace: infra}}\n\
             spec: {{clusterIP: 10.96.0.44, ports: [{{name: http, port: 80, targetPort: {port}}}]}}\n---\n\
             apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: proxy-1, namespace: infra, \
             labels: {{kubernetes.io/service-name: proxy}}}}\naddressType: IPv4\n\
             ports: [{{name: http, port: 4180}}]\nendpoints: [{{addresses: [10.244.9.7]}}]\n---\n"
        )
    };
    let by_url = |key: &str, host: &str| {
        ingress("i", "ingressd", "a.example", &format!("{key}: 'http://{host}/'"), &[path("/", "Prefix", "web")])
    };
    let none: &[(&str, &str)] = &[];
    for (what, object, upstream) in [
        ("auth-url", by_url("auth-url", "proxy.infra.svc.cluster.local"), "proxy 80 10.244.9.7:4180*1"),
        ("a mirror", by_url("mirror-target", "proxy.infra.svc"), "proxy 80 10.244.9.7:4180*1"),
        ("ExternalName", external("Proxy.infra.svc.cluster.local."), "named 80 10.244.9.7:4180*1"),
    ] {
        for (by_name, common, is_used) in [
            (none, false, false),
            (&[("infra", "other"), ("default", "proxy")], false, false),
            (&[("infra", "proxy")], false, true),
            (none, true, true),
        ] {
            let shared_services = by_name.iter().map(|(of, name)| ((*of).into(), (*name).into())).collect();
            let options = Options { shared_services, cross_namespace: common, ..options() };
            let translation = translate(&[&shared("4180"), object.as_str()].concat(), options);
            let reported: Vec<_> = translation.findings.iter().map(Finding::printable_note).collect();
            let is_there = upstreams(&translation).iter().any(|line| line == upstream);
            assert_eq!((is_there, reported.is_empty()), (is_used, is_used), "{what} {by_name:?} {reported:?}");
            assert!(translation.names.is_empty(), "DNS is not asked for what the cluster says");
            if !is_used {
                assert_eq!(findings(&translation), ["i CrossNamespace"], "{what}");
                let remedy = "list \"infra/proxy\" in `access.shared-services`";
                assert!(reported[0].contains(remedy) && reported[0].contains("Service \"proxy\""), "{reported:?}");
            }
        }
    }
}

#[test]
fn an_external_name_is_no_way_through_another_one() {
    let second = "apiVersion: v1\nkind: Service\nmetadata: {name: other, namespace: default}\n\
        spec: {type: ExternalName, externalName: admin.victim.svc.cluster.local}\n---\n";
    for name in ["other.default.svc.cluster.local", "Other.default.svc."] {
        let reported = |options| findings(&translate(&[second, &external(name)].concat(), options));
        let options = Options { cluster_domain: "cluster.local".into(), ..options() };
        assert_eq!(reported(options.clone()), ["i CrossNamespace"], "{name}");
        assert_eq!(reported(Options { cross_namespace: true, ..options }), ["i UnresolvedName"], "{name}");
    }
}

#[test]
fn the_domain_of_the_cluster_holds_for_services_that_are_asked() {
    for (host, domain, expected) in [
        ("web.default.svc.corp.example", "corp.example", &[][..]),
        ("web.victim.svc.corp.example", "corp.example", &["i CrossNamespace"]),
        ("p-0.web.default.svc.corp.example", "corp.example", &["i CrossNamespace"]),
        ("web.victim.svc.corp.example", "cluster.local", &["i UnresolvedName"]),
    ] {
        let asks = format!("auth-url: 'http://{host}/'");
        let object = ingress("i", "ingressd", "a.example", &asks, &[path("/", "Prefix", "web")]);
        let options = Options { cluster_domain: domain.into(), ..options() };
        assert_eq!(findings(&translate(&object, options)), expected, "{host} in {domain}");
    }
}

/// Objects that reach a Service behind a name in several ways: each gets what it asks for,
/// whichever was read first.
#[test]
fn ways_through_one_external_name_are_apart() {
    let named = external("web.default.svc.cluster.local");
    let other = |name: &str, class: &str, annotations: &str, port: &str| {
        let path = path("/", "Prefix", "named").replace("number: 80", &format!("number: {port}"));
        ["\n---\n", &ingress(name, class, &format!("{name}.example"), annotations, &[path])].concat()
    };
    let pods = "named 80 10.244.0.1:8080*1 10.244.0.2:8080*1";
    let by_cluster = other("0", "nginx", "service-upstream: 'true'", "80");
    let translation = translate(&[&*named, &by_cluster].concat(), options());
    assert_eq!(upstreams(&translation), [pods, "named 80clusterip 10.96.0.10:80*1"]);
    assert_eq!(findings(&translation), [""; 0]);
    let any_port = named.replace(", ports: [{port: 80}]", "");
    for [one, two] in [["ingressd", "nginx"], ["nginx", "ingressd"]] {
        let both = [other("0", one, "", "8080"), other("1", two, "", "8080")].concat();
        let translation = translate(&[&*any_port, &both].concat(), options());
        assert_eq!(upstreams(&translation), [pods, &pods.replace("named 80", "named 8080")], "{one}");
        assert_eq!(findings(&translation), [""; 0], "{one}");
    }
}

#[test]
fn external_names_can_be_switched_off() {
    let off = Options { external_names: false, ..options() };
    assert_eq!(findings(&translate(&external("192.0.2.1"), off)), ["i ExternalNameDisabled"]);
}

#[test]
fn other_backends() {
    let resource = "{path: /, pathType: Prefix, backend: {resource: {apiGroup: x, kind: Bucket, name: b}}}".to_owned();
    let translation = translate(&ingress("i", "ingressd", "a.example", "", &[resource]), options());
    assert_eq!(routes(&translation)[1], "  / -> 503");
    assert_eq!(findings(&translation), ["i UnsupportedBackend"]);
    let protocols = translate(include_str!("../../../../tests/golden/protocols.yaml"), options());
    let lines = routes(&protocols);
    assert!(
        lines.contains(&"  / -> h2c Grpc".to_owned()) && lines.contains(&"  / -> web Grpcs".to_owned()),
        "{lines:?}"
    );
}
