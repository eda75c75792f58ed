//! The line of a field in the text of a manifest, for messages; it must not know files, nor keep what it read.

use saphyr::{LoadableYamlNode as _, MarkedYaml, SafelyIndex as _};

use super::document::split;
use crate::model::Field;

/// The line of a field of the object that begins at `line`, both from 1; the object's own line when the field is not there.
pub fn line_of(text: &str, line: u32, field: &Field) -> u32 {
    if let Field::Line(line) = field {
        return *line;
    }
    let documents = split(text);
    let after = documents.partition_point(|document| document.line <= line);
    let Some(document) = after.checked_sub(1).map(|index| documents[index]) else { return line };
    let Ok(nodes) = MarkedYaml::load_from_str(document.text) else { return line };
    let number = |node: &MarkedYaml<'_>| {
        document.line.saturating_add(u32::try_from(node.span.start.line()).unwrap_or(u32::MAX).saturating_sub(1))
    };
    let Some(root) = nodes.first() else { return line };
    // An item of a list begins at its own line.
    let items = root.get("items").and_then(|items| items.data.as_vec());
    let object = items.and_then(|items| items.iter().find(|item| number(item) == line)).unwrap_or(root);
    let (mut node, mut found) = (object, line);
    for step in steps(field) {
        let next = match step {
            Step::Key(key) => node.data.as_mapping().and_then(|mapping| {
                mapping
                    .iter()
                    .find(|(name, _)| name.data.as_str() == Some(&*key))
                    .map(|(name, value)| (number(name), value))
            }),
            Step::Index(index) => node.data.as_vec().and_then(|list| list.get(index)).map(|item| (number(item), item)),
        };
        let Some((line, value)) = next else { break };
        (found, node) = (line, value);
    }
    found
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
        for (field, line) in [
            (Field::Object, 3),
            (Field::Annotation("a.b/c".into()), 6),
            (Field::Annotation("missing".into()), 5),
            (Field::Rule(0), 9),
            (Field::Path(0, 1, ""), 13),
            (Field::Path(0, 1, "pathType"), 14),
            (Field::Path(0, 1, "backend.service.name"), 13),
            (Field::Tls(3), 15),
            (Field::Line(7), 7),
        ] {
            assert_eq!(line_of(text, 3, &field), line, "{field:?}");
        }
        let list = "kind: List\nitems:\n- kind: A\n- kind: B\n  spec:\n    a: 1\n";
        assert_eq!(line_of(list, 4, &Field::Other("spec.a".into())), 6);
        assert_eq!(line_of("{{{", 1, &Field::Rule(0)), 1);
    }
}
