//! Where something other than an object makes nginx refuse the configuration, no object is told to
//! correct itself, and to mend the cause is enough.

use serde_json::Value;

use rig::Rig;
use rig::client::get;
use rig::manifests::{ingress, service_at};
use rig::status::{notes, quarantined, reports, serving};

use super::config_map::config_map;

async fn serves(urls: &[&str]) {
    for url in urls {
        get(&format!("http://{url}")).send_until(url, |reply| reply.status == 200).await;
    }
}

/// Two objects with this path.
fn objects(path: &str) -> Vec<Value> {
    let blameless = ingress("blameless").class("nginx").path("blameless.test", "Prefix", path, "web");
    let blameless = blameless.annotation("proxy-busy-buffers-size", "8k");
    vec![blameless.build(), ingress("other").class("nginx").path("other.test", "Prefix", path, "web").build()]
}

#[test]
fn a_line_of_the_host() {
    rig::run(async |rig| {
        rig.manifests.write("objects.yaml", &objects("/one"));
        rig.start().await;
        let path = rig.nginx.configuration();
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, before.replacen("http {", "http {\nproxy_buffer_size 1m;", 1)).unwrap();
        rig.manifests.write("objects.yaml", &objects("/two"));
        let failed = |status: &Value| reports(status, "Host nginx", "ReloadFailed");
        let status = rig.daemon.status_when("the fault of the host", failed).await;
        assert!(quarantined(&status).is_empty(), "{status}");
        let note = &notes(&status, "Host nginx", "ReloadFailed")[0];
        assert!(
            note.contains("nginx refuses the configuration of this node") && note.contains("busy_buffers"),
            "{note}"
        );
        serves(&["blameless.test/one", "other.test/one"]).await;
        std::fs::write(&path, before).unwrap();
        serves(&["blameless.test/two", "other.test/two"]).await;
        rig.daemon.status_when("no finding", |status| serving(status).is_some() && !failed(status)).await;
    });
}

#[test]
fn a_key_of_the_config_map() {
    rig::run(async |rig| {
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        // The ConfigMap and both objects change at once.
        let all = |path: &str, size: &str| [objects(path), vec![config_map(&[("proxy-buffer-size", size)])]].concat();
        rig.manifests.write("objects.yaml", &all("/one", "8k"));
        rig.start().await;
        rig.manifests.write("objects.yaml", &all("/two", "1m"));
        let reported = |status: &Value| serving(status).is_some() && quarantined(status) == ["ConfigMap controller"];
        rig.daemon.status_when("the ConfigMap in quarantine", reported).await;
        serves(&["blameless.test/two", "other.test/two"]).await;
        rig.manifests.write("objects.yaml", &all("/three", "4k"));
        serves(&["blameless.test/three", "other.test/three"]).await;
        rig.daemon.status_when("nobody in quarantine", |status| quarantined(status).is_empty()).await;
    });
}

/// What nobody here can see: a test fails while a file is there.
const WRAPPER: &str = r#"#!/bin/sh
if [ -e {prefix}/broken ] && grep -qs mark-two $(sed -n 's/^include "\(.*\)";$/\1/p' {state}/scratch/nginx.*.conf); then
    echo 'nginx: [emerg] library "x" is not there' >&2
    exit 1
fi
exec {nginx} "$@"
"#;

fn wrap(rig: &mut Rig) {
    rig.nginx.replace_program();
    rig.nginx.start();
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let script = WRAPPER.replace("{prefix}", &text(rig.nginx.prefix())).replace("{state}", &text(&rig.daemon.state()));
    rig.nginx.wrap_program(&script);
    rig.daemon.set("nginx.binary", &text(&rig.nginx.prefix().join("nginx")));
}

#[test]
fn what_cannot_be_seen_and_a_reload_of_the_settings_tries_all_again() {
    rig::run(async |rig| {
        wrap(rig);
        let broken = rig.nginx.prefix().join("broken");
        std::fs::write(&broken, "").unwrap();
        rig.manifests.write("web.yaml", &service_at("web", &["10.244.0.2"], rig::ECHO));
        let path = |path: &str| ingress("marked").class("nginx").path("marked.test", "Prefix", path, "web").build();
        rig.manifests.write("objects.yaml", &[path("/mark-one")]);
        rig.daemon.start();
        rig.daemon.ready().await;
        rig.manifests.write("objects.yaml", &[path("/mark-two")]);
        rig.daemon.status_when("the object in quarantine", |status| quarantined(status) == ["Ingress marked"]).await;
        serves(&["marked.test/mark-one"]).await;
        std::fs::remove_file(&broken).unwrap();
        assert!(rig.daemon.command("reload").status().unwrap().success());
        serves(&["marked.test/mark-two"]).await;
        rig.daemon.status_when("nobody in quarantine", |status| quarantined(status).is_empty()).await;
    });
}
