//! `ingressd doctor` on a host with an nginx and a folder of manifests.

use std::net::TcpListener;
use std::process::Command;

use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use crate::config_map::config_map;
use rig::manifests::{ingress, secret};
use rig::{Rig, wait};

/// What doctor says: its exit code and its lines.
pub struct Told {
    pub code: Option<i32>,
    pub json: Value,
}

impl Told {
    pub fn by(mut command: Command) -> Told {
        let output = command.arg("--format").arg("json").output().unwrap();
        let json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        Told { code: output.status.code(), json }
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

fn doctor(rig: &Rig, checks: &[&str]) -> Told {
    let mut command = rig.daemon.command("doctor");
    command.args(checks);
    Told::by(command)
}

/// Sets no more connections than workers may have files on any host.
fn want_few_connections(rig: &Rig) {
    let text = std::fs::read_to_string(rig.nginx.configuration()).unwrap();
    std::fs::write(rig.nginx.configuration(), text.replace("worker_connections 20480", "worker_connections 256"))
        .unwrap();
}

#[test]
fn a_host_that_serves_has_no_error_and_tells_what_it_has() {
    rig::run(async |rig| {
        want_few_connections(rig);
        rig.manifests.write("shop.yaml", &[ingress("shop").host("shop.example", "web").build()]);
        rig.start().await;
        let told = doctor(rig, &[]);
        assert_eq!(
            (told.checks_at("error"), told.checks_at("warning"), told.code),
            (vec![], vec![], Some(0)),
            "{:#}",
            told.json
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
            told.expect(check, "ok", words);
        }
        for check in ["kubeconfig", "api-server", "clock", "permissions", "routes", "leases"] {
            told.expect(check, "note", "not a cluster");
        }
        // The command makes only the check that is named, and its output is for people.
        let output = rig.daemon.command("doctor").arg("daemon").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with("ok       daemon  it runs") && text.ends_with("\n1 check is fine\n"), "{text}");
        // No check needs the daemon.
        assert!(rig.daemon.stop().await.success());
        let told = doctor(rig, &[]);
        assert_eq!((told.checks_at("error"), told.code), (vec![], Some(1)), "{:#}", told.json);
        told.expect("daemon", "warning", "nothing that changes is served");
        told.expect("nginx-running", "ok", "with 2 workers");
    });
}

#[test]
fn what_is_wrong_with_the_host_is_told() {
    rig::run(async |rig| {
        let told = doctor(rig, &["nginx-running", "limits"]);
        assert_eq!(told.code, Some(2));
        told.expect("nginx-running", "error", "nginx.pid");
        told.expect("limits", "note", "when nginx runs");

        let other = TcpListener::bind("0.0.0.0:443").unwrap();
        let told = doctor(rig, &["ports"]);
        // A process that another test has just forked has the socket too, until it runs its own
        // program.
        for words in [&*format!("(process {})", std::process::id()), "listens on 0.0.0.0:443"] {
            told.expect("ports", "error", words);
        }
        drop(other);
        doctor(rig, &["ports"]).expect("ports", "ok", "nobody else");

        rig.nginx.write_site("default", "server { listen 80 default_server; server_name shop.example; }\n");
        rig.manifests.write("shop.yaml", &[ingress("shop").host("shop.example", "web").build()]);
        let told = doctor(rig, &["default-server", "other-sites"]);
        told.expect("default-server", "warning", "sites-enabled/default:1 is the default server of 0.0.0.0:80");
        told.expect("other-sites", "warning", "has the name shop.example");
        assert_eq!(told.code, Some(1));

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
fn workers_with_few_files_are_told_by_the_number_that_they_have() {
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
            Told::by(command)
        };
        let (told, file) = (judge(), rig.nginx.configuration().display().to_string());
        told.expect("nginx-conf", "warning", &format!("{file}:1 says `worker_rlimit_nofile 777;`"));
        told.expect("nginx-conf", "warning", "write `worker_rlimit_nofile 4096;` there");
        told.expect("nginx-conf", "warning", "write `worker_processes 7;` there");
        told.expect("nginx-conf", "warning", "debug_connection 192.0.2.1; debug_connection 10.0.0.0/8;");
        assert_eq!((told.json["lines"].as_array().unwrap().len(), told.code), (3, Some(1)), "{:#}", told.json);
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
            Told::by(command)
        };
        let layer = "ingress-nginx.configmap=default/controller";
        judge("ports", &[]).expect("ports", "error", "listens on 127.0.0.8:443");
        judge("ports", &[layer]).expect("ports", "ok", "nobody else");
        judge("default-server", &[]).expect("default-server", "ok", "no other site");
        judge("default-server", &[layer]).expect("default-server", "warning", "default server of 127.0.0.9:80");
        for check in ["ports", "default-server"] {
            let told = judge(check, &[layer, "manifests=/nonexistent"]);
            told.expect(check, "note", "was not read: ConfigMap default/controller: /nonexistent cannot be read");
        }
    });
}

#[test]
fn a_certificate_that_soon_ends_is_told_with_its_hosts() {
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
        let told = doctor(rig, &["certificates"]);
        told.expect("certificates", "warning", "shop.example, used by shop.example ends on");
        told.expect("certificates", "warning", "in 3 days");
        assert_eq!(told.code, Some(1));
    });
}

#[test]
fn endpoints_that_do_not_answer_and_settings_that_are_wrong_are_told() {
    rig::run(async |rig| {
        rig.manifests.write("shop.yaml", &[ingress("shop").host("shop.example", "web").build()]);
        // No process listens on the port of the pods, and no route leads to their network.
        rig::namespace::ip(&["route", "del", "local", "10.244.0.0/16", "dev", "lo"]);
        rig::namespace::ip(&["route", "add", "unreachable", "10.244.0.0/16"]);
        let told = doctor(rig, &["endpoints"]);
        told.expect("endpoints", "error", "pod, which is chosen: 0 of 1 address answers");
        told.expect("endpoints", "error", "no mode works from here");
        assert_eq!(told.code, Some(2));

        let mut command = rig.daemon.command("doctor");
        command.args(["--set", "listen.http-prot=80"]);
        let told = Told::by(command);
        told.expect("settings", "error", "listen.http-prot");
        // All other checks use the settings that can be used.
        told.expect("endpoints", "error", "0 of 1 address answers");
        assert_eq!(told.code, Some(2));
    });
}
