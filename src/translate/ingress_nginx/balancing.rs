//! Which endpoint takes a request: nothing but turns is served yet; it must not know the endpoints.

use crate::translate::annotation::{Effect, Family, Gives, Row, Scope, Trust, always, nothing_to_finish, unless_false};

pub static FAMILY: Family = Family {
    title: "Load balancing and affinity",
    rows: &[
        Row {
            key: "affinity",
            scope: Scope::Upstream,
            documentation: "Keeps a client at one endpoint by a cookie. Not served yet.",
            tries: &[("cookie", Gives::Refused("affinity is not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "affinity-canary-behavior",
            scope: Scope::Upstream,
            documentation: "Whether clients are kept on one side of a canary. Not served yet.",
            tries: &[("sticky", Gives::Refused("affinity is not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "affinity-mode",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "How firmly a client is kept. Not served yet.",
            tries: &[("persistent", Gives::Refused("affinity is not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "load-balance",
            scope: Scope::Upstream,
            documentation: "How an endpoint is chosen. Only round_robin is served yet.",
            tries: &[("ewma", Gives::Refused("in turn")), ("round_robin", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_round_robin,
                instead: "not served yet; requests go to the endpoints in turn",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "service-upstream",
            scope: Scope::Upstream,
            documentation: "Sends requests to the cluster address of the Service. Not read here: the endpoint mode \
                says it.",
            tries: &[("true", Gives::Refused("ingressd/endpoints: clusterip")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "not read here; annotate the Service with ingressd/endpoints: clusterip",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-change-on-failure",
            scope: Scope::Upstream,
            documentation: "Chooses again when the endpoint fails. Not served yet.",
            tries: &[("true", Gives::Refused("affinity is not served yet")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-conditional-samesite-none",
            scope: Scope::Upstream,
            documentation: "Leaves SameSite=None out for browsers that mishandle it. Not served yet.",
            tries: &[("true", Gives::Refused("affinity is not served yet")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-domain",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Domain of the affinity cookie. Not served yet.",
            tries: &[("example.com", Gives::Refused("affinity is not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-expires",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Expires of the affinity cookie. Not served yet.",
            tries: &[("3600", Gives::Refused("affinity is not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-max-age",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Max-Age of the affinity cookie. Not served yet.",
            tries: &[("3600", Gives::Refused("affinity is not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-name",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Name of the affinity cookie. Not served yet.",
            tries: &[("route", Gives::Refused("affinity is not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-path",
            scope: Scope::Upstream,
            trust: Trust::Medium,
            documentation: "Path of the affinity cookie. Not served yet.",
            tries: &[("/", Gives::Refused("affinity is not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-samesite",
            scope: Scope::Upstream,
            documentation: "SameSite of the affinity cookie. Not served yet.",
            tries: &[("Lax", Gives::Refused("affinity is not served yet"))],
            effect: Effect::Missing {
                asks: always,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-secure",
            scope: Scope::Upstream,
            documentation: "Secure of the affinity cookie. Not served yet.",
            tries: &[("true", Gives::Refused("affinity is not served yet")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "affinity is not served yet; keep sessions where every endpoint finds them",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "upstream-hash-by",
            scope: Scope::Upstream,
            trust: Trust::High,
            documentation: "Chooses the endpoint by a hash of this expression. Not served yet.",
            tries: &[("$request_uri", Gives::Refused("in turn"))],
            effect: Effect::Missing { asks: always, instead: "not served yet; requests go to the endpoints in turn" },
            ..Row::DEFAULT
        },
        Row {
            key: "upstream-hash-by-subset",
            scope: Scope::Upstream,
            documentation: "Chooses among a part of the endpoints. Not served yet.",
            tries: &[("true", Gives::Refused("in turn")), ("false", Gives::Nothing)],
            effect: Effect::Missing {
                asks: unless_false,
                instead: "not served yet; requests go to the endpoints in turn",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "upstream-hash-by-subset-size",
            scope: Scope::Upstream,
            documentation: "Size of that part. Not served yet.",
            tries: &[("3", Gives::Refused("in turn"))],
            effect: Effect::Missing { asks: always, instead: "not served yet; requests go to the endpoints in turn" },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};

fn unless_round_robin(value: &str) -> bool {
    value.trim() != "round_robin"
}
