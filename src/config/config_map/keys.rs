//! Every key that the ConfigMap of an ingress-nginx has, one row each: what it does here.

use crate::model::catalogue::{self, DirectiveRow};
use crate::model::{Argument, Ciphers, Refused};
use crate::translate::annotation::value::{address_list, boolean, byte_size, integer, seconds};

/// From a value as the ConfigMap has it to the text of a setting; nothing leaves the setting as it is.
pub(super) type Written = fn(&str) -> Result<String, Refused>;

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) effect: Effect,
}

impl Key {
    /// Whether somebody could get further than before while its value cannot be used.
    pub(super) fn protects(&self) -> bool {
        match self.effect {
            Effect::Forwarded(_) => true,
            Effect::Setting(setting, _) => {
                ["access.max-trust", "cross-namespace", "listen.addresses", "listen.proxy-protocol", "tls.protocols"]
                    .contains(&setting)
            }
            _ => false,
        }
    }
}

/// What a key does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Effect {
    /// It is the default of this annotation.
    Annotation(&'static str),
    /// It counts in the place of this setting.
    Setting(&'static str, Written),
    /// It is a directive of every server.
    Server(&'static DirectiveRow, fn(&str) -> Result<Vec<Argument>, Refused>),
    /// With others it says who is believed about clients; its form.
    Forwarded(fn(&str) -> Result<(), Refused>),
    /// It belongs to nginx.conf, as this directive.
    Host(&'static str),
    /// It has no effect. `harmless` asks for what happens anyway; empty where nothing does.
    Unserved { harmless: &'static str, instead: &'static str },
}

const fn annotation(name: &'static str) -> Key {
    Key { name, effect: Effect::Annotation(name) }
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

const NOT_YET: &str = "not served yet";
const REMOVED: &str = "ingress-nginx itself ignores it; take it out";
const SNIPPETS: &str = "raw configuration is not served; write what all hosts need into nginx.conf of each node";
const NO_LUA: &str = "it sets up the Lua of ingress-nginx, which is not needed here; take it out";
const TRACING: &str = "tracing is not served yet";
const FIREWALL: &str = "ModSecurity is not served yet";
const GLOBAL_AUTH: &str = "external authentication is not served yet; use auth-type: basic or an address list";
const GZIP: &str = "set gzip in nginx.conf of each node, which hosts of Ingresses follow";

/// Every key, sorted by name.
pub(super) const KEYS: &[Key] = &[
    setting("access-log-params", "access-log.parameters", same),
    setting("access-log-path", "listen.access-log", log_file),
    unserved("add-headers", "", NOT_YET),
    unserved("allow-backend-server-header", "false", NOT_YET),
    setting("allow-cross-namespace-resources", "cross-namespace", switch),
    unserved("allow-snippet-annotations", "false", "snippets are not served"),
    unserved(
        "annotation-value-word-blocklist",
        "",
        "values are parsed, so that no word of one can do harm; take it out",
    ),
    setting("annotations-risk-level", "access.max-trust", |value| Ok(value.trim().to_lowercase())),
    setting("bind-address", "listen.addresses", same),
    unserved("block-cidrs", "", "use denylist-source-range"),
    unserved("block-referers", "", NOT_YET),
    unserved("block-user-agents", "", NOT_YET),
    unserved("brotli-level", "4", "brotli is not served"),
    unserved("brotli-min-length", "20", "brotli is not served"),
    unserved("brotli-types", "", "brotli is not served"),
    annotation("client-body-buffer-size"),
    server("client-body-timeout", &catalogue::CLIENT_BODY_TIMEOUT, time),
    server("client-header-buffer-size", &catalogue::CLIENT_HEADER_BUFFER_SIZE, header_buffer),
    server("client-header-timeout", &catalogue::CLIENT_HEADER_TIMEOUT, time),
    setting("compute-full-forwarded-for", "access.append-forwarded-for", switch),
    annotation("custom-http-errors"),
    unserved("debug-connections", "", "set debug_connection in nginx.conf"),
    unserved("default-type", "text/html", NOT_YET),
    annotation("denylist-source-range"),
    setting("disable-access-log", "access-log.enabled", only_off),
    setting("disable-http-access-log", "access-log.enabled", only_off),
    unserved("disable-ipv6", "false", "leave IPv6 addresses out of listen.addresses"),
    unserved("disable-ipv6-dns", "false", "addresses of both families are used"),
    annotation("disable-proxy-intercept-errors"),
    unserved("disable-stream-access-log", "false", "set access_log in the stream block of nginx.conf"),
    unserved("enable-access-log-for-default-backend", "true", "requests for unknown hosts are logged like others"),
    unserved("enable-aio-write", "true", "set aio_write in nginx.conf of each node"),
    unserved("enable-auth-access-log", "false", GLOBAL_AUTH),
    unserved("enable-brotli", "false", "brotli is not served"),
    annotation("enable-modsecurity"),
    host("enable-multi-accept", "multi_accept"),
    unserved("enable-ocsp", "false", "set ssl_stapling in nginx.conf of each node"),
    annotation("enable-opentelemetry"),
    Key { name: "enable-owasp-modsecurity-crs", effect: Effect::Annotation("enable-owasp-core-rules") },
    Key { name: "enable-real-ip", effect: Effect::Forwarded(is_boolean) },
    unserved(
        "enable-serial-reloads",
        "false",
        "reloads follow their cost and the connections of old workers: see section pacing",
    ),
    setting("enable-syslog", "access-log.syslog", switch),
    server("enable-underscores-in-headers", &catalogue::UNDERSCORES_IN_HEADERS, on_off),
    host("error-log-level", "error_log"),
    host("error-log-path", "error_log"),
    annotation("force-ssl-redirect"),
    unserved("forwarded-for-header", "X-Forwarded-For", NOT_YET),
    unserved("forwarded-for-proxy-protocol-header", "", NOT_YET),
    unserved("forwarded-host-header", "X-Forwarded-Host", NOT_YET),
    unserved("generate-request-id", "true", "each request that brings no X-Request-ID gets one"),
    unserved("geoip2-autoreload-in-minutes", "0", "set up geoip2 in nginx.conf of each node"),
    unserved("global-allowed-response-headers", "", NOT_YET),
    unserved("global-auth-always-set-cookie", "false", GLOBAL_AUTH),
    unserved("global-auth-cache-duration", "200 202 401 5m", GLOBAL_AUTH),
    unserved("global-auth-cache-key", "", GLOBAL_AUTH),
    unserved("global-auth-method", "", GLOBAL_AUTH),
    unserved("global-auth-request-redirect", "", GLOBAL_AUTH),
    unserved("global-auth-response-headers", "", GLOBAL_AUTH),
    unserved("global-auth-signin", "", GLOBAL_AUTH),
    unserved("global-auth-signin-redirect-param", "rd", GLOBAL_AUTH),
    unserved("global-auth-snippet", "", GLOBAL_AUTH),
    Key { name: "global-auth-url", effect: Effect::Annotation("auth-url") },
    unserved("grpc-buffer-size-kb", "0", "use proxy-buffer-size, which counts for gRPC too"),
    unserved("gzip-disable", "", GZIP),
    unserved("gzip-level", "1", GZIP),
    unserved("gzip-min-length", "256", GZIP),
    unserved("gzip-types", "", GZIP),
    unserved("hide-headers", "", NOT_YET),
    setting("hsts", "tls.hsts", on_or_off),
    setting("hsts-include-subdomains", "tls.hsts-include-subdomains", switch),
    setting("hsts-max-age", "tls.hsts-max-age", same),
    setting("hsts-preload", "tls.hsts-preload", switch),
    setting("http-access-log-path", "listen.access-log", log_file),
    setting("http-redirect-code", "tls.redirect-status", same),
    unserved("http-snippet", "", SNIPPETS),
    unserved("http2-max-concurrent-streams", "128", "set http2_max_concurrent_streams in nginx.conf of each node"),
    unserved("http2-max-field-size", "", REMOVED),
    unserved("http2-max-header-size", "", REMOVED),
    unserved("http2-max-requests", "", REMOVED),
    server("ignore-invalid-headers", &catalogue::IGNORE_INVALID_HEADERS, on_off),
    server("keep-alive", &catalogue::KEEPALIVE_TIMEOUT, keepalive),
    server("keep-alive-requests", &catalogue::KEEPALIVE_REQUESTS, requests),
    server("large-client-header-buffers", &catalogue::LARGE_CLIENT_HEADER_BUFFERS, header_buffers),
    unserved("limit-conn-status-code", "503", NOT_YET),
    unserved("limit-conn-zone-variable", "$binary_remote_addr", "clients are counted by their address"),
    annotation("limit-rate"),
    annotation("limit-rate-after"),
    unserved("limit-req-status-code", "503", NOT_YET),
    annotation("load-balance"),
    unserved("location-snippet", "", SNIPPETS),
    setting("log-format-escape-json", "access-log.escape-json", switch),
    unserved(
        "log-format-escape-none",
        "false",
        "what clients send could write lines of its own into the log: values are escaped as nginx does by itself, or for \
         JSON with log-format-escape-json",
    ),
    unserved("log-format-stream", "", "set log_format and access_log in the stream block of nginx.conf"),
    setting("log-format-upstream", "access-log.line", same),
    unserved("lua-shared-dicts", "", NO_LUA),
    unserved("main-snippet", "", SNIPPETS),
    host("map-hash-bucket-size", "map_hash_bucket_size"),
    host("max-worker-connections", "worker_connections"),
    host("max-worker-open-files", "worker_rlimit_nofile"),
    unserved("modsecurity-snippet", "", FIREWALL),
    unserved("nginx-status-ipv4-whitelist", "127.0.0.1", "metrics are served by ingressd: see section http"),
    unserved("nginx-status-ipv6-whitelist", "::1", "metrics are served by ingressd: see section http"),
    unserved("no-auth-locations", "/.well-known/acme-challenge", GLOBAL_AUTH),
    unserved("no-tls-redirect-locations", "/.well-known/acme-challenge", NOT_YET),
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
    unserved("proxy-add-original-uri-header", "false", NOT_YET),
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
    unserved("proxy-protocol-header-timeout", "5s", NOT_YET),
    annotation("proxy-read-timeout"),
    Key { name: "proxy-real-ip-cidr", effect: Effect::Forwarded(|value| address_list(value).map(drop)) },
    annotation("proxy-redirect-from"),
    annotation("proxy-redirect-to"),
    annotation("proxy-request-buffering"),
    annotation("proxy-send-timeout"),
    unserved("proxy-set-headers", "", NOT_YET),
    unserved(
        "proxy-ssl-location-only",
        "false",
        "what is said about TLS towards backends holds for the routes of its object alone",
    ),
    setting("proxy-stream-next-upstream", "ingress-nginx.proxy-stream-next-upstream", switch),
    setting("proxy-stream-next-upstream-timeout", "ingress-nginx.proxy-stream-next-upstream-timeout", same),
    setting("proxy-stream-next-upstream-tries", "ingress-nginx.proxy-stream-next-upstream-tries", same),
    setting("proxy-stream-responses", "ingress-nginx.proxy-stream-responses", same),
    setting("proxy-stream-timeout", "ingress-nginx.proxy-stream-timeout", same),
    annotation("relative-redirects"),
    unserved("retry-non-idempotent", "false", "use proxy-next-upstream with non_idempotent"),
    unserved("reuse-port", "true", "set listen options in a file of your own in nginx.conf"),
    unserved(
        "server-name-hash-bucket-size",
        "",
        "it follows the longest name; set server_names_hash_bucket_size in nginx.conf for more",
    ),
    host("server-name-hash-max-size", "server_names_hash_max_size"),
    unserved("server-snippet", "", SNIPPETS),
    unserved("server-tokens", "false", "the version of nginx is not told"),
    annotation("service-upstream"),
    setting("skip-access-log-urls", "access-log.skip", same),
    unserved("ssl-buffer-size", "4k", "set ssl_buffer_size in nginx.conf of each node"),
    server("ssl-ciphers", &catalogue::SSL_CIPHERS, |value| Ok(vec![Argument::Ciphers(Ciphers::new(value.trim())?)])),
    unserved("ssl-dh-param", "", "set ssl_dhparam in nginx.conf of each node"),
    unserved("ssl-early-data", "false", "set ssl_early_data in nginx.conf of each node"),
    unserved("ssl-ecdh-curve", "auto", "set ssl_ecdh_curve in nginx.conf of each node"),
    setting("ssl-protocols", "tls.protocols", |value| Ok(value.split_whitespace().collect::<Vec<_>>().join(","))),
    annotation("ssl-redirect"),
    unserved("ssl-reject-handshake", "false", NOT_YET),
    unserved("ssl-session-cache", "true", "sessions are kept in a cache of 10 MB"),
    unserved("ssl-session-cache-size", "10m", "sessions are kept in a cache of 10 MB"),
    unserved("ssl-session-ticket-key", "", "tickets are off"),
    unserved("ssl-session-tickets", "false", "tickets are off"),
    unserved("ssl-session-timeout", "10m", "sessions last 10 minutes"),
    unserved("stream-access-log-path", "", "set access_log in the stream block of nginx.conf"),
    unserved("stream-snippet", "", SNIPPETS),
    unserved("strict-validate-path-type", "true", "paths are judged by the rules of the API server"),
    setting("syslog-host", "access-log.syslog-address", same),
    setting("syslog-port", "access-log.syslog-port", same),
    setting("upstream-keepalive-connections", "upstreams.keepalive", same),
    unserved("upstream-keepalive-requests", "10000", NOT_YET),
    unserved("upstream-keepalive-time", "1h", NOT_YET),
    unserved("upstream-keepalive-timeout", "60", NOT_YET),
    Key { name: "use-forwarded-headers", effect: Effect::Forwarded(is_boolean) },
    unserved("use-geoip", "false", REMOVED),
    unserved("use-geoip2", "false", "set up geoip2 in nginx.conf of each node"),
    unserved("use-gzip", "false", GZIP),
    setting("use-http2", "listen.http2", switch),
    annotation("use-port-in-redirects"),
    setting("use-proxy-protocol", "listen.proxy-protocol", switch),
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

fn same(value: &str) -> Result<String, Refused> {
    Ok(value.trim().to_owned())
}

fn switch(value: &str) -> Result<String, Refused> {
    boolean(value).map(|is_on| is_on.to_string())
}

/// Either of two keys switches logs off, and neither switches them on.
fn only_off(value: &str) -> Result<String, Refused> {
    boolean(value).map(|is_off| if is_off { "false" } else { "" }.to_owned())
}

/// Where logs of the controller may go on a node: nginx opens them as root, and refuses all configuration where it cannot.
const LOGS: &str = "/var/log/nginx/";

fn log_file(value: &str) -> Result<String, Refused> {
    let fits = |name: &str| {
        !name.starts_with('.') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    match value.trim().strip_prefix(LOGS).is_some_and(|name| !name.is_empty() && fits(name)) {
        true => Ok(value.trim().to_owned()),
        false => Err(Refused::because(
            "a ConfigMap may name files of /var/log/nginx/; set listen.access-log to others on each node",
        )),
    }
}

fn on_or_off(value: &str) -> Result<String, Refused> {
    boolean(value).map(|is_on| if is_on { "on" } else { "off" }.to_owned())
}

fn is_boolean(value: &str) -> Result<(), Refused> {
    boolean(value).map(drop)
}

fn on_off(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Switch(boolean(value)?)])
}

fn time(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Time(seconds(value)?)])
}

/// 0 closes connections after each request.
fn keepalive(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Time(std::time::Duration::from_secs(integer(value, 0, 86_400)?))])
}

fn requests(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Number(integer(value, 1, 1_000_000_000)?)])
}

/// Larger ones than this are memory that every client may have for itself.
const LARGEST_HEADER: u64 = 1 << 20;

fn header_buffer(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Size(byte_size(value, 256, LARGEST_HEADER)?)])
}

fn header_buffers(value: &str) -> Result<Vec<Argument>, Refused> {
    let mut parts = value.split_whitespace();
    let (Some(number), Some(size), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(Refused::because("it is not a number and a size, such as 4 8k"));
    };
    let number = Argument::Number(integer(number, 1, 64)?);
    Ok(vec![number, Argument::Size(byte_size(size, 512, LARGEST_HEADER)?)])
}
