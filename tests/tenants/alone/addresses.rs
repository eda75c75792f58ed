//! Backends whose address is the node itself, or that lead back to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::alone::{apply, scenes, write_services};
use crate::asking::check_reported;
use crate::row::reported;
use crate::scene::Scene;
use rig::ECHO;
use rig::client::get;
use rig::manifests::{in_namespace, service_at};
use rig::namespace::{add_interface, ip};

/// The node's address, where other sites and programs listen.
const NODE: &str = "198.51.100.7";

/// A site of the administrator's, for the node itself only.
const SITE: &str = "server { listen 198.51.100.7:8081; allow 198.51.100.7; deny all; return 200 secret; }\n";

/// A Service of the attacker's at an address, and a host for it.
fn leads_to(scene: &Scene, name: &str, address: &str, port: u16) -> Vec<Value> {
    let object = scene.of_evil(name).host(&scene.host(name), name).build();
    let service = service_at(name, &[address], port).map(|object| in_namespace(&scene.evil, object));
    service.into_iter().chain([object]).collect()
}

#[test]
fn the_node_is_no_backend() {
    rig::run(async |rig| {
        add_interface("node0");
        ip(&["address", "add", &format!("{NODE}/24"), "dev", "node0"]);
        rig.nginx.write_site("site", SITE);
        let scenes = scenes("own");
        write_services(rig, &scenes);
        rig.start().await;
        let ports = [("echo", ECHO), ("site", 8081), ("http", 80), ("status", 10246)];
        let attack = scenes.iter().flat_map(|scene| ports.map(|(name, port)| leads_to(scene, name, NODE, port)));
        let status = apply(rig, "attack", attack.flatten().collect()).await;
        for scene in &scenes {
            for (name, port) in ports {
                let reply = get(&format!("http://{}/", scene.host(name))).send().await;
                assert_eq!(reply.status, 503, "port {port}: {}", reply.text());
            }
            let wrong = check_reported(&reported("Ingress site", &["ForbiddenTarget"]), scene, &status);
            assert_eq!(wrong, None);
        }
    });
}

#[test]
fn the_administrator_lists_what_is_a_backend_on_the_node() {
    rig::run(async |rig| {
        add_interface("node0");
        ip(&["address", "add", &format!("{NODE}/24"), "dev", "node0"]);
        rig.daemon.set("upstreams.own-addresses", &format!("[\"{NODE}:{ECHO}\"]"));
        let scenes = scenes("listed");
        write_services(rig, &scenes);
        rig.start().await;
        let objects = scenes.iter().flat_map(|scene| leads_to(scene, "echo", NODE, ECHO)).collect();
        apply(rig, "listed", objects).await;
        for scene in &scenes {
            let answer = get(&format!("http://{}/", scene.host("echo"))).send().await.echo();
            assert_eq!(answer.address.to_string(), format!("{NODE}:{ECHO}"));
        }
    });
}

/// Most rounds that a request makes through a backend that sends it back: a few.
const MOST_ROUNDS: usize = 20;

/// The round at which the backend itself ends it, if nginx does not.
const MANY_ROUNDS: usize = 60;

#[test]
fn a_request_that_comes_back_goes_no_further() {
    rig::run(async |rig| {
        let scenes = scenes("relay");
        write_services(rig, &scenes);
        let listener = TcpListener::bind(("10.244.9.9", 9000)).await.unwrap();
        let rounds = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&rounds);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let round = counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(relay(stream, round));
            }
        });
        rig.start().await;
        let attack = scenes.iter().flat_map(|scene| leads_to(scene, "relay", "10.244.9.9", 9000)).collect();
        apply(rig, "attack", attack).await;
        for scene in &scenes {
            rounds.store(0, Ordering::Relaxed);
            let reply = get(&format!("http://{}/", scene.host("relay"))).send().await;
            let rounds = rounds.load(Ordering::Relaxed);
            assert!((1..=MOST_ROUNDS).contains(&rounds), "{scene}: {rounds} rounds, and {}", reply.status);
            assert!(reply.status >= 400, "{}", reply.status);
        }
        // Hosts that come later are served: only the request that came back is refused.
        let web = scenes.iter().map(|scene| scene.of_victim("shop").host(&scene.host("shop"), "web").build()).collect();
        apply(rig, "shops", web).await;
        for scene in &scenes {
            assert_eq!(get(&format!("http://{}/", scene.host("shop"))).send().await.status, 200);
        }
    });
}

/// Sends a request back to nginx as it came, but for how long the connection lasts.
async fn relay(mut stream: TcpStream, round: usize) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
    if round < MANY_ROUNDS {
        let head = String::from_utf8(head).unwrap();
        let lines = head.trim_end().lines().filter(|line| !line.to_lowercase().starts_with("connection:"));
        let request = lines.chain(["Connection: close", "", ""]).collect::<Vec<_>>().join("\r\n");
        let mut nginx = TcpStream::connect("127.0.0.1:80").await.unwrap();
        nginx.write_all(request.as_bytes()).await.unwrap();
        answer.clear();
        let _ = nginx.read_to_end(&mut answer).await;
    }
    let _ = stream.write_all(&answer).await;
}
