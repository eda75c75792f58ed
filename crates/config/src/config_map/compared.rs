//! How keys of the ConfigMap differ from ingress-nginx, where their effect does not say it. It
//! must not know that effect.

use ingressd_translate::annotation::Compared;

/// The differences of these keys from ingress-nginx; those of all others follow from their effect.
pub(super) const COMPARED: &[(&str, Compared)] = &[
    (
        "allow-backend-server-header",
        Compared::Different(
            "What a backend says reaches clients; with ingress-nginx only where server-tokens is true as well.",
            "",
        ),
    ),
    (
        "allow-snippet-annotations",
        Compared::Stricter(
            "With true, snippets in annotations are used in namespaces that snippets.allowed names, with the \
                directives of a list.",
            "",
        ),
    ),
    (
        "annotation-value-word-blocklist",
        Compared::Stricter("Values are parsed, so no word in them can do harm.", "remove it"),
    ),
    (
        "annotations-risk-level",
        Compared::Different(
            "An annotation that needs more is one whose value cannot be used, as soon as the key changes; ingress-nginx refuses the \
             whole object, at its next change.",
            "",
        ),
    ),
    (
        "bind-address",
        Compared::Stricter(
            "No other address is listened on; where all are of one family, ingress-nginx also listens on every address of the other.",
            "add 0.0.0.0 or ::",
        ),
    ),
    (
        "block-cidrs",
        Compared::Stricter(
            "They are refused everywhere; with ingress-nginx a list of clients of the object takes the place of this one.",
            "",
        ),
    ),
    (
        "compute-full-forwarded-for",
        Compared::Different(
            "With the PROXY protocol the header is replaced all the same, because the client wrote it.",
            "",
        ),
    ),
    (
        "access-log-path",
        Compared::StricterValues(
            "Of a ConfigMap only files in /var/log/nginx are taken.",
            "set listen.access-log to others",
        ),
    ),
    (
        "add-headers",
        Compared::Stricter(
            "The ConfigMap has to be in the same namespace, and values may contain only variables about the request \
             of the client.",
            "",
        ),
    ),
    (
        "custom-http-errors",
        Compared::StricterValues(
            "Statuses below 400 are refused: redirects always reach clients.",
            "list those from 400 on",
        ),
    ),
    (
        "forwarded-for-proxy-protocol-header",
        Compared::Different("ingress-nginx uses this header internally; ingressd does not need it.", ""),
    ),
    (
        "debug-connections",
        Compared::Different(
            "It belongs to nginx.conf of each node, which is not ours to write; nginx needs to be built for it (nginx -V says \
             --with-debug).",
            "set it there",
        ),
    ),
    (
        "default-type",
        Compared::Different(
            "It concerns only responses of snippets; other responses of nginx, and those of backends, \
            have their own type.",
            "",
        ),
    ),
    (
        "enable-ocsp",
        Compared::Stricter(
            "Only responders that tls.ocsp-responders lists are asked; ingress-nginx asks whomever a certificate names.",
            "list the responders with their addresses",
        ),
    ),
    (
        "enable-access-log-for-default-backend",
        Compared::DifferentUnset(
            "Without the key requests for unknown hosts are logged.",
            "set it to false, the default of ingress-nginx",
        ),
    ),
    (
        "enable-aio-write",
        Compared::DifferentUnset("Without the key nginx.conf decides; by default the worker itself writes files.", ""),
    ),
    (
        "enable-syslog",
        Compared::Different(
            "The error log is that of nginx.conf of each node, which ingressd does not change.",
            "write error_log syslog:server=ADDRESS:PORT there",
        ),
    ),
    (
        "forwarded-for-header",
        Compared::Different(
            "X-Original-Forwarded-For holds X-Forwarded-For as it came, and not this header.",
            "pass it on with proxy-set-headers",
        ),
    ),
    (
        "grpc-buffer-size-kb",
        Compared::Different("An annotation or key proxy-buffer-size overrides it.", "remove that for gRPC backends"),
    ),
    ("disable-ipv6-dns", Compared::Different("Addresses of both families are used.", "")),
    (
        "enable-brotli",
        Compared::Different(
            "Responses are compressed only on nodes whose nginx has the module.",
            "install libnginx-mod-http-brotli-filter on each node",
        ),
    ),
    (
        "enable-owasp-modsecurity-crs",
        Compared::Stricter(
            "It also applies where an Ingress itself asks for the firewall; on nodes without the rules the routes \
                answer 503.",
            "install modsecurity-crs on each node",
        ),
    ),
    (
        "http-access-log-path",
        Compared::Stricter(
            "Of a ConfigMap only files in /var/log/nginx are taken. TCP and UDP services are logged there too, where \
             stream-access-log-path names no other file.",
            "set listen.access-log to others",
        ),
    ),
    ("log-format-escape-json", Compared::Different("The line of TCP and UDP services is escaped as well.", "")),
    (
        "log-format-upstream",
        Compared::Different("The names of Services are a dash for requests that reached no Service.", ""),
    ),
    (
        "log-format-stream",
        Compared::Different(
            "Connections to TCP and UDP services are logged only where a file is named.",
            "name it in stream-access-log-path or access-log-path",
        ),
    ),
    ("lua-shared-dicts", Compared::Equal),
    ("nginx-status-ipv4-whitelist", Compared::Different("Metrics are served by ingressd.", "see docs/prometheus.md")),
    ("nginx-status-ipv6-whitelist", Compared::Different("Metrics are served by ingressd.", "see docs/prometheus.md")),
    (
        "no-auth-locations",
        Compared::Stricter(
            "Whole parts of a path are compared: /open stands for /open/a, and not for /opener.",
            "list each path",
        ),
    ),
    (
        "no-tls-redirect-locations",
        Compared::Different("/.well-known/acme-challenge is never redirected, whatever it says.", ""),
    ),
    (
        "proxy-protocol-header-timeout",
        Compared::DifferentUnset(
            "Without the key it is 30 seconds. It counts for TCP services as well as for hosts whose TLS is passed through.",
            "write 5s, as ingress-nginx has it",
        ),
    ),
    (
        "proxy-ssl-location-only",
        Compared::Different(
            "ingressd always acts as with true: the annotations concern only the routes of their object.",
            "remove it",
        ),
    ),
    ("proxy-headers-hash-bucket-size", Compared::Equal),
    ("proxy-headers-hash-max-size", Compared::Equal),
    ("server-name-hash-max-size", Compared::Equal),
    ("variables-hash-bucket-size", Compared::Equal),
    ("variables-hash-max-size", Compared::Equal),
    (
        "proxy-set-headers",
        Compared::Stricter(
            "The ConfigMap has to be in the same namespace, values may contain only variables about the request of \
                the client, and the headers that every backend gets cannot be set.",
            "use upstream-vhost for another Host",
        ),
    ),
    (
        "retry-non-idempotent",
        Compared::Different("It has no effect on an annotation proxy-next-upstream.", "add non_idempotent there"),
    ),
    ("reuse-port", Compared::Different("All workers always accept connections from one queue.", "")),
    (
        "ssl-buffer-size",
        Compared::DifferentUnset(
            "Without the key what nginx.conf says counts, or 16k, which nginx has by itself.",
            "write 4k, as ingress-nginx has it",
        ),
    ),
    (
        "ssl-ciphers",
        Compared::DifferentUnset(
            "Without the key the ciphers of nginx.conf count, or those that nginx has by itself, and the client chooses.",
            "write the list of ingress-nginx into the key",
        ),
    ),
    (
        "ssl-protocols",
        Compared::StricterValues("TLSv1 and TLSv1.1, which are not safe, are refused.", "let clients speak TLSv1.2"),
    ),
    (
        "ssl-dh-param",
        Compared::StricterValues(
            "The Secret has to be in the same namespace, and the prime has 2048 to 4096 bits.",
            "copy the Secret into the namespace of the ConfigMap",
        ),
    ),
    (
        "server-tokens",
        Compared::Stricter(
            "The header Server never contains the version of nginx. With false it is removed only where nginx has the \
                module headers-more; elsewhere it is nginx.",
            "install libnginx-mod-http-headers-more-filter to remove it",
        ),
    ),
    (
        "stream-access-log-path",
        Compared::StricterValues(
            "Of a ConfigMap only files in /var/log/nginx are taken.",
            "set access-log.stream-path to others",
        ),
    ),
    ("strict-validate-path-type", Compared::Different("Paths are always checked by the rules of the API server.", "")),
    (
        "syslog-host",
        Compared::StricterValues(
            "Only an IP address is accepted, because nginx would have to ask DNS at each reload.",
            "write the address",
        ),
    ),
    (
        "upstream-keepalive-connections",
        Compared::Different("The number is for each upstream, not for all backends together.", ""),
    ),
    (
        "use-geoip2",
        Compared::Different(
            "The administrator of each node has to install the module and download the databases.",
            "install libnginx-mod-http-geoip2 on each node, and name its databases in geoip2.databases",
        ),
    ),
    (
        "use-forwarded-headers",
        Compared::Stricter("Only the headers of trusted proxies are used, also those about host and scheme.", ""),
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
