//! The catalogue of nginx directives: contexts, first version, module, form of arguments, and what
//! happens when the host's `http` level sets them. It must not know who asks for one.
//!
//! Gate, rendering, scratch tests, doctor, documentation and tests use these rows. A feature that
//! needs more than one directive is a structured part of [`Behaviour`](super::Behaviour) instead.

mod access;
mod client;
mod context;
mod fastcgi;
mod foreign;
mod form;
mod grpc;
mod main;
mod proxy;
mod response;
mod routing;
mod row;
mod stream;
mod tls;

pub use access::*;
pub use client::*;
pub use context::{Context, Contexts};
pub use foreign::*;
pub use form::Form;
pub use grpc::*;
pub use main::EVENTS;
pub use proxy::*;
pub use response::*;
pub use routing::*;
pub use row::{
    Argument, AskedFor, Directive, DirectiveRow, InTemplate, InTests, Inherited, Instead, Module, OLDEST, Version,
};
pub use stream::STREAM_RANDOM;
pub use tls::*;

use row::rows;

/// Every row, grouped by subject.
pub fn all() -> impl Iterator<Item = &'static DirectiveRow> {
    let files = [
        access::ROWS,
        client::ROWS,
        tls::ROWS,
        response::ROWS,
        proxy::ROWS,
        grpc::ROWS,
        fastcgi::ROWS,
        routing::ROWS,
        foreign::ROWS,
        main::ROWS,
        stream::ROWS,
    ];
    files.into_iter().flatten().copied()
}

/// The row of a directive in a context, if it is known and may stand there.
pub fn find(name: &str, context: Context) -> Option<&'static DirectiveRow> {
    all().find(|row| row.name == name && row.contexts.hold(context))
}

/// The directives that can be set in this way.
pub fn asked_for(by: AskedFor) -> impl Iterator<Item = &'static DirectiveRow> {
    all().filter(move |row| row.asked_for == by)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_has_one_row_in_each_context() {
        for context in Context::ALL {
            let mut seen = BTreeSet::new();
            for row in all().filter(|row| row.contexts.hold(context)) {
                assert!(seen.insert(row.name), "{} is there twice in {context:?}", row.name);
            }
        }
    }

    #[test]
    fn rows_refer_to_rows_and_hold_words_of_their_form() {
        for row in all() {
            let is_known = |name: &&str| all().any(|other| other.name == *name);
            assert!(row.grpc.iter().chain(&row.fastcgi).chain(row.contradicts).all(is_known), "{}", row.name);
            assert!(row.contexts != Contexts::NONE && row.since >= OLDEST, "{}", row.name);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert!(row.default.is_empty() || row.form.fits(&words(row.default), false), "{}", row.name);
            if let Inherited::TakenBack(reset) = row.inherited {
                assert!(row.contexts.hold(Context::Http) && row.contexts.hold(Context::Server), "{}", row.name);
                assert!(!reset.arguments.is_empty(), "{}", row.name);
                let by = reset.by.unwrap_or(row);
                assert!(by.form.fits(&words(reset.arguments), false), "{}: {}", row.name, reset.arguments);
            }
            for other in row.contradicts {
                let other = all().find(|row| row.name == *other).unwrap();
                assert!(other.contradicts.contains(&row.name), "{} and {}", row.name, other.name);
            }
        }
    }

    #[test]
    fn what_is_asked_for_has_a_default_and_stands_in_servers() {
        assert!(asked_for(AskedFor::ByRoute).count() > 10 && asked_for(AskedFor::ByServer).count() > 5);
        for row in all().filter(|row| row.asked_for != AskedFor::Never) {
            assert!(!row.default.is_empty(), "{}", row.name);
            assert!(row.contexts.hold(Context::Server), "{}", row.name);
            let in_locations = row.contexts.hold(Context::Location);
            assert!(in_locations || row.asked_for == AskedFor::ByServer, "{}", row.name);
            assert!(
                !row.is_shared || (row.in_template == InTemplate::Never && row.contradicts.is_empty()),
                "{}",
                row.name
            );
        }
    }
}
