//! Each check over facts that are right and facts that are wrong: one row for each way to be wrong.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use crate::apply::process::{Effort, Process, Role, Table};
use crate::apply::{Survey, Tested};
use crate::config::Settings;
use crate::doctor::CHECKS;
use crate::doctor::facts::{
    Cluster, Confinement, Facts, Holder, Listener, Network, Nginx, Objects, Permission, Reached, Route, Sample, Served,
    Source,
};
use crate::doctor::report::Level::{self, Error, Note, Ok as Good, Warning};
use crate::finding::{Finding, Reason};
use crate::model::catalogue::{Module, Version};
use crate::model::{Kind, ObjectId, Origin};
use crate::nginx::{Capabilities, Neighbours};
use crate::publish::probe::{Kept, Leases};
use crate::publish::{Lacks, Member};
use crate::setup::Layout;
use crate::source::cluster::probe::{Server, Wish};
use crate::translate::EndpointMode;

const NOW: i64 = 1_800_000_000;
const MASTER: u32 = 100;
const DAY: i64 = 86_400;

/// A host and a cluster on which nothing is wrong.
fn healthy() -> Facts {
    let process = |pid| Process { pid, started: 1 };
    let worker = (process(MASTER + 1), Role::Worker);
    let table = Table { at: 9, master: process(MASTER), effort: Effort::default(), children: vec![worker] };
    let nginx = Nginx {
        survey: Survey {
            configuration: "/etc/nginx/nginx.conf".into(),
            pid_file: "/run/nginx.pid".into(),
            workers_group: None,
            capabilities: Capabilities::profile(Version(1, 29, 0)),
            fingerprint: String::new(),
            neighbours: Neighbours { worker_connections: Some(4096), ..Neighbours::default() },
            includes_ours: true,
        },
        build: "configure arguments: --with-stream".to_owned(),
        layout: Layout { stream_includes_ours: true, ..Layout::default() },
        tested: Ok(Tested { accepted: true, words: String::new() }),
        master: Ok(table),
        worker_files: Some(8192),
        findings: Vec::new(),
    };
    let wish = Wish { resource: "services".into(), verb: "list".into(), ..Wish::default() };
    let permission = Permission {
        resource: "services".into(),
        purpose: "where requests go",
        required: true,
        answers: vec![(wish, Ok(true))],
    };
    let route =
        Route { prefix: 24, gateway: Some([192, 0, 2, 1].into()), interface: Some("eth0".into()), local: false };
    let network = Network { network: "10.244.1.0/24".parse().unwrap(), node: "worker".into(), route: Ok(route) };
    let cluster = Cluster {
        kubeconfig: "/etc/ingressd/kubeconfig".into(),
        credentials: Ok(()),
        server: Some(Ok(Server { version: "v1.33.0".into(), ahead: Some(0) })),
        permissions: vec![permission],
        all_allowed: false,
        nodes: Some(Ok(Vec::new())),
        routes: vec![network],
        leases: Some(Ok(Leases { leader: Some(kept("one".into(), 3)), members: vec![kept(member(), 3)] })),
    };
    let sample = |mode, tried: &[SocketAddr]| Sample {
        mode,
        known: tried.len(),
        tried: tried.iter().map(|address| (*address, Reached::Yes)).collect(),
    };
    let objects = Objects {
        ingresses: 3,
        accepted: 2,
        hosts: 2,
        upstreams: 2,
        errors: 0,
        warnings: 0,
        samples: vec![
            sample(EndpointMode::Pod, &[address("10.244.1.2:80"), address("10.244.1.3:80")]),
            sample(EndpointMode::NodePort, &[address("192.0.2.7:30080")]),
        ],
    };
    Facts {
        settings: Settings::default(),
        now: NOW,
        is_root: true,
        nginx: Ok(nginx),
        listeners: vec![listener("0.0.0.0:80", MASTER, "nginx"), listener("127.0.0.1:10254", 7, "ingressd")],
        confinement: Confinement::default(),
        daemon_process: Some(7),
        daemon: Some(json!({"phase": "serving", "ready": true, "generation": 7})),
        certificates: vec![Served {
            file: "/x/certs/a.pem".into(),
            names: vec!["shop.example".into()],
            hosts: vec!["shop.example".into()],
            end: Ok(NOW + 60 * DAY),
        }],
        source: Source::Cluster(Box::new(cluster)),
        objects: Some(Ok(objects)),
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn listener(at: &str, pid: u32, name: &str) -> Listener {
    Listener { address: address(at), holders: vec![Holder { pid, name: name.to_owned() }] }
}

fn kept<T>(what: T, ago: i64) -> Kept<T> {
    Kept { what, renewed: Timestamp::from_second(NOW - ago).ok(), duration: Duration::from_secs(15) }
}

fn member() -> Member {
    Member {
        identity: "one_1".into(),
        addresses: vec!["192.0.2.1".parse().unwrap()],
        serving: true,
        drained: false,
        generation: Some(7),
        carries: None,
        pinned: None,
        lacks: Lacks::Nothing,
        version: "1".into(),
        phase: "serving".into(),
    }
}

fn nginx(facts: &mut Facts) -> &mut Nginx {
    facts.nginx.as_mut().unwrap()
}

fn cluster(facts: &mut Facts) -> &mut Cluster {
    match &mut facts.source {
        Source::Cluster(cluster) => cluster,
        _ => panic!("a cluster"),
    }
}

fn objects(facts: &mut Facts) -> &mut Objects {
    facts.objects.as_mut().unwrap().as_mut().unwrap()
}

fn leases(facts: &mut Facts) -> &mut Leases {
    cluster(facts).leases.as_mut().unwrap().as_mut().unwrap()
}

fn without(facts: &mut Facts, module: Module) {
    nginx(facts).survey.capabilities.modules.remove(&module);
}

fn finding(facts: &mut Facts, reason: Reason, note: &str) {
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::Host, "", "nginx")));
    nginx(facts).findings.push(Finding::new(reason, origin, note));
}

fn server(facts: &mut Facts, ahead: Option<i64>) {
    cluster(facts).server = Some(Ok(Server { version: "v1".into(), ahead }));
}

fn answer(facts: &mut Facts, answer: Result<bool, String>, required: bool) {
    let permission = &mut cluster(facts).permissions[0];
    permission.answers[0].1 = answer;
    permission.required = required;
}

/// The same answer to two verbs in each of these places.
fn answer_in(facts: &mut Facts, places: &[&str], answer: Result<bool, String>) {
    let wish = |place: &str, verb: &str| {
        let (namespace, name) =
            place.split_once('/').map_or((place, None), |(namespace, name)| (namespace, Some(name)));
        let (namespace, name) = (Some(namespace.to_owned()), name.map(str::to_owned));
        Wish { resource: "services".into(), verb: verb.to_owned(), namespace, name, ..Wish::default() }
    };
    let wishes = places.iter().flat_map(|place| ["list", "watch"].map(|verb| wish(place, verb)));
    cluster(facts).permissions[0].answers = wishes.map(|wish| (wish, answer.clone())).collect();
}

fn route(facts: &mut Facts, route: Result<Route, String>) {
    cluster(facts).routes[0].route = route;
}

fn default_route() -> Result<Route, String> {
    Ok(Route { prefix: 0, gateway: None, interface: None, local: false })
}

fn pods(facts: &mut Facts, reached: [Reached; 2]) {
    let tried = &mut objects(facts).samples[0].tried;
    tried.iter_mut().zip(reached).for_each(|((_, old), new)| *old = new);
}

fn all_classes(facts: &mut Facts, mode: EndpointMode) {
    facts.settings.translate.classes.iter_mut().for_each(|class| class.endpoints = Some(mode));
}

fn no() -> Reached {
    Reached::No("no answer within 2 s".into())
}

/// The check, what is wrong, the worst that it says then, and words that it says it with.
type Row = (&'static str, fn(&mut Facts), Level, &'static str);

const ROWS: &[Row] = &[
    ("nginx-version", |facts| facts.nginx = Err("cannot run /usr/sbin/nginx".into()), Error, "cannot run"),
    ("nginx-version", |facts| nginx(facts).survey.capabilities.version = Version(1, 16, 1), Error, "too old"),
    (
        "nginx-version",
        |facts| nginx(facts).survey.capabilities.version = Version(1, 22, 1),
        Note,
        "keepalive_min_timeout",
    ),
    ("nginx-modules", |facts| without(facts, Module::Proxy), Error, "proxy_read_timeout"),
    ("nginx-modules", |facts| without(facts, Module::Ssl), Error, "ngx_http_ssl_module"),
    (
        "nginx-modules",
        |facts| {
            without(facts, Module::Ssl);
            facts.settings.gate.https_port = 0;
        },
        Note,
        "ssl",
    ),
    ("nginx-modules", |facts| without(facts, Module::LimitReq), Warning, "limit_req"),
    ("nginx-modules", |facts| without(facts, Module::RealIp), Note, "realip"),
    ("nginx-modules", |facts| nginx(facts).build.clear(), Note, "ngx_stream_module"),
    (
        "nginx-configuration",
        |facts| nginx(facts).tested = Ok(Tested { accepted: false, words: "unknown directive".into() }),
        Error,
        "unknown directive",
    ),
    ("nginx-configuration", |facts| nginx(facts).tested = Err("no".into()), Error, "cannot be tested"),
    ("nginx-running", |facts| nginx(facts).master = Err("no process 5 runs".into()), Error, "no process 5"),
    ("nginx-running", |facts| nginx(facts).survey.pid_file = "/srv/nginx.pid".into(), Warning, "/srv/nginx.pid"),
    ("nginx-running", |facts| nginx(facts).survey.pid_file = "/var/run/nginx.pid".into(), Good, "master 100"),
    ("includes", |facts| nginx(facts).survey.includes_ours = false, Error, "ingressd setup"),
    ("includes", |facts| nginx(facts).layout.stream_includes_ours = false, Note, "ingressd setup"),
    ("includes", |facts| nginx(facts).build.clear(), Error, "stream module is not"),
    ("default-server", |facts| finding(facts, Reason::DefaultServerTaken, "default:7 is it"), Warning, "default:7"),
    ("other-sites", |facts| finding(facts, Reason::HostConflict, "a site has the name"), Warning, "has the name"),
    (
        "other-sites",
        |facts| finding(facts, Reason::HostConflict, "worker_connections are few"),
        Good,
        "nothing that we need",
    ),
    ("ports", |facts| facts.listeners.push(listener("0.0.0.0:443", 9, "haproxy")), Error, "haproxy (process 9)"),
    ("ports", |facts| facts.listeners.push(listener("[::]:443", 9, "haproxy")), Error, "haproxy"),
    ("ports", |facts| facts.listeners.push(listener("192.0.2.1:80", 9, "haproxy")), Error, "192.0.2.1:80"),
    ("ports", |facts| facts.listeners.push(listener("0.0.0.0:8080", 9, "haproxy")), Good, "nobody else"),
    ("ports", |facts| facts.listeners.push(listener("127.0.0.1:10246", 9, "other")), Error, "10246"),
    ("ports", |facts| facts.listeners[1] = listener("127.0.0.1:10254", 9, "other"), Error, "http.address"),
    // The daemon of another instance has our address: ours cannot start, or runs without it.
    ("ports", |facts| facts.daemon_process = None, Error, "ingressd (process 7) listens on 127.0.0.1:10254"),
    ("ports", |facts| facts.listeners[1] = listener("127.0.0.1:10254", 9, "ingressd"), Error, "http.address"),
    ("ports", |facts| nginx(facts).master = Err("gone".into()), Error, "nginx (process 100)"),
    ("ports", |facts| facts.listeners[0].holders.clear(), Warning, "does not show"),
    (
        "ports",
        |facts| {
            facts.listeners[0].holders.clear();
            facts.is_root = false;
        },
        Note,
        "only root",
    ),
    ("limits", |facts| nginx(facts).worker_files = Some(1024), Warning, "worker_rlimit_nofile 8192"),
    ("limits", |facts| objects(facts).upstreams = 3000, Warning, "3000 Services"),
    (
        "limits",
        |facts| {
            nginx(facts).survey.neighbours.worker_connections = None;
            nginx(facts).worker_files = Some(511);
        },
        Warning,
        "512 connections",
    ),
    ("limits", |facts| nginx(facts).worker_files = None, Note, "when nginx runs"),
    (
        "confinement",
        |facts| {
            facts.confinement.selinux_enforces = Some(true);
            facts.confinement.may_connect = Some(false);
        },
        Error,
        "setsebool",
    ),
    (
        "confinement",
        |facts| {
            facts.confinement.selinux_enforces = Some(true);
            facts.confinement.may_connect = Some(true);
        },
        Good,
        "lets nginx connect",
    ),
    ("confinement", |facts| facts.confinement.denials.push("avc: denied".into()), Warning, "avc: denied"),
    ("confinement", |facts| facts.confinement.apparmor = Some("nginx (enforce)".into()), Note, "nginx (enforce)"),
    ("daemon", |facts| facts.daemon = None, Note, "no daemon answers"),
    (
        "daemon",
        |facts| facts.daemon = Some(json!({"phase": "nginx-down", "ready": false, "why": "it is down"})),
        Warning,
        "it is down",
    ),
    ("kubeconfig", |facts| facts.source = Source::None, Error, "ingressd kubeconfig"),
    ("kubeconfig", |facts| facts.source = Source::Manifests("/srv/m".into()), Note, "/srv/m"),
    ("kubeconfig", |facts| cluster(facts).credentials = Err("mode 0644".into()), Error, "mode 0644"),
    ("api-server", |facts| cluster(facts).server = Some(Err("connection refused".into())), Error, "connection refused"),
    ("api-server", |facts| cluster(facts).server = None, Note, "kubeconfig"),
    ("clock", |facts| server(facts, Some(7)), Warning, "7 s behind"),
    ("clock", |facts| server(facts, Some(-3600)), Error, "3600 s ahead of"),
    ("clock", |facts| server(facts, Some(-2)), Good, "agree"),
    ("clock", |facts| server(facts, None), Note, "does not tell the time"),
    ("clock", |facts| cluster(facts).server = Some(Err("away".into())), Note, "api-server"),
    ("permissions", |facts| answer(facts, Ok(false), true), Error, "services: not allowed: list"),
    ("permissions", |facts| answer(facts, Ok(false), false), Note, "not allowed: list"),
    (
        "permissions",
        |facts| answer_in(facts, &["shop"], Ok(false)),
        Error,
        "services: not allowed: list, watch in shop (",
    ),
    (
        "permissions",
        |facts| answer_in(facts, &["a", "b", "c", "d", "e"], Ok(false)),
        Error,
        "list, watch in a, b, c and 2 more (",
    ),
    ("permissions", |facts| answer_in(facts, &["front/lb"], Ok(false)), Error, "list, watch in front/lb ("),
    (
        "permissions",
        |facts| {
            answer_in(facts, &["a", "b", "c"], Ok(false));
            cluster(facts).permissions[0].answers[2].1 = Ok(true);
        },
        Error,
        "not allowed: list, watch in a, c; watch in b (",
    ),
    ("permissions", |facts| answer_in(facts, &["shop"], Ok(true)), Good, "services: list, watch in shop"),
    ("permissions", |facts| answer(facts, Err("away".into()), true), Warning, "not known"),
    ("permissions", |facts| cluster(facts).all_allowed = true, Warning, "open everything"),
    ("objects", |facts| facts.objects = Some(Err("Secret: forbidden".into())), Error, "forbidden"),
    ("objects", |facts| objects(facts).accepted = 0, Warning, "none of 3"),
    ("objects", |facts| objects(facts).errors = 2, Warning, "2 errors"),
    ("objects", |facts| objects(facts).warnings = 2, Note, "2 warnings"),
    ("routes", |facts| route(facts, Err("Network is unreachable".into())), Error, "10.244.1.0/24 of worker"),
    (
        "routes",
        |facts| {
            route(facts, Err("unreachable".into()));
            facts.settings.translate.endpoints = EndpointMode::NodePort;
        },
        Note,
        "not needed",
    ),
    (
        "routes",
        |facts| {
            route(facts, Err("unreachable".into()));
            all_classes(facts, EndpointMode::NodePort);
        },
        Note,
        "not needed",
    ),
    (
        "routes",
        |facts| {
            route(facts, default_route());
            pods(facts, [no(), no()]);
        },
        Warning,
        "default route",
    ),
    ("routes", |facts| route(facts, default_route()), Good, "are reached"),
    (
        "routes",
        |facts| {
            cluster(facts).routes.clear();
            cluster(facts).nodes = Some(Err("forbidden".into()));
        },
        Note,
        "forbidden",
    ),
    ("endpoints", |facts| pods(facts, [no(), no()]), Error, "a mode that works from here: nodeport"),
    (
        "endpoints",
        |facts| {
            pods(facts, [no(), no()]);
            objects(facts).samples.pop();
        },
        Error,
        "no mode works",
    ),
    ("endpoints", |facts| pods(facts, [Reached::Yes, no()]), Warning, "1 of 2 addresses answer"),
    ("endpoints", |facts| pods(facts, [Reached::Yes, Reached::Refused]), Warning, "10.244.1.3:80 refuses"),
    ("endpoints", |facts| objects(facts).samples[0].tried.clear(), Note, "no address to try"),
    (
        "endpoints",
        |facts| {
            pods(facts, [no(), no()]);
            facts.settings.translate.endpoints = EndpointMode::NodePort;
        },
        Note,
        "pod: 0 of 2",
    ),
    (
        "endpoints",
        |facts| {
            pods(facts, [no(), no()]);
            all_classes(facts, EndpointMode::NodePort);
        },
        Note,
        "pod: 0 of 2",
    ),
    (
        "endpoints",
        |facts| {
            objects(facts).samples[1].tried[0].1 = no();
            all_classes(facts, EndpointMode::NodePort);
        },
        Error,
        "nodeport, which is chosen: 0 of 1",
    ),
    // What requests get that nobody takes has no class: it is reached as everywhere.
    (
        "endpoints",
        |facts| {
            pods(facts, [no(), no()]);
            all_classes(facts, EndpointMode::NodePort);
            facts.settings.translate.default_backend = Some(("shop".into(), "sorry".into()));
        },
        Error,
        "pod, which is chosen: 0 of 2",
    ),
    ("leases", |facts| leases(facts).leader = None, Warning, "nobody leads"),
    ("leases", |facts| leases(facts).leader = Some(kept("one".into(), 16)), Warning, "for 16 s"),
    ("leases", |facts| leases(facts).members[0] = kept(member(), 16), Warning, "one_1 (192.0.2.1) did not renew"),
    (
        "leases",
        |facts| {
            leases(facts).members[0] = kept(member(), 16);
            leases(facts).leader = Some(kept("one".into(), 5));
            server(facts, Some(-3));
        },
        Good,
        "lives and serves",
    ),
    (
        "leases",
        |facts| leases(facts).members[0] = kept(Member { drained: true, ..member() }, 16),
        Note,
        "kubectl delete lease --namespace ingressd ingressd-one-",
    ),
    ("leases", |facts| leases(facts).members[0] = kept(member(), -60), Warning, "60 s ahead"),
    ("leases", |facts| leases(facts).members[0].what.serving = false, Warning, "no confirmed generation"),
    ("leases", |facts| leases(facts).members[0].what.drained = true, Note, "is drained"),
    ("leases", |facts| cluster(facts).leases = Some(Err("forbidden".into())), Error, "forbidden"),
    ("leases", |facts| *leases(facts) = Leases::default(), Note, "no node has told"),
    ("certificates", |facts| facts.certificates[0].end = Ok(NOW - 1), Error, "ended on 2027-01-15"),
    ("certificates", |facts| facts.certificates[0].end = Ok(NOW + 13 * DAY), Warning, "in 13 days"),
    ("certificates", |facts| facts.certificates[0].end = Err("Permission denied".into()), Warning, "Permission denied"),
    ("certificates", |facts| facts.certificates.clear(), Note, "no certificate"),
];

fn judge(name: &str, facts: &Facts) -> (Level, String) {
    let check = CHECKS.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("{name}"));
    let lines = (check.judge)(facts);
    let words = lines.iter().map(|line| format!("{} {} -> {}", line.level.name(), line.text, line.remedy));
    let worst = lines.iter().map(|line| line.level).max().unwrap_or_else(|| panic!("{name} says nothing"));
    (worst, words.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_healthy_host_has_nothing_to_do() {
    for check in CHECKS {
        let (level, words) = judge(check.name, &healthy());
        assert_eq!(level, Good, "{}: {words}", check.name);
    }
}

#[test]
fn whatever_is_wrong_is_told_by_its_check() {
    let mut wrong = Vec::new();
    for (name, break_it, level, expected) in ROWS {
        let mut facts = healthy();
        break_it(&mut facts);
        let (found, words) = judge(name, &facts);
        if found != *level || !words.contains(expected) {
            wrong.push(format!("{name}: {level:?} with {expected:?} expected, but: {words}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_check_can_fail_and_every_failure_has_a_remedy() {
    let failing: BTreeSet<_> = ROWS.iter().filter(|row| row.2 > Note).map(|row| row.0).collect();
    assert_eq!(failing, CHECKS.iter().map(|check| check.name).collect());
    for (name, break_it, ..) in ROWS.iter().filter(|(name, ..)| *name != "other-sites") {
        let mut facts = healthy();
        break_it(&mut facts);
        let check = CHECKS.iter().find(|check| check.name == *name).unwrap();
        for line in (check.judge)(&facts).iter().filter(|line| line.level > Note) {
            assert!(!line.remedy.is_empty(), "{name}: {}", line.text);
        }
    }
}

#[test]
fn without_nginx_cluster_or_objects_every_check_still_says_something() {
    let mut facts = healthy();
    (facts.nginx, facts.source, facts.objects) = (Err("none".into()), Source::None, None);
    for check in CHECKS {
        judge(check.name, &facts);
    }
}
