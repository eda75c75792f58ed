//! What a namespace has on a host while it and another one add, edit, delete and make objects again, drawn at random; it must not know how
//! claims are settled.
//!
//! The cluster is followed twice, with the attacker and without. Ages of places are kept here too, by nothing but who asked first.

use std::collections::BTreeMap;

use super::super::path::Matching;
use super::super::site;
use super::tenants::{Cluster, of};
use super::{options, shared};
use crate::model::{Action, PathMatch, Route, Server};
use crate::translate::{Options, Translation};

/// How many runs there are of each rule about who owns a host, and how many steps each has.
const RUNS: u64 = 400;
const STEPS: usize = 9;
/// Objects that each side may have at once.
const OBJECTS: usize = 3;

const HOSTS: &[&str] = &["a.example", "a.example", "a.example", "*.example"];
const TEXTS: &[&str] = &["/", "/", "/a", "/a/", "/a/b", "/a/b/c", "/A", "/b", "/new"];
const EXPRESSIONS: &[&str] =
    &["/.*", "/a.*", "/a/b.*", "/a/(.*)", "/(a|b)", "/a(/|$)(.*)", "/a.*longer", "/new.*", "/[ab]/c", "/a/b/c", "/b"];
const TYPES: &[&str] = &["Prefix", "Prefix", "Exact", "ImplementationSpecific"];
const ANNOTATIONS: &[&str] = &[
    "",
    "",
    "",
    "allowlist-source-range: 10.0.0.0/8",
    "allowlist-source-range: nonsense",
    "rewrite-target: /$nothing",
];
const TARGETS: &[&str] = &[
    "/",
    "/a",
    "/a/",
    "/a/b",
    "/a/b/c",
    "/a/b/c/longer",
    "/a/longer",
    "/A/b",
    "/b",
    "/b/c",
    "/new",
    "/new/x",
    "/newer",
    "/zzz",
];
const ASKED: &[&str] = &["a.example", "b.example"];

/// Numbers that follow from one (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// An object as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    host: &'static str,
    annotations: String,
    paths: Vec<String>,
    default_backend: bool,
}

impl Object {
    fn draw(numbers: &mut Numbers) -> Self {
        let is_regex = numbers.below(3) == 0;
        let mut annotations = vec![numbers.one(ANNOTATIONS)];
        annotations.extend(is_regex.then_some("use-regex: 'true'"));
        annotations.retain(|annotation| !annotation.is_empty());
        let path = |numbers: &mut Numbers| {
            let text = numbers.one(if is_regex { EXPRESSIONS } else { TEXTS });
            format!("{} {text}", numbers.one(TYPES))
        };
        let count = 1 + numbers.below(3);
        let paths = (0..count).map(|_| path(numbers)).collect();
        let default_backend = numbers.below(12) == 0;
        Object { host: numbers.one(HOSTS), annotations: annotations.join(", "), paths, default_backend }
    }

    fn is_regex(&self) -> bool {
        self.annotations.contains("use-regex")
    }

    fn written(&self, namespace: &str, name: &str) -> String {
        let paths: Vec<_> = self.paths.iter().map(String::as_str).collect();
        let text = of(namespace, name, "nginx", self.host, &self.annotations, &paths);
        match self.default_backend {
            false => text,
            true => text.replace(
                "rules: [",
                &format!("defaultBackend: {{service: {{name: {name}, port: {{number: 80}}}}}}, rules: ["),
            ),
        }
    }
}

/// Something that one side does.
#[derive(Debug, Clone)]
struct Step {
    /// 0 for the victim, 1 for the attacker.
    side: usize,
    slot: usize,
    object: Option<Object>,
    seconds: i64,
}

const SIDES: [&str; 2] = ["victim", "evil"];

fn draw(seed: u64) -> Vec<Step> {
    let mut numbers = Numbers(seed);
    let mut all: [[Option<Object>; OBJECTS]; 2] = Default::default();
    let mut steps = Vec::new();
    for number in 0..STEPS {
        let side = if number == 0 { 0 } else { numbers.below(2) };
        let slot = numbers.below(OBJECTS);
        let object = match (&all[side][slot], numbers.below(4)) {
            (None, _) | (Some(_), 0) => Some(Object::draw(&mut numbers)),
            (Some(_), 1 | 2) => None,
            (Some(known), _) => {
                let mut edited = known.clone();
                let other = Object::draw(&mut numbers);
                if other.is_regex() == edited.is_regex() {
                    edited.paths = other.paths;
                }
                Some(edited)
            }
        };
        all[side][slot].clone_from(&object);
        steps.push(Step { side, slot, object, seconds: numbers.one(&[0, 0, 10, 100]) });
    }
    steps
}

/// Who asked for what first: host and place, then the side and when, and since when it does not ask any more.
#[derive(Default)]
struct Ledger(BTreeMap<(String, String), Vec<(usize, usize, Option<i64>)>>);

impl Ledger {
    fn follow(&mut self, step: usize, now: i64, objects: &[[Option<Object>; OBJECTS]; 2]) {
        let mut asked = Vec::new();
        for side in [0, 1] {
            for object in objects[side].iter().flatten() {
                asked.push((side, object.host.to_owned(), "*".to_owned()));
                for path in &object.paths {
                    let text = path.split_once(' ').unwrap().1;
                    let matching = if object.is_regex() { Matching::Regex } else { Matching::Prefix };
                    asked.push((side, object.host.to_owned(), site::beginning(matching, text).into()));
                }
            }
        }
        for (key, claims) in &mut self.0 {
            for claim in claims.iter_mut() {
                let is_asked =
                    asked.iter().any(|(side, host, place)| (*side, host, place) == (claim.0, &key.0, &key.1));
                claim.2 = if is_asked { None } else { claim.2.or(Some(now)) };
            }
            claims.retain(|claim| claim.2.is_none_or(|gone| now - gone < 300));
        }
        for (side, host, place) in asked {
            let claims = self.0.entry((host, place)).or_default();
            if !claims.iter().any(|claim| claim.0 == side) {
                claims.push((side, step, None));
            }
        }
    }

    fn since(&self, side: usize, host: &str, place: &str) -> usize {
        let claims = self.0.get(&(host.to_owned(), place.to_owned())).into_iter().flatten();
        claims.filter(|claim| claim.0 == side).map(|claim| claim.1).next().unwrap_or(usize::MAX)
    }
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    side: Option<usize>,
    host: String,
    route: String,
    place: String,
    is_protected: bool,
    is_closed: bool,
}

fn answer(translation: &Translation, host: &str, target: &str) -> Option<Answer> {
    let named = |name: &str| translation.model.servers.iter().find(|server| written(server) == name);
    let server = named(host).or_else(|| named("*.example"))?;
    let route = server.routes.iter().find(|route| takes(route, target));
    let (place, path) = match route.map(|route| &route.path) {
        Some(PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. }) => {
            (site::beginning(Matching::Prefix, path.as_str()).into(), path.to_string())
        }
        Some(PathMatch::Regex(pattern)) => {
            (site::beginning(Matching::Regex, pattern.as_str()).into(), pattern.to_string())
        }
        None => (String::new(), "else".to_owned()),
    };
    let is_fallback = route.is_none();
    let route = route.unwrap_or(&server.fallback);
    let side = SIDES.iter().position(|side| **side == *route.origin.object.namespace);
    let is_closed = matches!(route.action, Action::Respond { .. });
    Some(Answer {
        side: side.filter(|_| !is_fallback || !is_closed),
        host: written(server),
        route: format!("{} {path}", route.origin.object.name),
        place,
        is_protected: route.behaviour.access.is_some(),
        is_closed,
    })
}

fn written(server: &Server) -> String {
    crate::translate::host::written(&server.name).to_string()
}

fn takes(route: &Route, target: &str) -> bool {
    match &route.path {
        PathMatch::Exact { path, .. } => path.as_str() == target,
        PathMatch::Prefix { path, .. } => {
            let bare = path.as_str().trim_end_matches('/');
            target.strip_prefix(bare).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        PathMatch::Regex(pattern) => {
            regex::bytes::Regex::new(&format!("(?i-u)^(?:{pattern})")).unwrap().is_match(target.as_bytes())
        }
    }
}

/// What is wrong with an answer.
fn judge(alone: Option<&Answer>, with: Option<&Answer>, ledger: &Ledger, is_shared: bool) -> Option<String> {
    let alone = alone.filter(|alone| alone.side == Some(0))?;
    if with == Some(alone) {
        return None;
    }
    let of_host = |side| ledger.since(side, &alone.host, "*");
    let wild = |side| ledger.since(side, "*.example", "*");
    let host_is_evils = of_host(1) < of_host(0) || (alone.host != "*.example" && wild(1) < of_host(0));
    let is_within = with.is_some_and(|with| with.host != alone.host && ledger.since(1, &with.host, "*") < wild(0));
    if !is_shared {
        return (!host_is_evils && !is_within).then(|| "the host is the victim's".to_owned());
    }
    // What follows from a claim on the whole host that is older is its owner's.
    if host_is_evils {
        return None;
    }
    let of_place = |side, place: &str| ledger.since(side, &alone.host, place);
    let place_is_evils = of_place(1, &alone.place) < of_place(0, &alone.place);
    let Some(with) = with else { return Some("nothing is left".to_owned()) };
    let lower = with.place.len() > alone.place.len() && with.place.starts_with(&alone.place);
    // A host of its own within a wildcard host of somebody else goes before it.
    if with.host != alone.host {
        let is_younger = ledger.since(1, &with.host, "*") > wild(0);
        let loses = is_younger && alone.is_protected && !with.is_closed;
        return loses.then(|| "the protected wildcard loses".to_owned());
    }
    match with.side {
        Some(0) if alone.is_protected && !with.is_protected && !with.is_closed => Some("it is open".to_owned()),
        Some(0) | None if alone.is_protected && with.is_closed && place_is_evils => None,
        Some(0) | None => (!place_is_evils).then(|| "another route answers".to_owned()),
        Some(_) if place_is_evils => None,
        Some(_) if !lower => Some("it goes to the attacker".to_owned()),
        Some(_) => {
            let is_younger = of_place(1, &with.place) > of_place(0, &alone.place);
            (alone.is_protected && is_younger).then(|| "what is protected goes to the attacker".to_owned())
        }
    }
}

fn services() -> String {
    let mut all = String::new();
    for side in SIDES {
        for slot in 0..OBJECTS {
            let name = format!("{}{slot}", &side[..1]);
            all.push_str(&format!(
                "\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {side}}}\nspec: {{ports: [{{name: http, port: 80, targetPort: 8080}}]}}\n---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: {name}-1, namespace: {side}, labels: {{kubernetes.io/service-name: {name}}}}}\naddressType: IPv4\nports: [{{name: http, port: 8080, protocol: TCP}}]\nendpoints: [{{addresses: [10.244.0.9], conditions: {{ready: true}}}}]"
            ));
        }
    }
    all
}

fn run(steps: &[Step], options: &Options, is_shared: bool) -> Option<String> {
    let [mut with, mut alone] = [Cluster::new(options.clone()), Cluster::new(options.clone())];
    let mut objects: [[Option<Object>; OBJECTS]; 2] = Default::default();
    let mut ledger = Ledger::default();
    let services = services();
    for (number, step) in steps.iter().enumerate() {
        objects[step.side][step.slot].clone_from(&step.object);
        let now = with.advance(step.seconds);
        alone.advance(step.seconds);
        ledger.follow(number, now, &objects);
        let documents = |sides: &[usize]| {
            let all = sides.iter().flat_map(|side| {
                objects[*side].iter().enumerate().filter_map(|(slot, object)| {
                    let name = format!("{}{slot}", &SIDES[*side][..1]);
                    Some(object.as_ref()?.written(SIDES[*side], &name))
                })
            });
            all.chain([services.clone()]).collect::<Vec<_>>()
        };
        let (with_all, victims) = (documents(&[0, 1]), documents(&[0]));
        let with = with.now(&with_all.iter().collect::<Vec<_>>());
        let alone = alone.now(&victims.iter().collect::<Vec<_>>());
        for host in ASKED {
            for target in TARGETS {
                let (with, alone) = (answer(&with, host, target), answer(&alone, host, target));
                if let Some(wrong) = judge(alone.as_ref(), with.as_ref(), &ledger, is_shared) {
                    return Some(format!(
                        "step {number}, {host}{target}: {wrong}\n    with  {with:?}\n    alone {alone:?}"
                    ));
                }
            }
        }
    }
    None
}

/// The fewest steps and paths with which something is wrong.
fn minimise(mut steps: Vec<Step>, is_wrong: impl Fn(&[Step]) -> bool) -> Vec<Step> {
    loop {
        let mut smaller = Vec::new();
        for number in 0..steps.len() {
            let mut fewer = steps.clone();
            fewer.remove(number);
            smaller.push(fewer);
            let Some(object) = &steps[number].object else { continue };
            for path in (0..object.paths.len()).filter(|_| object.paths.len() > 1) {
                let mut fewer = steps.clone();
                fewer[number].object.as_mut().unwrap().paths.remove(path);
                smaller.push(fewer);
            }
            if !object.annotations.is_empty() && !object.is_regex() {
                let mut fewer = steps.clone();
                fewer[number].object.as_mut().unwrap().annotations.clear();
                smaller.push(fewer);
            }
        }
        match smaller.into_iter().find(|smaller| is_wrong(smaller)) {
            Some(fewer) => steps = fewer,
            None => return steps,
        }
    }
}

fn compare(options: &Options, is_shared: bool) {
    let given: Option<u64> = std::env::var("TENANTS_SEED").ok().and_then(|text| text.parse().ok());
    let runs = std::env::var("TENANTS_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(RUNS);
    let seeds = given.map_or(0..runs, |seed| seed..seed + 1);
    let mut shown = Vec::new();
    for seed in seeds {
        if shown.len() >= 8 {
            break;
        }
        let steps = draw(seed);
        if run(&steps, options, is_shared).is_none() {
            continue;
        }
        let least = minimise(steps, |steps| run(steps, options, is_shared).is_some());
        let text: Vec<_> = least.iter().map(|step| format!("    {step:?}")).collect();
        shown.push(format!("TENANTS_SEED={seed}: {}\n{}", run(&least, options, is_shared).unwrap(), text.join("\n")));
    }
    assert!(shown.is_empty(), "{} runs\n{}", shown.len(), shown.join("\n"));
}

#[test]
fn a_host_of_its_own_stays_as_it_is() {
    compare(&options_of_namespaces(), false);
}

#[test]
fn paths_of_a_shared_host_stay_as_they_are() {
    compare(&shared(), true);
}

fn options_of_namespaces() -> Options {
    let mut options = options();
    for rule in &mut options.classes {
        rule.ownership = Some(crate::translate::HostOwnership::Namespace);
    }
    options
}
