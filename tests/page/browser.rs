//! A headless Chromium of a test, and one page that stays open in it.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use rig::client::{WebSocket, get};
use rig::wait;

/// The status page of the test's daemon.
pub const PAGE: &str = "http://127.0.0.1:10254/";

/// Begins a browser of its own for one page. It runs in the network of the test, which reaches
/// nothing else.
pub fn begin(profile: &Path, arguments: &[&str], url: &str) -> Child {
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

/// What a screen is like.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    pub width: u32,
    pub height: u32,
    pub is_dark: bool,
}

/// A page that stays open; the browser ends with it.
pub struct Open {
    browser: Child,
    tools: WebSocket,
}

impl Open {
    pub async fn begin(profile: &Path) -> Self {
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

    async fn send(&mut self, method: &str, parameters: Value) -> Value {
        let request = json!({"id": 1, "method": method, "params": parameters});
        serde_json::from_str(&self.tools.say(&request.to_string()).await.unwrap()).unwrap()
    }

    /// What the browser answers to a command of its protocol.
    pub async fn report(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.send(method, parameters).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// What an expression is in the page now, as text; nothing while there is no page yet.
    pub async fn ask(&mut self, expression: &str) -> String {
        let answer = self.send("Runtime.evaluate", json!({"expression": format!("String({expression})")})).await;
        answer["result"]["result"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true in the page.
    pub async fn until(&mut self, what: &str, expression: &str) {
        let page = tokio::sync::Mutex::new(self);
        wait::until(what, async || (page.lock().await.ask(expression).await == "true").then_some(())).await;
    }

    /// Waits until the reader finds these words, or no longer does. What is not on the screen and
    /// was never drawn has no visible text.
    pub async fn shows(&mut self, words: &str, expected: bool) {
        let what = format!("{words:?} on the page: {expected}");
        let text = "(document.body.innerText + document.querySelector('main').textContent)";
        self.until(&what, &format!("{text}.includes({words:?}) === {expected}")).await;
    }

    /// Shows another page of the daemon, all of it.
    pub async fn go(&mut self, path: &str) {
        let url = format!("{PAGE}{path}");
        self.report("Page.navigate", json!({"url": url})).await;
        let is_there = format!("location.href === {url:?} && document.readyState === 'complete'");
        self.until("the page", &is_there).await;
    }

    /// Looks at the page on another screen.
    pub async fn on(&mut self, screen: Screen) {
        let Screen { width, height, is_dark } = screen;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.report("Emulation.setDeviceMetricsOverride", metrics).await;
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.report("Emulation.setEmulatedMedia", features).await;
    }

    /// The picture of what is on the screen, as PNG.
    pub async fn picture(&mut self) -> Vec<u8> {
        let answer = self.report("Page.captureScreenshot", json!({"format": "png"})).await;
        BASE64_STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
