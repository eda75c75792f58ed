//! Lists of addresses and limits for clients.
use rig::client::get;
use rig::manifests::{Ingress, ingress};

fn guarded(name: &str) -> Ingress {
    ingress(name).host(&format!("{name}.test"), "web")
}

#[test]
fn lists_choose_clients_by_address() {
    rig::run(async |rig| {
        rig.manifests.write(
            "lists.yaml",
            &[
                guarded("allow").annotation("allowlist-source-range", "10.244.5.0/24, 127.0.0.1").build(),
                guarded("white").annotation("whitelist-source-range", "10.244.5.7").build(),
                guarded("deny").annotation("denylist-source-range", "10.244.5.0/24").build(),
                guarded("both")
                    .annotation("allowlist-source-range", "10.244.0.0/16")
                    .annotation("denylist-source-range", "10.244.5.7/32")
                    .build(),
                guarded("broken").annotation("allowlist-source-range", "10.244.5.0/33").build(),
            ],
        );
        rig.start().await;
        for (host, from, status) in [
            ("allow", "10.244.5.7", 200),
            ("allow", "127.0.0.1", 200),
            ("allow", "10.244.6.7", 403),
            ("white", "10.244.5.7", 200),
            ("white", "10.244.5.8", 403),
            ("deny", "10.244.5.7", 403),
            ("deny", "10.244.6.7", 200),
            ("both", "10.244.5.7", 403),
            ("both", "10.244.5.8", 200),
            ("both", "127.0.0.1", 403),
            // Protecting annotations with a bad value close the routes.
            ("broken", "10.244.5.7", 503),
        ] {
            let request = get(&format!("http://{host}.test/")).from(from);
            // A client cannot choose its address by a header.
            let request = request.header("X-Forwarded-For", "10.244.5.7").header("X-Real-IP", "10.244.5.7");
            assert_eq!(request.send().await.status, status, "{host} from {from}");
        }
    });
}

async fn statuses(url: &str, from: &str, count: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..count {
        statuses.push(get(url).from(from).send().await.status);
    }
    statuses
}

#[test]
fn limits_count_each_client_apart() {
    rig::run(async |rig| {
        rig.manifests.write(
            "limits.yaml",
            &[
                // The limit is one a minute with a burst of two: three requests pass at once, and
                // then none for 20 s.
                guarded("minute").annotation("limit-rpm", "1").annotation("limit-burst-multiplier", "2").build(),
                guarded("exempt")
                    .annotation("limit-rpm", "1")
                    .annotation("limit-burst-multiplier", "2")
                    .annotation("limit-allowlist", "10.244.5.0/24")
                    .build(),
                guarded("connections").annotation("limit-connections", "1").build(),
            ],
        );
        rig.start().await;
        for from in ["10.244.6.1", "10.244.6.2"] {
            assert_eq!(statuses("http://minute.test/", from, 5).await, [200, 200, 200, 503, 503], "{from}");
        }
        assert_eq!(statuses("http://exempt.test/", "10.244.5.1", 5).await, [200; 5]);
        assert_eq!(statuses("http://exempt.test/", "10.244.6.1", 5).await, [200, 200, 200, 503, 503]);

        // An open WebSocket is a connection at work.
        let url = "http://connections.test/";
        let open = get(url).from("10.244.6.1").open_websocket().await.unwrap();
        assert_eq!(get(url).from("10.244.6.1").send().await.status, 503);
        assert_eq!(get(url).from("10.244.6.2").send().await.status, 200);
        drop(open);
        get(url).from("10.244.6.1").send_until("the end of the connection", |reply| reply.status == 200).await;
    });
}

#[test]
fn bodies_have_a_largest_size() {
    rig::run(async |rig| {
        rig.manifests.write(
            "sizes.yaml",
            &[
                guarded("default").build(),
                guarded("small").annotation("proxy-body-size", "10").build(),
                guarded("unlimited").annotation("proxy-body-size", "0").build(),
            ],
        );
        rig.start().await;
        let post = async |host: &str, size: usize| {
            rig::client::post(&format!("http://{host}.test/"), vec![b'x'; size]).send().await.status
        };
        assert_eq!(post("small", 10).await, 200);
        assert_eq!(post("small", 11).await, 413);
        assert_eq!(post("default", 1 << 20).await, 200);
        assert_eq!(post("default", (1 << 20) + 1).await, 413);
        assert_eq!(post("unlimited", 4 << 20).await, 200);
    });
}
