//! Edits the text of nginx's configuration and leaves every other byte unchanged. It must not know
//! files.

use ingressd_nginx::syntax::{self, Directive};

/// The comment above lines that setup writes into a file that is not its own.
const MARK: &str = "# Added by `ingressd setup`; `ingressd setup --undo` takes it away.";

/// A block of the configuration, as positions in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The names of the enclosing blocks and its own: `["http", "server"]`.
    pub path: Vec<String>,
    /// The position of its name.
    pub start: usize,
    /// The position of its closing brace.
    pub close: usize,
    /// The line of its name, from 1.
    pub line: u32,
}

/// Every block of a text, outer ones after inner ones; empty for a text with a syntax error.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    add_blocks(&syntax::parse(text.as_bytes()).unwrap_or_default(), &[], &mut found);
    found
}

fn add_blocks(directives: &[Directive], parents: &[String], found: &mut Vec<Block>) {
    for directive in directives.iter().filter(|directive| directive.block.is_some()) {
        let path = [parents, std::slice::from_ref(&directive.name)].concat();
        add_blocks(directive.children(), &path, found);
        let (start, close) = (directive.span.start, directive.span.end - 1);
        found.push(Block { path, start, close, line: directive.line });
    }
}

/// An argument, quoted where necessary.
pub fn argument(text: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "/._-*+@%:,=".contains(character);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => syntax::quoted(text),
    }
}

/// Adds an `include` of this pattern at the end of the first block with this path; `None` when
/// that cannot be done safely.
pub fn include_in(text: &str, path: &[&str], pattern: &str) -> Option<String> {
    let block = blocks(text).into_iter().filter(|block| block.path == path).min_by_key(|block| block.start)?;
    let before = &text[..block.close];
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let indentation: String = text[..block.start].rsplit('\n').next().unwrap_or_default().to_owned();
    let blank = |text: &str| text.chars().all(|character| matches!(character, ' ' | '\t'));
    let indentation = if blank(&indentation) { format!("{indentation}    ") } else { "    ".to_owned() };
    let added = format!("{indentation}{MARK}\n{indentation}include {};\n", argument(pattern));
    // Usually the closing brace has a line of its own.
    let (at, added) = match blank(&before[line..]) && line > block.start {
        true => (line, added),
        false => (block.close, format!("\n{added}")),
    };
    let changed = format!("{}{added}{}", &text[..at], &text[at..]);
    proven(text, changed, |tree| {
        let mut directives = tree;
        for name in path {
            directives = directives.iter_mut().find(|directive| directive.name == *name)?.block.as_mut()?;
        }
        directives.pop().filter(|added| added.name == "include")
    })
}

/// The text of a file with a `stream` block with this include, for the main context.
pub fn stream_file(pattern: &str) -> String {
    format!("# TCP and UDP services of the cluster, written by ingressd.\n{}", stream_block(pattern))
}

fn stream_block(pattern: &str) -> String {
    format!("stream {{\n    include {};\n}}\n", argument(pattern))
}

/// Adds a block `stream` with this include at the end; `None` when that cannot be done safely.
pub fn append_stream(text: &str, pattern: &str) -> Option<String> {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let changed = format!("{text}{end}\n{MARK}\n{}", stream_block(pattern));
    proven(text, changed, |tree| tree.pop().filter(|added| added.name == "stream"))
}

/// Comments out the lines of a block; `None` when something else stands on them.
pub fn comment_out(text: &str, block: &Block) -> Option<String> {
    let first = text[..block.start].rfind('\n').map_or(0, |end| end + 1);
    let last = text[block.close..].find('\n').map_or(text.len(), |length| block.close + length);
    let lines = text[first..last].split('\n');
    let commented: Vec<_> = lines.map(|line| format!("#{line}")).collect();
    let changed = format!("{}{}{}", &text[..first], commented.join("\n"), &text[last..]);
    let (path, line) = (block.path.clone(), block.line);
    proven(changed.clone().as_str(), text.to_owned(), move |tree| {
        let (name, parents) = path.split_last()?;
        let mut directives = tree;
        for parent in parents {
            directives = directives.iter_mut().find(|directive| directive.name == *parent)?.block.as_mut()?;
        }
        let place = directives.iter().position(|directive| directive.name == *name && directive.line == line)?;
        Some(directives.remove(place))
    })
    .map(|_| changed)
}

/// Checks that the larger text equals the smaller one plus what was added; returns the result.
fn proven(
    smaller: &str,
    larger: String,
    take: impl FnOnce(&mut Vec<Directive>) -> Option<Directive>,
) -> Option<String> {
    let was = syntax::parse(smaller.as_bytes()).ok()?;
    let mut is = syntax::parse(larger.as_bytes()).ok()?;
    take(&mut is)?;
    same(&was, &is).then_some(larger)
}

/// Whether both are equal, apart from line numbers.
fn same(one: &[Directive], other: &[Directive]) -> bool {
    let alike = |(one, other): (&Directive, &Directive)| {
        one.name == other.name
            && one.arguments == other.arguments
            && one.block.is_some() == other.block.is_some()
            && same(one.children(), other.children())
    };
    one.len() == other.len() && one.iter().zip(other).all(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "user a; # http {\nevents { }\nhttp {\n\tlog_format x '{ \"a\\'b }';\n\tset $a ${b}c;\n\tserver {\n\
        \t\tlisten 80;\n\t}\n    map $a $b { default 1; }\n}\n";

    #[test]
    fn blocks_are_found_as_nginx_reads_them() {
        let found: Vec<_> = blocks(TEXT).iter().map(|block| (block.path.join(" "), block.line)).collect();
        let expected = [("events", 2), ("http server", 6), ("http map", 9), ("http", 3)];
        assert_eq!(found, expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn an_include_stands_at_the_end_of_its_block_and_nothing_else_changes() {
        let changed = include_in(TEXT, &["http"], "/etc/nginx/a b/*.conf").unwrap();
        let added: Vec<_> = changed.lines().filter(|line| !TEXT.lines().any(|known| known == *line)).collect();
        assert_eq!(added, [format!("    {MARK}").as_str(), "    include \"/etc/nginx/a b/*.conf\";"]);
        assert!(changed.ends_with("*.conf\";\n}\n"), "{changed}");
        assert_eq!(
            include_in("http { a b; }", &["http"], "x").unwrap(),
            format!("http {{ a b; \n    {MARK}\n    include x;\n}}")
        );
        for text in ["events {}", "http {", "http { a }", "http;"] {
            assert_eq!(include_in(text, &["http"], "x"), None, "{text}");
        }
    }

    #[test]
    fn a_block_can_become_a_comment() {
        let block = blocks(TEXT).into_iter().find(|block| block.path == ["http", "server"]).unwrap();
        let changed = comment_out(TEXT, &block).unwrap();
        assert_eq!(changed, TEXT.replace("\tserver {\n\t\tlisten 80;\n\t}\n", "#\tserver {\n#\t\tlisten 80;\n#\t}\n"));
        // Something else stands on the same lines.
        for text in ["http { gzip on; server {\n}\n}", "http {\nserver {\n} gzip on;\n}"] {
            let block = blocks(text).into_iter().find(|block| block.path == ["http", "server"]).unwrap();
            assert_eq!(comment_out(text, &block), None, "{text}");
        }
    }

    #[test]
    fn a_stream_block_is_appended() {
        for text in ["http {}", "http {}\n", ""] {
            let changed = append_stream(text, "/x/*.conf").unwrap();
            assert!(
                changed.starts_with(text) && changed.ends_with("stream {\n    include /x/*.conf;\n}\n"),
                "{changed}"
            );
        }
        assert_eq!(append_stream("http {", "/x"), None);
    }
}
