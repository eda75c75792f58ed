//! Requests by Ingress, Service and host since the daemon began, those with most failures first.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::{Asked, chart, table, text};
use crate::daemon::metrics::Metrics;
use crate::daemon::traffic::minute;
use crate::daemon::{Counted, quantile};

/// How many rows of each table are shown.
const MOST: usize = 50;

/// The columns after those that name what is counted.
const COLUMNS: [&str; 6] =
    ["Requests", "Each minute of the last hour", "Answered 5xx", "Half within", "99 of 100 within", "Bytes sent"];

pub fn section(asked: &Asked, metrics: &Metrics) -> Markup {
    let report = metrics.traffic().report();
    let shown = Shown { bounds: &report.bounds, minute: minute() };
    let of_objects = |one: &&Counted| asked.wants(&[&format!("{}/{}", one.namespace, one.ingress), &one.service]);
    let (objects, more_objects) = worst(report.objects.iter().filter(of_objects).collect());
    let (hosts, more_hosts) = worst(report.hosts.iter().filter(|one| asked.wants(&[&one.host])).collect());
    let with = |first: Vec<Markup>, one: &Counted| first.into_iter().chain(shown.cells(one)).collect::<Vec<_>>();
    let object_rows: Vec<_> = objects.iter().map(|one| with(names(one), one)).collect();
    let host_rows: Vec<_> = hosts.iter().map(|one| with(vec![html! { (text(&one.host)) }], one)).collect();
    html! {
        section #traffic aria-labelledby="traffic-title" {
            h2 #traffic-title { "Traffic" }
            @if report.objects.is_empty() && !report.counts {
                p { "Requests are not counted: " code { "traffic.enabled" } " counts them by Ingress and Service." }
            } @else if report.objects.is_empty() {
                p { "No request was counted yet." }
            } @else if object_rows.is_empty() && host_rows.is_empty() {
                p { "Nothing with requests has all these words." }
            } @else {
                p { "Requests since the daemon began, those with most failures first" }
                @if report.sampling > 1 { p { "One of " (report.sampling) " requests is read now, because there are many: the numbers are estimates." } }
                @if !object_rows.is_empty() {
                    h3 { "By Ingress and Service" }
                    (table(&[&["Ingress", "Service"], &COLUMNS[..]].concat(), &object_rows))
                    (more(more_objects, "a namespace"))
                }
                @if !host_rows.is_empty() {
                    h3 { "By host" }
                    (table(&[&["Host"], &COLUMNS[..]].concat(), &host_rows))
                    (more(more_hosts, "a host"))
                }
            }
        }
    }
}

/// Those that are shown, and how many more there are.
fn worst(mut all: Vec<&Counted>) -> (Vec<&Counted>, usize) {
    all.sort_by_key(|one| Reverse((failed(one), requests(one))));
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    (all, more)
}

fn more(number: usize, what: &str) -> Markup {
    html! { @if number > 0 { p.faint { "and " (number) " more: search for " (what) } } }
}

fn names(one: &Counted) -> Vec<Markup> {
    vec![
        html! {
            @if one.ingress.is_empty() && one.namespace.is_empty() { span.faint { "no Ingress" } }
            @else { (text(&one.namespace)) "/" (text(&one.ingress)) }
        },
        html! { (text(&one.service)) },
    ]
}

fn requests(one: &Counted) -> u64 {
    one.requests.iter().sum()
}

/// Those that were answered 5xx.
fn failed(one: &Counted) -> u64 {
    one.requests.last().copied().unwrap_or_default()
}

/// What all rows have in common.
struct Shown<'a> {
    bounds: &'a [f64],
    minute: u64,
}

impl Shown<'_> {
    fn cells(&self, one: &Counted) -> [Markup; COLUMNS.len()] {
        let (requests, failed) = (requests(one), failed(one));
        let within = |share| {
            let time = quantile(&one.duration, self.bounds, share);
            html! { @if let Some(time) = time { (format!("{:.0} ms", time * 1e3)) } }
        };
        [
            html! { (requests) },
            hour(&one.recent.until(self.minute).map(|counts| counts.map(u64::from))),
            html! { @if failed > 0 { span.error { (failed) } } @else { "0" } },
            within(0.5),
            within(0.99),
            html! { (one.sent) },
        ]
    }
}

fn hour(minutes: &[[u64; 2]]) -> Markup {
    let [all, failed] = [0, 1].map(|part: usize| minutes.iter().map(|counts| counts[part]).sum::<u64>());
    let most = minutes.iter().map(|[all, _]| *all).max().unwrap_or_default();
    let words = format!("{all} in the last hour, at most {most} in a minute; {failed} of them answered 5xx");
    chart::bars(&words, minutes)
}
