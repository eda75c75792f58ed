//! `ingressd explain` beside the real nginx: both say the same of every request; this test must
//! not know how either finds it.

use ingressd::daemon::control;
use serde_json::Value;

use crate::rig::client::get;
use crate::rig::manifests::{Ingress, ingress};
use crate::rig::{self, Rig};

/// The Services, which are called as what goes there.
const SERVICES: &[&str] = &[
    "shop", "cart", "api", "wild", "alias", "rest", "long", "item", "items", "dir", "folder", "open", "admin", "bare",
];

/// Requests, and which Service answers, or the status of whatever else does.
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
    // Slashes count as in the dialect of ingress-nginx, both where nginx compares texts and where
    // it has expressions.
    ("slash.test/dir", "301"),
    ("slash.test/dir/", "dir"),
    ("slash.test/dir/x", "dir"),
    ("slash.test/dirs", "404"),
    ("mixed.test/dir", "404"),
    ("mixed.test/dir/", "folder"),
    ("mixed.test/dir/x", "folder"),
    ("mixed.test/DIR/x", "folder"),
    ("mixed.test/item/77", "item"),
    ("mixed.test/ITEM/77", "item"),
    ("mixed.test/item/x", "items"),
    ("mixed.test/items", "items"),
    ("mixed.test/x", "404"),
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
];

fn of_controller(name: &str, year: u16) -> Ingress {
    ingress(name).class("nginx").created(&format!("{year}-01-01T00:00:00Z"))
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
            of_controller("slash", 2021).path("slash.test", "Prefix", "/dir/", "dir").build(),
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
            ingress("open").host("strict.test", "open").build(),
            ingress("admin")
                .path("strict.test", "Prefix", "/admin", "admin")
                .annotation("allowlist-source-range", "127.0.0.0/8")
                .build(),
        ],
    );
}

/// Which Service answers by what the command says, or the status.
fn explained(rig: &Rig, url: &str) -> String {
    // The command asks in this way, but waits no longer than its time limit.
    let answer = control::ask(&rig.daemon.folder().join("control.sock"), &format!("explain {url}"), None).unwrap();
    let told = serde_json::from_str::<Value>(&answer).unwrap()["subject"].take();
    let does = told["route"]["does"].as_str().unwrap();
    assert_eq!(told["route"]["unless"], Value::Null, "{told}");
    match does.strip_prefix("goes to Service default/") {
        Some(service) => service.split(',').next().unwrap().to_owned(),
        None => does.strip_prefix("is answered ").unwrap()[..3].to_owned(),
    }
}

#[test]
fn explain_says_of_every_request_what_nginx_does() {
    rig::run(async |rig| {
        rig.serve(SERVICES);
        rig.manifests.write("gone.yaml", &[ingress("gone").host("gone-alias.test", "shop").build()]);
        let long = format!("/{}", "l".repeat(252));
        write(rig, &long);
        rig.start().await;
        get("http://gone-alias.test/").send_until("the host that goes", |reply| reply.status == 200).await;
        rig.manifests.remove("gone.yaml");
        get("http://gone-alias.test/").send_until("the host to be gone", |reply| reply.status == 404).await;
        let is_gone = |status: &Value| {
            status["ingresses"].as_array().is_some_and(|all| all.iter().all(|ingress| ingress["name"] != "gone"))
        };
        rig.daemon.status_when("the daemon to know that", is_gone).await;

        let mut wrong = Vec::new();
        for (url, expected) in ROWS {
            let url = url.replace("/LONG", &long);
            let told = explained(rig, &url);
            let nginx = rig.who(&get(&format!("http://{url}")).send().await);
            if told != *expected || nginx != *expected {
                wrong.push(format!("{url}: explain says {told}, nginx {nginx}, expected {expected}"));
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));

        let output = rig.daemon.command("explain").arg("kept-alias.test").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("reserved") && text.contains("`ingressd status --host kept-alias.test`"), "{text}");
    });
}
