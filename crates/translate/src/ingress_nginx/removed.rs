//! Annotations that ingress-nginx has removed but manifests still contain.

use crate::annotation::{Compared, Family, Row, nothing_to_finish, unserved};

const REMOVED: &str = "ingress-nginx has removed it and ignores it; remove it";

/// A key that has no effect with ingress-nginx either.
const fn removed(key: &'static str, example: &'static str, documentation: &'static str, instead: &'static str) -> Row {
    unserved(key, example, documentation, instead).compared(Compared::Equal)
}

pub static FAMILY: Family = Family {
    title: "Removed from ingress-nginx",
    rows: &[
        removed("add-base-url", "true", "Wrote a base element into pages. Removed from ingress-nginx.", REMOVED),
        removed("base-url-scheme", "https", "Scheme of that element. Removed from ingress-nginx.", REMOVED),
        removed("enable-influxdb", "true", "Sent measurements to InfluxDB. Removed from ingress-nginx.", REMOVED),
        removed("enable-opentracing", "true", "Traced requests. Removed from ingress-nginx.", REMOVED),
        removed(
            "global-rate-limit",
            "100",
            "Limited requests over all nodes. Removed from ingress-nginx.",
            "ingress-nginx has removed it and ignores it; limit-rps limits each client on each node",
        ),
        removed(
            "global-rate-limit-ignored-cidrs",
            "10.0.0.0/8",
            "Clients that were not limited. Removed from ingress-nginx.",
            REMOVED,
        ),
        removed("global-rate-limit-key", "$remote_addr", "The key of that limit. Removed from ingress-nginx.", REMOVED),
        removed("global-rate-limit-window", "1m", "The period of that limit. Removed from ingress-nginx.", REMOVED),
        removed(
            "grpc-backend",
            "true",
            "Spoke gRPC to the backend. Removed from ingress-nginx.",
            "ingress-nginx has removed it and ignores it; use backend-protocol: GRPC",
        ),
        removed("influxdb-host", "127.0.0.1", "Address of InfluxDB. Removed from ingress-nginx.", REMOVED),
        removed("influxdb-measurement", "shop", "Name of the measurement. Removed from ingress-nginx.", REMOVED),
        removed("influxdb-port", "8089", "Port of InfluxDB. Removed from ingress-nginx.", REMOVED),
        removed("influxdb-server-name", "shop", "Name of the server in InfluxDB. Removed from ingress-nginx.", REMOVED),
        removed("opentracing-operation-name", "shop", "Name of the span. Removed from ingress-nginx.", REMOVED),
        removed(
            "opentracing-trust-incoming-span",
            "true",
            "Trusted the trace of the client. Removed from ingress-nginx.",
            REMOVED,
        ),
        removed(
            "secure-backends",
            "true",
            "Spoke TLS to the backend. Removed from ingress-nginx.",
            "ingress-nginx has removed it and ignores it; use backend-protocol: HTTPS",
        ),
        removed(
            "secure-verify-ca-secret",
            "ca",
            "Verified the backend by this authority. Removed from ingress-nginx.",
            REMOVED,
        ),
        removed(
            "session-cookie-hash",
            "sha1",
            "How the affinity cookie was made. Removed from ingress-nginx.",
            REMOVED,
        ),
    ],
    finish: nothing_to_finish,
};
