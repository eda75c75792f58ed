//! The pages of the documentation, divided into blocks that can be tried.

#![expect(dead_code, reason = "each test uses what it needs")]

use std::fs;
use std::path::{Path, PathBuf};

/// Folders with pages, and the pages beside them.
const PAGES: &[&str] = &["*.md", "docs/*.md", "docs/decisions/*.md", "packaging/*.md"];

/// Pages whose commands are run on a booted system, one page after the other and each from top to
/// bottom.
pub const TRIED: &[&str] = &[
    "docs/install.md",
    "docs/first-ingress.md",
    "docs/networking.md",
    "docs/troubleshooting.md",
    "docs/backup.md",
    "docs/upgrade.md",
];

/// A page whose commands are run on a booted system of its own, with what has to be there for it.
pub const TRIED_ALONE: &str = "docs/migrate.md";

/// Whether the commands of a page are run.
pub fn is_tried(name: &str) -> bool {
    TRIED.contains(&name) || name == TRIED_ALONE
}

/// A page.
pub struct Page {
    /// The path from the root of the repository: `docs/install.md`.
    pub name: String,
    /// All of it.
    pub text: String,
    /// What is between fences, in order.
    pub blocks: Vec<Block>,
}

/// What is between two fences.
pub struct Block {
    /// The line of the first fence, from 1.
    pub line: usize,
    /// The words after the first fence: a language, and where commands are run.
    pub words: Vec<String>,
    /// The text.
    pub text: String,
    /// The file that it is, when the line before names nothing but a path.
    pub path: Option<String>,
}

/// Where commands of a block are run when the page is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The commands run on the edge node, as root.
    Node,
    /// Where kubectl is set up for an administrator of the cluster.
    Cluster,
}

impl Block {
    /// The language.
    pub fn language(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Where its commands are run; `None` when they are only looked at.
    pub fn place(&self) -> Option<Place> {
        match self.words.get(1).map(String::as_str) {
            Some("node") => Some(Place::Node),
            Some("cluster") => Some(Place::Cluster),
            _ => None,
        }
    }

    /// Its commands: lines, put together where a line ends with a backslash; a here-document
    /// belongs to its command.
    pub fn commands(&self) -> Vec<String> {
        let (mut commands, mut lines) = (Vec::<String>::new(), self.text.lines());
        while let Some(line) = lines.next() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let mut command = line.to_owned();
            while command.ends_with('\\') {
                command = command.trim_end_matches('\\').trim_end().to_owned();
                command.push(' ');
                command.push_str(lines.next().unwrap_or_default().trim_start());
            }
            if let Some(end) =
                command.split_once("<<'").and_then(|(_, rest)| rest.split('\'').next()).map(str::to_owned)
            {
                for line in lines.by_ref() {
                    command.push('\n');
                    command.push_str(line);
                    if line == end {
                        break;
                    }
                }
            }
            commands.push(command);
        }
        commands
    }
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every page, by name.
pub fn all() -> Vec<Page> {
    let mut files: Vec<PathBuf> = PAGES
        .iter()
        .flat_map(|pattern| glob::glob(&format!("{}/{pattern}", root().display())).unwrap())
        .map(|file| file.unwrap())
        .collect();
    files.sort();
    files.iter().map(|file| page(file.strip_prefix(root()).unwrap().to_str().unwrap())).collect()
}

/// One page.
pub fn page(name: &str) -> Page {
    let text = fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut blocks, mut open, mut before) = (Vec::new(), None::<Block>, "");
    for (number, line) in (1..).zip(text.lines()) {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(words), None) => {
                let words = words.split_whitespace().map(str::to_owned).collect();
                open = Some(Block { line: number, words, text: String::new(), path: path(before) });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.text.push_str(&format!("{line}\n")),
            (None, None) if !line.is_empty() => before = line,
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{name}: a block has no end");
    Page { name: name.to_owned(), text, blocks }
}

/// The path that a line names first, in backquotes.
fn path(line: &str) -> Option<String> {
    let (path, _) = line.strip_prefix('`')?.split_once('`')?;
    path.starts_with('/').then(|| path.to_owned())
}

impl Page {
    /// Whether it is for administrators; decisions are for contributors.
    pub fn is_manual(&self) -> bool {
        self.name.starts_with("docs/") && !self.name.starts_with("docs/decisions/")
    }

    /// The file of this path that the page shows.
    pub fn file(&self, path: &str) -> String {
        let block = self.blocks.iter().find(|block| block.path.as_deref() == Some(path));
        block.unwrap_or_else(|| panic!("{} has no {path}", self.name)).text.clone()
    }

    /// What stands between backquotes in its text, outside of blocks.
    pub fn words(&self) -> Vec<String> {
        let (mut outside, mut inside) = (String::new(), false);
        for line in self.text.lines() {
            match line.trim_start().starts_with("```") {
                true => inside = !inside,
                false if !inside => outside.push_str(&format!("{line}\n")),
                false => {}
            }
        }
        outside
            .split('`')
            .skip(1)
            .step_by(2)
            .map(|word| word.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }
}
