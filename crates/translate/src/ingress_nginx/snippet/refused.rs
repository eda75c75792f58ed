//! Why a directive is refused in a snippet, and its alternative. It must not know where the
//! directive stands.

use crate::value::excerpt;
use ingressd_model::Refused;

/// A directive, or a prefix of names with a `*` behind it; the reason and the alternative.
pub const REFUSED: &[(&str, &str, &str)] = &[
    ("absolute_redirect", "it concerns redirects that nginx itself makes", "relative-redirects"),
    ("access_by_*", LUA, "auth-url, or the backend"),
    ("add_trailer", "ingressd has no such feature", "the backend"),
    ("alias", FILES, "a Service that serves the files"),
    ("auth_basic", "it names a file of the node", "auth-type and auth-secret"),
    ("auth_basic_user_file", FILES, "auth-secret"),
    ("auth_request", "it names a location", "auth-url"),
    ("auth_request_set", "it belongs to auth-url", "auth-response-headers"),
    ("balancer_by_*", LUA, "load-balance or upstream-hash-by"),
    ("body_filter_by_*", LUA, "sub_filter, or the backend"),
    ("client_body_in_file_only", FILES, "the backend"),
    ("client_body_temp_path", FILES, "nothing"),
    ("content_by_*", LUA, "the backend"),
    ("debug_connection", "it fills the log of the node", "nothing"),
    ("disable_symlinks", FILES, "nothing"),
    ("env", "it concerns nginx as a whole", "the administrator"),
    ("error_log", "it writes a file of the node", "nothing"),
    ("error_page", "it sends requests to other locations", "custom-http-errors and default-backend"),
    ("etag", "it serves files of the node", "the backend"),
    ("exit_worker_by_*", LUA, "the administrator"),
    ("fastcgi_*", "requests go to the Service of the path", "backend-protocol: FCGI and fastcgi-params-configmap"),
    ("geo*", "it is read for all hosts", "geo in http-snippet of the ConfigMap"),
    ("grpc_*", "it follows from the annotations about backends", "backend-protocol, proxy-read-timeout"),
    ("header_filter_by_*", LUA, "more_set_headers, or the backend"),
    ("http2*", "it concerns the sockets of all hosts", "the administrator"),
    ("include", FILES, "the directives themselves"),
    ("index", FILES, "app-root"),
    ("init_by_*", LUA, "the administrator"),
    ("init_worker_by_*", LUA, "the administrator"),
    ("internal", "it makes the path unreachable for clients", "an Ingress without the path"),
    ("js_*", CODE, "the backend"),
    ("keepalive_*", "it concerns connections, which hosts share", "the administrator"),
    ("large_client_header_buffers", "it concerns connections, which hosts share", "the administrator"),
    ("limit_conn", "it uses memory that all hosts share", "limit-connections"),
    ("limit_conn_*", "it takes memory that all hosts share", "limit-connections"),
    ("limit_except", "it is a separate block", "an if that compares $request_method"),
    ("limit_req", "it uses memory that all hosts share", "limit-rps or limit-rpm"),
    ("limit_req_*", "it takes memory that all hosts share", "limit-rps or limit-rpm"),
    ("listen", "it opens a port of the node", "the administrator"),
    ("load_module", "it runs a program in nginx", "the administrator"),
    ("log_by_*", LUA, "the administrator"),
    ("log_format", "it is read for all hosts", "the administrator's access-log"),
    ("log_not_found", "it serves files of the node", "nothing"),
    ("lua_*", LUA, "the backend"),
    ("map", "it is read for all hosts", "an if that sets a variable, or map in http-snippet of the ConfigMap"),
    ("map_*", "it is read for all hosts", "the administrator"),
    ("merge_slashes", "it decides which route a request takes", "nothing"),
    ("mirror*", "it names a location", "mirror-target"),
    ("modsecurity*", "its rules are files of the node", "enable-modsecurity and modsecurity-snippet"),
    ("opentelemetry*", "it sends to addresses of the node", "the administrator"),
    ("perl*", CODE, "the backend"),
    ("port_in_redirect", "it concerns redirects that nginx itself makes", "use-port-in-redirects"),
    ("proxy_bind", "it chooses an address of the node", "nothing"),
    ("proxy_cache*", "it caches responses in files of the node", "the backend"),
    (
        "proxy_cookie_flags",
        "it replaces directives of other annotations",
        "proxy_cookie_path with the flags after the \
        path",
    ),
    ("proxy_ignore_client_abort", "requests would continue without a client", "nothing"),
    ("proxy_ignore_headers", "it lets backends send requests to other locations", "nothing"),
    ("proxy_intercept_errors", "it concerns error pages", "custom-http-errors"),
    ("proxy_method", "it changes the request of the client", "the backend"),
    (
        "proxy_pass",
        "requests go to the Service of the path and nowhere else",
        "the backend of the path, or a Service of type ExternalName",
    ),
    ("proxy_pass_header", "it passes on headers that nginx removes", "the backend"),
    ("proxy_set_body", "it changes the response", "the backend"),
    ("proxy_ssl_*", "its certificates are files of the node", "the annotations proxy-ssl-*"),
    ("proxy_store*", FILES, "nothing"),
    ("proxy_temp_*", FILES, "nothing"),
    ("real_ip_*", "trusted proxies are the same for all hosts", "the administrator's access.trusted-proxies"),
    ("resolver*", "nginx would resolve names that ingressd has not checked", "a Service of type ExternalName"),
    ("rewrite_by_*", LUA, "rewrite-target"),
    ("rewrite_log", "it has an annotation", "enable-rewrite-log"),
    ("root", FILES, "a Service that serves the files"),
    ("scgi_*", "requests go to the Service of the path", "a web server in front of the program"),
    ("server", "hosts are those of Ingresses", "an Ingress for the host"),
    ("server_rewrite_by_*", LUA, "rewrite-target, or the backend"),
    ("server_name", "hosts are those of Ingresses", "the hosts of the Ingress, or server-alias"),
    ("set_by_*", LUA, "set and if"),
    ("set_real_ip_from", "trusted proxies are the same for all hosts", "the administrator's access.trusted-proxies"),
    ("split_clients", "it is read for all hosts", "canary-weight"),
    ("ssi*", "it sends requests to other locations", "the backend"),
    ("ssl_certificate_by_*", LUA, "spec.tls"),
    ("ssl_certificate*", FILES, "spec.tls"),
    ("ssl_ciphers", "it concerns the TLS handshake of the host", "ssl-ciphers"),
    ("ssl_client_hello_by_*", LUA, "the administrator"),
    ("ssl_client_*", FILES, "auth-tls-secret"),
    ("ssl_prefer_server_ciphers", "it concerns the TLS handshake of the host", "ssl-prefer-server-ciphers"),
    ("ssl_protocols", "it concerns the TLS handshake of all hosts", "the administrator's tls.protocols"),
    ("ssl_session_fetch_by_*", LUA, "the administrator"),
    ("ssl_session_store_by_*", LUA, "the administrator"),
    ("ssl_verify_*", "it concerns the TLS handshake of the host", "auth-tls-verify-client and auth-tls-verify-depth"),
    ("ssl_*", "it concerns the TLS handshake, which hosts share", "the administrator"),
    ("stub_status", "it shows data of all hosts", "the administrator's metrics"),
    ("subs_filter*", "it is of a module that the distribution's nginx lacks", "sub_filter"),
    ("try_files", FILES, "a Service that serves the files"),
    ("types", "it serves files of the node", "default_type"),
    ("underscores_in_headers", "clients could forge headers that backends expect from nginx", "the administrator"),
    ("upstream", "requests go to the Service of the path", "the backend of the path"),
    ("user", "it concerns nginx as a whole", "the administrator"),
    (
        "userid*",
        "it concerns modules that write logs",
        "session-cookie-name and the other keys of the cookie, or the \
                                                        backend",
    ),
    ("uwsgi_*", "requests go to the Service of the path", "a web server in front of the program"),
    ("worker_*", "it concerns nginx as a whole", "the administrator"),
    ("valid_referers", "it cannot be used in a condition here", "an if that matches $http_referer"),
];

const CODE: &str = "it runs a program in nginx";
/// The reason for all Lua directives.
pub const LUA: &str = "Lua is not run: it is a program in nginx";
const FILES: &str = "it gives access to files of the node";

/// The row of a directive.
pub fn find(name: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let exact = REFUSED.iter().find(|(known, ..)| *known == name);
    let begins = |known: &str| known.strip_suffix('*').is_some_and(|start| name.starts_with(start));
    exact.or_else(|| REFUSED.iter().filter(|(known, ..)| begins(known)).max_by_key(|(known, ..)| known.len()))
}

/// The reason for the refusal of a directive.
pub fn why(name: &str) -> Refused {
    match find(name) {
        Some((_, reason, "nothing")) => Refused(format!("it is refused, because {reason}").into()),
        Some((_, reason, instead)) => Refused(format!("it is refused, because {reason}; instead: {instead}").into()),
        None => Refused(
            format!("a snippet may not have {}; docs/snippets.md lists the directives that it may have", excerpt(name))
                .into(),
        ),
    }
}
