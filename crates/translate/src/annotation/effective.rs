//! The effective value of one key for one object, and the values that it overrides.

use std::sync::Arc;

use super::draft::{Context, Draft, Entry};
use super::engine::apply;
use super::row::{OnError, Row};
use super::value::without_empty;
use ingressd_model::finding::Reason;
use ingressd_model::{Effective, Written, WrittenAt};
use ingressd_objects::StringMap;

/// What counts of a key, given without its prefix, for an object with these annotations: built in
/// < settings < default of the ConfigMap < object, and above these a ceiling of the administrator.
/// Nothing where there is no such key, where it has no value in any layer, and where its value
/// closes the routes or refuses the object. `settings` tells what counts of a setting.
///
/// A value that cannot be used leaves what counts without it, as it does for
/// [`read`](super::read).
pub fn effective(
    context: &Context<'_>,
    annotations: &StringMap,
    name: &str,
    settings: &dyn Fn(&str) -> Option<Effective>,
) -> Option<Effective> {
    let row = context.table.find(name)?;
    let mut layers: Vec<Written> = Vec::new();
    if !row.default.is_empty() {
        layers.push(Written { value: row.default.into(), at: WrittenAt::BuiltIn });
    }
    if let Some(Effective { counts, overridden }) = settings(row.setting) {
        layers.extend(overridden.into_iter().chain([counts]));
    }
    let below = layers.len();
    let is_ours = |key: &str| context.table.find(key).is_some_and(|found| found.key == row.key);
    let default = context.options.defaults().iter().find(|default| is_ours(default.key));
    let own = std::iter::once(row.key).chain(row.aliases.iter().copied()).find_map(|name| {
        let (key, value) = annotations.entry(&format!("{}{name}", context.table.prefix))?;
        (!value.trim().is_empty()).then_some((key, value))
    });
    let written = [
        default.map(|default| Entry {
            object: context.object,
            key: default.key,
            value: &default.value,
            default: Some(&default.origin),
        }),
        own.map(|(key, value)| Entry { object: context.object, key, value, default: None }),
    ];
    for entry in written.into_iter().flatten() {
        match is_usable(row, &entry, context) {
            true => layers.push(Written { value: entry.value.into(), at: WrittenAt::Object(entry.origin()) }),
            false if row.on_error == OnError::Skip => layers.truncate(below),
            false => return None,
        }
    }
    let counts = layers.last()?;
    if let Some((instead, setting)) = context.options.instead_of(row, &counts.value) {
        let at = settings(setting).map_or(WrittenAt::BuiltIn, |ceiling| ceiling.counts.at);
        layers.push(Written { value: Arc::from(instead), at });
    }
    Effective::of(layers)
}

/// Whether the engine accepts a value.
fn is_usable(row: &'static Row, entry: &Entry<'_>, context: &Context<'_>) -> bool {
    let mut draft = Draft::default();
    // An empty entry of a list is told, and the others count.
    let rest = without_empty(entry.value).filter(|_| row.form.is_list());
    apply(row, &Entry { value: rest.as_deref().unwrap_or(entry.value), ..*entry }, context, &mut draft);
    let is_refusal = |reason: Reason| {
        matches!(
            reason,
            Reason::InvalidValue | Reason::InvalidSecurityValue | Reason::RefusedValue | Reason::UnsupportedAnnotation
        )
    };
    !draft.reading.closed && !draft.reading.findings.iter().any(|finding| is_refusal(finding.reason))
}
