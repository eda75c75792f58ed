//! Credentials of the daemon by certificates and plugins that expire, are renewed and fail.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use rig::client::get;
use rig::cluster::objects::ADDRESS;
use rig::cluster::{self, Cluster, certificates};
use rig::status::watch;
use rig::wait;

const HOUR: Duration = Duration::from_secs(3600);

/// How long credentials last that end in a test: long enough for a daemon to start with them on a
/// busy machine.
const SHORT: Duration = Duration::from_secs(30);

/// Adds a host, and waits until it is served and published.
async fn expect_followed(cluster: &Cluster, name: &str) {
    cluster.objects.add_host(name).await;
    cluster.objects.until_published(name, &[ADDRESS]).await;
}

/// A user of this test alone: its rights are given for the whole cluster.
fn user(cluster: &Cluster) -> String {
    format!("edge-{}", cluster.objects.namespace())
}

fn write_pair(cluster: &Cluster, user: &str, lifetime: Duration) {
    let pair = certificates::of_user(user, lifetime);
    cluster.credentials.write("client.key", &pair.key);
    cluster.credentials.write("client.crt", &pair.certificate);
}

#[test]
fn a_client_certificate_is_replaced_on_disk() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        let user = user(cluster);
        cluster.credentials.grant(&cluster.objects, &user).await;
        let path = |name| cluster.credentials.path(name);
        let files = json!({"client-certificate": path("client.crt"), "client-key": path("client.key")});
        cluster.credentials.write_user(&cluster::url(), &files);
        // This user may see nothing.
        write_pair(cluster, "stranger", HOUR);
        cluster.nginx.start();
        cluster.daemon.start();
        cluster.daemon.status_when("the refusal", |status| watch(status, "Ingress") == "refused").await;

        write_pair(cluster, &user, SHORT);
        cluster.daemon.ready().await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        // The certificate ends: watches that run go on, and nothing else does.
        let refused = async || cluster.daemon.metric(r#"ingressd_api_requests_total{verb="update",code="401"}"#).await;
        wait::until_right("the end of the certificate", refused, |count| *count > 0.0).await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200);
        write_pair(cluster, &user, HOUR);
        expect_followed(cluster, "more").await;
        cluster.daemon.status_when("the lead", |status| status["role"] == "leader").await;
    });
}

#[test]
fn another_server_in_the_kubeconfig_is_asked_for_everything() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        cluster.start().await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        let proxy = cluster.put_proxy_between().await;
        // The leader and the nodes of the former cluster mean nothing here.
        for kind in ["ingresses", "leases"] {
            proxy.counted("a list", 1, 200, move |call| call.lists(kind)).await;
            proxy.counted("a watch", 1, 200, move |call| call.watches(kind)).await;
        }
        expect_followed(cluster, "more").await;
        let leads = |status: &Value| status["role"] == "leader" && status["members"][0]["state"] == "alive";
        cluster.daemon.status_when("the lead", leads).await;
    });
}

/// Has the daemon ask a plugin that writes down when it runs, and then does this.
fn write_plugin(cluster: &Cluster, lines: &str) {
    let folder = cluster.credentials.path("");
    cluster.credentials.write_program("plugin", &format!("cd {}\necho >> runs\n{lines}", folder.display()));
    let plugin = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": cluster.credentials.path("plugin"),
        "interactiveMode": "Never"
    });
    cluster.credentials.write_user(&cluster::url(), &json!({"exec": plugin}));
}

/// The script of a plugin that prints what the test wrote down, with an end in six seconds.
const GIVE: &str = "end=$(date -u -d '+6 seconds' +%Y-%m-%dT%H:%M:%SZ); sed \"s/@WHEN@/$end/\" given";

fn give(cluster: &Cluster, mut status: Value) {
    status["expirationTimestamp"] = json!("@WHEN@");
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status
    });
    cluster.credentials.write("given", &credential.to_string());
}

/// How often the plugin ran.
fn runs(cluster: &Cluster) -> usize {
    std::fs::read_to_string(cluster.credentials.path("runs")).map_or(0, |text| text.len())
}

fn failure(status: &Value) -> &str {
    status["source_failure"].as_str().unwrap_or_default()
}

#[test]
fn a_plugin_gives_tokens_that_end_and_the_last_counts_while_it_fails() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        give(cluster, json!({"token": cluster.credentials.renew_token(&cluster.objects, HOUR).await}));
        write_plugin(cluster, GIVE);
        cluster.start().await;
        let ran = runs(cluster);
        wait::until_right("another run of the plugin", async || runs(cluster), |runs| *runs > ran).await;
        expect_followed(cluster, "renewed").await;

        for (number, (lines, words)) in [
            ("echo out of order >&2; exit 1", "out of order"),
            ("echo garbage", "gave something that is no ExecCredential"),
        ]
        .into_iter()
        .enumerate()
        {
            write_plugin(cluster, lines);
            let reported =
                |status: &Value| failure(status).starts_with("credentials: ") && failure(status).contains(words);
            cluster.daemon.status_when(words, reported).await;
            expect_followed(cluster, &format!("meanwhile-{number}")).await;
            assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200);
            write_plugin(cluster, GIVE);
            cluster.daemon.status_when("the end of it", |status| status["source_failure"].is_null()).await;
        }

        // A plugin that hangs delays nothing, not even the end of the daemon.
        write_plugin(cluster, &format!("echo $$ > process; while test ! -e go; do sleep 0.1; done; {GIVE}"));
        // The one before may run once more: this one says who it is.
        let named = async || {
            let process = std::fs::read_to_string(cluster.credentials.path("process")).ok()?;
            process.ends_with('\n').then_some(process)
        };
        let process = wait::until("the plugin that hangs", named).await;
        expect_followed(cluster, "while-it-hangs").await;
        assert!(cluster.daemon.stop().await.success());
        let gone = async || (!std::path::Path::new("/proc").join(process.trim()).exists()).then_some(());
        wait::until("the end of the plugin", gone).await;
        cluster.daemon.start();
        // It looks at nginx when the source keeps it waiting.
        let without =
            |status: &Value| failure(status).contains("there are no credentials yet") && status["ready"] == true;
        cluster.daemon.status_when("a daemon without credentials", without).await;
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200, "nginx serves what is on disk");
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.credentials.write("go", "");
        cluster.daemon.ready().await;
        expect_followed(cluster, "after").await;
    });
}

#[test]
fn a_plugin_gives_certificates() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        let user = user(cluster);
        cluster.credentials.grant(&cluster.objects, &user).await;
        let pair = |lifetime| {
            let pair = certificates::of_user(&user, lifetime);
            json!({"clientCertificateData": pair.certificate, "clientKeyData": pair.key})
        };
        let end = Instant::now() + SHORT;
        give(cluster, pair(SHORT));
        write_plugin(cluster, GIVE);
        cluster.start().await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        // Connections with the first certificate end with it; the plugin runs before.
        give(cluster, pair(HOUR));
        let ran = runs(cluster);
        // The first may have begun before, and what the second gave is in use when the third
        // begins.
        wait::until_right("more runs of the plugin", async || runs(cluster), |runs| *runs >= ran + 3).await;
        let answered = async |code: u16| {
            cluster.daemon.metric(&format!(r#"ingressd_api_requests_total{{verb="update",code="{code}"}}"#)).await
        };
        // On a machine that is slow the first may have ended before: from now on nothing is
        // refused.
        let refused = answered(401).await;
        sleep_until(end).await;
        let renewed = answered(200).await;
        expect_followed(cluster, "more").await;
        wait::until_right("a renewal after the end", async || answered(200).await, |count| *count > renewed).await;
        assert_eq!(answered(401).await, refused);
    });
}
