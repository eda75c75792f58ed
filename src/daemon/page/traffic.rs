//! Requests by Ingress and Service since the daemon began, those with most failures first.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::{Asked, table, text};
use crate::daemon::metrics::Metrics;
use crate::daemon::{Counted, quantile};

/// How many rows are shown.
const MOST: usize = 50;

pub fn section(asked: &Asked, metrics: &Metrics) -> Markup {
    let report = metrics.traffic().report();
    let wants = |one: &&Counted| asked.wants(&[&format!("{}/{}", one.namespace, one.ingress), &one.service]);
    let mut all: Vec<_> = report.objects.iter().filter(wants).collect();
    all.sort_by_key(|one| Reverse((failed(one), requests(one))));
    let rows: Vec<_> = all.iter().take(MOST).map(|one| cells(one, &report.bounds)).collect();
    html! {
        section #traffic aria-labelledby="traffic-title" {
            h2 #traffic-title { "Traffic" }
            @if rows.is_empty() && !report.counts {
                p { "Requests are not counted: " code { "traffic.enabled" } " counts them by Ingress and Service." }
            } @else if rows.is_empty() && asked.wants_all() {
                p { "No request was counted yet." }
            } @else if rows.is_empty() {
                p { "No Ingress or Service with requests has all these words." }
            } @else {
                p { "Requests since the daemon began, those with most failures first" }
                @if report.sampling > 1 { p { "One of " (report.sampling) " requests is read now, because there are many: the numbers are estimates." } }
                (table(&["Ingress", "Service", "Requests", "Answered 5xx", "Half within", "99 of 100 within", "Bytes sent"], &rows))
                @if all.len() > MOST { p.faint { "and " (all.len() - MOST) " more: search for a namespace" } }
            }
        }
    }
}

fn requests(one: &Counted) -> u64 {
    one.requests.iter().sum()
}

/// Those that were answered 5xx.
fn failed(one: &Counted) -> u64 {
    one.requests.last().copied().unwrap_or_default()
}

fn cells(one: &Counted, bounds: &[f64]) -> Vec<Markup> {
    let (requests, failed) = (requests(one), failed(one));
    let within = |share| {
        let time = quantile(&one.duration, bounds, share);
        html! { @if let Some(time) = time { (format!("{:.0} ms", time * 1e3)) } }
    };
    vec![
        html! {
            @if one.ingress.is_empty() && one.namespace.is_empty() { span.faint { "no Ingress" } }
            @else { (text(&one.namespace)) "/" (text(&one.ingress)) }
        },
        html! { (text(&one.service)) },
        html! { (requests) },
        html! {
            @if failed > 0 { span.error { (failed) } } @else { "0" }
            " " meter min="0" max=(requests) value=(failed) { (failed) " of " (requests) }
        },
        within(0.5),
        within(0.99),
        html! { (one.sent) },
    ]
}
