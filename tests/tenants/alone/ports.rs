//! TCP services and the ConfigMap of ingress-nginx, under attack by the objects of a tenant.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::alone::{apply, config_map, scenes, write_services};
use crate::asking::{check_reported, who};
use crate::row::reported;
use crate::scene::Scene;
use rig::ECHO;
use rig::client::{Request, get};
use rig::manifests::{endpoint_slice, in_namespace, service, service_at};
use rig::namespace::{add_interface, ip};

/// The node's address.
const NODE: &str = "198.51.100.7";

/// A trusted load balancer, and a client that the shop's list lets in.
const BALANCER: &str = "10.244.9.9";
const LET_IN: &str = "10.244.5.7";

/// The backend that answers a request, or `nobody`.
async fn answered(request: Request) -> String {
    request.try_send().await.map_or("nobody".to_owned(), |reply| who(&reply))
}

async fn on_port(port: u16) -> String {
    answered(get(&format!("http://any.test:{port}/"))).await
}

#[test]
fn ports_and_the_config_map_are_the_administrators() {
    rig::run(async |rig| {
        add_interface("node0");
        ip(&["address", "add", &format!("{NODE}/24"), "dev", "node0"]);
        rig.nginx.serve_streams(&rig.daemon.root());
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        rig.daemon.set("ingress-nginx.tcp-services-configmap", "default/tcp");
        let scenes = scenes("ports");
        write_services(rig, &scenes);
        let [first, _] = &scenes;
        let entries = [
            ("7000", format!("{}/web:80", first.victim)),
            ("7001", format!("{}/web:80", first.evil)),
            ("7002", format!("{}/relay:80", first.evil)),
        ];
        let entries = entries.each_ref().map(|(port, to)| (*port, &**to));
        rig.manifests.write("tcp.yaml", &[config_map("default", "tcp", &entries)]);
        rig.manifests.write("controller.yaml", &[config_map("default", "controller", &[("proxy-body-size", "2m")])]);
        rig.start().await;
        apply(rig, "shops", scenes.iter().flat_map(Scene::shop).collect()).await;

        // The tenant has ConfigMaps of the same names, and endpoints at addresses where nginx
        // listens.
        let attack = |scene: &Scene| {
            let blocks =
                [("whitelist-source-range", "192.0.2.0/24"), ("block-cidrs", "0.0.0.0/0"), ("proxy-body-size", "1")];
            let ports = [("7000", format!("{}/web:80", scene.evil)), ("7003", format!("{}/admin:80", scene.victim))];
            let ports = ports.each_ref().map(|(port, to)| (*port, &**to));
            let mut objects = vec![
                config_map(&scene.evil, "controller", &blocks),
                config_map(&scene.evil, "tcp", &ports),
                in_namespace(&scene.evil, service("relay", 7000)),
                in_namespace(&scene.evil, endpoint_slice("relay", &["127.0.0.1", NODE], 7000)),
            ];
            for (name, address, port) in [("stream", NODE, 7000), ("itself", NODE, 7002), ("http", NODE, 80)] {
                let service = service_at(name, &[address], port).map(|object| in_namespace(&scene.evil, object));
                objects.extend(service);
                objects.push(scene.of_evil(name).host(&scene.host(name), name).build());
            }
            objects
        };
        let status = apply(rig, "attack", scenes.iter().flat_map(attack).collect()).await;
        assert_eq!((&*on_port(7000).await, &*on_port(7001).await), ("victim", "evil"));
        assert_eq!((&*on_port(7002).await, &*on_port(7003).await), ("nobody", "nobody"));
        for scene in &scenes {
            let shop = |path: &str| get(&format!("http://{}{path}", scene.host("shop")));
            assert_eq!(answered(shop("/")).await, "victim", "{scene}");
            assert_eq!(answered(shop("/admin")).await, "403", "{scene}");
            for name in ["stream", "itself", "http"] {
                assert_eq!(answered(get(&format!("http://{}/", scene.host(name)))).await, "503", "{scene}: {name}");
                let name = &*format!("Ingress {name}");
                assert_eq!(
                    check_reported(&reported(name.to_owned().leak(), &["ForbiddenTarget"]), scene, &status),
                    None
                );
            }
        }
        let findings = status["findings"].as_array().unwrap();
        let of_relay = |finding: &&Value| finding["name"] == "tcp" && finding["reason"] == "ForbiddenTarget";
        let found: Vec<_> = findings.iter().filter(of_relay).collect();
        assert!(!found.is_empty() && found.iter().all(|finding| finding["namespace"] == "default"), "{findings:?}");
        // With an endpoint that is allowed, port 7002 leads to the tenant, and port 7000 still to
        // the victim.
        let mended = |scene: &Scene| in_namespace(&scene.evil, endpoint_slice("relay", &["10.244.2.1"], ECHO));
        rig.manifests.write("attack.yaml", &scenes.iter().map(mended).collect::<Vec<_>>());
        let relay = scenes.iter().map(|scene| in_namespace(&scene.evil, service("relay", ECHO))).collect();
        apply(rig, "mended", relay).await;
        rig::wait::until_right("the attacker's port", async || on_port(7002).await, |who| who == "evil").await;
        assert_eq!(on_port(7000).await, "victim");
    });
}

/// What backends see of a connection to a port.
async fn seen_by(port: u16, from: &str, bytes: &str) -> String {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    let mut stream: TcpStream = socket.connect(([127, 0, 0, 1], port).into()).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    let _ = stream.read_to_end(&mut seen).await;
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn who_a_connection_comes_from_is_said_by_trusted_load_balancers_alone() {
    rig::run(async |rig| {
        rig.nginx.serve_streams(&rig.daemon.root());
        rig.daemon.set("access.trusted-proxies", "[\"10.244.9.0/24\"]");
        rig.daemon.set("listen.proxy-protocol", "true");
        rig.daemon.set("ingress-nginx.tcp-services-configmap", "default/tcp");
        let scenes = scenes("told");
        write_services(rig, &scenes);
        // The backend sends back what it gets, and closes at the first line that is not the
        // protocol's.
        let listener = tokio::net::TcpListener::bind(("10.244.1.9", 9000)).await.unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut seen = Vec::new();
                while !seen.ends_with(b"end\n") {
                    match stream.read_u8().await {
                        Ok(byte) => seen.push(byte),
                        Err(_) => break,
                    }
                }
                let _ = stream.write_all(&seen).await;
            }
        });
        let [first, _] = &scenes;
        rig.manifests.write(
            "back.yaml",
            &service_at("back", &["10.244.1.9"], 9000).map(|object| in_namespace(&first.victim, object)),
        );
        let entry = format!("{}/back:80:PROXY:PROXY", first.victim);
        rig.manifests.write("tcp.yaml", &[config_map("default", "tcp", &[("7000", &entry)])]);
        rig.start().await;
        let marker = rig::manifests::ingress("shops").host("shops.marker.test", "web").build();
        let shops: Vec<_> = scenes.iter().flat_map(Scene::shop).chain([marker]).collect();
        rig.manifests.write("shops.yaml", &shops);
        crate::stage::taken(rig, "shops").await;
        let header = format!("PROXY TCP4 {LET_IN} 198.51.100.1 1111 2222\r\n");
        // The header comes through the port of a TCP service, also with a second header behind the
        // first one.
        for (from, client) in [(BALANCER, LET_IN), ("10.244.2.1", "10.244.2.1")] {
            for more in ["", &*header] {
                let seen = seen_by(7000, from, &format!("{header}{more}end\n")).await;
                assert!(seen.starts_with(&format!("PROXY TCP4 {client} ")), "{from}: {seen:?}");
                assert!(seen.ends_with(&format!("\r\n{more}end\n")), "{from}: {seen:?}");
            }
        }
        // A pod that connects to nginx as if it were the load balancer is a client like any other.
        for scene in &scenes {
            let admin =
                |from: &str| get(&format!("http://{}/admin", scene.host("shop"))).from(from).behind(header.clone());
            assert_eq!(answered(admin(BALANCER)).await, "admin", "{scene}");
            assert_eq!(answered(admin("10.244.2.1")).await, "403", "{scene}");
            assert_eq!(answered(admin("10.244.2.1").header("x-forwarded-for", LET_IN)).await, "403", "{scene}");
        }
    });
}
