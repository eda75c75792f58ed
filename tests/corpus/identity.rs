//! An authentication service, which admits requests with a session.

use std::convert::Infallible;

use http::header::COOKIE;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use ingressd_echo::ADDRESS_HEADER;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Its port on every address.
const PORT: u16 = 4180;

/// Answers until the value is dropped.
pub async fn serve() -> JoinSet<()> {
    let listener = TcpListener::bind(("::", PORT)).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(answer(stream));
        }
    });
    tasks
}

async fn answer(stream: TcpStream) {
    let address = stream.local_addr().unwrap();
    let address = std::net::SocketAddr::new(address.ip().to_canonical(), address.port());
    let service = service_fn(async |request: Request<Incoming>| {
        let cookies = request.headers().get(COOKIE).and_then(|cookies| cookies.to_str().ok()).unwrap_or_default();
        let status = if cookies.contains("session=good") { StatusCode::ACCEPTED } else { StatusCode::UNAUTHORIZED };
        let mut response = Response::builder().status(status).header(ADDRESS_HEADER, address.to_string());
        if status == StatusCode::ACCEPTED {
            for name in ["X-Auth-Request-User", "Remote-User", "X-authentik-username", "X-Vouch-User", "UserID"] {
                response = response.header(name, "ann");
            }
            response = response.header("Set-Cookie", "seen=1");
        }
        Ok::<_, Infallible>(response.body(String::new()).unwrap())
    });
    // nginx closes the connection when it has its answer.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
