//! A translator that sees a series of changes gives the same result as one that sees only their
//! end.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::{ingress, manifests, options, path};
use crate::{ANNOTATIONS, Claims, NameAnswer, Names, OptionEntry, Options, Translation, Translator, Work};
use ingressd_model::{Action, HostName, Kind, ObjectId, Origin};
use ingressd_objects::{Endpoints, List, Snapshot, Stored, Version};

/// The objects that may change.
const CASES: [&str; 14] = [
    include_str!("../../../../tests/golden/alike.yaml"),
    include_str!("../../../../tests/golden/authentication.yaml"),
    include_str!("../../../../tests/golden/backend-tls.yaml"),
    include_str!("../../../../tests/golden/canaries.yaml"),
    include_str!("../../../../tests/golden/client-certificates.yaml"),
    include_str!("../../../../tests/golden/conflicts.yaml"),
    include_str!("../../../../tests/golden/default-backend.yaml"),
    include_str!("../../../../tests/golden/error-pages.yaml"),
    include_str!("../../../../tests/golden/external-authentication.yaml"),
    include_str!("../../../../tests/golden/external-name.yaml"),
    include_str!("../../../../tests/golden/mirrors.yaml"),
    include_str!("../../../../tests/golden/passthrough.yaml"),
    include_str!("../../../../tests/golden/paths-ingress-nginx.yaml"),
    include_str!("../../../../tests/golden/tls.yaml"),
];

/// Each of them in two versions.
static VERSIONS: LazyLock<[[Snapshot; 2]; CASES.len()]> = LazyLock::new(|| CASES.map(versions));

fn versions(text: &str) -> [Snapshot; 2] {
    let other = text
        .replace("10.244.", "10.245.")
        .replace("path: /", "path: /other/")
        .replace("port: {number: 80}", "port: {number: 81}")
        .replace("tls.crt", "tls.none")
        .replace("X-Realm", "X-Other");
    [text, &other].map(manifests::snapshot)
}

/// Removes an object, or inserts one of its versions.
fn put<K>(list: &mut List<K>, versions: [&List<K>; 2], object: prop::sample::Index, version: Option<bool>) {
    let Some(Stored { id, .. }) = versions[0].get(object.index(versions[0].len().max(1))) else { return };
    let stored = version.and_then(|other| versions[usize::from(other)].find(&id.namespace, &id.name));
    match (list.position(&id.namespace, &id.name), stored) {
        (Ok(place), None) => drop(list.edit().remove(place)),
        (Ok(place), Some(stored)) => list.edit()[place] = stored.clone(),
        (Err(place), Some(stored)) => list.edit().insert(place, stored.clone()),
        (Err(_), None) => {}
    }
}

/// DNS answers that change.
fn names(number: u8) -> Names {
    let hosts =
        ["backend.example.net", "auth.example.net", "stale.example.net"].map(|name| HostName::new(name).unwrap());
    let answer = NameAnswer { addresses: vec![[192, 0, 2, number].into()], ..NameAnswer::default() };
    Names(hosts.into_iter().map(|host| (host, answer.clone())).collect::<BTreeMap<_, _>>())
}

/// Services that are asked for all objects.
const ASKED: [&str; 3] = ["https://$host/oauth2/auth", "http://auth.example.net/", "nonsense"];

#[derive(Debug, Clone)]
enum Change {
    Object(u8, prop::sample::Index, Option<bool>),
    Time(i64),
    Dns(u8),
    OwnAddresses(bool),
    DefaultCertificate(bool),
    Everywhere(Option<&'static str>),
}

fn a_change() -> impl Strategy<Value = Change> {
    let object = (0..6_u8, any::<prop::sample::Index>(), any::<Option<bool>>());
    prop_oneof![
        12 => object.prop_map(|(kind, object, version)| Change::Object(kind, object, version)),
        1 => prop_oneof![0..1000_i64, 0..4_000_000_000_i64].prop_map(Change::Time),
        1 => (1..4_u8).prop_map(Change::Dns),
        1 => any::<bool>().prop_map(Change::OwnAddresses),
        1 => any::<bool>().prop_map(Change::DefaultCertificate),
        1 => prop::option::of(prop::sample::select(&ASKED[..])).prop_map(Change::Everywhere),
    ]
}

/// A cluster, the settings and the DNS answers.
struct World {
    versions: &'static [Snapshot; 2],
    snapshot: Snapshot,
    options: Options,
    names: Names,
}

impl World {
    fn follow(&mut self, change: &Change) {
        let [one, other] = self.versions;
        let snapshot = &mut self.snapshot;
        macro_rules! object {
            ($list:ident, $object:expr, $version:expr) => {
                put(&mut snapshot.$list, [&one.$list, &other.$list], $object, $version)
            };
        }
        match *change {
            Change::Object(0, object, version) => object!(services, object, version),
            Change::Object(1, object, version) => object!(endpoint_slices, object, version),
            Change::Object(2, object, version) => object!(secrets, object, version),
            // Without its class an object belongs to another controller, and without its node a
            // port has no address.
            Change::Object(3, object, version) if object.index(4) == 0 => object!(nodes, object, version),
            Change::Object(3, object, version) if object.index(4) == 1 => object!(ingress_classes, object, version),
            Change::Object(3, object, version) => object!(config_maps, object, version),
            Change::Object(4, object, version) => {
                // An object that nginx refuses is withheld.
                let all = [&one.ingresses, &other.ingresses];
                put(&mut snapshot.withheld, all, object, version);
                put(&mut snapshot.ingresses, all, object, version.is_none().then_some(false));
            }
            Change::Object(_, object, version) => object!(ingresses, object, version),
            Change::Time(seconds) => self.options.now = options().now + seconds,
            Change::Dns(number) => self.names = names(number),
            Change::OwnAddresses(has_one) => {
                self.options.own_addresses = has_one.then(|| "10.244.0.1:8080".parse().unwrap()).into_iter().collect();
            }
            Change::Everywhere(asked) => {
                let at = Origin::object(&Arc::new(ObjectId::new(Kind::ConfigMap, "edge", "controller")));
                let row = ANNOTATIONS.find("auth-url").unwrap();
                let said = asked.map(|value| OptionEntry { row, value: value.into(), at });
                self.options.defaults = said.into_iter().collect();
            }
            Change::DefaultCertificate(has_one) => {
                self.options.default_certificate = has_one.then(|| ("default".into(), "wildcard-tls".into()));
            }
        }
    }
}

/// The complete result.
fn outcome(translation: &Translation) -> impl PartialEq + std::fmt::Debug {
    let Translation { model, tables, findings, states, refused, claims, due, names, work: _ } = translation.clone();
    (model, tables, findings, states, refused, claims, due, names)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn what_was_seen_before_changes_nothing(
        case in 0..CASES.len(),
        steps in prop::collection::vec(prop::collection::vec(a_change(), 1..3), 1..32),
    ) {
        let versions = &VERSIONS[case];
        let options = Options { passthrough: true, ..options() };
        let mut world = World { versions, snapshot: versions[0].clone(), options, names: names(1) };
        let mut translator = Translator::new(world.options.clone());
        let mut claims: Arc<Claims> = Arc::default();
        for step in steps {
            step.iter().for_each(|change| world.follow(change));
            let World { snapshot, options, names, .. } = &world;
            translator.set_options(options.clone());
            let seen = translator.translate(snapshot, names, &claims);
            let anew = Translator::new(options.clone()).translate(snapshot, names, &claims);
            prop_assert_eq!(outcome(&seen), outcome(&anew), "{:?}", step);
            claims = anew.claims;
        }
    }
}

/// So many hosts, each with an object and a Service of its own.
fn many(number: usize) -> Snapshot {
    let one = manifests::snapshot(&ingress("one", "nginx", "one.example", "", &[path("/", "Prefix", "web")]));
    let named = |id: &ObjectId, number: usize| Arc::new(ObjectId { name: format!("n{number}").into(), ..id.clone() });
    let mut all = one.clone();
    let web = one.service("default", "web").unwrap();
    let of_web = |slice: &&Stored<Endpoints>| slice.object.service.as_deref() == Some("web");
    let slice = one.endpoint_slices.iter().find(of_web).unwrap();
    for number in 0..number {
        let (mut object, mut of_it) = ((*one.ingresses[0].object).clone(), (*slice.object).clone());
        object.rules[0].host = Some(format!("n{number}.example").into());
        object.rules[0].paths[0].backend.service = Some(format!("n{number}").into());
        of_it.service = Some(format!("n{number}").into());
        let id = named(&one.ingresses[0].id, number);
        all.ingresses.edit().push(Stored { id, object: Arc::new(object), ..one.ingresses[0].clone() });
        all.services.edit().push(Stored { id: named(&web.id, number), ..web.clone() });
        let id = named(&slice.id, number);
        all.endpoint_slices.edit().push(Stored { id, object: Arc::new(of_it), ..slice.clone() });
    }
    all.ingresses.edit().sort_by(|one, other| one.id.cmp(&other.id));
    all.services.edit().sort_by(|one, other| one.id.cmp(&other.id));
    all.endpoint_slices.edit().sort_by(|one, other| one.id.cmp(&other.id));
    all
}

#[test]
fn work_follows_the_size_of_the_change() {
    let before = many(5000);
    let mut translator = Translator::new(options());
    let claims = translator.translate(&before, &Names::default(), &Arc::default()).claims;
    let first = translator.translate(&before, &Names::default(), &claims);
    let idle = Work { attached: 5001, claimed: 5001, ..Work::default() };
    assert_eq!(first.work, idle);
    let mut moved = before.clone();
    let slice = moved.endpoint_slices.edit().iter_mut().find(|slice| *slice.id.name == *"n7").unwrap();
    let other = manifests::snapshot(&OTHER_SLICE.replace("NAME", "n7")).endpoint_slices;
    *slice = other.iter().find(|other| other.id == slice.id).unwrap().clone();
    let then = translator.translate(&moved, &Names::default(), &claims);
    assert_eq!(then.work, Work { rows: 1, ..Work::default() });
    assert!(Arc::ptr_eq(&first.model, &then.model));
    let rows = first.tables.endpoints.iter().zip(&then.tables.endpoints);
    let differ = rows.filter(|((_, one), (_, other))| !Arc::ptr_eq(one, other)).map(|(_, row)| row);
    let differ: Vec<_> = differ.map(|(id, row)| (&*id.service, row[0].address.to_string())).collect();
    assert_eq!(differ, [("n7", "10.244.99.1:8080".to_owned())]);
    let anew = Translator::new(options()).translate(&moved, &Names::default(), &claims);
    assert_eq!(outcome(&then), outcome(&anew));
    // The last endpoint concerns the host as well.
    let mut gone = moved.clone();
    gone.endpoint_slices.edit().retain(|slice| *slice.id.name != *"n7");
    let then = translator.translate(&gone, &Names::default(), &claims);
    assert_eq!(then.work, Work { built: 1, rows: 1, ..idle });
    assert!(Arc::ptr_eq(&first.model, &then.model));
    let mut edited = gone.clone();
    let stored = edited.ingresses.edit().iter_mut().find(|stored| *stored.id.name == *"n9").unwrap();
    let mut object = (*stored.object).clone();
    object.rules[0].paths[0].path = Some("/other".into());
    (stored.object, stored.version) = (Arc::new(object), Version("2".into()));
    let then = translator.translate(&edited, &Names::default(), &claims);
    assert_eq!(then.work, Work { read: 1, built: 1, states: 1, ..idle });
}

#[test]
fn endpoints_of_tcp_services_are_followed_where_there_is_no_host() {
    let ports = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tcp, namespace: default}\ndata: {'9000': 'default/web:80'}\n";
    let mut snapshot = manifests::snapshot(ports);
    let mut options = options();
    options.streams.tcp_services = Some(("default".into(), "tcp".into()));
    let mut translator = Translator::new(options.clone());
    let claims = translator.translate(&snapshot, &Names::default(), &Arc::default()).claims;
    let first = translator.translate(&snapshot, &Names::default(), &claims);
    let row = |translation: &Translation| {
        let upstream = &translation.model.stream_upstreams[0].id;
        translation.tables.endpoints(upstream).iter().map(|one| one.address.to_string()).collect::<Vec<_>>()
    };
    let of_web = |slice: &&mut Stored<Endpoints>| slice.object.service.as_deref() == Some("web");
    let slice = snapshot.endpoint_slices.edit().iter_mut().find(of_web).unwrap();
    let other = manifests::snapshot(&OTHER_SLICE.replace("NAME", "web")).endpoint_slices;
    slice.object = Arc::clone(&other.find("default", "web").unwrap().object);
    let moved = translator.translate(&snapshot, &Names::default(), &claims);
    assert_eq!((moved.work, row(&moved)), (Work { rows: 1, ..Work::default() }, vec!["10.244.99.1:8080".to_owned()]));
    assert!(Arc::ptr_eq(&first.model, &moved.model));
    snapshot.endpoint_slices.edit().retain(|slice| slice.object.service.as_deref() != Some("web"));
    let seen = translator.translate(&snapshot, &Names::default(), &claims);
    assert!(row(&seen).is_empty(), "{:?}", seen.tables);
    let anew = Translator::new(options).translate(&snapshot, &Names::default(), &claims);
    assert_eq!(outcome(&seen), outcome(&anew));
}

/// A slice with another endpoint.
const OTHER_SLICE: &str = "apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: NAME, namespace: default, labels: {kubernetes.io/service-name: NAME}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.244.99.1], conditions: {ready: true}}]
";

#[test]
fn an_object_that_cannot_be_served_closes_what_was_open_before() {
    let ask = "auth-tls-secret: default/client-ca";
    let objects = [("asks", ask), ("open", "")].map(|(name, annotations)| {
        ingress(name, "nginx", "shop.example", annotations, &[path(&format!("/{name}"), "Prefix", "web")])
    });
    let all = manifests::snapshot(&objects.join("\n---\n"));
    let alone = Snapshot { ingresses: all.ingresses.iter().skip(1).cloned().collect(), ..all.clone() };
    let withheld = all.ingresses.iter().take(1).cloned().collect();
    let mut translator = Translator::new(options());
    let is_open = |translation: &Translation| {
        let routes = translation.model.servers.iter().flat_map(|server| &server.routes);
        routes.filter(|route| *route.origin.object.name == *"open").all(|route| route.action != Action::Closed)
    };
    let mut read = |snapshot: &Snapshot| translator.translate(snapshot, &Names::default(), &Arc::default());
    assert!(is_open(&read(&alone)));
    assert!(!is_open(&read(&Snapshot { withheld, ..alone })));
}
