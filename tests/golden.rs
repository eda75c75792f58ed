//! Golden cases: manifests in; files, findings and statuses out, for every profile of nginx,
//! judged by real ones.
//!
//! A case is `tests/golden/NAME.yaml`, read together with `prelude.yaml`. Its snapshot holds the
//! findings, what was accepted, what the files for nginx 1.22 have beside those of `plain.yaml`
//! and, for each other version, how its files differ from those of the version before.
//! `make generate` writes them again.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "golden/catalogue.rs"]
mod catalogue;
#[path = "golden/changes.rs"]
mod changes;
#[path = "golden/cost.rs"]
mod cost;
#[path = "golden/drawn.rs"]
mod drawn;
#[path = "golden/inputs.rs"]
mod inputs;
#[path = "golden/judge.rs"]
mod judge;
#[path = "golden/keys.rs"]
mod keys;
#[path = "golden/own_templates.rs"]
mod own_templates;
#[path = "golden/shown.rs"]
mod shown;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ingressd_config::Usual as _;
use ingressd_model::catalogue::Version;
use ingressd_model::finding::Finding;
use ingressd_model::{HostListeners, HostName};
use ingressd_nginx::render::{FileSet, Renderer};
use ingressd_nginx::{self as nginx, Capabilities, GateOptions, OtherSites, Plan, syntax};
use ingressd_objects::Snapshot;
use ingressd_translate::{NameAnswer, Names, Options, Translation, Translator, World};
use shown::{Blocks, Differences, whole};

/// The version whose files are shown.
const SHOWN: Version = Version(1, 22, 1);
/// The others, from the oldest to the newest.
const OTHERS: [Version; 7] = [
    Version(1, 18, 0),
    Version(1, 20, 1),
    Version(1, 24, 0),
    Version(1, 26, 3),
    Version(1, 28, 0),
    Version(1, 30, 6),
    Version(1, 31, 4),
];
/// Namespace and name of the default certificate.
const DEFAULT_CERTIFICATE: (&str, &str) = ("default", "wildcard-tls");
/// The case that the others are compared with.
const PLAIN: &str = "plain";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn cases() -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "prelude")
        .collect();
    names.sort();
    assert!(names.len() >= 20, "the golden cases were not found");
    names
}

/// The documents of the prelude and of the case.
fn documents(case: &str) -> Vec<String> {
    ["prelude", case]
        .iter()
        .map(|name| std::fs::read_to_string(folder().join(name).with_extension("yaml")).unwrap())
        .flat_map(|text| text.split("\n---\n").map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn snapshot(documents: &[String]) -> Snapshot {
    inputs::snapshot(&documents.join("\n---\n"))
}

/// A time, and what DNS is held to say.
fn world() -> World {
    let rows: [(&str, &[&str], Option<&str>); 5] = [
        ("backend.example.net", &["192.0.2.80", "192.0.2.81", "2001:db8::80"], None),
        ("local.example.net", &["127.0.0.1", "::1"], None),
        ("partly-local.example.net", &["127.0.0.1", "192.0.2.82"], None),
        ("stale.example.net", &["192.0.2.83"], Some("no DNS server answers")),
        ("missing.example.net", &[], Some("there is no such name")),
    ];
    let answer = |addresses: &[&str], failure: Option<&str>| NameAnswer {
        addresses: addresses.iter().map(|address| address.parse::<IpAddr>().unwrap()).collect(),
        failure: failure.map(Into::into),
        ..NameAnswer::default()
    };
    let rows = rows.map(|(name, addresses, failure)| (HostName::new(name).unwrap(), answer(addresses, failure)));
    World { now: inputs::NOW, names: Arc::new(Names(rows.into())), ..World::default() }
}

struct Product {
    translation: Translation,
    findings: Vec<Finding>,
    files: FileSet,
}

fn produce(snapshot: &Snapshot, version: Version) -> Product {
    produce_under(inputs::options(DEFAULT_CERTIFICATE, snapshot), &GateOptions::usual(), snapshot, version)
}

fn plan_under(
    options: Options,
    gate: &GateOptions,
    snapshot: &Snapshot,
    version: Version,
) -> (Plan, Translation, Vec<Finding>) {
    let translation = Translator::new(options).translate(snapshot, &world(), &Default::default());
    let capabilities = Capabilities::profile(version);
    let Translation { model, tables, .. } = &translation;
    let (plan, gated) = nginx::gate(model, tables, &capabilities, &OtherSites::default(), gate);
    (plan, translation, gated)
}

fn produce_under(options: Options, gate: &GateOptions, snapshot: &Snapshot, version: Version) -> Product {
    let (plan, translation, gated) = plan_under(options, gate, snapshot, version);
    let files = Renderer::default().render(&plan).together();
    let findings = snapshot.findings.iter().chain(&translation.findings).chain(&gated).cloned().collect();
    Product { translation, findings, files }
}

/// The lines that only one of two texts has, each behind the file it is in.
fn difference(from: &str, to: &str) -> String {
    let difference = similar::TextDiff::from_lines(from, to);
    let mut text = String::new();
    for change in difference.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Equal) {
        write!(text, "{}{}", change.tag(), change.value()).unwrap();
    }
    text
}

/// What is made of a case for each version, from the oldest to the newest.
fn products(case: &str) -> Vec<(Version, Product)> {
    let snapshot = snapshot(&documents(case));
    let mut versions: Vec<_> = OTHERS.into_iter().chain([SHOWN]).collect();
    versions.sort();
    versions.into_iter().map(|version| (version, produce(&snapshot, version))).collect()
}

/// How the files for each version differ from those for the one before.
fn differences(products: &[(Version, Product)]) -> Vec<Differences> {
    products.windows(2).map(|pair| shown::differences(&pair[0].1.files, &pair[1].1.files)).collect()
}

/// The text of a snapshot; without what a plain host has too.
fn golden(products: &[(Version, Product)], plain: Option<&[(Version, Product)]>) -> String {
    let of_shown =
        |products: &[(Version, Product)]| products.iter().position(|(version, _)| *version == SHOWN).unwrap();
    let product = &products[of_shown(products)].1;
    let mut text = String::from("## findings\n");
    for finding in &product.findings {
        writeln!(text, "{}: {finding}", finding.severity.name()).unwrap();
    }
    text.push_str("## accepted\n");
    for (id, served) in product.translation.accepted() {
        writeln!(text, "{id}: {} routes for {}", served.routes, served.hosts.join(", ")).unwrap();
    }
    text.push_str("## refused\n");
    for refused in &product.translation.refused {
        writeln!(text, "{}", refused.id).unwrap();
    }
    let mut blocks = plain.map(|plain| Blocks::of(&plain[of_shown(plain)].1.files)).unwrap_or_default();
    write!(text, "## files\n{}", blocks.show(&product.files)).unwrap();
    let plain = plain.map(differences).unwrap_or_default();
    for (at, (pair, files)) in products.windows(2).zip(differences(products)).enumerate() {
        let [(older, before), (newer, after)] = pair else { unreachable!() };
        let mut beside = String::new();
        for (sign, ones, others) in [('-', before, after), ('+', after, before)] {
            for finding in ones.findings.iter().filter(|finding| !others.findings.contains(finding)) {
                writeln!(beside, "{sign}{}: {finding}", finding.severity.name()).unwrap();
            }
        }
        beside += &shown::show_differences(&files, plain.get(at));
        if !beside.is_empty() {
            write!(text, "## nginx {newer} beside {older}\n{beside}").unwrap();
        }
    }
    text
}

#[test]
fn cases_give_what_their_snapshots_say() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        let plain = products(PLAIN);
        for case in cases() {
            let others = (case != PLAIN).then_some(&*plain);
            insta::assert_snapshot!(case.clone(), golden(&products(&case), others));
        }
    });
}

#[test]
fn real_nginx_accepts_every_case() {
    let judges = judge::judges();
    assert!(!judges.is_empty(), "no nginx was found: run `make test`, which installs it");
    for case in cases() {
        let snapshot = snapshot(&documents(&case));
        for judge in &judges {
            let files = produce(&snapshot, judge.version).files;
            judge.accepts(&files).unwrap_or_else(|words| panic!("{case}, nginx {:?}: {words}", judge.version));
        }
    }
}

#[test]
fn real_nginx_accepts_the_proxy_protocol() {
    let trusted = vec!["192.0.2.0/24".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
    let snapshot = snapshot(&documents("tls"));
    let listeners = HostListeners { proxy_protocol: true, ..HostListeners::usual() };
    let options = Options { listeners, trusted_proxies: trusted, ..inputs::options(DEFAULT_CERTIFICATE, &snapshot) };
    for judge in judge::judges() {
        let files = produce_under(options.clone(), &GateOptions::usual(), &snapshot, judge.version).files;
        let shown = whole(&files);
        let is_old = judge.version < Version(1, 25, 1);
        let listen = if is_old { "ssl http2 proxy_protocol" } else { "ssl proxy_protocol" };
        for words in [listen, "real_ip_header proxy_protocol;"] {
            assert!(shown.contains(words), "{:?}: {words}", judge.version);
        }
        judge.accepts(&files).unwrap_or_else(|words| panic!("nginx {:?}: {words}", judge.version));
    }
}

#[test]
fn every_directive_that_is_written_has_a_row_that_fits() {
    let mut used = BTreeSet::new();
    for case in cases() {
        let snapshot = snapshot(&documents(&case));
        for version in OTHERS.into_iter().chain([SHOWN]) {
            for (path, file) in &produce(&snapshot, version).files.files {
                let Some(context) = catalogue::context(path) else { continue };
                let directives = syntax::parse(&file.content.bytes()).unwrap();
                let place = format!("{case}, {path}");
                let complaints = catalogue::complaints(&place, &directives, context, version, &mut used);
                assert!(complaints.is_empty(), "{}", complaints.join("\n"));
            }
        }
    }
    assert!(used.len() > 80, "{used:?}");
}

#[test]
fn order_of_objects_does_not_matter() {
    for case in cases() {
        let mut documents = documents(&case);
        let expected = whole(&produce(&snapshot(&documents), SHOWN).files);
        // The documents are reversed, and rotated by each third: no pair of documents keeps its
        // order in all of them.
        documents.reverse();
        for _ in 0..3 {
            let third = documents.len() / 3;
            documents.rotate_left(third);
            let shuffled = whole(&produce(&snapshot(&documents), SHOWN).files);
            assert_eq!(difference(&expected, &shuffled), "", "{case}");
        }
    }
}
