//! Endpoints of Services, and what happens without them.

use std::collections::BTreeSet;

use ingressd_echo::Echo;
use serde_json::json;

use rig::client::get;
use rig::manifests::{endpoint_slice, ingress, service, service_at};
use rig::{ECHO, Rig};

async fn reached(url: &str, times: usize) -> BTreeSet<String> {
    let mut addresses = BTreeSet::new();
    for _ in 0..times {
        let reply = get(url).send().await;
        addresses.insert(reply.header("x-echo-address").map_or(reply.status.to_string(), str::to_owned));
    }
    addresses
}

async fn expect_reached(rig: &Rig, url: &str, expected: &[&str]) {
    let _ = rig;
    let expected: BTreeSet<_> = expected.iter().map(|address| (*address).to_owned()).collect();
    // They are chosen by chance.
    assert_eq!(reached(url, 60).await, expected, "{url}");
}

#[test]
fn every_ready_pod_is_used_and_no_other() {
    rig::run(async |rig| {
        let mut mixed = endpoint_slice("mixed", &["10.244.3.1", "10.244.3.2", "10.244.3.3"], ECHO);
        mixed["endpoints"][1]["conditions"] = json!({"ready": false, "serving": true, "terminating": true});
        // A condition that is not set means ready.
        mixed["endpoints"][2] = json!({"addresses": ["10.244.3.3"]});
        let mut leaving = endpoint_slice("leaving", &["10.244.3.4"], ECHO);
        leaving["endpoints"][0]["conditions"] = json!({"ready": false, "serving": true, "terminating": true});
        let mut objects = vec![
            service("mixed", ECHO),
            mixed,
            service("leaving", ECHO),
            leaving,
            service("empty", ECHO),
            ingress("mixed").host("mixed.test", "mixed").build(),
            ingress("leaving").host("leaving.test", "leaving").build(),
            ingress("empty").host("empty.test", "empty").build(),
            ingress("absent").host("absent.test", "absent").build(),
            ingress("six").host("six.test", "six").build(),
        ];
        objects.extend(service_at("six", &["fd00:10:244::5"], ECHO));
        rig.manifests.write("endpoints.yaml", &objects);
        rig.start().await;
        expect_reached(rig, "http://mixed.test/", &["10.244.3.1:8080", "10.244.3.3:8080"]).await;
        // Terminating endpoints serve only while nothing is ready.
        expect_reached(rig, "http://leaving.test/", &["10.244.3.4:8080"]).await;
        expect_reached(rig, "http://empty.test/", &["503"]).await;
        expect_reached(rig, "http://absent.test/", &["503"]).await;
        expect_reached(rig, "http://six.test/", &["[fd00:10:244::5]:8080"]).await;
    });
}

#[test]
fn endpoints_follow_changes() {
    rig::run(async |rig| {
        rig.manifests.write("web-host.yaml", &[ingress("web").host("web.test", "web").build()]);
        rig.start().await;
        assert_eq!(get("http://web.test/").send().await.echo().address.ip().to_string(), "10.244.0.1");
        rig.manifests.write("web.yaml", &service_at("web", &["10.244.0.9"], ECHO));
        let moved = |reply: &rig::client::Reply| reply.header("x-echo-address") == Some("10.244.0.9:8080");
        get("http://web.test/").send_until("the new endpoint", moved).await;
        rig.manifests.write("web.yaml", &[service("web", ECHO)]);
        get("http://web.test/").send_until("503 without endpoints", |reply| reply.status == 503).await;
        rig.manifests.write("web.yaml", &service_at("web", &["10.244.0.1"], ECHO));
        get("http://web.test/").send_until("the endpoint again", |reply| reply.status == 200).await;
    });
}

#[test]
fn services_choose_how_they_are_reached() {
    rig::run(async |rig| {
        rig.backends.serve(30080, Echo::plain("node")).await;
        rig.backends.serve(80, Echo::plain("cluster")).await;
        rig.daemon.set("listen.http-port", "8000");
        let by = |name: &str, mode: &str| {
            let mut object = service(name, ECHO);
            object["metadata"]["annotations"] = json!({"ingressd/endpoints": mode});
            object["spec"]["type"] = json!("LoadBalancer");
            object["spec"]["clusterIP"] = json!("10.96.0.7");
            object["spec"]["ports"][0]["nodePort"] = json!(30080);
            object["status"] = json!({"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}});
            vec![
                object,
                endpoint_slice(name, &["10.244.4.1"], ECHO),
                ingress(name).host(&format!("{name}.test"), name).build(),
            ]
        };
        let node = |name: &str, address: &str| {
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {
                "addresses": [{"type": "InternalIP", "address": address}],
                "conditions": [{"type": "Ready", "status": "True"}]}})
        };
        let mut objects = vec![node("one", "192.0.2.1"), node("two", "192.0.2.2")];
        for (name, mode) in
            [("pod", "pod"), ("node", "nodeport"), ("cluster", "clusterip"), ("balancer", "loadbalancer")]
        {
            objects.extend(by(name, mode));
        }
        // An object asks for the cluster address of its Services; a headless one has none, and its
        // pods are asked.
        for (name, address) in [("whole", "10.96.0.7"), ("headless", "None")] {
            let mut object = service(name, ECHO);
            object["spec"]["clusterIP"] = json!(address);
            let asks = ingress(name).host(&format!("{name}.test"), name).annotation("service-upstream", "true");
            objects.extend([object, endpoint_slice(name, &["10.244.4.1"], ECHO), asks.build()]);
        }
        rig.manifests.write("modes.yaml", &objects);
        rig.start().await;
        expect_reached(rig, "http://pod.test:8000/", &["10.244.4.1:8080"]).await;
        expect_reached(rig, "http://node.test:8000/", &["192.0.2.1:30080", "192.0.2.2:30080"]).await;
        expect_reached(rig, "http://cluster.test:8000/", &["10.96.0.7:80"]).await;
        expect_reached(rig, "http://balancer.test:8000/", &["203.0.113.7:80"]).await;
        expect_reached(rig, "http://whole.test:8000/", &["10.96.0.7:80"]).await;
        expect_reached(rig, "http://headless.test:8000/", &["10.244.4.1:8080"]).await;
    });
}

#[test]
fn auto_takes_the_first_way_that_a_service_offers_and_the_host_reaches() {
    rig::run(async |rig| {
        rig.backends.serve(30080, Echo::plain("node")).await;
        rig.backends.serve(80, Echo::plain("cluster")).await;
        rig.daemon.set("listen.http-port", "8000");
        rig.daemon.set("upstreams.endpoints", "auto");
        rig.daemon.set("upstreams.reachable", r#"["10.96.0.0/16", "10.244.0.0/16"]"#);
        let balancer = json!({"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}});
        /// The name, whether it has a load balancer and a node port, its cluster address, its pod,
        /// what is reached.
        type Row = (&'static str, bool, bool, &'static str, &'static str, [&'static str; 1]);
        let rows: [Row; 5] = [
            ("balancer", true, true, "10.96.0.7", "10.244.4.1", ["203.0.113.7:80"]),
            ("node", false, true, "10.96.0.7", "10.244.4.1", ["192.0.2.1:30080"]),
            ("cluster", false, false, "10.96.0.7", "10.244.4.1", ["10.96.0.7:80"]),
            ("pod", false, false, "None", "10.244.4.1", ["10.244.4.1:8080"]),
            ("beyond", false, false, "None", "fd00:10:244::9", ["503"]),
        ];
        let mut objects = vec![json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}, "status": {
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
            "conditions": [{"type": "Ready", "status": "True"}]}})];
        for (name, has_balancer, has_node_port, cluster, pod, _) in rows {
            let mut object = service(name, ECHO);
            object["spec"]["clusterIP"] = json!(cluster);
            if has_balancer {
                object["status"] = balancer.clone();
            }
            if has_node_port {
                object["spec"]["ports"][0]["nodePort"] = json!(30080);
            }
            objects.extend([object, endpoint_slice(name, &[pod], ECHO)]);
            objects.push(ingress(name).host(&format!("{name}.test"), name).build());
        }
        rig.manifests.write("auto.yaml", &objects);
        rig.start().await;
        for (name, .., expected) in rows {
            expect_reached(rig, &format!("http://{name}.test:8000/"), &expected).await;
        }
    });
}

#[test]
fn addresses_of_this_host_are_never_upstreams() {
    rig::run(async |rig| {
        let mut objects = Vec::new();
        for (name, address) in
            [("loopback", "127.0.0.1"), ("link", "169.254.169.254"), ("six", "::1"), ("mapped", "::ffff:127.0.0.1")]
        {
            objects.extend(service_at(name, &[address], ECHO));
            objects.push(ingress(name).host(&format!("{name}.test"), name).build());
        }
        rig.manifests.write("local.yaml", &objects);
        rig.start().await;
        for host in ["loopback", "link", "six", "mapped"] {
            expect_reached(rig, &format!("http://{host}.test/"), &["503"]).await;
        }
    });
}

/// Few requests between reloads are not those of one endpoint.
#[test]
fn after_each_reload_another_endpoint_may_be_the_first() {
    rig::run(async |rig| {
        let pods = ["10.244.3.1", "10.244.3.2", "10.244.3.3", "10.244.3.4"];
        rig.manifests.write("pods.yaml", &service_at("pods", &pods, ECHO));
        let by = |name: &str, annotation: Option<&str>| {
            let object = ingress(name).class("nginx").host(&format!("{name}.test"), "pods");
            annotation.into_iter().fold(object, |object, value| object.annotation("load-balance", value)).build()
        };
        rig.manifests.write("usual.yaml", &[by("usual", None), by("least", Some("least_conn"))]);
        rig.start().await;
        let mut first = [BTreeSet::new(), BTreeSet::new()];
        for round in 0..20 {
            let host = format!("round-{round}.test");
            rig.manifests.write("other.yaml", &[ingress("other").host(&host, "web").build()]);
            get(&format!("http://{host}/")).send_until("the reload", |reply| reply.status == 200).await;
            for (name, first) in ["usual", "least"].into_iter().zip(&mut first) {
                first.extend(reached(&format!("http://{name}.test/"), 1).await);
            }
        }
        assert!(first.iter().all(|first| first.len() > 1), "{first:?}");
    });
}
