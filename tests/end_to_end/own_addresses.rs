//! Addresses of edge nodes are no backends, and requests that come back to nginx do not loop
//! forever.

use std::fs;

use nix::sys::signal::Signal;
use rig::client::get;
use rig::manifests::{ingress, service_at};
use rig::namespace::ip;
use rig::status::{notes, reports};
use serde_json::Value;

/// The node's own address.
const NODE: &str = "198.51.100.7";

#[test]
fn no_port_of_the_node_is_a_backend_unless_it_is_listed() {
    rig::run(async |rig| {
        ip(&["address", "add", &format!("{NODE}/32"), "dev", "lo"]);
        // There is another site of the same nginx, which trusts the node, and pods that share the
        // node's network.
        let site = format!("server {{ listen {NODE}:9090; allow {NODE}; deny all; return 200 \"for the node\"; }}\n");
        rig.nginx.write_site("site.conf", &site);
        let objects = |name: &str, port: u16| {
            let [service, slice] = service_at(name, &[NODE], port);
            [service, slice, ingress(name).host(&format!("{name}.test"), name).build()]
        };
        rig.manifests.write("theirs.yaml", &[objects("site", 9090), objects("pod", 8080)].concat());
        rig.start().await;
        let refused = |status: &Value| {
            ["site", "pod"].iter().all(|name| reports(status, &format!("Ingress {name}"), "ForbiddenTarget"))
        };
        let status = rig.daemon.status_when("the refusal", refused).await;
        let reported = notes(&status, "Ingress pod", "ForbiddenTarget");
        assert!(
            reported.iter().any(|note| note.contains("upstreams.own-addresses") && note.contains(NODE)),
            "{reported:?}"
        );
        for host in ["site.test", "pod.test"] {
            assert_eq!(get(&format!("http://{host}/")).send().await.status, 503, "{host}");
        }

        let file = rig.folder().join("ingressd.toml");
        let settings = fs::read_to_string(&file).unwrap();
        let listed = format!("[upstreams]\nown-addresses = [\"{NODE}:8080\"]\n");
        fs::write(&file, settings.replace("[upstreams]\n", &listed)).unwrap();
        rig.daemon.signal(Signal::SIGHUP);
        get("http://pod.test/").send_until("the pod on the node", |reply| reply.status == 200).await;
        assert_eq!(get("http://site.test/").send().await.status, 503);
    });
}

#[test]
fn a_backend_that_relays_back_ends_after_a_few_rounds() {
    rig::run(async |rig| {
        // A proxy in a pod sends requests back, with every header that it gets.
        let log = rig.folder().join("rounds.log");
        let relay = format!(
            "server {{ listen 10.244.7.7:8181; access_log {}; location / {{ proxy_pass http://127.0.0.1; \
             proxy_set_header Host $host; }} }}\n",
            log.display()
        );
        rig.nginx.write_site("relay.conf", &relay);
        let objects = [
            &service_at("relay", &["10.244.7.7"], 8181)[..],
            &[
                ingress("loop").host("loop.test", "relay").build(),
                ingress("once").path("loop.test", "Exact", "/end", "web").build(),
            ],
        ]
        .concat();
        rig.manifests.write("loop.yaml", &objects);
        rig.start().await;
        let rounds = || fs::read_to_string(&log).unwrap_or_default().lines().count();
        assert_eq!(get("http://loop.test/").send().await.status, 400);
        assert!((2..=10).contains(&rounds()), "{} rounds", rounds());
        // A client that counts for itself only reaches its own end sooner.
        let forged = "1".repeat(7000);
        assert_eq!(get("http://loop.test/").header("X-Ingress-Hops", &forged).send().await.status, 400);
        let answer = get("http://loop.test/end").header("X-Ingress-Hops", "x").send().await.echo();
        assert_eq!(answer.header("x-ingress-hops"), Some("1xxxx"));
    });
}
