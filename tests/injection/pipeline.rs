//! The pipeline from text to parsed configuration, as in the daemon.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ingressd_model::catalogue::Version;
use ingressd_model::finding::Finding;
use ingressd_nginx::render::{File, FilePath, FileSet, Renderer};
use ingressd_nginx::syntax::{self, Directive};
use ingressd_nginx::{self as nginx, Capabilities, GateOptions, OtherSites};
use ingressd_objects::Snapshot;
use ingressd_translate::{NameAnswer, Names, Options, Translation, Translator, Wanted, World};
use serde_json::Value;

use crate::blocks;
use crate::inputs;
use ingressd_config::Usual as _;

/// The oldest, the usual and the newest nginx.
pub const VERSIONS: [Version; 3] = [Version(1, 18, 0), Version(1, 22, 1), Version(1, 31, 4)];

/// The result for manifests.
pub struct Outcome {
    /// The findings, from reading to the gate.
    pub findings: Vec<Finding>,
    /// The files.
    pub files: FileSet,
    /// The directives of files that nginx reads as configuration.
    trees: BTreeMap<FilePath, Vec<Shape>>,
}

/// Documents of one manifest file, each with its top-level keys in YAML's own notation.
pub fn yaml(objects: &[Value]) -> String {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        for (key, value) in object.as_object().unwrap() {
            text.push_str(&format!("{key}: {value}\n"));
        }
    }
    text
}

/// The settings: both dialects, a default certificate, own ports.
pub fn options(snapshot: &Snapshot) -> Options {
    Options { own_ports: vec![80, 443], ..inputs::options(("host", "default-tls"), snapshot) }
}

/// Walks the pipeline once for each version.
pub fn produce(snapshot: &Snapshot, versions: &[Version]) -> Vec<Outcome> {
    let options = options(snapshot);
    let world = world(snapshot, &options);
    let translation = Translator::new(options).translate(snapshot, &world, &Default::default());
    let one = |version: &Version| {
        let capabilities = Capabilities::profile(*version);
        let gate = |shared_servers| {
            let options = GateOptions { shared_servers, ..GateOptions::usual() };
            nginx::gate(&translation.model, &translation.tables, &capabilities, &OtherSites::default(), &options)
        };
        // Each host has a server of its own, so that they can be told apart.
        let (plan, gated) = gate(false);
        let findings = translation.findings.iter().chain(&gated).cloned().collect();
        let files = Renderer::default().render(&plan).together();
        let read = |(path, file): (&FilePath, &Arc<File>)| {
            let text = String::from_utf8(file.content.bytes()).unwrap();
            is_configuration(path).then(|| (Arc::clone(path), shape(&parse(&text))))
        };
        let trees = files.files.iter().filter_map(read).collect();
        blocks::check(&files, &Renderer::default().render(&gate(true).0).together());
        Outcome { findings, files, trees }
    };
    versions.iter().map(one).collect()
}

/// A time, and DNS with an answer for every name.
fn world(snapshot: &Snapshot, options: &Options) -> World {
    let answer = NameAnswer { addresses: vec![IpAddr::from([192, 0, 2, 80])], ..NameAnswer::default() };
    let wanted = Wanted::of(snapshot, options).referred.into_keys();
    let names = Names(wanted.map(|name| (name, answer.clone())).collect());
    let own_addresses = vec![SocketAddr::from(([192, 0, 2, 1], 80))];
    World { now: inputs::NOW, names: Arc::new(names), own_addresses, ..World::default() }
}

/// The pipeline with what it remembers from one change to the next, as the daemon has it.
pub struct Remembering {
    options: Options,
    translator: Translator,
    gate: nginx::Gate,
    renderer: Renderer,
}

impl Remembering {
    /// A pipeline that remembers nothing yet.
    pub fn under(options: &Options) -> Self {
        Remembering {
            options: options.clone(),
            translator: Translator::new(options.clone()),
            gate: nginx::Gate::default(),
            renderer: Renderer::default(),
        }
    }

    /// The result for a snapshot.
    pub fn files(&mut self, snapshot: &Snapshot) -> FileSet {
        let world = world(snapshot, &self.options);
        let translation = self.translator.translate(snapshot, &world, &Default::default());
        let capabilities = Capabilities::profile(VERSIONS[1]);
        let options = GateOptions::usual();
        let Translation { model, tables, .. } = &translation;
        let gated = self.gate.pass(model, tables, &capabilities, &OtherSites::default(), &options);
        self.renderer.render(&gated.plan).together()
    }
}

/// Objects in one file, for nginx 1.22.
pub fn of(objects: &[Value]) -> Outcome {
    produce(&inputs::snapshot(&yaml(objects)), &VERSIONS[1..2]).remove(0)
}

fn is_configuration(path: &str) -> bool {
    path.starts_with("http/") || path.starts_with("stream/")
}

/// A directive's name, the number of its arguments and what is in its block.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape(pub String, pub usize, pub Option<Vec<Shape>>);

fn shape(directives: &[Directive]) -> Vec<Shape> {
    let one = |directive: &Directive| {
        let mut block = directive.block.as_deref().map(shape);
        // The first word of each line of these blocks is a value, too.
        if matches!(directive.name.as_str(), "map" | "geo") {
            block.iter_mut().flatten().for_each(|entry| entry.0 = "entry".to_owned());
        }
        Shape(directive.name.clone(), directive.arguments.len(), block)
    };
    directives.iter().map(one).collect()
}

impl Outcome {
    /// The text of a file that is not secret.
    pub fn text(&self, path: &str) -> Option<String> {
        let file = self.files.files.get(path)?;
        (!file.content.secret).then(|| file.content.text())
    }

    /// The file of a host.
    pub fn server(&self, host: &str) -> Option<String> {
        self.text(&format!("http/server-exact-{host}.conf"))
    }

    /// Whether a host passes requests to some endpoint.
    pub fn passes(&self, host: &str) -> bool {
        let text = self.server(host).unwrap_or_default();
        let groups = text.lines().filter_map(|line| Some(line.split_once("_pass ")?.1.trim_end_matches(';')));
        let opening = |to: &str| format!("upstream {} {{", to.rsplit('/').next().unwrap());
        let has_endpoint = |opening: String| {
            let files = self.files.files.values().map(|file| file.content.text());
            let group = files.filter_map(|text| Some(text.split_once(&opening)?.1.to_owned())).next().unwrap();
            group
                .lines()
                .any(|line| line.starts_with("    server ") && line != "    server unix:/nobody down max_fails=0;")
        };
        groups.map(opening).any(has_endpoint)
    }

    /// Whether the locations of a host answer 503, because their upstreams have no endpoints.
    pub fn is_without_endpoints(&self, host: &str) -> bool {
        let text = self.server(host).unwrap_or_default();
        let mut names =
            text.lines().filter_map(|line| Some(line.split_once("/[e]mpty/")?.1.trim_end_matches("\";"))).peekable();
        let answers =
            |name: &str| self.text(&format!("empty/{name}")).is_some_and(|text| text.starts_with("return 503"));
        names.peek().is_some() && names.all(answers)
    }

    /// The trees of all files of TCP and UDP services, by their paths.
    pub fn streams(&self) -> impl Iterator<Item = (&str, &[Shape])> {
        let trees = self.trees.iter().filter(|(path, _)| path.starts_with("stream/"));
        trees.map(|(path, tree)| (&**path, tree.as_slice()))
    }

    /// The trees of a host's file and of all configuration that it requires but others share;
    /// `None` without the host.
    pub fn tree(&self, host: &str) -> Option<Vec<Vec<Shape>>> {
        let paths = self.belongings(host)?;
        Some(paths.iter().filter_map(|path| self.trees.get(&**path)).cloned().collect())
    }

    /// The bytes of the same files.
    pub fn bytes(&self, host: &str) -> Option<BTreeMap<String, Vec<u8>>> {
        let paths = self.belongings(host)?;
        Some(paths.into_iter().map(|path| (path.clone(), self.files.files[&*path].content.bytes())).collect())
    }

    fn belongings(&self, host: &str) -> Option<Vec<String>> {
        let own = format!("http/server-exact-{host}.conf");
        let required = self.files.files.get(&*own)?.requires.iter().map(ToString::to_string);
        let shared = ["http/00-ingressd.conf", "http/server-catch-all.conf"];
        Some(required.filter(|path| !shared.contains(&path.as_str())).chain([own.clone()]).collect())
    }

    /// What holds for all inputs.
    ///
    /// # Panics
    ///
    /// When it does not hold.
    pub fn check(&self) {
        for (path, file) in &self.files.files {
            let (folder, name) = path.split_once('/').unwrap();
            assert!(["http", "stream", "certs", "auth", "empty"].contains(&folder), "{path:?}");
            let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_+".contains(&byte);
            assert!(name.bytes().all(fits) && name.len() <= 255 && !name.starts_with('.'), "{path:?}");
            assert_eq!(file.content.secret, folder == "certs" || folder == "auth", "{path:?}");
            let text = String::from_utf8(file.content.bytes()).unwrap();
            let odd = |character: &char| {
                (character.is_control() && *character != '\n')
                    || (folder == "http" && matches!(character, '\u{2028}' | '\u{2029}'))
            };
            assert_eq!(text.chars().find(odd), None, "{path:?}");
            match folder {
                "http" | "stream" => assert!(!self.trees[path].is_empty(), "{path:?} is empty"),
                "empty" => {
                    let is_answer = ["return 503;\n", "return 598;\n"].contains(&&*text);
                    let asks = text.starts_with("if ($")
                        && text.contains("ingressd_empty_")
                        && text.ends_with(") {\n    return 503;\n}\n");
                    let are_hosts = text.lines().all(|line| line.ends_with(" 1;"));
                    assert!(is_answer || asks && text.lines().count() == 3 || are_hosts, "{path:?}: {text}");
                }
                "auth" => assert!(text.lines().all(|line| line.split(':').count() == 2), "{path:?}"),
                _ => assert!(text.starts_with("-----BEGIN CERTIFICATE-----\n"), "{path:?}"),
            }
        }
        for finding in &self.findings {
            let shown = finding.to_string();
            assert!(!shown.contains(|character: char| character.is_control() || character == '\u{2028}'), "{shown:?}");
            assert!(finding.note.len() < 2000, "a note of {} bytes: {shown:.200}", finding.note.len());
        }
    }
}

/// What nginx reads.
pub fn parse(text: &str) -> Vec<Directive> {
    syntax::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text:.2000}"))
}
