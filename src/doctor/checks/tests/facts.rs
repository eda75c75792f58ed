//! The facts of a host and a cluster without faults, and ways to break them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use crate::daemon::PageFault;
use crate::doctor::facts::{
    Cluster, Confinement, Facts, Folder, Free, Holder, Network, Nginx, NoNginx, Objects, OpenFiles, OpenSocket,
    Permission, Reached, Route, Sample, Served, Source,
};
use crate::setup::Layout;
use ingressd_apply::process::{Effort, Process, Role, Table};
use ingressd_apply::{Survey, Tested};
use ingressd_cluster::publish::Member;
use ingressd_cluster::publish::probe::{Kept, Leases};
use ingressd_cluster::source::cluster::probe::{AccessReview, Server};
use ingressd_config::{AskedOfNode, Settings};
use ingressd_model::catalogue::{Module, Version};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, Kind, ObjectId, Origin, Validity};
use ingressd_nginx::{Capabilities, HostBlock, HostLine, OtherSites, WORKER_CONNECTIONS};
use ingressd_translate::EndpointMode;

pub const NOW: i64 = 1_800_000_000;
pub const MASTER: u32 = 100;
pub const DAY: i64 = 86_400;

/// A host and a cluster without faults.
pub fn healthy() -> Facts {
    let process = |pid| Process { pid, started: 1 };
    let worker = (process(MASTER + 1), Role::Worker);
    let table = Table { at: 9, master: process(MASTER), effort: Effort::default(), children: vec![worker] };
    let nginx = Nginx {
        survey: Survey {
            installed: None,
            configuration: "/etc/nginx/nginx.conf".into(),
            pid_file: "/run/nginx.pid".into(),
            workers_group: None,
            capabilities: Capabilities::profile(Version(1, 29, 0)),
            fingerprint: String::new(),
            host: String::new(),
            other_sites: OtherSites { worker_connections: Some(4096), ..OtherSites::default() },
            includes_ours: true,
        },
        layout: Layout {
            configuration: "/etc/nginx/nginx.conf".into(),
            stream_includes_ours: true,
            ..Layout::default()
        },
        tested: Ok(Tested { accepted: true, words: String::new() }),
        master: Ok(table),
        worker_files: Some(8192),
        master_files: Some(OpenFiles { open: 20, limit: 1024 }),
        wanted: BTreeMap::new(),
        findings: Vec::new(),
    };
    let review = AccessReview { resource: "services".into(), verb: "list".into(), ..AccessReview::default() };
    let permission = Permission {
        resource: "services".into(),
        purpose: "where requests go",
        required: true,
        answers: vec![(review, Ok(true))],
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
        leases: Some(Ok(Leases { leader: Some(kept("one".into(), 3)), members: vec![kept(member(), 3)], read: NOW })),
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
        expressions: 0,
        errors: 0,
        warnings: 0,
        free_wildcards: Vec::new(),
        loose: Vec::new(),
        asked: Vec::new(),
        samples: vec![
            sample(EndpointMode::Pod, &[address("10.244.1.2:80"), address("10.244.1.3:80")]),
            sample(EndpointMode::NodePort, &[address("192.0.2.7:30080")]),
        ],
    };
    Facts {
        settings: Settings::default(),
        unread_layer: None,
        now: NOW,
        is_root: true,
        nginx: Ok(nginx),
        folders: vec![Folder {
            path: "/etc/nginx/ingressd".into(),
            purpose: "generations",
            free: Ok(Free { bytes: 1 << 30, inodes: None, read_only: false }),
        }],
        listeners: vec![listener("0.0.0.0:80", MASTER, "nginx"), listener("127.0.0.1:10254", 7, "ingressd")],
        confinement: Confinement::default(),
        daemon_process: Some(7),
        daemon: Some(json!({"phase": "serving", "ready": true, "generation": 7})),
        has_generation: true,
        page_faults: None,
        certificates: vec![Served {
            file: "/x/certs/a.pem".into(),
            names: vec!["shop.example".into()],
            hosts: vec!["shop.example".into()],
            validity: Ok(lasting(60 * DAY)),
        }],
        source: Source::Cluster(Box::new(cluster)),
        objects: Some(Ok(objects)),
    }
}

/// The validity of a certificate that was issued half a year ago and expires in so many seconds.
pub fn lasting(left: i64) -> Validity {
    Validity { begins: NOW - 180 * DAY, ends: NOW + left }
}

pub fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

pub fn listener(at: &str, pid: u32, name: &str) -> OpenSocket {
    OpenSocket { address: address(at), holders: vec![Holder { pid, name: name.to_owned() }] }
}

pub fn kept<T>(what: T, ago: i64) -> Kept<T> {
    Kept { what, renewed: Timestamp::from_second(NOW - ago).ok(), duration: Duration::from_secs(15) }
}

pub fn member() -> Member {
    let addresses = vec!["192.0.2.1".parse().unwrap()];
    Member { identity: "one_1".into(), addresses, serving: true, generation: Some(7), ..Member::default() }
}

pub fn nginx(facts: &mut Facts) -> &mut Nginx {
    facts.nginx.as_mut().unwrap()
}

/// Nothing is known of nginx; with `tested` because it cannot read its configuration.
pub fn no_nginx(facts: &mut Facts, why: &str, tested: Option<&str>) {
    let tested = tested.map(|words| Ok(Tested { accepted: false, words: words.to_owned() }));
    let master = nginx(facts).master.clone();
    facts.nginx = Err(NoNginx { why: why.to_owned(), tested, master });
}

/// nginx accepts its configuration and prints these words.
pub fn accepted(facts: &mut Facts, words: &str) {
    nginx(facts).tested = Ok(Tested { accepted: true, words: words.to_owned() });
}

/// So much is free in the folder.
pub fn free(facts: &mut Facts, bytes: u64, inodes: Option<u64>, read_only: bool) {
    facts.folders[0].free = Ok(Free { bytes, inodes, read_only });
}

pub fn cluster(facts: &mut Facts) -> &mut Cluster {
    match &mut facts.source {
        Source::Cluster(cluster) => cluster,
        _ => panic!("a cluster"),
    }
}

pub fn objects(facts: &mut Facts) -> &mut Objects {
    facts.objects.as_mut().unwrap().as_mut().unwrap()
}

pub fn leases(facts: &mut Facts) -> &mut Leases {
    cluster(facts).leases.as_mut().unwrap().as_mut().unwrap()
}

pub fn without(facts: &mut Facts, module: Module) {
    nginx(facts).survey.capabilities.modules.remove(&module);
}

/// Two hosts need a module.
pub fn wants(facts: &mut Facts, module: Module) {
    nginx(facts).wanted.insert(module, 2);
}

/// Hosts tell where clients are, and nginx has the module and no database.
pub fn without_databases(facts: &mut Facts) {
    wants(facts, Module::GeoIp2);
    let survey = &mut nginx(facts).survey;
    survey.capabilities.modules.insert(Module::GeoIp2);
    survey.other_sites.missing_databases = ["/srv/GeoIP2-City.mmdb".into()].into();
}

pub fn finding(facts: &mut Facts, reason: Reason, note: &str) {
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::HOST, "", "nginx")));
    nginx(facts).findings.push(Finding::new(reason, origin, note));
}

pub fn few_connections(facts: &mut Facts) {
    finding(facts, Reason::HostConflict, "a worker may have too few");
    nginx(facts).findings.last_mut().unwrap().origin.field = Field::Other(WORKER_CONNECTIONS.into());
}

pub fn server(facts: &mut Facts, ahead: Option<i64>) {
    cluster(facts).server = Some(Ok(Server { version: "v1".into(), ahead }));
}

pub fn answer(facts: &mut Facts, answer: Result<bool, String>, required: bool) {
    let permission = &mut cluster(facts).permissions[0];
    permission.answers[0].1 = answer;
    permission.required = required;
}

/// The same response to two verbs in each of these places.
pub fn answer_in(facts: &mut Facts, places: &[&str], answer: Result<bool, String>) {
    let review = |place: &str, verb: &str| {
        let (namespace, name) =
            place.split_once('/').map_or((place, None), |(namespace, name)| (namespace, Some(name)));
        let (namespace, name) = (Some(namespace.to_owned()), name.map(str::to_owned));
        AccessReview { resource: "services".into(), verb: verb.to_owned(), namespace, name, ..AccessReview::default() }
    };
    let reviews = places.iter().flat_map(|place| ["list", "watch"].map(|verb| review(place, verb)));
    cluster(facts).permissions[0].answers = reviews.map(|review| (review, answer.clone())).collect();
}

pub fn route(facts: &mut Facts, route: Result<Route, String>) {
    cluster(facts).routes[0].route = route;
}

pub fn default_route() -> Result<Route, String> {
    Ok(Route { prefix: 0, gateway: None, interface: None, local: false })
}

pub fn pods(facts: &mut Facts, reached: [Reached; 2]) {
    let tried = &mut objects(facts).samples[0].tried;
    tried.iter_mut().zip(reached).for_each(|((_, old), new)| *old = new);
}

pub fn all_classes(facts: &mut Facts, mode: EndpointMode) {
    facts.settings.translate.classes.iter_mut().for_each(|class| class.endpoints = Some(mode));
}

/// nginx should listen on one address, and another program listens on this one.
pub fn others(facts: &mut Facts, ours: &str, theirs: &str) {
    facts.settings.translate.listeners.addresses = vec![ours.parse().unwrap()];
    facts.listeners = vec![listener(theirs, 9, "haproxy")];
}

pub fn no() -> Reached {
    Reached::No("no answer within 2 s".into())
}

/// A key of the ConfigMap, and what nginx.conf says.
pub fn asks(facts: &mut Facts, key: &str, value: &str, line: Option<(&str, &str)>) {
    facts.settings.ingress_nginx.config_map = Some(("edge".into(), "controller".into()));
    objects(facts).asked.extend(AskedOfNode::of(key, value).unwrap());
    let line = line.map(|(name, argument)| HostLine {
        place: "/etc/nginx/nginx.conf:3".into(),
        block: HostBlock::Main,
        name: name.into(),
        arguments: vec![argument.into()],
    });
    nginx(facts).survey.other_sites.lines.extend(line);
}

/// Lets other machines see the status page, by a file of passwords that has a fault, perhaps one
/// with which it is used.
pub fn page(facts: &mut Facts, fault: Option<bool>) {
    let http = &mut facts.settings.http;
    http.remote = true;
    (http.certificate, http.key) = (Some("/c".into()), Some("/k".into()));
    (http.password_file, http.client_ca) = (Some("/p".into()), Some("/a".into()));
    let fault =
        fault.map(|is_used| PageFault { what: "/p cannot be read: no".into(), remedy: "put it there".into(), is_used });
    facts.page_faults = Some(fault.into_iter().collect());
}
