//! The endpoints, as clients meet them.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::daemon::status::Phase;
use ingressd_cluster::publish::Served;

/// What facts are made of.
struct World {
    status: watch::Sender<Arc<Status>>,
    settings: watch::Sender<EndpointSettings>,
}

impl World {
    fn new() -> Self {
        World {
            status: watch::Sender::default(),
            // Port 1 has no listener, so nginx does not answer.
            settings: watch::Sender::new(EndpointSettings {
                nginx: ([127, 0, 0, 1], 1).into(),
                hosts: Vec::new(),
                remote: None,
            }),
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            status: self.status.subscribe(),
            metrics: Arc::default(),
            heartbeat: Arc::new(Heartbeat::new(Instant::now())),
            settings: self.settings.subscribe(),
        }
    }

    async fn serve(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, self.facts()));
        address
    }
}

async fn get(address: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (code, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

#[tokio::test]
async fn endpoints_report_the_truth() {
    let world = World::new();
    let (address, sender) = (world.serve().await, &world.status);
    world.settings.send_modify(|settings| settings.hosts.push(HostName::new("edge1.example").unwrap()));
    let path = |path: &str| format!("GET {path} HTTP/1.0\r\n\r\n");

    // A page of another site cannot read it, and makes no work either.
    for (dest, expected) in [("empty", 403), ("iframe", 403), ("document", 200)] {
        let request = format!("GET / HTTP/1.0\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: {dest}\r\n\r\n");
        assert_eq!(get(address, &request).await.0, expected, "{dest}");
    }
    assert_eq!(get(address, &path("/healthz")).await, (200, "ok\n".into()));
    assert_eq!(get(address, &path("/readyz")).await, (503, "starting\n".into()));
    let serving = Status { phase: Phase::Serving, generation: Some(4), served: Some(4), ..Status::default() };
    sender.send_replace(Arc::new(serving));
    assert_eq!(get(address, &path("/readyz")).await, (200, "ok\n".into()));
    sender.send_replace(Arc::new(Status {
        phase: Phase::NginxDown,
        why: Some("no process".into()),
        ..Status::default()
    }));
    assert_eq!(get(address, &path("/readyz")).await, (503, "nginx-down: no process\n".into()));
    let drained = Served { drained: true, ..Served::default() };
    let serving = Status { phase: Phase::Serving, generation: Some(4), served: Some(4), ..Status::default() };
    sender.send_replace(Arc::new(Status { reported: drained, ..serving }));
    assert_eq!(get(address, &path("/readyz")).await, (503, "drained\n".into()));
    sender.send_modify(|status| {
        let down = Status { phase: Phase::NginxDown, ..Status::default() };
        *status = Arc::new(down);
    });
    let (code, body) = get(address, &path("/metrics")).await;
    assert!(code == 200 && body.ends_with("# EOF\n"), "{body}");
    let plain = "GET /metrics HTTP/1.0\r\nAccept: text/plain\r\n\r\n";
    let (code, body) = get(address, plain).await;
    assert!(code == 200 && body.contains("_total counter\n") && !body.contains("# EOF"), "{body}");
    let (code, body) = get(address, &path("/status.json")).await;
    assert!(code == 200 && serde_json::from_str::<serde_json::Value>(&body).unwrap()["phase"] == "nginx-down");
    let (code, body) = get(address, &path("/")).await;
    assert!(code == 200 && body.starts_with("<!DOCTYPE html>"), "{body}");
    assert_eq!(get(address, &path("/nothing")).await.0, 404);
    assert_eq!(get(address, "POST /readyz HTTP/1.0\r\n\r\n").await.0, 405);
    for (name, is_known) in [
        ("127.0.0.1", true),
        ("127.0.0.1:10254", true),
        ("[::1]:10254", true),
        ("192.0.2.7", true),
        ("localhost", true),
        ("LOCALHOST.:10254", true),
        ("a.localhost", true),
        ("edge1.example", true),
        ("Edge1.Example.:10254", true),
        ("rebound.example", false),
        ("localhost.example", false),
        ("sub.edge1.example", false),
        ("127.0.0.1.example", false),
        ("", false),
        ("user@localhost@rebound.example", false),
        ("\u{e9}", false),
    ] {
        let expected = if is_known { 503 } else { 421 };
        for request in ["GET /readyz HTTP/1.1\r\nConnection: close\r\n", "GET /readyz HTTP/1.0\r\nHost: [::1]\r\n"] {
            assert_eq!(get(address, &format!("{request}Host: {name}\r\n\r\n")).await.0, expected, "{name:?}");
        }
    }
    let absolute = "GET http://rebound.example/readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(get(address, absolute).await.0, 421);
    let long = format!("GET /{} HTTP/1.0\r\n\r\n", "a".repeat(2 * LARGEST_HEAD));
    assert!(matches!(get(address, &long).await.0, 414 | 431));
}

#[tokio::test]
async fn a_change_is_reported_to_those_who_follow() {
    let world = World::new();
    let (address, sender) = (world.serve().await, &world.status);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut reported = String::new();
    let mut read_to = async |words: &str| {
        while !reported.contains(words) {
            let byte = tokio::time::timeout(CONNECTION_TIMEOUT, stream.read_u8()).await.expect("an event").unwrap();
            reported.push(char::from(byte));
        }
        reported.clone()
    };
    assert!(read_to("retry: 1000\n\n").await.contains("content-type: text/event-stream\r\n"));
    sender.send_replace(Arc::new(Status { phase: Phase::Serving, ..Status::default() }));
    assert_eq!(read_to("data: 1\n\n").await.matches("event: changed\n").count(), 1);
}

#[tokio::test]
async fn other_machines_see_health_and_metrics_alone() {
    let world = World::new();
    let facts = world.facts();
    for (peer, path, expected) in [
        ("127.0.0.1", "/", 200),
        ("::1", "/status.json", 200),
        ("::ffff:127.0.0.1", "/", 200),
        ("192.0.2.7", "/", 403),
        ("192.0.2.7", "/?search=a", 403),
        ("2001:db8::7", "/status.json", 403),
        ("192.0.2.7", "/events", 403),
        ("192.0.2.7", "/page.js", 403),
        ("192.0.2.7", "//metrics", 403),
        ("192.0.2.7", "/healthz", 200),
        ("192.0.2.7", "/readyz", 503),
        ("192.0.2.7", "/metrics", 200),
        ("::ffff:192.0.2.7", "/status.json", 403),
    ] {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let facts = facts.clone();
        let service = service_fn(move |request| {
            let (caller, facts) = (Caller { address: peer.parse().unwrap(), proof: None }, facts.clone());
            async move { Ok::<_, Infallible>(answer(&request, &caller, &facts).await) }
        });
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(server), service));
        client.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
        let mut reported = String::new();
        client.read_to_string(&mut reported).await.unwrap();
        assert!(reported.starts_with(&format!("HTTP/1.0 {expected} ")), "{peer} {path}: {reported}");
    }
}

#[tokio::test]
async fn slow_clients_keep_nobody_waiting() {
    let world = World::new();
    let address = world.serve().await;
    // Some clients send nothing, some begin a request, some keep a connection open after a
    // response.
    let mut slow = Vec::new();
    for number in 0..2 * MOST_CONNECTIONS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let words = ["", "GET /healthz HT", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"][number % 3];
        stream.write_all(words.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    // This is less than the time limit of a slow client.
    let asked = tokio::time::timeout(REQUEST_TIMEOUT / 2, get(address, "GET /healthz HTTP/1.0\r\n\r\n"));
    assert_eq!(asked.await.expect("an answer at once"), (200, "ok\n".into()));
    let mut end = [0; 1];
    assert!(matches!(slow[0].read(&mut end).await, Ok(0) | Err(_)), "the oldest had to go");
    slow.last_mut().unwrap().write_all(b" ").await.unwrap();
}

#[test]
fn whoever_is_refused_learns_what_to_do() {
    for (status, header) in [
        (StatusCode::UNAUTHORIZED, Some((WWW_AUTHENTICATE, r#"Basic realm="ingressd", charset="UTF-8""#))),
        (StatusCode::TOO_MANY_REQUESTS, Some((RETRY_AFTER, "2"))),
        (StatusCode::FORBIDDEN, None),
    ] {
        let response = refused(&Refusal(status, "words\n"));
        let reported = [WWW_AUTHENTICATE, RETRY_AFTER].into_iter().filter_map(|name| {
            let value = response.headers().get(&name)?.to_str().ok()?;
            Some((name, value))
        });
        assert_eq!((response.status(), reported.collect::<Vec<_>>()), (status, header.into_iter().collect()));
    }
}
