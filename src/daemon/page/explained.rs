//! Why one request is answered as it is, where the reader asks for it.

use std::time::Instant;

use maud::{Markup, html};
use serde_json::Value;

use super::{Asked, table, text};
use crate::daemon::explain::Address;
use crate::daemon::metrics::Metrics;
use crate::daemon::status::{Inquiry, Status};
use ingressd_model::finding::printable;

pub fn section(asked: &Asked, status: &Status, metrics: &Metrics, now: Instant) -> Markup {
    let written = asked.explain();
    html! {
        section #explained aria-labelledby="explained-title" {
            @if !written.is_empty() {
                h2 #explained-title { "Why " code { (text(written)) } " is answered as it is" }
                @match Address::read(written) {
                    None => { p.error { "That is no URL of a request: write it as https://shop.example/cart." } }
                    Some(address) => { (answer(&explained(address, status, metrics, now))) }
                }
            }
        }
    }
}

fn explained(address: Address, status: &Status, metrics: &Metrics, now: Instant) -> Value {
    let mut subject = status.answer(&Inquiry::Request(address), now)["subject"].take();
    metrics.traffic().errors().report_of(&mut subject);
    subject
}

fn answer(answer: &Value) -> Markup {
    if answer.is_null() {
        return html! { p { "Nothing is in force yet: the state above says why." } };
    }
    let route = &answer["route"];
    let options = answer["options"].as_array().map_or(&[][..], Vec::as_slice);
    let (built_in, written): (Vec<_>, Vec<_>) = options.iter().partition(|option| option["is_built_in"] == true);
    html! {
        @if let Some(seconds) = answer["recorded_seconds"].as_u64() {
            p { "This is what an earlier run recorded " (seconds) " s ago." }
        }
        ol {
            @for site in list(&answer["other_sites"]) {
                li {
                    "On " (sockets(site)) " another site of this nginx takes it, at " (shown(&site["from"]))
                    @if site["is_unclear"] == true { ", if its expression " code { (shown(&site["name"])) } " matches" }
                }
            }
            @if !answer["passthrough"].is_null() {
                li {
                    "On " (sockets(&answer["passthrough"])) " it " (shown(&answer["passthrough"]["does"])) ", by "
                    (shown(&answer["passthrough"]["from"])) ": nginx does not decrypt TLS of the host"
                }
            }
            li { "The host " code { (shown(&answer["host"])) } " " (host_is(answer["host_is"].as_str())) }
            @if !route.is_null() {
                @if route["is_of_object"] == true {
                    li { "It is taken by " strong { (shown(&route["from"])) } }
                } @else {
                    li { "It is taken by no path of an Ingress" }
                }
                @if !route["path"].is_null() {
                    li { "The path is " code { (shown(&route["path"]["text"])) } " (" (shown(&route["path"]["type"])) ", compared as "
                        (shown(&route["path"]["compared"])) ")" }
                }
                @if !route["before"].is_null() {
                    li { "It comes before " (shown(&route["before"]["from"])) ", whose path "
                        code { (shown(&route["before"]["path"]["text"])) } " matches too" }
                }
                li { "It " strong { (shown(&route["does"])) } }
                @for why in list(&route["because"]) {
                    li { "because " (shown(&why["field"])) " " (shown(&why["note"])) " ("
                        a href={ "/reasons#" (shown(&why["reason"])) } { (shown(&why["reason"])) } ")" }
                }
                @if let Some(redirect) = route["over_plain_http"].as_str() { li { "Over plain http it " (printable(redirect)) } }
                @if let Some(expression) = route["unless"].as_str() {
                    li { "unless nginx matches the expression " code { (printable(expression)) } ", which is not judged here" }
                }
            }
            @for said in list(&answer["nginx_said"]) {
                li { "nginx said of its Ingress that " (shown(&said["about"])) ", " (said["count"]) " times since "
                    (shown(&said["since"])) ", last at " (shown(&said["last"])) ": " code { (shown(&said["message"])) }
                    @if said["endpoint"] != "" { " " code { (shown(&said["endpoint"])) } } }
            }
        }
        @if !written.is_empty() { (option_table(&written)) }
        @if !built_in.is_empty() {
            details {
                summary { "Options that are as they are built in: " (built_in.len()) }
                (option_table(&built_in))
            }
        }
    }
}

fn option_table(options: &[&Value]) -> Markup {
    let row = |option: &&Value| {
        vec![
            html! { (shown(&option["option"])) },
            html! { code { (shown(&option["counts"]["value"])) } },
            html! { (shown(&option["counts"]["from"])) },
            html! {
                @for before in list(&option["instead_of"]) {
                    code { (shown(&before["value"])) } " from " (shown(&before["from"])) " "
                }
            },
        ]
    };
    table(&["Option", "Value", "From", "Instead of"], &options.iter().map(row).collect::<Vec<_>>())
}

fn host_is(word: Option<&str>) -> &'static str {
    match word {
        Some("served") => "is served",
        Some("reserved") => "is reserved for a namespace that claims it, and nothing is served for it",
        Some("of_other_site") => "is that of another site of this nginx",
        _ => "is that of no Ingress which is served",
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn sockets(value: &Value) -> String {
    list(&value["on"]).iter().map(shown).collect::<Vec<_>>().join(" and ")
}

fn shown(value: &Value) -> String {
    printable(value.as_str().unwrap_or_default())
}
