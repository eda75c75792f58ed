//! Each check with good facts and with bad facts: one row for each fault.

mod certificates;
mod facts;
mod host;
mod nginx_conf;
mod remedies;

use std::collections::BTreeSet;

use crate::doctor::CHECKS;
use crate::doctor::facts::{Facts, Reached, Source};
use crate::doctor::report::Level::{self, Error, Note, Ok as Good, Warning};
use facts::*;
use ingressd_apply::Tested;
use ingressd_cluster::publish::Member;
use ingressd_cluster::publish::probe::Leases;
use ingressd_model::catalogue::{Module, Version};
use ingressd_model::finding::Reason;
use ingressd_translate::EndpointMode;

/// The check, the fault, its worst level, and a part of its message.
type Row = (&'static str, fn(&mut Facts), Level, &'static str);

const ROWS: &[Row] = &[
    ("nginx-version", |facts| no_nginx(facts, "cannot run /usr/sbin/nginx", None), Error, "cannot run"),
    ("nginx-version", |facts| no_nginx(facts, "line 3", Some("nginx.conf:3")), Note, "see nginx-configuration"),
    ("nginx-version", |facts| nginx(facts).survey.capabilities.version = Version(1, 16, 1), Error, "too old"),
    (
        "nginx-version",
        |facts| nginx(facts).survey.capabilities.version = Version(1, 22, 1),
        Note,
        "keepalive_min_timeout",
    ),
    ("nginx-version", |facts| nginx(facts).survey.capabilities.version = Version(1, 18, 0), Note, "it lacks"),
    (
        "nginx-version",
        |facts| nginx(facts).survey.capabilities.version = Version(1, 22, 1),
        Note,
        "since 1.27.4; all headers with one name",
    ),
    ("nginx-modules", |facts| without(facts, Module::Proxy), Error, "proxy_read_timeout"),
    ("nginx-modules", |facts| without(facts, Module::Ssl), Error, "ngx_http_ssl_module"),
    (
        "nginx-modules",
        |facts| {
            without(facts, Module::Ssl);
            facts.settings.translate.listeners.https_port = 0;
        },
        Note,
        "ssl",
    ),
    ("nginx-modules", |facts| without(facts, Module::Http2), Warning, "http2"),
    (
        "nginx-modules",
        |facts| {
            without(facts, Module::Http2);
            facts.settings.gate.http2 = false;
        },
        Note,
        "http2",
    ),
    ("nginx-modules", |facts| without(facts, Module::LimitReq), Warning, "limit_req"),
    ("nginx-modules", |facts| without(facts, Module::RealIp), Note, "realip"),
    ("nginx-modules", |facts| without(facts, Module::Stream), Note, "ngx_stream_module"),
    ("nginx-modules", |facts| wants(facts, Module::HeadersMore), Note, "for which 2 hosts ask: without it hosts tell"),
    ("nginx-modules", |facts| wants(facts, Module::Brotli), Warning, "ngx_http_brotli_filter_module"),
    (
        "nginx-modules",
        |facts| wants(facts, Module::GeoIp2),
        Warning,
        "Ubuntu), or build it with nginx-mod-devel (Fedora",
    ),
    ("nginx-modules", |facts| wants(facts, Module::Brotli), Warning, "nginx-mod-brotli (Fedora)"),
    ("nginx-modules", |facts| wants(facts, Module::ModSecurity), Error, "without it hosts answer 503"),
    (
        "nginx-modules",
        |facts| {
            wants(facts, Module::ModSecurity);
            let survey = &mut nginx(facts).survey;
            survey.capabilities.modules.insert(Module::ModSecurity);
            survey.other_sites.missing_rules = ["/etc/nginx/modsecurity.conf".parse().unwrap()].into();
        },
        Warning,
        "there is no /etc/nginx/modsecurity.conf",
    ),
    ("nginx-modules", without_databases, Warning, "there is no /srv/GeoIP2-City.mmdb"),
    (
        "nginx-modules",
        |facts| {
            without(facts, Module::Stream);
            facts.settings.ingress_nginx.tcp_services = Some(("ingress-nginx".into(), "tcp-services".into()));
        },
        Error,
        "libnginx-mod-stream",
    ),
    (
        "nginx-configuration",
        |facts| nginx(facts).tested = Ok(Tested { accepted: false, words: "unknown directive".into() }),
        Error,
        "unknown directive",
    ),
    ("nginx-configuration", |facts| nginx(facts).tested = Err("no".into()), Error, "cannot be tested"),
    ("nginx-configuration", |facts| no_nginx(facts, "line 3", Some("in nginx.conf:3")), Error, "in nginx.conf:3"),
    (
        "nginx-configuration",
        |facts| {
            accepted(
                facts,
                "nginx: [warn] could not build optimal server_names_hash, you should increase either server_names_hash_max_size: 512 or server_names_hash_bucket_size: 64; ignoring server_names_hash_bucket_size\nnginx: the syntax is ok",
            );
        },
        Warning,
        "write `server_names_hash_max_size 1024;`",
    ),
    (
        "nginx-configuration",
        |facts| {
            let words = "nginx: [emerg] could not build server_names_hash, you should increase server_names_hash_bucket_size: 32";
            nginx(facts).tested = Ok(Tested { accepted: false, words: words.into() });
        },
        Error,
        "write `server_names_hash_bucket_size 64;`",
    ),
    (
        "nginx-configuration",
        |facts| {
            let words = "unknown directive in /etc/nginx/ingressd/current/http/shop.conf:3";
            nginx(facts).tested = Ok(Tested { accepted: false, words: words.into() });
        },
        Error,
        "`ingressd status` names its object",
    ),
    ("nginx-running", |facts| no_nginx(facts, "line 3", Some("")), Good, "master 100"),
    (
        "nginx-configuration",
        |facts| {
            let words = "open() \"/run/nginx.pid\" failed (13: Permission denied)".into();
            nginx(facts).tested = Ok(Tested { accepted: false, words });
        },
        Note,
        "not looked at: this user may not",
    ),
    ("nginx-running", |facts| nginx(facts).master = Err("no process 5 runs".into()), Error, "no process 5"),
    ("nginx-running", |facts| nginx(facts).survey.pid_file = "/srv/nginx.pid".into(), Warning, "/srv/nginx.pid"),
    ("nginx-running", |facts| nginx(facts).survey.pid_file = "/var/run/nginx.pid".into(), Good, "master 100"),
    ("includes", |facts| nginx(facts).survey.includes_ours = false, Error, "ingressd setup"),
    ("includes", |facts| nginx(facts).layout.stream_includes_ours = false, Note, "ingressd setup"),
    (
        "includes",
        |facts| {
            nginx(facts).layout.stream_includes_ours = false;
            facts.settings.ingress_nginx.udp_services = Some(("ingress-nginx".into(), "udp-services".into()));
        },
        Error,
        "never serves TCP and UDP",
    ),
    ("includes", |facts| without(facts, Module::Stream), Error, "stream module is not"),
    ("default-server", |facts| finding(facts, Reason::DefaultServerTaken, "default:7 is it"), Warning, "default:7"),
    ("other-sites", |facts| finding(facts, Reason::HostConflict, "a site has the name"), Warning, "has the name"),
    ("other-sites", few_connections, Good, "nothing that we need"),
    ("shared-servers", |facts| objects(facts).upstreams = 300, Good, "up to 2.7 us"),
    ("shared-servers", |facts| objects(facts).upstreams = 5000, Note, "up to 45.0 us"),
    ("shared-servers", |facts| facts.objects = None, Note, "the objects were not read"),
    (
        "shared-servers",
        |facts| {
            objects(facts).upstreams = 5000;
            facts.settings.gate.shared_servers = false;
        },
        Good,
        "a server of its own",
    ),
    (
        "shared-servers",
        |facts| {
            objects(facts).upstreams = 5000;
            nginx(facts).survey.other_sites.names_server = true;
        },
        Good,
        "$server_name",
    ),
    ("expressions", |_| (), Good, "no path is an expression"),
    ("expressions", |facts| objects(facts).expressions = 7, Warning, "7 paths are expressions"),
    (
        "expressions",
        |facts| {
            objects(facts).expressions = 7;
            nginx(facts).survey.other_sites.compiles_expressions = true;
        },
        Good,
        "pcre_jit",
    ),
    ("expressions", |facts| facts.objects = None, Note, "the objects were not read"),
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
    ("confinement", |facts| facts.confinement.selinux_enforces = Some(false), Note, "permissive"),
    ("confinement", |facts| facts.confinement.denials.push("avc: denied".into()), Warning, "avc: denied"),
    ("confinement", |facts| facts.confinement.apparmor = Some("nginx (enforce)".into()), Note, "nginx (enforce)"),
    ("kubeconfig", |facts| facts.source = Source::None, Error, "ingressd kubeconfig"),
    ("kubeconfig", |facts| facts.source = Source::Manifests("/srv/m".into()), Note, "/srv/m"),
    ("kubeconfig", |facts| cluster(facts).credentials = Err("mode 0644".into()), Error, "mode 0644"),
    (
        "kubeconfig",
        |facts| {
            cluster(facts).credentials = Err("permission denied".into());
            facts.is_root = false;
        },
        Note,
        "for its owner alone",
    ),
    ("api-server", |facts| cluster(facts).server = Some(Err("connection refused".into())), Error, "connection refused"),
    ("api-server", |facts| cluster(facts).server = None, Note, "kubeconfig"),
    ("clock", |facts| server(facts, Some(7)), Warning, "7 s behind"),
    ("clock", |facts| server(facts, Some(-3600)), Error, "3600 s ahead of"),
    ("clock", |facts| server(facts, Some(-2)), Good, "agree"),
    ("clock", |facts| server(facts, Some(4)), Good, "agree"),
    ("clock", |facts| server(facts, Some(5)), Warning, "5 s behind"),
    ("clock", |facts| server(facts, Some(59)), Warning, "59 s behind"),
    ("clock", |facts| server(facts, Some(60)), Error, "60 s behind"),
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
    ("tenants", |_| (), Good, "no wildcard host is free for all"),
    (
        "tenants",
        |facts| objects(facts).free_wildcards = vec![r#"*.shop.test of "shop""#.into()],
        Note,
        r#"free for all: *.shop.test of "shop""#,
    ),
    ("tenants", |facts| objects(facts).loose = vec!["Ingress shop/web".into()], Note, "Ingress shop/web"),
    ("objects", |facts| objects(facts).accepted = 0, Warning, "0 of 3"),
    ("objects", |facts| objects(facts).errors = 1, Warning, "1 error and 0 warnings"),
    ("objects", |facts| objects(facts).errors = 2, Warning, "2 errors"),
    ("objects", |facts| objects(facts).warnings = 2, Note, "2 warnings"),
    (
        "routes",
        |facts| {
            route(facts, Err("Network is unreachable".into()));
            pods(facts, [no(), no()]);
        },
        Error,
        "no route to pods: 10.244.1.0/24 of worker",
    ),
    ("routes", |facts| route(facts, Err("unreachable".into())), Warning, "all that were tried answer"),
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
    ("routes", |facts| pods(facts, [no(), no()]), Good, "are reached"),
    (
        "routes",
        |facts| {
            route(facts, default_route());
            objects(facts).samples[0].tried.clear();
        },
        Warning,
        "default route",
    ),
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
    (
        "endpoints",
        |facts| {
            pods(facts, [no(), no()]);
            objects(facts).samples[1].tried.clear();
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
    // The default backend has no class and is reached in the general mode.
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
    ("leases", |facts| leases(facts).members[0] = kept(member(), 15), Good, "lives and serves"),
    ("leases", |facts| leases(facts).leader = Some(kept("one".into(), 15)), Good, "one leads"),
    ("leases", |facts| leases(facts).members.clear(), Good, "one leads"),
    ("leases", |facts| leases(facts).members[0] = kept(member(), -5), Good, "lives and serves"),
    ("leases", |facts| leases(facts).members[0] = kept(member(), -6), Warning, "6 s ahead"),
    ("leases", |facts| leases(facts).members[0] = kept(member(), -60), Warning, "60 s ahead"),
    ("leases", |facts| leases(facts).members[0].what.serving = false, Warning, "no confirmed generation"),
    ("leases", |facts| leases(facts).members[0].what.drained = true, Note, "is drained"),
    ("leases", |facts| cluster(facts).leases = Some(Err("forbidden".into())), Error, "forbidden"),
    ("leases", |facts| *leases(facts) = Leases::default(), Note, "no node has told"),
];

fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(host::ROWS).chain(nginx_conf::ROWS).chain(certificates::ROWS)
}

fn judge(name: &str, facts: &Facts) -> (Level, String) {
    let check = CHECKS.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("{name}"));
    let lines = check.lines(facts);
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
fn each_fault_is_found_by_its_check() {
    let mut wrong = Vec::new();
    for (name, break_it, level, expected) in rows() {
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
    let failing: BTreeSet<_> = rows().filter(|row| row.2 > Note).map(|row| row.0).collect();
    // What short intervals between reloads cost, and what tenants may do, may be as intended.
    let all = CHECKS.iter().map(|check| check.name).filter(|name| !["shared-servers", "tenants"].contains(name));
    assert_eq!(failing, all.collect());
    for (name, break_it, ..) in rows().filter(|(name, ..)| *name != "other-sites") {
        let mut facts = healthy();
        break_it(&mut facts);
        let check = CHECKS.iter().find(|check| check.name == *name).unwrap();
        for line in check.lines(&facts).iter().filter(|line| line.level > Note) {
            assert!(!line.remedy.is_empty(), "{name}: {}", line.text);
        }
    }
}

#[test]
fn without_nginx_cluster_or_objects_every_check_still_says_something() {
    let mut facts = healthy();
    no_nginx(&mut facts, "none", None);
    (facts.source, facts.objects) = (Source::None, None);
    for check in CHECKS {
        judge(check.name, &facts);
    }
}
