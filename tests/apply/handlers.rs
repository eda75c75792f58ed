//! Requests for one path have handlers with policies of their own, as the real nginx serves them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ingressd_model::catalogue::{CLIENT_MAX_BODY_SIZE, Version};
use ingressd_model::{
    AccessList, Action, Argument, Behaviour, Branch, ByteSize, Directive, Endpoint, ErrorPages, Handler, HeaderName,
    HeaderValue, HostListeners, HostName, Model, PathMatch, Pattern, Rewrite, RewritePattern, RewriteTarget, Route,
    Server, ServerName, StandIn, Tables, TargetPart, Test, Upstream, UrlPath,
};
use ingressd_nginx::render::Renderer;
use ingressd_nginx::{Capabilities, GateOptions, OtherSites, gate};

use super::assert_confirmed;
use super::conditions::{ask, backend, origin, upstream};
use super::nginx::{Nginx, free_port};
use ingressd_config::Usual as _;

fn handler(service: &str, behaviour: Behaviour) -> Arc<Handler> {
    let action = Action::Proxy { upstream: upstream(service), split: None };
    Arc::new(Handler { origin: origin(), action, behaviour: Arc::new(behaviour), errors: None })
}

/// Another backend takes its requests, because its own has no endpoints.
fn spare() -> Arc<Handler> {
    let pages = ErrorPages {
        upstream: upstream("web"),
        statuses: Vec::new(),
        intercepts: false,
        stand_in: StandIn::WithoutEndpoints,
        service: "gone".into(),
        port: "80".into(),
        origin: origin(),
    };
    Arc::new(Handler { errors: Some(Arc::new(pages)), ..Handler::clone(&handler("gone", Behaviour::default())) })
}

fn guarded() -> Behaviour {
    let only = vec!["192.0.2.0/24".parse().unwrap()];
    Behaviour { access: Some(Arc::new(AccessList::new(origin(), Vec::new(), only))), ..Behaviour::default() }
}

/// It takes 12 bytes, and leaves out the beginning of the path.
fn rewritten() -> Behaviour {
    let target = RewriteTarget::new(vec![TargetPart::Literal("/kept".into()), TargetPart::Capture(1)]).unwrap();
    let pattern = RewritePattern::Unanchored(Pattern::new("/deep(/.*)").unwrap());
    let arguments = vec![Argument::Size(ByteSize(12))];
    let limit = Directive { row: &CLIENT_MAX_BODY_SIZE, arguments, origin: origin() };
    Behaviour { rewrite: Some(Rewrite { pattern, target }), directives: vec![limit], ..Behaviour::default() }
}

fn long() -> Test {
    Test::Header(HeaderName::new("X-Way").unwrap(), HeaderValue::new("long").unwrap())
}

/// Below `/deep`, what has a header belongs to one handler, what also has a method to another one,
/// and the rest to that of the whole host; `/closed` does the same the other way round.
fn model(port: u16) -> Model {
    let method = |name: &str| Test::Method(HeaderName::new(name).unwrap());
    let (put, delete) = (method("PUT"), method("DELETE"));
    let path = |path: &str| PathMatch::Prefix { path: UrlPath::new(path).unwrap(), redirect_to_slash: false };
    let (root, open, rewritten) =
        (handler("web", guarded()), handler("web", Behaviour::default()), handler("other", rewritten()));
    let branch = |all: &[&Test], then: &Arc<Handler>| Branch {
        all: all.iter().copied().cloned().collect(),
        then: Arc::clone(then),
    };
    let route = |written: &str, branches, otherwise: &Arc<Handler>| Route {
        origin: origin(),
        path: path(written),
        branches,
        otherwise: Arc::clone(otherwise),
    };
    let (long, fallback) = (&long(), route("/", Vec::new(), &root));
    let routes = vec![
        route("/closed", vec![branch(&[long], &root)], &open),
        route(
            "/deep",
            vec![branch(&[&delete], &spare()), branch(&[long, &put], &open), branch(&[long], &rewritten)],
            &root,
        ),
    ];
    let name = ServerName::Exact(HostName::new("a.example").unwrap());
    let group = |service: &str| Arc::new(Upstream { id: upstream(service), origin: origin(), uid: None, sharers: 1 });
    let addresses = vec![IpAddr::from([127, 0, 0, 1])];
    Model {
        listeners: HostListeners { addresses, http_port: port, https_port: 0, proxy_protocol: false }.all(),
        servers: vec![Arc::new(Server { routes, ..Server::usual(name, fallback) })],
        upstreams: vec![group("gone"), group("other"), group("web")],
        ..Model::default()
    }
}

#[test]
fn each_request_has_the_policy_of_its_own_handler() {
    let nginx = Nginx::started();
    let [address, web, other]: [SocketAddr; 3] = [free_port(), free_port(), free_port()];
    let options = GateOptions { status: nginx.status, current: nginx.path("ingressd/current"), ..GateOptions::usual() };
    let capabilities = Capabilities::profile(Version(1, 22, 1));
    let row = |(name, address)| (upstream(name), [Endpoint { address, weight: 1 }].into());
    let tables = Tables { endpoints: [("web", web), ("other", other)].map(row).into(), ..Tables::default() };
    let model = model(address.port()).into();
    let (plan, findings) = gate(&model, &tables.into(), &capabilities, &OtherSites::default(), &options);
    assert_eq!(findings, []);
    let mut files = Renderer::default().render(&plan).together();
    backend(&mut files, "\"web $request_uri\"", web);
    backend(&mut files, "\"other $request_uri\"", other);
    assert_confirmed(&nginx.applier().apply(&files), 1);
    for (request, expected) in [
        // What falls to a protected handler is not open, and what is open is not closed by it.
        ("GET /deep/a", "403 "),
        ("GET /deep", "403 "),
        ("GET /deep/a + X-Way: short", "403 "),
        ("PUT /deep/a + X-Way: short", "403 "),
        ("GET /", "403 "),
        ("GET /closed", "200 web /closed"),
        ("GET /closed + X-Way: long", "403 "),
        // The path and the query reach the backend as the handler says, encoded as they came.
        ("GET /deep/a%2Fb?c=%20d + X-Way: long", "200 other /kept/a/b?c=%20d"),
        ("PUT /deep/a%2Fb?c=%20d + X-Way: long", "200 web /deep/a%2Fb?c=%20d"),
        // A handler without endpoints has what stands in for it.
        ("DELETE /deep/a", "200 web /deep/a"),
        // The limit of a body is the handler's, also where that of another one is smaller.
        ("POST /deep/a + X-Way: long + Content-Length: 12", "200 other /kept/a"),
        ("POST /deep/a + X-Way: long + Content-Length: 13", "413 "),
        ("POST /deep/a + X-Way: long + Content-Length: 120", "413 "),
        ("PUT /deep/a + X-Way: long + Content-Length: 13", "200 web /deep/a"),
    ] {
        let answer = ask(address, request);
        let is_right = if expected.ends_with(' ') { answer.starts_with(expected) } else { answer == expected };
        assert!(is_right, "{request}: {answer}");
    }
    // As many locations as paths (two for a prefix) and handlers, and one that stands in.
    let server = files.files.iter().find(|(path, _)| path.contains("a.example")).map(|(_, file)| file.content.bytes());
    let text = String::from_utf8(server.unwrap()).unwrap();
    assert_eq!(
        text.lines().filter(|line| line.starts_with("    location ") || line.starts_with("location ")).count(),
        10
    );
}
