//! `ingressd doctor` on a host with an nginx and a folder of manifests.

use std::net::TcpListener;
use std::process::Command;

use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use crate::config_map::config_map;
use rig::client::get;
use rig::manifests::{ingress, secret};
use rig::mount::Mount;
use rig::status::notes;
use rig::{Rig, wait};

/// What doctor says: its exit code and its lines.
pub struct Reported {
    pub code: Option<i32>,
    pub json: Value,
}

impl Reported {
    pub fn by(mut command: Command) -> Reported {
        let output = command.arg("--format").arg("json").output().unwrap();
        let json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        Reported { code: output.status.code(), json }
    }

    /// Fails unless a check says these words at this level.
    pub fn expect(&self, check: &str, level: &str, words: &str) {
        let mut lines = self.json["lines"].as_array().unwrap().iter().filter(|line| line["check"] == check);
        let says = |line: &Value| line["level"] == level && line.to_string().contains(words);
        assert!(lines.any(says), "{check} at {level} with {words:?} in {:#}", self.json);
    }

    /// The checks that have a line of this level.
    pub fn checks_at(&self, level: &str) -> Vec<&str> {
        let lines = self.json["lines"].as_array().unwrap().iter().filter(|line| line["level"] == level);
        let mut checks: Vec<_> = lines.map(|line| line["check"].as_str().unwrap()).collect();
        checks.dedup();
        checks
    }
}

/// What a check tells at this level.
fn remedy(reported: &Reported, check: &str, level: &str) -> String {
    let mut lines = reported.json["lines"].as_array().unwrap().iter();
    let line = lines.find(|line| line["check"] == check && line["level"] == level);
    line.unwrap_or_else(|| panic!("{check} at {level} in {:#}", reported.json))["remedy"].as_str().unwrap().to_owned()
}

fn doctor(rig: &Rig, checks: &[&str]) -> Reported {
    let mut command = rig.daemon.command("doctor");
    command.args(checks);
    Reported::by(command)
}

/// Sets no more connections than workers may have files on any host.
fn want_few_connections(rig: &Rig) {
    let text = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
    std::fs::write(rig.nginx.configuration(), text.replace("worker_connections 20480", "worker_connections 256"))
        .unwrap();
}

#[test]
fn a_host_that_serves_has_no_error_and_says_what_it_has() {
    rig::run(async |rig| {
        want_few_connections(rig);
        rig.manifests.write("shop.yaml", &[ingress("shop").host("shop.example", "web").build()]);
        rig.start().await;
        let reported = doctor(rig, &[]);
        assert_eq!(
            (reported.checks_at("error"), reported.checks_at("warning"), reported.code),
            (vec![], vec![], Some(0)),
            "{:#}",
            reported.json
        );
        for (check, words) in [
            ("nginx-version", "is nginx 1."),
            ("nginx-modules", "modules that are of use are there"),
            ("nginx-configuration", "nginx accepts"),
            ("nginx-running", "with 2 workers"),
            ("includes", "/current/http/*.conf"),
            ("default-server", "no other site"),
            ("other-sites", "nothing that we need"),
            ("ports", "nobody else listens on 80, 443, 10246, 10254"),
            ("limits", "workers may have 256 connections and"),
            ("expressions", "no path is an expression"),
            ("daemon", "serves generation 1"),
            ("objects", "1 of 1 Ingress is ours"),
            ("endpoints", "pod, which is chosen: 1 of 1 address answers"),
            ("certificates", "ingressd.invalid"),
        ] {
            reported.expect(check, "ok", words);
        }
        for check in ["kubeconfig", "api-server", "clock", "permissions", "routes", "leases"] {
            reported.expect(check, "note", "not a cluster");
        }
        // The command makes only the check that is named, and its output is for people.
        let output = rig.daemon.command("doctor").arg("daemon").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with("ok       daemon  it runs") && text.ends_with("\n1 check is fine\n"), "{text}");
        // No check needs the daemon.
        assert!(rig.daemon.stop().await.success());
        let reported = doctor(rig, &[]);
        assert_eq!((reported.checks_at("error"), reported.code), (vec![], Some(1)), "{:#}", reported.json);
        reported.expect("daemon", "warning", "nothing that changes is served");
        reported.expect("nginx-running", "ok", "with 2 workers");
    });
}

#[test]
fn what_is_wrong_with_the_host_is_reported() {
    rig::run(async |rig| {
        let reported = doctor(rig, &["nginx-running", "limits"]);
        assert_eq!(reported.code, Some(2));
        reported.expect("nginx-running", "error", "nginx.pid");
        reported.expect("limits", "note", "when nginx runs");

        let other = TcpListener::bind("0.0.0.0:443").unwrap();
        let reported = doctor(rig, &["ports"]);
        // A process that another test has just forked has the socket too, until it runs its own
        // program.
        for words in [&*format!("(process {})", std::process::id()), "listens on 0.0.0.0:443"] {
            reported.expect("ports", "error", words);
        }
        drop(other);
        doctor(rig, &["ports"]).expect("ports", "ok", "nobody else");

        rig.nginx.write_site("default", "server { listen 80 default_server; server_name shop.example; }\n");
        rig.manifests.write("shop.yaml", &[ingress("shop").host("shop.example", "web").build()]);
        let reported = doctor(rig, &["default-server", "other-sites"]);
        reported.expect("default-server", "warning", "sites-enabled/default:1 is the default server of 0.0.0.0:80");
        reported.expect("other-sites", "warning", "has the name shop.example");
        assert_eq!(reported.code, Some(1));

        doctor(rig, &["expressions"]).expect("expressions", "ok", "no path is an expression");
        let shop = ingress("items").annotation("use-regex", "true");
        let shop = shop.path("items.example", "ImplementationSpecific", "/item/[0-9]+", "web").build();
        rig.manifests.write("items.yaml", &[shop]);
        doctor(rig, &["expressions"]).expect("expressions", "warning", "write `pcre_jit on;` into nginx.conf");
        let text = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
        std::fs::write(rig.nginx.configuration(), format!("pcre_jit on;\n{text}")).unwrap();
        doctor(rig, &["expressions"]).expect("expressions", "ok", "pcre_jit");

        let include = rig.nginx.prefix().join("conf.d/ingressd.conf");
        std::fs::remove_file(include).unwrap();
        doctor(rig, &["includes"]).expect("includes", "error", "ingressd setup");
        rig.nginx.write_site("broken", "nonsense;\n");
        doctor(rig, &["nginx-configuration"]).expect("nginx-configuration", "error", "nonsense");
    });
}

#[test]
fn workers_with_few_files_are_recognized_by_the_number_that_they_have() {
    rig::run(async |rig| {
        let text = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
        std::fs::write(rig.nginx.configuration(), format!("worker_rlimit_nofile 777;\n{text}")).unwrap();
        rig.nginx.start();
        // The master has them a moment after its start.
        wait::until("workers", async || (!rig.nginx.workers().is_empty()).then_some(())).await;
        doctor(rig, &["limits"]).expect("limits", "warning", "20480 connections, but only 777 files");
        // A key of the ConfigMap that belongs to the same file is reported with the line to write.
        let asked = [
            ("max-worker-open-files", "4096"),
            ("max-worker-connections", "16384"),
            ("worker-processes", "7"),
            ("debug-connections", "192.0.2.1,10.0.0.0/8"),
        ];
        rig.manifests.write("controller.yaml", &[config_map(&asked)]);
        let judge = || {
            let mut command = rig.daemon.command("doctor");
            command.args(["nginx-conf", "--set", "ingress-nginx.configmap=default/controller"]);
            Reported::by(command)
        };
        let (reported, file) = (judge(), rig.nginx.configuration().display().to_string());
        reported.expect("nginx-conf", "warning", &format!("{file}:1 says `worker_rlimit_nofile 777;`"));
        reported.expect("nginx-conf", "warning", "write `worker_rlimit_nofile 4096;` there");
        reported.expect("nginx-conf", "warning", "write `worker_processes 7;` there");
        reported.expect("nginx-conf", "warning", "debug_connection 192.0.2.1; debug_connection 10.0.0.0/8;");
        assert_eq!(
            (reported.json["lines"].as_array().unwrap().len(), reported.code),
            (3, Some(1)),
            "{:#}",
            reported.json
        );
        let mended = text.replace("worker_processes 2", "worker_processes 7");
        let mended =
            mended.replace("events {", "events {\n debug_connection 10.0.0.0/8;\n debug_connection 192.0.2.1;\n");
        let mended = format!("worker_rlimit_nofile 4096;\n{mended}");
        std::fs::write(rig.nginx.configuration(), mended).unwrap();
        judge().expect("nginx-conf", "ok", "does everything that ConfigMap default/controller asks");
    });
}

#[test]
fn addresses_are_those_of_the_config_map_for_every_selection_of_checks() {
    rig::run(async |rig| {
        let _other = TcpListener::bind("127.0.0.8:443").unwrap();
        rig.nginx.write_site("default", "server { listen 127.0.0.9:80 default_server; }\n");
        rig.manifests.write("controller.yaml", &[config_map(&[("bind-address", "127.0.0.9")])]);
        let judge = |check: &str, settings: &[&str]| {
            let mut command = rig.daemon.command("doctor");
            command.arg(check).args(settings.iter().flat_map(|setting| ["--set", setting]));
            Reported::by(command)
        };
        let layer = "ingress-nginx.configmap=default/controller";
        judge("ports", &[]).expect("ports", "error", "listens on 127.0.0.8:443");
        judge("ports", &[layer]).expect("ports", "ok", "nobody else");
        judge("default-server", &[]).expect("default-server", "ok", "no other site");
        judge("default-server", &[layer]).expect("default-server", "warning", "default server of 127.0.0.9:80");
        for check in ["ports", "default-server"] {
            let reported = judge(check, &[layer, "manifests=/nonexistent"]);
            reported.expect(check, "note", "was not read: ConfigMap default/controller: /nonexistent cannot be read");
        }
    });
}

#[test]
fn a_certificate_that_soon_ends_is_reported_with_its_hosts() {
    rig::run(async |rig| {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(vec!["shop.example".to_owned()]).unwrap();
        let end = std::time::SystemTime::now() + std::time::Duration::from_secs(3 * 86_400 + 3600);
        parameters.not_after = end.into();
        let certificate = parameters.self_signed(&key).unwrap();
        let pair = [("tls.crt", certificate.pem()), ("tls.key", key.serialize_pem())];
        let pair = pair.each_ref().map(|(name, text)| (*name, text.as_str()));
        let shop = ingress("shop").host("shop.example", "web").tls(&["shop.example"], "pair").build();
        rig.manifests.write("shop.yaml", &[secret("pair", "kubernetes.io/tls", &pair), shop]);
        rig.start().await;
        let reported = doctor(rig, &["certificates"]);
        reported.expect("certificates", "warning", "shop.example, used by shop.example ends on");
        reported.expect("certificates", "warning", "in 3 days");
        assert_eq!(reported.code, Some(1));
    });
}

#[test]
fn endpoints_that_do_not_answer_and_settings_that_are_wrong_are_reported() {
    rig::run(async |rig| {
        rig.manifests.write("shop.yaml", &[ingress("shop").host("shop.example", "web").build()]);
        // No process listens on the port of the pods, and no route leads to their network.
        rig::namespace::ip(&["route", "del", "local", "10.244.0.0/16", "dev", "lo"]);
        rig::namespace::ip(&["route", "add", "unreachable", "10.244.0.0/16"]);
        let reported = doctor(rig, &["endpoints"]);
        reported.expect("endpoints", "error", "pod, which is chosen: 0 of 1 address answers");
        reported.expect("endpoints", "error", "no mode works from here");
        assert_eq!(reported.code, Some(2));

        let mut command = rig.daemon.command("doctor");
        command.args(["--set", "listen.http-prot=80"]);
        let reported = Reported::by(command);
        reported.expect("settings", "error", "listen.http-prot");
        // All other checks use the settings that can be used.
        reported.expect("endpoints", "error", "0 of 1 address answers");
        assert_eq!(reported.code, Some(2));
    });
}

/// nginx runs, and its configuration became unreadable: nothing that serves is in the way of
/// anything, and the remedy is to correct the line.
#[test]
fn a_syntax_error_of_nginx_conf_is_one_error_with_its_line_until_it_is_corrected() {
    rig::run(async |rig| {
        want_few_connections(rig);
        rig.manifests.write("shop.yaml", &[ingress("shop").host("shop.example", "web").build()]);
        rig.start().await;
        let good = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
        std::fs::write(rig.nginx.configuration(), format!("{good}}}\n")).unwrap();
        let line = good.lines().count() + 1;
        let judge = |rig: &Rig| {
            let reported = doctor(rig, &[]);
            assert_eq!(
                (reported.checks_at("error"), reported.code),
                (vec!["nginx-configuration"], Some(2)),
                "{:#}",
                reported.json
            );
            reported.expect("nginx-configuration", "error", &format!("nginx.conf:{line}"));
            reported.expect("nginx-configuration", "error", "unexpected");
            reported.expect("nginx-running", "ok", "with 2 workers");
            reported.expect("ports", "ok", "nobody else");
            reported.expect("includes", "note", "see nginx-configuration");
            assert!(!reported.json.to_string().contains("remove"), "{:#}", reported.json);
        };
        judge(rig);
        let refused = |status: &Value| {
            let notes = notes(status, "Host nginx", "ReloadFailed");
            notes.iter().any(|note| note.contains("could not be started again") && note.contains("unexpected"))
        };
        rig.daemon.status_when("nginx's refusal", refused).await;
        let reply = rig.daemon.get("/readyz").await.unwrap();
        assert!(reply.status == 200 && reply.text().contains("could not be started again"), "{}", reply.text());
        assert!(rig.daemon.log().contains("could not be started again"), "{}", rig.daemon.log());
        // A daemon that reads its settings again goes on.
        let output = rig.daemon.command("reload").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        rig.daemon.status_when("nginx's refusal, again", |status| status["ready"] == true && refused(status)).await;
        // A daemon that starts now says the same.
        assert!(rig.daemon.stop().await.success());
        rig.daemon.start();
        assert!(!rig.daemon.ended().await.success());
        let log = rig.daemon.log();
        assert!(log.contains(&format!("line {line}")) && log.contains("test it with `nginx -t`"), "{log}");
        assert!(!log.contains("damaged") && !log.contains("remove it"), "{log}");

        std::fs::write(rig.nginx.configuration(), good).unwrap();
        rig.daemon.start();
        rig.daemon.ready().await;
        assert_eq!(doctor(rig, &[]).checks_at("error"), [""; 0]);
        rig.daemon.status_when("no refusal", |status| !refused(status)).await;
    });
}

/// What the remedies of the host's findings say is done, and ends the findings.
#[test]
fn what_a_remedy_says_ends_what_it_is_for() {
    rig::run(async |rig| {
        let disk = Mount::memory(&rig.daemon.root(), 4 << 20);
        want_few_connections(rig);
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        let names = (0..600).map(|number| format!("server {{ listen 8099; server_name name{number}.example; }}\n"));
        let servers: String = names.collect();
        let site = |size: &str| format!("{size}\n{servers}");
        rig.nginx.write_site("many", &site("server_names_hash_max_size 64;"));
        let reported = doctor(rig, &["nginx-running"]);
        assert!(remedy(&reported, "nginx-running", "error").starts_with("systemctl enable --now nginx"));
        rig.start().await;
        doctor(rig, &["nginx-running", "daemon"]).expect("daemon", "ok", "serves generation 1");

        // Tables that are too small: the line that it names, as often as it names one.
        let mut rounds = 0;
        loop {
            let reported = doctor(rig, &["nginx-configuration"]);
            if reported.code == Some(0) {
                break;
            }
            let remedy = remedy(&reported, "nginx-configuration", "warning");
            let line = remedy.split('`').nth(1).unwrap();
            assert!(line.starts_with("server_names_hash_max_size "), "{remedy}");
            rig.nginx.write_site("many", &site(line));
            rounds += 1;
            assert!(rounds < 10, "{:#}", reported.json);
        }
        assert!(rounds > 0 && rig.nginx.test().0);

        // No include: what setup does brings it back.
        std::fs::remove_file(rig.daemon.included(&rig.nginx)).unwrap();
        let reported = doctor(rig, &["includes"]);
        assert_eq!(remedy(&reported, "includes", "error"), "ingressd setup --yes");
        assert!(rig.daemon.command("setup").arg("--yes").output().unwrap().status.success());
        doctor(rig, &["includes"]).expect("includes", "ok", "/current/http/*.conf");

        // Few files, as nginx has them when it runs.
        let text = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
        let with = |line: &str| std::fs::write(rig.nginx.configuration(), format!("{line}\n{text}")).unwrap();
        with("worker_rlimit_nofile 200;");
        rig.nginx.restart().await;
        rig.nginx.settled_workers().await;
        let reported = doctor(rig, &["limits"]);
        let advised = remedy(&reported, "limits", "warning");
        with(advised.split('`').nth(1).unwrap());
        let workers = rig.nginx.workers();
        rig.nginx.signal(nix::sys::signal::Signal::SIGHUP);
        let renewed = |now: &Vec<nix::unistd::Pid>| now.len() == 2 && now.iter().all(|pid| !workers.contains(pid));
        wait::until_right("new workers", async || rig.nginx.workers(), renewed).await;
        doctor(rig, &["limits"]).expect("limits", "ok", "256 connections");

        // No room: a change fails until there is some again, and is tried again by itself.
        disk.fill();
        rig.manifests.write("b.yaml", &[ingress("b").host("b.example", "web").build()]);
        rig.daemon.status_when("the failure", |status| status["phase"] == "failed").await;
        let reported = doctor(rig, &["room", "daemon"]);
        assert!(remedy(&reported, "room", "error").starts_with("free space"));
        reported.expect("daemon", "error", "but no change");
        disk.empty();
        get("http://b.example/").send_until("the change", |reply| reply.status == 200).await;
        rig.daemon.ready().await;
        let reported = doctor(rig, &["room", "daemon"]);
        reported.expect("daemon", "ok", "serves generation");
        // Four megabytes are little room.
        assert_eq!(reported.checks_at("error"), [""; 0], "{:#}", reported.json);
    });
}
