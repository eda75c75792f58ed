//! Headers, cookies and redirects between client and backend: not served yet; it must not know who sends them.

use crate::translate::annotation::{Compared, Family, Scope, Trust, nothing_to_finish, unserved};

const FASTCGI: &str = "FastCGI is not served; put a web server in front of it and use HTTP";
const AS_THEY_ARE: &str = "not served yet; redirects of the backend go to the client as they are";

pub static FAMILY: Family = Family {
    title: "Headers and cookies",
    rows: &[
        unserved(
            "connection-proxy-header",
            "keep-alive",
            "Fixed Connection header for the backend. Not served: connections are kept, and upgraded for WebSocket.",
            "not served; connections to backends are kept, and upgraded for WebSocket",
        )
        .scope(Scope::Upstream),
        unserved(
            "custom-headers",
            "default/headers",
            "ConfigMap with headers for answers. Not served yet.",
            "not served yet; let the backend set the headers",
        )
        .trust(Trust::Medium),
        unserved("fastcgi-index", "index.php", "File name for FastCGI. Not served.", FASTCGI)
            .scope(Scope::Upstream)
            .trust(Trust::Medium),
        unserved("fastcgi-params-configmap", "default/params", "Parameters for FastCGI. Not served.", FASTCGI)
            .scope(Scope::Upstream)
            .trust(Trust::Medium),
        unserved(
            "http2-push-preload",
            "true",
            "Pushes what Link headers name. nginx and browsers have given push up.",
            "nginx and browsers have given server push up; remove it",
        )
        .unless("false")
        .compared(Compared::Equal),
        unserved(
            "proxy-cookie-domain",
            "localhost example.com",
            "Changes the domain of cookies. Not served yet.",
            "not served yet; let the backend set the domain",
        )
        .unless("off")
        .trust(Trust::Medium),
        unserved(
            "proxy-cookie-path",
            "/one /two",
            "Changes the path of cookies. Not served yet.",
            "not served yet; let the backend set the path",
        )
        .unless("off")
        .trust(Trust::Medium),
        unserved(
            "proxy-redirect-from",
            "http://backend",
            "Changes redirects of the backend that begin like this. Not served yet.",
            AS_THEY_ARE,
        )
        .unless("off")
        .trust(Trust::Medium),
        unserved(
            "proxy-redirect-to",
            "https://example.com",
            "What proxy-redirect-from becomes. Not served yet.",
            AS_THEY_ARE,
        )
        .unless("off")
        .trust(Trust::Medium),
        unserved(
            "upstream-vhost",
            "internal.example.com",
            "Host header for the backend. Not served yet: the backend is told the host that the client asked for.",
            "not served yet; the backend is told the host that the client asked for",
        )
        .scope(Scope::Upstream),
    ],
    finish: nothing_to_finish,
};
