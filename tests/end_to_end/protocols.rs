//! Protocols towards clients and backends.

use serde_json::Value;

use rig::client::{get, grpc_check};
use rig::manifests::{endpoint_slice, ingress, service, service_at, tls_secret};
use rig::{ECHO, ECHO_TLS};

/// A Service that says how its backend is spoken to.
fn by_protocol(name: &str, port: u16, protocol: &str) -> Value {
    let mut service = service(name, port);
    service["spec"]["ports"][0]["appProtocol"] = protocol.into();
    service
}

#[test]
fn websockets_need_no_setting() {
    rig::run(async |rig| {
        rig.manifests.write(
            "ws.yaml",
            &[
                tls_secret("s", &["ws.test"]),
                ingress("ws").host("ws.test", "web").tls(&["ws.test"], "s").annotation("ssl-redirect", "false").build(),
                // As in ingress-nginx, what the Service says about its protocol changes nothing.
                by_protocol("h2c", ECHO, "kubernetes.io/h2c"),
                endpoint_slice("h2c", &["10.244.0.3"], ECHO),
                ingress("h2c").class("nginx").host("h2c.test", "h2c").build(),
            ],
        );
        rig.start().await;
        for url in ["http://ws.test/chat", "https://ws.test/chat", "http://h2c.test/chat"] {
            let mut socket = get(url).open_websocket().await.unwrap();
            for text in ["one", "two"] {
                assert_eq!(socket.say(text).await.unwrap(), text);
            }
        }
    });
}

#[test]
fn clients_speak_http2_over_tls() {
    rig::run(async |rig| {
        rig.manifests.write("h2.yaml", &[ingress("h2").host("h2.test", "web").build()]);
        rig.start().await;
        let reply = get("https://h2.test/").http2().send().await;
        assert_eq!((reply.version, reply.status), (http::Version::HTTP_2, 200));
        assert_eq!(reply.echo().protocol, "HTTP/1.1");
        assert_eq!(reply.echo().header("host"), Some("h2.test"));
    });
}

#[test]
fn backends_are_spoken_to_as_annotations_and_services_say() {
    rig::run(async |rig| {
        let to = |name: &str, service: &str, protocol: &str| {
            let host = format!("{name}.test");
            ingress(name).host(&host, service).annotation("backend-protocol", protocol).build()
        };
        let mut objects = vec![
            to("https", "secure", "HTTPS"),
            to("grpc", "web", "GRPC"),
            to("grpcs", "secure", "grpcs"),
            by_protocol("by-protocol", ECHO_TLS, "https"),
            endpoint_slice("by-protocol", &["10.244.0.3"], ECHO_TLS),
            ingress("app").host("app.test", "by-protocol").build(),
        ];
        objects.extend(service_at("secure", &["10.244.0.2"], ECHO_TLS));
        rig.manifests.write("protocols.yaml", &objects);
        rig.start().await;

        for (host, address) in [("https", "10.244.0.2:8443"), ("app", "10.244.0.3:8443")] {
            let answer = get(&format!("http://{host}.test/")).send().await.echo();
            assert!(answer.tls.is_some(), "{host}");
            assert_eq!(answer.address, address.parse().unwrap());
        }
        for (host, address) in [("grpc", "10.244.0.1:8080"), ("grpcs", "10.244.0.2:8443")] {
            let reply = grpc_check(&format!("https://{host}.test")).send().await;
            assert_eq!(reply.status, 200, "{host}: {reply:?}");
            assert_eq!(reply.trailers.get("grpc-status").unwrap(), "0", "{host}");
            assert_eq!(reply.body, [0, 0, 0, 0, 2, 8, 1], "{host}");
            assert_eq!(reply.header("x-echo-address"), Some(address), "{host}");
        }
    });
}

#[test]
fn what_comes_by_https_goes_by_https_where_that_is_asked_for() {
    rig::run(async |rig| {
        let to = |name: &str, service: &str| {
            let auto = ingress(name).class("nginx").host(&format!("{name}.test"), service);
            auto.annotation("backend-protocol", "AUTO_HTTP").build()
        };
        let mut objects = vec![to("plain", "web"), to("secure", "secure")];
        objects.extend(service_at("secure", &["10.244.0.2"], ECHO_TLS));
        rig.manifests.write("auto.yaml", &objects);
        rig.start().await;
        // Each backend speaks one of the protocols: a connection kept for the other one would be
        // answered.
        for _ in 0..5 {
            assert_eq!(get("http://plain.test/").send().await.echo().tls, None);
            assert_eq!(get("https://plain.test/").send().await.status, 502);
            assert!(get("https://secure.test/a?b").send().await.echo().tls.is_some());
            // The response of nginx to bytes of TLS is no HTTP of this version.
            let reply = get("http://secure.test/").try_send().await;
            assert!(!reply.is_ok_and(|reply| reply.status == 200));
        }
    });
}

#[test]
fn kept_connections_of_one_protocol_never_serve_another() {
    rig::run(async |rig| {
        let to = |name: &str, protocol: &str| {
            ingress(name).host(&format!("{name}.test"), "web").annotation("backend-protocol", protocol).build()
        };
        rig.manifests.write("shared.yaml", &[to("http", "HTTP"), to("grpc", "GRPC")]);
        rig.start().await;
        // The requests are so many that each worker has kept a connection of each protocol.
        for _ in 0..20 {
            assert_eq!(get("http://http.test/").send().await.echo().protocol, "HTTP/1.1");
            let reply = grpc_check("https://grpc.test").send().await;
            assert_eq!(reply.trailers.get("grpc-status").unwrap(), "0", "{reply:?}");
        }
    });
}

#[test]
fn streams_arrive_as_they_are_sent() {
    rig::run(async |rig| {
        rig.manifests
            .write("sse.yaml", &[ingress("sse").host("sse.test", "web").annotation("proxy-buffering", "off").build()]);
        rig.start().await;
        let reply = get("http://sse.test/?events=3").send().await;
        assert_eq!(reply.text(), "data: 1\n\ndata: 2\n\ndata: 3\n\n");
        assert_eq!(get("http://sse.test/?size=3000000").send().await.body.len(), 3_000_000);
    });
}
