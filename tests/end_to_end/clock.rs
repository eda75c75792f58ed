//! A wall clock that jumps while the daemon runs changes what it says of certificates and nothing
//! else.

use rig::client::get;
use rig::clock::Clock;
use rig::manifests::{ingress, secret};
use rig::status::{reports, serving};
use std::time::{Duration, SystemTime};

const YEAR: i64 = 365 * 24 * 3600;

/// A certificate that is valid from 2020 to 2035.
fn certificate() -> serde_json::Value {
    certificate_of(|parameters| {
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(2035, 1, 1);
    })
}

fn certificate_of(change: impl FnOnce(&mut rcgen::CertificateParams)) -> serde_json::Value {
    let mut parameters = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    change(&mut parameters);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap().pem();
    secret("pair", "kubernetes.io/tls", &[("tls.crt", &certificate), ("tls.key", &key.serialize_pem())])
}

#[test]
fn changes_go_on_when_the_wall_clock_is_moved() {
    rig::run(async |rig| {
        let clock = Clock::of(&mut rig.daemon);
        let host = ingress("a").host("a.example", "web").tls(&["a.example"], "pair");
        rig.manifests.write("a.yaml", &[host.annotation("ssl-redirect", "false").build(), certificate()]);
        rig.start().await;
        let mut generation = serving(&rig.daemon.status().await.unwrap()).unwrap();
        assert!(!reports(&rig.daemon.status().await.unwrap(), "Ingress a", "CertificateExpired"));
        for (round, (offset, reason)) in
            [(30 * YEAR, "CertificateExpired"), (-20 * YEAR, "CertificateNotYetValid"), (0, "")].into_iter().enumerate()
        {
            clock.set_offset(offset);
            // Several changes come in a row: if they were paced by a wrong clock, they would wait
            // for years.
            for change in 0..3 {
                let host = format!("{round}-{change}.example");
                rig.manifests.write("change.yaml", &[ingress("change").host(&host, "web").build()]);
                get(&format!("http://{host}/")).send_until(&host, |reply| reply.status == 200).await;
                generation += 1;
                let status =
                    rig.daemon.status_when("the generation", |status| serving(status) == Some(generation)).await;
                for possible in ["CertificateExpired", "CertificateNotYetValid"] {
                    assert_eq!(reports(&status, "Ingress a", possible), possible == reason, "{offset}: {status}");
                }
            }
            assert_eq!(rig.daemon.get("/healthz").await.unwrap().status, 200);
            let age = rig.daemon.status().await.unwrap()["data_age_seconds"].as_u64().unwrap();
            assert!(age < 3600, "the age of data is counted by another clock: {age}");
            assert_eq!(get("https://a.example/").send().await.peer.unwrap().names, ["a.example"]);
        }
    });
}

#[test]
fn a_certificate_that_ends_is_reported_although_nothing_changes() {
    rig::run(async |rig| {
        // It ends soon after nginx serves it.
        let now = SystemTime::now();
        let certificate = certificate_of(|parameters| {
            parameters.not_before = (now - Duration::from_secs(3600)).into();
            parameters.not_after = (now + Duration::from_secs(4)).into();
        });
        rig.manifests
            .write("a.yaml", &[ingress("a").host("a.example", "web").tls(&["a.example"], "pair").build(), certificate]);
        rig.start().await;
        let before = rig
            .daemon
            .status_when("what it says before", |status| reports(status, "Ingress a", "CertificateEnding"))
            .await;
        let after =
            rig.daemon.status_when("the end", |status| reports(status, "Ingress a", "CertificateExpired")).await;
        assert!(!reports(&after, "Ingress a", "CertificateEnding"), "{after}");
        assert_eq!(serving(&before), serving(&after), "nothing is reloaded for it");
    });
}
