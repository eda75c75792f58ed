//! Settings are read again on request, and only valid ones are used.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::net::UnixDatagram;
use tokio::sync::mpsc;

use rig::client::get;
use rig::manifests::ingress;
use rig::wait;

/// Runs a command beside the daemon: its exit status, and what it says.
async fn ask(rig: &rig::Rig, command: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = tokio::process::Command::from(rig.daemon.command(command));
    let output = command.args(arguments).output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn broken_settings_are_refused_and_good_ones_are_used() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        let file = rig.folder().join("ingressd.toml");
        let good = std::fs::read_to_string(&file).unwrap();
        let workers = rig.nginx.settled_workers().await;
        let cases = [
            ("not TOML", format!("{good}\n= nothing"), "ingressd.toml"),
            ("an unknown key", format!("{good}\n[listen]\nhttp-prot = 81\n"), "http-prot"),
            ("a value of another type", format!("{good}\n[listen]\nhttp-port = \"many\"\n"), "http-port"),
            (
                "an address of somebody else's",
                format!("{good}\n[http]\naddress = \"127.0.0.1:{}\"\n", rig::ECHO),
                "8080",
            ),
        ];
        for (what, text, words) in cases {
            let known = rig.daemon.log().len();
            std::fs::write(&file, text).unwrap();
            let (code, _, error) = ask(rig, "reload", &[]).await;
            assert!(code == Some(78) && error.contains(words), "{what}: {error}");
            let log = rig.daemon.log().split_off(known);
            assert!(log.contains("the new settings cannot be used") && log.contains(words), "{what}: {log}");
            rig.daemon.ready().await;
            // Requests are answered, and the answer reports it.
            let (code, status, error) = ask(rig, "status", &[]).await;
            assert!(
                code == Some(0) && status.contains("SettingsRefused") && status.contains(words),
                "{what}: {status}"
            );
            assert_eq!(error.contains(words), what != "an address of somebody else's", "{what}: {error}");
            assert_eq!(ask(rig, "undrain", &[]).await.0, Some(0), "{what}");
            assert_eq!(
                rig.daemon.metric("ingressd_findings{reason=\"SettingsRefused\",severity=\"error\"}").await,
                1.0
            );
            assert_eq!(get("http://a.example/").send().await.status, 200, "{what}");
            assert_eq!(rig.nginx.workers(), workers, "{what}: nothing was reloaded");
        }
        // The old ones are in force: changes are still served where they say.
        rig.manifests.write("b.yaml", &[ingress("b").host("b.example", "web").build()]);
        get("http://b.example/").send_until("a change under the old settings", |reply| reply.status == 200).await;

        std::fs::write(&file, format!("{good}\n[listen]\nhttp-port = 81\n")).unwrap();
        let (code, reported, _) = ask(rig, "reload", &[]).await;
        assert!(code == Some(0) && reported.contains("in force"), "{reported}");
        assert!(!ask(rig, "status", &[]).await.1.contains("SettingsRefused"));
        assert_eq!(get("http://a.example:81/").send().await.status, 200, "what the command ended with is in force");
        let old = async || get("http://a.example/").try_send().await;
        drop(wait::until_right("nobody to listen on the old port", old, Result::is_err).await);
        rig.daemon.ready().await;

        // Settings that can be used, and that nginx does not take.
        let _other = std::net::TcpListener::bind("0.0.0.0:82").unwrap();
        std::fs::write(&file, format!("{good}\n[listen]\nhttp-port = 82\n")).unwrap();
        let (code, _, error) = ask(rig, "reload", &[]).await;
        assert!(code == Some(78) && error.contains("another program listens"), "{error}");
        assert_eq!(get("http://a.example:81/").send().await.status, 200, "nginx goes on as before");
    });
}

/// Everything that a daemon says to systemd, read at once as systemd does.
fn listen(socket: UnixDatagram) -> mpsc::UnboundedReceiver<String> {
    let (sender, heard) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut datagram = [0; 4096];
        while let Ok(length) = socket.recv(&mut datagram).await {
            if sender.send(String::from_utf8_lossy(&datagram[..length]).into_owned()).is_err() {
                return;
            }
        }
    });
    heard
}

async fn hear(heard: &mut mpsc::UnboundedReceiver<String>, word: &str) {
    let hearing = async { while !heard.recv().await.unwrap().lines().any(|line| line == word) {} };
    tokio::time::timeout(Duration::from_secs(60), hearing).await.unwrap_or_else(|_| panic!("{word} was not heard"));
}

#[test]
fn systemd_hears_the_end_of_each_reload_of_the_settings() {
    rig::run(async |rig| {
        let path = rig.folder().join("notify");
        let mut heard = listen(UnixDatagram::bind(&path).unwrap());
        rig.daemon.set_variable("NOTIFY_SOCKET", path.to_str().unwrap());
        rig.start().await;
        hear(&mut heard, "READY=1").await;
        let file = rig.folder().join("ingressd.toml");
        let good = std::fs::read_to_string(&file).unwrap();
        for text in [&good, &format!("{good}\n= nothing")] {
            std::fs::write(&file, text).unwrap();
            rig.daemon.signal(Signal::SIGHUP);
            hear(&mut heard, "RELOADING=1").await;
            hear(&mut heard, "READY=1").await;
        }
    });
}

#[test]
fn systemd_hears_of_a_start_whose_first_change_fails_as_nginx_serves_what_it_did() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        rig.daemon.stop().await;
        std::fs::write(rig.nginx.prefix().join("conf.d/site.conf"), "nonsense on;\n").unwrap();
        rig.manifests.write("b.yaml", &[ingress("b").host("b.example", "web").build()]);
        let path = rig.folder().join("notify");
        let mut heard = listen(UnixDatagram::bind(&path).unwrap());
        rig.daemon.set_variable("NOTIFY_SOCKET", path.to_str().unwrap());
        rig.daemon.start();
        hear(&mut heard, "READY=1").await;
        let status = rig.daemon.status_when("the failure", |status| status["phase"] == "failed").await;
        assert!(status["why"].as_str().is_some_and(|why| why.contains("site.conf")), "{status}");
        assert_eq!(get("http://a.example/").send().await.status, 200);
    });
}

#[test]
fn requests_during_a_reading_of_the_settings_are_answered() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.start().await;
        let known = rig.daemon.log().len();
        let times_read = || rig.daemon.log()[known..].matches("the settings were read again").count();
        for times in 1..=5 {
            rig.daemon.signal(Signal::SIGHUP);
            let requests = wait::until("the settings to be read again", async || {
                assert_eq!(rig.daemon.get("/healthz").await.expect("somebody answers").status, 200);
                (times_read() >= times).then_some(())
            });
            let commands = wait::until("the settings to be read again", async || {
                for (command, argument, code, words) in [
                    ("status", "--format=json", 0, "serving"),
                    ("resume", "--set=pacing.spacing=1s", 1, "no generation is pinned"),
                ] {
                    let mut command = tokio::process::Command::from(rig.daemon.command(command));
                    let output = command.arg(argument).output().await.unwrap();
                    let said = [output.stdout, output.stderr].concat();
                    let said = String::from_utf8_lossy(&said);
                    assert!(output.status.code() == Some(code) && said.contains(words), "{:?}: {said}", output.status);
                }
                (times_read() >= times).then_some(())
            });
            tokio::join!(requests, commands);
        }
    });
}
