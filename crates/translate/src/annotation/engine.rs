//! Reads the annotations of one object by the rows of a table.

use super::basis::{Basis, NotedOptions};
use super::companions;
use super::draft::{Context, Draft, Entry};
use super::row::{Compared, Effect, OnError, Row, Scope, Trust, asks};
use super::snippets::{self, ImpliedAnnotation};
use super::table::Table;
use super::value::{empty_entry, excerpt};
use crate::{DefaultValue, Dialect, HostOptions, Options, Reading, bounds};
use ingressd_model::finding::{Finding, Reason, Severity, unknown_key};
use ingressd_model::{Field, Origin, Refused};
use ingressd_objects::{Snapshot, StringMap};

/// The prefix of our own keys; there are some for Services and none for Ingresses yet.
const OWN_PREFIX: &str = "ingressd/";

/// Reads all annotations of one object.
///
/// Mistakes are in the findings of the reading. A bad value does not affect the others, unless the
/// reading is `closed` or `refused`.
pub fn read(context: &Context<'_>, annotations: &StringMap) -> Reading {
    let (mut draft, table) = (Draft::default(), context.table);
    let implied = snippets::read(context, annotations, &mut draft);
    apply_defaults(context, annotations, &implied, &mut draft);
    let mut dependents = Vec::new();
    for implied in &implied {
        let (row, entry) = (implied.row, implied.entry());
        apply(row, &entry, context, &mut draft);
        if !row.counts_with.is_empty() && entry.default.is_none() {
            dependents.push((row, entry));
        }
    }
    // An empty value counts as no annotation.
    let is_set = |key: &str| annotations.get(key).is_some_and(|value| !value.trim().is_empty());
    let mut foreign: Option<(bool, &str)> = None;
    for (key, value) in annotations.iter() {
        let entry = Entry { object: context.object, key, value, default: None };
        if let Some(name) = key.strip_prefix(table.prefix) {
            match table.find(name) {
                Some(row) if row.key != name && is_set(&format!("{}{}", table.prefix, row.key)) => {
                    let note = format!("{} is set as well and is used instead; remove one of them", row.key);
                    draft.find(Reason::UnsupportedAnnotation, entry.origin(), note);
                }
                Some(row) => {
                    let is_snippet = snippets::is_read(row, &entry, context);
                    if !is_snippet {
                        apply(row, &entry, context, &mut draft);
                    }
                    if !row.counts_with.is_empty() && (is_snippet || row.is_served()) && !value.trim().is_empty() {
                        dependents.push((row, entry));
                    }
                }
                None => {
                    let note = match context.options.key_of_config_map(name) {
                        Some(scope) => scope.is_not_for_objects(),
                        None => match table.instead_of(name) {
                            Some(instead) => format!("there is no such key; {instead}"),
                            None => unknown_key(table.prefix, name, table.names()),
                        },
                    };
                    draft.find(Reason::UnknownAnnotation, entry.origin(), note);
                }
            }
        } else if let Some(name) = key.strip_prefix(OWN_PREFIX) {
            let note = match name {
                "endpoints" => "this key is read only on Services; move it there",
                _ => "no key with this prefix is read on an Ingress",
            };
            draft.find(Reason::UnknownAnnotation, entry.origin(), note);
        } else if table.foreign.iter().any(|prefix| key.starts_with(prefix)) {
            foreign = foreign.or(Some((false, key)));
        } else if let Some(row) = table.mistaken(key)
            && !companions::spellings(row, table).any(|key| is_set(&key))
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
        draft.find(Reason::UnsupportedAnnotation, Origin::field(context.object, Field::Object), note);
    }
    companions::tell(&dependents, context, annotations, &implied, &mut draft);
    for family in table.families {
        (family.finish)(&mut draft, context);
    }
    // About whole hosts the main object of a canary decides.
    if draft.reading.canary.is_some() {
        companions::tell_of_canary(context, annotations, &mut draft);
        draft.reading.host = HostOptions::default();
    }
    let Reading { behaviour, closed, authentication, .. } = &mut draft.reading;
    let asks = behaviour.basic_authentication.is_some() || authentication.is_some();
    let is_protected = *closed || behaviour.access.is_some() || behaviour.firewall.is_some() || asks;
    behaviour.strict_paths = is_protected && context.dialect.has_strict_paths(context.options.strict_paths());
    draft.reading.behaviour.directives.sort_by_key(|directive| directive.row.name);
    draft.reading.host.directives.sort_by_key(|directive| directive.row.name);
    draft.reading
}

/// The same, with what the reading depends on besides the object. The context must be unused.
pub fn read_with_basis(context: &Context<'_>, annotations: &StringMap) -> (Reading, Basis) {
    let reading = read(context, annotations);
    (reading, Basis::of(context.table, annotations, context.options))
}

/// Applies the administrator's defaults for objects that have no value themselves.
fn apply_defaults(
    context: &Context<'_>,
    annotations: &StringMap,
    implied: &[ImpliedAnnotation<'_>],
    draft: &mut Draft,
) {
    for default in context.options.defaults() {
        let Some(row) = context.table.find(default.key) else { continue };
        if row.snippet.is_some() || implied.iter().any(|implied| implied.row.key == row.key) {
            continue;
        }
        let own = |name: &str| annotations.get(&format!("{}{name}", context.table.prefix));
        let mut names = std::iter::once(row.key).chain(row.aliases.iter().copied());
        let is_overridden = names.any(|name| own(name).is_some_and(|value| !value.trim().is_empty()));
        if !is_overridden || row.stands_alone {
            let origin = Some(&default.origin);
            let entry = Entry { object: context.object, key: default.key, value: &default.value, default: origin };
            apply(row, &entry, context, draft);
        }
    }
}

/// Checks whether a default can be used: the result has its faults, and whether it protects
/// something.
pub fn judge(table: &'static Table, dialect: &'static Dialect, default: &DefaultValue, under: &Options) -> Reading {
    let Options { limits, lookup_tables, .. } = under.clone();
    let options = Options { defaults: [default.clone()].into(), limits, lookup_tables, ..Options::default() };
    let (object, snapshot) = (&default.origin.object, &Snapshot::default());
    let options = &NotedOptions::new(&options);
    let context = Context { object, namespace: &object.namespace, dialect, table, snapshot, options };
    read(&context, &StringMap::default())
}

pub(super) fn apply(row: &'static Row, entry: &Entry<'_>, context: &Context<'_>, draft: &mut Draft) {
    if entry.value.trim().is_empty() {
        let severity = match row.on_error {
            // The default was meant to protect something.
            OnError::Close => Severity::Warning,
            _ => Severity::Info,
        };
        let note = "the value is empty, which is the same as no annotation";
        draft.reading.findings.push(Finding { severity, ..Finding::new(Reason::InvalidValue, entry.origin(), note) });
        return;
    }
    let cut = context.options.instead_of(row, entry.value);
    if let Some((instead, setting)) = &cut {
        draft.above_ceiling(entry.origin(), &excerpt(entry.value), instead, setting);
    }
    let entry = &Entry { value: cut.as_ref().map_or(entry.value, |(instead, _)| instead), ..*entry };
    let mut allowed = || trusted(row, context.options).and_then(|()| within(context.options, entry, draft));
    let done = match row.effect {
        _ if !row.scope.is_of_objects() => Err(Refused(row.scope.is_not_for_objects().into())),
        // Defaults are the administrator's, and trusted.
        _ if row.is_served()
            && entry.default.is_none()
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
        Effect::Unserved { .. } if snippets::is_read(row, entry, context) => {
            snippets::prove(row, draft, entry, context)
        }
        Effect::Unserved { harmless, instead, .. } => {
            if asks(entry.value, harmless) {
                unserved(row, entry, instead, draft);
            }
            Ok(())
        }
    };
    match done {
        Err(refused) => bad_value(row, entry, &refused, draft),
        Ok(()) => {
            let note = empty_entry(entry.value).filter(|_| row.form.is_list());
            note.into_iter().for_each(|note| draft.find(Reason::InvalidValue, entry.origin(), note));
        }
    }
}

/// Checks the trust that the row needs against the trust in authors of Ingresses.
fn trusted(row: &Row, options: &NotedOptions<'_>) -> Result<(), Refused> {
    if row.trust == Trust::Low || row.trust <= options.max_trust() {
        return Ok(());
    }
    let (needed, most) = (row.trust.name(), options.max_trust().name());
    Err(Refused(format!("it needs the trust {needed}, and the administrator's access.max-trust is {most}").into()))
}

/// Checks the length of a value of any row: lists can have any length, and are read again for each
/// change.
pub(super) fn within(options: &NotedOptions<'_>, entry: &Entry<'_>, draft: &mut Draft) -> Result<(), Refused> {
    let refused = |has: usize, what: &str, key: &str, most: u64| {
        Err(Refused(format!("{has} {what} are more than the {most} that limits.{key} allows").into()))
    };
    let too_many = |has: usize, most: u64| u64::try_from(has).is_ok_and(|has| has > most);
    let (bytes, most) = (entry.value.len(), options.annotation_bytes());
    if too_many(bytes, most) {
        return refused(bytes, "bytes", "object-annotation-bytes", most);
    }
    draft.reading.findings.extend(bounds::ANNOTATION_BYTES.near(bytes, most, || entry.origin()));
    // One element is no list; those before it are in the draft, or were too many.
    let elements = 1 + entry.value.bytes().filter(|byte| *byte == b',').count();
    if elements > 1 {
        let (before, most) = (draft.elements, options.list_entries());
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

pub(super) fn bad_value(row: &Row, entry: &Entry<'_>, refused: &Refused, draft: &mut Draft) {
    let value = excerpt(entry.value);
    match row.on_error {
        OnError::Skip => {
            draft.find(Reason::InvalidValue, entry.origin(), format!("{value} is refused: {refused}"));
        }
        OnError::WithholdCors => {
            draft.cors.withheld = true;
            let note = format!("{value} is refused: {refused}; no CORS headers are sent until it is corrected");
            let finding = Finding::new(Reason::InvalidValue, entry.origin(), note);
            draft.reading.findings.push(Finding { severity: Severity::Error, ..finding });
        }
        OnError::WithholdCopies => {
            draft.mirror.is_broken = true;
            let note = format!("{value} is refused: {refused}; no request is mirrored until it is corrected");
            draft.find(Reason::InvalidValue, entry.origin(), note);
        }
        OnError::Close => {
            let note = format!("{value} is refused: {refused}; the routes answer 503 until it is corrected");
            draft.host_is_broken |= row.scope == Scope::Server;
            draft.close(Reason::InvalidSecurityValue, entry.origin(), note);
        }
        OnError::Refuse => {
            draft.reading.refused = true;
            draft.find(Reason::RefusedValue, entry.origin(), format!("{value} is refused: {refused}"));
        }
    }
}

fn unserved(row: &Row, entry: &Entry<'_>, instead: &str, draft: &mut Draft) {
    match row.on_error {
        // The key is not supported, and charts set it everywhere.
        OnError::Skip if row.compared == Compared::Equal => {
            let finding = Finding::new(Reason::UnsupportedAnnotation, entry.origin(), instead);
            draft.reading.findings.push(Finding { severity: Severity::Info, ..finding });
        }
        OnError::Skip | OnError::WithholdCors | OnError::WithholdCopies => {
            draft.find(Reason::UnsupportedAnnotation, entry.origin(), instead);
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
