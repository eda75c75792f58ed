//! What one place says, as written: options with their origin. It must not know what other places
//! say.

use std::borrow::Cow;
use std::sync::Arc;

use super::companions::spellings;
use super::row::{OnError, Row, Scope};
use super::table::Table;
use super::value::excerpt;
use ingressd_model::finding::{Finding, Reason, Severity, unknown_key};
use ingressd_model::{Field, ObjectId, Origin};
use ingressd_objects::StringMap;

/// The prefix of our own keys; there are some for Services and none for Ingresses yet.
const OWN_PREFIX: &str = "ingressd/";

/// An option as it is written somewhere.
#[derive(Debug, Clone)]
pub struct OptionEntry {
    pub row: &'static Row,
    /// The value as written, which is not blank.
    pub value: Arc<str>,
    /// The place where it was written.
    pub at: Origin,
}

/// There is one row for each key.
impl PartialEq for OptionEntry {
    fn eq(&self, other: &Self) -> bool {
        (self.row.key, &self.value, &self.at) == (other.row.key, &other.value, &other.at)
    }
}

/// All options that one place says. Two layers with the same address say the same.
pub type Layer = Arc<[OptionEntry]>;

/// The options that an object says in its annotations, with findings about keys that are none and
/// values that are empty. `of_config_map` has the keys that only the ConfigMap of the controller
/// has.
pub fn options(
    object: &Arc<ObjectId>,
    annotations: &StringMap,
    table: &'static Table,
    of_config_map: &[(&str, Scope)],
) -> (Layer, Vec<Finding>) {
    // An empty value counts as no annotation.
    let is_set = |key: &str| annotations.get(key).is_some_and(|value| !value.trim().is_empty());
    let (mut options, mut findings) = (Vec::new(), Vec::new());
    let mut foreign: Option<(bool, &str)> = None;
    for (key, value) in annotations.iter() {
        let mut find = |severity: Option<Severity>, reason, note: String| {
            let finding = Finding::new(reason, Origin::field(object, Field::Annotation(key.to_owned().into())), note);
            findings.push(Finding { severity: severity.unwrap_or(finding.severity), ..finding });
        };
        if let Some((row, written)) = table.entry(key) {
            let main = format!("{}{}", table.prefix, row.key);
            if written != main && is_set(&main) {
                let note = format!("{} is set as well and is used instead; remove one of them", row.key);
                find(None, Reason::UnsupportedAnnotation, note);
            } else if value.trim().is_empty() {
                // Perhaps it was meant to protect something.
                let severity = if row.on_error == OnError::Close { Severity::Warning } else { Severity::Info };
                let note = "the value is empty, which is the same as no annotation";
                find(Some(severity), Reason::InvalidValue, note.to_owned());
            } else {
                let at = Origin::field(object, Field::Annotation(Cow::Borrowed(written)));
                options.push(OptionEntry { row, value: value.into(), at });
            }
        } else if let Some(name) = key.strip_prefix(table.prefix) {
            let scope = of_config_map.iter().find(|(key, _)| *key == name).map(|(_, scope)| *scope);
            let note = match (scope, table.instead_of(name)) {
                (Some(scope), _) => scope.is_not_for_objects(),
                (None, Some(instead)) => format!("there is no such key; {instead}"),
                (None, None) => unknown_key(table.prefix, name, table.names()),
            };
            find(None, Reason::UnknownAnnotation, note);
        } else if let Some(name) = key.strip_prefix(OWN_PREFIX) {
            let note = match name {
                "endpoints" => "this key is read only on Services; move it there",
                _ => "no key with this prefix is read on an Ingress",
            };
            find(None, Reason::UnknownAnnotation, note.to_owned());
        } else if table.foreign.iter().any(|prefix| key.starts_with(prefix)) {
            foreign = foreign.or(Some((false, key)));
        } else if let Some(row) = table.mistaken(key)
            && !spellings(row, table).any(|key| is_set(&key))
        {
            // Of several the one is named that was to protect something.
            let protects = row.on_error == OnError::Close;
            foreign = foreign.filter(|(before, _)| *before || !protects).or(Some((protects, key)));
        }
    }
    if let Some((_, key)) = foreign {
        let note = format!(
            "annotations such as {} are not read for this class; use the prefix of \
                {}",
            excerpt(key),
            table.prefix
        );
        findings.push(Finding::new(Reason::UnsupportedAnnotation, Origin::field(object, Field::Object), note));
    }
    (options.into(), findings)
}
