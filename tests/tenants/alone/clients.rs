//! Clients, browsers on the node and local users.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::alone::{apply, scenes, write_services};
use crate::scene::{Dialect, Scene};
use rig::client::{get, raw};
use rig::wait;

/// Where the daemon and nginx tell what they know.
const ENDPOINTS: &[&str] = &[
    "http://localhost:10254/metrics",
    "http://localhost:10254/status.json",
    "http://localhost:10254/readyz",
    "http://localhost:10254/healthz",
    "http://localhost:10246/stub_status",
];

#[test]
fn only_names_of_this_host_are_answered() {
    rig::run(async |rig| {
        rig.start().await;
        for url in ENDPOINTS {
            for host in ["localhost", "127.0.0.1", "[::1]", "localhost:10254", "127.0.0.1:10246"] {
                let reply = get(url).header("host", host).send().await;
                assert_eq!(reply.status, 200, "{url} as {host}");
            }
            for host in ["evil.example", "evil.example:10254", "127.0.0.1.evil.example", "localhost.evil.example"] {
                let reply = get(url).header("host", host).send().await;
                assert!(reply.status >= 400, "{url} as {host}: {}", reply.text());
                assert!(!reply.text().contains("ingressd_"), "{url} as {host}");
                assert!(!reply.text().contains("Active connections"), "{url} as {host}");
            }
        }
        let reply = get("http://localhost:10246/stub_status").send().await;
        let server = reply.header("server").unwrap_or_default();
        assert!(!server.contains('/') && !server.contains(|character: char| character.is_ascii_digit()), "{server}");
    });
}

/// How many clients there are that never finish what they say.
const SLOW: usize = 300;

/// How many the daemon serves at once.
const MOST_AT_ONCE: usize = 64;

/// How long one that is only let go because it said nothing was heard.
const LONG: Duration = Duration::from_secs(4);

#[test]
fn slow_clients_keep_nobody_waiting() {
    rig::run(async |rig| {
        rig.start().await;
        let timed_out = Arc::new(AtomicBool::new(false));
        let ended = Arc::new(AtomicUsize::new(0));
        for _ in 0..SLOW {
            let (timed_out, ended) = (Arc::clone(&timed_out), Arc::clone(&ended));
            tokio::spawn(async move {
                let began = Instant::now();
                let Ok(mut stream) = TcpStream::connect("127.0.0.1:10254").await else { return };
                let _ = stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n").await;
                let _ = stream.read_to_end(&mut Vec::new()).await;
                if began.elapsed() > LONG {
                    timed_out.store(true, Ordering::Relaxed);
                }
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        // All of them are accepted when only as many are left as there may be at once.
        let are_accepted = async || (ended.load(Ordering::Relaxed) >= SLOW - MOST_AT_ONCE).then_some(());
        wait::until("the end of those that are too many", are_accepted).await;
        for _ in 0..3 {
            for path in ["/readyz", "/metrics"] {
                let reply = rig.daemon.get(path).await.expect("an answer");
                assert_eq!(reply.status, 200);
            }
        }
        assert!(!timed_out.load(Ordering::Relaxed), "it had to wait until others were given up");
    });
}

#[test]
fn the_socket_of_commands_is_for_root_in_every_folder() {
    rig::run(async |rig| {
        let folder = rig.folder().join("run");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        rig.daemon.set("control.socket", folder.join("control.sock").to_str().unwrap());
        rig.start().await;
        let mode = std::fs::metadata(folder.join("control.sock")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    });
}

#[test]
fn redirects_lead_to_hosts() {
    rig::run(async |rig| {
        rig.daemon.set("access.trusted-proxies", "[\"127.0.0.1\"]");
        let scenes = scenes("redirect");
        write_services(rig, &scenes);
        rig.start().await;
        let shop = |scene: &Scene| {
            let shop = scene.of_victim("shop").host(&scene.host("shop"), "web");
            shop.annotation("force-ssl-redirect", "true").build()
        };
        apply(rig, "shops", scenes.iter().map(shop).collect()).await;
        for scene in &scenes {
            let url = format!("http://{}/x", scene.host("shop"));
            let forwarded = get(&url).header("x-forwarded-host", "www.example.test").send().await;
            assert_eq!(forwarded.header("location"), Some("https://www.example.test/x"), "{scene}");
            for host in [
                "evil.test/path?",
                "user@evil.test",
                "a\"b",
                "evil.test\\@x",
                "evil.test#",
                "a b",
                "<script>",
                "%0d%0aX:y",
            ] {
                let reply = get(&url).header("x-forwarded-host", host).send().await;
                let location = reply.header("location").unwrap_or_default();
                let right = format!("https://{}/x", scene.host("shop"));
                assert!(reply.status == 400 || location == right, "{scene}: {host:?} leads to {location:?}");
            }
        }
    });
}

#[test]
fn strange_targets_reach_nothing_that_is_protected() {
    rig::run(async |rig| {
        let scenes = scenes("targets");
        write_services(rig, &scenes);
        rig.start().await;
        apply(rig, "shops", scenes.iter().flat_map(Scene::shop).collect()).await;
        for scene in &scenes {
            for target in ["/x#/../admin", "/admin#", "/#", "/x/..;/admin#x"] {
                let host = scene.host("shop");
                let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
                let answer = raw(([127, 0, 0, 1], 80).into(), request.as_bytes()).await;
                let answer = String::from_utf8_lossy(&answer).into_owned();
                let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
                assert!(!answer.contains("10.244.1.2"), "{scene}: {target}: {answer}");
                if scene.dialect == Dialect::Specification {
                    assert_eq!(status, "400", "{scene}: {target}");
                }
            }
        }
    });
}

/// What a client says by itself in front of what the trusted proxy says of it, and who gets an
/// answer from `/admin`.
const CHAINS: &[(&[(&str, &str)], &str)] = &[
    (&[("x-forwarded-for", "10.244.5.7")], "admin"),
    (&[("x-forwarded-for", "10.244.5.7, 192.0.2.66")], "403"),
    (&[("x-forwarded-for", "10.244.5.7"), ("x-forwarded-for", "192.0.2.66")], "403"),
    (&[("x-forwarded-for", "10.244.5.7, garbage")], "403"),
    (&[("x-forwarded-for", "10.244.5.7 192.0.2.66")], "403"),
    (&[("x-forwarded-for", "unix:")], "403"),
    (&[("x-forwarded-for", "192.0.2.66"), ("x-real-ip", "10.244.5.7"), ("forwarded", "for=10.244.5.7")], "403"),
    (&[("x-forwarded-for", "192.0.2.66"), ("x-original-forwarded-for", "10.244.5.7")], "403"),
    (&[("x-forwarded-for", "192.0.2.66"), ("true-client-ip", "10.244.5.7")], "403"),
    (&[("x-original-url", "/admin"), ("x-forwarded-for", "192.0.2.66"), ("x-forwarded-host", "own.test")], "403"),
];

#[test]
fn trusted_proxies_say_who_the_last_client_is_and_strangers_nothing() {
    rig::run(async |rig| {
        rig.daemon.set("access.trusted-proxies", "[\"10.244.9.0/24\"]");
        rig.daemon.set("access.append-forwarded-for", "true");
        let scenes = scenes("chains");
        write_services(rig, &scenes);
        rig.start().await;
        let evil = |scene: &Scene| scene.of_evil("own").host(&scene.host("own"), "web").build();
        let own = scenes.iter().map(evil);
        apply(rig, "shops", scenes.iter().flat_map(Scene::shop).chain(own).collect()).await;
        for scene in &scenes {
            let url = format!("http://{}/admin", scene.host("shop"));
            for (headers, expected) in CHAINS {
                for (from, expected) in [("10.244.9.9", *expected), ("10.244.2.1", "403")] {
                    let request = headers.iter().fold(get(&url), |request, (name, value)| request.header(name, value));
                    let reply = request.from(from).send().await;
                    assert_eq!(crate::asking::who(&reply), expected, "{scene}: {headers:?} from {from}");
                }
            }
            // The route is that of the host that was asked for, whatever a proxy says.
            let own = get(&format!("http://{}/admin", scene.host("own"))).from("10.244.9.9");
            let reply = own.header("x-forwarded-host", &scene.host("shop")).send().await;
            assert_eq!(crate::asking::who(&reply), "evil", "{scene}");
        }
    });
}
