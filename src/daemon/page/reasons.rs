//! Every reason that a finding can have, for links of the page: it needs no documentation on the
//! reader's machine.

use maud::html;

use super::document;
use ingressd_model::finding::Reason;

/// The page.
pub fn write() -> String {
    let content = html! {
        header { h1 { "Reasons for findings" } p { a href="/" { "To the status page" } } }
        main {
            @for row in Reason::ALL {
                section id=(row.name) {
                    h2 { (row.name) }
                    p { span class=(row.severity.name()) { (row.severity.name()) } ", for the " (row.audience.name()) ": " (row.effect) "." }
                    p { (row.meaning) }
                }
            }
        }
    };
    document("Reasons for findings", &content)
}
