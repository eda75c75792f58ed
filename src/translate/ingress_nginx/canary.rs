//! Alternative backends: not served yet, and never taken for main ones; it must not know which object is the main one.

use crate::translate::annotation::{
    Effect, Family, Gives, OnError, Row, Scope, Trust, always, nothing_to_finish, unless_false,
};

pub static FAMILY: Family = Family {
    title: "Canaries",
    rows: &[
        Row {
            key: "canary",
            scope: Scope::Upstream,
            on_error: OnError::Refuse,
            documentation: "Makes the object the alternative for some requests to the paths of another. Not served \
                yet: the whole object is refused, so that it never takes all requests.",
            tries: &[
                ("true", Gives::Refused("canaries are not served yet")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("canaries are not served yet")),
            ],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "canaries are not served yet, and taking this object for a main one would send it all \
                    requests; delete it or split in the backend",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "canary-by-cookie",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Requests with this cookie go there. Not served yet.",
            tries: &[("canary", Gives::Refused("belongs to canary"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to canary, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "canary-by-header",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Requests with this header go there. Not served yet.",
            tries: &[("X-Canary", Gives::Refused("belongs to canary"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to canary, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "canary-by-header-pattern",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "They must match this expression. Not served yet.",
            tries: &[("a|b", Gives::Refused("belongs to canary"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to canary, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "canary-by-header-value",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "They must have this value. Not served yet.",
            tries: &[("yes", Gives::Refused("belongs to canary"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to canary, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "canary-weight",
            scope: Scope::Upstream,
            documentation: "How many of canary-weight-total requests go there. Not served yet.",
            tries: &[("10", Gives::Refused("belongs to canary"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to canary, which is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "canary-weight-total",
            scope: Scope::Upstream,
            documentation: "The whole, 100 by default. Not served yet.",
            tries: &[("1000", Gives::Refused("belongs to canary"))],
            effect: Effect::Missing { asks: always, instead: "it belongs to canary, which is not served yet" },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
