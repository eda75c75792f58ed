//! A series of changes of endpoints, certificates and limits gives the tables and findings that
//! their end gives alone.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::changes::{names, outcome, put_certificate};
use super::{manifests, shared, world};
use crate::{Claims, Limits, Options, Translator, World};
use ingressd_model::{Kind, ObjectId, Transport};
use ingressd_objects::{Condition, Endpoint, EndpointPort, Endpoints, Family, Snapshot, Stored, Version};

/// Ports of TCP and UDP services.
const DOCUMENTS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: tcp-services, namespace: default}
data: {'9000': 'shop/web:80', '9001': 'shop/web:81', '9002': 'shop/api:80', '9003': 'office/web:80'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: udp-services, namespace: default}
data: {'9053': 'shop/api:53'}
";

/// All sorts of references to endpoints: name, namespace, host, annotations.
const INGRESSES: [(&str, &str, &str, &str); 19] = [
    ("whole", "shop", "a.example", "affinity: cookie"),
    ("canary", "shop", "a.example", "canary: 'true', canary-weight: '30'"),
    (
        "mirrors",
        "shop",
        "b.example",
        "mirror-target: 'http://copy.shop.svc.cluster.local/', mirror-request-body: 'off'",
    ),
    ("asks", "shop", "c.example", "auth-url: 'http://auth.shop.svc.cluster.local/'"),
    ("fails", "shop", "d.example", "custom-http-errors: '503', default-backend: copy"),
    ("passes", "shop", "e.example", "ssl-passthrough: 'true'"),
    ("hashes", "shop", "f.example", "upstream-hash-by: $request_uri"),
    ("by-service", "shop", "g.example", "service-upstream: 'true'"),
    ("outside", "shop", "h.example", "auth-url: 'http://auth.example.net/'"),
    ("office", "office", "i.example", "auth-url: 'http://auth.shop.svc.cluster.local/'"),
    ("persists", "shop", "j.example", "affinity: cookie, affinity-mode: persistent"),
    ("secure", "shop", "k.example", "backend-protocol: HTTPS"),
    ("other", "shop", "l.example", "load-balance: ewma"),
    ("asks-itself", "shop", "m.example", "auth-url: 'http://$host/api'"),
    ("asked", "shop", "n.example", "auth-url: 'http://$host/may'"),
    ("answers", "shop", "n.example", "proxy-body-size: 2m"),
    ("stands-in", "shop", "o.example", "default-backend: copy"),
    ("closed", "shop", "p.example", "allowlist-source-range: nonsense, default-backend: copy"),
    ("aliased", "shop", "q.example", "server-alias: r.example"),
];

const SERVICES: [&str; 4] = ["web", "api", "auth", "copy"];

static BEGIN: LazyLock<Snapshot> = LazyLock::new(|| {
    let mut documents = vec![DOCUMENTS.to_owned()];
    for namespace in ["shop", "office"] {
        for service in SERVICES {
            documents.push(format!(
                "apiVersion: v1\nkind: Service\nmetadata: {{name: {service}, namespace: {namespace}, uid: u-{service}}}\nspec: {{clusterIP: 10.96.0.9, ports: \
                 [{{name: http, port: 80, targetPort: 8080}}, {{name: admin, port: 81, targetPort: admin}}, {{name: dns, port: 53, protocol: UDP}}]}}"
            ));
        }
        for (name, external) in [("inside", "web.shop.svc.cluster.local"), ("beyond", "backend.example.net")] {
            documents.push(format!(
                "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {{type: ExternalName, externalName: {external}, \
                 ports: [{{name: http, port: 80}}]}}"
            ));
        }
        documents.push(format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: pair, namespace: {namespace}}}"));
    }
    for (name, namespace, host, annotations) in INGRESSES {
        let path = |path: &str, service: &str, port: &str| {
            format!("{{path: {path}, pathType: Prefix, backend: {{service: {{name: {service}, port: {{{port}}}}}}}}}")
        };
        let paths = match name {
            "canary" => vec![path("/", "api", "number: 80")],
            "answers" => vec![path("/may", "auth", "number: 80")],
            _ => vec![
                path("/", "web", "number: 80"),
                path("/named", "web", "name: http"),
                path("/admin", "web", "number: 81"),
                path("/api", "api", "number: 80"),
                path("/inside", "inside", "number: 80"),
                path("/beyond", "beyond", "number: 80"),
            ],
        };
        let prefixed = annotations.split(", ").map(|one| format!("nginx.ingress.kubernetes.io/{one}"));
        documents.push(format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}, namespace: {namespace}, annotations: {{{}}}}}\nspec: \
             {{ingressClassName: nginx, tls: [{{hosts: [{host}], secretName: pair}}], rules: [{{host: {host}, http: {{paths: [{}]}}}}]}}",
            prefixed.collect::<Vec<_>>().join(", "),
            paths.join(", ")
        ));
    }
    manifests::snapshot(&documents.join("\n---\n"))
});

#[derive(Debug, Clone)]
enum Change {
    /// Of a namespace, of a slice: the Service, how many endpoints, the first, and whether they
    /// are draining, of IPv6, without a port, or the first of them may get no requests.
    Slice(bool, u8, usize, u8, u8, (bool, bool, bool, bool)),
    NoSlice(bool, u8),
    Certificate(bool, u8, bool),
    Later(i64),
    Limits(u64, u64),
    Mode(bool),
    Dns(u8),
    Own(u8),
    External(bool),
    /// An Ingress: not there, as at the beginning, or with another Service and port.
    Ingress(usize, u8),
    /// A Service: not there, as at the beginning, without a port, with another target, or by name.
    Service(bool, usize, u8),
}

fn a_change() -> impl Strategy<Value = Change> {
    let slice = (any::<bool>(), 0..6_u8, 0..SERVICES.len(), 0..4_u8, 0..3_u8, any::<(bool, bool, bool, bool)>());
    let few = || prop::sample::select(&[1, 2, 3, 4, 6, 9, 1000_u64][..]);
    prop_oneof![
        24 => slice.prop_map(|(namespace, slice, service, count, first, how)| {
            let (drains, is_six, is_closed, is_forbidden) = how;
            let is_closed = is_closed && first == 2 && count > 2;
            let how = (drains && first == 0, is_six && first == 1, is_closed, is_forbidden && slice < 2);
            Change::Slice(namespace, slice, service, count, first, how)
        }),
        12 => (any::<bool>(), 0..6_u8).prop_map(|(namespace, slice)| Change::NoSlice(namespace, slice)),
        6 => (any::<bool>(), 0..7_u8, any::<bool>()).prop_map(|(namespace, number, is_issued)| Change::Certificate(namespace, number, is_issued && number == 1)),
        4 => (0..20_000_000_i64).prop_map(Change::Later),
        2 => (few(), few()).prop_map(|(one, all)| Change::Limits(one, all)),
        1 => any::<bool>().prop_map(Change::Mode),
        1 => (1..4_u8).prop_map(Change::Dns),
        1 => (0..4_u8).prop_map(Change::Own),
        1 => any::<bool>().prop_map(Change::External),
        3 => (0..INGRESSES.len(), 0..3_u8).prop_map(|(place, how)| Change::Ingress(place, how)),
        3 => (any::<bool>(), 0..SERVICES.len(), 0..6_u8).prop_map(|(is_office, service, how)| Change::Service(is_office, service, how)),
    ]
}

fn follow(change: &Change, snapshot: &mut Snapshot, options: &mut Options, world: &mut World) {
    let named = |is_office: bool| if is_office { "office" } else { "shop" };
    match *change {
        Change::Slice(is_office, slice, service, count, first, (drains, is_six, is_closed, is_forbidden)) => {
            let id = ObjectId::new(Kind::ENDPOINT_SLICE, named(is_office), &format!("slice-{slice}"));
            let address = |number: u8| match is_six {
                _ if is_forbidden && number == first * 3 + 1 => "127.0.0.1".parse().unwrap(),
                true => format!("fd00::{number}").parse().unwrap(),
                false => format!("10.244.{}.{number}", u8::from(is_office)).parse().unwrap(),
            };
            let endpoint = |number| Endpoint {
                address: address(number),
                condition: if drains { Condition::Draining } else { Condition::Ready },
                node: None,
                target: Some(format!("Pod/x/p{number}").into()),
            };
            let port = |name: &str, number, transport| EndpointPort {
                name: name.into(),
                number: Some(number),
                transport: Some(transport),
            };
            let ports = [
                port("http", 8080, Transport::Tcp),
                port("admin", 9090, Transport::Tcp),
                port("dns", 53, Transport::Udp),
            ];
            let object = Endpoints {
                uid: None,
                service: Some(SERVICES[service].into()),
                family: Some(if is_six { Family::Six } else { Family::Four }),
                ports: ports.into_iter().skip(usize::from(is_closed)).collect(),
                endpoints: (first * 3 + 1..first * 3 + 1 + count).map(endpoint).collect(),
            };
            let version = Version(format!("{change:?}").into());
            let stored = Stored { id: Arc::new(id), version, object: Arc::new(object), published: None, place: None };
            let list = snapshot.endpoint_slices.edit();
            match list.binary_search_by(|other| other.id.cmp(&stored.id)) {
                Ok(place) => list[place] = stored,
                Err(place) => list.insert(place, stored),
            }
        }
        Change::NoSlice(is_office, slice) => {
            let (namespace, name) = (named(is_office), format!("slice-{slice}"));
            snapshot.endpoint_slices.edit().retain(|one| *one.id.namespace != *namespace || *one.id.name != *name);
        }
        Change::Certificate(is_office, number, is_issued) => {
            let place = snapshot.secrets.position(named(is_office), "pair").unwrap();
            put_certificate(&mut snapshot.secrets.edit()[place], number, is_issued);
        }
        Change::Later(seconds) => world.now += seconds,
        Change::Limits(one, all) => {
            let mut limits = Limits::default();
            (limits.object.endpoints, limits.namespace.endpoints) = (one, all);
            options.limits = limits;
        }
        Change::Mode(is_open) => options.cross_namespace = is_open,
        Change::Dns(number) => world.names = names(number),
        Change::Own(number) => world.own_addresses = vec![format!("10.244.0.{number}:8080").parse().unwrap()],
        Change::Ingress(place, how) => {
            let (name, namespace, ..) = INGRESSES[place];
            let mut stored = BEGIN.ingresses.find(namespace, name).unwrap().clone();
            if how == 2 {
                let mut object = (*stored.object).clone();
                let backend = &mut object.rules[0].paths[0].backend;
                backend.service = Some("copy".into());
                (stored.object, stored.version) = (Arc::new(object), Version("other".into()));
            }
            let list = snapshot.ingresses.edit();
            list.retain(|one| one.id != stored.id);
            if how > 0 {
                let place = list.partition_point(|one| one.id < stored.id);
                list.insert(place, stored);
            }
        }
        Change::Service(is_office, service, how) => {
            let mut stored = BEGIN.services.find(named(is_office), SERVICES[service]).unwrap().clone();
            let mut object = (*stored.object).clone();
            let mut ports = object.ports.to_vec();
            match how {
                2 => drop(ports.remove(1)),
                3 => ports[1].target = ports[0].target.clone(),
                4 => object.external_name = Some("copy.shop.svc.cluster.local".into()),
                5 => ports[0].number = 79,
                _ => {}
            }
            object.ports = ports.into();
            (stored.object, stored.version) = (Arc::new(object), Version(format!("service {how}").into()));
            let list = snapshot.services.edit();
            list.retain(|one| one.id != stored.id);
            if how > 0 {
                let place = list.partition_point(|one| one.id < stored.id);
                list.insert(place, stored);
            }
        }
        Change::External(are_allowed) => options.external_names = are_allowed,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

    #[test]
    fn a_series_of_rows_is_that_of_its_end(
        steps in prop::collection::vec(prop::collection::vec(a_change(), 1..4), 1..48),
    ) {
        let mut options = Options { passthrough: true, external_names: true, cross_namespace: true, ..shared() };
        options.streams.tcp_services = Some(("default".into(), "tcp-services".into()));
        options.streams.udp_services = Some(("default".into(), "udp-services".into()));
        let (mut snapshot, mut world) = (BEGIN.clone(), World { names: names(1), ..world() });
        let mut translator = Translator::new(options.clone());
        let mut claims: Arc<Claims> = Arc::default();
        for step in steps {
            step.iter().for_each(|change| follow(change, &mut snapshot, &mut options, &mut world));
            translator.set_options(options.clone());
            let seen = translator.translate(&snapshot, &world, &claims);
            let anew = Translator::new(options.clone()).translate(&snapshot, &world, &claims);
            prop_assert_eq!(outcome(&seen), outcome(&anew), "{:?}", step);
            claims = seen.claims;
        }
    }
}
