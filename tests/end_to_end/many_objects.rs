//! A namespace with many long connections or many mistakes does not delay other namespaces.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use rig::client::{WebSocket, get, grpc_watch};
use rig::manifests::ingress;
use rig::status::{notes, reports, serving};
use rig::wait;

#[test]
fn connections_that_last_keep_few_old_workers_and_nobodys_change_waiting() {
    const GENERATIONS: usize = 3;
    rig::run(async |rig| {
        rig.daemon.set("pacing.most-draining", &GENERATIONS.to_string());
        rig.daemon.set("pacing.draining-time", "2s");
        rig.daemon.set("pacing.spacing", "100ms");
        let lasting = ingress("lasting").namespace("default").host("lasting.example", "web").build();
        rig.manifests.write("lasting.yaml", &[lasting]);
        rig.start().await;
        let mut sockets: Vec<WebSocket> = Vec::new();
        for number in 0..10 {
            let mut socket = get("http://lasting.example/").open_websocket().await.unwrap();
            assert_eq!(socket.say("x").await.unwrap(), "x");
            sockets.push(socket);
            let host = format!("change-{number}.example");
            rig.manifests.write("change.yaml", &[ingress("change").host(&host, "web").build()]);
            get(&format!("http://{host}/")).send_until("the change", |reply| reply.status == 200).await;
            // Workers without connections end by themselves.
            let few = async || (rig.nginx.workers().len() <= 2 * (GENERATIONS + 1)).then_some(());
            wait::until("few workers", few).await;
        }
        let ended = |status: &Value| status["nginx"]["ended"].as_u64().is_some_and(|ended| ended > 0);
        let status = rig.daemon.status_when("old workers to be ended", ended).await;
        assert_eq!(status["nginx"]["most_draining"], 2 * GENERATIONS);
        assert!(reports(&status, "Host nginx", "DrainingWorkers"), "{}", status["findings"]);
        assert!(sockets[0].say("x").await.is_err(), "the oldest worker had it");
        assert_eq!(sockets[9].say("x").await.unwrap(), "x");
    });
}

#[test]
fn each_connection_gets_its_time_however_many_changes_come() {
    const SOCKETS: usize = 200;
    const STREAMS: usize = 20;
    const TIME: Duration = Duration::from_secs(8);
    rig::run(async |rig| {
        rig.daemon.set("pacing.most-draining", "3");
        rig.daemon.set("pacing.draining-time", "8s");
        rig.daemon.set("pacing.spacing", "50ms");
        let lasting = ingress("lasting").namespace("default").host("lasting.example", "web").build();
        let calls = ingress("calls").namespace("default").class("nginx").annotation("backend-protocol", "GRPC");
        rig.manifests.write("lasting.yaml", &[lasting, calls.host("calls.example", "web").build()]);
        rig.start().await;
        let mut sockets = JoinSet::new();
        for _ in 0..STREAMS {
            let stream = grpc_watch("https://calls.example").open_stream().await.unwrap();
            sockets.spawn(async move {
                stream.closed().await;
                (0, Instant::now())
            });
        }
        let (mut number, mut replaced) = (0, Vec::new());
        // Until those are cut that many reloads ago were the first.
        let mut cut = Vec::new();
        while cut.len() < STREAMS + SOCKETS {
            for _ in 0..if number == 0 { SOCKETS } else { 2 } {
                let socket = get("http://lasting.example/").open_websocket().await.unwrap();
                let opened = number;
                sockets.spawn(async move {
                    socket.closed().await;
                    (opened, Instant::now())
                });
            }
            let before = Instant::now();
            let host = format!("change-{number}.example");
            rig.manifests.write("change.yaml", &[ingress("change").host(&host, "web").build()]);
            get(&format!("http://{host}/")).send_until("the change", |reply| reply.status == 200).await;
            replaced.push(before);
            number += 1;
            while let Some(ended) = sockets.try_join_next() {
                let (opened, closed): (usize, Instant) = ended.unwrap();
                let lasted = closed - replaced[opened];
                assert!(lasted >= TIME, "sockets of change {opened} were closed by {number} after {lasted:?}");
                cut.push(opened);
            }
        }
        assert!(number > 3, "{number} changes");
    });
}

#[test]
fn expressions_that_only_nginx_refuses_are_found_after_everybody_else_is_served() {
    const OBJECTS: usize = 300;
    const TESTS: &str = "ingressd_test_duration_seconds_count";
    rig::run(async |rig| {
        rig.start().await;
        let before = rig.daemon.metric(TESTS).await;
        // Our own reader accepts this expression.
        let wrong = |number: usize| {
            let object = ingress(&format!("wrong-{number}")).namespace("crowd").annotation("use-regex", "true");
            let path = format!("/a{number}(?<=a+)");
            object.path(&format!("{number}.crowd.example"), "ImplementationSpecific", &path, "web").build()
        };
        let victim = ingress("victim").host("victim.example", "web").build();
        rig.manifests.write("crowd.yaml", &(0..OBJECTS).map(wrong).chain([victim]).collect::<Vec<_>>());
        get("http://victim.example/").send_until("the victim's change", |reply| reply.status == 200).await;
        let until_served = rig.daemon.metric(TESTS).await - before;
        wait::until("all to be found", async || {
            let found = rig.daemon.metric(r#"ingressd_objects{kind="Ingress",state="quarantined"}"#).await;
            (found as usize == OBJECTS).then_some(())
        })
        .await;
        let until_found = rig.daemon.metric(TESTS).await - before;
        // Each test finds dozens of mistakes, and the victim waits for one or two tests.
        assert!(until_served <= 3.0 && until_found <= 12.0, "{until_served} {until_found}");
    });
}

#[test]
fn mistakes_of_one_namespace_leave_those_of_others_visible() {
    const OBJECTS: usize = 400;
    rig::run(async |rig| {
        let wrong = |number: usize| {
            let mut object =
                ingress(&format!("wrong-{number}")).namespace("crowd").host(&format!("{number}.crowd.example"), "web");
            for annotation in 0..60 {
                object = object.annotation(&format!("no-such-key-{annotation}"), &"x".repeat(100));
            }
            object.build()
        };
        rig.manifests.write("crowd.yaml", &(0..OBJECTS).map(wrong).collect::<Vec<_>>());
        rig.manifests.write("victim.yaml", &[ingress("victim").host("victim.example", "missing").build()]);
        rig.start().await;
        let reported = |status: &Value| reports(status, "Ingress victim", "MissingService");
        let status = rig.daemon.status_when("the victim's mistake", reported).await;
        assert!(status.to_string().len() < 300_000, "{}", status.to_string().len());
        assert!((1..=21).contains(&notes(&status, "Ingress wrong-0", "UnknownAnnotation").len()));
        let left_out = status["findings_left_out"].as_array().unwrap();
        assert_eq!((left_out.len(), &left_out[0]["namespace"]), (1, &"crowd".into()));
        let shown = rig.daemon.command("status").output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("default/victim") && shown.lines().count() < OBJECTS + 200, "{shown}");
        assert!(shown.contains(" findings are not shown: "), "{shown}");
        // The journal has a bounded number of lines about one namespace.
        let lines = rig.daemon.log().lines().filter(|line| line.contains("no-such-key")).count();
        assert!((1..=200).contains(&lines), "{lines}");
    });
}

/// A program in nginx's place that notes each test of a configuration.
const COUNTING: &str = r#"#!/bin/sh
for word in "$@"; do
    [ "$word" = -t ] && echo tested >>"$0.tests"
done
exec {nginx} "$@"
"#;

#[test]
fn refused_objects_that_are_written_all_the_time_slow_nobody() {
    const OBJECTS: usize = 30;
    const CHANGES: usize = 6;
    rig::run(async |rig| {
        let program = rig.nginx.replace_program().to_owned();
        rig.nginx.start();
        rig.nginx.wrap_program(COUNTING);
        rig.daemon.set("nginx.binary", program.to_str().unwrap());
        let tests = || std::fs::read_to_string(program.with_extension("tests")).unwrap_or_default().lines().count();
        let manifests = &rig.manifests;
        let victim = |number: usize| {
            let host = format!("victim-{number}.example");
            manifests.write("victim.yaml", &[ingress("victim").host(&host, "web").build()]);
            get(&format!("http://{host}/"))
        };
        let first = victim(0);
        rig.daemon.start();
        first.send_until("the victim", |reply| reply.status == 200).await;
        // Our own reader accepts this expression.
        let wrong = |number: usize, version: usize| {
            let object = ingress(&format!("wrong-{number}")).namespace("crowd").annotation("use-regex", "true");
            let path = format!("/a{version}(?<=a+)");
            object.path(&format!("{number}.crowd.example"), "ImplementationSpecific", &path, "web").build()
        };
        let write = |version: usize| {
            manifests.write("crowd.yaml", &(0..OBJECTS).map(|number| wrong(number, version)).collect::<Vec<_>>());
        };
        // While they are written all the time, a version that was found is soon not the latest.
        write(0);
        wait::until("all to be found", async || {
            let found = rig.daemon.metric(r#"ingressd_objects{kind="Ingress",state="quarantined"}"#).await;
            (found as usize == OBJECTS).then_some(())
        })
        .await;
        let attack = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(50));
            for version in 1.. {
                ticks.tick().await;
                write(version);
            }
        };
        let changes = async {
            let mut until_served = Vec::new();
            for number in 1..=CHANGES {
                let before = tests();
                victim(number).send_until("the victim's change", |reply| reply.status == 200).await;
                until_served.push(tests() - before);
            }
            until_served
        };
        let until_served = tokio::select! {
            () = attack => unreachable!("it goes on until the test ends"),
            until_served = changes => until_served,
        };
        // The refused namespace takes about a tenth of the time: most changes wait for their own
        // tests alone.
        let waited = until_served.iter().filter(|tests| **tests >= OBJECTS / 2).count();
        assert!(waited <= CHANGES / 2, "{until_served:?}");
    });
}

#[test]
fn websockets_that_come_and_go_while_everything_changes_keep_their_workers() {
    const SOCKETS: usize = 200;
    const CHANGES: usize = 100;
    const GENERATIONS: usize = 8;
    rig::run(async |rig| {
        rig.manifests.write("lasting.yaml", &[ingress("lasting").host("lasting.example", "web").build()]);
        rig.start().await;
        let open = async || get("http://lasting.example/").open_websocket().await.unwrap();
        let mut sockets: VecDeque<WebSocket> = VecDeque::new();
        for _ in 0..SOCKETS {
            sockets.push_back(open().await);
        }
        let mut most = 0;
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        for number in 0..CHANGES {
            ticks.tick().await;
            let change = ingress("change").path("change.example", "Exact", &format!("/{number}"), "web");
            rig.manifests.write("change.yaml", &[change.build()]);
            // So each generation of workers has some connections that last.
            drop(sockets.pop_front());
            sockets.push_back(open().await);
            most = most.max(rig.nginx.workers().len());
        }
        let last = get(&format!("http://change.example/{}", CHANGES - 1));
        last.send_until("the last change", |reply| reply.status == 200).await;
        let status = rig.daemon.status_when("rest", |status| serving(status).is_some()).await;
        println!("{most} workers at most, {} reloads", rig.daemon.reloads().await);
        assert!(
            (4..2 * (GENERATIONS + 1)).contains(&most),
            "{most} of 2 for each of {GENERATIONS}, and those that serve"
        );
        assert_eq!(status["nginx"]["ended"], 0);
        for socket in &mut sockets {
            assert_eq!(socket.say("x").await.unwrap(), "x");
        }
    });
}
