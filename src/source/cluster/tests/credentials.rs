//! Credentials on disk and a server that asks for them; it must not know watches.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use super::*;

/// A server that answers 200 to one token and 401 to any other.
async fn server(token: Arc<Mutex<String>>) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let token = Arc::clone(&token);
            let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                let expected = format!("Bearer {}", token.lock().unwrap());
                let given = request.headers().get("authorization").and_then(|value| value.to_str().ok());
                let code = if given == Some(expected.as_str()) { 200 } else { 401 };
                let answer = http::Response::builder().status(code).body(Full::<bytes::Bytes>::default());
                std::future::ready(answer)
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn kubeconfig(server: std::net::SocketAddr, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'http://{server}'}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    )
}

async fn code(clients: &Clients) -> u16 {
    let request = http::Request::get("/version").body(kube::client::Body::empty()).unwrap();
    match clients.write.send(request).await {
        Ok(answer) => answer.status().as_u16(),
        Err(error) => panic!("{error:?}"),
    }
}

/// Asks until it is let in: credentials are renewed by a task of their own.
async fn until_let_in(clients: &Clients) {
    let mut line = clients.line();
    tokio::time::timeout(PATIENCE, async {
        while code(clients).await != 200 {
            line.changed().await.unwrap();
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn tokens_are_renewed_from_whatever_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let token = Arc::new(Mutex::new("one".to_owned()));
    let address = server(Arc::clone(&token)).await;
    fs::write(folder.path().join("token"), "one").unwrap();
    write(&path, &kubeconfig(address, "tokenFile: token"));
    let connected = connect(&path).await.unwrap();
    let clients = connected.clients();
    assert_eq!(code(clients).await, 200);
    // In the token file, which is replaced as a whole.
    *token.lock().unwrap() = "two".to_owned();
    assert_eq!(code(clients).await, 401);
    fs::write(folder.path().join("token.new"), "two").unwrap();
    fs::rename(folder.path().join("token.new"), folder.path().join("token")).unwrap();
    until_let_in(clients).await;
    // In the kubeconfig.
    *token.lock().unwrap() = "three".to_owned();
    write(&path, &kubeconfig(address, "token: three"));
    until_let_in(clients).await;
    // By a plugin.
    *token.lock().unwrap() = "four".to_owned();
    let credential =
        r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"four"}}"#;
    let plugin = format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, command: echo, args: ['{credential}'], interactiveMode: Never}}"
    );
    write(&path, &kubeconfig(address, &plugin));
    until_let_in(clients).await;
    assert!(clients.requests().counts().iter().any(|(verb, code, _)| *verb == "get" && code == "401"));
}

#[tokio::test]
async fn credentials_that_are_of_no_use_leave_the_old_ones_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let address = server(Arc::new(Mutex::new("one".to_owned()))).await;
    write(&path, &kubeconfig(address, "token: one"));
    let connected = connect(&path).await.unwrap();
    let clients = connected.clients();
    let mut line = clients.line();
    for (text, mode, expected) in [("{", 0o600, "cannot be used"), ("", 0o644, "chmod 600")] {
        line.borrow_and_update();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let failed = line.wait_for(|line| line.failure.as_ref().is_some_and(|why| why.contains(expected)));
        tokio::time::timeout(PATIENCE, failed).await.unwrap().unwrap();
        assert_eq!(code(clients).await, 200);
    }
    write(&path, &kubeconfig(address, "token: one"));
    let mended = line.wait_for(|line| line.failure.is_none());
    tokio::time::timeout(PATIENCE, mended).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_cannot_be_used_at_the_start_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let refusal = async |text: Option<&str>, mode: u32| {
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let error = connect(&path).await.unwrap_err().to_string();
        assert!(error.contains(&*path.to_string_lossy()), "{error}");
        error
    };
    assert!(refusal(None, 0).await.contains("cannot be read"));
    assert!(refusal(Some(""), 0o640).await.contains("chmod 600"));
    assert!(refusal(Some(""), 0o604).await.contains("mode 0604"));
    assert!(refusal(Some("{}"), 0o600).await.contains("cannot be used"));
}
