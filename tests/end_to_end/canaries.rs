//! Canaries, through the real nginx.
use rig::client::{Request, get};
use rig::manifests::{Ingress, ingress};

/// The main object of a host and its canary, whose Services are called `main` and `canary`.
fn both(host: &str, annotations: &[(&str, &str)]) -> [Ingress; 2] {
    let name = host.replace('.', "-");
    let main = ingress(&name).class("nginx").host(host, "main");
    let canary = ingress(&format!("{name}-canary")).class("nginx").host(host, "canary").annotation("canary", "true");
    let canary = annotations.iter().fold(canary, |canary, (key, value)| canary.annotation(key, value));
    [main, canary]
}

#[test]
fn header_goes_before_cookie_and_cookie_before_weight() {
    rig::run(async |rig| {
        rig.serve(&["main", "canary"]);
        let by_all = [("canary-by-header", "X-Part"), ("canary-by-cookie", "part-1.a")];
        let with_weight = |weight| [&by_all[..], &[("canary-weight", weight)]].concat();
        let value = ("canary-by-header-value", "b.*$");
        let objects = [
            both("none.test", &with_weight("0")),
            both("all.test", &with_weight("100")),
            both("value.test", &[by_all[0], value]),
            both("pattern.test", &[by_all[0], ("canary-by-header-pattern", "^v[12]$")]),
            both("nothing.test", &[]),
        ];
        let objects: Vec<_> = objects.into_iter().flatten().map(Ingress::build).collect();
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let ask = |host: &str| get(&format!("http://{host}/a?b=c"));
        let header = |request: Request, value: &str| request.header("X-Part", value);
        let cookie = |request: Request, value: &str| request.header("Cookie", value);
        rig.expect([
            (ask("none.test"), "main"),
            (header(ask("none.test"), "always"), "canary"),
            (header(ask("none.test"), "never"), "main"),
            (header(ask("none.test"), "Always"), "main"),
            (cookie(ask("none.test"), "part-1.a=always"), "canary"),
            (cookie(ask("none.test"), "x=1; part-1.a=always; y=2"), "canary"),
            (cookie(ask("none.test"), "part-1.a=always2"), "main"),
            (cookie(ask("none.test"), "npart-1.a=always"), "main"),
            (cookie(ask("none.test"), "part-1xa=always"), "main"),
            (header(cookie(ask("none.test"), "part-1.a=always"), "never"), "main"),
            (header(cookie(ask("none.test"), "part-1.a=always"), "perhaps"), "canary"),
            (ask("all.test"), "canary"),
            (header(ask("all.test"), "never"), "main"),
            (cookie(ask("all.test"), "part-1.a=never"), "main"),
            (header(cookie(ask("all.test"), "part-1.a=never"), "always"), "canary"),
            (header(ask("value.test"), "b.*$"), "canary"),
            (header(ask("value.test"), "bx"), "main"),
            (header(ask("value.test"), "always"), "main"),
            (header(ask("pattern.test"), "v2"), "canary"),
            (header(ask("pattern.test"), "v3"), "main"),
            (ask("nothing.test"), "main"),
        ])
        .await;
    });
}

#[test]
fn a_weight_is_a_share_of_the_requests_of_all_connections() {
    rig::run(async |rig| {
        rig.serve(&["main", "canary"]);
        let objects = both("a.test", &[("canary-weight", "250"), ("canary-weight-total", "1000")]);
        rig.manifests.write("objects.yaml", &objects.map(Ingress::build));
        rig.start().await;
        let request = get("http://a.test/");
        let mut kept = request.connect().await.unwrap();
        let (mut by_kept, mut by_new) = (0, 0);
        for _ in 0..1000 {
            by_kept += u32::from(rig.who(&kept.send(&request).await.unwrap()) == "canary");
            if !kept.is_open() {
                kept = request.connect().await.unwrap();
            }
            by_new += u32::from(rig.who(&request.clone().send().await) == "canary");
        }
        // The range is more than five times the standard deviation of either.
        for taken in [by_kept, by_new] {
            assert!((180..320).contains(&taken), "{by_kept} and {by_new} of a thousand each");
        }
    });
}

#[test]
fn everything_but_the_backend_is_the_main_objects() {
    rig::run(async |rig| {
        rig.serve(&["main", "canary"]);
        let always =
            [("canary-by-header", "X-Part"), ("allowlist-source-range", "0.0.0.0/0"), ("rewrite-target", "/no")];
        let [main, canary] = both("closed.test", &always);
        let closed = [main.annotation("allowlist-source-range", "192.0.2.1/32"), canary];
        let rewritten = [
            ingress("rewritten")
                .class("nginx")
                .path("rewritten.test", "ImplementationSpecific", "/old/(.*)", "main")
                .annotation("rewrite-target", "/new/$1"),
            ingress("rewritten-canary")
                .class("nginx")
                .path("rewritten.test", "ImplementationSpecific", "/old/(.*)", "canary")
                .annotation("canary", "true")
                .annotation("canary-weight", "100"),
        ];
        let objects: Vec<_> = closed.into_iter().chain(rewritten).map(Ingress::build).collect();
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        rig.expect([
            (get("http://closed.test/"), "403"),
            (get("http://closed.test/").header("X-Part", "always"), "403"),
        ])
        .await;
        let reply = get("http://rewritten.test/old/a%20b?c=d").send().await;
        assert_eq!(rig.who(&reply), "canary");
        assert_eq!(reply.echo().path, "/new/a%20b?c=d");
    });
}

#[test]
fn a_canary_that_goes_or_has_no_endpoint_leaves_all_requests_to_the_main_object() {
    rig::run(async |rig| {
        rig.serve(&["main", "canary"]);
        let [main, canary] = both("a.test", &[("canary-weight", "100")]);
        rig.manifests.write("main.yaml", &[main.build()]);
        rig.manifests.write("canary.yaml", &[canary.clone().build()]);
        rig.start().await;
        rig.expect([(get("http://a.test/"), "canary")]).await;
        let away = ingress("a-test-canary").class("nginx").host("a.test", "away").annotation("canary", "true");
        rig.manifests.write("canary.yaml", &[away.annotation("canary-weight", "100").build()]);
        get("http://a.test/").send_until("a canary without a Service", |reply| rig.who(reply) == "main").await;
        rig.manifests.write("canary.yaml", &[canary.build()]);
        get("http://a.test/").send_until("the canary again", |reply| rig.who(reply) == "canary").await;
        rig.manifests.remove("canary.yaml");
        get("http://a.test/").send_until("no canary", |reply| rig.who(reply) == "main").await;
    });
}
