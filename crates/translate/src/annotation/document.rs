//! The documentation of the rows, as a web page and as a manual page.

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::ceiling::Ceiling;
use super::companions;
use super::row::{Family, Gives, Row, Scope};
use super::table::Table;
use crate::Limits;

impl Scope {
    const fn name(self) -> &'static str {
        match self {
            Scope::Server => {
                "host (of several objects, the oldest of the namespace that asked for the host first decides)"
            }
            Scope::Matching => {
                "routes of the object, and in the ingress-nginx dialect the matching of all paths of its namespace on \
                    the host"
            }
            Scope::Route => "routes of the object",
            Scope::Upstream => "connections to the backends",
            Scope::Listener => "listeners, which only the administrator sets",
            Scope::Node => "node, which only the administrator sets",
        }
    }
}

/// Remarks on a row in addition to its own paragraph.
fn remarks(row: &Row) -> String {
    let aliases = match row.aliases {
        [] => String::new(),
        aliases => format!("Other spelling: {}. ", aliases.join(", ")),
    };
    let error = if row.is_served() { row.on_error.sentence() } else { "" };
    let (scope, trust) = (row.scope.name(), row.trust.name());
    let ceiling = match row.ceiling {
        Ceiling::Setting { key, unit, of, .. } => match of(&Limits::default()) {
            0 => format!(" The administrator's `{key}` may set a ceiling; there is none by default."),
            most => format!(
                " At most {} by default: the administrator's `{key}` sets the \
                ceiling.",
                unit.written(most)
            ),
        },
        Ceiling::NoNumber | Ceiling::NotNeeded(_) => String::new(),
    };
    let default = match row.default {
        "" => String::new(),
        default => format!("Default: {default}. "),
    };
    let setting = match row.setting {
        "" => String::new(),
        setting => format!("Without it the administrator's `{setting}` is used. "),
    };
    let alone = match row.counts_with {
        [] => String::new(),
        companions => format!("It has no effect without {}. ", companions::words(companions)),
    };
    let takes = row.form.described().map(|form| format!("Takes {form}. ")).unwrap_or_default();
    format!("{alone}{aliases}{takes}{default}{setting}Concerns the {scope}; trust needed: {trust}. {error}{ceiling}")
        .trim_end()
        .to_owned()
}

fn outcome(gives: Gives) -> (&'static str, &'static str) {
    match gives {
        Gives::Sets(line) => ("gives ", line),
        Gives::Cut(line) => ("is reduced to the ceiling and gives ", line),
        Gives::Near(line) => ("is served in part and gives ", line),
        Gives::Nothing => ("changes nothing", ""),
        Gives::Refused(text) => ("is refused: ... ", text),
        Gives::LeftOut(text) => ("is left out: ... ", text),
    }
}

fn beside(row: &Row) -> String {
    let pairs: Vec<String> = row.beside.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    pairs.join(", ")
}

/// A Markdown summary of how much of the dialect is supported, by family.
pub fn summary(table: &Table) -> String {
    let served = |rows: &[Row]| rows.iter().filter(|row| row.is_served()).count();
    let (all, ours) =
        table.families.iter().fold((0, 0), |(all, ours), family| (all + family.rows.len(), ours + served(family.rows)));
    let mut text = format!(
        "{ours} of the {all} annotations `{}*`\nare served as ingress-nginx does, or more strictly. Each of the \
            others causes a finding\nthat says what to use instead.\n\n| family | served |\n| --- | --- |\n",
        table.prefix
    );
    for family in table.families {
        text.push_str(&format!("| {} | {} of {} |\n", family.title, served(family.rows), family.rows.len()));
    }
    text
}

/// The page `docs/annotations.md`.
pub fn document(table: &Table) -> String {
    let mut text = format!(
        "# Annotations\n\nWith this page you can look up every annotation: what it does, which values it takes, and \
            what happens with a wrong value. Words that the page does not explain are in the \
            [glossary](glossary.md).\n\nPrefix of all keys: `{}`.\n\n",
        table.prefix
    );
    for paragraph in table.introduction {
        text.push_str(&format!("{paragraph}\n\n"));
    }
    text.push_str("| key | family | served |\n| --- | --- | --- |\n");
    for (family, row) in table.families.iter().flat_map(|family| family.rows.iter().map(move |row| (family, row))) {
        let served = if row.is_served() { "yes" } else { "no" };
        text.push_str(&format!("| [{0}](#{0}) | {1} | {served} |\n", row.key, family.title));
    }
    for family in table.families {
        text.push_str(&format!("\n## {}\n", family.title));
        family.rows.iter().for_each(|row| section(&mut text, row));
    }
    text
}

fn section(text: &mut String, row: &Row) {
    text.push_str(&format!("\n### {}\n\n{}\n\n{}\n", row.key, row.documentation, remarks(row)));
    let beside = beside(row);
    let heading = if beside.is_empty() { "value".to_owned() } else { format!("value, beside `{beside}`") };
    text.push_str(&format!("\n| {heading} | outcome |\n| --- | --- |\n"));
    for (value, gives) in row.all_tries() {
        let (verb, what) = outcome(gives);
        let what = if what.is_empty() { String::new() } else { format!("`{}`", cell(what)) };
        text.push_str(&format!("| `{}` | {verb}{what} |\n", cell(value)));
    }
}

/// Text for a table cell, on one line.
fn cell(text: &str) -> String {
    text.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'").replace('|', "\\|")
}

/// The manual page `ingressd-annotations(7)`.
pub fn manual(table: &Table) -> String {
    let mut page = Roff::new();
    page.control("TH", ["ingressd-annotations", "7", "", "ingressd", "Annotations of Ingresses"]);
    page.control("SH", ["NAME"]);
    page.text([roman("ingressd-annotations - what annotations of Ingresses do")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman("Prefix of all keys: "), bold(table.prefix)]);
    for paragraph in table.introduction {
        page.control("PP", []);
        page.text([roman(*paragraph)]);
    }
    for family in table.families {
        chapter(&mut page, family);
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([bold("ingressd"), roman("(1), "), bold("nginx"), roman("(8)")]);
    page.to_roff()
}

fn chapter(page: &mut Roff, family: &Family) {
    page.control("SH", [family.title.to_uppercase().as_str()]);
    for row in family.rows {
        page.control("TP", []);
        page.text([bold(row.key)]);
        page.text([roman(format!("{} {}", row.documentation, remarks(row)))]);
        let beside = beside(row);
        if !beside.is_empty() {
            page.control("IP", []);
            page.text([roman("Beside "), italic(beside), roman(":")]);
        }
        for (value, gives) in row.all_tries() {
            page.control("IP", []);
            page.text(example(value, gives));
        }
    }
}

fn example(value: &str, gives: Gives) -> Vec<Inline> {
    let (verb, what) = outcome(gives);
    let value = value.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'");
    vec![italic(value), roman(format!(" {verb}")), bold(what)]
}
