//! The log in JSON, and `ingressd logs` and what nginx complains about, over the real nginx.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixDatagram};
use tokio::time::timeout;

use ingressd_model::JSON_FIELDS;
use rig::client::{get, post, raw};
use rig::manifests::{ingress, service_at, tls_secret};
use rig::{Rig, wait};

fn path(rig: &Rig) -> PathBuf {
    rig.nginx.prefix().join("log/access.log")
}

/// Waits for the line of JSON about this path.
async fn logged(rig: &Rig, uri: &str) -> Value {
    let found = async || {
        let text = fs::read(path(rig)).unwrap_or_default();
        let mut lines = text.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).into_owned());
        lines.find_map(|line| serde_json::from_str::<Value>(&line).ok().filter(|line| line["uri"] == uri))
    };
    wait::until(&format!("a line about {uri}"), found).await
}

async fn logs(rig: &Rig, arguments: &[&str]) -> Output {
    let mut command = rig.daemon.command("logs");
    command.args(arguments).stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// The lines that the command prints.
async fn shown(rig: &Rig, arguments: &[&str]) -> Vec<String> {
    let output = logs(rig, arguments).await;
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_line_of_json_has_each_documented_field_and_no_value_ends_its_string() {
    rig::run(async |rig| {
        rig.serve(&["api"]);
        rig.daemon.set("access-log.format", "json");
        let objects = [
            ingress("shop").path("shop.test", "Prefix", "/api", "api").tls(&["shop.test"], "cert").build(),
            ingress("away").class("nginx").host("away.test", "nobody").build(),
            tls_secret("cert", &["shop.test"]),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let hostile = "\"}\\ {\"status\":200,\"x\":\"y\"\t";
        let request = get("https://shop.test/api/x?y=%22").http2().header("User-Agent", hostile);
        assert_eq!(request.header("Referer", "\"").header("X-Request-ID", "abc").send().await.status, 200);
        let reported = logged(rig, "/api/x?y=%22").await;
        let names: Vec<_> = reported.as_object().unwrap().keys().map(String::as_str).collect();
        let mut documented: Vec<_> = JSON_FIELDS.iter().map(|field| field.name).collect();
        documented.sort_unstable();
        assert_eq!(names, documented);
        for field in JSON_FIELDS {
            assert_eq!(reported[field.name].is_number(), field.is_number, "{} {reported}", field.name);
        }
        let text = |name: &str| reported[name].as_str().unwrap().to_owned();
        for (name, expected) in [
            ("method", "GET"),
            ("scheme", "https"),
            ("host", "shop.test"),
            ("protocol", "HTTP/2.0"),
            ("request_id", "abc"),
            ("namespace", "default"),
            ("ingress", "shop"),
            ("route", "/api"),
            ("service", "api"),
            ("service_port", "80"),
            ("upstream_addr", "10.244.1.1:8080"),
            ("upstream_status", "200"),
            ("user_agent", hostile),
            ("referer", "\""),
            ("tls_version", "TLSv1.3"),
            ("tls_server_name", "shop.test"),
            ("tls_client_verify", "NONE"),
            ("remote_user", ""),
        ] {
            assert_eq!(text(name), expected, "{name} {reported}");
        }
        assert_eq!((reported["status"].as_u64(), text("time").len()), (Some(200), 29), "{reported}");
        assert!(
            text("time").parse::<jiff::Timestamp>().is_ok() && text("tls_cipher").starts_with("TLS_"),
            "{reported}"
        );
        assert!(
            reported["bytes_sent"].as_u64().unwrap() > 100 && reported["request_time"].as_f64().is_some(),
            "{reported}"
        );

        // nginx answers these itself.
        assert_eq!(get("http://away.test/away").send().await.status, 503);
        let reported = logged(rig, "/away").await;
        assert_eq!([&reported["ingress"], &reported["service"], &reported["route"]], ["away", "-", "/"], "{reported}");
        assert_eq!(get("https://shop.test/none").send().await.status, 404);
        assert_eq!(logged(rig, "/none").await["route"], "-");
        assert_eq!(get("http://unknown.test/unknown").send().await.status, 404);
        let reported = logged(rig, "/unknown").await;
        assert_eq!([&reported["namespace"], &reported["ingress"]], ["-", "-"], "{reported}");
        // A client that sends bytes that are no text, and one that sends no request at all.
        let to = "127.0.0.1:80".parse().unwrap();
        raw(
            to,
            b"GET /bytes\xc2\x9b HTTP/1.1\r\nHost: away.test\r\nUser-Agent: a\xff\x1b[2J\xc2\x9b\r\nConnection: close\r\n\r\n",
        )
        .await;
        raw(to, b"\x16\x03\x01\r\n\r\n").await;
        assert_eq!(logged(rig, "/bytes\u{9b}").await["user_agent"], "a\u{fffd}\u{1b}[2J\u{9b}");
        let json =
            async || (fs::read(path(rig)).unwrap().iter().filter(|byte| **byte == b'\n').count() == 6).then_some(());
        wait::until("six lines", json).await;
        for line in shown(rig, &["--json"]).await {
            assert!(serde_json::from_str::<Value>(&line).is_ok_and(|line| line["status"].is_u64()), "{line}");
            assert!(!line.contains('\u{1b}') && !line.contains('\u{9b}'), "{line}");
        }
        let lines = shown(rig, &[]).await;
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().all(|letter| !letter.is_control())), "{lines:?}");
    });
}

#[test]
fn requests_are_found_by_ingress_service_host_status_and_duration() {
    rig::run(async |rig| {
        rig.serve(&["api", "slow"]);
        rig.daemon.set("access-log.format", "json");
        let objects = [
            ingress("shop").host("shop.test", "web").build(),
            ingress("api").host("api.test", "api").build(),
            ingress("slow").host("one.slow.test", "slow").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let rest = ["http://shop.test/a", "http://api.test/b?status=404", "http://one.slow.test/d?delay_ms=300"];
        for url in ["http://shop.test/c?status=503", "http://api.test/e?status=503"].into_iter().chain(rest) {
            get(url).send().await;
        }
        let all = async || (shown(rig, &[]).await.len() == 5).then_some(());
        wait::until("all requests", all).await;
        for (arguments, expected) in [
            (&["--ingress", "default/shop", "--status", "5xx"][..], &["/c?status=503"][..]),
            (&["--status", "404,500-503"], &["/c?status=503", "/e?status=503", "/b?status=404"]),
            (&["--service", "default/api", "--status", "4xx"], &["/b?status=404"]),
            (&["--slow", "250ms"], &["/d?delay_ms=300"]),
            (&["--host", "*.slow.test"], &["/d?delay_ms=300"]),
            (&["--host", "shop.test", "--since", "1h"], &["/c?status=503", "/a"]),
        ] {
            let reported = shown(rig, &[&["--json"], arguments].concat()).await;
            let uris: Vec<_> =
                reported.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["uri"].clone()).collect();
            assert_eq!(uris, expected, "{arguments:?}");
        }
        let reported = shown(rig, &["--ingress", "default/shop", "--status", "5xx"]).await.concat();
        for part in ["  503  ", " GET ", " shop.test/c?status=503 ", " default/shop ", " web:80 ", " (503)  "] {
            assert!(reported.contains(part), "{part} {reported}");
        }
        assert_eq!(logs(rig, &["--ingress", "default/none"]).await.status.code(), Some(1));
        assert_eq!(logs(rig, &["--file", "/none"]).await.status.code(), Some(66));
        assert_eq!(logs(rig, &["--status", "6000"]).await.status.code(), Some(64));
    });
}

#[test]
fn lines_of_other_formats_are_read_as_far_as_they_go() {
    rig::run(async |rig| {
        let objects = [
            ingress("shop").class("nginx").host("shop.test", "web").build(),
            ingress("own").host("own.test", "web").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        for url in ["http://shop.test/a?status=500", "http://own.test/b?status=500", "http://shop.test/c"] {
            get(url).send().await;
        }
        let all = async || (shown(rig, &[]).await.len() == 3).then_some(());
        wait::until("all requests", all).await;
        let reported = shown(rig, &["--status", "5xx", "--since", "10m"]).await;
        assert!(
            reported.len() == 2 && reported[0].contains(" default-web-80 "),
            "{reported:?} of {:?}",
            shown(rig, &[]).await
        );
        let reported = shown(rig, &["--service", "default/web"]).await;
        assert_eq!(reported.len(), 2, "the format of nginx.conf has no Service: {reported:?}");
        let output = logs(rig, &["--ingress", "default/shop"]).await;
        let reported = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && reported.contains("access-log.format = \"json\""), "{reported}");
    });
}

#[test]
fn what_is_followed_goes_on_after_a_rotation() {
    rig::run(async |rig| {
        rig.daemon.set("access-log.format", "json");
        rig.manifests.write("objects.yaml", &[ingress("shop").host("shop.test", "web").build()]);
        rig.start().await;
        get("http://shop.test/before").send().await;
        logged(rig, "/before").await;
        let output = rig.folder().join("followed");
        let mut command = rig.daemon.command("logs");
        command
            .args(["--follow", "--since", "1h", "--json"])
            .stdin(Stdio::null())
            .stdout(File::create(&output).unwrap());
        let mut child = command.spawn().unwrap();
        let seen = async |uri: &str| {
            let text =
                async || fs::read_to_string(&output).unwrap().contains(&format!("\"uri\":\"{uri}\"")).then_some(());
            wait::until(&format!("{uri} to be followed"), text).await;
        };
        seen("/before").await;
        // As logrotate does it: requests go to the old file until nginx is told.
        let old = path(rig).with_extension("log.1");
        fs::rename(path(rig), &old).unwrap();
        File::create(path(rig)).unwrap();
        get("http://shop.test/between").send().await;
        seen("/between").await;
        rig::open_to_all(&rig.nginx.prefix().join("log"));
        rig.nginx.signal(Signal::SIGUSR1);
        let after = async || {
            get("http://shop.test/after").send().await;
            fs::read_to_string(path(rig)).unwrap().contains("/after").then_some(())
        };
        wait::until("nginx to write to the new file", after).await;
        seen("/after").await;
        let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
        nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
        child.wait().unwrap();
        let reported = shown(rig, &["--since", "1h", "--json"]).await;
        assert!(reported[0].contains("/before") && reported.last().unwrap().contains("/after"), "{reported:?}");
    });
}

/// Waits until nginx complained so often.
async fn complained(rig: &Rig, ingress: &str, kind: &str, expected: f64) {
    let series = format!("ingressd_nginx_errors_total{{namespace=\"default\",ingress=\"{ingress}\",kind=\"{kind}\"}}");
    wait::until_right(&series, async || rig.daemon.metric(&series).await, |count| *count == expected).await;
}

async fn explained(rig: &Rig, url: &str) -> (String, Value) {
    let ask = async |format: &str| {
        let mut command = rig.daemon.command("explain");
        command.args([url, "--format", format]).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    (ask("text").await, serde_json::from_str(&ask("json").await).unwrap())
}

#[test]
fn what_nginx_complains_about_is_counted_by_ingress_and_reported_where_a_request_is_explained() {
    rig::run(async |rig| {
        let mut objects = vec![
            ingress("shop").host("shop.test", "web").path("shop.test", "Prefix", "/gone", "gone").build(),
            ingress("other").path("shop.test", "Prefix", "/other", "gone").build(),
            ingress("small").class("nginx").annotation("proxy-body-size", "1k").host("small.test", "web").build(),
        ];
        // Nobody listens there.
        objects.extend(service_at("gone", &["10.244.3.1"], 9));
        rig.manifests.write("objects.yaml", &objects);
        rig.daemon.set("traffic.enabled", "false");
        rig.start().await;
        // The log is followed from when something is in force.
        let begun = async || {
            assert_eq!(get("http://shop.test/gone").send().await.status, 502);
            let series = r#"ingressd_nginx_errors_total{namespace="default",ingress="shop",kind="connection_refused"}"#;
            (rig.daemon.metric(series).await > 0.0).then_some(())
        };
        wait::until("the log to be followed", begun).await;
        assert_eq!(get("http://shop.test/other").send().await.status, 502);
        complained(rig, "other", "connection_refused", 1.0).await;
        assert_eq!(post("http://small.test/", "x".repeat(2000)).send().await.status, 413);
        complained(rig, "small", "body_too_large", 1.0).await;
        let (text, reported) = explained(rig, "http://shop.test/other/x").await;
        let said = &reported["nginx_said"][0];
        assert_eq!((&said["kind"], &said["count"]), (&"connection_refused".into(), &1.into()), "{reported}");
        assert_eq!(said["endpoint"], "http://10.244.3.1:9");
        assert!(
            text.contains("an endpoint refused the connection: connect() failed (111: Connection refused)"),
            "{text}"
        );
        assert!(explained(rig, "http://small.test/").await.0.contains("client intended to send too large body"));
        let page = rig.daemon.get("/?explain=http%3A%2F%2Fsmall.test%2F").await.unwrap();
        let page = String::from_utf8(page.body).unwrap();
        assert!(page.contains("nginx said of its Ingress") && page.contains("too large body"), "{page}");

        // A client cannot make nginx accuse another Ingress.
        let to = "127.0.0.1:80".parse().unwrap();
        let forged =
            "GET /other HTTP/1.1\r\nHost: shop.test\r\nReferer: x\", host: \"small.test\"\r\nConnection: close\r\n\r\n";
        raw(to, forged.as_bytes()).await;
        let series = r#"ingressd_nginx_errors_total{namespace="",ingress="",kind="connection_refused"}"#;
        wait::until_right(series, async || rig.daemon.metric(series).await, |count| *count == 1.0).await;
        assert_eq!(explained(rig, "http://small.test/").await.1["nginx_said"].as_array().unwrap().len(), 1);

        // The same lines, by the command.
        let of_small = shown(rig, &["--errors", "--host", "small.test"]).await;
        assert!(of_small.len() == 1 && of_small[0].contains("  body_too_large  "), "{of_small:?}");
        assert!(shown(rig, &["--errors", "--ingress", "default/small", "--json"]).await[0].contains("\"uri\":\"/\""));
        assert!(shown(rig, &["--errors", "--since", "1h"]).await.len() >= 4);

        // nginx writes to another file once logs are rotated.
        let log = rig.nginx.prefix().join("log/error.log");
        fs::rename(&log, log.with_extension("log.1")).unwrap();
        rig.nginx.signal(Signal::SIGUSR1);
        wait::until("nginx to open its log again", async || log.exists().then_some(())).await;
        let again = async || {
            get("http://shop.test/other").send().await;
            let series =
                r#"ingressd_nginx_errors_total{namespace="default",ingress="other",kind="connection_refused"}"#;
            (rig.daemon.metric(series).await > 3.0).then_some(())
        };
        wait::until("the new file to be followed", again).await;
    });
}

#[test]
fn a_log_that_cannot_be_read_is_reported_once() {
    rig::run(async |rig| {
        let configuration = rig.nginx.configuration();
        let log = rig.nginx.prefix().join("log/error.log");
        let text = fs::read_to_string(&configuration).unwrap();
        fs::write(
            &configuration,
            text.replace(&format!("error_log {};", log.display()), "error_log syslog:server=127.0.0.1;"),
        )
        .unwrap();
        rig.manifests.write("objects.yaml", &[ingress("shop").host("shop.test", "web").build()]);
        rig.start().await;
        assert_eq!(rig.daemon.log().matches("nginx's error log is no file").count(), 1, "{}", rig.daemon.log());
    });
}

#[test]
fn a_status_that_no_number_of_json_is_stays_one() {
    rig::run(async |rig| {
        rig.daemon.set("access-log.format", "json");
        let mut objects = vec![ingress("odd").host("odd.test", "odd").build()];
        objects.extend(service_at("odd", &["10.244.3.2"], 9099));
        rig.manifests.write("objects.yaml", &objects);
        let backend = TcpListener::bind(("10.244.3.2", 9099)).await.unwrap();
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = backend.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(b"HTTP/1.1 099 Odd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
            }
        });
        rig.start().await;
        raw("127.0.0.1:80".parse().unwrap(), b"GET /odd HTTP/1.1\r\nHost: odd.test\r\nConnection: close\r\n\r\n").await;
        assert_eq!(logged(rig, "/odd").await["status"], 99);
        serving.abort();
    });
}

#[test]
fn lines_go_to_a_socket_of_the_host_as_to_the_journal() {
    rig::run(async |rig| {
        let path = rig.folder().join("socket");
        let journal = UnixDatagram::bind(&path).unwrap();
        // Workers of nginx are another user.
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        rig.daemon.set("access-log.format", "json");
        rig.daemon.set("access-log.syslog", "true");
        rig.daemon.set("access-log.syslog-address", &format!("unix:{}", path.display()));
        rig.manifests.write("objects.yaml", &[ingress("shop").host("shop.test", "web").build()]);
        rig.start().await;
        assert_eq!(get("http://shop.test/told").send().await.status, 200);
        let mut bytes = vec![0; 65536];
        let length = timeout(wait::LIMIT, journal.recv(&mut bytes)).await.unwrap().unwrap();
        let text = String::from_utf8(bytes[..length].to_vec()).unwrap();
        let (head, line) = text.split_once(" nginx: ").unwrap();
        assert!(head.starts_with('<') && head.len() < 22, "the journal knows the name of the host: {text}");
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["ingress"], "shop");
        assert_eq!(logs(rig, &[]).await.status.code(), Some(66), "there is no file");
        let mut command = rig.daemon.command("logs");
        command.args(["--file", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
        assert!(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().contains("\"uri\":\"/told\""));
    });
}
