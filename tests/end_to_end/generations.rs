//! Kept generations, as the administrator sees them: the difference between two, and going back to
//! one.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Output;

use ingressd_apply::Step;
use nix::sys::signal::Signal;
use serde_json::Value;

use rig::client::get;
use rig::manifests::{Ingress, endpoint_slice, ingress, tls_secret};
use rig::status::{notes, reports};
use rig::{ECHO, Rig, wait};

/// Runs a command of ingressd; gives exit status, output and complaints.
async fn run(rig: &Rig, name: &str, arguments: &[&str]) -> (i32, String, String) {
    reported(&rig.daemon.command(name).args(arguments).output().unwrap())
}

fn reported(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

async fn status_of(host: &str) -> u16 {
    get(&format!("http://{host}/")).send().await.status
}

fn shop(name: &str) -> Ingress {
    ingress(name).host(&format!("{name}.example"), "web")
}

/// Ingress `a` in the first generation and `b` besides in the second.
async fn two_generations(rig: &mut Rig) {
    rig.manifests.write("a.yaml", &[shop("a").build()]);
    rig.start().await;
    rig.manifests.write("b.yaml", &[shop("b").build()]);
    rig.daemon.confirmed("b").await;
    assert_eq!(rig.daemon.status().await.unwrap()["generation"], 2);
}

fn names(status: &Value) -> Vec<String> {
    let ingresses = status["ingresses"].as_array().unwrap();
    ingresses.iter().map(|object| object["name"].as_str().unwrap().to_owned()).collect()
}

/// Values of ConfigMaps, such as keys for an authentication service, are in plain files, too.
#[test]
fn nobody_but_root_reads_what_nginx_gets() {
    rig::run(async |rig| {
        two_generations(rig).await;
        let generations = rig.daemon.root().join("generations");
        let mut folders = vec![generations.clone()];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let (path, metadata) = (entry.path(), entry.metadata().unwrap());
                // Workers enter a generation on the way to files of passwords.
                let is_generation = path.parent() == Some(&generations);
                if metadata.is_dir() {
                    folders.push(path.clone());
                }
                let others = metadata.mode() & 0o077;
                assert!(
                    others == 0 || is_generation && others == 0o055 || path.ends_with("auth"),
                    "{path:?} {others:o}"
                );
                seen += usize::from(metadata.is_file());
            }
        }
        assert!(seen > 8, "{seen}");
    });
}

#[test]
fn a_node_that_went_back_stays_there_says_so_and_serves_what_it_did() {
    rig::run(async |rig| {
        two_generations(rig).await;
        let (code, reported, _) = run(rig, "rollback", &[]).await;
        assert_eq!(code, 0, "{reported}");
        assert!(
            reported.contains("nginx runs generation 1") && reported.contains("endpoints may be stale"),
            "{reported}"
        );
        assert_eq!((status_of("a.example").await, status_of("b.example").await), (200, 404));

        // Changes are translated and reported, but not applied.
        rig.manifests.write("c.yaml", &[shop("c").build(), ingress("bad").host("not a host", "web").build()]);
        let right = |status: &Value| {
            status["pinned"]["waiting_files"].as_u64() > Some(0) && reports(status, "Ingress bad", "InvalidHost")
        };
        let status = rig.daemon.status_when("the change to wait", right).await;
        assert_eq!((&status["phase"], &status["pinned"]["generation"]), (&"serving".into(), &1.into()));
        assert_eq!(names(&status), ["a"], "what the generation serves, and nothing else");
        assert_eq!((&status["hosts"], &status["generation"]), (&1.into(), &1.into()));
        assert!(notes(&status, "Host nginx", "Pinned")[0].contains("ingressd resume"));
        assert_eq!((status_of("c.example").await, rig.daemon.metric("ingressd_pinned_generation").await), (404, 1.0));
        assert!(rig.daemon.metric("ingressd_pinned_waiting_files").await > 0.0);
        let ready = rig.daemon.get("/readyz").await.unwrap();
        assert!(ready.status == 200 && String::from_utf8_lossy(&ready.body).contains("PINNED to generation 1"));
        let (_, shown, _) = run(rig, "status", &[]).await;
        assert!(shown.contains(" attention\n1. PINNED to generation 1, "), "{shown}");
        assert!(shown.contains("\nserving generation 1, PINNED since 20"), "{shown}");
        let warned =
            |log: &String| log.lines().any(|line| line.contains("WARN") && line.contains("generation 1 is pinned: "));
        wait::until_right("the journal", async || rig.daemon.log(), warned).await;
        let (_, listed, _) = run(rig, "diff", &["--list"]).await;
        assert!(
            listed.lines().any(|line| line.starts_with("1 ") && line.contains("current, PINNED, confirmed")),
            "{listed}"
        );

        // The rollback outlasts a restart of the daemon, a crash of it, and a restart of nginx.
        rig.daemon.stop().await;
        rig.daemon.start();
        rig.daemon.status_when("the change to wait", right).await;
        rig.daemon.kill();
        rig.nginx.stop().await;
        rig.nginx.start();
        rig.daemon.start();
        let status = rig.daemon.status_when("the change to wait", right).await;
        assert_eq!((names(&status), status["generation"].as_u64()), (vec!["a".to_owned()], Some(1)));
        assert_eq!((status_of("a.example").await, status_of("b.example").await), (200, 404));

        let (code, reported, _) = run(rig, "resume", &[]).await;
        assert!(code == 0 && reported.contains("nginx runs generation 3"), "{code} {reported}");
        for host in ["a.example", "b.example", "c.example"] {
            assert_eq!(status_of(host).await, 200, "{host}");
        }
        let status = rig.daemon.status_when("everything", |status| names(status).len() == 3).await;
        assert!(status["pinned"].is_null() && !reports(&status, "Host nginx", "Pinned"));
        assert_eq!(run(rig, "resume", &[]).await.0, 1, "nothing is pinned");
    });
}

#[test]
fn endpoints_of_a_pinned_generation_are_those_of_then() {
    rig::run(async |rig| {
        two_generations(rig).await;
        assert_eq!(run(rig, "rollback", &["2"]).await.0, 0);
        rig.manifests
            .write("web.yaml", &[rig::manifests::service("web", ECHO), endpoint_slice("web", &["10.244.0.2"], ECHO)]);
        rig.daemon.status_when("it to wait", |status| status["pinned"]["waiting_files"].as_u64() > Some(0)).await;
        let asked = async || get("http://a.example/").send().await.echo().address.ip().to_string();
        assert_eq!(asked().await, "10.244.0.1");
        assert_eq!(run(rig, "resume", &[]).await.0, 0);
        assert_eq!(asked().await, "10.244.0.2");
    });
}

#[test]
fn the_difference_names_the_objects_and_shows_no_secret() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[shop("a").build()]);
        rig.start().await;
        assert_eq!(run(rig, "diff", &[]).await.0, 66, "there is nothing before the first");
        let changed = shop("a").path("a.example", "Prefix", "/cart", "web").annotation("proxy-body-size", "7m");
        rig.manifests.write("a.yaml", &[changed.build()]);
        let deep = |status: &Value| status["routes"] == 2;
        rig.daemon.status_when("the change of a", deep).await;
        let objects = [shop("b").tls(&["b.example"], "pair").build(), tls_secret("pair", &["b.example"])];
        rig.manifests.write("b.yaml", &objects);
        rig.daemon.confirmed("b").await;

        // The journal and the list name the objects that changed before each generation.
        let causes = [
            (1, "Ingress default/a added"),
            (2, "Ingress default/a changed"),
            (3, "Ingress default/b added, Secret default/pair added"),
        ];
        let (_, listed, _) = run(rig, "diff", &["--list"]).await;
        let journal = rig.daemon.log();
        for (number, cause) in causes {
            let of_number = |line: &&str| line.starts_with(&format!("{number} "));
            let line = listed.lines().find(of_number).unwrap_or_default();
            assert!(line.ends_with(&format!("  {cause}")), "{listed}");
            let reported = |line: &str| {
                let words = [format!("nginx runs generation {number}: "), format!("; cause: {cause} GENERATION=")];
                words.iter().all(|words| line.contains(words))
            };
            assert!(journal.lines().any(reported), "{number}: {journal}");
        }
        // Generations of an earlier version of the program have no cause.
        std::fs::remove_file(rig.daemon.root().join("generations/1/record/cause")).unwrap();
        let (_, listed, _) = run(rig, "diff", &["--list"]).await;
        assert!(listed.lines().any(|line| line.starts_with("1 ") && line.ends_with("  -")), "{listed}");

        let (code, changes, _) = run(rig, "diff", &["1", "2"]).await;
        assert_eq!(code, 1, "{changes}");
        let header = |words: &[&str]| {
            changes.lines().any(|line| line.starts_with("@@ -") && words.iter().all(|word| line.contains(word)))
        };
        assert!(
            header(&["Ingress default/a: metadata.annotations[nginx.ingress.kubernetes.io/proxy-body-size]"]),
            "{changes}"
        );
        assert!(header(&["Ingress default/a: spec.rules[1].http.paths[0]"]), "{changes}");
        assert!(changes.lines().any(|line| line.starts_with("--- 1/http/")), "{changes}");
        assert!(
            changes.lines().any(|line| line.starts_with('+') && line.contains("client_max_body_size")),
            "{changes}"
        );
        assert!(!changes.contains("default/b") && !changes.contains("generation.conf"), "{changes}");

        // The difference can be shown in the other direction, and against the current generation.
        let (code, back, _) = run(rig, "diff", &["2", "1"]).await;
        assert!(code == 1 && back.lines().any(|line| line.starts_with('-') && line.contains("client_max_body_size")));
        let (code, last, _) = run(rig, "diff", &[]).await;
        assert_eq!(code, 1);
        let of_secret = last.lines().find(|line| line.starts_with("Secret file certs/")).unwrap_or_default();
        assert!(of_secret.ends_with("was added: Secret default/pair"), "{last}");
        assert!(!last.contains("BEGIN") && !last.contains("PRIVATE KEY"), "{last}");
        let (_, summary, _) = run(rig, "diff", &["--summary"]).await;
        let has = |start: &str, end: &str| summary.lines().any(|line| line.starts_with(start) && line.contains(end));
        assert!(has("A http/", "Ingress default/b") && has("A certs/", "Secret default/pair"), "{summary}");
        assert_eq!(run(rig, "diff", &["3", "3"]).await.0, 0);
        let (code, _, why) = run(rig, "diff", &["9"]).await;
        assert!(code == 66 && why.contains("not kept; name one of those that are: 1, 2, 3"), "{why}");

        // The command also knows who caused lines of generations of an earlier run.
        rig.daemon.stop().await;
        rig.daemon.start();
        rig.daemon.ready().await;
        rig.manifests.write("a.yaml", &[shop("a").build()]);
        rig.daemon.status_when("the change of a", |status| status["generation"] == 4).await;
        let (_, listed, _) = run(rig, "diff", &["--list"]).await;
        let line = listed.lines().find(|line| line.starts_with("4 ")).unwrap_or_default();
        assert!(line.ends_with("  Ingress default/a changed"), "only what changed since that run: {listed}");
        let (_, changes, _) = run(rig, "diff", &["1", "4"]).await;
        assert!(
            changes.contains("Ingress default/b: spec.rules[0]") && !changes.contains("Ingress default/a"),
            "{changes}"
        );
        assert!(!changes.contains("not known"), "{changes}");
    });
}

#[test]
fn what_nginx_refuses_by_now_leaves_everything_as_it_is() {
    rig::run(async |rig| {
        two_generations(rig).await;
        // Another site becomes the default server, which the earlier generation would claim, too.
        let site = rig.nginx.prefix().join("conf.d/site.conf");
        std::fs::write(&site, "server { listen 80 default_server; return 418; }\n").unwrap();
        rig.daemon.set("pacing.recheck", "50ms");
        rig.daemon.stop().await;
        rig.daemon.start();
        let taken = |status: &Value| status["generation"] == 3 && status["phase"] == "serving";
        rig.daemon.status_when("a generation beside the site", taken).await;
        let (code, _, why) = run(rig, "rollback", &["1"]).await;
        assert!(code == 1 && why.contains("duplicate default server"), "{code} {why}");
        let status = rig.daemon.status_when("it to serve", taken).await;
        assert!(status["pinned"].is_null(), "{status:#}");
        assert_eq!((status_of("a.example").await, status_of("b.example").await), (200, 200));
        // Changes are still applied.
        rig.manifests.write("c.yaml", &[shop("c").build()]);
        rig.daemon.confirmed("c").await;
    });
}

#[test]
fn without_a_daemon_the_command_does_it_and_a_daemon_that_starts_stays_there() {
    rig::run(async |rig| {
        two_generations(rig).await;
        rig.daemon.stop().await;
        let (code, reported, why) = run(rig, "rollback", &["1"]).await;
        assert!(code == 0 && reported.contains("nginx runs generation 1"), "{code} {reported} {why}");
        assert_eq!((status_of("a.example").await, status_of("b.example").await), (200, 404));
        rig.daemon.start();
        rig.daemon.status_when("it to wait", |status| status["pinned"]["waiting_files"].as_u64() > Some(0)).await;
        assert_eq!(status_of("b.example").await, 404);
        rig.daemon.stop().await;
        assert_eq!(run(rig, "resume", &[]).await.0, 0);
        rig.daemon.start();
        rig.daemon.confirmed("b").await;
        assert_eq!(status_of("b.example").await, 200);
    });
}

#[test]
fn killed_at_any_step_of_going_back_the_next_start_gets_there() {
    rig::run(async |rig| {
        two_generations(rig).await;
        for step in [Step::Pinned, Step::LinkMade, Step::Switched, Step::HungUp, Step::Confirmed, Step::Recorded] {
            rig.daemon.stop().await;
            let mut command = rig.daemon.command("rollback");
            let output = command.arg("1").env("TEST_INGRESSD_ABORT_AT", step.to_string()).output().unwrap();
            assert_eq!(output.status.code(), None, "{step}: it was killed");
            assert_eq!(status_of("a.example").await, 200, "{step}");
            rig.daemon.start();
            let pinned =
                |status: &Value| status["generation"] == 1 && status["served"] == 1 && !status["pinned"].is_null();
            rig.daemon.status_when("the pinned generation", pinned).await;
            assert_eq!(status_of("b.example").await, 404, "{step}");
            // A reload of the settings keeps the generation, too. It has ended when it is logged:
            // sockets are made anew.
            let read = |log: &String| log.matches("the settings were read again").count();
            let before = read(&rig.daemon.log());
            rig.daemon.signal(Signal::SIGHUP);
            wait::until_right("the settings to be read", async || rig.daemon.log(), |log| read(log) > before).await;
            let waits = |status: &Value| pinned(status) && status["pinned"]["waiting_files"].as_u64() > Some(0);
            rig.daemon.status_when("the pinned generation", waits).await;
            let (code, reported, why) = run(rig, "resume", &[]).await;
            assert_eq!(code, 0, "{step}: {why}");
            // The settings may be read again at that moment, and the manifests with them.
            assert!(
                reported.contains("nginx runs generation") || reported.contains("as soon as it has been read"),
                "{reported}"
            );
            rig.daemon.confirmed("b").await;
            assert_eq!(status_of("b.example").await, 200, "{step}: {reported}");
        }
    });
}
