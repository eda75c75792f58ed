//! The report as one self-contained HTML page, without scripts or other files.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::item::{Equivalence, Item};
use super::report::{Ingress, Report};
use ingressd_model::finding::printable;

/// Colours for light and dark; the words say the same.
const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --faint: #888;
  --equal: #2e7d32; --stricter: #1565c0; --different: #b26a00; --refused: #c62828; }
@media (prefers-color-scheme: dark) { :root { --equal: #81c784; --stricter: #90caf9; --different: #ffb74d; --refused: #ef9a9a; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { color: var(--faint); font-weight: normal; }
col.verdict { width: 6rem; } col.name { width: 30%; }
code { font: .9em ui-monospace, monospace; white-space: pre-wrap; }
.counts { display: flex; flex-wrap: wrap; gap: .6rem; padding: 0; list-style: none; }
.counts li { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .9rem; }
.counts b { display: block; font-size: 1.5rem; line-height: 1.2; }
.equal { color: var(--equal); } .stricter { color: var(--stricter); }
.different { color: var(--different); } .refused { color: var(--refused); }
.faint { color: var(--faint); }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; } details table { margin: .3rem 0 .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
";

pub fn page(report: &Report) -> String {
    let title = "From ingress-nginx to ingressd";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Nothing is loaded or executed, whatever an object contains.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                (summary(report))
                (notes(report))
                (ingresses(report))
                @if let Some((name, items)) = &report.config_map {
                    h2 { "ConfigMap " (name) }
                    (table(items))
                }
                @if !report.flags.is_empty() {
                    h2 { "Flags" }
                    (table(&report.flags))
                }
                @if !report.streams.is_empty() {
                    h2 { "TCP and UDP services" }
                    (table(&report.streams))
                }
                @if !report.objects.is_empty() {
                    h2 { "Other objects" }
                    (table(&report.objects))
                }
                (clashes(report))
            }
        }
    };
    let is_space = |character: char| matches!(character, '\n' | '\t');
    let shown =
        |character: char| if is_space(character) { character.into() } else { printable(&character.to_string()) };
    // The page may be shown on a terminal, and has what others wrote.
    page.into_string().chars().map(shown).collect()
}

fn summary(report: &Report) -> Markup {
    html! {
        @match &report.controller {
            Some((workload, image)) => p { (workload) " " span.faint { (image) } },
            None => p.faint { "No controller was found." },
        }
        p {
            strong { (report.ready()) " of " (report.ingresses.len()) " Ingresses need nothing." }
            @if report.others > 0 { " Of other controllers, or of unknown classes: " (report.others) "." }
        }
        @if report.unread > 0 {
            p.refused { (report.unread) " of the parts that were read could not be understood: this is not about all." }
        }
        ul.counts {
            @for verdict in Equivalence::ALL {
                li class=(verdict.name()) { b { (report.count(verdict)) } (verdict.name()) }
            }
        }
    }
}

fn notes(report: &Report) -> Markup {
    html! {
        @if !report.notes.is_empty() {
            ul { @for note in &report.notes { li { (note) } } }
        }
    }
}

/// Ingresses that need attention are expanded and stand first.
fn ingresses(report: &Report) -> Markup {
    let (needy, ready): (Vec<_>, Vec<_>) = report.ingresses.iter().partition(|ingress| !ingress.needs_nothing());
    html! {
        h2 { "Ingresses" }
        @for ingress in needy { (ingress_of(ingress, true)) }
        @for ingress in ready { (ingress_of(ingress, false)) }
    }
}

fn ingress_of(ingress: &Ingress, open: bool) -> Markup {
    html! {
        details open[open] {
            summary {
                span class=(ingress.verdict().name()) { (ingress.verdict().name()) }
                " " strong { (ingress.namespace) "/" (ingress.name) }
                " " span.faint { (ingress.hosts.join(", ")) }
                @if !ingress.published.is_empty() { span.faint { " at " (ingress.published.join(", ")) } }
            }
            @if ingress.items.is_empty() { p.faint { "It has no annotations of ingress-nginx." } }
            @else { (table(&ingress.items)) }
        }
    }
}

fn table(items: &[Item]) -> Markup {
    html! {
        table {
            colgroup { col.verdict; col.name; col; }
            thead { tr { th { "effect" } th { "what" } th { "why, and what to do" } } }
            tbody { @for item in items { (row(item)) } }
        }
    }
}

fn row(item: &Item) -> Markup {
    html! {
        tr {
            td class=(item.verdict.name()) { (item.verdict.name()) }
            td {
                strong { (item.name) }
                @if !item.value.is_empty() { br; code { (item.value) } }
            }
            td {
                @if !item.becomes.is_empty() { div { code { (item.becomes) } } }
                @if !item.why.is_empty() { div.faint { (item.why) } }
                @if !item.remedy.is_empty() { div { "→ " (item.remedy) } }
            }
        }
    }
}

fn clashes(report: &Report) -> Markup {
    html! {
        h2 { "Other sites of this host" }
        @match &report.clashes {
            None => p.faint { "This report was not made on a node: run it there to see conflicts with other sites." },
            Some(clashes) if clashes.is_empty() => p { "There are no conflicts." },
            Some(clashes) => ul { @for clash in clashes { li { (clash) } } },
        }
        @if !report.certificates.is_empty() {
            h2 { "Certificates of other sites" }
            ul {
                @for clash in &report.certificates {
                    li {
                        (clash.heading())
                        div.faint { (clash.effect()) }
                        div { "→ " (clash.remedy()) }
                    }
                }
            }
        }
    }
}
