//! Requests for one path have handlers with policies of their own, as the real nginx serves them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ingressd_model::catalogue::{CLIENT_MAX_BODY_SIZE, Version};
use ingressd_model::{
    AccessList, Action, Argument, Behaviour, Branch, ByteSize, Choice, Directive, Endpoint, ErrorPages, Handler,
    HeaderName, HeaderValue, HostListeners, HostName, Kind, LogLine, Model, ObjectId, Origin, PathMatch, Pattern,
    Rewrite, RewritePattern, RewriteTarget, Route, Server, ServerName, Split, StandIn, Tables, TargetPart, Test,
    Upstream, UrlPath,
};
use ingressd_nginx::render::{FileSet, Renderer};
use ingressd_nginx::{Capabilities, GateOptions, Global, OtherSites, SetHeader, gate};

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

/// An nginx that serves a model whose two backends answer with their names and these words; the
/// address, and the files.
fn served(model: impl FnOnce(u16) -> Model, global: Global, words: &str) -> (Nginx, SocketAddr, FileSet) {
    let nginx = Nginx::started();
    let [address, web, other]: [SocketAddr; 3] = [free_port(), free_port(), free_port()];
    let current = nginx.path("ingressd/current");
    let options = GateOptions { status: nginx.status, current, global, ..GateOptions::usual() };
    let capabilities = Capabilities::profile(Version(1, 22, 1));
    let row = |(name, address)| (upstream(name), [Endpoint { address, weight: 1 }].into());
    let tables = Tables { endpoints: [("web", web), ("other", other)].map(row).into(), ..Tables::default() };
    let model = model(address.port()).into();
    let (plan, findings) = gate(&model, &tables.into(), &capabilities, &OtherSites::default(), &options);
    assert_eq!(findings, []);
    let mut files = Renderer::default().render(&plan).together();
    backend(&mut files, &format!("\"web {words}\""), web);
    backend(&mut files, &format!("\"other {words}\""), other);
    assert_confirmed(&nginx.applier().apply(&files), 1);
    (nginx, address, files)
}

#[test]
fn each_request_has_the_policy_of_its_own_handler() {
    let (_nginx, address, files) = served(model, Global::usual(), "$request_uri");
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

#[test]
fn a_path_may_have_more_conditions_than_nginx_nests_variables() {
    let test = |number: usize| {
        Test::Header(HeaderName::new(&format!("X-Way-{number}")).unwrap(), HeaderValue::new("long").unwrap())
    };
    let (taken, rest) = (handler("web", Behaviour::default()), handler("other", Behaviour::default()));
    let with_conditions = |port| {
        let mut model = model(port);
        let put = Test::Method(HeaderName::new("PUT").unwrap());
        let branch = |number| Branch { all: vec![test(number), put.clone()], then: Arc::clone(&taken) };
        let route = &mut Arc::make_mut(&mut model.servers[0]).routes[1];
        (route.branches, route.otherwise) = ((0..150).map(branch).collect(), rest);
        model
    };
    let (_nginx, address, _) = served(with_conditions, Global::usual(), "$request_uri");
    for (request, expected) in [
        ("PUT /deep + X-Way-0: long", "200 web /deep"),
        ("GET /deep + X-Way-0: long", "200 other /deep"),
        ("PUT /deep + X-Way-149: long", "200 web /deep"),
        ("GET /deep + X-Way-149: long", "200 other /deep"),
        ("PUT /deep", "200 other /deep"),
    ] {
        assert_eq!(ask(address, request), expected, "{request}");
    }
}

#[test]
fn what_is_reported_of_a_route_is_that_of_the_path_and_of_the_handler() {
    let put = Test::Method(HeaderName::new("PUT").unwrap());
    let split = Split {
        origin: origin(),
        branches: vec![Branch { all: vec![put], then: Choice::Forward(upstream("other")) }],
        session: None,
        shares: Vec::new(),
    };
    let (plain, other) = (handler("web", Behaviour::default()), handler("other", Behaviour::default()));
    let action = Action::Proxy { upstream: upstream("web"), split: Some(Arc::new(split)) };
    let divided = Arc::new(Handler { action, ..Handler::clone(&plain) });
    let led = |port| {
        let mut model = model(port);
        let server = Arc::make_mut(&mut model.servers[0]);
        for route in &mut server.routes {
            route.branches = vec![Branch { all: vec![long()], then: Arc::clone(&other) }];
            route.otherwise = Arc::clone(&divided);
        }
        server.fallback.otherwise = Arc::clone(&divided);
        model
    };
    let value = "$location_path|$proxy_upstream_name|$proxy_alternative_upstream_name";
    let header = SetHeader { name: HeaderName::new("X-Seen").unwrap(), value: LogLine::new(value).unwrap() };
    let global = Global { request_headers: vec![header], ..Global::usual() };
    let (_nginx, address, _) = served(led, global, "$http_x_seen");
    for (request, expected) in [
        ("GET /", "200 web -|shop-web-80|"),
        ("GET /closed", "200 web /closed|shop-web-80|"),
        ("GET /deep", "200 web /deep|shop-web-80|"),
        ("GET /deep + X-Way: long", "200 other /deep|shop-other-80|"),
        ("PUT /deep", "200 other /deep|shop-web-80|shop-other-80"),
        ("PUT /", "200 other -|shop-web-80|shop-other-80"),
    ] {
        assert_eq!(ask(address, request), expected, "{request}");
    }
}

#[test]
fn ambiguous_paths_are_refused_by_the_handlers_of_the_namespace_that_asks_for_it() {
    let object = Arc::new(ObjectId::new(Kind::INGRESS, "strict", "cart"));
    let of_other =
        |behaviour| Arc::new(Handler { origin: Origin::object(&object), ..Handler::clone(&handler("web", behaviour)) });
    let (closed, open) = (of_other(Behaviour { strict_paths: true, ..guarded() }), of_other(Behaviour::default()));
    let put = Test::Method(HeaderName::new("PUT").unwrap());
    let led = |port| {
        let mut model = model(port);
        let route = &mut Arc::make_mut(&mut model.servers[0]).routes[1];
        let own = Branch { all: vec![long()], then: handler("other", Behaviour::default()) };
        (route.branches, route.otherwise) = (vec![own, Branch { all: vec![put], then: open }], closed);
        model
    };
    let (_nginx, address, _) = served(led, Global::usual(), "$request_uri");
    for (request, expected) in [
        ("GET /deep/a%2Fb + X-Way: long", "200 other /deep/a%2Fb"),
        ("PUT /deep/a%2Fb", "400 "),
        ("PUT /deep/a", "200 web /deep/a"),
        ("GET /deep/a%2Fb", "400 "),
        ("GET /deep/a", "403 "),
    ] {
        assert!(ask(address, request).starts_with(expected), "{request}: {}", ask(address, request));
    }
}
