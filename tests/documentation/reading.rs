//! Pages can be read by strangers: they begin with their purpose, and link the words that need an
//! explanation.

use regex::Regex;

use super::pages::{self, Page};

/// The words of the glossary, by anchor, as they occur in sentences.
const TERMS: &[(&str, &str)] = &[
    ("claim", "claims?"),
    ("class", "class(?:es)?"),
    ("confirmed", "confirmed"),
    ("dialect", "dialects?"),
    ("drained", "drained"),
    ("edge-node", "edge nodes?"),
    ("finding", "findings?"),
    ("generation", "generations?"),
    ("last-good-version", "last good version"),
    ("leader", "leader"),
    ("owner-of-a-host", "owner of a host|a host has one owner"),
    ("pinned", "pinned"),
    ("quarantine", "quarantine"),
];

const GLOSSARY: &str = "docs/glossary.md";

/// Pages that are made of tables in the program: these explain their words by one link.
pub const GENERATED: &[&str] = &[
    "docs/annotations.md",
    "docs/configmap.md",
    "docs/doctor.md",
    "docs/findings.md",
    "docs/ingress-nginx.md",
    "docs/settings.md",
];

fn documentation() -> Vec<Page> {
    let all = pages::all().into_iter().filter(Page::is_manual).collect::<Vec<_>>();
    assert!(all.len() > 15);
    all
}

#[test]
fn every_page_says_first_what_one_can_do_with_it() {
    let wrong = documentation().into_iter().filter(|page| {
        let mut parts = page.text.splitn(3, "\n\n");
        let (title, first) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        !title.starts_with("# ") || title.contains('\n') || !first.starts_with("With this page you can ")
    });
    assert_eq!(wrong.map(|page| page.name).collect::<Vec<_>>(), [""; 0], "their first paragraph begins otherwise");
}

/// The sentences of a page: no headings, blocks, links, generated tables or words between
/// backquotes.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        fenced ^= line.starts_with("```");
        !fenced && !line.starts_with('#')
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let left_out = [
        r"(?s)<!-- limits -->.*?<!-- end of limits -->",
        r"(?s)<!-- [a-z]+: generated -->.*?<!-- [a-z]+: end -->",
        r"\[[^\]]*\]\([^)]*\)",
        r"`[^`]*`",
    ];
    left_out.iter().fold(text, |text, pattern| Regex::new(pattern).unwrap().replace_all(&text, " ").into_owned())
}

#[test]
fn words_that_need_it_link_to_the_glossary() {
    let glossary = pages::page(GLOSSARY);
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in documentation().iter().filter(|page| page.name != GLOSSARY) {
        if GENERATED.contains(&&*page.name) {
            if !page.text.contains("](glossary.md") {
                wrong.push(format!("{}: no link to the glossary", page.name));
            }
            continue;
        }
        let prose = prose(&page.text);
        for (anchor, words) in TERMS {
            let pattern = words.replace(' ', r"\s+");
            let used = Regex::new(&format!(r"(?i)(?:^|[^\w./-])(?:{pattern})(?:$|[^\w-])")).unwrap().is_match(&prose);
            let link = format!("](glossary.md#{anchor})");
            match page.text.matches(&link).count() {
                0 if used => wrong.push(format!("{}: the first {words:?} needs {link}", page.name)),
                0 => {}
                1 => count += 1,
                more => wrong.push(format!("{}: {link} stands there {more} times: once is enough", page.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 30, "{count}");
    let headings = glossary.text.lines().filter_map(|line| line.strip_prefix("## "));
    let mut headings: Vec<_> = headings.map(|heading| heading.to_lowercase().replace(' ', "-")).collect();
    let terms: Vec<_> = TERMS.iter().map(|(anchor, _)| (*anchor).to_owned()).collect();
    assert!(headings.is_sorted(), "{headings:?}");
    headings.sort();
    assert_eq!(headings, terms, "the words of the glossary are those that are looked for");
}
