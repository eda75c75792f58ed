//! A real Prometheus that scrapes a daemon, in the network of the test.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::client::get;
use super::wait;

/// Where it answers.
const API: &str = "127.0.0.1:19090";

/// It ends with this value.
pub struct Prometheus {
    process: Child,
}

impl Prometheus {
    /// Scrapes this address five times a second as the job `ingressd`, and judges the rules of
    /// this file as often. Its data and log are below the folder.
    pub async fn start(folder: &Path, target: &str, rules: &Path) -> Self {
        let configuration = format!(
            "rule_files: [{rules:?}]\nscrape_configs:\n- job_name: ingressd\n  static_configs: [{{targets: [{target:?}]}}]\n"
        );
        Self::start_with(folder, &configuration).await
    }

    /// The same with a configuration of what is scraped and judged.
    pub async fn start_with(folder: &Path, configuration: &str) -> Self {
        let folder = folder.join("prometheus");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("prometheus.yml");
        let often = "global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}\n";
        fs::write(&file, [often, configuration].concat()).unwrap();
        let log = File::create(folder.join("log")).unwrap();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={API}"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("prometheus is not installed: run `make test`, which installs it");
        let prometheus = Prometheus { process };
        let ready = async || {
            let reply = get(&format!("http://{API}/-/ready")).try_send().await.ok()?;
            (reply.status == 200).then_some(())
        };
        wait::until("a ready Prometheus", ready).await;
        prometheus
    }

    /// The response of its API to a path with a query, also an error.
    pub async fn ask(&self, path: &str) -> Value {
        let reply = get(&format!("http://{API}/api/v1/{path}")).send().await;
        let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("{path}: {}", reply.text()));
        assert!(reply.status == 200 && answer["status"] == "success", "{path}: {answer}");
        answer["data"].clone()
    }

    /// The series that an expression has now.
    pub async fn query(&self, expression: &str) -> Vec<Value> {
        let query: String = url::form_urlencoded::byte_serialize(expression.as_bytes()).collect();
        self.ask(&format!("query?query={query}")).await["result"].as_array().unwrap().clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
