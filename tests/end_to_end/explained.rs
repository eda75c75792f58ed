//! `ingressd explain` beside the real nginx: both say the same of every request; this test must
//! not know how either finds it.

mod drawn;
mod sent;

use ingressd::daemon::control;
use serde_json::{Value, json};

use rig::client::get;
use rig::manifests::{Ingress, ingress, service_at, tls_secret};
use rig::{ECHO, ECHO_TLS, Rig};

/// The Services, which are called as what goes there.
const SERVICES: &[&str] = &[
    "shop", "cart", "api", "wild", "alias", "rest", "long", "item", "items", "dir", "folder", "open", "admin", "bare",
];

/// Requests, and the Service that answers; or the status, where no Service does.
const ROWS: &[(&str, &str)] = &[
    // Hosts are found by name, without regard to case and a dot behind it, and by wildcard; and
    // some are found nowhere.
    ("shop.test", "shop"),
    ("SHOP.test/cart", "cart"),
    ("shop.test./cart", "cart"),
    ("shop.test:80/cart?x=1", "cart"),
    ("one.wild.test/", "wild"),
    ("two.one.wild.test/", "404"),
    ("wild.test/", "404"),
    ("nobody.test/", "404"),
    ("nobody.test/healthz", "200"),
    ("shop.test/healthz", "shop"),
    // The oldest expression comes first, and some hosts match none.
    ("my-alias.test/", "alias"),
    ("MY.other-alias.test/", "alias"),
    ("7-alias.test/", "rest"),
    ("192.0.2.1/", "404"),
    ("[2001:db8::1]/", "404"),
    // These hosts are reserved for an object that is refused, and for one that is gone.
    ("kept-alias.test/", "404"),
    ("ab.kept-alias.test/", "404"),
    ("ab.ab.kept-alias.test/", "alias"),
    ("gone-alias.test/", "404"),
    ("gone-alias.test/healthz", "200"),
    // Paths match by element or exactly; some have nothing behind them, and some cannot be served.
    ("shop.test/cart", "cart"),
    ("shop.test/cart/", "shop"),
    ("shop.test/carts", "shop"),
    ("shop.test/api", "api"),
    ("shop.test/api/v1", "api"),
    ("shop.test/apis", "shop"),
    ("shop.test/absent", "503"),
    ("idle.test/", "503"),
    ("relieved.test/", "bare"),
    ("undecided.test/", "503"),
    ("paged.test/", "bare"),
    ("paged-and-closed.test/", "503"),
    ("bare.test/other", "404"),
    ("closed.test/", "503"),
    ("moved.test/x", "301"),
    // Paths are written in unusual ways.
    ("shop.test/%63art", "cart"),
    ("shop.test//cart", "cart"),
    ("shop.test/x/../cart", "cart"),
    ("shop.test/x%2f..%2fcart", "cart"),
    ("shop.test/cart%2f", "shop"),
    ("shop.test/cart%3fx", "shop"),
    ("shop.test/%C3%A4", "shop"),
    ("shop.test/x//../cart", "cart"),
    ("shop.test/x/./..//cart", "cart"),
    ("shop.test/%25%3f", "shop"),
    ("shop.test/../cart", "400"),
    ("shop.test/%2e%2E/cart", "400"),
    ("shop.test/x/%2e%2e/%2e%2e/cart", "400"),
    ("nobody.test/..", "400"),
    ("shop.test/cart?x=/LONG/LONG/LONG", "cart"),
    // Slashes count as in the dialect of ingress-nginx, both where nginx compares texts and where
    // it has expressions.
    ("slash.test/dir", "301"),
    ("slash.test/dir/", "dir"),
    ("slash.test/dir/x", "dir"),
    ("slash.test/dirs", "404"),
    ("slash.test/gone", "301"),
    ("slash.test/gone/", "503"),
    ("mixed.test/dir", "404"),
    ("mixed.test/dir/", "folder"),
    ("mixed.test/dir/x", "folder"),
    ("mixed.test/DIR/x", "folder"),
    ("mixed.test/item/77", "item"),
    ("mixed.test/ITEM/77", "item"),
    ("mixed.test/item/x", "items"),
    ("mixed.test/items", "items"),
    ("mixed.test/x", "404"),
    // Expressions of one object make some of the paths of others, unless these cannot be any or
    // would take requests of what is protected.
    ("mixed.test/doc/v2/x", "shop"),
    ("mixed.test/doc/vx", "404"),
    ("mixed.test/a(b/c", "bare"),
    ("guarded.test/b1", "admin"),
    ("guarded.test/b[0-9]", "open"),
    // These paths are so long that nginx has to have an expression for them.
    ("long.test/LONG", "long"),
    ("long.test/LONG/x", "long"),
    ("long.test/LONGx", "404"),
    ("long.test/a", "bare"),
    ("long.test/a/x", "404"),
    ("stretched.test/LONG", "long"),
    ("stretched.test/dir", "301"),
    ("stretched.test/dir/", "dir"),
    ("stretched.test/DIR/", "404"),
    // This path is protected more than those around it.
    ("strict.test/", "open"),
    ("strict.test/admin", "admin"),
    ("strict.test/admin%2fx", "400"),
    ("strict.test/x//admin", "400"),
    ("strict.test/x/..;/admin", "400"),
    ("strict.test/x?y=//", "open"),
    ("strict.test/x//../admin", "400"),
    // What nginx rewrites there is logged.
    ("logged.test/a%09b", "400"),
    ("logged.test/a%20b?c=%0A", "shop"),
    // nginx takes a longer path than most people send.
    ("shop.test/cart?LONG/LONG/LONG", "cart"),
];

fn of_controller(name: &str, year: u16) -> Ingress {
    ingress(name).class("nginx").created(&format!("{year}-01-01T00:00:00Z"))
}

/// A service without endpoints that is asked who may pass.
const IDLE: &str = "http://idle.default.svc:80/";

/// A host where a service is asked, with a page for clients that cannot pass because of that.
fn paged(name: &str, asked: &str) -> Ingress {
    let object = of_controller(name, 2021).host(&format!("{name}.test"), "shop").annotation("auth-url", asked);
    object.annotation("custom-http-errors", "503").annotation("default-backend", "bare")
}

fn write(rig: &Rig, long: &str) {
    rig.manifests.write(
        "objects.yaml",
        &[
            ingress("shop")
                .host("shop.test", "shop")
                .path("shop.test", "Exact", "/cart", "cart")
                .path("shop.test", "Prefix", "/api/", "api")
                .path("shop.test", "Prefix", "/absent", "absent")
                .build(),
            ingress("wild").host("*.wild.test", "wild").build(),
            ingress("bare").path("bare.test", "Exact", "/bare", "bare").build(),
            ingress("long").path("long.test", "Prefix", long, "long").path("long.test", "Exact", "/a", "bare").build(),
            of_controller("alias", 2020)
                .host("alias.test", "alias")
                .annotation("server-alias", r"~^[a-z]{2}[.a-z]*-alias\.test$")
                .build(),
            of_controller("rest", 2021).host("rest.test", "rest").annotation("server-alias", r"~^\d-alias").build(),
            of_controller("kept", 2021)
                .host("kept-alias.test", "shop")
                .host("*.kept-alias.test", "shop")
                .annotation("server-alias", "a b")
                .build(),
            of_controller("closed", 2021)
                .host("closed.test", "shop")
                .annotation("allowlist-source-range", "nonsense")
                .build(),
            of_controller("moved", 2021)
                .host("moved.test", "shop")
                .annotation("permanent-redirect", "https://new.example/")
                .build(),
            of_controller("slash", 2021)
                .path("slash.test", "Prefix", "/dir/", "dir")
                .path("slash.test", "Prefix", "/gone/", "absent")
                .build(),
            of_controller("stretched", 2021)
                .path("stretched.test", "Prefix", "/dir/", "dir")
                .path("stretched.test", "Prefix", long, "long")
                .build(),
            of_controller("mixed", 2021)
                .path("mixed.test", "ImplementationSpecific", "/item/[0-9]+", "item")
                .path("mixed.test", "Prefix", "/item", "items")
                .path("mixed.test", "Prefix", "/dir/", "folder")
                .annotation("use-regex", "true")
                .build(),
            of_controller("more", 2022)
                .path("mixed.test", "Prefix", "/doc/v[0-9]+", "shop")
                .path("mixed.test", "Prefix", "/a(b", "bare")
                .build(),
            of_controller("regex", 2021)
                .path("guarded.test", "Prefix", "/x/[a-z]", "shop")
                .annotation("use-regex", "true")
                .build(),
            of_controller("guarded", 2021)
                .host("guarded.test", "admin")
                .annotation("allowlist-source-range", "127.0.0.0/8")
                .build(),
            of_controller("unguarded", 2021).path("guarded.test", "Exact", "/b[0-9]", "open").build(),
            of_controller("idle", 2021).host("idle.test", "idle").build(),
            of_controller("relieved", 2021).host("relieved.test", "idle").annotation("default-backend", "bare").build(),
            of_controller("undecided", 2021).host("undecided.test", "shop").annotation("auth-url", IDLE).build(),
            paged("paged", IDLE).build(),
            paged("paged-and-closed", "http://absent.default.svc:80/").build(),
            of_controller("logged", 2021).host("logged.test", "shop").annotation("enable-rewrite-log", "true").build(),
            ingress("open").host("strict.test", "open").build(),
            ingress("admin")
                .path("strict.test", "Prefix", "/admin", "admin")
                .annotation("allowlist-source-range", "127.0.0.0/8")
                .build(),
        ],
    );
}

/// What the command says of a request.
fn reported(rig: &Rig, url: &str) -> Value {
    // The command asks in this way, but waits no longer than its time limit.
    let answer = control::ask(&rig.daemon.folder().join("control.sock"), &format!("explain {url}"), None).unwrap();
    serde_json::from_str::<Value>(&answer).unwrap()["subject"].take()
}

/// Which Service answers by what the command says, or the status.
pub fn explained(rig: &Rig, url: &str) -> String {
    let reported = reported(rig, url);
    let is_https = url.starts_with("https:");
    let socket = if is_https { "0.0.0.0:443" } else { "0.0.0.0:80" };
    let is_there = |part: &&Value| part["on"].as_array().unwrap().iter().any(|on| on == socket);
    if let Some(site) = reported["other_sites"].as_array().unwrap().iter().find(is_there) {
        assert_eq!(site["is_unclear"], false, "{reported}");
        return place(site["from"].as_str().unwrap());
    }
    let (route, passed) = (&reported["route"], &reported["passthrough"]);
    let does = match (route["over_plain_http"].as_str(), Some(passed).filter(|passed| passed.is_object())) {
        (_, Some(passed)) if is_there(&passed) => passed["does"].as_str(),
        (Some(redirect), _) if !is_https => Some(redirect),
        _ => route["does"].as_str(),
    };
    assert_eq!(route["unless"], Value::Null, "{reported}");
    match does.unwrap().split_once("goes to Service default/") {
        Some((_, service)) => service.split(',').next().unwrap().to_owned(),
        None => does.unwrap().strip_prefix("is answered ").unwrap()[..3].to_owned(),
    }
}

/// The file and line of another site, without its folders.
fn place(from: &str) -> String {
    from.rsplit_once('/').unwrap().1.to_owned()
}

/// Compares what the command says with what nginx does; another site answers with its place.
async fn compare(rig: &Rig, url: &str, expected: &str, wrong: &mut Vec<String>) {
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let reported = explained(rig, &url);
    let reply = get(&url).send().await;
    let nginx = reply.header("x-place").map_or_else(|| rig.who(&reply), str::to_owned);
    if reported != expected || nginx != expected {
        wrong.push(format!("{url}: explain says {reported}, nginx {nginx}, expected {expected}"));
    }
}

#[test]
fn explain_says_of_every_request_what_nginx_does() {
    rig::run(async |rig| {
        rig.serve(SERVICES);
        rig.manifests.write("gone.yaml", &[ingress("gone").host("gone-alias.test", "shop").build()]);
        let long = format!("/{}", "l".repeat(252));
        write(rig, &long);
        rig.manifests.write("idle.yaml", &service_at("idle", &[], ECHO));
        rig.start().await;
        get("http://gone-alias.test/").send_until("the host that goes", |reply| reply.status == 200).await;
        rig.manifests.remove("gone.yaml");
        get("http://gone-alias.test/").send_until("the host to be gone", |reply| reply.status == 404).await;
        let is_gone = |status: &Value| {
            status["ingresses"].as_array().is_some_and(|all| all.iter().all(|ingress| ingress["name"] != "gone"))
        };
        rig.daemon.status_when("the daemon to know that", is_gone).await;

        let path = reported(rig, "http://mixed.test/doc/v2")["route"]["path"].take();
        let asked_by = "Ingress default/mixed: metadata.annotations[nginx.ingress.kubernetes.io/use-regex]";
        let (text, compared, because) = (&path["text"], &path["compared"], &path["because"]);
        assert_eq!((text, compared, because), (&json!("/doc/v[0-9]+"), &json!("expression"), &json!(asked_by)));
        let because = reported(rig, "http://guarded.test/b1")["route"]["because"].take();
        assert_eq!((&because[0]["reason"], &because[1]), (&json!("LiteralPath"), &Value::Null), "{because}");
        assert!(because[0]["note"].as_str().unwrap().contains("of a protected path"), "{because}");

        let mut wrong = Vec::new();
        for (url, expected) in ROWS {
            let url = url.replace("/LONG", &long);
            compare(rig, &url, expected, &mut wrong).await;
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));

        for (url, why) in [
            ("shop.test/absent", "spec.rules[3].http.paths[0]: there is no Service"),
            ("idle.test", "Service \"idle\" has no ready endpoint"),
            ("closed.test", "allowlist-source-range]: \"nonsense\""),
        ] {
            let output = rig.daemon.command("explain").arg(url).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let because = text.lines().find(|line| line.starts_with("because ")).unwrap_or_default();
            assert!(because.contains(why), "{text}");
        }
        let output = rig.daemon.command("explain").arg("kept-alias.test").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("reserved") && text.contains("`ingressd status --host kept-alias.test`"), "{text}");
    });
}

/// Sites of the host that nginx reads before our files, and behind them.
const SITES: &[(&str, &str)] = &[
    (
        "conf.d/a-first.conf",
        r"
        server {
            listen 80;
            server_name ~^early\d\.wild\.test$;
            add_header X-Place a-first.conf:4 always;
            return 204;
        }",
    ),
    (
        "sites-enabled/site",
        r"
        server {
            listen 80 default_server;
            add_header X-Place site:3 always;
            return 204;
        }
        server {
            listen 80;
            listen [::]:80;
            server_name site.test *.site.test *.b.site.test;
            add_header X-Place site:10 always;
            return 204;
        }
        server {
            listen 80;
            server_name own.wild.test ~^late\d\.wild\.test$ ~^any\d\.test$;
            add_header X-Place site:16 always;
            return 204;
        }
        server {
            listen 127.0.0.2:80;
            server_name narrow.test;
            return 204;
        }",
    ),
];

/// Requests beside these sites, and who answers.
const BESIDE: &[(&str, &str)] = &[
    ("shop.test/", "shop"),
    ("https://shop.test/", "shop"),
    ("site.test/", "site:10"),
    ("SITE.test./x", "site:10"),
    ("x.y.site.test/", "site:10"),
    ("https://site.test/", "404"),
    // By an exact name, by an expression that nginx tries before our wildcard, and by one that it
    // tries behind that.
    ("own.wild.test/", "site:16"),
    ("https://own.wild.test/", "wild"),
    ("early1.wild.test/", "a-first.conf:4"),
    ("late1.wild.test/", "wild"),
    ("one.wild.test/", "wild"),
    ("any1.test/", "site:16"),
    // A host of no site goes to the default server of the socket.
    ("nobody.test/", "site:3"),
    ("192.0.2.1/", "site:3"),
    ("https://nobody.test/", "404"),
    ("narrow.test/", "site:3"),
    // TLS that is not read; plain requests are.
    ("https://passed.test/deep", "secure"),
    ("passed.test/", "secure"),
    ("passed.test/deep", "deep"),
    ("https://one.passed.test/", "secure"),
    ("https://open.passed.test/", "shop"),
    ("open.passed.test/", "shop"),
    ("https://two.one.passed.test/", "404"),
    // Where a host has TLS of its own, plain requests are sent there.
    ("own.test/", "308"),
    ("https://own.test/", "shop"),
];

#[test]
fn explain_knows_other_sites_and_tls_that_nginx_does_not_read() {
    rig::run(async |rig| {
        let services = ["shop", "wild", "secure", "deep"];
        rig.serve(&services);
        let services = (1..).zip(services).flat_map(|(number, name)| {
            let port = if matches!(name, "secure" | "deep") { ECHO_TLS } else { ECHO };
            service_at(name, &[&format!("10.244.1.{number}")], port)
        });
        rig.manifests.write("services.yaml", &services.collect::<Vec<_>>());
        rig.nginx.serve_streams(&rig.daemon.root());
        rig.daemon.set("tls.passthrough", "true");
        for (file, text) in SITES {
            std::fs::write(rig.nginx.prefix().join(file), text).unwrap();
        }
        let passed = |name: &str, host: &str| {
            ingress(name).host(host, "secure").annotation("ssl-passthrough", "true").annotation("ssl-redirect", "false")
        };
        rig.manifests.write(
            "objects.yaml",
            &[
                ingress("shop").host("shop.test", "shop").host("open.passed.test", "shop").build(),
                ingress("wild").host("*.wild.test", "wild").build(),
                passed("passed", "passed.test").path("passed.test", "Prefix", "/deep", "deep").build(),
                passed("below", "*.passed.test").build(),
                tls_secret("own", &["own.test"]),
                of_controller("own", 2021).host("own.test", "shop").tls(&["own.test"], "own").build(),
            ],
        );
        rig.start().await;
        let mut wrong = Vec::new();
        for (url, expected) in BESIDE {
            compare(rig, url, expected, &mut wrong).await;
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));

        for (url, code, expected) in [
            (
                "site.test",
                1,
                &["on 0.0.0.0:80 and [::]:80 is taken by another site", "name site.test at ", "site:10"][..],
            ),
            (
                "nobody.test",
                1,
                &["gets the requests for unknown hosts, at ", "site:3", "otherwise is taken by no path"],
            ),
            ("passed.test", 0, &["on 0.0.0.0:443 and [::]:443 goes to Service default/secure, port 80, by Ingress"]),
            ("own.test", 0, &["over plain http is answered 308"]),
        ] {
            let output = rig.daemon.command("explain").arg(url).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            println!("{text}");
            assert_eq!(output.status.code(), Some(code), "{text}");
            assert!(expected.iter().all(|words| text.contains(words)), "{text}");
        }
    });
}
