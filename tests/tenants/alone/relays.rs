//! Pods that relay connections back to the node: TCP and TLS have nothing that counts hops.

use std::fs;

use tokio::io::{AsyncReadExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::alone::{apply, config_map, scenes, write_services};
use crate::asking::who;
use crate::scene::Scene;
use rig::client::get;
use rig::manifests::{in_namespace, service_at, tls_secret};
use rig::{Rig, wait};

/// The attacker's pod, and the port on which it relays.
const POD: &str = "10.244.2.9";
const PORT: u16 = 9443;

/// Connections of each worker of nginx.
const CONNECTIONS: usize = 512;

/// How often the attacker begins anew, so that no worker is left out.
const ATTEMPTS: usize = 24;

/// Hosts that the attacker has passed through.
const HOSTS: &[&str] = &["one", "two", "three", "four"];

/// Connections with which the attacker may have filled nothing.
const FEW: usize = 16;

/// How often the shop is asked for by each scheme.
const REQUESTS: usize = 40;

/// What a relay saw: a connection that came, or the end of one that it opened.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Came,
    Ended,
}

/// Relays every connection to a port of the node, and keeps it when it ends there.
async fn relay_to(port: u16) -> (UnboundedSender<Seen>, UnboundedReceiver<Seen>) {
    let (report, seen) = unbounded_channel();
    let listener = TcpListener::bind((POD, PORT)).await.unwrap();
    let reported = report.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = reported.send(Seen::Came);
            let reported = reported.clone();
            tokio::spawn(async move {
                if let Ok(mut node) = TcpStream::connect(("127.0.0.1", port)).await {
                    let _ = copy_bidirectional(&mut stream, &mut node).await;
                }
                let _ = reported.send(Seen::Ended);
                std::future::pending::<()>().await;
                drop(stream);
            });
        }
    });
    (report, seen)
}

/// nginx with few connections, the shop with TLS, and the attacker's Service.
async fn prepare(rig: &mut Rig, scenes: &[Scene]) {
    let configuration = fs::read_to_string(rig.nginx.configuration()).unwrap();
    let few = configuration.replace("worker_connections 20480", &format!("worker_connections {CONNECTIONS}"));
    assert_ne!(few, configuration);
    fs::write(rig.nginx.configuration(), few).unwrap();
    rig.nginx.serve_streams(&rig.daemon.root());
    write_services(rig, scenes);
    let relays = scenes.iter().flat_map(|scene| {
        service_at("relay", &[POD], PORT).map(|object| in_namespace(&scene.evil, object)).into_iter()
    });
    rig.manifests.write("relays.yaml", &relays.collect::<Vec<_>>());
    rig.start().await;
    let shops = scenes.iter().flat_map(|scene| {
        let host = scene.host("shop");
        let shop = scene.of_victim("shop").host(&host, "web").tls(&[&host], "pair").annotation("ssl-redirect", "false");
        [in_namespace(&scene.victim, tls_secret("pair", &[&host])), shop.build()]
    });
    apply(rig, "shops", shops.collect()).await;
}

/// Begins one loop after the other, waits for the end of each, and asks the shops meanwhile.
async fn attack<F: Future<Output = ()> + Send + 'static>(
    scenes: &[Scene],
    (report, mut seen): (UnboundedSender<Seen>, UnboundedReceiver<Seen>),
    begin: impl Fn(usize) -> F,
) {
    let (mut open, mut came) = (JoinSet::new(), 0);
    for attempt in 0..ATTEMPTS {
        let (begun, report) = (begin(attempt), report.clone());
        open.spawn(async move {
            begun.await;
            let _ = report.send(Seen::Ended);
        });
        while tokio::time::timeout(wait::LIMIT, seen.recv()).await.expect("the end of the loop") == Some(Seen::Came) {
            came += 1;
        }
    }
    println!("{came} connections came to the relay");
    assert!(came > FEW, "{came} connections are no loop");
    let mut wrong = Vec::new();
    for scene in scenes {
        for url in ["http", "https"].map(|scheme| format!("{scheme}://{}/", scene.host("shop"))) {
            for _ in 0..REQUESTS {
                match get(&url).try_send().await {
                    Ok(reply) if who(&reply) == "victim" => {}
                    Ok(reply) => wrong.push(format!("{url}: {}", reply.status)),
                    Err(failure) => wrong.push(format!("{url}: {failure}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong answers\n{}", wrong.len(), wrong.join("\n"));
    open.shutdown().await;
}

#[test]
fn a_host_that_is_passed_through_to_the_node_itself_leaves_connections_to_others() {
    rig::run(async |rig| {
        rig.daemon.set("tls.passthrough", "true");
        let scenes = scenes("passing-loop");
        prepare(rig, &scenes).await;
        // Several hosts of a namespace have no more than one.
        let hosts: Vec<_> = HOSTS.iter().map(|name| scenes[0].host(name)).collect();
        let passing = scenes.iter().flat_map(|scene| {
            HOSTS.iter().map(|name| {
                scene.of_evil(name).host(&scene.host(name), "relay").annotation("ssl-passthrough", "true").build()
            })
        });
        apply(rig, "passing", passing.collect()).await;
        let begin = |attempt: usize| {
            let url = format!("https://{}/", hosts[attempt % hosts.len()]);
            async move {
                let _ = get(&url).try_send().await;
            }
        };
        attack(&scenes, relay_to(443).await, begin).await;
    });
}

#[test]
fn a_tcp_service_that_leads_to_its_own_port_leaves_connections_to_others() {
    rig::run(async |rig| {
        rig.daemon.set("ingress-nginx.tcp-services-configmap", "default/tcp");
        let scenes = scenes("tcp-loop");
        let entry = format!("{}/relay:80", scenes[0].evil);
        rig.manifests.write("tcp.yaml", &[config_map("default", "tcp", &[("7000", &entry)])]);
        prepare(rig, &scenes).await;
        let begin = |_| async {
            let mut stream = TcpStream::connect("127.0.0.1:7000").await.unwrap();
            let _ = stream.read_u8().await;
        };
        attack(&scenes, relay_to(7000).await, begin).await;
    });
}
