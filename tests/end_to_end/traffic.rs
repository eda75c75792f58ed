//! Requests counted by object, as Prometheus reads it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use nix::sys::signal::Signal;

use rig::client::{get, post};
use rig::manifests::{ingress, tls_secret};
use rig::{Rig, wait};

/// Waits until so many requests are counted under these labels.
async fn counted(rig: &Rig, labels: &str, expected: f64) {
    let series = format!("ingressd_traffic_requests_total{{{labels}}}");
    wait::until_right(&series, async || rig.daemon.metric(&series).await, |count| *count >= expected).await;
    assert_eq!(rig.daemon.metric(&series).await, expected, "{series}");
}

fn labels(ingress: &str, service: &str, method: &str, status: &str) -> String {
    format!("namespace=\"default\",ingress=\"{ingress}\",service=\"{service}\",method=\"{method}\",status=\"{status}\"")
}

async fn ask(url: &str, status: u16, times: usize) {
    for _ in 0..times {
        assert_eq!(get(url).send().await.status, status, "{url}");
    }
}

/// The file between nginx and the daemon.
fn lines(rig: &Rig) -> PathBuf {
    let folder = fs::read_dir(rig.folder().join("traffic")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    paths.into_iter().find(|path| path.extension().is_some_and(|end| end == "lines")).unwrap()
}

#[test]
fn requests_are_counted_by_ingress_service_method_and_status() {
    rig::run(async |rig| {
        rig.serve(&["canary", "api"]);
        let canary = ingress("canary").class("nginx").host("split.test", "canary").annotation("canary", "true");
        let mut objects = vec![
            ingress("shop").host("shop.test", "web").build(),
            ingress("other").path("shop.test", "Prefix", "/api", "api").build(),
            ingress("silent")
                .class("nginx")
                .host("silent.test", "web")
                .annotation("enable-access-log", "false")
                .build(),
            ingress("away").host("away.test", "nobody").build(),
            ingress("wild").host("*.wild.test", "web").build(),
            ingress("split").class("nginx").host("split.test", "web").build(),
            tls_secret("cert", &["own.test"]),
            ingress("own").class("nginx").host("own.test", "web").tls(&["own.test"], "cert").build(),
            canary.annotation("canary-by-header", "X-Part").build(),
        ];
        // So many hosts that are alike share a server.
        objects.extend(
            (0..20).map(|number| ingress(&format!("h{number}")).host(&format!("h{number}.test"), "web").build()),
        );
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        ask("http://shop.test/", 200, 3).await;
        ask("http://shop.test/?status=503", 503, 2).await;
        ask("http://shop.test/api/x", 200, 4).await;
        ask("http://silent.test/silent", 200, 1).await;
        ask("http://away.test/", 503, 1).await;
        ask("http://one.wild.test/", 200, 1).await;
        ask("http://split.test/", 200, 1).await;
        assert_eq!(get("http://split.test/").header("X-Part", "always").send().await.status, 200);
        ask("http://h7.test/", 200, 5).await;
        ask("http://h13.test/?status=500", 500, 6).await;
        ask("http://unknown.test/", 404, 2).await;
        ask("http://own.test/", 308, 7).await;
        assert_eq!(post("http://shop.test/", "x").send().await.status, 200);
        for (ingress, service, method, status, count) in [
            ("shop", "web", "read", "2xx", 3.0),
            ("shop", "web", "read", "5xx", 2.0),
            ("shop", "web", "write", "2xx", 1.0),
            ("other", "api", "read", "2xx", 4.0),
            ("silent", "web", "read", "2xx", 1.0),
            ("away", "", "read", "5xx", 1.0),
            ("wild", "web", "read", "2xx", 1.0),
            // nginx leads these to https before anything else.
            ("own", "web", "read", "3xx", 7.0),
            ("split", "web", "read", "2xx", 1.0),
            ("split", "canary", "read", "2xx", 1.0),
            ("h7", "web", "read", "2xx", 5.0),
            ("h13", "web", "read", "5xx", 6.0),
            ("h13", "web", "read", "2xx", 0.0),
        ] {
            counted(rig, &labels(ingress, service, method, status), count).await;
        }
        counted(rig, r#"namespace="",ingress="",service="",method="read",status="4xx""#, 2.0).await;
        let of_shop = r#"{namespace="default",ingress="shop",service="web"}"#;
        for (name, least) in
            [("duration_seconds_count", 6.0), ("upstream_seconds_count", 6.0), ("sent_bytes_total", 600.0)]
        {
            let value = rig.daemon.metric(&format!("ingressd_traffic_{name}{of_shop}")).await;
            assert!(value >= least, "{name} {value}");
        }
        assert_eq!(rig.daemon.metric("ingressd_traffic_unread_lines_total").await, 0.0);
        let reported = rig.daemon.get("/metrics").await.unwrap().text();
        assert!(!reported.contains("nginx_ingress_controller"), "nobody has asked for these names");
        // The host's own log is as it was.
        let log = fs::read_to_string(rig.nginx.prefix().join("log/access.log")).unwrap();
        assert!(log.contains("/api/x") && !log.contains("/silent"), "{log}");
    });
}

#[test]
fn requests_are_counted_under_the_names_of_ingress_nginx_where_that_is_asked_for() {
    rig::run(async |rig| {
        rig.daemon.set("traffic.ingress-nginx-names", "true");
        rig.serve(&["canary"]);
        let canary = ingress("canary").class("nginx").host("split.test", "canary").annotation("canary", "true");
        let objects = [
            ingress("split").class("nginx").host("split.test", "web").build(),
            canary.annotation("canary-by-header", "X-Part").build(),
            ingress("wild").path("*.wild.test", "Prefix", "/api", "web").build(),
            ingress("odd")
                .class("nginx")
                .annotation("use-regex", "true")
                .path("odd.test", "ImplementationSpecific", r#"/a\.b|"c""#, "web")
                .build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        ask("http://split.test/", 200, 2).await;
        assert_eq!(get("http://split.test/").header("X-Part", "always").send().await.status, 200);
        ask("http://one.wild.test/api/x?status=507", 507, 1).await;
        ask("http://two.wild.test/api?status=599", 599, 3).await;
        ask("http://odd.test/a.b", 200, 4).await;
        ask("http://unknown.test/", 404, 1).await;
        assert_eq!(post("http://split.test/", "x").send().await.status, 200);
        for (ingress, service, canary, host, path, method, status, count) in [
            ("split", "web", "", "split.test", "/", "GET", "200", 2.0),
            ("split", "web", "default-canary-80", "split.test", "/", "GET", "200", 1.0),
            ("split", "web", "", "split.test", "/", "POST", "200", 1.0),
            ("wild", "web", "", "*.wild.test", "/api", "GET", "507", 1.0),
            ("wild", "web", "", "*.wild.test", "/api", "GET", "5xx", 3.0),
            ("odd", "web", "", "odd.test", r#"/a\\.b|\"c\""#, "GET", "200", 4.0),
        ] {
            let reported = rig.daemon.get("/metrics").await.unwrap().text();
            let labels = format!(
                "namespace=\"default\",ingress=\"{ingress}\",service=\"{service}\",canary=\"{canary}\",host=\"{host}\",\
                 path=\"{path}\",method=\"{method}\",status=\"{status}\"}} {count}\n"
            );
            let is_reported = |reported: &String| {
                let mut rows = reported.lines().filter(|line| line.starts_with("nginx_ingress_controller_requests{"));
                rows.any(|row| format!("{row}\n").ends_with(&labels))
            };
            let again = async || rig.daemon.get("/metrics").await.map(|reply| reply.text()).unwrap_or_default();
            wait::until_right(&format!("{labels} in {reported}"), again, is_reported).await;
        }
        let reported = rig.daemon.get("/metrics").await.unwrap().text();
        assert!(
            !reported.contains("unknown.test") && reported.contains("controller_class=\"k8s.io/ingress-nginx\""),
            "{reported}"
        );
    });
}

#[test]
fn a_question_to_an_authentication_service_is_no_request_of_a_client() {
    rig::run(async |rig| {
        rig.daemon.set("access-log.questions", "true");
        let asks = ingress("asks").class("nginx").host("asks.test", "web");
        let asks = asks.annotation("auth-url", "http://10.244.0.1:8080/question");
        rig.manifests.write("objects.yaml", &[asks.build()]);
        rig.start().await;
        ask("http://asks.test/", 200, 3).await;
        let series = r#"ingressd_traffic_duration_seconds_count{namespace="default",ingress="asks",service="web"}"#;
        counted(rig, &labels("asks", "web", "read", "2xx"), 3.0).await;
        assert_eq!(rig.daemon.metric(series).await, 3.0);
        let all = rig.daemon.get("/metrics").await.unwrap().text();
        let rows = all.lines().filter(|line| line.starts_with("ingressd_traffic_requests_total{"));
        assert_eq!(rows.count(), 1, "{all}");
        let log = fs::read_to_string(rig.nginx.prefix().join("log/access.log")).unwrap();
        assert_eq!(log.lines().count(), 6, "each question is logged as before: {log}");
    });
}

#[test]
fn clients_cannot_forge_lines() {
    rig::run(async |rig| {
        rig.manifests.write("objects.yaml", &[ingress("shop").host("shop.test", "web").build()]);
        rig.start().await;
        for host in ["shop.test:80", "SHOP.test.", "a\"b", "shop.test\\x20", "$host"] {
            let _ = get("http://shop.test/a%20b").header("Host", host).header("User-Agent", "a b\tc").try_send().await;
        }
        ask("http://shop.test/", 200, 1).await;
        counted(rig, &labels("shop", "web", "read", "2xx"), 3.0).await;
        assert_eq!(rig.daemon.metric("ingressd_traffic_unread_lines_total").await, 0.0);
    });
}

#[test]
fn a_stopped_daemon_costs_nginx_nothing_and_finds_what_was_written() {
    rig::run(async |rig| {
        rig.manifests.write("objects.yaml", &[ingress("shop").host("shop.test", "web").build()]);
        rig.start().await;
        ask("http://shop.test/", 200, 1).await;
        counted(rig, &labels("shop", "web", "read", "2xx"), 1.0).await;
        rig.daemon.stop().await;
        // Logs are rotated meanwhile.
        rig.nginx.signal(Signal::SIGUSR1);
        ask("http://shop.test/", 200, 2).await;
        let lines = lines(rig);
        wait::until("lines that wait", async || (lines.metadata().ok()?.blocks() > 0).then_some(())).await;
        let generation = fs::read_link(rig.daemon.root().join("current")).unwrap();
        rig.daemon.start();
        rig.daemon.ready().await;
        counted(rig, &labels("shop", "web", "read", "2xx"), 2.0).await;
        assert_eq!(fs::read_link(rig.daemon.root().join("current")).unwrap(), generation, "nothing had to change");
        let complaints = rig.nginx.error_log();
        assert!(!complaints.contains("traffic"), "{complaints}");
        // After the host has started, nothing is there but what nginx has on disk.
        rig.daemon.stop().await;
        rig.nginx.stop().await;
        fs::remove_dir_all(rig.folder().join("traffic")).unwrap();
        rig.nginx.start();
        ask("http://shop.test/", 200, 1).await;
        assert!(!rig.folder().join("traffic").exists());
        rig.daemon.start();
        rig.daemon.ready().await;
        let other = rig.daemon.root().join("current");
        wait::until("a generation that counts", async || (fs::read_link(&other).ok()? != generation).then_some(()))
            .await;
        rig.daemon.status_when("the next generation", |now| rig::status::serving(now) == Some(2)).await;
        ask("http://shop.test/", 200, 1).await;
        counted(rig, &labels("shop", "web", "read", "2xx"), 1.0).await;
    });
}

#[test]
fn what_nobody_reads_is_bounded_and_counting_goes_on_afterwards() {
    rig::run(async |rig| {
        rig.manifests.write("objects.yaml", &[ingress("shop").host("shop.test", "web").build()]);
        rig.start().await;
        rig.daemon.stop().await;
        let lines = lines(rig);
        let mut full = fs::File::options().append(true).open(&lines).unwrap();
        for size in [1 << 16, 1] {
            while full.write_all(&vec![b'x'; size]).is_ok() {}
        }
        ask("http://shop.test/", 200, 3).await;
        // So nginx has met the bound.
        wait::until("a complaint of nginx", async || rig.nginx.error_log().contains("File too large").then_some(()))
            .await;
        assert!(lines.metadata().unwrap().blocks() * 512 <= 17 << 20);
        rig.daemon.start();
        rig.daemon.ready().await;
        let overflows = async || rig.daemon.metric("ingressd_traffic_overflows_total").await;
        wait::until_right("an overflow that is told", overflows, |count| *count >= 1.0).await;
        rig.daemon.status_when("another file", |now| rig::status::serving(now) == Some(2)).await;
        assert!(!lines.exists());
        ask("http://shop.test/", 200, 1).await;
        counted(rig, &labels("shop", "web", "read", "2xx"), 1.0).await;
    });
}

#[test]
fn nothing_is_written_where_nothing_is_counted() {
    rig::run(async |rig| {
        rig.daemon.set("traffic.enabled", "false");
        rig.manifests.write("objects.yaml", &[ingress("shop").host("shop.test", "web").build()]);
        rig.start().await;
        ask("http://shop.test/", 200, 1).await;
        assert!(!rig.folder().join("traffic").exists());
        let files = fs::read_dir(rig.daemon.root().join("current/http")).unwrap();
        for file in files.map(|file| file.unwrap().path()) {
            let text = fs::read_to_string(&file).unwrap_or_default();
            assert!(!text.contains("traffic"), "{}", file.display());
        }
        let series = format!("ingressd_traffic_requests_total{{{}}}", labels("shop", "web", "read", "2xx"));
        assert_eq!(rig.daemon.metric(&series).await, 0.0);
    });
}
