//! Every key of ingress-nginx's ConfigMap that is served: a good value and the lines that come of
//! it, which real nginx accepts, and a bad value and its finding; and the setting or annotation
//! that takes its place, which does the same.

#[path = "keys/table.rs"]
mod table;

use std::collections::{BTreeMap, BTreeSet};

use ingressd_config::{self, Settings, Sources};
use ingressd_model::catalogue::Module;
use ingressd_model::finding::{Finding, Severity};
use ingressd_nginx::render::{FileSet, Renderer};
use ingressd_nginx::{self as nginx, Capabilities, OtherSites};
use ingressd_objects::Snapshot;
use ingressd_translate::{ANNOTATIONS, Translator};

use super::{SHOWN, inputs, judge, whole, world};
use table::KEYS;

/// A key with what is known of it.
struct Key {
    name: &'static str,
    value: &'static str,
    /// Further keys without which it has no effect.
    beside: &'static [(&'static str, &'static str)],
    /// Lines of which there are more with it (`+`), or fewer (`-`), or as many as before (`=`).
    shows: &'static [&'static str],
    /// A value that it does not take, and words of the finding.
    bad: (&'static str, &'static str),
    /// The value in the setting that takes its place, as TOML; empty where no setting does.
    setting: &'static str,
    /// A module without which nginx cannot serve it, and which is not part of nginx.
    module: Option<Module>,
}

const fn key(
    name: &'static str,
    value: &'static str,
    shows: &'static [&'static str],
    bad: &'static str,
    why: &'static str,
) -> Key {
    Key { name, value, beside: &[], shows, bad: (bad, why), setting: "", module: None }
}

impl Key {
    const fn beside(self, beside: &'static [(&'static str, &'static str)]) -> Self {
        Key { beside, ..self }
    }

    /// The setting that does the same, written as in the settings.
    const fn set(self, setting: &'static str) -> Self {
        Key { setting, ..self }
    }

    const fn needs(self, module: Module) -> Self {
        Key { module: Some(module), ..self }
    }

    fn with(&self, value: &'static str) -> Vec<(&'static str, &'static str)> {
        self.beside.iter().copied().chain([(self.name, value)]).collect()
    }
}

/// The settings of a node that has everything on which keys have an effect.
const SETTINGS: &str = r#"
classes = [{ controller = "k8s.io/ingress-nginx", dialect = "ingress-nginx" }]
default-backend = "default/api"
tls.default-certificate = "default/wildcard-tls"
tls.ocsp-responders = ["ocsp.example.com:8080=192.0.2.7:8080"]
listen.access-log = "/var/log/nginx/ingressd.log"
snippets.allowed = [{ namespaces = ["default"], kinds = ["configuration-snippet"] }]
geoip2.databases = ["/var/lib/GeoIP/GeoLite2-Country.mmdb"]
ingress-nginx.configmap = "default/controller"
ingress-nginx.tcp-services-configmap = "default/tcp"
ingress-nginx.udp-services-configmap = "default/udp"
"#;

/// What comes of a ConfigMap.
struct Outcome {
    files: FileSet,
    /// The findings about the ConfigMap itself.
    findings: Vec<Finding>,
    /// Whether its last good version takes its place.
    is_refused: bool,
}

impl Outcome {
    /// How often each line is there.
    fn lines(&self) -> BTreeMap<String, i32> {
        let mut lines = BTreeMap::new();
        for line in whole(&self.files).lines() {
            *lines.entry(line.trim().to_owned()).or_default() += 1;
        }
        lines
    }
}

/// The settings, with one more or another value of one.
fn settings(more: &str) -> Settings {
    let (key, _) = more.split_once('=').unwrap_or_default();
    let lines = SETTINGS.lines().filter(|line| key.is_empty() || !line.starts_with(key));
    let text = lines.chain([more]).collect::<Vec<_>>().join("\n");
    Sources::load_text(&text).unwrap_or_else(|error| panic!("{more}: {error}"))
}

/// The objects, with this ConfigMap, and with these annotations at every Ingress that has no
/// others of the name.
fn snapshot(data: &[(&str, &str)], annotations: &[(&str, &str)]) -> Snapshot {
    let mut objects = String::new();
    for line in include_str!("keys/objects.yaml").lines() {
        let missing = annotations.iter().filter(|(key, _)| !line.contains(&format!("/{key}:")));
        let more: String =
            missing.map(|(key, value)| format!("nginx.ingress.kubernetes.io/{key}: {value:?}, ")).collect();
        objects += &line.replace("annotations: {", &format!("annotations: {{{more}"));
        objects.push('\n');
    }
    let data: String = data.iter().map(|(key, value)| format!("  {key}: {value:?}\n")).collect();
    let map =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: controller, namespace: default}}\ndata:\n{data}");
    let mut all = vec![include_str!("prelude.yaml").to_owned(), objects, map];
    for (name, content) in [
        ("headers", "kind: ConfigMap\ndata: {X-Site: edge}"),
        ("exchange", "kind: Secret\ntype: Opaque\nstringData:\n  dhparam.pem: |\n"),
    ] {
        let pem = include_str!("../../crates/rig/src/keys/dhparam.pem")
            .lines()
            .map(|line| format!("    {line}\n"))
            .collect::<String>();
        let pem = if name == "exchange" { &pem } else { "" };
        all.push(format!("apiVersion: v1\nmetadata: {{name: {name}, namespace: default}}\n{content}{pem}"));
    }
    inputs::snapshot(&all.join("\n---\n"))
}

fn outcome(settings: &Settings, snapshot: &Snapshot, module: Option<Module>) -> Outcome {
    let layered = settings.layered(snapshot);
    let (options, gate) = (layered.settings.translate_options(), layered.settings.gate_options());
    let translation = Translator::new(options).translate(snapshot, &world(), &Default::default());
    let mut capabilities = Capabilities::profile(SHOWN);
    capabilities.modules.extend(module);
    let (plan, gated) =
        nginx::gate(&translation.model, &translation.tables, &capabilities, &OtherSites::default(), &gate);
    let all = layered.findings.into_iter().chain(translation.findings).chain(gated);
    let of_map = |finding: &Finding| &*finding.origin.object.name == "controller";
    let is_refused = layered.refused.is_some();
    let files = Renderer::default().render(&plan).together();
    Outcome { files, findings: all.filter(of_map).collect(), is_refused }
}

fn of_keys(data: &[(&str, &str)], module: Option<Module>) -> Outcome {
    outcome(&settings(""), &snapshot(data, &[]), module)
}

/// What of a list of lines does not hold of two outcomes.
fn amiss(shows: &[&str], before: &Outcome, after: &Outcome) -> Vec<String> {
    let (before, after) = (before.lines(), after.lines());
    let count = |lines: &BTreeMap<String, i32>, line: &str| lines.get(line).copied().unwrap_or(0);
    let holds = |shown: &&&str| {
        let (sign, line) = shown.split_at(1);
        let more = count(&after, line) - count(&before, line);
        match sign {
            "+" => more > 0,
            "-" => more < 0,
            _ => more == 0 && count(&after, line) > 0,
        }
    };
    let mut amiss: Vec<_> = shows.iter().filter(|shown| !holds(shown)).map(|shown| format!("not {shown}")).collect();
    if !amiss.is_empty() || shows.is_empty() {
        let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let changed = all.into_iter().map(|line| (count(&after, line) - count(&before, line), line));
        amiss.extend(changed.filter(|(more, _)| *more != 0).map(|(more, line)| format!("    {more:+} {line}")));
    }
    amiss
}

#[test]
fn every_served_key_has_a_row() {
    let served: BTreeSet<_> = ingressd_config::config_map_keys()
        .filter(|key| key.is_served && !key.becomes.starts_with("no effect"))
        .map(|key| key.name)
        .collect();
    let rows: Vec<_> = KEYS.iter().map(|key| key.name).collect();
    assert!(rows.is_sorted_by(|one, other| one < other), "sorted, each once");
    let rows: BTreeSet<_> = rows.into_iter().collect();
    assert_eq!(served.symmetric_difference(&rows).collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn a_good_value_reaches_nginx_and_a_bad_one_is_reported_to_its_author() {
    let mut wrong = Vec::new();
    let judge = judge::judges().into_iter().find(|judge| judge.version == SHOWN);
    for key in KEYS {
        let (before, after) = (of_keys(key.beside, key.module), of_keys(&key.with(key.value), key.module));
        let mut reported = amiss(key.shows, &before, &after);
        let of_key = |finding: &&Finding| finding.origin.field.to_string() == format!("data[{}]", key.name);
        reported.extend(
            after
                .findings
                .iter()
                .filter(of_key)
                .filter(|finding| finding.severity != Severity::Info)
                .map(Finding::to_string),
        );
        if key.module.is_none()
            && let Some(judge) = &judge
        {
            reported.extend(judge.accepts(&after.files).err());
        }
        let (value, why) = key.bad;
        let bad = of_keys(&key.with(value), key.module);
        if !bad.findings.iter().filter(of_key).any(|finding| finding.note.contains(why)) {
            reported.push(format!(
                "{value:?} is told as {:?}",
                bad.findings.iter().map(Finding::to_string).collect::<Vec<_>>()
            ));
        }
        if !bad.is_refused && whole(&bad.files) != whole(&before.files) {
            reported.push(format!("{value:?} has an effect"));
        }
        wrong.extend((!reported.is_empty()).then(|| format!("{}: {}", key.name, reported.join("\n  "))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a key is said to be, and the words before that.
fn becomes(name: &str, words: &str) -> Option<&'static str> {
    let facts = ingressd_config::config_map_keys().find(|facts| facts.name == name).unwrap();
    let target = facts.becomes.strip_prefix(words)?.trim_end_matches('`').to_owned();
    Some(target.leak())
}

#[test]
fn a_setting_that_takes_the_place_of_a_key_does_the_same() {
    let mut wrong = Vec::new();
    for key in KEYS {
        let setting = becomes(key.name, "overrides the setting `");
        assert_eq!(setting.is_some(), !key.setting.is_empty(), "{}", key.name);
        let Some(setting) = setting else { continue };
        let by_key = whole(&of_keys(&key.with(key.value), key.module).files);
        let settings = settings(&format!("{setting} = {}", key.setting));
        let by_setting = whole(&outcome(&settings, &snapshot(key.beside, &[]), key.module).files);
        let difference = super::difference(&by_key, &by_setting);
        wrong.extend((!difference.is_empty()).then(|| format!("{} and {setting}:\n{difference}", key.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_annotation_of_which_a_key_is_the_default_does_the_same() {
    let mut wrong = Vec::new();
    const WORDS: &str = "default of the annotation `";
    for key in KEYS {
        let Some(annotation) = becomes(key.name, WORDS) else { continue };
        let before = of_keys(key.beside, key.module);
        let (mut data, mut annotations) = (Vec::new(), Vec::new());
        for (name, value) in key.with(key.value) {
            match becomes(name, WORDS) {
                Some(annotation) => annotations.push((annotation, value)),
                None => data.push((name, value)),
            }
        }
        let after = outcome(&settings(""), &snapshot(&data, &annotations), key.module);
        let amiss = amiss(key.shows, &before, &after);
        wrong.extend((!amiss.is_empty()).then(|| format!("{} and {annotation}: {}", key.name, amiss.join("\n  "))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Annotations, their values, and these values in the setting that says what counts without them.
const OF_SETTINGS: &[(&str, &str, &str)] = &[
    ("allowlist-source-range", "10.0.0.0/8", "[\"10.0.0.0/8\"]"),
    ("denylist-source-range", "10.0.0.0/8", "[\"10.0.0.0/8\"]"),
    ("force-ssl-redirect", "true", "true"),
    ("ssl-redirect", "false", "false"),
];

#[test]
fn a_setting_that_counts_without_an_annotation_does_the_same() {
    let rows: BTreeSet<_> = ANNOTATIONS.rows().filter(|row| !row.setting.is_empty()).map(|row| row.key).collect();
    assert!(rows.iter().eq(OF_SETTINGS.iter().map(|(key, ..)| key)), "{rows:?}");
    for (annotation, value, written) in OF_SETTINGS {
        let setting = ANNOTATIONS.find(annotation).unwrap().setting;
        let by_annotation = outcome(&settings(""), &snapshot(&[], &[(annotation, value)]), None);
        let by_setting = outcome(&settings(&format!("{setting} = {written}")), &snapshot(&[], &[]), None);
        let of_hosts = |outcome: &Outcome| {
            let files = outcome.files.files.iter().filter(|(path, _)| path.contains("server-exact"));
            files.map(|(path, file)| format!("{path}\n{}", file.content.text())).collect::<String>()
        };
        let (one, other) = (of_hosts(&by_annotation), of_hosts(&by_setting));
        assert_eq!(super::difference(&one, &other), "", "{annotation} and {setting}");
        assert_ne!(one, of_hosts(&of_keys(&[], None)), "{annotation} has an effect");
    }
}

#[test]
fn a_snippet_of_streams_is_in_each_service_and_nginx_takes_it() {
    const LINES: &[&str] = &[
        "+allow \"10.0.0.0/8\";",
        "+deny all;",
        "+preread_buffer_size 8k;",
        "+preread_timeout 5s;",
        "+proxy_buffer_size 32k;",
        "+proxy_connect_timeout 60s;",
        "+proxy_download_rate 10m;",
        "+proxy_half_close on;",
        "+proxy_requests 3;",
        "+proxy_socket_keepalive on;",
        "+proxy_upload_rate 0;",
        "+tcp_nodelay off;",
    ];
    let text = LINES.iter().map(|line| line[1..].replace("60s", "1m")).collect::<String>();
    let settings = settings("snippets.allowed = [{ namespaces = [\"default\"], kinds = [\"stream-snippet\"] }]");
    let of = |data: &[(&str, &str)]| outcome(&settings, &snapshot(data, &[]), None);
    let (before, after) = (of(&[]), of(&[("stream-snippet", &text)]));
    assert_eq!(amiss(LINES, &before, &after), [""; 0]);
    let of_services = whole(&after.files).matches("tcp_nodelay off;").count();
    assert_eq!((of_services, after.findings.len()), (2, 0), "the TCP service and the UDP service");
    if let Some(judge) = judge::judges().into_iter().find(|judge| judge.version == SHOWN) {
        judge.accepts(&after.files).unwrap();
    }
}

#[test]
fn files_are_written_by_workers_themselves_where_the_key_says_no() {
    let (before, after) = (of_keys(&[], None), of_keys(&[("enable-aio-write", "false")], None));
    assert_eq!(amiss(&["+aio_write off;"], &before, &after), [""; 0]);
    assert!(!after.lines().contains_key("aio threads;"), "no threads are asked for");
    if let Some(judge) = judge::judges().into_iter().find(|judge| judge.version == SHOWN) {
        judge.accepts(&after.files).unwrap();
    }
}
