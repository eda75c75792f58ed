//! What a change beside the model costs, from a snapshot to files, and that it gives what stages
//! without a memory give.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ingressd_model::Transport;
use ingressd_model::cost::{self, Cost};
use ingressd_model::finding::{Finding, Reason};
use ingressd_nginx::render::{self, FilePath, FileSet, Renderer};
use ingressd_nginx::{Capabilities, Gate, GateOptions, OtherSites, Plan};
use ingressd_objects::{Endpoints, IngressTls, Snapshot, Stored, Version};
use ingressd_translate::{Claims, Options, Translation, Translator, Work, World};

use super::{DEFAULT_CERTIFICATE, OTHERS, SHOWN, cases, documents, inputs, snapshot, world};
use ingressd_config::Usual as _;

/// The stages, with what they remember.
struct Stages {
    options: Options,
    world: World,
    capabilities: Capabilities,
    other_sites: OtherSites,
    gate_options: GateOptions,
    recounts: u32,
    translator: Translator,
    gate: Gate,
    renderer: Renderer,
    claims: Arc<Claims>,
}

/// What they make of a snapshot, and what they had to do for it.
struct Made {
    translation: Translation,
    gated: usize,
    work: render::RenderWork,
    files: FileSet,
    findings: Vec<Finding>,
}

impl Stages {
    fn of(options: &Options, claims: &Arc<Claims>) -> Self {
        Stages {
            options: options.clone(),
            world: world(),
            capabilities: Capabilities::profile(SHOWN),
            other_sites: OtherSites::default(),
            gate_options: GateOptions::usual(),
            recounts: 0,
            translator: Translator::new(options.clone()),
            gate: Gate::default(),
            renderer: Renderer::default(),
            claims: Arc::clone(claims),
        }
    }

    fn make(&mut self, snapshot: &Snapshot) -> Made {
        let translation = self.translator.translate(snapshot, &self.world, &self.claims);
        let Translation { model, tables, findings, .. } = &translation;
        let gated = self.gate.pass(model, tables, &self.capabilities, &self.other_sites, &self.gate_options);
        let rendered = self.renderer.render(&Plan { recounts: self.recounts, ..gated.plan });
        let findings = findings.iter().cloned().chain(gated.findings).collect();
        self.claims = Arc::clone(&translation.claims);
        Made { files: rendered.together(), work: rendered.work, gated: gated.hosts, findings, translation }
    }

    /// The same, compared with what stages make that saw nothing before.
    fn judged(&mut self, snapshot: &Snapshot, what: &str) -> Made {
        let (capabilities, other_sites) = (self.capabilities.clone(), self.other_sites.clone());
        let (world, gate_options, recounts) = (self.world.clone(), self.gate_options.clone(), self.recounts);
        let others = Stages::of(&self.options, &self.claims);
        let mut others = Stages { world, capabilities, other_sites, gate_options, recounts, ..others };
        let (made, anew) = (self.make(snapshot), others.make(snapshot));
        assert_eq!(made.files.files.keys().collect::<Vec<_>>(), anew.files.files.keys().collect::<Vec<_>>(), "{what}");
        assert_eq!(made.files, anew.files, "{what}");
        assert_eq!(made.findings, anew.findings, "{what}");
        assert_eq!(made.costs(), anew.costs(), "{what}");
        made
    }
}

impl Made {
    fn costs(&self) -> Vec<(Arc<str>, Cost)> {
        cost::by_namespace(&self.translation.model, &self.translation.tables)
    }
}

/// Puts other addresses into a slice.
fn move_endpoints(slice: &mut Stored<Endpoints>) {
    let other = |address: &IpAddr| match address {
        IpAddr::V4(address) => IpAddr::from(Ipv4Addr::from(u32::from(*address) ^ 0x0001_0000)),
        IpAddr::V6(address) => IpAddr::from(Ipv6Addr::from(u128::from(*address) ^ 0x0001_0000)),
    };
    let mut moved = Endpoints::clone(&slice.object);
    for endpoint in &mut moved.endpoints {
        endpoint.address = other(&endpoint.address);
    }
    slice.object = Arc::new(moved);
}

/// So many hosts, each with a Service of its own.
fn many(number: usize) -> Snapshot {
    let one = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: NAME, namespace: default}\nspec: \
               {ingressClassName: nginx, rules: [{host: NAME.example.com, http: {paths: [{path: /, pathType: Prefix, \
               backend: {service: {name: NAME, port: {number: 80}}}}]}}]}\n---\n\
               apiVersion: v1\nkind: Service\nmetadata: {name: NAME, namespace: default}\nspec: {ports: [{port: 80}]}\
               \n---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: NAME, namespace: \
               default, labels: {kubernetes.io/service-name: NAME}}\naddressType: IPv4\nports: [{port: 8080}]\n\
               endpoints: [{addresses: [10.244.9.1], conditions: {ready: true}}]\n";
    let classes = documents("hosts").into_iter().filter(|document| document.contains("kind: IngressClass\n"));
    let all = (0..number).map(|number| one.replace("NAME", &format!("many-{number}")));
    snapshot(&classes.chain(all).collect::<Vec<_>>())
}

#[test]
fn a_change_of_one_slice_renders_one_row() {
    let mut snapshot = many(300);
    let mut stages = Stages::of(&inputs::options(DEFAULT_CERTIFICATE, &snapshot), &Arc::default());
    let first = stages.make(&snapshot);
    assert_eq!((first.translation.work.built, first.gated, first.work.rows), (300, 300, 300));
    let same = stages.make(&snapshot);
    assert!(Arc::ptr_eq(&first.translation.model, &same.translation.model));
    assert_eq!((same.translation.work.built, same.gated, same.work), (0, 0, render::RenderWork::default()));

    let one = |slice: &Stored<Endpoints>| *slice.id.name == *"many-7";
    snapshot.endpoint_slices.edit().iter_mut().filter(|slice| one(slice)).for_each(move_endpoints);
    let moved = stages.judged(&snapshot, "moved");
    assert_eq!(moved.translation.work, Work { rows: 1, ..Work::default() });
    assert_eq!((moved.gated, moved.work), (0, render::RenderWork { rendered: 0, rows: 1 }));
    assert!(moved.files.files.values().any(|file| file.content.text().contains("10.245.9.1:8080")));

    // The host is as before.
    snapshot.endpoint_slices.edit().retain(|slice| !one(slice));
    let gone = stages.judged(&snapshot, "gone");
    assert!(Arc::ptr_eq(&gone.translation.model, &first.translation.model));
    assert_eq!(gone.translation.work, Work { rows: 1, ..Work::default() });
    assert_eq!((gone.gated, gone.work), (0, render::RenderWork { rendered: 0, rows: 1 }));
    assert!(gone.files.files.keys().any(|path| path.starts_with("empty/")));
}

/// A Secret with a certificate for this host that nobody had before.
fn secret(host: &str) -> String {
    let made = rcgen::generate_simple_self_signed(vec![host.to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: many-tls, namespace: default}}\ntype: kubernetes.io/tls\n\
         stringData: {{tls.crt: {chain:?}, tls.key: {key:?}}}\n"
    )
}

#[test]
fn a_renewed_certificate_builds_no_host_and_renders_one_row() {
    let secrets = |host: &str| snapshot(&[secret(host)]).secrets;
    let mut snapshot = many(300);
    let first = snapshot.ingresses.edit().iter_mut().find(|stored| *stored.id.name == *"many-7").unwrap();
    let mut object = (*first.object).clone();
    let tls = IngressTls { hosts: ["many-7.example.com".into()].into(), secret_name: Some("many-tls".into()) };
    object.tls = [tls].into();
    first.object = Arc::new(object);
    snapshot.secrets = secrets("many-7.example.com");
    let mut stages = Stages::of(&inputs::options(DEFAULT_CERTIFICATE, &snapshot), &Arc::default());
    let [_, first] = [0, 1].map(|_| stages.make(&snapshot));
    let is_shown = |path: &FilePath| path.starts_with("certs/");
    let shown = |made: &Made| {
        let mut all = made.files.files.iter().filter(|(path, _)| is_shown(path));
        all.next().map(|(_, file)| file.content.bytes())
    };

    snapshot.secrets = secrets("many-7.example.com");
    let renewed = stages.judged(&snapshot, "renewed");
    assert_eq!(renewed.translation.work, Work { rows: 1, ..Work::default() });
    assert_eq!((renewed.gated, renewed.work), (0, render::RenderWork { rendered: 0, rows: 1 }));
    assert!(Arc::ptr_eq(&renewed.translation.model, &first.translation.model) && shown(&renewed) != shown(&first));

    // Another host in the certificate concerns the host.
    snapshot.secrets = secrets("other.example.com");
    let other = stages.judged(&snapshot, "of another host");
    assert_eq!(other.translation.work.built, 1);
    assert!(other.findings.iter().any(|finding| finding.reason == Reason::CertificateHostMismatch));
}

#[test]
fn what_was_seen_before_changes_no_file_of_any_case() {
    for (number, case) in cases().iter().enumerate() {
        let mut snapshot = snapshot(&documents(case));
        let before = snapshot.endpoint_slices.clone();
        let mut stages = Stages::of(&inputs::options(DEFAULT_CERTIFICATE, &snapshot), &Arc::default());
        (0..2).for_each(|_| drop(stages.make(&snapshot)));
        snapshot.endpoint_slices.edit().iter_mut().for_each(move_endpoints);
        stages.judged(&snapshot, &format!("{case}, moved"));
        let slices = snapshot.endpoint_slices.edit();
        drop(slices.remove(number % slices.len()));
        stages.judged(&snapshot, &format!("{case}, one gone"));
        snapshot.endpoint_slices = before;
        stages.judged(&snapshot, &format!("{case}, all as before"));
    }
}

#[test]
fn what_changes_beside_the_tables_is_followed_with_them() {
    type Change = fn(&mut Stages, &mut Snapshot);
    let changes: [(&str, Change); 11] = [
        ("an older nginx", |stages, _| stages.capabilities = Capabilities::profile(OTHERS[0])),
        ("a port of another program", |stages, _| {
            let address = "0.0.0.0:5432".parse().unwrap();
            stages.other_sites.occupied.insert((Transport::Tcp, address));
        }),
        ("counts anew", |stages, _| stages.recounts += 1),
        ("no shared servers", |stages, _| stages.gate_options.shared_servers = false),
        ("the port of passthrough", |stages, _| stages.gate_options.has_passthrough = true),
        ("Secrets that are written again", |_, snapshot| {
            for stored in snapshot.secrets.edit() {
                stored.object = Arc::new((*stored.object).clone());
                stored.version = Version("again".into());
            }
        }),
        ("Secrets that are gone", |_, snapshot| snapshot.secrets.edit().clear()),
        ("time", |stages, _| {
            stages.world.now += 1_000_000_000;
        }),
        ("a limit", |stages, _| {
            stages.options.limits.object.endpoints = 1;
            stages.translator.set_options(stages.options.clone());
        }),
        ("a newer nginx", |stages, _| stages.capabilities = Capabilities::profile(OTHERS[5])),
        ("shared servers", |stages, _| {
            stages.gate_options.shared_servers = true;
            stages.other_sites.occupied.clear();
        }),
    ];
    for case in cases() {
        let mut snapshot = snapshot(&documents(&case));
        let secrets = snapshot.secrets.clone();
        let mut stages = Stages::of(&inputs::options(DEFAULT_CERTIFICATE, &snapshot), &Arc::default());
        (0..2).for_each(|_| drop(stages.make(&snapshot)));
        for (what, change) in &changes {
            change(&mut stages, &mut snapshot);
            snapshot.endpoint_slices.edit().iter_mut().for_each(move_endpoints);
            stages.judged(&snapshot, &format!("{case}, {what}"));
            let slices = snapshot.endpoint_slices.clone();
            snapshot.endpoint_slices.edit().clear();
            stages.judged(&snapshot, &format!("{case}, none after {what}"));
            (snapshot.endpoint_slices, snapshot.secrets) = (slices, secrets.clone());
            stages.judged(&snapshot, &format!("{case}, some after {what}"));
        }
    }
}
