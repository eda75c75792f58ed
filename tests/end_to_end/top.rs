//! `ingressd top` over a real daemon that counts real requests.

use std::process::{Output, Stdio};

use serde_json::Value;

use rig::Rig;
use rig::client::{Request, get};
use rig::load::Load;
use rig::manifests::ingress;

/// Runs the command while requests come.
async fn top(rig: &Rig, arguments: &[&str]) -> Output {
    let mut command = rig.daemon.command("top");
    command.args(arguments).stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

async fn rows(rig: &Rig, arguments: &[&str]) -> Vec<Value> {
    let output = top(rig, &[&["--once", "--interval", "3", "--json"], arguments].concat()).await;
    let reported: Value = serde_json::from_str(&text(&output)).unwrap();
    assert!(reported["seconds"].as_f64().unwrap() > 1.0, "{reported}");
    let sum: f64 = reported["rows"].as_array().unwrap().iter().map(|row| rate(row, "requests_per_second")).sum();
    assert!((sum - rate(&reported, "requests_per_second")).abs() < 1e-6, "{reported}");
    reported["rows"].as_array().unwrap().clone()
}

fn rate(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"))
}

fn names<'r>(rows: &'r [Value], name: &str) -> Vec<&'r str> {
    rows.iter().map(|row| row[name].as_str().unwrap()).collect()
}

#[test]
fn top_says_who_gets_requests_which_fail_and_which_are_slow() {
    rig::run(async |rig| {
        rig.serve(&["api", "slow"]);
        let objects = [
            ingress("shop").host("shop.test", "web").build(),
            ingress("api").host("api.test", "api").build(),
            ingress("slow").host("slow.test", "slow").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let ask = |url: &str| get(url);
        let often: Vec<Request> = (0..6).map(|_| ask("http://shop.test/")).collect();
        let few = [ask("http://api.test/?status=500"), ask("http://api.test/?status=404")];
        let requests = [&often[..], &few, &[ask("http://slow.test/?delay_ms=300"), ask("http://none.test/")]].concat();
        let load = Load::new(&requests).right(|reply| reply.status > 0).rates(100, 20).start();

        let reported = rows(rig, &[]).await;
        assert_eq!(reported[0]["ingress"], "shop", "{reported:?}");
        let of =
            |name: &str| reported.iter().find(|row| row["ingress"] == name).unwrap_or_else(|| panic!("{reported:?}"));
        let (shop, api, slow) = (of("shop"), of("api"), of("slow"));
        assert_eq!((rate(shop, "server_errors_per_second"), rate(shop, "client_errors_per_second")), (0.0, 0.0));
        for errors in ["server_errors_per_second", "client_errors_per_second"] {
            assert!(rate(api, errors) > 0.0 && rate(api, errors) < rate(api, "requests_per_second"), "{api}");
        }
        assert!(rate(slow, "p50_seconds") >= 0.25 && rate(slow, "upstream_p99_seconds") >= 0.25, "{slow}");
        assert!(rate(shop, "sent_bytes_per_second") > 100.0 * rate(shop, "requests_per_second"), "{shop}");
        // nginx answers hosts that nobody has itself.
        assert!(of("")["upstream_p50_seconds"].is_null());

        let by_host = rows(rig, &["--by", "host", "--sort", "name"]).await;
        assert_eq!(names(&by_host, "host"), ["*", "api.test", "shop.test", "slow.test"]);
        let by_errors = rows(rig, &["--by", "service", "--sort", "errors"]).await;
        assert_eq!(by_errors[0]["service"], "api", "{by_errors:?}");
        let by_time = rows(rig, &["--by", "service", "--sort", "p99", "--filter", "default/s"]).await;
        assert_eq!(names(&by_time, "service"), ["slow"]);

        let shown = text(&top(rig, &["--once", "--filter", "shop"]).await);
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines[0].contains(" requests a second, 0.0 % with 5xx, in "), "{shown}");
        assert!(lines[2].starts_with("INGRESS ") && lines[3].starts_with("default/shop "), "{shown}");
        assert!(lines.len() == 4 && !shown.contains('\u{1b}'), "{shown}");
        load.stop().await;
    });
}

#[test]
fn top_says_what_to_do_where_requests_are_not_counted() {
    rig::run(async |rig| {
        rig.daemon.set("traffic.enabled", "false");
        rig.start().await;
        let output = top(rig, &["--once"]).await;
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(69) && words.contains("traffic.enabled = true"), "{words}");
        assert!(output.stdout.is_empty());
    });
}
