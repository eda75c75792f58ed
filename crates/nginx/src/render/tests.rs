//! Files of whole plans: what a change rewrites, and which object owns which line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::*;
use crate::usual;
use crate::{Capabilities, GateOptions, OtherSites, gate, syntax};
use ingressd_model::catalogue::{
    self, CLIENT_MAX_BODY_SIZE, Context, InTemplate, Inherited, PROXY_READ_TIMEOUT, Version,
};
use ingressd_model::{
    Action, Argument, Behaviour, ByteSize, ClientLimits, Directive, ErrorPages, Field, Handler, HeaderName, HeaderSet,
    HostName, Kind, Listener, Model, ObjectId, Origin, PathMatch, Pattern, Port, Protocol, Route, Serves, Snippet,
    StandIn, StreamPolicy, Transport, Upstream, UpstreamId, UpstreamIdentity, UrlPath,
};

fn origin(name: &str, field: Field) -> Origin {
    Origin { object: Arc::new(ObjectId::new(Kind::INGRESS, "default", name)), field }
}

fn prefix(path: &str, redirect_to_slash: bool) -> PathMatch {
    PathMatch::Prefix { path: UrlPath::new(path).unwrap(), redirect_to_slash }
}

fn exact(path: &str, redirect_to_slash: bool) -> PathMatch {
    PathMatch::Exact { path: UrlPath::new(path).unwrap(), redirect_to_slash }
}

fn route(name: &str, path: PathMatch, status: u16) -> Route {
    Route::plain(origin(name, Field::Rule(0)), path, Action::Respond { status })
}

fn server(host: &str, routes: Vec<Route>) -> Arc<Server> {
    let name = ServerName::Exact(HostName::new(host).unwrap());
    let server = Server::usual(name, route("oldest", prefix("/", false), 404));
    Arc::new(Server { origin: origin("oldest", Field::Object), routes, ..server })
}

fn plan(servers: Vec<Arc<Server>>) -> Plan {
    plan_of(Model { servers, ..Model::default() })
}

fn plan_of(model: Model) -> Plan {
    let model = Model { listeners: usual::listeners().all(), ..model };
    let capabilities = Capabilities::profile(ingressd_model::catalogue::Version(1, 22, 1));
    gate(&model.into(), &Arc::default(), &capabilities, &OtherSites::default(), &GateOptions::default()).0
}

fn text(file: &File) -> String {
    String::from_utf8(file.content.bytes()).unwrap()
}

/// First lines of locations in order, each with the status that it answers.
fn locations(server: &Server) -> Vec<String> {
    let place = |place: &lower::Place<'_>| {
        let does = match (&place.to_slash, &place.route.action) {
            (Some(_), _) => format!("to {}/", place.path.trim_start_matches('^').trim_end_matches("\\z")),
            (None, Action::Respond { status }) => status.to_string(),
            (None, action) => format!("{action:?}"),
        };
        format!("{} {} {does}", place.modifier.as_str(), place.path)
    };
    lower::places(server).iter().map(place).collect()
}

#[test]
fn paths_become_locations() {
    let regex = |text: &str| PathMatch::Regex(Pattern::new(text).unwrap());
    let long = format!("/{}", "a".repeat(254));
    let longest = format!("~ ^{long}(?:/|\\z) 201");
    let below = format!("/{}", "b".repeat(249));
    let (at, under) = (format!("= {below} 201"), format!("^~ {below}/ 201"));
    type Row<'r> = (Vec<PathMatch>, Vec<&'r str>);
    let rows: Vec<Row<'_>> = vec![
        (vec![], vec!["^~ / 404"]),
        (vec![prefix("/a", false)], vec!["= /a 201", "^~ /a/ 201", "^~ / 404"]),
        (vec![prefix("/a/", false)], vec!["^~ /a/ 201", "= /a 201", "^~ / 404"]),
        // Here nginx does not redirect by itself.
        (vec![prefix("/a/", true)], vec!["^~ /a/ 201", "= /a to /a/", "^~ / 404"]),
        (vec![exact("/a/", true)], vec!["= /a/ 201", "= /a to /a/", "^~ / 404"]),
        (vec![prefix("/a/", true), exact("/a", false)], vec!["^~ /a/ 201", "= /a 202", "^~ / 404"]),
        (vec![exact("/a/", false)], vec!["= /a/ 201", "= /a 404", "^~ / 404"]),
        (
            vec![exact("/p/a/", false), prefix("/p", false)],
            vec!["= /p/a/ 201", "= /p 202", "= /p/a 202", "^~ /p/ 202", "^~ / 404"],
        ),
        (vec![prefix("/a/", false), prefix("/a", false)], vec!["^~ /a/ 201", "= /a 202", "^~ / 404"]),
        (vec![exact("/a", false), prefix("/a", false)], vec!["= /a 201", "^~ /a/ 202", "^~ / 404"]),
        (vec![prefix("/", false)], vec!["^~ / 201"]),
        (
            vec![exact("/a.b", false), regex("/x|/y"), prefix("/p", false)],
            vec![
                "~ ^/a\\.b\\z 201",
                "~* (*LIMIT_MATCH=200000)(*LIMIT_RECURSION=10000)^(?:/x|/y) 202",
                "~ ^/p(?:/|\\z) 203",
                "~ ^/ 404",
            ],
        ),
        (
            vec![regex("/x"), prefix("/p/", true), prefix("/q/", false), prefix("/q", false)],
            vec![
                "~* (*LIMIT_MATCH=200000)(*LIMIT_RECURSION=10000)^/x 201",
                "~ ^/p/ 202",
                "~ ^/p\\z to /p/",
                "~ ^/q/ 203",
                "~ ^/q(?:/|\\z) 204",
                "~ ^/ 404",
            ],
        ),
        (vec![prefix(&long, false)], vec![&longest, "~ ^/ 404"]),
        (vec![prefix(&below, false)], vec![&at, &under, "^~ / 404"]),
    ];
    for (paths, expected) in rows {
        let routes = paths.iter().cloned().zip(201..).map(|(path, status)| route("i", path, status)).collect();
        assert_eq!(locations(&server("a.example", routes)), expected, "{paths:?}");
    }
}

#[test]
fn a_change_of_one_server_writes_one_file() {
    let (first, last) = (server("a.example", Vec::new()), server("c.example", Vec::new()));
    let servers = |status| {
        let changing = server("b.example", vec![route("b", prefix("/b", false), status)]);
        vec![Arc::clone(&first), changing, Arc::clone(&last)]
    };
    let mut renderer = Renderer::default();
    let (before, after) =
        (renderer.render(&plan(servers(200))).together(), renderer.render(&plan(servers(201))).together());
    let same = |path: &&FilePath| Arc::ptr_eq(&before.files[*path], &after.files[*path]);
    let made: Vec<_> = after.files.keys().filter(|path| !same(path)).map(ToString::to_string).collect();
    let changing = names::server_file(&server("b.example", Vec::new()), &SearchOrder::default()).to_string();
    // The shared file is cheap and made each time; its content shows that nothing changed.
    let shared = names::SHARED.to_owned();
    assert_eq!(made.iter().filter(|path| **path != shared).collect::<Vec<_>>(), [&changing]);
    assert_eq!(before.files[names::SHARED], after.files[names::SHARED]);
    assert_ne!(before.files[&*changing].digest, after.files[&*changing].digest);
}

#[test]
fn every_line_of_a_shared_host_has_its_owner() {
    let annotation = |name: &str, key: &'static str| origin(name, Field::Annotation(key.into()));
    let setting = |row, argument, origin| Directive { row, arguments: vec![argument], origin };
    let mut young = route("young", prefix("/young", false), 200);
    young.behaviour = Arc::new(Behaviour {
        directives: vec![
            setting(&CLIENT_MAX_BODY_SIZE, Argument::Size(ByteSize(1)), annotation("young", "proxy-body-size")),
            setting(&PROXY_READ_TIMEOUT, Argument::Number(1), annotation("young", "proxy-read-timeout")),
        ],
        ..Behaviour::default()
    });
    let shared = server("a.example", vec![young, route("old", exact("/old", false), 201)]);
    let path = names::server_file(&shared, &SearchOrder::default());
    let files = Renderer::default().render(&plan(vec![shared])).together();
    let file = &files.files[&path];
    let mut seen = 0;
    let mut location = "oldest".to_owned();
    for (line, number) in text(file).lines().zip(1..) {
        let owner = file.owners.of_line(number).unwrap();
        if line.starts_with("location") {
            let name = ["young", "old"].into_iter().find(|name| line.contains(&format!("/{name}")));
            location = name.unwrap_or("oldest").to_owned();
        }
        let expected = match line.trim() {
            "client_max_body_size 1;" => annotation("young", "proxy-body-size"),
            "proxy_read_timeout 1;" => annotation("young", "proxy-read-timeout"),
            _ if location == "oldest" => {
                assert_eq!(&*owner.object.name, "oldest", "{number}: {line}");
                continue;
            }
            _ => origin(&location, Field::Rule(0)),
        };
        seen += 1;
        assert_eq!(*owner, expected, "{number}: {line}");
    }
    assert!(seen > 10, "{}", text(file));
}

#[test]
fn what_a_snippet_says_is_its_own_wherever_it_stands() {
    use ingressd_model::{SnippetDirective, SnippetHeader, SnippetStatement, SnippetText};
    let config_map = Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller"));
    let whole = Origin::field(&config_map, Field::Data("location-snippet".into()));
    let sibling = origin("sibling", Field::Annotation("server-snippet".into()));
    let header = |name: &str| HeaderName::new(name).unwrap();
    let plain = |text: &str| SnippetText::new(vec![ingressd_model::SnippetPart::Text(text.into())]).unwrap();
    let sub_filter = catalogue::find("sub_filter", Context::Location).unwrap();
    let directive =
        |word: &str| SnippetDirective { row: sub_filter, arguments: vec![plain(word), plain("x")], is_list: true };
    let of_map = Snippet {
        answer_headers: vec![SnippetHeader { name: header("X-Map"), value: plain("m"), always: true }],
        request_headers: vec![(header("X-To-Backend"), plain("m"))],
        directives: vec![directive("map")],
        ..Snippet::new(whole.clone())
    };
    let condition = ingressd_model::SnippetCondition::IsSet(ingressd_model::SnippetPart::ClientHost);
    let of_sibling = Snippet {
        statements: vec![
            SnippetStatement::Break,
            SnippetStatement::If(condition, vec![SnippetStatement::Return(403, None)]),
        ],
        directives: vec![directive("sibling")],
        ..Snippet::new(sibling.clone())
    };
    let (server, upstream) = proxied("default", 1);
    let behaviour = Behaviour {
        snippets: vec![Arc::new(of_map), Arc::new(of_sibling)],
        directives: vec![Directive {
            row: &CLIENT_MAX_BODY_SIZE,
            arguments: vec![Argument::Size(ByteSize(1))],
            origin: origin("s1", Field::Annotation("proxy-body-size".into())),
        }],
        ..Behaviour::default()
    };
    let mut fallback = server.fallback.clone();
    fallback.behaviour = Arc::new(behaviour);
    let (own, server) = (fallback.origin.clone(), Arc::new(Server { fallback, ..Server::clone(&server) }));
    let path = names::server_file(&server, &SearchOrder::default());
    let model = Model { servers: vec![server], upstreams: vec![upstream], ..Model::default() };
    let files = Renderer::default().render(&plan_of(model)).together();
    let file = &files.files[&path];
    let mut seen = Vec::new();
    let mut in_location = false;
    let all = text(file);
    for (line, number) in all.lines().zip(1..) {
        in_location |= line.starts_with("location");
        let expected = match line.trim() {
            "break ;" | "return 403;" => &sibling,
            line if line.starts_with("if (") => &sibling,
            line if line.starts_with("sub_filter") => {
                if line.contains("map") {
                    &whole
                } else {
                    &sibling
                }
            }
            line if line.starts_with("add_header X-Map") || line.starts_with("proxy_set_header X-To-Backend") => &whole,
            line if line.starts_with("proxy_pass") || line.starts_with("proxy_set_header Host") => &own,
            _ => continue,
        };
        if in_location {
            assert_eq!(file.owners.of_line(number), Some(expected), "{number}: {line}\n{}", text(file));
            seen.push(line.trim().split(' ').next().unwrap());
        }
    }
    assert!(
        ["break", "if", "return", "sub_filter", "add_header", "proxy_set_header", "proxy_pass"]
            .iter()
            .all(|name| seen.contains(name)),
        "{seen:?}"
    );
}

#[test]
fn what_a_snippet_says_of_a_service_is_owned_by_the_snippet() {
    let map = Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller"));
    let asked = Origin { object: Arc::clone(&map), field: Field::Data("stream-snippet".into()) };
    let own = Origin { object: map, field: Field::Data("9000".into()) };
    let row = catalogue::all().find(|row| row.name == "tcp_nodelay").unwrap();
    let directive = Directive { row, arguments: vec![Argument::Switch(false)], origin: asked.clone() };
    let port = Port { number: 9000, transport: Transport::Tcp };
    let identity = UpstreamIdentity { protocol: Protocol::Tcp, ..UpstreamIdentity::usual("edge", "db", "9000") };
    let id = identity.into();
    let listener = Listener {
        addresses: [[127, 0, 0, 1].into(), [127, 0, 0, 2].into()].into(),
        port,
        serves: Serves::Stream,
        proxy_protocol: false,
    };
    let policy = StreamPolicy { directives: [directive].into(), ..StreamPolicy::empty() };
    let stream = Stream { listener, origin: own.clone(), upstream: id, sends_proxy_protocol: false, policy };
    let engine = templates::load(&Default::default(), &Templates::default()).unwrap_or_else(|_| unreachable!());
    let file = lower::stream(&stream, &Decisions::default(), &[], &engine);
    let all = text(&file);
    for (line, number) in all.lines().zip(1..) {
        let expected = if line.trim() == "tcp_nodelay off;" { &asked } else { &own };
        assert_eq!(file.owners.of_line(number), Some(expected), "{number}: {line}");
    }
    assert!(all.contains("tcp_nodelay off;") && all.ends_with("\n}\n"), "{all}");
}

/// An upstream of a Service, and a server of the same name that sends all requests to it.
fn proxied(namespace: &str, number: u32) -> (Arc<Server>, Arc<Upstream>) {
    let service = format!("s{number}");
    let id = UpstreamId::usual(namespace, &service, "80");
    let origin = origin(&service, Field::Object);
    let action = Action::Proxy { upstream: id.clone(), split: None };
    let server = Server::clone(&server(&format!("{service}.{namespace}.example"), Vec::new()));
    let mut fallback = server.fallback.clone();
    fallback.action = action;
    (Arc::new(Server { fallback, ..server }), Arc::new(Upstream { id, origin, uid: None, sharers: 1 }))
}

#[test]
fn upstreams_of_a_namespace_with_many_delay_no_request_of_others() {
    let sides = |of_evil: u32| {
        let mut all: Vec<_> = (0..of_evil).map(|number| proxied("evil", number)).collect();
        all.extend((0..20).map(|number| proxied("victim", number)));
        all.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        let (servers, mut upstreams): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        upstreams.sort_by(|one, other| one.id.cmp(&other.id));
        plan_of(Model { servers, upstreams, ..Model::default() })
    };
    let mut renderer = Renderer::default();
    // When a step changes, files get new names together with everything that requires them.
    for (of_evil, before_the_victims) in [(50, 50), (300, 0), (63, 63), (64, 0)] {
        let files = renderer.render(&sides(of_evil)).together();
        assert_eq!(files, Renderer::default().render(&sides(of_evil)).together(), "{of_evil}");
        for (path, file) in &files.files {
            let missing: Vec<_> = file.requires.iter().filter(|path| !files.files.contains_key(*path)).collect();
            assert!(missing.is_empty(), "{path} requires {missing:?}");
        }
        let upstreams: Vec<_> = files.files.keys().filter(|path| path.contains("-upstream-")).collect();
        let last = upstreams.iter().rposition(|path| path.contains(".victim.")).unwrap();
        assert_eq!((last + 1 - 20, upstreams.len()), (before_the_victims, of_evil as usize + 20), "{of_evil}");
        let users = files.files.keys().position(|path| path.starts_with("http/server-")).unwrap();
        let after = files.files.keys().rposition(|path| path.contains("-upstream-")).unwrap();
        assert!(after < users, "whoever names one comes later");
    }
}

/// The names of the directives that a server sets itself, with a route of this protocol.
fn said(protocol: Protocol, header_set: HeaderSet) -> BTreeSet<String> {
    let upstream: UpstreamId = UpstreamIdentity { protocol, ..UpstreamIdentity::usual("default", "web", "80") }.into();
    let mut server = Server { header_set, ..Server::clone(&server("a.example", Vec::new())) };
    server.fallback.action = Action::Proxy { upstream: upstream.clone(), split: None };
    let upstreams = vec![Arc::new(Upstream { id: upstream, origin: server.origin.clone(), uid: None, sharers: 1 })];
    let model = Model { servers: vec![Arc::new(server)], upstreams, ..Model::default() };
    let capabilities = Capabilities::profile(Version(1, 31, 4));
    let plan = gate(&model.into(), &Arc::default(), &capabilities, &OtherSites::default(), &GateOptions::default()).0;
    let files = Renderer::default().render(&plan).together().files;
    let file = files.iter().find(|(path, _)| path.contains("a.example")).unwrap().1;
    let server = syntax::parse(&file.content.bytes()).unwrap().remove(0);
    server.children().iter().map(|directive| directive.name.clone()).collect()
}

/// nginx redirects to the slash by itself where requests are passed on, and nowhere else.
#[test]
fn a_plain_location_with_a_backend_needs_no_redirect_to_its_slash() {
    let upstream = UpstreamId::from(UpstreamIdentity::usual("default", "web", "80"));
    let action = Action::Proxy { upstream, split: None };
    let mut proxied = route("i", prefix("/a/", true), 201);
    proxied.action = action;
    let written = locations(&server("a.example", vec![proxied.clone()]));
    assert!(written.len() == 2 && written.iter().all(|line| !line.contains(" to ")), "{written:?}");
    let expression = route("i", PathMatch::Regex(Pattern::new("/x").unwrap()), 202);
    let written = locations(&server("a.example", vec![expression, proxied]));
    assert!(written.contains(&"~ ^/a\\z to /a/".to_owned()), "{written:?}");
}

/// A location of error pages asks for variables that only the location of a route sets.
#[test]
fn nothing_is_written_for_the_error_pages_of_a_fallback_that_no_request_reaches() {
    let pages = ErrorPages {
        upstream: UpstreamId::from(UpstreamIdentity::usual("default", "pages", "80")),
        statuses: vec![404],
        intercepts: true,
        stand_in: StandIn::Never,
        service: "web".into(),
        port: "80".into(),
        origin: origin("i", Field::Object),
    };
    let pages = Some(Arc::new(pages));
    let upstream = UpstreamId::from(UpstreamIdentity::usual("default", "web", "80"));
    let mut fallback = route("i", prefix("/", false), 404);
    (fallback.errors, fallback.action) = (pages, Action::Proxy { upstream: upstream.clone(), split: None });
    let service = |service: &str| {
        let id = UpstreamId::from(UpstreamIdentity::usual("default", service, "80"));
        Arc::new(Upstream { id, origin: origin("i", Field::Object), uid: None, sharers: 1 })
    };
    for (routes, expected) in [(vec![], true), (vec![route("i", prefix("/", false), 200)], false)] {
        let written = Server { fallback: fallback.clone(), ..Server::clone(&server("a.example", routes)) };
        let upstreams = vec![service("pages"), service("web")];
        let model = Model { servers: vec![Arc::new(written)], upstreams, ..Model::default() };
        let files = Renderer::default().render(&plan_of(model)).together().files;
        let text = text(files.iter().find(|(path, _)| path.contains("a.example")).unwrap().1);
        assert_eq!(text.contains("@ingressd_error_404"), expected, "{text}");
    }
}

#[test]
fn servers_say_what_the_catalogue_says_that_they_say() {
    for protocol in [Protocol::Http, Protocol::Grpc] {
        for header_set in [HeaderSet::Usual, HeaderSet::Detailed] {
            let said = said(protocol, header_set);
            for row in catalogue::all().filter(|row| row.contexts.hold(Context::Server)) {
                let expected = match row.in_template {
                    InTemplate::Always => true,
                    InTemplate::Grpc => protocol == Protocol::Grpc,
                    InTemplate::Detailed => header_set == HeaderSet::Detailed,
                    // Where it is overridden, nginx would refuse a second one.
                    InTemplate::Never if matches!(row.inherited, Inherited::TakenBack(_)) => false,
                    InTemplate::Never => continue,
                };
                assert_eq!(said.contains(row.name), expected, "{} with {protocol:?}, {header_set:?}", row.name);
            }
        }
    }
}

#[test]
fn wildcards_of_a_namespace_with_many_come_last_and_those_that_are_not_served_behind_them() {
    let wildcard = |namespace: &str, host: &str| {
        let object = Arc::new(ObjectId::new(Kind::INGRESS, namespace, "wildcards"));
        let origin = Origin { object, field: Field::Object };
        let name = ServerName::Wildcard(HostName::new(host).unwrap());
        Arc::new(Server { name, origin, ..Server::clone(&server("a.example", Vec::new())) })
    };
    let name = |host: &str| ServerName::Wildcard(HostName::new(host).unwrap());
    let reserved =
        vec![name("gone.example"), ServerName::Exact(HostName::new("kept.example").unwrap()), name("lost.example")];
    let rest = Server { name: ServerName::CatchAll, reserved, ..Server::clone(&server("a.example", Vec::new())) };
    for (count, expected) in
        [(63, "http/server-wildcard-a0.example.conf"), (64, "http/server-wildcards-1-a0.example.conf")]
    {
        let bulk = (0..count).map(|number| wildcard("crowd", &format!("a{number}.example")));
        let servers = [Arc::new(rest.clone())].into_iter().chain(bulk).chain([wildcard("few", "z.example")]).collect();
        let files = Renderer::default().render(&plan(servers)).together().files;
        let servers = files.iter().filter(|(path, _)| path.starts_with("http/server-"));
        let files: BTreeMap<_, _> = servers.map(|(path, file)| (&**path, file)).collect();
        let place = |path: &str| files.keys().position(|other| *other == path).unwrap_or_else(|| panic!("{path}"));
        let (first, few) = (place(expected), place("http/server-wildcard-z.example.conf"));
        assert_eq!(first > few, count > 63);
        // Nothing but these names tells them apart.
        assert_eq!(place("http/server-y+reserved.conf"), files.len() - 1);
        let names = |path: &str| {
            let all = text(files[path]);
            let names = all.lines().map(str::trim).filter(|line| line.starts_with("server_name"));
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let wildcards = ["gone", "lost"].map(|name| format!(r#"server_name "~^[^.]+\\.{name}\\.example$";"#));
        assert_eq!(names("http/server-y+reserved.conf"), wildcards);
        assert_eq!(names("http/server-catch-all.conf"), [r#"server_name "";"#, r#"server_name "kept.example";"#]);
    }
}

#[test]
fn a_count_anew_renders_what_counts_alone() {
    let limits = ClientLimits {
        origin: origin("limited", Field::Object),
        rates: Vec::new(),
        connections: Some(3),
        exempt: Vec::new(),
    };
    let behaviour = Arc::new(Behaviour { limits: Some(limits.into()), ..Behaviour::default() });
    let handler = Handler { behaviour, ..Handler::clone(&route("limited", prefix("/", false), 200).otherwise) };
    let limited = Route::new(prefix("/", false), handler);
    let servers = vec![server("free.example", Vec::new()), server("limited.example", vec![limited])];
    let first = plan(servers);
    assert!(first.counts());
    let mut renderer = Renderer::default();
    assert_eq!(renderer.render(&first).work.rendered, 3, "two hosts and the catch-all");
    let anew = Plan { recounts: 1, ..first };
    let rendered = renderer.render(&anew);
    assert_eq!(rendered.work.rendered, 1);
    assert_eq!(rendered.together(), Renderer::default().render(&anew).together());
    assert!(!plan(vec![server("free.example", Vec::new())]).counts());
}
