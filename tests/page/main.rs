//! The status page in a real browser: `make test-page`, because not everybody has Chromium.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use rig::client::{WebSocket, get};
use rig::manifests::{ingress, tls_secret};
use rig::{Rig, wait};

const PAGE: &str = "http://127.0.0.1:10254/";

/// Begins a browser of its own for one page. It runs in the network of the test, which reaches
/// nothing else.
fn begin(profile: &Path, arguments: &[&str], url: &str) -> Child {
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--hide-scrollbars"]);
    command.arg(format!("--user-data-dir={}", profile.display())).args(arguments).arg(url);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the package chromium is installed")
}

/// What a browser prints.
fn printed(browser: Child) -> String {
    let output = browser.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The file of a picture, which stays after the test.
fn picture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.png"))
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
fn each_view_has_a_picture_on_wide_and_narrow_screens() {
    rig::run(async |rig| {
        serve(rig, 200).await;
        let profile = rig.folder().join("chromium");
        for (name, arguments, query) in [
            ("light", &["--window-size=1280,1600"][..], ""),
            ("dark", &["--window-size=1280,1600", "--force-dark-mode"], ""),
            ("narrow", &["--window-size=360,2400"], ""),
            ("explained", &["--window-size=1280,1200"], "?search=shop&explain=http://shop.test/cart"),
        ] {
            let file = picture(name);
            let _ = fs::remove_file(&file);
            let shot = format!("--screenshot={}", file.display());
            printed(begin(&profile, &[arguments, &[&*shot]].concat(), &format!("{PAGE}{query}")));
            assert!(fs::read(&file).unwrap().starts_with(b"\x89PNG"), "{name}");
        }
    });
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

/// A page that stays open; the browser ends with it.
struct Open {
    browser: Child,
    tools: WebSocket,
}

impl Open {
    async fn begin(profile: &Path) -> Self {
        let browser = begin(profile, &["--remote-debugging-port=9222"], PAGE);
        let tools = wait::until("a page in the browser", async || {
            let list = get("http://127.0.0.1:9222/json").try_send().await.ok()?;
            let list: Value = serde_json::from_slice(&list.body).ok()?;
            let page = list.as_array()?.iter().find(|page| page["url"] == PAGE)?;
            let url = page["webSocketDebuggerUrl"].as_str()?.replacen("ws", "http", 1);
            get(&url).open_websocket().await.ok()
        });
        Open { tools: tools.await, browser }
    }

    /// What an expression is in the page now.
    async fn ask(&mut self, expression: &str) -> String {
        let request = json!({"id": 1, "method": "Runtime.evaluate", "params": {"expression": expression}});
        let answer: Value = serde_json::from_str(&self.tools.say(&request.to_string()).await.unwrap()).unwrap();
        answer["result"]["result"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the reader sees these words, or no longer does.
    async fn shows(&mut self, words: &str, expected: bool) {
        let what = format!("{words:?} on the page: {expected}");
        let page = tokio::sync::Mutex::new(self);
        wait::until(&what, async || {
            let text = page.lock().await.ask("document.body.innerText").await;
            (text.contains(words) == expected).then_some(())
        })
        .await;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
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
        page.ask("search.value = 'h1.test'; search.dispatchEvent(new Event('input')); ''").await;
        page.shows("1 host of 5 with", true).await;
        assert_eq!(page.ask("location.search").await, "?search=h1.test");
        let wide = "String(document.documentElement.scrollWidth <= innerWidth)";
        assert_eq!(page.ask(wide).await, "true", "nothing is cut off");
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
