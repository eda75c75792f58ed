//! Settings of a whole host: not served yet; it must not know the host.

use crate::translate::annotation::{
    Effect, Family, Gives, OnError, Row, Scope, Trust, always, nothing_to_finish, unless_false,
};

pub static FAMILY: Family = Family {
    title: "Hosts",
    rows: &[
        Row {
            key: "server-alias",
            scope: Scope::Server,
            trust: Trust::High,
            documentation: "Further names of the host. Not served yet.",
            tries: &[("www.example.com", Gives::Refused("add a rule for each name"))],
            effect: Effect::Missing { asks: always, instead: "not served yet; add a rule for each name" },
            ..Row::DEFAULT
        },
        Row {
            key: "ssl-ciphers",
            scope: Scope::Server,
            documentation: "Ciphers of the host. Not served yet: the nginx.conf of this node decides.",
            tries: &[("HIGH", Gives::Refused("nginx.conf"))],
            effect: Effect::Missing { asks: always, instead: "not served yet; the nginx.conf of the node decides" },
            ..Row::DEFAULT
        },
        Row {
            key: "ssl-passthrough",
            scope: Scope::Server,
            on_error: OnError::Refuse,
            documentation: "Passes TLS on to the backend unopened. Not served yet: the whole object is refused, \
                because opening TLS here would mean something else.",
            tries: &[("true", Gives::Refused("not served yet")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "passing TLS on unopened is not served yet, and opening it here would mean something else; \
                    remove it to let TLS end here",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "ssl-prefer-server-ciphers",
            scope: Scope::Server,
            documentation: "Prefers the order of the server's ciphers. Not served yet: the nginx.conf of this node \
                decides.",
            tries: &[("true", Gives::Refused("nginx.conf"))],
            effect: Effect::Missing { asks: always, instead: "not served yet; the nginx.conf of the node decides" },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
