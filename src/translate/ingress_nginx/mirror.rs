//! Copies of requests: not served yet; it must not know who gets them.

use crate::translate::annotation::{Effect, Family, Gives, Row, Trust, always, nothing_to_finish};

pub static FAMILY: Family = Family {
    title: "Mirroring",
    rows: &[
        Row {
            key: "mirror-host",
            trust: Trust::High,
            documentation: "Host header of the copy. Not served yet.",
            tries: &[("mirror.example.com", Gives::Refused("not served yet"))],
            effect: Effect::Missing { asks: always, instead: "mirroring is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "mirror-request-body",
            documentation: "Whether the copy has a body. Not served yet.",
            tries: &[("off", Gives::Refused("not served yet"))],
            effect: Effect::Missing { asks: always, instead: "mirroring is not served yet" },
            ..Row::DEFAULT
        },
        Row {
            key: "mirror-target",
            trust: Trust::High,
            documentation: "Sends a copy of each request there. Not served yet.",
            tries: &[("https://mirror.example.com$request_uri", Gives::Refused("not served yet"))],
            effect: Effect::Missing { asks: always, instead: "mirroring is not served yet" },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
