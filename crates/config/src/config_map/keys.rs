//! Every key of ingress-nginx's ConfigMap, one row each, with its effect here.

use std::sync::LazyLock;

use super::compared::COMPARED;
use super::compression::{media_type, media_types, uncompressed};
use super::forms::{
    backend_server_header, header_buffer, header_buffers, inverted, is_boolean, keepalive, log_file, on_or_off,
    only_ipv4, requests, retry_all, same, syslog_host, threads,
};
use super::{Layer, tls};
use crate::settings::Settings;
use crate::table::rows;
use ingressd_model::catalogue::{self, DirectiveRow};
use ingressd_model::{Argument, ByteSize, Ciphers, Origin, Refused};
use ingressd_translate::annotation::Compared;
use ingressd_translate::value::arguments::{switch, time};
use ingressd_translate::value::{address_list, boolean, byte_size, integer};
use ingressd_translate::{ANNOTATIONS, OptionEntry, Scope, SnippetKind, lookup_tables, stream_directives};

/// Converts a value to one for the setting, which its form parses; an empty one leaves the setting
/// unchanged.
pub(super) type IntoSetting = fn(&str) -> Result<String, Refused>;

/// Changes settings and options for all objects because of a key.
pub(super) type Change = fn(&mut Settings, &mut Vec<OptionEntry>, &Origin);

/// Reads a value, and puts it where it counts.
pub(super) type Read = fn(&mut Layer<'_>, &str, &Origin) -> Result<(), Refused>;

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) effect: Effect,
}

impl Key {
    /// Its effect compared with ingress-nginx.
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
            | Effect::Read(..)
            | Effect::Gzip(_)
            | Effect::Brotli(_)
            | Effect::Forwarded(_) => Compared::Equal,
            Effect::Host(_) => Compared::Different(
                "It belongs to nginx.conf of each node, which is not ours to write.",
                "set it there",
            ),
            Effect::Snippet(..) | Effect::Whole(..) => {
                Compared::Refused("It counts only where the settings allow it.", ALLOW)
            }
            Effect::Unserved { instead: REMOVED, .. } => Compared::Equal,
            Effect::Unserved { instead, .. } => Compared::Refused("It has no effect here.", instead),
        }
    }

    /// What it is about.
    pub(super) fn scope(&self) -> Scope {
        match self.effect {
            Effect::Annotation(name) | Effect::Snippet(name, _) => {
                ANNOTATIONS.find(name).map_or(Scope::Route, |row| row.scope)
            }
            Effect::Setting(setting, _) => rows().find(|row| row.key == setting).map_or(Scope::Node, |row| row.scope),
            Effect::Finally(scope, ..) => scope,
            Effect::Server(..)
            | Effect::Headers(_)
            | Effect::Directives(..)
            | Effect::Read(..)
            | Effect::Gzip(_)
            | Effect::Brotli(_)
            | Effect::Forwarded(_) => Scope::Server,
            Effect::Whole(SnippetKind::Stream, ..) => Scope::Listener,
            Effect::Whole(..) => Scope::Server,
            Effect::Host(_) | Effect::Unserved { .. } => Scope::Node,
        }
    }

    /// Whether clients could get access that they did not have while its value cannot be used.
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

/// Which headers a ConfigMap contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headers {
    Answers,
    /// Headers of requests to backends.
    Requests,
}

/// A directive and its arguments.
pub(super) type Statement = (&'static DirectiveRow, Vec<Argument>);

/// What a key does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Effect {
    /// It is the default of this annotation.
    Annotation(&'static str),
    /// It overrides this setting.
    Setting(&'static str, IntoSetting),
    /// It is a directive of every server.
    Server(&'static DirectiveRow, fn(&str) -> Result<Vec<Argument>, Refused>),
    /// It names a ConfigMap with headers of this kind.
    Headers(Headers),
    /// It sets several directives of every server, which are also described in words.
    Directives(&'static str, fn(&str) -> Result<Vec<Statement>, Refused>),
    /// With other keys it decides about gzip; this checks its form.
    Gzip(fn(&str) -> Result<(), Refused>),
    /// The same for Brotli.
    Brotli(fn(&str) -> Result<(), Refused>),
    /// With other keys it decides which proxies are trusted; this checks its form.
    Forwarded(fn(&str) -> Result<(), Refused>),
    /// When it is true, what is said in words happens to what all other keys and the settings say
    /// about this.
    Finally(Scope, &'static str, Change),
    /// What is said in words comes of it, by this.
    Read(&'static str, Read),
    /// It belongs to nginx.conf, as this directive.
    Host(&'static str),
    /// It is a snippet like that of this annotation, where the administrator allows it for the
    /// namespace of the ConfigMap.
    Snippet(&'static str, SnippetKind),
    /// It is a snippet of its own kind, of which what is said in words comes by this, where the
    /// administrator allows it for the namespace of the ConfigMap.
    Whole(SnippetKind, &'static str, Read),
    /// It has no effect. The value `harmless` asks for what happens anyway; empty when there is
    /// none.
    Unserved { harmless: &'static str, instead: &'static str },
}

const fn annotation(name: &'static str) -> Key {
    Key { name, effect: Effect::Annotation(name) }
}

const fn global(name: &'static str, annotation: &'static str) -> Key {
    Key { name, effect: Effect::Annotation(annotation) }
}

const fn setting(name: &'static str, setting: &'static str, written: IntoSetting) -> Key {
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

const fn whole(name: &'static str, kind: SnippetKind, words: &'static str, read: Read) -> Key {
    Key { name, effect: Effect::Whole(kind, words, read) }
}

const fn unserved(name: &'static str, harmless: &'static str, instead: &'static str) -> Key {
    Key { name, effect: Effect::Unserved { harmless, instead } }
}

/// The note about a key that ingress-nginx has removed.
pub(super) const REMOVED: &str = "ingress-nginx itself ignores it; remove it";
/// How a snippet of the ConfigMap is allowed.
pub(super) const ALLOW: &str = "raw configuration is not read; write directives for all hosts into nginx.conf of each \
    node, or have snippets.allowed name the key and the namespace of the ConfigMap for the directives in \
    docs/snippets.md";
const NO_LUA: &str = "it configures the Lua of ingress-nginx, which ingressd does not need; remove it";
const TRACING: &str = "no release of Debian or Ubuntu has nginx's module for OpenTelemetry: use nginx and \
    nginx-module-otel of nginx.org and set otel_exporter and otel_trace in the http block of nginx.conf, or have the \
    backends trace, which get the trace headers of clients";

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
    unserved("annotation-value-word-blocklist", "", "values are parsed, so no word in them can do harm; remove it"),
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
    unserved("datadog-collector-host", "", REMOVED),
    unserved("datadog-collector-port", "", REMOVED),
    unserved("datadog-environment", "", REMOVED),
    unserved("datadog-operation-name-override", "", REMOVED),
    unserved("datadog-priority-sampling", "", REMOVED),
    unserved("datadog-sample-rate", "", REMOVED),
    unserved("datadog-service-name", "", REMOVED),
    host("debug-connections", "debug_connection"),
    Key {
        name: "default-type",
        effect: Effect::Read(
            "media type of responses of snippets with a text (`return 200 text`)",
            |layer, value, _| {
                layer.settings.gate.global.default_type = Some(media_type(value)?);
                Ok(())
            },
        ),
    },
    annotation("denylist-source-range"),
    setting("disable-access-log", "access-log.enabled", inverted),
    setting("disable-http-access-log", "access-log.requests", inverted),
    Key {
        name: "disable-ipv6",
        effect: Effect::Finally(
            Scope::Listener,
            "leaves IPv6 addresses out of the setting `listen.addresses` when it is true",
            only_ipv4,
        ),
    },
    unserved("disable-ipv6-dns", "false", "addresses of both families are used"),
    annotation("disable-proxy-intercept-errors"),
    setting("disable-stream-access-log", "access-log.streams", inverted),
    setting("enable-access-log-for-default-backend", "access-log.unknown-hosts", same),
    Key {
        name: "enable-aio-write",
        effect: Effect::Directives(
            "`aio threads` and `aio_write on` in every server when it is true, and `aio_write off` when it is false, where nginx \
             has threads (--with-threads)",
            threads,
        ),
    },
    setting("enable-auth-access-log", "access-log.questions", same),
    Key { name: "enable-brotli", effect: Effect::Brotli(is_boolean) },
    unserved("enable-dynamic-tls-records", "", REMOVED),
    annotation("enable-modsecurity"),
    host("enable-multi-accept", "multi_accept"),
    setting("enable-ocsp", "tls.ocsp", same),
    annotation("enable-opentelemetry"),
    unserved("enable-opentracing", "", REMOVED),
    Key { name: "enable-owasp-modsecurity-crs", effect: Effect::Annotation("enable-owasp-core-rules") },
    Key { name: "enable-real-ip", effect: Effect::Forwarded(is_boolean) },
    unserved(
        "enable-serial-reloads",
        "false",
        "the time between reloads depends on their cost and on the number of old workers: to have fewer old workers, \
         set pacing.most-draining to a lower number on each node",
    ),
    setting("enable-syslog", "access-log.syslog", same),
    server("enable-underscores-in-headers", &catalogue::UNDERSCORES_IN_HEADERS, switch),
    unserved("enable-vts-status", "", REMOVED),
    host("error-log-level", "error_log"),
    host("error-log-path", "error_log"),
    annotation("force-ssl-redirect"),
    setting("forwarded-for-header", "access.client-header", same),
    unserved(
        "forwarded-for-proxy-protocol-header",
        "X-Forwarded-For-Proxy-Protocol",
        "ingress-nginx uses this header internally, and ingressd does not need it; remove it",
    ),
    setting("forwarded-host-header", "access.host-header", same),
    setting("generate-request-id", "headers.request-ids", same),
    setting("geoip2-autoreload-in-minutes", "geoip2.reload", |value| Ok(format!("{}m", integer(value, 0, 44_640)?))),
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
    unserved("global-rate-limit-memcached-connect-timeout", "", REMOVED),
    unserved("global-rate-limit-memcached-host", "", REMOVED),
    unserved("global-rate-limit-memcached-max-idle-timeout", "", REMOVED),
    unserved("global-rate-limit-memcached-pool-size", "", REMOVED),
    unserved("global-rate-limit-memcached-port", "", REMOVED),
    unserved("global-rate-limit-status-code", "", REMOVED),
    Key {
        name: "grpc-buffer-size-kb",
        effect: Effect::Read(
            "`grpc_buffer_size` of routes that speak gRPC, where no `proxy-buffer-size` sets it; 0 leaves nginx's \
                default",
            |layer, value, _| {
                let size = ByteSize(integer(value, 0, 1024)? << 10);
                layer.settings.gate.global.grpc_buffer = Some(size).filter(|size| size.0 > 0);
                Ok(())
            },
        ),
    },
    Key { name: "gzip-disable", effect: Effect::Gzip(|value| uncompressed(value).map(drop)) },
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
    whole(
        "http-snippet",
        SnippetKind::Http,
        "tables (`map` and `geo`) whose variables snippets may read",
        |layer, value, origin| {
            layer.settings.translate.lookup_tables = lookup_tables(value, origin)?.into();
            Ok(())
        },
    ),
    server("http2-max-concurrent-streams", &catalogue::HTTP2_MAX_CONCURRENT_STREAMS, |value| {
        Ok(vec![Argument::Number(integer(value, 1, 65_535)?)])
    }),
    unserved("http2-max-field-size", "", REMOVED),
    unserved("http2-max-header-size", "", REMOVED),
    unserved("http2-max-requests", "", REMOVED),
    server("ignore-invalid-headers", &catalogue::IGNORE_INVALID_HEADERS, switch),
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
        "clients are counted by their address, because they can choose everything else; list proxies in front of \
            nginx in proxy-real-ip-cidr, and their clients are counted",
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
        "clients could forge lines of the log: values are escaped by nginx's default, or for JSON with \
            log-format-escape-json",
    ),
    setting("log-format-stream", "access-log.stream-line", same),
    setting("log-format-upstream", "access-log.line", same),
    unserved("lua-shared-dicts", "", NO_LUA),
    unserved("main-snippet", "", "it concerns all sites of a node: write it into nginx.conf of each node"),
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
    unserved("opentracing-location-operation-name", "", REMOVED),
    unserved("opentracing-operation-name", "", REMOVED),
    unserved("opentracing-trust-incoming-span", "", REMOVED),
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
    unserved("proxy-headers-hash-bucket-size", "64", "ingressd sets 128, which is enough for all headers"),
    unserved("proxy-headers-hash-max-size", "512", "ingressd sets 512, which is enough for all headers"),
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
        "true",
        "annotations about TLS towards backends always concern only the routes of their object; remove it",
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
            Scope::Route,
            "adds non_idempotent to the default of the annotation `proxy-next-upstream` when it is true",
            retry_all,
        ),
    },
    unserved(
        "reuse-port",
        "false",
        "all workers accept connections from one queue, so that none is lost when their number changes; remove it",
    ),
    unserved(
        "server-name-hash-bucket-size",
        "",
        "ingressd sets it by the longest host, unless nginx.conf of a node sets server_names_hash_bucket_size",
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
    Key {
        name: tls::DH_PARAMETERS,
        effect: Effect::Read(
            "`ssl_dhparam` in every server with a certificate, with what the Secret of the same namespace has as `dhparam.pem`",
            tls::dh_parameters,
        ),
    },
    server("ssl-early-data", &catalogue::SSL_EARLY_DATA, switch),
    server("ssl-ecdh-curve", &catalogue::SSL_ECDH_CURVE, |value| {
        Ok(vec![Argument::Ciphers(Ciphers::new(value.trim())?)])
    }),
    setting("ssl-protocols", "tls.protocols", |value| Ok(value.split_whitespace().collect::<Vec<_>>().join(","))),
    annotation("ssl-redirect"),
    server("ssl-reject-handshake", &catalogue::SSL_REJECT_HANDSHAKE, switch),
    setting("ssl-session-cache", "tls.session-cache", |value| {
        boolean(value).map(|is_on| if is_on { "" } else { "0" }.to_owned())
    }),
    setting("ssl-session-cache-size", "tls.session-cache", same),
    Key {
        name: "ssl-session-ticket-key",
        effect: Effect::Read(
            "`ssl_session_ticket_key` in every server with a certificate, where `ssl-session-tickets` is true, so \
                that clients can resume sessions on all nodes; everybody who may read the ConfigMap can decrypt these \
                connections",
            tls::ticket_key,
        ),
    },
    setting("ssl-session-tickets", "tls.session-tickets", same),
    setting("ssl-session-timeout", "tls.session-timeout", same),
    setting("stream-access-log-path", "access-log.stream-path", log_file),
    whole("stream-snippet", SnippetKind::Stream, "directives of each TCP and UDP service", |layer, value, origin| {
        layer.settings.translate.streams.policy.directives = stream_directives(value, origin)?.into();
        Ok(())
    }),
    unserved("strict-validate-path-type", "true", "paths are always checked by the rules of the API server"),
    setting("syslog-host", "access-log.syslog-address", syslog_host),
    setting("syslog-port", "access-log.syslog-port", same),
    setting("upstream-keepalive-connections", "upstreams.keepalive", same),
    setting("upstream-keepalive-requests", "upstreams.keepalive-requests", same),
    setting("upstream-keepalive-time", "upstreams.keepalive-time", same),
    setting("upstream-keepalive-timeout", "upstreams.keepalive-timeout", same),
    Key { name: "use-forwarded-headers", effect: Effect::Forwarded(is_boolean) },
    unserved("use-geoip", "false", REMOVED),
    setting("use-geoip2", "geoip2.enabled", same),
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
    unserved("zipkin-collector-host", "", REMOVED),
    unserved("zipkin-collector-port", "", REMOVED),
    unserved("zipkin-sample-rate", "", REMOVED),
    unserved("zipkin-service-name", "", REMOVED),
];

/// Keys with an effect that are no annotations, and what each is about.
pub fn keys_without_annotation() -> &'static [(&'static str, Scope)] {
    static FOUND: LazyLock<Vec<(&str, Scope)>> = LazyLock::new(|| {
        let is_alone =
            |key: &&Key| !matches!(key.effect, Effect::Unserved { .. }) && ANNOTATIONS.find(key.name).is_none();
        KEYS.iter().filter(is_alone).map(|key| (key.name, key.scope())).collect()
    });
    &FOUND
}

/// The row of a key.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
