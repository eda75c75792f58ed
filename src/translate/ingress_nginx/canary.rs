//! Alternative backends: not served yet, and never taken for main ones; it must not know which object is the main one.

use crate::translate::annotation::{Family, OnError, Scope, Trust, nothing_to_finish, unserved};

const BELONGS: &str = "it belongs to canary, which is not served yet";

pub static FAMILY: Family = Family {
    title: "Canaries",
    rows: &[
        unserved("canary", "true", "Makes the object the alternative for some requests to the paths of another. Not served yet: the whole object is refused, so that it never takes all requests.", "canaries are not served yet, and taking this object for a main one would send it all requests; delete it or split in the backend").unless("false").scope(Scope::Upstream).on_error(OnError::Refuse),
        unserved("canary-by-cookie", "canary", "Requests with this cookie go there. Not served yet.", BELONGS).scope(Scope::Upstream).trust(Trust::Medium),
        unserved("canary-by-header", "X-Canary", "Requests with this header go there. Not served yet.", BELONGS).scope(Scope::Upstream).trust(Trust::Medium),
        unserved("canary-by-header-pattern", "a|b", "They must match this expression. Not served yet.", BELONGS).scope(Scope::Upstream).trust(Trust::Medium),
        unserved("canary-by-header-value", "yes", "They must have this value. Not served yet.", BELONGS).scope(Scope::Upstream).trust(Trust::Medium),
        unserved("canary-weight", "10", "How many of canary-weight-total requests go there. Not served yet.", BELONGS).scope(Scope::Upstream),
        unserved("canary-weight-total", "1000", "The whole, 100 by default. Not served yet.", BELONGS).scope(Scope::Upstream),
    ],
    finish: nothing_to_finish,
};
