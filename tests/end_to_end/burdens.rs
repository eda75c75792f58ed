//! Configurations that nginx cannot take as a whole: whoever made them too much waits, everybody else is served; it must not know how he is found.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::rig::client::get;
use crate::rig::manifests::{self, in_namespace, ingress};
use crate::rig::status::{notes, quarantined, serving, tells};
use crate::rig::{self, ECHO, Rig};

/// What a test of a configuration does that holds `heavy.example`, where the shell comes to `{heavy}`.
const WRAPPER: &str = r#"#!/bin/sh
# The configuration that is tested, and the files of ours in it.
file=
expected=
for word in "$@"; do
    [ -n "$expected" ] && file=$word
    expected=
    [ "$word" = -c ] && expected=yes
done
files=$(sed -n 's/^include "\(.*\)";$/\1/p' "$file" 2>/dev/null)
[ "$file" = "{configuration}" ] && files="{current}/http/*.conf"
is_heavy() { [ -n "$files" ] && grep -qsF heavy.example $files; }
{heavy}
exec {nginx} "$@"
"#;

/// Starts nginx, then the daemon with `heavy` in its way, and objects of two namespaces.
async fn start(rig: &mut Rig, heavy: &str) {
    rig.nginx.replace_program();
    rig.nginx.start();
    let current = rig.daemon.root().join("current");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let holes = [
        ("{heavy}", heavy.to_owned()),
        ("{configuration}", text(&rig.nginx.configuration())),
        ("{current}", text(&current)),
        ("{prefix}", text(rig.nginx.prefix())),
        ("{master}", rig.nginx.master().unwrap().to_string()),
    ];
    let script = holes.iter().fold(WRAPPER.to_owned(), |script, (hole, value)| script.replace(hole, value));
    rig.nginx.wrap_program(&script);
    rig.daemon.set("nginx.binary", &text(&rig.nginx.prefix().join("nginx")));
    rig.daemon.set("apply.confirm-timeout", "5s");
    let web = manifests::service_at("web", &["10.244.0.2"], ECHO).map(|object| in_namespace("evil", object));
    rig.manifests.write("evil-web.yaml", &web);
    rig.manifests.write("objects.yaml", &objects(1, false));
    rig.daemon.start();
    rig.daemon.ready().await;
}

/// The victim's object, and the attacker's: one that is too much, and one beside it that is not.
fn objects(version: usize, is_heavy: bool) -> Vec<Value> {
    let path = format!("/v{version}");
    let of = |name: &str, namespace: &str, host: &str| {
        ingress(name).namespace(namespace).class("nginx").path(host, "Prefix", &path, "web")
    };
    let host = if is_heavy { "heavy.example" } else { "light.example" };
    // Each limit has a zone in memory.
    let heavy = of("heavy", "evil", host).annotation("limit-rps", "5").annotation("limit-rpm", "7");
    let heavy = if is_heavy { heavy.annotation("limit-connections", "9") } else { of("heavy", "evil", host) };
    vec![
        of("victim", "default", "victim.example").build(),
        heavy.build(),
        of("beside", "evil", "beside.example").build(),
    ]
}

async fn serves(urls: &[&str]) {
    for url in urls {
        get(&format!("http://{url}")).send_until(url, |reply| reply.status == 200).await;
    }
}

/// The victim's change and the harmless one are served, the other one waits with its reason, also after a restart.
async fn blames_the_heavy_one(rig: &mut Rig, words: &str) {
    rig.manifests.write("objects.yaml", &objects(2, true));
    let told = |status: &Value| serving(status).is_some() && quarantined(status) == ["Ingress heavy"];
    let status = rig.daemon.status_when("the heavy one in quarantine", told).await;
    let note = &notes(&status, "Ingress heavy", "Quarantined")[0];
    assert!(note.contains(words) && note.contains("last good version goes on being served"), "{note}");
    assert!(!tells(&status, "Host nginx", "ReloadFailed"), "{status}");
    serves(&["victim.example/v2", "beside.example/v2", "light.example/v1"]).await;
    // Whatever comes later is not held up by it, nor is it asked for again.
    rig.daemon.kill();
    rig.manifests.write("later.yaml", &[ingress("later").host("later.example", "web").build()]);
    rig.daemon.start();
    rig.daemon.ready().await;
    serves(&["later.example/", "victim.example/v2", "light.example/v1"]).await;
    rig.daemon.status_when("the verdict of before", told).await;
    // Another version is tried.
    rig.manifests.write("objects.yaml", &objects(3, false));
    serves(&["light.example/v3", "victim.example/v3", "beside.example/v3"]).await;
    rig.daemon.status_when("nobody in quarantine", |status| quarantined(status).is_empty()).await;
}

#[test]
fn a_test_that_takes_too_long() {
    rig::run(async |rig| {
        start(rig, "is_heavy && exec sleep 600").await;
        blames_the_heavy_one(rig, "it needed longer than 5s to take the configuration with it").await;
    });
}

#[test]
fn a_reload_that_takes_too_long() {
    rig::run(async |rig| {
        // The test passes, and the master stands still for as long as it has the heavy one to read.
        let stop = "if is_heavy; then
            kill -STOP {master}
            (
                until grep -qsF heavy.example {current}/http/*.conf; do sleep 0.02; done
                while grep -qsF heavy.example {current}/http/*.conf; do sleep 0.02; done
                kill -CONT {master}
            ) >/dev/null 2>&1 &
        fi";
        start(rig, stop).await;
        blames_the_heavy_one(rig, "it needed longer than 5s to take the configuration with it").await;
    });
}

/// Limits the memory of tests, in kilobytes.
const LIMITED: &str = r#"case " $* " in *" -t "*) [ -e {prefix}/limit ] && ulimit -v $(cat {prefix}/limit) ;; esac"#;

fn limit_tests(rig: &Rig, kilobytes: u64) {
    std::fs::write(rig.nginx.prefix().join("limit"), kilobytes.to_string()).unwrap();
}

#[test]
fn a_test_for_which_there_is_too_little_memory() {
    rig::run(async |rig| {
        start(rig, LIMITED).await;
        let is_enough = |megabytes: &u64| {
            limit_tests(rig, megabytes << 10);
            rig.nginx.test().0
        };
        // Enough for a change beside what is in place, but not for three zones of 5 MB.
        let needed = (8..256).find(is_enough).unwrap();
        limit_tests(rig, (needed + 8) << 10);
        blames_the_heavy_one(rig, "failed (12: Cannot allocate memory)").await;
    });
}

#[test]
fn a_master_that_has_too_little_memory_to_take_it() {
    rig::run(async |rig| {
        let configuration = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
        // Each worker has room for as many connections.
        let configuration = configuration.replace("worker_connections 20480", "worker_connections 64");
        std::fs::write(rig.nginx.configuration(), configuration).unwrap();
        start(rig, "").await;
        let master = rig.nginx.master().unwrap();
        let size = std::fs::read_to_string(format!("/proc/{master}/statm")).unwrap();
        let pages: u64 = size.split(' ').next().unwrap().parse().unwrap();
        // Enough for another configuration beside its own, but not for three zones of 5 MB.
        let limit = pages * 4096 + (10 << 20);
        let limited =
            Command::new("prlimit").arg(format!("--pid={master}")).arg(format!("--as={limit}")).status().unwrap();
        assert!(limited.success());
        blames_the_heavy_one(rig, "its error log says why").await;
        assert!(rig.nginx.error_log().contains("Cannot allocate memory"), "what was to be tested");
        assert_eq!(rig.nginx.master(), Some(master));
    });
}

#[test]
fn a_host_that_is_short_of_memory_itself_blames_nobody() {
    rig::run(async |rig| {
        start(rig, LIMITED).await;
        limit_tests(rig, 1000);
        rig.manifests.write("objects.yaml", &objects(2, true));
        let failed = |status: &Value| status["phase"] == "failed" && status["ready"] == true;
        let status = rig.daemon.status_when("the failure", failed).await;
        assert!(quarantined(&status).is_empty() && tells(&status, "Host nginx", "ReloadFailed"), "{status}");
        serves(&["victim.example/v1", "light.example/v1"]).await;
        std::fs::remove_file(rig.nginx.prefix().join("limit")).unwrap();
        serves(&["victim.example/v2", "heavy.example/v2", "beside.example/v2"]).await;
        rig.daemon
            .status_when("everybody served", |status| serving(status).is_some() && quarantined(status).is_empty())
            .await;
    });
}
