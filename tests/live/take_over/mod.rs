//! Addresses move from a controller to a node and back, under constant traffic.

pub mod administrators;
mod clients;
mod controller;
mod killed;
mod several;

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{Timestamp, ToSpan};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::process::Command;

use self::clients::Clients;
use self::controller::{Controller, MANAGER, NAME};
use rig::ECHO;
use rig::client::get;
use rig::cluster::control_plane::binary;
use rig::cluster::objects::ADDRESS;
use rig::cluster::{self, Cluster};
use rig::manifests::{ingress, secret, tls_secret};

/// The address that the controller publishes.
const OLD: &str = "203.0.113.9";

/// Where clients reach it: a backend answers there itself.
const CONTROLLER: (&str, u16) = (OLD, ECHO);

/// The address of the solver, which answers challenges.
const SOLVER: &str = "10.244.2.1";

/// The tokens that the certificate authority requests, before and after.
const TOKENS: [&str; 2] =
    ["LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAj-_X0", "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA"];

/// What a command said.
struct Said {
    code: i32,
    text: String,
}

impl Said {
    fn is(self, code: i32, words: &[&str]) -> String {
        assert_eq!(self.code, code, "{}", self.text);
        words.iter().for_each(|words| assert!(self.text.contains(words), "{words:?} is not in:\n{}", self.text));
        self.text
    }
}

async fn run(mut command: Command) -> Said {
    let output = command.kill_on_drop(true).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    Said { code: output.status.code().unwrap(), text }
}

/// The command as an administrator with this kubeconfig runs it.
async fn migrate(cluster: &Cluster, kubeconfig: &Path, step: &str, arguments: &[&str]) -> Said {
    migrate_with(cluster, cluster.daemon.folder(), kubeconfig, step, arguments).await
}

/// The same with the settings of a node.
async fn migrate_with(cluster: &Cluster, settings: &Path, kubeconfig: &Path, step: &str, arguments: &[&str]) -> Said {
    run(command(cluster, settings, kubeconfig, step, arguments)).await
}

fn command(cluster: &Cluster, settings: &Path, kubeconfig: &Path, step: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ingressd"));
    command.args(["migrate", step, "--admin-kubeconfig"]).arg(kubeconfig).args(arguments);
    command.args(["--controller", &format!("{}/{NAME}", cluster.objects.namespace())]);
    if step == "take-over" {
        command.arg("--config").arg(settings.join("ingressd.toml"));
        command.arg("--record").arg(record(cluster));
    }
    command
}

fn record(cluster: &Cluster) -> PathBuf {
    cluster.folder().join("take-over.json")
}

/// A report of `compare`.
fn report(cluster: &Cluster, different: u64, finished: Timestamp) -> String {
    let path = cluster.folder().join(format!("compare-{different}-{finished}.json"));
    let report = json!({ "version": 1, "finished": finished.to_string(), "asked": 120, "different": different });
    fs::write(&path, report.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Writes the Deployment that the chart makes, for the classes of the test.
async fn write_deployment(cluster: &Cluster) {
    let labels = json!({ "app": NAME });
    let arguments = json!([
        "/nginx-ingress-controller",
        format!("--controller-class={}", cluster.objects.controller("nginx")),
        "--ingress-class=nginx",
        format!("--watch-namespace={}", cluster.objects.namespace()),
    ]);
    let image = "registry.k8s.io/ingress-nginx/controller:v1.12.1";
    cluster
        .objects
        .apply(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": NAME },
            "spec": { "selector": { "matchLabels": labels }, "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "controller", "image": image, "args": arguments }] },
            } },
        }))
        .await;
    write_rollout(cluster, 1, 1).await;
}

/// Says of the Deployment what its controller says when so many of its pods run, and so many of
/// them are new.
async fn write_rollout(cluster: &Cluster, pods: u64, updated: u64) {
    let deployment = cluster.objects.get("Deployment", NAME).await;
    let status = json!({
        "observedGeneration": deployment["metadata"]["generation"], "replicas": pods, "updatedReplicas": updated,
        "readyReplicas": pods, "availableReplicas": pods,
    });
    cluster.objects.set_status("Deployment", NAME, status).await;
}

/// Runs the commands that the tool printed, one of which waits for the rollout that the test makes
/// meanwhile.
async fn kubectl(cluster: &Cluster, line: &str) -> String {
    let words = shlex::split(line.trim()).unwrap();
    let mut command = Command::new(binary());
    command.args(&words).arg("--kubeconfig").arg(cluster.control_plane.kubeconfig());
    run(command).await.is(0, &[])
}

/// The commands of the page about this Deployment, for the one of the test.
fn documented(cluster: &Cluster) -> Vec<String> {
    let page = include_str!("../../../docs/migrate.md");
    let lines = commands(page).into_iter().filter(|line| line.contains("deployment/"));
    let of_test = format!("--namespace {}", cluster.objects.namespace());
    lines.map(|line| line.replace("--namespace ingress-nginx", &of_test)).collect()
}

/// The lines of a text that are commands.
fn commands(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| line.starts_with("kubectl ")).collect()
}

/// Adds the annotations of external-dns and cert-manager, which no ingress controller reads.
fn with_notes_of_others(object: Value) -> Value {
    let mut object = object;
    for (key, value) in [
        ("external-dns.alpha.kubernetes.io/hostname", "shop.example,www.shop.example"),
        ("external-dns.alpha.kubernetes.io/ttl", "60"),
        ("external-dns.alpha.kubernetes.io/target", "203.0.113.77"),
        ("cert-manager.io/cluster-issuer", "letsencrypt"),
        ("cert-manager.io/issue-temporary-certificate", "true"),
        ("acme.cert-manager.io/http01-ingress-ingressclassname", "nginx"),
    ] {
        object["metadata"]["annotations"][key] = json!(value);
    }
    object
}

/// What cert-manager writes for one challenge of the host of `shop`: newer versions by the field,
/// issuers with `class` by the annotation.
async fn write_solver(cluster: &Cluster, name: &str, token: &str, by_field: bool) {
    cluster
        .objects
        .apply(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
            "spec": { "type": "NodePort", "selector": { "app": name },
                      "ports": [{ "name": "http", "port": 8089, "targetPort": ECHO }] },
        }))
        .await;
    cluster.objects.set_pods(name, &[SOLVER]).await;
    let backend = json!({ "service": { "name": name, "port": { "number": 8089 } } });
    let path = format!("/.well-known/acme-challenge/{token}");
    let solver = ingress(name).class("nginx").path_to("shop.example", "ImplementationSpecific", &path, backend);
    let mut solver = solver.annotation("whitelist-source-range", "0.0.0.0/0,::/0").build();
    solver["metadata"]["labels"] = json!({
        "acme.cert-manager.io/http-domain": "1191128216", "acme.cert-manager.io/http-token": "1004582917",
        "acme.cert-manager.io/http01-solver": "true",
    });
    if !by_field {
        solver["spec"].as_object_mut().unwrap().remove("ingressClassName");
        solver["metadata"]["annotations"]["kubernetes.io/ingress.class"] = json!("nginx");
    }
    cluster.objects.apply(solver).await;
}

/// The challenge is answered by its solver and the rest of the host redirected, wherever the
/// status leads.
async fn expect_challenge(token: &str) {
    expect_challenge_at(token, IpAddr::from([127, 0, 0, 1])).await;
}

/// The same of one node.
async fn expect_challenge_at(token: &str, address: IpAddr) {
    let challenge = get(&format!("http://shop.example/.well-known/acme-challenge/{token}")).to(address);
    let is_solver = |reply: &rig::client::Reply| {
        reply.status == 200 && reply.try_echo().is_some_and(|answer| answer.address.ip().to_string() == SOLVER)
    };
    challenge.send_until("the solver", is_solver).await;
    assert_eq!(get("http://shop.example/").to(address).send().await.status, 308);
}

/// Writes what the controller serves, and starts it.
async fn write_objects(cluster: &Cluster) -> Controller {
    cluster.objects.serve("web", &["10.244.0.1"]).await;
    write_deployment(cluster).await;
    let shop = ingress("shop").class("nginx").host("shop.example", "web").tls(&["shop.example"], "shop-tls");
    cluster.objects.apply(with_notes_of_others(shop.annotation("force-ssl-redirect", "true").build())).await;
    // A temporary certificate is written, and the key of the next one.
    cluster.objects.apply(tls_secret("shop-tls", &["shop.example"])).await;
    cluster.objects.apply(secret("shop-tls-x7k2p", "Opaque", &[("tls.key", "none yet")])).await;
    cluster.objects.apply(ingress("cart").class("nginx").host("cart.example", "web")).await;
    cluster.objects.apply(ingress("foreign").class("of-another").host("foreign.example", "web")).await;
    let controller = Controller::start(&cluster.objects, "controller-1", OLD).await;
    for name in ["shop", "cart"] {
        cluster.objects.until_published(name, &[OLD]).await;
    }
    controller
}

/// Writes the settings that take the place of its flags beside those of a node.
async fn write_settings(cluster: &Cluster, node: &Path) {
    let all = cluster.control_plane.kubeconfig();
    let settings = migrate(cluster, &all, "settings", &[]).await.is(0, &["publish.hold = true"]);
    let drop_ins = node.join("conf.d");
    fs::create_dir(&drop_ins).unwrap();
    fs::write(drop_ins.join("50-ingress-nginx.toml"), settings).unwrap();
}

/// The same, with one node that serves it too and holds back.
async fn prepare(cluster: &mut Cluster) -> Controller {
    let controller = write_objects(cluster).await;
    write_settings(cluster, cluster.daemon.folder()).await;
    // The command waits until the node has written its record, once for each Lease.
    cluster.daemon.set("publish.lease-duration", "6s");
    cluster.daemon.set("publish.addresses", &format!("[{ADDRESS:?}]"));
    cluster.start().await;
    cluster.daemon.status_when("it to hold back", |status| status["publishes"]["writes"] == "held").await;
    controller
}

/// Lets the old pod go when the new one is there, as a Deployment does.
async fn roll_out(cluster: &Cluster, old: Controller) -> Controller {
    write_rollout(cluster, 2, 1).await;
    let new = Controller::start(&cluster.objects, "controller-2", OLD).await;
    old.stop().await;
    new
}

async fn expect_published(cluster: &Cluster, names: &[&str], address: &str) {
    for name in names {
        assert_eq!(cluster.objects.addresses(name).await, [address], "{name}");
    }
}

/// Checks in the field managers that only the controller ever wrote these statuses.
async fn expect_written_by_controller(cluster: &Cluster, names: &[&str]) {
    for name in names {
        let ingress = cluster.objects.get("Ingress", name).await;
        let of_status = |entry: &&Value| entry["fieldsV1"]["f:status"].is_object();
        let managed = ingress["metadata"]["managedFields"].as_array().unwrap();
        let writers: Vec<_> = managed.iter().filter(of_status).collect();
        assert!(
            matches!(&writers[..], [one] if one["manager"] == MANAGER && one["operation"] == "Update"),
            "{name}: {writers:?}"
        );
    }
}

async fn order(cluster: &Cluster) -> Option<String> {
    let lease = cluster.objects.api("Lease").get_opt("ingressd.status").await.unwrap()?;
    lease.metadata.annotations?.get("ingressd/status").cloned()
}

#[test]
fn addresses_move_to_the_nodes_and_back_without_a_gap() {
    cluster::run(async |cluster| {
        let all = cluster.control_plane.kubeconfig();
        let old = prepare(cluster).await;
        let shop = Arc::new(cluster.objects.follow_addresses("shop").await);
        let cart = Arc::new(cluster.objects.follow_addresses("cart").await);
        let clients = Clients::start("cart.example", Arc::clone(&cart), CONTROLLER);
        write_solver(cluster, "cm-acme-http-solver-before", TOKENS[0], true).await;
        cluster.objects.until_published("cm-acme-http-solver-before", &[OLD]).await;
        expect_challenge(TOKENS[0]).await;

        // The command stops where a condition is not met, and changes nothing.
        let now = Timestamp::now();
        let clean = ["--compare", &report(cluster, 0, now)];
        let yesterday = now - 25.hours();
        for (different, finished, words) in [(3, now, "3 of 120 answers differ"), (0, yesterday, "at most 24 h old")] {
            let report = report(cluster, different, finished);
            let said = migrate(cluster, &all, "take-over", &["--compare", &report]).await;
            said.is(1, &[words, "nothing was changed"]);
        }
        let text = migrate(cluster, &all, "take-over", &clean).await.is(1, &["writes addresses into statuses"]);
        let said = migrate(cluster, &all, "take-over", &["--force", "--compare", &report(cluster, 3, now)]).await;
        said.is(1, &["writes addresses into statuses"]);
        let [patch, status, end] = &documented(cluster)[..] else { panic!("what the page says") };
        assert_eq!(commands(&text), [patch, status]);
        kubectl(cluster, patch).await;
        migrate(cluster, &all, "take-over", &clean).await.is(1, &["may still run"]);
        let (_, new) = tokio::join!(kubectl(cluster, status), async {
            let new = roll_out(cluster, old).await;
            write_rollout(cluster, 1, 1).await;
            new
        });
        migrate(cluster, &all, "take-over", &[&clean[..], &["--dry-run"]].concat()).await.is(
            0,
            &[
                &format!("{}/cart: {OLD} -> {ADDRESS}", cluster.objects.namespace()),
                &format!(
                    "remark: external-dns leads the names of {}/shop to 203.0.113.77",
                    cluster.objects.namespace()
                ),
            ],
        );
        assert_eq!((order(cluster).await, record(cluster).exists()), (None, false));
        expect_published(cluster, &["shop", "cart"], OLD).await;

        // The command is killed before the nodes were told, and is run again.
        let unable = administrators::without(cluster, Some(("patch", "leases"))).await;
        let able = administrators::without(cluster, None).await;
        migrate(cluster, &unable, "take-over", &clean).await.is(77, &["is kept in"]);
        assert_eq!((order(cluster).await, record(cluster).exists()), (None, true));
        expect_published(cluster, &["shop", "cart"], OLD).await;
        migrate(cluster, &able, "take-over", &clean).await.is(0, &["have the addresses of the nodes"]);
        expect_published(cluster, &["shop", "cart", "cm-acme-http-solver-before"], ADDRESS).await;
        assert_eq!(cluster.objects.addresses("foreign").await, [""; 0]);
        assert_eq!(fs::metadata(record(cluster)).unwrap().permissions().mode() & 0o777, 0o600);
        migrate(cluster, &able, "take-over", &clean).await.is(0, &["have the addresses of the nodes"]);
        write_solver(cluster, "cm-acme-http-solver-after", TOKENS[1], false).await;
        cluster.objects.until_published("cm-acme-http-solver-after", &[ADDRESS]).await;
        expect_challenge(TOKENS[1]).await;

        // The undo is killed before anything was put back, and is run again.
        let unable = administrators::without(cluster, Some(("patch", "ingresses/status"))).await;
        migrate(cluster, &unable, "take-over", &["--undo"]).await.is(77, &["write nothing any more"]);
        assert_eq!(order(cluster).await.as_deref(), Some("hold"));
        expect_published(cluster, &["shop", "cart"], ADDRESS).await;
        migrate(cluster, &able, "take-over", &["--undo"]).await.is(0, &["as they were", "was not there before"]);
        expect_published(cluster, &["shop", "cart", "cm-acme-http-solver-before"], OLD).await;
        expect_published(cluster, &["cm-acme-http-solver-after"], ADDRESS).await;
        expect_written_by_controller(cluster, &["cart"]).await;
        assert!(!record(cluster).exists());
        // Without the record of before, the address of the younger solver is what remains.
        migrate(cluster, &able, "take-over", &["--undo"]).await.is(1, &["no status was put back"]);

        // The controller is removed for good, and takes nothing with it.
        migrate(cluster, &able, "take-over", &clean).await.is(0, &["have the addresses of the nodes"]);
        new.stop().await;
        kubectl(cluster, end).await;
        write_rollout(cluster, 0, 0).await;
        migrate(cluster, &able, "take-over", &clean).await.is(0, &["has no pod"]);
        migrate(cluster, &able, "take-over", &["--undo"]).await.is(1, &["no pod of the controller is ready"]);
        expect_published(cluster, &["shop", "cart"], ADDRESS).await;

        let answered = clients.stop().await;
        assert_eq!(answered.failures, [""; 0]);
        assert!(answered.by_controller > 0 && answered.by_nodes > 0, "{answered:?}");
        for status in [&shop, &cart] {
            assert_eq!(status.states(), [[OLD], [ADDRESS], [OLD], [ADDRESS]]);
        }
        expect_no_findings(cluster).await;
    });
}

/// Neither notes of other programs nor their Secrets are wrong.
async fn expect_no_findings(cluster: &Cluster) {
    let status = cluster.daemon.status().await.unwrap();
    let of_others = |finding: &&Value| finding["name"] != "foreign" && finding["kind"] != "Host";
    let findings: Vec<_> = status["findings"].as_array().unwrap().iter().filter(of_others).collect();
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn an_ingress_that_the_nodes_refuse_keeps_the_address_of_the_controller_and_is_named() {
    cluster::run(async |cluster| {
        let all = cluster.control_plane.kubeconfig();
        let old = prepare(cluster).await;
        let closed = ingress("closed").class("nginx").host("closed.example", "web");
        cluster.objects.apply(closed.annotation("whitelist-source-range", "everybody")).await;
        cluster.objects.until_published("closed", &[OLD]).await;
        let closed = cluster.objects.follow_addresses("closed").await;
        old.crash().await;
        cluster.objects.merge("Deployment", NAME, json!({ "spec": { "replicas": 0 } })).await;
        write_rollout(cluster, 0, 0).await;
        let said = migrate(cluster, &all, "take-over", &["--force", "--timeout=3s"]).await;
        let namespace = cluster.objects.namespace();
        said.is(1, &[&format!("{namespace}/closed still has {OLD}"), &format!("ingressd status {namespace}/closed")]);
        expect_published(cluster, &["shop", "cart"], ADDRESS).await;
        assert_eq!(closed.states(), [[OLD]]);
        // A node that does not say that it writes no more may still write over what is put back.
        write_rollout(cluster, 1, 1).await;
        cluster.daemon.signal(Signal::SIGSTOP);
        let said = migrate(cluster, &all, "take-over", &["--undo", "--timeout=1s"]).await;
        said.is(69, &["does not say that it writes nothing any more", "no status was put back"]);
        expect_published(cluster, &["shop", "cart"], ADDRESS).await;
        cluster.daemon.signal(Signal::SIGCONT);
        migrate(cluster, &all, "take-over", &["--undo"]).await.is(0, &["as they were"]);
        expect_published(cluster, &["shop", "cart", "closed"], OLD).await;
        // Without a record of what was there before, nothing is put back.
        write_rollout(cluster, 0, 0).await;
        migrate(cluster, &all, "take-over", &["--force", "--timeout=3s"]).await.is(1, &["closed still has"]);
        fs::remove_file(record(cluster)).unwrap();
        write_rollout(cluster, 1, 1).await;
        migrate(cluster, &all, "take-over", &["--undo"]).await.is(66, &["it is not known what the statuses had"]);
        expect_published(cluster, &["shop", "cart"], ADDRESS).await;
    });
}
