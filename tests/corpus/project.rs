//! A project of the corpus: its manifests and the expected results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// Fewest projects that are as their documentation or their charts have them.
const FEWEST: usize = 40;

/// A project.
pub struct Project {
    /// The name of its files.
    pub name: String,
    /// Its manifests.
    pub text: String,
    /// The objects in them.
    pub objects: Vec<Value>,
    /// The expected results.
    pub expected: Expected,
}

/// The expected results of manifests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Where its manifests were read, `OWNER/REPOSITORY PATH` or an address.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Why there is no source, so that the manifests are invented.
    pub invented: Option<String>,
    /// Every finding of `ingressd check`: `OBJECT: FIELD: REASON`, the field of an annotation
    /// being its key without prefix.
    #[serde(default)]
    pub findings: Vec<String>,
    /// Hosts whose requests get to no backend, as some request shows.
    #[serde(default)]
    pub unreached: Vec<String>,
    /// Lines of what nginx reads about a host of the project.
    #[serde(default)]
    pub configuration: Vec<String>,
    /// Requests and their answers. Each backend of each host has one, and each host with TLS one
    /// by https.
    pub requests: Vec<Row>,
}

/// A request and its answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The URL.
    pub ask: String,
    /// How it is asked.
    #[serde(default)]
    pub kind: Kind,
    /// Headers that are sent.
    #[serde(default)]
    pub send: BTreeMap<String, String>,
    /// A name and a password, with a colon between.
    pub user: Option<String>,
    /// The length of the body that is sent.
    #[serde(default)]
    pub body: usize,
    /// The address that it comes from.
    pub from: Option<String>,
    /// Whether the client shows a certificate.
    #[serde(default)]
    pub shows: bool,
    /// The status; 200 when not said.
    pub status: Option<u16>,
    /// The Service whose pod answers; none when not said.
    pub by: Option<String>,
    /// Path and query that the backend sees; those of the URL when not said.
    pub path: Option<String>,
    /// Headers that the backend sees, or does not.
    #[serde(default)]
    pub seen: BTreeMap<String, Option<String>>,
    /// The name that the backend is asked for in the handshake.
    pub sni: Option<String>,
    /// Headers of the answer that are these, or are not there.
    #[serde(default)]
    pub answer: BTreeMap<String, Option<String>>,
    /// Headers of the answer that hold these words.
    #[serde(default)]
    pub has: BTreeMap<String, String>,
    /// The cookie by which a client stays with an endpoint; empty when it does without one.
    pub sticks: Option<String>,
}

/// How something is asked.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    #[default]
    Get,
    Post,
    Put,
    Options,
    /// A call of the health service.
    Grpc,
    /// A WebSocket that echoes messages.
    Websocket,
    /// TLS that ends at the backend.
    Passed,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name)
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<_> = files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Whether it is a file of a public repository, or an address.
fn is_place(source: &str) -> bool {
    let is_file = |(repository, path): (&str, &str)| repository.split('/').count() == 2 && !path.contains(' ');
    source.split_once(' ').map_or(source.starts_with("https://"), is_file)
}

/// All projects, by name.
pub fn all() -> Vec<Project> {
    let (manifests, requests) = (folder("manifests"), folder("requests"));
    let names = names(&manifests);
    assert_eq!(names, self::names(&requests), "manifests and requests are of the same projects");
    let read = |name: String| {
        let text = std::fs::read_to_string(manifests.join(&name).with_extension("yaml")).unwrap();
        assert!(text.starts_with("# "), "{name}: a comment says what the project is and what it needs");
        let objects = serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = std::fs::read_to_string(requests.join(&name).with_extension("yaml")).unwrap();
        let expected: Expected = serde_saphyr::from_str(&expected).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(expected.sources.iter().all(|source| is_place(source)), "{name}: {:?}", expected.sources);
        assert!(expected.sources.is_empty() == expected.invented.is_some(), "{name}: it was read, or it says why not");
        Project { name, text, objects, expected }
    };
    let projects: Vec<_> = names.into_iter().map(read).collect();
    let read = projects.iter().filter(|project| !project.expected.sources.is_empty()).count();
    assert!(read >= FEWEST, "{read} projects were read");
    projects
}

impl Project {
    /// Its objects of a kind.
    pub fn of_kind<'p>(&'p self, kind: &'p str) -> impl Iterator<Item = &'p Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }

    /// The hosts of all entries under `spec.tls` that name a certificate.
    pub fn tls_hosts(&self) -> Vec<&str> {
        let entries = self.of_kind("Ingress").flat_map(|ingress| list(&ingress["spec"]["tls"]));
        let entries = entries.filter(|entry| entry["secretName"].is_string());
        entries.flat_map(|entry| list(&entry["hosts"])).filter_map(Value::as_str).collect()
    }
}

/// The members of a list, none where there is no list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// An annotation of ingress-nginx.
pub fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object["metadata"]["annotations"][format!("nginx.ingress.kubernetes.io/{key}")].as_str()
}

/// Whether a host of a rule or an entry takes requests for this one.
pub fn takes(rule: &str, host: &str) -> bool {
    match rule.strip_prefix('*') {
        Some(rest) => host.strip_suffix(rest).is_some_and(|label| !label.is_empty() && !label.contains('.')),
        None => rule.is_empty() || rule == host,
    }
}
