//! Words between backquotes in the pages exist: commands, settings, variables and reasons.

use std::collections::BTreeSet;

use ingressd_model::finding::Reason;
use regex::Regex;

use super::commands;
use super::pages;

/// Runs a check on everything between backquotes, and fails with everything that is wrong.
fn check(right: impl Fn(&str) -> Result<bool, String>) {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages::all() {
        for word in page.words() {
            match right(&word) {
                Ok(concerned) => count += usize::from(concerned),
                Err(why) => wrong.push(format!("{}: `{word}`: {why}", page.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 3, "{count} words were looked at");
}

#[test]
fn commands_of_ingressd_are_known() {
    check(|word| match word.strip_prefix("ingressd ") {
        Some(arguments) => {
            // `[N]` is what may be left out.
            let arguments = arguments.replace(['[', ']'], "").replace(" NAME...", "");
            let arguments = Vec::from_iter(arguments.split(' '));
            // A sentence may name a command or flag without what has to follow it.
            commands::known_to_us(&arguments).or_else(|_| commands::known_to_us(&[&arguments[..], &["X"]].concat()))
        }
        None => Ok(false),
    });
}

#[test]
fn settings_are_known() {
    let keys: BTreeSet<_> = ingressd_config::rows().map(|row| row.key).collect();
    let sections: BTreeSet<_> = ingressd_config::rows()
        .map(ingressd_config::SettingRow::section)
        .filter(|section| !section.is_empty())
        .collect();
    check(|word| {
        let key = word.split([' ', '=']).next().unwrap_or_default();
        let Some((section, name)) = key.split_once('.') else { return Ok(false) };
        let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        // `nginx.conf` and `ingressd.service` are files.
        let is_file = ["conf", "service", "toml", "pid", "org", "md", "io", "json", "pem"].contains(&name);
        match sections.contains(section) && is_name && !is_file {
            true if keys.contains(key) => Ok(true),
            true => Err("there is no such setting".to_owned()),
            false => Ok(false),
        }
    });
}

#[test]
fn variables_are_those_of_settings() {
    let mut variables: BTreeSet<_> = ingressd_config::rows().map(ingressd_config::SettingRow::variable).collect();
    variables.extend(["INGRESSD_CONFIG", "INGRESSD_INSTANCE"].map(str::to_owned));
    check(|word| {
        let name = word.split('=').next().unwrap_or_default();
        match name.strip_prefix("INGRESSD_") {
            None | Some("" | "*") => Ok(false),
            Some(_) if variables.contains(name) => Ok(true),
            Some(_) => Err("there is no such variable".to_owned()),
        }
    });
}

/// Every reason is in the page of symptoms, for readers who do not know its name yet.
#[test]
fn every_reason_is_in_the_page_of_symptoms() {
    let page = pages::page("docs/troubleshooting.md");
    let missing =
        Reason::ALL.iter().filter(|row| !page.text.contains(&format!("](findings.md#{})", row.name.to_lowercase())));
    assert_eq!(missing.map(|row| row.name).collect::<Vec<_>>(), [""; 0]);
}

/// What the program keeps on a host, by the calls that name it.
#[test]
fn every_file_of_the_state_folder_is_in_the_page_about_backups() {
    let named = Regex::new(r#"(?:state\s*\.join\(|const FILE: &str = )"([a-z.-]+)""#).unwrap();
    let mut files = BTreeSet::new();
    let mut folders = vec![pages::root().join("src"), pages::root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files.extend(named.captures_iter(&text).map(|found| found[1].to_owned()));
            }
        }
    }
    assert!(files.len() > 8 && files.contains("setup.json") && files.contains("pinned.json"), "{files:?}");
    let page = pages::all().into_iter().find(|page| page.name == "docs/backup.md").unwrap();
    let words = page.words();
    let missing: Vec<_> = files.iter().filter(|file| !words.iter().any(|word| word == *file)).collect();
    assert!(missing.is_empty(), "{missing:?} is not in docs/backup.md");
}
