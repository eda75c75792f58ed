//! Every decision is a note of one form that can be found.

use super::pages::{self, Page};

const FOLDER: &str = "docs/decisions/";

fn notes() -> Vec<Page> {
    let list = format!("{FOLDER}README.md");
    let notes = pages::all().into_iter().filter(|page| page.name.starts_with(FOLDER) && page.name != list);
    let notes = notes.collect::<Vec<_>>();
    assert!(notes.len() > 20, "{}", notes.len());
    notes
}

#[test]
fn every_decision_has_a_context_and_consequences() {
    let wrong = notes().into_iter().filter(|note| {
        let mut parts = note.text.split("\n## ");
        let title = parts.next().unwrap_or_default().trim_end();
        let parts = parts.map(|part| part.split_once("\n\n").unwrap_or((part, "")));
        let (headings, texts): (Vec<_>, Vec<_>) = parts.unzip();
        !title.starts_with("# ")
            || title.contains('\n')
            || headings != ["Context", "Decision", "Consequences"]
            || texts.iter().any(|text| text.trim().is_empty())
    });
    let wrong = wrong.map(|note| note.name).collect::<Vec<_>>();
    assert_eq!(wrong, [""; 0], "a title, then text below Context, Decision and Consequences");
}

#[test]
fn every_decision_is_listed_once() {
    let list = pages::page(&format!("{FOLDER}README.md"));
    let mut wrong = Vec::new();
    for (number, note) in (1..).zip(notes()) {
        let file = note.name.strip_prefix(FOLDER).unwrap();
        let title = note.text.lines().next().unwrap_or_default().trim_start_matches("# ");
        if !file.starts_with(&format!("{number:04}-")) {
            wrong.push(format!("{file}: its number should be {number:04}"));
        }
        let link = format!("- [{number:04}]({file}): {title}\n");
        if list.text.matches(&link).count() != 1 {
            wrong.push(format!("{}: {link:?} should stand there once", list.name));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Where the files are that pages for developers name.
const FOLDERS: [&str; 3] = ["crates/", "src/", "tests/"];

/// Pages for developers name files of the program, which move.
#[test]
fn files_that_are_named_are_there() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in notes().into_iter().chain([pages::page("ARCHITECTURE.md"), pages::page("CONTRIBUTING.md")]) {
        let words = page.words();
        let files = words.iter().filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
        for file in files.filter(|file| !file.contains(' ')) {
            count += 1;
            if !pages::root().join(file).exists() {
                wrong.push(format!("{}: {file}: there is no such file", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 20, "{count}");
}

/// The changes that the house is made for, as ARCHITECTURE.md begins their rows.
const CHANGES: &[&str] = &[
    "a simple annotation",
    "session affinity, as an annotation with parts",
    "a ConfigMap of 170 keys",
    "TCP and UDP services",
    "a second dialect with resources of its own",
    "Gateway API",
    "endpoints without a reload",
];

#[test]
fn every_change_has_a_way_through_files_that_are_there() {
    let architecture = pages::page("ARCHITECTURE.md");
    for change in CHANGES {
        let row = architecture.text.lines().find(|line| line.starts_with(&format!("| {change} |")));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md does not say what to touch for {change}"));
        let words: Vec<_> = row.split('`').skip(1).step_by(2).collect();
        let (files, names): (Vec<_>, Vec<_>) =
            words.into_iter().partition(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
        let texts: Vec<_> = files
            .iter()
            .map(|file| {
                std::fs::read_to_string(pages::root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
            })
            .collect();
        assert!(texts.len() > 1, "{change}: {files:?}");
        for name in names {
            let is_there =
                texts.iter().any(|text| text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == name));
            assert!(is_there, "{change}: none of {files:?} has {name}");
        }
    }
}
