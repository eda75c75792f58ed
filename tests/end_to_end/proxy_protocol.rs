//! Clients behind load balancers that speak the PROXY protocol, through the real nginx.

use std::net::{IpAddr, SocketAddr};

use serde_json::json;

use rig::Rig;
use rig::client::{Request, get, raw};
use rig::manifests::{ingress, tls_secret};
use rig::status::{notes, serving};

/// The trusted load balancer, and an untrusted client.
const BALANCER: &str = "10.244.9.9";
const STRANGER: &str = "10.244.8.8";
const TRUSTED: &str = r#"["10.244.9.0/24"]"#;
/// Headers in which clients claim an address, and which nginx must not trust.
const FORGED: [(&str, &str); 6] = [
    ("X-Forwarded-For", "1.2.3.4"),
    ("X-Real-IP", "1.2.3.4"),
    ("X-Forwarded-Proto", "gopher"),
    ("X-Forwarded-Host", "evil.test"),
    ("X-Forwarded-Port", "1"),
    ("Forwarded", "for=1.2.3.4"),
];

/// The header in both versions, for a client that connected to this port of the load balancer.
fn headers(client: &str, port: u16) -> [Vec<u8>; 2] {
    let client: IpAddr = client.parse().unwrap();
    let (family, server) = match client {
        IpAddr::V4(_) => ("TCP4", "198.51.100.1"),
        IpAddr::V6(_) => ("TCP6", "2001:db8::1"),
    };
    let text = format!("PROXY {family} {client} {server} 50000 {port}\r\n");
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let ports = [50000_u16.to_be_bytes(), port.to_be_bytes()].concat();
    let addresses = [octets(client), octets(server.parse().unwrap()), ports].concat();
    let family = if client.is_ipv4() { 0x11 } else { 0x21 };
    [text.into_bytes(), binary(0x21, family, &addresses)]
}

/// Version 2: command, family and addresses.
fn binary(command: u8, family: u8, addresses: &[u8]) -> Vec<u8> {
    let length = u16::try_from(addresses.len()).unwrap().to_be_bytes();
    [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[command, family], &length, addresses].concat()
}

/// Header 1 of a client that connected to port 80.
fn of(client: &str) -> Vec<u8> {
    headers(client, 80)[0].clone()
}

fn forging(request: Request) -> Request {
    FORGED.iter().fold(request, |request, (name, value)| request.header(name, value))
}

fn write_hosts(rig: &Rig) {
    let host = |name: &str, class: &str| {
        let host = format!("{name}.test");
        ingress(name).class(class).host(&host, "web").tls(&[&host], "s").annotation("ssl-redirect", "false").build()
    };
    let objects = [tls_secret("s", &["h.test", "n.test"]), host("h", "ingressd"), host("n", "nginx")];
    rig.manifests.write("hosts.yaml", &objects);
}

/// Whether a client that says nothing about itself gets an answer.
async fn answers_plain_clients() -> bool {
    let request = b"GET / HTTP/1.1\r\nHost: h.test\r\nConnection: close\r\n\r\n";
    !raw(SocketAddr::from(([127, 0, 0, 1], 80)), request).await.is_empty()
}

#[test]
fn trusted_load_balancers_name_clients_and_nobody_does_by_headers() {
    rig::run(async |rig| {
        write_hosts(rig);
        let secured = |name: &str, class: &str, redirect: &str| {
            let host = format!("{name}.test");
            let object = ingress(name).class(class).host(&host, "web").tls(&[&host], "s");
            object.annotation("ssl-redirect", redirect).build()
        };
        let objects = [
            secured("secured-h", "ingressd", "true"),
            secured("secured-n", "nginx", "true"),
            secured("passed-h", "ingressd", "false"),
            secured("passed-n", "nginx", "false"),
        ];
        rig.manifests.write("secured.yaml", &objects);
        rig.daemon.set("listen.proxy-protocol", "true");
        rig.daemon.set("access.trusted-proxies", TRUSTED);
        rig.daemon.set("access.append-forwarded-for", "true");
        rig.start().await;
        let hosts = ["h.test", "n.test"];
        let ways = [("http", false), ("https", false), ("https", true)];
        for (host, (scheme, http2)) in hosts.into_iter().flat_map(|host| ways.map(|way| (host, way))) {
            for (client, version) in [("192.0.2.77", 0), ("192.0.2.77", 1), ("2001:db8::77", 0), ("2001:db8::77", 1)] {
                for (from, seen_client, port) in
                    [(BALANCER, client, "8443"), (STRANGER, STRANGER, if scheme == "http" { "80" } else { "443" })]
                {
                    let request = get(&format!("{scheme}://{host}/")).from(from);
                    let request = forging(request.behind(headers(client, 8443)[version].clone()));
                    let request = if http2 { request.http2() } else { request };
                    let seen = request.send().await.echo();
                    for (name, value) in [
                        ("x-real-ip", Some(seen_client)),
                        ("x-forwarded-for", Some(seen_client)),
                        ("x-forwarded-port", Some(port)),
                        ("x-forwarded-proto", Some(scheme)),
                        ("x-forwarded-host", Some(host)),
                        ("forwarded", None),
                    ] {
                        assert_eq!(seen.header(name), value, "{name} of {scheme}://{host} from {from}, {version}");
                    }
                }
            }
        }
        // A load balancer that ends TLS says so by the port that its client connected to.
        for (from, port, status, scheme) in [
            (BALANCER, 443, 200, "https"),
            (BALANCER, 80, 308, "http"),
            (BALANCER, 8443, 308, "http"),
            (STRANGER, 443, 308, "http"),
        ] {
            for version in [0, 1] {
                let to = |host: &str| {
                    let request = forging(get(&format!("http://{host}/shop/")).from(from));
                    request.behind(headers("192.0.2.77", port)[version].clone())
                };
                for host in ["secured-h.test", "secured-n.test", "passed-h.test", "passed-n.test"] {
                    let reply = to(host).send().await;
                    let expected = if host.starts_with("secured") { status } else { 200 };
                    assert_eq!(reply.status, expected, "{host} from {from} by {port}");
                    if reply.status == 200 {
                        assert_eq!(reply.echo().header("x-forwarded-proto"), Some(scheme), "{host} from {from}");
                    }
                }
                let seen = to("passed-n.test").send().await.echo();
                for name in ["x-forwarded-scheme", "x-scheme"] {
                    assert_eq!(seen.header(name), Some(scheme), "{name} from {from}");
                }
            }
        }
        // A header without a client, as that of a health check, leaves the address of the
        // connection.
        for header in [b"PROXY UNKNOWN\r\n".to_vec(), binary(0x20, 0, &[])] {
            let seen = forging(get("http://h.test/").from(BALANCER).behind(header)).send().await.echo();
            assert_eq!((seen.header("x-real-ip"), seen.header("x-forwarded-port")), (Some(BALANCER), Some("80")));
        }
        // Each request of a connection has the same client.
        let request = get("http://h.test/").from(BALANCER).behind(of("192.0.2.78"));
        let mut connection = request.connect().await.unwrap();
        for _ in 0..2 {
            let seen = connection.send(&request).await.unwrap().echo();
            assert_eq!(seen.header("x-real-ip"), Some("192.0.2.78"));
        }
        // A client that does not speak the protocol gets no answer, also over TLS.
        assert!(!answers_plain_clients().await);
        assert!(get("https://h.test/").try_send().await.is_err());
    });
}

#[test]
fn lists_and_limits_see_who_is_named_by_trusted_load_balancers_alone() {
    rig::run(async |rig| {
        let object = |name: &str| ingress(name).host(&format!("{name}.test"), "web");
        let objects = [
            object("allow").annotation("allowlist-source-range", "192.0.2.0/24").build(),
            object("deny").annotation("denylist-source-range", "192.0.2.0/24").build(),
            // The limit is one a minute with a burst of two: three requests pass at once, and then
            // none for 20 s.
            object("minute").annotation("limit-rpm", "1").annotation("limit-burst-multiplier", "2").build(),
        ];
        rig.manifests.write("lists.yaml", &objects);
        rig.daemon.set("listen.proxy-protocol", "true");
        rig.daemon.set("access.trusted-proxies", TRUSTED);
        rig.start().await;
        let status = async |host: &str, from: &str, client: &str| {
            get(&format!("http://{host}.test/")).from(from).behind(of(client)).send().await.status
        };
        for (host, from, client, expected) in [
            ("allow", BALANCER, "192.0.2.7", 200),
            ("allow", BALANCER, "198.51.100.7", 403),
            ("allow", STRANGER, "192.0.2.7", 403),
            ("deny", BALANCER, "192.0.2.7", 403),
            ("deny", BALANCER, "198.51.100.7", 200),
            ("deny", STRANGER, "192.0.2.7", 200),
        ] {
            assert_eq!(status(host, from, client).await, expected, "{host} from {from} for {client}");
        }
        let first = |count: usize| ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"].into_iter().take(count);
        for client in first(2) {
            for expected in [200, 200, 200, 503] {
                assert_eq!(status("minute", BALANCER, client).await, expected, "{client}");
            }
        }
        // A stranger is one client, whatever it says.
        let mut statuses = Vec::new();
        for client in first(4) {
            statuses.push(status("minute", STRANGER, client).await);
        }
        assert_eq!(statuses, [200, 200, 200, 503]);
    });
}

/// How `ingressd reload` ends, and what it complains of.
async fn reload(rig: &Rig) -> (Option<i32>, String) {
    let output = tokio::process::Command::from(rig.daemon.command("reload")).output().await.unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn settings_switch_it_by_one_reload_and_need_a_trusted_load_balancer() {
    rig::run(async |rig| {
        write_hosts(rig);
        rig.start().await;
        assert!(answers_plain_clients().await);
        let file = rig.folder().join("ingressd.toml");
        let good = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{good}\n[listen]\nproxy-protocol = true\n")).unwrap();
        let (code, words) = reload(rig).await;
        assert!(code == Some(78) && words.contains("access.trusted-proxies"), "{code:?}: {words}");
        assert!(answers_plain_clients().await);

        let reloads = rig.daemon.reloads().await;
        let on = format!("{good}\n[listen]\nproxy-protocol = true\n[access]\ntrusted-proxies = {TRUSTED}\n");
        std::fs::write(&file, on).unwrap();
        assert_eq!(reload(rig).await, (Some(0), String::new()));
        let reported = get("http://h.test/").from(BALANCER).behind(of("192.0.2.77"));
        let seen = reported.send_until("the address that is told", |reply| reply.status == 200).await.echo();
        assert_eq!(seen.header("x-real-ip"), Some("192.0.2.77"));
        // Workers of the generation before may take connections until the new one is confirmed.
        rig.daemon.status_when("the confirmed generation", |status| serving(status) == Some(2)).await;
        assert_eq!(rig.daemon.reloads().await, reloads + 1);
        assert!(!answers_plain_clients().await);

        std::fs::write(&file, good).unwrap();
        assert_eq!(reload(rig).await, (Some(0), String::new()));
        rig.daemon.status_when("the confirmed generation", |status| serving(status) == Some(3)).await;
        assert!(answers_plain_clients().await);
        assert_eq!(rig.daemon.reloads().await, reloads + 2);
    });
}

#[test]
fn the_config_map_switches_it() {
    rig::run(async |rig| {
        let config_map = |rig: &Rig, data: serde_json::Value| {
            let metadata = json!({ "name": "controller" });
            let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
            rig.manifests.write("controller.yaml", &[object]);
        };
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        write_hosts(rig);
        config_map(rig, json!({ "use-proxy-protocol": "true", "proxy-real-ip-cidr": "10.244.9.0/24" }));
        rig.start().await;
        for (from, client) in [(BALANCER, "192.0.2.77"), (STRANGER, STRANGER)] {
            let seen = forging(get("http://n.test/").from(from).behind(of("192.0.2.77"))).send().await.echo();
            assert_eq!(seen.header("x-forwarded-for"), Some(client), "{from}");
        }
        let status = rig.daemon.status().await.unwrap();
        assert_eq!(notes(&status, "ConfigMap controller", "UnsupportedKey"), [""; 0]);

        // Without a list every client's PROXY protocol is trusted, as in ingress-nginx, with a
        // finding. Headers are not trusted.
        config_map(rig, json!({ "use-proxy-protocol": "true", "use-forwarded-headers": "true" }));
        let request = forging(get("http://n.test/").from(STRANGER).behind(of("192.0.2.77")));
        let right = |reply: &rig::client::Reply| reply.echo().header("x-forwarded-for") == Some("192.0.2.77");
        let seen = request.send_until("a stranger who is trusted", right).await.echo();
        assert_eq!((seen.header("forwarded"), seen.header("x-forwarded-proto")), (None, Some("http")));
        let reported = |status: &_, reason| notes(status, "ConfigMap controller", reason);
        let listed = |note: &String| note.contains("proxy-real-ip-cidr");
        let right = |status: &_| {
            reported(status, "EveryClientTrusted").iter().any(listed) && reported(status, "UnsupportedKey").len() == 1
        };
        rig.daemon.status_when("both findings", right).await;

        config_map(rig, json!({ "use-proxy-protocol": "false" }));
        get("http://n.test/").send_until("plain clients", |reply| reply.status == 200).await;
    });
}

#[test]
fn another_site_of_the_socket_is_reported() {
    for (theirs, ours) in [("", true), (" proxy_protocol", false)] {
        rig::run(async move |rig| {
            let site = format!("server {{ listen 80{theirs}; server_name site.test; return 200 site; }}\n");
            rig.nginx.write_site("site.conf", &site);
            write_hosts(rig);
            rig.daemon.set("listen.proxy-protocol", if ours { "true" } else { "false" });
            rig.daemon.set("access.trusted-proxies", TRUSTED);
            rig.start().await;
            let status = rig.daemon.status().await.unwrap();
            let reported = notes(&status, "Host nginx", "HostConflict");
            let reported =
                reported.iter().filter(|note| note.contains("site.conf:1") && note.contains("proxy_protocol"));
            assert_eq!(reported.count(), 1, "{status:#}");
            // The finding says that nginx expects the protocol of all clients.
            for host in ["h.test", "site.test"] {
                let plain = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
                let answer = raw(SocketAddr::from(([127, 0, 0, 1], 80)), plain.as_bytes()).await;
                assert_eq!(answer, b"", "{host}");
                let request = get(&format!("http://{host}/")).from(BALANCER).behind(of("192.0.2.77"));
                assert_eq!(request.send().await.status, 200, "{host}");
            }
            let seen = get("http://h.test/").from(BALANCER).behind(of("192.0.2.77")).send().await.echo();
            assert_eq!(seen.header("x-real-ip"), Some(if ours { "192.0.2.77" } else { BALANCER }));
        });
    }
}

/// A record behind the addresses of version 2: its type and bytes.
fn record(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind][..], &u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

#[test]
fn no_other_content_of_a_header_opens_a_route() {
    rig::run(async |rig| {
        let list = ingress("allow").host("allow.test", "web").annotation("allowlist-source-range", "192.0.2.0/24");
        rig.manifests.write("lists.yaml", &[list.build()]);
        rig.daemon.set("listen.proxy-protocol", "true");
        rig.daemon.set("access.trusted-proxies", TRUSTED);
        rig.start().await;
        let text = |line: &str| format!("{line}\r\n").into_bytes();
        let [_, good] = headers("192.0.2.7", 80);
        let addresses = &good[16..];
        let with = |more: &[u8]| binary(0x21, 0x11, &[addresses, more].concat());
        let http = b"GET / HTTP/1.1\r\nHost: allow.test\r\nX: ";
        let unix = [&b"/192.0.2.7"[..], &[0; 206]].concat();
        // No answer comes: nginx closes a connection without a header that it can read.
        let broken = [
            text("PROXY TCP4 192.0.2.777 198.51.100.1 1 80"),
            text("PROXY TCP4 192.0.2.7"),
            text("PROXY TCP4 192.0.2.7 198.51.100.1 1 70000"),
            text("PROXY TCP9 192.0.2.7 198.51.100.1 1 80"),
            text("proxy TCP4 192.0.2.7 198.51.100.1 1 80"),
            text(&format!("PROXY TCP4 192.0.2.7 198.51.100.1 1 80 {}", "x".repeat(200))),
            text("PROXY TCP6 fe80::1%lo 2001:db8::1 1 80"),
            b"PROXY TCP4 192.0.2.7 198.51.100.1 1 80\n".to_vec(),
            binary(0x31, 0x11, addresses),
            binary(0x21, 0x11, &addresses[..8]),
            [&good[..14], &[0xff, 0xff], addresses].concat(),
        ];
        for (header, from) in broken.iter().flat_map(|header| [(header, BALANCER), (header, STRANGER)]) {
            let reply = get("http://allow.test/").from(from).behind(header.clone()).try_send().await;
            let status = reply.map(|reply| reply.status);
            assert!(matches!(status, Err(_) | Ok(400 | 403)), "{:?}: {status:?}", String::from_utf8_lossy(header));
        }
        // A header that names no client leaves the address of the connection, which no list lets
        // in.
        let nobody = [
            text("PROXY UNKNOWN 192.0.2.7 198.51.100.1 1 80"),
            binary(0x20, 0x11, addresses),
            binary(0x20, 0x00, &record(0x02, b"allow.test")),
            binary(0x21, 0x31, &unix),
            binary(0x21, 0x00, addresses),
        ];
        for (header, from) in nobody.iter().flat_map(|header| [(header, BALANCER), (header, STRANGER)]) {
            let reply = get("http://allow.test/").from(from).behind(header.clone()).try_send().await;
            let status = reply.map(|reply| reply.status);
            assert!(matches!(status, Err(_) | Ok(403)), "{:?}: {status:?}", String::from_utf8_lossy(header));
        }
        // Records say nothing about the client, whatever stands in them.
        let reported = [
            good.clone(),
            with(&record(0x02, b"allow.test")),
            with(&record(0x20, &[&[7, 0, 0, 0, 0][..], &record(0x22, b"admin")].concat())),
            with(&[0x04, 0xff, 0xff]),
            with(&record(0xee, &[b'x'; 70])),
        ];
        // Before 1.23.2 nginx reads no more than 107 bytes of a header, and lets go who sends
        // more.
        let large =
            get("http://allow.test/").from(STRANGER).behind(with(&record(0xee, &[b'x'; 1024]))).try_send().await;
        assert!(matches!(large.map(|reply| reply.status), Err(_) | Ok(403)));
        for header in reported {
            for (from, expected) in [(BALANCER, 200), (STRANGER, 403)] {
                let reply = forging(get("http://allow.test/").from(from).behind(header.clone())).send().await;
                assert_eq!(reply.status, expected, "{from}: {:?}", String::from_utf8_lossy(&header));
                if let Some(seen) = reply.try_echo() {
                    assert_eq!(seen.header("x-forwarded-for"), Some("192.0.2.7"));
                }
            }
        }
        // Only the first one counts: another behind it is no request, and one within it is a part
        // of it.
        let behind = [&of("203.0.113.9")[..], &of("192.0.2.7")].concat();
        let twice = get("http://allow.test/").from(BALANCER).behind(behind).try_send().await;
        assert!(matches!(twice.map(|reply| reply.status), Err(_) | Ok(400)));
        let within = with(&record(0xee, http));
        assert_eq!(get("http://allow.test/").from(STRANGER).behind(within).send().await.status, 403);
        // A client that is a trusted address is not asked who its own client is.
        let trusted = forging(get("http://allow.test/").from(BALANCER).behind(of("10.244.9.50")));
        assert_eq!(trusted.header("X-Forwarded-For", "192.0.2.7").send().await.status, 403);
    });
}
