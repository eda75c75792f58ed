//! What every end-to-end test stands on: a network namespace, a real nginx, the daemon, backends and a client.
//!
//! ```no_run
//! #[test]
//! fn a_host_is_served() {
//!     rig::run(async |rig| {
//!         rig.manifests.write("shop.yaml", &[ingress("shop").host("shop.example", "web").build()]);
//!         rig.start().await;
//!         assert_eq!(get("http://shop.example/").send().await.echo().address.ip(), WEB);
//!     });
//! }
//! ```
//!
//! Each test has a thread, a network namespace and a folder of its own: ports and addresses are free to choose, and
//! tests run at the same time. A test waits for events with [`wait`], never for time to pass.
#![expect(dead_code, reason = "the tests use what they need; others come")]

pub mod client;
pub mod daemon;
pub mod load;
pub mod manifests;
pub mod mount;
pub mod namespace;
pub mod nginx;
pub mod status;
pub mod wait;

use std::path::Path;

use ingressd::demo::echo::Echo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use daemon::Daemon;
use manifests::Manifests;
use nginx::Nginx;

/// Port of the plain echo backend on every address: HTTP/1.1, h2c, WebSocket, gRPC.
pub const ECHO: u16 = 8080;
/// Port of the echo backend with TLS on every address.
pub const ECHO_TLS: u16 = 8443;

/// Everything that a test needs. What runs ends with it.
pub struct Rig {
    /// The daemon, not started.
    pub daemon: Daemon,
    /// The nginx, not started.
    pub nginx: Nginx,
    /// The folder that the daemon watches: classes, and Service `web` at 10.244.0.1, stand in it already.
    pub manifests: Manifests,
    echo: Vec<JoinHandle<()>>,
    folder: tempfile::TempDir,
}

/// Runs a test with a rig.
///
/// # Panics
///
/// When the test does.
pub fn run(test: impl AsyncFnOnce(&mut Rig) + Send + 'static) {
    namespace::run_alone(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut rig = Rig::new().await;
            test(&mut rig).await;
        });
    });
}

impl Rig {
    async fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("ingressd-test-").tempdir().unwrap();
        // nginx's workers, who are not root, have to get in.
        open_to_all(folder.path());
        let nginx = Nginx::prepare(&folder.path().join("nginx"));
        let manifests = Manifests::new(&folder.path().join("manifests"));
        manifests.write("classes.yaml", &manifests::classes());
        manifests.write("web.yaml", &manifests::service_at("web", &["10.244.0.1"], ECHO));
        let daemon = Daemon::prepare(folder.path(), &nginx, &manifests);
        let mut rig = Rig { daemon, nginx, manifests, echo: Vec::new(), folder };
        rig.serve_echo(ECHO, Echo::plain("echo")).await;
        rig.serve_echo(ECHO_TLS, Echo::tls("echo.tls").unwrap()).await;
        rig
    }

    /// Lets an echo backend answer on a port of every address, of both families.
    pub async fn serve_echo(&mut self, port: u16, echo: Echo) {
        let listener = TcpListener::bind(("::", port)).await.unwrap();
        self.echo.push(tokio::spawn(echo.serve(listener)));
    }

    /// Starts nginx, then the daemon, and waits until everything in the folder is served.
    pub async fn start(&mut self) {
        self.nginx.start();
        self.daemon.start();
        self.daemon.ready().await;
    }

    /// The test's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

impl Drop for Rig {
    fn drop(&mut self) {
        for task in &self.echo {
            task.abort();
        }
        // The test's output shows it only when the test fails.
        println!("--- nginx's error log ---\n{}", self.nginx.error_log());
    }
}
