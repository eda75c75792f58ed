//! Reads the kubeconfig and the files that it names.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::words::words;
use ingressd_model::Digest;

/// The default path of the kubeconfig.
pub const DEFAULT_KUBECONFIG: &str = "/etc/ingressd/kubeconfig";

/// Permission bits of others, which a kubeconfig must not have.
const FOREIGN_PERMISSIONS: u32 = 0o077;

/// Why a kubeconfig cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// It cannot be read.
    #[error("the kubeconfig {} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Users other than its owner may access it.
    #[error(
        "the kubeconfig {} is refused: others than its owner may use it (mode {mode:04o}); run chmod 600 on it",
        path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        mode: u32,
    },
    /// Its content, or a file that it names, cannot be used.
    #[error("the kubeconfig {} cannot be used: {}", path.display(), why(source))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error.
        source: Box<kube::config::KubeconfigError>,
    },
}

/// The content of a kubeconfig.
#[derive(Debug)]
pub struct Credentials {
    /// The server and how to connect to it; deadlines are those of the library.
    pub config: Config,
    /// The kubeconfig and the files that it names: the credentials change when one of them does.
    pub files: Vec<PathBuf>,
    /// The [`fingerprint`] of these files, taken before they were read: a change in the meantime
    /// makes a difference to it.
    pub fingerprint: Digest,
}

/// Reads a kubeconfig and the CA certificates that it names.
///
/// # Errors
///
/// When it cannot be read, is accessible to others than its owner, or cannot be used.
pub async fn read(path: &Path) -> Result<Credentials, KubeconfigError> {
    let metadata = fs::metadata(path).map_err(|source| KubeconfigError::Read { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & FOREIGN_PERMISSIONS != 0 {
        return Err(KubeconfigError::Exposed { path: path.to_owned(), mode });
    }
    let invalid = |source| KubeconfigError::Invalid { path: path.to_owned(), source: Box::new(source) };
    let files = files(path, &load(path).map_err(invalid)?);
    let fingerprint = fingerprint(&files);
    let kubeconfig = load(path).map_err(invalid)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(invalid)?;
    Ok(Credentials { config, files, fingerprint })
}

/// Parses a kubeconfig. The client library panics at half a character at the end of UTF-16.
pub fn load(path: &Path) -> Result<Kubeconfig, kube::config::KubeconfigError> {
    let wrong = |error| kube::config::KubeconfigError::ReadConfig(error, path.to_owned());
    let content = fs::read(path).map_err(wrong)?;
    let is_utf16 = [[0xff, 0xfe], [0xfe, 0xff]].iter().any(|mark| content.starts_with(mark));
    match is_utf16 && content.len() % 2 == 1 {
        true => Err(wrong(io::Error::new(io::ErrorKind::InvalidData, "it ends within a character of UTF-16"))),
        false => Kubeconfig::read_from(path),
    }
}

/// What is wrong with a kubeconfig.
pub fn why(error: &kube::config::KubeconfigError) -> String {
    use kube::config::KubeconfigError as Error;
    match error {
        Error::CurrentContextNotSet => "it has no current-context".to_owned(),
        Error::LoadContext(name) => format!("there is no context {name:?} in it"),
        Error::LoadClusterOfContext(name) => format!("there is no cluster {name:?} in it, which its context names"),
        Error::ReadConfig(error, path) => format!("{} cannot be read: {error}", path.display()),
        error => words(error),
    }
}

/// The files of all contexts: those of unused contexts are only watched.
fn files(path: &Path, kubeconfig: &Kubeconfig) -> Vec<PathBuf> {
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let authorities = clusters.filter_map(|cluster| cluster.certificate_authority.as_ref());
    let named = users.flat_map(|user| [&user.client_certificate, &user.client_key, &user.token_file]);
    let named = authorities.chain(named.flatten()).map(PathBuf::from);
    std::iter::once(path.to_owned()).chain(named).collect()
}

/// A digest of the content, the permissions and the readability of these files.
pub fn fingerprint(files: &[PathBuf]) -> Digest {
    Digest::of_all(files.iter().map(|file| {
        let read = fs::read(file).and_then(|content| Ok((content, fs::metadata(file)?.permissions().mode())));
        match read {
            Ok((content, mode)) => [&mode.to_be_bytes()[..], &Digest::of(&content).0].concat(),
            Err(_) => vec![0],
        }
    }))
}
