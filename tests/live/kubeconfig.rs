//! An administrator gives a node its rights and its kubeconfig, and the node serves with them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use rig::client::get;
use rig::cluster::control_plane::binary;
use rig::cluster::objects::ADDRESS;
use rig::cluster::{self, Cluster};
use rig::manifests::{ingress, tls_secret};
use rig::wait;

async fn serve_shop(cluster: &Cluster) {
    cluster.objects.serve("web", &["10.244.0.1"]).await;
    cluster.objects.apply(tls_secret("pair", &["shop.example"])).await;
    cluster.objects.apply(ingress("shop").host("shop.example", "web").tls(&["shop.example"], "pair")).await;
}

/// The command of an administrator, for the settings of the test's node.
fn command(cluster: &Cluster, output: &Path, arguments: &[&str]) -> Command {
    let mut command = cluster.daemon.command("kubeconfig");
    command.arg("--admin-kubeconfig").arg(cluster.control_plane.kubeconfig());
    command.args(["--account", "reader", "--output"]).arg(output).args(arguments);
    command
}

fn run(mut command: Command) -> (i32, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.code().unwrap(), text)
}

/// Whether the user of this kubeconfig may write statuses of Ingresses.
async fn may_patch(kubeconfig: &Path) -> bool {
    let attributes =
        json!({"verb": "patch", "group": "networking.k8s.io", "resource": "ingresses", "subresource": "status"});
    is_allowed(kubeconfig, attributes).await
}

/// Whether the user of this kubeconfig has a right.
async fn may(kubeconfig: &Path, verb: &str, resource: &str, namespace: &str) -> bool {
    is_allowed(kubeconfig, json!({"verb": verb, "resource": resource, "namespace": namespace})).await
}

async fn is_allowed(kubeconfig: &Path, attributes: Value) -> bool {
    use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview as Review;
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let reviews = kube::Api::<Review>::all(Client::try_from(config).unwrap());
    let review = serde_json::from_value(json!({"spec": {"resourceAttributes": attributes}})).unwrap();
    let answer = reviews.create(&kube::api::PostParams::default(), &review).await.unwrap();
    answer.status.unwrap().allowed
}

/// Serves with this kubeconfig, and publishes.
async fn expect_served_with(cluster: &mut Cluster, kubeconfig: &Path) {
    // The account that other tests have is gone: nothing comes from its rights.
    cluster.objects.delete("ServiceAccount", "ingressd").await;
    cluster.daemon.set("kubeconfig", kubeconfig.to_str().unwrap());
    cluster.start().await;
    assert_eq!(get("https://shop.example/").send().await.peer.unwrap().names, ["shop.example"]);
    cluster.objects.until_published("shop", &[ADDRESS]).await;
    wait::until("the Event", async || {
        let events = cluster.objects.events().await;
        events.iter().any(|event| event["reason"] == "Synced").then_some(())
    })
    .await;
    let status = cluster.daemon.status().await.unwrap();
    let refused = |watch: &&Value| watch["state"] == "refused" && watch["kind"] != "Node";
    assert_eq!(status["watches"].as_array().unwrap().iter().find(refused), None);
}

fn file(cluster: &Cluster) -> PathBuf {
    cluster.folder().join("written/kubeconfig")
}

#[test]
fn a_node_serves_with_a_token_that_lasts_and_one_that_ends() {
    for duration in [None, Some("--duration=1h")] {
        cluster::run(async move |cluster| {
            serve_shop(cluster).await;
            let file = file(cluster);
            let arguments = duration.as_slice();
            let (code, text) = run(command(cluster, &file, arguments));
            assert_eq!(code, 0, "{text}");
            assert!(text.contains(if duration.is_some() { "ends at" } else { "reader-token is deleted" }), "{text}");
            let metadata = std::fs::metadata(&file).unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
            let written = std::fs::read_to_string(&file).unwrap();

            // It stays unless it is to be replaced; the cluster is left alone as well.
            let (code, text) = run(command(cluster, &file, arguments));
            assert_eq!(code, 73, "{text}");
            assert!(text.contains("--force"), "{text}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
            let (code, text) = run(command(cluster, &file, &[arguments, &["--force"]].concat()));
            assert_eq!(code, 0, "{text}");
            let secrets = cluster.objects.list("Secret").await;
            let has_secret = secrets.iter().any(|secret| secret["metadata"]["name"] == "reader-token");
            assert_eq!(has_secret, duration.is_none());
            expect_served_with(cluster, &file).await;
        });
    }
}

#[test]
fn where_some_namespaces_are_served_nothing_else_may_be_seen() {
    cluster::run(async |cluster| {
        serve_shop(cluster).await;
        let (file, namespace) = (file(cluster), cluster.objects.namespace().to_owned());
        let setting = format!("namespaces=[{namespace:?}]");
        let (code, text) = run(command(cluster, &file, &["--set", &setting]));
        assert_eq!(code, 0, "{text}");
        // The API server learns of the role in the namespace by a watch of its own.
        let is_allowed = async || may(&file, "list", "secrets", &namespace).await.then_some(());
        wait::until("the rights in the namespace", is_allowed).await;
        for (verb, resource, within, expected) in [
            ("list", "secrets", namespace.as_str(), true),
            ("list", "secrets", "default", false),
            ("list", "secrets", "", false),
            ("delete", "secrets", &namespace, false),
            ("list", "nodes", "", false),
            ("list", "namespaces", "", false),
        ] {
            let allowed = may(&file, verb, resource, within).await;
            assert_eq!(allowed, expected, "{verb} {resource} in {within:?}");
        }
        cluster.daemon.set("namespaces", &format!("[{namespace:?}]"));
        expect_served_with(cluster, &file).await;
    });
}

/// A node that needs less, as one side by side with another controller, takes nothing from others.
#[test]
fn rights_are_added_and_go_only_on_request() {
    cluster::run(async |cluster| {
        let (file, patch) = (file(cluster), async |file: &Path| may_patch(file).await);
        assert_eq!(run(command(cluster, &file, &[])).0, 0);
        assert!(patch(&file).await);
        let less = ["--force", "--set", "publish.status=false"];
        let (code, text) = run(command(cluster, &file, &less));
        assert!(code == 0 && text.contains("stays: patch ingresses/status (ClusterRole reader"), "{text}");
        assert!(text.contains("--remove-rights") && patch(&file).await, "{text}");
        let (code, text) = run(command(cluster, &file, &["--force"]));
        assert!(code == 0 && !text.contains("stays:"), "{text}");

        // Without a name, each group of nodes has an account of its own.
        let other = cluster.folder().join("written/other");
        let mut beside = cluster.daemon.command("kubeconfig");
        beside.arg("--admin-kubeconfig").arg(cluster.control_plane.kubeconfig()).arg("--output").arg(&other);
        beside.args(["--set", "publish.lease=ingressd-side-by-side", "--set", "publish.status=false"]);
        let (code, text) = run(beside);
        assert!(code == 0 && text.contains("/ingressd-side-by-side") && !text.contains("stays:"), "{text}");
        assert!(!patch(&other).await && patch(&file).await);

        let (code, text) = run(command(cluster, &file, &[&less[..], &["--remove-rights"]].concat()));
        assert!(code == 0 && text.contains("removed: patch ingresses/status"), "{text}");
        // The API server learns of the role by a watch of its own.
        wait::until("the end of the right", async || (!patch(&file).await).then_some(())).await;
    });
}

#[test]
fn a_user_without_the_rights_gets_them_named_and_nothing_is_written() {
    cluster::run(async |cluster| {
        let file = file(cluster);
        let mut refused = cluster.daemon.command("kubeconfig");
        refused.arg("--admin-kubeconfig").arg(cluster.credentials.kubeconfig()).arg("--output").arg(&file);
        let (code, text) = run(refused);
        assert_eq!(code, 77, "{text}");
        assert!(text.contains("cannot be applied") && text.contains("forbidden"), "{text}");
        let (code, text) = run(command(cluster, &file, &["--context", "elsewhere"]));
        assert_eq!(code, 78, "{text}");
        // A kubeconfig that cannot be passed on is refused before anything is created in the
        // cluster.
        let mut insecure = Kubeconfig::read_from(cluster.control_plane.kubeconfig()).unwrap();
        let server = insecure.clusters[0].cluster.as_mut().unwrap();
        (server.insecure_skip_tls_verify, server.certificate_authority) = (Some(true), None);
        server.certificate_authority_data = None;
        let admin = cluster.folder().join("insecure");
        std::fs::write(&admin, serde_json::to_string(&insecure).unwrap()).unwrap();
        let mut refused = cluster.daemon.command("kubeconfig");
        refused.arg("--admin-kubeconfig").arg(&admin).args(["--account", "insecure", "--output"]).arg(&file);
        let (code, text) = run(refused);
        assert!(code == 78 && text.contains("insecure-skip-tls-verify"), "{text}");
        let accounts = cluster.objects.list("ServiceAccount").await;
        assert!(accounts.iter().all(|account| account["metadata"]["name"] != "insecure"), "{accounts:?}");
        assert!(!file.exists());
    });
}

#[test]
fn what_was_given_is_taken_back_with_kubectl_and_the_namespace_stays() {
    cluster::run(async |cluster| {
        let has_account = async || {
            let accounts = cluster.objects.list("ServiceAccount").await;
            accounts.iter().any(|account| account["metadata"]["name"] == "reader")
        };
        // A file that cannot be written is noticed before requests are sent.
        let below_a_file = cluster.credentials.kubeconfig().join("kubeconfig");
        let (code, text) = run(command(cluster, &below_a_file, &[]));
        assert_eq!((code, has_account().await), (69, false), "{text}");

        let file = file(cluster);
        assert_eq!(run(command(cluster, &file, &[])).0, 0);
        assert!(has_account().await && may(&file, "list", "secrets", "").await);
        let (code, manifests) = run(command(cluster, &file, &["--print", "--without-namespace"]));
        assert_eq!(code, 0, "{manifests}");
        let printed = cluster.folder().join("manifests.yaml");
        std::fs::write(&printed, manifests).unwrap();
        let mut kubectl = Command::new(binary());
        kubectl.arg("kubectl").arg("--kubeconfig").arg(cluster.control_plane.kubeconfig());
        let (code, text) = run({
            kubectl.args(["delete", "--ignore-not-found", "-f"]).arg(&printed);
            kubectl
        });
        assert_eq!(code, 0, "{text}");
        assert!(!has_account().await);
        let namespaces = cluster.objects.list("Namespace").await;
        let own = namespaces.iter().find(|namespace| namespace["metadata"]["name"] == cluster.objects.namespace());
        assert_eq!(own.map(|own| &own["status"]["phase"]), Some(&"Active".into()), "{text}");
    });
}
