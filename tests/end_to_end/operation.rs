//! What an administrator of the host sees: the journal, the status, and the log as its settings
//! say.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::net::UnixDatagram;

use rig::client::get;
use rig::manifests::ingress;
use rig::mount::Mount;
use rig::status::reports;
use rig::systemd::Systemd;
use rig::{Rig, wait};

/// An entry in the journal's own protocol: `NAME=value` in a line, or the name in a line, the
/// length, and the value.
fn entry(datagram: &[u8]) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut rest = datagram;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = (std::str::from_utf8(&rest[..end]).unwrap(), &rest[end + 1..]);
        let (name, value, next) = match line.split_once('=') {
            Some((name, value)) => (name, value.to_owned(), after),
            None => {
                let (length, after) = after.split_first_chunk().unwrap();
                let (value, after) = after.split_at(usize::try_from(u64::from_le_bytes(*length)).unwrap());
                (line, String::from_utf8(value.to_vec()).unwrap(), &after[1..])
            }
        };
        fields.insert(name.to_owned(), value);
        rest = next;
    }
    fields
}

#[test]
fn the_journal_gets_object_reason_and_generation() {
    rig::run(async |rig| {
        // The test has a /run of its own, because the journal listens at a fixed place.
        let _run = Mount::memory(Path::new("/run"), 1 << 20);
        std::fs::create_dir_all("/run/systemd/journal").unwrap();
        let journal = UnixDatagram::bind("/run/systemd/journal/socket").unwrap();
        let (sender, mut entries) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut datagram = vec![0; 1 << 16];
            while let Ok(length) = journal.recv(&mut datagram).await {
                let _ = sender.send(entry(&datagram[..length]));
            }
        });
        rig.daemon.set("log.format", "journal");
        rig.daemon.set("log.level", "info");
        let bad = ingress("bad").host("not a host", "web").host("good.example", "web").build();
        rig.manifests.write("bad.yaml", &[bad]);
        rig.start().await;
        let generation = rig.daemon.status().await.unwrap()["generation"].to_string();
        let mut wanted = [("REASON", "InvalidHost", false), ("MESSAGE", "nginx runs generation", false)];
        while wanted.iter().any(|(.., seen)| !seen) {
            let entry = tokio::time::timeout(wait::LIMIT, entries.recv()).await.expect("an entry").unwrap();
            let has = |name: &str, value: &str| entry.get(name).is_some_and(|found| found.contains(value));
            for (name, value, seen) in wanted.iter_mut().filter(|(name, value, _)| has(name, value)) {
                assert!(has("SYSLOG_IDENTIFIER", "ingressd"), "{entry:?}");
                assert_eq!(entry.get("GENERATION"), Some(&generation), "{entry:?}");
                if *name == "REASON" {
                    assert_eq!((entry["OBJECT"].as_str(), entry["REASON"].as_str()), ("Ingress default/bad", *value));
                    assert!(has("FIELD", "spec.rules[0]") && has("MESSAGE", "Ingress default/bad"), "{entry:?}");
                    assert_eq!(entry["PRIORITY"], "3", "an error: {entry:?}");
                }
                *seen = true;
            }
        }
    });
}

#[test]
fn the_status_is_reported_to_people_and_to_programs() {
    rig::run(async |rig| {
        let objects = [ingress("a").host("a.example", "web").build(), ingress("b").host("b.example", "absent").build()];
        rig.manifests.write("a.yaml", &objects);
        rig.start().await;
        let (code, text) = status_of(rig, &[]);
        assert_eq!(code, Some(0), "{text}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().map(words).collect();
        let has = |line: &str| lines.iter().any(|words| words.join(" ").starts_with(line));
        for line in [
            "serving generation 1, as the folder ",
            "serves 2 hosts, 1 route",
            "role standalone",
            "NAMESPACE INGRESS STATE ROUTES SINCE ADDRESSES HOSTS",
            "warning Ingress default/b spec.rules[0]",
        ] {
            assert!(has(line), "{line} is not in\n{text}");
        }
        // How long it has been served stands between.
        for (name, state, host) in [("a", "ok 1", "a.example"), ("b", "closed (503) 0", "b.example")] {
            let row = lines.iter().find(|words| words.join(" ").starts_with(&format!("default {name} {state} ")));
            assert!(row.is_some_and(|row| row.ends_with(&["-".to_owned(), host.to_owned()])), "{name}: {text}");
        }
        let (code, text) = status_of(rig, &["--format", "json"]);
        let status: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (code, status["phase"].as_str(), reports(&status, "Ingress b", "MissingService")),
            (Some(0), Some("serving"), true)
        );

        rig.nginx.stop().await;
        rig.daemon.status_when("the end of nginx", |status| status["phase"] == "nginx-down").await;
        let (code, text) = status_of(rig, &[]);
        assert!(code == Some(1) && text.contains("\nnot serving: nginx does not run ("), "{text}");
    });
}

/// The API server is away when the daemon starts again, and says nothing of what there is.
#[test]
fn a_daemon_that_can_read_nothing_reports_what_an_earlier_run_recorded() {
    rig::run(async |rig| {
        let object = ingress("a").host("a.example", "web").annotation("proxy-read-timeout", "7");
        rig.manifests.write("a.yaml", &[object.build()]);
        rig.start().await;
        assert!(rig.daemon.stop().await.success());
        let kubeconfig = rig.folder().join("kubeconfig");
        std::fs::write(&kubeconfig, KUBECONFIG).unwrap();
        std::fs::set_permissions(&kubeconfig, std::fs::Permissions::from_mode(0o600)).unwrap();
        rig.daemon.set("manifests", "");
        rig.daemon.set("kubeconfig", kubeconfig.to_str().unwrap());
        rig.daemon.start();
        let status = rig.daemon.status_when("what nginx serves", |status| status["phase"] == "serving").await;
        let reported = (&status["data_age_seconds"], &status["ingresses"][0]["name"], &status["ingresses"][0]["state"]);
        assert_eq!(reported, (&Value::Null, &json!("a"), &json!("ok")));
        let output = rig.daemon.command("explain").arg("http://a.example/x").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for words in [
            "this is what an earlier run recorded ",
            "is taken by Ingress default/a: spec.rules[0].http.paths[0]",
            "goes to Service default/web, port 80",
            "proxy-read-timeout: 7\n",
        ] {
            assert!(text.contains(words), "{words:?} is not in {text}{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(output.status.code(), Some(0));
    });
}

/// Nobody listens there.
const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
";

fn status_of(rig: &Rig, arguments: &[&str]) -> (Option<i32>, String) {
    let output = rig.daemon.command("status").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_quiet_folder_is_current_and_its_status_stays_the_same() {
    rig::run(async |rig| {
        let path = rig.folder().join("notify");
        let systemd = UnixDatagram::bind(&path).unwrap();
        rig.daemon.set_variable("NOTIFY_SOCKET", path.to_str().unwrap());
        rig.daemon.set("pacing.recheck", "20ms");
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        let mut datagram = [0; 4096];
        let mut lines = Vec::new();
        // The loop turns often enough for more than a second to pass.
        let mut turns = 0;
        while turns < 100 {
            let hearing = tokio::time::timeout(wait::LIMIT, systemd.recv(&mut datagram));
            let length = hearing.await.expect("systemd hears something").unwrap();
            let text = String::from_utf8_lossy(&datagram[..length]).into_owned();
            let serving = text.lines().find_map(|line| line.strip_prefix("STATUS=serving")).map(str::to_owned);
            lines.extend(serving);
            turns += usize::from(!lines.is_empty() && text.contains("WATCHDOG=1"));
        }
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("data current"), "{lines:?}");
        assert_eq!(rig.daemon.status().await.unwrap()["data_age_seconds"], 0);
    });
}

#[test]
fn the_log_follows_its_settings_when_they_are_read_again() {
    rig::run(async |rig| {
        let folder = rig.folder().to_owned();
        let systemd = Systemd::listen(&mut rig.daemon, &folder);
        rig.start().await;
        let ready = async |times: usize| {
            wait::until_right("the word to systemd", async || systemd.times_ready(), |reported| *reported >= times)
                .await
        };
        ready(1).await;
        let file = folder.join("ingressd.toml");
        let good = std::fs::read_to_string(&file).unwrap();
        let change = async |rig: &mut Rig, level: &str, host: &str| {
            std::fs::write(&file, good.replace("level = \"debug\"", &format!("level = \"{level}\""))).unwrap();
            let times = systemd.times_ready();
            rig.daemon.signal(Signal::SIGHUP);
            // The next change is served under the new settings. Whether those are read may be
            // nothing that they let log.
            ready(times + 1).await;
            let known = rig.daemon.log().len();
            rig.manifests
                .write(&format!("{host}.yaml"), &[ingress(host).host(&format!("{host}.example"), "web").build()]);
            get(&format!("http://{host}.example/")).send_until("the change", |reply| reply.status == 200).await;
            rig.daemon.confirmed(host).await;
            rig.daemon.log().split_off(known)
        };
        let quiet = change(rig, "error", "quiet").await;
        // With the level error, nothing of a second change is logged.
        let known = rig.daemon.log().len();
        rig.manifests.write("more.yaml", &[ingress("more").host("more.example", "web").build()]);
        rig.daemon.confirmed("more").await;
        assert_eq!(rig.daemon.log().split_off(known), "", "{quiet}");
        change(rig, "info", "loud").await;
        let known = rig.daemon.log().len();
        rig.manifests.write("again.yaml", &[ingress("again").host("again.example", "web").build()]);
        rig.daemon.confirmed("again").await;
        let log = async || rig.daemon.log().split_off(known);
        wait::until_right("the log", log, |log| log.contains("nginx runs generation")).await;
    });
}
