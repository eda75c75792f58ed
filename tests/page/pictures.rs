//! Pictures of each view, for whoever changes how the page looks, and those of the documentation.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::browser::{Open, Screen};
use rig::Rig;
use rig::client::get;
use rig::manifests::{ingress, tls_secret};

/// A picture: its name, the screen, the query, and the section at which it begins.
type View = (&'static str, Screen, &'static str, &'static str);

const LIGHT: Screen = Screen { width: 1200, height: 800, is_dark: false };

/// Those that the documentation shows are kept in docs/pictures.
const VIEWS: &[View] = &[
    ("status-page", LIGHT, "", ""),
    ("generations", Screen { height: 410, ..LIGHT }, "", "generations"),
    ("traffic", LIGHT, "", "traffic"),
    ("dark", Screen { is_dark: true, height: 1600, ..LIGHT }, "", ""),
    ("narrow", Screen { width: 360, height: 2400, is_dark: false }, "", ""),
    ("explained", LIGHT, "?search=shop&explain=https://shop.example.com/cart", ""),
];

const KEPT: &[&str] = &["status-page", "generations"];

/// A shop, as a small company has one.
fn objects() -> Vec<Value> {
    vec![
        tls_secret("shop-tls", &["shop.example.com"]),
        ingress("shop")
            .path("shop.example.com", "Exact", "/cart", "cart")
            .path("shop.example.com", "Prefix", "/api", "api")
            .host("shop.example.com", "web")
            .tls(&["shop.example.com"], "shop-tls")
            .annotation("proxy-read-timeout", "120")
            .class("nginx")
            .build(),
        ingress("wiki").host("wiki.example.com", "wiki").build(),
        ingress("api").path("api.example.com", "Prefix", "/v1", "api").build(),
    ]
}

/// Serves them over some changes, with some requests, and with one thing that is wrong.
async fn serve(rig: &mut Rig) {
    rig.serve(&["cart", "api", "wiki"]);
    rig.manifests.write("shop.yaml", &objects());
    rig.start().await;
    for (number, name) in (2..).zip(["docs", "status", "blog"]) {
        rig.manifests
            .write(&format!("{name}.yaml"), &[ingress(name).host(&format!("{name}.example.com"), "web").build()]);
        rig.daemon.status_when(name, |status| status["generation"] == number && status["ready"] == true).await;
    }
    rig.manifests.write("reports.yaml", &[ingress("reports").host("reports.example.com", "reports").build()]);
    rig.daemon.status_when("the fifth one", |status| status["generation"] == 5 && status["ready"] == true).await;
    let requests = [
        ("https://shop.example.com/", 9),
        ("https://shop.example.com/cart", 4),
        ("https://shop.example.com/api/orders", 6),
        ("http://wiki.example.com/", 3),
        ("http://reports.example.com/", 2),
    ];
    for (url, count) in requests {
        for _ in 0..count {
            get(url).send().await;
        }
    }
}

#[test]
fn each_view_has_a_picture_on_wide_and_narrow_screens() {
    rig::run(async |rig| {
        serve(rig).await;
        let mut page = Open::begin(&rig.folder().join("chromium")).await;
        page.shows("default/reports", true).await;
        // The last two requests are counted.
        page.shows("2 of them answered 5xx", true).await;
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (name, screen, query, section) in VIEWS {
            page.on(*screen).await;
            page.go(query).await;
            page.until("all is drawn", "document.documentElement.dataset.refreshed !== undefined").await;
            page.ask(&format!("(document.getElementById({section:?}) ?? document.body).scrollIntoView()")).await;
            let picture = page.picture().await;
            assert!(picture.starts_with(b"\x89PNG"), "{name}");
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{name}.png")), &picture).unwrap();
            if KEPT.contains(name) {
                assert!(picture.len() < 120_000, "{name} has {} bytes", picture.len());
                let kept = root.join(format!("docs/pictures/{name}.png"));
                match std::env::var_os("UPDATE") {
                    Some(_) => fs::write(&kept, &picture).unwrap(),
                    None => assert!(kept.exists(), "make {} with UPDATE=1", kept.display()),
                }
            }
        }
    });
}
