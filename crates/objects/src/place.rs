//! Finds the line and column of a field in the text of a manifest, for messages. Nothing of the
//! text is kept.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::document::split;
use super::yaml::{self, Spanned};
use ingressd_model::Field;

/// The text of one file. Each document is parsed at most once, however many fields are looked up.
#[derive(Debug)]
pub struct Lines {
    /// The first line and the text of each document.
    documents: Vec<(u32, String)>,
    read: BTreeMap<usize, Option<Item>>,
}

/// A parsed document.
#[derive(Debug)]
struct Item {
    root: Node,
    /// The elements of a list by their lines.
    items: BTreeMap<u32, usize>,
}

/// The positions of fields and elements; their values do not matter.
#[derive(Debug)]
enum Node {
    Scalar,
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Node)>),
}

impl Node {
    fn field(&self, key: &str) -> Option<&(Spanned<String>, Node)> {
        let Node::Map(fields) = self else { return None };
        fields.iter().find(|(name, _)| name.value == key)
    }

    fn elements(&self) -> &[Spanned<Node>] {
        if let Node::List(elements) = self { elements } else { &[] }
    }
}

macro_rules! scalars {
    ($($visit:ident: $scalar:ty),*) => {
        $(fn $visit<E>(self, _: $scalar) -> Result<Node, E> {
            Ok(Node::Scalar)
        })*
    };
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Nodes;

        impl<'de> Visitor<'de> for Nodes {
            type Value = Node;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("anything")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Node::Map(fields))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    elements.push(element);
                }
                Ok(Node::List(elements))
            }

            scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Scalar)
            }
        }

        deserializer.deserialize_any(Nodes)
    }
}

impl Lines {
    /// The lines of this text.
    pub fn new(text: &str) -> Self {
        let documents = split(text).iter().map(|document| (document.line, document.text.to_owned())).collect();
        Lines { documents, read: BTreeMap::new() }
    }

    /// The line and column (in characters) of a field of the object that begins at `line`, all
    /// from 1. When the field does not exist, those of its nearest parent.
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
                Step::Key(key) => node.field(&key).map(|(name, value)| (place(*first, name), value)),
                Step::Index(index) => {
                    node.elements().get(index).map(|element| (place(*first, element), &element.value))
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
        let root: Node = yaml::parse(text).ok()?;
        let items = list(&root).iter().enumerate().map(|(index, item)| (number(first, item), index)).collect();
        Some(Item { root, items })
    }

    /// The object that begins at this line: an element of a list, or the document.
    fn object(&self, line: u32) -> &Node {
        let element = self.items.get(&line).and_then(|index| list(&self.root).get(*index));
        element.map_or(&self.root, |element| &element.value)
    }
}

fn list(root: &Node) -> &[Spanned<Node>] {
    root.field("items").map_or(&[], |(_, items)| items.elements())
}

/// The line and column in the file, given the first line of the document.
fn place<T>(first: u32, value: &Spanned<T>) -> (u32, u32) {
    (first.saturating_add(yaml::line(value) - 1), column_of(value))
}

/// The line in the file, given the first line of the document.
fn number<T>(first: u32, value: &Spanned<T>) -> u32 {
    place(first, value).0
}

/// The column of an object's first key, from 1.
fn column(node: &Node) -> u32 {
    match node {
        Node::Map(fields) => fields.first().map_or(1, |(name, _)| column_of(name)),
        Node::Scalar | Node::List(_) => 1,
    }
}

fn column_of<T>(value: &Spanned<T>) -> u32 {
    u32::try_from(value.referenced.column()).unwrap_or(u32::MAX).max(1)
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

/// Parses `spec.rules[0].http`.
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
        let json = "{\"metadata\": {\n\"annotations\": {\"a\": \"x\",\n\"b\": \"y\"}}}\n";
        assert_eq!(Lines::new(json).of(1, &Field::Annotation("b".into())), (3, 1));
        // The position of an aliased value is that of the alias.
        let shared = "x: &x\n  host: a\nspec:\n  rules:\n  - *x\n  - host: b\n    1: y\n    on: z\n";
        for (path, line) in [("spec.rules[0]", 5), ("spec.rules[1].1", 7), ("spec.rules[1].on", 8)] {
            assert_eq!(Lines::new(shared).of(1, &Field::Other(path.into())), (line, 5), "{path}");
        }
        let bomb: String = (1..40).map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)).collect();
        assert_eq!(Lines::new(&format!("a0: &a0 x\n{bomb}")).of(1, &Field::Rule(0)), (1, 1));
        assert_eq!(Lines::new("{{{").of(1, &Field::Rule(0)), (1, 1));
    }
}
