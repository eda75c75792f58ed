//! An Ingress in which a value is tried, and the result.
//!
//! The whole pipeline runs for each value, and a real nginx judges the result.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ingressd_model::expression;
use ingressd_model::finding::{Finding, Reason};
use ingressd_nginx::syntax::Directive;
use ingressd_translate::PREFIX;
use serde_json::{Value, json};

use crate::fields::{ingress, surroundings};
use crate::judge::judges;
use crate::pipeline::{Outcome, of, parse};

/// Words that are in the configuration only if an attacker planted them.
const LOOT: &[&str] =
    &["alias", "root", "load_module", "access_by_lua", "content_by_lua", "log_format", "include", "ssl_engine"];

/// An Ingress of the namespace `default` for `shop.test` in the ingress-nginx dialect.
pub fn shop(annotations: &[(&str, &str)], path: &str, path_type: &str) -> Value {
    let mut shop = ingress("default", "shop", "nginx", "shop.test", "web");
    for (key, value) in annotations {
        shop["metadata"]["annotations"][format!("{PREFIX}{key}")] = json!(value);
    }
    let entry = shop.pointer_mut("/spec/rules/0/http/paths/0").unwrap();
    entry["path"] = json!(path);
    entry["pathType"] = json!(path_type);
    shop
}

/// The bystander's files when it is alone.
static UNDISTURBED: LazyLock<Option<BTreeMap<String, Vec<u8>>>> =
    LazyLock::new(|| of(&surroundings()).bytes("bystander.test"));

/// The result for objects beside the surroundings. Checks that all directives are ours and that
/// nginx accepts the files.
pub fn served(objects: &[Value]) -> Outcome {
    let outcome = written(objects);
    let judges = judges();
    assert!(!judges.is_empty(), "no nginx was found: run `make test`, which installs it");
    judges[0].accepts(&outcome.files).unwrap();
    outcome
}

/// The same without asking nginx.
pub fn written(objects: &[Value]) -> Outcome {
    let outcome = of(&[objects, &surroundings()].concat());
    outcome.check();
    assert_eq!(outcome.bytes("bystander.test"), *UNDISTURBED, "another tenant's files changed");
    for (path, file) in outcome.files.files.iter().filter(|(path, _)| path.starts_with("http/")) {
        let text = file.content.text();
        let mut open = parse(&text);
        while let Some(directive) = open.pop() {
            let is_loot = LOOT.contains(&directive.name.as_str()) && !includes_own_answer(&directive);
            assert!(!is_loot, "{path}: {directive:?}");
            open.extend(directive.block.unwrap_or_default());
        }
    }
    outcome
}

/// Whether it is the include of an answer for upstreams without endpoints, which is named by a
/// hash alone.
fn includes_own_answer(directive: &Directive) -> bool {
    let [argument] = &directive.arguments[..] else { return false };
    let name =
        argument.strip_prefix("/etc/nginx/ingressd/current/[e]mpty/").and_then(|name| name.strip_suffix(".conf"));
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    directive.name == "include" && name.is_some_and(|name| name.bytes().all(fits))
}

pub fn about<'o>(outcome: &'o Outcome, name: &str) -> Vec<(&'o Finding, Reason)> {
    let about = outcome.findings.iter().filter(|finding| &*finding.origin.object.name == name);
    about.map(|finding| (finding, finding.reason)).collect()
}

pub fn reasons(outcome: &Outcome, name: &str) -> Vec<Reason> {
    about(outcome, name).into_iter().map(|(_, reason)| reason).collect()
}

/// The annotation is refused with this reason.
pub fn refused(annotations: &[(&str, &str)], reason: Reason) -> Outcome {
    let outcome = served(&[shop(annotations, "/", "Prefix")]);
    assert!(reasons(&outcome, "shop").contains(&reason), "{annotations:?}: {:?}", about(&outcome, "shop"));
    outcome
}

/// The host is not served, or answers 503 and asks no backend.
pub fn is_closed(outcome: &Outcome) -> bool {
    let text = outcome.server("shop.test").unwrap_or_default();
    let answers = text.is_empty() || text.contains("return 503") || outcome.is_without_endpoints("shop.test");
    answers && !outcome.passes("shop.test")
}

/// The path is one argument of each location that it has, or the object is refused.
pub fn one_word(path: &str, path_type: &str, annotations: &[(&str, &str)]) {
    let outcome = served(&[shop(annotations, path, path_type)]);
    let Some(text) = outcome.server("shop.test") else {
        return assert!(!about(&outcome, "shop").is_empty(), "{path:?} is neither served nor refused");
    };
    let tree = parse(&text);
    let locations: Vec<_> = tree[0].children().iter().filter(|one| one.name == "location").collect();
    assert!(locations.iter().all(|one| one.arguments.len() == 2), "{text}");
    let tail = path.trim_start_matches('/').trim_end_matches('/');
    let holds = |argument: &String| argument.contains(tail) || argument.contains(&*expression::literal(tail));
    assert!(locations.iter().any(|one| holds(&one.arguments[1])), "{path:?} is not in\n{text}");
}

/// The result for the shop with these annotations, and whether there is a finding about them.
fn with(annotations: &[(&str, &str)]) -> (Outcome, bool) {
    let outcome = written(&[shop(annotations, "/", "Prefix")]);
    let is_wrong = !about(&outcome, "shop").is_empty();
    (outcome, is_wrong)
}

/// All files, by their paths.
pub fn files(outcome: &Outcome) -> BTreeMap<&str, Vec<u8>> {
    outcome.files.files.iter().map(|(path, file)| (&**path, file.content.bytes())).collect()
}

/// The key is served: a harmless value changes what nginx reads, and nothing is wrong with it.
/// Gives what is read without the key.
fn reaches(beside: &[(&str, &str)], key: &str, harmless: &str) -> Outcome {
    let (without, _) = with(beside);
    let annotations = [beside, &[(key, harmless)]].concat();
    let outcome = served(&[shop(&annotations, "/", "Prefix")]);
    let mut about = about(&outcome, "shop");
    // It is about the age of the nginx that is installed.
    about.retain(|(finding, _)| !finding.note.contains("passes on only the first of several headers"));
    assert!(about.is_empty(), "{key}: {harmless:?}: {about:?}");
    assert!(!is_closed(&outcome) || outcome.server("shop.test").unwrap().contains("return 30"), "{key}: {harmless:?}");
    assert!(files(&outcome) != files(&without), "{key}: {harmless:?} has no effect");
    without
}

/// The key is served, and hostile values in it close the routes.
pub fn closes(beside: &[(&str, &str)], key: &str, harmless: &str, hostile: &[&str]) {
    reaches(beside, key, harmless);
    for value in hostile {
        let (outcome, is_wrong) = with(&[beside, &[(key, value)]].concat());
        assert!(is_wrong && is_closed(&outcome), "{key}: {value:?}: {:?}", outcome.server("shop.test"));
    }
}

/// The key is served, and with hostile values in it nothing of the object is.
pub fn refuses(beside: &[(&str, &str)], key: &str, harmless: &str, hostile: &[&str]) {
    reaches(beside, key, harmless);
    for value in hostile {
        let (outcome, _) = with(&[beside, &[(key, value)]].concat());
        assert_eq!(outcome.server("shop.test"), None, "{key}: {value:?}");
        assert!(reasons(&outcome, "shop").contains(&Reason::RefusedValue), "{key}: {value:?}");
    }
}

/// The key is served, and hostile values in it are as if it were not there.
pub fn skips(beside: &[(&str, &str)], key: &str, harmless: &str, hostile: &[&str]) {
    let without = reaches(beside, key, harmless);
    for value in hostile {
        let (outcome, is_wrong) = with(&[beside, &[(key, value)]].concat());
        assert!(is_wrong, "{key}: {value:?} is not told");
        assert!(files(&outcome) == files(&without), "{key}: {value:?} has an effect");
    }
}
