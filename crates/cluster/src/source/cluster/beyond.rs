//! What a role or binding of the cluster grants beyond what one node needs. Other nodes may need
//! that.

use serde_json::{Value, json};

/// The field of a kind that grants something: rules of roles, subjects of bindings.
pub fn field(kind: &str) -> Option<&'static str> {
    match kind {
        "Role" | "ClusterRole" => Some("rules"),
        "RoleBinding" | "ClusterRoleBinding" => Some("subjects"),
        _ => None,
    }
}

/// The entries of `existing` that are not among those `wanted`: of a rule, what is left of it.
pub fn beyond(kind: &str, existing: &Value, wanted: &Value) -> Vec<Value> {
    let Some(field) = field(kind) else { return Vec::new() };
    let entries = |object: &Value| object[field].as_array().cloned().unwrap_or_default();
    let (existing, wanted) = (entries(existing), entries(wanted));
    match field {
        "rules" => existing.iter().flat_map(|rule| left_of(rule, &wanted)).collect(),
        _ => existing.into_iter().filter(|subject| !wanted.iter().any(|other| is_same(subject, other))).collect(),
    }
}

/// Whether both are the same subject. The API server adds the group of users.
fn is_same(one: &Value, other: &Value) -> bool {
    ["kind", "name", "namespace"].iter().all(|key| one[key] == other[key])
}

fn words(rule: &Value, key: &str) -> Vec<String> {
    let words = rule[key].as_array().into_iter().flatten();
    words.filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// What a rule grants that none of these does, a rule for each resource.
fn left_of(rule: &Value, wanted: &[Value]) -> Vec<Value> {
    let resources = words(rule, "resources");
    if resources.is_empty() {
        // URLs outside of the API, which no node needs.
        return if wanted.contains(rule) { Vec::new() } else { vec![rule.clone()] };
    }
    let mut left = Vec::new();
    for group in words(rule, "apiGroups") {
        for resource in &resources {
            let names = &rule["resourceNames"];
            let grants = |other: &Value, verb: &String| {
                words(other, "apiGroups").contains(&group)
                    && words(other, "resources").contains(resource)
                    && words(other, "verbs").contains(verb)
                    && (other["resourceNames"].is_null() || other["resourceNames"] == *names)
            };
            let mut verbs = words(rule, "verbs");
            verbs.retain(|verb| !wanted.iter().any(|other| grants(other, verb)));
            if !verbs.is_empty() {
                let mut rest = json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
                if !names.is_null() {
                    rest["resourceNames"] = names.clone();
                }
                left.push(rest);
            }
        }
    }
    left
}

/// An entry in words, as in "patch ingresses/status".
pub fn reported(entry: &Value) -> String {
    let name = |key: &str| entry[key].as_str().unwrap_or_default();
    if !entry["verbs"].is_array() {
        return format!("{} {}", name("kind"), name("name"));
    }
    let what = [words(entry, "resources"), words(entry, "nonResourceURLs")].concat().join(", ");
    let names = words(entry, "resourceNames");
    let only = if names.is_empty() { String::new() } else { format!(" {}", names.join(", ")) };
    format!("{} {what}{only}", words(entry, "verbs").join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(group: &str, resources: &[&str], verbs: &[&str], names: Option<&[&str]>) -> Value {
        let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        if let Some(names) = names {
            rule["resourceNames"] = json!(names);
        }
        rule
    }

    #[test]
    fn what_others_may_need_is_left() {
        let network = "networking.k8s.io";
        let wanted = json!({"rules": [rule(network, &["ingresses"], &["list", "watch"], None)]});
        for (existing, expected) in [
            (rule(network, &["ingresses"], &["watch", "list"], None), vec![]),
            (rule(network, &["ingresses"], &["list"], Some(&["a"])), vec![]),
            (
                rule(network, &["ingresses", "ingresses/status"], &["list", "patch"], None),
                vec!["patch ingresses", "list, patch ingresses/status"],
            ),
            (rule("", &["ingresses"], &["list"], None), vec!["list ingresses"]),
            (rule("", &["services"], &["list"], Some(&["lb"])), vec!["list services lb"]),
        ] {
            let left = beyond("ClusterRole", &json!({"rules": [existing]}), &wanted);
            assert_eq!(left.iter().map(reported).collect::<Vec<_>>(), expected);
        }
        let subject = |name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": "ingressd"});
        let existing = json!({"subjects": [subject("ingressd"), subject("other")]});
        let left = beyond("RoleBinding", &existing, &json!({"subjects": [subject("ingressd")]}));
        assert_eq!(left, [subject("other")]);
        assert_eq!(reported(&left[0]), "ServiceAccount other");
    }
}
