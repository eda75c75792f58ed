//! The HTTP endpoints `/healthz`, `/readyz`, `/metrics`, `/status.json` and the status page.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::metrics::{Format, Heartbeat, Metrics, StubStatus};
use super::page;
use super::room::{Attention, Room};
use super::status::Status;
use ingressd_model::HostName;
use ingressd_model::finding::on_one_line;

/// The most concurrent connections; beyond that the slowest are closed.
const MOST_CONNECTIONS: usize = 64;

/// The time limit for sending a request, and for reading the response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest head of a request in bytes.
const LARGEST_HEAD: usize = 16 << 10;

/// The longest time since the last turn of the main loop for the daemon to count as alive.
const OLDEST_TURN: Duration = Duration::from_secs(30);

/// What other machines are told.
const LOCAL: &str = "only this host may see that: forward a port to it, as in `ssh -L 10254:127.0.0.1:10254 NODE`\n";

/// The type of the status page.
const HTML: &str = "text/html; charset=utf-8";

/// What is sent: a text, or events for as long as somebody reads them.
type Body = Either<Full<Bytes>, page::Events>;

/// The state from which responses are made.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The current status.
    pub status: watch::Receiver<Arc<Status>>,
    /// The counters since the start.
    pub metrics: Arc<Metrics>,
    /// When the main loop last turned.
    pub heartbeat: Arc<Heartbeat>,
    /// The address of nginx's counters.
    pub nginx: watch::Receiver<SocketAddr>,
    /// Accepted host names in requests, besides addresses and the names of loopback.
    pub hosts: watch::Receiver<Vec<HostName>>,
}

/// Serves until it is dropped; open connections are finished.
pub async fn serve(listener: TcpListener, facts: Facts) {
    let room = Room::new(MOST_CONNECTIONS);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let facts = facts.clone();
                let seat = room.seat().await;
                let attention = seat.attention();
                seat.serve(async move {
                    let _ =
                        tokio::time::timeout(CONNECTION_TIMEOUT, connection(stream, peer.ip(), facts, attention)).await;
                });
            }
            Err(error) => {
                // The most likely cause is a lack of file descriptors: other connections have to
                // end first.
                tracing::warn!("a connection to the http endpoints was lost: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, peer: IpAddr, facts: Facts, attention: Attention) {
    let attention = Arc::new(attention);
    let service = service_fn(move |request| {
        let (facts, attention) = (facts.clone(), Arc::clone(&attention));
        async move { Ok::<_, Infallible>(attention.pay(answer(&request, peer, &facts)).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!("a connection to the http endpoints ended early: {error}");
    }
}

async fn answer(request: &Request<Incoming>, peer: IpAddr, facts: &Facts) -> Response<Body> {
    // A page in a browser on this host could resolve a name of its own to this address, and could
    // then read the response (DNS rebinding).
    if !names(request).all(|name| is_known(name, &facts.hosts.borrow())) {
        let words = "ask by an IP address, by localhost, or by a name in http.hosts\n";
        return text(StatusCode::MISDIRECTED_REQUEST, words.to_owned());
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let path = request.uri().path();
    // These show what all tenants have. Health and metrics are for machines of the administrator.
    if !peer.to_canonical().is_loopback() && !["/healthz", "/readyz", "/metrics"].contains(&path) {
        return text(StatusCode::FORBIDDEN, LOCAL.to_owned());
    }
    if is_of_another_site(request) {
        return text(StatusCode::FORBIDDEN, "this is no part of other sites\n".to_owned());
    }
    let status = Arc::clone(&facts.status.borrow());
    let now = Instant::now();
    match path {
        "/healthz" => match facts.heartbeat.age(now) {
            age if age < OLDEST_TURN => text(StatusCode::OK, "ok\n".to_owned()),
            age => text(StatusCode::SERVICE_UNAVAILABLE, format!("the loop last turned {} s ago\n", age.as_secs())),
        },
        // Load balancers must send requests elsewhere, although those that still come are served.
        "/readyz" if status.told.drained => text(StatusCode::SERVICE_UNAVAILABLE, "drained\n".to_owned()),
        "/readyz" => match status.ready() {
            Ok(()) => text(StatusCode::OK, readiness(&status)),
            Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
        },
        "/metrics" => {
            let nginx = *facts.nginx.borrow();
            let stub_status = StubStatus::ask(nginx).await;
            let content = facts.metrics.encode(&status, stub_status, now);
            let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
            let format = Format::accepted(accept.unwrap_or_default());
            response(StatusCode::OK, format.content_type(), format.write(content))
        }
        "/status.json" => response(StatusCode::OK, "application/json", status.json(now).to_string()),
        path => match page(path, request.uri().query(), facts, status, now).await {
            Some(page) => page,
            None => {
                text(StatusCode::NOT_FOUND, "there are /, /healthz, /readyz, /metrics and /status.json\n".to_owned())
            }
        },
    }
}

/// How many pages are made at the same time: the daemon's own work needs the processors too.
static PAGES: Semaphore = Semaphore::const_new(2);

/// Whether a page of another site in a browser on this host sends the request, and nobody has
/// followed a link there (Fetch Metadata Request Headers).
fn is_of_another_site(request: &Request<Incoming>) -> bool {
    let says = |name: &str, value: &str| request.headers().get(name).is_some_and(|told| told == value);
    says("sec-fetch-site", "cross-site") && !says("sec-fetch-dest", "document")
}

/// What belongs to the status page.
async fn page(
    path: &str,
    query: Option<&str>,
    facts: &Facts,
    status: Arc<Status>,
    now: Instant,
) -> Option<Response<Body>> {
    let mut response = match path {
        "/" => {
            let (asked, metrics) = (page::Asked::read(query.unwrap_or_default()), Arc::clone(&facts.metrics));
            // A page is made to its end, also when nobody waits for it any more.
            let Ok(turn) = PAGES.try_acquire() else {
                return Some(text(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "other pages are being made; ask again\n".to_owned(),
                ));
            };
            let write = move || (page::write(&asked, &status, &metrics, now), turn).0;
            match tokio::task::spawn_blocking(write).await {
                Ok(page) => response(StatusCode::OK, HTML, page),
                Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("the page cannot be made: {error}\n")),
            }
        }
        "/events" => {
            let body = page::follow(facts.status.clone(), Arc::clone(&facts.metrics));
            let mut response = response(StatusCode::OK, "text/event-stream", String::new());
            *response.body_mut() = Either::Right(body);
            response
        }
        "/reasons" => response(StatusCode::OK, HTML, page::write_reasons()),
        _ => {
            let (_, content_type, content) = page::FILES.into_iter().find(|(name, ..)| *name == path)?;
            response(StatusCode::OK, content_type, content.to_owned())
        }
    };
    for (name, value) in page::HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Some(response)
}

/// The hosts of a request; clients older than HTTP/1.1 send none. A value that is not text counts
/// as an unknown name.
fn names(request: &Request<Incoming>) -> impl Iterator<Item = &str> {
    let of_headers = request.headers().get_all(HOST).iter().map(|value| value.to_str().unwrap_or_default());
    of_headers.chain(request.uri().authority().map(Authority::as_str))
}

fn is_known(name: &str, hosts: &[HostName]) -> bool {
    let Ok(authority) = name.parse::<Authority>() else { return false };
    let host = authority.host();
    let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let bare = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    literal.parse::<IpAddr>().is_ok()
        || bare == "localhost"
        || bare.ends_with(".localhost")
        || hosts.iter().any(|known| known.as_str() == bare)
}

fn readiness(status: &Status) -> String {
    let notes = [status.pinned_note(), status.refusal_note()].into_iter().flatten();
    let notes: String = notes.map(|note| format!("{}\n", on_one_line(&note))).collect();
    match &status.why {
        Some(why) => format!("ok: nginx serves the confirmed generation; {}: {why}\n{notes}", status.phase.name()),
        None if notes.is_empty() => "ok\n".to_owned(),
        None => format!("ok; {notes}"),
    }
}

fn text(status: StatusCode, content: String) -> Response<Body> {
    response(status, "text/plain; charset=utf-8", content)
}

fn response(status: StatusCode, content_type: &'static str, content: String) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(content))));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::daemon::status::Phase;
    use crate::publish::Served;

    async fn get(address: SocketAddr, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (code, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
    }

    #[tokio::test]
    async fn endpoints_tell_the_truth() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, status) = watch::channel(Arc::new(Status::default()));
        let heartbeat = Arc::new(Heartbeat::new(Instant::now()));
        // Port 1 has no listener, so nginx does not answer.
        let (_nginx, nginx) = watch::channel(SocketAddr::from(([127, 0, 0, 1], 1)));
        let (_hosts, hosts) = watch::channel(vec![HostName::new("edge1.example").unwrap()]);
        tokio::spawn(serve(listener, Facts { status, metrics: Arc::default(), heartbeat, nginx, hosts }));
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
        sender.send_replace(Arc::new(Status { told: drained, ..serving }));
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
            for request in ["GET /readyz HTTP/1.1\r\nConnection: close\r\n", "GET /readyz HTTP/1.0\r\nHost: [::1]\r\n"]
            {
                assert_eq!(get(address, &format!("{request}Host: {name}\r\n\r\n")).await.0, expected, "{name:?}");
            }
        }
        let absolute = "GET http://rebound.example/readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        assert_eq!(get(address, absolute).await.0, 421);
        let long = format!("GET /{} HTTP/1.0\r\n\r\n", "a".repeat(2 * LARGEST_HEAD));
        assert!(matches!(get(address, &long).await.0, 414 | 431));
    }

    #[tokio::test]
    async fn a_change_is_told_to_those_who_follow() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, status) = watch::channel(Arc::new(Status::default()));
        let heartbeat = Arc::new(Heartbeat::new(Instant::now()));
        let (_nginx, nginx) = watch::channel(SocketAddr::from(([127, 0, 0, 1], 1)));
        let (_hosts, hosts) = watch::channel(Vec::new());
        tokio::spawn(serve(listener, Facts { status, metrics: Arc::default(), heartbeat, nginx, hosts }));
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut told = String::new();
        let mut read_to = async |words: &str| {
            while !told.contains(words) {
                let byte = tokio::time::timeout(CONNECTION_TIMEOUT, stream.read_u8()).await.expect("an event").unwrap();
                told.push(char::from(byte));
            }
            told.clone()
        };
        assert!(read_to("retry: 1000\n\n").await.contains("content-type: text/event-stream\r\n"));
        sender.send_replace(Arc::new(Status { phase: Phase::Serving, ..Status::default() }));
        assert_eq!(read_to("data: 1\n\n").await.matches("event: changed\n").count(), 1);
    }

    #[tokio::test]
    async fn other_machines_see_health_and_metrics_alone() {
        let (_sender, status) = watch::channel(Arc::new(Status::default()));
        let (_nginx, nginx) = watch::channel(SocketAddr::from(([127, 0, 0, 1], 1)));
        let (_hosts, hosts) = watch::channel(Vec::new());
        let heartbeat = Arc::new(Heartbeat::new(Instant::now()));
        let facts = Facts { status, metrics: Arc::default(), heartbeat, nginx, hosts };
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
                let facts = facts.clone();
                async move { Ok::<_, Infallible>(answer(&request, peer.parse().unwrap(), &facts).await) }
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(server), service));
            client.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
            let mut told = String::new();
            client.read_to_string(&mut told).await.unwrap();
            assert!(told.starts_with(&format!("HTTP/1.0 {expected} ")), "{peer} {path}: {told}");
        }
    }

    #[tokio::test]
    async fn slow_clients_keep_nobody_waiting() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_status, status) = watch::channel(Arc::new(Status::default()));
        let heartbeat = Arc::new(Heartbeat::new(Instant::now()));
        let (_nginx, nginx) = watch::channel(SocketAddr::from(([127, 0, 0, 1], 1)));
        let (_hosts, hosts) = watch::channel(Vec::new());
        tokio::spawn(serve(listener, Facts { status, metrics: Arc::default(), heartbeat, nginx, hosts }));
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
}
