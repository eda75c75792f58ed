//! Which object a document describes, from its values or, when it is broken, from its text.

use serde_json::Value;

use super::kind::Kinds;
use ingressd_model::finding::nearest;
use ingressd_model::{Kind, ObjectId, is_label, is_subdomain};

/// The namespace of manifests that name none.
pub const NAMESPACE: &str = "default";

/// Puts an object of ours that names no namespace into this one, as `kubectl -n` does.
pub fn complete(value: &mut Value, namespace: &str, kinds: &Kinds) {
    let is_namespaced = kinds.iter().any(|row| row.is_namespaced && value["kind"] == row.kind.name());
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut).filter(|_| is_namespaced) else {
        return;
    };
    if namespace != NAMESPACE && metadata.get("namespace").is_none_or(|named| named == "") {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
}

/// The identity of an object; `None` for other kinds.
///
/// # Errors
///
/// The identity as far as it is known, and what is wrong.
pub fn of(value: &Value, kinds: &Kinds) -> Result<Option<ObjectId>, (Option<ObjectId>, String)> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let (Some(api_version), Some(kind)) = (text("/apiVersion"), text("/kind")) else {
        return Err((None, "it has no apiVersion and kind, so it is not an object".to_owned()));
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let Some(row) = kinds.iter().find(|row| {
        // Ingresses were once in another API group.
        row.kind.name() == kind && (row.read.group == group || (row.kind == Kind::INGRESS && group == "extensions"))
    }) else {
        return nearest_kind((group, kind, api_version), kinds).map_or(Ok(None), |why| Err((None, why)));
    };
    let id = named(row.kind, row.is_namespaced, text("/metadata/namespace"), text("/metadata/name"))
        .map_err(|why| (None, why))?;
    if version != row.version || group == "extensions" {
        return Err((Some(id), format!("apiVersion {api_version} is not served any more: write {}", row.api_version)));
    }
    Ok(Some(id))
}

/// Why an object that is none of ours was meant to be one. An API server would refuse it.
fn nearest_kind((group, kind, api_version): (&str, &str, &str), kinds: &Kinds) -> Option<String> {
    // Kinds of other groups may have any name.
    let is_of_kubernetes = !group.contains('.') || group.ends_with(".k8s.io");
    if let Some(row) = kinds.iter().find(|row| row.kind.name() == kind) {
        let is_meant = is_of_kubernetes || nearest(group, [row.read.group]).is_some();
        return is_meant.then(|| format!("there is no {kind} in {api_version}: write apiVersion {}", row.api_version));
    }
    let alike = nearest(kind, kinds.iter().filter(|row| row.read.group == group).map(|row| row.kind.name()))?;
    Some(format!("there is no kind {kind:?} in {api_version}; did you mean {alike}?"))
}

/// The identity of an object from its parts.
///
/// # Errors
///
/// Why an API server would not accept the name.
pub fn named(kind: Kind, namespaced: bool, namespace: Option<&str>, name: Option<&str>) -> Result<ObjectId, String> {
    let name = name.filter(|name| !name.is_empty()).ok_or("metadata.name is missing")?;
    if !is_subdomain(name) || (matches!(kind, Kind::SERVICE | Kind::NAMESPACE) && !is_label(name)) {
        return Err(format!("metadata.name {name:?} is not a DNS name of lower-case letters, digits and hyphens"));
    }
    let namespace = match namespaced {
        true => namespace.filter(|namespace| !namespace.is_empty()).unwrap_or(NAMESPACE),
        false => "",
    };
    if namespaced && !is_label(namespace) {
        return Err(format!("metadata.namespace {namespace:?} is not a DNS label"));
    }
    Ok(ObjectId::new(kind, namespace, name))
}

/// The identity of an object whose text is broken somewhere, when kind and name stand on lines of
/// their own.
pub fn guess(text: &str, kinds: &Kinds) -> Option<ObjectId> {
    let (mut kind, mut namespace, mut name, mut metadata) = (None, None, None, None);
    for line in text.lines() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        let Some((key, value)) = content.split_once(':') else { continue };
        let value = value.split(" #").next().unwrap_or("").trim().trim_matches(['"', '\'']);
        match (indent, key) {
            (0, "kind") => kind = kind.or(Some(value)),
            (0, "metadata") => metadata = Some(None),
            (0, _) => metadata = None,
            (_, _) => {
                // The first line below `metadata` has the indentation of its keys.
                let Some(depth) = metadata.as_mut() else { continue };
                match (*depth.get_or_insert(indent) == indent, key) {
                    (true, "name") => name = name.or(Some(value)),
                    (true, "namespace") => namespace = namespace.or(Some(value)),
                    _ => {}
                }
            }
        }
    }
    let row = kinds.iter().find(|row| Some(row.kind.name()) == kind)?;
    named(row.kind, row.is_namespaced, namespace, name).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_what_is_wrong_with_them() {
        let object = |api_version: &str, kind: &str, metadata: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
        let ingress = "networking.k8s.io/v1";
        let rows = [
            // Each row: a document, and its object or what is wrong.
            (object(ingress, "Ingress", json!({"name": "a", "namespace": "shop"})), Ok(Some("Ingress shop/a"))),
            (object(ingress, "Ingress", json!({"name": "a"})), Ok(Some("Ingress default/a"))),
            (object(ingress, "Ingress", json!({"name": "a", "namespace": ""})), Ok(Some("Ingress default/a"))),
            (object(ingress, "IngressClass", json!({"name": "a.b", "namespace": "x"})), Ok(Some("IngressClass a.b"))),
            (object("v1", "Node", json!({"name": "n1"})), Ok(Some("Node n1"))),
            (object("v1", "Namespace", json!({"name": "shop"})), Ok(Some("Namespace shop"))),
            (object("v1", "Namespace", json!({"name": "a.b"})), Err((None, "metadata.name"))),
            (object("discovery.k8s.io/v1", "EndpointSlice", json!({"name": "a"})), Ok(Some("EndpointSlice default/a"))),
            // Other kinds, and kinds of other groups with the same name.
            (object("v1", "Pod", json!({"name": "a"})), Ok(None)),
            (object("example.com/v1", "Ingress", json!({"name": "a"})), Ok(None)),
            (object("other.k8s.io/v1", "Pod", json!({"name": "a"})), Ok(None)),
            (object("networking.k8s.io/v1", "NetworkPolicy", json!({"name": "a"})), Ok(None)),
            (object("v1", "ServiceAccount", json!({"name": "a"})), Ok(None)),
            (object("v1", "Endpoints", json!({"name": "a"})), Ok(None)),
            // What is meant to be one of ours.
            (
                object(ingress, "Secret", json!({"name": "a"})),
                Err((None, "in networking.k8s.io/v1: write apiVersion v1")),
            ),
            (object("v1", "Ingress", json!({"name": "a"})), Err((None, "write apiVersion networking.k8s.io/v1"))),
            (object("network.k8s.io/v1", "Ingress", json!({"name": "a"})), Err((None, "write apiVersion networking"))),
            (object("networking.k8s/v1", "Ingress", json!({"name": "a"})), Err((None, "write apiVersion networking"))),
            (
                object(ingress, "Ingres", json!({"name": "a"})),
                Err((None, "\"Ingres\" in networking.k8s.io/v1; did you mean Ingress?")),
            ),
            (object(ingress, "ingress", json!({"name": "a"})), Err((None, "did you mean Ingress?"))),
            (object("v1", "Sevice", json!({"name": "a"})), Err((None, "did you mean Service?"))),
            (json!({"kind": "Ingress"}), Err((None, "apiVersion"))),
            (json!({"apiVersion": ingress}), Err((None, "kind"))),
            (json!("text"), Err((None, "apiVersion"))),
            (object(ingress, "Ingress", json!({})), Err((None, "metadata.name is missing"))),
            (object(ingress, "Ingress", json!({"name": ""})), Err((None, "metadata.name is missing"))),
            (object(ingress, "Ingress", json!({"name": 7})), Err((None, "metadata.name is missing"))),
            (object(ingress, "Ingress", json!({"name": "A"})), Err((None, "metadata.name"))),
            (object(ingress, "Ingress", json!({"name": "../a"})), Err((None, "metadata.name"))),
            (object("v1", "Service", json!({"name": "a.b"})), Err((None, "metadata.name"))),
            (object(ingress, "Ingress", json!({"name": "a", "namespace": "a.b"})), Err((None, "metadata.namespace"))),
            (
                object("networking.k8s.io/v1beta1", "Ingress", json!({"name": "a"})),
                Err((Some("Ingress default/a"), "write networking.k8s.io/v1")),
            ),
            (
                object("extensions/v1beta1", "Ingress", json!({"name": "a"})),
                Err((Some("Ingress default/a"), "write networking.k8s.io/v1")),
            ),
        ];
        for (document, expected) in rows {
            let shown = |id: &ObjectId| id.to_string();
            match (of(&document, &Kinds::default()), expected) {
                (Ok(id), Ok(expected)) => assert_eq!(id.as_ref().map(shown).as_deref(), expected, "{document}"),
                (Err((id, why)), Err((expected, words))) => {
                    assert_eq!(id.as_ref().map(shown).as_deref(), expected, "{document}");
                    assert!(why.contains(words), "{document}: {why}");
                }
                (got, _) => panic!("{document}: {got:?}"),
            }
        }
    }

    #[test]
    fn the_name_of_broken_text_is_guessed_from_lines_of_their_own() {
        let rows = [
            ("kind: Ingress\nmetadata:\n  name: a\n  namespace: shop\nspec: [\n", Some("Ingress shop/a")),
            ("kind: \"Ingress\"\nmetadata:\n    name: 'a' # mine\n", Some("Ingress default/a")),
            // Names with a deeper indentation, and in other members, belong to something else.
            ("kind: Ingress\nmetadata:\n  labels:\n    name: b\n  name: a\n", Some("Ingress default/a")),
            ("kind: Ingress\nspec:\n  name: b\nmetadata:\n  name: a\n", Some("Ingress default/a")),
            ("kind: Ingress\nmetadata:\n  name: a\n  name: b\n", Some("Ingress default/a")),
            ("kind: Ingress\nspec:\n  name: b\n", None),
            ("kind: Pod\nmetadata:\n  name: a\n", None),
            ("metadata:\n  name: a\n", None),
            ("kind: Ingress\nmetadata:\n  name: '../a'\n", None),
            ("kind: Ingress\nmetadata: {name: a}\n", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(guess(text, &Kinds::default()).map(|id| id.to_string()).as_deref(), expected, "{text:?}");
        }
    }
}
