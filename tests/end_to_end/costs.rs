//! What one value may cost nginx: expressions, sizes, hashes and keys.

use ingressd_model::expression;
use serde_json::Value;

use rig::client::get;
use rig::manifests::{Ingress, ingress, secret};
use rig::status;

fn expression_at(host: &str, path: &str) -> Ingress {
    ingress(&host.replace('.', "-")).path(host, "ImplementationSpecific", path, "web").annotation("use-regex", "true")
}

/// Numbers that look random, and are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// An expression of nested parts, over few characters so that parts overlap.
fn expression(dice: &mut Dice, depth: usize) -> String {
    const ATOMS: &[&str] = &["a", "b", "/", "x", ".", "[ab]", "[^/]", "\\w", "-", "\\d", "[^a]", "(?!a)", "ab", "\\."];
    const QUANTIFIERS: &[&str] = &["*", "+", "?", "*?", "+?", "{2,5}", "{3}", "*+"];
    match dice.below(if depth == 0 { 3 } else { 8 }) {
        0..3 => dice.one_of(ATOMS).to_owned(),
        3 | 4 => expression(dice, depth - 1) + &expression(dice, depth - 1),
        5 => format!("({}|{})", expression(dice, depth - 1), expression(dice, depth - 1)),
        6 => dice.one_of(&[".", "a", "[ab]", "[^/]", "\\w"]).to_owned() + dice.one_of(QUANTIFIERS),
        _ => {
            let group = dice.one_of(&["(", "(?:", "(?>"]);
            format!("{group}{}){}", expression(dice, depth - 1), dice.one_of(QUANTIFIERS))
        }
    }
}

/// Paths of this length that repeat one thing and end in something else, as those are that take
/// long.
fn paths(dice: &mut Dice, length: usize) -> Vec<String> {
    const ENDS: &[&str] = &["", "!", "/", "%0A!"];
    let random = |dice: &mut Dice| -> String {
        (0..2 + dice.below(4)).map(|_| dice.one_of(&["a", "b", "/", "x", "-", ".", "1"])).collect()
    };
    let pumps: Vec<String> = ["a", "b", "x", "-", "1", "a/"].map(str::to_owned).into_iter().collect();
    let pumps = pumps.into_iter().chain([random(dice), random(dice), random(dice)]).collect::<Vec<_>>();
    pumps.iter().map(|pump| format!("/{}{}", &pump.repeat(length)[..length - 1], dice.one_of(ENDS))).collect()
}

async fn status_of(host: &str, path: &str) -> u16 {
    get(&format!("http://{host}{path}")).send().await.status
}

#[test]
fn no_path_keeps_nginx_busy_with_an_expression() {
    const WRITTEN: &[&str] = &[
        "/api(/|$)(.*)",
        "/(?!foo).*",
        "^/a/[^/]+/b$",
        "/v[12]/(users|orders)/?(.*)",
        "/(.*)\\.(png|jpe?g|gif|css|js|ico|svg|woff2?)$",
        "/(?:[a-z0-9_-]+/)*index\\.html$",
        "/(.*)/(.*)",
        "/(.*)/(.*)/x$",
        "/(.*)/(.*)/(.*)/(.*)/x$",
    ];
    rig::run(async |rig| {
        let mut dice = Dice(12);
        let drawn = (0..150).map(|number| format!("/{}", expression(&mut dice, 2 + number % 4)));
        let all: Vec<_> = WRITTEN.iter().map(|text| (*text).to_owned()).chain(drawn).collect();
        let weights: Vec<_> = all.iter().map(|text| expression::weight(text).ok()).collect();
        let accepted = weights.iter().flatten().count();
        assert!(accepted > 75 && accepted < all.len(), "{accepted} are accepted, some of each sort have to be tried");
        let hosts: Vec<_> = (0..all.len()).map(|number| format!("e{number}.test")).collect();
        let objects: Vec<_> = hosts.iter().zip(&all).map(|(host, text)| expression_at(host, text).build()).collect();
        rig.manifests.write("expressions.yaml", &objects);
        rig.start().await;
        assert_eq!(
            status::quarantined(&rig.daemon.status().await.unwrap()),
            [""; 0],
            "what is accepted is one for nginx too"
        );

        let looks_once = |number: &usize| weights[*number] == Some(1);
        for number in (0..all.len()).filter(|number| weights[*number].is_some()) {
            for path in paths(&mut dice, 28) {
                assert_ne!(status_of(&hosts[number], &path).await, 500, "{} {path}", all[number]);
            }
        }
        for number in (0..all.len()).filter(looks_once) {
            for path in paths(&mut dice, 8000) {
                status_of(&hosts[number], &path).await;
            }
            let log = rig.nginx.error_log();
            // PCRE2 and PCRE call the limit of steps so.
            let is_limited = log.contains("failed: -47") || log.contains("failed: -8");
            assert!(!is_limited, "{} looks through a path once", all[number]);
        }
        // An expression that looks through a path again and again is given up at the limit.
        let workers = rig.nginx.workers();
        let long = format!("/{}", "a/".repeat(4000));
        for number in (0..all.len()).filter(|number| weights[*number].is_some_and(|weight| weight > 1)) {
            status_of(&hosts[number], &long).await;
        }
        // For a path of this length, PCRE's own limit of ten million steps would be too high.
        let middle = format!("/{}xa", "a/".repeat(1000));
        assert_eq!(status_of(&hosts[7], &middle).await, 500, "the limit holds");
        assert!(rig.nginx.error_log().contains("failed: -"), "and nginx says so");
        assert_eq!(status_of(&hosts[7], "/a/b/x").await, 200);
        assert_eq!(rig.nginx.workers(), workers, "no worker ended");
    });
}

#[test]
fn an_expression_that_may_match_anywhere_is_given_up_as_a_whole() {
    rig::run(async |rig| {
        // From each slash on, the expression would look through all that follows.
        let pattern = "/.+/x";
        let of_canary = |object: Ingress| object.annotation("canary", "true").annotation("canary-by-header", "X-Side");
        rig.serve(&["main", "other"]);
        rig.daemon.set("snippets.allowed", "[{namespaces = ['*'], kinds = ['configuration-snippet']}]");
        let snippet = format!("if ($http_x_side ~ \"{pattern}\") {{ return 202; }}");
        let objects = [
            ingress("snippet")
                .class("nginx")
                .host("snippet.test", "main")
                .annotation("configuration-snippet", &snippet),
            ingress("main").class("nginx").host("canary.test", "main"),
            of_canary(ingress("canary").class("nginx").host("canary.test", "other"))
                .annotation("canary-by-header-pattern", pattern),
        ];
        rig.manifests.write("anywhere.yaml", &objects.map(Value::from));
        rig.start().await;
        let ask = |host: &str, side: &str| get(&format!("http://{host}/")).header("X-Side", side);
        let long = format!("{}-x", "/".repeat(7000));
        let given_up = |rig: &rig::Rig| rig.nginx.error_log().matches("failed: -").count();
        rig.expect([
            (ask("snippet.test", "a/b/x"), "202"),
            (ask("snippet.test", "a/b-x"), "main"),
            (ask("canary.test", "a/b/x"), "other"),
            (ask("canary.test", "a/b-x"), "main"),
        ])
        .await;
        assert_eq!(given_up(rig), 0);
        rig.expect([(ask("snippet.test", &long), "500")]).await;
        assert_eq!(given_up(rig), 1, "{}", rig.nginx.error_log());
        rig.expect([(ask("canary.test", &long), "main")]).await;
        assert_eq!(given_up(rig), 2, "{}", rig.nginx.error_log());
    });
}

#[test]
fn an_expression_that_costs_too_much_closes_its_path_alone() {
    rig::run(async |rig| {
        let refused = [
            ("/x/(a+)+[bc]", "/x/aab"),
            ("/x/(?:.?){30}[~^]", "/x/y~"),
            ("/x/(?:[ab][cd][ef]){470}", "/x/ace"),
            ("/x/(a)\\1", "/x/aa"),
            ("/x(", "/x("),
        ];
        let objects = refused.iter().enumerate().map(|(number, (path, _))| {
            let host = format!("r{number}.test");
            expression_at(&host, path).path(&host, "Prefix", "/", "web").build()
        });
        rig.manifests.write("refused.yaml", &objects.collect::<Vec<_>>());
        rig.start().await;
        let reported = rig.daemon.status().await.unwrap();
        for (number, (path, own)) in refused.iter().enumerate() {
            let host = format!("r{number}.test");
            let own: String = own.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let own = own.replace("%2F", "/");
            assert_eq!(status_of(&host, &own).await, 503, "{path} is closed and goes nowhere else");
            assert_eq!(status_of(&host, "/other").await, 200, "{path} takes nothing with it");
            let notes = status::notes(&reported, &format!("Ingress r{number}-test"), "InvalidPath");
            assert_eq!(notes.len(), 1, "{path}: {notes:?}");
        }
        assert_eq!(status::quarantined(&reported), [""; 0]);
    });
}

#[test]
fn what_asks_for_everything_gets_the_ceiling_and_is_served() {
    rig::run(async |rig| {
        let greedy = |name: &str, annotations: &[(&str, &str)]| {
            let host = format!("{name}.test");
            let base = ingress(name).host(&host, "web");
            annotations.iter().fold(base, |ingress, (key, value)| ingress.annotation(key, value)).build()
        };
        let buffers: &[(&str, &str)] = &[
            ("client-body-buffer-size", "1g"),
            ("proxy-buffering", "on"),
            ("proxy-buffer-size", "1g"),
            ("proxy-buffers-number", "4096"),
            ("proxy-busy-buffers-size", "1g"),
            ("proxy-max-temp-file-size", "100g"),
            ("proxy-read-timeout", "2147483647"),
            ("proxy-next-upstream-tries", "0"),
            ("proxy-body-size", "0"),
        ];
        rig.daemon.set("limits.body-size", "2k");
        rig.manifests.write("greedy.yaml", &[greedy("greedy", buffers)]);
        rig.start().await;
        let reported = rig.daemon.status().await.unwrap();
        assert_eq!(status::quarantined(&reported), [""; 0]);
        assert_eq!(status::notes(&reported, "Ingress greedy", "AboveCeiling").len(), 9, "{reported:#}");
        assert_eq!(status_of("greedy.test", "/").await, 200);
        let post = async |length| rig::client::post("http://greedy.test/", "x".repeat(length)).send().await.status;
        assert_eq!((post(2048).await, post(2049).await), (200, 413), "the ceiling for bodies is nginx's");
    });
}

/// The password is `secret`, by `openssl passwd -apr1` and `htpasswd -B -C 5` and `-C 11`.
const HASHES: [(&str, &str); 4] = [
    ("apr", "$apr1$ingressd$yUwEQ6DErlP6TQvhuj7Mm0"),
    ("cheap", "$2y$05$ingressdingressdingreOlZidgH3TchVknJRj/GFUapSyMaBVKoa"),
    ("dear", "$2y$11$ingressdingressdingreOBe3VFOWGDHE7VIiSLnBwl8VBtHKRdHy"),
    ("plain", "{PLAIN}secret"),
];

#[test]
fn a_password_that_costs_too_much_or_is_plain_lets_nobody_in() {
    rig::run(async |rig| {
        use base64::Engine as _;
        let file: String = HASHES.iter().map(|(user, hash)| format!("{user}:{hash}\n")).collect();
        let private = ingress("private").host("private.test", "web");
        let private = private.annotation("auth-type", "basic").annotation("auth-secret", "users").build();
        rig.manifests.write("private.yaml", &[secret("users", "Opaque", &[("auth", &file)]), private]);
        rig.start().await;
        for (user, expected) in [("apr", 200), ("cheap", 200), ("dear", 401), ("plain", 401)] {
            let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{user}:secret"));
            let request = get("http://private.test/").header("Authorization", &format!("Basic {encoded}"));
            assert_eq!(request.send().await.status, expected, "{user}");
        }
        let notes = status::notes(&rig.daemon.status().await.unwrap(), "Secret users", "InvalidSecret");
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes.iter().all(|note| note.contains("htpasswd -B")), "{notes:?}");
    });
}
