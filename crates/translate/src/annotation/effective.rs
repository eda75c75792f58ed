//! The effective value of one key for one object, and the values that it overrides.

use std::sync::Arc;

use super::draft::{Context, Draft, Entry};
use super::engine::{apply, entries, layers_of};
use super::layer::OptionEntry;
use super::row::{OnError, Row};
use super::value::without_empty;
use ingressd_model::{Effective, Written, WrittenAt};

/// What counts of a row for an object that says these options itself: built in < settings <
/// ConfigMap < object, and above these a ceiling of the administrator. Nothing where it has no
/// value in any layer, and where its value closes the routes or refuses the object. `settings`
/// tells what counts of a setting.
///
/// A value that cannot be used leaves what counts without it, as it does for
/// [`merge`](super::merge).
pub fn effective(
    context: &Context<'_>,
    own: &[OptionEntry],
    row: &'static Row,
    settings: &dyn Fn(&str) -> Option<Effective>,
) -> Option<Effective> {
    let mut layers: Vec<Written> = Vec::new();
    if !row.default.is_empty() {
        layers.push(Written { value: row.default.into(), at: WrittenAt::BuiltIn });
    }
    if let Some(Effective { counts, overridden }) = settings(row.setting) {
        layers.extend(overridden.into_iter().chain([counts]));
    }
    let below = layers.len();
    let said = layers_of(context, own).map(|layer| entries(layer).find(|entry| entry.row.key == row.key));
    for entry in said.into_iter().flatten() {
        match is_usable(&entry, context) {
            true => layers.push(Written { value: entry.value.into(), at: WrittenAt::Object(entry.origin()) }),
            false if row.on_error == OnError::Skip => layers.truncate(below),
            false => return None,
        }
    }
    let counts = layers.last()?;
    if let Some((instead, setting)) = row.ceiling.instead_of(&counts.value, &context.options.limits) {
        let at = settings(setting).map_or(WrittenAt::BuiltIn, |ceiling| ceiling.counts.at);
        layers.push(Written { value: Arc::from(instead), at });
    }
    Effective::of(layers)
}

/// Whether the engine accepts a value.
fn is_usable(entry: &Entry<'_>, context: &Context<'_>) -> bool {
    let mut draft = Draft::default();
    // An empty entry of a list is told, and the others count.
    let rest = without_empty(entry.value).filter(|_| entry.row.form.is_list());
    apply(&Entry { value: rest.as_deref().unwrap_or(entry.value), ..*entry }, context, &mut draft);
    !draft.reading.falls_short && draft.common.faults.is_empty()
}
