//! Responds to requests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderName, HeaderValue, Request, Response, Version};
use http_body_util::channel::Channel;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};

use super::answer::{ADDRESS_HEADER, Answer, TlsFacts};
use super::switches::Switches;
use super::{grpc, websocket};

/// The facts that all requests of a connection share.
pub struct Connection {
    /// The name of the backend.
    pub name: Arc<str>,
    /// The address that was reached.
    pub address: SocketAddr,
    /// The address of the peer.
    pub client: SocketAddr,
    /// Facts about TLS.
    pub tls: Option<TlsFacts>,
}

/// Responds to one request.
pub async fn answer(
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let mut response = if websocket::is_wanted(request.headers()) {
        websocket::answer(request)
    } else if grpc::is_call(request.headers()) {
        let path = request.uri().path().to_owned();
        // The response comes after the request's message, as in any gRPC service.
        let _ = request.into_body().collect().await;
        grpc::answer(&path)
    } else {
        echo(&connection, request).await
    };
    if let Ok(address) = HeaderValue::from_str(&connection.address.to_string()) {
        response.headers_mut().insert(HeaderName::from_static(ADDRESS_HEADER), address);
    }
    Ok(response)
}

async fn echo(connection: &Connection, request: Request<Incoming>) -> Response<BoxBody<Bytes, Infallible>> {
    let switches = Switches::of(request.uri().query().unwrap_or_default());
    let mut report = report(connection, &request);
    report.body_length = drain(request.into_body()).await;
    if switches.events.is_none() {
        tokio::time::sleep(switches.delay).await;
    }
    let (content_type, body) = match (switches.events, switches.size) {
        (Some(count), _) => ("text/event-stream", events(count, &switches)),
        (None, Some(size)) => ("application/octet-stream", Full::new(Bytes::from(vec![b'x'; size])).boxed()),
        (None, None) => {
            let mut text = serde_json::to_vec_pretty(&report).unwrap_or_default();
            text.push(b'\n');
            ("application/json", Full::new(Bytes::from(text)).boxed())
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = switches.status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    for (name, value) in switches.headers {
        response.headers_mut().append(name, value);
    }
    response
}

fn report(connection: &Connection, request: &Request<Incoming>) -> Answer {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut headers: Vec<_> =
        request.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    if let (Some(authority), false) = (request.uri().authority(), request.headers().contains_key(HOST)) {
        headers.insert(0, (HOST.as_str().to_owned(), authority.to_string()));
    }
    Answer {
        name: connection.name.to_string(),
        address: connection.address,
        client: connection.client,
        method: request.method().to_string(),
        path: request.uri().path_and_query().map_or_else(|| request.uri().to_string(), ToString::to_string),
        protocol: match request.version() {
            Version::HTTP_10 => "HTTP/1.0".to_owned(),
            Version::HTTP_2 => "HTTP/2".to_owned(),
            _ => "HTTP/1.1".to_owned(),
        },
        headers,
        tls: connection.tls.clone(),
        body_length: 0,
    }
}

/// Reads a body to its end and returns its length.
async fn drain(mut body: Incoming) -> u64 {
    let mut length = 0;
    while let Some(Ok(frame)) = body.frame().await {
        length += frame.data_ref().map_or(0, |data| data.len() as u64);
    }
    length
}

/// A body that is sent in parts, with pauses.
fn events(count: u32, switches: &Switches) -> BoxBody<Bytes, Infallible> {
    let (mut sender, body) = Channel::new(1);
    let delay = switches.delay;
    tokio::spawn(async move {
        for number in 1..=count {
            if sender.send_data(Bytes::from(format!("data: {number}\n\n"))).await.is_err() {
                return;
            }
            tokio::time::sleep(delay).await;
        }
    });
    body.boxed()
}
