//! What keys of the ConfigMap do beside ingress-nginx, where that is not what their effect tells;
//! it must not know what they do here.

use crate::translate::annotation::Compared;

/// What is told of these beside ingress-nginx; of the others their effect tells it.
pub(super) const COMPARED: &[(&str, Compared)] = &[
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
    (
        "default-type",
        Compared::Different("Other answers of nginx itself say their type; those of backends have the backend's.", ""),
    ),
    (
        "enable-access-log-for-default-backend",
        Compared::Different(
            "Without the key requests for unknown hosts are logged.",
            "write false, as ingress-nginx has it",
        ),
    ),
    (
        "enable-aio-write",
        Compared::Different("It counts where it is written; without the key files are written by the worker.", ""),
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
        "proxy-ssl-location-only",
        Compared::Different(
            "It is as with true: TLS towards backends is a matter of the routes of an object.",
            "take it out",
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
            "The ConfigMap has to be in the same namespace, values may tell only what clients sent, and what every backend \
             is told anyway stays.",
            "use upstream-vhost for another Host",
        ),
    ),
    (
        "retry-non-idempotent",
        Compared::Different("An annotation proxy-next-upstream counts as it is written.", "add non_idempotent there"),
    ),
    ("reuse-port", Compared::Different("All workers take connections from one queue, whatever it says.", "")),
    (
        "ssl-dh-param",
        Compared::Stricter(
            "The Secret has to be in the same namespace, and the prime has 2048 to 4096 bits.",
            "copy the Secret into the namespace of the ConfigMap",
        ),
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
        "stream-access-log-path",
        Compared::Stricter(
            "Of a ConfigMap only files in /var/log/nginx are taken.",
            "set access-log.stream-path to others",
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
        "use-geoip2",
        Compared::Different(
            "The databases are those of each node, which fetches them itself; nginx has the module only where it is installed.",
            "install libnginx-mod-http-geoip2 on each node, and name its databases in geoip2.databases",
        ),
    ),
    (
        "use-forwarded-headers",
        Compared::Stricter("Only proxies that are trusted are believed, also about host and scheme.", ""),
    ),
];
