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
    "nginx.ingress.io/",
    "nginx.ingress.kubernetes.io.",
    "nginx.ingress.kuberntes.io/",
    "ngnix.ingress.kubernetes.io/",
    "kubernetes.io/ingress.",
    "kubernetes.io/",
];

/// Names that somebody invented.
struct Invented(&'static [&'static str]);

impl Invented {
    /// With what to do instead.
    const fn instead(self, instead: &'static str) -> (&'static [&'static str], &'static str) {
        (self.0, instead)
    }
}

/// Invented names, with what to do instead.
pub const INVENTED: &[(&[&str], &str)] = &[
    Invented(&[
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
    ])
    .instead("WebSockets pass without an annotation; proxy-read-timeout says how long one may be silent"),
    Invented(&["body-size", "client-max-body-size", "client_max_body_size", "max-body-size", "proxy-max-body-size"])
        .instead("use proxy-body-size"),
    Invented(&["limit-req-zone", "limit-requests", "rate-limit", "rate-limit-requests", "rate-limit-rps"])
        .instead("use limit-rps for requests in a second, limit-rpm for those in a minute"),
    Invented(&["rate-limit-period", "rate-limit-window"])
        .instead("the key says the time: limit-rps a second, limit-rpm a minute"),
    Invented(&["rate-limit-rpm"]).instead("use limit-rpm"),
    Invented(&["limit-burst", "limit-rps-burst", "rate-limit-burst"])
        .instead("use limit-burst-multiplier, a multiple of the rate"),
    Invented(&["limit-conn", "rate-limit-connections"]).instead("use limit-connections"),
    Invented(&["rate-limit-whitelist"]).instead("use limit-allowlist"),
    Invented(&["compression", "enable-compression", "enable-gzip", "gzip"])
        .instead("responses of all hosts are compressed or none: use-gzip of the controller's ConfigMap"),
    Invented(&["enable-http2", "http2"])
        .instead("clients are offered HTTP/2 anyway; for a backend that speaks gRPC use backend-protocol: GRPC"),
    Invented(&[
        "content-security-policy",
        "custom-response-headers",
        "permissions-policy",
        "referrer-policy",
        "response-headers",
        "security-headers",
        "x-content-type-options",
        "x-frame-options",
        "x-xss-protection",
    ])
    .instead("use custom-headers, which names a ConfigMap with headers of responses"),
    Invented(&["custom-request-headers", "request-headers"])
        .instead("headers of requests are about all objects: proxy-set-headers of the controller's ConfigMap"),
    Invented(&["session-affinity", "sticky", "sticky-session", "sticky-sessions"]).instead("use affinity: cookie"),
    Invented(&["session-affinity-name"]).instead("use affinity: cookie and session-cookie-name"),
    Invented(&["grpc-read-timeout", "grpc-send-timeout", "proxy-timeout", "timeout"])
        .instead("use proxy-read-timeout and proxy-send-timeout, which hold for gRPC, too"),
    Invented(&["auth-basic", "basic-auth"])
        .instead("use auth-type: basic with auth-secret; without them everybody is let in"),
    Invented(&["auth-basic-secret", "basic-auth-secret"]).instead("use auth-secret with auth-type: basic"),
    Invented(&["auth-basic-realm"]).instead("use auth-realm with auth-type: basic"),
    Invented(&["allow-list", "ip-allowlist", "ip-whitelist"])
        .instead("use allowlist-source-range; without it everybody is let in"),
    Invented(&["enable-ssl-redirect", "https-redirect", "redirect-to-https"])
        .instead("use ssl-redirect for hosts with TLS, force-ssl-redirect for all"),
    Invented(&["proxy-cache", "proxy-cache-path", "proxy-cache-valid"])
        .instead("responses are not cached; use a cache as the backend"),
    Invented(&["proxy-buffers"]).instead("use proxy-buffers-number with proxy-buffer-size"),
    Invented(&["allow-headers"]).instead("use cors-allow-headers with enable-cors: true"),
];
