//! Names are unique, and are read in order where nginx compares what they name.

use super::*;
use crate::render::token::{INSTANCE, Word};
use ingressd_model::{Kind, Origin};

fn id(namespace: &str, service: &str, port: &str, mode: &'static str) -> UpstreamId {
    UpstreamIdentity { mode, ..UpstreamIdentity::usual(namespace, service, port) }.into()
}

#[test]
fn the_file_of_a_service_says_its_port_and_no_other_does() {
    for (transport, number) in [(Transport::Tcp, 5432), (Transport::Udp, 53)] {
        let port = Port { transport, number };
        assert_eq!(stream_port(&stream_file(port)), Some(port));
        assert_eq!(stream_port(&stream_upstream_file(&id("a", "b", &number.to_string(), ""))), None);
        let inside = Port { transport: Transport::Tcp, number };
        assert_eq!(stream_port(&passthrough_file(number)), Some(inside));
    }
}

#[test]
fn names_that_nginx_compares_are_read_in_order() {
    let paths = [
        "http/server-exact-z.example.conf",
        "http/server-wildcard-z.example.conf",
        "http/server-wildcards-1-a.example.conf",
        "http/server-wildcards-2-a.example.conf",
        &reserved_file(),
        "http/server-z+00000000000000000000+0.conf",
    ];
    assert!(paths.is_sorted());
}

#[test]
fn files_say_how_often_connections_were_counted_anew() {
    for times in [0, 1, 4_000_000_000] {
        let path = limits_file("limit_0123456789abcdef0123", times);
        assert_eq!(recounts(&path), Some(times).filter(|times| *times > 0), "{path}");
        assert_eq!(recounts(&requests_file(times)), recounts(&path));
    }
    assert_eq!((recounts(&turn_file(3)), recounts("stream/tcp-7000.conf")), (None, None));
}

#[test]
fn the_name_of_an_endpoint_is_that_of_its_service_and_address() {
    let address = |text: &str| Endpoint { address: text.parse().unwrap(), weight: 1 };
    let origin = Origin::object(&ObjectId::new(Kind::SERVICE, "a", "b").into());
    let of = |id: UpstreamId, uid: Option<&str>, text: &str| {
        let uid = uid.map(Arc::from);
        endpoint(&Upstream { id, origin: origin.clone(), uid, sharers: 1 }, &address(text))
    };
    let first = of(id("a", "b", "80", ""), Some("u"), "10.0.0.1:80");
    assert_eq!(of(id("a", "b", "81", "auto"), Some("u"), "10.0.0.1:80"), first);
    let others = [
        of(id("a", "b", "80", ""), Some("u"), "10.0.0.1:81"),
        of(id("a", "b", "80", ""), Some("v"), "10.0.0.1:80"),
        of(id("a", "b", "80", ""), None, "10.0.0.1:80"),
        of(id("a", "c", "80", ""), Some("u"), "10.0.0.1:80"),
        of(id("c", "b", "80", ""), Some("u"), "10.0.0.1:80"),
    ];
    assert!(others.iter().all(|other| *other != first), "{others:?}");
}

#[test]
fn upstreams_never_share_a_name() {
    let ids = [
        id("a-b", "c", "80", ""),
        id("a", "b-c", "80", ""),
        id("a", "b", "c-80", ""),
        id("a", "b", "c.80", ""),
        id("a.b", "c", "80", ""),
        id("a", "b.c", "80", ""),
        id("a", "b", "80", "nodeport"),
        id("a", "b", "80.nodeport", ""),
        id("a", "../b;", "80", ""),
        id("a", &"b".repeat(200), "80", ""),
    ];
    let names: std::collections::BTreeSet<_> = ids.iter().map(upstream).collect();
    assert_eq!(names.len(), ids.len());
    let safe = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    assert!(names.iter().all(|name| safe(name) && name.len() < 220), "{names:?}");
}

#[test]
fn variables_fit_into_the_table_of_variables() {
    let digest = "0123456789abcdef0123";
    let parts = [1, 2, u64::MAX].map(|part| block_variables(digest, part));
    let slots = parts.iter().flat_map(|variables| [format!("{variables}_99"), empty_hosts(variables, 99)]);
    let (cookie, service) = (HeaderName::new("a").unwrap(), id("a", "b", "80", ""));
    let others = [
        cors(&CorsPart::Origins(Vec::new())),
        cors(&CorsPart::Text("x".into())),
        exempt(&format!("limit_{digest}")),
        format!("cookie_{digest}_1"),
        format!("split_{digest}_99"),
        format!("stranger_{digest}"),
        list(ListMark([255; 10])),
        session(&cookie).replacen("session", "given", 1),
        format!("{}_99", named_endpoint(&service)),
        format!("{}_99", answering_endpoint(&service)),
        endpoint_key(&service),
    ];
    for name in slots.chain(others) {
        let word = Word::variable(&name).unwrap();
        let written = word.as_str().trim_start_matches('$').replace(INSTANCE, "");
        assert!(written.len() <= 46, "{written}");
    }
}

/// nginx compares each name with all others: first the length, then the bytes.
#[test]
fn names_of_variables_differ_in_their_length_or_the_first_letters() {
    let names = (0..1000).map(|number| cors(&CorsPart::Text(number.to_string())));
    let words: Vec<_> = names.map(|name| Word::variable(&name).unwrap()).collect();
    let is_alike = |one: &str, other: &str| one.len() == other.len() && one[..2] == other[..2];
    let alike = |word: &Word| words.iter().filter(|other| is_alike(word.as_str(), other.as_str())).count();
    assert!(words.iter().all(|word| alike(word) < 40));
    assert!(words.iter().all(|word| word.as_str().as_bytes()[1].is_ascii_lowercase()), "no digit, which is a capture");
}
