//! Kept connections to backends: what a tenant's backend sends on them reaches no other namespace.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::alone::{apply, scenes, write_services};
use crate::scene::Scene;
use rig::backends::read_head;
use rig::client::{get, post, raw};
use rig::manifests::{Ingress, in_namespace, service_at};
use rig::wait;

/// The attacker's backend, and a pod of the victim's that the attacker's endpoints name, too.
const ODD: &str = "10.244.2.9";
const POD: &str = "10.244.1.9";
const PORT: u16 = 9000;

/// What the attacker's backend does with a connection, by the first part of the path.
const HABITS: &[&str] =
    &["slow", "closes", "half", "early", "more", "later", "continues", "switches", "huge", "nonsense", "both", "gone"];

/// Those of which a whole answer comes, behind which the client's connection goes on.
const WHOLE: &[&str] = &["closes", "early", "more", "later"];

/// What a client sends to its own host: the backend that does not read it takes it for a request.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: smuggled.test\r\nContent-Length: 0\r\n\r\n";

/// What came to a backend: the hosts that were asked for on each connection, and how many requests
/// there were.
#[derive(Debug, Default)]
struct Seen {
    connections: Vec<BTreeSet<String>>,
    requests: usize,
}

type Shared = Arc<Mutex<Seen>>;

async fn listen(address: &str, ends: &watch::Receiver<bool>) -> Shared {
    let (listener, seen) = (TcpListener::bind((address, PORT)).await.unwrap(), Shared::default());
    let (kept, ends) = (Arc::clone(&seen), ends.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(take(stream, Arc::clone(&kept), ends.clone()));
        }
    });
    seen
}

fn answer(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len())
}

/// Answers one request after the other.
async fn take(mut stream: TcpStream, seen: Shared, mut ends: watch::Receiver<bool>) {
    let place = {
        let mut seen = seen.lock().unwrap();
        seen.connections.push(BTreeSet::new());
        seen.connections.len() - 1
    };
    let mut bytes = Vec::new();
    loop {
        let Some(head) = read_head(&mut stream, &mut bytes).await else { return };
        let head = head.to_lowercase();
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
        {
            let mut seen = seen.lock().unwrap();
            seen.connections[place].extend(header("host: "));
            seen.requests += 1;
        }
        let habit = target.split('/').nth(1).unwrap_or_default();
        let length: usize = header("content-length: ").map_or(0, |length| length.parse().unwrap());
        while habit != "early" && bytes.len() < length {
            if stream.read_buf(&mut bytes).await.unwrap_or_default() == 0 {
                return;
            }
        }
        if habit != "early" {
            bytes.drain(..length);
        }
        let (own, evil) = (answer(&target), answer("evil"));
        let said = match habit {
            "slow" => {
                let _ = ends.wait_for(|ends| *ends).await;
                own
            }
            "half" => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nevil".to_owned(),
            "more" => format!("{own}{evil}{evil}"),
            "later" => {
                let _ = stream.write_all(own.as_bytes()).await;
                let _ = stream.flush().await;
                evil
            }
            "continues" => {
                format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </evil>\r\n\r\n{own}{evil}")
            }
            "switches" => {
                format!("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: evil\r\n\r\n{evil}")
            }
            "huge" => format!("HTTP/1.1 200 OK\r\nX-Evil: {}\r\nContent-Length: 0\r\n\r\n", "e".repeat(1 << 20)),
            "nonsense" => format!("evil\r\n\r\n{evil}"),
            "both" => format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n4\r\nevil\r\n0\r\n\r\n{evil}"
            ),
            "gone" => String::new(),
            _ => own,
        };
        let is_last = ["closes", "half", "gone"].contains(&habit);
        if stream.write_all(said.as_bytes()).await.is_err() || is_last {
            return;
        }
    }
}

/// Asks for one thing after the other on a connection that it keeps, and says what is wrong.
async fn ask(host: String, from: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut connection = None;
    for number in from..from + 5 {
        let target = format!("/fine/{number}");
        let request = get(&format!("http://{host}{target}"));
        let open = match &mut connection {
            Some(open) => open,
            none => none.insert(request.connect().await.unwrap()),
        };
        let reply = open.send(&request).await.unwrap();
        // One backend tells what it was asked for with much else.
        let said = reply.try_echo().map_or_else(|| reply.text(), |echo| echo.path);
        if (reply.status, &said) != (200, &target) {
            wrong.push(format!("{host}{target} got {}: {said}", reply.status));
        }
        if !open.is_open() {
            connection = None;
        }
    }
    wrong
}

/// A host of one side, which leads to its Service of the same name.
fn host(object: Ingress, scene: &Scene, name: &str, service: &str) -> Ingress {
    object.host(&scene.host(name), service)
}

#[test]
fn what_a_backend_does_with_kept_connections_is_in_nobody_elses_answers() {
    rig::run(async |rig| {
        let scenes = scenes("kept");
        write_services(rig, &scenes);
        let (release, ends) = watch::channel(false);
        let (odd, pod) = (listen(ODD, &ends).await, listen(POD, &ends).await);
        let services = scenes.iter().flat_map(|scene| {
            let at = |namespace: &str, name: &str, address: &str| {
                service_at(name, &[address], PORT).map(|object| in_namespace(namespace, object))
            };
            [at(&scene.victim, "pod", POD), at(&scene.evil, "pod", POD), at(&scene.evil, "odd", ODD)].concat()
        });
        rig.manifests.write("pods.yaml", &services.collect::<Vec<_>>());
        rig.start().await;
        let shops = scenes.iter().flat_map(|scene| {
            let shop = |name: &str, service: &str| host(scene.of_victim(name), scene, name, service).build();
            [shop("shop", "web"), shop("pod", "pod")]
        });
        apply(rig, "shops", shops.collect()).await;
        let attack = scenes.iter().flat_map(|scene| {
            let unbuffered = host(scene.of_evil("unbuffered"), scene, "unbuffered", "odd");
            let unbuffered =
                unbuffered.annotation("proxy-buffering", "off").annotation("proxy-request-buffering", "off");
            let own = |name: &str, service: &str| host(scene.of_evil(name), scene, name, service).build();
            [own("odd", "odd"), own("same", "pod"), unbuffered.build()]
        });
        apply(rig, "attack", attack.collect()).await;
        let workers = rig.nginx.settled_workers().await;

        let (mut wrong, mut number) = (Vec::new(), 0);
        for habit in HABITS {
            let before = odd.lock().unwrap().requests;
            let (mut attackers, mut clients) = (JoinSet::new(), JoinSet::new());
            for scene in &scenes {
                for name in ["odd", "unbuffered"] {
                    let url = format!("http://{}/{habit}/", scene.host(name));
                    for part in 0..2 {
                        attackers.spawn(get(&format!("{url}{part}")).try_send());
                        attackers.spawn(post(&format!("{url}{part}"), SMUGGLED).try_send());
                    }
                }
                attackers.spawn(get(&format!("http://{}/fine/evil", scene.host("same"))).try_send());
                for _ in 0..3 {
                    for name in ["shop", "pod"] {
                        clients.spawn(ask(scene.host(name), number));
                        number += 5;
                    }
                }
            }
            wrong.extend(clients.join_all().await.into_iter().flatten());
            let came = async || odd.lock().unwrap().requests - before;
            // nginx does not send again what it sent on a connection that was just closed.
            wait::until_right(&format!("what is asked of {habit}"), came, |came| *came >= 8).await;
            // The text comes once more behind it, also on the connection of the same client.
            for scene in &scenes {
                let [odd, pod, target] = [scene.host("odd"), scene.host("pod"), format!("/fine/after-{habit}")];
                if WHOLE.contains(habit) {
                    let first = format!("GET /{habit}/ HTTP/1.1\r\nHost: {odd}\r\n\r\n");
                    let second = format!("GET {target} HTTP/1.1\r\nHost: {pod}\r\nConnection: close\r\n\r\n");
                    let all = raw(([127, 0, 0, 1], 80).into(), (first + &second).as_bytes()).await;
                    let all = String::from_utf8_lossy(&all).into_owned();
                    if !all.ends_with(&format!("\r\n\r\n{target}")) {
                        wrong.push(format!("behind {habit}: {all}"));
                    }
                }
                for name in ["shop", "pod"] {
                    wrong.extend(ask(scene.host(name), number).await);
                    number += 5;
                }
            }
            // Those that get no answer are given up.
            if *habit == "slow" { attackers.detach_all() } else { attackers.shutdown().await }
        }
        release.send(true).unwrap();
        assert!(wrong.is_empty(), "{} wrong answers\n{}", wrong.len(), wrong.join("\n"));
        assert_eq!(rig.nginx.workers(), workers, "none of them ended");

        // No connection was used for two namespaces: neither where the attacker answers, nor where
        // both lead to the same pod.
        let victims: BTreeSet<_> = scenes.iter().flat_map(|scene| [scene.host("shop"), scene.host("pod")]).collect();
        let odd = odd.lock().unwrap();
        assert!(odd.connections.iter().all(|hosts| hosts.is_disjoint(&victims)), "{odd:?}");
        let pod = pod.lock().unwrap();
        assert!(pod.connections.iter().all(|hosts| hosts.len() <= 1), "{pod:?}");
        let of_evil = pod.connections.iter().filter(|hosts| hosts.is_disjoint(&victims) && !hosts.is_empty()).count();
        // The connections were kept.
        assert!(of_evil > 0 && pod.connections.len() * 2 < pod.requests, "{of_evil} of {pod:?}");
    });
}
