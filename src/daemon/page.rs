//! The status page for browsers. It shows what the daemon knows, and changes nothing.

mod asked;
mod chart;
mod events;
mod explained;
mod findings;
mod generations;
mod hosts;
mod nodes;
mod parts;
mod reasons;
mod state;
mod traffic;

pub use asked::Asked;
pub use events::{Events, follow};
pub use reasons::write as write_reasons;

use std::time::{Instant, SystemTime};

use maud::html;

use self::parts::{age, document, moment, table, text};
use super::metrics::Metrics;
use super::status::Status;

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
