//! Applies the snippets of an object where the administrator allows them: annotations that they
//! stand for are read like annotations. It must not know how a snippet is parsed.

use super::draft::{Context, Draft, Entry};
use super::engine::{bad_value, entries, within};
use super::layer::OptionEntry;
use super::row::Row;
use ingressd_model::Refused;

/// An annotation that a snippet stands for.
#[derive(Debug)]
pub struct ImpliedAnnotation<'a> {
    row: &'static Row,
    value: String,
    snippet: Entry<'a>,
}

impl ImpliedAnnotation<'_> {
    /// The value with the place of the snippet.
    pub fn entry(&self) -> Entry<'_> {
        Entry { row: self.row, value: &self.value, ..self.snippet }
    }
}

/// Whether the value is read as a snippet. Those of the administrator are always allowed.
pub fn is_read(entry: &Entry<'_>, context: &Context<'_>) -> bool {
    entry.row.snippet.is_some_and(|snippet| {
        let labels = || context.snapshot.namespace(context.namespace()).map(|stored| &stored.object.labels);
        let options = context.options;
        !entry.is_own
            || (options.annotation_snippets && options.allows_snippet(snippet.kind, context.namespace(), labels()))
    })
}

/// Parses a snippet without any other.
pub fn prove(draft: &mut Draft, entry: &Entry<'_>, context: &Context<'_>) -> Result<(), Refused> {
    entry.row.snippet.map_or(Ok(()), |snippet| (snippet.read)(draft, entry, context).map(drop))
}

/// Reads the allowed snippets of all layers, and returns the annotations that they stand for.
pub fn read<'a>(
    context: &Context<'a>,
    layers: &[(bool, &'a [OptionEntry])],
    draft: &mut Draft,
) -> Vec<ImpliedAnnotation<'a>> {
    let mut implied = Vec::new();
    for (is_own, layer) in layers.iter().rev() {
        for entry in entries((*is_own, layer)).filter(|entry| is_read(entry, context)) {
            if let Err(refused) = add(entry, layer, context, draft, &mut implied) {
                bad_value(&entry, &refused, draft);
            }
        }
    }
    implied
}

fn add<'a>(
    entry: Entry<'a>,
    layer: &[OptionEntry],
    context: &Context<'_>,
    draft: &mut Draft,
    implied: &mut Vec<ImpliedAnnotation<'a>>,
) -> Result<(), Refused> {
    let Some(snippet) = entry.row.snippet else { return Ok(()) };
    if entry.is_own {
        within(context.options, &entry, draft)?;
    }
    for (key, value) in (snippet.read)(draft, &entry, context)? {
        let Some(row) = context.table.find(key) else { continue };
        let is_written = layer.iter().any(|other| other.row.key == row.key);
        let is_implied = implied.iter().any(|other| other.row.key == row.key && other.snippet.is_own == entry.is_own);
        match entry.is_own {
            true if is_written => {
                return Err(Refused(format!("the annotation {key} sets the same; use only one of them").into()));
            }
            true if is_implied => {
                return Err(Refused(format!("another snippet has {key} as well; use it only once").into()));
            }
            false if is_implied => {}
            _ => implied.push(ImpliedAnnotation { row, value, snippet: entry }),
        }
    }
    Ok(())
}
