//! The line and column of a field in the text of a manifest, for messages; it must not know files, nor keep what it read.

use std::collections::BTreeMap;

use saphyr::{LoadableYamlNode as _, MarkedYamlOwned};

use super::document::split;
use super::yaml;
use crate::model::Field;

/// The text of one file, of which each document is read at most once however many fields are looked up.
#[derive(Debug)]
pub struct Lines {
    /// First line and text of each document.
    documents: Vec<(u32, String)>,
    read: BTreeMap<usize, Option<Item>>,
}

/// A document that was read; the items of a list by their lines.
#[derive(Debug)]
struct Item {
    root: MarkedYamlOwned,
    items: BTreeMap<u32, usize>,
}

impl Lines {
    /// The lines of this text.
    pub fn new(text: &str) -> Self {
        let documents = split(text).iter().map(|document| (document.line, document.text.to_owned())).collect();
        Lines { documents, read: BTreeMap::new() }
    }

    /// Line and column, in characters, of a field of the object that begins at `line`, all from 1; of what is nearest around it when
    /// the field is not there.
    pub fn of(&mut self, line: u32, field: &Field) -> (u32, u32) {
        if let Field::Line(line) = field {
            return (*line, 1);
        }
        let after = self.documents.partition_point(|(first, _)| *first <= line);
        let Some(index) = after.checked_sub(1) else { return (line, 1) };
        let (first, text) = &self.documents[index];
        let read = self.read.entry(index).or_insert_with(|| Item::read(*first, text));
        let Some(item) = read else { return (line, 1) };
        let node = item.object(line);
        let (mut node, mut found) = (node, (line, column(node)));
        for step in steps(field) {
            let next = match step {
                Step::Key(key) => node.data.as_mapping().and_then(|mapping| {
                    let entry = mapping.iter().find(|(name, _)| name.data.as_str() == Some(&*key));
                    entry.map(|(name, value)| (place(*first, name), value))
                }),
                Step::Index(index) => {
                    node.data.as_vec().and_then(|list| list.get(index)).map(|item| (place(*first, item), item))
                }
            };
            let Some((place, value)) = next else { break };
            (found, node) = (place, value);
        }
        found
    }
}

impl Item {
    fn read(first: u32, text: &str) -> Option<Item> {
        // Aliases are expanded without bounds below, so what the bounded reader refuses is not read again.
        yaml::read(text).ok()?;
        let root = MarkedYamlOwned::load_from_str(text).ok()?.into_iter().next()?;
        let items = list(&root).into_iter().flatten().enumerate().map(|(index, item)| (number(first, item), index));
        let items = items.collect();
        Some(Item { root, items })
    }

    /// The object that begins at this line: an item of a list, or the document.
    fn object(&self, line: u32) -> &MarkedYamlOwned {
        let item = self.items.get(&line).and_then(|index| list(&self.root)?.get(*index));
        item.unwrap_or(&self.root)
    }
}

fn list(root: &MarkedYamlOwned) -> Option<&Vec<MarkedYamlOwned>> {
    let mapping = root.data.as_mapping()?;
    let (_, items) = mapping.iter().find(|(name, _)| name.data.as_str() == Some("items"))?;
    items.data.as_vec()
}

/// The line of a node in the file, given the first line of its document.
fn number(first: u32, node: &MarkedYamlOwned) -> u32 {
    first.saturating_add(u32::try_from(node.span.start.line()).unwrap_or(u32::MAX).saturating_sub(1))
}

/// The column of a node, from 1.
fn column(node: &MarkedYamlOwned) -> u32 {
    u32::try_from(node.span.start.col()).unwrap_or(u32::MAX).saturating_add(1)
}

fn place(first: u32, node: &MarkedYamlOwned) -> (u32, u32) {
    (number(first, node), column(node))
}

enum Step {
    Key(String),
    Index(usize),
}

fn steps(field: &Field) -> Vec<Step> {
    let key = |key: &str| Step::Key(key.to_owned());
    match field {
        Field::Object | Field::Line(_) => Vec::new(),
        // Keys of annotations and data contain dots.
        Field::Annotation(name) => vec![key("metadata"), key("annotations"), key(name)],
        Field::Data(name) => vec![key("data"), key(name)],
        other => path(&other.to_string()),
    }
}

/// Reads `spec.rules[0].http`.
fn path(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in text.split('.') {
        let mut pieces = part.split('[');
        steps.extend(pieces.next().filter(|name| !name.is_empty()).map(|name| Step::Key(name.to_owned())));
        steps.extend(pieces.map(|piece| match piece.trim_end_matches(']') {
            number if number.parse::<usize>().is_ok() => Step::Index(number.parse().unwrap_or_default()),
            name => Step::Key(name.to_owned()),
        }));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_line_of_a_field() {
        let text = "# x\n---\nkind: Ingress\nmetadata:\n  annotations:\n    a.b/c: x\nspec:\n  rules:\n  - host: a\n    http:\n      paths:\n      - path: /\n      - path: /b\n        pathType: Exact\n  tls: []\n";
        for (field, line, column) in [
            (Field::Object, 3, 1),
            (Field::Annotation("a.b/c".into()), 6, 5),
            (Field::Annotation("missing".into()), 5, 3),
            (Field::Rule(0), 9, 5),
            (Field::Path(0, 1, ""), 13, 9),
            (Field::Path(0, 1, "pathType"), 14, 9),
            (Field::Path(0, 1, "backend.service.name"), 13, 9),
            (Field::Tls(3), 15, 3),
            (Field::Line(7), 7, 1),
        ] {
            assert_eq!(Lines::new(text).of(3, &field), (line, column), "{field:?}");
        }
        let list = "kind: List\nitems:\n- kind: A\n- kind: B\n  spec:\n    a: 1\n";
        assert_eq!(Lines::new(list).of(4, &Field::Other("spec.a".into())), (6, 5));
        let bomb: String = (1..40).map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)).collect();
        assert_eq!(Lines::new(&format!("a0: &a0 x\n{bomb}")).of(1, &Field::Rule(0)), (1, 1));
        assert_eq!(Lines::new("{{{").of(1, &Field::Rule(0)), (1, 1));
    }
}
