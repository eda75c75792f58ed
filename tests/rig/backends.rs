//! Echo backends on every address of the namespace.

use ingressd::demo::echo::Echo;
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
