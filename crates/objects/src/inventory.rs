//! The state of a cluster for a migration: a snapshot, the workloads with their command lines, and
//! published statuses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::collection::collect;
use super::directory::{ChangedFiles, Directory, NeverRead};
use super::file::{self, ReadFile};
use super::identity::NAMESPACE;
use super::manifest::{Purpose, Terms};
use super::{Kinds, Secret, Snapshot, Stored, Version, document, yaml};
use ingressd_model::{ObjectId, SecretBytes};

/// What stands for a file in the places of objects of a live cluster.
pub const CLUSTER: &str = "cluster";

/// A Deployment or DaemonSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Its kind.
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// The containers of its pods.
    pub containers: Vec<Container>,
}

/// A container of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub image: String,
    /// The command line in the workload, with variables replaced whose values are in the workload
    /// too.
    pub words: Vec<String>,
}

/// Everything that was read.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// The objects of our kinds.
    pub snapshot: Snapshot,
    /// Deployments and DaemonSets, sorted.
    pub workloads: Vec<Workload>,
    /// The addresses and host names in the status of each Ingress, by namespace and name.
    pub published: BTreeMap<(String, String), Vec<String>>,
    /// Whether the data of Secrets is unknown.
    pub is_without_secrets: bool,
}

impl Inventory {
    /// Reads files and folders: manifests, or the output of kubectl.
    ///
    /// # Errors
    ///
    /// When one cannot be read.
    pub fn of_files(roots: Vec<PathBuf>) -> Result<Self, NeverRead> {
        let mut directory = Directory::to_judge(roots);
        let snapshot = directory.refresh(&ChangedFiles::All, &BTreeSet::new(), &mut |_| {})?;
        let texts = directory.texts();
        let values = texts.iter().flat_map(|text| document::split(text)).filter_map(|part| yaml::read(part.text).ok());
        let values = values.flat_map(|content| match content {
            yaml::Content::Single(value) => vec![value],
            yaml::Content::List(items) => items.into_iter().map(|(_, value)| value).collect(),
        });
        Ok(Inventory::new(Snapshot::clone(&snapshot), &values.collect::<Vec<_>>()))
    }

    /// Takes objects of a live cluster, decoded in the same way as for serving.
    pub fn of_objects(values: &[Value]) -> Self {
        let text = values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
        let kinds = &Kinds::default();
        let terms = Terms { purpose: Purpose::Serve, namespace: NAMESPACE, kinds };
        let read = file::read(CLUSTER, text.as_bytes(), terms, &ReadFile::default());
        Inventory::new(collect(read.iter(), std::iter::empty(), Vec::new(), kinds), values)
    }

    fn new(snapshot: Snapshot, values: &[Value]) -> Self {
        let mut workloads: Vec<_> = values.iter().filter_map(workload).collect();
        workloads.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
        let published = values.iter().filter_map(published).collect();
        Inventory { snapshot, workloads, published, is_without_secrets: false }
    }

    /// Removes the Ingresses of other namespaces.
    pub fn keep_namespaces(&mut self, keep: impl Fn(&str) -> bool) {
        self.snapshot.ingresses.edit().retain(|stored| keep(&stored.id.namespace));
    }

    /// Gives this data to Secrets of which only the name is known. If no Secret was read at all,
    /// it adds those that are needed.
    pub fn stand_in_for_secrets(
        &mut self,
        needed: BTreeSet<ObjectId>,
        data: impl Fn(&ObjectId) -> BTreeMap<String, Vec<u8>>,
    ) {
        let secrets = &self.snapshot.secrets;
        let wanted = match secrets.is_empty() {
            true => needed,
            false => secrets
                .iter()
                .filter(|stored| is_unknown(&stored.object))
                .map(|stored| ObjectId::clone(&stored.id))
                .collect(),
        };
        if wanted.is_empty() {
            return;
        }
        self.is_without_secrets = true;
        let secrets = self.snapshot.secrets.edit();
        secrets.retain(|stored| !wanted.contains(&stored.id));
        secrets.extend(wanted.into_iter().map(|id| stand_in(data(&id), id)));
        secrets.sort_by(|one, other| one.id.cmp(&other.id));
    }
}

fn is_unknown(secret: &Secret) -> bool {
    secret.data.is_empty()
}

fn stand_in(data: BTreeMap<String, Vec<u8>>, id: ObjectId) -> Stored<Secret> {
    let data = data.into_iter().map(|(key, value)| (key.into(), SecretBytes(value.into()))).collect();
    let object = Arc::new(Secret { data, ..Secret::default() });
    Stored { id: Arc::new(id), version: Version("".into()), object, published: None, place: None }
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn namespace(value: &Value) -> String {
    let namespace = text(value, "/metadata/namespace");
    if namespace.is_empty() { NAMESPACE.to_owned() } else { namespace }
}

fn workload(value: &Value) -> Option<Workload> {
    let kind = text(value, "/kind");
    if !["Deployment", "DaemonSet"].contains(&&*kind) || !text(value, "/apiVersion").starts_with("apps/") {
        return None;
    }
    let namespace = namespace(value);
    let containers = list(value, "/spec/template/spec/containers").map(|value| container(value, &namespace)).collect();
    Some(Workload { kind, name: text(value, "/metadata/name"), containers, namespace })
}

fn container(value: &Value, namespace: &str) -> Container {
    let variables: BTreeMap<String, String> = list(value, "/env")
        .filter_map(|variable| {
            let of_field = match &*text(variable, "/valueFrom/fieldRef/fieldPath") {
                "metadata.namespace" => Some(namespace.to_owned()),
                _ => None,
            };
            let written = variable.get("value").and_then(Value::as_str).map(str::to_owned);
            Some((text(variable, "/name"), written.or(of_field)?))
        })
        .collect();
    let words = list(value, "/command").chain(list(value, "/args")).filter_map(Value::as_str);
    Container { image: text(value, "/image"), words: words.map(|word| expanded(word, &variables)).collect() }
}

/// Replaces `$(NAME)` by the value of the variable, where that is known, and `$$` by one `$`.
fn expanded(word: &str, variables: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, behind)) = rest.split_once('$') {
        text.push_str(before);
        let known = behind.strip_prefix('(').and_then(|behind| behind.split_once(')'));
        rest = match known.and_then(|(name, behind)| Some((variables.get(name)?, behind))) {
            Some((value, behind)) => {
                text.push_str(value);
                behind
            }
            None => {
                text.push('$');
                behind.strip_prefix('$').unwrap_or(behind)
            }
        };
    }
    text + rest
}

fn published(value: &Value) -> Option<((String, String), Vec<String>)> {
    if text(value, "/kind") != "Ingress" {
        return None;
    }
    let addresses = list(value, "/status/loadBalancer/ingress").map(|entry| {
        let (ip, name) = (text(entry, "/ip"), text(entry, "/hostname"));
        if ip.is_empty() { name } else { ip }
    });
    let addresses: Vec<_> = addresses.filter(|address| !address.is_empty()).collect();
    (!addresses.is_empty()).then(|| ((namespace(value), text(value, "/metadata/name")), addresses))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ingressd_model::Kind;

    #[test]
    fn variables_are_those_that_the_container_says() {
        let variables = BTreeMap::from([("POD_NAMESPACE".to_owned(), "edge".to_owned())]);
        for (word, expected) in [
            ("--configmap=$(POD_NAMESPACE)/all", "--configmap=edge/all"),
            ("$(POD_NAME)/$(POD_NAMESPACE)", "$(POD_NAME)/edge"),
            ("$$(POD_NAMESPACE)", "$(POD_NAMESPACE)"),
            ("a$", "a$"),
            ("$(POD_NAMESPACE", "$(POD_NAMESPACE"),
            ("plain", "plain"),
        ] {
            assert_eq!(expanded(word, &variables), expected, "{word}");
        }
    }

    fn ingress(name: &str, secret: &str) -> Value {
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": name},
            "spec": {"rules": [{"host": "a.example"}], "tls": [{"hosts": ["a.example"], "secretName": secret}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example"}, {}]}}
        })
    }

    #[test]
    fn what_is_published_and_what_runs_is_beside_the_snapshot() {
        let run = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "controller", "namespace": "edge"},
            "spec": {"template": {"spec": {"containers": [{
                "image": "controller:v1", "command": ["/bin/run"], "args": ["--in=$(NS)", "--x=$(Y)"],
                "env": [{"name": "NS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}, {"name": "Y", "value": "z"}]
            }]}}}
        });
        let other = json!({"apiVersion": "example.com/v1", "kind": "Deployment", "metadata": {"name": "none"}});
        let objects = [ingress("a", "pair"), run, other];
        let check = |inventory: Inventory| {
            assert_eq!(inventory.snapshot.ingresses.len(), 1);
            assert_eq!(inventory.published[&("a".to_owned(), "a".to_owned())], ["192.0.2.1", "lb.example"]);
            let [workload] = &inventory.workloads[..] else { panic!("{inventory:?}") };
            assert_eq!((&*workload.kind, &*workload.namespace), ("DaemonSet", "edge"));
            assert_eq!(workload.containers[0].words, ["/bin/run", "--in=edge", "--x=z"]);
        };
        check(Inventory::of_objects(&objects));
        let folder = tempfile::tempdir().unwrap();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        std::fs::write(folder.path().join("dump.yaml"), list.to_string()).unwrap();
        check(Inventory::of_files(vec![folder.path().to_owned()]).unwrap());
        assert!(Inventory::of_files(vec![folder.path().join("none")]).is_err());
    }

    #[test]
    fn secrets_of_which_only_names_are_known_get_something_to_hold() {
        let filled = |objects: &[Value]| {
            let mut inventory = Inventory::of_objects(objects);
            let needed = [("a", "pair"), ("c", "more")];
            let needed = needed.map(|(namespace, name)| ObjectId::new(Kind::SECRET, namespace, name));
            inventory.stand_in_for_secrets(needed.into(), |id| {
                BTreeMap::from([("name".to_owned(), id.name.as_bytes().to_vec())])
            });
            let held = inventory.snapshot.secrets.iter().map(|stored| {
                let data = stored.object.data.iter();
                let data = data.map(|(key, value)| format!("{key}={}", String::from_utf8_lossy(&value.0)));
                format!("{}/{} {}", stored.id.namespace, stored.id.name, data.collect::<String>())
            });
            (held.collect::<Vec<_>>(), inventory.is_without_secrets)
        };
        let secret = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "b"}, "data": data});
        let of_none = filled(&[ingress("a", "pair")]);
        assert_eq!(of_none, (vec!["a/pair name=pair".to_owned(), "c/more name=more".to_owned()], true));
        // Where Secrets were read, one that is not among them is missing.
        let known = filled(&[ingress("a", "pair"), secret("full", json!({"x": "eQ=="}))]);
        assert_eq!(known, (vec!["b/full x=y".to_owned()], false));
        let named = filled(&[secret("full", json!({"x": "eQ=="})), secret("bare", Value::Null)]);
        assert_eq!(named, (vec!["b/bare name=bare".to_owned(), "b/full x=y".to_owned()], true));
    }
}
