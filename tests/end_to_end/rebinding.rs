//! Requests with a host name that a stranger chose (DNS rebinding) get no data of the node.
use rig::client::get;
use rig::manifests::ingress;

#[test]
fn endpoints_and_nginx_s_counters_answer_to_names_of_this_host_alone() {
    rig::run(async |rig| {
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.daemon.set("http.hosts", r#"["edge1.example"]"#);
        rig.start().await;
        let endpoints = ["http://127.0.0.1:10254/status.json", "http://127.0.0.1:10254/metrics"];
        let counters = ["http://127.0.0.1:10246/stub_status", "http://127.0.0.1:10246/generation"];
        for (host, daemon, nginx) in [
            ("127.0.0.1:10254", 200, 200),
            ("[::1]:10254", 200, 200),
            ("localhost", 200, 200),
            ("LocalHost.:10246", 200, 200),
            ("a.localhost", 200, 200),
            ("edge1.example:10254", 200, 421),
            ("rebound.example", 421, 421),
            ("127.0.0.1.rebound.example", 421, 421),
            ("localhost.rebound.example", 421, 421),
        ] {
            for (urls, expected) in [(endpoints, daemon), (counters, nginx)] {
                for url in urls {
                    let reply = get(url).header("host", host).send().await;
                    assert_eq!(reply.status, expected, "{url} by {host}");
                    let reported = format!("{:?} {}", reply.headers, reply.text());
                    assert!(expected == 200 || !reported.contains("a.example"), "{url} by {host}: {reported}");
                }
            }
        }
        // Pages of errors, and the header, would say which nginx it is.
        let lost = get("http://127.0.0.1:10246/nothing").send().await;
        let strange = get("http://127.0.0.1:10246/generation").header("host", "rebound.example").send().await;
        for (reply, status) in [(lost, 404), (strange, 421)] {
            let reported = format!("{:?} {}", reply.headers, reply.text());
            assert_eq!((reply.status, reported.contains("nginx/")), (status, false), "{reported}");
        }
    });
}
