//! Conditions of a route choose any action, as the real nginx serves them; no dialect asks for all
//! of them yet.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;

use ingressd_model::{
    Action, Branch, Choice, Endpoint, Field, HeaderName, HeaderValue, HostListeners, HostName, Kind, Model, ObjectId,
    Origin, PathMatch, RedirectUrl, Route, Server, ServerName, Split, Tables, Test, Upstream, UpstreamId, UrlPath,
};
use ingressd_nginx::render::{File, FileSet, Owners, Part, Renderer};
use ingressd_nginx::{Capabilities, GateOptions, OtherSites, gate};

use super::assert_confirmed;
use super::nginx::{Nginx, free_port};
use ingressd_config::Usual as _;

pub fn origin() -> Origin {
    Origin { object: Arc::new(ObjectId::new(Kind::INGRESS, "shop", "cart")), field: Field::Object }
}

pub fn upstream(service: &str) -> UpstreamId {
    UpstreamId::usual("shop", service, "80")
}

/// Tests in the order in which they decide, each with its choice.
fn branches() -> Vec<Branch<Choice>> {
    let name = |text| HeaderName::new(text).unwrap();
    let value = |text| HeaderValue::new(text).unwrap();
    let elsewhere = RedirectUrl::new("https://elsewhere.example/?x=y").unwrap();
    let rows = [
        (Test::Header(name("X-A"), value("friend")), Choice::Forward(upstream("other"))),
        (Test::Header(name("X-A"), value("foe")), Choice::Respond(403)),
        (Test::Query(name("v"), value("2")), Choice::Redirect(307, elsewhere)),
        (Test::Cookie(name("c"), value("1")), Choice::Respond(403)),
        (Test::Method(name("PUT")), Choice::Forward(upstream("other"))),
        (Test::Method(name("DELETE")), Choice::Respond(405)),
    ];
    rows.into_iter().map(|(test, then)| Branch { all: vec![test], then }).collect()
}

fn model(port: u16) -> Model {
    let split = Split { origin: origin(), branches: branches(), session: None, shares: Vec::new() };
    let path = PathMatch::Prefix { path: UrlPath::new("/").unwrap(), redirect_to_slash: false };
    let action = Action::Proxy { upstream: upstream("web"), split: Some(Arc::new(split)) };
    let fallback = Route::plain(origin(), path, action);
    let server = Server::usual(ServerName::Exact(HostName::new("a.example").unwrap()), fallback);
    let group = |service| Arc::new(Upstream { id: upstream(service), origin: origin(), uid: None, sharers: 1 });
    let addresses = vec![IpAddr::from([127, 0, 0, 1])];
    Model {
        listeners: HostListeners { addresses, http_port: port, https_port: 0, proxy_protocol: false }.all(),
        servers: vec![Arc::new(server)],
        upstreams: vec![group("other"), group("web")],
        ..Model::default()
    }
}

/// A server of the same nginx that answers with its name.
pub fn backend(files: &mut FileSet, name: &str, address: SocketAddr) {
    let text = format!("server {{ listen {address}; return 200 {name}; }}\n");
    let file = File::plain([Part::Bytes(text.into_bytes().into())], Owners::default(), []);
    files.files.insert(format!("http/zz-{name}.conf").into(), Arc::new(file));
}

/// The status, and where to or what the body is.
pub fn ask(address: SocketAddr, request: &str) -> String {
    let (line, headers) = request.split_once(' ').map(|(method, rest)| (method, rest.split(" + "))).unwrap();
    let mut headers = headers;
    let path = headers.next().unwrap();
    let headers: String = headers.map(|header| format!("{header}\r\n")).collect();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = headers.split_once("Content-Length: ").map_or(0, |(_, length)| length.trim().parse().unwrap());
    let body = "x".repeat(length);
    write!(stream, "{line} {path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n{headers}\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap();
    let place = answer.lines().find_map(|line| line.strip_prefix("Location: "));
    format!("{status} {}", place.unwrap_or(answer.lines().last().unwrap_or_default()))
}

#[test]
fn the_first_condition_that_a_request_meets_decides_what_is_done_with_it() {
    let nginx = Nginx::started();
    let [address, web, other] = [free_port(), free_port(), free_port()];
    let options = GateOptions { status: nginx.status, current: nginx.path("ingressd/current"), ..GateOptions::usual() };
    let capabilities = Capabilities::profile(ingressd_model::catalogue::Version(1, 22, 1));
    let row = |(name, address)| (upstream(name), [Endpoint { address, weight: 1 }].into());
    let tables = Tables { endpoints: [("web", web), ("other", other)].map(row).into(), ..Tables::default() };
    let model = model(address.port()).into();
    let (plan, findings) = gate(&model, &tables.into(), &capabilities, &OtherSites::default(), &options);
    assert_eq!(findings, []);
    let mut files = Renderer::default().render(&plan).together();
    backend(&mut files, "web", web);
    backend(&mut files, "other", other);
    assert_confirmed(&nginx.applier().apply(&files), 1);
    for (request, expected) in [
        ("GET /", "200 web"),
        ("PUT /", "200 other"),
        ("DELETE /", "405 405 Method Not Allowed"),
        ("GET / + X-A: friend", "200 other"),
        ("GET / + X-A: foe", "403 403 Forbidden"),
        ("PUT / + X-A: foe", "403 403 Forbidden"),
        ("GET / + Cookie: b=2; c=1", "403 403 Forbidden"),
        ("PUT / + Cookie: c=1", "403 403 Forbidden"),
        ("GET / + Cookie: c=12", "200 web"),
        ("GET /?a&v=2", "307 https://elsewhere.example/?x=y"),
        ("GET /?v=2 + X-A: friend", "200 other"),
        ("GET /?v=2 + X-A: foe", "403 403 Forbidden"),
        ("GET /?v=3 + X-A: nobody", "200 web"),
    ] {
        assert_eq!(ask(address, request), expected, "{request}");
    }
}
