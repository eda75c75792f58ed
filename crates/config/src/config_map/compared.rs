//! How keys of the ConfigMap differ from ingress-nginx, where their effect does not say it. It
//! must not know that effect.

use ingressd_translate::annotation::Compared;

type Row = (&'static str, Compared);

const fn different(key: &'static str, why: &'static str, remedy: &'static str) -> Row {
    (key, Compared::Different(why, remedy))
}

const fn different_unset(key: &'static str, why: &'static str, remedy: &'static str) -> Row {
    (key, Compared::DifferentUnset(why, remedy))
}

const fn stricter(key: &'static str, why: &'static str, remedy: &'static str) -> Row {
    (key, Compared::Stricter(why, remedy))
}

const fn stricter_values(key: &'static str, why: &'static str, remedy: &'static str) -> Row {
    (key, Compared::StricterValues(why, remedy))
}

/// The differences of these keys from ingress-nginx; those of all others follow from their effect.
pub(super) const COMPARED: &[Row] = &[
    different(
        "allow-backend-server-header",
        "What a backend says reaches clients; with ingress-nginx only where server-tokens is true as well.",
        "",
    ),
    stricter(
        "allow-snippet-annotations",
        "With true, snippets in annotations are used in namespaces that snippets.allowed names, with the \
         directives of a list.",
        "",
    ),
    stricter("annotation-value-word-blocklist", "Values are parsed, so no word in them can do harm.", "remove it"),
    different(
        "annotations-risk-level",
        "An annotation that needs more is one whose value cannot be used, as soon as the key changes; ingress-nginx refuses the \
         whole object, at its next change.",
        "",
    ),
    stricter(
        "bind-address",
        "No other address is listened on; where all are of one family, ingress-nginx also listens on every address of the other.",
        "add 0.0.0.0 or ::",
    ),
    stricter(
        "block-cidrs",
        "They are refused everywhere; with ingress-nginx a list of clients of the object takes the place of this one.",
        "",
    ),
    different(
        "compute-full-forwarded-for",
        "With the PROXY protocol the header is replaced all the same, because the client wrote it.",
        "",
    ),
    stricter_values(
        "access-log-path",
        "Of a ConfigMap only files in /var/log/nginx are taken.",
        "set listen.access-log to others",
    ),
    stricter(
        "add-headers",
        "The ConfigMap has to be in the same namespace, and values may contain only variables about the request \
         of the client.",
        "",
    ),
    stricter_values(
        "custom-http-errors",
        "Statuses below 400 are refused: redirects always reach clients.",
        "list those from 400 on",
    ),
    different(
        "forwarded-for-proxy-protocol-header",
        "ingress-nginx uses this header internally; ingressd does not need it.",
        "",
    ),
    different(
        "debug-connections",
        "It belongs to nginx.conf of each node, which is not ours to write; nginx needs to be built for it (nginx -V says \
         --with-debug).",
        "set it there",
    ),
    different(
        "default-type",
        "It concerns only responses of snippets; other responses of nginx, and those of backends, \
         have their own type.",
        "",
    ),
    stricter(
        "enable-ocsp",
        "Only responders that tls.ocsp-responders lists are asked; ingress-nginx asks whomever a certificate names.",
        "list the responders with their addresses",
    ),
    different_unset(
        "enable-access-log-for-default-backend",
        "Without the key requests for unknown hosts are logged.",
        "set it to false, the default of ingress-nginx",
    ),
    different_unset(
        "enable-aio-write",
        "Without the key nginx.conf decides; by default the worker itself writes files.",
        "",
    ),
    different(
        "enable-syslog",
        "The error log is that of nginx.conf of each node, which ingressd does not change.",
        "write error_log syslog:server=ADDRESS:PORT there",
    ),
    different(
        "forwarded-for-header",
        "X-Original-Forwarded-For holds X-Forwarded-For as it came, and not this header.",
        "pass it on with proxy-set-headers",
    ),
    different(
        "grpc-buffer-size-kb",
        "An annotation or key proxy-buffer-size overrides it.",
        "remove that for gRPC backends",
    ),
    different("disable-ipv6-dns", "Addresses of both families are used.", ""),
    different(
        "enable-brotli",
        "Responses are compressed only on nodes whose nginx has the module.",
        "install libnginx-mod-http-brotli-filter on each node",
    ),
    stricter(
        "enable-owasp-modsecurity-crs",
        "It also applies where an Ingress itself asks for the firewall; on nodes without the rules the routes \
         answer 503.",
        "install modsecurity-crs on each node",
    ),
    stricter(
        "http-access-log-path",
        "Of a ConfigMap only files in /var/log/nginx are taken. TCP and UDP services are logged there too, where \
         stream-access-log-path names no other file.",
        "set listen.access-log to others",
    ),
    different("log-format-escape-json", "The line of TCP and UDP services is escaped as well.", ""),
    different("log-format-upstream", "The names of Services are a dash for requests that reached no Service.", ""),
    different(
        "log-format-stream",
        "Connections to TCP and UDP services are logged only where a file is named.",
        "name it in stream-access-log-path or access-log-path",
    ),
    ("lua-shared-dicts", Compared::Equal),
    different("nginx-status-ipv4-whitelist", "Metrics are served by ingressd.", "see docs/prometheus.md"),
    different("nginx-status-ipv6-whitelist", "Metrics are served by ingressd.", "see docs/prometheus.md"),
    stricter(
        "no-auth-locations",
        "Whole parts of a path are compared: /open stands for /open/a, and not for /opener.",
        "list each path",
    ),
    different("no-tls-redirect-locations", "/.well-known/acme-challenge is never redirected, whatever it says.", ""),
    different_unset(
        "proxy-protocol-header-timeout",
        "Without the key it is 30 seconds. It counts for TCP services as well as for hosts whose TLS is passed through.",
        "write 5s, as ingress-nginx has it",
    ),
    different(
        "proxy-ssl-location-only",
        "ingressd always acts as with true: the annotations concern only the routes of their object.",
        "remove it",
    ),
    ("proxy-headers-hash-bucket-size", Compared::Equal),
    ("proxy-headers-hash-max-size", Compared::Equal),
    ("server-name-hash-max-size", Compared::Equal),
    ("variables-hash-bucket-size", Compared::Equal),
    ("variables-hash-max-size", Compared::Equal),
    stricter(
        "proxy-set-headers",
        "The ConfigMap has to be in the same namespace, values may contain only variables about the request of \
         the client, and the headers that every backend gets cannot be set.",
        "use upstream-vhost for another Host",
    ),
    different(
        "retry-non-idempotent",
        "It has no effect on an annotation proxy-next-upstream.",
        "add non_idempotent there",
    ),
    different("reuse-port", "All workers always accept connections from one queue.", ""),
    different_unset(
        "ssl-buffer-size",
        "Without the key what nginx.conf says counts, or 16k, which nginx has by itself.",
        "write 4k, as ingress-nginx has it",
    ),
    different_unset(
        "ssl-ciphers",
        "Without the key the ciphers of nginx.conf count, or those that nginx has by itself, and the client chooses.",
        "write the list of ingress-nginx into the key",
    ),
    stricter_values(
        "ssl-protocols",
        "TLSv1 and TLSv1.1, which are not safe, are refused.",
        "let clients speak TLSv1.2",
    ),
    stricter_values(
        "ssl-dh-param",
        "The Secret has to be in the same namespace, and the prime has 2048 to 4096 bits.",
        "copy the Secret into the namespace of the ConfigMap",
    ),
    stricter(
        "server-tokens",
        "The header Server never contains the version of nginx. With false it is removed only where nginx has the \
         module headers-more; elsewhere it is nginx.",
        "install libnginx-mod-http-headers-more-filter to remove it",
    ),
    stricter_values(
        "stream-access-log-path",
        "Of a ConfigMap only files in /var/log/nginx are taken.",
        "set access-log.stream-path to others",
    ),
    different("strict-validate-path-type", "Paths are always checked by the rules of the API server.", ""),
    stricter_values(
        "syslog-host",
        "Only an IP address is accepted, because nginx would have to ask DNS at each reload.",
        "write the address",
    ),
    different("upstream-keepalive-connections", "The number is for each upstream, not for all backends together.", ""),
    different(
        "use-geoip2",
        "The administrator of each node has to install the module and download the databases.",
        "install libnginx-mod-http-geoip2 on each node, and name its databases in geoip2.databases",
    ),
    stricter(
        "use-forwarded-headers",
        "Only the headers of trusted proxies are used, also those about host and scheme.",
        "",
    ),
];

/// Values that ask for what happens anyway, with ingress-nginx too. Those of annotations, and of
/// keys without effect, are told by their rows.
pub(super) const NOTHING: &[(&str, &str)] = &[
    ("allow-backend-server-header", "false"),
    ("allow-snippet-annotations", "false"),
    ("compute-full-forwarded-for", "false"),
    ("enable-brotli", "false"),
    ("enable-ocsp", "false"),
    ("enable-syslog", "false"),
    ("forwarded-for-header", "X-Forwarded-For"),
    ("grpc-buffer-size-kb", "0"),
    ("log-format-escape-json", "false"),
    ("no-auth-locations", "/.well-known/acme-challenge"),
    ("no-tls-redirect-locations", "/.well-known/acme-challenge"),
    ("retry-non-idempotent", "false"),
    ("use-forwarded-headers", "false"),
    ("use-geoip2", "false"),
];
