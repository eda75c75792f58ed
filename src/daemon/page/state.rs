//! Whether all is well on this node, and what to do where it is not.

use std::time::Instant;

use maud::{Markup, html};

use super::{age, table, text};
use crate::daemon::status::{Status, verdict};
use ingressd_model::finding::{count, on_one_line};

/// The name of this node, where it has one.
pub fn node(status: &Status) -> Option<String> {
    status.outlook.as_ref().map(|outlook| outlook.view().identity.to_string())
}

pub fn section(status: &Status, now: Instant) -> Markup {
    let (needs, tally) = (status.needs(now), status.tally());
    html! {
        section #state aria-labelledby="state-title" {
            h2 #state-title class=(if needs.is_empty() { "well" } else { "error" }) { (verdict(needs.len())) }
            @if !needs.is_empty() {
                ol.troubles { @for need in &needs {
                    li {
                        strong { (text(&need.what)) } " "
                        @match need.section {
                            Some(section) => { a href={ "#" (section) } { (need.remedy) } }
                            None => { (with_code(need.remedy)) }
                        }
                    }
                } }
            }
            p.line { (on_one_line(&status.line(now, &tally))) }
            dl {
                dt { "nginx" }
                dd {
                    (text(&status.nginx_version)) ", "
                    (count(status.workers, "worker", "workers"))
                    @if status.old_workers.draining > 0 { ", " (status.old_workers.draining) " finishing their connections" }
                }
                @if let Some(generation) = status.served { dt { "Generation" } dd { (generation) } }
                @if let Some(age_of_data) = status.data_age(now).filter(|age| age.as_secs() > 0) {
                    dt { "Data" } dd { (age(age_of_data.as_secs())) " old" }
                }
                @if status.is_known() {
                    dt { "Serves" }
                    dd {
                        (count(tally.hosts(), "host", "hosts")) ", "
                        (count(usize::try_from(tally.routes()).unwrap_or(usize::MAX), "route", "routes"))
                    }
                }
            }
            (watches(status, now))
        }
    }
}

/// The watches of the cluster that tell nothing new.
fn watches(status: &Status, now: Instant) -> Markup {
    let failing = status.watches.iter().filter(|watch| watch.failure.is_some());
    let rows: Vec<_> = failing
        .map(|watch| {
            let since = watch.heard.map(|heard| age((now - heard).as_secs()));
            vec![
                html! { (watch.kind.name()) @if let Some(namespace) = &watch.section { " in " (text(namespace)) } },
                html! { (watch.state()) },
                html! { (since.as_deref().unwrap_or("never")) },
                html! { (text(watch.failure.as_deref().unwrap_or_default())) },
            ]
        })
        .collect();
    html! { @if !rows.is_empty() {
        h3 { "Watches that fail" }
        (table(&["Kind", "State", "Last heard", "Why"], &rows))
    } }
}

/// A text whose commands stand between backquotes.
fn with_code(text: &str) -> Markup {
    html! { @for (number, part) in text.split('`').enumerate() {
        @if number % 2 == 1 { code { (part) } } @else { (part) }
    } }
}
