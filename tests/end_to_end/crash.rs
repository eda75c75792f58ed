//! The daemon killed between any two steps of applying: nginx has the old or the new generation,
//! and the next start goes on.

use ingressd_apply::Step;

use rig::client::get;
use rig::manifests::{ingress, service_at, tls_secret};
use rig::status::{quarantined, serving};
use rig::{ECHO, Rig, wait};

/// The variable that lets a debug build abort at a step.
const ABORT_AT: &str = "TEST_INGRESSD_ABORT_AT";

/// A state of the cluster that nginx can only serve as a whole: paths, backends and certificates
/// change together.
fn write_version(rig: &Rig, version: u8) {
    let backend = format!("backend-{version}");
    let mut objects: Vec<_> = ["a.example", "b.example"]
        .into_iter()
        .map(|host| {
            let object = ingress(host).host(host, "web").path(host, "Prefix", &format!("/version-{version}"), &backend);
            object.tls(&[host], &format!("pair-{version}")).annotation("ssl-redirect", "false").build()
        })
        .collect();
    objects.push(ingress("only").host(&format!("only-{version}.example"), "web").build());
    objects
        .push(tls_secret(&format!("pair-{version}"), &["a.example", "b.example", &format!("only-{version}.example")]));
    objects.extend(service_at(&backend, &[&format!("10.244.1.{version}")], ECHO));
    rig.manifests.write("version.yaml", &objects);
}

/// The version that is served, as each of its effects shows it.
async fn served_version(versions: &[u8]) -> u8 {
    let mut found = Vec::new();
    for version in versions {
        let mut seen = Vec::new();
        for host in ["a.example", "b.example"] {
            let reply = get(&format!("https://{host}/version-{version}")).send().await;
            assert_eq!(reply.status, 200, "{host} is always served");
            let names = reply.peer.clone().map(|peer| peer.names).unwrap_or_default();
            seen.push(names.contains(&format!("only-{version}.example")));
            seen.push(reply.echo().address.ip().to_string() == format!("10.244.1.{version}"));
        }
        seen.push(get(&format!("http://only-{version}.example/")).send().await.status == 200);
        assert!(seen.iter().all(|trait_of_it| *trait_of_it == seen[0]), "a mix of versions: {version} {seen:?}");
        found.extend(seen[0].then_some(*version));
    }
    assert_eq!(found.len(), 1, "exactly one version is served: {found:?}");
    found[0]
}

/// Starts the daemon and waits until it has killed itself.
async fn run_until(rig: &mut Rig, step: Step) {
    rig.daemon.set_variable(ABORT_AT, &step.to_string());
    rig.daemon.start();
    let status = rig.daemon.ended().await;
    assert!(!status.success(), "it is killed at {step}: {status}");
    rig.daemon.set_variable(ABORT_AT, "");
}

fn leftovers(rig: &Rig) -> Vec<String> {
    let names = |folder: &str| std::fs::read_dir(rig.daemon.root().join(folder)).unwrap();
    let all = names("").chain(names("generations")).map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // A daemon that runs has the folder of which it makes the next generation.
    let all = all.filter(|name| name != "spare.partial");
    all.filter(|name| name.ends_with(".partial") || name.ends_with(".next")).collect()
}

/// Every step that an undisturbed apply goes through.
const STEPS: [Step; 11] = [
    Step::FolderMade,
    Step::FileWritten,
    Step::FilesComplete,
    Step::ManifestWritten,
    Step::Staged,
    Step::Tested,
    Step::LinkMade,
    Step::Switched,
    Step::HungUp,
    Step::Confirmed,
    Step::Recorded,
];

#[test]
fn killed_at_any_step_of_the_first_generation() {
    rig::run(async |rig| {
        write_version(rig, 1);
        rig.nginx.start();
        for step in STEPS {
            run_until(rig, step).await;
            assert!(rig.nginx.test().0, "nginx would start after {step}");
        }
        rig.daemon.start();
        rig.daemon.ready().await;
        assert_eq!(served_version(&[1, 2]).await, 1);
        assert_eq!(leftovers(rig), [""; 0]);
    });
}

#[test]
fn killed_at_any_step_of_a_later_generation() {
    alternates(false);
}

#[test]
fn killed_at_any_step_and_nginx_is_restarted_before_the_daemon_is() {
    alternates(true);
}

/// Goes from one version to the other and back, and is killed each time at another step.
fn alternates(nginx_is_restarted: bool) {
    rig::run(async move |rig| {
        write_version(rig, 1);
        rig.start().await;
        rig.daemon.stop().await;
        let mut current = 1;
        for step in STEPS {
            let next = 3 - current;
            write_version(rig, next);
            let workers = rig.nginx.settled_workers().await;
            run_until(rig, step).await;
            if step == Step::HungUp {
                // nginx got the signal, and the test does not wait: workers of both generations
                // accept connections for a while.
                let replaced = |now: &Vec<_>| !now.iter().any(|worker| workers.contains(worker));
                wait::until_right("the old workers to end", async || rig.nginx.workers(), replaced).await;
            }
            let served = served_version(&[1, 2]).await;
            if step < Step::HungUp {
                assert_eq!(served, current, "nobody told nginx before {step}");
            }
            if step >= Step::HungUp {
                assert_eq!(served, next, "nginx took it at {step}");
            }
            if nginx_is_restarted {
                // The files on disk are complete, too.
                rig.nginx.restart().await;
                let from_disk = served_version(&[1, 2]).await;
                assert_eq!(from_disk, if step < Step::Switched { current } else { next }, "{step}");
            }
            rig.daemon.start();
            rig.daemon.ready().await;
            assert_eq!(served_version(&[1, 2]).await, next, "nothing is lost after {step}");
            assert_eq!(leftovers(rig), [""; 0], "{step}");
            assert!(rig.daemon.stop().await.success());
            current = next;
        }
    });
}

#[test]
fn what_nginx_took_right_before_the_end_is_good_at_the_next_start() {
    rig::run(async |rig| {
        write_version(rig, 1);
        rig.start().await;
        for step in [Step::HungUp, Step::Confirmed, Step::Recorded] {
            assert!(rig.daemon.stop().await.success());
            let name = step.to_string().to_lowercase();
            let host = format!("{name}.example");
            let object = |path: &str| {
                let object = ingress(&name).class("nginx").path(&host, "ImplementationSpecific", path, "web");
                [object.annotation("use-regex", "true").build()]
            };
            rig.manifests.write("fresh.yaml", &object("/works"));
            run_until(rig, step).await;
            let works = get(&format!("http://{host}/works"));
            works.send_until("nginx to take it", |reply| reply.status == 200).await;
            // Only the daemon that was killed has seen the good version.
            rig.manifests.write("fresh.yaml", &object("/works/a(?<=a+)"));
            rig.daemon.start();
            rig.daemon.ready().await;
            let status = rig.daemon.status().await.unwrap();
            assert_eq!(quarantined(&status), [format!("Ingress {name}")], "{step}");
            assert_eq!(get(&format!("http://{host}/works")).send().await.status, 200, "{step}");
        }
    });
}

#[test]
fn killed_while_it_goes_back_to_the_last_generation() {
    rig::run(async |rig| {
        write_version(rig, 1);
        rig.start().await;
        rig.daemon.stop().await;
        rig.nginx.write_site("other", "server { listen 8099; no_such_directive on; }");
        write_version(rig, 2);
        for step in [Step::HungUp, Step::SwitchedBack] {
            run_until(rig, step).await;
            assert_eq!(served_version(&[1, 2]).await, 1, "nginx refused the other");
        }
        rig.nginx.write_site("other", "server { listen 8099; }");
        rig.daemon.start();
        rig.daemon.ready().await;
        assert_eq!(served_version(&[1, 2]).await, 2);
        assert!(serving(&rig.daemon.status().await.unwrap()).is_some());
    });
}
