//! Whether all is well on this node, and what to do where it is not.

use std::time::Instant;

use maud::{Markup, html};

use super::{age, table, text};
use crate::daemon::status::Status;
use crate::publish::Outlook;
use ingressd_model::finding::{Severity, count, on_one_line};

/// Something that is not as it should be, and what to do.
struct Trouble {
    what: String,
    remedy: Markup,
}

/// The name of this node, where it has one.
pub fn node(status: &Status) -> Option<String> {
    status.outlook.as_ref().map(|outlook| outlook.view().identity.to_string())
}

pub fn section(status: &Status, now: Instant) -> Markup {
    let troubles = troubles(status, now);
    html! {
        section #state aria-labelledby="state-title" {
            h2 #state-title class=(if troubles.is_empty() { "well" } else { "error" }) {
                @match troubles.len() {
                    0 => { "All is well" }
                    many => { (count(many, "thing needs", "things need")) " attention" }
                }
            }
            @if !troubles.is_empty() {
                ol.troubles { @for Trouble { what, remedy } in &troubles {
                    li { strong { (text(what)) } " " (remedy) }
                } }
            }
            p.line { (on_one_line(&status.line(now))) }
            dl {
                dt { "nginx" }
                dd {
                    (text(&status.nginx_version)) ", "
                    (count(status.workers, "worker", "workers"))
                    @if status.crowd.draining > 0 { ", " (status.crowd.draining) " finishing their connections" }
                }
                @if let Some(generation) = status.served { dt { "Generation" } dd { (generation) } }
                @if let Some(age_of_data) = status.data_age(now).filter(|age| age.as_secs() > 0) {
                    dt { "Data" } dd { (age(age_of_data.as_secs())) " old" }
                }
                @if status.is_known() {
                    dt { "Serves" }
                    dd {
                        (count(status.hosts(), "host", "hosts")) ", "
                        (count(usize::try_from(status.routes()).unwrap_or(usize::MAX), "route", "routes"))
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

fn troubles(status: &Status, now: Instant) -> Vec<Trouble> {
    let mut found = Vec::new();
    let mut tell = |what: String, remedy: Markup| found.push(Trouble { what, remedy });
    if let Err(why) = status.ready() {
        tell(format!("This node is not ready: {why}."), html! { code { "ingressd doctor" } " finds what keeps it." });
    } else if let Some(why) = &status.why {
        let what = format!("The last change is not served: {}.", on_one_line(why));
        tell(what, html! { "nginx goes on with the generation before; correct what it names." });
    }
    if let Some(note) = status.pinned_note() {
        tell(format!("{note}."), html! { code { "ingressd diff" } " shows what waits." });
    }
    if status.told.drained {
        tell("This node is drained.".to_owned(), html! { code { "ingressd undrain" } " takes it back into service." });
    }
    if let Some(why) = &status.source_failure {
        let what = format!("The source cannot be read: {}.", on_one_line(why));
        tell(what, html! { "What is served stays as it is; " code { "ingressd doctor" } " finds what is in the way." });
    } else if status.data_read.is_none() && status.ready().is_ok() {
        let what =
            "The cluster was not read since the daemon began: this is what an earlier run has served.".to_owned();
        tell(what, html! { code { "ingressd doctor" } " finds what is in the way." });
    } else if status.data_age(now).is_some_and(|age| age.as_secs() > 0) {
        let what = "What the cluster says may be out of date.".to_owned();
        tell(what, html! { "The watches below say why; " code { "ingressd doctor" } " tells what to do." });
    }
    let findings = status.all_findings();
    for (severity, one, many) in [(Severity::Error, "error", "errors"), (Severity::Warning, "warning", "warnings")] {
        let of_it = findings.iter().filter(|finding| finding.severity == severity).count();
        if of_it > 0 {
            let what = format!("{} found in objects and on this node.", count(of_it, one, many));
            tell(what, html! { a href="#findings" { "What and where, and the remedy" } });
        }
    }
    let view = status.outlook.as_ref().map(Outlook::view);
    let absent = view.iter().flat_map(|view| &view.members).filter(|peer| !peer.member.serving).count();
    if absent > 0 {
        let what = format!("{} of the group not serving.", count(absent, "node is", "nodes are"));
        tell(what, html! { a href="#nodes" { "Which" } });
    }
    found
}
