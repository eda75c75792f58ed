//! The control socket of `ingressd status`, `explain`, `top`, `drain`, `rollback` and others: for
//! root only, with one line as request and one response.

use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::commands::{CommandSender, ControlCommand};
use super::drain::Drain;
use super::explain::Address;
use super::status::{Inquiry, Status};
use super::traffic::Traffic;
use ingressd_apply::folder::{self, Existing};

/// The longest request in bytes: a word before an address. Nothing longer is read.
pub const LONGEST_REQUEST: usize = Address::LONGEST + 64;

/// The time limit for reading a request, and for writing a response.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The most concurrent connections.
const MOST_EXCHANGES: usize = 16;

/// The control socket; its file is removed when this is dropped.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    /// The device and inode of the file, to recognise when another one takes its place.
    inode: u64,
    room: Arc<Semaphore>,
}

impl Control {
    /// Creates the socket and its folder; `existing` says what happens to the mode of a folder
    /// that exists. A socket without a daemon is a leftover and is replaced.
    ///
    /// # Errors
    ///
    /// `AddrInUse` when another daemon listens there, and errors of the file system.
    pub fn bind(path: &Path, existing: Existing) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            folder::make(folder, 0o700, existing)?;
        }
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(stream) if is_served(&stream)? => {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "another ingressd answers there"));
            }
            Ok(_) => std::fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let inode = std::fs::symlink_metadata(path)?.ino();
        Ok(Control { listener, path: path.to_owned(), inode, room: Arc::new(Semaphore::new(MOST_EXCHANGES)) })
    }

    /// Whether a client that connects to this path reaches this socket.
    pub fn is_at(&self, path: &Path) -> bool {
        self.path == path && std::fs::symlink_metadata(path).is_ok_and(|file| file.ino() == self.inode)
    }

    /// Serves until it is dropped; open connections are finished.
    pub async fn serve(
        self: Arc<Self>,
        status: watch::Receiver<Arc<Status>>,
        traffic: Arc<Traffic>,
        drain: Drain,
        commands: CommandSender,
    ) {
        loop {
            // This cannot fail, because the semaphore is never closed.
            let Ok(place) = Arc::clone(&self.room).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let (status, drain, commands) = (status.clone(), drain.clone(), commands.clone());
                    let traffic = Arc::clone(&traffic);
                    tokio::spawn(async move {
                        if let Err(error) = exchange(stream, &status, traffic, &drain, &commands).await {
                            tracing::debug!("an exchange on the control socket ended early: {error}");
                        }
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!("the control socket cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.is_at(&self.path) {
            // A socket file that stays is a leftover, which the next start replaces.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

async fn exchange(
    mut stream: UnixStream,
    status: &watch::Receiver<Arc<Status>>,
    traffic: Arc<Traffic>,
    drain: &Drain,
    commands: &CommandSender,
) -> io::Result<()> {
    let request = timeout(TIMEOUT, read(&mut stream)).await??;
    let content = match ControlRequest::read(&request) {
        Ok(ControlRequest::Inquiry(inquiry)) => {
            let status = Arc::clone(&status.borrow());
            // The response of a large cluster is long, so it is made on a blocking thread.
            let answer = move || {
                let mut answer = status.answer(&inquiry, Instant::now());
                if matches!(inquiry, Inquiry::Request(_)) {
                    traffic.errors().report_of(&mut answer["subject"]);
                }
                answer.to_string()
            };
            tokio::task::spawn_blocking(answer).await.map_err(io::Error::other)?
        }
        Ok(ControlRequest::Traffic) => {
            let answer = move || serde_json::json!(traffic.report()).to_string();
            tokio::task::spawn_blocking(answer).await.map_err(io::Error::other)?
        }
        Ok(ControlRequest::Drain(drained)) => set(drain, drained),
        Ok(ControlRequest::Command(command)) => execute(commands, command, &mut stream).await?,
        Err(error) => serde_json::json!({ "error": error }).to_string(),
    };
    timeout(TIMEOUT, stream.write_all(content.as_bytes())).await??;
    stream.shutdown().await
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlRequest {
    Inquiry(Inquiry),
    /// What was counted of requests.
    Traffic,
    /// Whether the node is to be drained.
    Drain(bool),
    Command(ControlCommand),
}

impl ControlRequest {
    /// Parses a line, or tells its sender what is wrong with it.
    pub fn read(line: &str) -> Result<Self, &'static str> {
        const UNKNOWN: &str = "the requests are status, ingress NAMESPACE/NAME, host HOST, explain URL, traffic, drain, \
            undrain, rollback, resume and reload";
        let mut words = line.split(' ');
        Ok(match (words.next(), words.next(), words.next()) {
            (Some("traffic"), None, _) => ControlRequest::Traffic,
            (Some("drain"), None, _) => ControlRequest::Drain(true),
            (Some("undrain"), None, _) => ControlRequest::Drain(false),
            (Some("rollback"), None, _) => ControlRequest::Command(ControlCommand::RollBack(None)),
            (Some("rollback"), Some(number), None) => {
                let number = number.parse().map_err(|_| "a generation is named by its number")?;
                ControlRequest::Command(ControlCommand::RollBack(Some(number)))
            }
            (Some("resume"), None, _) => ControlRequest::Command(ControlCommand::Resume),
            (Some("reload"), None, _) => ControlRequest::Command(ControlCommand::Reload),
            _ => ControlRequest::Inquiry(Inquiry::read(line).ok_or(UNKNOWN)?),
        })
    }
}

async fn read(stream: &mut UnixStream) -> io::Result<String> {
    let mut request = Vec::new();
    let mut byte = [0];
    while request.len() < LONGEST_REQUEST && stream.read(&mut byte).await? == 1 && byte != *b"\n" {
        request.extend(byte);
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}

/// Waits until the command was executed, as long as its sender waits.
async fn execute(commands: &CommandSender, command: ControlCommand, stream: &mut UnixStream) -> io::Result<String> {
    let mut more = [0];
    let answer = tokio::select! {
        answer = commands.send(command) => answer,
        _ = stream.read(&mut more) => return Err(io::ErrorKind::ConnectionAborted.into()),
    };
    Ok(match answer {
        Ok(done) => serde_json::json!({ "done": done }).to_string(),
        Err(error) => serde_json::json!({ "error": error }).to_string(),
    })
}

fn set(drain: &Drain, drained: bool) -> String {
    match drain.set(drained) {
        Ok(()) => serde_json::json!({ "drained": drained }).to_string(),
        Err(error) => {
            serde_json::json!({ "error": format!("it cannot be noted for the next start: {error}") }).to_string()
        }
    }
}

/// Sends a request to the daemon at this socket: `status`, `ingress`, `host`, `traffic`, `drain`,
/// `undrain`, `rollback`, `resume` or `reload`. The response is JSON. The last three respond when
/// they were executed, so they have no time limit (`patience`).
///
/// # Errors
///
/// `NotFound` or `ConnectionRefused` when no daemon runs, and other errors of the system.
pub fn ask(path: &Path, request: &str, patience: Option<Duration>) -> io::Result<String> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.set_read_timeout(patience)?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon ended before it answered")),
        false => Ok(answer),
    }
}

/// The time limit of requests that need no work.
pub const PATIENCE: Option<Duration> = Some(Duration::from_secs(4));

/// Whether the process that listens is there. A child of a killed daemon has the socket, too,
/// until it executes its program, and answers nobody.
fn is_served(stream: &std::os::unix::net::UnixStream) -> io::Result<bool> {
    let process = getsockopt(stream, sockopt::PeerCredentials)?.pid();
    // A process of another PID namespace has no number here.
    Ok(process == 0 || Path::new(&format!("/proc/{process}")).exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::commands::CommandQueue;

    #[tokio::test]
    async fn the_socket_of_a_daemon_that_is_gone_is_replaced_although_its_child_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let script = "socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un($ARGV[0])) or die; listen(S, 5) or die; \
            exit if fork; <STDIN>";
        let mut daemon = std::process::Command::new("perl");
        daemon.args(["-MSocket", "-e", script]).arg(&path).stdin(std::process::Stdio::piped());
        let mut daemon = daemon.spawn().unwrap();
        // The child ends when this is dropped.
        let _stdin = daemon.stdin.take();
        assert!(daemon.wait().unwrap().success());
        std::os::unix::net::UnixStream::connect(&path).unwrap();
        Control::bind(&path, Existing::Shared).unwrap();
    }

    #[tokio::test]
    async fn it_answers_root_only_and_cleans_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/control.sock");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let control = Arc::new(Control::bind(&path, Existing::Taken).unwrap());
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let (_sender, status) = watch::channel(Arc::default());
        let drain = Drain::open(folder.path()).unwrap();
        let mut queue = CommandQueue::open();
        let task = tokio::spawn(control.serve(status, Arc::default(), drain.clone(), queue.sender()));
        // A command responds when it was executed, and does not delay other clients.
        let (first, send) = (path.clone(), |path: PathBuf, request: &'static str| {
            tokio::task::spawn_blocking(move || ask(&path, request, None).unwrap())
        });
        let rolled_back = send(first, "rollback 5");
        let given = queue.next().await.unwrap();
        let asked = path.clone();
        let answers = tokio::task::spawn_blocking(move || {
            ["status", "drain", "other", "rollback five"].map(|request| -> serde_json::Value {
                serde_json::from_str(&ask(&asked, request, PATIENCE).unwrap()).unwrap()
            })
        });
        let [status, drained, other, five] = answers.await.unwrap();
        assert!(five["error"].is_string() && !rolled_back.is_finished());
        let command = queue.begin(given).unwrap();
        queue.executed(command, Ok("it is".to_owned()), false);
        assert_eq!(
            (command, rolled_back.await.unwrap().as_str()),
            (ControlCommand::RollBack(Some(5)), r#"{"done":"it is"}"#)
        );
        assert_eq!((&status["phase"], &drained["drained"]), (&"starting".into(), &true.into()));
        assert!(other["error"].is_string() && *drain.watch().borrow());
        assert_eq!(Control::bind(&path, Existing::Taken).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        task.abort();
        let _ = task.await;
        assert!(!path.exists());
        // An existing folder gets the given mode only when it is ours alone.
        for (name, existing, was, expected) in
            [("ours", Existing::Taken, 0o777, 0o700), ("others", Existing::Shared, 0o1777, 0o1777)]
        {
            let there = folder.path().join(name);
            std::fs::create_dir(&there).unwrap();
            std::fs::set_permissions(&there, std::fs::Permissions::from_mode(was)).unwrap();
            Control::bind(&there.join("control.sock"), existing).unwrap();
            assert_eq!(std::fs::metadata(&there).unwrap().permissions().mode() & 0o7777, expected, "{name}");
        }
        // The leftover of a killed daemon is replaced.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        Control::bind(&path, Existing::Taken).unwrap();
    }
}
