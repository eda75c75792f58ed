//! Reports annotations that have no effect because another one is missing. It must not know what
//! any of them does.

use super::draft::{Context, Draft, Entry};
use super::row::{Effect, Gives, OnError, Row, asks};
use super::snippets::{self, ImpliedAnnotation};
use super::table::Table;
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{Field, Origin};
use ingressd_objects::StringMap;

/// The key of another annotation, and its required value: a word, [`SOMETHING`] or [`ANYTHING`].
pub type Companion = (&'static str, &'static str);

/// Any value that has an effect.
pub const SOMETHING: &str = "";

/// Any value, even one without effect.
pub const ANYTHING: &str = "*";

/// How long a chain of dependent rows is followed.
const LONGEST_CHAIN: usize = 3;

/// Rows of which the object has a value, with the annotation.
pub type Dependents<'a> = Vec<(&'static Row, Entry<'a>)>;

/// The annotations of an object, including those of snippets and the administrator's defaults.
struct SetKeys<'a> {
    context: &'a Context<'a>,
    annotations: &'a StringMap,
    implied: &'a [ImpliedAnnotation<'a>],
}

/// The missing annotations in words: `affinity: cookie`, or several with "or" between.
pub fn words(companions: &[Companion]) -> String {
    let word = |(key, value): &Companion| match *value {
        SOMETHING | ANYTHING => (*key).to_owned(),
        value => format!("{key}: {value}"),
    };
    match companions {
        [] => String::new(),
        [one] => word(one),
        [first @ .., last] => {
            format!("{} or {}", first.iter().map(word).collect::<Vec<_>>().join(", "), word(last))
        }
    }
}

/// Whether a value has no effect, according to the tries of its row.
pub fn asks_for_nothing(row: &Row, value: &str) -> bool {
    if let Effect::Unserved { harmless, .. } = row.effect {
        return !harmless.is_empty() && !asks(value, harmless);
    }
    let nothing = row.tries.iter().filter(|(_, gives)| matches!(gives, Gives::Nothing));
    nothing.into_iter().any(|(harmless, _)| !asks(value, harmless))
}

/// Whether a value of a row is the one that others depend on.
pub fn fits(row: &Row, value: &str, wanted: &str) -> bool {
    match wanted {
        ANYTHING => true,
        SOMETHING => !asks_for_nothing(row, value),
        wanted => !asks(value, wanted) || value.trim().eq_ignore_ascii_case(wanted),
    }
}

/// Adds a finding for each of these rows that depends on a missing annotation, unless there is a
/// worse finding about it.
pub fn tell(
    dependents: &Dependents<'_>,
    context: &Context<'_>,
    annotations: &StringMap,
    implied: &[ImpliedAnnotation<'_>],
    draft: &mut Draft,
) {
    let said = SetKeys { context, annotations, implied };
    for (row, entry) in dependents {
        if asks_for_nothing(row, entry.value) {
            continue;
        }
        let Some(missing) = said.missing(row, draft, LONGEST_CHAIN) else { continue };
        let (origin, findings) = (entry.origin(), &mut draft.reading.findings);
        let written = entry.key.strip_prefix(context.table.prefix).and_then(|name| context.table.find(name));
        let is_own = written.is_some_and(|written| written.key == row.key);
        // Other findings about a key without effect do not matter.
        findings
            .retain(|finding| !is_own || finding.origin != origin || finding.reason != Reason::UnsupportedAnnotation);
        let is_worse = |finding: &Finding| finding.origin == origin && finding.reason != Reason::NoEffectAlone;
        if !findings.iter().any(is_worse) {
            let it = if is_own { "it" } else { row.key };
            findings.push(without_effect(row, origin, format!("{it} has no effect without {}", words(missing))));
        }
    }
}

/// Adds a finding for each annotation of a canary that counts on its main object alone, unless
/// there is one about it.
pub fn tell_of_canary(context: &Context<'_>, annotations: &StringMap, draft: &mut Draft) {
    for (key, value) in annotations.iter() {
        let row = key.strip_prefix(context.table.prefix).and_then(|name| context.table.find(name));
        let entry = Entry { object: context.object, key, value, default: None };
        let Some(row) = row.filter(|row| !row.counts_on_canary && !value.trim().is_empty()) else { continue };
        let counts_elsewhere = row.is_served() || snippets::is_read(row, &entry, context);
        let (origin, findings) = (entry.origin(), &mut draft.reading.findings);
        if counts_elsewhere && !findings.iter().any(|finding| finding.origin == origin) {
            let note = "it has no effect on a canary: what the main object says counts; write it there";
            findings.push(without_effect(row, origin, note.to_owned()));
        }
    }
}

/// A warning where the author may believe that something is protected.
fn without_effect(row: &Row, origin: Origin, note: String) -> Finding {
    let finding = Finding::new(Reason::NoEffectAlone, origin, note);
    let severity = if row.on_error == OnError::Close { Severity::Warning } else { finding.severity };
    Finding { severity, ..finding }
}

impl SetKeys<'_> {
    /// The annotations that the row depends on, when none of them is there.
    fn missing(&self, row: &'static Row, draft: &Draft, chain: usize) -> Option<&'static [Companion]> {
        let (missing, mut further) = (row.counts_with, None);
        if missing.is_empty() || chain == 0 {
            return None;
        }
        for (key, wanted) in missing {
            let companion = self.context.table.find(key)?;
            if self.is_there(row, companion, wanted, draft) {
                match self.missing(companion, draft, chain - 1) {
                    None => return None,
                    missing => further = missing,
                }
            }
        }
        further.or(Some(missing))
    }

    /// Whether an annotation that others depend on is there. One with an invalid value counts as
    /// there, because it has a finding of its own.
    fn is_there(&self, row: &Row, companion: &Row, wanted: &str, draft: &Draft) -> bool {
        let SetKeys { context, annotations, implied } = self;
        for key in spellings(companion, context.table) {
            let own = annotations.get(&key).filter(|value| !value.trim().is_empty());
            if let Some(value) = own {
                let field = Field::Annotation(key.into());
                return fits(companion, value, wanted)
                    || draft.reading.findings.iter().any(|finding| finding.origin.field == field);
            }
        }
        let of_snippet = implied.iter().find(|implied| implied.row.key == companion.key);
        let of_snippet = of_snippet.map(|implied| fits(companion, implied.entry().value, wanted));
        let defaults = context.options.defaults().iter().filter(|_| !row.stands_alone);
        let mut defaults = defaults.filter(|default| default.key == companion.key);
        of_snippet.unwrap_or_else(|| defaults.any(|default| fits(companion, &default.value, wanted)))
    }
}

/// The key of a row and its other spellings, with the prefix.
pub fn spellings(row: &Row, table: &Table) -> impl Iterator<Item = String> {
    let prefix = table.prefix;
    std::iter::once(row.key).chain(row.aliases.iter().copied()).map(move |name| format!("{prefix}{name}"))
}
