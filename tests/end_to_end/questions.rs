//! The questions that somebody on call has at night: each situation is made with the real nginx,
//! and a command, the metrics and the status page find it.

use serde_json::Value;

use rig::client::{Request, get};
use rig::load::Load;
use rig::manifests::{ingress, secret, tls_secret};
use rig::status::{quarantined, reports};
use rig::{Rig, wait};

use super::status_page::section;

/// What a command prints.
async fn printed(rig: &Rig, command: &str, arguments: &[&str]) -> String {
    let mut process = rig.daemon.command(command);
    process.args(arguments);
    let output = tokio::task::spawn_blocking(move || process.output().unwrap()).await.unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The row of a table that begins with this.
fn row<'t>(text: &'t str, begin: &str) -> &'t str {
    text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin}: {text}"))
}

/// Waits until a section of the page has all of these words.
async fn shown(query: &str, id: &str, words: &[&str]) {
    let has = |text: &String| words.iter().all(|words| text.contains(words));
    wait::until_right(&format!("{words:?}"), async || section(query, id).await, has).await;
}

/// Waits until the sum of all time series that begin so is no less.
async fn counted(rig: &Rig, begin: &str, least: f64) {
    let sum = async || {
        let text = rig.daemon.get("/metrics").await.unwrap().text();
        let values = text.lines().filter(|line| line.starts_with(begin));
        values.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum::<f64>()
    };
    wait::until_right(begin, sum, |sum| *sum >= least).await;
}

fn of_ingress(name: &str) -> String {
    format!("{{namespace=\"default\",ingress=\"{name}\",service=\"{name}\"")
}

#[test]
fn which_backend_is_slow_and_which_ingress_answers_5xx() {
    rig::run(async |rig| {
        rig.serve(&["shop", "slow", "ill"]);
        let objects = ["shop", "slow", "ill"].map(|name| ingress(name).host(&format!("{name}.test"), name).build());
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let often: Vec<Request> = (0..6).map(|_| get("http://shop.test/")).collect();
        let few = [get("http://slow.test/?delay_ms=600"), get("http://ill.test/?status=500")];
        let load = Load::new(&[&often[..], &few].concat()).right(|reply| reply.status > 0).rates(80, 20).start();
        let once = &["--once", "--interval", "3"][..];

        let by_time = printed(rig, "top", &[once, &["--by", "service", "--sort", "p99"]].concat()).await;
        assert!(by_time.lines().nth(3).unwrap().starts_with("default/slow "), "{by_time}");
        let slow = |suffix: &str| format!("ingressd_traffic_upstream_seconds_{suffix}");
        counted(rig, &slow(&format!("count{}", of_ingress("slow"))), 3.0).await;
        let within = slow(&format!("bucket{{le=\"0.5\",{}", of_ingress("slow").trim_start_matches('{')));
        assert_eq!(rig.daemon.metric(&format!("{within}}}")).await, 0.0, "{within}");
        let of_slow = section("?search=default/slow", "traffic").await;
        let time = of_slow.split(" ms").next().and_then(|text| text.rsplit(' ').next()?.parse::<u32>().ok());
        assert!(time >= Some(500), "{of_slow}");

        let by_errors = printed(rig, "top", &[once, &["--sort", "errors"]].concat()).await;
        let ill = by_errors.lines().nth(3).unwrap();
        assert!(ill.starts_with("default/ill "), "{by_errors}");
        let errors = |line: &str| line.split_whitespace().nth(3).map(str::to_owned);
        assert!(errors(ill).is_some_and(|rate| rate != "-"), "{by_errors}");
        assert_eq!(errors(row(&by_errors, "default/shop ")).as_deref(), Some("-"), "{by_errors}");
        let failed =
            |name: &str| format!("ingressd_traffic_requests_total{},method=\"read\",status=\"5xx\"", of_ingress(name));
        counted(rig, &failed("ill"), 3.0).await;
        assert_eq!(rig.daemon.metric(&format!("{}}}", failed("shop"))).await, 0.0);
        shown("", "traffic", &["default/ill ill"]).await;
        let traffic = section("", "traffic").await;
        let place = |name: &str| traffic.find(name).unwrap_or_else(|| panic!("{name}: {traffic}"));
        assert!(place("default/ill ill") < place("default/shop shop"), "those with most failures are first: {traffic}");
        load.stop().await;
    });
}

#[test]
fn which_certificate_has_expired_and_what_nginx_refuses() {
    rig::run(async |rig| {
        let mut parameters = rcgen::CertificateParams::new(vec!["old.test".to_owned()]).unwrap();
        (parameters.not_before, parameters.not_after) =
            (rcgen::date_time_ymd(2020, 1, 1), rcgen::date_time_ymd(2021, 1, 1));
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        let expired = secret("expired", "kubernetes.io/tls", &[("tls.crt", &pem), ("tls.key", &key.serialize_pem())]);
        let bad = |path: &str| ingress("bad").class("nginx").path("bad.test", "ImplementationSpecific", path, "web");
        let objects = |path: &str| {
            let regex = bad(path).annotation("use-regex", "true").build();
            let new = ingress("new").host("new.test", "web").tls(&["new.test"], "cert").build();
            let old = ingress("old").host("old.test", "web").tls(&["old.test"], "expired").build();
            [expired.clone(), tls_secret("cert", &["new.test"]), old, new, regex]
        };
        rig.manifests.write("objects.yaml", &objects("/works"));
        rig.start().await;
        assert!(reports(&rig.daemon.status().await.unwrap(), "Ingress old", "CertificateExpired"));

        let status = printed(rig, "status", &[]).await;
        assert!(status.starts_with("1 thing needs attention\n1. 1 "), "{status}");
        assert!(
            status.contains("Ingress default/old  spec.tls[0]") && status.contains("(CertificateExpired)"),
            "{status}"
        );
        counted(rig, "ingressd_findings{reason=\"CertificateExpired\",", 1.0).await;
        shown("", "certificates", &["Secret default/expired 2021-01-01 00:00:00 UTC ended "]).await;
        shown("", "findings", &["Ingress default/old", "CertificateExpired"]).await;
        assert!(!section("", "findings").await.contains("default/new"));

        // nginx refuses a change: the last good version goes on, and everybody knows why.
        rig.manifests.write("objects.yaml", &objects("/works/a(?<=a+)"));
        rig.daemon.status_when("the quarantine", |status| quarantined(status) == ["Ingress bad"]).await;
        let words = "lookbehind assertion is not fixed length";
        let reported = printed(rig, "status", &["default/bad"]).await;
        assert!(reported.starts_with("Ingress default/bad  last good") && reported.contains(words), "{reported}");
        counted(rig, "ingressd_objects{kind=\"Ingress\",state=\"quarantined\"}", 1.0).await;
        shown("", "findings", &["Ingress default/bad", "Quarantined", words]).await;
        assert_eq!(get("http://bad.test/works").send().await.status, 200);
    });
}

#[test]
fn who_changed_it_what_the_change_did_and_why_a_url_answers_404() {
    rig::run(async |rig| {
        rig.manifests.write("shop.yaml", &[ingress("shop").path("shop.test", "Prefix", "/cart", "web").build()]);
        rig.start().await;
        let changed = ingress("shop").path("shop.test", "Prefix", "/basket", "web");
        rig.manifests.write("shop.yaml", &[changed.build()]);
        let is_second = |status: &Value| status["generation"].as_u64() == Some(2) && status["phase"] == "serving";
        rig.daemon.status_when("the second generation", is_second).await;

        let list = printed(rig, "diff", &["--list"]).await;
        assert!(row(&list, "2 ").contains("Ingress default/shop changed"), "{list}");
        let diff = printed(rig, "diff", &[]).await;
        let lines: Vec<_> =
            diff.lines().filter(|line| line.contains("\"/basket\"") || line.contains("\"/cart\"")).collect();
        assert!(
            lines.iter().any(|line| line.starts_with('+')) && lines.iter().any(|line| line.starts_with('-')),
            "{diff}"
        );
        assert!(diff.contains("Ingress default/shop: spec.rules[0].http.paths[0]"), "{diff}");
        assert_eq!(rig.daemon.metric("ingressd_generation").await, 2.0);
        shown("", "generations", &["2 ", "Ingress default/shop changed", "current"]).await;

        let url = "http://shop.test/cart";
        assert_eq!(get(url).send().await.status, 404);
        let reported = printed(rig, "explain", &[url, "--send"]).await;
        for words in
            ["no path of this host matches", "is answered 404", "sent to 127.0.0.1:80: it is answered 404\nagrees"]
        {
            assert!(reported.contains(words), "{words:?} is not in\n{reported}");
        }
        // nginx answers for the host, so that there is no Service.
        let unmatched = "{namespace=\"default\",ingress=\"shop\",service=\"\",method=\"read\",status=\"4xx\"}";
        counted(rig, &format!("ingressd_traffic_requests_total{unmatched}"), 2.0).await;
        shown("?explain=http://shop.test/cart", "explained", &["taken by no path of an Ingress", "is answered 404"])
            .await;
    });
}
