//! Lines of prose end before column 100, so that they can be read in a terminal.

use regex::Regex;

use super::pages;
use super::reading::GENERATED;

/// Characters of a line.
const MOST: usize = 99;

/// What is not written as prose by hand: pages made of tables in the program, and the list of
/// changes.
fn is_left_out(page: &str) -> bool {
    GENERATED.contains(&page) || page == "CHANGELOG.md"
}

/// The lines of a page by number: no blocks, tables or generated sections.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut fenced, mut generated) = (false, false);
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let line = line.trim_start();
        let is_fence = line.starts_with("```");
        fenced ^= is_fence;
        if line.starts_with("<!--") {
            generated = !line.contains("end");
        }
        !fenced && !is_fence && !generated && !line.starts_with('|')
    })
}

#[test]
fn lines_of_prose_end_before_column_100() {
    // Where a link leads to is one word, however long, and not shown.
    let target = Regex::new(r"\]\([^)]*\)").unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages::all().iter().filter(|page| !is_left_out(&page.name)) {
        for (number, line) in prose(&page.text) {
            count += 1;
            let length = target.replace_all(line, "]").chars().count();
            if length > MOST {
                wrong.push(format!("{}:{number}: {length} characters, at most {MOST}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 1000, "{count}");
}
