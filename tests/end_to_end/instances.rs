//! Two instances that share one nginx, each with classes, ports and folders of its own.

use std::path::Path;

use serde_json::Value;

use crate::doctor::Reported;
use rig::client::get;
use rig::daemon::{Daemon, Source};
use rig::manifests::{self, Ingress, Manifests, ingress, tls_secret};
use rig::status::{notes, reports};
use rig::{ECHO, Rig, open_to_all};

/// The second one.
struct Second {
    daemon: Daemon,
    manifests: Manifests,
}

/// A second one with the name `blue`, whose Service `web` is at another address; it is not
/// started.
fn second(rig: &Rig) -> Second {
    let folder = rig.folder().join("blue");
    std::fs::create_dir(&folder).unwrap();
    open_to_all(&folder);
    let manifests = Manifests::new(&folder.join("manifests"));
    manifests.write("classes.yaml", &manifests::classes());
    manifests.write("web.yaml", &manifests::service_at("web", &["10.244.0.2"], ECHO));
    let daemon = Daemon::prepare_instance("blue", 1, &folder, &rig.nginx, Source::from(&manifests));
    Second { daemon, manifests }
}

/// An Ingress that uses everything that has a name of ours in nginx: variables, zones, upstreams,
/// tables.
fn rich(name: &str) -> Ingress {
    let host = format!("{name}.example");
    ingress(name)
        .class("nginx")
        .host(&host, "web")
        .tls(&[&host], "pair")
        .annotation("ssl-redirect", "false")
        .annotation("enable-cors", "true")
        .annotation("cors-allow-origin", "https://a.example, https://b.example")
        .annotation("x-forwarded-prefix", "/app")
        .annotation("limit-rps", "100")
        .annotation("limit-connections", "100")
}

fn write(manifests: &Manifests, name: &str) {
    manifests.write(&format!("{name}.yaml"), &[rich(name).build(), tls_secret("pair", &[&format!("{name}.example")])]);
}

async fn who(url: &str) -> String {
    let reply = get(url).header("Origin", "https://a.example").send().await;
    assert_eq!(reply.status, 200, "{url}");
    assert_eq!(reply.header("Access-Control-Allow-Origin"), Some("https://a.example"), "{url}");
    reply.echo().address.ip().to_string()
}

async fn both_are_served() {
    for scheme in ["http", "https"] {
        assert_eq!(who(&format!("{scheme}://green.example/")).await, "10.244.0.1");
        assert_eq!(who(&format!("{scheme}://blue.example/")).await, "10.244.0.2");
    }
}

fn generation(status: &Value) -> u64 {
    status["generation"].as_u64().unwrap()
}

fn set_pace(daemon: &mut Daemon) {
    daemon.set("pacing.recheck", "50ms");
    daemon.set("access.trusted-proxies", r#"["192.0.2.0/24"]"#);
}

/// Starts one that serves green and a second that serves blue, and waits for the first.
async fn start_both(rig: &mut Rig) -> Second {
    set_pace(&mut rig.daemon);
    write(&rig.manifests, "green");
    rig.start().await;
    let mut second = second(rig);
    set_pace(&mut second.daemon);
    write(&second.manifests, "blue");
    second.daemon.start();
    second
}

#[test]
fn two_share_an_nginx_and_neither_disturbs_the_other() {
    rig::run(async |rig| {
        let mut second = start_both(rig).await;
        second.daemon.ready().await;
        second.daemon.confirmed("blue").await;
        both_are_served().await;

        // A change of one instance makes no generation of the other.
        let before = generation(&rig.daemon.status().await.unwrap());
        second.manifests.write("more.yaml", &[ingress("more").host("more.example", "web").build()]);
        second.daemon.confirmed("more").await;
        let own = generation(&second.daemon.status().await.unwrap());
        rig.manifests.write("other.yaml", &[ingress("other").host("other.example", "web").build()]);
        rig.daemon.confirmed("other").await;
        both_are_served().await;
        assert_eq!(generation(&second.daemon.status().await.unwrap()), own);
        assert_eq!(generation(&rig.daemon.status().await.unwrap()), before + 1);

        // The first instance keeps a host that both have, and gets unknown hosts, too.
        second.manifests.write("taken.yaml", &[ingress("taken").host("other.example", "web").build()]);
        let reported = |status: &Value| reports(status, "Ingress taken", "HostConflict");
        let status = second.daemon.status_when("the conflict", reported).await;
        assert!(notes(&status, "Ingress taken", "HostConflict")[0].contains("other.example"));
        assert!(reports(&status, "Host nginx", "DefaultServerTaken"), "{status:#}");
        assert_eq!(get("http://other.example/").send().await.echo().address.ip().to_string(), "10.244.0.1");
        let first = rig.daemon.status().await.unwrap();
        assert!(
            !reports(&first, "Host nginx", "DefaultServerTaken") && !reports(&first, "Ingress other", "HostConflict")
        );

        // Each is asked by its name.
        let output = second.daemon.command("status").output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("blue.example"));
        // One that goes back leaves the other where it is.
        assert!(second.daemon.command("rollback").arg("1").output().unwrap().status.success());
        both_are_served().await;
        assert_eq!(get("http://more.example/").send().await.status, 404);
        assert_eq!(generation(&rig.daemon.status().await.unwrap()), before + 1);
    });
}

#[test]
fn what_the_first_wrote_for_all_is_written_by_the_second_when_it_is_gone() {
    rig::run(async |rig| {
        let mut second = start_both(rig).await;
        second.daemon.confirmed("blue").await;
        let shared = second.daemon.root().join("current/http/00-ingressd.conf");
        let sizes = |path: &Path| std::fs::read_to_string(path).unwrap().contains("server_names_hash_max_size");
        assert!(!sizes(&shared), "it may be said once");
        rig.daemon.stop().await;
        std::fs::remove_file(rig.daemon.included(&rig.nginx)).unwrap();
        let alone =
            |status: &Value| status["phase"] == "serving" && !reports(status, "Host nginx", "DefaultServerTaken");
        second.daemon.status_when("it to be alone", alone).await;
        assert!(sizes(&shared));
        assert_eq!(who("https://blue.example/").await, "10.244.0.2");
        assert_eq!(get("http://nobody.example/").send().await.status, 404);
        assert_eq!(get("http://green.example/").send().await.status, 404);
    });
}

#[test]
fn two_that_start_at_the_same_time_come_to_an_end() {
    rig::run(async |rig| {
        let mut second = second(rig);
        for daemon in [&mut rig.daemon, &mut second.daemon] {
            set_pace(daemon);
        }
        write(&rig.manifests, "green");
        write(&second.manifests, "blue");
        // Both want it.
        for manifests in [&rig.manifests, &second.manifests] {
            manifests.write("both.yaml", &[ingress("both").host("both.example", "web").build()]);
        }
        rig.nginx.start();
        rig.daemon.start();
        second.daemon.start();
        rig.daemon.confirmed("green").await;
        second.daemon.confirmed("blue").await;
        let left = |status: &Value| reports(status, "Ingress both", "HostConflict") && status["phase"] == "serving";
        second.daemon.status_when("the host to be left to the first", left).await;
        let kept = |status: &Value| !reports(status, "Ingress both", "HostConflict") && status["phase"] == "serving";
        rig.daemon.status_when("the host to be kept", kept).await;
        both_are_served().await;
        assert_eq!(get("http://both.example/").send().await.echo().address.ip().to_string(), "10.244.0.1");
    });
}

#[test]
fn one_with_a_folder_of_the_other_learns_so_and_disturbs_nothing() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        let before = generation(&rig.daemon.status().await.unwrap());
        let mut second = second(rig);
        for (key, folder) in [("apply.root", rig.daemon.root()), ("apply.state", rig.daemon.state())] {
            second.daemon.set("apply.root", second.daemon.root().to_str().unwrap());
            second.daemon.set(key, folder.to_str().unwrap());
            second.daemon.start();
            assert!(!second.daemon.ended().await.success(), "{}", second.daemon.log());
            let words = format!("another ingressd (process {}) holds {}", rig.daemon.pid(), folder.display());
            assert!(second.daemon.log().contains(&words), "{words} is not in {}", second.daemon.log());
        }
        assert_eq!(generation(&rig.daemon.status().await.unwrap()), before);
        assert_eq!(get("http://a.example/").send().await.status, 200);
    });
}

#[test]
fn one_whose_address_the_other_has_learns_so() {
    rig::run(async |rig| {
        rig.start().await;
        let mut second = second(rig);
        let ports = |daemon: &Daemon, address: &str| {
            let mut command = daemon.command("doctor");
            command.args(["ports", "--set"]).arg(format!("http.address={address}"));
            Reported::by(command)
        };
        let taken = "127.0.0.1:10254";
        ports(&rig.daemon, taken).expect("ports", "ok", "nobody else");
        ports(&second.daemon, "127.0.0.1:10264").expect("ports", "ok", "nobody else");
        second.daemon.set("http.address", taken);
        second.daemon.start();
        assert!(!second.daemon.ended().await.success(), "{}", second.daemon.log());
        let reported = ports(&second.daemon, taken);
        reported.expect("ports", "error", &format!("(process {}) listens on {taken}", rig.daemon.pid()));
        reported.expect("ports", "error", "an http.address of its own");
        ports(&rig.daemon, taken).expect("ports", "ok", "nobody else");
    });
}
