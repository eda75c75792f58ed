//! The annotation about TCP and UDP services: how its servers are read, and what is refused.

use std::sync::Arc;
use std::time::Duration;

use super::{options, reading};
use crate::Options;
use ingressd_model::catalogue::{Context as Block, find};
use ingressd_model::finding::Reason;
use ingressd_model::{Argument, Directive, Kind, ObjectId, Origin, Transport};

/// Ports 5000 to 5999 are allowed.
fn with_ports() -> Options {
    let mut options = options();
    options.snippets[0].ports = vec![5000..=5999];
    options.streams.policy.timeout = Duration::from_secs(600);
    options
}

/// Each service on a line.
fn read(text: &str) -> Result<Vec<String>, String> {
    let read = reading("scribe", &with_ports(), &[("stream-snippet", text)]);
    if read.refused {
        assert!(read.streams.is_empty(), "{text}");
        return Err(read.findings.iter().map(|finding| &*finding.note).collect::<Vec<_>>().join("; "));
    }
    let line = |stream: &crate::annotation::reading::RequestedStream| {
        let marks = [(stream.accepts_proxy_protocol, " in"), (stream.sends_proxy_protocol, " out")];
        let marks: String = marks.iter().filter(|(is_on, _)| *is_on).map(|(_, mark)| *mark).collect();
        let directives = stream.policy.directives.iter().map(|one| {
            let word = match &one.arguments[0] {
                Argument::Word(word) => (*word).to_owned(),
                Argument::Text(text) => text.as_str().to_owned(),
                Argument::Time(time) => format!("{}s", time.as_secs()),
                other => panic!("{other:?}"),
            };
            format!(" {} {word}", one.row.name)
        });
        let rest = directives.collect::<String>();
        format!(
            "{}{marks} {}:{} {}s{rest}",
            stream.wanted,
            stream.service,
            stream.port,
            stream.policy.timeout.as_secs()
        )
    };
    Ok(read.streams.iter().map(line).collect())
}

#[test]
fn servers_become_services_of_the_namespace() {
    for (text, expected) in [
        ("server { listen 5432; proxy_pass db.scribe.svc.cluster.local:5432; }", "TCP port 5432 db:5432 600s"),
        ("server { listen 5432; proxy_pass db.scribe.svc:1; }", "TCP port 5432 db:1 600s"),
        ("server { listen 5432; proxy_pass db.scribe:1; }", "TCP port 5432 db:1 600s"),
        (
            "upstream pg {\n  server db.scribe.svc:1;\n}\nserver { listen [::]:5432; listen *:5432; proxy_pass pg; }",
            "TCP port 5432 db:1 600s",
        ),
        (
            "server { listen 0.0.0.0:5432 proxy_protocol reuseport; proxy_pass db.scribe:1; proxy_protocol on; }",
            "TCP port 5432 in out db:1 600s",
        ),
        (
            "server { listen 5053 udp; proxy_pass dns.scribe:53; proxy_responses 1; proxy_timeout 20s; }",
            "UDP port 5053 dns:53 20s",
        ),
        (
            "server { listen 5432; proxy_pass db.scribe:1; allow 192.0.2.0/24; deny all; proxy_connect_timeout 5s; }",
            "TCP port 5432 db:1 600s allow 192.0.2.0/24 deny all proxy_connect_timeout 5s",
        ),
    ] {
        assert_eq!(read(text).unwrap(), [expected], "{text}");
    }
    let two = "server { listen 5001; listen 5002 udp; proxy_pass db.scribe:1; } \
               server { listen 5003; proxy_pass other.scribe:2; }";
    let expected = ["TCP port 5001 db:1 600s", "UDP port 5002 db:1 600s", "TCP port 5003 other:2 600s"];
    assert_eq!(read(two).unwrap(), expected);
}

#[test]
fn everything_else_is_refused_with_its_place() {
    let server = |inside: &str| format!("server {{ listen 5432; proxy_pass db.scribe:1; {inside} }}");
    for (text, why) in [
        ("proxy_timeout 5s;".to_owned(), "write it into a server"),
        ("listen 6001;".to_owned(), "write it into a server"),
        ("deny all;".to_owned(), "write it into a server"),
        ("map $remote_addr $a { default 1; }".to_owned(), "may not have \"map\""),
        ("load_module x.so;".to_owned(), "may not have \"load_module\""),
        ("# nothing".to_owned(), "it has no server"),
        ("server;".to_owned(), "a block"),
        ("server { }".to_owned(), "needs proxy_pass"),
        ("server { listen 5432; }".to_owned(), "needs proxy_pass"),
        ("server { proxy_pass db.scribe:1; }".to_owned(), "needs listen"),
        ("server { listen 5432; proxy_pass db.victim.svc:1; }".to_owned(), "not a Service of this namespace"),
        ("server { listen 5432; proxy_pass db.victim:1; }".to_owned(), "not a Service of this namespace"),
        ("server { listen 5432; proxy_pass 10.0.0.1:22; }".to_owned(), "not the address of a Service"),
        ("server { listen 5432; proxy_pass [::1]:22; }".to_owned(), "not the address of a Service"),
        ("server { listen 5432; proxy_pass unix:/run/x; }".to_owned(), "not the address of a Service"),
        ("server { listen 5432; proxy_pass $upstream; }".to_owned(), "not the address of a Service"),
        ("server { listen 5432; proxy_pass db.scribe.svc; }".to_owned(), "not the address of a Service"),
        ("server { listen 5432; proxy_pass a.b.scribe.svc:1; }".to_owned(), "not the address of a Service"),
        ("server { listen 5432; proxy_pass db; }".to_owned(), "not the address of a Service"),
        ("upstream a { server db.scribe:1; server db.scribe:2; }".to_owned(), "one server"),
        ("upstream a { server db.scribe:1 weight=2; }".to_owned(), "number of arguments"),
        ("upstream a { server 10.0.0.1:1; }".to_owned(), "not the address of a Service"),
        ("server { listen 80; proxy_pass db.scribe:1; }".to_owned(), "no TCP port 80"),
        ("server { listen 5432 ssl; proxy_pass db.scribe:1; }".to_owned(), "TLS is not terminated"),
        ("server { listen 5432 bind; proxy_pass db.scribe:1; }".to_owned(), "\"bind\" is not known"),
        ("server { listen 192.0.2.1:5432; proxy_pass db.scribe:1; }".to_owned(), "listen.addresses"),
        ("server { listen unix:/run/x; proxy_pass db.scribe:1; }".to_owned(), "is not a port"),
        ("server { listen 05432; proxy_pass db.scribe:1; }".to_owned(), "is not a port"),
        ("server { listen 5000-5999; proxy_pass db.scribe:1; }".to_owned(), "is not a port"),
        ("server { listen 5432 udp proxy_protocol; proxy_pass db.scribe:1; }".to_owned(), "for UDP"),
        ("server { listen 5432; listen [::]:5432 proxy_protocol; proxy_pass db.scribe:1; }".to_owned(), "there twice"),
        (server("proxy_pass db.scribe:2;"), "there twice"),
        (server("proxy_protocol yes;"), "on or off"),
        (server("proxy_timeout 0;"), "no connection"),
        (server("proxy_timeout $time;"), "whole seconds"),
        (server("access_log /etc/passwd;"), "may not have \"access_log\""),
        (server("proxy_buffer_size 1m;"), "may not have \"proxy_buffer_size\""),
        (server("proxy_timeout 1s; proxy_timeout 9s;"), "there twice"),
        (server("proxy_protocol on; proxy_protocol off;"), "there twice"),
        (server("upstream x { }"), "may not have \"upstream\""),
        ("upstream a { server db.scribe:1; } upstream a { server db.scribe:2; }".to_owned(), "there twice"),
        ("upstream a { server db.scribe:1 { } }".to_owned(), "one server"),
        ("server { listen 5432; proxy_pass db.scribe:080; }".to_owned(), "not the address of a Service"),
        (server("error_log /tmp/x;"), "may not have \"error_log\""),
        (server("return hello;"), "may not have \"return\""),
        (server("js_access x;"), "may not have \"js_access\""),
        (server("ssl_certificate /etc/x;"), "may not have \"ssl_certificate\""),
        (server("tcp_nodelay on; tcp_nodelay off;"), "there twice"),
        (server("deny all { }"), "number of arguments"),
        (server("") + &server(""), "another server has TCP port 5432"),
        (server("} http { #"), "unexpected"),
    ] {
        let reported = read(&text).unwrap_err();
        assert!(reported.contains(why), "{text}: {reported}");
    }
    let reported = read("server {\n  listen 5432;\n  proxy_pass db.scribe:1;\n  root /;\n}").unwrap_err();
    assert!(reported.contains("line 4, column 3: \"root\""), "{reported}");
    assert!(read(&"# long\n".repeat(5000)).unwrap_err().contains("longer than"));
}

#[test]
fn times_have_the_ceiling_and_what_the_administrator_says_stays() {
    let mut options = with_ports();
    options.limits.timeout = Duration::from_secs(100);
    options.streams.policy.header_timeout = Duration::from_secs(30);
    let text = |inside: &str| {
        format!(
            "server {{ listen 5432 proxy_protocol; proxy_pass db.scribe:1; proxy_timeout 1h; proxy_connect_timeout 1h; \
             proxy_protocol_timeout 24h; {inside} }}"
        )
    };
    let plain = reading("scribe", &options, &[("stream-snippet", &text(""))]);
    let [stream] = &plain.streams[..] else { panic!("{plain:?}") };
    assert_eq!(stream.wanted.transport, Transport::Tcp);
    assert_eq!(
        (stream.policy.timeout, stream.policy.header_timeout),
        (options.limits.timeout, Duration::from_secs(30))
    );
    assert_eq!(stream.policy.directives[0].arguments, [Argument::Time(options.limits.timeout)]);
    assert_eq!(plain.findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(), [Reason::AboveCeiling]);
    // What the administrator says for all services stays.
    let say = |name: &str, argument| {
        let row = find(name, Block::StreamServer).unwrap();
        let origin = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller")));
        Directive { row, arguments: vec![argument], origin }
    };
    options.streams.policy.directives =
        [say("deny", Argument::Word("all")), say("tcp_nodelay", Argument::Switch(false))].into();
    let read = |inside: &str| reading("scribe", &options, &[("stream-snippet", &text(inside))]);
    let names: Vec<_> = read("").streams[0].policy.directives.iter().map(|one| one.row.name).collect();
    assert_eq!(names, ["deny", "tcp_nodelay", "proxy_connect_timeout"]);
    for inside in ["allow all;", "deny 192.0.2.7;", "tcp_nodelay on;"] {
        let read = read(inside);
        assert!(read.refused && read.findings[0].note.contains("for all services"), "{inside}: {:?}", read.findings);
    }
}
