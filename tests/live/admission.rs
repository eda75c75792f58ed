//! Policies of `ingressd admission` at a real API server, which refuses what `ingressd check
//! --admission` says.

mod corpus;

use self::corpus::{ADDRESSES, NUMBERS, TEXTS};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use http::Request;
use ingressd_model::ByteSize;
use ingressd_translate::admission::{Abilities, form_expression};
use ingressd_translate::annotation::{Form, Gives, Row};
use ingressd_translate::{ANNOTATIONS, Limits, PREFIX};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::client::Body;
use serde_json::{Value, json};

use rig::cluster::objects::Objects;
use rig::cluster::{self, Cluster};
use rig::wait;

/// The refusal of the API server because of a policy.
const REFUSAL: &str = "ValidatingAdmissionPolicy";

/// How many requests are on their way at once.
const AT_ONCE: usize = 16;

/// The settings: some values without a ceiling, and which hosts may be asked for.
const SETTINGS: &str = "\
limits.body-size = '0'
limits.timeout = '0s'
[[hosts.allowed]]
namespaces = ['NAMESPACE']
hosts = ['exact.example', '*.good.example']
[[hosts.allowed]]
selector = 'team in (a,b),!old,level>2'
hosts = ['*.team.example']
[[hosts.allowed]]
selector = 'team=z'
hosts = ['*']
";

/// Labels of the test's namespace.
fn labels() -> Value {
    json!({"team": "a", "level": "10"})
}

struct Rig {
    class: String,
    settings: PathBuf,
    name: String,
}

impl Rig {
    fn ingressd(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_ingressd"))
            .args(arguments)
            .args(["--config", self.settings.to_str().unwrap(), "--class", &self.class, "--name", &self.name])
            .env_remove("INGRESSD_CONFIG")
            .output()
            .unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    /// Writes the policies.
    async fn apply(&self, objects: &Objects, arguments: &[&str]) -> Vec<(String, String)> {
        let (code, text) = self.ingressd(&[&["admission"], arguments].concat());
        assert_eq!(code, Some(0));
        let documents = text.split("---\n").skip(1).map(|text| -> Value { serde_saphyr::from_str(text).unwrap() });
        let documents: Vec<Value> = documents.collect();
        assert!(documents.len() >= 2, "{text}");
        for document in &documents {
            objects.apply(document.clone()).await;
        }
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        documents.iter().map(|document| (text(&document["kind"]), text(&document["metadata"]["name"]))).collect()
    }

    fn candidate(&self, annotations: Value, spec: Value) -> Value {
        let mut spec = spec;
        spec["ingressClassName"] = json!(self.class);
        let metadata = json!({"namespace": "default", "annotations": annotations});
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec})
    }
}

fn rules(host: &str, path: &str) -> Value {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    json!({"rules": [{"host": host, "http": {"paths": [{"path": path, "pathType": "ImplementationSpecific", "backend": backend}]}}]})
}

/// Asks the API server to create it without doing so; what it says when a policy refuses it.
async fn refusal(api: &Api<DynamicObject>, object: &Value) -> Option<String> {
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    match cluster::objects::patiently(async || api.create(&parameters, &object).await).await {
        Ok(_) => None,
        Err(kube::Error::Api(status)) if status.message.contains(REFUSAL) => Some(status.message.clone()),
        // The server has rules of its own, which are not ours to try.
        Err(kube::Error::Api(status)) => Some(format!("by itself: {}", status.message)),
        Err(error) => panic!("{error:?}"),
    }
}

/// The JSON of an object, in ASCII, so that readers of YAML see the same letters.
fn ascii(object: &Value) -> String {
    let escape = |letter: char| match letter {
        letter if letter.is_ascii() && letter != '\u{7f}' => letter.to_string(),
        letter => letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    };
    serde_json::to_string(object).unwrap().chars().map(escape).collect()
}

/// The names of the objects that a pipeline would refuse.
fn refused_offline(
    rig: &Rig,
    folder: &Path,
    objects: &[Value],
    namespace: &Value,
    arguments: &[&str],
) -> BTreeSet<String> {
    let file = folder.join("candidates.yaml");
    let documents: Vec<_> = std::iter::once(namespace).chain(objects).map(ascii).collect();
    std::fs::write(&file, documents.join("\n---\n")).unwrap();
    let arguments = [
        &["check", "--admission", "--nginx-version", "1.22.1", "--format", "json"],
        arguments,
        &[file.to_str().unwrap()],
    ];
    let (code, text) = rig.ingressd(&arguments.concat());
    assert_eq!(code, Some(1));
    let findings: Vec<Value> = serde_json::from_str(&text).unwrap();
    let refused =
        findings.iter().filter(|finding| finding["reason"] == "NotAdmitted" && finding["severity"] == "error");
    refused.map(|finding| finding["name"].as_str().unwrap().to_owned()).collect()
}

/// Every try of every row, in every spelling, and whether the row says that it is refused and
/// judged.
fn tries() -> Vec<(&'static Row, &'static str, &'static str, Option<bool>)> {
    let mut all = Vec::new();
    for row in ANNOTATIONS.rows() {
        for (value, gives) in row.all_tries() {
            for key in std::iter::once(row.key).chain(row.aliases.iter().copied()) {
                let is_left_out = row.is_served() && row.form.left_out().is_some();
                let expected = match gives {
                    Gives::Refused(_) | Gives::LeftOut(_) if is_left_out => None,
                    Gives::Refused(_) | Gives::LeftOut(_) => Some(true),
                    _ => Some(false),
                };
                all.push((row, key, value, expected));
            }
        }
    }
    all
}

/// One row for each form that there is.
fn forms() -> Vec<&'static Row> {
    let abilities = Abilities { networks: true };
    let limits = Limits { body_size: ByteSize(0), timeout: Duration::ZERO, ..Limits::default() };
    let mut forms = BTreeMap::new();
    for row in ANNOTATIONS.rows().filter(|row| row.is_served() && !matches!(row.form, Form::NotJudged(_))) {
        forms.entry(form_expression(&row.form(&limits), "v", abilities)).or_insert(row);
    }
    assert!(forms.len() > 20, "{}", forms.len());
    forms.into_values().collect()
}

/// The values that a form is tried with.
fn corpus(form: &Form) -> impl Iterator<Item = &'static str> {
    let lists = match form {
        Form::Boolean | Form::Integer { .. } | Form::Size { .. } => vec![NUMBERS],
        Form::Word(_) | Form::AnyCase(_) | Form::Words(_) => vec![TEXTS],
        Form::Partly(inner, _) => return Vec::from_iter(corpus(inner)).into_iter(),
        _ => vec![NUMBERS, ADDRESSES, TEXTS],
    };
    Vec::from_iter(lists.concat()).into_iter()
}

/// Hosts, whether they may be asked for, and paths, whether they may.
const HOSTS: &[(&str, bool)] = &[
    ("exact.example", true),
    ("a.exact.example", false),
    ("good.example", false),
    ("a.good.example", true),
    ("a.b.good.example", true),
    ("*.good.example", true),
    ("*.b.good.example", true),
    ("agood.example", false),
    ("a.team.example", true),
    ("team.example", false),
    ("*.example", false),
    ("", false),
];
const PATHS: &[(&str, bool)] = &[
    ("/", true),
    ("/a;b", true),
    ("/a\u{1}", false),
    ("/\u{2028}", false),
    ("/é", true),
    ("/a\nb", false),
    ("/a'\\", true),
];

#[test]
fn the_cluster_refuses_what_a_pipeline_refuses() {
    cluster::run(async |cluster| {
        let objects = &cluster.objects;
        let rig = rig(cluster, "ingressd", SETTINGS);
        let chosen = ["--action", "unserved=deny", "--action", "unknown=deny"];
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": objects.namespace(), "labels": labels()}});
        objects.apply(namespace.clone()).await;
        let policies = rig.apply(objects, &chosen).await;
        assert_eq!(policies.len(), 2 * 5, "{policies:?}");

        let fine = || rules("a.good.example", "/");
        let with = |key: &str, value: &str| rig.candidate(json!({format!("{PREFIX}{key}"): value}), fine());
        let tries = tries();
        let mut candidates: Vec<(Value, Option<bool>)> = Vec::new();
        let beside = |row: &Row, key: &str, value: &str| {
            let all = row.beside.iter().copied().chain([(key, value)]);
            let all: serde_json::Map<String, Value> =
                all.map(|(key, value)| (format!("{PREFIX}{key}"), json!(value))).collect();
            rig.candidate(Value::Object(all), fine())
        };
        candidates.extend(tries.iter().map(|(row, key, value, expected)| (beside(row, key, value), *expected)));
        candidates
            .extend(companions().map(|(annotations, refused)| (rig.candidate(annotations, fine()), Some(refused))));
        for row in forms() {
            candidates.extend(corpus(&row.form).map(|value| (with(row.key, value), None)));
        }
        candidates.extend(HOSTS.iter().map(|(host, fits)| (rig.candidate(json!({}), rules(host, "/")), Some(!fits))));
        candidates.extend(
            PATHS.iter().map(|(path, fits)| (rig.candidate(json!({}), rules("exact.example", path)), Some(!fits))),
        );
        candidates.extend(
            [("proxy-bodysize", true), ("proxy-body-size", false)]
                .map(|(key, refused)| (with(key, "1m"), Some(refused))),
        );
        candidates.push((rig.candidate(json!({"ingressd/endpoints": "pod"}), fine()), Some(true)));
        candidates
            .extend(spellings().map(|(annotations, refused)| (rig.candidate(annotations, fine()), Some(refused))));
        candidates.extend(large().map(|(annotations, spec)| (rig.candidate(annotations, spec), Some(false))));
        let backend = json!({"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}});
        candidates.push((rig.candidate(json!({}), backend), Some(true)));
        // The policies do not concern objects of other classes.
        let mut foreign = with("proxy-read-timeout", "soon");
        foreign["spec"]["ingressClassName"] = json!("somebody-elses");
        candidates.push((foreign, Some(false)));
        for (number, (candidate, _)) in candidates.iter_mut().enumerate() {
            candidate["metadata"]["name"] = json!(format!("c{number}"));
            candidate["metadata"]["namespace"] = json!(objects.namespace());
        }

        let all: Vec<Value> = candidates.iter().map(|(candidate, _)| candidate.clone()).collect();
        let offline = refused_offline(&rig, cluster.folder(), &all, &namespace, &chosen);
        let api = objects.api("Ingress");
        in_effect(&api, &rig, objects.namespace()).await;

        let judged = stream::iter(&candidates)
            .map(async |(candidate, expected)| (candidate, *expected, refusal(&api, candidate).await));
        let judged: Vec<_> = judged.buffer_unordered(AT_ONCE).collect().await;
        let mut wrong = Vec::new();
        for (candidate, expected, refusal) in &judged {
            let is_refused = match refusal {
                Some(message) if message.starts_with("by itself") => {
                    assert!(expected.is_none(), "{candidate}: {message}");
                    continue;
                }
                refusal => refusal.is_some(),
            };
            let is_refused_offline = offline.contains(candidate["metadata"]["name"].as_str().unwrap());
            if is_refused != is_refused_offline || expected.is_some_and(|expected| expected != is_refused) {
                let (annotations, rules) = (&candidate["metadata"]["annotations"], &candidate["spec"]["rules"]);
                let what: String = format!("{annotations} {rules}").chars().take(300).collect();
                wrong.push(format!("{what}: here {is_refused_offline}, there {refusal:?}, expected {expected:?}"));
            }
        }
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), judged.len(), wrong.join("\n"));
        assert!(judged.iter().filter(|(.., refusal)| refusal.is_some()).count() > 1000);
        remove(objects, &policies).await;
    });
}

/// A key and its other spelling: what the first says counts, unless it says nothing.
fn spellings() -> impl Iterator<Item = (Value, bool)> {
    let both = |key: &str, other: &str| json!({format!("{PREFIX}allowlist-source-range"): key, format!("{PREFIX}whitelist-source-range"): other});
    [(both("10.0.0.0/8", "bad"), false), (both("", "bad"), true), (both("bad", "10.0.0.1"), true)].into_iter()
}

/// Keys that count with others alone.
fn companions() -> impl Iterator<Item = (Value, bool)> {
    let both = |one: (&str, &str), other: (&str, &str)| json!({format!("{PREFIX}{}", one.0): one.1, format!("{PREFIX}{}", other.0): other.1});
    let methods = ("cors-allow-methods", "GET");
    let exempt = ("limit-whitelist", "10.0.0.0/8");
    [
        (both(methods, methods), true),
        (both(methods, ("enable-cors", "false")), true),
        (both(methods, ("enable-cors", " ")), true),
        (both(methods, ("enable-cors", "True")), false),
        (both(exempt, ("limit-rpm", "0")), true),
        (both(exempt, ("limit-connections", "1")), false),
        (both(("session-cookie-secure", "F"), methods), true),
        (both(("session-cookie-secure", "F"), ("session-cookie-secure", "F")), false),
        (both(("fastcgi-index", "a.php"), ("backend-protocol", "fcgi")), false),
        (both(("fastcgi-index", "a.php"), ("backend-protocol", "HTTP")), true),
    ]
    .into_iter()
}

/// Objects that ask for as much as one object may: an API server has to be able to judge them.
fn large() -> impl Iterator<Item = (Value, Value)> {
    let networks =
        |count: u32| (0..count).map(|number| format!("2001:db8:{number:x}::/48")).collect::<Vec<_>>().join(", ");
    let lists = json!({format!("{PREFIX}allowlist-source-range"): networks(2500), format!("{PREFIX}denylist-source-range"): networks(2400)});
    let names: Vec<_> = (0..4000).map(|number| format!("X-Header-{number}")).collect();
    let headers =
        json!({format!("{PREFIX}cors-allow-headers"): names.join(","), format!("{PREFIX}enable-cors"): "true"});
    let foreign: serde_json::Map<String, Value> =
        (0..4000).map(|number| (format!("other.example/key-{number}"), json!("value"))).collect();
    let mut paths = rules("a.good.example", "/");
    let path = paths["rules"][0]["http"]["paths"][0].clone();
    let named = |number: u32| {
        let mut path = path.clone();
        path["path"] = json!(format!("/section/{number}"));
        path
    };
    paths["rules"][0]["http"]["paths"] = (0..2000).map(named).collect();
    let fine = || rules("a.good.example", "/");
    let mut hosts = fine();
    hosts["rules"] = (0..2000).map(|number| json!({"host": format!("h{number}.good.example")})).collect();
    [(lists, fine()), (headers, fine()), (Value::Object(foreign), fine()), (json!({}), paths), (json!({}), hosts)]
        .into_iter()
}

fn rig(cluster: &Cluster, class: &str, settings: &str) -> Rig {
    let file = cluster.folder().join(format!("admission-{class}.toml"));
    std::fs::write(&file, settings.replace("NAMESPACE", cluster.objects.namespace())).unwrap();
    Rig {
        class: cluster.objects.class(class),
        settings: file,
        name: format!("{class}-{}", cluster.objects.namespace()),
    }
}

/// Waits until each of the policies that refuse something does.
async fn in_effect(api: &Api<DynamicObject>, rig: &Rig, namespace: &str) {
    let with =
        |key: &str, value: &str| rig.candidate(json!({format!("{PREFIX}{key}"): value}), rules("a.good.example", "/"));
    let probes = [
        ("values", with("proxy-read-timeout", "soon")),
        ("unknown", with("proxy-bodysize", "1m")),
        ("unserved", with("enable-opentracing", "true")),
        ("paths", rig.candidate(json!({}), rules("a.good.example", "/\u{1}"))),
        ("hosts", rig.candidate(json!({}), rules("bad.example", "/"))),
    ];
    for (policy, mut probe) in probes {
        probe["metadata"]["name"] = json!("probe");
        probe["metadata"]["namespace"] = json!(namespace);
        let name = format!("'{}-{policy}'", rig.name);
        let reported = async || refusal(api, &probe).await.unwrap_or_default();
        wait::until_right(&name, reported, |reported| reported.contains(&name)).await;
    }
}

/// Every request of every test would be looked at.
async fn remove(objects: &Objects, policies: &[(String, String)]) {
    for (kind, name) in policies {
        objects.delete(kind, name).await;
    }
}

#[test]
fn what_was_there_before_can_be_kept_and_deleted() {
    cluster::run(async |cluster| {
        let objects = &cluster.objects;
        let rig = rig(cluster, "nginx", "access.max-trust = 'medium'");
        let key = |key: &str| format!("{PREFIX}{key}");
        let mut old = rig.candidate(json!({key("proxy-read-timeout"): "soon"}), rules("old.example", "/"));
        old["metadata"]["name"] = json!("old");
        old["metadata"]["finalizers"] = json!(["test.example/wait"]);
        objects.apply(old).await;
        let policies = rig.apply(objects, &[]).await;
        let api = objects.api("Ingress");
        let change = async |change: Value| {
            let (parameters, change) = (PatchParams::default(), Patch::Merge(change));
            cluster::objects::patiently(async || api.patch("old", &parameters, &change).await).await.map(drop)
        };
        let other = json!({"metadata": {"annotations": {key("proxy-send-timeout"): "1"}}});
        let refused = async || {
            let (parameters, change) = (PatchParams { dry_run: true, ..PatchParams::default() }, Patch::Merge(&other));
            match cluster::objects::patiently(async || api.patch("old", &parameters, &change).await).await {
                Ok(_) => String::new(),
                Err(kube::Error::Api(status)) => status.message.clone(),
                Err(error) => panic!("{error:?}"),
            }
        };
        let says = format!("{} takes a whole number from 1", key("proxy-read-timeout"));
        wait::until_right("the policy", refused, |message| message.contains(&says)).await;

        // The refusal names annotations that need more trust than the namespace has.
        let mut trusting = rig.candidate(json!({key("upstream-hash-by"): "$uri"}), rules("a.example", "/"));
        (trusting["metadata"]["name"], trusting["metadata"]["namespace"]) =
            (json!("trusting"), json!(objects.namespace()));
        let reported = async || refusal(&api, &trusting).await.unwrap_or_default();
        let names = format!("{}: it needs the trust high", key("upstream-hash-by"));
        wait::until_right("the name of the key", reported, |reported| reported.contains(&names)).await;

        // An unknown annotation causes a warning, and is accepted.
        let mut misspelt =
            rig.candidate(json!({key("proxy-bodysize"): "1m", key("proxy-bufering"): "on"}), rules("b.example", "/"));
        (misspelt["metadata"]["name"], misspelt["metadata"]["namespace"]) =
            (json!("misspelt"), json!(objects.namespace()));
        let names = format!("{}, {}: there is no such annotation", key("proxy-bodysize"), key("proxy-bufering"));
        let warned = async || warnings(objects, &misspelt).await;
        wait::until_right("the warning", warned, |reported| reported.contains(&names)).await;

        // A change that leaves the options alone is accepted, and so is one that mends them.
        change(json!({"metadata": {"labels": {"seen": "yes"}}})).await.unwrap();
        objects.delete("Ingress", "old").await;
        change(json!({"metadata": {"finalizers": null}})).await.unwrap();
        objects.gone("Ingress", "old").await;
        remove(objects, &policies).await;
    });
}

/// The warnings of the API server about a dry run that creates an object.
async fn warnings(objects: &Objects, object: &Value) -> String {
    let path = format!("/apis/networking.k8s.io/v1/namespaces/{}/ingresses?dryRun=All", objects.namespace());
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(Body::from(serde_json::to_vec(object).unwrap())).unwrap();
    let answer = objects.client().send(request).await.unwrap();
    assert_eq!(answer.status(), 201);
    let warnings = answer.headers().get_all("warning").iter().map(|warning| warning.to_str().unwrap());
    warnings.collect::<Vec<_>>().join("\n")
}
