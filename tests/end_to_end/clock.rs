//! A wall clock that jumps while the daemon runs changes what it says of certificates and nothing else.

use crate::rig;
use crate::rig::client::get;
use crate::rig::clock::Clock;
use crate::rig::manifests::{ingress, secret};
use crate::rig::status::{serving, tells};

const YEAR: i64 = 365 * 24 * 3600;

/// A certificate that is valid from 2020 to 2035.
fn certificate() -> serde_json::Value {
    let mut parameters = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2035, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap().pem();
    secret("pair", "kubernetes.io/tls", &[("tls.crt", &certificate), ("tls.key", &key.serialize_pem())])
}

#[test]
fn changes_go_on_whatever_the_wall_clock_says() {
    rig::run(async |rig| {
        let clock = Clock::of(&mut rig.daemon);
        let host = ingress("a").host("a.example", "web").tls(&["a.example"], "pair");
        rig.manifests.write("a.yaml", &[host.annotation("ssl-redirect", "false").build(), certificate()]);
        rig.start().await;
        let mut generation = serving(&rig.daemon.status().await.unwrap()).unwrap();
        assert!(!tells(&rig.daemon.status().await.unwrap(), "Ingress a", "CertificateExpired"));
        for (round, (offset, expired)) in [(30 * YEAR, true), (-20 * YEAR, true), (0, false)].into_iter().enumerate() {
            clock.set_offset(offset);
            // Several in a row: what is paced by a wrong clock would wait for years.
            for change in 0..3 {
                let host = format!("{round}-{change}.example");
                rig.manifests.write("change.yaml", &[ingress("change").host(&host, "web").build()]);
                get(&format!("http://{host}/")).send_until(&host, |reply| reply.status == 200).await;
                generation += 1;
                let status =
                    rig.daemon.status_when("the generation", |status| serving(status) == Some(generation)).await;
                assert_eq!(tells(&status, "Ingress a", "CertificateExpired"), expired, "{offset}: {status}");
            }
            assert_eq!(rig.daemon.get("/healthz").await.unwrap().status, 200);
            let age = rig.daemon.status().await.unwrap()["data_age_seconds"].as_u64().unwrap();
            assert!(age < 3600, "the age of data is counted by another clock: {age}");
            assert_eq!(get("https://a.example/").send().await.peer.unwrap().names, ["a.example"]);
        }
    });
}
