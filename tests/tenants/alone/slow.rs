//! Backends that never answer, and connections that nobody uses: how many of nginx's connections
//! one namespace takes, where the administrator limits it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

use crate::alone::{apply, scenes, write_services};
use crate::asking::who;
use crate::scene::Scene;
use rig::client::get;
use rig::manifests::{Ingress, in_namespace, service_at};
use rig::{Rig, wait};

/// The attacker's pods, and their port.
const SILENT: &str = "10.244.2.8";
const TOGETHER: &str = "10.244.2.9";
const PORT: u16 = 9443;

/// Connections of each of nginx's two workers, and requests of a namespace that are allowed.
const CONNECTIONS: usize = 512;
const ALLOWED: usize = 100;

/// Requests of each attacker. All of them would be more than both workers have connections for.
const REQUESTS: usize = 600;

/// Services of the attacker, and how many requests each gets at once.
const SERVICES: usize = 40;
const AT_ONCE: usize = 8;

/// nginx with few connections, the shops, and the attacker's Services.
async fn prepare(rig: &mut Rig, scenes: &[Scene], services: &[&str], pod: &str, asked: fn(&str, Ingress) -> Ingress) {
    let configuration = fs::read_to_string(rig.nginx.configuration()).unwrap();
    let few = configuration.replace("worker_connections 20480", &format!("worker_connections {CONNECTIONS}"));
    assert_ne!(few, configuration);
    fs::write(rig.nginx.configuration(), few).unwrap();
    rig.daemon.set("limits.requests-of-namespace", &ALLOWED.to_string());
    // None ends because the test takes long.
    rig.daemon.set("upstreams.keepalive-timeout", "1h");
    write_services(rig, scenes);
    rig.start().await;
    apply(rig, "shops", scenes.iter().flat_map(Scene::shop).collect()).await;
    let attack = |scene: &Scene| {
        let objects = services.iter().flat_map(|name| {
            let service = service_at(name, &[pod], PORT).map(|object| in_namespace(&scene.evil, object));
            let object = scene.of_evil(name).host(&scene.host(name), name);
            let object = object.annotation("proxy-read-timeout", "3600").annotation("ssl-redirect", "false");
            service.into_iter().chain([asked(name, object).build()]).collect::<Vec<_>>()
        });
        objects.collect::<Vec<_>>()
    };
    apply(rig, "attack", scenes.iter().flat_map(attack).collect()).await;
    rig.nginx.settled_workers().await;
}

/// Reads the head of a request; nothing when the connection has ended.
async fn head(stream: &mut TcpStream) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    Some(())
}

/// A pod that answers nothing, and tells of each request.
async fn silent() -> UnboundedReceiver<()> {
    let (report, seen) = unbounded_channel();
    let listener = TcpListener::bind((SILENT, PORT)).await.unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let report = report.clone();
            tokio::spawn(async move {
                if head(&mut stream).await.is_some() {
                    let _ = report.send(());
                }
                std::future::pending::<()>().await;
                drop(stream);
            });
        }
    });
    seen
}

/// A pod that answers so many requests together, and keeps connections; how many it has.
async fn together() -> Arc<AtomicUsize> {
    let (open, barrier) = (Arc::<AtomicUsize>::default(), Arc::new(Barrier::new(AT_ONCE)));
    let listener = TcpListener::bind((TOGETHER, PORT)).await.unwrap();
    let count = Arc::clone(&open);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (count, barrier) = (Arc::clone(&count), Arc::clone(&barrier));
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                while head(&mut stream).await.is_some() {
                    barrier.wait().await;
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
                }
                count.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    open
}

/// Sends a request over a connection of its own.
async fn send(host: &str) -> TcpStream {
    let mut stream = TcpStream::connect("127.0.0.1:80").await.unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// The first line of what nginx answers.
async fn answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

/// Sends so many requests, and counts those that a silent pod gets; all others are refused.
async fn came(host: &str, requests: usize, seen: &mut UnboundedReceiver<()>, open: &mut Vec<TcpStream>) -> usize {
    let mut came = 0;
    for _ in 0..requests {
        let mut stream = send(host).await;
        tokio::select! {
            _ = seen.recv() => came += 1,
            answer = answer(&mut stream) => assert!(answer.contains(" 503 "), "{answer:?}"),
        }
        open.push(stream);
    }
    came
}

async fn shops_are_served(scenes: &[Scene]) {
    for scene in scenes {
        for _ in 0..20 {
            let reply = get(&format!("http://{}/", scene.host("shop"))).try_send().await;
            assert_eq!(
                reply.map(|reply| who(&reply)).map_err(|why| why.to_string()),
                Ok("victim".to_owned()),
                "{scene}"
            );
        }
    }
}

#[test]
fn backends_that_never_answer_leave_connections_to_others() {
    rig::run(async |rig| {
        let scenes = scenes("silent");
        prepare(rig, &scenes, &["silent"], SILENT, |_, object| object).await;
        let mut seen = silent().await;
        let mut open = Vec::new();
        for scene in &scenes {
            let came = came(&scene.host("silent"), REQUESTS, &mut seen, &mut open).await;
            assert_eq!(came, ALLOWED, "{scene}");
            shops_are_served(&scenes).await;
        }
    });
}

#[test]
fn error_pages_that_never_come_leave_connections_to_others() {
    rig::run(async |rig| {
        let scenes = scenes("pages");
        // The first answers every client with an error page, before it counts the request. The
        // second has one for requests that are too many.
        let asked = |name: &str, object: Ingress| {
            let networks = (0..40).map(|number| format!("192.0.2.{number}")).chain(["127.0.0.1".to_owned()]);
            let denied = networks.collect::<Vec<_>>().join(",");
            let object = object.annotation("default-backend", "denied").annotation("custom-http-errors", "403,503");
            match name {
                "denied" => object.annotation("denylist-source-range", &denied),
                _ => object,
            }
        };
        prepare(rig, &scenes, &["denied", "over"], SILENT, asked).await;
        let mut seen = silent().await;
        let mut open = Vec::new();
        for scene in &scenes {
            for (name, expected) in [("denied", ALLOWED), ("over", 0)] {
                let came = came(&scene.host(name), 2 * ALLOWED, &mut seen, &mut open).await;
                assert_eq!(came, expected, "{scene}: {name}");
            }
            shops_are_served(&scenes).await;
        }
    });
}

#[test]
fn idle_connections_to_many_backends_leave_connections_to_others() {
    rig::run(async |rig| {
        let scenes = scenes("idle");
        let names: Vec<_> = (0..SERVICES).map(|number| format!("idle-{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        prepare(rig, &scenes, &names, TOGETHER, |_, object| object).await;
        let open = together().await;
        for scene in &scenes {
            for name in &names {
                let mut all = JoinSet::new();
                for _ in 0..AT_ONCE {
                    let host = scene.host(name);
                    all.spawn(async move { answer(&mut send(&host).await).await });
                }
                let answers = all.join_all().await;
                assert!(answers.iter().all(|answer| answer.contains(" 200 ")), "{answers:?}");
            }
        }
        // Both attackers, and each of two workers.
        let count = async || open.load(Ordering::SeqCst);
        wait::until_right("idle connections to be few", count, |count| *count <= 2 * 2 * ALLOWED).await;
        shops_are_served(&scenes).await;
    });
}
