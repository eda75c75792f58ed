//! What snapshots show of generated files: each block once, and of one that is like an earlier
//! one, or like one of a plain host, only what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ingressd_nginx::render::FileSet;
use similar::{ChangeTag, TextDiff};

/// The blocks that were shown so far, in their order: a block is called by its number.
#[derive(Default)]
pub struct Blocks(Vec<String>);

impl Blocks {
    /// Numbers the blocks of these files without showing them.
    pub fn of(files: &FileSet) -> Self {
        let mut blocks = Blocks::default();
        blocks.show(files);
        blocks
    }

    /// All files; secret ones only by name.
    pub fn show(&mut self, files: &FileSet) -> String {
        let mut text = String::new();
        for (path, file) in &files.files {
            if file.content.secret {
                writeln!(text, "=== {path} (secret)").unwrap();
                continue;
            }
            let mut known = Vec::new();
            writeln!(text, "=== {path}").unwrap();
            for block in blocks(&file.content.text()) {
                match self.0.iter().position(|shown| *shown == block) {
                    Some(number) => known.push(number.to_string()),
                    None => {
                        write_known(&mut text, &mut known);
                        self.show_new(&mut text, block);
                    }
                }
            }
            write_known(&mut text, &mut known);
        }
        text
    }

    /// A block that was not shown yet, beside the one that it is most like.
    fn show_new(&mut self, text: &mut String, block: String) {
        let (number, lines) = (self.0.len(), block.lines().collect::<BTreeSet<_>>());
        let kind = |block: &str| block.split(' ').next().map(str::to_owned);
        let of_kind = self.0.iter().enumerate().filter(|(_, shown)| kind(shown) == kind(&block));
        let likeness = |shown: &str| shown.lines().filter(|line| lines.contains(line)).count();
        let like = of_kind.max_by_key(|(number, shown)| (likeness(shown), usize::MAX - number));
        let beside = like.map(|(other, shown)| (other, changes(shown, &block)));
        match beside.filter(|(_, changes)| 3 * changes.lines().count() < 2 * block.lines().count()) {
            Some((other, changes)) => write!(text, "# {number}, like {other}\n{changes}").unwrap(),
            None => write!(text, "# {number}\n{block}").unwrap(),
        }
        self.0.push(block);
    }
}

fn write_known(text: &mut String, known: &mut Vec<String>) {
    if !known.is_empty() {
        writeln!(text, "# {}", known.join(", ")).unwrap();
    }
    known.clear();
}

/// A text in blocks: each begins with a line that is not indented. A location is a block of its
/// own, and so is the end of its server.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in text.lines() {
        let begins = !line.starts_with([' ', '}']);
        match blocks.last_mut() {
            Some(block) if !begins && !block.ends_with("\n}\n") => *block += &format!("{line}\n"),
            _ => blocks.push(format!("{line}\n")),
        }
    }
    blocks
}

/// The lines that only one of two blocks has, and how many lie between them.
fn changes(from: &str, to: &str) -> String {
    let (mut text, mut same) = (String::new(), Vec::new());
    let write_same = |text: &mut String, same: &mut Vec<&str>| {
        match same[..] {
            [] => {}
            [line] => write!(text, " {line}").unwrap(),
            _ => writeln!(text, " … {} lines", same.len()).unwrap(),
        }
        same.clear();
    };
    let difference = TextDiff::from_lines(from, to);
    for change in difference.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => same.push(change.value()),
            tag => {
                write_same(&mut text, &mut same);
                write!(text, "{tag}{}", change.value()).unwrap();
            }
        }
    }
    write_same(&mut text, &mut same);
    text
}

/// How the files for one version differ from those for another: each difference once, with the
/// files that have it.
pub type Differences = BTreeMap<String, Vec<String>>;

/// The differences between the files for two versions.
pub fn differences(from: &FileSet, to: &FileSet) -> Differences {
    let (from, to) = (whole(from), whole(to));
    let mut path = "";
    let mut paths = Vec::new();
    for line in to.lines().chain([""]) {
        path = line.strip_prefix("=== ").unwrap_or(path);
        paths.push(path);
    }
    let difference = TextDiff::from_lines(&from, &to);
    let mut differences = Differences::new();
    for group in difference.grouped_ops(0) {
        let changes = group.iter().flat_map(|operation| difference.iter_changes(operation));
        let lines: String = changes.map(|change| format!("{}{}", change.tag(), change.value())).collect();
        differences.entry(lines).or_default().push(paths[group[0].new_range().start].to_owned());
    }
    differences
}

/// One text for all files; secret ones only by name.
pub fn whole(files: &FileSet) -> String {
    let mut text = String::new();
    for (path, file) in &files.files {
        match file.content.secret {
            true => writeln!(text, "=== {path} (secret)").unwrap(),
            false => write!(text, "=== {path}\n{}", file.content.text()).unwrap(),
        }
    }
    text
}

/// Differences as text; of those that a plain host has too, how often each occurs.
pub fn show_differences(differences: &Differences, plain: Option<&Differences>) -> String {
    let is_plain = |lines: &&String| plain.is_some_and(|plain| plain.contains_key(*lines));
    let counts: Vec<_> = differences.iter().filter(|(lines, _)| is_plain(lines)).collect();
    let counts: Vec<_> = counts.into_iter().map(|(_, paths)| paths.len().to_string()).collect();
    let mut text = if counts.is_empty() { String::new() } else { format!("# {}\n", counts.join(", ")) };
    for (lines, paths) in differences.iter().filter(|(lines, _)| !is_plain(lines)) {
        write!(text, "=== {}\n{lines}", paths.join(", ")).unwrap();
    }
    text
}
