//! The modes of reaching a Service, and its protocol.

use super::{at, findings, ingress, options, path, routes, translate, translate_in, upstreams, world};
use crate::{EndpointMode, Options, World};
use ingressd_model::Cidr;

fn service(annotations: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: made, namespace: default, annotations: {{{annotations}}}}}\n\
         spec: {{{spec}}}\n---\n\
         apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: made-1, namespace: default, labels: \
         {{kubernetes.io/service-name: made}}}}\naddressType: IPv4\nports: [{{name: '', port: 8080}}]\n\
         endpoints: [{{addresses: [10.244.9.1]}}]"
    )
}

fn node(name: &str, labels: &str, ready: &str, addresses: &[&str]) -> String {
    let addresses: Vec<_> =
        addresses.iter().map(|address| format!("{{type: InternalIP, address: '{address}'}}")).collect();
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{{labels}}}}}\nstatus: {{addresses: [{}], \
         conditions: [{{type: Ready, status: '{ready}'}}]}}",
        addresses.join(", ")
    )
}

fn found(documents: &[String], options: Options) -> (String, Vec<String>) {
    found_in(&world(), documents, options)
}

fn found_in(world: &World, documents: &[String], options: Options) -> (String, Vec<String>) {
    let document = ingress("i", "ingressd", "a.example", "", &[path("/", "Prefix", "made")]);
    let translation = translate_in(world, &[documents, &[document]].concat().join("\n---\n"), options);
    (upstreams(&translation).join(", "), findings(&translation))
}

#[test]
fn a_mode_is_that_of_the_service_else_of_the_class_else_of_the_settings() {
    use EndpointMode::{Auto, ClusterIp, LoadBalancer, NodePort, Pod};
    const CLUSTER: &str = "clusterIP: 10.96.0.99, ports: [{port: 80}]";
    const NODE: &str = "type: NodePort, clusterIP: 10.96.0.99, ports: [{port: 80, nodePort: 30099}]";
    const BY_POD: &str = "made 80 10.244.9.1:8080*1";
    const BY_CLUSTER: &str = "made 80clusterip 10.96.0.99:80*1";
    const BY_NODE: &str = "made 80nodeport 192.0.2.11:30099*1 192.0.2.12:30099*1";
    const BY_ANY_NODE: &str = "made 80auto 192.0.2.11:30099*1 192.0.2.12:30099*1";
    type Row<'r> = (&'r str, &'r str, Option<EndpointMode>, EndpointMode, &'r [&'r str], &'r str, &'r [&'r str]);
    let rows: &[Row<'_>] = &[
        ("", CLUSTER, None, Pod, &[], BY_POD, &[]),
        ("", CLUSTER, None, ClusterIp, &[], BY_CLUSTER, &[]),
        ("", CLUSTER, Some(ClusterIp), Pod, &[], BY_CLUSTER, &[]),
        ("ingressd/endpoints: pod", CLUSTER, Some(ClusterIp), NodePort, &[], BY_POD, &[]),
        ("ingressd/endpoints: nodePort", CLUSTER, Some(ClusterIp), Pod, &[], BY_CLUSTER, &["i InvalidValue"]),
        ("", NODE, None, NodePort, &[], BY_NODE, &[]),
        ("", CLUSTER, None, NodePort, &[], "made 80nodeport", &["i UnreachableMode"]),
        ("", CLUSTER, None, LoadBalancer, &[], "made 80loadbalancer", &["i UnreachableMode"]),
        ("", "clusterIP: None, ports: [{port: 80}]", None, ClusterIp, &[], "made 80clusterip", &["i UnreachableMode"]),
        ("", NODE, None, Auto, &["10.96.0.0/16", "10.244.0.0/16"], BY_ANY_NODE, &[]),
        ("", CLUSTER, None, Auto, &["10.96.0.0/16"], "made 80auto 10.96.0.99:80*1", &[]),
        ("", CLUSTER, None, Auto, &["10.244.0.0/16"], "made 80auto 10.244.9.1:8080*1", &[]),
        ("", CLUSTER, None, Auto, &[], "made 80auto", &["i UnreachableMode"]),
    ];
    for (annotations, spec, class, common, reachable, expected, reasons) in rows {
        let mut options = Options { endpoints: *common, ..options() };
        options.classes.iter_mut().for_each(|rule| rule.endpoints = *class);
        options.reachable = reachable.iter().map(|network| network.parse::<Cidr>().unwrap()).collect();
        let (upstreams, found) = found(&[service(annotations, spec)], options);
        assert_eq!(
            (upstreams.as_str(), found),
            (*expected, reasons.iter().map(ToString::to_string).collect()),
            "{spec}"
        );
    }
}

#[test]
fn nodes_that_take_no_requests_are_left_out() {
    const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers: ''";
    let documents = [
        service("", "type: NodePort, clusterIP: 10.96.0.99, ports: [{port: 80, nodePort: 30099}]"),
        node("excluded", EXCLUDED, "True", &["192.0.2.21"]),
        node("unready", "", "False", &["192.0.2.22"]),
        node("unknown", "", "Unknown", &["192.0.2.23"]),
        node("new", "", "True", &[]),
        node("good", "", "True", &["192.0.2.24"]),
    ];
    let (upstreams, reasons) = found(&documents, Options { endpoints: EndpointMode::NodePort, ..options() });
    assert_eq!(upstreams, "made 80nodeport 192.0.2.11:30099*1 192.0.2.12:30099*1 192.0.2.24:30099*1");
    assert!(reasons.is_empty());
}

#[test]
fn the_first_family_of_a_service_is_preferred() {
    let spec =
        "type: NodePort, clusterIP: '2001:db8::99', ipFamilies: [IPv6, IPv4], ports: [{port: 80, nodePort: 30099}]";
    let documents = [service("", spec), node("both", "", "True", &["192.0.2.24", "2001:db8::24"])];
    let nodes = found(&documents, Options { endpoints: EndpointMode::NodePort, ..options() }).0;
    assert_eq!(nodes, "made 80nodeport 192.0.2.11:30099*1 192.0.2.12:30099*1 [2001:db8::24]:30099*1");
    let cluster = found(&documents, Options { endpoints: EndpointMode::ClusterIp, ..options() }).0;
    assert_eq!(cluster, "made 80clusterip [2001:db8::99]:80*1");
}

#[test]
fn an_application_protocol_chooses_how_to_speak() {
    let rows = [
        ("", "Http"),
        ("http", "Http"),
        ("kubernetes.io/ws", "Http"),
        ("kubernetes.io/wss", "Https"),
        ("https", "Https"),
        ("grpc", "Grpc"),
        ("kubernetes.io/h2c", "Grpc"),
        ("example.com/unheard-of", "Http"),
    ];
    for (protocol, expected) in rows {
        let spec = format!("clusterIP: 10.96.0.99, ports: [{{port: 80, appProtocol: '{protocol}'}}]");
        for (class, app_protocol, counts) in [
            ("ingressd", None, true),
            ("ingressd", Some(false), false),
            ("nginx", None, false),
            ("nginx", Some(true), true),
        ] {
            let common = Some(("default".into(), "made".into()));
            let options = Options { app_protocol, default_backend: common, ..options() };
            let document = ingress("i", class, "a.example", "", &[path("/a", "Prefix", "made")]);
            let translation = translate(&[service("", &spec), document].join("\n---\n"), options);
            let expected = if counts { expected } else { "Http" };
            let lines = routes(&translation);
            assert!(
                lines.contains(&format!("  /a -> made {expected}")),
                "{protocol} {class} {app_protocol:?}: {lines:?}"
            );
            // The backend of the settings follows the first class.
            let rest = format!("  else / -> made {expected}");
            assert!(class != "ingressd" || lines.contains(&rest), "{protocol} {app_protocol:?}: {lines:?}");
            let reported = findings(&translation).iter().any(|finding| finding == "i WithoutWebSockets");
            assert_eq!(reported, counts && protocol == "kubernetes.io/h2c", "{protocol} {class} {app_protocol:?}");
        }
    }
}

#[test]
fn a_node_of_the_cluster_reaches_itself_only_by_what_the_cluster_chose() {
    use EndpointMode::{Auto, ClusterIp, LoadBalancer, NodePort, Pod};
    let spec = "type: LoadBalancer, clusterIP: 10.96.0.99, ports: [{port: 80, nodePort: 30099}]";
    let made = |pod: &str| {
        let given = "\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.11}]}}\n---\n";
        [service("", spec).replacen("\n---\n", given, 1).replace("10.244.9.1", pod)]
    };
    let here = at(&["192.0.2.11:81", "10.96.0.99:81"]);
    let own = |endpoints| Options { endpoints, own_ports: vec![81], ..options() };
    let listed = |mode| Options { own_upstreams: vec!["192.0.2.11:8080".parse().unwrap()], ..own(mode) };
    let refused = |expected: &str| {
        let (without_endpoints, _) = expected.split_once(" 1").unwrap();
        (without_endpoints.to_owned(), vec!["i ForbiddenTarget".to_owned()])
    };
    for (mode, expected) in [
        (NodePort, "made 80nodeport 192.0.2.11:30099*1 192.0.2.12:30099*1"),
        (ClusterIp, "made 80clusterip 10.96.0.99:80*1"),
        (LoadBalancer, "made 80loadbalancer 192.0.2.11:80*1"),
        (Auto, "made 80auto 192.0.2.11:80*1"),
        (Pod, "made 80 10.244.9.1:8080*1"),
    ] {
        assert_eq!(found_in(&here, &made("10.244.9.1"), own(mode)), (expected.to_owned(), vec![]), "{mode:?}");
        // The cluster's proxy would send requests to the node itself, as we would.
        assert_eq!(found_in(&here, &made("192.0.2.11"), own(mode)), refused(expected), "{mode:?}");
        let expected = expected.replace("10.244.9.1", "192.0.2.11");
        assert_eq!(found_in(&here, &made("192.0.2.11"), listed(mode)), (expected, vec![]), "{mode:?}");
    }
}

#[test]
fn an_external_name_that_is_an_own_address_is_refused() {
    for (name, expected) in [("192.0.2.7", &["i ForbiddenTarget"][..]), ("192.0.2.8", &[])] {
        let external = service("", &format!("type: ExternalName, externalName: {name}, ports: [{{port: 80}}]"));
        let (_, reasons) = found_in(&at(&["192.0.2.7:80"]), &[external], options());
        assert_eq!(reasons, expected, "{name}");
    }
}
