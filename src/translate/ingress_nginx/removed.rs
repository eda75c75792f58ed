//! Keys that ingress-nginx itself has given up but manifests still hold; it must not know what they did.

use crate::translate::annotation::{Family, nothing_to_finish, unserved};

const REMOVED: &str = "ingress-nginx has removed it and ignores it; remove it";

pub static FAMILY: Family = Family {
    title: "Removed from ingress-nginx",
    rows: &[
        unserved("add-base-url", "true", "Wrote a base element into pages. Removed from ingress-nginx.", REMOVED),
        unserved("base-url-scheme", "https", "Scheme of that element. Removed from ingress-nginx.", REMOVED),
        unserved("enable-influxdb", "true", "Sent measurements to InfluxDB. Removed from ingress-nginx.", REMOVED),
        unserved("enable-opentracing", "true", "Traced requests. Removed from ingress-nginx.", REMOVED),
        unserved(
            "global-rate-limit",
            "100",
            "Limited requests over all nodes. Removed from ingress-nginx.",
            "ingress-nginx has removed it and ignores it; limit-rps limits each client on each node",
        ),
        unserved(
            "global-rate-limit-ignored-cidrs",
            "10.0.0.0/8",
            "Who was not limited. Removed from ingress-nginx.",
            REMOVED,
        ),
        unserved("global-rate-limit-key", "$remote_addr", "What it counted by. Removed from ingress-nginx.", REMOVED),
        unserved("global-rate-limit-window", "1m", "Its time. Removed from ingress-nginx.", REMOVED),
        unserved(
            "grpc-backend",
            "true",
            "Spoke gRPC to the backend. Removed from ingress-nginx.",
            "ingress-nginx has removed it and ignores it; use backend-protocol: GRPC",
        ),
        unserved("influxdb-host", "127.0.0.1", "Address of InfluxDB. Removed from ingress-nginx.", REMOVED),
        unserved("influxdb-measurement", "shop", "Name of the measurement. Removed from ingress-nginx.", REMOVED),
        unserved("influxdb-port", "8089", "Port of InfluxDB. Removed from ingress-nginx.", REMOVED),
        unserved("influxdb-server-name", "shop", "Name of the server there. Removed from ingress-nginx.", REMOVED),
        unserved("opentracing-operation-name", "shop", "Name of the span. Removed from ingress-nginx.", REMOVED),
        unserved(
            "opentracing-trust-incoming-span",
            "true",
            "Trusted the trace of the client. Removed from ingress-nginx.",
            REMOVED,
        ),
        unserved(
            "secure-backends",
            "true",
            "Spoke TLS to the backend. Removed from ingress-nginx.",
            "ingress-nginx has removed it and ignores it; use backend-protocol: HTTPS",
        ),
        unserved(
            "secure-verify-ca-secret",
            "ca",
            "Verified the backend by this authority. Removed from ingress-nginx.",
            REMOVED,
        ),
        unserved(
            "session-cookie-hash",
            "sha1",
            "How the affinity cookie was made. Removed from ingress-nginx.",
            REMOVED,
        ),
    ],
    finish: nothing_to_finish,
};
