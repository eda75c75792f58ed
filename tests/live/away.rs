//! An API server that is away, or comes back different; this must not know how the daemon gets over it.

use std::time::Duration;

use serde_json::Value;

use crate::cluster::control_plane::API_SERVER;
use crate::cluster::{self, Cluster};
use crate::rig::client::get;
use crate::rig::load::Load;
use crate::rig::manifests::ingress;
use crate::rig::status::{watch, watch_age};

/// How long it is away in the test that says so.
const AWAY: Duration = Duration::from_secs(30);

async fn serve_shop(cluster: &Cluster) {
    cluster.objects.serve("web", &["10.244.0.1"]).await;
    cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
}

async fn expect_status(host: &str, wanted: u16) {
    let what = format!("{wanted} from {host}");
    get(&format!("http://{host}/")).send_until(&what, |reply| reply.status == wanted).await;
}

fn is_stale(status: &Value) -> bool {
    watch(status, "Ingress") == "stale"
}

fn is_current(status: &Value) -> bool {
    watch(status, "Ingress") == "current"
}

#[test]
fn nothing_is_served_before_it_is_there_and_everything_after() {
    cluster::run(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        serve_shop(cluster).await;
        proxy.go_away().await;
        cluster.nginx.start();
        cluster.daemon.start();
        cluster.daemon.status_when("failing watches", |status| watch(status, "Ingress") == "failing").await;
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 503);
        assert_eq!(cluster.daemon.get("/healthz").await.unwrap().status, 200);
        proxy.come_back().await;
        cluster.daemon.ready().await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        assert_eq!(cluster.daemon.reloads().await, 1, "everything came with one reload");
    });
}

#[test]
fn what_changed_meanwhile_is_caught_up_and_no_request_fails() {
    cluster::run(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        serve_shop(cluster).await;
        cluster.objects.apply(ingress("goes").host("goes.example", "web")).await;
        cluster.start().await;
        cluster.daemon.status_when("current watches", is_current).await;
        let load = Load::new(&[get("http://shop.example/")]).start();
        proxy.go_away().await;
        let end = tokio::time::Instant::now() + AWAY;
        cluster.objects.delete("Ingress", "goes").await;
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        for pod in 2..200_u8 {
            cluster.objects.set_pods("web", &[&format!("10.244.0.{pod}")]).await;
            if tokio::time::Instant::now() > end {
                break;
            }
        }
        let last = cluster.objects.list("Pod").await[0]["status"]["podIP"].as_str().unwrap().to_owned();
        let long = |status: &Value| watch_age(status, "Ingress").is_some_and(|age| age >= AWAY.as_secs() - 1);
        cluster.daemon.status_when("watches that are stale for long", |status| is_stale(status) && long(status)).await;
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200, "nginx serves what was confirmed");
        assert_eq!(get("http://goes.example/").send().await.status, 200, "stale is not gone");

        proxy.come_back().await;
        expect_status("comes.example", 200).await;
        expect_status("goes.example", 404).await;
        let moved = |reply: &crate::rig::client::Reply| {
            reply.try_echo().is_some_and(|answer| answer.address.ip().to_string() == last)
        };
        get("http://shop.example/").send_until("the last pod", moved).await;
        cluster.daemon.status_when("current watches", is_current).await;
        assert_eq!(load.stop().await.failures, [""; 0]);
    });
}

#[test]
fn a_daemon_that_starts_while_it_is_away_serves_what_is_on_disk() {
    cluster::run(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        serve_shop(cluster).await;
        cluster.start().await;
        let load = Load::new(&[get("http://shop.example/")]).start();
        proxy.go_away().await;
        assert!(cluster.daemon.stop().await.success());
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        cluster.daemon.start();
        cluster.daemon.status_when("failing watches", |status| watch(status, "Ingress") == "failing").await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.nginx.restart().await;
        expect_status("shop.example", 200).await;
        proxy.come_back().await;
        expect_status("comes.example", 200).await;
        drop(load.stop().await);
    });
}

#[test]
fn it_starts_again_with_no_memory_of_what_it_told() {
    cluster::run_alone(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        serve_shop(cluster).await;
        cluster.objects.apply(ingress("goes").host("goes.example", "web")).await;
        cluster.start().await;
        let lists = proxy.count(200, |call| call.lists("ingresses"));
        proxy.go_away().await;
        cluster.objects.delete("Ingress", "goes").await;
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        cluster.daemon.status_when("stale watches", is_stale).await;
        cluster.control_plane.tell(&format!("stop {API_SERVER}")).await;
        cluster.control_plane.tell(&format!("start {API_SERVER}")).await;
        proxy.come_back().await;
        // What it is asked for lies before everything that it knows.
        proxy.counted("another list", lists + 1, 200, |call| call.lists("ingresses")).await;
        expect_status("comes.example", 200).await;
        expect_status("goes.example", 404).await;
        cluster.daemon.status_when("current watches", is_current).await;
    });
}

#[test]
fn it_gets_another_authority() {
    cluster::run_alone(async |cluster| {
        serve_shop(cluster).await;
        cluster.start().await;
        cluster.control_plane.tell("replace-authority").await;
        cluster.reconnect().await;
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        cluster.daemon.status_when("stale watches", is_stale).await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.credentials.write_authority(&std::fs::read_to_string(cluster.control_plane.authority()).unwrap());
        expect_status("comes.example", 200).await;
    });
}

#[test]
fn it_stands_still_for_a_while() {
    cluster::run_alone(async |cluster| {
        serve_shop(cluster).await;
        cluster.start().await;
        let plane = cluster.control_plane;
        plane.tell(&format!("pause {API_SERVER}")).await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        plane.tell(&format!("continue {API_SERVER}")).await;
        cluster.objects.apply(ingress("comes").host("comes.example", "web")).await;
        expect_status("comes.example", 200).await;
    });
}
