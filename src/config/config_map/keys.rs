//! Every key that the ConfigMap of an ingress-nginx has, one row each: what it does here.

use super::compression::media_types;
use super::forms::{
    backend_server_header, header_buffer, header_buffers, is_boolean, keepalive, log_file, on_off, on_or_off,
    only_ipv4, only_off, requests, retry_all, same, time,
};
use crate::config::settings::Settings;
use crate::model::catalogue::{self, DirectiveRow};
use crate::model::{Argument, Ciphers, Origin, Refused};
use crate::translate::annotation::Compared;
use crate::translate::value::{address_list, boolean, byte_size, integer};
use crate::translate::{ANNOTATIONS, DefaultValue, SnippetKind};

/// From a value to another one for the setting, which its form reads; nothing leaves the setting as it is.
pub(super) type Written = fn(&str) -> Result<String, Refused>;

/// Changes settings, and defaults of annotations, because of what is written here.
pub(super) type Change = fn(&mut Settings, &mut Vec<DefaultValue>, &Origin);

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) effect: Effect,
}

impl Key {
    /// What it does, beside what it does with ingress-nginx.
    pub(super) fn compared(&self) -> Compared {
        if let Some((_, compared)) = COMPARED.iter().find(|(name, _)| *name == self.name) {
            return *compared;
        }
        match self.effect {
            Effect::Annotation(name) => ANNOTATIONS.find(name).map_or(Compared::Equal, |row| row.compared),
            Effect::Setting(..)
            | Effect::Server(..)
            | Effect::Headers(_)
            | Effect::Directives(..)
            | Effect::Finally(..)
            | Effect::Gzip(_)
            | Effect::Brotli(_)
            | Effect::Forwarded(_) => Compared::Equal,
            Effect::Host(_) => Compared::Different(
                "It belongs to nginx.conf of each node, which is not ours to write.",
                "set it there",
            ),
            Effect::Snippet(..) | Effect::Tables => {
                Compared::Refused("It counts only where the settings allow it.", ALLOW)
            }
            Effect::Unserved { instead: REMOVED, .. } => Compared::Equal,
            Effect::Unserved { instead, .. } => Compared::Refused("It has no effect here.", instead),
        }
    }

    /// Whether somebody could get further than before while its value cannot be used.
    pub(super) fn protects(&self) -> bool {
        match self.effect {
            Effect::Forwarded(_) => true,
            Effect::Setting(setting, _) => [
                "access.blocked-agents",
                "access.blocked-networks",
                "access.blocked-referers",
                "access.client-header",
                "access.host-header",
                "access.max-trust",
                "cross-namespace",
                "headers.allowed",
                "headers.answers",
                "headers.hidden",
                "listen.addresses",
                "listen.proxy-protocol",
                "snippets.annotations",
                "tls.protocols",
            ]
            .contains(&setting),
            _ => false,
        }
    }
}

/// Whose headers a ConfigMap has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headers {
    Answers,
    /// Those of requests to backends.
    Requests,
}

/// A directive and its arguments.
pub(super) type Said = (&'static DirectiveRow, Vec<Argument>);

/// What is told of these beside ingress-nginx; of the others their effect tells it.
const COMPARED: &[(&str, Compared)] = &[
    (
        "allow-snippet-annotations",
        Compared::Stricter(
            "With true, snippets of annotations count in namespaces that snippets.allowed names, with directives of a list.",
            "",
        ),
    ),
    (
        "annotation-value-word-blocklist",
        Compared::Stricter("Values are parsed, so that no word of one can do harm.", "take it out"),
    ),
    (
        "access-log-path",
        Compared::Stricter("Of a ConfigMap only files in /var/log/nginx are taken.", "set listen.access-log to others"),
    ),
    (
        "add-headers",
        Compared::Stricter(
            "The ConfigMap has to be in the same namespace, and values may tell only what clients sent.",
            "",
        ),
    ),
    (
        "custom-http-errors",
        Compared::Stricter(
            "Statuses below 400 are refused: redirects reach clients, also those that nginx makes.",
            "list those from 400 on",
        ),
    ),
    (
        "forwarded-for-proxy-protocol-header",
        Compared::Different("ingress-nginx keeps a value of its own in it on the way, which is not needed here.", ""),
    ),
    ("disable-ipv6-dns", Compared::Different("Addresses of both families are used.", "")),
    (
        "enable-brotli",
        Compared::Different(
            "Answers are compressed only on nodes whose nginx has the module.",
            "install libnginx-mod-http-brotli-filter on each node",
        ),
    ),
    (
        "enable-owasp-modsecurity-crs",
        Compared::Stricter(
            "It also counts where an Ingress asks for the firewall by itself; on nodes without the rules the routes answer 503.",
            "install modsecurity-crs on each node",
        ),
    ),
    (
        "http-access-log-path",
        Compared::Stricter("Of a ConfigMap only files in /var/log/nginx are taken.", "set listen.access-log to others"),
    ),
    (
        "log-format-upstream",
        Compared::Different("Names of Services are those of requests that reached one; others have a dash.", ""),
    ),
    ("lua-shared-dicts", Compared::Equal),
    ("nginx-status-ipv4-whitelist", Compared::Different("Metrics are served by ingressd.", "see docs/prometheus.md")),
    ("nginx-status-ipv6-whitelist", Compared::Different("Metrics are served by ingressd.", "see docs/prometheus.md")),
    ("proxy-headers-hash-bucket-size", Compared::Equal),
    ("proxy-headers-hash-max-size", Compared::Equal),
    (
        "proxy-set-headers",
        Compared::Stricter(
            "The ConfigMap has to be in the same namespace, values may tell only what clients sent, and what every backend \
             is told anyway stays.",
            "use upstream-vhost for another Host",
        ),
    ),
    (
        "retry-non-idempotent",
        Compared::Different("An annotation proxy-next-upstream counts as it is written.", "add non_idempotent there"),
    ),
    (
        "server-tokens",
        Compared::Stricter(
            "The version of nginx is never told. With false the header Server is taken out only where nginx has the module \
             headers-more; elsewhere it says nginx.",
            "install libnginx-mod-http-headers-more-filter to be without it",
        ),
    ),
    (
        "strict-validate-path-type",
        Compared::Different("Paths are judged by the rules of the API server, whatever it says.", ""),
    ),
    (
        "syslog-host",
        Compared::Stricter(
            "Only an IP address is taken: nginx would have to ask DNS at each reload.",
            "write the address",
        ),
    ),
    (
        "upstream-keepalive-connections",
        Compared::Different("It counts for each upstream, not for all backends together.", ""),
    ),
    (
        "use-forwarded-headers",
        Compared::Stricter("Only proxies that are trusted are believed, also about host and scheme.", ""),
    ),
];

/// What a key does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Effect {
    /// It is the default of this annotation.
    Annotation(&'static str),
    /// It counts in the place of this setting.
    Setting(&'static str, Written),
    /// It is a directive of every server.
    Server(&'static DirectiveRow, fn(&str) -> Result<Vec<Argument>, Refused>),
    /// It names a ConfigMap with headers of this kind.
    Headers(Headers),
    /// Directives of every server, in words and as they are.
    Directives(&'static str, fn(&str) -> Result<Vec<Said>, Refused>),
    /// With others it says how answers are compressed; its form.
    Gzip(fn(&str) -> Result<(), Refused>),
    /// The same for Brotli.
    Brotli(fn(&str) -> Result<(), Refused>),
    /// With others it says who is believed about clients; its form.
    Forwarded(fn(&str) -> Result<(), Refused>),
    /// When it is true, what is said in words happens to what all other keys and the settings say.
    Finally(&'static str, Change),
    /// It belongs to nginx.conf, as this directive.
    Host(&'static str),
    /// It is a snippet that counts beside this annotation, where the administrator allows it for the namespace of the ConfigMap.
    Snippet(&'static str, SnippetKind),
    /// It is a snippet with tables for all hosts, where the administrator allows it for the namespace of the ConfigMap.
    Tables,
    /// It has no effect. `harmless` asks for what happens anyway; empty where nothing does.
    Unserved { harmless: &'static str, instead: &'static str },
}

const fn annotation(name: &'static str) -> Key {
    Key { name, effect: Effect::Annotation(name) }
}

const fn global(name: &'static str, annotation: &'static str) -> Key {
    Key { name, effect: Effect::Annotation(annotation) }
}

const fn setting(name: &'static str, setting: &'static str, written: Written) -> Key {
    Key { name, effect: Effect::Setting(setting, written) }
}

const fn server(
    name: &'static str,
    row: &'static DirectiveRow,
    parse: fn(&str) -> Result<Vec<Argument>, Refused>,
) -> Key {
    Key { name, effect: Effect::Server(row, parse) }
}

const fn host(name: &'static str, directive: &'static str) -> Key {
    Key { name, effect: Effect::Host(directive) }
}

const fn unserved(name: &'static str, harmless: &'static str, instead: &'static str) -> Key {
    Key { name, effect: Effect::Unserved { harmless, instead } }
}

const REMOVED: &str = "ingress-nginx itself ignores it; take it out";
/// How a snippet of the ConfigMap is allowed.
pub(super) const ALLOW: &str = "raw configuration is not read; write what all hosts need into nginx.conf of each node, or let \
    snippets.allowed name the key and the namespace of the ConfigMap for the directives in docs/snippets.md";
const NO_LUA: &str = "it sets up the Lua of ingress-nginx, which is not needed here; take it out";
const TRACING: &str = "nginx's module for OpenTelemetry is in no package of Debian; have the backends trace, which get the headers of \
    their clients' traces";
const GEOIP2: &str = "databases belong to the node: set up geoip2 in nginx.conf of each, with libnginx-mod-http-geoip2";

/// Every key, sorted by name.
pub(super) const KEYS: &[Key] = &[
    setting("access-log-params", "access-log.parameters", same),
    setting("access-log-path", "listen.access-log", log_file),
    Key { name: "add-headers", effect: Effect::Headers(Headers::Answers) },
    Key {
        name: "allow-backend-server-header",
        effect: Effect::Directives("`proxy_pass_header Server` in every server when it is true", backend_server_header),
    },
    setting("allow-cross-namespace-resources", "cross-namespace", same),
    setting("allow-snippet-annotations", "snippets.annotations", same),
    unserved(
        "annotation-value-word-blocklist",
        "",
        "values are parsed, so that no word of one can do harm; take it out",
    ),
    setting("annotations-risk-level", "access.max-trust", |value| Ok(value.trim().to_lowercase())),
    setting("bind-address", "listen.addresses", same),
    setting("block-cidrs", "access.blocked-networks", same),
    setting("block-referers", "access.blocked-referers", same),
    setting("block-user-agents", "access.blocked-agents", same),
    Key { name: "brotli-level", effect: Effect::Brotli(|value| integer(value, 0, 11).map(drop)) },
    Key { name: "brotli-min-length", effect: Effect::Brotli(|value| integer(value, 0, 1 << 30).map(drop)) },
    Key { name: "brotli-types", effect: Effect::Brotli(|value| media_types(value).map(drop)) },
    annotation("client-body-buffer-size"),
    server("client-body-timeout", &catalogue::CLIENT_BODY_TIMEOUT, time),
    server("client-header-buffer-size", &catalogue::CLIENT_HEADER_BUFFER_SIZE, header_buffer),
    server("client-header-timeout", &catalogue::CLIENT_HEADER_TIMEOUT, time),
    setting("compute-full-forwarded-for", "access.append-forwarded-for", same),
    annotation("custom-http-errors"),
    unserved("debug-connections", "", "set debug_connection in nginx.conf"),
    unserved("default-type", "text/html", "answers of nginx itself say their type; others have that of their backend"),
    annotation("denylist-source-range"),
    setting("disable-access-log", "access-log.enabled", only_off),
    setting("disable-http-access-log", "access-log.enabled", only_off),
    Key {
        name: "disable-ipv6",
        effect: Effect::Finally(
            "leaves IPv6 addresses out of the setting `listen.addresses` when it is true",
            only_ipv4,
        ),
    },
    unserved("disable-ipv6-dns", "false", "addresses of both families are used"),
    annotation("disable-proxy-intercept-errors"),
    unserved("disable-stream-access-log", "false", "set access_log in the stream block of nginx.conf"),
    unserved("enable-access-log-for-default-backend", "true", "requests for unknown hosts are logged like others"),
    unserved("enable-aio-write", "true", "set aio_write in nginx.conf of each node"),
    setting("enable-auth-access-log", "access-log.questions", same),
    Key { name: "enable-brotli", effect: Effect::Brotli(is_boolean) },
    annotation("enable-modsecurity"),
    host("enable-multi-accept", "multi_accept"),
    unserved(
        "enable-ocsp",
        "false",
        "nginx asks authorities by a resolver of its own: set ssl_stapling and resolver in nginx.conf of each node",
    ),
    annotation("enable-opentelemetry"),
    Key { name: "enable-owasp-modsecurity-crs", effect: Effect::Annotation("enable-owasp-core-rules") },
    Key { name: "enable-real-ip", effect: Effect::Forwarded(is_boolean) },
    unserved(
        "enable-serial-reloads",
        "false",
        "reloads follow their cost and the connections of old workers: see section pacing",
    ),
    setting("enable-syslog", "access-log.syslog", same),
    server("enable-underscores-in-headers", &catalogue::UNDERSCORES_IN_HEADERS, on_off),
    host("error-log-level", "error_log"),
    host("error-log-path", "error_log"),
    annotation("force-ssl-redirect"),
    setting("forwarded-for-header", "access.client-header", same),
    unserved(
        "forwarded-for-proxy-protocol-header",
        "X-Forwarded-For-Proxy-Protocol",
        "ingress-nginx keeps a value of its own in it on the way, which is not needed here; take it out",
    ),
    setting("forwarded-host-header", "access.host-header", same),
    setting("generate-request-id", "headers.request-ids", same),
    unserved("geoip2-autoreload-in-minutes", "0", GEOIP2),
    setting("global-allowed-response-headers", "headers.allowed", same),
    global("global-auth-always-set-cookie", "auth-always-set-cookie"),
    global("global-auth-cache-duration", "auth-cache-duration"),
    global("global-auth-cache-key", "auth-cache-key"),
    global("global-auth-method", "auth-method"),
    global("global-auth-request-redirect", "auth-request-redirect"),
    global("global-auth-response-headers", "auth-response-headers"),
    global("global-auth-signin", "auth-signin"),
    global("global-auth-signin-redirect-param", "auth-signin-redirect-param"),
    Key { name: "global-auth-snippet", effect: Effect::Snippet("auth-snippet", SnippetKind::Auth) },
    global("global-auth-url", "auth-url"),
    unserved("grpc-buffer-size-kb", "0", "use proxy-buffer-size, which counts for gRPC too"),
    unserved("gzip-disable", "", "clients that cannot read compressed answers do not ask for them; take it out"),
    Key { name: "gzip-level", effect: Effect::Gzip(|value| integer(value, 1, 9).map(drop)) },
    Key { name: "gzip-min-length", effect: Effect::Gzip(|value| integer(value, 0, 1 << 30).map(drop)) },
    Key { name: "gzip-types", effect: Effect::Gzip(|value| media_types(value).map(drop)) },
    setting("hide-headers", "headers.hidden", same),
    setting("hsts", "tls.hsts", on_or_off),
    setting("hsts-include-subdomains", "tls.hsts-include-subdomains", same),
    setting("hsts-max-age", "tls.hsts-max-age", same),
    setting("hsts-preload", "tls.hsts-preload", same),
    setting("http-access-log-path", "listen.access-log", log_file),
    setting("http-redirect-code", "tls.redirect-status", same),
    Key { name: "http-snippet", effect: Effect::Tables },
    server("http2-max-concurrent-streams", &catalogue::HTTP2_MAX_CONCURRENT_STREAMS, |value| {
        Ok(vec![Argument::Number(integer(value, 1, 65_535)?)])
    }),
    unserved("http2-max-field-size", "", REMOVED),
    unserved("http2-max-header-size", "", REMOVED),
    unserved("http2-max-requests", "", REMOVED),
    server("ignore-invalid-headers", &catalogue::IGNORE_INVALID_HEADERS, on_off),
    unserved("jaeger-baggage-header", "", REMOVED),
    unserved("jaeger-collector-host", "", REMOVED),
    unserved("jaeger-collector-port", "", REMOVED),
    unserved("jaeger-debug-header", "", REMOVED),
    unserved("jaeger-endpoint", "", REMOVED),
    unserved("jaeger-propagation-format", "", REMOVED),
    unserved("jaeger-sampler-host", "", REMOVED),
    unserved("jaeger-sampler-param", "", REMOVED),
    unserved("jaeger-sampler-port", "", REMOVED),
    unserved("jaeger-sampler-type", "", REMOVED),
    unserved("jaeger-service-name", "", REMOVED),
    unserved("jaeger-trace-baggage-header-prefix", "", REMOVED),
    unserved("jaeger-trace-context-header-name", "", REMOVED),
    server("keep-alive", &catalogue::KEEPALIVE_TIMEOUT, keepalive),
    server("keep-alive-requests", &catalogue::KEEPALIVE_REQUESTS, requests),
    server("large-client-header-buffers", &catalogue::LARGE_CLIENT_HEADER_BUFFERS, header_buffers),
    setting("limit-conn-status-code", "access.connections-status", same),
    unserved(
        "limit-conn-zone-variable",
        "$binary_remote_addr",
        "clients are counted by their address, which they cannot choose; list proxies in front in proxy-real-ip-cidr",
    ),
    annotation("limit-rate"),
    annotation("limit-rate-after"),
    setting("limit-req-status-code", "access.rate-status", same),
    annotation("load-balance"),
    Key { name: "location-snippet", effect: Effect::Snippet("configuration-snippet", SnippetKind::Location) },
    setting("log-format-escape-json", "access-log.escape-json", same),
    unserved(
        "log-format-escape-none",
        "false",
        "what clients send could write lines of its own into the log: values are escaped as nginx does by itself, or for \
         JSON with log-format-escape-json",
    ),
    unserved("log-format-stream", "", "set log_format and access_log in the stream block of nginx.conf"),
    setting("log-format-upstream", "access-log.line", same),
    unserved("lua-shared-dicts", "", NO_LUA),
    unserved(
        "main-snippet",
        "",
        "it belongs to the whole nginx of a node, with all its sites: write it into nginx.conf of each node",
    ),
    host("map-hash-bucket-size", "map_hash_bucket_size"),
    host("max-worker-connections", "worker_connections"),
    host("max-worker-open-files", "worker_rlimit_nofile"),
    annotation("modsecurity-snippet"),
    unserved("nginx-status-ipv4-whitelist", "127.0.0.1", "metrics are served by ingressd: see section http"),
    unserved("nginx-status-ipv6-whitelist", "::1", "metrics are served by ingressd: see section http"),
    setting("no-auth-locations", "access.no-authentication", same),
    setting("no-tls-redirect-locations", "tls.plain-paths", same),
    unserved("opentelemetry-config", "", TRACING),
    unserved("opentelemetry-operation-name", "", TRACING),
    unserved("opentelemetry-trust-incoming-span", "true", TRACING),
    unserved("otel-max-export-batch-size", "", TRACING),
    unserved("otel-max-queuesize", "", TRACING),
    unserved("otel-sampler", "", TRACING),
    unserved("otel-sampler-parent-based", "", TRACING),
    unserved("otel-sampler-ratio", "", TRACING),
    unserved("otel-schedule-delay-millis", "", TRACING),
    unserved("otel-service-name", "", TRACING),
    unserved("otlp-collector-host", "", TRACING),
    unserved("otlp-collector-port", "", TRACING),
    annotation("preserve-trailing-slash"),
    setting("proxy-add-original-uri-header", "headers.original-uri", same),
    annotation("proxy-body-size"),
    annotation("proxy-buffer-size"),
    annotation("proxy-buffering"),
    annotation("proxy-buffers-number"),
    annotation("proxy-busy-buffers-size"),
    annotation("proxy-connect-timeout"),
    annotation("proxy-cookie-domain"),
    annotation("proxy-cookie-path"),
    unserved("proxy-headers-hash-bucket-size", "64", "it is 128, which is enough for all headers that are set"),
    unserved("proxy-headers-hash-max-size", "512", "it is 512, which is enough for all headers that are set"),
    annotation("proxy-http-version"),
    annotation("proxy-max-temp-file-size"),
    annotation("proxy-next-upstream"),
    annotation("proxy-next-upstream-timeout"),
    annotation("proxy-next-upstream-tries"),
    setting("proxy-protocol-header-timeout", "ingress-nginx.proxy-protocol-header-timeout", same),
    annotation("proxy-read-timeout"),
    Key { name: "proxy-real-ip-cidr", effect: Effect::Forwarded(|value| address_list(value).map(drop)) },
    annotation("proxy-redirect-from"),
    annotation("proxy-redirect-to"),
    annotation("proxy-request-buffering"),
    annotation("proxy-send-timeout"),
    Key { name: "proxy-set-headers", effect: Effect::Headers(Headers::Requests) },
    unserved(
        "proxy-ssl-location-only",
        "false",
        "what is said about TLS towards backends holds for the routes of its object alone",
    ),
    setting("proxy-stream-next-upstream", "ingress-nginx.proxy-stream-next-upstream", same),
    setting("proxy-stream-next-upstream-timeout", "ingress-nginx.proxy-stream-next-upstream-timeout", same),
    setting("proxy-stream-next-upstream-tries", "ingress-nginx.proxy-stream-next-upstream-tries", same),
    setting("proxy-stream-responses", "ingress-nginx.proxy-stream-responses", same),
    setting("proxy-stream-timeout", "ingress-nginx.proxy-stream-timeout", same),
    annotation("relative-redirects"),
    Key {
        name: "retry-non-idempotent",
        effect: Effect::Finally(
            "adds non_idempotent to the default of the annotation `proxy-next-upstream` when it is true",
            retry_all,
        ),
    },
    unserved("reuse-port", "true", "set listen options in a file of your own in nginx.conf"),
    unserved(
        "server-name-hash-bucket-size",
        "",
        "it follows the longest name; set server_names_hash_bucket_size in nginx.conf for more",
    ),
    host("server-name-hash-max-size", "server_names_hash_max_size"),
    Key { name: "server-snippet", effect: Effect::Snippet("server-snippet", SnippetKind::Server) },
    setting("server-tokens", "headers.server", same),
    annotation("service-upstream"),
    setting("skip-access-log-urls", "access-log.skip", same),
    server("ssl-buffer-size", &catalogue::SSL_BUFFER_SIZE, |value| {
        Ok(vec![Argument::Size(byte_size(value, 1024, 1 << 20)?)])
    }),
    server("ssl-ciphers", &catalogue::SSL_CIPHERS, |value| Ok(vec![Argument::Ciphers(Ciphers::new(value.trim())?)])),
    unserved("ssl-dh-param", "", "set ssl_dhparam in nginx.conf of each node"),
    server("ssl-early-data", &catalogue::SSL_EARLY_DATA, on_off),
    server("ssl-ecdh-curve", &catalogue::SSL_ECDH_CURVE, |value| {
        Ok(vec![Argument::Ciphers(Ciphers::new(value.trim())?)])
    }),
    setting("ssl-protocols", "tls.protocols", |value| Ok(value.split_whitespace().collect::<Vec<_>>().join(","))),
    annotation("ssl-redirect"),
    server("ssl-reject-handshake", &catalogue::SSL_REJECT_HANDSHAKE, on_off),
    setting("ssl-session-cache", "tls.session-cache", |value| {
        boolean(value).map(|is_on| if is_on { "" } else { "0" }.to_owned())
    }),
    setting("ssl-session-cache-size", "tls.session-cache", same),
    unserved(
        "ssl-session-ticket-key",
        "",
        "a key in a ConfigMap is read by whoever may read ConfigMaps: nginx makes one of its own for ssl-session-tickets",
    ),
    setting("ssl-session-tickets", "tls.session-tickets", same),
    setting("ssl-session-timeout", "tls.session-timeout", same),
    unserved("stream-access-log-path", "", "set access_log in the stream block of nginx.conf"),
    unserved(
        "stream-snippet",
        "",
        "what it opens are ports of the node: name TCP and UDP services in ingress-nginx.tcp-services-configmap and \
         ingress-nginx.udp-services-configmap, or write the block stream into nginx.conf of each node",
    ),
    unserved("strict-validate-path-type", "true", "paths are judged by the rules of the API server"),
    setting("syslog-host", "access-log.syslog-address", same),
    setting("syslog-port", "access-log.syslog-port", same),
    setting("upstream-keepalive-connections", "upstreams.keepalive", same),
    setting("upstream-keepalive-requests", "upstreams.keepalive-requests", same),
    setting("upstream-keepalive-time", "upstreams.keepalive-time", same),
    setting("upstream-keepalive-timeout", "upstreams.keepalive-timeout", same),
    Key { name: "use-forwarded-headers", effect: Effect::Forwarded(is_boolean) },
    unserved("use-geoip", "false", REMOVED),
    unserved("use-geoip2", "false", GEOIP2),
    Key { name: "use-gzip", effect: Effect::Gzip(is_boolean) },
    setting("use-http2", "listen.http2", same),
    annotation("use-port-in-redirects"),
    setting("use-proxy-protocol", "listen.proxy-protocol", same),
    host("variables-hash-bucket-size", "variables_hash_bucket_size"),
    host("variables-hash-max-size", "variables_hash_max_size"),
    annotation("whitelist-source-range"),
    host("worker-cpu-affinity", "worker_cpu_affinity"),
    host("worker-processes", "worker_processes"),
    host("worker-shutdown-timeout", "worker_shutdown_timeout"),
];

/// The row of a key.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
