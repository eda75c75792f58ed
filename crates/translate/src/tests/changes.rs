//! A translator that sees a series of changes gives the same result as one that sees only their
//! end.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::{ingress, manifests, options, path, shared, world};
use crate::{
    ANNOTATIONS, AllowedHosts, AllowedSnippets, Claims, Limits, NameAnswer, Names, OptionEntry, Options, SnippetKind,
    Translation, Translator, Work, World,
};
use ingressd_model::finding::Reason;
use ingressd_model::{Action, HostName, Kind, ObjectId, Origin, SecretBytes};
use ingressd_objects::{Endpoints, List, Lists, Secret, Snapshot, Stored, Version, rows};

/// The objects that may change.
const CASES: [&str; 26] = [
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
    include_str!("../../../../tests/golden/aliases.yaml"),
    include_str!("../../../../tests/golden/endpoints.yaml"),
    include_str!("../../../../tests/golden/hosts.yaml"),
    include_str!("../../../../tests/golden/limits.yaml"),
    include_str!("../../../../tests/golden/persistent.yaml"),
    include_str!("../../../../tests/golden/ports.yaml"),
    include_str!("../../../../tests/golden/protocols.yaml"),
    include_str!("../../../../tests/golden/seldom.yaml"),
    include_str!("../../../../tests/golden/sessions.yaml"),
    include_str!("../../../../tests/golden/snippets.yaml"),
    include_str!("../../../../tests/golden/streams.yaml"),
    CHALLENGES,
];

/// Two namespaces on one host, of which the later one has a certificate.
const CHALLENGES: &str = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: first, namespace: default, creationTimestamp: '2026-01-01T00:00:00Z'}
spec:
  ingressClassName: nginx
  rules:
  - {host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: second, namespace: team-a, creationTimestamp: '2026-02-01T00:00:00Z'}
spec:
  ingressClassName: nginx
  tls: [{hosts: [shop.example.com], secretName: pair}]
  rules:
  - {host: shop.example.com, http: {paths: [{path: /a, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: third
  namespace: default
  annotations: {nginx.ingress.kubernetes.io/auth-tls-secret: default/both}
spec:
  ingressClassName: nginx
  tls: [{hosts: [third.example.org], secretName: both}, {secretName: wildcard-tls}]
  rules:
  - {host: third.example.org, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}
---
apiVersion: v1
kind: Secret
metadata: {name: pair, namespace: team-a}
---
apiVersion: v1
kind: Secret
metadata: {name: both, namespace: default}
";

/// Certificates that take the place of each other: of other keys, of other validity, with a longer
/// chain, of other hosts.
static RENEWED: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let names = ["shop.example.com", "www.example.com", "*.example.org", "shop.example.net"];
    let made = |names: &[&str], algorithm, from: (i32, u8), to: (i32, u8)| {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = rcgen::CertificateParams::new(names).unwrap();
        parameters.not_before = rcgen::date_time_ymd(from.0, from.1, 1);
        parameters.not_after = rcgen::date_time_ymd(to.0, to.1, 1);
        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        (parameters.self_signed(&key).unwrap().pem(), key.serialize_pem())
    };
    let (usual, other) = (&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519);
    let mut all = vec![
        made(&names, usual, (2026, 1), (2036, 1)),
        made(&names, other, (2026, 1), (2036, 1)),
        made(&names, usual, (2026, 12), (2027, 2)),
        made(&names, usual, (2026, 1), (2026, 12)),
        made(&names, usual, (2027, 2), (2027, 4)),
        made(&names[..1], usual, (2026, 1), (2036, 1)),
    ];
    let longer = [&*all[0].0, &all[1].0, &all[2].0].concat();
    all.push((longer, all[0].1.clone()));
    all
});

/// Puts one of these certificates into a Secret, perhaps as cert-manager does.
pub fn put_certificate(stored: &mut Stored<Secret>, number: u8, is_issued: bool) {
    let (chain, key) = &RENEWED[usize::from(number) % RENEWED.len()];
    let mut secret = (*stored.object).clone();
    let mut data: BTreeMap<_, _> = std::mem::take(&mut secret.data).into_iter().collect();
    for (name, text) in [("tls.crt", chain), ("tls.key", key), ("ca.crt", chain)] {
        data.insert(name.into(), SecretBytes(text.as_bytes().into()));
    }
    (secret.data, secret.is_issued) = (data.into_iter().collect(), is_issued);
    (stored.object, stored.version) = (Arc::new(secret), Version(format!("renewed {number} {is_issued}").into()));
}

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
pub fn names(number: u8) -> Arc<Names> {
    let hosts =
        ["backend.example.net", "auth.example.net", "stale.example.net"].map(|name| HostName::new(name).unwrap());
    let answer = NameAnswer { addresses: vec![[192, 0, 2, number].into()], ..NameAnswer::default() };
    Arc::new(Names(hosts.into_iter().map(|host| (host, answer.clone())).collect()))
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
    CommonPolicy(Option<&'static str>),
    Renewed(prop::sample::Index, u8, bool),
    Limits(bool),
    Labels(bool, Option<&'static str>),
    Unseen(bool),
}

fn a_change() -> impl Strategy<Value = Change> {
    let object = (0..7_u8, any::<prop::sample::Index>(), any::<Option<bool>>());
    prop_oneof![
        12 => object.prop_map(|(kind, object, version)| Change::Object(kind, object, version)),
        1 => prop_oneof![0..1000_i64, 0..4_000_000_000_i64].prop_map(Change::Time),
        1 => (1..4_u8).prop_map(Change::Dns),
        1 => any::<bool>().prop_map(Change::OwnAddresses),
        1 => any::<bool>().prop_map(Change::DefaultCertificate),
        1 => prop::option::of(prop::sample::select(&ASKED[..])).prop_map(Change::CommonPolicy),
        6 => (any::<prop::sample::Index>(), 0..7_u8, any::<bool>())
            .prop_map(|(object, number, is_issued)| Change::Renewed(object, number, is_issued)),
        6 => (any::<prop::sample::Index>(), any::<Option<bool>>()).prop_map(|(object, version)| Change::Object(1, object, version)),
        2 => (0..10_000_000_i64).prop_map(Change::Time),
        1 => any::<bool>().prop_map(Change::Limits),
        4 => (any::<bool>(), prop::option::of(prop::sample::select(&["a", "b"][..])))
            .prop_map(|(is_default, team)| Change::Labels(is_default, team)),
        1 => any::<bool>().prop_map(Change::Unseen),
    ]
}

/// What is translated, and how.
struct Inputs {
    versions: &'static [Snapshot; 2],
    snapshot: Snapshot,
    options: Options,
    world: World,
}

impl Inputs {
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
                put(snapshot.withheld.list_mut::<rows::Ingress>(), all, object, version);
                put(&mut snapshot.ingresses, all, object, version.is_none().then_some(false));
            }
            Change::Object(5, object, version) => object!(config_maps, object, version),
            Change::Object(_, object, version) => object!(ingresses, object, version),
            Change::Time(seconds) => self.world.now = world().now + seconds,
            Change::Dns(number) => self.world.names = names(number),
            Change::OwnAddresses(has_one) => {
                self.world.own_addresses = has_one.then(|| "10.244.0.1:8080".parse().unwrap()).into_iter().collect();
            }
            Change::CommonPolicy(asked) => {
                let at = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller")));
                let row = ANNOTATIONS.find("auth-url").unwrap();
                let said = asked.map(|value| OptionEntry { row, value: value.into(), at });
                self.options.defaults = said.into_iter().collect();
            }
            Change::DefaultCertificate(has_one) => {
                self.options.default_certificate = has_one.then(|| ("default".into(), "wildcard-tls".into()));
            }
            Change::Renewed(object, number, is_issued) => {
                let secrets = snapshot.secrets.edit();
                let place = object.index(secrets.len().max(1));
                secrets.get_mut(place).into_iter().for_each(|secret| put_certificate(secret, number, is_issued));
            }
            Change::Labels(is_default, team) => {
                let name = if is_default { "default" } else { "team-a" };
                let labels = team.map(|team| format!("{{team: {team}}}")).unwrap_or("{}".to_owned());
                let text = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, labels: {labels}}}}}");
                let stored = manifests::snapshot_of(&text).namespaces[0].clone();
                match snapshot.namespaces.position("", name) {
                    Ok(place) => snapshot.namespaces.edit()[place] = stored,
                    Err(place) => snapshot.namespaces.edit().insert(place, stored),
                }
            }
            Change::Unseen(are_unseen) => {
                snapshot.unseen = are_unseen.then_some(Kind::CONFIG_MAP).into_iter().collect();
            }
            Change::Limits(are_low) => {
                let mut limits = Limits::default();
                if are_low {
                    (limits.object.endpoints, limits.namespace.endpoints) = (1, 3);
                    (limits.namespace.certificates, limits.namespace.memory) = (2, 8);
                }
                self.options.limits = limits;
            }
        }
    }
}

/// The complete result.
pub fn outcome(translation: &Translation) -> impl PartialEq + std::fmt::Debug {
    let Translation { model, tables, findings, states, refused, claims, due, names, work: _ } = translation.clone();
    (model, tables, findings, states, refused, claims, due, names)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn what_was_seen_before_changes_nothing(
        case in 0..CASES.len(),
        labels in 0..4,
        steps in prop::collection::vec(prop::collection::vec(a_change(), 1..3), 1..32),
    ) {
        let versions = &VERSIONS[case];
        let mut options = Options { passthrough: true, ..shared() };
        options.streams.tcp_services = Some(("default".into(), "tcp-services".into()));
        options.streams.udp_services = Some(("default".into(), "udp-services".into()));
        if labels < 3 {
            let selector = || Some("team=a".parse().unwrap());
            options.snippets = vec![AllowedSnippets {
                selector: selector(),
                items: SnippetKind::ALL.to_vec(),
                ports: vec![1..=9999],
                ..AllowedSnippets::default()
            }];
            if labels == 0 {
                let hosts = ["*"].iter().map(|host| host.parse().unwrap()).collect();
                options.allowed_hosts = vec![AllowedHosts { selector: selector(), items: hosts, ..AllowedHosts::default() }];
            }
        }
        let world = World { names: names(1), ..world() };
        let mut inputs = Inputs { versions, snapshot: versions[0].clone(), options, world };
        let mut translator = Translator::new(inputs.options.clone());
        let mut claims: Arc<Claims> = Arc::default();
        for step in steps {
            step.iter().for_each(|change| inputs.follow(change));
            let Inputs { snapshot, options, world, .. } = &inputs;
            translator.set_options(options.clone());
            let seen = translator.translate(snapshot, world, &claims);
            let anew = Translator::new(options.clone()).translate(snapshot, world, &claims);
            prop_assert_eq!(outcome(&seen), outcome(&anew), "{:?}", step);
            claims = seen.claims;
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
    let claims = translator.translate(&before, &world(), &Arc::default()).claims;
    // What was claimed first is settled when it is served, and nothing is decided again.
    let first = translator.translate(&before, &world(), &claims);
    assert_eq!(first.work, Work::default());
    let mut moved = before.clone();
    let slice = moved.endpoint_slices.edit().iter_mut().find(|slice| *slice.id.name == *"n7").unwrap();
    let other = manifests::snapshot(&OTHER_SLICE.replace("NAME", "n7")).endpoint_slices;
    *slice = other.iter().find(|other| other.id == slice.id).unwrap().clone();
    let then = translator.translate(&moved, &world(), &claims);
    assert_eq!(then.work, Work { rows: 1, ..Work::default() });
    assert!(Arc::ptr_eq(&first.model, &then.model));
    let rows = first.tables.endpoints.iter().zip(&then.tables.endpoints);
    let differ = rows.filter(|((_, one), (_, other))| !Arc::ptr_eq(one, other)).map(|(_, row)| row);
    let differ: Vec<_> = differ.map(|(id, row)| (&*id.service, row[0].address.to_string())).collect();
    assert_eq!(differ, [("n7", "10.244.99.1:8080".to_owned())]);
    let anew = Translator::new(options()).translate(&moved, &world(), &claims);
    assert_eq!(outcome(&then), outcome(&anew));
    // The last endpoint concerns nothing else either, nor does an address that gets no requests.
    let mut gone = moved.clone();
    gone.endpoint_slices.edit().retain(|slice| *slice.id.name != *"n7");
    let mut forbidden = moved.clone();
    let place = forbidden.endpoint_slices.position("default", "n7").unwrap();
    let slice = &mut forbidden.endpoint_slices.edit()[place];
    let mut object = (*slice.object).clone();
    object.endpoints.iter_mut().for_each(|one| one.address = "127.0.0.1".parse().unwrap());
    (slice.object, slice.version) = (Arc::new(object), Version("forbidden".into()));
    for (snapshot, rows, expected) in [
        (&gone, 1, Some(Reason::NoEndpoints)),
        (&forbidden, 0, Some(Reason::ForbiddenTarget)),
        (&moved, 1, None),
        (&gone, 1, Some(Reason::NoEndpoints)),
    ] {
        let then = translator.translate(snapshot, &world(), &claims);
        assert_eq!(then.work, Work { rows, ..Work::default() }, "{expected:?}");
        assert_eq!(then.findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(), Vec::from_iter(expected));
        assert!(Arc::ptr_eq(&first.model, &then.model));
        let anew = Translator::new(options()).translate(snapshot, &world(), &claims);
        assert_eq!(outcome(&then), outcome(&anew));
    }
    let mut edited = gone.clone();
    let stored = edited.ingresses.edit().iter_mut().find(|stored| *stored.id.name == *"n9").unwrap();
    let mut object = (*stored.object).clone();
    object.rules[0].paths[0].path = Some("/other".into());
    (stored.object, stored.version) = (Arc::new(object.clone()), Version("2".into()));
    let all = Work { attached: 5001, claimed: 5001, ..Work::default() };
    let then = translator.translate(&edited, &world(), &claims);
    assert_eq!(then.work, Work { read: 1, built: 1, states: 1, ..all });
    // Nor is anything decided after a host that is new, once that is served.
    let mut rules = object.rules.to_vec();
    rules.push(rules[0].clone());
    rules[1].host = Some("new.example".into());
    object.rules = rules.into();
    let place = edited.ingresses.position("default", "n9").unwrap();
    let stored = &mut edited.ingresses.edit()[place];
    (stored.object, stored.version) = (Arc::new(object), Version("3".into()));
    let then = translator.translate(&edited, &world(), &claims);
    assert_eq!(then.work, Work { read: 1, claimed: 5002, built: 2, states: 1, ..all });
    assert!(!Arc::ptr_eq(&then.claims, &claims));
    let served = Snapshot { endpoint_slices: moved.endpoint_slices.clone(), ..edited.clone() };
    let moved = translator.translate(&served, &world(), &then.claims);
    assert_eq!(moved.work, Work { rows: 1, ..Work::default() });
    assert!(Arc::ptr_eq(&then.model, &moved.model));
    let anew = Translator::new(options()).translate(&served, &world(), &then.claims);
    assert_eq!(outcome(&moved), outcome(&anew));
    // What is not served yet is decided again.
    assert_eq!(translator.translate(&edited, &world(), &claims).work.claimed, 5002);
}

#[test]
fn endpoints_of_tcp_services_are_followed_where_there_is_no_host() {
    let ports = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tcp, namespace: default}\ndata: {'9000': 'default/web:80'}\n";
    let mut snapshot = manifests::snapshot(ports);
    let mut options = options();
    options.streams.tcp_services = Some(("default".into(), "tcp".into()));
    let mut translator = Translator::new(options.clone());
    let claims = translator.translate(&snapshot, &world(), &Arc::default()).claims;
    let first = translator.translate(&snapshot, &world(), &claims);
    let row = |translation: &Translation| {
        let upstream = &translation.model.stream_upstreams[0].id;
        translation.tables.endpoints(upstream).iter().map(|one| one.address.to_string()).collect::<Vec<_>>()
    };
    let of_web = |slice: &&mut Stored<Endpoints>| slice.object.service.as_deref() == Some("web");
    let slice = snapshot.endpoint_slices.edit().iter_mut().find(of_web).unwrap();
    let other = manifests::snapshot(&OTHER_SLICE.replace("NAME", "web")).endpoint_slices;
    slice.object = Arc::clone(&other.find("default", "web").unwrap().object);
    let moved = translator.translate(&snapshot, &world(), &claims);
    assert_eq!((moved.work, row(&moved)), (Work { rows: 1, ..Work::default() }, vec!["10.244.99.1:8080".to_owned()]));
    assert!(Arc::ptr_eq(&first.model, &moved.model));
    snapshot.endpoint_slices.edit().retain(|slice| slice.object.service.as_deref() != Some("web"));
    let seen = translator.translate(&snapshot, &world(), &claims);
    assert!(row(&seen).is_empty(), "{:?}", seen.tables);
    let anew = Translator::new(options).translate(&snapshot, &world(), &claims);
    assert_eq!(outcome(&seen), outcome(&anew));
}

#[test]
fn what_limits_leave_out_follows_the_endpoints_of_its_namespace_alone() {
    let slice = |namespace: &str, number: u8| {
        let endpoints: String = (1..=number).map(|one| format!("{{addresses: [10.244.9.{one}]}}, ")).collect();
        OTHER_SLICE
            .replace("NAME, namespace: default", &format!("web-9, namespace: {namespace}"))
            .replace("service-name: NAME", "service-name: web")
            .replace("{addresses: [10.244.99.1], conditions: {ready: true}}", &endpoints)
    };
    let others = ["team-x", "team-y"].map(|namespace| {
        let service = format!("apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: {namespace}}}\nspec: {{ports: [{{name: http, port: 80, targetPort: 8080}}]}}");
        let host = format!("{namespace}.example");
        let object = ingress("web", "nginx", &host, "", &[path("/", "Prefix", "web")]);
        [service, object.replace("namespace: default", &format!("namespace: {namespace}"))].join("\n---\n")
    });
    let given = |numbers: [u8; 2]| {
        let slices = [slice("team-x", numbers[0]), slice("team-y", numbers[1])];
        manifests::snapshot(&others.iter().chain(&slices).cloned().collect::<Vec<_>>().join("\n---\n")).endpoint_slices
    };
    let mut snapshot = manifests::snapshot(&others.join("\n---\n"));
    let mut options = options();
    options.limits.namespace.endpoints = 2;
    let mut translator = Translator::new(options.clone());
    let mut claims = Arc::default();
    for (number, numbers) in [[3, 3], [3, 3], [3, 1], [1, 3], [3, 4], [2, 1]].into_iter().enumerate() {
        snapshot.endpoint_slices = given(numbers);
        let seen = translator.translate(&snapshot, &world(), &claims);
        let anew = Translator::new(options.clone()).translate(&snapshot, &world(), &claims);
        assert_eq!(outcome(&seen), outcome(&anew), "{numbers:?}");
        let over = |namespace: &str| {
            let about = seen.findings.iter().filter(|finding| *finding.origin.object.namespace == *namespace);
            about.filter(|finding| finding.reason == Reason::TooManyEndpoints).count()
        };
        // The Service and the object whose route loses endpoints.
        assert_eq!([over("team-x"), over("team-y")], numbers.map(|number| if number > 2 { 2 } else { 0 }));
        assert!(number < 2 || seen.work.attached == 0, "{numbers:?}: {:?}", seen.work);
        claims = seen.claims;
    }
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
    let mut withheld = Lists::default();
    *withheld.list_mut::<rows::Ingress>() = all.ingresses.iter().take(1).cloned().collect();
    let mut translator = Translator::new(options());
    let is_open = |translation: &Translation| {
        let routes = translation.model.servers.iter().flat_map(|server| &server.routes);
        routes.filter(|route| *route.origin.object.name == *"open").all(|route| route.action != Action::Closed)
    };
    let mut read = |snapshot: &Snapshot| translator.translate(snapshot, &world(), &Arc::default());
    assert!(is_open(&read(&alone)));
    assert!(!is_open(&read(&Snapshot { withheld, ..alone })));
}

/// What a translator makes of a Secret with these certificates in turn, each perhaps as
/// cert-manager writes it: the same as one that has seen nothing.
fn followed(options: &Options, documents: &str, (namespace, name): (&str, &str), steps: &[(u8, bool)]) -> Translation {
    let mut snapshot = manifests::snapshot(documents);
    let place = snapshot.secrets.position(namespace, name).unwrap();
    let (mut translator, mut last) = (Translator::new(options.clone()), Translation::default());
    for (number, is_issued) in steps {
        put_certificate(&mut snapshot.secrets.edit()[place], *number, *is_issued);
        let seen = translator.translate(&snapshot, &world(), &last.claims);
        let anew = Translator::new(options.clone()).translate(&snapshot, &world(), &last.claims);
        assert_eq!(outcome(&seen), outcome(&anew), "{name}, {number} {is_issued}");
        last = seen;
    }
    last
}

#[test]
fn a_renewed_secret_counts_where_an_annotation_behind_another_prefix_names_it() {
    let mut options = options();
    options.classes.iter_mut().for_each(|class| class.annotations = ANNOTATIONS.behind("edge.example/"));
    let documents = CHALLENGES.replace("nginx.ingress.kubernetes.io/", "edge.example/");
    let last = followed(&options, &documents, ("default", "both"), &[(0, false), (0, false), (1, false)]);
    assert_eq!(&*last.model.authorities[0].certificates, RENEWED[1].0.as_bytes());
}

#[test]
fn a_renewed_secret_counts_where_cert_manager_has_taken_it_over() {
    let last = followed(&options(), CHALLENGES, ("team-a", "pair"), &[(0, false), (0, false), (1, true)]);
    assert!(last.findings.iter().any(|finding| finding.reason == Reason::ForeignChallenge), "{:?}", last.findings);
}
