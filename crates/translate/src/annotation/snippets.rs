//! Applies the snippets of an object where the administrator allows them: annotations that they
//! stand for are read like annotations. It must not know how a snippet is parsed.

use super::draft::{Context, Draft, Entry};
use super::engine::{bad_value, within};
use super::row::Row;
use ingressd_model::Refused;
use ingressd_objects::StringMap;

/// An annotation that a snippet stands for.
#[derive(Debug)]
pub struct ImpliedAnnotation<'a> {
    pub row: &'static Row,
    value: String,
    snippet: Entry<'a>,
}

impl ImpliedAnnotation<'_> {
    /// The value with the place of the snippet.
    pub fn entry(&self) -> Entry<'_> {
        Entry { value: &self.value, ..self.snippet }
    }
}

/// Whether the value of a row is read as a snippet. Snippets in defaults are always allowed.
pub fn is_read(row: &Row, entry: &Entry<'_>, context: &Context<'_>) -> bool {
    row.snippet.is_some_and(|snippet| {
        let labels = || context.snapshot.namespace(context.namespace).map(|stored| &stored.object.labels);
        entry.default.is_some()
            || (!entry.value.trim().is_empty()
                && context.options.allows_snippet(snippet.kind, context.namespace, labels()))
    })
}

/// Parses a snippet without any other.
pub fn prove(row: &Row, draft: &mut Draft, entry: &Entry<'_>, context: &Context<'_>) -> Result<(), Refused> {
    row.snippet.map_or(Ok(()), |snippet| (snippet.read)(draft, entry, context).map(drop))
}

/// Reads the allowed snippets of an object, and returns the annotations that they stand for.
pub fn read<'a>(context: &Context<'a>, annotations: &'a StringMap, draft: &mut Draft) -> Vec<ImpliedAnnotation<'a>> {
    let mut implied = Vec::new();
    let row = |name: &str| context.table.find(name).filter(|row| row.snippet.is_some());
    let of_object = annotations.iter().filter(|_| !context.options.snippets().is_empty()).filter_map(|(key, value)| {
        let row = row(key.strip_prefix(context.table.prefix)?)?;
        Some((row, Entry { object: context.object, key, value, default: None }))
    });
    let of_administrator = context.options.defaults().iter().filter_map(|default| {
        let origin = Some(&default.origin);
        let entry = Entry { object: context.object, key: default.key, value: &default.value, default: origin };
        Some((row(default.key)?, entry))
    });
    for (row, entry) in of_object.chain(of_administrator) {
        if !is_read(row, &entry, context) {
            continue;
        }
        if let Err(refused) = add(row, entry, context, annotations, draft, &mut implied) {
            bad_value(row, &entry, &refused, draft);
        }
    }
    implied
}

fn add<'a>(
    row: &'static Row,
    entry: Entry<'a>,
    context: &Context<'_>,
    annotations: &StringMap,
    draft: &mut Draft,
    implied: &mut Vec<ImpliedAnnotation<'a>>,
) -> Result<(), Refused> {
    let Some(snippet) = row.snippet else { return Ok(()) };
    // The ceilings of these annotations apply, although the object does not name them.
    context.options.limits();
    if entry.default.is_none() {
        within(context.options, &entry, draft)?;
    }
    for (key, value) in (snippet.read)(draft, &entry, context)? {
        let Some(row) = context.table.find(key) else { continue };
        let full = |name: &str| format!("{}{name}", context.table.prefix);
        let is_set = |name: &&str| annotations.get(&full(name)).is_some_and(|value| !value.trim().is_empty());
        let said = std::iter::once(row.key).chain(row.aliases.iter().copied()).find(is_set);
        let is_implied = implied.iter().any(|other| other.row.key == row.key);
        match said {
            // The object's own value takes precedence over the administrator's default.
            _ if entry.default.is_some() && (said.is_some() || is_implied) => {}
            Some(said) => {
                return Err(Refused(format!("the annotation {said} sets the same; use only one of them").into()));
            }
            None if is_implied => {
                return Err(Refused(format!("another snippet has {key} as well; use it only once").into()));
            }
            None => implied.push(ImpliedAnnotation { row, value, snippet: entry }),
        }
    }
    Ok(())
}
