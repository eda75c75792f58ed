//! The one control plane of a test run, as `tests/cluster` provides it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::network::CONTROL_PLANE;
use crate::namespace::Namespace;
use crate::wait;

/// Port of the API server.
pub const PORT: u16 = 6443;

/// The API server, a part that can be stopped, started, paused and continued.
pub const API_SERVER: &str = "kube-apiserver";

/// The store, also the name of its folder.
const STORE: &str = "etcd";
const CONTROLLERS: &str = "kube-controller-manager";

/// A control plane in a network namespace of its own.
pub struct ControlPlane {
    /// Where it runs, for nodes to connect to.
    pub namespace: Namespace,
    folder: PathBuf,
    /// It ends when its standard input closes: with this process, however that ends.
    _process: Child,
}

/// The right to use the control plane together with other tests, or alone.
pub enum Turn {
    /// Others use it too.
    Shared(RwLockReadGuard<'static, ()>),
    /// No other test does, so it may be stopped.
    Alone(RwLockWriteGuard<'static, ()>),
}

impl Drop for Turn {
    /// A test that fails while the control plane stands still fails alone: for the others it runs
    /// again.
    fn drop(&mut self) {
        if matches!(self, Turn::Alone(_)) && thread::panicking() {
            let restored = ControlPlane::shared().restore();
            println!("--- the control plane is restored: {restored:?} ---");
        }
    }
}

impl Turn {
    /// Waits until the control plane may be used.
    pub async fn take(alone: bool) -> Self {
        static LOCK: RwLock<()> = RwLock::const_new(());
        match alone {
            false => Turn::Shared(LOCK.read().await),
            true => Turn::Alone(LOCK.write().await),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success(), "{} cannot be copied to {}", from.display(), to.display());
}

/// The program that runs it, which is kubectl as well.
pub fn binary() -> PathBuf {
    crate::target().join("cluster/cluster")
}

impl ControlPlane {
    /// The one of this test run, which the first test starts.
    ///
    /// # Panics
    ///
    /// When it does not start, for every test.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
        SHARED.get_or_init(Self::start_new).as_ref().unwrap_or_else(|error| panic!("no control plane: {error}"))
    }

    /// Another one, for a test that must not find objects of others. It ends with this value.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub fn start_new() -> Result<Self, String> {
        // A thread of its own enters a namespace and ends, and the processes stay there.
        thread::spawn(Self::start).join().map_err(|_| "see the first test".to_owned()).flatten()
    }

    fn start() -> Result<Self, String> {
        let binary = binary();
        if !binary.exists() {
            return Err(format!("{} is not built: run `make test`, or tests/cluster/build", binary.display()));
        }
        let namespace = Namespace::enter_new();
        namespace.become_centre();
        // It removes its folder itself when it ends.
        let folder = tempfile::Builder::new().prefix("ingressd-cluster-").tempdir().unwrap().keep();
        let mut command = Command::new(&binary);
        command.arg("up").arg(&folder).args([PORT.to_string(), CONTROL_PLANE.to_string()]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        match line.starts_with("ready ") {
            true => Ok(ControlPlane { namespace, folder, _process: process }),
            false => Err("it did not start; what it said is on standard error".to_owned()),
        }
    }

    /// A kubeconfig to which everything is allowed.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// The authority that signed the API server's certificate, PEM.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// The authority that signs certificates of clients, and its key, PEM.
    pub fn client_authority(&self) -> [PathBuf; 2] {
        ["client-ca.crt", "client-ca.key"].map(|name| self.folder.join(name))
    }

    /// Copies the store as it is now. `folder` must not exist.
    ///
    /// # Panics
    ///
    /// When it cannot be copied.
    pub async fn back_up(&self, folder: &Path) {
        self.report(&format!("pause {STORE}")).await;
        copy(&self.folder.join(STORE), folder);
        self.report(&format!("continue {STORE}")).await;
    }

    /// Replaces the store by a copy that was made before, and starts everything again.
    ///
    /// # Panics
    ///
    /// When a part does not stop or start.
    pub async fn take_back(&self, copy_of_store: &Path) {
        for part in [CONTROLLERS, API_SERVER, STORE] {
            self.report(&format!("stop {part}")).await;
        }
        let store = self.folder.join(STORE);
        fs::remove_dir_all(&store).unwrap();
        copy(copy_of_store, &store);
        for part in [STORE, API_SERVER, CONTROLLERS] {
            self.report(&format!("start {part}")).await;
        }
    }

    /// Lets every part run again, however a test left it. It blocks, for a test that ends by a
    /// panic.
    fn restore(&self) -> std::io::Result<String> {
        let mut stream = std::os::unix::net::UnixStream::connect(self.folder.join("control.sock"))?;
        stream.set_read_timeout(Some(4 * wait::LIMIT))?;
        stream.write_all(b"restore\n")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    }

    /// Tells it something (`cluster tell DIR help` lists what can be told) and returns what it
    /// answers.
    ///
    /// # Panics
    ///
    /// When it cannot do it.
    pub async fn report(&self, order: &str) -> String {
        let ask = async {
            let mut stream = UnixStream::connect(self.folder.join("control.sock")).await?;
            stream.write_all(format!("{order}\n").as_bytes()).await?;
            let mut line = String::new();
            tokio::io::BufReader::new(stream).read_line(&mut line).await?;
            std::io::Result::Ok(line)
        };
        let line = tokio::time::timeout(4 * wait::LIMIT, ask).await;
        let line = line.unwrap_or_else(|_| panic!("no answer to {order:?}")).unwrap();
        match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
            ("ok", answer) => answer.to_owned(),
            _ => panic!("{order:?}: {line}"),
        }
    }
}
