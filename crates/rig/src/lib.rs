//! The surroundings of every end-to-end test: a network namespace, a real nginx, the daemon,
//! backends and a client.
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
//! Each test has a thread, a network namespace and a folder of its own: ports and addresses are
//! free to choose, and tests run at the same time. A test waits for events with [`wait`], never
//! for time to pass.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

pub mod authority;
pub mod backends;
pub mod client;
pub mod clock;
pub mod cluster;
pub mod daemon;
pub mod dns;
pub mod load;
pub mod manifests;
pub mod minute;
pub mod mount;
pub mod namespace;
pub mod nginx;
pub mod prometheus;
pub mod signals;
pub mod status;
pub mod systemd;
pub mod wait;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use ingressd_echo::ADDRESS_HEADER;

use backends::Backends;
use client::{Reply, Request};
use daemon::{Daemon, Source};
use manifests::Manifests;
use nginx::Nginx;

pub use backends::{ECHO, ECHO_TLS};

/// The program that is tested, which cargo builds beside the folder of tests and benchmarks.
///
/// # Panics
///
/// When no test or benchmark of the package `ingressd` runs this.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).map(|folder| folder.join("ingressd"));
    program.filter(|program| program.exists()).expect("the program is beside the folder of its tests")
}

/// Cargo's folder of what is built.
pub fn target() -> PathBuf {
    program().ancestors().nth(2).map(Path::to_owned).unwrap()
}

/// Everything that a test needs. What runs ends with it.
pub struct Rig {
    /// The daemon, not started.
    pub daemon: Daemon,
    /// The nginx, not started.
    pub nginx: Nginx,
    /// The folder that the daemon watches: classes, and Service `web` at 10.244.0.1, stand in it
    /// already.
    pub manifests: Manifests,
    /// What answers behind nginx.
    pub backends: Backends,
    services: Vec<String>,
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
        let daemon = Daemon::prepare(folder.path(), &nginx, Source::from(&manifests));
        let backends = Backends::start().await;
        Rig { daemon, nginx, manifests, backends, services: Vec::new(), folder }
    }

    /// Starts nginx, then the daemon, and waits until everything in the folder is served.
    pub async fn start(&mut self) {
        self.nginx.start();
        self.daemon.start();
        self.daemon.ready().await;
    }

    /// Writes Services of these names, each with one address of its own, for [`Rig::who`] to tell
    /// apart.
    pub fn serve(&mut self, names: &[&str]) {
        self.services = names.iter().map(|name| (*name).to_owned()).collect();
        let services = (1..).zip(names).flat_map(|(number, name)| {
            let address = format!("10.244.1.{number}");
            manifests::service_at(name, &[&address], ECHO)
        });
        self.manifests.write("services.yaml", &services.collect::<Vec<_>>());
    }

    /// Which Service of [`Rig::serve`] answered, or the status when none did.
    pub fn who(&self, reply: &Reply) -> String {
        let Some(address) = reply.header(ADDRESS_HEADER) else { return reply.status.to_string() };
        let address: SocketAddr = address.parse().unwrap();
        let number = (1..).zip(&self.services).find(|(number, _)| address.ip() == IpAddr::from([10, 244, 1, *number]));
        number.map_or_else(|| address.to_string(), |(_, name)| name.clone())
    }

    /// Sends each request and compares who answered: rows of a table of request and Service (or
    /// status).
    pub async fn expect(&self, rows: impl IntoIterator<Item = (Request, &str)>) {
        let mut wrong = Vec::new();
        for (request, expected) in rows {
            let shown = request.to_string();
            let who = self.who(&request.send().await);
            if who != expected {
                wrong.push(format!("{shown}: {who} instead of {expected}"));
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    /// The test's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

pub fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

impl Drop for Rig {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("--- nginx's error log ---\n{}", self.nginx.error_log());
        }
    }
}
