//! What remedies say: they destroy nothing, and what they name exists.

use std::collections::BTreeSet;

use super::{CHECKS, healthy, rows};

/// What a remedy must not say: it would lose what the administrator made, or stop what serves.
const DESTRUCTIVE: &[&str] =
    &["rm -", "stop nginx", "stop the", "kill", "delete", "purge", "nginx -s", "restart nginx", "end nginx", "erase"];

#[test]
fn no_remedy_destroys_anything_and_each_names_what_there_is() {
    let mut wrong = Vec::new();
    for (name, break_it, ..) in rows() {
        let mut facts = healthy();
        break_it(&mut facts);
        let check = CHECKS.iter().find(|check| check.name == *name).unwrap();
        for line in check.lines(&facts) {
            // The Lease of a node that is gone is ingressd's own.
            let remedy = line.remedy.replace("`kubectl delete lease", "");
            let destroys = DESTRUCTIVE.iter().copied().filter(|words| remedy.contains(words));
            let reported = |what: &str| format!("{what}: {} -> {}", line.text, line.remedy);
            wrong.extend(destroys.chain(absent(&line.remedy)).map(reported));
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The commands, settings and pages in a text that are not there.
fn absent(text: &str) -> impl Iterator<Item = &str> {
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let commands = text.split("`ingressd ").skip(1).map(|rest| rest.split([' ', '`']).next().unwrap_or_default());
    let commands = commands
        .filter(move |name| !name.starts_with('-') && !repository.join(format!("man/ingressd-{name}.8")).exists());
    let words = || text.split([' ', '`', ',', ';', ':', '(', ')', '"', '=']).map(|word| word.trim_end_matches('.'));
    let pages = words().filter(move |word| {
        let is_page = word.starts_with("docs/") || word.starts_with("packaging/");
        is_page && !repository.join(word.split('#').next().unwrap_or_default()).exists()
    });
    let sections: BTreeSet<_> =
        ingressd_config::rows().map(ingressd_config::SettingRow::section).filter(|name| !name.is_empty()).collect();
    let settings = words().filter(move |word| {
        let is_setting = word.split_once('.').is_some_and(|(section, key)| {
            sections.contains(section) && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        });
        is_setting
            && !["nginx.conf", "nginx.service"].contains(word)
            && !ingressd_config::rows().any(|row| row.key == *word)
    });
    commands.chain(pages).chain(settings)
}
