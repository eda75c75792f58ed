//! The memory of nginx's workers for the request bodies of one tenant.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::alone::{apply, scenes, write_services};
use crate::asking::check_reported;
use crate::row::reported;
use crate::scene::Scene;
use crate::weigh::kibibytes;
use rig::client::get;
use rig::manifests::{in_namespace, service_at};
use rig::{Rig, wait};

/// A backend with large responses.
const BACKEND: (&str, u16) = ("10.244.2.9", 9000);

/// Requests of each sort that are under way in each namespace, and how long their bodies are.
const REQUESTS: usize = 8;
const BODY: usize = 8 << 20;

/// What two namespaces may take with that many, in KiB: 48 MiB by the ceilings, which are 1 MiB of
/// a body and 2 MiB of an answer, and some for what is around them. Without ceilings it is most of
/// 256 MiB.
const MOST: u64 = 80 << 10;

/// Reads the head of each request, and writes an answer of [`BODY`] bytes.
async fn answer(listener: TcpListener, written: Arc<AtomicUsize>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let written = Arc::clone(&written);
        tokio::spawn(async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => return,
                }
            }
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n{}", "x".repeat(BODY));
            if stream.write_all(answer.as_bytes()).await.is_ok() {
                written.fetch_add(1, Ordering::Relaxed);
                // The connection stays open.
                let _ = stream.read_u8().await;
            }
        });
    }
}

/// Bytes in sockets of these ports that are not read yet, without those on the side of clients.
fn unread(ports: &[u16]) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let port = |address: &str| number(address.split_once(':').unwrap().1);
    let lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let queues = lines.filter_map(|words| {
        let (local, remote) = (port(words[1]), port(words[2]));
        let (sent, received) = words[4].split_once(':').unwrap();
        let is_end = |port: u64| ports.iter().any(|known| u64::from(*known) == port);
        // What nginx sends to clients who read nothing stays.
        match (is_end(local), is_end(remote)) {
            (true, _) if local == 80 => Some(number(received)),
            (_, true) if remote == 80 => Some(number(sent)),
            (true, _) | (_, true) => Some(number(sent) + number(received)),
            _ => None,
        }
    });
    queues.sum()
}

/// Memory of the workers that is theirs, in KiB.
fn memory(rig: &Rig) -> u64 {
    rig.nginx.workers().into_iter().filter_map(|pid| kibibytes(pid, "smaps_rollup", "Pss:")).sum()
}

#[test]
fn bodies_on_their_way_take_no_more_memory_than_the_ceilings() {
    rig::run(async |rig| {
        let scenes = scenes("bodies");
        write_services(rig, &scenes);
        let written = Arc::<AtomicUsize>::default();
        let backend = tokio::spawn(answer(TcpListener::bind(BACKEND).await.unwrap(), Arc::clone(&written)));
        rig.start().await;
        apply(rig, "shops", scenes.iter().flat_map(Scene::shop).collect()).await;
        let attack = |scene: &Scene| {
            let large = scene.of_evil("large").host(&scene.host("large"), "large");
            let large = [
                ("client-body-buffer-size", "1g"),
                ("proxy-body-size", "0"),
                ("proxy-buffering", "on"),
                ("proxy-buffers-number", "10000"),
                ("proxy-buffer-size", "64k"),
            ]
            .iter()
            .fold(large, |large, (key, value)| large.annotation(key, value));
            let service = service_at("large", &[BACKEND.0], BACKEND.1);
            service
                .map(|object| in_namespace(&scene.evil, object))
                .into_iter()
                .chain([large.build()])
                .collect::<Vec<_>>()
        };
        let status = apply(rig, "attack", scenes.iter().flat_map(attack).collect()).await;
        for scene in &scenes {
            assert_eq!(check_reported(&reported("Ingress large", &["AboveCeiling"]), scene, &status), None);
        }
        rig.nginx.settled_workers().await;
        let alone = memory(rig);

        let mut open = Vec::new();
        for scene in &scenes {
            for _ in 0..REQUESTS {
                let host = scene.host("large");
                let mut stream = TcpStream::connect("127.0.0.1:80").await.unwrap();
                stream.write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
                open.push(stream);
                let mut stream = TcpStream::connect("127.0.0.1:80").await.unwrap();
                let head = format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: {BODY}\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                // The last byte never comes.
                stream.write_all(&vec![b'x'; BODY - 1]).await.unwrap();
                open.push(stream);
            }
        }
        let answered = async || written.load(Ordering::Relaxed);
        wait::until_right("answers that nginx has", answered, |count| *count == scenes.len() * REQUESTS).await;
        wait::until_right("nginx to have all", async || unread(&[80, BACKEND.1]), |bytes| *bytes == 0).await;
        let during = memory(rig);
        println!("workers: {alone} KiB alone, {during} KiB with {} bodies", open.len());
        assert!(during < alone + MOST, "{alone} KiB became {during}");
        for scene in &scenes {
            assert_eq!(get(&format!("http://{}/", scene.host("shop"))).send().await.status, 200);
        }
        backend.abort();
    });
}
