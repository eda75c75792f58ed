//! The listeners of the daemon (HTTP endpoints and control socket), which are kept across settings
//! that do not move them.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::commands::CommandSender;
use super::control::Control;
use super::drain::Drain;
use super::error::Error;
use super::http::{self, EndpointSettings, Facts, Remote};
use super::metrics::Heartbeat;
use super::pipeline;
use super::reporter::Reporter;
use ingressd_apply::folder::Existing;
use ingressd_config::{PageFiles, Settings};

/// The HTTP endpoints and the control socket.
#[derive(Debug)]
pub struct Listeners {
    /// `None` when it was closed for another address that could not be opened beside it.
    http: Option<Arc<Http>>,
    commands: Arc<Commands>,
    heartbeat: Arc<Heartbeat>,
}

#[derive(Debug)]
struct Http {
    address: SocketAddr,
    /// What the settings say of them.
    settings: watch::Sender<EndpointSettings>,
    /// The task of the endpoints; it ends when this is dropped.
    task: JoinSet<()>,
}

#[derive(Debug)]
struct Commands {
    socket: Arc<Control>,
    state: PathBuf,
    drain: Drain,
    /// The task of the socket; it ends when this is dropped.
    task: JoinSet<()>,
}

impl Listeners {
    /// Opens what these settings name, and keeps open what the earlier settings named in the same
    /// way.
    pub async fn open(
        settings: &Settings,
        reporter: &Reporter,
        sender: CommandSender,
        mut earlier: Option<&mut Listeners>,
    ) -> Result<Self, Error> {
        let commands = control_socket(settings, reporter, sender, earlier.as_deref())?;
        let heartbeat = match &earlier {
            Some(earlier) => Arc::clone(&earlier.heartbeat),
            None => Arc::new(Heartbeat::new(Instant::now())),
        };
        let address = settings.http.address;
        let facts = |settings| Facts {
            status: reporter.status(),
            metrics: Arc::clone(reporter.metrics()),
            heartbeat: Arc::clone(&heartbeat),
            settings,
        };
        let before = earlier.as_ref().and_then(|earlier| earlier.http.as_ref()?.settings.borrow().remote.clone());
        let (hosts, remote) = (settings.http.hosts.clone(), remote(before, settings.http.page_files()).await);
        let said = EndpointSettings { nginx: settings.gate.status, hosts, remote };
        let there = match earlier.as_mut() {
            Some(earlier) => earlier.make_room(address).await,
            None => None,
        };
        let http = match there {
            Some(http) => {
                http.settings.send_replace(said);
                http
            }
            None => Http::open(address, said, facts).await.map_err(|source| Error::Http { address, source })?,
        };
        Ok(Listeners { http: Some(http), commands, heartbeat })
    }

    /// The endpoints at this address, if they are open. Endpoints at the same port are closed when
    /// the system would not open others beside them.
    async fn make_room(&mut self, address: SocketAddr) -> Option<Arc<Http>> {
        let theirs = self.http.as_ref()?.address;
        if theirs == address {
            return self.http.clone();
        }
        if theirs.port() == address.port() && (theirs.ip().is_unspecified() || address.ip().is_unspecified()) {
            close(self.http.take()).await;
        }
        None
    }

    /// Closes what the next settings do not keep; returns when addresses and paths are free.
    pub async fn close(self) {
        close(self.http).await;
        if let Some(mut commands) = Arc::into_inner(self.commands) {
            commands.task.shutdown().await;
        }
    }

    /// Whether this node is drained, and changes of that.
    pub fn drained(&self) -> watch::Receiver<bool> {
        self.commands.drain.watch()
    }

    /// Where the main loop reports that it is alive.
    pub fn heartbeat(&self) -> Arc<Heartbeat> {
        Arc::clone(&self.heartbeat)
    }
}

async fn close(http: Option<Arc<Http>>) {
    if let Some(mut http) = http.and_then(Arc::into_inner) {
        http.task.shutdown().await;
    }
}

impl Http {
    /// Opens them; whoever asks first is answered by these settings.
    async fn open(
        address: SocketAddr,
        settings: EndpointSettings,
        facts: impl FnOnce(watch::Receiver<EndpointSettings>) -> Facts,
    ) -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind(address).await?;
        let settings = watch::Sender::new(settings);
        let mut task = JoinSet::new();
        task.spawn(http::serve(listener, facts(settings.subscribe())));
        Ok(Arc::new(Http { address, settings, task }))
    }
}

/// What lets other machines see the status page by these files. The same files are kept as they
/// were read, so that a certificate that cannot be used now does not end its use.
async fn remote(before: Option<Arc<Remote>>, files: Option<PageFiles>) -> Option<Arc<Remote>> {
    let files = files?;
    match before.filter(|before| before.is_of(&files)) {
        Some(same) => Some(same),
        None => tokio::task::spawn_blocking(|| Arc::new(Remote::new(files))).await.ok(),
    }
}

fn control_socket(
    settings: &Settings,
    reporter: &Reporter,
    sender: CommandSender,
    earlier: Option<&Listeners>,
) -> Result<Arc<Commands>, Error> {
    let (path, state) = (&settings.control_socket, &settings.apply.state);
    let earlier = earlier.map(|earlier| &earlier.commands).filter(|earlier| earlier.socket.is_at(path));
    if let Some(same) = earlier.filter(|earlier| earlier.state == *state) {
        return Ok(Arc::clone(same));
    }
    let socket = match earlier {
        Some(earlier) => Arc::clone(&earlier.socket),
        None => {
            // A folder that is not ours alone, such as /run, contains files of others.
            let is_ours = *path == Settings::of_instance(&settings.instance).control_socket;
            let existing = if is_ours { Existing::Taken } else { Existing::Shared };
            Arc::new(Control::bind(path, existing).map_err(|source| Error::Control { path: path.clone(), source })?)
        }
    };
    let drain = Drain::open(state)
        .map_err(|source| Error::Pipeline(Box::new(pipeline::Error::State { path: state.clone(), source })))?;
    let mut task = JoinSet::new();
    let traffic = Arc::clone(reporter.metrics().traffic());
    task.spawn(Arc::clone(&socket).serve(reporter.status(), traffic, drain.clone(), sender));
    Ok(Arc::new(Commands { socket, state: state.clone(), drain, task }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::commands::CommandQueue;
    use crate::daemon::control::{PATIENCE, ask};
    use crate::daemon::status::Status;

    struct World {
        settings: Settings,
        reporter: Reporter,
        queue: CommandQueue,
        folder: tempfile::TempDir,
    }

    impl World {
        /// The port is a free one.
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let mut settings = Settings::default();
            settings.http.address = free;
            settings.control_socket = folder.path().join("control.sock");
            settings.apply.state = folder.path().join("state");
            let reporter = Reporter::new(watch::Sender::new(Arc::<Status>::default()));
            World { settings, reporter, queue: CommandQueue::open(), folder }
        }

        async fn open(&self, earlier: Option<&mut Listeners>) -> Listeners {
            Listeners::open(&self.settings, &self.reporter, self.queue.sender(), earlier).await.unwrap()
        }

        fn is_served(&self, address: &str) -> bool {
            let port = self.settings.http.address.port();
            std::net::TcpStream::connect((address, port)).is_ok()
        }
    }

    #[tokio::test]
    async fn what_is_not_moved_goes_on() {
        let mut world = World::new();
        let mut first = world.open(None).await;
        let mut same = world.open(Some(&mut first)).await;
        first.close().await;
        assert!(world.settings.control_socket.exists() && world.is_served("127.0.0.1"));
        let path = world.settings.control_socket.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&path, "drain", PATIENCE).unwrap());
        assert_eq!(asked.await.unwrap(), r#"{"drained":true}"#);
        assert!(*same.drained().borrow());

        // Another state folder has its own mark of a drained node, and requests now change that
        // mark.
        world.settings.apply.state.set_file_name("elsewhere");
        let mut moved = world.open(Some(&mut same)).await;
        assert!(!*moved.drained().borrow() && *same.drained().borrow());

        // The earlier settings may have to go on: their sockets stay open until then.
        let old = world.settings.control_socket.clone();
        world.settings.control_socket.set_file_name("other.sock");
        let other = world.open(Some(&mut moved)).await;
        assert!(old.exists() && world.settings.control_socket.exists());
        same.close().await;
        assert!(old.exists(), "it is the same socket");
        moved.close().await;
        assert!(!old.exists());

        // A socket that was removed is created again, and stays when the previous one is closed.
        std::fs::remove_file(&world.settings.control_socket).unwrap();
        let mut other = other;
        let again = world.open(Some(&mut other)).await;
        other.close().await;
        assert!(world.settings.control_socket.exists());
        again.close().await;
        assert!(!world.settings.control_socket.exists());
    }

    /// Nobody is answered by less than what the settings say, also while a file is read.
    #[tokio::test]
    async fn the_first_answer_is_by_the_settings() {
        let mut world = World::new();
        let file = |name: &str| world.folder.path().join(name);
        let (certificate, key, passwords) = (file("certificate"), file("key"), file("passwords"));
        nix::unistd::mkfifo(&certificate, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let http = &mut world.settings.http;
        http.hosts = vec![ingressd_model::HostName::new("edge1.example").unwrap()];
        (http.remote, http.key, http.password_file) = (true, Some(key), Some(passwords));
        http.certificate = Some(certificate.clone());
        // Whoever writes waits for the one who reads.
        let read = tokio::task::spawn_blocking(|| std::fs::File::create(certificate).unwrap());
        let seen = async {
            let writer = read.await.unwrap();
            let seen = world.is_served("127.0.0.1");
            drop(writer);
            seen
        };
        let (listeners, seen) = tokio::join!(world.open(None), seen);
        assert!(!seen && world.is_served("127.0.0.1"));
        let said = listeners.http.as_ref().unwrap().settings.borrow();
        assert!(said.remote.is_some() && said.hosts == world.settings.http.hosts);
    }

    #[tokio::test]
    async fn endpoints_move_between_one_address_and_all_of_them_and_back() {
        let mut world = World::new();
        let mut listeners = world.open(None).await;
        assert!(!world.is_served("127.0.0.2"));
        let port = world.settings.http.address.port();
        for (address, is_global) in [("0.0.0.0", true), ("127.0.0.1", false), ("127.0.0.2", true)] {
            world.settings.http.address = SocketAddr::new(address.parse().unwrap(), port);
            let next = world.open(Some(&mut listeners)).await;
            std::mem::replace(&mut listeners, next).close().await;
            assert_eq!(world.is_served("127.0.0.2"), is_global, "{address}");
        }
    }
}
