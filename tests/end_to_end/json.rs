//! What commands print for programs is what docs/json.md says.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use ingressd::cli::schema::{self, Document};
use rig::Rig;
use rig::client::get;
use rig::load::Load;
use rig::manifests::{ingress, tls_secret};

fn document(title: &str) -> &'static Document {
    schema::of(title).unwrap_or_else(|| panic!("no document {title}"))
}

/// Compares what is printed with the page.
fn compare(title: &str, value: &Value) {
    let differences = Vec::from_iter(document(title).differences(value)).join("\n");
    assert!(differences.is_empty(), "{title}:\n{differences}\n{value:#}");
}

async fn printed(rig: &Rig, command: &str, arguments: &[&str]) -> Value {
    let mut process = rig.daemon.command(command);
    process.args(arguments);
    read(&tokio::task::spawn_blocking(move || process.output().unwrap()).await.unwrap())
}

fn read(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn every_command_prints_what_its_page_says() {
    rig::run(async |rig| {
        let regex = ingress("regex").class("nginx").path("shop.test", "ImplementationSpecific", "/a/[0-9]+", "web");
        let objects = [
            tls_secret("cert", &["shop.test"]),
            ingress("shop").host("shop.test", "web").tls(&["shop.test"], "cert").build(),
            regex.path("shop.test", "ImplementationSpecific", "/a/.*", "web").annotation("use-regex", "true").build(),
            ingress("away").host("away.test", "nobody").build(),
            ingress("refused").class("nginx").host("refused.test", "web").annotation("canary", "yes").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        rig.manifests.write("more.yaml", &[ingress("more").host("more.test", "web").build()]);
        rig.daemon.confirmed("more").await;
        let folder = rig.manifests.folder().to_str().unwrap().to_owned();
        let dump = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/migrate/dump.yaml");

        compare("ingressd status, /status.json", &rig.daemon.status().await.unwrap());
        for (title, command, arguments) in [
            ("ingressd status, /status.json", "status", &[][..]),
            ("ingressd status NAMESPACE/NAME", "status", &["default/shop"]),
            ("ingressd status NAMESPACE/NAME", "status", &["default/absent"]),
            ("ingressd status --host HOST", "status", &["--host", "shop.test"]),
            ("ingressd status --host HOST", "status", &["--host", "nobody.test"]),
            ("ingressd explain", "explain", &["http://shop.test/a/7"]),
            ("ingressd explain", "explain", &["http://shop.test/a/7", &folder]),
            ("ingressd explain", "explain", &["--send", "https://away.test/"]),
            ("ingressd explain", "explain", &["nobody.test/../x"]),
            ("ingressd diff", "diff", &[]),
            ("ingressd diff", "diff", &["--summary"]),
            ("ingressd diff --list", "diff", &["--list"]),
            ("ingressd check", "check", &[&folder]),
            ("ingressd doctor", "doctor", &[]),
        ] {
            compare(title, &printed(rig, command, &[arguments, &["--json"]].concat()).await);
        }
        let mut migrate = Command::new(rig::program());
        migrate.args(["migrate", "report", "--json", "--nginx-version", "1.22.1", "--config", "/dev/null"]).arg(dump);
        compare("ingressd migrate report", &read(&migrate.output().unwrap()));

        // Pinned and drained nodes say more.
        assert!(rig.daemon.command("rollback").output().unwrap().status.success());
        assert!(rig.daemon.command("drain").arg("--no-wait").output().unwrap().status.success());
        let both = |status: &Value| status["pinned"].is_object() && status["withdrawal"].is_object();
        let status = rig.daemon.status_when("both", both).await;
        compare("ingressd status, /status.json", &status);
        compare("ingressd diff --list", &printed(rig, "diff", &["--list", "--json"]).await);

        let load = Load::new(&[get("https://shop.test/")]).rates(50, 5).start();
        for by in ["host", "ingress", "service"] {
            let reported = printed(rig, "top", &["--once", "--interval", "3", "--by", by, "--json"]).await;
            compare("ingressd top", &reported);
            assert!(!reported["rows"].as_array().unwrap().is_empty(), "{reported}");
        }
        load.stop().await;
    });
}
