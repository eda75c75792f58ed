//! Which hosts share a block, what a change of one of them rewrites, and which object owns which
//! line.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::render::search_order::SearchOrder;
use crate::render::{FileSet, Renderer};
use crate::usual;
use crate::{Capabilities, GateOptions, OtherSites, Plan, gate};
use ingressd_model::catalogue::{CLIENT_MAX_BODY_SIZE, PROXY_BUFFER_SIZE, Version};
use ingressd_model::{
    Action, Argument, Behaviour, ByteSize, Directive, Field, HostName, Kind, Model, ObjectId, Origin, PathMatch,
    Pattern, Protocol, Rewrite, RewritePattern, RewriteTarget, Route, ServerName, UpstreamId, UpstreamIdentity,
    UrlPath,
};

/// The origin of an object with the name of a host.
fn origin(name: &str) -> Origin {
    Origin { object: Arc::new(ObjectId::new(Kind::INGRESS, "default", name)), field: Field::Rule(0) }
}

fn proxy(service: &str) -> Action {
    Action::Proxy { upstream: UpstreamId::usual("default", service, "80"), split: None }
}

fn prefix(path: &str) -> PathMatch {
    PathMatch::Prefix { path: UrlPath::new(path).unwrap(), redirect_to_slash: false }
}

fn route(object: &str, path: PathMatch, action: Action) -> Route {
    Route::plain(origin(object), path, action)
}

/// A host with `/` and `/api`, each with a Service of its own.
fn server(host: &str) -> Server {
    let name = ServerName::Exact(HostName::new(host).unwrap());
    Server {
        routes: vec![
            route(host, prefix("/api"), proxy(&format!("{}-api", host.replace('.', "-")))),
            route(host, prefix("/"), proxy(&host.replace('.', "-"))),
        ],
        ..Server::usual(name, route(host, prefix("/"), Action::Respond { status: 404 }))
    }
}

fn host(number: usize) -> String {
    format!("host-{number:03}.example")
}

fn servers(count: usize) -> Vec<Arc<Server>> {
    (0..count).map(|number| Arc::new(server(&host(number)))).collect()
}

fn render(renderer: &mut Renderer, servers: &[Arc<Server>], options: &GateOptions) -> FileSet {
    let mut servers = servers.to_vec();
    servers.sort_by(|one, other| one.name.cmp(&other.name));
    let model = Model { listeners: usual::listeners().all(), servers, ..Model::default() };
    let (model, capabilities) = (Arc::new(model), Capabilities::profile(Version(1, 22, 1)));
    let Plan { decisions, .. } = gate(&model, &Arc::default(), &capabilities, &OtherSites::default(), options).0;
    // The gate does not run here: it would answer 503 where there are no endpoints.
    renderer.render(&Plan { model, decisions, ..Plan::default() }).together()
}

fn files(servers: &[Arc<Server>]) -> FileSet {
    render(&mut Renderer::default(), servers, &GateOptions::default())
}

/// The paths of blocks, and the paths of servers with one host.
fn paths(files: &FileSet) -> (Vec<&str>, Vec<&str>) {
    let paths = files.files.keys().map(|path| &**path);
    let servers = paths.filter(|path| path.starts_with("http/server-") && !path.ends_with("catch-all.conf"));
    servers.partition(|path| path.starts_with("http/server-alike+"))
}

#[test]
fn hosts_that_are_served_alike_share_blocks() {
    let servers = servers(150);
    let files = files(&servers);
    let (blocks, own) = paths(&files);
    assert_eq!((blocks.len(), own.len()), (2, 0));
    let mut seen = BTreeSet::new();
    for path in blocks {
        let file = &files.files[path];
        let text = file.content.text();
        assert_eq!(text.matches("\nserver {\n").count(), 1, "{text}");
        let count =
            |way: &str| text.lines().filter(|line| line.contains(way) && line.contains("ingressd_backend_")).count();
        assert_eq!((count("map $host $"), count("proxy_pass http://$")), (2, 3), "{text}");
        for (line, number) in text.lines().zip(1..) {
            let Some(name) = line.trim().strip_prefix("server_name \"") else { continue };
            let name = name.trim_end_matches("\";");
            assert!(seen.insert(name.to_owned()), "{name} stands twice");
            assert_eq!(&*file.owners.of_line(number).unwrap().object.name, name);
            let service = name.replace('.', "-");
            for service in [format!("{service}.80"), format!("{service}-api.80")] {
                let entry = |(line, _): &(&str, u32)| line.contains(&format!("\"{name}\" ")) && line.contains(&service);
                let (_, number) = text.lines().zip(1..).find(entry).expect("an entry in a table");
                assert_eq!(&*file.owners.of_line(number).unwrap().object.name, name);
            }
        }
        let upstreams = file.requires.iter().filter(|path| path.contains("upstream"));
        assert_eq!(upstreams.count(), 0, "a test of a block needs no upstream");
    }
    assert_eq!(seen, servers.iter().map(|server| server.origin.object.name.to_string()).collect());
}

#[test]
fn a_host_that_differs_has_a_server_of_its_own() {
    let wildcard = |mut server: Server| {
        server.name = ServerName::Wildcard(HostName::new("example").unwrap());
        server
    };
    let expression = |mut server: Server| {
        server.routes[0].path = PathMatch::Regex(Pattern::new("/api").unwrap());
        server
    };
    let setting = |mut server: Server| {
        let arguments = vec![Argument::Size(ByteSize(1))];
        let directive = Directive { row: &CLIENT_MAX_BODY_SIZE, arguments, origin: server.origin.clone() };
        server.routes[0].behaviour = Arc::new(Behaviour { directives: vec![directive], ..Behaviour::default() });
        server
    };
    let path = |mut server: Server| {
        server.routes[0].path = prefix("/other");
        server
    };
    let grpc = |mut server: Server| {
        if let Action::Proxy { upstream, .. } = &mut server.routes[0].action {
            *upstream = UpstreamIdentity { protocol: Protocol::Grpc, ..UpstreamIdentity::clone(upstream) }.into();
        }
        server
    };
    let one_service = |mut server: Server| {
        server.routes[0].action = server.routes[1].action.clone();
        server
    };
    let answer = |mut server: Server| {
        server.routes.push(route("somebody", prefix("/answer"), Action::Respond { status: 503 }));
        server
    };
    let long = format!("{}.example", "a".repeat(39));
    let changed =
        [wildcard, expression, setting, path, grpc, one_service, answer].map(|change| change(server("odd.example")));
    for odd in changed.into_iter().chain([server("default"), server(&long)]) {
        let mut servers = servers(20);
        servers.push(Arc::new(odd));
        let name = names::server_file(&servers[20], &SearchOrder::default());
        assert_eq!(paths(&files(&servers)).1, [&*name], "{:?}", servers[20]);
    }
    let mut servers = servers(20);
    servers.push(Arc::new(server(&long[1..])));
    assert_eq!(paths(&files(&servers)).1, [""; 0]);
}

#[test]
fn what_only_nginx_can_judge_is_never_shared() {
    let expression = |server: &mut Server| server.routes[0].path = PathMatch::Regex(Pattern::new("/api").unwrap());
    let buffers = |server: &mut Server| {
        let arguments = vec![Argument::Size(ByteSize(4096))];
        let directive = Directive { row: &PROXY_BUFFER_SIZE, arguments, origin: server.origin.clone() };
        server.routes[0].behaviour = Arc::new(Behaviour { directives: vec![directive], ..Behaviour::default() });
    };
    let rewrite = |server: &mut Server| {
        let rewrite = Rewrite { pattern: RewritePattern::Whole, target: RewriteTarget::new(Vec::new()).unwrap() };
        server.routes[0].behaviour = Arc::new(Behaviour { rewrite: Some(rewrite), ..Behaviour::default() });
    };
    let changes: [fn(&mut Server); 3] = [expression, buffers, rewrite];
    for (number, change) in changes.into_iter().enumerate() {
        let changed = |server: Arc<Server>| {
            let mut server = Server::clone(&server);
            change(&mut server);
            Arc::new(server)
        };
        let servers: Vec<_> = servers(20).into_iter().map(changed).collect();
        assert_eq!(paths(&files(&servers)).0, [""; 0], "{number}");
    }
}

#[test]
fn hosts_stay_apart_where_an_object_would_own_no_line() {
    let answered = |server: Arc<Server>| {
        let somebody = format!("somebody-at-{}", server.origin.object.name);
        let mut server = Server::clone(&server);
        server.routes.push(route(&somebody, prefix("/answer"), Action::Respond { status: 503 }));
        Arc::new(server)
    };
    let servers: Vec<_> = servers(20).into_iter().map(answered).collect();
    assert_eq!(paths(&files(&servers)).0, [""; 0]);
}

#[test]
fn few_hosts_keep_their_own_and_so_do_all_where_the_administrator_wants_it() {
    assert_eq!(paths(&files(&servers(FEWEST - 1))).0, [""; 0]);
    assert_eq!(paths(&files(&servers(FEWEST))).0.len(), 1);
    let off = GateOptions { shared_servers: false, ..GateOptions::default() };
    let files = render(&mut Renderer::default(), &servers(FEWEST), &off);
    assert_eq!((paths(&files).0.len(), paths(&files).1.len()), (0, FEWEST));
}

#[test]
fn a_change_of_one_host_writes_one_block_and_gives_what_a_new_start_would() {
    let mut renderer = Renderer::default();
    let mut render = |servers: &[Arc<Server>]| render(&mut renderer, servers, &GateOptions::default());
    let mut servers = servers(150);
    let before = render(&servers);
    let changed = |before: &FileSet, after: &FileSet| {
        let differs =
            |path: &&FilePath| before.files.get(*path).is_none_or(|file| !Arc::ptr_eq(file, &after.files[*path]));
        after.files.keys().filter(differs).filter(|path| path.contains("alike")).count()
    };
    servers.push(Arc::new(server("one-more.example")));
    let more = render(&servers);
    assert_eq!(changed(&before, &more), 1);
    assert_eq!(more, files(&servers));

    let mut other = server(&host(7));
    other.routes[1].action = proxy("elsewhere");
    servers[7] = Arc::new(other);
    let moved = render(&servers);
    assert_eq!(changed(&more, &moved), 1);
    assert_eq!(moved, files(&servers));

    servers.remove(9);
    let fewer = render(&servers);
    assert_eq!(changed(&moved, &fewer), 1);
    assert_eq!(fewer, files(&servers));
    assert_eq!(changed(&fewer, &render(&servers)), 0);
}

#[test]
fn two_objects_of_one_host_own_a_line_each() {
    let mut servers = servers(20);
    for server in &mut servers {
        let mut shared = Server::clone(server);
        // The same Service as `/` has, requested by another object.
        shared.routes[0] =
            route(&format!("guest-of-{}", shared.origin.object.name), prefix("/api"), shared.routes[1].action.clone());
        *server = Arc::new(shared);
    }
    let files = files(&servers);
    let (blocks, own) = paths(&files);
    assert_eq!((blocks.len(), own.len()), (1, 0));
    let owners = files.files[blocks[0]].owners.objects();
    assert_eq!(owners.len(), 40, "{owners:?}");
}

#[test]
fn only_a_part_that_has_too_many_hosts_is_divided() {
    let spread = |number: u32| (number, number.wrapping_mul(0x9e37_79b1));
    let divided = |count: u32| parts((0..count).map(spread).collect());
    let most = u32::try_from(MOST).unwrap();
    assert_eq!(divided(most).iter().map(|(part, _)| *part).collect::<Vec<_>>(), [1]);
    assert_eq!(divided(most + 1).len(), 2);
    let mut before = divided(20 * most);
    assert!(before.iter().all(|(_, hosts)| (FEWEST..=MOST).contains(&hosts.len())), "{before:?}");
    for count in 20 * most + 1..22 * most {
        let after = divided(count);
        let mut hosts: Vec<_> = after.iter().flat_map(|(_, hosts)| hosts).copied().collect();
        hosts.sort_unstable();
        assert_eq!(hosts, (0..count).map(spread).collect::<Vec<_>>());
        let new = after.iter().filter(|part| !before.contains(part)).count();
        assert!(new <= 2, "a further host moves those of {new} parts");
        before = after;
    }
    // Hosts whose hashes are all the same cannot be divided, and one that is alone shares nothing.
    assert_eq!(parts((0..2 * most).map(|number| (number, 7)).collect()), []);
    let alike = |number: u32| (number, (number.min(most) << 20) | 7);
    let chosen = parts((0..=most).map(alike).chain([(most + 1, 8)]).collect());
    assert_eq!(chosen.iter().map(|(_, hosts)| hosts.len()).sum::<usize>(), MOST + 1);
}
