//! Merges what several places say of one object, by the rows of a table.

use super::companions;
use super::draft::{Context, Draft, Entry};
use super::layer::OptionEntry;
use super::row::{Compared, Effect, OnError, Row, Scope, Trust, asks};
use super::snippets;
use super::value::{empty_entry, excerpt};
use crate::{HostOptions, Options, Reading, bounds};
use ingressd_model::Refused;
use ingressd_model::finding::{Finding, Reason, Severity};

/// The layers of options for an object that says these itself, the lowest first. Below them are
/// the settings and what is built in, where families combine the values.
pub(super) fn layers_of<'a>(context: &Context<'a>, own: &'a [OptionEntry]) -> [(bool, &'a [OptionEntry]); 2] {
    [(false, &context.options.defaults), (true, own)]
}

/// The options of a layer.
pub(super) fn entries((is_own, layer): (bool, &[OptionEntry])) -> impl Iterator<Item = Entry<'_>> {
    layer.iter().map(move |entry| Entry { row: entry.row, value: &entry.value, at: &entry.at, is_own })
}

/// What counts for an object that says these options itself: of a key, the value in the highest
/// layer.
///
/// Mistakes are in the findings of the reading. A bad value does not affect the others, unless the
/// reading is `closed` or `refused`.
pub fn merge(context: &Context<'_>, own: &[OptionEntry]) -> Reading {
    let mut draft = Draft::default();
    let layers = layers_of(context, own);
    let implied = snippets::read(context, &layers, &mut draft);
    let said = layers.map(|layer| {
        let mut said: Vec<_> = implied.iter().map(|implied| implied.entry()).collect();
        said.retain(|entry| entry.is_own == layer.0);
        let written = entries(layer).filter(|entry| !snippets::is_read(entry, context));
        let written: Vec<_> = written.filter(|entry| !says(&said, entry.row)).collect();
        said.extend(written);
        said
    });
    for (number, layer) in said.iter().enumerate() {
        let is_overridden = |row: &Row| said.iter().skip(number + 1).any(|above| says(above, row));
        let counts = |entry: &&Entry<'_>| entry.row.stands_alone || !is_overridden(entry.row);
        layer.iter().filter(counts).for_each(|entry| apply(entry, context, &mut draft));
    }
    companions::report(context, own, &said, &mut draft);
    for family in context.table.families {
        (family.finish)(&mut draft, context);
    }
    // About whole hosts the main object of a canary decides.
    if draft.reading.canary.is_some() {
        companions::report_of_canary(context, own, &mut draft);
        draft.reading.host = HostOptions::default();
    }
    let Reading { behaviour, closed, authentication, .. } = &mut draft.reading;
    let asks = behaviour.basic_authentication.is_some() || authentication.is_some();
    let is_protected = *closed || behaviour.access.is_some() || behaviour.firewall.is_some() || asks;
    behaviour.strict_paths = is_protected && context.dialect.has_strict_paths(context.options.strict_paths);
    draft.reading.behaviour.directives.sort_by_key(|directive| directive.row.name);
    draft.reading.host.directives.sort_by_key(|directive| directive.row.name);
    draft.reading
}

/// Whether one of these is of the row.
fn says(said: &[Entry<'_>], row: &Row) -> bool {
    said.iter().any(|entry| entry.row.key == row.key)
}

pub(super) fn apply(entry: &Entry<'_>, context: &Context<'_>, draft: &mut Draft) {
    let row = entry.row;
    let cut = row.ceiling.instead_of(entry.value, &context.options.limits);
    if let Some((instead, setting)) = &cut {
        draft.above_ceiling(entry.origin(), &excerpt(entry.value), instead, setting);
    }
    let entry = &Entry { value: cut.as_ref().map_or(entry.value, |(instead, _)| instead), ..*entry };
    let mut allowed = || trusted(row, context.options).and_then(|()| within(context.options, entry, draft));
    let done = match row.effect {
        _ if !row.scope.is_of_objects() => Err(Refused(row.scope.is_not_for_objects().into())),
        // What the administrator says is trusted.
        _ if row.is_served()
            && entry.is_own
            && let Err(refused) = allowed() =>
        {
            Err(refused)
        }
        Effect::Directive(directive, parse) => parse(entry.value).map(|arguments| match row.scope {
            Scope::Server => draft.host_directive(directive, arguments, entry.origin()),
            Scope::Matching | Scope::Route | Scope::Upstream | Scope::Listener | Scope::Node => {
                draft.directive(directive, arguments, entry.origin());
            }
        }),
        Effect::Part(set) => set(draft, entry),
        Effect::Unserved { .. } if snippets::is_read(entry, context) => snippets::prove(draft, entry, context),
        Effect::Unserved { harmless, instead, .. } => {
            if asks(entry.value, harmless) {
                unserved(entry, instead, draft);
            }
            Ok(())
        }
    };
    match done {
        Err(refused) => bad_value(entry, &refused, draft),
        Ok(()) => {
            let note = empty_entry(entry.value).filter(|_| row.form.is_list());
            note.into_iter().for_each(|note| draft.find(Reason::InvalidValue, entry.origin(), note));
        }
    }
}

/// Checks the trust that the row needs against the trust in authors of Ingresses.
fn trusted(row: &Row, options: &Options) -> Result<(), Refused> {
    if row.trust == Trust::Low || row.trust <= options.max_trust {
        return Ok(());
    }
    let (needed, most) = (row.trust.name(), options.max_trust.name());
    Err(Refused(format!("it needs the trust {needed}, and the administrator's access.max-trust is {most}").into()))
}

/// Checks the length of a value of any row: lists can have any length, and are read again for each
/// change.
pub(super) fn within(options: &Options, entry: &Entry<'_>, draft: &mut Draft) -> Result<(), Refused> {
    let refused = |has: usize, what: &str, key: &str, most: u64| {
        Err(Refused(format!("{has} {what} are more than the {most} that limits.{key} allows").into()))
    };
    let too_many = |has: usize, most: u64| u64::try_from(has).is_ok_and(|has| has > most);
    let (bytes, most) = (entry.value.len(), options.limits.object.annotation_bytes);
    if too_many(bytes, most) {
        return refused(bytes, "bytes", "object-annotation-bytes", most);
    }
    draft.reading.findings.extend(bounds::ANNOTATION_BYTES.near(bytes, most, || entry.origin()));
    // One element is no list; those before it are in the draft, or were too many.
    let elements = 1 + entry.value.bytes().filter(|byte| *byte == b',').count();
    if elements > 1 {
        let (before, most) = (draft.elements, options.limits.object.list_entries);
        draft.elements += elements;
        if bounds::LIST_ENTRIES.note(before, most).is_none() {
            let near = bounds::LIST_ENTRIES.near(draft.elements, most, || entry.origin());
            draft.reading.findings.extend(near);
        }
        if too_many(draft.elements, most) {
            return refused(draft.elements, "elements in the lists of the object", "object-list-entries", most);
        }
    }
    Ok(())
}

pub(super) fn bad_value(entry: &Entry<'_>, refused: &Refused, draft: &mut Draft) {
    let row = entry.row;
    let value = excerpt(entry.value);
    match row.on_error {
        OnError::Skip => {
            draft.find(Reason::InvalidValue, entry.origin(), format!("{value} is refused: {refused}"));
        }
        OnError::WithholdCors => {
            draft.cors.withheld = true;
            let note = format!("{value} is refused: {refused}; no CORS headers are sent until it is corrected");
            let finding = Finding::new(Reason::InvalidValue, entry.origin(), note);
            draft.report(Finding { severity: Severity::Error, ..finding });
        }
        OnError::WithholdCopies => {
            draft.mirror.is_broken = true;
            let note = format!("{value} is refused: {refused}; no request is mirrored until it is corrected");
            draft.find(Reason::InvalidValue, entry.origin(), note);
        }
        OnError::Close => {
            let note = format!("{value} is refused: {refused}; the routes answer 503 until it is corrected");
            let finding = Finding::new(Reason::InvalidSecurityValue, entry.origin(), note);
            let finding = Finding { severity: Severity::Error, ..finding };
            // Objects that do not use what it belongs to stay open.
            if row.stands_alone && !entry.is_own {
                return draft.common.faults.push(finding);
            }
            draft.host_is_broken |= row.scope == Scope::Server;
            draft.close_for(finding);
        }
        OnError::Refuse => {
            draft.reading.refused = true;
            draft.find(Reason::RefusedValue, entry.origin(), format!("{value} is refused: {refused}"));
        }
    }
}

fn unserved(entry: &Entry<'_>, instead: &str, draft: &mut Draft) {
    match entry.row.on_error {
        // The key is not supported, and charts set it everywhere.
        OnError::Skip if entry.row.compared == Compared::Equal => {
            let finding = Finding::new(entry.unsupported(), entry.origin(), instead);
            draft.report(Finding { severity: Severity::Info, ..finding });
        }
        OnError::Skip | OnError::WithholdCors | OnError::WithholdCopies => {
            draft.find(entry.unsupported(), entry.origin(), instead);
        }
        OnError::Close => {
            let note = format!("{instead}; the routes answer 503, because without this key they would be unprotected");
            draft.close(Reason::ClosedRoute, entry.origin(), note);
        }
        OnError::Refuse => {
            draft.reading.refused = true;
            draft.find(Reason::RefusedValue, entry.origin(), instead);
        }
    }
}
