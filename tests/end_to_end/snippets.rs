//! Snippets in namespaces where the administrator allows them, and the limits that they cannot
//! change.

use rig::ECHO;
use rig::client::{Reply, get};
use rig::manifests::{Ingress, in_namespace, ingress, secret, service_at, tls_secret};
use rig::status::notes;
use serde_json::Value;

const ALLOWED: &str = "[{namespaces = ['scribe'], kinds = ['configuration-snippet', 'server-snippet', 'auth-snippet', 'location-snippet']}]";

fn of_scribe(name: &str) -> Ingress {
    ingress(name).namespace("scribe").class("nginx").host(&format!("{name}.test"), "web")
}

fn with(name: &str, key: &str, snippet: &str) -> Value {
    of_scribe(name).annotation(key, snippet).build()
}

const ANSWERS: &str = "
    more_set_headers \"X-Frame-Options: DENY\";
    add_header X-Served \"$namespace/$service_name\" always;
    if ($http_origin ~ \"^https://(a|b)[.]test$\") {
        add_header X-Origin $http_origin always;
        set $side $1;
    }
    add_header X-Side $side;
    proxy_set_header X-Start \"t=$request_method; } #\";
    proxy_set_header X-Side $side;
    add_header X-Req $req_id always;
    proxy_cookie_path / \"/; HttpOnly\";
    sub_filter GET 'got $host';
    sub_filter_types *;
    sub_filter_once on;
    proxy_set_header Accept-Encoding \"\";
";

const RULES: &str = "
    set $kind none;
    if ($arg_kind) { set $kind $arg_kind; }
    if ($kind = stop) { return 410 \"gone; } #\"; }
    if ($kind != none) { set $kind \"is-$kind\"; add_header X-Kind $kind always; }
    if ($request_uri ~ \"^/moved/([^?]*)\") { return 301 https://new.test/$1; }
    rewrite ^/old/(.*)$ /new/$1?was=old break;
    rewrite ^/far/(.*)$ https://far.test/$1 permanent;
    proxy_set_header X-Kind $kind;
";

/// A block that holds for a request must not take away what protects it.
const GUARDED: &str = "if ($http_x_tag) { set $tag $http_x_tag; }\nadd_header X-Seen yes always;\n\
    proxy_set_header X-Seen yes;\nproxy_set_header X-Tag $tag;";

fn objects() -> Vec<Value> {
    let passwords =
        in_namespace("scribe", secret("users", "Opaque", &[("auth", "user:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")]));
    let guarded = of_scribe("guarded").annotation("auth-type", "basic").annotation("auth-secret", "users");
    let asked = of_scribe("asked").annotation("auth-url", "http://10.244.0.7:8080/?status=200");
    let host = "shared.test";
    let mut objects = vec![
        passwords,
        in_namespace("scribe", tls_secret("tls", &["answers.test"])),
        of_scribe("answers")
            .tls(&["answers.test"], "tls")
            .annotation("ssl-redirect", "false")
            .annotation("enable-cors", "true")
            .annotation("configuration-snippet", ANSWERS)
            .build(),
        with("rules", "configuration-snippet", RULES),
        with(
            "lists",
            "configuration-snippet",
            "deny 10.244.5.1;\nallow 10.244.5.0/24;\ndeny all;\nif ($http_x_tag) { set $tag 1; }",
        ),
        with(
            "whole",
            "server-snippet",
            "if ($http_x_stop) { return 403; }\nlocation ~ /\\.git { deny all; }\nlocation = /robots.txt { return 200 'all'; }\nadd_header X-Whole yes always;",
        ),
        // These have locations that respond by themselves, for paths that no backend gets.
        ingress("partly")
            .namespace("scribe")
            .class("nginx")
            .path("partly.test", "Prefix", "/app", "web")
            .annotation("server-snippet", "location = /robots.txt { return 200 'all'; }")
            .annotation("configuration-snippet", "if ($http_x_kept) { break; }\nif ($http_x_late) { return 410; }")
            .build(),
        of_scribe("moved")
            .annotation("permanent-redirect", "https://new.test/")
            .annotation("server-snippet", "location = /robots.txt { return 200 'all'; }")
            .build(),
        guarded.annotation("configuration-snippet", GUARDED).build(),
        // A host as long as a line would be written each time that something is found.
        ingress("replaced")
            .namespace("scribe")
            .class("nginx")
            .host("*.replaced.test", "web")
            .annotation(
                "configuration-snippet",
                "sub_filter '.replaced.test' '.of.$host'; sub_filter_once off; sub_filter_types *;",
            )
            .build(),
        asked.annotation("auth-snippet", "proxy_set_header X-Tenant \"of $host\";").build(),
        // Both have paths of one host.
        ingress("mine")
            .namespace("scribe")
            .class("nginx")
            .path(host, "Prefix", "/mine", "web")
            .annotation("server-snippet", "add_header X-Whole yes always; if ($http_x_stop) { return 403; }")
            .build(),
        ingress("theirs").class("nginx").path(host, "Prefix", "/", "web").build(),
        ingress("stranger")
            .class("nginx")
            .host("stranger.test", "web")
            .annotation("configuration-snippet", "return 200;")
            .build(),
    ];
    objects.extend(service_at("web", &["10.244.0.7"], ECHO).map(|object| in_namespace("scribe", object)));
    objects
}

#[test]
fn they_do_what_they_say_and_everything_else_stays() {
    rig::run(async |rig| {
        rig.daemon.set("snippets.allowed", ALLOWED);
        rig.daemon.set("headers.answers", "['X-Everywhere: yes']");
        rig.daemon.set("headers.requests", "['X-From-Everywhere: yes']");
        rig.manifests.write("snippets.yaml", &objects());
        rig.start().await;

        for (origin, side) in [("https://a.test", Some("a")), ("https://evil.test", None)] {
            let request = get("https://answers.test/?header=x-frame-options:allow&header=set-cookie:a=b;%20Path%3D/");
            let reply = request.header("Origin", origin).header("X-Forwarded-For", "1.2.3.4").send().await;
            for (name, expected) in [
                ("x-frame-options", Some("DENY")),
                ("x-served", Some("scribe/web")),
                ("x-side", side),
                ("x-origin", side.map(|_| origin)),
                // nginx sends these headers anyway.
                ("x-everywhere", Some("yes")),
                ("access-control-allow-origin", Some("*")),
                ("set-cookie", Some("a=b; Path=/; HttpOnly")),
            ] {
                assert_eq!(reply.header(name), expected, "{origin}: {name}");
            }
            assert!(reply.header("strict-transport-security").is_some());
            let echo = reply.echo();
            assert_eq!(echo.method, "got answers.test", "the first GET of the body has something in its place");
            for (name, expected) in
                [("x-start", Some("t=GET; } #")), ("x-side", side), ("x-from-everywhere", Some("yes"))]
            {
                assert_eq!(echo.header(name), expected, "{origin}: {name}");
            }
            assert_ne!(echo.header("x-forwarded-for"), Some("1.2.3.4"));
        }

        // The backend gets these headers.
        for (sent, is_kept) in [("mine", true), ("", false)] {
            let reply = get("https://answers.test/").header("X-Request-ID", sent).send().await;
            let reported = reply.header("x-req").map(str::to_owned);
            assert_eq!(reported.as_deref(), reply.echo().header("x-request-id"), "{sent:?}");
            assert_eq!(reported.as_deref() == Some(sent), is_kept, "{sent:?}");
        }

        let (short, long) = ("http://a.replaced.test/", format!("http://{}.replaced.test/", "a".repeat(250)));
        let replaced = get(short).send().await;
        assert!(replaced.text().contains("a.of.a.replaced.test"), "{}", replaced.text());
        assert_eq!(get(&long).send().await.status, 400);

        for (url, status, header, expected) in [
            ("http://rules.test/", 200, "x-kind", None),
            ("http://rules.test/?kind=a", 200, "x-kind", Some("is-a")),
            ("http://rules.test/?kind=stop", 410, "content-type", Some("text/plain")),
            ("http://rules.test/moved/x?y", 301, "location", Some("https://new.test/x")),
            ("http://rules.test/far/x", 301, "location", Some("https://far.test/x")),
            ("http://whole.test/", 200, "x-whole", Some("yes")),
            ("http://whole.test/a/.git/config", 403, "x-everywhere", Some("yes")),
            ("http://whole.test/robots.txt", 200, "x-whole", Some("yes")),
            ("http://partly.test/robots.txt", 200, "x-everywhere", Some("yes")),
            ("http://partly.test/app", 200, "x-whole", None),
            ("http://partly.test/other", 404, "x-whole", None),
            ("http://moved.test/robots.txt", 200, "x-whole", None),
            ("http://moved.test/other", 301, "location", Some("https://new.test/")),
            ("http://shared.test/mine", 200, "x-whole", Some("yes")),
            // This path belongs to another namespace.
            ("http://shared.test/", 200, "x-whole", None),
            ("http://stranger.test/", 404, "x-whole", None),
        ] {
            let reply = get(url).send().await;
            assert_eq!((reply.status, reply.header(header)), (status, expected), "{url}");
        }
        assert_eq!(get("http://rules.test/?kind=stop").send().await.text(), "gone; } #");
        let echo = get("http://rules.test/old/x").send().await.echo();
        assert_eq!((&*echo.path, echo.header("x-kind")), ("/new/x?was=old", Some("none")));
        for (url, status) in
            [("http://whole.test/", 403), ("http://shared.test/mine", 403), ("http://shared.test/", 200)]
        {
            assert_eq!(get(url).header("X-Stop", "1").send().await.status, status, "{url}");
        }
        // What leads on to the backend leads to none where there is none.
        for (header, url, status) in [
            ("X-Kept", "http://partly.test/other", 404),
            ("X-Late", "http://partly.test/other", 404),
            ("X-Late", "http://partly.test/app", 410),
        ] {
            assert_eq!(get(url).header(header, "1").send().await.status, status, "{header} {url}");
        }
        for (address, status) in [("10.244.5.1", 403), ("10.244.5.2", 200), ("10.244.6.1", 403)] {
            for tag in ["", "x"] {
                let request = get("http://lists.test/").from(address).header("X-Tag", tag);
                assert_eq!(request.send().await.status, status, "{address}");
            }
        }

        for tag in ["", "x"] {
            let refused = get("http://guarded.test/").header("X-Tag", tag).send().await;
            assert_eq!((refused.status, refused.header("x-seen")), (401, Some("yes")));
        }
        let let_in = get("http://guarded.test/").header("Authorization", "Basic dXNlcjpwYXNzd29yZA==").send().await;
        let echo = let_in.echo();
        // The backend gets neither the password nor headers that frameworks trust.
        assert_eq!((echo.header("x-seen"), echo.header("authorization")), (Some("yes"), None));
        let echo = get("http://guarded.test/").header("Authorization", "Basic dXNlcjpwYXNzd29yZA==");
        let echo = echo.header("Forwarded", "for=1.2.3.4").header("X-Original-URL", "/admin").send().await.echo();
        assert_eq!((echo.header("forwarded"), echo.header("x-original-url")), (None, None));
        assert_eq!(get("http://asked.test/").send().await.status, 200);

        let status = rig.daemon.status().await.unwrap();
        let reported = notes(&status, "Ingress stranger", "RefusedValue");
        assert!(reported.iter().any(|note| note.contains("snippets.allowed")), "{reported:?}");

        // A better one takes its place, and one that is refused leaves the last good one.
        for (snippet, seen) in [("add_header X-Whole again always;", "again"), ("root /etc;", "again")] {
            let mut all = objects();
            all.retain(|object| object["metadata"]["name"] != "whole");
            all.push(with("whole", "server-snippet", snippet));
            rig.manifests.write("snippets.yaml", &all);
            get("http://whole.test/").send_until(seen, |reply| reply.header("x-whole") == Some(seen)).await;
        }
        let reported = |status: &Value| {
            notes(status, "Ingress whole", "RefusedValue")
                .iter()
                .any(|note| note.contains("line 1, column 1: \"root\""))
        };
        rig.daemon.status_when("the place of the mistake", reported).await;
        assert_eq!(get("http://whole.test/").send().await.header("x-whole"), Some("again"));
    });
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: controller, namespace: scribe}\ndata:\n  \
    location-snippet: 'add_header X-Map yes always; add_header X-Plan $plan always; add_header X-Side $side always; add_header X-Both $both always;'\n  server-snippet: 'if ($http_x_stop) { return 403; }'\n  \
    allow-snippet-annotations: 'false'\n  http-snippet: |\n    \
    map $http_x_plan $plan { default free; Gold \"paid; }\"; \"~^trial-([a-z]+)$\" \"trial $1\"; \"\" none; \\default x; }\n    \
    geo $side { default outside; 10.244.0.0/16 inside; 10.244.5.1 \"\"; }\n    \
    map \"$plan:$request_uri\" $both { \"~*^none:/a\" $host; }\n";

#[test]
fn those_of_the_config_map_count_for_all_routes() {
    rig::run(async |rig| {
        let kinds = "['configuration-snippet', 'server-snippet', 'http-snippet']";
        let by_label = "{selector = 'team=edge', kinds = ['location-snippet']}";
        rig.daemon.set("snippets.allowed", &format!("[{{namespaces = ['scribe'], kinds = {kinds}}}, {by_label}]"));
        rig.daemon.set("ingress-nginx.configmap", "scribe/controller");
        rig.manifests.write_text("map.yaml", CONFIG_MAP);
        let plain = ingress("plain").class("nginx").host("plain.test", "web").build();
        rig.manifests.write("plain.yaml", &[plain, with("own", "configuration-snippet", "add_header X-Own yes;")]);
        rig.start().await;
        let reply = get("http://plain.test/").send().await;
        assert_eq!((reply.status, reply.header("x-map")), (200, None));
        // Labels of its namespace let another of its keys count.
        let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: scribe, labels: {team: edge}}\n".to_owned();
        rig.manifests.write_text("namespace.yaml", &namespace);
        let has = |reply: &Reply| reply.header("x-map") == Some("yes");
        get("http://plain.test/").send_until("the labels count", has).await;
        for (plan, expected) in
            [("gold", "paid; }"), ("trial-abc", "trial abc"), ("x", "free"), ("default", "x"), ("trial-1", "free")]
        {
            let reply = get("http://plain.test/").header("X-Plan", plan).send().await;
            assert_eq!(reply.header("x-plan"), Some(expected), "{plan}");
        }
        for (address, side) in [("10.244.5.1", None), ("10.244.5.2", Some("inside"))] {
            let reply = get("http://plain.test/A").from(address).send().await;
            assert_eq!((reply.header("x-side"), reply.header("x-both")), (side, Some("plain.test")), "{address}");
        }
        assert_eq!(get("http://plain.test/").header("X-Stop", "1").send().await.status, 403);
        // The ConfigMap takes back what annotations might say.
        assert_eq!(get("http://own.test/").send().await.status, 404);
        rig.manifests.write_text("namespace.yaml", &namespace.replace("edge", "other"));
        get("http://plain.test/").send_until("the labels are gone", |reply| !has(reply)).await;
    });
}
