//! Answers of an authentication service that nginx remembers: whom they let in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::alone::{apply, write_services};
use crate::asking::who;
use crate::scene::{Dialect, Order, Ownership, Scene};
use rig::client::get;
use rig::manifests::{Ingress, service_at};

/// The service that both namespaces ask.
const GUARD: &str = "10.244.3.1";
const PORT: u16 = 9000;

/// Lets everybody in to paths that begin with `/mine`, as a service whose rules are about paths,
/// and counts how often it is asked.
async fn guard() -> Arc<AtomicUsize> {
    let (listener, asked) = (TcpListener::bind((GUARD, PORT)).await.unwrap(), Arc::<AtomicUsize>::default());
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") && stream.read_buf(&mut head).await.unwrap_or_default() > 0 {}
            count.fetch_add(1, Ordering::SeqCst);
            let is_fine = String::from_utf8_lossy(&head).to_lowercase().contains("\r\nx-original-uri: /mine");
            let status = if is_fine { "200 OK" } else { "403 Forbidden" };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    asked
}

fn guarded(object: Ingress) -> serde_json::Value {
    let object = object.annotation("auth-url", "http://guard.default.svc.cluster.local/check");
    object.annotation("auth-cache-key", "$http_authorization").annotation("auth-cache-duration", "200 1h").build()
}

#[test]
fn what_a_service_answered_for_one_namespace_lets_nobody_into_another() {
    rig::run(async |rig| {
        rig.daemon.set("cross-namespace", "true");
        let scene = Scene::new("answers", Dialect::IngressNginx, Ownership::Shared, Order::Young);
        write_services(rig, std::slice::from_ref(&scene));
        rig.manifests.write("guard.yaml", &service_at("guard", &[GUARD], PORT));
        let asked = guard().await;
        rig.start().await;
        let host = scene.host("shop");
        apply(rig, "shop", vec![guarded(scene.of_victim("shop").path(&host, "Prefix", "/shop", "web"))]).await;
        // The attacker asks the same service for its own path of the host, in the very same way.
        apply(rig, "attack", vec![guarded(scene.of_evil("attack").path(&host, "Prefix", "/mine", "web"))]).await;
        let asks = async |path: &str| {
            let request = get(&format!("http://{host}{path}")).header("authorization", "Bearer mallory");
            who(&request.send().await)
        };
        assert_eq!(asks("/mine").await, "evil");
        assert_eq!((&*asks("/mine").await, asked.load(Ordering::SeqCst)), ("evil", 1), "it is remembered");
        assert_eq!(asks("/shop").await, "403");
    });
}
