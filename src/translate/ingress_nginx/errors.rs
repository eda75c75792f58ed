//! Answers when a backend has none: not served yet; it must not know the backends.

use crate::translate::annotation::{Family, Scope, nothing_to_finish, unserved};

const AS_THEY_ARE: &str = "not served yet; errors of the backend go to the client as they are";

pub static FAMILY: Family = Family {
    title: "Errors",
    rows: &[
        unserved(
            "custom-http-errors",
            "404,503",
            "Statuses whose answers the default backend replaces. Not served yet.",
            AS_THEY_ARE,
        ),
        unserved(
            "default-backend",
            "fallback",
            "Service that answers when the one of the path cannot. Not served yet: such requests are answered 503.",
            "not served yet; requests without an endpoint are answered 503",
        )
        .scope(Scope::Upstream),
        unserved(
            "disable-proxy-intercept-errors",
            "false",
            "Lets errors of the backend through. They go through anyway.",
            AS_THEY_ARE,
        )
        .unless("true"),
    ],
    finish: nothing_to_finish,
};
