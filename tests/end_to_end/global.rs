//! Keys of the ConfigMap that concern all hosts, through the real nginx.

use serde_json::{Value, json};

use crate::config_map::{reported, says};
use rig::Rig;
use rig::client::{Reply, get};
use rig::manifests::{Ingress, ingress, tls_secret};

fn headers(name: &str, data: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<_, _> = data.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

fn host(name: &str, class: &str) -> Ingress {
    ingress(name).class(class).host(&format!("{name}.test"), "web")
}

async fn start(rig: &mut Rig, objects: &[Value], data: &[(&str, &str)]) {
    rig.daemon.set("ingress-nginx.configmap", "default/controller");
    rig.manifests.write("objects.yaml", objects);
    says(rig, data);
    rig.start().await;
}

#[test]
fn headers_of_config_maps_reach_clients_and_backends() {
    rig::run(async |rig| {
        let objects = [
            host("plain", "nginx").build(),
            host("own", "ingressd").build(),
            // These locations have headers of their own.
            host("cors", "nginx").annotation("enable-cors", "true").build(),
            host("mesh", "nginx").annotation("upstream-vhost", "internal.test").build(),
            // What asks for the service is a request of its own, of another upstream.
            host("asking", "nginx").annotation("auth-url", "http://web.default.svc.cluster.local/").build(),
        ];
        let answers = [
            ("X-Frame-Options", "DENY"),
            ("X-Asked", "$host"),
            ("Server", "mine"),
            ("X-Bad", "a\nb"),
            ("X-Id", "$req_id"),
        ];
        rig.manifests.write("answers.yaml", &[headers("answers", &answers)]);
        let requests = [
            ("X-Site", "edge"),
            ("X-Real-IP", "forged"),
            ("X-Told", "$http_x_given"),
            ("X-Request-Start", "t=${msec}"),
            ("X-Ingress-Name", "$namespace/$ingress_name/$service_name"),
            ("X-SSL-Protocol", "$ssl_protocol"),
            ("X-Secret", "$http_cookie"),
            ("X-Upstream", "$proxy_upstream_name $req_id"),
        ];
        rig.manifests.write("requests.yaml", &[headers("requests", &requests)]);
        let data = [
            ("add-headers", "default/answers"),
            ("proxy-set-headers", "default/requests"),
            ("hide-headers", "X-Powered-By,X-Secret"),
            ("proxy-add-original-uri-header", "true"),
        ];
        start(rig, &objects, &data).await;
        for name in ["plain", "own", "cors", "mesh", "asking"] {
            let url = format!(
                "http://{name}.test/a?header=X-Powered-By:php&header=X-Frame-Options:ALLOW&header=Set-Cookie:a%3Db"
            );
            let reply = get(&url).header("Origin", "http://other.test").header("X-Given", "yes");
            let reply = reply.header("X-Request-ID", "7").send().await;
            assert_eq!((reply.status, reply.header("x-powered-by")), (200, None), "{name}");
            assert_eq!(
                (reply.header("x-frame-options"), reply.header("set-cookie")),
                (Some("DENY"), Some("a=b")),
                "{name}"
            );
            assert_eq!(reply.header("x-asked"), Some(&*format!("{name}.test")));
            assert_ne!(reply.header("server"), Some("mine"));
            let echo = reply.echo();
            assert_eq!((echo.header("x-site"), echo.header("x-told")), (Some("edge"), Some("yes")), "{name}");
            assert_eq!(echo.header("x-real-ip"), Some("127.0.0.1"), "{name}");
            let start = echo.header("x-request-start").and_then(|start| start.strip_prefix("t=")?.parse::<f64>().ok());
            assert!(start.is_some_and(|start| start > 1e9), "{name}");
            assert_eq!(echo.header("x-ingress-name"), Some(&*format!("default/{name}/web")), "{name}");
            assert_eq!((echo.header("x-secret"), echo.header("x-ssl-protocol")), (None, None), "{name}");
            assert_eq!(echo.header("x-upstream"), Some("default-web-80 7"), "{name}");
            assert_eq!(reply.header("x-id"), Some("7"), "{name}");
            assert!(echo.header("x-original-uri").is_some_and(|uri| uri.starts_with("/a?header=")), "{name}");
        }
        // The ConfigMap that names them does not change.
        rig.manifests.write("answers.yaml", &[headers("answers", &[("X-Frame-Options", "SAMEORIGIN")])]);
        let new = |reply: &Reply| reply.header("x-frame-options") == Some("SAMEORIGIN");
        get("http://plain.test/").send_until("the new header", new).await;
        says(rig, &[("add-headers", "default/nothing"), ("proxy-set-headers", "other/requests")]);
        reported(rig, &["CrossNamespace", "MissingConfigMap"]).await;
        let reply = get("http://plain.test/").send().await;
        assert_eq!((reply.status, reply.header("x-frame-options")), (200, None));
    });
}

#[test]
fn all_hosts_answer_403_to_blocked_clients() {
    rig::run(async |rig| {
        let data = [
            ("block-cidrs", "10.244.9.0/24,10.244.9.1"),
            ("block-user-agents", "~*badbot,curl/1.0"),
            ("block-referers", "~^http://spam\\.test/"),
        ];
        start(rig, &[host("plain", "nginx").build(), host("own", "ingressd").build()], &data).await;
        for url in ["http://plain.test/", "http://own.test/"] {
            for (from, header, value, status) in [
                ("127.0.0.1", "X-Any", "x", 200),
                ("10.244.9.7", "X-Any", "x", 403),
                ("127.0.0.1", "User-Agent", "a BadBot/2", 403),
                ("127.0.0.1", "User-Agent", "curl/1.0", 403),
                ("127.0.0.1", "User-Agent", "curl/1.01", 200),
                ("127.0.0.1", "Referer", "http://spam.test/x", 403),
                ("127.0.0.1", "Referer", "http://other.test/http://spam.test/", 200),
            ] {
                let reply = get(url).from(from).header(header, value).send().await;
                assert_eq!(reply.status, status, "{url} {header}: {value}");
            }
        }
        // A value that protects has a mistake, so the earlier value stays in force.
        says(rig, &[("block-cidrs", "10.244.9.0/24, oops")]);
        reported(rig, &["InvalidValue"]).await;
        assert_eq!(get("http://plain.test/").from("10.244.9.7").send().await.status, 403);
        says(rig, &[]);
        get("http://plain.test/").from("10.244.9.7").send_until("nobody is blocked", |reply| reply.status == 200).await;
    });
}

#[test]
fn statuses_redirects_and_compression_are_as_it_says() {
    rig::run(async |rig| {
        let objects = [
            host("plain", "nginx").build(),
            host("limited", "nginx").annotation("limit-rpm", "1").annotation("limit-burst-multiplier", "1").build(),
            ingress("secure")
                .class("nginx")
                .path("secure.test", "Prefix", "/", "web")
                .path("secure.test", "Prefix", "/open", "web")
                .tls(&["secure.test"], "cert")
                .build(),
            tls_secret("cert", &["secure.test"]),
        ];
        let data = [
            ("limit-req-status-code", "429"),
            ("no-tls-redirect-locations", "/open,/other"),
            ("use-gzip", "true"),
            ("gzip-min-length", "1"),
            ("gzip-types", "application/json text/plain"),
            ("allow-backend-server-header", "true"),
            ("ssl-reject-handshake", "true"),
            ("ssl-session-tickets", "true"),
            ("ssl-session-cache", "false"),
            ("ssl-session-cache-size", "1m"),
            ("ssl-session-timeout", "5m"),
            ("ssl-buffer-size", "8k"),
            ("ssl-ecdh-curve", "X25519:prime256v1"),
            ("http2-max-concurrent-streams", "64"),
            ("upstream-keepalive-requests", "5"),
            ("upstream-keepalive-time", "1m"),
            ("upstream-keepalive-timeout", "30"),
        ];
        start(rig, &objects, &data).await;
        reported(rig, &[]).await;
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(get("http://limited.test/").send().await.status);
        }
        assert_eq!(statuses, [200, 200, 429]);
        assert_eq!(get("http://secure.test/").send().await.status, 308);
        assert_eq!(get("http://secure.test/open/x").send().await.status, 200);
        let compressed = get("http://plain.test/").header("Accept-Encoding", "gzip").send().await;
        assert_eq!(
            (compressed.header("content-encoding"), compressed.header("vary")),
            (Some("gzip"), Some("Accept-Encoding"))
        );
        let reply = get("http://plain.test/?header=Server:backend").send().await;
        assert_eq!((reply.header("server"), reply.header("content-encoding")), (Some("backend"), None));
        assert_eq!(get("https://secure.test/").send().await.status, 200);
        assert!(get("https://unknown.test/").try_send().await.is_err(), "no certificate is shown to strangers");
        // Values that cannot be read change nothing of what nginx does by itself.
        says(rig, &[("limit-req-status-code", "200"), ("use-gzip", "perhaps"), ("ssl-session-cache-size", "1k")]);
        reported(rig, &["InvalidValue", "InvalidValue", "InvalidValue"]).await;
        let plain = |reply: &Reply| reply.header("content-encoding").is_none();
        get("http://plain.test/").header("Accept-Encoding", "gzip").send_until("no compression", plain).await;
    });
}

#[test]
fn proxies_say_the_host_by_the_header_that_it_names() {
    rig::run(async |rig| {
        let keys = |reported: &'static str| {
            [
                ("use-forwarded-headers", "true"),
                ("proxy-real-ip-cidr", "10.244.9.0/24"),
                ("forwarded-host-header", reported),
                ("generate-request-id", "false"),
                ("disable-ipv6", "true"),
                ("forwarded-for-proxy-protocol-header", "X-Forwarded-For-Proxy-Protocol"),
            ]
        };
        start(rig, &[host("plain", "nginx").build(), host("own", "ingressd").build()], &keys("X-Asked-Host")).await;
        reported(rig, &[]).await;
        let ask = async |url: &str, from: &str| {
            let request = get(url).from(from).header("X-Asked-Host", "asked.test");
            request.header("X-Forwarded-Host", "forwarded.test").send().await.echo()
        };
        for url in ["http://plain.test/", "http://own.test/"] {
            let own = url.trim_start_matches("http://").trim_end_matches('/');
            for (from, seen) in [("10.244.9.1", "asked.test"), ("10.244.8.1", own)] {
                let echo = ask(url, from).await;
                assert_eq!(echo.header("x-forwarded-host"), Some(seen), "{url} from {from}");
                assert_eq!(echo.header("x-request-id"), None, "{url}");
            }
        }
        let given = get("http://plain.test/").header("X-Request-ID", "mine").send().await.echo();
        assert_eq!(given.header("x-request-id"), Some("mine"));
        assert!(tokio::net::TcpStream::connect(("::1", 80)).await.is_err(), "IPv6 is left out");
        // The list of trusted proxies has a mistake, so the earlier value stays in force.
        says(rig, &keys("X Asked"));
        reported(rig, &["InvalidValue"]).await;
        assert_eq!(ask("http://plain.test/", "10.244.9.1").await.header("x-forwarded-host"), Some("asked.test"));
        says(rig, &[]);
        let with_id = |reply: &Reply| reply.echo().header("x-request-id").is_some();
        get("http://plain.test/").send_until("a number of its own", with_id).await;
        tokio::net::TcpStream::connect(("::1", 80)).await.unwrap();
    });
}
