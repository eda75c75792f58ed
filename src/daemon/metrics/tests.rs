//! The metrics, and what the documentation, the dashboard and the alerts say about them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::daemon::estimate::Estimate;
use ingressd_cluster::publish::{EventResult, Member, Mode, StatusWrite, Writes};
use ingressd_cluster::source::cluster::{Need, Requests, WatchHealth};
use ingressd_model::cost::Cost;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Kind, ObjectId, ObjectState, Origin, ServedVersion, Verdict, Version, WorkingVersion};

#[test]
fn stub_status_is_read() {
    let text =
        "Active connections: 2 \nserver accepts handled requests\n 16 15 44 \nReading: 0 Writing: 1 Waiting: 1 \n";
    let expected =
        StubStatus { active: 2, accepted: 16, handled: 15, requests: 44, reading: 0, writing: 1, waiting: 1 };
    assert_eq!(StubStatus::read(text), Some(expected));
    assert_eq!(StubStatus::read("404 Not Found"), None);
}

/// The output when every metric has a value, without those of other nodes.
fn example() -> String {
    let metrics = Metrics::default();
    let outcome = Outcome::Confirmed {
        generation: 3,
        test: Duration::from_millis(20),
        reload: Duration::from_millis(30),
        written: 1,
    };
    metrics.tested(&[Duration::from_millis(20)]);
    metrics.count(Cause::Change, &outcome, Some(Duration::from_millis(70)));
    metrics.count(Cause::Change, &Outcome::Unchanged { generation: 3 }, None);
    metrics.traffic().count("a.example - - 404 GET 0.020 150 90 0.010");
    metrics.published().status(StatusWrite::Written);
    metrics.published().events(EventResult::Sent, 1);
    let secret = Arc::new(ObjectId::new(Kind::SECRET, "shop", "cert"));
    let now = Instant::now();
    let requests = Arc::<Requests>::default();
    let id = |name: &str| Arc::new(ObjectId::new(Kind::INGRESS, "shop", name));
    let whole = WorkingVersion::whole(Version("1".into()), Vec::new(), 1);
    let unanswered = ObjectState::of(&id("down"), WorkingVersion { unanswered: 1, ..whole });
    let served = unanswered.working.clone().map(|what| ServedVersion { what, since: None, is_earlier: false });
    requests.count("list", Some(hyper::StatusCode::FORBIDDEN));
    let status = Status {
        generation: Some(3),
        workers: 2,
        old_workers: ingressd_apply::OldWorkers { most: 16, ..Default::default() },
        ended: 4,
        data_read: Some(now),
        certificates: vec![(Arc::clone(&secret), 1_800_000_000)].into(),
        findings: [Finding::new(Reason::Quarantined, Origin::object(&secret), "it is an example")].into(),
        quarantined: [secret].into(),
        objects: vec![("Service", 4)],
        concluded: true,
        states: [
            Arc::new(ObjectState { served, ..unanswered }),
            Arc::new(ObjectState::new(&id("none"), Verdict::Refused(Reason::Quarantined))),
        ]
        .into(),
        watches: [WatchHealth {
            synced: true,
            heard: Some(now),
            ..WatchHealth::new(ingressd_model::Kind::SECRET, None, Need::Required)
        }]
        .into(),
        requests: Some(requests),
        estimate: Arc::new(Estimate { costs: vec![("shop".into(), Cost::default())].into(), ..Estimate::default() }),
        ..Status::default()
    };
    metrics.encode(&status, Some(StubStatus::default()), now)
}

#[test]
fn names_and_units_are_those_that_are_documented() {
    let text = example();
    for line in [
        "ingressd_reloads_total{reason=\"change\",result=\"confirmed\"} 1",
        "ingressd_reload_duration_seconds_count 1",
        "ingressd_test_duration_seconds_count 1",
        "ingressd_change_to_serving_seconds_bucket{le=\"0.1\"} 1",
        "ingressd_generation 3",
        "ingressd_ready 0",
        "ingressd_nginx_workers{state=\"current\"} 2",
        "ingressd_nginx_draining_workers_most 16",
        "ingressd_nginx_draining_workers_ended_total 4",
        "ingressd_objects{kind=\"Service\",state=\"read\"} 4",
        "ingressd_objects{kind=\"Ingress\",state=\"accepted\"} 1",
        "ingressd_objects{kind=\"Ingress\",state=\"closed\"} 1",
        "ingressd_objects{kind=\"Ingress\",state=\"refused\"} 1",
        "ingressd_objects{kind=\"Ingress\",state=\"ok\"} 0",
        "ingressd_nginx_requests_total 0",
        r#"ingressd_traffic_requests_total{namespace="",ingress="",service="",method="read",status="4xx"} 1"#,
        r#"ingressd_traffic_duration_seconds_bucket{le="0.005",namespace="",ingress="",service=""} 0"#,
        r#"ingressd_traffic_duration_seconds_bucket{le="0.025",namespace="",ingress="",service=""} 1"#,
        r#"ingressd_traffic_upstream_seconds_sum{namespace="",ingress="",service=""} 0.01"#,
        r#"ingressd_traffic_sent_bytes_total{namespace="",ingress="",service=""} 150"#,
        "ingressd_traffic_unread_lines_total 0",
        "ingressd_traffic_sampling 1",
        "ingressd_watch_state{kind=\"Secret\",namespace=\"\",state=\"current\"} 1",
        "ingressd_watch_age_seconds{kind=\"Secret\",namespace=\"\"} 0.0",
        "ingressd_api_requests_total{verb=\"list\",code=\"403\"} 1",
        "ingressd_certificate_expiry_timestamp_seconds{namespace=\"shop\",name=\"cert\"} 1800000000",
        "# UNIT process_resident_memory_bytes bytes",
        "process_cpu_seconds_total ",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(text.contains("ingressd_build_info{"), "{text}");
}

/// The example together with the metrics of other nodes.
fn everything() -> String {
    let mut text = example();
    let mut others = Registry::with_prefix("ingressd");
    let member = Member { identity: "a".into(), serving: true, ..Member::default() };
    let members = vec![Peer { member: Arc::new(member), life: Life::Alive, age: Duration::ZERO }];
    let (mode, addresses) = (Mode::Nodes, None);
    let writes = Writes::Now;
    let view =
        View { identity: "a".into(), manager: "m".into(), leads: true, leader: None, mode, writes, addresses, members };
    register_nodes(&mut others, &view);
    prometheus_client::encoding::text::encode(&mut text, &others).unwrap();
    text
}

/// A metric with its documentation.
struct Described {
    name: String,
    kind: String,
    labels: BTreeSet<String>,
    help: String,
}

impl Described {
    /// The names of its time series.
    fn series(&self) -> Vec<String> {
        let endings: &[&str] = match &*self.kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            "info" => &["_info"],
            _ => &[""],
        };
        endings.iter().map(|ending| format!("{}{ending}", self.name)).collect()
    }
}

fn described() -> Vec<Described> {
    let text = everything();
    let after = |begin: &str, name: &str| {
        let begin = format!("{begin} {name} ");
        text.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_default().to_owned()
    };
    let label = regex::Regex::new("([a-z_]+)=\"").unwrap();
    let all = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    all.map(|(name, kind)| {
        let mut described = Described {
            name: name.to_owned(),
            kind: kind.to_owned(),
            labels: BTreeSet::new(),
            help: after("# HELP", name),
        };
        let series = described.series();
        let lines = text.lines().filter_map(|line| line.split_once('{'));
        let own = lines.filter(|(before, _)| series.iter().any(|series| series == before));
        let labels = own.flat_map(|(_, rest)| label.captures_iter(rest).map(|found| found[1].to_owned()));
        described.labels = labels.filter(|label| label != "le").collect();
        described
    })
    .collect()
}

/// The names of metrics in expressions.
fn asked<'a>(expressions: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let name = regex::Regex::new("(?:ingressd|process)_[a-z_]+").unwrap();
    expressions.flat_map(|text| name.find_iter(text).map(|found| found.as_str().to_owned())).collect()
}

fn known() -> BTreeSet<String> {
    described().iter().flat_map(Described::series).collect()
}

#[test]
fn the_page_about_prometheus_has_every_metric() {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/prometheus.md");
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once("<!-- metrics: generated -->\n").expect("the mark before it");
    let (committed, after) = rest.split_once("<!-- metrics: end -->\n").expect("the mark behind it");
    let mut table = String::from("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n");
    for metric in described() {
        let name = match &*metric.kind {
            "histogram" => metric.name.clone(),
            _ => metric.series().concat(),
        };
        let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let help = metric.help.trim_end_matches('.');
        table += &format!("| `{name}` | {} | {} | {help} |\n", metric.kind, labels.join(", "));
    }
    if std::env::var_os("UPDATE").is_some() {
        let marks = ["<!-- metrics: generated -->\n", "<!-- metrics: end -->\n"];
        std::fs::write(PAGE, [before, marks[0], &table, marks[1], after].concat()).unwrap();
    } else {
        assert!(committed == table, "docs/prometheus.md is stale: run `make generate` and commit the difference");
    }
}

#[test]
fn alerts_ask_for_what_there_is() {
    let alerts = include_str!("../../../examples/prometheus/alerts.yaml");
    let alerts: serde_json::Value = serde_saphyr::from_str(alerts).unwrap();
    let groups = alerts["groups"].as_array().unwrap().iter();
    let rules: Vec<_> = groups.flat_map(|group| group["rules"].as_array().unwrap()).collect();
    let text =
        |rule: &serde_json::Value, path: &str| rule.pointer(path).and_then(|text| text.as_str()).map(str::to_owned);
    let page = include_str!("../../../docs/prometheus.md");
    for rule in rules.iter().filter(|rule| rule["record"].is_null()) {
        let name = text(rule, "/alert").unwrap();
        for path in ["/expr", "/for", "/labels/severity", "/annotations/summary", "/annotations/description"] {
            assert!(text(rule, path).is_some_and(|text| !text.is_empty()), "{name}: {path}");
        }
        assert!(page.contains(&format!("| `{name}` |")), "docs/prometheus.md does not tell of {name}");
    }
    let expressions: Vec<_> = rules.iter().filter_map(|rule| text(rule, "/expr")).collect();
    let asked = asked(expressions.iter().map(String::as_str));
    let known = known();
    assert!(asked.len() > 10, "{asked:?}");
    assert_eq!(asked.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "known are {known:#?}");
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let dashboard = include_str!("../../../examples/grafana/ingressd.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let (asked, known) = (asked(targets.map(|target| target["expr"].as_str().unwrap())), known());
    assert!(asked.len() > 15, "{asked:?}");
    assert_eq!(asked.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "known are {known:#?}");
    let unseen = known
        .iter()
        .filter(|name| !asked.contains(*name) && !["_bucket", "_sum", "_count"].iter().any(|end| name.ends_with(end)));
    assert_eq!(unseen.collect::<Vec<_>>(), Vec::<&String>::new(), "what is told and not shown");
}
