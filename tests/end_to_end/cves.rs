//! The CVEs of ingress-nginx, tried through the real nginx. Each is tried on a key that works:
//! beside the hostile object there is the same object with a harmless value, and both get
//! requests.

use serde_json::{Value, json};

use crate::external_authentication::{HASH, Service, url, want, with_password};
use rig::authority::Authority;
use rig::client::{Request, get};
use rig::manifests::{Ingress, in_namespace, ingress, secret, service_at, tls_secret};
use rig::{ECHO, Rig};

/// Where pages of errors come from.
const ERRORS: &str = "10.244.0.9";
/// Where copies go.
const COPIES: (&str, u16) = ("10.244.3.2", 18082);
/// The setting that lets one namespace use snippets.
const SCRIBE: &str = "[{namespaces = ['scribe'], kinds = ['configuration-snippet', 'server-snippet', 'auth-snippet']}]";
/// What snippets were used for.
const SNIPPETS: [(&str, &str); 9] = [
    ("lua", "content_by_lua_block { ngx.exit(299) }"),
    ("lua-quoted", "access_by_lua 'ngx.exit(299)';"),
    ("alias", "location /y { alias /etc/; }"),
    ("root", "root /etc; autoindex on;"),
    ("out", "}\n}\nserver { listen 80; server_name victim.test; return 299; }\nserver {\nlocation /x {"),
    ("itself", "proxy_pass http://127.0.0.1:10246/stub_status;"),
    ("include", "include /etc/passwd;"),
    ("written", "access_log /tmp/x;"),
    ("loaded", "load_module /tmp/x.so;"),
];
/// A way out of a value, which answers as no backend does.
const OUT: &str = "; return 299; }} server { listen 80; server_name victim.test; return 299; } #";

fn of(name: &str) -> Ingress {
    ingress(name).class("nginx").host(&format!("{name}.test"), "web")
}

/// A host for a harmless value of a key, `NAME.test`, and one for a hostile one, `bad-NAME.test`.
fn both(name: &str, beside: &[(&str, &str)], key: &str, harmless: &str, hostile: &str) -> [Value; 2] {
    let object = |name: &str, value: &str| {
        let object = beside.iter().fold(of(name), |object, (key, value)| object.annotation(key, value));
        object.annotation(key, value).build()
    };
    [object(name, harmless), object(&format!("bad-{name}"), hostile)]
}

/// A namespace with a Service, a password of its own, and a host that asks for it.
fn tenant(namespace: &str, users: &str, user: &str) -> Vec<Value> {
    let host = format!("{namespace}.test");
    let object = ingress("i").class("nginx").namespace(namespace).host(&host, "web");
    let object = object.annotation("auth-type", "basic").annotation("auth-secret", users);
    let users = secret(users, "Opaque", &[("auth", &format!("{user}:{HASH}\n"))]);
    let web = service_at("web", &["10.244.0.1"], ECHO).map(|object| in_namespace(namespace, object));
    [vec![object.build(), in_namespace(namespace, users)], web.to_vec()].concat()
}

fn objects(authority: &Authority) -> Vec<Value> {
    let auth = url("/check");
    let asked = [("auth-url", auth.as_str())];
    let pages = [("auth-url", &*auth), ("custom-http-errors", "401,403"), ("default-backend", "errors")];
    let paths = [
        "/x{}location /y{return 299;}#",
        "/a\"b",
        "/a\" ; } location = /z { return 299; } #",
        "/q;ssl_engine /proc/self/fd/7;",
    ];
    let path = |object: Ingress, path: &&str| object.path("paths.test", "ImplementationSpecific", path, "web");
    let headers = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "headers"},
        "data": {"X-Realm": format!("'\"{OUT}")}});
    let mut uid = of("uid").annotation("auth-type", "basic").annotation("auth-secret", "users").build();
    uid["metadata"]["uid"] = json!("../../x\"; return 299; #");
    let snippet = |name: &str, key: &str, text: &str| {
        let object = of(name).namespace("scribe").annotation("auth-url", &auth);
        object.annotation(key, text).build()
    };
    let redirect = ("https://a.test/new", format!("https://a.test/new{OUT}"));
    let huge = "a".repeat(300_000);
    let mut all = vec![
        headers,
        secret("authority", "Opaque", &[("ca.crt", &authority.pem())]),
        secret("users", "Opaque", &[("auth", &format!("ann:{HASH}\n"))]),
        tls_secret("tls", &["cn.test", "bad-cn.test"]),
        uid,
        of("snippet").annotation("configuration-snippet", "return 299;").build(),
        paths.iter().fold(ingress("paths").class("nginx"), path).build(),
        ingress("rewrite")
            .class("nginx")
            .annotation("rewrite-target", "/new")
            .path("rewrite.test", "ImplementationSpecific", "/a\"b", "web")
            .build(),
        of("told").annotation("auth-url", &auth).annotation("auth-proxy-set-headers", "headers").build(),
        of("huge").annotation("rewrite-target", &huge).build(),
    ];
    all.extend(service_at("web", &["10.244.0.1"], ECHO).map(|object| in_namespace("scribe", object)));
    // The value is read as a word of one directive, whatever it holds.
    let harmless = format!("add_header X-Out '{OUT}' always;");
    all.push(snippet("scribe", "configuration-snippet", &harmless));
    all.push(snippet("scribe-server", "server-snippet", &harmless));
    all.push(snippet("scribe-asks", "auth-snippet", &format!("proxy_set_header X-Out '{OUT}';")));
    for (name, text) in SNIPPETS {
        for kind in ["configuration", "server", "auth"] {
            all.push(snippet(&format!("{name}-{kind}"), &format!("{kind}-snippet"), text));
        }
    }
    let kept = [("auth-url", &*auth), ("auth-keepalive", "8")];
    let kept = |name: &str, path: &str| {
        let object =
            kept.iter().fold(ingress(name).class("nginx"), |object, (key, value)| object.annotation(key, value));
        object.path(&format!("{name}.test"), "ImplementationSpecific", path, "web").build()
    };
    all.extend([kept("kept", "/x # return 299;"), kept("bad-kept", "/x\nreturn 299;\n#")]);
    let (address, port) = COPIES;
    let copies = format!("http://{address}:{port}$request_uri");
    all.extend(both("copied", &[], "mirror-target", &copies, &format!("{copies}\"{OUT}")));
    all.extend(both("told-host", &[("mirror-target", &copies)], "mirror-host", "m.test", &format!("m.test\"{OUT}")));
    all.extend(both("moved", &[], "permanent-redirect", redirect.0, &redirect.1));
    all.extend(both("returned", &[], "permanent-redirect", redirect.0, "https://a.test/\rreturn 299;"));
    all.extend(both("asked", &[], "auth-url", &auth, &format!("{auth}#{OUT}")));
    all.extend(both("method", &asked, "auth-method", "POST", &format!("POST{OUT}")));
    all.extend(both("pages", &asked, "auth-response-headers", "X-User", &format!("X-User{OUT}")));
    all.push(pages.iter().fold(of("caught"), |object, (key, value)| object.annotation(key, value)).build());
    let certificates = |name: &str, pattern: &str| {
        let host = format!("{name}.test");
        let object = of(name).annotation("auth-tls-secret", "default/authority");
        object.annotation("auth-tls-match-cn", pattern).tls(&[&host], "tls").build()
    };
    all.extend(service_at("errors", &[ERRORS], ECHO));
    all.push(certificates("cn", "CN=ann(,|$)"));
    all.push(certificates("bad-cn", "CN=ann #(\n){}\n }\nreturn 299;\n#"));
    all.extend(tenant("a", "b-c", "ann"));
    all.extend(tenant("a-b", "c", "bob"));
    all.push(in_namespace("victim", of("victim").build()));
    all.extend(service_at("web", &["10.244.0.1"], ECHO).map(|object| in_namespace("victim", object)));
    all
}

/// Requests that show for each number that its key works, and that what was done with it is not
/// done.
fn rows(authority: &Authority) -> Vec<(&'static str, Request, u16)> {
    let host = |name: &str| get(&format!("http://{name}.test/"));
    let (ann, eve) = (authority.signs("ann", 1), authority.signs("eve", 2));
    let by_tls = |name: &str| get(&format!("https://{name}.test/"));
    vec![
        ("CVE-2020-8553", with_password(host("a")), 200),
        ("CVE-2020-8553", with_password(host("a-b")), 401),
        ("CVE-2021-25742, CVE-2023-5043", host("snippet"), 404),
        ("CVE-2026-4342", get("http://kept.test/x%20%23%20return%20299;"), 200),
        ("CVE-2026-4342", want(get("http://kept.test/x%20%23%20return%20299;"), 401), 401),
        ("CVE-2026-4342", get("http://bad-kept.test/x"), 404),
        ("CVE-2025-1098", host("bad-copied"), 200),
        ("CVE-2025-1098", host("bad-told-host"), 200),
        ("CVE-2021-25745", get("http://paths.test/y"), 404),
        ("CVE-2021-25748, CVE-2022-4886", get("http://paths.test/z"), 404),
        ("CVE-2025-1974", get("http://paths.test/q;ssl_engine%20/proc/self/fd/7;"), 200),
        ("CVE-2026-24512", get("http://paths.test/a%22b"), 200),
        (
            "CVE-2026-24512",
            get("http://paths.test/a%22%20;%20%7D%20location%20=%20/z%20%7B%20return%20299;%20%7D%20%23"),
            200,
        ),
        ("CVE-2023-5044", host("moved"), 301),
        ("CVE-2023-5044, CVE-2021-25746", host("bad-moved"), 404),
        ("CVE-2024-7646", host("returned"), 301),
        ("CVE-2024-7646", host("bad-returned"), 404),
        ("CVE-2025-24513", host("uid"), 401),
        ("CVE-2025-24513", with_password(host("uid")), 200),
        ("CVE-2025-24514", host("asked"), 200),
        ("CVE-2025-24514", want(host("asked"), 401), 401),
        ("CVE-2025-24514", host("bad-asked"), 503),
        ("CVE-2025-1097", by_tls("cn").showing(&ann), 200),
        ("CVE-2025-1097", by_tls("cn").showing(&eve), 403),
        ("CVE-2025-1097", by_tls("bad-cn").showing(&ann), 503),
        ("CVE-2026-1580", host("method"), 200),
        ("CVE-2026-1580", host("bad-method"), 503),
        ("CVE-2025-24514", host("pages"), 200),
        ("CVE-2025-24514", host("bad-pages"), 503),
        ("CVE-2026-24514", host("huge"), 200),
        ("CVE-2026-3288", get("http://rewrite.test/a%22b"), 200),
        ("all of them", host("victim"), 200),
    ]
}

#[test]
fn nothing_of_them_happens_through_the_real_nginx() {
    rig::run(async |rig: &mut Rig| {
        let service = Service::start().await;
        let authority = Authority::new("authority");
        let copies = Service::start_at(COPIES.0, COPIES.1, None).await;
        rig.daemon.set("snippets.allowed", SCRIBE);
        rig.manifests.write("objects.yaml", &objects(&authority));
        rig.start().await;
        let mut wrong = Vec::new();
        let snippets =
            SNIPPETS.iter().flat_map(|(name, _)| ["configuration", "server", "auth"].map(|kind| (name, kind)));
        let snippets = snippets
            .map(|(name, kind)| ("CVE-2021-25742, CVE-2023-5043", get(&format!("http://{name}-{kind}.test/")), 404));
        for (number, request, expected) in rows(&authority).into_iter().chain(snippets) {
            let shown = request.to_string();
            let status = request.send().await.status;
            if status != expected {
                wrong.push(format!("{number}: {shown}: {status} instead of {expected}"));
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));

        // CVE-2021-25742, CVE-2023-5043: where snippets are read, a hostile word is a word.
        for name in ["scribe", "scribe-server"] {
            let reply = get(&format!("http://{name}.test/")).send().await;
            assert_eq!((reply.status, reply.header("x-out")), (200, Some(OUT)), "{name}");
        }
        service.asked();
        assert_eq!(get("http://scribe-asks.test/").send().await.status, 200);
        assert_eq!(service.asked()[0].header("X-Out"), Some(OUT));
        // CVE-2025-1098: copies of harmless requests arrive, and no copies of hostile ones arrived
        // before.
        for name in ["copied", "told-host"] {
            assert_eq!(get(&format!("http://{name}.test/{name}")).send().await.status, 200);
        }
        let mut come = Vec::new();
        let both = rig::wait::until("both copies", async || {
            come.extend(copies.asked().into_iter().map(|copy| copy.line));
            (come.len() >= 2).then(|| come.clone())
        });
        let mut both = both.await;
        both.sort();
        assert_eq!(both, ["GET /copied HTTP/1.1", "GET /told-host HTTP/1.1"]);

        // CVE-2025-15566: the value reaches the service as it is written, and is nothing else.
        service.asked();
        assert_eq!(get("http://told.test/").send().await.status, 200);
        let [question] = &service.asked()[..] else { panic!("it is asked once") };
        assert_eq!(question.header("X-Realm"), Some(&*format!("'\"{OUT}")));
        // CVE-2026-24513: the error page answers 200 itself, and admits no client.
        let seen = async |status| {
            let echo = want(get("http://caught.test/private"), status).send().await.echo();
            (echo.address.ip().to_string(), echo.path.clone(), echo.header("x-code").map(str::to_owned))
        };
        assert_eq!(seen(200).await, ("10.244.0.1".to_owned(), "/private".to_owned(), None));
        for status in [401, 403] {
            assert_eq!(seen(status).await, (ERRORS.to_owned(), "/".to_owned(), Some(status.to_string())));
        }
        // CVE-2026-3288: the new path is that of the annotation.
        assert_eq!(get("http://rewrite.test/a%22b").send().await.echo().path, "/new");
    });
}
