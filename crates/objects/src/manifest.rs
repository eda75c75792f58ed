//! Decodes the text of one document into typed objects, with the checks of an API server.

use std::sync::Arc;

use serde_json::Value;

use super::document::Document;
use super::fields::{self, Fields, join};
use super::kind::{Kept, KindRow, Kinds};
use super::validation::Problem;
use super::{Version, identity, yaml};
use ingressd_model::finding::{Reason, nearest};
use ingressd_model::{Digest, Field, Kind, ObjectId};

/// Most objects are shorter as JSON, in bytes.
const USUAL_LENGTH: usize = 2048;

/// The content of one document.
#[derive(Debug, Default)]
pub struct Decoded {
    /// Objects, and entries that could not become one, in order.
    pub entries: Vec<Entry>,
    /// The number of objects of other kinds.
    pub skipped: usize,
}

/// One object, or an entry that was meant to be one.
#[derive(Debug)]
pub struct Entry {
    /// Its line, counted from the first line of the document.
    pub line: u32,
    /// Its identity, as far as it is known.
    pub id: Option<Arc<ObjectId>>,
    /// The object, if it can be used.
    pub object: Option<(Version, Object)>,
    /// What is wrong.
    pub problems: Box<[Problem]>,
}

/// The purpose of reading manifests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To serve them: an object that an API server would refuse is not used.
    #[default]
    Serve,
    /// To check them: such an object is used all the same, so that all of its faults are found at
    /// once, and unknown fields are reported.
    Judge,
}

/// How manifests are read.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    pub purpose: Purpose,
    /// The namespace of manifests that name none.
    pub namespace: &'a str,
    /// The kinds that are read.
    pub kinds: &'a Kinds,
}

/// An object of the type that the row of its kind keeps.
pub type Object = Arc<dyn Kept>;

/// Decodes one document, whatever it contains.
pub fn decode(document: &Document<'_>, terms: Terms<'_>) -> Decoded {
    let mut decoded = Decoded::default();
    match yaml::read(document.text) {
        Ok(yaml::Content::Single(value)) => decoded.add(0, value, terms),
        Ok(yaml::Content::List(items)) => {
            items.into_iter().for_each(|(line, value)| decoded.add(line, value, terms));
        }
        Err(broken) => decoded.refuse(broken.line, identity::guess(document.text, terms.kinds), broken.note),
    }
    decoded
}

impl Decoded {
    fn refuse(&mut self, line: u32, id: Option<ObjectId>, note: String) {
        let problems = [Problem { reason: Reason::Undecodable, field: Field::Object, note }].into();
        self.entries.push(Entry { line, id: id.map(Arc::new), object: None, problems });
    }

    fn add(&mut self, line: u32, mut value: Value, terms: Terms<'_>) {
        if value.is_null() {
            return;
        }
        let Terms { purpose, namespace, kinds } = terms;
        identity::complete(&mut value, namespace, kinds);
        match identity::of(&value, kinds) {
            Ok(Some(id)) => {
                trim(&mut value);
                let mut problems = Vec::new();
                let object = object(id.kind, value, terms, &mut problems);
                let object = object.filter(|_| purpose == Purpose::Judge || problems.is_empty());
                self.entries.push(Entry { line, id: Some(Arc::new(id)), object, problems: problems.into() });
            }
            Ok(None) => self.skipped += 1,
            Err((id, note)) => self.refuse(line, id, note),
        }
    }
}

/// Removes what tools write for themselves, which can be larger than the object.
fn trim(value: &mut Value) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.remove("managedFields");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

/// The object, as far as it can be decoded, and its problems.
fn object(kind: Kind, value: Value, terms: Terms<'_>, problems: &mut Vec<Problem>) -> Option<(Version, Object)> {
    problems.extend(unquoted(&value));
    if !problems.is_empty() {
        return None;
    }
    let version = version(&value);
    let object = terms.kinds.of(kind)?.decode(value, terms.purpose, problems)?;
    Some((version, object))
}

/// The digest of the content. serde_json sorts the keys of maps, so equal content gives equal
/// text.
fn version(value: &Value) -> Version {
    let mut text = Vec::with_capacity(USUAL_LENGTH);
    serde_json::to_writer(&mut text, value).unwrap_or_else(|error| unreachable!("values can be written: {error}"));
    Version(Digest::of(&text).hexadecimal(16).into())
}

/// The object of this type, with the checks of an API server.
pub fn typed<K: KindRow>(value: Value, purpose: Purpose, problems: &mut Vec<Problem>) -> Option<K> {
    let written = (purpose == Purpose::Judge).then(|| value.clone());
    let mut unknown = Vec::new();
    let mut object: K = match serde_json::from_value(value) {
        Ok(object) => object,
        Err(error) => {
            problems.push(Problem::undecodable(error.to_string()));
            return None;
        }
    };
    if let (Some(written), Ok(understood)) = (written, serde_json::to_value(&object)) {
        find_unknown("", &written, &understood, &mut unknown);
        let known = if unknown.is_empty() { Fields::new() } else { fields::known::<K>(&written) };
        problems.extend(unknown.into_iter().map(|(path, key)| unknown_field(&path, &key, &known)));
    }
    object.complete();
    object.validate(problems);
    object.drop_unread();
    Some(object)
}

/// Finds fields in the written value that the decoded object does not have, each with the path of
/// its parent.
fn find_unknown(path: &str, written: &Value, understood: &Value, unknown: &mut Vec<(String, String)>) {
    match (written, understood) {
        (Value::Object(written), Value::Object(understood)) => {
            for (key, value) in written.iter().filter(|(_, value)| !value.is_null()) {
                match understood.get(key) {
                    Some(known) => find_unknown(&join(path, key), value, known, unknown),
                    None => unknown.push((path.to_owned(), key.clone())),
                }
            }
        }
        (Value::Array(written), Value::Array(understood)) => {
            for (index, (written, understood)) in written.iter().zip(understood).enumerate() {
                find_unknown(&format!("{path}[{index}]"), written, understood, unknown);
            }
        }
        _ => {}
    }
}

/// The problem of an unknown field. An API server drops it, or refuses the object when it is asked
/// to.
fn unknown_field(path: &str, key: &str, known: &Fields) -> Problem {
    let meant = known.get(path).and_then(|known| nearest(key, known.iter().copied()));
    let remedy = match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => "`kubectl explain` shows the known fields".to_owned(),
    };
    let note = format!("there is no such field here, so it has no effect; {remedy}");
    Problem { reason: Reason::UnknownField, field: Field::Other(join(path, key).into()), note }
}

/// Finds annotations that are not strings, by far the most common mistake of form.
fn unquoted(value: &Value) -> Vec<Problem> {
    let annotations = value.pointer("/metadata/annotations").and_then(Value::as_object);
    let wrong = annotations.into_iter().flatten().filter(|(_, value)| !value.is_string());
    wrong
        .map(|(key, _)| Problem {
            reason: Reason::Undecodable,
            field: Field::Annotation(key.clone().into()),
            note: "values of annotations are strings: put it in quotes".to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, any, proptest};

    use super::super::document::split;
    use std::sync::LazyLock;

    use super::super::identity::NAMESPACE;
    use super::*;

    static KINDS: LazyLock<Kinds> = LazyLock::new(Kinds::default);

    fn terms() -> Terms<'static> {
        Terms { purpose: Purpose::Serve, namespace: NAMESPACE, kinds: &KINDS }
    }

    /// `kind namespace/name` for each object, with `!` in front for those with problems, and `?`
    /// for a missing name.
    fn summary(text: &str) -> Vec<String> {
        let entries = split(text).iter().flat_map(|document| decode(document, terms()).entries).collect::<Vec<_>>();
        let name = |entry: &Entry| entry.id.as_ref().map_or("?".to_owned(), ToString::to_string);
        let mark = |entry: &Entry| if entry.problems.is_empty() { "" } else { "!" };
        entries.iter().map(|entry| format!("{}{} +{}", mark(entry), name(entry), entry.line)).collect()
    }

    #[test]
    fn decodes_each_kind_and_keeps_going() {
        let class = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: c}\n";
        for (text, expected) in [
            (class.to_owned(), vec!["IngressClass c +0"]),
            (format!("a: [\n---\n{class}"), vec!["!? +0", "IngressClass c +0"]),
            ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}".to_owned(), vec![]),
            ("apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: d}".to_owned(), vec![]),
            ("a: 1".to_owned(), vec!["!? +0"]),
            ("apiVersion: v1\nkind: Secret\nmetadata: {}".to_owned(), vec!["!? +0"]),
            ("apiVersion: v1\nkind: Secret\nmetadata: {name: ../x}".to_owned(), vec!["!? +0"]),
            ("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: 4".to_owned(), vec!["!Secret default/s +0"]),
            (
                "apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {a: true}}".to_owned(),
                vec!["!Secret default/s +0"],
            ),
            (
                "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: i}".to_owned(),
                vec!["!Ingress default/i +0"],
            ),
            ("kind: Secret\nmetadata:\n  name: s\n  namespace: n\nx: [".to_owned(), vec!["!Secret n/s +4"]),
            (
                "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: n}\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s, namespace: x}\n".to_owned(),
                vec!["Node n +3", "Secret x/s +6"],
            ),
            (
                "{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [\n{\"kind\": \"ConfigMap\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"m\"}}]}".to_owned(),
                vec!["ConfigMap default/m +1"],
            ),
            ("apiVersion: v1\nkind: List\nitems: null\n".to_owned(), vec![]),
            (
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {items: List}\n".to_owned(),
                vec!["ConfigMap default/m +0"],
            ),
            (
                "{\"kind\": \"ConfigMap\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"items\"}, \"data\": {\"a\": \"List\"}}".to_owned(),
                vec!["ConfigMap default/items +0"],
            ),
        ] {
            assert_eq!(summary(&text), expected, "{text}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_content() {
        let version = |text: &str| {
            let decoded = decode(&split(text)[0], terms());
            decoded.entries[0].object.as_ref().map(|(version, _)| version.clone()).unwrap()
        };
        let one =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s, managedFields: [{manager: a}]}\nstringData: {a: b}";
        let same = "{\"kind\": \"Secret\", \"stringData\": {\"a\": \"b\"}, \"metadata\": {\"name\": \"s\"}, \"apiVersion\": \"v1\"}";
        assert_eq!(version(one), version(same));
        assert_ne!(version(one), version(&one.replace("a: b", "a: c")));
    }

    fn kept<K: Kept>(decoded: &Decoded) -> &K {
        decoded.entries[0].object.as_ref().and_then(|(_, object)| object.as_type()).unwrap()
    }

    #[test]
    fn secrets_get_their_plain_data() {
        let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: eA==, b: eA==}\nstringData: {b: y}";
        let decoded = decode(&split(text)[0], terms());
        let secret: &super::super::Secret = kept(&decoded);
        let data: Vec<_> = secret.data.iter().map(|(key, value)| (&**key, &*value.0)).collect();
        assert_eq!(data, [("a", &b"x"[..]), ("b", &b"y"[..])]);
    }

    #[test]
    fn namespaces_get_the_label_of_their_name() {
        let text =
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: n, labels: {team: a, kubernetes.io/metadata.name: x}}";
        let decoded = decode(&split(text)[0], terms());
        let namespace: &super::super::Namespace = kept(&decoded);
        let labels: Vec<_> = namespace.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(labels, [("kubernetes.io/metadata.name", "n"), ("team", "a")]);
    }

    #[test]
    fn aliases_cannot_explode() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}", level - 1);
            text += &format!("a{level}: &a{level} [{}]\n", vec![alias; 10].join(", "));
        }
        assert_eq!(decode(&split(&text)[0], terms()).entries.len(), 1);
        let deep = "[".repeat(100_000);
        assert_eq!(decode(&split(&deep)[0], terms()).entries.len(), 1);
        let deep = "{\"a\":".repeat(100_000);
        assert_eq!(decode(&split(&deep)[0], terms()).entries.len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn arbitrary_text_is_no_danger(bytes in proptest::collection::vec(any::<u8>(), 0..200), tail in "[-a-z:{}\\[\\]&*!|>'\"\n #%]{0,80}") {
            let text = String::from_utf8_lossy(&bytes).into_owned() + &tail;
            split(&text).iter().for_each(|document| drop(decode(document, terms())));
        }
    }
}
