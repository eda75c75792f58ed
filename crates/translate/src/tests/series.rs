//! Random series of objects of several namespaces that ask for hosts, paths and ports: whoever has
//! something keeps it, nobody else has it, and whoever does not get it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::changes::outcome;
use super::manifests::snapshot_of;
use super::over_time::Numbers;
use super::{options, routes, world};
use crate::value::host::written;
use crate::{
    AllowedHosts, AllowedSnippets, Claims, EndpointMode, HostOwnership, Options, SnippetKind, Translation, Translator,
};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Action, Field, Origin, Port, Route, Server, ServerName, Stream, Transport};
use ingressd_objects::{Lists, Snapshot, rows};

/// How many series there are, and how many steps each has; `SERIES_RUNS` and `SERIES_FROM` run
/// others.
const RUNS: u64 = 40;
const STEPS: usize = 10;
/// The most objects of each namespace.
const OBJECTS: usize = 3;

const NAMESPACES: [&str; 3] = ["a", "b", "c"];
const HOSTS: &[&str] = &[
    "a.example",
    "a.example",
    "a.example",
    "www.a.example",
    "b.example",
    "*.example",
    "",
    "x.y.example",
    "*.y.example",
];
const TEXTS: &[&str] = &["/", "/", "/a", "/a/", "/a/b", "/a/b/c", "/A", "/b", CHALLENGE, "/.well-known"];
const CHALLENGE: &str = "/.well-known/acme-challenge/token";
const EXPRESSIONS: &[&str] =
    &["/.*", "/a.*", "/a/b.*", "/a/(.*)", "/(a|b)", "/a(/|$)(.*)", "/a.*longer", "/[ab]/c", "/a/b/c", "/b", "/a(b"];
const TYPES: &[&str] = &["Prefix", "Prefix", "Exact", "ImplementationSpecific"];
const ANNOTATIONS: &[&str] = &[
    "allowlist-source-range: 10.0.0.0/8",
    "allowlist-source-range: nonsense",
    "canary: maybe",
    "from-to-www-redirect: 'true'",
    "app-root: /start",
    "ssl-passthrough: 'true'",
    "ssl-passthrough: 'true'",
    "server-alias: b.example",
    "server-alias: '~^z[0-9]$'",
    "rewrite-target: /",
    "use-regex: 'true'",
    "use-regex: 'true'",
    "proxy-body-size: 1m",
];
const PORTS: &[&str] = &["5001", "5001", "5002", "5003", "5001 udp", "8443"];

/// A randomly drawn object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    class: &'static str,
    year: usize,
    rules: Vec<(&'static str, Vec<(&'static str, &'static str)>)>,
    annotations: Vec<String>,
    has_backend: bool,
    is_withheld: bool,
    tls: Option<&'static str>,
}

impl Object {
    fn draw(numbers: &mut Numbers, namespace: &str) -> Self {
        let mut annotations: Vec<String> = Vec::new();
        for _ in 0..numbers.below(3) {
            annotations.push(numbers.one(ANNOTATIONS).to_owned());
        }
        if numbers.below(2) == 0 {
            let ports: BTreeSet<_> = (0..=numbers.below(3)).map(|_| numbers.one(PORTS)).collect();
            let listens: String = ports.iter().map(|port| format!("listen {port}; ")).collect();
            annotations.push(format!("stream-snippet: 'server {{ {listens}proxy_pass db.{namespace}.svc:80; }}'"));
        }
        let key = |written: &String| written.split_once(':').unwrap().0.to_owned();
        annotations.sort();
        annotations.dedup_by(|one, other| key(one) == key(other));
        let is_regex = annotations.iter().any(|one| one.contains("use-regex") || one.contains("rewrite"));
        let texts = if is_regex && numbers.below(3) > 0 { EXPRESSIONS } else { TEXTS };
        let rules = (0..1 + numbers.below(2)).map(|_| {
            let paths = (0..1 + numbers.below(3)).map(|_| (numbers.one(TYPES), numbers.one(texts))).collect();
            (numbers.one(HOSTS), paths)
        });
        let mut rules: Vec<_> = rules.collect();
        let has_backend = numbers.below(8) == 0;
        if has_backend && numbers.below(2) == 0 {
            rules.clear();
        }
        Object {
            class: numbers.one(&["nginx", "nginx", "ingressd"]),
            year: 2000 + numbers.below(20),
            rules,
            annotations,
            has_backend,
            is_withheld: numbers.below(16) == 0,
            tls: (numbers.below(4) == 0).then(|| numbers.one(HOSTS)),
        }
    }

    /// The ports that it asks for.
    fn ports(&self) -> impl Iterator<Item = Port> {
        let written = self.annotations.iter().flat_map(|one| one.split("listen ").skip(1));
        written.filter_map(|rest| {
            let (port, _) = rest.split_once(';')?;
            let transport = if port.ends_with(" udp") { Transport::Udp } else { Transport::Tcp };
            Some(Port { transport, number: port.trim_end_matches(" udp").parse().ok()? })
        })
    }

    fn written(&self, namespace: &str, name: &str) -> String {
        const BACKEND: &str = "{service: {name: db, port: {number: 80}}}";
        let rules = self.rules.iter().map(|(host, paths)| {
            let paths =
                paths.iter().map(|(kind, text)| format!("{{path: '{text}', pathType: {kind}, backend: {BACKEND}}}"));
            format!("{{host: '{host}', http: {{paths: [{}]}}}}", paths.collect::<Vec<_>>().join(", "))
        });
        let rules = rules.collect::<Vec<_>>().join(", ");
        let annotations = self.annotations.iter().map(|one| format!("nginx.ingress.kubernetes.io/{one}"));
        let annotations = annotations.collect::<Vec<_>>().join(", ");
        let backend = if self.has_backend { format!("defaultBackend: {BACKEND}, ") } else { String::new() };
        let tls = self.tls.map(|host| format!("tls: [{{hosts: ['{host}'], secretName: none}}], ")).unwrap_or_default();
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}, namespace: {namespace}, \
             creationTimestamp: '{}-01-01T00:00:00Z', annotations: {{{annotations}}}}}\nspec: {{ingressClassName: \
             {}, {backend}{tls}rules: [{rules}]}}",
            self.year, self.class
        )
    }
}

type Objects = BTreeMap<(&'static str, usize), Object>;

/// Settings for a series.
fn settings(numbers: &mut Numbers) -> Options {
    let named = |may: bool, name: &str| may.then(|| Arc::from(name)).into_iter().collect::<Vec<_>>();
    let mut options = Options {
        ownership: numbers.one(&[HostOwnership::Dialect, HostOwnership::Namespace, HostOwnership::Shared]),
        default_backend: (numbers.below(3) == 0).then(|| ("a".into(), "db".into())),
        catch_all: named(numbers.below(4) == 0, "b"),
        challenges: named(numbers.below(4) == 0, "c"),
        passthrough: true,
        endpoints: EndpointMode::ClusterIp,
        own_upstreams: vec!["192.0.2.2:5003".parse().unwrap()],
        snippets: vec![AllowedSnippets {
            namespaces: NAMESPACES.map(Arc::from).to_vec(),
            items: vec![SnippetKind::Stream],
            ports: vec![5000..=9000],
            ..AllowedSnippets::default()
        }],
        ..options()
    };
    options.streams.tcp_services = Some(("edge".into(), "tcp".into()));
    options.streams.reserved = vec![(8443, "listen.https-port")];
    options.limits.ports_of_namespace = 2;
    options.limits.paths_of_host = numbers.one(&[3, 10, 100]);
    if numbers.below(4) == 0 {
        let entry = |namespace: &str, hosts: &[&str]| AllowedHosts {
            namespaces: vec![namespace.into()],
            items: hosts.iter().map(|host| host.parse().unwrap()).collect(),
            ..AllowedHosts::default()
        };
        options.allowed_hosts =
            vec![entry("a", &["*.example"]), entry("b", &["a.example", "*.y.example"]), entry("*", &["*"])];
        options.allowed_hosts.truncate(2 + numbers.below(2));
    }
    options
}

/// The Services of the namespaces.
fn services() -> Snapshot {
    const CLASSES: &str = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: nginx}\nspec: \
                           {controller: k8s.io/ingress-nginx}\n---\napiVersion: networking.k8s.io/v1\nkind: \
                           IngressClass\nmetadata: {name: ingressd}\nspec: {controller: ingressd/nginx}";
    let service = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: db, namespace: {namespace}}}\nspec: {{clusterIP: \
             10.96.0.9, ports: [{{port: 80}}]}}"
        )
    };
    snapshot_of(&[&[CLASSES.to_owned()], &NAMESPACES.map(service)[..]].concat().join("\n---\n"))
}

fn snapshot(objects: &Objects, has_map: bool, services: &Snapshot) -> Snapshot {
    let texts = |are_withheld: bool| {
        let all = objects.iter().filter(move |(_, object)| object.is_withheld == are_withheld);
        all.map(|((namespace, slot), object)| object.written(namespace, &format!("o{slot}"))).collect::<Vec<_>>()
    };
    let map = has_map.then_some(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tcp, namespace: edge}\ndata: {'5002': 'a/db:80'}",
    );
    let mut withheld = Lists::default();
    *withheld.list_mut::<rows::Ingress>() = snapshot_of(&texts(true).join("\n---\n")).ingresses;
    Snapshot {
        ingresses: snapshot_of(&texts(false).join("\n---\n")).ingresses,
        withheld,
        config_maps: snapshot_of(map.unwrap_or_default()).config_maps,
        ..services.clone()
    }
}

/// All that is decided, as text.
fn outline(translation: &Translation) -> String {
    let mut lines = routes(translation);
    let model = &translation.model;
    for server in &model.servers {
        lines.push(format!("{} {:?} {}", written(&server.name), server.reserved, server.fallback.origin));
        lines.extend(server.routes.iter().map(|route| format!("{} {:?} {:?}", route.origin, route.path, route.action)));
    }
    lines.extend(model.streams.iter().map(|stream| format!("{} {}", stream.listener.port, stream.origin)));
    lines.extend(model.passthroughs.hosts.iter().map(|one| format!("{one:?}")));
    lines.extend(translation.findings.iter().map(ToString::to_string));
    lines.extend(translation.states.iter().map(|state| {
        let working = state.working.as_ref().map(|one| (&one.hosts, one.routes, one.closed));
        format!("{} {:?} {working:?}", state.id, state.verdict)
    }));
    lines.join("\n")
}

/// A step of a series.
struct Step<'s> {
    number: usize,
    options: &'s Options,
    objects: &'s Objects,
    translation: &'s Translation,
    /// The step before, where its claims hold on and no ConfigMap changed, and the namespaces that
    /// have changed nothing since.
    before: Option<(&'s Translation, BTreeSet<&'static str>)>,
}

/// Runs a series and shows each step.
fn series(seed: u64, services: &Snapshot, mut each: impl FnMut(Step<'_>)) {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37));
    let (options, mut world) = (settings(&mut numbers), world());
    let mut translator = Translator::new(options.clone());
    let mut objects = Objects::new();
    let (mut has_map, mut claims): (_, Arc<Claims>) = (false, Arc::default());
    let mut last: Option<Translation> = None;
    for number in 0..STEPS {
        let mut unchanged = BTreeSet::from(NAMESPACES);
        for _ in 0..=numbers.below(2) {
            let key = (numbers.one(&NAMESPACES), numbers.below(OBJECTS));
            unchanged.remove(key.0);
            let object = match (objects.get(&key), numbers.below(4)) {
                (None, _) | (Some(_), 0) => Some(Object::draw(&mut numbers, key.0)),
                (Some(_), 1) => None,
                (Some(known), _) => {
                    let other = Object::draw(&mut numbers, key.0);
                    let mut edited = known.clone();
                    match numbers.below(4) {
                        0 => edited.annotations = other.annotations,
                        1 => edited.is_withheld = !edited.is_withheld,
                        2 => edited.rules.extend(other.rules),
                        _ => edited.rules = other.rules,
                    }
                    edited.rules.truncate(3);
                    Some(edited)
                }
            };
            match object {
                Some(object) => drop(objects.insert(key, object)),
                None => drop(objects.remove(&key)),
            }
        }
        if numbers.below(6) == 0 {
            (has_map, last) = (!has_map, None);
        }
        world.now += numbers.one(&[0, 0, 10, 100, 200]);
        let snapshot = snapshot(&objects, has_map, services);
        let translation = translator.translate(&snapshot, &world, &claims);
        if translator.memory.kept.is_some() {
            let settled = Translator::new(options.clone()).translate(&snapshot, &world, &translation.claims);
            let is_same = outcome(&settled) == outcome(&translation);
            assert!(is_same, "SERIES_FROM={seed}: step {number} is another one when it is served");
        }
        let before = last.as_ref().map(|before| (before, unchanged));
        each(Step { number, options: &options, objects: &objects, translation: &translation, before });
        last = None;
        // What is not served yet counts for nothing, and a new node knows only the order.
        match numbers.below(12) {
            0 => {}
            1 => {
                world.claim_orders = [Arc::new(translation.claims.order())].into();
                claims = Arc::default();
            }
            _ => {
                claims = Arc::clone(&translation.claims);
                last = Some(translation);
            }
        }
    }
}

/// What is wrong with a step.
fn judge(step: &Step<'_>) -> Option<String> {
    let Step { options, translation, .. } = step;
    let one_holder = has_one_holder(options, translation);
    one_holder.or_else(|| is_displaced(step)).or_else(|| is_unreported(step))
}

/// What has several holders.
fn has_one_holder(options: &Options, translation: &Translation) -> Option<String> {
    let ports: BTreeSet<_> = translation.model.streams.iter().map(|stream| stream.listener.port).collect();
    if ports.len() < translation.model.streams.len() {
        return Some("a port has two services".to_owned());
    }
    for server in &translation.model.servers {
        // A redirect of `/` goes before the path of the same object, and what is closed stands
        // behind what is served.
        let is_path = |route: &&Route| matches!(route.origin.field, Field::Path(..)) && route.action != Action::Closed;
        let routes = server.routes.iter().filter(is_path);
        let mut known = Vec::new();
        for route in routes {
            if known.contains(&&route.path) {
                return Some(format!("{} has {:?} twice", written(&server.name), route.path));
            }
            known.push(&route.path);
        }
        let namespaces: BTreeSet<_> = holders(server, options).collect();
        let is_plain = !matches!(server.name, ServerName::CatchAll | ServerName::Expression(_));
        if options.ownership == HostOwnership::Namespace && is_plain && namespaces.len() > 1 {
            return Some(format!("{} is of {namespaces:?}", written(&server.name)));
        }
    }
    None
}

/// The namespaces that have routes of a host, other than for challenges that they may take.
fn holders<'s>(server: &'s Server, options: &Options) -> impl Iterator<Item = &'s str> {
    // What cannot be served is closed only where others would get its requests.
    let open = server.routes.iter().filter(|route| route.action != Action::Closed);
    let namespaces = open.map(|route| &*route.origin.object.namespace);
    namespaces.filter(|namespace| NAMESPACES.contains(namespace) && !options.challenges.contains(&(**namespace).into()))
}

/// What a namespace had and has no more, although it has changed nothing.
fn is_displaced(step: &Step<'_>) -> Option<String> {
    let Step { options, translation, before: Some((before, unchanged)), .. } = step else { return None };
    let now: BTreeSet<_> =
        translation.model.streams.iter().map(|stream| (stream.listener.port, &stream.origin)).collect();
    let had = before.model.streams.iter().filter(|had| unchanged.contains(&*had.origin.object.namespace));
    let mut lost = had.filter(|had| !now.contains(&(had.listener.port, &had.origin)));
    if let Some(lost) = lost.next() {
        return Some(format!("{} is taken from {}", lost.listener.port, lost.origin));
    }
    if options.ownership != HostOwnership::Namespace {
        return None;
    }
    let has = |name: &ServerName, namespace: &str| {
        let server = translation.model.servers.iter().find(|server| server.name == *name);
        server.is_some_and(|server| holders(server, options).any(|holder| holder == namespace))
    };
    let is_plain = |server: &&Arc<Server>| !matches!(server.name, ServerName::CatchAll | ServerName::Expression(_));
    before.model.servers.iter().filter(is_plain).find_map(|server| {
        // What is left of an object that is refused is closed while others ask for the host.
        let is_open = |namespace: &str| {
            let of_namespace = |route: &&Route| *route.origin.object.namespace == *namespace;
            server.routes.iter().filter(of_namespace).any(|route| route.action != Action::Closed)
        };
        let had = holders(server, options).filter(|namespace| unchanged.contains(namespace));
        let mut had = had.filter(|namespace| is_open(namespace));
        let lost = had.find(|namespace| !has(&server.name, namespace))?;
        Some(format!("{} is taken from {lost}", written(&server.name)))
    })
}

/// What an object asks for and does not get, without a finding about it.
fn is_unreported(step: &Step<'_>) -> Option<String> {
    let Step { objects, translation, .. } = step;
    let model = &translation.model;
    let served: BTreeSet<_> =
        model.servers.iter().flat_map(|server| server.routes.iter().map(|route| &route.origin)).collect();
    for (id, _) in translation.accepted() {
        let slot: usize = id.name[1..].parse().unwrap();
        let Some((_, object)) = objects.iter().find(|((of, number), _)| *of == &*id.namespace && *number == slot)
        else {
            continue;
        };
        let reported = |is_about: &dyn Fn(&Finding) -> bool| {
            translation.findings.iter().any(|finding| finding.origin.object == *id && is_about(finding))
        };
        for (rule, (host, paths)) in object.rules.iter().enumerate() {
            for path in 0..paths.len() {
                let [rule, path] = [rule, path].map(crate::position);
                let origin = Origin::field(id, Field::Path(rule, path, ""));
                let is_about = |finding: &Finding| match finding.origin.field {
                    Field::Rule(of) => of == rule,
                    Field::Path(of, number, _) => (of, number) == (rule, path),
                    _ => false,
                };
                if !served.contains(&origin) && !reported(&is_about) {
                    return Some(format!("{origin} at {host:?} is not served, and nobody is told"));
                }
            }
        }
        for port in object.ports() {
            let has = |stream: &&Arc<Stream>| stream.listener.port == port && stream.origin.object == *id;
            // Without the port of the Service nothing is claimed in vain.
            let names = format!("not served on {port},");
            if !model.streams.iter().any(|stream| has(&stream))
                && !reported(&|finding| finding.note.contains(&names) || finding.reason == Reason::MissingPort)
            {
                return Some(format!("{port} of {id} is not served, and nobody is told"));
            }
        }
    }
    None
}

fn seeds() -> std::ops::Range<u64> {
    let given = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let from = given("SERIES_FROM").unwrap_or(0);
    from..from + given("SERIES_RUNS").unwrap_or(RUNS)
}

#[test]
fn each_thing_has_one_holder_who_keeps_it_and_others_are_told() {
    let services = services();
    let mut wrong = Vec::new();
    for seed in seeds() {
        series(seed, &services, |step| {
            let number = step.number;
            wrong.extend(judge(&step).map(|why| format!("SERIES_FROM={seed}, step {number}: {why}")));
        });
    }
    wrong.truncate(8);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a node sees objects come one after the other or all at once, the oldest has what they
/// ask for.
#[test]
fn who_came_first_is_known_to_those_who_come_later() {
    let services = services();
    let mut wrong = Vec::new();
    let is_claim = |annotation: &str| ["from-to-www", "server-alias"].iter().any(|key| annotation.starts_with(key));
    for seed in seeds() {
        let mut numbers = Numbers(seed.wrapping_mul(0x51ed));
        let mut options = settings(&mut numbers);
        // Of the ports of one namespace those with the lowest numbers are served, or those that
        // are there first.
        options.limits.ports_of_namespace = 100;
        let mut objects = Objects::new();
        for number in 0..2 + numbers.below(5) {
            let key = (numbers.one(&NAMESPACES), numbers.below(OBJECTS));
            let object = Object::draw(&mut numbers, key.0);
            // What an annotation claims is younger than any rule, or as old as the rules that it
            // repeats, and of default backends that of the owner claims `/`, whom a node knows
            // that saw it come.
            let is_implied = object.annotations.iter().any(|one| is_claim(one));
            if !is_implied && !objects.contains_key(&key) {
                objects.insert(key, Object { year: 2000 + number, is_withheld: false, has_backend: false, ..object });
            }
        }
        if objects.is_empty() {
            continue;
        }
        let (mut claims, mut known) = (Arc::default(), Objects::new());
        let mut translator = Translator::new(options.clone());
        let mut order: Vec<_> = objects.iter().collect();
        order.sort_by_key(|(_, object)| object.year);
        let mut seen = Translation::default();
        for (key, object) in order {
            known.insert(*key, object.clone());
            seen = translator.translate(&snapshot(&known, false, &services), &world(), &claims);
            claims = Arc::clone(&seen.claims);
        }
        let anew = Translator::new(options).translate(&snapshot(&objects, false, &services), &world(), &Arc::default());
        let (seen, anew) = (outline(&seen), outline(&anew));
        if seen != anew {
            let differ = seen.lines().zip(anew.lines()).find(|(one, other)| one != other);
            wrong.push(format!("SERIES_FROM={seed}: {differ:?}"));
        }
    }
    wrong.truncate(8);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
