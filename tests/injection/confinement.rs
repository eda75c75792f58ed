//! What a snippet of a namespace that may use them adds to the configuration: allowed directives,
//! and only to its own routes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use ingressd_model::Field;
use ingressd_model::finding::Finding;
use serde_json::{Value, json};

use crate::fields::{ingress, service, surroundings};
use crate::inputs::SCRIBES;
use crate::pipeline::{Outcome, Shape, of};

/// The directives that snippets may add, in nginx's words.
pub struct Allowed {
    /// Within a location.
    pub added: &'static [&'static str],
    /// What annotations can say too, and stands in the server where all its locations have it.
    pub shared: &'static [&'static str],
}

fn host(number: usize) -> String {
    format!("c{number}.test")
}

/// One object for each snippet, each with a host of its own, beside a bystander without snippets.
fn run(key: &str, snippets: &[String]) -> Outcome {
    let object = |(number, snippet): (usize, &String)| {
        let mut object = ingress(SCRIBES, &format!("c{number}"), "nginx", &host(number), "own");
        object["metadata"]["annotations"] = json!({ format!("nginx.ingress.kubernetes.io/{key}"): snippet });
        object
    };
    let mut objects: Vec<Value> = snippets.iter().enumerate().map(object).collect();
    objects.extend(service(SCRIBES, "own", "10.244.9.9"));
    objects.extend(surroundings());
    of(&objects)
}

/// The files of the bystander.
fn bystander(outcome: &Outcome) -> Option<BTreeMap<String, Vec<u8>>> {
    outcome.bytes("bystander.test")
}

/// Its files without any snippet.
static BYSTANDER: LazyLock<Option<BTreeMap<String, Vec<u8>>>> = LazyLock::new(|| bystander(&run("", &[])));

/// An object's configuration with a snippet of this kind that says nothing.
static PLAIN: LazyLock<BTreeMap<&str, Vec<Vec<Shape>>>> = LazyLock::new(|| {
    let plain = |kind| run(kind, &["# nothing".to_owned()]).tree(&host(0)).expect("a comment is served");
    ["configuration-snippet", "server-snippet"].map(|kind| (kind, plain(kind))).into()
});

/// The names of all directives with the blocks around them.
fn names(shapes: &[Shape], path: &[String], into: &mut BTreeSet<Vec<String>>) {
    for Shape(name, _, block) in shapes {
        let path = [path, std::slice::from_ref(name)].concat();
        names(block.as_deref().unwrap_or_default(), &path, into);
        into.insert(path);
    }
}

/// Tries snippets, each on an object of its own, and tells how many are served.
///
/// # Errors
///
/// What is wrong.
pub fn check(key: &str, snippets: &[String], allowed: &Allowed) -> Result<usize, String> {
    let outcome = run(key, snippets);
    outcome.check();
    let mut usual = BTreeSet::new();
    let plain = &PLAIN[key];
    plain.iter().for_each(|tree| names(tree, &[], &mut usual));
    let mut served = 0;
    for (number, snippet) in snippets.iter().enumerate() {
        let Some(tree) = outcome.tree(&host(number)) else {
            // Text that is not YAML becomes no object.
            let is_about = |finding: &Finding| {
                *finding.origin.object.name == format!("c{number}") || matches!(finding.origin.field, Field::Line(_))
            };
            let reported = outcome.findings.iter().any(is_about);
            if !reported {
                return Err(format!("{snippet:?} is neither served nor told of"));
            }
            continue;
        };
        served += 1;
        let blocks = |tree: &[Vec<Shape>]| {
            let servers = tree.iter().flatten().filter(|shape| shape.0 == "server").count();
            let inner = tree.iter().flatten().flat_map(|shape| shape.2.iter().flatten());
            (servers, inner.filter(|shape| shape.0 == "location").count())
        };
        if blocks(&tree) != blocks(plain) {
            return Err(format!("{snippet:?} makes blocks"));
        }
        let mut found = BTreeSet::new();
        tree.iter().for_each(|tree| names(tree, &[], &mut found));
        let strange = found.difference(&usual).find(|path| {
            let is_within = path.starts_with(&["server".to_owned(), "location".to_owned()]);
            let is_shared =
                matches!(&path[..], [server, name] if server == "server" && allowed.shared.contains(&name.as_str()));
            !is_shared && (!is_within || path[2..].iter().any(|name| !allowed.added.contains(&name.as_str())))
        });
        if let Some(strange) = strange {
            return Err(format!("{snippet:?} says {strange:?}"));
        }
    }
    // No snippet changes the bystander's files.
    if bystander(&outcome).is_none() || bystander(&outcome) != *BYSTANDER {
        return Err("the files of another tenant changed".to_owned());
    }
    Ok(served)
}
