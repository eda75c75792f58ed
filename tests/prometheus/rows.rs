//! For each alert, series that make it fire, and similar series that do not.

/// A series and its values, one a minute, as promtool has them.
pub type Series = (&'static str, &'static str);

/// An alert and what is tried with it.
pub struct Row {
    /// Its name.
    pub alert: &'static str,
    /// When it has to have fired, and has to be quiet.
    pub at: &'static str,
    /// What makes it fire.
    pub fires: &'static [Series],
    /// The labels that it has then, besides those of its rule.
    pub labels: &'static [(&'static str, &'static str)],
    /// Its value then, as it is told.
    pub value: &'static str,
    /// What does not, each by itself.
    pub quiet: &'static [&'static [Series]],
}

/// The labels of the node with which most alerts are tried.
const NODE: &[(&str, &str)] = &[("job", "ingressd"), ("instance", "edge-1")];

/// There is one row for each alert.
pub const ROWS: &[Row] = &[
    Row {
        alert: "IngressdGone",
        at: "10m",
        fires: &[(r#"up{job="ingressd",instance="edge-1"}"#, "0x30")],
        labels: NODE,
        value: "0",
        quiet: &[
            &[(r#"up{job="ingressd",instance="edge-1"}"#, "1x30")],
            &[(r#"up{job="other",instance="edge-1"}"#, "0x30")],
            // A restart is no alarm.
            &[(r#"up{job="ingressd",instance="edge-1"}"#, "1x5 0x3 1x30")],
        ],
    },
    Row {
        alert: "IngressdNotReady",
        at: "10m",
        fires: &[
            (r#"ingressd_ready{job="ingressd",instance="edge-1"}"#, "0x30"),
            (r#"ingressd_drained{job="ingressd",instance="edge-1"}"#, "0x30"),
        ],
        labels: NODE,
        value: "0",
        quiet: &[
            &[
                (r#"ingressd_ready{job="ingressd",instance="edge-1"}"#, "1x30"),
                (r#"ingressd_drained{job="ingressd",instance="edge-1"}"#, "0x30"),
            ],
            &[
                (r#"ingressd_ready{job="ingressd",instance="edge-1"}"#, "0x30"),
                (r#"ingressd_drained{job="ingressd",instance="edge-1"}"#, "1x30"),
            ],
        ],
    },
    Row {
        alert: "IngressdChangesFail",
        at: "40m",
        fires: &[(r#"ingressd_reloads_total{instance="edge-1",reason="endpoints",result="refused"}"#, "0+1x60")],
        labels: &[("instance", "edge-1"), ("result", "refused")],
        value: "15",
        quiet: &[
            &[(r#"ingressd_reloads_total{instance="edge-1",reason="endpoints",result="confirmed"}"#, "0+1x60")],
            &[(r#"ingressd_reloads_total{instance="edge-1",reason="endpoints",result="refused"}"#, "3x60")],
        ],
    },
    Row {
        alert: "IngressdChangesSlow",
        at: "90m",
        fires: &[
            (r#"ingressd_change_to_serving_seconds_bucket{instance="edge-1",le="32"}"#, "0x120"),
            (r#"ingressd_change_to_serving_seconds_bucket{instance="edge-1",le="64"}"#, "0+1x120"),
            (r#"ingressd_change_to_serving_seconds_bucket{instance="edge-1",le="+Inf"}"#, "0+1x120"),
        ],
        labels: &[("instance", "edge-1")],
        value: "62.4",
        quiet: &[
            &[
                (r#"ingressd_change_to_serving_seconds_bucket{instance="edge-1",le="16"}"#, "0+1x120"),
                (r#"ingressd_change_to_serving_seconds_bucket{instance="edge-1",le="+Inf"}"#, "0+1x120"),
            ],
            // Nothing changes.
            &[
                (r#"ingressd_change_to_serving_seconds_bucket{instance="edge-1",le="16"}"#, "7x120"),
                (r#"ingressd_change_to_serving_seconds_bucket{instance="edge-1",le="+Inf"}"#, "9x120"),
            ],
        ],
    },
    Row {
        alert: "IngressdObjectRefused",
        at: "20m",
        fires: &[(r#"ingressd_objects{instance="edge-1",kind="Ingress",state="quarantined"}"#, "2x30")],
        labels: &[("instance", "edge-1"), ("kind", "Ingress"), ("state", "quarantined")],
        value: "2",
        quiet: &[
            &[(r#"ingressd_objects{instance="edge-1",kind="Ingress",state="quarantined"}"#, "0x30")],
            &[(r#"ingressd_objects{instance="edge-1",kind="Ingress",state="accepted"}"#, "2x30")],
        ],
    },
    Row {
        alert: "IngressdFindings",
        at: "90m",
        fires: &[(r#"ingressd_findings{instance="edge-1",reason="InvalidHost",severity="error"}"#, "3x120")],
        labels: &[("instance", "edge-1"), ("reason", "InvalidHost")],
        value: "3",
        quiet: &[&[(r#"ingressd_findings{instance="edge-1",reason="NearBudget",severity="warning"}"#, "3x120")]],
    },
    Row {
        alert: "IngressdClusterSilent",
        at: "10m",
        fires: &[(r#"ingressd_data_age_seconds{job="ingressd",instance="edge-1"}"#, "400+60x30")],
        labels: NODE,
        value: "1000",
        quiet: &[&[(r#"ingressd_data_age_seconds{job="ingressd",instance="edge-1"}"#, "30x30")]],
    },
    Row {
        alert: "IngressdWatchFails",
        at: "20m",
        fires: &[(r#"ingressd_watch_state{instance="edge-1",kind="Secret",state="refused"}"#, "1x30")],
        labels: &[("instance", "edge-1"), ("kind", "Secret"), ("state", "refused")],
        value: "1",
        quiet: &[
            &[(r#"ingressd_watch_state{instance="edge-1",kind="Secret",state="current"}"#, "1x30")],
            &[(r#"ingressd_watch_state{instance="edge-1",kind="Secret",state="failing"}"#, "0x30")],
        ],
    },
    Row {
        alert: "IngressdNobodyLeads",
        at: "10m",
        fires: &[
            (r#"ingressd_leader{job="ingressd",instance="edge-1"}"#, "0x30"),
            (r#"ingressd_leader{job="ingressd",instance="edge-2"}"#, "0x30"),
        ],
        labels: &[("job", "ingressd")],
        value: "0",
        quiet: &[&[
            (r#"ingressd_leader{job="ingressd",instance="edge-1"}"#, "0x30"),
            (r#"ingressd_leader{job="ingressd",instance="edge-2"}"#, "1x30"),
        ]],
    },
    Row {
        alert: "IngressdNodeMissing",
        at: "20m",
        fires: &[
            (r#"ingressd_members{job="ingressd",instance="edge-1",state="expired"}"#, "1x30"),
            (r#"ingressd_members{job="ingressd",instance="edge-2",state="expired"}"#, "1x30"),
        ],
        labels: &[("job", "ingressd"), ("state", "expired")],
        value: "1",
        quiet: &[&[
            (r#"ingressd_members{job="ingressd",instance="edge-1",state="serving"}"#, "2x30"),
            (r#"ingressd_members{job="ingressd",instance="edge-1",state="drained"}"#, "1x30"),
            (r#"ingressd_members{job="ingressd",instance="edge-1",state="down"}"#, "0x30"),
        ]],
    },
    Row {
        alert: "IngressdStatusNotWritten",
        at: "60m",
        fires: &[(r#"ingressd_status_writes_total{instance="edge-1",result="failed"}"#, "0+1x90")],
        labels: &[("instance", "edge-1")],
        value: "15",
        quiet: &[&[(r#"ingressd_status_writes_total{instance="edge-1",result="written"}"#, "0+1x90")]],
    },
    Row {
        alert: "IngressdHostsRemoved",
        at: "2m",
        fires: &[(r#"ingressd_findings{instance="edge-1",reason="HostsRemoved",severity="error"}"#, "1x5")],
        labels: &[("instance", "edge-1")],
        value: "1",
        quiet: &[&[(r#"ingressd_findings{instance="edge-1",reason="WriteFailed",severity="error"}"#, "1x5")]],
    },
    Row {
        alert: "IngressdPinned",
        at: "90m",
        fires: &[(r#"ingressd_pinned_generation{job="ingressd",instance="edge-1"}"#, "7x120")],
        labels: NODE,
        value: "7",
        quiet: &[&[(r#"ingressd_pinned_generation{job="ingressd",instance="edge-1"}"#, "0x120")]],
    },
    Row {
        alert: "IngressdDrained",
        at: "9h",
        fires: &[(r#"ingressd_drained{job="ingressd",instance="edge-1"}"#, "1x600")],
        labels: NODE,
        value: "1",
        quiet: &[
            &[(r#"ingressd_drained{job="ingressd",instance="edge-1"}"#, "0x600")],
            &[(r#"ingressd_drained{job="ingressd",instance="edge-1"}"#, "0x300 1x300")],
        ],
    },
    Row {
        alert: "IngressdCertificateEnds",
        at: "90m",
        // This is thirty-six days after the beginning of the time that promtool has.
        fires: &[(
            r#"ingressd_certificate_expiry_timestamp_seconds{instance="edge-1",namespace="shop",name="pair"}"#,
            "518400x120",
        )],
        labels: &[("namespace", "shop"), ("name", "pair")],
        value: "513000",
        quiet: &[&[(
            r#"ingressd_certificate_expiry_timestamp_seconds{instance="edge-1",namespace="shop",name="pair"}"#,
            "2592000x120",
        )]],
    },
    Row {
        alert: "IngressdConnectionsEnded",
        at: "30m",
        fires: &[(r#"ingressd_nginx_draining_workers_ended_total{job="ingressd",instance="edge-1"}"#, "0+1x90")],
        labels: NODE,
        value: "30",
        quiet: &[&[(r#"ingressd_nginx_draining_workers_ended_total{job="ingressd",instance="edge-1"}"#, "5x90")]],
    },
    Row {
        alert: "IngressdNodesDisagree",
        at: "20m",
        fires: &[
            (r#"ingressd_objects{job="ingressd",instance="edge-1",kind="Ingress",state="accepted"}"#, "7x30"),
            (r#"ingressd_objects{job="ingressd",instance="edge-2",kind="Ingress",state="accepted"}"#, "9x30"),
            (r#"ingressd_objects{job="ingressd",instance="edge-3",kind="Ingress",state="accepted"}"#, "9x30"),
        ],
        labels: &[("job", "ingressd"), ("instance", "edge-1"), ("kind", "Ingress"), ("state", "accepted")],
        value: "7",
        quiet: &[
            &[
                (r#"ingressd_objects{job="ingressd",instance="edge-1",kind="Ingress",state="accepted"}"#, "7x30"),
                (r#"ingressd_objects{job="ingressd",instance="edge-2",kind="Ingress",state="accepted"}"#, "7x30"),
            ],
            // Another group serves other things.
            &[
                (r#"ingressd_objects{job="ingressd",instance="edge-1",kind="Ingress",state="accepted"}"#, "7x30"),
                (r#"ingressd_objects{job="internal",instance="edge-2",kind="Ingress",state="accepted"}"#, "9x30"),
            ],
            // A change does not reach all nodes at once.
            &[
                (r#"ingressd_objects{job="ingressd",instance="edge-1",kind="Ingress",state="accepted"}"#, "7x10 9x20"),
                (r#"ingressd_objects{job="ingressd",instance="edge-2",kind="Ingress",state="accepted"}"#, "7x12 9x18"),
            ],
        ],
    },
    Row {
        alert: "IngressdServerErrors",
        at: "30m",
        fires: &[
            (
                r#"ingressd_traffic_requests_total{job="ingressd",namespace="shop",ingress="web",status="2xx"}"#,
                "0+60x60",
            ),
            (
                r#"ingressd_traffic_requests_total{job="ingressd",namespace="shop",ingress="web",status="5xx"}"#,
                "0+6x60",
            ),
        ],
        labels: &[("job", "ingressd"), ("namespace", "shop"), ("ingress", "web")],
        value: "0.09",
        quiet: &[
            &[
                (
                    r#"ingressd_traffic_requests_total{job="ingressd",namespace="shop",ingress="web",status="2xx"}"#,
                    "0+60x60",
                ),
                (
                    r#"ingressd_traffic_requests_total{job="ingressd",namespace="shop",ingress="web",status="5xx"}"#,
                    "0+3x60",
                ),
            ],
            &[(
                r#"ingressd_traffic_requests_total{job="ingressd",namespace="shop",ingress="web",status="4xx"}"#,
                "0+60x60",
            )],
            // A few requests a minute are too few to tell.
            &[(
                r#"ingressd_traffic_requests_total{job="ingressd",namespace="shop",ingress="web",status="5xx"}"#,
                "0+5x60",
            )],
        ],
    },
    Row {
        alert: "IngressdServiceSlow",
        at: "30m",
        fires: &[
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",service="web",le="2.5"}"#,
                "0+9x60",
            ),
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",service="web",le="10"}"#,
                "0+10x60",
            ),
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",service="web",le="+Inf"}"#,
                "0+10x60",
            ),
        ],
        labels: &[("job", "ingressd"), ("namespace", "shop"), ("service", "web")],
        value: "9.25",
        quiet: &[&[
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",service="web",le="2.5"}"#,
                "0+1000x60",
            ),
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",service="web",le="10"}"#,
                "0+1001x60",
            ),
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",service="web",le="+Inf"}"#,
                "0+1001x60",
            ),
        ]],
    },
];

/// A series that is recorded, and what is tried with it.
pub struct Recorded {
    pub name: &'static str,
    pub series: &'static [Series],
    /// Its labels after ten minutes.
    pub labels: &'static str,
    pub value: f64,
}

const REQUESTS: &[Series] = &[
    (
        r#"ingressd_traffic_requests_total{job="ingressd",instance="edge-1",namespace="shop",ingress="web",status="2xx"}"#,
        "0+90x20",
    ),
    (
        r#"ingressd_traffic_requests_total{job="ingressd",instance="edge-2",namespace="shop",ingress="web",status="5xx"}"#,
        "0+30x20",
    ),
];

const DURATION: &[Series] = &[
    (
        r#"ingressd_traffic_duration_seconds_bucket{job="ingressd",namespace="shop",ingress="web",service="a",le="0.5"}"#,
        "0+10x20",
    ),
    (
        r#"ingressd_traffic_duration_seconds_bucket{job="ingressd",namespace="shop",ingress="web",service="b",le="0.5"}"#,
        "0+40x20",
    ),
    (
        r#"ingressd_traffic_duration_seconds_bucket{job="ingressd",namespace="shop",ingress="web",service="a",le="1"}"#,
        "0+60x20",
    ),
    (
        r#"ingressd_traffic_duration_seconds_bucket{job="ingressd",namespace="shop",ingress="web",service="b",le="1"}"#,
        "0+40x20",
    ),
    (
        r#"ingressd_traffic_duration_seconds_bucket{job="ingressd",namespace="shop",ingress="web",service="a",le="+Inf"}"#,
        "0+60x20",
    ),
    (
        r#"ingressd_traffic_duration_seconds_bucket{job="ingressd",namespace="shop",ingress="web",service="b",le="+Inf"}"#,
        "0+40x20",
    ),
];

const OF_INGRESS: &str = r#"{job="ingressd",namespace="shop",ingress="web"}"#;

/// There is one row for each series.
pub const RECORDED: &[Recorded] = &[
    Recorded { name: "namespace_ingress:traffic_requests:rate5m", series: REQUESTS, labels: OF_INGRESS, value: 2.0 },
    Recorded {
        name: "namespace_ingress:traffic_server_errors:ratio5m",
        series: REQUESTS,
        labels: OF_INGRESS,
        value: 0.25,
    },
    Recorded {
        name: "namespace_ingress:traffic_duration_seconds:p50_5m",
        series: DURATION,
        labels: OF_INGRESS,
        value: 0.5,
    },
    Recorded {
        name: "namespace_ingress:traffic_duration_seconds:p99_5m",
        series: DURATION,
        labels: OF_INGRESS,
        value: 0.99,
    },
    Recorded {
        name: "namespace_service:traffic_upstream_seconds:p99_5m",
        series: &[
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",ingress="a",service="web",le="1"}"#,
                "0+5x20",
            ),
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",ingress="b",service="web",le="1"}"#,
                "0+5x20",
            ),
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",ingress="a",service="web",le="+Inf"}"#,
                "0+5x20",
            ),
            (
                r#"ingressd_traffic_upstream_seconds_bucket{job="ingressd",namespace="shop",ingress="b",service="web",le="+Inf"}"#,
                "0+5x20",
            ),
        ],
        labels: r#"{job="ingressd",namespace="shop",service="web"}"#,
        value: 0.99,
    },
];
