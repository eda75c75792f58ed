//! Links lead somewhere: to files of the repository and to headings that are there.

use std::collections::BTreeSet;

use super::pages::{self, root};

/// The anchor that a heading has.
fn anchor(heading: &str) -> String {
    let heading = heading.trim().to_lowercase().replace(' ', "-");
    heading.chars().filter(|letter| letter.is_alphanumeric() || ['-', '_'].contains(letter)).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// What is between `](` and `)`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[test]
fn links_lead_somewhere() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages::all() {
        let file = root().join(&page.name);
        for link in links(&page.text).filter(|link| !link.contains("://")) {
            count += 1;
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            if !target.exists() {
                wrong.push(format!("{}: {link}: there is no such file", page.name));
            } else if !place.is_empty() && !anchors(&std::fs::read_to_string(target).unwrap()).contains(place) {
                wrong.push(format!("{}: {link}: there is no such heading", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 20, "{count}");
}

#[test]
fn every_page_can_be_found() {
    let start = pages::page("README.md");
    let missing =
        pages::all().into_iter().filter(|page| page.is_manual() && !start.text.contains(&format!("]({})", page.name)));
    assert_eq!(missing.map(|page| page.name).collect::<Vec<_>>(), [""; 0], "README.md has no link to them");
}
