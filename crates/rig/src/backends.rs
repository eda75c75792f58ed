//! Echo backends on every address of the namespace, and what backends of single tests share.

use ingressd_echo::Echo;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Port of the plain echo backend on every address: HTTP/1.1, h2c, WebSocket, gRPC.
pub const ECHO: u16 = 8080;
/// Port of the echo backend with TLS on every address.
pub const ECHO_TLS: u16 = 8443;

/// The backends that run. They end with this value.
pub struct Backends {
    tasks: Vec<JoinHandle<()>>,
}

impl Backends {
    /// Starts one without and one with TLS.
    pub async fn start() -> Self {
        let mut backends = Backends { tasks: Vec::new() };
        backends.serve(ECHO, Echo::plain("echo")).await;
        backends.serve(ECHO_TLS, Echo::tls("echo.tls").unwrap()).await;
        backends
    }

    /// Lets another answer on a port of every address, of both families.
    pub async fn serve(&mut self, port: u16, echo: Echo) {
        let listener = TcpListener::bind(("::", port)).await.unwrap();
        self.tasks.push(tokio::spawn(echo.serve(listener)));
    }

    /// Stops them: their ports are free again.
    pub async fn stop(&mut self) {
        for task in self.tasks.drain(..) {
            task.abort();
            let _ = task.await;
        }
    }
}

impl Drop for Backends {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Reads a head of HTTP/1.1 from the connection, without its empty line. What came behind it stays
/// in `bytes`. Returns `None` when the connection ends before.
pub async fn read_head(stream: &mut (impl AsyncRead + Unpin), bytes: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = bytes.drain(..end + 4).take(end).collect::<Vec<_>>();
            return Some(String::from_utf8_lossy(&head).into_owned());
        }
        if stream.read_buf(bytes).await.unwrap_or_default() == 0 {
            return None;
        }
    }
}
