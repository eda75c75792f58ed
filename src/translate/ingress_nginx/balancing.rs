//! Which endpoint takes a request: nothing but turns is served yet; it must not know the endpoints.

use crate::translate::annotation::{Family, Scope, Trust, nothing_to_finish, unserved};

const AFFINITY: &str = "affinity is not served yet; keep sessions where every endpoint finds them";
const IN_TURN: &str = "not served yet; requests go to the endpoints in turn";

pub static FAMILY: Family = Family {
    title: "Load balancing and affinity",
    rows: &[
        unserved("affinity", "cookie", "Keeps a client at one endpoint by a cookie. Not served yet.", AFFINITY)
            .scope(Scope::Upstream),
        unserved(
            "affinity-canary-behavior",
            "sticky",
            "Whether clients are kept on one side of a canary. Not served yet.",
            AFFINITY,
        )
        .scope(Scope::Upstream),
        unserved("affinity-mode", "persistent", "How firmly a client is kept. Not served yet.", AFFINITY)
            .scope(Scope::Upstream)
            .trust(Trust::Medium),
        unserved("load-balance", "ewma", "How an endpoint is chosen. Only round_robin is served yet.", IN_TURN)
            .unless("round_robin")
            .scope(Scope::Upstream),
        unserved(
            "service-upstream",
            "true",
            "Sends requests to the cluster address of the Service. Not read here: the endpoint mode says it.",
            "not read here; annotate the Service with ingressd/endpoints: clusterip",
        )
        .unless("false")
        .scope(Scope::Upstream),
        unserved(
            "session-cookie-change-on-failure",
            "true",
            "Chooses again when the endpoint fails. Not served yet.",
            AFFINITY,
        )
        .unless("false")
        .scope(Scope::Upstream),
        unserved(
            "session-cookie-conditional-samesite-none",
            "true",
            "Leaves SameSite=None out for browsers that mishandle it. Not served yet.",
            AFFINITY,
        )
        .unless("false")
        .scope(Scope::Upstream),
        unserved("session-cookie-domain", "example.com", "Domain of the affinity cookie. Not served yet.", AFFINITY)
            .scope(Scope::Upstream)
            .trust(Trust::Medium),
        unserved("session-cookie-expires", "3600", "Expires of the affinity cookie. Not served yet.", AFFINITY)
            .scope(Scope::Upstream)
            .trust(Trust::Medium),
        unserved("session-cookie-max-age", "3600", "Max-Age of the affinity cookie. Not served yet.", AFFINITY)
            .scope(Scope::Upstream)
            .trust(Trust::Medium),
        unserved("session-cookie-name", "route", "Name of the affinity cookie. Not served yet.", AFFINITY)
            .scope(Scope::Upstream)
            .trust(Trust::Medium),
        unserved("session-cookie-path", "/", "Path of the affinity cookie. Not served yet.", AFFINITY)
            .scope(Scope::Upstream)
            .trust(Trust::Medium),
        unserved("session-cookie-samesite", "Lax", "SameSite of the affinity cookie. Not served yet.", AFFINITY)
            .scope(Scope::Upstream),
        unserved("session-cookie-secure", "true", "Secure of the affinity cookie. Not served yet.", AFFINITY)
            .unless("false")
            .scope(Scope::Upstream),
        unserved(
            "upstream-hash-by",
            "$request_uri",
            "Chooses the endpoint by a hash of this expression. Not served yet.",
            IN_TURN,
        )
        .scope(Scope::Upstream)
        .trust(Trust::High),
        unserved("upstream-hash-by-subset", "true", "Chooses among a part of the endpoints. Not served yet.", IN_TURN)
            .unless("false")
            .scope(Scope::Upstream),
        unserved("upstream-hash-by-subset-size", "3", "Size of that part. Not served yet.", IN_TURN)
            .scope(Scope::Upstream),
    ],
    finish: nothing_to_finish,
};
