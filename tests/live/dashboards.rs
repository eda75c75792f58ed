//! What the dashboards of ingress-nginx ask, asked of a real Prometheus that scrapes a daemon as
//! the page about it says.

use std::path::Path;

use regex::Regex;
use serde_json::Value;

use rig::client::{get, post};
use rig::cluster;
use rig::cluster::objects::ADDRESS;
use rig::manifests::{ingress, tls_secret};
use rig::prometheus::Prometheus;
use rig::wait;

/// Where the daemon tells its metrics.
const TARGET: &str = "127.0.0.1:10254";

/// The variables of the dashboards, and the metric and label that give their values.
const VARIABLES: &[(&str, &str, &str)] = &[
    ("$namespace", "nginx_ingress_controller_config_hash", "controller_namespace"),
    ("$class", r#"nginx_ingress_controller_config_hash{namespace="$namespace"}"#, "controller_class"),
    (
        "$controller",
        r#"nginx_ingress_controller_config_hash{namespace="$namespace",controller_class="$class"}"#,
        "controller_pod",
    ),
    (
        "$ingress",
        r#"nginx_ingress_controller_requests{namespace="$namespace",controller_class="$class",controller_pod="$controller"}"#,
        "ingress",
    ),
    (
        "$exported",
        r#"nginx_ingress_controller_requests{namespace="$namespace",ingress="$ingress"}"#,
        "exported_namespace",
    ),
];

/// Labels of a controller as one dashboard asks for them, and what it adds for an Ingress.
const SCRAPED: &str = r#"controller_pod="$controller",controller_class="$class",namespace="$namespace""#;
const OWN: &str = r#"controller_pod="$controller",controller_class="$class",controller_namespace="$namespace""#;

/// The questions of `nginx.json`: `SCRAPED` and `OWN` stand for labels, and `P` for what metrics
/// begin with.
const OVERVIEW: &[&str] = &[
    "sum by (controller_class) (changes(P_config_last_reload_successful_timestamp_seconds{instance!='unknown',controller_class='$class',namespace='$namespace'}[30s]))",
    "sum(irate(P_requests{SCRAPED}[2m]))",
    "sum(avg_over_time(P_nginx_process_connections{OWN,state='active'}[2m]))",
    "sum(rate(P_requests{SCRAPED,status!~'[45].*'}[2m])) / sum(rate(P_requests{SCRAPED}[2m]))",
    "avg(irate(P_success{OWN}[1m])) * 60",
    "count(P_config_last_reload_successful{controller_pod='$controller',controller_namespace='$namespace'} == bool 0)",
    "sum by (ingress) (irate(P_requests{OWN,ingress='$ingress'}[2m]))",
    "sum by (ingress) (rate(P_requests{SCRAPED,ingress='$ingress',status!~'[45].*'}[2m])) / sum by (ingress) (rate(P_requests{SCRAPED,ingress='$ingress'}[2m]))",
    "sum(irate(P_request_size_sum{OWN}[2m]))",
    "-sum(irate(P_response_size_sum{OWN}[2m]))",
    "avg(P_nginx_process_resident_memory_bytes{OWN})",
    "avg(rate(P_nginx_process_cpu_seconds_total{OWN}[2m]))",
    "histogram_quantile(0.5, sum by (le, ingress) (rate(P_request_duration_seconds_bucket{OWN,ingress!='',ingress='$ingress'}[2m])))",
    "histogram_quantile(0.9, sum by (le, ingress) (rate(P_request_duration_seconds_bucket{OWN,ingress!='',ingress='$ingress'}[2m])))",
    "histogram_quantile(0.99, sum by (le, ingress) (rate(P_request_duration_seconds_bucket{OWN,ingress!='',ingress='$ingress'}[2m])))",
    "sum by (ingress) (irate(P_request_size_sum{OWN,ingress!='',ingress='$ingress'}[2m]))",
    "sum by (ingress) (irate(P_response_size_sum{OWN,ingress!='',ingress='$ingress'}[2m]))",
    "histogram_quantile(0.8, sum by (le) (rate(P_request_duration_seconds_bucket{OWN,ingress='$ingress',exported_namespace='$exported'}[2m])))",
    "sum by (le) (increase(P_request_duration_seconds_bucket{OWN,ingress='$ingress',exported_namespace='$exported'}[2m]))",
    "avg by (host) (P_ssl_expire_time_seconds{kubernetes_pod_name='$controller',namespace='$namespace'}) - time()",
];

/// Those of `request-handling-performance.json`.
const PERFORMANCE: &[&str] = &[
    "histogram_quantile(0.5, sum by (le) (rate(P_request_duration_seconds_bucket{ingress='$ingress'}[1m])))",
    "histogram_quantile(0.95, sum by (le) (rate(P_response_duration_seconds_bucket{ingress='$ingress'}[1m])))",
    "sum by (path) (rate(P_request_duration_seconds_count{ingress='$ingress'}[1m]))",
    "histogram_quantile(0.5, sum by (le, path) (rate(P_response_duration_seconds_bucket{ingress='$ingress'}[1m])))",
    "sum by (path) (rate(P_request_duration_seconds_count{ingress='$ingress',status=~'[45].*'}[1m])) / sum by (path) (rate(P_request_duration_seconds_count{ingress='$ingress'}[1m]))",
    "sum by (path) (rate(P_response_duration_seconds_sum{ingress='$ingress'}[1m]))",
    "sum by (path, status) (rate(P_request_duration_seconds_count{ingress='$ingress',status=~'[45].*'}[1m]))",
    "sum by (path) (rate(P_response_size_sum{ingress='$ingress'}[1m])) / sum by (path) (rate(P_response_size_count{ingress='$ingress'}[1m]))",
    "sum by (le) (rate(P_response_size_bucket{ingress='$ingress'}[1m]))",
    "sum(rate(P_ingress_upstream_latency_seconds_sum{ingress='$ingress'}[1m])) / sum(rate(P_ingress_upstream_latency_seconds_count{ingress='$ingress'}[1m]))",
];

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/prometheus.md")).unwrap()
}

/// The configuration of the page that makes the labels, for this test's node.
fn configuration() -> String {
    let page = page();
    let mut blocks = page.split("```yaml\n").skip(1).filter_map(|rest| Some(rest.split_once("\n```")?.0));
    let block = blocks.find(|block| block.contains("metric_relabel_configs")).unwrap();
    let targets = Regex::new("targets: .*").unwrap();
    targets.replace(block, format!("targets: [{TARGET:?}]")).into_owned() + "\n"
}

fn label(series: &Value, name: &str) -> String {
    series["metric"][name].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_dashboards_of_ingress_nginx_get_an_answer_to_every_question() {
    cluster::run(async |cluster| {
        cluster.daemon.set("traffic.ingress-nginx-names", "true");
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(tls_secret("pair", &["shop.example"])).await;
        let shop = ingress("shop").path("shop.example", "Prefix", "/a", "web").tls(&["shop.example"], "pair");
        let plain = ingress("plain").path("plain.example", "Prefix", "/api", "web");
        cluster.objects.apply_all([shop.build(), plain.build()]).await;
        cluster.start().await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        get("http://plain.example/api").send_until("an answer", |reply| reply.status == 200).await;
        let prometheus = Prometheus::start_with(cluster.folder(), &configuration()).await;
        let requests = async |labels: &str| {
            let counted =
                prometheus.query(&format!("nginx_ingress_controller_requests{{ingress='plain',{labels}}}")).await;
            counted.first().and_then(|series| series["value"][1].as_str()?.parse::<f64>().ok()).unwrap_or(0.0)
        };
        // A rate needs counts that have grown since they were first seen.
        let some = async || {
            assert_eq!(get("http://plain.example/api/x").send().await.status, 200);
            assert_eq!(get("http://plain.example/api?status=500").send().await.status, 500);
            assert_eq!(post("http://plain.example/api", "x").send().await.status, 200);
        };
        some().await;
        let counted =
            async || requests("status='500',method='GET',path='/api',host='plain.example',service='web'").await;
        wait::until_right("one failed request", &counted, |count| *count >= 1.0).await;
        some().await;
        wait::until_right("two failed requests", &counted, |count| *count >= 2.0).await;

        let mut values: Vec<(&str, String)> = Vec::new();
        let filled = |text: &str, values: &[(&str, String)]| {
            values.iter().fold(text.to_owned(), |text, (variable, value)| text.replace(variable, value))
        };
        for (variable, metric, name) in VARIABLES {
            let series = prometheus.query(&filled(metric, &values)).await;
            let mut found: Vec<_> = series.iter().map(|series| label(series, name)).collect();
            found.retain(|value| !value.is_empty() && (*variable != "$ingress" || value == "plain"));
            values.push((variable, found.pop().unwrap_or_else(|| panic!("{variable} has no value: {series:?}"))));
        }
        assert_eq!(values[1].1, cluster.objects.controller("nginx"));

        let (mut silent, mut wrong) = (Vec::new(), Vec::new());
        for question in OVERVIEW.iter().chain(PERFORMANCE) {
            let question =
                question.replace("SCRAPED", SCRAPED).replace("OWN", OWN).replace("P_", "nginx_ingress_controller_");
            let question = filled(&question, &values);
            let answer = prometheus.query(&question).await;
            if answer.is_empty() {
                silent.push(question);
            } else if answer.iter().all(|series| series["value"][1] == "NaN") {
                wrong.push(question);
            }
        }
        assert_eq!((silent, wrong), (Vec::new(), Vec::new()), "questions without an answer, and with no number");

        // What is told is what the page lists.
        let known = prometheus.query(r#"{__name__=~"nginx_ingress_controller_.+"}"#).await;
        let page = page();
        for name in known.iter().map(|series| label(series, "__name__")) {
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
            let is_listed = |name: &str| page.contains(&format!("| `{name}` |"));
            assert!(is_listed(&name) || is_listed(family), "docs/prometheus.md does not have {name}");
        }
        let listed = Regex::new(r"(?m)^\| `(nginx_ingress_controller_\w+)` \|").unwrap();
        for name in listed.captures_iter(&page).map(|row| row[1].to_owned()) {
            let is_reported = known.iter().any(|series| label(series, "__name__").starts_with(&name));
            assert!(is_reported, "{name} is on the page and not told");
        }
    });
}
