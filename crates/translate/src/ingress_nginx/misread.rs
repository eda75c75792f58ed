//! Keys that manifests have and that neither ingress-nginx nor ingressd reads: prefixes that are
//! not the right one, and names that somebody invented. It must not know what any value means.

/// Prefixes behind which keys of ingress-nginx are written that are not read there. The first one
/// was right until 2017.
pub const PREFIXES: &[&str] = &[
    "ingress.kubernetes.io/",
    "ingress.nginx.kubernetes.io/",
    "ingress-nginx.kubernetes.io/",
    "nginx.kubernetes.io/",
    "nginx.ingress.k8s.io/",
    "kubernetes.io/ingress.",
    "kubernetes.io/",
];

/// Invented names, with what to do instead.
pub const INVENTED: &[(&[&str], &str)] = &[
    (
        &[
            "enable-websocket",
            "enable-websocket-support",
            "enable-websockets",
            "proxy-websocket",
            "proxy-websockets",
            "websocket",
            "websocket-enabled",
            "websocket-services",
            "websocket-support",
            "websocket-upgrade",
            "websockets",
        ],
        "WebSockets pass without an annotation; proxy-read-timeout says how long one may be silent",
    ),
    (
        &["body-size", "client-max-body-size", "client_max_body_size", "max-body-size", "proxy-max-body-size"],
        "use proxy-body-size",
    ),
    (
        &["limit-req-zone", "limit-requests", "rate-limit", "rate-limit-requests", "rate-limit-rps"],
        "use limit-rps for requests in a second, limit-rpm for those in a minute",
    ),
    (&["rate-limit-period", "rate-limit-window"], "the key says the time: limit-rps a second, limit-rpm a minute"),
    (&["rate-limit-rpm"], "use limit-rpm"),
    (&["limit-burst", "limit-rps-burst", "rate-limit-burst"], "use limit-burst-multiplier, a multiple of the rate"),
    (&["limit-conn", "rate-limit-connections"], "use limit-connections"),
    (&["rate-limit-whitelist"], "use limit-allowlist"),
    (
        &["compression", "enable-compression", "enable-gzip", "gzip"],
        "responses of all hosts are compressed or none: use-gzip of the controller's ConfigMap",
    ),
    (
        &["enable-http2", "http2"],
        "clients are offered HTTP/2 anyway; for a backend that speaks gRPC use backend-protocol: GRPC",
    ),
    (
        &[
            "content-security-policy",
            "custom-response-headers",
            "permissions-policy",
            "referrer-policy",
            "response-headers",
            "security-headers",
            "x-content-type-options",
            "x-frame-options",
            "x-xss-protection",
        ],
        "use custom-headers, which names a ConfigMap with headers of responses",
    ),
    (
        &["custom-request-headers", "request-headers"],
        "headers of requests are about all objects: proxy-set-headers of the controller's ConfigMap",
    ),
    (&["session-affinity", "sticky", "sticky-session", "sticky-sessions"], "use affinity: cookie"),
    (&["session-affinity-name"], "use affinity: cookie and session-cookie-name"),
    (
        &["grpc-read-timeout", "grpc-send-timeout", "proxy-timeout", "timeout"],
        "use proxy-read-timeout and proxy-send-timeout, which hold for gRPC, too",
    ),
    (&["auth-basic", "basic-auth"], "use auth-type: basic with auth-secret; without them everybody is let in"),
    (&["auth-basic-secret", "basic-auth-secret"], "use auth-secret with auth-type: basic"),
    (&["auth-basic-realm"], "use auth-realm with auth-type: basic"),
    (&["allow-list", "ip-allowlist", "ip-whitelist"], "use allowlist-source-range; without it everybody is let in"),
    (
        &["enable-ssl-redirect", "https-redirect", "redirect-to-https"],
        "use ssl-redirect for hosts with TLS, force-ssl-redirect for all",
    ),
    (&["proxy-cache", "proxy-cache-path", "proxy-cache-valid"], "responses are not cached; use a cache as the backend"),
    (&["proxy-buffers"], "use proxy-buffers-number with proxy-buffer-size"),
    (&["allow-headers"], "use cors-allow-headers with enable-cors: true"),
];
