//! Sends the requests of a row and compares the responses.

use std::net::SocketAddr;

use base64::Engine;
use http::Method;
use ingressd_echo::{ADDRESS_HEADER, Answer};

use crate::cluster::Cluster;
use crate::project::{Kind, Project, Row, takes};
use rig::authority::Signed;
use rig::client::{Reply, Request, get, grpc_check, post, put};

/// The name in the certificate of pods that speak TLS.
const POD: &str = "echo.tls";
/// How often a client that stays with an endpoint asks again.
const AGAIN: usize = 5;

/// What is wrong with the response.
pub async fn check(row: &Row, project: &Project, cluster: &Cluster, client: &Signed) -> Vec<String> {
    let request = request(row, client);
    if row.kind == Kind::Websocket {
        return websocket(request).await.err().into_iter().collect();
    }
    let reply = match request.clone().try_send().await {
        Ok(reply) => reply,
        Err(failure) => return vec![failure.to_string()],
    };
    let mut wrong = Vec::new();
    let mut compare = |what: &str, found: Option<&str>, expected: Option<&str>| {
        if found != expected {
            wrong.push(format!("{what} is {found:?} instead of {expected:?}"));
        }
    };
    let expected = row.status.unwrap_or(200);
    compare("the status", Some(&reply.status.to_string()), Some(&expected.to_string()));
    compare("the Service", service(&reply, project, cluster), row.by.as_deref());
    for (name, value) in &row.answer {
        compare(name, reply.headers.get(name).and_then(|value| value.to_str().ok()), value.as_deref());
    }
    for (name, words) in &row.has {
        let found = reply.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        compare(name, found.into_iter().find(|value| value.contains(words)).map(|_| &**words), Some(words));
    }
    wrong.extend(reply.try_echo().iter().flat_map(|reported| backend(row, reported)));
    wrong.extend(certificate(row, project, &reply));
    if let Some(cookie) = &row.sticks {
        wrong.extend(stays(&request, cookie, &reply).await);
    }
    wrong
}

fn request(row: &Row, client: &Signed) -> Request {
    let body = vec![b'x'; row.body];
    let mut request = match row.kind {
        Kind::Get | Kind::Websocket | Kind::Passed => get(&row.ask),
        Kind::Post => post(&row.ask, body),
        Kind::Put => put(&row.ask, body),
        Kind::Options => Request::new(Method::OPTIONS, &row.ask),
        Kind::Grpc => grpc_check(&row.ask),
    };
    for (name, value) in &row.send {
        request = request.header(name, value);
    }
    if let Some(user) = &row.user {
        let encoded = base64::engine::general_purpose::STANDARD.encode(user);
        request = request.header("Authorization", &format!("Basic {encoded}"));
    }
    if let Some(address) = &row.from {
        request = request.from(address);
    }
    if row.shows { request.showing(client) } else { request }
}

async fn websocket(request: Request) -> Result<(), String> {
    let mut socket = request.open_websocket().await.map_err(|failure| failure.to_string())?;
    let said = socket.say("hello").await.map_err(|failure| failure.to_string())?;
    if said == "hello" { Ok(()) } else { Err(format!("{said:?} comes back")) }
}

fn service<'c>(reply: &Reply, project: &Project, cluster: &'c Cluster) -> Option<&'c str> {
    let address: SocketAddr = reply.header(ADDRESS_HEADER)?.parse().unwrap();
    cluster.service(project, address.ip()).or(Some("that of another project"))
}

/// Headers of the request to the backend that are not as they should be.
fn backend(row: &Row, reported: &Answer) -> Vec<String> {
    let url = url::Url::parse(&row.ask).unwrap();
    let asked = row.ask.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..])).unwrap_or("/");
    let asked = asked.split('#').next().unwrap_or_default();
    let expected = row.path.as_deref().unwrap_or(asked);
    let mut wrong = Vec::new();
    if reported.path != expected {
        wrong.push(format!("the backend is asked for {} instead of {expected}", reported.path));
    }
    if reported.body_length != row.body as u64 {
        wrong.push(format!("the backend gets {} bytes", reported.body_length));
    }
    let default = url.host_str().map(str::to_owned);
    let host = (!row.seen.contains_key("host")).then_some(("host", default));
    let seen = row.seen.iter().map(|(name, value)| (name.as_str(), value.clone())).chain(host);
    for (name, expected) in seen {
        let found = reported.header(name);
        if found != expected.as_deref() {
            wrong.push(format!("the backend gets {name}: {found:?} instead of {expected:?}"));
        }
    }
    let name = reported.tls.as_ref().and_then(|tls| tls.sni.as_ref());
    if row.sni.is_some() && name != row.sni.as_ref() {
        wrong.push(format!("the backend is asked for {name:?} in the handshake"));
    }
    wrong
}

/// A certificate that is not the one of the host, or not the pod's where TLS is passed through.
fn certificate(row: &Row, project: &Project, reply: &Reply) -> Option<String> {
    let names = &reply.peer.as_ref()?.names;
    let host = url::Url::parse(&row.ask).unwrap().host_str().unwrap().to_owned();
    let is_right = match row.kind {
        Kind::Passed => names == &[POD],
        _ if !project.tls_hosts().iter().any(|own| takes(own, &host)) => true,
        _ => names.iter().any(|name| takes(name, &host)),
    };
    (!is_right).then(|| format!("the certificate is for {names:?}"))
}

/// Whether a client comes to the same endpoint again.
async fn stays(request: &Request, cookie: &str, first: &Reply) -> Vec<String> {
    let given = first.headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
    let pair = given
        .into_iter()
        .find_map(|value| value.split(';').next().filter(|pair| pair.starts_with(&format!("{cookie}="))));
    let request = match (cookie, pair) {
        ("", _) => request.clone(),
        (_, Some(pair)) => request.clone().header("Cookie", pair),
        (_, None) => return vec![format!("no cookie {cookie} is given")],
    };
    let mut wrong = Vec::new();
    for _ in 0..AGAIN {
        let again = request.clone().send().await;
        if again.header(ADDRESS_HEADER) != first.header(ADDRESS_HEADER) {
            wrong.push(format!("{:?} answers after {:?}", again.header(ADDRESS_HEADER), first.header(ADDRESS_HEADER)));
        }
    }
    wrong
}
