//! What commands print for programs: each member of their JSON with its type and meaning, of which
//! the page is made, and with which tests compare what commands print. It must not know how a
//! command makes it.

mod answers;
mod kubectl;
mod reports;
mod status;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// A member: `members[].node` is one of each entry of a list, `objects.*` one of any name.
#[derive(Debug)]
pub struct Field {
    path: &'static str,
    /// Words of JSON; with a `?` behind them it may be null.
    types: &'static str,
    doc: &'static str,
    /// Whether it may be missing where the member around it is there.
    may_be_missing: bool,
}

/// A JSON that is printed, or a part that is within several.
#[derive(Debug)]
pub struct Document {
    /// The commands and addresses that print it.
    pub title: &'static str,
    /// What more there is to say, if anything.
    doc: &'static str,
    /// Its members, by the path of what they are members of.
    parts: &'static [(&'static str, &'static [Field])],
}

/// All of them.
pub const DOCUMENTS: &[&Document] = &[
    &status::EVERYTHING,
    &status::INGRESS,
    &status::HOST,
    &status::CLUSTER,
    &answers::EXPLAIN,
    &answers::TOP,
    &answers::DIFF,
    &answers::LIST,
    &reports::CHECK,
    &reports::DOCTOR,
    &reports::MIGRATE_REPORT,
    &reports::MIGRATE_COMPARE,
    &kubectl::EXPLAIN,
    &kubectl::CHECK,
    &kubectl::DIFF,
    &kubectl::STATUS,
];

const fn field(path: &'static str, types: &'static str, doc: &'static str) -> Field {
    Field { path, types, doc, may_be_missing: false }
}

const fn optional(path: &'static str, types: &'static str, doc: &'static str) -> Field {
    Field { path, types, doc, may_be_missing: true }
}

/// The document with this title.
pub fn of(title: &str) -> Option<&'static Document> {
    DOCUMENTS.iter().copied().find(|document| document.title == title)
}

impl Document {
    /// Every member with its whole path, and the path of what it is a member of.
    fn fields(&self) -> impl Iterator<Item = (String, &'static Field)> {
        self.parts.iter().flat_map(|(within, fields)| fields.iter().map(move |field| (join(within, field.path), field)))
    }

    /// How a value differs from what is documented: members and types that are not, and members
    /// that are missing.
    pub fn differences(&self, value: &Value) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut wrong = BTreeSet::new();
        let fields: Vec<_> = self.fields().collect();
        walk(value, "", &mut |path, value| {
            seen.insert(path.to_owned());
            let known = fields.iter().find(|(known, _)| is_meant(known, path));
            let (name, is_null) = match value {
                Value::Null => ("null", true),
                Value::Bool(_) => ("boolean", false),
                Value::Number(_) => ("number", false),
                Value::String(_) => ("string", false),
                Value::Array(_) => ("list", false),
                Value::Object(_) => ("object", false),
            };
            let is_right = |field: &Field| {
                let types = field.types.strip_suffix('?');
                types.unwrap_or(field.types) == name || (is_null && types.is_some())
            };
            // An entry of a list that is an object is documented by its members.
            let is_entry = path.ends_with("[]") && value.is_object();
            let has_member =
                |(known, _): &(String, &Field)| known.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
            match known {
                None if is_entry && fields.iter().any(has_member) => {}
                None => drop(wrong.insert(format!("{path} is not documented"))),
                Some((_, field)) if is_right(field) => {}
                Some((_, field)) => drop(wrong.insert(format!("{path} is {name} and not {}", field.types))),
            }
        });
        // Of a member that is there, those within are there too; an empty list has none.
        for (path, _) in fields.iter().filter(|(_, field)| !field.may_be_missing) {
            let around = path.rsplit_once('.').map_or("", |(around, _)| around);
            let is_there = |wanted: &str| seen.iter().any(|path| is_meant(wanted, path));
            let has_members = seen.iter().any(|path| {
                path.rsplit_once('.').is_some_and(|(own, _)| is_meant(around, own))
                    || (around.is_empty() && !path.is_empty())
            });
            if !path.ends_with("[]") && has_members && !is_there(path) {
                wrong.insert(format!("{path} is missing"));
            }
        }
        wrong
    }
}

fn join(within: &str, path: &str) -> String {
    match (within, path) {
        ("", path) => path.to_owned(),
        (within, path) if path.starts_with('[') => format!("{within}{path}"),
        (within, path) => format!("{within}.{path}"),
    }
}

/// Whether a documented path is that of a value; `*` is any name.
fn is_meant(documented: &str, path: &str) -> bool {
    match documented.strip_suffix(".*") {
        Some(around) => path.strip_prefix(around).is_some_and(|rest| rest.starts_with('.') && !rest.contains("[]")),
        None => documented == path,
    }
}

fn walk(value: &Value, path: &str, report: &mut impl FnMut(&str, &Value)) {
    if !path.is_empty() {
        report(path, value);
    }
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| walk(value, &join(path, name), report)),
        Value::Array(entries) => entries.iter().for_each(|value| walk(value, &format!("{path}[]"), report)),
        _ => {}
    }
}

/// The page.
pub fn page() -> String {
    let mut page = "\
# JSON of commands

With this page you can look up what commands print with `--json`, and what `/status.json` answers.
Words that the page does not explain are in the [glossary](glossary.md), above all
[claim](glossary.md#claim), [class](glossary.md#class), [confirmed](glossary.md#confirmed),
[drained](glossary.md#drained), [finding](glossary.md#finding),
[generation](glossary.md#generation), [leader](glossary.md#leader) and
[pinned](glossary.md#pinned).

A member `node` of each entry of the list `members` stands here as members[].node, and a member of
any name of `objects` as objects.\\*. Where the type says \"or null\", the value may be unknown or
without meaning; a member in *italics* may also be missing. Further members may come with a new
version: let a program pass over those that it does not know. What others wrote is escaped so that
it cannot control a terminal.
"
    .to_owned();
    for document in DOCUMENTS {
        // Writing to a string does not fail.
        let _ = write!(page, "\n## {}\n\n", document.title);
        if !document.doc.is_empty() {
            let _ = write!(page, "{}\n\n", document.doc);
        }
        page += "| member | type | meaning |\n| --- | --- | --- |\n";
        for (path, field) in document.fields() {
            let types =
                field.types.strip_suffix('?').map_or(field.types.to_owned(), |types| format!("{types} or null"));
            let mark = if field.may_be_missing { "*" } else { "" };
            let path = path.replace('*', "\\*");
            let _ = writeln!(page, "| {mark}{path}{mark} | {types} | {} |", field.doc);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SHOP: Document = Document {
        title: "a shop",
        doc: "",
        parts: &[
            ("", &[field("name", "string?", ""), field("parts", "list", ""), optional("more", "object", "")]),
            ("parts[]", &[field("size", "number", ""), field("names", "list", ""), field("names[]", "string", "")]),
            ("more", &[field("*", "number", "")]),
        ],
    };

    #[test]
    fn what_differs_from_what_is_documented_is_found() {
        let of = |value| Vec::from_iter(SHOP.differences(&value)).join("; ");
        for (value, expected) in [
            (json!({"name": null, "parts": []}), ""),
            (json!({"name": "a", "parts": [{"size": 1, "names": ["b"]}], "more": {"c": 2}}), ""),
            (json!({"name": 1, "parts": null}), "name is number and not string?; parts is null and not list"),
            (json!({"name": "a", "parts": [], "new": 1}), "new is not documented"),
            (
                json!({"parts": [{"size": "1", "names": [2]}]}),
                "name is missing; parts[].names[] is number and not string; parts[].size is string and not number",
            ),
            (
                json!({"name": "a", "parts": [{"size": 1}], "more": {"c": []}}),
                "more.c is list and not number; parts[].names is missing",
            ),
        ] {
            assert_eq!(of(value.clone()), expected, "{value}");
        }
    }

    #[test]
    fn every_member_is_documented_once_and_within_one_that_is() {
        for document in DOCUMENTS {
            let paths: Vec<_> = document.fields().map(|(path, _)| path).collect();
            let once: BTreeSet<_> = paths.iter().collect();
            assert_eq!(once.len(), paths.len(), "{}", document.title);
            for (path, field) in document.fields() {
                let around = path.strip_suffix("[]").or(path.rsplit_once('.').map(|(around, _)| around)).unwrap_or("");
                let around = around.trim_end_matches("[]");
                assert!(around.is_empty() || once.contains(&around.to_owned()), "{}: {path}", document.title);
                let types = field.types.trim_end_matches('?');
                assert!(["string", "number", "boolean", "list", "object"].contains(&types), "{path}");
                assert!(!field.doc.is_empty() && !field.doc.ends_with('.'), "{path}");
            }
        }
    }
}
