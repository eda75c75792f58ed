//! Requests by Ingress and Service since the daemon began, those with most failures first.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::{Asked, table, text};
use crate::daemon::metrics::Metrics;

/// How many rows are shown.
const MOST: usize = 50;

pub fn section(asked: &Asked, metrics: &Metrics) -> Markup {
    let mut totals = metrics.traffic().totals();
    totals.retain(|total| asked.wants(&[&format!("{}/{}", total.namespace, total.ingress), &total.service]));
    totals.sort_by_key(|total| Reverse((total.failed, total.requests)));
    let rows: Vec<_> = totals
        .iter()
        .take(MOST)
        .map(|total| {
            vec![
                html! {
                    @if total.ingress.is_empty() && total.namespace.is_empty() { span.faint { "no Ingress" } }
                    @else { (text(&total.namespace)) "/" (text(&total.ingress)) }
                },
                html! { (text(&total.service)) },
                html! { (total.requests) },
                html! {
                    @if total.failed > 0 { span.error { (total.failed) } } @else { "0" }
                    " " meter min="0" max=(total.requests) value=(total.failed) { (total.failed) " of " (total.requests) }
                },
                html! { (format!("{:.0} ms", total.mean.as_secs_f64() * 1e3)) },
                html! { (total.sent) },
            ]
        })
        .collect();
    html! {
        section #traffic aria-labelledby="traffic-title" {
            h2 #traffic-title { "Traffic" }
            @if rows.is_empty() {
                p { "No request was counted: " code { "traffic.enabled" } " counts them by Ingress and Service." }
            } @else {
                p { "Requests since the daemon began, those with most failures first" }
                (table(&["Ingress", "Service", "Requests", "Answered 5xx", "Mean time", "Bytes sent"], &rows))
                @if totals.len() > MOST { p.faint { "and " (totals.len() - MOST) " more: search for a namespace" } }
            }
        }
    }
}
