//! A real Prometheus with a real daemon: every shipped expression gives a result.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::Value;

use rig::client::get;
use rig::cluster;
use rig::cluster::objects::ADDRESS;
use rig::manifests::{ingress, tls_secret};
use rig::prometheus::Prometheus;
use rig::wait;

/// Where the daemon tells its metrics.
const TARGET: &str = "127.0.0.1:10254";

/// Metrics of the page that a node has only in some state, in which this one is not.
const NOT_HERE: &[&str] = &["ingressd_drained_connections", "ingressd_nginx_errors_total"];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Every text below members of these names.
fn texts(value: &Value, names: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if names.contains(&name.as_str()) => found.push(text.clone()),
                    value => texts(value, names, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| texts(value, names, found)),
        _ => {}
    }
}

/// The expressions of the alerts, without the limits that make them quiet: every series that is
/// compared has an answer.
fn of_alerts() -> Vec<String> {
    let rules: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(repository("examples/prometheus/alerts.yaml")).unwrap())
            .unwrap();
    let mut found = Vec::new();
    texts(&rules, &["expr"], &mut found);
    let compared = Regex::new(r" (==|!=|>|<) ").unwrap();
    found.iter().map(|expression| compared.replace_all(expression, " $1 bool ").into_owned()).collect()
}

/// The expressions of the dashboard, for all jobs and nodes.
fn of_dashboard() -> Vec<String> {
    let dashboard = std::fs::read(repository("examples/grafana/ingressd.json")).unwrap();
    let mut found = Vec::new();
    texts(&serde_json::from_slice(&dashboard).unwrap(), &["expr"], &mut found);
    let all = |text: &String| text.replace("$job", ".*").replace("$node", ".*").replace("$__rate_interval", "1m");
    found.iter().map(all).collect()
}

/// The text form that promtool reads, which has no types for builds and no units, and names
/// counters as queries do.
fn text_form(openmetrics: &str) -> String {
    let mut text = String::new();
    let types: Vec<_> = openmetrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    for line in openmetrics.lines().filter(|line| !line.starts_with("# UNIT") && *line != "# EOF") {
        let mut words: Vec<_> = line.splitn(4, ' ').map(str::to_owned).collect();
        if let ["#", "HELP" | "TYPE", name, rest] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            let (_, metric_type) = types.iter().find(|(known, _)| *known == name).unwrap();
            let (name, rest) = match *metric_type {
                "counter" => (format!("{name}_total"), rest.to_owned()),
                "info" => (format!("{name}_info"), rest.replace("info", "gauge")),
                _ => (name.to_owned(), rest.to_owned()),
            };
            (words[2], words[3]) = (name, rest);
        }
        text.push_str(&format!("{}\n", words.join(" ")));
    }
    text
}

/// promtool has nothing to say against the metrics.
fn check_metrics(openmetrics: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = promtool.spawn().expect("promtool is not installed: run `make test`, which installs it");
    std::io::Write::write_all(&mut process.stdin.take().unwrap(), text_form(openmetrics).as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    let reported = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{reported}\n{}", text_form(openmetrics));
}

#[test]
fn a_prometheus_gets_an_answer_to_every_expression_of_alerts_and_dashboard() {
    cluster::run(async |cluster| {
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(tls_secret("pair", &["shop.example"])).await;
        let shop = ingress("shop").host("shop.example", "web").tls(&["shop.example"], "pair");
        // Something is wrong as well.
        let wrong = ingress("wrong").host("wrong.example", "absent");
        let plain = ingress("plain").host("plain.example", "web");
        cluster.objects.apply_all([shop.build(), wrong.build(), plain.build()]).await;
        cluster.start().await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        // Requests that are counted.
        get("http://plain.example/").send_until("an answer", |reply| reply.status == 200).await;
        let metrics = async || cluster.daemon.get("/metrics").await.map(|reply| reply.text()).unwrap_or_default();
        let is_counted = |metrics: &String| metrics.contains("\ningressd_traffic_upstream_seconds_count{");
        wait::until_right("a request that is counted", metrics, is_counted).await;
        check_metrics(&cluster.daemon.get("/metrics").await.unwrap().text());

        let rules = repository("examples/prometheus/alerts.yaml");
        let prometheus = Prometheus::start(cluster.folder(), TARGET, &rules).await;
        let scrapes = async || {
            let count = prometheus.query("count_over_time(ingressd_ready[1m])").await;
            count.first().and_then(|series| series["value"][1].as_str()?.parse::<u64>().ok()).unwrap_or(0)
        };
        wait::until_right("three scrapes", scrapes, |scrapes| *scrapes > 2).await;
        let targets = prometheus.ask("targets").await;
        let target = &targets["activeTargets"][0];
        assert_eq!((&target["health"], &target["lastError"]), (&"up".into(), &"".into()), "{target}");
        let judged = async || {
            let groups = prometheus.ask("rules").await["groups"].as_array().unwrap().clone();
            groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect::<Vec<_>>()
        };
        let is_judged = |rules: &Vec<Value>| rules.iter().all(|rule| rule["health"] != "unknown");
        let rules = wait::until_right("rules that were judged", judged, is_judged).await;
        assert_eq!(rules.iter().filter(|rule| rule["health"] != "ok").collect::<Vec<_>>(), [&Value::Null; 0]);

        let selector = Regex::new(r"\b(?:ingressd_\w+|process_\w+|up\b|\w+:\w+:\w+)(?:\{[^}]*\})?").unwrap();
        let expressions = [of_alerts(), of_dashboard()].concat();
        let (mut silent, mut asked) = (Vec::new(), BTreeSet::new());
        for expression in &expressions {
            let answer = prometheus.query(expression).await;
            let mut exists = true;
            for selected in selector.find_iter(expression) {
                asked.insert(selected.as_str().split('{').next().unwrap().to_owned());
                exists &= !prometheus.query(selected.as_str()).await.is_empty();
            }
            if exists && answer.is_empty() {
                silent.push(expression);
            }
        }
        assert_eq!(silent, [""; 0], "these have series and no answer");
        assert!(asked.len() > 30, "{asked:?}");

        // The metrics that the page lists exist, and the queries name no others, which would have
        // no answer.
        let known = prometheus.query(r#"{job="ingressd"}"#).await;
        let known: BTreeSet<_> =
            known.iter().map(|series| series["metric"]["__name__"].as_str().unwrap().to_owned()).collect();
        let page = std::fs::read_to_string(repository("docs/prometheus.md")).unwrap();
        let listed = Regex::new(r"(?m)^\| `((?:ingressd|process)_\w+)` \| (\w+)").unwrap();
        let listed: BTreeSet<_> = listed
            .captures_iter(&page)
            .flat_map(|row| match &row[2] {
                "histogram" => ["_bucket", "_sum", "_count"].map(|end| format!("{}{end}", &row[1])).to_vec(),
                _ => vec![row[1].to_owned()],
            })
            .collect();
        let unknown: Vec<_> =
            asked.iter().filter(|name| *name != "up" && !name.contains(':') && !listed.contains(*name)).collect();
        assert_eq!(unknown, [""; 0], "metrics that docs/prometheus.md does not have");
        let missing: Vec<_> =
            listed.iter().filter(|name| !known.contains(*name) && !NOT_HERE.contains(&name.as_str())).collect();
        assert_eq!(missing, [""; 0], "metrics of docs/prometheus.md that the node does not tell");
    });
}
