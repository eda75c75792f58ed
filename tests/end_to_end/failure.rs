//! An nginx that is stopped, killed, restarted or refuses: the daemon converges, and the status is
//! right meanwhile.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use rig::client::get;
use rig::load::Load;
use rig::manifests::{endpoint_slice, ingress};
use rig::nginx::is_alive;
use rig::status::{reports, serving};
use rig::{ECHO, Rig, wait};

fn write_host(rig: &Rig, host: &str) {
    rig.manifests.write(&format!("{host}.yaml"), &[ingress(host).host(host, "web").build()]);
}

async fn is_served(host: &str) {
    get(&format!("http://{host}/")).send_until(host, |reply| reply.status == 200).await;
}

/// What `/readyz` answers while nginx serves the confirmed generation.
async fn still_ready(rig: &Rig) -> String {
    let reply = rig.daemon.get("/readyz").await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.text()
}

/// What `/readyz` answers when it is not ready.
async fn not_ready(rig: &Rig) -> String {
    let reply = rig.daemon.get("/readyz").await.unwrap();
    assert_eq!(reply.status, 503, "{}", reply.text());
    reply.text()
}

/// Waits until the daemon reports a failure, and that nginx still serves the confirmed generation.
async fn failed_but_ready(rig: &mut Rig) -> serde_json::Value {
    let right = |status: &serde_json::Value| status["phase"] == "failed" && status["ready"] == true;
    rig.daemon.status_when("the failure of a node that is ready", right).await
}

async fn phase(rig: &mut Rig, phase: &'static str) -> serde_json::Value {
    rig.daemon.status_when(&format!("the phase {phase}"), |status| status["phase"] == phase).await
}

#[test]
fn a_worker_that_dies_is_replaced_and_no_reload_follows() {
    rig::run(async |rig| {
        write_host(rig, "a.example");
        rig.start().await;
        let generation = serving(&rig.daemon.status().await.unwrap());
        let workers = rig.nginx.settled_workers().await;
        kill(workers[0], Signal::SIGKILL).unwrap();
        let restored = |now: &Vec<Pid>| now.len() == workers.len() && !now.contains(&workers[0]);
        wait::until_right("another worker", async || rig.nginx.workers(), restored).await;
        is_served("a.example").await;
        assert_eq!(serving(&rig.daemon.status().await.unwrap()), generation);
        assert_eq!(rig.daemon.reloads().await, 1);
        // One that dies while nginx takes a new generation must neither fool nor stop the daemon.
        // It dies before the change is written: afterwards, on a slow machine, nginx may have let
        // go of it already.
        for round in 0..3 {
            let host = format!("{round}.example");
            let known = rig.nginx.settled_workers().await;
            kill(known[0], Signal::SIGKILL).unwrap();
            wait::until("the end of the worker", async || (!is_alive(known[0])).then_some(())).await;
            write_host(rig, &host);
            is_served(&host).await;
            let generation = generation.unwrap() + round + 1;
            let whole =
                |status: &serde_json::Value| serving(status) == Some(generation) && status["nginx"]["workers"] == 2;
            rig.daemon.status_when("the next generation, with all workers", whole).await;
        }
    });
}

#[test]
fn an_nginx_that_is_stopped_finds_everything_ready_when_it_starts() {
    rig::run(async |rig| {
        write_host(rig, "a.example");
        rig.start().await;
        let master = rig.nginx.master().unwrap();
        rig.nginx.stop().await;
        let status = phase(rig, "nginx-down").await;
        assert!(status["nginx"]["master"].is_null() && status["ready"] == false, "{status}");
        assert!(not_ready(rig).await.contains("nginx-down"));
        assert_eq!(rig.daemon.metric("ingressd_ready").await, 0.0);
        rig.daemon.status_when("a finding", |status| reports(status, "Host nginx", "NginxDown")).await;
        let reloads = rig.daemon.reloads().await;

        // Changes meanwhile are tested and on disk before nginx starts; the daemon itself starts
        // nothing.
        write_host(rig, "b.example");
        let host = |status: &serde_json::Value| status["hosts"] == 2;
        rig.daemon.status_when("the host to be ready for nginx", host).await;
        assert_eq!(rig.nginx.master(), None);
        assert!(not_ready(rig).await.contains("nginx-down"));

        rig.nginx.start();
        let workers = rig.nginx.settled_workers().await;
        is_served("a.example").await;
        is_served("b.example").await;
        rig.daemon.ready().await;
        let status = rig.daemon.status_when("no finding", |status| !reports(status, "Host nginx", "NginxDown")).await;
        assert_eq!(status["nginx"]["master"], rig.nginx.master().unwrap().as_raw());
        assert_ne!(rig.nginx.master(), Some(master));
        assert_eq!(rig.nginx.workers(), workers, "nginx read it by itself, so it was not told to again");
        assert!(rig.daemon.reloads().await <= reloads + 1);
    });
}

#[test]
fn a_daemon_that_starts_before_nginx_waits_for_it() {
    rig::run(async |rig| {
        write_host(rig, "a.example");
        rig.daemon.start();
        phase(rig, "nginx-down").await;
        assert!(not_ready(rig).await.contains("nginx-down"));
        rig.nginx.start();
        rig.daemon.ready().await;
        is_served("a.example").await;
    });
}

#[test]
fn a_killed_master_that_returns_under_another_number_is_followed() {
    rig::run(async |rig| {
        write_host(rig, "a.example");
        rig.start().await;
        let master = rig.nginx.master().unwrap();
        let workers = rig.nginx.kill_master().await;
        let status = phase(rig, "nginx-down").await;
        assert!(status["nginx"]["master"].is_null());
        // The workers go on and serve their configuration; no signal changes it.
        is_served("a.example").await;
        write_host(rig, "b.example");
        rig.daemon.status_when("b.example to be ready", |status| status["hosts"] == 2).await;
        assert!(not_ready(rig).await.contains("nginx-down"), "orphans that serve are not readiness");

        // An init system does it like this: the rest of the old service ends, and the new one
        // starts.
        workers.iter().for_each(|worker| kill(*worker, Signal::SIGKILL).unwrap());
        wait::until("the end of the workers", async || workers.iter().all(|pid| !is_alive(*pid)).then_some(())).await;
        rig.nginx.start();
        rig.daemon.ready().await;
        is_served("b.example").await;
        let now = rig.nginx.master().unwrap();
        assert_ne!(now, master);
        rig.daemon.status_when("the new master", |status| status["nginx"]["master"] == now.as_raw()).await;
        // Changes are still applied.
        write_host(rig, "c.example");
        is_served("c.example").await;
    });
}

#[test]
fn a_restarted_nginx_is_recognised_without_a_reload() {
    rig::run(async |rig| {
        write_host(rig, "a.example");
        rig.start().await;
        rig.nginx.restart().await;
        let master = rig.nginx.master().unwrap();
        let workers = rig.nginx.settled_workers().await;
        let reported = |log: &String| log.contains("nginx changed by itself");
        wait::until_right("the daemon to notice", async || rig.daemon.log(), reported).await;
        let seen =
            |status: &serde_json::Value| status["nginx"]["master"] == master.as_raw() && serving(status).is_some();
        rig.daemon.status_when("the new master", seen).await;
        is_served("a.example").await;
        assert_eq!(rig.nginx.workers(), workers);
        write_host(rig, "b.example");
        is_served("b.example").await;
    });
}

#[test]
fn a_hup_that_nginx_refuses_is_taken_back_until_the_host_is_mended() {
    // The mistake is once in another site, which only the whole configuration shows, and
    // once in nginx.conf itself.
    for broken in [Broken::Site, Broken::Main] {
        rig::run(async move |rig| {
            write_host(rig, "a.example");
            rig.start().await;
            let generation = serving(&rig.daemon.status().await.unwrap());
            let workers = rig.nginx.settled_workers().await;
            let configuration = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
            match broken {
                Broken::Site => rig.nginx.write_site("other", "server { listen 8099; no_such_directive on; }"),
                Broken::Main => {
                    let text = configuration.replace("sendfile on;", "sendfile perhaps;");
                    std::fs::write(rig.nginx.configuration(), text).unwrap();
                }
            }
            assert!(!rig.nginx.test().0);
            write_host(rig, "b.example");
            let status = failed_but_ready(rig).await;
            let words = if matches!(broken, Broken::Site) { "no_such_directive" } else { "perhaps" };
            assert!(status["why"].as_str().unwrap().contains(words), "{status}");
            assert!(reports(&status, "Host nginx", "ReloadFailed"), "{status}");
            assert!(still_ready(rig).await.contains(words));
            assert_eq!(status["generation"].as_u64(), generation, "nginx still serves it");
            is_served("a.example").await;
            assert_eq!(get("http://b.example/").send().await.status, 404);
            assert_eq!(rig.nginx.workers(), workers, "nginx goes on as it was");
            // A daemon that is killed now and comes back says the same.
            rig.daemon.kill();
            rig.daemon.start();
            failed_but_ready(rig).await;
            assert!(still_ready(rig).await.contains(words));
            is_served("a.example").await;

            match broken {
                Broken::Site => rig.nginx.write_site("other", "server { listen 8099; }"),
                Broken::Main => std::fs::write(rig.nginx.configuration(), configuration).unwrap(),
            }
            is_served("b.example").await;
            rig.daemon.ready().await;
            let status = rig.daemon.status().await.unwrap();
            assert!(!reports(&status, "Host nginx", "ReloadFailed"), "{status}");
        });
    }
}

#[derive(Clone, Copy)]
enum Broken {
    Site,
    Main,
}

#[test]
fn traffic_does_not_notice_how_the_daemon_ends_or_begins() {
    rig::run(async |rig| {
        write_host(rig, "a.example");
        rig.start().await;
        let workers = rig.nginx.settled_workers().await;
        let load = Load::new(&[get("http://a.example/")]).start();
        for _ in 0..2 {
            assert!(rig.daemon.stop().await.success());
            is_served("a.example").await;
            rig.daemon.start();
            rig.daemon.ready().await;
            rig.daemon.kill();
            is_served("a.example").await;
            rig.daemon.start();
            rig.daemon.ready().await;
        }
        assert_eq!(rig.daemon.reloads().await, 0, "nothing changed, so nothing is reloaded");
        assert_eq!(rig.nginx.workers(), workers);
        let report = load.stop().await;
        assert_eq!((report.failures.as_slice(), report.cuts), (&[][..], 0));
        assert!(report.kept > 0 && report.fresh > 0);
        // A change made while the daemon was away is served at its next start, once.
        rig.daemon.kill();
        write_host(rig, "b.example");
        rig.manifests.write("more.yaml", &[endpoint_slice("web", &["10.244.0.9"], ECHO)]);
        rig.daemon.start();
        rig.daemon.ready().await;
        is_served("b.example").await;
        assert_eq!(rig.daemon.reloads().await, 1);
    });
}

#[test]
fn an_nginx_that_was_made_to_forget_us_is_not_ready() {
    rig::run(async |rig| {
        write_host(rig, "a.example");
        rig.start().await;
        let include = rig.nginx.prefix().join("conf.d/ingressd.conf");
        let text = std::fs::read_to_string(&include).unwrap();
        std::fs::remove_file(&include).unwrap();
        rig.nginx.signal(Signal::SIGHUP);
        rig.daemon.status_when("nobody to tell the generation", |status| status["served"].is_null()).await;
        assert!(not_ready(rig).await.contains("does nginx.conf still include ours?"));
        std::fs::write(&include, text).unwrap();
        rig.nginx.signal(Signal::SIGHUP);
        rig.daemon.ready().await;
        is_served("a.example").await;
    });
}
