//! Access logs, written by the real nginx.

use serde_json::Value;

use crate::config_map::says;
use rig::client::{get, grpc_check};
use rig::manifests::{Ingress, ingress, tls_secret};
use rig::{Rig, status, wait};

fn host(name: &str) -> Ingress {
    ingress(name).class("nginx").host(&format!("{name}.test"), "web")
}

/// The lines of the log, whole ones.
fn lines(rig: &Rig) -> Vec<String> {
    let text = std::fs::read_to_string(rig.nginx.prefix().join("log/access.log")).unwrap_or_default();
    let end = text.rfind('\n').map_or(0, |end| end + 1);
    text[..end].lines().map(str::to_owned).collect()
}

/// Waits for the line that holds this.
async fn line(rig: &Rig, mark: &str) -> String {
    let find = async || lines(rig).into_iter().find(|line| line.contains(mark));
    wait::until(&format!("a line with {mark}"), find).await
}

/// Waits for the line of JSON that holds this.
async fn json(rig: &Rig, mark: &str) -> Value {
    let line = line(rig, mark).await;
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn hosts_of_the_dialect_are_logged_as_its_controller_does() {
    rig::run(async |rig| {
        let objects = [
            host("plain").build(),
            host("silent").annotation("enable-access-log", "false").build(),
            ingress("own").host("own.test", "web").build(),
            ingress("away").class("nginx").host("away.test", "nobody").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        assert_eq!(get("http://silent.test/silent").send().await.status, 200);
        let reply =
            get("http://plain.test/one").header("X-Request-ID", "abc").header("User-Agent", "a\"b").send().await;
        assert_eq!(reply.status, 200);
        let written = line(rig, "/one").await;
        let (head, tail) = written.split_once(" [default-web-80] [] ").unwrap_or_else(|| panic!("{written}"));
        assert!(head.contains("] \"GET /one HTTP/1.1\" 200 ") && head.contains(" \"-\" \"a\\x22b\" "), "{written}");
        let tail: Vec<_> = tail.split(' ').collect();
        assert_eq!((tail.len(), tail[3], tail[4]), (5, "200", "abc"), "{written}");
        assert_eq!(get("http://away.test/away").send().await.status, 503);
        assert!(line(rig, "/away").await.contains(" 503 "), "what nobody was asked is logged too");
        assert!(line(rig, "/away").await.contains(" [-] [] - - - - "));
        assert_eq!(get("http://own.test/own").send().await.status, 200);
        assert!(line(rig, "/own").await.ends_with('"'), "a host of the specification is logged as nginx.conf says");
        assert!(lines(rig).iter().all(|line| !line.contains("/silent")));
    });
}

#[test]
fn unknown_hosts_are_logged_also_when_the_last_host_is_gone() {
    rig::run(async |rig| {
        rig.daemon.set("access-log.format", "ingress-nginx");
        rig.manifests.write("objects.yaml", &[host("plain").build()]);
        rig.start().await;
        assert_eq!(get("http://plain.test/").send().await.status, 200);
        rig.manifests.remove("objects.yaml");
        // Once this is told, no worker of the generation before answers.
        rig.daemon.status_when("generation 2", |now| status::serving(now) == Some(2)).await;
        assert_eq!(get("http://plain.test/unknown").send().await.status, 404);
        assert!(line(rig, "/unknown").await.contains(" [-] [] - - - - "));
    });
}

#[test]
fn a_line_names_the_route_and_values_never_end_it() {
    const LINE: &str = "{\"uri\": \"$request_uri\", \"agent\": \"$http_user_agent\",\n\"object\": \"$namespace/$ingress_name\", \
                        \"service\": \"$service_name:$service_port\", \"upstream\": \"$proxy_upstream_name\", \
                        \"canary\": \"$proxy_alternative_upstream_name\", \"client\": \"$the_real_ip\", \"id\": \"$req_id\"}";
    rig::run(async |rig| {
        rig.serve(&["canary"]);
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        let canary = ingress("canary").class("nginx").host("split.test", "canary").annotation("canary", "true");
        let objects = [
            host("plain").build(),
            host("asks").annotation("auth-url", "http://10.244.0.1:8080/question").build(),
            host("split").build(),
            canary.annotation("canary-by-header", "X-Part").build(),
            host("grpc").annotation("backend-protocol", "GRPC").tls(&["grpc.test"], "cert").build(),
            tls_secret("cert", &["grpc.test"]),
        ];
        rig.manifests.write("objects.yaml", &objects);
        says(
            rig,
            &[
                ("log-format-upstream", LINE),
                ("log-format-escape-json", "true"),
                ("skip-access-log-urls", "/healthz,~^/quiet"),
                ("enable-auth-access-log", "true"),
            ],
        );
        rig.start().await;
        for path in ["healthz", "quiet/x"] {
            assert_eq!(get(&format!("http://plain.test/{path}")).send().await.status, 200);
        }
        let hostile = "\"}\\ {\"x\":\"y\"";
        assert_eq!(get("http://plain.test/a?b=%22").header("User-Agent", hostile).send().await.status, 200);
        let reported = json(rig, "/a?b").await;
        assert_eq!((&reported["agent"], &reported["object"]), (&hostile.into(), &"default/plain".into()));
        assert_eq!((&reported["service"], &reported["upstream"]), (&"web:80".into(), &"default-web-80".into()));
        assert_eq!((&reported["canary"], reported["id"].as_str().map(str::len)), (&"".into(), Some(32)));
        assert!(lines(rig).iter().all(|line| !line.contains("/healthz") && !line.contains("/quiet")));
        for (path, part, expected) in [
            ("main", "never", ["web:80", "default-web-80", ""]),
            ("other", "always", ["canary:80", "default-web-80", "default-canary-80"]),
        ] {
            get(&format!("http://split.test/{path}")).header("X-Part", part).send().await;
            let reported = json(rig, path).await;
            assert_eq!(
                ["service", "upstream", "canary"].map(|key| reported[key].as_str().unwrap().to_owned()),
                expected
            );
        }
        assert_eq!(get("http://asks.test/asked").send().await.status, 200);
        // The question is logged as well.
        let both = async || (lines(rig).iter().filter(|line| line.contains("/asked")).count() == 2).then_some(());
        wait::until("a line of the request and one of the question", both).await;
        grpc_check("https://grpc.test").send().await;
        let reported = json(rig, "grpc.health").await;
        assert_eq!((&reported["service"], &reported["upstream"]), (&"web:80".into(), &"default-web-80".into()));
    });
}

#[test]
fn a_line_that_is_none_and_places_that_are_not_for_logs_harm_nobody() {
    rig::run(async |rig| {
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        rig.manifests.write("objects.yaml", &[host("plain").build()]);
        says(
            rig,
            &[
                ("log-format-upstream", "'; } server { listen 1; } # $nonsense"),
                ("access-log-path", "/etc/passwd"),
                ("access-log-params", "buffer=1k; user root"),
                ("skip-access-log-urls", "~(a*)*("),
            ],
        );
        rig.start().await;
        assert_eq!(get("http://plain.test/first").send().await.status, 200);
        assert!(line(rig, "/first").await.contains(" [default-web-80] [] "));
        // No line is written at all.
        says(rig, &[("disable-access-log", "true")]);
        rig.daemon.status_when("the next generation", |status| rig::status::serving(status) == Some(2)).await;
        get("http://plain.test/second").send().await;
        says(rig, &[]);
        rig.daemon.status_when("the next generation", |status| rig::status::serving(status) == Some(3)).await;
        get("http://plain.test/third").send().await;
        line(rig, "/third").await;
        assert!(lines(rig).iter().all(|line| !line.contains("/second")));
    });
}
