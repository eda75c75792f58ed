//! Reports annotations that have no effect because another one is missing. It must not know what
//! any of them does.

use super::draft::{Context, Draft, Entry};
use super::engine::entries;
use super::layer::OptionEntry;
use super::row::{Effect, Gives, OnError, Row, asks};
use super::snippets;
use super::table::Table;
use ingressd_model::Origin;
use ingressd_model::finding::{Finding, Reason, Severity};

/// The key of another annotation, and its required value: a word, [`SOMETHING`] or [`ANYTHING`].
pub type Companion = (&'static str, &'static str);

/// Any value that has an effect.
pub const SOMETHING: &str = "";

/// Any value, even one without effect.
pub const ANYTHING: &str = "*";

/// How long a chain of dependent rows is followed.
const LONGEST_CHAIN: usize = 3;

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

/// Adds a finding for each option of the object that depends on a missing one, unless there is a
/// worse finding about it. `said` has the layers with what snippets stand for, the lowest first.
pub fn report(context: &Context<'_>, own: &[OptionEntry], said: &[Vec<Entry<'_>>], draft: &mut Draft) {
    let is_written = |entry: &Entry<'_>| own.iter().any(|written| written.row.key == entry.row.key);
    let implied = said.iter().flatten().filter(|entry| entry.is_own && !is_written(entry)).copied();
    for entry in implied.chain(entries((true, own))) {
        let is_written = is_written(&entry);
        let row = entry.row;
        let counts = row.is_served() || snippets::is_read(&entry, context);
        if row.counts_with.is_empty() || !counts || asks_for_nothing(row, entry.value) {
            continue;
        }
        let Some(missing) = missing(row, context.table, said, draft, LONGEST_CHAIN) else { continue };
        let (origin, findings) = (entry.origin(), &mut draft.reading.findings);
        // Other findings about a key without effect do not matter.
        findings.retain(|finding| {
            !is_written || finding.origin != origin || finding.reason != Reason::UnsupportedAnnotation
        });
        let is_worse = |finding: &Finding| finding.origin == origin && finding.reason != Reason::NoEffectAlone;
        if !findings.iter().any(is_worse) {
            let it = if is_written { "it" } else { row.key };
            findings.push(without_effect(row, origin, format!("{it} has no effect without {}", words(missing))));
        }
    }
}

/// Adds a finding for each annotation of a canary that counts on its main object alone, unless
/// there is one about it.
pub fn report_of_canary(context: &Context<'_>, own: &[OptionEntry], draft: &mut Draft) {
    for entry in entries((true, own)).filter(|entry| !entry.row.counts_on_canary) {
        let counts_elsewhere = entry.row.is_served() || snippets::is_read(&entry, context);
        let (origin, findings) = (entry.origin(), &mut draft.reading.findings);
        if counts_elsewhere && !findings.iter().any(|finding| finding.origin == origin) {
            let note = "it has no effect on a canary: what the main object says counts; write it there";
            findings.push(without_effect(entry.row, origin, note.to_owned()));
        }
    }
}

/// A warning where the author may believe that something is protected.
fn without_effect(row: &Row, origin: Origin, note: String) -> Finding {
    let finding = Finding::new(Reason::NoEffectAlone, origin, note);
    let severity = if row.on_error == OnError::Close { Severity::Warning } else { finding.severity };
    Finding { severity, ..finding }
}

/// The options that the row depends on, when none of them is there.
fn missing(
    row: &'static Row,
    table: &Table,
    said: &[Vec<Entry<'_>>],
    draft: &Draft,
    chain: usize,
) -> Option<&'static [Companion]> {
    let (wanted, mut further) = (row.counts_with, None);
    if wanted.is_empty() || chain == 0 {
        return None;
    }
    for (key, value) in wanted {
        let companion = table.find(key)?;
        if is_there(row, companion, value, said, draft) {
            match missing(companion, table, said, draft, chain - 1) {
                None => return None,
                missing => further = missing,
            }
        }
    }
    further.or(Some(wanted))
}

/// Whether an option that others depend on is there. One with an invalid value counts as there,
/// because it has a finding of its own.
fn is_there(row: &Row, companion: &Row, wanted: &str, said: &[Vec<Entry<'_>>], draft: &Draft) -> bool {
    let counts = |entry: &&Entry<'_>| entry.row.key == companion.key && (entry.is_own || !row.stands_alone);
    let highest = said.iter().rev().find_map(|layer| layer.iter().find(counts));
    highest.is_some_and(|entry| {
        fits(companion, entry.value, wanted) || draft.reading.findings.iter().any(|finding| finding.origin == *entry.at)
    })
}

/// The key of a row and its other spellings, with the prefix.
pub fn spellings(row: &Row, table: &Table) -> impl Iterator<Item = String> {
    let prefix = table.prefix;
    std::iter::once(row.key).chain(row.aliases.iter().copied()).map(move |name| format!("{prefix}{name}"))
}
