//! A firewall for requests: not served yet, and closed rather than left out; it must not know its rules.

use crate::translate::annotation::{
    Effect, Family, Gives, OnError, Row, Trust, always, nothing_to_finish, unless_false,
};

pub static FAMILY: Family = Family {
    title: "Web application firewall",
    rows: &[
        Row {
            key: "enable-modsecurity",
            on_error: OnError::Close,
            documentation: "Checks requests by ModSecurity. Not served yet; because the routes would be open without \
                it, true closes them.",
            tries: &[("true", Gives::Refused("routes answer 503")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "a firewall in nginx is not served yet; put one in front of this node or of the backend",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "enable-owasp-core-rules",
            on_error: OnError::Close,
            documentation: "Checks requests by the OWASP rules. Not served yet; because the routes would be open \
                without them, true closes them.",
            tries: &[("true", Gives::Refused("routes answer 503")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "a firewall in nginx is not served yet; put one in front of this node or of the backend",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "modsecurity-snippet",
            trust: Trust::Critical,
            on_error: OnError::Refuse,
            documentation: "Rules of ModSecurity as text. Not served: the object is refused.",
            tries: &[("SecRuleEngine On", Gives::Refused("never read"))],
            effect: Effect::Missing {
                asks: always,
                instead: "raw configuration is never read; a firewall in nginx is not served yet; put one in front of \
                    this node or of the backend",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "modsecurity-transaction-id",
            trust: Trust::High,
            documentation: "Name of a transaction in the firewall's log. Not served yet.",
            tries: &[("$request_id", Gives::Refused("not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "a firewall in nginx is not served yet; put one in front of this node or of the backend",
            },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
