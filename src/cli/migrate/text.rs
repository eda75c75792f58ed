//! The report of a migration for people: refused items first, and a summary at the end. It must
//! not know how objects are judged.

use anstyle::Style;

use crate::cli::page::{BAD, DOUBTFUL, FAINT, GOOD, STRONG, styled, wrapped};
use ingressd_migrate::{CertificateClash, Equivalence, Ingress, Item, Report};
use ingressd_model::finding::{count, on_one_line};

/// The column of the text, behind the verdict.
const INDENT: usize = 11;

/// The report on lines of this width; with `all` it includes equal items.
pub fn text(report: &Report, all: bool, width: Option<usize>) -> String {
    let mut text = String::new();
    match &report.controller {
        Some((workload, image)) => {
            text += &format!("{} {}\n", styled(STRONG, &on_one_line(workload)), styled(FAINT, &on_one_line(image)));
        }
        None => text += &format!("{}\n", styled(STRONG, "no controller was found")),
    }
    for note in &report.notes {
        text += &format!("{}{}\n", styled(FAINT, "note       "), wrapped(&on_one_line(note), width, INDENT, INDENT));
    }
    text += &section("Flags", &report.flags, all, width);
    if let Some((name, items)) = &report.config_map {
        text += &section(&format!("ConfigMap {}", on_one_line(name)), items, all, width);
    }
    text += &section("TCP and UDP services", &report.streams, all, width);
    text += &section("Other objects", &report.objects, all, width);
    let mut ingresses: Vec<_> = report.ingresses.iter().filter(|one| all || !one.needs_nothing()).collect();
    ingresses.sort_by_key(|ingress| std::cmp::Reverse(ingress.verdict()));
    if !ingresses.is_empty() {
        text += &format!("\n{}\n", styled(STRONG, "Ingresses"));
    }
    ingresses.iter().for_each(|ingress| text += &shown_ingress(ingress, all, width));
    text += &clashes(report, width);
    text += &certificates(report, width);
    text + "\n" + &summary(report, all, width) + "\n"
}

/// Items that need attention, below a heading; empty when there are none.
fn section(heading: &str, items: &[Item], all: bool, width: Option<usize>) -> String {
    let mut items: Vec<_> = items.iter().filter(|item| all || item.needs_something()).collect();
    if items.is_empty() {
        return String::new();
    }
    items.sort_by_key(|item| std::cmp::Reverse(item.verdict));
    let lines: String = items.iter().map(|item| shown(item, 0, width)).collect();
    format!("\n{}\n{lines}", styled(STRONG, heading))
}

fn shown_ingress(ingress: &Ingress, all: bool, width: Option<usize>) -> String {
    let verdict = ingress.verdict();
    let name = on_one_line(&format!("{}/{}", ingress.namespace, ingress.name));
    let at = if ingress.published.is_empty() { String::new() } else { format!(" at {}", ingress.published.join(", ")) };
    let hosts = on_one_line(&format!("{}{at}", ingress.hosts.join(", ")));
    let hosts = wrapped(&hosts, width, INDENT + name.len() + 2, INDENT);
    let mut text = format!("{}  {}  {}\n", word(verdict), styled(STRONG, &name), styled(FAINT, &hosts));
    let items = ingress.items.iter().filter(|item| all || item.needs_something());
    items.for_each(|item| text += &shown(item, 2, width));
    text
}

/// One item: its name, the difference, and what to do.
fn shown(item: &Item, indent: usize, width: Option<usize>) -> String {
    let column = INDENT + indent;
    let blanks = " ".repeat(column);
    let mut name = on_one_line(&item.name);
    if !item.value.is_empty() {
        name += &format!(": {}", shortened(&on_one_line(&item.value)));
    }
    let name = wrapped(&name, width, column, column);
    let mut text = format!("{}{}  {name}\n", " ".repeat(indent), word(item.verdict));
    if !item.becomes.is_empty() {
        text += &format!("{blanks}= {}\n", wrapped(&on_one_line(&item.becomes), width, column + 2, column + 2));
    }
    if !item.why.is_empty() {
        let why = wrapped(&on_one_line(&item.why), width, column, column);
        text += &format!("{blanks}{}\n", styled(FAINT, &why));
    }
    if !item.remedy.is_empty() {
        text += &format!("{blanks}-> {}\n", wrapped(&on_one_line(&item.remedy), width, column + 3, column + 3));
    }
    text
}

/// Shortens a value, which may have any length.
pub(super) fn shortened(value: &str) -> String {
    const LONGEST: usize = 80;
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}

fn clashes(report: &Report, width: Option<usize>) -> String {
    let Some(clashes) = report.clashes.as_ref().filter(|clashes| !clashes.is_empty()) else { return String::new() };
    let lines = clashes.iter().map(|clash| format!("- {}\n", wrapped(&on_one_line(clash), width, 2, 2)));
    format!("\n{}\n{}", styled(STRONG, "Other sites of this host"), lines.collect::<String>())
}

fn certificates(report: &Report, width: Option<usize>) -> String {
    let shown = |clash: &CertificateClash| {
        let line = |text: &str| wrapped(&on_one_line(text), width, 2, 2);
        format!(
            "- {}\n  {}\n  -> {}\n",
            line(&clash.heading()),
            styled(FAINT, &line(&clash.effect())),
            wrapped(clash.remedy(), width, 5, 5)
        )
    };
    let lines: String = report.certificates.iter().map(shown).collect();
    if lines.is_empty() { lines } else { format!("\n{}\n{lines}", styled(STRONG, "Certificates of other sites")) }
}

fn summary(report: &Report, all: bool, width: Option<usize>) -> String {
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let counts = |of: &dyn Fn(Equivalence) -> usize| {
        Equivalence::ALL.map(|verdict| format!("{} {}", of(verdict), verdict.name())).join(", ")
    };
    let ready = match report.ready() {
        0 => "none needs nothing".to_owned(),
        ready => format!(
            "{}{}",
            count(number(ready), "needs nothing", "need nothing"),
            if all { "" } else { " (--all lists them)" }
        ),
    };
    let ingresses = count(number(report.ingresses.len()), "Ingress", "Ingresses");
    let mut lines =
        vec![wrapped(&format!("{ingresses}: {}; {ready}", counts(&|verdict| report.count(verdict))), width, 0, 0)];
    let others = report.of_controller().count();
    if others > 0 {
        let what = count(number(others), "flag, key or service", "flags, keys and services");
        let words = format!("{what}: {}", counts(&|verdict| report.count_of_controller(verdict)));
        lines.push(wrapped(&words, width, 0, 0));
    }
    if report.others > 0 {
        let words = "of other controllers or of no class that is known";
        lines.push(format!("{} {words}", count(number(report.others), "Ingress is", "Ingresses are")));
    }
    if report.unread > 0 {
        let parts = count(number(report.unread), "part", "parts");
        let words = format!("{parts} of what was read could not be understood: this report is incomplete");
        lines.push(wrapped(&words, width, 0, 0));
    }
    if report.clashes.is_none() {
        let words = "other sites were not looked at: run this on a node, where its nginx is";
        lines.push(wrapped(words, width, 0, 0));
    }
    lines.join("\n")
}

pub(super) fn word(verdict: Equivalence) -> String {
    styled(style_of(verdict), &format!("{:9}", verdict.name()))
}

const fn style_of(verdict: Equivalence) -> Style {
    match verdict {
        Equivalence::Refused => BAD,
        Equivalence::Different => DOUBTFUL,
        Equivalence::Stricter => FAINT,
        Equivalence::Equal => GOOD,
    }
}
