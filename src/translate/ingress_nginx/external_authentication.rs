//! Authentication by another service: not served yet, and closed rather than left out; it must not know that service.

use crate::translate::annotation::{Family, OnError, Trust, nothing_to_finish, unserved};

const BELONGS: &str = "it belongs to auth-url, which is not served yet";

pub static FAMILY: Family = Family {
    title: "External authentication",
    rows: &[
        unserved("auth-always-set-cookie", "true", "Passes cookies of auth-url on with every status. It has no effect without auth-url.", BELONGS).unless("false"),
        unserved("auth-cache-duration", "200 5m", "How long answers of auth-url are remembered. It has no effect without auth-url.", BELONGS).trust(Trust::Medium),
        unserved("auth-cache-key", "$remote_user", "Remembers answers of auth-url by this key. It has no effect without auth-url.", BELONGS).trust(Trust::Medium),
        unserved("auth-keepalive", "8", "Idle connections to auth-url. It has no effect without auth-url.", BELONGS),
        unserved("auth-keepalive-requests", "1000", "Requests over one connection to auth-url. It has no effect without auth-url.", BELONGS),
        unserved("auth-keepalive-share-vars", "true", "Shares variables with the question to auth-url. It has no effect without auth-url.", BELONGS).unless("false"),
        unserved("auth-keepalive-timeout", "60", "Seconds that an idle connection to auth-url is kept. It has no effect without auth-url.", BELONGS),
        unserved("auth-method", "GET", "Method of the question to auth-url. It has no effect without auth-url, which is not served yet.", BELONGS),
        unserved("auth-proxy-set-headers", "default/headers", "ConfigMap with headers for auth-url. It has no effect without auth-url.", BELONGS).trust(Trust::Medium),
        unserved("auth-request-redirect", "https://example.com", "Value of X-Auth-Request-Redirect for auth-url. It has no effect without auth-url.", BELONGS).trust(Trust::Medium),
        unserved("auth-response-headers", "X-User", "Headers of the answer of auth-url that the backend is told. It has no effect without auth-url.", BELONGS).trust(Trust::Medium),
        unserved("auth-signin", "https://auth.example.com/start", "Where clients go to sign in when auth-url says 401. It has no effect without auth-url, which is not served yet.", BELONGS).trust(Trust::High),
        unserved("auth-signin-redirect-param", "rd", "Name of the parameter that brings clients back. It has no effect without auth-signin.", BELONGS).trust(Trust::Medium),
        unserved("auth-url", "https://auth.example.com/check", "Asks this URL whether a request may pass. Not served yet; because the routes would be open without it, they answer 503.", "external authentication is not served yet; use auth-type: basic or an address list").trust(Trust::High).on_error(OnError::Close),
        unserved("enable-global-auth", "true", "Whether the external authentication of the administrator applies. There is none yet: false asks for nothing, and true closes the routes.", "external authentication for all hosts is not served yet; use auth-type: basic or an address list").unless("false").on_error(OnError::Close),
    ],
    finish: nothing_to_finish,
};
