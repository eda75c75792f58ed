//! What all sections of the page are made of.

use maud::{DOCTYPE, Markup, html};

use ingressd_model::finding::printable;

/// A whole page with this content.
pub fn document(title: &str, content: &Markup) -> String {
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
pub fn text(text: &str) -> String {
    printable(text)
}

/// A table whose cells have the titles of their columns, which narrow screens show beside them.
pub fn table(columns: &[&str], rows: &[Vec<Markup>]) -> Markup {
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
pub fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A moment of time, for people and for programs.
pub fn moment(time: jiff::Timestamp) -> Markup {
    let written = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    html! { time datetime=(written) { (time.strftime("%Y-%m-%d %H:%M:%S UTC")) } }
}
