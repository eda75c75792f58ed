//! Objects that nginx refuses harm no other objects, and themselves as little as possible.

use serde_json::Value;

use rig::client::{Reply, get};
use rig::manifests::{in_namespace, ingress, secret, service_at, tls_secret};
use rig::status::{notes, quarantined, reports, serving};
use rig::{ECHO, wait};

/// An object that was good and turns bad.
struct Bad {
    /// `Kind name` of the object that the finding is about.
    object: &'static str,
    reason: &'static str,
    /// nginx's words, or those of the check that spares nginx the question.
    words: &'static str,
    /// The objects, when good: `/works` of `bad.example` is served, over TLS too where they have a
    /// certificate.
    good: fn() -> Vec<Value>,
    /// The same objects when bad.
    bad: fn() -> Vec<Value>,
    /// The same objects, corrected: `/mended` is served.
    mended: fn() -> Vec<Value>,
}

fn with_path(path: &str) -> rig::manifests::Ingress {
    ingress("bad").class("nginx").path("bad.example", "ImplementationSpecific", path, "web")
}

fn with_certificate(path: &str, secret: Value) -> Vec<Value> {
    let host = &["bad.example"];
    vec![with_path(path).tls(host, "pair").annotation("ssl-redirect", "false").build(), secret]
}

/// A certificate with the key of another one.
fn mismatched_pair() -> Value {
    let make = || rcgen::generate_simple_self_signed(vec!["bad.example".to_owned()]).unwrap();
    let (certificate, key) = (make().cert.pem(), make().signing_key.serialize_pem());
    secret("pair", "kubernetes.io/tls", &[("tls.crt", &certificate), ("tls.key", &key)])
}

fn with_buffers(path: &str, busy: &str) -> Vec<Value> {
    let sizes = with_path(path).annotation("proxy-buffer-size", "8k").annotation("proxy-buffers-number", "2");
    vec![sizes.annotation("proxy-busy-buffers-size", busy).build()]
}

#[test]
fn an_expression_that_looks_behind_without_end() {
    survives(Bad {
        object: "Ingress bad",
        reason: "Quarantined",
        words: "lookbehind assertion is not fixed length",
        good: || vec![with_path("/works").annotation("use-regex", "true").build()],
        bad: || vec![with_path("/works/a(?<=a+)").annotation("use-regex", "true").build()],
        mended: || vec![with_path("/(mended)").annotation("use-regex", "true").build()],
    });
}

#[test]
fn a_switch_that_is_neither() {
    survives(Bad {
        object: "Ingress bad",
        reason: "RefusedValue",
        words: "not true or false",
        good: || vec![with_path("/works").annotation("use-regex", "true").build()],
        bad: || vec![with_path("/works").annotation("canary", "maybe").build()],
        mended: || vec![with_path("/mended").annotation("use-regex", "false").build()],
    });
}

#[test]
fn a_value_longer_than_a_token_of_nginx() {
    survives(Bad {
        object: "Ingress bad",
        reason: "InvalidPath",
        words: "nginx takes at most",
        good: || vec![with_path("/works").build()],
        bad: || vec![with_path(&format!("/works/{}", "a".repeat(4097))).build()],
        mended: || vec![with_path("/mended").build()],
    });
}

#[test]
fn a_certificate_without_its_key() {
    survives(Bad {
        object: "Secret pair",
        reason: "InvalidCertificate",
        words: "key values mismatch",
        good: || with_certificate("/works", tls_secret("pair", &["bad.example"])),
        bad: || with_certificate("/works", mismatched_pair()),
        mended: || with_certificate("/mended", tls_secret("pair", &["bad.example"])),
    });
}

#[test]
fn buffers_that_contradict_each_other() {
    survives(Bad {
        object: "Ingress bad",
        reason: "Quarantined",
        words: "\"proxy_busy_buffers_size\" must be less than the size of all \"proxy_buffers\" minus one buffer",
        good: || with_buffers("/works", "8k"),
        bad: || with_buffers("/works", "64k"),
        mended: || with_buffers("/mended", "8k"),
    });
}

/// The good version is served and changes of others are applied, over two restarts, until it is
/// corrected.
fn survives(row: Bad) {
    rig::run(async move |rig| {
        rig.manifests.write("bad.yaml", &(row.good)());
        rig.manifests.write("good.yaml", &[ingress("good").host("good.example", "web").build()]);
        rig.start().await;
        serves(&["bad.example/works", "good.example/"]).await;
        let certificate = certificate_of_bad().await;

        let before = serving(&rig.daemon.status().await.unwrap());
        rig.manifests.write("bad.yaml", &(row.bad)());
        let status = rig.daemon.status_when(row.reason, |status| reports(status, row.object, row.reason)).await;
        let found = notes(&status, row.object, row.reason);
        assert!(found.iter().any(|note| note.contains(row.words)), "{found:?} without {:?}", row.words);
        assert_eq!(serving(&status), before, "what is bad costs no reload");
        wait::until_right("the journal to tell too", async || rig.daemon.log(), |log| log.contains(row.words)).await;
        serves(&["bad.example/works", "good.example/"]).await;

        // Everybody else is served as before.
        let mut hosts = vec!["bad.example/works".to_owned(), "good.example/".to_owned()];
        for (round, ending) in [None, Some(Ending::Killed), Some(Ending::Stopped)].into_iter().enumerate() {
            match ending {
                None => {}
                Some(Ending::Killed) => rig.daemon.kill(),
                Some(Ending::Stopped) => drop(rig.daemon.stop().await),
            }
            let host = format!("later-{round}.example");
            let later = ingress(&format!("later-{round}")).host(&host, "web").build();
            rig.manifests.write(&format!("later-{round}.yaml"), &[later]);
            if round > 0 {
                rig.daemon.start();
                rig.daemon.ready().await;
            }
            get(&format!("http://{host}/")).send_until("a change made later", |reply| reply.status == 200).await;
            rig.daemon.confirmed(&format!("later-{round}")).await;
            hosts.push(format!("{host}/"));
            serves(&hosts.iter().map(String::as_str).collect::<Vec<_>>()).await;
            assert_eq!(certificate_of_bad().await, certificate, "the last good certificate stays");
            let status = rig.daemon.status_when("the finding", |status| reports(status, row.object, row.reason)).await;
            assert!(notes(&status, row.object, row.reason).iter().any(|note| note.contains(row.words)));
            assert!(rig.nginx.test().0, "nginx would start");
        }

        rig.manifests.write("bad.yaml", &(row.mended)());
        get("http://bad.example/mended").send_until("what is mended", |reply| reply.status == 200).await;
        rig.daemon.status_when("no finding", |status| !reports(status, row.object, row.reason)).await;
    });
}

enum Ending {
    Killed,
    Stopped,
}

async fn serves(urls: &[&str]) {
    for url in urls {
        let reply = get(&format!("http://{url}")).send().await;
        assert_eq!(reply.status, 200, "{url}: {}", reply.text());
    }
}

async fn certificate_of_bad() -> Vec<u8> {
    get("https://bad.example/works").send().await.peer.unwrap().certificate
}

#[test]
fn two_bad_objects_at_once() {
    rig::run(async |rig| {
        let path = |name: &str, path: &str| {
            let host = format!("{name}.example");
            ingress(name).class("nginx").annotation("use-regex", "true").path(
                &host,
                "ImplementationSpecific",
                path,
                "web",
            )
        };
        rig.manifests.write("one.yaml", &[path("one", "/one").build(), path("two", "/two").build()]);
        rig.manifests.write("three.yaml", &[path("three", "/three").build()]);
        rig.start().await;
        rig.manifests.write(
            "one.yaml",
            &[
                path("one", "/one(?<=e+)").build(),
                path("two", "/two")
                    .annotation("proxy-buffer-size", "1m")
                    .annotation("proxy-busy-buffers-size", "1k")
                    .build(),
                path("four", "/four").build(),
            ],
        );
        let both = ["Ingress one", "Ingress two"];
        rig.daemon.status_when("both in quarantine", |status| quarantined(status) == both).await;
        serves(&["one.example/one", "two.example/two", "three.example/three", "four.example/four"]).await;
        rig.manifests.write("one.yaml", &[path("one", "/first").build(), path("two", "/two(?<=o+)").build()]);
        let second = ["Ingress two"];
        rig.daemon.status_when("one in quarantine", |status| quarantined(status) == second).await;
        serves(&["one.example/first", "two.example/two", "three.example/three"]).await;
        assert_eq!(get("http://four.example/four").send().await.status, 404);
    });
}

#[test]
fn on_a_shared_host_only_the_paths_of_the_bad_object_are_harmed() {
    rig::run(async |rig| {
        let path = |name: &str, path: &str| {
            let object = ingress(name).class("nginx").annotation("use-regex", "true");
            object.path("shared.example", "ImplementationSpecific", path, "web").build()
        };
        rig.manifests.write("a.yaml", &[path("a", "/a")]);
        rig.manifests.write("b.yaml", &[path("b", "/b")]);
        rig.start().await;
        // Two objects change at once, one of them for the worse, and a third was never good.
        rig.manifests.write("a.yaml", &[path("a", "/new-a"), path("b", "/new-b(?<=b+)"), path("c", "/c(?<=c+)")]);
        rig.manifests.remove("b.yaml");
        let expected = ["Ingress b", "Ingress c"];
        rig.daemon.status_when("b and c in quarantine", |status| quarantined(status) == expected).await;
        serves(&["shared.example/new-a", "shared.example/b"]).await;
        assert_eq!(get("http://shared.example/c").send().await.status, 404);
        assert_eq!(get("http://shared.example/a").send().await.status, 404);
    });
}

#[test]
fn the_same_mistake_on_two_shared_hosts_blocks_nobody_else() {
    rig::run(async |rig| {
        let path = |name: &str, host: &str, path: &str| ingress(name).class("nginx").path(host, "Prefix", path, "web");
        let good = |name: &str, host: &str, at: &str| path(name, host, at).build();
        // nginx names no line for it.
        let bad = |name: &str, host: &str, at: &str| {
            let sizes = path(name, host, at).annotation("proxy-buffer-size", "1m");
            sizes.annotation("proxy-busy-buffers-size", "1k").build()
        };
        let (one, two) = ("one.example", "two.example");
        let before = [good("a1", one, "/a"), good("a2", two, "/a"), good("b1", one, "/b"), good("b2", two, "/b")];
        rig.manifests.write("objects.yaml", &before);
        rig.start().await;
        let after = [bad("a1", one, "/new"), bad("a2", two, "/new"), good("b1", one, "/c"), good("b2", two, "/c")];
        rig.manifests.write("objects.yaml", &after);
        let both = ["Ingress a1", "Ingress a2"];
        rig.daemon.status_when("both in quarantine", |status| quarantined(status) == both).await;
        serves(&["one.example/a", "one.example/c", "two.example/a", "two.example/c"]).await;
    });
}

#[test]
fn an_object_that_turns_bad_on_two_hosts_is_served_as_it_was_on_both() {
    rig::run(async |rig| {
        let object = |path: &str| {
            let object = ingress("bad").class("nginx").annotation("use-regex", "true");
            let object = object.path("bad.example", "ImplementationSpecific", path, "web");
            object.path("www.bad.example", "ImplementationSpecific", path, "web").build()
        };
        rig.manifests.write("object.yaml", &[object("/works")]);
        rig.start().await;
        rig.manifests.write("object.yaml", &[object("/works(?<=s+)")]);
        rig.daemon.status_when("it is in quarantine", |status| quarantined(status) == ["Ingress bad"]).await;
        serves(&["bad.example/works", "www.bad.example/works"]).await;
    });
}

#[test]
fn a_line_that_is_prepared_to_break_others_is_blamed_on_its_owner() {
    rig::run(async |rig| {
        rig.manifests
            .write("evil-web.yaml", &service_at("web", &["10.244.0.2"], ECHO).map(|it| in_namespace("evil", it)));
        let path = |name: &str, path: &str| ingress(name).class("nginx").path("shared.example", "Prefix", path, "web");
        // The path is harmless and accepted, until a change of another object turns all paths of
        // the host into regular expressions.
        rig.manifests.write("trap.yaml", &[path("trap", "/(").namespace("evil").build()]);
        rig.manifests.write("victim.yaml", &[path("victim", "/app").build()]);
        rig.start().await;
        for target in ["/target", "/other"] {
            rig.manifests.write("victim.yaml", &[path("victim", "/app").annotation("rewrite-target", target).build()]);
            let rewritten = |reply: &Reply| reply.status == 200 && reply.echo().path == target;
            get("http://shared.example/app").send_until("the victim's change", rewritten).await;
            let confirmed =
                |status: &Value| serving(status).is_some() && !quarantined(status).contains(&"Ingress victim".into());
            rig.daemon.status_when("the victim to be served as written", confirmed).await;
        }
    });
}

#[test]
fn nobody_turns_paths_of_others_into_expressions() {
    rig::run(async |rig| {
        let path = |name: &str, path: &str| ingress(name).class("nginx").path("shared.example", "Prefix", path, "web");
        let victim = path("victim", "/a(b").build();
        rig.manifests.write("objects.yaml", std::slice::from_ref(&victim));
        rig.start().await;
        let young = path("young", "/young").annotation("use-regex", "true").build();
        rig.manifests.write("objects.yaml", &[victim, young]);
        let url = "http://shared.example/young";
        get(url).send_until("both are served", |reply| reply.status == 200).await;
        serves(&["shared.example/a(b", "shared.example/A(B"]).await;
        assert_eq!(quarantined(&rig.daemon.status().await.unwrap()), [""; 0]);
    });
}

#[test]
fn a_bad_object_at_the_very_start_is_left_out() {
    rig::run(async |rig| {
        let bad = ingress("bad").class("nginx").annotation("use-regex", "true");
        let bad = |path: &str| bad.clone().path("bad.example", "ImplementationSpecific", path, "web").build();
        rig.manifests.write("objects.yaml", &[bad("/a(?<=a+)"), ingress("good").host("good.example", "web").build()]);
        rig.start().await;
        let mut status = rig.daemon.status().await.unwrap();
        for _ in 0..2 {
            assert_eq!(quarantined(&status), ["Ingress bad"]);
            assert!(notes(&status, "Ingress bad", "Quarantined")[0].contains("left out"));
            serves(&["good.example/"]).await;
            assert_eq!(get("http://bad.example/a").send().await.status, 404);
            rig.daemon.kill();
            rig.daemon.start();
            rig.daemon.ready().await;
            status = rig.daemon.status().await.unwrap();
        }
        rig.manifests.write("objects.yaml", &[bad("/(a)"), ingress("good").host("good.example", "web").build()]);
        get("http://bad.example/a").send_until("what is mended", |reply| reply.status == 200).await;
        rig.daemon.status_when("no quarantine", |status| quarantined(status).is_empty()).await;
    });
}

#[test]
fn another_build_of_nginx_tries_what_was_refused_again() {
    rig::run(async |rig| {
        let program = rig.nginx.replace_program().to_owned();
        rig.daemon.set("nginx.binary", program.to_str().unwrap());
        let bad = ingress("bad").class("nginx").annotation("use-regex", "true");
        let bad = bad.path("bad.example", "ImplementationSpecific", "/a(?<=a+)", "web");
        rig.manifests.write("objects.yaml", &[bad.build(), ingress("good").host("good.example", "web").build()]);
        rig.start().await;
        assert_eq!(quarantined(&rig.daemon.status().await.unwrap()), ["Ingress bad"]);
        let tests = async || rig.daemon.metric("ingressd_test_duration_seconds_count").await;
        let before = tests().await;
        rig.nginx.replace_program();
        wait::until_right("another test", tests, |count| *count > before).await;
        rig.daemon.status_when("the old verdict", |status| quarantined(status) == ["Ingress bad"]).await;
        serves(&["good.example/"]).await;
    });
}
