//! Log lines, selected requests, responses and explanations. These tests must not know files or
//! networks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::answer_tests::{CONTROLLER, answered, request};
use super::*;
use crate::{Controller, Equivalence, Ingress, Item, Report, drop_in};
use ingressd_config::Sources;
use ingressd_model::USUAL_LINE;
use ingressd_objects::Inventory;

/// A log line in the controller's default format.
fn line(request: &str, status: u16, upstream: &str) -> String {
    format!(
        "192.0.2.9 - - [24/Nov/2026:10:00:00 +0000] \"{request}\" {status} 12 \"-\" \"curl/8 \\x22x\\x22\" 80 0.001 [{upstream}] [] \
         10.0.0.1:80, 10.0.0.2:80 0, 12 0.001, 0.001 502, 200 0123456789abcdef"
    )
}

#[test]
fn what_a_container_runtime_writes_before_a_line_is_no_part_of_it() {
    let format = Format::new("$host $request", false).unwrap();
    let read = |format: &Format, line: &str| format.read(&Lines::default().end(line)?);
    let short = "shop.example GET /a HTTP/1.1";
    let plain = format.read(short);
    assert_eq!(plain.as_ref().unwrap().host.as_deref(), Some("shop.example"));
    for prefix in [
        "2024-01-01T00:00:00Z stdout F ",
        "2024-01-01T00:00:00.123456789+01:00 stderr F ",
        "[pod/ingress-nginx-controller-0/controller] ",
        "[pod/a/b] 2024-01-01T00:00:00Z stdout F ",
    ] {
        assert_eq!(read(&format, &format!("{prefix}{short}\n")), plain, "{prefix}");
    }
    let (usual, logged) = (Format::new(USUAL_LINE, false).unwrap(), line("GET /a HTTP/1.1", 200, "-"));
    assert_eq!(read(&usual, &format!("2024-01-01T00:00:00.1Z {logged}")), usual.read(&logged));
    assert!(usual.read(&logged).is_some());
    let object = r#"{"method": "GET", "host": "shop.example", "path": "/a"}"#;
    assert_eq!(read(&usual, &format!("2024-01-01T00:00:00Z stdout F {object}")), usual.read(object));
    assert!(usual.read(object).is_some());
    // A line that has not ended is none, nor is one behind other words.
    for prefix in ["2024-01-01T00:00:00Z stdout P ", "yesterday stdout F ", "stdout F "] {
        assert_ne!(read(&format, &format!("{prefix}{short}")), plain, "{prefix}");
    }
    // A line that itself begins so is read as the format says.
    let timed = Format::new("$time_iso8601 $host $request", false).unwrap();
    let read = read(&timed, &format!("2024-01-01T00:00:00Z {short}")).unwrap();
    assert_eq!(read.host.as_deref(), Some("shop.example"));
}

#[test]
fn parts_of_a_long_line_are_one_line_although_those_of_another_stream_stand_between() {
    let mut lines = Lines::default();
    let text = "2024-01-01T00:00:00Z stdout P shop.example GET \n\
                2024-01-01T00:00:00Z stderr P of \n\
                2024-01-01T00:00:01Z stdout F shop.example GET /short HTTP/1.1\n\
                2024-01-01T00:00:01Z stdout P shop.example \n\
                2024-01-01T00:00:01Z stdout P GET /lo\n\
                2024-01-01T00:00:01Z stderr F stderr\n\
                2024-01-01T00:00:01Z stdout F ng HTTP/1.1\n\
                [pod/a/b] 2024-01-01T00:00:01Z stdout P without an end\n\
                2024-01-01T00:00:01Z stdout F last\n";
    let whole: Vec<_> = text.lines().filter_map(|line| lines.end(line)).collect();
    let expected =
        ["shop.example GET shop.example GET /short HTTP/1.1", "of stderr", "shop.example GET /long HTTP/1.1", "last"];
    assert_eq!((whole, lines.begun()), (expected.map(Into::into).to_vec(), 1));
}

#[test]
fn lines_are_read_by_their_format_or_as_json() {
    let usual = Format::new(USUAL_LINE, false).unwrap();
    let read = usual.read(&line("GET /cart?a=%20b HTTP/1.1", 200, "shop-web-80")).unwrap();
    assert_eq!((&*read.method, &*read.target, read.status), ("GET", "/cart?a=%20b", Some(200)));
    assert_eq!((read.upstream.as_deref(), read.agent.as_deref()), (Some("shop-web-80"), Some("curl/8 \"x\"")));
    assert_eq!((read.host, read.scheme), (None, None));
    let odd = usual.read(&line("GET /a\\x22\\xC3\\xBC HTTP/1.1", 200, "-")).unwrap();
    assert_eq!((&*odd.target, odd.upstream), ("/a\"ü", None));
    for not_one in [
        "",
        "E1124 10:00:00 controller.go:1] a message",
        "{\"level\": \"info\"}",
        "[1,2]",
        &line("\\x16\\x03", 400, "")[..40],
    ] {
        assert_eq!(usual.read(not_one), None, "{not_one}");
    }
    let read = |format: &str, is_json: bool, line: &str| {
        let logged = Format::new(format, is_json).unwrap().read(line).unwrap_or_else(|| panic!("{line}"));
        let scheme = logged.scheme.map_or("", Scheme::name);
        format!("{} {scheme} {} {}", logged.method, logged.host.unwrap_or_default(), logged.target)
    };
    let own =
        "{\"verb\": \"$request_method\", \"h\": \"$host\", \"u\": \"$uri\", \"q\": \"$args\", \"s\": \"$scheme\"}\n";
    for (format, is_json, line, expected) in [
        (
            own,
            true,
            r#"{"verb": "GET", "h": "A.test", "u": "/\"x", "q": "b=1", "s": "https"}"#,
            "GET https a.test /\"x?b=1",
        ),
        ("$best_http_host|${request}|$https", false, "a.test:80|HEAD /x HTTP/2.0|on", "HEAD https a.test /x"),
        (
            "$http_host $server_port $request",
            false,
            "a.test 443 GET http://b.test:8080/y HTTP/1.1",
            "GET http b.test /y",
        ),
        // IPv6 addresses of the client and of the backend, and the request.
        (
            "$remote_addr [$time_iso8601] $host $status \"$request\" $upstream_addr $request_id",
            false,
            "2001:db8::9 [2026-11-24T10:00:00+00:00] a.test 200 \"GET /x HTTP/2.0\" [fd00::1]:80, [fd00::2]:80 0a",
            "GET  a.test /x",
        ),
        ("$http_host $request", false, "[2001:DB8::1]:8443 GET / HTTP/1.1", "GET  [2001:db8::1] /"),
        ("it\\'s $request", false, "it's GET / HTTP/1.0", "GET   /"),
        // JSON fields of another format.
        (
            "$status",
            false,
            r#"{"vhost": "a.test", "method": "GET", "path": "/x", "request_query": "c=d", "status": 200}"#,
            "GET  a.test /x?c=d",
        ),
        (
            "$status",
            false,
            r#"{"httpHost": "a.test", "request": "GET /x HTTP/1.1", "nested": {"a": 1}}"#,
            "GET  a.test /x",
        ),
    ] {
        assert_eq!(read(format, is_json, line), expected, "{line}");
    }
}

#[test]
fn only_what_changes_nothing_can_be_asked_and_no_secret_is() {
    for name in ["POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE", "get", "PROPFIND", ""] {
        assert_eq!(Method::read(name), None, "{name}");
    }
    let asked =
        |host: &str, target: &str| Request::new(Method::Get, Scheme::Http, host, target).map(|request| request.url());
    for (host, target, expected) in [
        ("A.test", "/x?b=1#part", Some("http://a.test/x?b=1")),
        ("a.test", "/x?token=1", Some("http://a.test/x")),
        (
            "a.test",
            "/x?a=1&access_TOKEN=2&b=3;X-Amz-Signature=4&%74oken=5&key=6&page=7",
            Some("http://a.test/x?a=1&b=3&page=7"),
        ),
        ("a.test", "/x?keyword=1&broken=2", Some("http://a.test/x?keyword=1&broken=2")),
        ("a.test", "*", None),
        ("a.test", "/a b", None),
        ("a.test", "/a\r\nHost: b.test", None),
        ("a.test\r\nX: y", "/", None),
        ("", "/", None),
        ("a..test", "/", None),
    ] {
        assert_eq!(asked(host, target).as_deref(), expected, "{host}{target}");
    }
    assert_eq!(asked("a.test", &format!("/{}", "x".repeat(5000))), None);
}

fn ingress(name: &str, annotations: Value, spec: Value) -> Value {
    let annotations: serde_json::Map<_, _> = annotations
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| (format!("nginx.ingress.kubernetes.io/{key}"), value.clone()))
        .collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations}, "spec": spec,
    })
}

fn rule(host: &str, paths: &[(&str, &str, &str)]) -> Value {
    let path = |(path, path_type, service): &(&str, &str, &str)| json!({"path": path, "pathType": path_type, "backend": {"service": {"name": service, "port": {"number": 80}}}});
    json!({"host": host, "http": {"paths": paths.iter().map(path).collect::<Vec<_>>()}})
}

fn hosts_of(objects: &[Value]) -> IngressHosts {
    let snapshot = Inventory::of_objects(objects).snapshot;
    let names: BTreeSet<_> =
        snapshot.ingresses.iter().map(|stored| format!("{}/{}", stored.id.namespace, stored.id.name)).collect();
    assert_eq!(names.len(), objects.len(), "objects that can be read");
    IngressHosts::of(&snapshot, &names, "nginx.ingress.kubernetes.io/")
}

/// A shop with TLS, an API with expressions, and a catch-all.
fn usual_hosts() -> IngressHosts {
    hosts_of(&[
        ingress(
            "api",
            json!({"use-regex": "true"}),
            json!({"rules": [rule("api.test", &[("/v1(/|$)(.*)", "ImplementationSpecific", "api"), ("/v[0-9]+/old", "ImplementationSpecific", "old")])]}),
        ),
        ingress("canary", json!({"canary": "true"}), json!({"rules": [rule("shop.test", &[("/", "Prefix", "next")])]})),
        ingress("rest", json!({}), json!({"defaultBackend": {"service": {"name": "rest", "port": {"name": "http"}}}})),
        ingress(
            "shop",
            json!({"server-alias": "alias.test, ~^x", "from-to-www-redirect": "true"}),
            json!({
                "tls": [{"hosts": ["shop.test"], "secretName": "pair"}],
                "rules": [rule("shop.test", &[("/", "Prefix", "web"), ("/cart", "Prefix", "cart"), ("/exact", "Exact", "web")])],
            }),
        ),
        ingress(
            "wide",
            json!({"enable-cors": "true", "cors-allow-origin": "https://*.b.test, https://c.test"}),
            json!({
                "tls": [{"hosts": ["*.wide.test"], "secretName": "pair"}], "rules": [rule("*.wide.test", &[("/w/", "Prefix", "web")])],
            }),
        ),
    ])
}

#[test]
fn a_request_is_of_the_path_that_takes_it() {
    let known_hosts = usual_hosts();
    let whose = |host: &str, path: &str| {
        let route = known_hosts.host(host).and_then(|known| known.route(path));
        route.map_or_else(String::new, |route| format!("{} {}", route.ingress, route.path))
    };
    for (host, path, expected) in [
        ("shop.test", "/", "shop/shop /"),
        ("shop.test", "/cart/x", "shop/shop /cart"),
        ("shop.test", "/cartoon", "shop/shop /"),
        ("shop.test", "/exact", "shop/shop /exact"),
        ("shop.test", "/exact/x", "shop/shop /"),
        ("www.shop.test", "/cart", "shop/shop /cart"),
        ("alias.test", "/cart", "shop/shop /cart"),
        ("api.test", "/V1/x", "shop/api /v1(/|$)(.*)"),
        ("api.test", "/v22/old", "shop/api /v[0-9]+/old"),
        ("api.test", "/else", ""),
        ("any.wide.test", "/w", "shop/wide /w/"),
        ("a.b.wide.test", "/w", "shop/rest /"),
        // What an expression of server-alias takes, after all names.
        ("xyz.test", "/cart", "shop/shop /cart"),
        ("x.wide.test", "/w", "shop/wide /w/"),
        ("nobody.test", "/x", "shop/rest /"),
    ] {
        assert_eq!(whose(host, path), expected, "{host}{path}");
    }
    assert_eq!(known_hosts.host("shop.test").unwrap().ingresses, ["shop/canary", "shop/shop"]);
}

fn shown(choice: &Choice) -> Vec<String> {
    choice.requests.iter().map(ToString::to_string).collect()
}

#[test]
fn ingresses_say_what_is_asked() {
    let known_hosts = usual_hosts();
    let mut chooser = Chooser::new(&known_hosts, false);
    chooser.add_ingresses();
    let choice = chooser.choose(1000);
    assert_eq!(choice.left_out, LeftOut::default());
    let asked = shown(&choice);
    for expected in [
        "GET http://shop.test/",
        "GET https://shop.test/",
        "GET https://shop.test/cart",
        "GET https://shop.test/cart/",
        "GET https://shop.test/exact",
        "GET http://api.test/v1",
        "GET http://compare.invalid/",
        "GET https://compare.wide.test/w",
        "GET https://compare.wide.test/w/",
        "GET https://compare.wide.test/",
        "GET https://compare.wide.test/w from https://compare.b.test",
        "OPTIONS https://compare.wide.test/w from https://compare.b.test",
        "GET https://www.shop.test/",
        "GET https://alias.test/cart",
    ] {
        assert!(asked.iter().any(|request| request == expected), "{expected}: {asked:#?}");
    }
    assert!(!asked.iter().any(|request| request.contains("https://api.test")), "{asked:#?}");
    let mut sorted = choice.requests.clone();
    sorted.sort();
    assert_eq!(sorted, choice.requests, "requests of a host are together, so that its connection can be kept");
}

#[test]
fn a_log_says_what_is_asked_each_path_in_turn() {
    let known_hosts = usual_hosts();
    let format = Format::new(USUAL_LINE, false).unwrap();
    let mut chooser = Chooser::new(&known_hosts, false);
    for (text, times) in [
        (line("GET /hot HTTP/1.1", 200, "shop-web-80"), 9),
        (line("GET /warm HTTP/1.1", 200, "shop-web-80"), 5),
        (line("GET /cold HTTP/1.1", 200, "shop-web-80"), 1),
        (line("HEAD /cart HTTP/1.1", 308, "shop-cart-80"), 1),
        (line("GET /v1/x HTTP/1.1", 404, "shop-api-80"), 1),
        (line("GET /lost HTTP/1.1", 404, "shop-none-80"), 1),
        (line("GET /lost HTTP/1.1", 404, "upstream-default-backend"), 1),
        (line("POST /hot HTTP/1.1", 200, "shop-web-80"), 2),
        (line("GET /refused HTTP/1.1", 401, "shop-web-80"), 7),
        (line("GET /limited HTTP/1.1", 429, "shop-web-80"), 1),
        (line("GET /a\\x20b HTTP/1.1", 200, "shop-web-80"), 1),
        (line("GET /hot HTTP/1.1", 200, "shop-web-80").replace("curl/8 \\x22x\\x22", AGENT), 1),
        ("nonsense".to_owned(), 3),
    ] {
        (0..times).for_each(|_| chooser.add_line(format.read(&text).as_ref()));
    }
    let choice = chooser.choose(5);
    let expected = [
        "GET http://api.test/v1/x",
        "HEAD http://shop.test/cart",
        "HEAD https://shop.test/cart",
        "GET https://shop.test/hot",
        "GET https://shop.test/warm",
    ];
    assert_eq!(shown(&choice), expected, "the redirect over both, and of each path what was asked most");
    let LeftOut { unreadable, unsafe_method, refused, without_host, not_sendable, own, beyond } = choice.left_out;
    assert_eq!((unreadable, unsafe_method, refused, without_host, not_sendable, own, beyond), (3, 2, 8, 2, 1, 1, 1));
    let mut chooser = Chooser::new(&known_hosts, true);
    chooser.add_line(format.read(&line("GET /refused HTTP/1.1", 403, "shop-web-80")).as_ref());
    assert_eq!(shown(&chooser.choose(9)), ["GET https://shop.test/refused"]);
    // The host in the line itself takes precedence.
    let mut chooser = Chooser::new(&known_hosts, false);
    let own = Format::new("$host $scheme $request", false).unwrap();
    for text in ["shop.test http GET /a HTTP/1.1", "unknown.test https GET /b HTTP/1.1", "shop.test - GET /c HTTP/1.1"]
    {
        chooser.add_line(own.read(text).as_ref());
    }
    let expected = ["GET http://shop.test/a", "GET https://shop.test/c", "GET https://unknown.test/b"];
    assert_eq!(shown(&chooser.choose(9)), expected);
}

#[test]
fn what_a_side_says_once_and_never_again_is_no_difference() {
    let reported = |values: &[(&str, &str)]| -> BTreeMap<Part, String> {
        values.iter().map(|(name, value)| (Part::Header((*name).to_owned()), (*value).to_owned())).collect()
    };
    let rounds = Rounds {
        controller: vec![reported(&[("a", "1"), ("b", "x")]), reported(&[("a", "2"), ("b", "x")])],
        ingressd: vec![reported(&[("a", "3"), ("b", "y")]), reported(&[("a", "4"), ("b", "y")])],
    };
    let Outcome { different, unsteady } = rounds.outcome();
    assert_eq!(unsteady, [Part::Header("a".to_owned())]);
    assert_eq!(different, [(Part::Header("b".to_owned()), "x".to_owned(), "y".to_owned())]);
    // A varying status hides everything else.
    let status = |status: u16| {
        super::reported(
            &answered(status, &[], if status == 200 { "x" } else { "" }),
            &request(Scheme::Http, "/"),
            CONTROLLER,
        )
    };
    let rounds = Rounds { controller: vec![status(200), status(503)], ingressd: vec![status(200), status(200)] };
    assert_eq!(rounds.outcome(), Outcome { different: Vec::new(), unsteady: vec![Part::Status] });
    assert!(!rounds.is_silent());
}

fn item(name: &str, verdict: Equivalence) -> Item {
    Item { name: name.to_owned(), verdict, ..Item::default() }
}

fn report() -> Report {
    let ingress = |name: &str, items: Vec<Item>| Ingress {
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        items,
        ..Ingress::default()
    };
    Report {
        flags: vec![
            item("--default-ssl-certificate=a/b", Equivalence::Different),
            item("--publish-service=a/b", Equivalence::Different),
        ],
        config_map: Some((
            "a/b".to_owned(),
            vec![
                item("http-snippet", Equivalence::Refused),
                item("hsts", Equivalence::Equal),
                item("worker-processes", Equivalence::Different),
            ],
        )),
        ingresses: vec![
            ingress(
                "web",
                vec![
                    item("affinity", Equivalence::Different),
                    item("auth-secret", Equivalence::Stricter),
                    item("enable-cors", Equivalence::Equal),
                    item("ssl-redirect", Equivalence::Equal),
                    item("mirror-target", Equivalence::Refused),
                ],
            ),
            ingress(
                "other",
                vec![item("configuration-snippet", Equivalence::Refused), item("custom-headers", Equivalence::Refused)],
            ),
            ingress("far", vec![item("server-snippet", Equivalence::Refused)]),
        ],
        ..Report::default()
    }
}

#[test]
fn a_difference_is_explained_by_what_can_cause_it() {
    let header = |name: &str| Part::Header(name.to_owned());
    let others = ["shop/other".to_owned(), "shop/web".to_owned()];
    for (part, values, others, expected) in [
        (Part::Cookie("a".to_owned()), ["", ""], &others[..], &["annotation affinity !"][..]),
        // The explanation is not of the route itself, but of another object of its host.
        (
            header("x-frame-options"),
            ["DENY", ""],
            &others,
            &["annotation custom-headers !", "annotation configuration-snippet !"],
        ),
        // A setting for all that can change anything explains nothing.
        (header("x-frame-options"), ["DENY", ""], &[], &["key of the ConfigMap http-snippet"]),
        (Part::Certificate, ["", ""], &[], &["flag --default-ssl-certificate=a/b !"]),
        (Part::Status, ["200", "401"], &others, &["annotation auth-secret !"]),
        (Part::Status, ["200", "404"], &others, &["annotation configuration-snippet !"]),
    ] {
        let found = explain(&part, values, std::slice::from_ref(&part), Some("shop/web"), others, &report());
        let found: Vec<_> = found
            .iter()
            .map(|one| format!("{} {}{}", one.kind.name(), one.item.name, if one.is_foreseen { " !" } else { "" }))
            .collect();
        let (mut found, mut expected): (Vec<String>, Vec<String>) =
            (found, expected.iter().map(|one| (*one).to_owned()).collect());
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{part}");
    }
    // When the report has no such item, related ones are listed.
    let bare = Report { config_map: None, flags: Vec::new(), ..report() };
    let found = explain(&header("access-control-allow-origin"), ["*", ""], &[], Some("shop/web"), &[], &bare);
    assert_eq!(
        found.iter().map(|one| (&*one.item.name, one.is_foreseen)).collect::<Vec<_>>(),
        [("enable-cors", false)]
    );
    assert_eq!(explain(&header("x-a"), ["b", ""], &[], None, &[], &bare), []);
}

#[test]
fn the_result_says_whether_it_is_clean() {
    let side = |ports| Side { address: "192.0.2.1".to_owned(), ports };
    let clean = Comparison {
        finished: "2026-11-24T10:00:00Z".to_owned(),
        asked: 3,
        ..Comparison::new(side(CONTROLLER), side(BESIDE))
    };
    let json = clean.json();
    let reported = ["version", "verdict", "asked", "different", "finished"].map(|key| json[key].to_string());
    assert_eq!(reported, ["1", "\"clean\"", "3", "0", "\"2026-11-24T10:00:00Z\""]);
    assert_eq!(json["ingressd"], json!({"address": "192.0.2.1", "httpPort": 8080, "httpsPort": 8444}));
    assert!(!Comparison { unanswered: 3, ..clean.clone() }.is_clean(), "nobody answered");
    let request = Request::new(Method::Get, Scheme::Http, "a.test", "/").unwrap();
    let because = explain(&Part::Status, ["200", "404"], &[Part::Status], None, &["shop/other".to_owned()], &report());
    let part = DifferentPart { part: Part::Status, controller: "200".to_owned(), ingressd: "404".to_owned(), because };
    let difference = Difference { request, ingress: None, parts: vec![part] };
    let json = Comparison { different: vec![difference], ..clean }.json();
    assert_eq!((&json["verdict"], &json["different"], &json["explained"]), (&json!("different"), &json!(1), &json!(1)));
    let part = &json["differences"][0]["parts"][0];
    assert_eq!(
        (&part["part"], &part["controller"], &part["ingressd"]),
        (&json!("status"), &json!("200"), &json!("404"))
    );
    assert_eq!(part["because"][0]["name"], "configuration-snippet");
}

#[test]
fn settings_for_the_time_side_by_side_take_the_place_of_others() {
    let words = [
        "/nginx-ingress-controller",
        "--http-port=81",
        "--healthz-port=10300",
        "--publish-service=a/b",
        "--configmap=a/b",
    ];
    let container =
        ingressd_objects::Container { image: "controller".to_owned(), words: words.map(str::to_owned).to_vec() };
    let workload = ingressd_objects::Workload {
        kind: "DaemonSet".to_owned(),
        namespace: "edge".to_owned(),
        name: "c".to_owned(),
        containers: vec![container],
    };
    let with_flags = crate::controllers(&[workload]).pop().unwrap();
    for controller in [Controller::default(), with_flags] {
        let usual = drop_in(&controller).text;
        let text = side_by_side(&usual, Ports { http: 8081, https: 8444 });
        let settings = Sources::load_text(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let usual = Sources::load_text(&usual).unwrap();
        assert_eq!(settings.translate.classes, usual.translate.classes);
        assert_eq!(settings.ingress_nginx.config_map, usual.ingress_nginx.config_map);
        assert!(usual.publish.status && !settings.publish.status);
        let listeners = &settings.translate.listeners;
        assert_eq!((listeners.http_port, listeners.https_port), (8081, 8444));
        assert_eq!(settings.gate.public_https_port, 443, "redirects lead where clients are let in");
        assert_ne!(settings.publish.lease, usual.publish.lease);
        assert_ne!(settings.gate.status, usual.gate.status);
    }
}

#[test]
fn ports_of_others_are_not_taken() {
    let controller = |flags: &[(&str, &str)]| Controller {
        arguments: flags
            .iter()
            .map(|(name, value)| crate::Argument { name: (*name).to_owned(), value: (*value).to_owned() })
            .collect(),
        ..Controller::default()
    };
    let found = |flags: &[(&str, &str)], http, https| {
        taken(&controller(flags), Ports { http, https })
            .map(|taken| (taken.by.into_iter().map(|(port, _)| port).collect::<Vec<_>>(), taken.free.to_string()))
    };
    let taken = |ports: &[u16], free: &str| Some((ports.to_vec(), free.to_owned()));
    for (flags, http, https, expected) in [
        (&[][..], 8080, 8444, None),
        (&[], 8080, 8443, None),
        (&[], 80, 443, taken(&[80, 443], "8080,8444")),
        (&[("http-port", "81")], 80, 444, None),
        (&[("http-port", "81")], 81, 444, taken(&[81], "8080,8444")),
        (&[("validating-webhook", ":8444")], 8080, 8444, taken(&[8444], "8080,8445")),
        (&[("http-port", "8080"), ("https-port", "8081")], 8080, 8444, taken(&[8080], "8082,8444")),
        (&[("https-port", "odd")], 8080, 443, None),
        (&[], 8080, 10247, taken(&[10247], "8080,8444")),
        (&[], 10266, 10267, taken(&[10266, 10267], "8080,8444")),
        (&[], 8080, 8080, taken(&[8080], "8080,8444")),
    ] {
        assert_eq!(found(flags, http, https), expected, "{flags:?} {http} {https}");
    }
}
