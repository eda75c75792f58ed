//! Session affinity, through the real nginx.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ingressd_echo::Echo;
use tokio::net::TcpListener;

use rig::client::{Reply, Request, get};
use rig::manifests::{Ingress, endpoint_slice, ingress, service_at, tls_secret};
use rig::{ECHO, Rig};

pub const PODS: [&str; 4] = ["10.244.1.1", "10.244.1.2", "10.244.1.3", "10.244.1.4"];

pub fn write_pods(rig: &Rig, pods: &[&str]) {
    rig.manifests.write("pods.yaml", &[endpoint_slice("web", pods, ECHO)]);
}

/// An Ingress of the dialect of ingress-nginx whose clients stay with an endpoint.
pub fn sticky(host: &str) -> Ingress {
    ingress(&host.replace('.', "-")).class("nginx").host(host, "web").annotation("affinity", "cookie")
}

pub fn endpoint(reply: &Reply) -> IpAddr {
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.echo().address.ip()
}

/// The cookie that the client sends from then on, if it got one.
pub fn given(reply: &Reply) -> Option<&str> {
    reply.header("set-cookie").and_then(|cookie| cookie.split(';').next())
}

pub fn with(request: Request, cookie: &str) -> Request {
    request.header("Cookie", &format!("a=b; {cookie}; c=d"))
}

pub async fn start(rig: &mut Rig, objects: impl IntoIterator<Item = Ingress>) {
    rig.manifests.write("web.yaml", &service_at("web", &PODS[..3], ECHO)[..1]);
    write_pods(rig, &PODS[..3]);
    let objects: Vec<_> = objects.into_iter().map(Ingress::build).collect();
    rig.manifests.write("objects.yaml", &objects);
    rig.start().await;
}

#[test]
fn a_client_keeps_its_cookie_and_its_endpoint() {
    rig::run(async |rig| {
        let plain = ingress("plain").class("nginx").host("plain.test", "web");
        let odd = sticky("odd.test").annotation("session-cookie-name", "my-app.id");
        start(rig, [sticky("a.test"), odd, plain]).await;
        for url in ["http://a.test/x", "http://odd.test/x"] {
            let mut endpoints = BTreeMap::new();
            for _ in 0..30 {
                let first = get(url).send().await;
                let cookie = given(&first).expect("a cookie").to_owned();
                for _ in 0..3 {
                    let next = with(get(url), &cookie).send().await;
                    assert_eq!(endpoint(&next), endpoint(&first), "{cookie}");
                    assert_eq!(given(&next), None);
                }
                *endpoints.entry(endpoint(&first)).or_insert(0) += 1;
            }
            assert_eq!(endpoints.len(), 3, "thirty clients are at {endpoints:?}");
        }
        assert_eq!(given(&get("http://plain.test/x").send().await), None);
    });
}

#[test]
fn the_cookie_is_what_the_object_says() {
    rig::run(async |rig| {
        let all = [
            ("session-cookie-name", "route"),
            ("session-cookie-path", "/s"),
            ("session-cookie-domain", "all.test"),
            ("session-cookie-max-age", "60"),
            ("session-cookie-expires", "3600"),
            ("session-cookie-samesite", "None"),
            ("session-cookie-secure", "true"),
        ];
        let all = all.into_iter().fold(sticky("all.test"), |object, (key, value)| object.annotation(key, value));
        let path = ingress("path").class("nginx").path("path.test", "Prefix", "/b$x;", "web");
        let path = path.path("path.test", "Prefix", "/c~d", "web").annotation("affinity", "cookie");
        let regex = ingress("regex").class("nginx").path("regex.test", "ImplementationSpecific", "/a(/|$)(.*)", "web");
        let regex = regex.annotation("affinity", "cookie").annotation("use-regex", "true");
        let secure = sticky("tls.test").tls(&["tls.test"], "tls").annotation("ssl-redirect", "false");
        let secure = secure.annotation("enable-cors", "true");
        let moved = sticky("moved.test").tls(&["moved.test"], "tls");
        let closed = sticky("closed.test").annotation("allowlist-source-range", "192.0.2.1/32");
        rig.manifests.write("tls.yaml", &[tls_secret("tls", &["tls.test", "moved.test"])]);
        start(rig, [all, path, regex, secure, moved, closed]).await;
        for (url, name, attributes) in [
            ("http://all.test/", "route", "; Path=/s; Domain=all.test; Max-Age=60; SameSite=None; Secure; HttpOnly"),
            ("http://path.test/b$x;", "INGRESSCOOKIE", "; Path=/; HttpOnly"),
            ("http://path.test/c~d/e", "INGRESSCOOKIE", "; Path=/c~d; HttpOnly"),
            ("http://regex.test/a/b", "INGRESSCOOKIE", "; Path=/; HttpOnly"),
            ("http://tls.test/", "INGRESSCOOKIE", "; Path=/; HttpOnly"),
            ("https://tls.test/", "INGRESSCOOKIE", "; Path=/; Secure; HttpOnly"),
        ] {
            let reply = get(url).send().await;
            let cookie = reply.header("set-cookie").unwrap_or_default();
            let (pair, _) = cookie.split_once(';').unwrap_or_default();
            let (own, value) = pair.split_once('=').unwrap_or_default();
            assert_eq!((own, cookie.strip_prefix(pair)), (name, Some(attributes)), "{url}");
            assert!(value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit()), "{url}: {value}");
        }
        // A client that nginx answers without a backend has no session yet.
        let preflight = Request::new(http::Method::OPTIONS, "https://tls.test/").header("Origin", "https://b.test");
        let preflight = preflight.header("Access-Control-Request-Method", "GET");
        for (request, status) in [(get("http://moved.test/"), 308), (get("http://closed.test/"), 403), (preflight, 204)]
        {
            let reply = request.send().await;
            assert_eq!((reply.status, reply.header("set-cookie")), (status, None), "{reply:?}");
        }
        // Other headers of the server stay.
        let reply = get("https://tls.test/").send().await;
        assert!(reply.header("strict-transport-security").is_some(), "{reply:?}");
        let reply = get("https://tls.test/").header("Origin", "https://b.test").send().await;
        assert_eq!(reply.headers.get_all("strict-transport-security").iter().count(), 1, "{reply:?}");
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    });
}

#[test]
fn as_few_clients_as_possible_move_when_endpoints_come_or_go() {
    rig::run(async |rig| {
        start(rig, [sticky("a.test")]).await;
        let at = async |cookies: &[String]| {
            let mut at = Vec::new();
            for cookie in cookies {
                at.push(endpoint(&with(get("http://a.test/"), cookie).send().await));
            }
            at
        };
        let cookies: Vec<_> = (0..200).map(|number| format!("INGRESSCOOKIE=client-{number}")).collect();
        let before = at(&cookies).await;
        let is_served = |pod: &'static str| {
            move |reply: &Reply| reply.try_echo().is_some_and(|answer| answer.address.ip().to_string() == pod)
        };
        write_pods(rig, &PODS);
        get("http://a.test/").send_until("the fourth endpoint", is_served(PODS[3])).await;
        let grown = at(&cookies).await;
        let moved = before.iter().zip(&grown).filter(|(before, after)| before != after);
        let (moved, elsewhere) =
            (moved.clone().count(), moved.filter(|(_, after)| after.to_string() != PODS[3]).count());
        // The share of the fourth endpoint is a quarter, and each client that moves, moves to it.
        assert!((20..90).contains(&moved) && elsewhere == 0, "{moved} of 200 moved, {elsewhere} of them elsewhere");
        let generation = rig.daemon.status().await.unwrap()["generation"].clone();
        write_pods(rig, &PODS[1..]);
        let is_newer = |status: &serde_json::Value| status["generation"] != generation;
        rig.daemon.status_when("another generation", is_newer).await;
        get("http://a.test/").send_until("an endpoint that is left", |reply| reply.status == 200).await;
        let shrunk = at(&cookies).await;
        let moved = grown.iter().zip(&shrunk).filter(|(before, after)| before != after);
        assert!(moved.into_iter().all(|(before, _)| before.to_string() == PODS[0]));
    });
}

#[test]
fn what_is_alike_goes_to_one_endpoint_and_ingresses_of_one_service_differ() {
    rig::run(async |rig| {
        let hashed = ingress("hash").class("nginx").host("hash.test", "web");
        let hashed = hashed.annotation("upstream-hash-by", "u-$arg_user");
        let turns = ingress("turns").class("nginx").host("turns.test", "web");
        let two = ingress("two").class("nginx").host("two.test", "web").annotation("upstream-hash-by", "u-$arg_user");
        let two = two.annotation("upstream-hash-by-subset", "true").annotation("upstream-hash-by-subset-size", "2");
        let least = ingress("least").class("nginx").host("least.test", "web").annotation("load-balance", "ewma");
        start(rig, [hashed, turns, two, least]).await;
        let mut all = BTreeMap::new();
        for user in 0..30 {
            let url = format!("http://hash.test/?user={user}");
            let first = endpoint(&get(&url).send().await);
            for _ in 0..3 {
                assert_eq!(endpoint(&get(&url).send().await), first);
            }
            *all.entry(first).or_insert(0) += 1;
        }
        assert_eq!(all.len(), 3, "{all:?}");
        let mut turns = BTreeMap::new();
        for _ in 0..30 {
            *turns.entry(endpoint(&get("http://turns.test/?user=1").send().await)).or_insert(0) += 1;
        }
        assert_eq!(turns.len(), 3, "{turns:?}");
        let some = async |url: &str| {
            let mut all = BTreeSet::new();
            for _ in 0..40 {
                all.insert(endpoint(&get(url).send().await));
            }
            all
        };
        let mut numbers = BTreeSet::new();
        for user in 0..10 {
            numbers.insert(some(&format!("http://two.test/?user={user}")).await.len());
        }
        // Both endpoints of a key may be the same one.
        assert!(numbers.contains(&2) && !numbers.contains(&3), "{numbers:?}");
        assert_eq!(some("http://least.test/").await.len(), 3);
    });
}

#[test]
fn a_client_stays_on_its_side_of_a_canary_unless_the_object_says_otherwise() {
    rig::run(async |rig| {
        let half = |host: &str| {
            let name = format!("{}-canary", host.replace('.', "-"));
            ingress(&name)
                .class("nginx")
                .host(host, "new")
                .annotation("canary", "true")
                .annotation("canary-weight", "50")
        };
        let legacy = sticky("legacy.test").annotation("affinity-canary-behavior", "legacy");
        rig.manifests.write("new.yaml", &service_at("new", &["10.244.2.1"], ECHO));
        start(rig, [sticky("sticky.test"), half("sticky.test"), legacy, half("legacy.test")]).await;
        let sides = async |url: &str, cookie: &str| {
            let mut sides = BTreeMap::new();
            for _ in 0..20 {
                let reply = with(get(url), cookie).send().await;
                *sides.entry(endpoint(&reply).to_string() == "10.244.2.1").or_insert(0) += 1;
            }
            sides
        };
        let mut clients = BTreeMap::new();
        for number in 0..20 {
            let sides = sides("http://sticky.test/", &format!("INGRESSCOOKIE=client-{number}")).await;
            assert_eq!(sides.len(), 1, "client {number}: {sides:?}");
            clients.extend(sides);
        }
        assert_eq!(clients.len(), 2, "all are on one side");
        assert_eq!(sides("http://legacy.test/", "INGRESSCOOKIE=client").await.len(), 2);
    });
}

#[test]
fn a_client_that_is_brought_to_a_canary_stays_there() {
    rig::run(async |rig| {
        let with_canary = |host: &str| {
            let name = format!("{}-canary", host.replace('.', "-"));
            let canary = ingress(&name).class("nginx").host(host, "new").annotation("canary", "true");
            [sticky(host), canary.annotation("canary-by-header", "X-New").annotation("canary-by-cookie", "new")]
        };
        let [persistent, its_canary] = with_canary("persistent.test");
        let [legacy, of_legacy] = with_canary("legacy.test");
        let others = [
            persistent.annotation("affinity-mode", "persistent"),
            its_canary,
            legacy.annotation("affinity-canary-behavior", "legacy"),
            of_legacy,
        ];
        rig.manifests.write("new.yaml", &service_at("new", &["10.244.2.1", "10.244.2.2"], ECHO));
        start(rig, with_canary("balanced.test").into_iter().chain(others)).await;
        let is_new = |reply: &Reply| endpoint(reply).to_string().starts_with("10.244.2.");
        for host in ["balanced", "persistent", "legacy"] {
            let (url, stays) = (format!("http://{host}.test/"), host != "legacy");
            let request = |cookie: &str| with(get(&url), cookie);
            let first = get(&url).send().await;
            let at_main = given(&first).unwrap().to_owned();
            assert!(!is_new(&first), "{host}");
            for brought in [get(&url).header("X-New", "always"), request(&format!("{at_main}; new=always"))] {
                let brought = brought.send().await;
                assert!(is_new(&brought), "{host}");
                let cookie = given(&brought).unwrap_or(&at_main);
                for _ in 0..4 {
                    let next = request(cookie).send().await;
                    assert_eq!((is_new(&next), given(&next)), (stays, None), "{host}: {cookie}");
                    assert!(!stays || endpoint(&next) == endpoint(&brought), "{host}: {cookie}");
                }
                let never = request(cookie).header("X-New", "never").send().await;
                assert!(!is_new(&never), "{host}: {cookie}");
            }
        }
    });
}

#[test]
fn a_route_without_a_backend_gives_no_session_and_nginx_takes_that() {
    rig::run(async |rig| {
        // No other route has a session, so the variables of a session would exist only for these
        // routes.
        let closed = sticky("closed.test").annotation("allowlist-source-range", "everybody");
        let moved = sticky("moved.test").annotation("permanent-redirect", "https://elsewhere.test/");
        let away = ingress("away").class("nginx").host("away.test", "none").annotation("affinity", "cookie");
        start(rig, [closed, moved, away]).await;
        for (host, status) in [("closed", 503), ("moved", 301), ("away", 503)] {
            assert_eq!(get(&format!("http://{host}.test/")).send().await.status, status, "{host}");
        }
        let status = rig.daemon.status().await.unwrap();
        assert!(rig::status::quarantined(&status).is_empty(), "{status}");
    });
}

#[test]
fn a_client_of_an_endpoint_that_fails_gets_another_session_where_that_is_said() {
    const PORT: u16 = 8099;
    rig::run(async |rig| {
        // The third endpoint refuses connections.
        for address in &PODS[..2] {
            tokio::spawn(Echo::plain("echo").serve(TcpListener::bind((*address, PORT)).await.unwrap()));
        }
        let changing = sticky("changing.test").annotation("session-cookie-change-on-failure", "true");
        rig.manifests.write("web.yaml", &service_at("web", &PODS[..3], PORT));
        rig.manifests.write("objects.yaml", &[sticky("kept.test").build(), changing.build()]);
        rig.start().await;
        let mut changed = 0;
        for number in 0..30 {
            let cookie = format!("INGRESSCOOKIE=client-{number}");
            assert_eq!(given(&with(get("http://kept.test/"), &cookie).send().await), None);
            let mut reply = with(get("http://changing.test/"), &cookie).send().await;
            let mut last = cookie;
            // The next one may lead to the same endpoint.
            for _ in 0..64 {
                endpoint(&reply);
                let Some(next) = given(&reply) else { break };
                assert_ne!(next, last);
                changed += 1;
                last = next.to_owned();
                reply = with(get("http://changing.test/"), &last).send().await;
            }
            assert_eq!(given(&reply), None, "{last} leads to an endpoint that answers");
        }
        assert!(changed > 0, "some of thirty clients are at the endpoint that fails");
        // A new client does not get the session that has failed.
        for _ in 0..30 {
            let reply = get("http://changing.test/").send().await;
            assert_eq!(reply.headers.get_all("set-cookie").iter().count(), 1);
        }
    });
}

#[test]
fn same_site_is_left_out_for_browsers_that_mishandle_it() {
    const WEB_KIT: &str = "AppleWebKit/605.1.15 (KHTML, like Gecko)";
    rig::run(async |rig| {
        let none = |host: &str| sticky(host).annotation("session-cookie-samesite", "None");
        let conditional = |host: &str| none(host).annotation("session-cookie-conditional-samesite-none", "true");
        let lax = sticky("lax.test").annotation("session-cookie-samesite", "Lax");
        let lax = lax.annotation("session-cookie-conditional-samesite-none", "true");
        start(rig, [none("none.test"), conditional("some.test"), lax]).await;
        let chrome = |version: &str| {
            format!(
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version} Safari/537.36"
            )
        };
        let safari = |system: &str| {
            format!("Mozilla/5.0 (Macintosh; Intel Mac OS X {system}) {WEB_KIT} Version/12.1 Safari/605.1.15")
        };
        let phone = |system: &str| format!("Mozilla/5.0 (iPhone; CPU iPhone OS {system} like Mac OS X) {WEB_KIT}");
        for (agent, understands) in [
            (chrome("50.0.1"), true),
            (chrome("51.0.2704.103"), false),
            (chrome("66.0.1"), false),
            (chrome("67.0.1"), true),
            (chrome("120.0.0.0"), true),
            (phone("12_4_1"), false),
            (phone("13_0"), true),
            (format!("Mozilla/5.0 (iPad; CPU OS 12_0 like Mac OS X) {WEB_KIT}"), false),
            (safari("10_14_5"), false),
            (safari("10_15"), true),
            (format!("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_5) {WEB_KIT}"), false),
            (format!("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_5) {WEB_KIT} Chrome/80.0 Safari/537.36"), true),
            ("UCBrowser/12.13.1.1".to_owned(), false),
            ("UCBrowser/12.13.2.1".to_owned(), true),
            ("UCBrowser/11.5.0".to_owned(), false),
            ("UCBrowser/13.0".to_owned(), true),
            ("curl/8".to_owned(), true),
        ] {
            let reply = get("http://some.test/").header("User-Agent", &agent).send().await;
            let cookie = reply.header("set-cookie").unwrap();
            assert_eq!(cookie.contains("; SameSite=None"), understands, "{agent}: {cookie}");
            assert!(cookie.ends_with("; HttpOnly"), "{cookie}");
        }
        let old = chrome("51.0.2704.103");
        for (host, text) in [("none", "; SameSite=None;"), ("lax", "; SameSite=Lax;")] {
            let reply = get(&format!("http://{host}.test/")).header("User-Agent", &old).send().await;
            assert!(reply.header("set-cookie").unwrap().contains(text), "{host}");
        }
    });
}
