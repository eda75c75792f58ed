//! A proxy between a daemon and the API server, which can be down or slow, refuse requests, cut
//! connections and send wrong answers.

mod call;
pub mod rules;
mod streams;
mod tls;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub use call::Call;
pub use rules::{Action, Rules, status};
use streams::{Body, Streams};
use tls::Ends;

use crate::wait;

/// Port of the proxy, in the test's own namespace.
const PORT: u16 = 6443;

/// Most calls that are remembered.
const REMEMBERED: usize = 100_000;

/// The proxy. It ends with this value.
pub struct Proxy {
    /// What it does instead of passing calls on.
    pub rules: Rules,
    /// The watches that run through it.
    pub streams: Streams,
    line: Arc<Line>,
    running: Option<JoinHandle<()>>,
}

/// What every connection needs.
struct Line {
    rules: Rules,
    streams: Streams,
    ends: Mutex<Ends>,
    server: SocketAddr,
    /// Calls and the status of their answers, 0 for none.
    calls: Mutex<VecDeque<(Call, u16)>>,
}

impl Proxy {
    /// Starts one in front of the API server at this address, whose certificate the authority
    /// (PEM) signed.
    pub async fn start(server: SocketAddr, authority: &[u8]) -> Self {
        let (rules, streams) = (Rules::default(), Streams::default());
        let line = Arc::new(Line {
            rules: rules.clone(),
            streams: streams.clone(),
            ends: Mutex::new(Ends::new(authority)),
            server,
            calls: Mutex::default(),
        });
        let mut proxy = Proxy { rules, streams, line, running: None };
        proxy.come_back().await;
        proxy
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{PORT}")
    }

    /// The authority that signed its certificate, PEM.
    pub fn authority(&self) -> String {
        self.line.ends.lock().unwrap_or_else(PoisonError::into_inner).authority()
    }

    /// Gets a certificate of another authority; connections that are open stay.
    pub fn replace_authority(&self) {
        self.line.ends.lock().unwrap_or_else(PoisonError::into_inner).replace_authority();
    }

    /// trusts that this authority (PEM) signed the API server's certificate from now on.
    pub fn trust(&self, authority: &[u8]) {
        self.line.ends.lock().unwrap_or_else(PoisonError::into_inner).trust(authority);
    }

    /// Goes away: its port refuses connections, and those that are open break.
    pub async fn go_away(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
            let _ = running.await;
        }
    }

    /// Comes back.
    pub async fn come_back(&mut self) {
        self.go_away().await;
        // A process that another test starts at this moment has the socket of before until it is
        // another program.
        let bind = async || TcpListener::bind(("127.0.0.1", PORT)).await.ok();
        let listener = wait::until("the port of the proxy", bind).await;
        self.running = Some(tokio::spawn(listen(listener, Arc::clone(&self.line))));
    }

    /// Breaks all connections, and goes on.
    pub async fn cut(&mut self) {
        self.come_back().await;
    }

    /// How many calls of this sort were answered with this status so far.
    pub fn count(&self, status: u16, matches: impl Fn(&Call) -> bool) -> usize {
        let calls = self.line.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().filter(|(call, answered)| *answered == status && matches(call)).count()
    }

    /// Waits until so many calls of this sort were answered with this status.
    pub async fn counted(&self, what: &str, count: usize, status: u16, matches: impl Fn(&Call) -> bool) {
        wait::until_right(what, async || self.count(status, &matches), |answered| *answered >= count).await;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.abort();
        }
    }
}

async fn listen(listener: TcpListener, line: Arc<Line>) {
    // Connections end with this task.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(serve(stream, Arc::clone(&line)));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, line: Arc<Line>) {
    let accept = line.ends.lock().unwrap_or_else(PoisonError::into_inner).accept(stream);
    let Ok(stream) = accept.await else { return };
    let answer = service_fn(|request| line.answer(request));
    // An answer that is an error closes the connection: that is the client's to notice.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

impl Line {
    async fn answer(&self, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let (head, body) = request.into_parts();
        let call = Call::of(&head);
        let answer = self.answer_call(&call, Request::from_parts(head, body)).await;
        let status = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() == REMEMBERED {
            calls.pop_front();
        }
        calls.push_back((call, status));
        answer
    }

    async fn answer_call(&self, call: &Call, request: Request<Incoming>) -> io::Result<Response<Body>> {
        match self.rules.action(call) {
            None => self.pass(call, request).await,
            Some(Action::Delay(time)) => {
                tokio::time::sleep(time).await;
                self.pass(call, request).await
            }
            Some(Action::Refuse(code)) => Ok(json(code, &status(code))),
            Some(Action::Busy(seconds)) => Ok(busy(seconds)),
            Some(Action::Cut) => Err(io::ErrorKind::ConnectionReset.into()),
            Some(Action::HoldCall(hold)) => {
                hold.keep().await;
                self.pass(call, request).await
            }
            Some(Action::HoldAnswer(hold)) => {
                let answer = self.pass(call, request).await;
                hold.keep().await;
                answer
            }
            Some(Action::Edit(change)) => {
                let mut request = request;
                request.headers_mut().remove(http::header::ACCEPT_ENCODING);
                let (head, body) = self.pass(call, request).await?.into_parts();
                let bytes = body.collect().await?.to_bytes();
                let mut value: Value = serde_json::from_slice(&bytes)?;
                change(&mut value);
                Ok(json(head.status, &value))
            }
        }
    }

    /// Passes a call on to the API server, on a connection of its own.
    async fn pass(&self, call: &Call, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let connect = self.ends.lock().unwrap_or_else(PoisonError::into_inner).connect(self.server);
        let stream = TokioIo::new(connect.await?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        let (head, body) = sender.send_request(request).await.map_err(io::Error::other)?.into_parts();
        let body = match call.is_watch() && head.status == StatusCode::OK {
            true => self.streams.pass(call.clone(), body),
            false => body.map_err(io::Error::other).boxed_unsync(),
        };
        Ok(Response::from_parts(head, body))
    }
}

fn json(code: StatusCode, value: &Value) -> Response<Body> {
    let response = Response::builder().status(code).header("content-type", "application/json");
    response.body(whole(value.to_string())).unwrap()
}

fn busy(seconds: u32) -> Response<Body> {
    let response = Response::builder().status(StatusCode::TOO_MANY_REQUESTS).header("retry-after", seconds);
    response.body(whole("Too many requests, please try again later.\n".to_owned())).unwrap()
}

fn whole(text: String) -> Body {
    Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync()
}
