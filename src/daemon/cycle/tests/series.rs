//! Random series of changes, of which nginx takes some: what is remembered behind the translation
//! is what is found without any memory.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;

use super::*;
use crate::daemon::cycle::worth::Worth;
use crate::daemon::estimate::Estimate;
use crate::daemon::states::{self, GatedStates, JudgedStates, Step};
use crate::daemon::status::Tally;
use ingressd_config::{Settings, Usual as _};
use ingressd_model::catalogue::Version as NginxVersion;
use ingressd_model::cost::by_namespace;
use ingressd_nginx::render::Renderer;
use ingressd_nginx::{Capabilities, Gate, GateOptions, OtherSites, SiteName};
use ingressd_objects::directory::{ChangedFiles, Directory};
use ingressd_objects::rows;
use ingressd_translate::{ClassRule, INGRESS_NGINX, Options, Translation, Translator, World};

/// How many series there are, and how many steps each has.
const RUNS: u64 = 12;
const STEPS: usize = 14;

const HOSTS: [&str; 5] = ["a.example", "b.example", "*.c.example", "x.c.example", ""];
const ANNOTATIONS: [&str; 9] = [
    "",
    "",
    "",
    "",
    "allowlist-source-range: nonsense",
    "server-alias: b.example",
    "canary: 'true'",
    "app-root: /start",
    "default-backend: s1",
];

/// A sequence of numbers that each run has again (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap() % bound
    }

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len())]
    }

    /// Changes a file of the folder.
    fn change(&mut self, folder: &Path) {
        let namespace = self.one(&["blog", "shop"]);
        let (kind, name, text) = match self.below(12) {
            0 => ("class", "nginx".to_owned(), self.class()),
            1 | 2 => {
                let name = format!("s{}", self.below(3));
                let port = self.one(&["80", "80", "81"]);
                let text = format!(
                    "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {{ports: [{{port: {port}}}]}}\n"
                );
                ("service", format!("{namespace}-{name}"), text)
            }
            3..=5 => {
                let name = format!("s{}", self.below(3));
                let endpoints = self.one(&["[]", "[{addresses: [10.0.0.1]}]", "[{addresses: [10.0.0.2]}]"]);
                let text = format!(
                    "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: {name}, namespace: {namespace}, labels: {{kubernetes.io/service-name: {name}}}}}\naddressType: IPv4\nports: [{{port: 8080}}]\nendpoints: {endpoints}\n"
                );
                ("slice", format!("{namespace}-{name}"), text)
            }
            6 => {
                let text = format!(
                    "apiVersion: v1\nkind: Secret\nmetadata: {{name: tls, namespace: {namespace}}}\ntype: kubernetes.io/tls\ndata: {{tls.crt: {}, tls.key: ''}}\n",
                    self.one(&["aGFsbG8=", "aGFsbGE="])
                );
                ("secret", namespace.to_owned(), text)
            }
            _ => {
                let name = format!("i{}", self.below(4));
                let text = self.ingress(namespace, &name);
                ("ingress", format!("{namespace}-{name}"), text)
            }
        };
        let path = folder.join(format!("{kind}-{name}.yaml"));
        if self.below(5) == 0 {
            let _ = fs::remove_file(path);
        } else {
            fs::write(path, text).unwrap();
        }
    }

    fn class(&mut self) -> String {
        let controller = self.one(&["k8s.io/ingress-nginx", "k8s.io/ingress-nginx", "example.com/other"]);
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {{name: nginx}}\nspec: {{controller: {controller}}}\n"
        )
    }

    fn ingress(&mut self, namespace: &str, name: &str) -> String {
        let class = self.one(&["nginx", "nginx", "nginx", "nginx", "foreign"]);
        let annotation = self.one(&ANNOTATIONS);
        let annotation =
            if annotation.is_empty() { String::new() } else { format!("nginx.ingress.kubernetes.io/{annotation}") };
        let rules = (0..1 + self.below(2)).map(|_| {
            let host = self.one(&HOSTS);
            let paths = (0..1 + self.below(2)).map(|_| {
                let (path, service) = (self.one(&["/", "/", "/a", "/b"]), self.below(3));
                format!("{{path: {path}, pathType: Prefix, backend: {{service: {{name: s{service}, port: {{number: 80}}}}}}}}")
            });
            format!("{{host: '{host}', http: {{paths: [{}]}}}}", paths.collect::<Vec<_>>().join(", "))
        });
        let rules = rules.collect::<Vec<_>>().join(", ");
        let tls = self.one(&["", "", "tls: [{hosts: [a.example], secretName: tls}], "]);
        // A host that is no text cannot be read.
        let wrong = self.one(&["", "", "", "", "", "", "", "defaultBackend: 7, "]);
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}, namespace: {namespace}, \
             annotations: {{{annotation}}}}}\nspec: {{ingressClassName: {class}, {wrong}{tls}rules: [{rules}]}}\n"
        )
    }
}

/// The stages up to judged states, with what they remember.
struct Made {
    translator: Translator,
    gate: Gate,
    renderer: Renderer,
    gated: GatedStates,
    judged: JudgedStates,
}

impl Made {
    fn new(options: &Options) -> Self {
        Made {
            translator: Translator::new(options.clone()),
            gate: Gate::default(),
            renderer: Renderer::default(),
            gated: GatedStates::default(),
            judged: JudgedStates::default(),
        }
    }

    fn make(&mut self, snapshot: &Snapshot, claims: &Arc<Claims>, sites: &OtherSites) -> Product {
        let Translation { model, tables, states, claims, refused, .. } =
            self.translator.translate(snapshot, &World { now: 1_800_000_000, ..World::default() }, claims);
        let capabilities = Capabilities::profile(NginxVersion(1, 22, 1));
        let plan = self.gate.pass(&model, &tables, &capabilities, sites, &GateOptions::usual()).plan;
        let files = Arc::new(self.renderer.render(&plan).together());
        let states = self.gated.states(states, &plan, std::iter::empty());
        let estimate = Arc::new(Estimate { model, tables, ..Estimate::default() });
        Product { files, states, refused, claims, estimate, ..Product::default() }
    }
}

/// What is worth keeping, without any memory.
fn kept(good: &Snapshot, product: &Product) -> BTreeMap<Arc<ObjectId>, Version> {
    let owners: BTreeSet<_> = product.files.files.values().flat_map(|file| file.owners.objects()).collect();
    let is_worth = |id: &ObjectId| {
        let is_accepted = ObjectState::find(&product.states, id).is_some_and(|state| state.working.is_some());
        let reads = matches!(id.kind, Kind::INGRESS_CLASS | Kind::NAMESPACE);
        let is_refused = product.refused.iter().any(|refused| *refused.id == *id);
        !is_refused && (reads || is_accepted || owners.contains(id))
    };
    let lasting = good.lists().filter(|(row, _)| row.lasts).flat_map(|(_, list)| list.entries());
    lasting.filter(|entry| is_worth(entry.id)).map(|entry| (Arc::clone(entry.id), entry.version.clone())).collect()
}

/// The disk, and what is on its way there.
#[derive(Default)]
struct Disk {
    kept: BTreeMap<Arc<ObjectId>, Version>,
    jobs: VecDeque<(Snapshot, BTreeMap<Arc<ObjectId>, bool>)>,
}

impl Disk {
    fn write(&mut self) {
        for (good, touched) in self.jobs.drain(..) {
            for (id, is_worth) in touched {
                match good.version(&id).filter(|_| is_worth && good.list(id.kind).unwrap().0.lasts) {
                    Some(version) => drop(self.kept.insert(id, version.clone())),
                    None => drop(self.kept.remove(&id)),
                }
            }
        }
    }
}

fn series(seed: u64) {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37));
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..30 {
        numbers.change(folder.path());
    }
    let mut options = Settings::default().translate_options();
    options.classes = vec![ClassRule::new("k8s.io/ingress-nginx", &INGRESS_NGINX)];
    let mut directory = Directory::new(vec![folder.path().to_owned()]);
    let mut made = Made::new(&options);
    let (mut worth, mut step, mut tally, mut disk) =
        (Worth::default(), Step::default(), Tally::default(), Disk::default());
    let mut claims: Arc<Claims> = Arc::default();
    let mut served: Arc<[Arc<ObjectState>]> = Arc::default();
    let mut knows = false;
    let began = Instant::now();
    let mut sites = OtherSites::default();
    for number in 0..STEPS {
        let why = format!("series {seed}, step {number}");
        for _ in 0..numbers.below(4) {
            numbers.change(folder.path());
        }
        if numbers.below(6) == 0 {
            let taken = sites.server_names.is_empty();
            sites.server_names = taken.then(site).into_iter().collect();
        }
        let mut snapshot =
            Snapshot::clone(&directory.refresh(&ChangedFiles::Content, &BTreeSet::new(), &mut |_| {}).unwrap());
        // An Ingress that nginx refuses is withheld from what is made, and not from the newest.
        let newest = snapshot.clone();
        if numbers.below(3) == 0 && !snapshot.ingresses.is_empty() {
            let index = numbers.below(snapshot.ingresses.len());
            let stored = snapshot.ingresses.edit().remove(index);
            snapshot.withheld.list_mut::<rows::Ingress>().edit().push(stored);
        }
        // Sometimes something is only tried first.
        if numbers.below(4) == 0 {
            let other = Snapshot { ingresses: newest.ingresses.iter().take(2).cloned().collect(), ..newest.clone() };
            let product = made.make(&other, &claims, &sites);
            worth.follow(other, &product);
        }
        let product = made.make(&snapshot, &claims, &sites);
        let anew = Made::new(&options).make(&snapshot, &claims, &sites);
        assert_eq!(product.states, anew.states, "{why}");
        assert!(*product.files == *anew.files, "{why}: files");
        let Estimate { model, tables, .. } = &*anew.estimate;
        assert_eq!(product.estimate.costs(), by_namespace(model, tables), "{why}");
        let mut good = snapshot.clone();
        for RefusedVersion { id, .. } in &product.refused {
            crate::daemon::objects::take_out(&mut good, id);
        }
        worth.follow(good.clone(), &product);
        if numbers.below(2) == 0 {
            disk.write();
            worth.written();
        }
        let should = kept(&good, &anew);
        let unwritten: BTreeSet<_> = worth.unwritten().cloned().collect();
        for (id, version) in &should {
            assert!(unwritten.contains(id) || disk.kept.get(id) == Some(version), "{why}: {id} would be lost");
        }
        let judged = made.judged.states(&newest, BTreeMap::new(), product.states.clone());
        assert_eq!(judged, JudgedStates::default().states(&newest, BTreeMap::new(), anew.states), "{why}");
        let (before, now) = (knows.then_some(&*served), began + Duration::from_secs(u64::try_from(number).unwrap()));
        let outcome = numbers.below(6);
        let (states, expected) = match outcome {
            // nginx is down, or fails.
            0 => (
                states::still_in_place(&mut step, &judged, before, None),
                states::in_place(&judged, &judged, before, None),
            ),
            1 => (states::unchanged(&judged, &served), states::unchanged(&judged, &served)),
            _ => (
                states::still_in_place(&mut step, &judged, before, Some(now)),
                states::in_place(&judged, &judged, before, Some(now)),
            ),
        };
        assert_eq!(states, expected, "{why}");
        served = states::shared(states, &served);
        if outcome < 2 {
            step = Step::default();
        } else {
            knows = true;
            claims = Arc::clone(&product.claims);
            disk.jobs.push_back((good, worth.send()));
            if numbers.below(2) == 0 {
                disk.write();
                worth.written();
                assert_eq!(disk.kept, should, "{why}");
            }
        }
        tally.follow(&served);
        let all = Tally::of(&served);
        assert_eq!((tally.hosts(), tally.routes()), (all.hosts(), all.routes()), "{why}");
        let hosts: BTreeSet<_> = served
            .iter()
            .filter_map(|state| state.in_place().filter(|version| version.served > 0))
            .flat_map(|version| version.hosts.iter())
            .collect();
        let routes: u64 = served.iter().filter_map(|state| Some(u64::from(state.in_place()?.answering()))).sum();
        assert_eq!((tally.hosts(), tally.routes()), (hosts.len(), routes), "{why}");
    }
}

/// Another site of the host that has a host of the cluster.
fn site() -> SiteName {
    let sockets = [([0, 0, 0, 0], 80).into()].into();
    SiteName { place: "site:7".to_owned(), name: "b.example".to_owned(), sockets, before_ours: false }
}

#[test]
fn what_is_remembered_behind_a_translation_is_what_is_found_without_memory() {
    let given = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let from = given("SERIES_FROM").unwrap_or(0);
    for seed in from..from + given("SERIES_RUNS").unwrap_or(RUNS) {
        series(seed);
    }
}
