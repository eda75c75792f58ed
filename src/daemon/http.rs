//! `/healthz`, `/readyz`, `/metrics` and `/status.json`; it must not know how what it serves comes about.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::metrics::{Heartbeat, Metrics, StubStatus};
use super::status::Status;

/// How many connections are served at once; more wait.
const MOST_CONNECTIONS: usize = 64;

/// How long a client may take to send a request, and to read the answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Largest head of a request in bytes.
const LARGEST_HEAD: usize = 16 << 10;

/// How old the last turn of the loop may be for the daemon to count as alive.
const OLDEST_TURN: Duration = Duration::from_secs(30);

/// What answers are drawn from.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What is true now.
    pub status: watch::Receiver<Arc<Status>>,
    /// What happened.
    pub metrics: Arc<Metrics>,
    /// When the loop last turned.
    pub heartbeat: Arc<Heartbeat>,
    /// Where nginx tells its counters.
    pub nginx: watch::Receiver<SocketAddr>,
}

/// Serves until it is dropped; connections that have begun go on.
pub async fn serve(listener: TcpListener, facts: Facts) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let facts = facts.clone();
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection(stream, facts)).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Out of file descriptors, most likely: others have to end first.
                tracing::warn!("a connection to the http endpoints was lost: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, facts: Facts) {
    let service = service_fn(move |request| {
        let facts = facts.clone();
        async move { Ok::<_, Infallible>(answer(&request, &facts).await) }
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

async fn answer(request: &Request<Incoming>, facts: &Facts) -> Response<Full<Bytes>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
        response.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let status = Arc::clone(&facts.status.borrow());
    let now = Instant::now();
    match request.uri().path() {
        "/healthz" => match facts.heartbeat.age(now) {
            age if age < OLDEST_TURN => text(StatusCode::OK, "ok\n".to_owned()),
            age => text(StatusCode::SERVICE_UNAVAILABLE, format!("the loop last turned {} s ago\n", age.as_secs())),
        },
        // Whoever sends requests here by asking this must send them elsewhere, though those that still come are served.
        "/readyz" if status.told.drained => text(StatusCode::SERVICE_UNAVAILABLE, "drained\n".to_owned()),
        "/readyz" => match status.ready() {
            Ok(()) => text(StatusCode::OK, readiness(&status)),
            Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
        },
        "/metrics" => {
            let nginx = *facts.nginx.borrow();
            let stub_status = StubStatus::ask(nginx).await;
            let content = facts.metrics.encode(&status, stub_status, now);
            response(StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", content)
        }
        "/status.json" => response(StatusCode::OK, "application/json", status.json(now).to_string()),
        _ => text(StatusCode::NOT_FOUND, "there are /healthz, /readyz, /metrics and /status.json\n".to_owned()),
    }
}

fn readiness(status: &Status) -> String {
    let pinned = status.pinned_note().map(|note| format!("{note}\n")).unwrap_or_default();
    match &status.why {
        Some(why) => format!("ok: nginx serves the confirmed generation; {}: {why}\n{pinned}", status.phase.name()),
        None if pinned.is_empty() => "ok\n".to_owned(),
        None => format!("ok; {pinned}"),
    }
}

fn text(status: StatusCode, content: String) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", content)
}

fn response(status: StatusCode, content_type: &'static str, content: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(content)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, hyper::header::HeaderValue::from_static("no-store"));
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
        // Nobody listens on port 1: nginx does not answer.
        let (_nginx, nginx) = watch::channel(SocketAddr::from(([127, 0, 0, 1], 1)));
        tokio::spawn(serve(listener, Facts { status, metrics: Arc::default(), heartbeat, nginx }));
        let path = |path: &str| format!("GET {path} HTTP/1.0\r\n\r\n");

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
        let (code, body) = get(address, &path("/status.json")).await;
        assert!(code == 200 && serde_json::from_str::<serde_json::Value>(&body).unwrap()["phase"] == "nginx-down");
        assert_eq!(get(address, &path("/")).await.0, 404);
        assert_eq!(get(address, "POST /readyz HTTP/1.0\r\n\r\n").await.0, 405);
        let long = format!("GET /{} HTTP/1.0\r\n\r\n", "a".repeat(2 * LARGEST_HEAD));
        assert!(matches!(get(address, &long).await.0, 414 | 431));
    }
}
