//! How much work a change is behind the translation: it follows the change, and not the number of
//! objects.

use std::fs;

use super::*;
use crate::daemon::cycle::worth::Worth;
use crate::daemon::states::{self, GatedStates, JudgedStates, Step};
use ingressd_config::{Settings, Usual as _};
use ingressd_model::Standing;
use ingressd_model::catalogue::Version as NginxVersion;
use ingressd_nginx::render::Renderer;
use ingressd_nginx::{Capabilities, Gate, GateOptions, OtherSites};
use ingressd_objects::directory::{ChangedFiles, Directory};
use ingressd_translate::{Translation, Translator, World};

const OBJECTS: usize = 50;

const CLASS: &str = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: nginx}\nspec: {controller: \
                     ingressd/nginx}\n";
const INGRESS: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: NAME, namespace: shop}\nspec: \
                       {ingressClassName: nginx, rules: [{host: NAME.example.com, http: {paths: [{path: PATH, \
                       pathType: Prefix, backend: {service: {name: NAME, port: {number: 80}}}}]}}]}\n";
const SERVICE: &str =
    "apiVersion: v1\nkind: Service\nmetadata: {name: NAME, namespace: shop}\nspec: {ports: [{port: 80}]}\n";
const SLICE: &str = "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: NAME, namespace: shop, \
                     labels: {kubernetes.io/service-name: NAME}}\naddressType: IPv4\nports: [{port: 8080}]\n\
                     endpoints: ENDPOINTS\n";

/// The stages up to the files, and all that follows the states, with what they remember.
struct All {
    translator: Translator,
    claims: Arc<Claims>,
    gate: Gate,
    renderer: Renderer,
    gated: GatedStates,
    judged: JudgedStates,
    step: Step,
    served: Arc<[Arc<ObjectState>]>,
    worth: Worth,
}

/// How many states were looked at for the gate, for the judgement and for what is served, and how
/// many objects may have to be written.
#[derive(Debug, PartialEq, Eq)]
struct Work {
    gated: usize,
    judged: usize,
    served: usize,
    written: usize,
}

impl All {
    fn turn(&mut self, snapshot: &Snapshot) -> Work {
        let translation = self.translator.translate(snapshot, &World::default(), &self.claims);
        let Translation { model, tables, states, claims, .. } = translation;
        let capabilities = Capabilities::profile(NginxVersion(1, 22, 1));
        let plan = self.gate.pass(&model, &tables, &capabilities, &OtherSites::default(), &GateOptions::usual()).plan;
        let files = Arc::new(self.renderer.render(&plan).together());
        let states = self.gated.states(states, &plan, std::iter::empty());
        let product = Product { files, states, ..Product::default() };
        self.worth.follow(snapshot.clone(), &product);
        let judged = self.judged.states(snapshot, BTreeMap::new(), product.states);
        let before = (!self.served.is_empty()).then_some(&*self.served);
        let served = states::still_in_place(&mut self.step, &judged, before, Some(Instant::now()));
        self.served = states::shared(served, &self.served);
        self.claims = claims;
        let written = self.worth.send().len();
        self.worth.written();
        let [gated, judged, served] = [&self.gated.step, &self.judged.step, &self.step].map(|step| step.looked_at);
        Work { gated, judged, served, written }
    }
}

#[test]
fn the_work_behind_a_translation_follows_the_change() {
    let mut all = All {
        translator: Translator::new(Settings::default().translate_options()),
        claims: Arc::default(),
        gate: Gate::default(),
        renderer: Renderer::default(),
        gated: GatedStates::default(),
        judged: JudgedStates::default(),
        step: Step::default(),
        served: Arc::default(),
        worth: Worth::default(),
    };
    let folder = tempfile::tempdir().unwrap();
    let write = |kind: &str, number: usize, text: &str| {
        let text = text.replace("NAME", &format!("i{number:02}"));
        fs::write(folder.path().join(format!("{kind}-{number:02}.yaml")), text).unwrap();
    };
    fs::write(folder.path().join("class.yaml"), CLASS).unwrap();
    for number in 0..OBJECTS {
        write("ingress", number, &INGRESS.replace("PATH", "/"));
        write("service", number, SERVICE);
        write("slice", number, &SLICE.replace("ENDPOINTS", "[{addresses: [10.0.0.1]}]"));
    }
    let mut directory = Directory::new(vec![folder.path().to_owned()]);
    let mut turn = || {
        let snapshot = directory.refresh(&ChangedFiles::Content, &BTreeSet::new(), &mut |_| {}).unwrap();
        let work = all.turn(&snapshot);
        (work, all.served.iter().map(|state| state.standing()).collect::<Vec<_>>())
    };
    let work = |states: usize, written: usize| Work { gated: states, judged: states, served: states, written };
    let well = vec![Standing::Served; OBJECTS];
    // Objects and Services, the class, and the settings.
    assert_eq!(turn(), (work(OBJECTS, 2 * OBJECTS + 2), well.clone()));
    assert_eq!(turn(), (work(0, 0), well.clone()), "nothing changed");
    write("slice", 7, &SLICE.replace("ENDPOINTS", "[{addresses: [10.0.0.2]}]"));
    assert_eq!(turn(), (work(0, 0), well.clone()), "endpoints moved");
    write("slice", 7, &SLICE.replace("ENDPOINTS", "[]"));
    let mut closed = well.clone();
    closed[7] = Standing::Closed;
    assert_eq!(turn(), (work(1, 1), closed), "endpoints are gone");
    write("slice", 7, &SLICE.replace("ENDPOINTS", "[{addresses: [10.0.0.2]}]"));
    assert_eq!(turn(), (work(1, 1), well.clone()), "and back");
    write("ingress", 9, &INGRESS.replace("PATH", "/new"));
    assert_eq!(turn(), (work(1, 1), well.clone()), "an Ingress changed");
    fs::remove_file(folder.path().join("ingress-11.yaml")).unwrap();
    let (work, standings) = turn();
    assert_eq!((work.judged, work.served, standings), (0, 0, vec![Standing::Served; OBJECTS - 1]), "one is gone");
    assert!(work.gated <= 1 && work.written <= 2, "{work:?}");
}
