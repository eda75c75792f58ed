//! A client that sends exactly the given request and shows exactly the response.

mod connection;
mod peer;
mod raw;
mod websocket;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use ingressd_echo::Answer;
use rustls::ClientConfig;

pub use connection::{Connection, Failure, Start, Version};
pub use peer::{Peer, showing};
pub use raw::{raw, raw_http2};
pub use websocket::WebSocket;

use super::authority::Signed;
use super::namespace::Namespace;
use super::{nginx, wait};

/// A request in the making. The URL decides scheme, port and Host; the connection goes to
/// 127.0.0.1 unless told otherwise.
#[derive(Debug, Clone)]
pub struct Request {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    to: IpAddr,
    from: Start,
    version: Version,
    sni: Option<String>,
    shows: Option<Arc<ClientConfig>>,
}

/// A response.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// Trailers, as gRPC uses them.
    pub trailers: HeaderMap,
    /// The protocol that was spoken.
    pub version: http::Version,
    /// The other end of TLS.
    pub peer: Option<Peer>,
}

/// GET.
pub fn get(url: &str) -> Request {
    Request::new(Method::GET, url)
}

/// POST with a body.
pub fn post(url: &str, body: impl Into<Bytes>) -> Request {
    Request { body: body.into(), ..Request::new(Method::POST, url) }
}

/// PUT with a body.
pub fn put(url: &str, body: impl Into<Bytes>) -> Request {
    Request { method: Method::PUT, ..post(url, body) }
}

/// A call of gRPC's health service, over HTTP/2 as the scheme says.
pub fn grpc_check(origin: &str) -> Request {
    // The message has no fields: it is not compressed, and it has no bytes.
    let request = post(&format!("{origin}/grpc.health.v1.Health/Check"), &[0_u8; 5][..]);
    request.header("content-type", "application/grpc").header("te", "trailers").http2()
}

/// A stream of gRPC's health service, see [`Request::open_stream`].
pub fn grpc_watch(origin: &str) -> Request {
    let check = grpc_check(origin);
    let uri = check.uri.to_string().replace("Check", "Watch").parse().unwrap();
    Request { uri, ..check }
}

/// An answer that goes on.
pub struct Stream {
    body: Incoming,
    _connection: Connection,
}

impl Stream {
    /// Waits until the other end closes it.
    pub async fn closed(mut self) {
        while let Some(Ok(_)) = self.body.frame().await {}
    }
}

impl Request {
    /// Any method.
    pub fn new(method: Method, url: &str) -> Self {
        let uri: Uri = url.parse().unwrap_or_else(|error| panic!("{url}: {error}"));
        let host = uri.host().expect("a whole URL").to_owned();
        Request {
            method,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            to: IpAddr::from([127, 0, 0, 1]),
            from: Start::default(),
            version: Version::Http1,
            sni: Some(host),
            shows: None,
            uri,
        }
    }

    /// Adds a header. `host` replaces the one of the URL.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        self
    }

    /// Speaks HTTP/2: by ALPN over TLS, with prior knowledge without.
    pub fn http2(mut self) -> Self {
        self.version = Version::Http2;
        self
    }

    /// Asks for another name in the TLS handshake than in the request; `None` asks for none.
    pub fn sni(mut self, name: Option<&str>) -> Self {
        self.sni = name.map(str::to_owned);
        self
    }

    /// Shows a certificate when it is asked for one.
    pub fn showing(mut self, signed: &Signed) -> Self {
        self.shows = Some(Arc::clone(&signed.config));
        self
    }

    /// Connects to this address; the port is still the URL's.
    pub fn to(mut self, address: impl Into<IpAddr>) -> Self {
        self.to = address.into();
        self
    }

    /// Connects from this address, which must be one of the namespace's: 127.0.0.0/8,
    /// 10.244.0.0/16, ...
    pub fn from(mut self, address: &str) -> Self {
        self.from.address = Some(address.parse().unwrap());
        self
    }

    /// Sends these bytes as soon as it is connected, before TLS and the request.
    pub fn behind(mut self, first: impl Into<Vec<u8>>) -> Self {
        self.from.first = first.into();
        self
    }

    /// Connects from another network than the test's.
    pub fn within(mut self, namespace: &Namespace) -> Self {
        self.from.namespace = Some(namespace.clone());
        self
    }

    /// Sends it on a connection of its own, once no worker of an earlier configuration can take
    /// it: an answer is one of the configuration whose effect the test has seen.
    ///
    /// # Panics
    ///
    /// When there is no answer.
    pub async fn send(self) -> Reply {
        nginx::changed(self.network(), self.to).await;
        let url = self.uri.clone();
        self.try_send().await.unwrap_or_else(|failure| panic!("{url}: {failure}"))
    }

    /// Sends it on a connection of its own, whoever takes it, as clients do.
    pub async fn try_send(self) -> Result<Reply, Failure> {
        let answer = async { self.connect_to_any().await?.send(&self).await };
        tokio::time::timeout(wait::LIMIT, answer).await.map_err(|_| Failure::Late)?
    }

    /// Asks again until the answer is as it should be.
    pub async fn send_until(self, what: &str, right: impl Fn(&Reply) -> bool) -> Reply {
        let ask = async || self.clone().try_send().await;
        let right = |answer: &Result<Reply, Failure>| answer.as_ref().is_ok_and(&right);
        wait::until_right(what, ask, right).await.unwrap()
    }

    /// Opens a WebSocket, under the condition of [`Request::send`].
    pub async fn open_websocket(self) -> Result<WebSocket, Failure> {
        nginx::changed(self.network(), self.to).await;
        websocket::open(self).await
    }

    /// Waits for the beginning of an answer that goes on, under the condition of
    /// [`Request::send`].
    pub async fn open_stream(&self) -> Result<Stream, Failure> {
        let mut connection = self.connect().await?;
        let body = connection.begin(self).await?.into_body();
        Ok(Stream { body, _connection: connection })
    }

    /// Opens the connection that this request would use, under the condition of
    /// [`Request::send`]; others to the same host may use it too.
    pub async fn connect(&self) -> Result<Connection, Failure> {
        nginx::changed(self.network(), self.to).await;
        self.connect_to_any().await
    }

    /// The same, whoever takes it, as clients do.
    pub async fn connect_to_any(&self) -> Result<Connection, Failure> {
        let tls = self.is_tls().then_some((self.sni.as_deref(), self.shows.as_ref()));
        Connection::open(self.address(), &self.from, tls, self.version).await
    }

    fn network(&self) -> u64 {
        self.from.namespace.as_ref().map_or_else(|| Namespace::current().number(), Namespace::number)
    }

    fn is_tls(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    fn address(&self) -> SocketAddr {
        let port = self.uri.port_u16().unwrap_or(if self.is_tls() { 443 } else { 80 });
        SocketAddr::new(self.to, port)
    }

    fn build(&self) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.headers_mut() = self.headers.clone();
        match self.version {
            // The scheme and authority become pseudo headers.
            Version::Http2 => *request.uri_mut() = self.uri.clone(),
            Version::Http1 => {
                *request.uri_mut() = self.uri.path_and_query().map_or("/", |target| target.as_str()).parse().unwrap();
                if !self.headers.contains_key(HOST) {
                    let authority = self.uri.authority().unwrap().as_str();
                    request.headers_mut().insert(HOST, HeaderValue::from_str(authority).unwrap());
                }
            }
        }
        request
    }
}

impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from.address.map(|address| format!(" from {address}")).unwrap_or_default();
        write!(formatter, "{} {}{from}", self.method, self.uri)
    }
}

impl Reply {
    /// A header, when there is exactly one of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none())?.to_str().ok()
    }

    /// The description of the request by the echo backend.
    ///
    /// # Panics
    ///
    /// When it was not an echo backend that answered.
    pub fn echo(&self) -> Answer {
        self.try_echo().unwrap_or_else(|| panic!("not an answer of an echo backend: {self:#?}"))
    }

    /// The same, when an echo backend answered.
    pub fn try_echo(&self) -> Option<Answer> {
        let json = self.header(CONTENT_TYPE.as_str()) == Some("application/json");
        json.then(|| serde_json::from_slice(&self.body).ok())?
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    async fn read(response: http::Response<Incoming>, peer: Option<Peer>) -> Result<Self, Failure> {
        let (head, body) = response.into_parts();
        let collected = body.collect().await?;
        let trailers = collected.trailers().cloned().unwrap_or_default();
        Ok(Reply {
            status: head.status.as_u16(),
            headers: head.headers,
            body: collected.to_bytes().to_vec(),
            trailers,
            version: head.version,
            peer,
        })
    }
}
