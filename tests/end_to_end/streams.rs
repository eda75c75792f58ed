//! TCP and UDP services through the real nginx: endpoints, the PROXY protocol, and the effects of
//! bad entries.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::config_map::{reported, says};
use rig::client::get;
use rig::manifests::{endpoint_slice, in_namespace, ingress, service, service_at};
use rig::status::{notes, reports, serving};
use rig::{Rig, wait};

/// The port of the backends, on every address.
const BACKEND: u16 = 9000;

fn here(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn config_map(name: &str, entries: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<_, _> = entries.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}, "data": data})
}

/// Writes the ConfigMap with TCP services.
fn tcp(rig: &Rig, entries: &[(&str, &str)]) {
    rig.manifests.write("tcp.yaml", &[config_map("tcp", entries)]);
}

/// The Service `db` with these pods: port 80, named `http`.
fn database(rig: &Rig, addresses: &[&str]) {
    rig.manifests.write("db.yaml", &[service("db", BACKEND), endpoint_slice("db", addresses, BACKEND)]);
}

/// Settings and nginx for TCP and UDP services, and a backend that sends everything back behind
/// the address that it came to.
async fn prepare(rig: &mut Rig) {
    rig.nginx.serve_streams(&rig.daemon.root());
    rig.daemon.set("ingress-nginx.tcp-services-configmap", "default/tcp");
    let listener = TcpListener::bind(("::", BACKEND)).await.unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
}

/// The same with these TCP services, and one pod of the Service `db`.
async fn prepare_services(rig: &mut Rig, entries: &[(&str, &str)]) {
    prepare(rig).await;
    database(rig, &["10.244.0.1"]);
    tcp(rig, entries);
}

async fn answer(mut stream: TcpStream) {
    let address = stream.local_addr().unwrap().ip().to_canonical();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let answer = [format!("{address} ").as_bytes(), &buffer[..length]].concat();
        if stream.write_all(&answer).await.is_err() {
            break;
        }
    }
}

/// Sends text over a connection and reads until the last line of it came back. `None` when the
/// connection ends.
async fn exchange(stream: &mut TcpStream, text: &str) -> Option<String> {
    let last = text.rsplit("\r\n").next().unwrap();
    stream.write_all(text.as_bytes()).await.ok()?;
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&received).ends_with(last) {
        match tokio::time::timeout(wait::LIMIT, stream.read(&mut buffer)).await.expect("an answer or an end") {
            Ok(length @ 1..) => received.extend_from_slice(&buffer[..length]),
            _ => return None,
        }
    }
    Some(String::from_utf8(received).unwrap())
}

async fn connect(port: u16) -> Option<TcpStream> {
    TcpStream::connect(here(port)).await.ok()
}

/// What a new connection to a port gives: the backend's answer, that it is closed, or that no
/// process listens.
async fn asked(port: u16) -> String {
    match connect(port).await {
        None => "refused".to_owned(),
        Some(mut stream) => exchange(&mut stream, "ping\n").await.unwrap_or_else(|| "closed".to_owned()),
    }
}

async fn until(port: u16, expected: &str) {
    wait::until_right(&format!("{expected:?} on port {port}"), async || asked(port).await, |found| found == expected)
        .await;
}

#[test]
fn connections_go_to_endpoints_and_stay_where_they_are_when_those_change() {
    rig::run(async |rig| {
        prepare_services(rig, &[("7000", "default/db:80"), ("7001", "default/db:http")]).await;
        rig.start().await;
        assert_eq!(asked(7000).await, "10.244.0.1 ping\n");
        assert_eq!(asked(7001).await, "10.244.0.1 ping\n", "the port by its name");
        let mut first = connect(7000).await.unwrap();
        assert_eq!(exchange(&mut first, "a\n").await.unwrap(), "10.244.0.1 a\n");

        let files = rig.daemon.root().join("current/stream");
        let inode = || fs::metadata(files.join("tcp-7000.conf")).unwrap().ino();
        let before = inode();
        database(rig, &["10.244.0.2"]);
        until(7000, "10.244.0.2 ping\n").await;
        // Without an endpoint the port stays, and connections are closed at once.
        database(rig, &[]);
        until(7000, "closed").await;
        let status =
            rig.daemon.status_when("the missing endpoints", |status| reports(status, "ConfigMap tcp", "NoEndpoints"));
        status.await;
        database(rig, &["10.244.0.3"]);
        until(7000, "10.244.0.3 ping\n").await;
        assert_eq!(inode(), before, "only the file with the endpoints changes");
        assert_eq!(exchange(&mut first, "b\n").await.unwrap(), "10.244.0.1 b\n", "a connection stays where it is");
    });
}

#[test]
fn ports_come_and_go_and_connections_stay() {
    rig::run(async |rig| {
        prepare_services(rig, &[("7001", "default/db:80"), ("7002", "default/db:80")]).await;
        rig.start().await;
        let [mut other, mut removed] = [connect(7001).await.unwrap(), connect(7002).await.unwrap()];
        for held in [&mut other, &mut removed] {
            assert_eq!(exchange(held, "a\n").await.unwrap(), "10.244.0.1 a\n");
        }
        tcp(rig, &[("7001", "default/db:80"), ("7003", "default/db:80")]);
        until(7002, "refused").await;
        until(7003, "10.244.0.1 ping\n").await;
        // A connection outlives changes of other ports, and its own port.
        for held in [&mut other, &mut removed] {
            assert_eq!(exchange(held, "b\n").await.unwrap(), "10.244.0.1 b\n");
        }
        // A port that nginx already has counts as its own, also for a daemon that has just
        // started.
        rig.daemon.stop().await;
        rig.daemon.start();
        rig.daemon.ready().await;
        let status = rig.daemon.status().await.unwrap();
        assert!(!reports(&status, "ConfigMap tcp", "PortConflict"), "{status:#}");
        assert_eq!(asked(7003).await, "10.244.0.1 ping\n");
        // The same holds after nginx was started anew.
        rig.nginx.restart().await;
        tcp(rig, &[("7001", "default/db:80"), ("7003", "default/db:80"), ("7004", "default/db:80")]);
        until(7004, "10.244.0.1 ping\n").await;
        assert_eq!(asked(7003).await, "10.244.0.1 ping\n");
    });
}

#[test]
fn the_proxy_protocol_is_read_and_written_where_an_entry_says_so() {
    rig::run(async |rig| {
        rig.daemon.set("access.trusted-proxies", "127.0.0.0/8");
        let entry = |suffix: &str| format!("default/db:80{suffix}");
        let entries = [("7001", &*entry(":PROXY")), ("7002", &entry("::PROXY")), ("7003", &entry(":PROXY:PROXY"))];
        prepare_services(rig, &entries).await;
        rig.start().await;
        let header = "PROXY TCP4 203.0.113.9 198.51.100.1 1111 2222\r\n";
        let got = async |port: u16, text: &str| {
            let mut stream = connect(port).await.unwrap();
            let own = stream.local_addr().unwrap().port();
            let answer = exchange(&mut stream, text).await.unwrap_or_else(|| "closed".to_owned());
            // Bytes may come in several parts, and the backend answers each.
            (answer.replace("10.244.0.1 ", ""), own)
        };
        assert_eq!(got(7001, &format!("{header}hello\n")).await.0, "hello\n");
        let (answer, own) = got(7002, "hello\n").await;
        assert_eq!(answer, format!("PROXY TCP4 127.0.0.1 127.0.0.1 {own} 7002\r\nhello\n"));
        let (answer, _) = got(7003, &format!("{header}hello\n")).await;
        assert_eq!(answer, "PROXY TCP4 203.0.113.9 127.0.0.1 1111 7003\r\nhello\n");
        // A client that does not begin with the header is disconnected.
        assert_eq!(got(7001, "hello\n").await.0, "closed");
    });
}

#[test]
fn datagrams_are_answered() {
    rig::run(async |rig| {
        prepare(rig).await;
        tcp(rig, &[]);
        rig.daemon.set("ingress-nginx.udp-services-configmap", "default/udp");
        for address in ["10.244.0.1", "10.244.0.2"] {
            let socket = UdpSocket::bind((address, BACKEND)).await.unwrap();
            tokio::spawn(async move {
                let mut buffer = [0; 2048];
                while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                    let answer = [format!("{address} ").as_bytes(), &buffer[..length]].concat();
                    socket.send_to(&answer, from).await.unwrap();
                }
            });
        }
        let pods = |address: &str| {
            let (mut one, mut slice) = (service("dns", BACKEND), endpoint_slice("dns", &[address], BACKEND));
            one["spec"]["ports"][0]["protocol"] = json!("UDP");
            slice["ports"][0]["protocol"] = json!("UDP");
            [one, slice]
        };
        rig.manifests.write("dns.yaml", &pods("10.244.0.1"));
        rig.manifests.write("udp.yaml", &[config_map("udp", &[("53", "default/dns:80"), ("54", "default/web:80")])]);
        rig.start().await;
        let asked = async || {
            let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            client.send_to(b"ping", here(53)).await.unwrap();
            let mut buffer = [0; 2048];
            // A datagram that comes to an old worker at its end may be lost; then another one is
            // sent.
            let received = tokio::time::timeout(std::time::Duration::from_secs(1), client.recv(&mut buffer)).await;
            received.ok().and_then(Result::ok).map(|length| String::from_utf8(buffer[..length].to_vec()).unwrap())
        };
        let answer = async |expected: &str| {
            wait::until_right(expected, &asked, |found| found.as_deref() == Some(expected)).await;
        };
        answer("10.244.0.1 ping").await;
        rig.manifests.write("dns.yaml", &pods("10.244.0.2"));
        answer("10.244.0.2 ping").await;
        let status = rig.daemon.status().await.unwrap();
        assert!(notes(&status, "ConfigMap udp", "MissingPort")[0].contains("no UDP port 80"), "a port of TCP is none");
    });
}

#[test]
fn ports_of_other_programs_stay_theirs_and_other_services_do_not_wait() {
    rig::run(async |rig| {
        rig.nginx.write_site("site.conf", "server { listen 127.0.0.1:7011; return 200 site; }\n");
        let program = TcpListener::bind(here(7010)).await.unwrap();
        let entries = ["80", "7010", "7011", "7012", "10246", "10254"].map(|port| (port, "default/db:80"));
        prepare_services(rig, &entries).await;
        rig.start().await;
        assert_eq!(asked(7012).await, "10.244.0.1 ping\n");
        let status = rig.daemon.status().await.unwrap();
        let reported = notes(&status, "ConfigMap tcp", "PortConflict");
        let by = |words: &str| reported.iter().filter(|note| note.contains(words)).count();
        let all = ["listen.http-port", "another program", "site.conf:1", "listen.status", "http.address"];
        assert_eq!((reported.len(), all.map(by)), (5, [1; 5]), "{reported:#?}");
        assert_eq!(get("http://127.0.0.1:7011/").send().await.status, 200, "the site has its port");
        // Changes of others are applied, and another port that is taken meanwhile harms only
        // itself.
        let second = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 7013)).await.unwrap();
        tcp(rig, &[entries.as_slice(), &[("7013", "default/db:80"), ("7014", "default/db:80")]].concat());
        rig.manifests.write("web-host.yaml", &[ingress("web").host("web.test", "web").build()]);
        until(7014, "10.244.0.1 ping\n").await;
        get("http://web.test/").send_until("the host", |reply| reply.status == 200).await;
        assert_eq!(rig.daemon.status().await.unwrap()["phase"], "serving");
        drop(second);
        drop(program);
        until(7010, "10.244.0.1 ping\n").await;
        until(7013, "10.244.0.1 ping\n").await;
    });
}

#[test]
fn without_the_module_services_are_left_out_until_it_is_there() {
    rig::run(async |rig| {
        let configuration = fs::read_to_string(rig.nginx.configuration()).unwrap();
        prepare_services(rig, &[("7000", "default/db:80")]).await;
        let complete = fs::read_to_string(rig.nginx.configuration()).unwrap();
        fs::write(rig.nginx.configuration(), &configuration).unwrap();
        rig.manifests.write("web-host.yaml", &[ingress("web").host("web.test", "web").build()]);
        rig.start().await;
        assert_eq!((get("http://web.test/").send().await.status, &*asked(7000).await), (200, "refused"));
        let status = rig.daemon.status().await.unwrap();
        let reported = notes(&status, "Host nginx", "MissingCapability");
        assert!(reported[0].contains("libnginx-mod-stream") && reported[0].contains("ingressd setup"), "{reported:?}");
        let (module, _) = complete.split_once('\n').unwrap();
        fs::write(rig.nginx.configuration(), format!("{module}\n{configuration}")).unwrap();
        let names_include = |status: &Value| {
            notes(status, "Host nginx", "MissingCapability").iter().any(|note| note.contains("/stream/*.conf"))
        };
        rig.daemon.status_when("the missing include", names_include).await;
        fs::write(rig.nginx.configuration(), complete).unwrap();
        until(7000, "10.244.0.1 ping\n").await;
    });
}

#[test]
fn a_stream_snippet_counts_for_each_service_and_opens_no_port() {
    rig::run(async |rig| {
        prepare_services(rig, &[("5432", "default/db:80")]).await;
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        rig.daemon.set("snippets.allowed", "[{namespaces = ['default'], kinds = ['stream-snippet']}]");
        says(rig, &[("stream-snippet", "deny 127.0.0.1;")]);
        rig.start().await;
        assert_eq!(asked(5432).await, "closed");
        says(rig, &[("stream-snippet", "allow 127.0.0.0/8;\ndeny all;\nproxy_connect_timeout 5s;")]);
        rig.daemon.status_when("the other snippet", |status| serving(status) == Some(2)).await;
        assert_eq!(asked(5432).await, "10.244.0.1 ping\n");
        says(rig, &[("stream-snippet", "server {\n  listen 5999;\n  return hello;\n}")]);
        reported(rig, &["RefusedValue"]).await;
        assert_eq!((&*asked(5999).await, &*asked(5432).await), ("refused", "10.244.0.1 ping\n"));
    });
}

/// An object of a namespace that asks for ports, and the Service `db` there with this pod.
fn asking(rig: &Rig, namespace: &str, pod: &str, snippet: &str) {
    let [service, slice] = service_at("db", &[pod], BACKEND).map(|object| in_namespace(namespace, object));
    let object = ingress("ports").namespace(namespace).class("nginx").annotation("stream-snippet", snippet);
    let object = object.host(&format!("{namespace}.test"), "db").build();
    rig.manifests.write(&format!("{namespace}.yaml"), &[service, slice, object]);
}

#[test]
fn a_stream_snippet_of_an_object_opens_the_ports_that_the_administrator_lists() {
    rig::run(async |rig| {
        prepare(rig).await;
        tcp(rig, &[("7000", "team/db:80")]);
        let allowed = "[{namespaces = ['team', 'other'], kinds = ['stream-snippet'], ports = ['5432', '7000-7001']}]";
        rig.daemon.set("snippets.allowed", allowed);
        rig.daemon.set("hosts.grace", "3s");
        let server = |namespace: &str, port: u16| {
            format!(
                "server {{ listen {port}; proxy_pass db.{namespace}.svc.cluster.local:80; allow 127.0.0.0/8; deny all; }}"
            )
        };
        asking(rig, "team", "10.244.0.1", &server("team", 5432));
        rig.start().await;
        until(5432, "10.244.0.1 ping\n").await;
        // Another namespace does not take the port, also when the daemon starts anew, and nobody
        // takes one of the administrator's.
        asking(rig, "other", "10.244.0.2", &[server("other", 5432), server("other", 7000)].concat());
        let conflicts = |status: &Value| notes(status, "Ingress ports", "PortConflict").len() == 2;
        rig.daemon.status_when("the taken ports", conflicts).await;
        assert_eq!([asked(5432).await, asked(7000).await], ["10.244.0.1 ping\n"; 2]);
        rig.daemon.kill();
        rig.daemon.start();
        rig.daemon.ready().await;
        rig.daemon.status_when("the taken ports", conflicts).await;
        assert_eq!(asked(5432).await, "10.244.0.1 ping\n");
        // A version with a mistake is not served, and the last good one is.
        for (wrong, why) in [
            ("server { listen 7001; proxy_pass 127.0.0.1:22; }", "not the address of a Service"),
            ("server { listen 7001; proxy_pass db.other.svc:80; }", "not a Service of this namespace"),
            ("server { listen 7002; proxy_pass db.team.svc:80; }", "no TCP port 7002"),
        ] {
            asking(rig, "team", "10.244.0.1", wrong);
            let reported =
                |status: &Value| notes(status, "Ingress ports", "RefusedValue").iter().any(|note| note.contains(why));
            rig.daemon.status_when(why, reported).await;
            assert_eq!([&*asked(5432).await, &*asked(7001).await], ["10.244.0.1 ping\n", "refused"]);
        }
        // Another namespace gets a port only a while after the last object that had it.
        rig.manifests.remove("team.yaml");
        let reserved = |status: &Value| {
            notes(status, "Ingress ports", "PortConflict").iter().any(|note| note.contains("hosts.grace"))
        };
        rig.daemon.status_when("the reserved port", reserved).await;
        until(5432, "10.244.0.2 ping\n").await;
    });
}
