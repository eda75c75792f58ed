//! What `ingressd migrate` reads of a live cluster that runs an ingress-nginx as its chart
//! installs it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::take_over::administrators::{self, RIGHTS, Right};
use rig::cluster::control_plane::binary;
use rig::cluster::{self, Cluster};
use rig::manifests::{ingress, tls_secret};
use rig::wait;

/// The Deployment that the chart makes, with the names of the test.
fn deployment(controller: &str, namespace: &str) -> Value {
    let labels = json!({ "app.kubernetes.io/name": "ingress-nginx", "app.kubernetes.io/component": "controller" });
    let variable =
        |name: &str, field: &str| json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": field } } });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "ingress-nginx-controller", "labels": labels },
        "spec": {
            "replicas": 0, "minReadySeconds": 0, "revisionHistoryLimit": 10, "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 300,
                    "containers": [{
                        "name": "controller", "image": "registry.k8s.io/ingress-nginx/controller:v1.12.1",
                        "args": [
                            "/nginx-ingress-controller",
                            "--publish-service=$(POD_NAMESPACE)/ingress-nginx-controller",
                            "--election-id=ingress-nginx-leader",
                            format!("--controller-class={controller}"),
                            "--ingress-class=nginx",
                            "--configmap=$(POD_NAMESPACE)/ingress-nginx-controller",
                            "--validating-webhook=:8443",
                            "--validating-webhook-certificate=/usr/local/certificates/cert",
                            "--validating-webhook-key=/usr/local/certificates/key",
                            format!("--watch-namespace={namespace}"),
                        ],
                        "env": [
                            variable("POD_NAME", "metadata.name"), variable("POD_NAMESPACE", "metadata.namespace"),
                            { "name": "LD_PRELOAD", "value": "/usr/local/lib/libmimalloc.so" },
                        ],
                        "ports": [{ "name": "http", "containerPort": 80 }, { "name": "https", "containerPort": 443 }],
                    }],
                },
            },
        },
    })
}

fn migrate(cluster: &Cluster, step: &str, more: &[&str]) -> (i32, String) {
    migrate_as(&cluster.control_plane.kubeconfig(), cluster, step, more)
}

fn migrate_as(kubeconfig: &Path, cluster: &Cluster, step: &str, more: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ingressd"));
    command.args(["migrate", step, "--admin-kubeconfig"]).arg(kubeconfig);
    command.args(["--controller", &format!("{}/ingress-nginx-controller", cluster.objects.namespace())]).args(more);
    let output = command.env_remove("INGRESSD_CONFIG").output().unwrap();
    let complaints = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap() + &complaints)
}

#[test]
fn a_cluster_with_the_chart_is_reported_and_its_flags_become_settings() {
    cluster::run(async |cluster| {
        let (namespace, controller) = (cluster.objects.namespace().to_owned(), cluster.objects.controller("nginx"));
        cluster.objects.apply(deployment(&controller, &namespace)).await;
        let data = json!({ "proxy-body-size": "8m", "http-snippet": "deny all;" });
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "ingress-nginx-controller" }, "data": data });
        cluster.objects.apply(map).await;
        cluster.objects.apply(tls_secret("pair", &["other.example"])).await;
        let users = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "users" }, "stringData": { "auth": "nonsense" } });
        cluster.objects.apply(users).await;
        let shop = ingress("shop").class("nginx").host("shop.example", "web").tls(&["shop.example"], "pair");
        cluster.objects.apply(shop.annotation("proxy-read-timeout", "120")).await;
        let admin = ingress("admin").class("nginx").host("admin.example", "web").annotation("auth-type", "basic");
        cluster.objects.apply(admin.annotation("auth-secret", "users")).await;
        let lost = ingress("lost").class("nginx").host("lost.example", "web").annotation("auth-type", "basic");
        cluster.objects.apply(lost.annotation("auth-secret", "none")).await;
        cluster.objects.apply(ingress("foreign").class("ingressd").host("foreign.example", "web")).await;
        let status = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.7" }] } });
        cluster.objects.set_status("Ingress", "shop", status).await;

        let (code, text) =
            migrate(cluster, "report", &["--format=json", "--nginx-version=1.22.1", "--config=/dev/null"]);
        assert_eq!(code, 1, "the snippet of the ConfigMap is refused: {text}");
        let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(report["controller"]["image"], "registry.k8s.io/ingress-nginx/controller:v1.12.1");
        let verdicts: Vec<_> = report["ingresses"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                assert_eq!(one["namespace"], namespace, "other namespaces are not watched");
                format!("{} {} {}", one["name"].as_str().unwrap(), one["verdict"].as_str().unwrap(), one["published"])
            })
            .collect();
        // The data of Secrets are not read, so neither the wrong host of one nor the nonsense in
        // another is found. Without its Secret an object is closed.
        assert_eq!(verdicts, ["admin stricter []", "lost refused []", "shop equal [\"192.0.2.7\"]"]);
        let keys: Vec<_> = report["configMap"]["keys"].as_array().unwrap().iter().map(|key| &key["verdict"]).collect();
        assert_eq!(keys, ["refused", "equal"]);

        let (code, text) = migrate(cluster, "settings", &[]);
        assert_eq!(code, 0, "{text}");
        let read = ingressd_config::Sources::load_text(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let map = read.ingress_nginx.config_map.unwrap();
        assert_eq!((&*map.0, &*map.1), (&*namespace, "ingress-nginx-controller"));
        assert_eq!(*read.translate.classes[0].controller, *controller);
        assert_eq!(read.cluster.namespaces, [namespace.as_str().into()]);
    });
}

/// What is listed for the report.
const LISTED: [Right; 8] = [
    ("list", "networking.k8s.io", "ingressclasses"),
    ("list", "networking.k8s.io", "ingresses"),
    ("list", "apps", "deployments"),
    ("list", "apps", "daemonsets"),
    ("list", "", "namespaces"),
    ("list", "", "configmaps"),
    ("list", "", "services"),
    ("list", "", "secrets"),
];

/// The commands that a text tells, for this user.
fn reported(text: &str, user: &str) -> Vec<Vec<String>> {
    let commands = text.lines().map(str::trim).filter(|line| line.starts_with("kubectl "));
    commands.map(|line| shlex::split(&line.replace("USER", user)).unwrap()).collect()
}

#[test]
fn a_right_that_is_missing_is_named_with_the_commands_that_grant_it() {
    cluster::run(async |cluster| {
        let (namespace, controller) = (cluster.objects.namespace().to_owned(), cluster.objects.controller("nginx"));
        cluster.objects.apply(deployment(&controller, &namespace)).await;
        let report = ["--config=/dev/null", "--nginx-version=1.22.1"];
        for missing in LISTED {
            let others: Vec<_> = LISTED.into_iter().filter(|right| *right != missing).collect();
            let kubeconfig = administrators::with(cluster, &format!("no-{}", missing.2), &others).await;
            let (code, text) = migrate_as(&kubeconfig, cluster, "report", &report);
            assert_eq!(code, 77, "{text}");
            let words =
                format!("cannot list resource \"{}\" in API group \"{}\" at the cluster scope", missing.2, missing.1);
            assert!(text.contains(&words), "{words}: {text}");
        }
        for missing in RIGHTS.into_iter().filter(|(verb, ..)| *verb == "list") {
            let kubeconfig = administrators::without(cluster, Some((missing.0, missing.2))).await;
            let (code, text) = migrate_as(&kubeconfig, cluster, "take-over", &["--config=/dev/null", "--dry-run"]);
            assert_eq!(code, 77, "{text}");
            let words = format!("cannot list resource \"{}\"", missing.2);
            let remedy = if missing.2 == "leases" {
                "take-over --help` lists the rights"
            } else {
                "--verb=list --resource=ingressclasses,"
            };
            assert!(text.contains(&words) && text.contains(remedy), "{words}: {text}");
        }
        // The manifests that it prints grant all of these rights.
        let kubeconfig = administrators::with(cluster, "nobody", &[]).await;
        let (_, text) = migrate_as(&kubeconfig, cluster, "report", &report);
        let commands = reported(&text, &format!("system:serviceaccount:{namespace}:nobody"));
        assert_eq!(commands.len(), 2, "{text}");
        for words in &commands {
            let mut command = Command::new(binary());
            let output =
                command.args(words).arg("--kubeconfig").arg(cluster.control_plane.kubeconfig()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let allowed = async || migrate_as(&kubeconfig, cluster, "report", &report);
        wait::until_right("the report of somebody with these rights", allowed, |(code, _)| *code < 2).await;
    });
}
