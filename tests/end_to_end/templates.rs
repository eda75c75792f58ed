//! Templates of the administrator: only harmless ones are used.

use std::fs;

use nix::sys::signal::Signal;

use rig::client::get;
use rig::manifests::ingress;
use rig::status::{notes, quarantined, serving};
use rig::{Rig, wait};

const LOCATION: &str = include_str!("../../crates/nginx/templates/location.hbs");

/// The program's own text with a line before the one with these words.
fn with_line(words: &str, line: &str) -> String {
    assert_eq!(LOCATION.matches(words).count(), 1, "{words} tells no line");
    LOCATION.replace(words, &format!("{line}\n{words}"))
}

/// Every location adds a header with this value.
fn edge(value: &str) -> String {
    with_line("{{#when strict_paths}}", &format!("    add_header X-Edge {value} always;"))
}

/// Makes a text the template of locations; the daemon uses it from its next reading of the
/// settings.
fn put(rig: &Rig, text: &str) {
    let folder = rig.folder().join("templates");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("location.hbs"), text).unwrap();
    let file = rig.folder().join("ingressd.toml");
    let settings = fs::read_to_string(&file).unwrap();
    if !settings.contains("templates = ") {
        let key = format!("[nginx]\ntemplates = {folder:?}");
        fs::write(&file, settings.replace("[nginx]", &key)).unwrap();
    }
}

/// Has the settings read again, and waits for what the daemon says of them.
async fn read_again(rig: &Rig, words: &str) {
    let known = rig.daemon.log().len();
    rig.daemon.signal(Signal::SIGHUP);
    let log = async || rig.daemon.log().split_off(known);
    drop(wait::until_right("the settings to be read again", log, |log| log.contains(words)).await);
}

async fn serves(host: &str, edge: Option<&str>) {
    let right = |reply: &rig::client::Reply| reply.status == 200 && reply.header("x-edge") == edge;
    get(&format!("http://{host}/")).send_until(&format!("{host} with {edge:?}"), right).await;
}

#[test]
fn what_it_adds_is_served_and_a_bad_one_changes_nothing() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        put(rig, &edge("north"));
        rig.start().await;
        serves("a.example", Some("north")).await;

        for (bad, words) in [
            (
                with_line("{{#when strict_paths}}", "    add_header X-Edge \"{{path}}\";"),
                "location.hbs:5: path stands for itself",
            ),
            (
                with_line("{{#when strict_paths}}", "    add_header X-Edge {{path}};"),
                "location.hbs: path cannot stand there",
            ),
            (edge("south").replace("{{#each statements}}", "{{#each entry}}"), "there is no entry"),
            ("{{#when".to_owned(), "location.hbs:1: it is no template"),
        ] {
            put(rig, &bad);
            read_again(rig, words).await;
            rig.daemon.ready().await;
            assert!(rig.daemon.log().contains("the new settings cannot be used"));
        }
        // Changes are still written as the settings in force have it.
        rig.manifests.write("b.yaml", &[ingress("b").host("b.example", "web").build()]);
        serves("b.example", Some("north")).await;
        serves("a.example", Some("north")).await;

        put(rig, &edge("south"));
        read_again(rig, "the settings were read again").await;
        for host in ["a.example", "b.example"] {
            serves(host, Some("south")).await;
        }
        fs::remove_file(rig.folder().join("templates/location.hbs")).unwrap();
        read_again(rig, "the settings were read again").await;
        serves("a.example", None).await;
    });
}

#[test]
fn a_daemon_does_not_start_with_a_bad_one_and_nginx_goes_on() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        put(rig, &edge("north"));
        rig.start().await;
        rig.manifests.write("b.yaml", &[ingress("b").host("b.example", "web").build()]);
        rig.daemon.confirmed("b").await;
        rig.daemon.stop().await;
        // The template is like one after an upgrade to a version whose views have another value,
        // which the old text does not use.
        let south = edge("south");
        let (before, _) = south.split_once("{{#each pass}}").unwrap();
        put(rig, before);
        rig.daemon.start();
        assert_eq!(rig.daemon.ended().await.code(), Some(78));
        assert!(rig.daemon.log().contains("/templates/location.hbs: it does not use pass"), "{}", rig.daemon.log());
        serves("a.example", Some("north")).await;
        // An administrator can look and go back without the daemon.
        assert_eq!(get("http://b.example/").send().await.status, 200);
        let ran = |arguments: &[&str]| {
            let output = rig.daemon.command(arguments[0]).args(&arguments[1..]).output().unwrap();
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!words.contains("the settings cannot be used"), "{arguments:?}: {words}");
            output.status.success()
        };
        assert!(!ran(&["status"]) && !ran(&["drain"]), "nobody is there to answer");
        assert!(ran(&["diff", "--list"]) && ran(&["rollback", "1"]));
        assert_eq!(get("http://b.example/").send().await.status, 404);
        put(rig, &south);
        rig.daemon.start();
        rig.daemon.ready().await;
        assert!(rig.daemon.command("resume").output().unwrap().status.success());
        rig.manifests.write("c.yaml", &[ingress("c").host("c.example", "web").build()]);
        rig.daemon.confirmed("c").await;
        serves("a.example", Some("south")).await;
    });
}

/// nginx knows no such directive.
const UNKNOWN: &str = "    no_such_directive on;";

#[test]
fn nobody_is_blamed_for_one_that_nginx_refuses_everywhere() {
    refused_by_nginx(with_line("{{#when strict_paths}}", UNKNOWN));
}

#[test]
fn nobody_is_blamed_for_one_that_nginx_refuses_in_places() {
    refused_by_nginx(with_line("{{#each conditional}}", UNKNOWN));
}

/// Nothing is applied, also by the next start, until it is corrected; an object that is bad by
/// itself is found all the same.
fn refused_by_nginx(bad: String) {
    rig::run(async move |rig| {
        let open = ingress("open").class("nginx").host("open.example", "web").annotation("enable-cors", "true");
        rig.manifests.write("open.yaml", &[open.build()]);
        rig.manifests.write("plain.yaml", &[ingress("plain").host("plain.example", "web").build()]);
        rig.start().await;
        let hosts = ["open.example", "plain.example"];
        for host in hosts {
            serves(host, None).await;
        }
        let before = serving(&rig.daemon.status().await.unwrap());
        assert!(before.is_some());

        put(rig, &bad);
        read_again(rig, "the settings were read again").await;
        for restart in [false, true] {
            if restart {
                rig.daemon.stop().await;
                rig.daemon.start();
            }
            let blamed = |status: &serde_json::Value| {
                let notes = notes(status, "Host nginx", "ReloadFailed");
                notes.iter().any(|note| note.contains("no_such_directive") && note.contains("nginx.templates"))
            };
            let status = rig.daemon.status_when("the templates to be blamed", blamed).await;
            assert_eq!(quarantined(&status), [""; 0], "{status:#}");
            assert_eq!(status["generation"].as_u64(), before, "nothing was applied");
            for host in hosts {
                serves(host, None).await;
            }
            assert!(rig.nginx.test().0, "nginx would start");
        }

        let broken =
            ingress("broken").class("nginx").path("broken.example", "ImplementationSpecific", "/a(?<=a+)", "web");
        rig.manifests.write("broken.yaml", &[broken.annotation("use-regex", "true").build()]);
        let found = |status: &serde_json::Value| !quarantined(status).is_empty();
        let status = rig.daemon.status_when("the bad object to be found", found).await;
        assert_eq!(quarantined(&status), ["Ingress broken"]);
        assert_eq!(serving(&status), None, "the templates are still to blame: {status:#}");

        put(rig, &edge("north"));
        read_again(rig, "the settings were read again").await;
        rig.daemon.ready().await;
        for host in hosts {
            serves(host, Some("north")).await;
        }
        assert_eq!(quarantined(&rig.daemon.status().await.unwrap()), ["Ingress broken"]);
    });
}
