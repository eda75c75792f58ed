//! Configurations that nginx cannot load as a whole: the changes that cause it wait, and all
//! others are served.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use rig::client::get;
use rig::manifests::{self, in_namespace, ingress, secret};
use rig::status::{notes, quarantined, reports, serving};
use rig::{ECHO, Rig};

/// The script that runs at `{heavy}` when a configuration with `heavy.example` is tested.
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

/// Starts nginx, then the daemon with `heavy` in its way, and objects of two namespaces. nginx has
/// little time to load a configuration, which is for tests that are about this time: on a busy
/// machine anything may need more.
async fn start(rig: &mut Rig, heavy: &str) {
    start_within(rig, heavy, "5s").await;
}

/// The same with this time.
async fn start_within(rig: &mut Rig, heavy: &str, time: &str) {
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
    rig.daemon.set("apply.confirm-timeout", time);
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

/// The victim's change and the harmless one are served, the other one waits with its reason, also
/// after a restart.
async fn blames_the_heavy_one(rig: &mut Rig, words: &str) {
    rig.manifests.write("objects.yaml", &objects(2, true));
    let reported = |status: &Value| serving(status).is_some() && quarantined(status) == ["Ingress heavy"];
    let status = rig.daemon.status_when("the heavy one in quarantine", reported).await;
    let note = &notes(&status, "Ingress heavy", "Quarantined")[0];
    assert!(note.contains(words) && note.contains("last good version is served"), "{note}");
    assert!(!reports(&status, "Host nginx", "ReloadFailed"), "{status}");
    serves(&["victim.example/v2", "beside.example/v2", "light.example/v1"]).await;
    // The journal says when a search begins, among whose changes, and how it ended.
    let log = rig.daemon.log();
    let mut lines = log.lines();
    for words in [
        "nginx cannot take what changed: ",
        "too much are the changes of evil",
        "too much for nginx are Ingress evil/heavy: ",
    ] {
        assert!(lines.any(|line| line.contains(words)), "{words}: {log}");
    }
    // The heavy version does not delay later changes, and it is not tried again.
    rig.daemon.kill();
    rig.manifests.write("later.yaml", &[ingress("later").host("later.example", "web").build()]);
    rig.daemon.start();
    rig.daemon.ready().await;
    serves(&["later.example/", "victim.example/v2", "light.example/v1"]).await;
    rig.daemon.status_when("the verdict of before", reported).await;
    // Another version is tried.
    rig.manifests.write("objects.yaml", &objects(3, false));
    serves(&["light.example/v3", "victim.example/v3", "beside.example/v3"]).await;
    rig.daemon.status_when("nobody in quarantine", |status| quarantined(status).is_empty()).await;
}

#[test]
fn a_test_that_takes_too_long() {
    rig::run(async |rig| {
        start(rig, "is_heavy && exec sleep 600").await;
        blames_the_heavy_one(rig, "it needed more than 5 s to load the configuration with this version").await;
    });
}

#[test]
fn a_reload_that_takes_too_long() {
    rig::run(async |rig| {
        // The test passes, and the master stands still as long as it has to read the heavy
        // configuration.
        let stop = "if is_heavy; then
            kill -STOP {master}
            (
                until grep -qsF heavy.example {current}/http/*.conf; do sleep 0.02; done
                while grep -qsF heavy.example {current}/http/*.conf; do sleep 0.02; done
                kill -CONT {master}
            ) >/dev/null 2>&1 &
        fi";
        start(rig, stop).await;
        blames_the_heavy_one(rig, "it needed more than 5 s to load the configuration with this version").await;
    });
}

/// Limits the memory of tests, in kilobytes.
const LIMITED: &str = r#"case " $* " in *" -t "*) [ -e {prefix}/limit ] && ulimit -v $(cat {prefix}/limit) ;; esac"#;

fn limit_tests(rig: &Rig, kilobytes: u64) {
    std::fs::write(rig.nginx.prefix().join("limit"), kilobytes.to_string()).unwrap();
}

/// Megabytes that a test of what is in place needs.
fn needed(rig: &Rig) -> u64 {
    let is_enough = |megabytes: &u64| {
        limit_tests(rig, megabytes << 10);
        rig.nginx.test().0
    };
    (8..256).find(is_enough).unwrap()
}

#[test]
fn a_test_for_which_there_is_too_little_memory() {
    rig::run(async |rig| {
        start_within(rig, LIMITED, "60s").await;
        // The memory is enough for a change beside what is in place, but not for three zones of 5
        // MB.
        let needed = needed(rig);
        limit_tests(rig, (needed + 8) << 10);
        blames_the_heavy_one(rig, "failed (12: Cannot allocate memory)").await;
    });
}

#[test]
fn a_master_that_has_too_little_memory_to_take_it() {
    rig::run(async |rig| {
        let configuration = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
        // Each worker reserves memory for all its connections.
        let configuration = configuration.replace("worker_connections 20480", "worker_connections 64");
        std::fs::write(rig.nginx.configuration(), configuration).unwrap();
        start_within(rig, "", "60s").await;
        let master = rig.nginx.master().unwrap();
        let size = std::fs::read_to_string(format!("/proc/{master}/statm")).unwrap();
        let pages: u64 = size.split(' ').next().unwrap().parse().unwrap();
        // The memory is enough for another configuration beside the master's own, but not for
        // three zones of 5 MB.
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
fn a_master_that_is_killed_while_it_reads() {
    rig::run(async |rig| {
        // The master is killed only when it was told to read: a master that ended before did not
        // end because of that.
        let kill = "if is_heavy && [ -e /proc/{master} ]; then
            kill -STOP {master}
            (
                until grep -qs '^ShdPnd:.*[13579bdf]$' /proc/{master}/status; do
                    [ -e /proc/{master} ] || exit
                    sleep 0.02
                done
                kill -KILL $(cat /proc/{master}/task/{master}/children) {master}
            ) >/dev/null 2>&1 &
        fi";
        start_within(rig, kill, "60s").await;
        rig.manifests.write("objects.yaml", &objects(2, true));
        let killed = |status: &Value| status["phase"] == "nginx-down" && quarantined(status).len() == 2;
        let status = rig.daemon.status_when("the end of nginx", killed).await;
        let note = &notes(&status, "Ingress heavy", "Quarantined")[0];
        assert!(note.contains("its master was killed while it read the configuration"), "{note}");
        assert!(reports(&status, "Host nginx", "NginxDown"), "{status}");
        // When nginx is started, it finds what it ran before, and then what everybody else has
        // changed.
        assert!(!has_heavy(rig));
        rig.nginx.replace_program();
        rig.nginx.start();
        rig.daemon.ready().await;
        serves(&["victim.example/v2", "light.example/v1", "beside.example/v1"]).await;
        // Another heavy version is not tried, though nothing would kill nginx now.
        let master = rig.nginx.master();
        rig.manifests.write("objects.yaml", &objects(3, true));
        serves(&["victim.example/v3", "light.example/v1"]).await;
        assert!(rig.nginx.master() == master && !has_heavy(rig));
    });
}

/// Whether the next start of nginx would read what is too much.
fn has_heavy(rig: &Rig) -> bool {
    let files = std::fs::read_dir(rig.daemon.root().join("current/http")).unwrap();
    files.into_iter().any(|file| std::fs::read_to_string(file.unwrap().path()).unwrap().contains("heavy.example"))
}

#[test]
fn hosts_that_nginx_reads_for_too_long() {
    const HOSTS: usize = 1900;
    rig::run(async |rig| {
        rig.daemon.set("limits.namespace-test-seconds", "1000");
        start_within(rig, "", "2s").await;
        // Each host has an expression, so that it has a server of its own, and a certificate with
        // a chain.
        let made = rcgen::generate_simple_self_signed(vec!["*.heavy.example".to_owned()]).unwrap();
        let (chain, key) = (made.cert.pem().repeat(10), made.signing_key.serialize_pem());
        let hosts: Vec<_> = (0..HOSTS).map(|number| format!("h{number}.heavy.example")).collect();
        let hosts: Vec<_> = hosts.iter().map(String::as_str).collect();
        let heavy =
            ingress("heavy").namespace("evil").class("nginx").annotation("rewrite-target", "/$1").tls(&hosts, "chain");
        let heavy =
            hosts.iter().fold(heavy, |heavy, host| heavy.path(host, "ImplementationSpecific", "/v2/(.*)", "web"));
        let secret = secret("chain", "kubernetes.io/tls", &[("tls.crt", &chain), ("tls.key", &key)]);
        let [victim, _, beside] = objects(2, false).try_into().unwrap();
        rig.manifests.write("objects.yaml", &[victim, heavy.build(), beside, in_namespace("evil", secret)]);
        let reported = |status: &Value| serving(status).is_some() && quarantined(status) == ["Ingress heavy"];
        let status = rig.daemon.status_when("the heavy one in quarantine", reported).await;
        let note = &notes(&status, "Ingress heavy", "Quarantined")[0];
        assert!(note.contains("it needed more than 2 s to load the configuration with this version"), "{note}");
        assert!(!reports(&status, "Host nginx", "ReloadFailed"), "{status}");
        serves(&["victim.example/v2", "beside.example/v2", "light.example/v1"]).await;
    });
}

#[test]
fn limits_for_which_there_is_too_little_memory() {
    rig::run(async |rig| {
        start_within(rig, LIMITED, "60s").await;
        let needed = needed(rig);
        limit_tests(rig, (needed + 64) << 10);
        let limited = |number: usize| {
            let object = ingress(&format!("limited-{number}")).namespace("evil").class("nginx");
            let object = object.host(&format!("{number}.limited.example"), "web").annotation("limit-rps", "5");
            object.annotation("limit-rpm", "5").annotation("limit-connections", "5").build()
        };
        // One file, because a namespace with an object in quarantine waits with its next changes.
        rig.manifests.write("objects.yaml", &[objects(2, false), (0..200).map(limited).collect()].concat());
        let reported = |status: &Value| serving(status).is_some() && !quarantined(status).is_empty();
        let status = rig.daemon.status_when("those with limits in quarantine", reported).await;
        let blamed = quarantined(&status);
        assert!(blamed.iter().all(|name| name.starts_with("Ingress limited-")), "{blamed:?}");
        let note = &notes(&status, &blamed[0], "Quarantined")[0];
        assert!(note.contains("failed (12: Cannot allocate memory)"), "{note}");
        assert!(!reports(&status, "Host nginx", "ReloadFailed"), "{status}");
        serves(&["victim.example/v2", "beside.example/v2", "light.example/v2"]).await;
    });
}

#[test]
fn a_namespace_that_grows_step_by_step_leaves_room_for_the_changes_of_others() {
    const STEP: usize = 100;
    rig::run(async |rig| {
        // The budget is about estimated time: how fast this machine is, decides nothing.
        rig.daemon.set("limits.namespace-test-seconds", "1");
        start_within(rig, "", "60s").await;
        // Each object has a set of origins of its own, which takes nginx some milliseconds.
        let object = |number: usize| {
            let object = ingress(&format!("grown-{number}")).namespace("evil").class("nginx");
            let origin = format!("https://o{number}.example");
            let object = object.host(&format!("{number}.grown.example"), "web").annotation("enable-cors", "true");
            object.annotation("cors-allow-origin", &origin).build()
        };
        let mut has_all = false;
        for step in 1..=20 {
            let objects: Vec<_> = (0..step * STEP).map(object).collect();
            let last = format!("Ingress grown-{}", step * STEP - 1);
            rig.manifests.write("grown.yaml", &objects);
            let judged = |status: &Value| {
                serving(status).is_some() && (reports(status, &last, "OverBudget") || names(status, &last))
            };
            let status = rig.daemon.status_when("the next step", judged).await;
            has_all = names(&status, &last);
            if !has_all {
                break;
            }
        }
        assert!(!has_all, "it may grow until nobody else has room");
        rig.manifests.write("objects.yaml", &objects(2, false));
        serves(&["victim.example/v2", "0.grown.example/"]).await;
        let status = rig.daemon.status_when("everything served", |status| serving(status).is_some()).await;
        assert!(quarantined(&status).is_empty(), "{status}");
    });
}

/// Whether this Ingress is served.
fn names(status: &Value, object: &str) -> bool {
    let name = object.strip_prefix("Ingress ").unwrap();
    status["ingresses"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == name))
}

#[test]
fn a_host_that_is_short_of_memory_itself_blames_nobody() {
    rig::run(async |rig| {
        start_within(rig, LIMITED, "60s").await;
        limit_tests(rig, 1000);
        rig.manifests.write("objects.yaml", &objects(2, true));
        let failed = |status: &Value| status["phase"] == "failed" && status["ready"] == true;
        let status = rig.daemon.status_when("the failure", failed).await;
        assert!(quarantined(&status).is_empty() && reports(&status, "Host nginx", "ReloadFailed"), "{status}");
        serves(&["victim.example/v1", "light.example/v1"]).await;
        std::fs::remove_file(rig.nginx.prefix().join("limit")).unwrap();
        serves(&["victim.example/v2", "heavy.example/v2", "beside.example/v2"]).await;
        rig.daemon
            .status_when("everybody served", |status| serving(status).is_some() && quarantined(status).is_empty())
            .await;
    });
}

#[test]
fn a_test_for_which_there_are_too_few_descriptors() {
    rig::run(async |rig| {
        // Beside input and output, one descriptor is needed for the log. What runs the tests may
        // have left others open.
        start_within(rig, "is_heavy && exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- && ulimit -n 4", "60s").await;
        blames_the_heavy_one(rig, "failed (24: Too many open files)").await;
    });
}

#[test]
fn objects_take_no_descriptors() {
    const OBJECTS: usize = 60;
    rig::run(async |rig| {
        let configuration = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
        let configuration = configuration.replace("worker_connections 20480", "worker_connections 32");
        std::fs::write(rig.nginx.configuration(), configuration).unwrap();
        start_within(rig, "ulimit -n 48", "60s").await;
        let limit = format!("--pid={}", rig.nginx.master().unwrap());
        assert!(Command::new("prlimit").arg(limit).arg("--nofile=48").status().unwrap().success());
        // The object has everything of which there is a file for each object.
        let object = |number: usize| {
            let host = format!("h{number}.many.example");
            let networks: Vec<_> = (0..40).map(|part| format!("100.64.{part}.{number}")).collect();
            let object = ingress(&format!("many-{number}")).namespace("evil").class("nginx").host(&host, "web");
            let object = object.tls(&[&host], &format!("pair-{number}")).annotation("ssl-redirect", "false");
            let object = object.annotation("denylist-source-range", &networks.join(","));
            let object =
                object.annotation("affinity", "cookie").annotation("session-cookie-name", &format!("c{number}"));
            let origin = format!("https://o{number}.example");
            let object = object.annotation("enable-cors", "true").annotation("cors-allow-origin", &origin);
            let pair = manifests::tls_secret(&format!("pair-{number}"), &[&host]);
            [object.annotation("limit-rps", "100").build(), in_namespace("evil", pair)]
        };
        rig.manifests.write("many.yaml", &(0..OBJECTS).flat_map(object).collect::<Vec<_>>());
        rig.manifests.write("objects.yaml", &objects(2, true));
        serves(&["victim.example/v2", "heavy.example/v2", "h0.many.example", "h59.many.example"]).await;
        let all = |status: &Value| serving(status).is_some() && names(status, "Ingress many-59");
        let status = rig.daemon.status_when("everything served", all).await;
        assert!(quarantined(&status).is_empty() && !reports(&status, "Host nginx", "ReloadFailed"), "{status}");
        assert!(!rig.nginx.error_log().contains("Too many open files"), "{}", rig.nginx.error_log());
    });
}
