//! `ingressd status` and the metrics of a node in a cluster.

use rig::cluster;
use rig::cluster::objects::ADDRESS;
use rig::manifests::ingress;
use rig::wait;

/// The words of each line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn status_names_members_leader_and_what_is_served_since_when() {
    cluster::run(async |cluster| {
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        for name in ["shop", "cart"] {
            cluster.objects.apply(ingress(name).host(&format!("{name}.example"), "web")).await;
        }
        cluster.daemon.set("publish.node", "edge-7");
        cluster.start().await;
        for name in ["shop", "cart"] {
            cluster.objects.until_published(name, &[ADDRESS]).await;
        }
        // The wait is long enough for both to be served for some time. The record of the node is
        // written without regard to them.
        let served = |status: &serde_json::Value, name: &str| {
            let ingresses = status["ingresses"].as_array().cloned().unwrap_or_default();
            let object = ingresses.iter().find(|ingress| ingress["name"] == name)?.clone();
            object["served_seconds"].as_u64().filter(|_| object["addresses"][0] == ADDRESS)
        };
        let old = |status: &serde_json::Value| {
            let lives = status["members"][0]["state"] == "alive";
            lives && ["shop", "cart"].iter().all(|name| served(status, name) >= Some(2))
        };
        cluster.daemon.status_when("a time of service", old).await;
        // A new version is served since it is, the other one as before.
        cluster.objects.apply(ingress("cart").path("cart.example", "Exact", "/only", "web")).await;
        let renewed = |status: &serde_json::Value| {
            served(status, "cart").zip(served(status, "shop")).is_some_and(|(new, old)| new < old)
        };
        let status = cluster.daemon.status_when("a new version", renewed).await;
        assert!(served(&status, "shop") >= Some(2));

        let output = cluster.daemon.command("status").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = words(&text);
        let line =
            |first: &str| lines.iter().find(|words| words.first() == Some(&first)).unwrap_or_else(|| panic!("{text}"));
        // Other tests have objects of other classes meanwhile, which are told as warnings.
        let (first, rest) = text.split_once("serving generation ").unwrap_or_else(|| panic!("{text}"));
        assert!(first == "All is well\n" || first.contains("warning"), "{text}");
        let text = format!("serving generation {rest}");
        assert!(text.contains(", as the cluster https://"), "{text}");
        assert_eq!(line("role")[1], "leader");
        assert!(line("leader")[1].starts_with("edge-7_"), "{text}");
        let node = lines.iter().find(|words| words.first().is_some_and(|word| word.starts_with("edge-7_")));
        let node = node.unwrap_or_else(|| panic!("{text}"));
        assert_eq!((node[1], *node.last().unwrap()), ("alive", ADDRESS), "{text}");
        let namespace = cluster.objects.namespace();
        let shop =
            lines.iter().find(|words| words.starts_with(&[namespace, "shop"])).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((shop[2], shop[3], shop[5], shop[6], shop[7]), ("ok", "1", "s", ADDRESS, "shop.example"), "{text}");
        assert!(shop[4].parse::<u64>().unwrap() >= 2, "{text}");
    });
}

#[test]
fn metrics_report_watches_requests_members_and_what_was_written() {
    cluster::run(async |cluster| {
        cluster.objects.serve_shop().await;
        cluster.start().await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        let at_least = async |series: &str, least: f64| {
            wait::until_right(series, async || cluster.daemon.metric(series).await, |value| *value >= least).await
        };
        for kind in ["EndpointSlice", "Ingress", "IngressClass", "Node", "Secret", "Service"] {
            at_least(&format!(r#"ingressd_watch_state{{kind="{kind}",namespace="",state="current"}}"#), 1.0).await;
            // Nothing happens to some of them: their age grows until the API server confirms them.
            if matches!(kind, "IngressClass" | "Node") {
                at_least(&format!(r#"ingressd_watch_age_seconds{{kind="{kind}",namespace=""}}"#), 0.001).await;
            }
        }
        for (verb, code, least) in
            [("list", 200, 6.0), ("watch", 200, 6.0), ("patch", 200, 1.0), ("create", 201, 3.0), ("update", 200, 2.0)]
        {
            at_least(&format!(r#"ingressd_api_requests_total{{verb="{verb}",code="{code}"}}"#), least).await;
        }
        at_least("ingressd_leader", 1.0).await;
        at_least(r#"ingressd_members{state="serving"}"#, 1.0).await;
        at_least(r#"ingressd_status_writes_total{result="written"}"#, 1.0).await;
        at_least(r#"ingressd_events_total{result="sent"}"#, 1.0).await;
        // A node that is taken out, or whose nginx is down, is still a member and still leads.
        assert!(cluster.daemon.command("drain").arg("--no-wait").status().unwrap().success());
        at_least(r#"ingressd_members{state="drained"}"#, 1.0).await;
        assert!(cluster.daemon.command("undrain").status().unwrap().success());
        at_least(r#"ingressd_members{state="serving"}"#, 1.0).await;
        cluster.nginx.stop().await;
        at_least(r#"ingressd_members{state="down"}"#, 1.0).await;
        assert_eq!(cluster.daemon.metric("ingressd_leader").await, 1.0);
    });
}
