//! The HTTP endpoints `/healthz`, `/readyz`, `/metrics`, `/status.json` and the status page.

mod files;
mod passwords;
mod remote;

pub use files::{Fault, faults};
pub use remote::Remote;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::http::uri::Authority;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::connection_limit::{Answering, ConnectionLimit};
use super::metrics::{Format, Heartbeat, Metrics, StubStatus};
use super::page;
use super::status::Status;
use ingressd_model::HostName;
use ingressd_model::finding::on_one_line;
use remote::{Proof, Refusal, Spoken, accept};

/// The most concurrent connections; beyond that the slowest are closed.
const MOST_CONNECTIONS: usize = 64;

/// The time limit for sending a request, and for reading the response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest head of a request in bytes.
const LARGEST_HEAD: usize = 16 << 10;

/// The longest time since the last turn of the main loop for the daemon to count as alive.
const OLDEST_TURN: Duration = Duration::from_secs(30);

/// What other machines are told that ask without TLS.
const LOCAL: &str = "only this host may see that: forward a port to it, as in `ssh -L 10254:127.0.0.1:10254 NODE`, \
                     or set http.certificate and what else docs/status-page.md names\n";
const PLAIN: &str = "other machines see that over TLS only: ask with https://\n";

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
    /// What the settings say.
    pub settings: watch::Receiver<EndpointSettings>,
}

/// What the settings say of the endpoints; they may say something else later.
#[derive(Debug)]
pub struct EndpointSettings {
    /// The address of nginx's counters.
    pub nginx: SocketAddr,
    /// Accepted host names in requests, besides addresses and the names of loopback.
    pub hosts: Vec<HostName>,
    /// What lets other machines see the status page; `None` where they may not.
    pub remote: Option<Arc<Remote>>,
}

/// Who asks.
#[derive(Debug, Clone)]
struct Caller {
    address: IpAddr,
    /// What was shown over TLS.
    proof: Option<Proof>,
}

/// Serves until it is dropped; open connections are finished.
pub async fn serve(listener: TcpListener, facts: Facts) {
    let limit = ConnectionLimit::new(MOST_CONNECTIONS);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let facts = facts.clone();
                let permit = limit.permit().await;
                let answering = permit.answering();
                permit.serve(async move {
                    let _ =
                        tokio::time::timeout(CONNECTION_TIMEOUT, connection(stream, peer.ip(), facts, answering)).await;
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

async fn connection(stream: TcpStream, peer: IpAddr, facts: Facts, answering: Answering) {
    let remote = facts.settings.borrow().remote.clone();
    match tokio::time::timeout(REQUEST_TIMEOUT, accept(stream, remote)).await {
        Ok(Ok(Spoken::Plain(stream))) => speak(stream, Caller { address: peer, proof: None }, facts, answering).await,
        Ok(Ok(Spoken::Tls(stream, proof))) => {
            speak(stream, Caller { address: peer, proof: Some(proof) }, facts, answering).await;
        }
        Ok(Err(error)) => tracing::debug!("a connection to the http endpoints did not begin: {error}"),
        // It said nothing in time.
        Err(_) => {}
    }
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Unpin, caller: Caller, facts: Facts, answering: Answering) {
    let answering = Arc::new(answering);
    let service = service_fn(move |request| {
        let (caller, facts, answering) = (caller.clone(), facts.clone(), Arc::clone(&answering));
        async move { Ok::<_, Infallible>(answering.respond(answer(&request, &caller, &facts)).await) }
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

async fn answer(request: &Request<Incoming>, caller: &Caller, facts: &Facts) -> Response<Body> {
    // A page in a browser on this host could resolve a name of its own to this address, and could
    // then read the response (DNS rebinding).
    if !names(request).all(|name| is_known(name, &facts.settings.borrow().hosts)) {
        let words = "ask by an IP address, by localhost, or by a name in http.hosts\n";
        return text(StatusCode::MISDIRECTED_REQUEST, words.to_owned());
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if is_of_another_site(request) {
        return text(StatusCode::FORBIDDEN, "this is no part of other sites\n".to_owned());
    }
    let path = request.uri().path();
    // The others show what all tenants have. Health and metrics are for machines of the
    // administrator.
    if !["/healthz", "/readyz", "/metrics"].contains(&path)
        && let Err(refusal) = may_see(request, caller, facts).await
    {
        return refused(&refusal);
    }
    let status = Arc::clone(&facts.status.borrow());
    let now = Instant::now();
    match path {
        "/healthz" => match facts.heartbeat.age(now) {
            age if age < OLDEST_TURN => text(StatusCode::OK, "ok\n".to_owned()),
            age => text(StatusCode::SERVICE_UNAVAILABLE, format!("the loop last turned {} s ago\n", age.as_secs())),
        },
        // Load balancers must send requests elsewhere, although those that still come are served.
        "/readyz" if status.reported.drained => text(StatusCode::SERVICE_UNAVAILABLE, "drained\n".to_owned()),
        "/readyz" => match status.ready() {
            Ok(()) => text(StatusCode::OK, readiness(&status)),
            Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
        },
        "/metrics" => {
            let nginx = facts.settings.borrow().nginx;
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

/// Whether somebody may see what all tenants have.
async fn may_see(request: &Request<Incoming>, caller: &Caller, facts: &Facts) -> Result<(), Refusal> {
    match &caller.proof {
        _ if caller.address.to_canonical().is_loopback() => Ok(()),
        Some(proof) => proof.admits(request.headers(), caller.address).await,
        None if facts.settings.borrow().remote.is_some() => Err(Refusal(StatusCode::FORBIDDEN, PLAIN)),
        None => Err(Refusal(StatusCode::FORBIDDEN, LOCAL)),
    }
}

fn refused(Refusal(status, words): &Refusal) -> Response<Body> {
    let mut response = text(*status, (*words).to_owned());
    let header = match *status {
        StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, r#"Basic realm="ingressd", charset="UTF-8""#)),
        StatusCode::TOO_MANY_REQUESTS => Some((RETRY_AFTER, "2")),
        _ => None,
    };
    response.headers_mut().extend(header.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

/// How many pages are made at the same time: the daemon's own work needs the processors too.
static PAGES: Semaphore = Semaphore::const_new(2);

/// Whether a page of another site in a browser on this host sends the request, and nobody has
/// followed a link there (Fetch Metadata Request Headers).
fn is_of_another_site(request: &Request<Incoming>) -> bool {
    let says = |name: &str, value: &str| request.headers().get(name).is_some_and(|reported| reported == value);
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
mod tests;
