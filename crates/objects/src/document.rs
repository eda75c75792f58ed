//! Splits the text of a file into YAML documents, so that a broken one cannot hide the others.

use std::iter;

/// One document of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'text> {
    /// Its text, from the first line with content.
    pub text: &'text str,
    /// The number of that line in the file, from 1.
    pub line: u32,
}

/// Splits at the lines `---` and `...`. YAML forbids both at the start of a line within any
/// scalar, so no content is cut.
pub fn split(text: &str) -> Vec<Document<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut documents = Vec::new();
    let (mut start, mut line) = (0, 1);
    let ends = memchr::memchr_iter(b'\n', text.as_bytes());
    for (number, offset) in (1..).zip(iter::once(0).chain(ends.map(|end| end + 1))) {
        if is_marker(&text[offset..]) {
            documents.extend(document(&text[start..offset], line));
            // Content behind the marker on the same line belongs to the next document.
            (start, line) = (offset + 3, number);
        }
    }
    documents.extend(document(&text[start..], line));
    documents
}

/// Whether a line with this text, and what follows it, separates documents.
fn is_marker(text: &str) -> bool {
    let rest = text.strip_prefix("---").or_else(|| text.strip_prefix("..."));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Skips blank lines, comments and directives at the beginning; `None` when nothing else follows.
fn document(text: &str, line: u32) -> Option<Document<'_>> {
    let says_nothing = |content: &str| content.is_empty() || content.starts_with(['#', '%']);
    let mut offset = 0;
    for (number, content) in (line..).zip(text.split_inclusive('\n')) {
        if !says_nothing(content.trim()) {
            return Some(Document { text: &text[offset..], line: number });
        }
        offset += content.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn cuts_where_yaml_does() {
        for (text, expected) in [
            ("", vec![]),
            ("# nothing\n\n---\n", vec![]),
            ("a: 1", vec![("a: 1", 1)]),
            ("\u{feff}a: 1", vec![("a: 1", 1)]),
            ("# head\n---\na: 1\n---\n\n# b\nb: 2\n...\n", vec![("a: 1\n", 3), ("b: 2\n", 7)]),
            ("%YAML 1.2\n---\na: 1\n", vec![("a: 1\n", 3)]),
            ("--- {a: 1}\n---\t# b\r\nb: 2\r\n", vec![(" {a: 1}\n", 1), ("b: 2\r\n", 3)]),
            ("a: |\n  ---\n  b\n----\n", vec![("a: |\n  ---\n  b\n----\n", 1)]),
        ] {
            let found: Vec<_> = split(text).iter().map(|document| (document.text, document.line)).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
