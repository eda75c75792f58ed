//! TCP and UDP services: the upstream of each port, and findings.

use std::sync::Arc;

use super::cluster::Cluster;
use super::manifests::snapshot;
use super::{at, options, translate, translate_in, world};
use crate::{
    AllowedSnippets, Claims, EndpointMode, NameAnswer, Names, Options, SnippetKind, StreamOptions, Translation,
    Translator, World,
};
use ingressd_model::Field;
use ingressd_model::finding::Reason;
use ingressd_objects::rows;

const SERVICES: &str = "\
apiVersion: v1
kind: Service
metadata: {name: one, namespace: data}
spec: {type: NodePort, clusterIP: 10.96.0.7, ports: [{name: sql, port: 5432, targetPort: 15432, nodePort: 30432},
  {name: dns, port: 53, protocol: UDP}, {name: sctp, port: 99, protocol: SCTP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: one-1, namespace: data, labels: {kubernetes.io/service-name: one}}
addressType: IPv4
ports: [{name: sql, port: 15432}, {name: dns, port: 5353, protocol: UDP}, {name: sctp, port: 99, protocol: SCTP}]
endpoints: [{addresses: [10.244.0.2]}, {addresses: [10.244.0.1]}, {addresses: [192.0.2.99]}]
---
apiVersion: v1
kind: Service
metadata: {name: none, namespace: data}
spec: {clusterIP: 10.96.0.8, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: named, namespace: data}
spec: {type: ExternalName, externalName: db.example.net}
";

fn here() -> World {
    at(&["192.0.2.99:80"])
}

fn with_services(options: Options) -> Options {
    let name = |name: &str| Some(("infra".into(), name.into()));
    let reserved = vec![(80, "listen.http-port"), (10254, "http.address")];
    let (tcp_services, udp_services) = (name("tcp"), name("udp"));
    let streams = StreamOptions { tcp_services, udp_services, reserved, ..StreamOptions::default() };
    Options { streams, ..options }
}

fn maps(tcp: &str, udp: &str) -> String {
    let map = |name: &str, data: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: infra}}\ndata: {{{data}}}")
    };
    [SERVICES.to_owned(), map("tcp", tcp), map("udp", udp)].join("\n---\n")
}

/// Services, one on each line, and findings with their keys.
fn outline(translation: &Translation) -> (Vec<String>, Vec<String>) {
    let streams = translation.model.streams.iter().map(|stream| {
        let upstream = translation.model.stream_upstreams.iter().find(|upstream| upstream.id == stream.upstream);
        let id = &upstream.expect("each service has its endpoints").id;
        let endpoints: Vec<_> =
            translation.tables.endpoints(id).iter().map(|endpoint| endpoint.address.to_string()).collect();
        let marks = [(stream.listener.proxy_protocol, " in"), (stream.sends_proxy_protocol, " out")];
        let marks: String = marks.iter().filter(|(is_on, _)| *is_on).map(|(_, mark)| *mark).collect();
        format!(
            "{}{marks} -> {}/{} {} port {}{} {}",
            stream.listener.port,
            id.namespace,
            id.service,
            id.transport().name(),
            id.port,
            id.mode,
            endpoints.join(" ")
        )
    });
    let findings = translation.findings.iter().map(|finding| match &finding.origin.field {
        Field::Data(key) => format!("{} {key} {}", finding.origin.object.name, finding.reason),
        _ => format!("{} {}", finding.origin.object.name, finding.reason),
    });
    (streams.collect(), findings.collect())
}

fn check(tcp: &str, udp: &str, options: Options, streams: &[&str], findings: &[&str]) {
    let found = outline(&translate_in(&here(), &maps(tcp, udp), with_services(options)));
    assert_eq!(
        (found.0.as_slice(), found.1.as_slice()),
        (
            &*streams.iter().map(ToString::to_string).collect::<Vec<_>>(),
            &*findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ),
        "{tcp} {udp}"
    );
}

const SQL: &str = "data/one TCP port 5432 10.244.0.1:15432 10.244.0.2:15432";

#[test]
fn entries_become_services_with_the_endpoints_of_their_protocol() {
    let own = "tcp 7 ForbiddenTarget";
    let to = |port: &str| format!("{port} -> {SQL}");
    check("'7': 'data/one:5432'", "", options(), &[&to("TCP port 7")], &[own]);
    check("'7': 'data/one:sql:PROXY:PROXY'", "", options(), &[&to("TCP port 7 in out")], &[own]);
    check(
        "",
        "'53': 'data/one:dns'",
        options(),
        &["UDP port 53 -> data/one UDP port 53 10.244.0.1:5353 10.244.0.2:5353"],
        &["udp 53 ForbiddenTarget"],
    );
    // A port with another protocol does not count.
    for (tcp, udp, finding) in [
        ("'7': 'data/one:dns'", "", "tcp 7 MissingPort"),
        ("'7': 'data/one:53'", "", "tcp 7 MissingPort"),
        ("'7': 'data/one:99'", "", "tcp 7 MissingPort"),
        ("", "'7': 'data/one:sctp'", "udp 7 MissingPort"),
        ("", "'7': 'data/one:sql'", "udp 7 MissingPort"),
        // A port of the pods is not a port of the Service.
        ("'7': 'data/one:15432'", "", "tcp 7 MissingPort"),
        ("'7': 'data/two:1'", "", "tcp 7 MissingService"),
        ("'7': 'infra/one:5432'", "", "tcp 7 MissingService"),
        ("'7': 'data/one'", "", "tcp 7 InvalidValue"),
        ("'7.0': 'data/one:1'", "", "tcp 7.0 InvalidValue"),
    ] {
        check(tcp, udp, options(), &[], &[finding]);
    }
}

#[test]
fn a_service_without_endpoints_keeps_its_port() {
    check("'7': 'data/none:80'", "", options(), &["TCP port 7 -> data/none TCP port 80 "], &["tcp 7 NoEndpoints"]);
    let node_port = Options { endpoints: EndpointMode::NodePort, ..options() };
    check(
        "'7': 'data/none:80'",
        "",
        node_port,
        &["TCP port 7 -> data/none TCP port 80nodeport "],
        &["tcp 7 UnreachableMode"],
    );
    let by_address = Options { endpoints: EndpointMode::ClusterIp, ..options() };
    let expected = ["TCP port 7 -> data/none TCP port 80clusterip 10.96.0.8:80"];
    check("'7': 'data/none:80'", "", by_address, &expected, &[]);
}

#[test]
fn one_bad_entry_harms_no_other() {
    let tcp = "'6': 'data/one:5432', '7': '; } http {', '8': 'data/none:80', '9': 'data/one:sql:PROXY'";
    check(
        tcp,
        "",
        options(),
        &[&format!("TCP port 6 -> {SQL}"), "TCP port 8 -> data/none TCP port 80 ", &format!("TCP port 9 in -> {SQL}")],
        &["tcp 6 ForbiddenTarget", "tcp 7 InvalidValue", "tcp 8 NoEndpoints", "tcp 9 ForbiddenTarget"],
    );
}

#[test]
fn no_service_gets_a_port_of_ours_or_of_another_service() {
    let to_none = "data/none:80";
    let udp = "'80': 'data/one:dns'";
    let dns = "UDP port 80 -> data/one UDP port 53 10.244.0.1:5353 10.244.0.2:5353";
    check(
        &format!("'80': '{to_none}', '10254': '{to_none}'"),
        udp,
        options(),
        &[dns],
        &["tcp 10254 PortConflict", "tcp 80 PortConflict", "udp 80 ForbiddenTarget"],
    );
    // Two ConfigMaps, or one that is named twice, may claim the same port for both protocols.
    check(
        &format!("'7': '{to_none}'"),
        "'7': 'data/none:80'",
        options(),
        &["TCP port 7 -> data/none TCP port 80 "],
        &["tcp 7 NoEndpoints", "udp 7 MissingPort"],
    );
}

#[test]
fn what_a_service_has_as_its_port_is_no_endpoint_of_ours() {
    // A connection to port 15432 of an address of this node would loop.
    let local = Options { local_upstreams: true, ..options() };
    let findings = |port: u16| {
        let text = maps(&format!("'{port}': 'data/one:5432'"), "");
        let translation = translate_in(&here(), &text, with_services(local.clone()));
        outline(&translation)
    };
    assert!(findings(7).0[0].contains("192.0.2.99:15432"));
    let (streams, reported) = findings(15432);
    assert!(
        !streams[0].contains("192.0.2.99") && reported == ["tcp 15432 ForbiddenTarget"],
        "{streams:?} {reported:?}"
    );
}

#[test]
fn names_are_resolved_and_missing_maps_reported() {
    let answer = NameAnswer { addresses: vec!["192.0.2.50".parse().unwrap()], ..NameAnswer::default() };
    let names = Names([(ingressd_model::HostName::new("db.example.net").unwrap(), answer)].into());
    let world = World { names: Arc::new(names), ..here() };
    let text = maps("'7': 'data/named:5432'", "");
    let translation = translate_in(&world, &text, with_services(options()));
    assert_eq!(outline(&translation).0, ["TCP port 7 -> data/named TCP port 5432 192.0.2.50:5432"]);
    assert_eq!(translation.names.len(), 1, "it is asked for again");
    // The port of the backend is the target port.
    let mapped = "db.example.net, ports: [{name: sql, port: 5432, targetPort: 15432}]";
    let mapped = maps("'7': 'data/named:sql', '8': 'data/named:5432'", "").replace("db.example.net", mapped);
    let to = |port: &str| format!("TCP port {port} -> data/named TCP port 5432 192.0.2.50:15432");
    assert_eq!(outline(&translate_in(&world, &mapped, with_services(options()))).0, [to("7"), to("8")]);
    let unknown = translate(&text, with_services(options()));
    assert_eq!(
        outline(&unknown),
        (vec!["TCP port 7 -> data/named TCP port 5432 ".to_owned()], vec!["tcp 7 UnresolvedName".to_owned()],)
    );
    let none = translate(SERVICES, with_services(options()));
    assert_eq!(outline(&none).1, ["tcp MissingConfigMap", "udp MissingConfigMap"]);
    assert_eq!(outline(&translate(&text, options())), (Vec::new(), Vec::new()), "nobody names the ConfigMaps");
}

/// Objects of two namespaces that ask for ports, and the namespaces' Services.
fn asking(objects: &[(&str, &str, &str)]) -> String {
    let of = |(namespace, created, server): &(&str, &str, &str)| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: tcp, namespace: {namespace}, \
             creationTimestamp: '{created}', annotations: {{nginx.ingress.kubernetes.io/stream-snippet: \
             'server {{ {server} }}'}}}}\nspec: {{ingressClassName: nginx, defaultBackend: {{service: {{name: db, \
             port: {{number: 80}}}}}}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: db, namespace: \
             {namespace}}}\nspec: {{clusterIP: 10.96.0.9, ports: [{{port: 80}}]}}"
        )
    };
    objects.iter().map(of).collect::<Vec<_>>().join("\n---\n")
}

fn scribes(ports: std::ops::RangeInclusive<u16>) -> Options {
    let allowed = AllowedSnippets {
        namespaces: vec!["old".into(), "young".into()],
        items: vec![SnippetKind::Stream],
        ports: vec![ports],
        ..AllowedSnippets::default()
    };
    let endpoints = EndpointMode::ClusterIp;
    Options { snippets: vec![allowed], annotation_snippets: true, endpoints, ..options() }
}

#[test]
fn objects_get_ports_that_the_administrator_allows_and_keep_them() {
    let (first, second) = ("2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z");
    let server = |namespace: &str| format!("listen 5432; proxy_pass db.{namespace}.svc:80; proxy_timeout 7s;");
    let (old, young) = (server("old"), server("young"));
    let young_alone = asking(&[("old", first, "listen 5999; proxy_pass db.old.svc:80;"), ("young", second, &young)]);
    let both = asking(&[("old", first, &old), ("young", second, &young)]);
    let ports = |translation: &Translation| -> Vec<String> {
        let streams = translation.model.streams.iter();
        streams.map(|stream| format!("{} {}", stream.listener.port.number, stream.upstream.namespace)).collect()
    };
    let mut translator = Translator::new(scribes(5000..=5999));
    let fresh = translator.translate(&snapshot(&both), &world(), &Default::default());
    assert_eq!(ports(&fresh), ["5432 old"]);
    let conflicts: Vec<_> = fresh.findings.iter().filter(|one| one.reason == Reason::PortConflict).collect();
    let [conflict] = &conflicts[..] else { panic!("{:?}", fresh.findings) };
    assert_eq!(&*conflict.origin.object.namespace, "young");
    assert!(!conflict.note.contains("old"), "{conflict}");
    assert_eq!(fresh.model.streams[0].policy.timeout.as_secs(), 7);
    // What is served stays, also over a restart, although the other object is older.
    let before = translator.translate(&snapshot(&young_alone), &world(), &Default::default());
    assert_eq!(ports(&before), ["5432 young", "5999 old"]);
    let kept = Arc::new(Claims::read(before.claims.write()));
    assert_eq!(kept, before.claims);
    let after = Translator::new(scribes(5000..=5999)).translate(&snapshot(&both), &world(), &kept);
    assert_eq!(ports(&after), ["5432 young"]);
    // When its object ends, the port is reserved for a while, and then the other one gets it.
    let (now, alone) = (world().now, snapshot(&asking(&[("old", first, &old)])));
    let mut translator = Translator::new(Options { host_grace: 300, ..scribes(5000..=5999) });
    let ended = translator.translate(&alone, &world(), &after.claims);
    assert_eq!((ports(&ended).len(), ended.due), (0, Some(now + 300)));
    assert_eq!(Claims::read(ended.claims.write()), *ended.claims);
    let back = translator.translate(&snapshot(&both), &world(), &ended.claims);
    assert_eq!(ports(&back), ["5432 young"]);
    let later = World { now: now + 300, ..world() };
    let over = translator.translate(&alone, &later, &ended.claims);
    assert_eq!((ports(&over), over.due), (vec!["5432 old".to_owned()], None));
    // Ports that are not allowed refuse the object.
    let refused = translate(&both, scribes(6000..=6001));
    assert_eq!((ports(&refused).len(), refused.refused.len()), (0, 2));
}

#[test]
fn a_port_stays_whose_object_cannot_be_served_now() {
    let asked = |namespace: &str, created: &str| {
        asking(&[(namespace, created, &format!("listen 5432; proxy_pass db.{namespace}.svc:80;"))])
    };
    let (young, old) = (asked("young", "2026-02-02T00:00:00Z"), asked("old", "2026-01-01T00:00:00Z"));
    let allowed = || Options { host_grace: 300, ..scribes(5000..=5999) };
    let mut cluster = Cluster::new(allowed());
    let ports = |translation: &Translation| -> Vec<_> {
        translation.model.streams.iter().map(|stream| stream.upstream.namespace.to_string()).collect()
    };
    assert_eq!(ports(&cluster.now(&[&young])), ["young"]);
    let mut taken_out = snapshot(&old);
    *taken_out.withheld.list_mut::<rows::Ingress>() = snapshot(&young).ingresses;
    for later in [0, 1000, 1000] {
        cluster.world.now += later;
        assert_eq!((ports(&cluster.read(&taken_out)).join(" "), later), (String::new(), later));
    }
    assert_eq!(ports(&cluster.now(&[&young, &old])), ["young"]);
    // What the administrator allows no more is reserved like what is gone.
    cluster.options.snippets[0].namespaces.pop();
    let mut served = Vec::new();
    for later in [0, 1000] {
        cluster.world.now += later;
        served.push(ports(&cluster.now(&[&young, &old])).join(" "));
    }
    assert_eq!(served, ["", "old"]);
}

#[test]
fn a_service_of_the_administrator_goes_before_those_of_objects() {
    let text = asking(&[("old", "2026-01-01T00:00:00Z", "listen 5432; proxy_pass db.old.svc:80;")]);
    let text = [text, maps("'5432': 'data/one:5432'", "")].join("\n---\n");
    let translation = translate(&text, with_services(scribes(1..=65535)));
    let [stream] = &translation.model.streams[..] else { panic!("{:?}", translation.model.streams) };
    assert_eq!(&*stream.upstream.namespace, "data");
    assert!(translation.findings.iter().any(|one| one.reason == Reason::PortConflict));
}

#[test]
fn services_of_objects_share_the_connections_of_one() {
    let three =
        "listen 5001; listen 5002; proxy_pass db.old.svc:80; } server { listen 5003; proxy_pass two.old.svc:80;";
    let two = "apiVersion: v1\nkind: Service\nmetadata: {name: two, namespace: old}\nspec: {clusterIP: 10.96.0.10, ports: \
               [{port: 80}]}";
    let objects = asking(&[
        ("old", "2026-01-01T00:00:00Z", three),
        ("young", "2026-01-01T00:00:00Z", "listen 5004; proxy_pass db.young.svc:80;"),
    ]);
    let sharers = |tcp: &str| -> Vec<_> {
        let text = [objects.clone(), two.to_owned(), maps(tcp, "")].join("\n---\n");
        let translation = translate(&text, with_services(scribes(5000..=5999)));
        let upstreams = translation.model.stream_upstreams.iter();
        upstreams
            .map(|upstream| format!("{}/{} {}", upstream.id.namespace, upstream.id.service, upstream.sharers))
            .collect()
    };
    assert_eq!(sharers(""), ["old/db 2", "old/two 2", "young/db 1"]);
    // What the administrator serves as well has a part of its own.
    assert_eq!(sharers("'7': 'old/two:80'"), ["old/db 1", "old/two 1", "young/db 1"]);
}

#[test]
fn a_port_of_an_object_forbids_no_backend_of_others() {
    let text = asking(&[("old", "2026-01-01T00:00:00Z", "listen 15432; proxy_pass db.old.svc:80;")]);
    let text = [text, maps("'7': 'data/one:5432'", "")].join("\n---\n");
    let endpoints = options().endpoints;
    let options = with_services(Options { local_upstreams: true, endpoints, ..scribes(1..=65535) });
    let (streams, _) = outline(&translate(&text, options));
    assert!(streams[0].contains("192.0.2.99:15432") && streams[1].starts_with("TCP port 15432 "), "{streams:?}");
}
