//! Templates of an administrator that have only slots: the directives of all features come through
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ingressd_model::Instance;
use ingressd_nginx::render::{Renderer, Templates};
use similar::{ChangeTag, TextDiff};

use super::{DEFAULT_CERTIFICATE, GateOptions, SHOWN, cases, documents, inputs, plan_under, snapshot, whole};
use ingressd_config::Usual as _;

/// Texts of a folder of templates, by name.
fn texts(folder: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn templates_of_slots_alone_lose_nothing_but_the_skeleton() {
    let written = texts("tests/golden/own_templates");
    let own = Templates::names().into_iter().filter_map(|name| Some((name, written.get(name)?.clone())));
    let own: BTreeMap<_, _> = own.collect();
    assert_eq!(own.len(), written.len(), "a template has another name now");
    // The program's own templates always have these directives; an administrator who replaces a
    // template decides about them.
    let program = texts("crates/nginx/templates");
    let lines = own.keys().flat_map(|name| program[*name].lines());
    let skeleton: BTreeSet<_> = lines.filter(|line| !line.contains("{{")).map(str::trim).collect();
    let own = Templates::of(own).expect("it loads as ever: a feature says more in a slot, and needs no new one");
    let mut left_out = BTreeSet::new();
    for case in cases() {
        let snapshot = snapshot(&documents(&case));
        let options = inputs::options(DEFAULT_CERTIFICATE, &snapshot);
        // Names of shared servers are digests of their text.
        let gate = GateOptions { shared_servers: false, ..GateOptions::usual() };
        let (plan, ..) = plan_under(options, &gate, &snapshot, SHOWN);
        let usual = whole(&Renderer::default().render(&plan).together());
        let other = whole(&Renderer::of(&Instance::default(), &own).render(&plan).together());
        for change in TextDiff::from_lines(&usual, &other).iter_all_changes() {
            let line = change.value().trim().to_owned();
            match change.tag() {
                ChangeTag::Equal => {}
                // The program's own template writes two servers for the daemon itself.
                ChangeTag::Delete if skeleton.contains(&*line) || line == "listen 127.0.0.1:10246;" => {
                    left_out.insert(line);
                }
                tag => panic!("{case}: {tag}{line}"),
            }
        }
    }
    assert!(left_out.len() > 10, "{left_out:?}");
}
