//! Single keys of the ConfigMap, as nginx has them and as clients and backends see them.

use serde_json::{Value, json};

use crate::config_map::{lines, reported, says};
use rig::client::{Reply, get, put};
use rig::manifests::{in_namespace, ingress, secret, service_at, tls_secret};
use rig::status::reports;
use rig::{Rig, wait};

/// Keys, values, and lines of what nginx reads.
const LINES: &[(&str, &str, &str)] = &[
    ("client-body-timeout", "7", "client_body_timeout 7s;"),
    ("client-header-timeout", "8", "client_header_timeout 8s;"),
    ("enable-underscores-in-headers", "true", "underscores_in_headers on;"),
    ("ignore-invalid-headers", "false", "ignore_invalid_headers off;"),
    ("keep-alive-requests", "77", "keepalive_requests 77;"),
    ("ssl-early-data", "true", "ssl_early_data on;"),
    ("use-gzip", "true", "gzip on;"),
    ("gzip-level", "3", "gzip_comp_level 3;"),
    ("limit-conn-status-code", "429", "limit_conn_status 429;"),
    ("limit-rate", "900", "limit_rate 900k;"),
    ("limit-rate-after", "50", "limit_rate_after 50k;"),
    ("load-balance", "least_conn", "random two least_conn;"),
    ("proxy-connect-timeout", "9", "proxy_connect_timeout 9s;"),
    ("proxy-http-version", "1.0", "proxy_http_version 1.0;"),
    ("proxy-next-upstream", "http_502", "proxy_next_upstream http_502 non_idempotent;"),
    ("retry-non-idempotent", "true", "proxy_next_upstream http_502 non_idempotent;"),
    ("proxy-next-upstream-timeout", "4", "proxy_next_upstream_timeout 4s;"),
    ("proxy-request-buffering", "off", "proxy_request_buffering off;"),
    ("use-port-in-redirects", "true", "port_in_redirect on;"),
    ("proxy-protocol-header-timeout", "13", "proxy_protocol_timeout 13s;"),
    ("proxy-stream-timeout", "11s", "proxy_timeout 11s;"),
    ("proxy-stream-next-upstream-timeout", "12s", "proxy_next_upstream_timeout 12s;"),
    ("proxy-stream-next-upstream-tries", "2", "proxy_next_upstream_tries 2;"),
    ("proxy-stream-responses", "5", "proxy_responses 5;"),
];

/// Keys that requests show.
const SEEN: &[(&str, &str)] = &[
    ("preserve-trailing-slash", "true"),
    ("hsts", "true"),
    ("hsts-include-subdomains", "false"),
    ("hsts-preload", "true"),
    ("enable-real-ip", "true"),
    ("use-forwarded-headers", "true"),
    ("proxy-real-ip-cidr", "127.0.0.0/8"),
    ("forwarded-for-header", "X-Client-Address"),
    ("compute-full-forwarded-for", "true"),
    ("allow-cross-namespace-resources", "true"),
];

fn map(name: &str, key: &str, service: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: service}})
}

/// A Service that is spoken to by UDP.
fn by_udp(name: &str) -> [Value; 2] {
    let mut objects = service_at(name, &["10.244.0.5"], 5353);
    objects[0]["spec"]["ports"][0]["protocol"] = json!("UDP");
    objects[1]["ports"][0]["protocol"] = json!("UDP");
    objects
}

async fn start(rig: &mut Rig) {
    rig.nginx.serve_streams(&rig.daemon.root());
    rig.daemon.set("ingress-nginx.configmap", "default/controller");
    rig.daemon.set("ingress-nginx.tcp-services-configmap", "default/tcp");
    rig.daemon.set("ingress-nginx.udp-services-configmap", "default/udp");
    let host = |name: &str| ingress(name).class("nginx").host(&format!("{name}.test"), "web");
    let [service, slice] = by_udp("names");
    let objects = [
        service,
        slice,
        host("plain").annotation("limit-connections", "50").build(),
        host("secure").tls(&["secure.test"], "cert").build(),
        host("foreign").annotation("auth-type", "basic").annotation("auth-secret", "other/users").build(),
        tls_secret("cert", &["secure.test"]),
        in_namespace("other", secret("users", "Opaque", &[("auth", "ann:{SHA}x\n")])),
        map("tcp", "5432", "default/web:80:PROXY"),
        map("udp", "5353", "default/names:80"),
    ];
    rig.manifests.write("objects.yaml", &objects);
    let lines = LINES.iter().map(|(key, value, _)| (*key, *value));
    says(rig, &lines.chain(SEEN.iter().copied()).collect::<Vec<_>>());
    rig.start().await;
}

#[test]
fn each_key_is_given_to_nginx_and_seen_by_clients_and_backends() {
    rig::run(async |rig| {
        start(rig).await;
        reported(rig, &[]).await;
        let found = lines(rig);
        let missing = LINES.iter().filter(|(_, _, line)| !found.iter().any(|found| found == line));
        let missing: Vec<_> = missing.map(|(key, _, line)| format!("{key}: {line}")).collect();
        assert!(missing.is_empty(), "\n{}", missing.join("\n"));

        let redirect = get("http://secure.test/a/").send().await;
        assert_eq!(redirect.header("location"), Some("https://secure.test/a/"));
        let secure = get("https://secure.test/").send().await;
        assert_eq!(secure.header("strict-transport-security"), Some("max-age=31536000; preload"));
        assert_eq!(get("http://foreign.test/").send().await.status, 401);
        let reported =
            get("http://plain.test/").header("X-Client-Address", "192.0.2.7").header("X_Odd", "1").send().await;
        assert_eq!(reported.echo().header("x-real-ip"), Some("192.0.2.7"));
        assert!(
            reported.echo().header("x-forwarded-for").is_some_and(|value| value.contains("192.0.2.7")),
            "{reported:?}"
        );
        assert_eq!(reported.echo().header("x_odd"), Some("1"));
        assert_eq!(reported.echo().protocol, "HTTP/1.0");
        assert_eq!(put("http://plain.test/", vec![b'x'; 9000]).send().await.echo().body_length, 9000);

        says(
            rig,
            &[
                ("use-http2", "false"),
                ("upstream-keepalive-connections", "5"),
                ("service-upstream", "true"),
                ("annotations-risk-level", "Low"),
                ("proxy-stream-next-upstream", "false"),
                ("enable-syslog", "true"),
                ("syslog-host", "127.0.0.1"),
                ("syslog-port", "5140"),
            ],
        );
        // The password is of medium risk. A value that protects and may not be used closes the
        // routes.
        let closed = |reply: &Reply| reply.status == 503;
        get("http://foreign.test/").send_until("the risk to count", closed).await;
        let is_reported = |status: &Value| reports(status, "Ingress foreign", "InvalidSecurityValue");
        rig.daemon.status_when("the risk to be told", is_reported).await;
        let found = lines(rig);
        for line in ["keepalive 5;", "proxy_next_upstream off;"] {
            assert!(found.iter().any(|found| found == line), "{line}");
        }
        let syslog = |line: &String| line.starts_with("access_log syslog:server=127.0.0.1:5140");
        assert!(found.iter().any(syslog), "no log is sent");
        assert!(get("https://secure.test/").http2().try_send().await.is_err(), "HTTP/2 is spoken");

        says(rig, &[("disable-http-access-log", "true")]);
        wait::until("no log to be written", async || lines(rig).contains(&"access_log off;".to_owned()).then_some(()))
            .await;
    });
}
