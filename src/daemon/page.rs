//! The status page for browsers. It shows what the daemon knows, and changes nothing.

mod asked;
mod chart;
mod events;
mod explained;
mod findings;
mod generations;
mod hosts;
mod nodes;
mod reasons;
mod state;
mod traffic;

pub use asked::Asked;
pub use events::{Events, follow};
pub use reasons::write as write_reasons;

use std::time::{Instant, SystemTime};

use maud::{DOCTYPE, Markup, html};

use super::metrics::Metrics;
use super::status::Status;
use ingressd_model::finding::printable;

/// What the page loads, all from here: name, type and content.
pub const FILES: [(&str, &str, &str); 3] = [
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/page.svg", "image/svg+xml", include_str!("page/page.svg")),
];

/// What a browser is told about the page and its files: nothing is loaded from elsewhere, nothing
/// that an object contains is executed, and no other site may show or read it.
pub const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The sections, by their anchors.
const SECTIONS: [(&str, &str); 6] = [
    ("findings", "Findings"),
    ("hosts", "Hosts"),
    ("generations", "Generations"),
    ("nodes", "Nodes"),
    ("certificates", "Certificates"),
    ("traffic", "Traffic"),
];

/// The page. It reads files, so it belongs on a blocking thread.
pub fn write(asked: &Asked, status: &Status, metrics: &Metrics, now: Instant) -> String {
    let time = SystemTime::now();
    let content = html! {
        header {
            h1 { "ingressd" @if let Some(node) = state::node(status) { " on " (text(&node)) } }
            nav aria-label="Sections" {
                @for (anchor, title) in SECTIONS { a href={ "#" (anchor) } { (title) } " " }
            }
            form role="search" action="/" method="get" {
                label for="search" { "Search" }
                input #search type="search" name="search" value=(text(asked.search())) maxlength=(asked::LONGEST)
                    placeholder="host, path, object, Service, reason" autocomplete="off";
                button type="submit" { "Search" }
            }
            form action="/" method="get" {
                label for="explain" { "Explain" }
                input #explain type="text" name="explain" value=(text(asked.explain()))
                    placeholder="https://shop.example/cart" autocomplete="off" inputmode="url" spellcheck="false";
                button type="submit" { "Explain" }
            }
            p #lost role="status" hidden { "The daemon does not answer. What you see is what it said last." }
        }
        main {
            (state::section(status, now))
            (explained::section(asked, status, metrics, now))
            (findings::section(asked, status))
            (hosts::section(asked, status))
            (generations::section(status, time))
            (nodes::section(status))
            (nodes::certificates(asked, status, time))
            (traffic::section(asked, metrics))
        }
        footer { "ingressd " (env!("CARGO_PKG_VERSION")) " · " a href="/reasons" { "All reasons for findings" } }
    };
    document("ingressd", &content)
}

/// A whole page with this content.
fn document(title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) }
                link rel="icon" href="/page.svg";
                link rel="stylesheet" href="/page.css";
                script src="/page.js" defer {}
            }
            body { (content) }
        }
    };
    page.into_string()
}

/// A text that others may have written: what controls a terminal or turns the direction of text
/// is written as an escape. maud escapes what HTML knows.
fn text(text: &str) -> String {
    printable(text)
}

/// A table whose cells have the titles of their columns, which narrow screens show beside them.
fn table(columns: &[&str], rows: &[Vec<Markup>]) -> Markup {
    html! {
        table {
            thead { tr { @for column in columns { th scope="col" { (column) } } } }
            tbody {
                @for row in rows {
                    tr { @for (column, cell) in columns.iter().zip(row) { td data-column=(column) { (cell) } } }
                }
            }
        }
    }
}

/// A length of time as people say it.
fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A moment of time, for people and for programs.
fn moment(time: jiff::Timestamp) -> Markup {
    let written = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    html! { time datetime=(written) { (time.strftime("%Y-%m-%d %H:%M:%S UTC")) } }
}
