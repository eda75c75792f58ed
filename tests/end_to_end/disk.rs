//! Folders that cannot be written: the served configuration stays, the status reports the error,
//! and changes are applied when there is room again.

use std::time::Instant;

use serde_json::Value;

use rig::client::get;
use rig::manifests::ingress;
use rig::mount::Mount;
use rig::status::{notes, serving};
use rig::{Rig, wait};

/// Changes fail while `broken`, with these words; a restart of the daemon changes nothing;
/// `mended` ends it.
async fn fails_and_recovers(rig: &mut Rig, broken: impl Fn(), words: &str, mended: impl Fn()) {
    rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
    rig.start().await;
    let generation = serving(&rig.daemon.status().await.unwrap());
    broken();
    rig.manifests.write("b.yaml", &[ingress("b").host("b.example", "web").build()]);
    for restarted in [false, true] {
        if restarted {
            rig.daemon.kill();
            rig.daemon.start();
        }
        // Ready is whether nginx serves the confirmed generation, which it does; the daemon has to
        // ask it first.
        let failed = |status: &Value| status["phase"] == "failed" && status["ready"] == true;
        let status = rig.daemon.status_when("the failure", failed).await;
        let found = notes(&status, "Host nginx", "WriteFailed");
        assert!(found.iter().any(|note| note.contains(words)), "{words} is not in {status}");
        let reply = rig.daemon.get("/readyz").await.unwrap();
        assert!(reply.status == 200 && reply.text().contains(words), "{}", reply.text());
        assert_eq!(get("http://a.example/").send().await.status, 200);
        assert_eq!(get("http://b.example/").send().await.status, 404);
        assert!(rig.nginx.test().0, "nginx would start");
    }
    mended();
    get("http://b.example/").send_until("the change", |reply| reply.status == 200).await;
    rig.daemon.ready().await;
    let status = rig.daemon.status().await.unwrap();
    assert_eq!(notes(&status, "Host nginx", "WriteFailed"), [""; 0]);
    assert!(serving(&status) > generation);
}

#[test]
fn a_full_disk_of_generations() {
    rig::run(async |rig| {
        let disk = Mount::memory(&rig.daemon.root(), 1 << 20);
        fails_and_recovers(rig, || disk.fill(), "free space there", || disk.empty()).await;
    });
}

#[test]
fn a_change_that_failed_at_first_has_waited_since_it_came() {
    rig::run(async |rig| {
        let folder = Mount::again(&rig.daemon.root());
        rig.start().await;
        const SECONDS: &str = "ingressd_change_to_serving_seconds_sum";
        let before = rig.daemon.metric(SECONDS).await;
        folder.set_read_only(true);
        rig.manifests.write("a.yaml", &[ingress("a").host("a.example", "web").build()]);
        rig.daemon.status_when("the failure", |status| status["phase"] == "failed").await;
        let began = Instant::now();
        // Each further attempt carries the same change.
        let attempts = async || rig.daemon.metric(r#"ingressd_reloads_total{reason="retry",result="failed"}"#).await;
        wait::until_right("another attempt", attempts, |count| *count >= 1.0).await;
        let waited = began.elapsed().as_secs_f64();
        folder.set_read_only(false);
        rig.daemon.confirmed("a").await;
        let counted = rig.daemon.metric(SECONDS).await - before;
        assert!(counted >= waited, "{counted} s of at least {waited} s");
    });
}

#[test]
fn a_full_disk_of_state() {
    rig::run(async |rig| {
        let disk = Mount::memory(&rig.daemon.state(), 1 << 20);
        fails_and_recovers(rig, || disk.fill(), "free space there", || disk.empty()).await;
    });
}

#[test]
fn a_read_only_folder_of_generations() {
    rig::run(async |rig| {
        let folder = Mount::again(&rig.daemon.root());
        let words = "mount it writable";
        fails_and_recovers(rig, || folder.set_read_only(true), words, || folder.set_read_only(false)).await;
    });
}

#[test]
fn a_read_only_folder_of_state() {
    rig::run(async |rig| {
        let folder = Mount::again(&rig.daemon.state());
        let words = "mount it writable";
        fails_and_recovers(rig, || folder.set_read_only(true), words, || folder.set_read_only(false)).await;
    });
}
