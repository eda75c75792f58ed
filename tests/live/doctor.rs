//! `ingressd doctor` at a real API server.

use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use rig::clock::Clock;
use rig::cluster::{self, Cluster, rights};
use rig::namespace::ip;
use rig::wait;

/// What doctor says: its exit code and its lines.
#[derive(Debug)]
struct Reported {
    code: Option<i32>,
    json: Value,
}

impl Reported {
    fn by(mut command: Command) -> Reported {
        let output = command.arg("--format").arg("json").output().unwrap();
        let json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        Reported { code: output.status.code(), json }
    }

    fn says(&self, check: &str, level: &str, words: &str) -> bool {
        let mut lines = self.json["lines"].as_array().unwrap().iter().filter(|line| line["check"] == check);
        lines.any(|line| line["level"] == level && line.to_string().contains(words))
    }

    /// Fails unless a check says these words at this level.
    fn expect(&self, check: &str, level: &str, words: &str) {
        assert!(self.says(check, level, words), "{check} at {level} with {words:?} in {:#}", self.json);
    }
}

/// The checks that need a cluster.
const CHECKS: &[&str] =
    &["kubeconfig", "api-server", "clock", "permissions", "objects", "routes", "endpoints", "leases"];

fn doctor(cluster: &Cluster, checks: &[&str]) -> Reported {
    let mut command = cluster.daemon.command("doctor");
    command.args(checks);
    Reported::by(command)
}

/// A Node with a network for pods and an address of its own.
async fn add_node(cluster: &Cluster, network: &str) -> String {
    let name = format!("doctor-{}", cluster.objects.namespace());
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"podCIDR": network, "podCIDRs": [network]}});
    cluster.objects.apply(node).await;
    let addresses = json!([{"type": "InternalIP", "address": "192.0.2.7"}]);
    let ready = json!([{"type": "Ready", "status": "True"}]);
    cluster.objects.set_status("Node", &name, json!({"addresses": addresses, "conditions": ready})).await;
    name
}

/// Waits until the cluster has what the node says of itself: that it leads and that it serves
/// stand in two Leases, each of which is written without regard to the other.
async fn until_recorded(cluster: &mut Cluster) {
    let recorded = |status: &Value| status["role"] == "leader" && status["members"][0]["serving"] == true;
    cluster.daemon.status_when("the lead and the record of the node", recorded).await;
}

#[test]
fn a_cluster_that_is_served_is_reported_with_all_its_permissions() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        let node = add_node(cluster, "10.244.0.0/24").await;
        cluster.start().await;
        until_recorded(cluster).await;
        let reported = doctor(cluster, CHECKS);
        cluster.objects.delete("Node", &node).await;
        for (check, words) in [
            ("kubeconfig", "for its owner alone"),
            ("api-server", "it answers, and is v1."),
            ("clock", "agree"),
            ("permissions", "ingresses.networking.k8s.io: list, watch"),
            ("permissions", "secrets: get, list, watch"),
            ("permissions", "ingresses/status.networking.k8s.io: patch"),
            ("permissions", "leases.coordination.k8s.io: get, list, watch, create, update in"),
            ("objects", "1 of"),
            ("routes", "on this host"),
            ("endpoints", "pod, which is chosen: 1 of 1 address answers"),
            ("leases", "leads"),
            ("leases", "lives and serves"),
        ] {
            reported.expect(check, "ok", words);
        }
        for check in ["permissions", "leases", "clock", "api-server"] {
            assert!(
                !reported.says(check, "error", "") && !reported.says(check, "warning", ""),
                "{check}: {:#}",
                reported.json
            );
        }
    });
}

#[test]
fn a_missing_permission_is_named_and_one_that_is_not_needed_is_only_noted() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("secrets")).await;
        let reported = doctor(cluster, &["permissions", "objects"]);
        reported.expect("permissions", "error", "secrets: not allowed: get, list, watch (certificates");
        reported.expect("permissions", "error", "rbac.yaml");
        reported.expect("permissions", "ok", "services: list, watch");
        reported.expect("objects", "error", "Secret");
        assert_eq!(reported.code, Some(2));
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("nodes")).await;
        let reported = doctor(cluster, &["permissions"]);
        reported.expect("permissions", "note", "nodes: not allowed: list, watch");
        assert_eq!(reported.code, Some(0), "{:#}", reported.json);
        let mut command = cluster.daemon.command("doctor");
        command.args(["permissions", "--set", "upstreams.endpoints=nodeport"]);
        Reported::by(command).expect("permissions", "error", "nodes: not allowed");
    });
}

#[test]
fn what_is_allowed_is_asked_for_in_every_namespace_and_for_the_service_outside_of_them() {
    cluster::run(async |cluster| {
        let file = cluster.folder().join("restricted");
        let served = format!("namespaces=[{:?}]", cluster.objects.namespace());
        let of_service = ["publish.mode=service", "publish.service=default/lb"];
        let command = |name: &str, settings: &[&str]| {
            let mut command = cluster.daemon.command(name);
            command.args(settings.iter().flat_map(|setting| ["--set", setting]));
            command
        };
        let grant = |settings: &[&str]| {
            let mut command = command("kubeconfig", settings);
            command.args(["--force", "--account", "reader", "--output"]).arg(&file);
            let done = command.arg("--admin-kubeconfig").arg(cluster.control_plane.kubeconfig()).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        let doctor = |settings: &[&str]| {
            let kubeconfig = format!("kubeconfig={}", file.display());
            let mut command = command("doctor", &[settings, &[kubeconfig.as_str()]].concat());
            command.arg("permissions");
            Reported::by(command)
        };
        // The API server learns of roles and bindings by watches of its own.
        let allowed = async |settings: &[&str]| {
            wait::until_right("the rights", async || doctor(settings), |reported| reported.code == Some(0)).await
        };
        grant(&[&served]);
        allowed(&[&served]).await;
        let more = format!("namespaces=[{:?}, \"default\"]", cluster.objects.namespace());
        doctor(&[&more]).expect("permissions", "error", "secrets: not allowed: get, list, watch in default (");
        let service = &[&[served.as_str()][..], &of_service].concat();
        let reported = doctor(service);
        reported.expect("permissions", "error", "services: not allowed: list, watch in default/lb (");
        reported.expect("permissions", "ok", &format!("services: list, watch in {}", cluster.objects.namespace()));
        grant(service);
        allowed(service).await.expect("permissions", "ok", "services: list, watch in default/lb");
    });
}

#[test]
fn credentials_that_open_everything_are_reported() {
    cluster::run(async |cluster| {
        let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        cluster.credentials.set_rules(&cluster.objects, &everything).await;
        let reported = doctor(cluster, &["permissions"]);
        reported.expect("permissions", "warning", "ingressd kubeconfig");
        assert_eq!(reported.code, Some(1));
    });
}

#[test]
fn a_clock_that_is_off_is_reported_with_its_direction() {
    cluster::run(async |cluster| {
        let clock = Clock::of(&mut cluster.daemon);
        for (offset, level, words) in [
            (0, "ok", "agree"),
            (20, "warning", "s ahead of the API server"),
            (-20, "warning", "s behind the API server"),
            (600, "error", "s ahead of the API server"),
        ] {
            clock.set_offset(offset);
            doctor(cluster, &["clock"]).expect("clock", level, words);
        }
    });
}

#[test]
fn an_api_server_that_is_not_reached_is_reported_and_nothing_is_held_up_by_it() {
    cluster::run(async |cluster| {
        cluster.credentials.write_kubeconfig("https://10.100.0.1:1");
        let reported = doctor(cluster, CHECKS);
        reported.expect("kubeconfig", "ok", "");
        reported.expect("api-server", "error", "onnection refused");
        for check in ["clock", "permissions", "objects", "routes", "leases"] {
            reported.expect(check, "note", "api-server");
        }
        assert_eq!(reported.code, Some(2));
        // The server does not answer at all: the check ends within the deadline of one question.
        cluster.credentials.write_kubeconfig(&cluster::url());
        ip(&["link", "set", "cluster0", "down"]);
        doctor(cluster, CHECKS).expect("api-server", "error", "");
        ip(&["link", "set", "cluster0", "up"]);
        // It answers, and does not know who asks.
        cluster.credentials.write("token", "nobody's");
        doctor(cluster, &["api-server"]).expect("api-server", "error", "401");
        doctor(cluster, &["api-server"]).expect("api-server", "error", "run `ingressd kubeconfig --force`");
        // Its name is not known.
        cluster.credentials.write_kubeconfig("https://nobody.invalid:6443");
        let reported = doctor(cluster, &["api-server"]);
        reported.expect("api-server", "error", "name servers");
        for value in ["ServiceError", "ApiError", "Some(", "{ "] {
            assert!(!reported.says("api-server", "error", value), "{:#}", reported.json);
        }
    });
}

#[test]
fn a_kubeconfig_that_is_open_or_missing_is_reported() {
    cluster::run(async |cluster| {
        use std::os::unix::fs::PermissionsExt as _;
        let file = cluster.credentials.kubeconfig();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        doctor(cluster, CHECKS).expect("kubeconfig", "error", "mode 0640");
        std::fs::remove_file(file).unwrap();
        let reported = doctor(cluster, CHECKS);
        reported.expect("kubeconfig", "error", "cannot be read");
        reported.expect("api-server", "note", "see kubeconfig");
        assert_eq!(reported.code, Some(2));
    });
}

#[test]
fn pods_that_are_not_reached_are_reported_with_the_mode_that_works() {
    cluster::run(async |cluster| {
        // The API server gives the first ones only to who asks for them. The one before it is
        // another test's.
        let port = 30_002;
        cluster.objects.serve_shop().await;
        let ports = json!([{"name": "http", "port": 80, "targetPort": rig::ECHO, "nodePort": port}]);
        cluster.objects.merge("Service", "web", json!({"spec": {"type": "NodePort", "ports": ports}})).await;
        cluster.backends.serve(port, ingressd_echo::Echo::plain("node")).await;
        let node = add_node(cluster, "10.244.0.0/24").await;
        ip(&["route", "del", "local", "10.244.0.0/16", "dev", "lo"]);
        let without_route = doctor(cluster, &["routes", "endpoints"]);
        ip(&["route", "add", "unreachable", "10.244.0.0/16"]);
        let unreachable = doctor(cluster, &["routes", "endpoints"]);
        ip(&["route", "del", "unreachable", "10.244.0.0/16"]);
        ip(&["route", "add", "default", "via", "10.100.0.1"]);
        let by_default = doctor(cluster, &["routes", "endpoints"]);
        cluster.objects.delete("Node", &node).await;
        for reported in [&without_route, &unreachable] {
            reported.expect("routes", "error", &format!("10.244.0.0/24 of {node}"));
            reported.expect("endpoints", "error", "pod, which is chosen: 0 of 1 address answers");
            reported.expect("endpoints", "error", "a mode that works from here: nodeport");
            reported.expect("endpoints", "ok", "nodeport: ");
            assert_eq!(reported.code, Some(2));
        }
        by_default.expect("routes", "warning", "only the default route");
    });
}

#[test]
fn a_node_that_no_longer_renews_its_lease_is_reported() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        cluster.daemon.set("publish.lease-duration", "5s");
        cluster.start().await;
        until_recorded(cluster).await;
        let fresh = doctor(cluster, &["leases", "daemon"]);
        fresh.expect("leases", "ok", "lives and serves");
        fresh.expect("daemon", "ok", "serves generation");
        cluster.daemon.signal(Signal::SIGSTOP);
        let reported = wait::until("the end of the Leases", async || {
            let reported = doctor(cluster, &["leases"]);
            // The Lease of the leader and that of the node end one after the other.
            let words = ["leads, but did not renew", "and is not published"];
            words.iter().all(|words| reported.says("leases", "warning", words)).then_some(reported)
        });
        reported.await.expect("leases", "warning", "and is not published");
        cluster.daemon.signal(Signal::SIGCONT);
    });
}
