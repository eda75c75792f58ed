//! The checks of the policies on annotations and paths, generated from the rows of the table.

use std::collections::BTreeMap;

use super::check::{Check, Submitted};
use super::expression::{self, Abilities};
use crate::annotation::{
    ANYTHING, Companion, Effect, Form, Gives, OnError, Row, SOMETHING, Shape, Table, Trust, asks, asks_for_nothing,
    fits, words,
};
use crate::{Limits, Options};
use ingressd_model::{Field, LONGEST};

/// The prefix of our own keys, none of which is for Ingresses.
const OWN_PREFIX: &str = "ingressd/";

/// The form of a path, in addition to the checks of every API server.
const PATH: Shape = Shape {
    name: "a path without control characters",
    pattern: r"[^\x00-\x1f\x7f-\x{9f}\x{2028}\x{2029}]*",
    longest: LONGEST,
    verbatim: true,
    ..Shape::DEFAULT
};

fn annotation(key: &str) -> Field {
    Field::Annotation(key.to_owned().into())
}

/// Every spelling of a row's key, with the prefix. A spelling comes with the one that takes
/// precedence over it.
fn spellings(row: &Row, table: &Table) -> Vec<(String, Option<String>)> {
    let full = |name: &str| format!("{}{name}", table.prefix);
    let aliases = row.aliases.iter().map(|alias| (full(alias), Some(full(row.key))));
    std::iter::once((full(row.key), None)).chain(aliases).collect()
}

/// A check of one annotation by an expression about its value `v`, which is not empty.
fn of_value<'a>(
    (key, winner): (String, Option<String>),
    expression: &str,
    message: String,
    is_wrong: impl Fn(&str) -> bool + 'a,
) -> Check<'a> {
    let named = expression::text(&key);
    let set = |key: &str| format!("({key} in variables.annotations && variables.annotations[{key}].trim() != '')");
    let loses = winner.as_deref().map(|winner| format!("{} || ", set(&expression::text(winner))));
    let expression = format!(
        "{}!({named} in variables.annotations) || [variables.annotations[{named}]].all(v, v.trim() == '' || ({expression}))",
        loses.unwrap_or_default()
    );
    let wrong = move |submitted: &Submitted<'_>| {
        let loses = winner.as_deref().is_some_and(|winner| submitted.value(winner).is_some());
        let value = submitted.value(&key).filter(|value| !loses && is_wrong(value));
        value.map(|_| annotation(&key)).into_iter().collect()
    };
    Check { expression, message, naming: None, wrong: Box::new(wrong) }
}

/// Checks the form and the length of each value.
pub fn values(table: &'static Table, options: &Options, abilities: Abilities) -> Vec<Check<'static>> {
    let mut checks = vec![lengths(table, &options.limits)];
    for row in table.rows().filter(|row| row.is_served()) {
        let form = row.form(&options.limits);
        let (Some(expression), Some(described)) = (expression::form(&form, "v", abilities), form.described()) else {
            continue;
        };
        for spelling in spellings(row, table) {
            let message = format!("{} takes {described}", spelling.0);
            checks.push(of_value(spelling, &expression, message, move |value| !accepts(&form, value, abilities)));
        }
    }
    // A value that is allowed in some namespaces only is left to the parser.
    let protects =
        |row: &Row| matches!(row.on_error, OnError::Close | OnError::Refuse) && !row.is_allowed_somewhere(options);
    checks.into_iter().chain(not_served(table, protects)).collect()
}

/// Whether a value has the form. For an API server that cannot parse addresses, this follows the
/// server's weaker check.
fn accepts(form: &Form, value: &str, abilities: Abilities) -> bool {
    match form {
        Form::Addresses if !abilities.networks => {
            let is_part =
                |letter: char| letter.is_ascii_hexdigit() || ":./,".contains(letter) || letter.is_whitespace();
            value.chars().all(is_part)
        }
        form => form.accepts(value),
    }
}

/// Checks that no effective annotation is longer than the administrator allows.
fn lengths(table: &'static Table, limits: &Limits) -> Check<'static> {
    let most = limits.object.annotation_bytes;
    let too_long = move |value: &str| u64::try_from(value.len()).is_ok_and(|length| length > most);
    let prefix = expression::text(table.prefix);
    Check {
        expression: format!(
            "variables.annotations.all(k, !k.startsWith({prefix}) || size(bytes(variables.annotations[k])) <= {most})"
        ),
        message: format!("annotations with the prefix {} take at most {most} bytes", table.prefix),
        naming: None,
        wrong: Box::new(move |submitted| {
            let ours = submitted.object.annotations.iter().filter(|(key, _)| key.starts_with(table.prefix));
            ours.filter(|(_, value)| too_long(value)).map(|(key, _)| annotation(key)).collect()
        }),
    }
}

/// Checks for keys that are known but not supported, where they ask for something that does not
/// happen anyway.
pub fn not_served(table: &'static Table, which: impl Fn(&Row) -> bool) -> Vec<Check<'static>> {
    let mut checks = Vec::new();
    for row in table.rows().filter(|row| which(row)) {
        let Effect::Unserved { harmless, instead, .. } = row.effect else { continue };
        let booleans: Vec<_> = expression::BOOLEANS.into_iter().filter(|word| !asks(word, harmless)).collect();
        let nothing = match harmless {
            "" => "false".to_owned(),
            harmless if booleans.is_empty() => format!("v.trim() == {}", expression::text(harmless)),
            _ => format!("v.trim() in {}", expression::list(booleans)),
        };
        for spelling in spellings(row, table) {
            let message = format!("{}: {instead}", spelling.0);
            checks.push(of_value(spelling, &nothing, message, move |value| asks(value, harmless)));
        }
    }
    checks
}

/// Checks for keys without effect, because the object has none of the keys that they depend on.
pub fn alone(table: &'static Table, options: &Options) -> Vec<Check<'static>> {
    let mut groups: BTreeMap<&'static [Companion], Vec<&'static Row>> = BTreeMap::new();
    for row in table.rows().filter(|row| row.is_served() && !row.counts_with.is_empty()) {
        groups.entry(row.counts_with).or_default().push(row);
    }
    // Values that the administrator sets for all objects, or that snippets may set, exist for each
    // object.
    let is_said = |(key, _): &Companion| options.defaults.iter().any(|option| option.row.key == *key);
    groups.retain(|companions, _| !companions.iter().any(is_said));
    let snippets = table.rows().any(|row| row.is_allowed_somewhere(options));
    groups.into_iter().filter(|_| !snippets).map(|(companions, rows)| without(table, companions, rows)).collect()
}

/// Checks that none of these rows has an effective value without one of the annotations that they
/// depend on.
fn without(table: &'static Table, companions: &'static [Companion], rows: Vec<&'static Row>) -> Check<'static> {
    let keys: Vec<(String, &Row)> =
        rows.iter().flat_map(|row| spellings(row, table).into_iter().map(move |(key, _)| (key, *row))).collect();
    let idle = keys.iter().map(|(key, row)| format!("{}: {}", expression::text(key), expression::list(harmless(row))));
    let idle = format!("{{{}}}", idle.collect::<Vec<_>>().join(", "));
    let has = |key: &str, is: &str| {
        let key = expression::text(key);
        format!("({key} in variables.annotations && [variables.annotations[{key}].trim()].all(w, w != '' && {is}))")
    };
    let companions: Vec<(String, &Row, &str)> = companions
        .iter()
        .filter_map(|(key, wanted)| Some((table.find(key)?, *wanted)))
        .flat_map(|(row, wanted)| spellings(row, table).into_iter().map(move |(key, _)| (key, row, wanted)))
        .collect();
    let there = companions.iter().map(|(key, row, wanted)| match *wanted {
        ANYTHING => has(key, "true"),
        SOMETHING => has(key, &format!("!(w in {})", expression::list(harmless(row)))),
        wanted => has(key, &format!("w.lowerAscii() in {}", expression::list(same(wanted).iter().map(String::as_str)))),
    });
    let there = there.collect::<Vec<_>>().join(" || ");
    let set = "k in variables.annotations && variables.annotations[k].trim() != '' && !(variables.annotations[k].trim() in i[k])";
    let fault = format!("it has no effect without {}", words(rows.first().map_or(&[], |row| row.counts_with)));
    Check {
        expression: format!("{there} || [{idle}].all(i, !i.exists(k, {set}))"),
        naming: Some(format!(
            "[{idle}].map(i, i.filter(k, {set}).join(', '))[0] + {}",
            expression::text(&format!(": {fault}"))
        )),
        message: fault,
        wrong: Box::new(move |submitted| {
            let is_there = companions.iter().any(|(key, row, wanted)| {
                submitted.value(key).is_some_and(|value| match *wanted {
                    ANYTHING | SOMETHING => fits(row, value, wanted),
                    wanted => same(wanted).contains(&value.trim().to_ascii_lowercase()),
                })
            });
            let set = keys.iter().filter(|(key, row)| {
                !is_there && submitted.value(key).is_some_and(|value| !asks_for_nothing(row, value))
            });
            set.map(|(key, _)| annotation(key)).collect()
        }),
    }
}

/// The values of a row that have no effect.
fn harmless(row: &'static Row) -> impl Iterator<Item = &'static str> {
    let nothing = row.tries.iter().filter(|(_, gives)| matches!(gives, Gives::Nothing));
    nothing.flat_map(|(value, _)| {
        let booleans = expression::BOOLEANS.into_iter().filter(move |word| word != value && !asks(word, value));
        std::iter::once(*value).chain(booleans)
    })
}

/// How a word may be written, in lower case.
fn same(wanted: &str) -> Vec<String> {
    let booleans = expression::BOOLEANS.into_iter().filter(|word| *word != wanted && !asks(word, wanted));
    std::iter::once(wanted).chain(booleans).map(str::to_ascii_lowercase).collect()
}

/// Checks for keys that need more trust than the administrator grants.
pub fn trust(table: &'static Table, most: Trust) -> Vec<Check<'static>> {
    let served = |trust: Trust| table.rows().filter(move |row| row.is_served() && row.trust == trust);
    let checks = Trust::ALL.into_iter().filter(|trust| *trust > most).filter_map(|trust| {
        let keys: Vec<String> = served(trust).flat_map(|row| spellings(row, table)).map(|(key, _)| key).collect();
        let named = expression::list(keys.iter().map(String::as_str));
        let fault =
            format!("it needs the trust {}, and the administrator's access.max-trust is {}", trust.name(), most.name());
        let set = "k in variables.annotations && variables.annotations[k].trim() != ''";
        (!keys.is_empty()).then(|| Check {
            expression: format!("!{named}.exists(k, {set})"),
            message: fault.clone(),
            naming: Some(format!("{named}.filter(k, {set}).join(', ') + {}", expression::text(&format!(": {fault}")))),
            wrong: Box::new(move |submitted| {
                keys.iter().filter(|key| submitted.value(key).is_some()).map(|key| annotation(key)).collect()
            }),
        })
    });
    checks.collect()
}

/// Checks for unknown keys with our prefixes.
pub fn unknown(table: &'static Table) -> Vec<Check<'static>> {
    let (prefix, own) = (expression::text(table.prefix), expression::text(OWN_PREFIX));
    let unknown = format!("k.startsWith({own}) || (k.startsWith({prefix}) && !(k in variables.known))");
    vec![Check {
        expression: format!("!variables.annotations.exists(k, {unknown})"),
        message: "there is no such annotation".to_owned(),
        naming: Some(format!(
            "variables.annotations.filter(k, {unknown}).join(', ') + ': there is no such annotation'"
        )),
        wrong: Box::new(move |submitted| {
            let is_unknown = |key: &&str| match key.strip_prefix(table.prefix) {
                Some(name) => table.find(name).is_none(),
                None => key.starts_with(OWN_PREFIX),
            };
            submitted.object.annotations.iter().map(|(key, _)| key).filter(is_unknown).map(annotation).collect()
        }),
    }]
}

/// The known keys with their prefix, in order.
pub fn known(table: &Table) -> String {
    let mut known: Vec<String> = table.names().map(|name| format!("{}{name}", table.prefix)).collect();
    known.sort_unstable();
    expression::list(known.iter().map(String::as_str))
}

/// Checks for the characters of paths.
pub fn paths() -> Vec<Check<'static>> {
    let fits = expression::fits(&PATH, "p.path");
    let of_rule = format!("!has(r.http) || r.http.paths.all(p, !has(p.path) || ({fits}))");
    vec![Check {
        expression: format!("!has(object.spec.rules) || object.spec.rules.all(r, {of_rule})"),
        message: format!("a path is text without control characters, of at most {LONGEST} characters"),
        naming: None,
        wrong: Box::new(|submitted| {
            let rules = (0..).zip(&submitted.object.rules);
            let paths = rules
                .flat_map(|(rule, entry)| entry.paths.iter().enumerate().map(move |(path, entry)| (rule, path, entry)));
            let wrong =
                paths.filter(|(.., entry)| entry.path.as_deref().is_some_and(|path| !Form::Text(&PATH).accepts(path)));
            wrong.map(|(rule, path, _)| Field::Path(rule, crate::position(path), "path")).collect()
        }),
    }]
}
