//! Keys that ingress-nginx itself has given up but manifests still hold; it must not know what they did.

use crate::translate::annotation::{Effect, Family, Gives, Row, always, nothing_to_finish};

pub static FAMILY: Family = Family {
    title: "Removed from ingress-nginx",
    rows: &[
        Row {
            key: "add-base-url",
            documentation: "Wrote a base element into pages. Removed from ingress-nginx.",
            tries: &[("true", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "base-url-scheme",
            documentation: "Scheme of that element. Removed from ingress-nginx.",
            tries: &[("https", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "enable-influxdb",
            documentation: "Sent measurements to InfluxDB. Removed from ingress-nginx.",
            tries: &[("true", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "enable-opentracing",
            documentation: "Traced requests. Removed from ingress-nginx.",
            tries: &[("true", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "global-rate-limit",
            documentation: "Limited requests over all nodes. Removed from ingress-nginx.",
            tries: &[("100", Gives::Refused("has removed it"))],
            effect: Effect::Missing {
                asks: always,
                instead: "ingress-nginx has removed it and ignores it; limit-rps limits each client on each node",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "global-rate-limit-ignored-cidrs",
            documentation: "Who was not limited. Removed from ingress-nginx.",
            tries: &[("10.0.0.0/8", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "global-rate-limit-key",
            documentation: "What it counted by. Removed from ingress-nginx.",
            tries: &[("$remote_addr", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "global-rate-limit-window",
            documentation: "Its time. Removed from ingress-nginx.",
            tries: &[("1m", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "grpc-backend",
            documentation: "Spoke gRPC to the backend. Removed from ingress-nginx.",
            tries: &[("true", Gives::Refused("has removed it"))],
            effect: Effect::Missing {
                asks: always,
                instead: "ingress-nginx has removed it and ignores it; use backend-protocol: GRPC",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "influxdb-host",
            documentation: "Address of InfluxDB. Removed from ingress-nginx.",
            tries: &[("127.0.0.1", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "influxdb-measurement",
            documentation: "Name of the measurement. Removed from ingress-nginx.",
            tries: &[("shop", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "influxdb-port",
            documentation: "Port of InfluxDB. Removed from ingress-nginx.",
            tries: &[("8089", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "influxdb-server-name",
            documentation: "Name of the server there. Removed from ingress-nginx.",
            tries: &[("shop", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "opentracing-operation-name",
            documentation: "Name of the span. Removed from ingress-nginx.",
            tries: &[("shop", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "opentracing-trust-incoming-span",
            documentation: "Trusted the trace of the client. Removed from ingress-nginx.",
            tries: &[("true", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "secure-backends",
            documentation: "Spoke TLS to the backend. Removed from ingress-nginx.",
            tries: &[("true", Gives::Refused("has removed it"))],
            effect: Effect::Missing {
                asks: always,
                instead: "ingress-nginx has removed it and ignores it; use backend-protocol: HTTPS",
            },
            ..Row::DEFAULT
        },
        Row {
            key: "secure-verify-ca-secret",
            documentation: "Verified the backend by this authority. Removed from ingress-nginx.",
            tries: &[("ca", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
        Row {
            key: "session-cookie-hash",
            documentation: "How the affinity cookie was made. Removed from ingress-nginx.",
            tries: &[("sha1", Gives::Refused("has removed it"))],
            effect: Effect::Missing { asks: always, instead: "ingress-nginx has removed it and ignores it; remove it" },
            ..Row::DEFAULT
        },
    ],
    finish: nothing_to_finish,
};
