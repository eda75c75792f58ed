//! The socket that `ingressd status` and `ingressd drain` ask: root only, one word in, one answer out; it must not know what the answers mean.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use super::drain::Drain;
use super::state_file;
use super::status::Status;

/// Longest request in bytes: nothing longer is ever read, so that there is little to attack.
const LONGEST_REQUEST: u64 = 64;

/// How long one exchange may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The socket, removed when it is dropped.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Makes the socket. A socket that nobody answers is a leftover and is replaced.
    ///
    /// # Errors
    ///
    /// `AddrInUse` when another daemon answers there, and what the file system says.
    pub fn bind(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            state_file::make_folder(folder)?;
        }
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another ingressd answers there")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Control { listener, path: path.to_owned() })
    }

    /// Answers, one after the other, until it is dropped.
    pub async fn serve(self, status: watch::Receiver<Arc<Status>>, drain: Drain) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    if let Ok(Err(error)) = tokio::time::timeout(TIMEOUT, answer(stream, &status, &drain)).await {
                        tracing::debug!("an exchange on the control socket ended early: {error}");
                    }
                }
                Err(error) => {
                    tracing::warn!("the control socket fails: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // It is only a leftover when it stays; the next start replaces it.
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer(mut stream: UnixStream, status: &watch::Receiver<Arc<Status>>, drain: &Drain) -> io::Result<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while (request.len() as u64) < LONGEST_REQUEST && stream.read(&mut byte).await? == 1 && byte != *b"\n" {
        request.extend(byte);
    }
    let content = match request.as_slice() {
        b"status" => Arc::clone(&status.borrow()).json(Instant::now()).to_string(),
        b"drain" => set(drain, true),
        b"undrain" => set(drain, false),
        _ => String::from("{\"error\":\"the requests are status, drain and undrain\"}"),
    };
    stream.write_all(content.as_bytes()).await?;
    stream.shutdown().await
}

fn set(drain: &Drain, drained: bool) -> String {
    match drain.set(drained) {
        Ok(()) => serde_json::json!({ "drained": drained }).to_string(),
        Err(error) => {
            serde_json::json!({ "error": format!("it cannot be noted for the next start: {error}") }).to_string()
        }
    }
}

/// Asks the daemon behind this socket: for its `status`, to `drain` this node or to `undrain` it. The answer is JSON.
///
/// # Errors
///
/// `NotFound` and `ConnectionRefused` when no daemon is there, and what the system says.
pub fn ask(path: &Path, request: &str) -> io::Result<String> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.set_read_timeout(Some(TIMEOUT * 2))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_answers_root_only_and_cleans_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/control.sock");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let control = Control::bind(&path).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let (_sender, status) = watch::channel(Arc::default());
        let drain = Drain::open(folder.path());
        let task = tokio::spawn(control.serve(status, drain.clone()));
        let asked = path.clone();
        let answers = tokio::task::spawn_blocking(move || {
            ["status", "drain", "other"]
                .map(|request| -> serde_json::Value { serde_json::from_str(&ask(&asked, request).unwrap()).unwrap() })
        });
        let [status, drained, other] = answers.await.unwrap();
        assert_eq!((&status["phase"], &drained["drained"]), (&"starting".into(), &true.into()));
        assert!(other["error"].is_string() && *drain.watch().borrow());
        assert_eq!(Control::bind(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        task.abort();
        let _ = task.await;
        assert!(!path.exists());
        // What a killed daemon leaves behind is replaced.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        Control::bind(&path).unwrap();
    }
}
