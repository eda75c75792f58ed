//! Assembles the demo in a temporary folder: nginx, backends, certificates, the daemon.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::net::TcpListener;

use super::backends::Backends;
use super::certificates::Authority;
use super::client::Client;
use super::examples::{Examples, ExamplesError};
use super::nginx::{self, PrivateNginx};
use super::status::DaemonStatus;
use super::supplies::{DEFAULT_CERTIFICATE, Supplies};

use ingressd_echo::TlsSetupError;

/// The HTTP port of nginx, on loopback.
pub const HTTP_PORT: u16 = 8080;
/// The HTTPS port of nginx, on loopback.
pub const HTTPS_PORT: u16 = 8443;

/// Controllers of classes, with their dialects.
const CLASSES: [(&str, &str); 2] = [("ingressd/nginx", "specification"), ("k8s.io/ingress-nginx", "ingress-nginx")];

/// The setting `classes`.
pub fn classes() -> String {
    let class = |(controller, dialect): (&str, &str)| format!("{{controller = {controller:?}, dialect = {dialect:?}}}");
    format!("[{}]", CLASSES.map(class).join(", "))
}

/// Settings that differ from the defaults. `{...}` are replaced.
const SETTINGS: &str = r#"
manifests = "{folder}/manifests"
classes = {classes}

[listen]
addresses = ["127.0.0.1"]
http-port = {http_port}
https-port = {https_port}
public-https-port = {https_port}
status = "{nginx_status}"

[upstreams]
local = true

[tls]
default-certificate = "{default_certificate}"

[nginx]
binary = "{binary}"
configuration = "{configuration}"
prefix = "{folder}/nginx"
pid-file = "{pid_file}"
unit = ""

[apply]
root = "{folder}/generations"
state = "{folder}/state"

[http]
address = "{daemon_status}"

[control]
socket = "{folder}/control.sock"

[traffic]
enabled = true
folder = "{folder}/traffic"

[log]
format = "text"
level = "error"
"#;

/// Why the demo cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// There is no nginx.
    #[error("nginx is not installed; install the package nginx of your distribution, or run `make demo`, which does")]
    NoNginx,
    /// An address is in use.
    #[error("cannot listen on {address}: {source}; does another demo or web server use it?")]
    Listen {
        /// One of the demo's fixed addresses.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// A file cannot be written into the temporary folder.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// nginx does not run.
    #[error("nginx does not run: {0}")]
    Nginx(String),
    /// The examples cannot be used.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// Certificates cannot be made.
    #[error("cannot make certificates: {0}")]
    Certificates(#[from] rcgen::Error),
    /// A backend cannot use TLS.
    #[error(transparent)]
    Backend(#[from] TlsSetupError),
    /// The client cannot use TLS.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The demo's settings are refused, which is a fault of the demo.
    #[error("the demo's own settings are refused: {0}")]
    Settings(#[from] ingressd_config::Error),
    /// The daemon does not run.
    #[error("the daemon does not run: {0}")]
    Daemon(String),
}

/// A running demo. All of its parts stop when it is dropped.
pub struct Session {
    /// The folder of manifests that the user edits.
    pub examples: PathBuf,
    /// A client for requests to it.
    pub client: Client,
    /// The address of the daemon's status.
    pub daemon_status: SocketAddr,
    daemon: super::daemon::Running,
    nginx: PrivateNginx,
    supplies: Supplies,
    folder: TempDir,
}

impl Session {
    /// Starts all parts; the daemon may not have served anything yet.
    pub async fn start(examples: &Path) -> Result<Self, DemoError> {
        let binary = nginx::find().ok_or(DemoError::NoNginx)?;
        let read = Examples::read(examples)?;
        for port in [HTTP_PORT, HTTPS_PORT] {
            drop(listen(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?);
        }
        let backends = Backends::start().await?;
        let folder = tempfile::Builder::new().prefix("ingressd-demo-").tempdir();
        let folder = folder.map_err(|source| DemoError::Write { path: std::env::temp_dir(), source })?;
        let authority = Authority::new()?;
        let roots = authority.roots();
        let examples = link_to(folder.path(), examples)?;
        let mut supplies = Supplies::new(authority, backends, folder.path().join("manifests/supplied.yaml"));
        supplies.write(&read).await?;

        let (nginx_status, daemon_status) = (free_address().await?, free_address().await?);
        let settings = write_settings(folder.path(), &binary, nginx_status, daemon_status)?;
        let nginx_folder = folder.path().join("nginx");
        let nginx = PrivateNginx::start(&binary, &nginx_folder, &folder.path().join("generations"))
            .map_err(|source| DemoError::Nginx(source.to_string()))?;
        let daemon = super::daemon::start(settings);
        let client = Client::new(HTTP_PORT, HTTPS_PORT, roots)?;
        Ok(Session { examples, client, daemon_status, daemon, nginx, supplies, folder })
    }

    /// Reads the manifests again, and supplies what they lack now. While they cannot be read, the
    /// daemon says so.
    ///
    /// # Errors
    ///
    /// When nothing can be supplied.
    pub async fn supply_again(&mut self) -> Result<(), DemoError> {
        match Examples::read(&self.examples) {
            Ok(read) => self.supplies.write(&read).await,
            Err(_) => Ok(()),
        }
    }

    /// The status of the daemon, if it responds.
    ///
    /// # Errors
    ///
    /// When nginx or the daemon has ended by itself.
    pub async fn status(&mut self) -> Result<Option<DaemonStatus>, DemoError> {
        if self.nginx.has_ended() {
            let log = std::fs::read_to_string(self.folder.path().join("nginx/error.log")).unwrap_or_default();
            return Err(DemoError::Nginx(log.lines().last().unwrap_or("it ended without a word").to_owned()));
        }
        self.daemon.check().await?;
        let mut status = DaemonStatus::ask(self.daemon_status).await;
        // The daemon watches a link to the folder that the user edits.
        let (link, examples) = (link(self.folder.path()).display().to_string(), self.examples.display().to_string());
        for finding in status.iter_mut().flat_map(|status| &mut status.findings) {
            finding.name = finding.name.replace(&link, &examples);
            finding.note = finding.note.replace(&link, &examples);
        }
        Ok(status)
    }

    /// Stops all parts in order and removes the folder.
    pub async fn stop(self) {
        self.daemon.stop().await;
        self.nginx.stop().await;
    }
}

/// The link to the examples in the demo's folder.
fn link(folder: &Path) -> PathBuf {
    folder.join("manifests/examples")
}

pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, DemoError> {
    TcpListener::bind(address).await.map_err(|source| DemoError::Listen { address, source })
}

/// A free loopback address, so that the demo can run beside the real daemon.
async fn free_address() -> Result<SocketAddr, DemoError> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = listen(any).await?;
    listener.local_addr().map_err(|source| DemoError::Listen { address: any, source })
}

/// Makes the folder that the daemon watches with a link to the examples, which users edit in their
/// own place. Returns that place.
fn link_to(folder: &Path, examples: &Path) -> Result<PathBuf, DemoError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| DemoError::Write { path, source }
    };
    let manifests = folder.join("manifests");
    std::fs::create_dir(&manifests).map_err(failed(&manifests))?;
    let examples = examples.canonicalize().map_err(failed(examples))?;
    let link = link(folder);
    std::os::unix::fs::symlink(&examples, &link).map_err(failed(&link))?;
    Ok(examples)
}

fn write_settings(
    folder: &Path,
    binary: &Path,
    nginx_status: SocketAddr,
    daemon_status: SocketAddr,
) -> Result<ingressd_config::Settings, DemoError> {
    let nginx_folder = folder.join("nginx");
    let path = |path: &Path| path.display().to_string();
    let (namespace, name) = DEFAULT_CERTIFICATE;
    let text = [
        ("{folder}", path(folder)),
        ("{classes}", classes()),
        ("{binary}", path(binary)),
        ("{configuration}", path(&nginx::configuration(&nginx_folder))),
        ("{pid_file}", path(&nginx::pid_file(&nginx_folder))),
        ("{http_port}", HTTP_PORT.to_string()),
        ("{https_port}", HTTPS_PORT.to_string()),
        ("{nginx_status}", nginx_status.to_string()),
        ("{daemon_status}", daemon_status.to_string()),
        ("{default_certificate}", format!("{namespace}/{name}")),
    ]
    .iter()
    .fold(SETTINGS.to_owned(), |text, (hole, value)| text.replace(hole, value));
    let file = folder.join("ingressd.toml");
    std::fs::write(&file, text).map_err(|source| DemoError::Write { path: file.clone(), source })?;
    let sources = ingressd_config::Sources { file: Some(file), ..ingressd_config::Sources::default() };
    Ok(sources.load()?)
}
