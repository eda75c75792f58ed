//! What is wrong, with what follows from it and what to do.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::{Asked, table, text};
use crate::daemon::status::Status;
use ingressd_model::finding::{Finding, count};

/// How many findings are shown.
const MOST: usize = 100;

pub fn section(asked: &Asked, status: &Status) -> Markup {
    let all = status.all_findings();
    let mut found: Vec<_> = all.iter().filter(|finding| is_wanted(asked, finding)).collect();
    found.sort_by_key(|finding| Reverse(finding.severity));
    let rows: Vec<_> = found.iter().take(MOST).map(|finding| row(finding)).collect();
    html! {
        section #findings aria-labelledby="findings-title" {
            h2 #findings-title { "Findings" }
            @if rows.is_empty() {
                p { @if all.is_empty() { "Nothing was found." } @else { "None of " (all.len()) " has this." } }
            } @else {
                p { (count(found.len(), "finding", "findings")) ", the worst first" }
                (table(&["Severity", "Object", "What", "Remedy"], &rows))
                @if found.len() > MOST {
                    p.faint { "and " (found.len() - MOST) " more: search for a namespace or a reason" }
                }
            }
        }
    }
}

fn is_wanted(asked: &Asked, finding: &Finding) -> bool {
    let origin = || finding.origin.to_string();
    asked.wants_all() || asked.wants(&[&origin(), finding.reason.row().name, finding.severity.name(), &finding.note])
}

fn row(finding: &Finding) -> Vec<Markup> {
    let row = finding.reason.row();
    vec![
        html! { span class=(finding.severity.name()) { (finding.severity.name()) } },
        html! { (text(&finding.origin.to_string())) },
        html! { (finding.printable_note()) br; span.faint { (finding.effect()) } },
        html! {
            @if let Some(remedy) = row.remedy() { (remedy) " " }
            a href={ "/reasons#" (row.name) } { (row.name) }
        },
    ]
}
