//! A wall clock that jumps while the daemon runs changes what it says of certificates and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::rig::client::get;
use crate::rig::manifests::{ingress, secret};
use crate::rig::status::{serving, tells};
use crate::rig::{self, Rig};

/// Adds the number of seconds in the file `CLOCK_OFFSET` to the wall clock of the process that loads this.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    char text[32] = {0};
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length > 0 ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += offset();
    return result;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec precise;
    (void) zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}
"#;

const YEAR: i64 = 365 * 24 * 3600;

/// Compiles the shim with the compiler that Rust links with anyway.
fn compile(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, SHIM).unwrap();
    let output = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").output();
    let output = output.unwrap_or_else(|error| panic!("cc, which Rust needs too, does not run: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

/// A certificate that is valid from 2020 to 2035.
fn certificate() -> serde_json::Value {
    let mut parameters = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2035, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap().pem();
    secret("pair", "kubernetes.io/tls", &[("tls.crt", &certificate), ("tls.key", &key.serialize_pem())])
}

/// Sets how far the daemon's clock is off, in one step.
fn set_offset(rig: &Rig, seconds: i64) {
    let next = rig.folder().join("offset.next");
    fs::write(&next, seconds.to_string()).unwrap();
    fs::rename(next, rig.folder().join("offset")).unwrap();
}

#[test]
fn changes_go_on_whatever_the_wall_clock_says() {
    rig::run(async |rig| {
        let library = compile(rig.folder());
        set_offset(rig, 0);
        rig.daemon.set_variable("LD_PRELOAD", library.to_str().unwrap());
        rig.daemon.set_variable("CLOCK_OFFSET", rig.folder().join("offset").to_str().unwrap());
        let host = ingress("a").host("a.example", "web").tls(&["a.example"], "pair");
        rig.manifests.write("a.yaml", &[host.annotation("ssl-redirect", "false").build(), certificate()]);
        rig.start().await;
        let mut generation = serving(&rig.daemon.status().await.unwrap()).unwrap();
        assert!(!tells(&rig.daemon.status().await.unwrap(), "Ingress a", "CertificateExpired"));
        for (round, (offset, expired)) in [(30 * YEAR, true), (-20 * YEAR, true), (0, false)].into_iter().enumerate() {
            set_offset(rig, offset);
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
