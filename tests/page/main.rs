//! The status page in a real browser: `make test-page`, because not everybody has Chromium.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod browser;
mod pictures;

use std::fs;
use std::process::Child;

use rig::Rig;
use rig::client::get;
use rig::manifests::{ingress, tls_secret};

use browser::{Open, PAGE, Screen, begin};

/// What a stranger could write in the place of a name, a value or a path. It is long, too.
const HOSTILE: &str = "\"'><script>hostile=1</script><img src=//evil.test/ onerror=hostile=2><svg onload=hostile=3>\
                       aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// What a browser prints.
fn printed(browser: Child) -> String {
    let output = browser.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

async fn serve(rig: &mut Rig, hosts: usize) {
    let mut objects = vec![
        tls_secret("cert", &["shop.test"]),
        ingress("shop")
            .path("shop.test", "Exact", "/cart", "web")
            .host("shop.test", "web")
            .tls(&["shop.test"], "cert")
            .build(),
        ingress("away").host("away.test", "nobody").build(),
        ingress("odd").host("<b>odd</b>.test", "web").build(),
    ];
    let host = |number: usize| ingress(&format!("h{number}")).host(&format!("h{number}.test"), "web").build();
    objects.extend((0..hosts).map(host));
    rig.manifests.write("objects.yaml", &objects);
    rig.start().await;
}

#[test]
fn tables_and_forms_need_no_script() {
    rig::run(async |rig| {
        serve(rig, 3).await;
        let profile = rig.folder().join("without-script");
        fs::create_dir_all(profile.join("Default")).unwrap();
        let preferences = r#"{"profile":{"default_content_setting_values":{"javascript":2}}}"#;
        fs::write(profile.join("Default/Preferences"), preferences).unwrap();
        let page = printed(begin(&profile, &["--dump-dom"], &format!("{PAGE}?search=h2&explain=shop.test/cart")));
        for words in ["1 host of ", "h2.test", "goes to Service default/web"] {
            assert!(page.contains(words), "{words}: {page}");
        }
    });
}

#[test]
fn an_open_page_follows_changes_over_a_restart_of_the_daemon() {
    rig::run(async |rig| {
        serve(rig, 3).await;
        let mut page = Open::begin(&rig.folder().join("chromium")).await;
        page.shows("h2.test", true).await;
        rig.manifests.write("late.yaml", &[ingress("late").host("late.test", "web").build()]);
        page.shows("late.test", true).await;
        rig.daemon.stop().await;
        page.shows("The daemon does not answer", true).await;
        rig.manifests.remove("late.yaml");
        rig.daemon.start();
        page.shows("The daemon does not answer", false).await;
        page.shows("late.test", false).await;
        // Searching needs no key but those of the words.
        page.ask("(search.value = 'h1.test', search.dispatchEvent(new Event('input')))").await;
        page.shows("1 host of 5 with", true).await;
        assert_eq!(page.ask("location.search").await, "?search=h1.test");
        assert_eq!(page.ask("document.documentElement.scrollWidth <= innerWidth").await, "true", "nothing is cut off");
    });
}

#[test]
fn five_thousand_hosts_are_a_small_page() {
    rig::run(async |rig| {
        serve(rig, 5000).await;
        let began = std::time::Instant::now();
        let reply = get(PAGE).send().await;
        println!("5000 hosts: {} bytes in {} ms", reply.body.len(), began.elapsed().as_millis());
        let began = std::time::Instant::now();
        let found = get(&format!("{PAGE}?search=h4321.test")).send().await;
        println!("a search in them: {} bytes in {} ms", found.body.len(), began.elapsed().as_millis());
        assert!(found.text().contains("1 host of 5002") && reply.body.len() < 200_000, "{}", reply.body.len());
    });
}

#[test]
fn what_strangers_write_is_never_executed_and_fits_on_a_narrow_screen() {
    rig::run(async |rig| {
        let objects = [
            ingress("path").path("a.test", "ImplementationSpecific", &format!("/{HOSTILE}"), "web").build(),
            ingress("host").host(HOSTILE, "web").build(),
            ingress("service").host("f.test", HOSTILE).build(),
            ingress("note").host("b.test", "web").annotation("proxy-read-timeout", HOSTILE).class("nginx").build(),
            ingress("secret").host("c.test", "web").tls(&["c.test"], HOSTILE).build(),
            ingress(HOSTILE).host("d.test", "web").build(),
            ingress("good").host("e.test", "web").build(),
        ];
        rig.manifests.write("hostile.yaml", &objects);
        rig.start().await;
        let mut page = Open::begin(&rig.folder().join("chromium")).await;
        page.on(Screen { width: 360, height: 800, is_dark: false }).await;
        let query: String = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
        for path in
            [String::new(), format!("?search={query}"), format!("?explain=a.test/{query}"), "reasons".to_owned()]
        {
            page.go(&path).await;
            is_harmless(&mut page, &path).await;
        }
        // What the script puts in place is as harmless as what the browser got first.
        page.go("").await;
        let late = ingress("late").host("late.test", "web").annotation("proxy-read-timeout", HOSTILE).class("nginx");
        rig.manifests.write("late.yaml", &[late.build()]);
        page.shows("late.test", true).await;
        is_harmless(&mut page, "after an update").await;
        page.shows("hostile=1", true).await;
    });
}

async fn is_harmless(page: &mut Open, what: &str) {
    // What is cut off where it is drawn later has no width before.
    page.ask("document.querySelectorAll('section').forEach((it) => it.style.contentVisibility = 'visible')").await;
    for (expression, expected) in [
        ("innerWidth", "360"),
        ("document.documentElement.scrollWidth <= innerWidth", "true"),
        ("typeof hostile", "undefined"),
        ("document.querySelectorAll('img, iframe, base, script:not([src=\"/page.js\"]), svg:not(.chart)').length", "0"),
        ("performance.getEntriesByType('resource').every((it) => it.name.startsWith(location.origin))", "true"),
    ] {
        assert_eq!(page.ask(expression).await, expected, "{what}: {expression}");
    }
}
