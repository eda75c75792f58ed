//! A bad object harms only itself; this test must not know how the culprit is found.

use serde_json::Value;

use crate::rig;
use crate::rig::client::get;
use crate::rig::manifests::ingress;

fn is_quarantined(status: &Value) -> bool {
    let findings = status["findings"].as_array();
    findings.is_some_and(|findings| findings.iter().any(|finding| finding["reason"] == "Quarantined"))
}

#[test]
fn the_last_good_version_is_served_while_others_change() {
    rig::run(async |rig| {
        rig.serve(&["one", "two"]);
        let regex = |path: &str| {
            let object = ingress("regex").class("nginx").annotation("use-regex", "true");
            [object.path("regex.test", "ImplementationSpecific", path, "one").build()]
        };
        rig.manifests.write("regex.yaml", &regex("/a(b)c"));
        rig.manifests.write("other.yaml", &[ingress("other").host("other.test", "one").build()]);
        rig.start().await;
        rig.expect([(get("http://regex.test/abc"), "one"), (get("http://other.test/"), "one")]).await;

        rig.manifests.write("regex.yaml", &regex("/a(bc"));
        let status = rig.daemon.status_when("the quarantine", is_quarantined).await;
        assert_eq!(status["phase"], "serving", "{status:#}");
        rig.manifests.write("other.yaml", &[ingress("other").host("other.test", "two").build()]);
        get("http://other.test/").send_until("the change of the other", |reply| rig.who(reply) == "two").await;
        rig.expect([(get("http://regex.test/abc"), "one")]).await;

        rig.daemon.kill();
        rig.daemon.start();
        rig.daemon.ready().await;
        rig.daemon.status_when("the quarantine after a restart", is_quarantined).await;
        rig.expect([(get("http://regex.test/abc"), "one"), (get("http://other.test/"), "two")]).await;

        rig.manifests.write("regex.yaml", &regex("/x(y)z"));
        get("http://regex.test/xyz").send_until("the mended object", |reply| rig.who(reply) == "one").await;
        rig.daemon.status_when("the end of the quarantine", |status| !is_quarantined(status)).await;
    });
}
