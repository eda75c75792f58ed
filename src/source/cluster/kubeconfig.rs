//! The kubeconfig and the files that it names.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::model::Digest;

/// Where the credentials are unless the administrator says otherwise.
pub const DEFAULT_KUBECONFIG: &str = "/etc/ingressd/kubeconfig";

/// Permissions that nobody but the owner of a kubeconfig may have.
const FOREIGN_PERMISSIONS: u32 = 0o077;

/// Why a kubeconfig cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// It cannot be read.
    #[error("the kubeconfig {} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others than its owner may use it.
    #[error(
        "the kubeconfig {} is refused: others than its owner may use it (mode {mode:04o}); run chmod 600 on it",
        path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// What it says, or a file that it names, is of no use.
    #[error("the kubeconfig {} cannot be used: {source}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<kube::config::KubeconfigError>,
    },
}

/// What a kubeconfig says.
#[derive(Debug)]
pub struct Credentials {
    /// The server and how to speak to it; deadlines are those of the library.
    pub config: Config,
    /// The kubeconfig and the files that it names: when one changes, so do the credentials.
    pub files: Vec<PathBuf>,
    /// The [`fingerprint`] of these files, taken before they were read: what changed meanwhile differs from it.
    pub fingerprint: Digest,
}

/// Reads a kubeconfig and the certificates of the authorities that it names.
///
/// # Errors
///
/// When it cannot be read, is open to others than its owner, or says nothing that can be used.
pub async fn read(path: &Path) -> Result<Credentials, KubeconfigError> {
    let metadata = fs::metadata(path).map_err(|source| KubeconfigError::Read { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & FOREIGN_PERMISSIONS != 0 {
        return Err(KubeconfigError::Exposed { path: path.to_owned(), mode });
    }
    let invalid = |source| KubeconfigError::Invalid { path: path.to_owned(), source: Box::new(source) };
    let files = files(path, &Kubeconfig::read_from(path).map_err(invalid)?);
    let fingerprint = fingerprint(&files);
    let kubeconfig = Kubeconfig::read_from(path).map_err(invalid)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(invalid)?;
    Ok(Credentials { config, files, fingerprint })
}

/// Those of contexts that are not used do no harm: they are only looked at.
fn files(path: &Path, kubeconfig: &Kubeconfig) -> Vec<PathBuf> {
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let authorities = clusters.filter_map(|cluster| cluster.certificate_authority.as_ref());
    let named = users.flat_map(|user| [&user.client_certificate, &user.client_key, &user.token_file]);
    let named = authorities.chain(named.flatten()).map(PathBuf::from);
    std::iter::once(path.to_owned()).chain(named).collect()
}

/// Differs when the content or the permissions of any of these files differ, or whether it can be read.
pub fn fingerprint(files: &[PathBuf]) -> Digest {
    Digest::of_all(files.iter().map(|file| {
        let read = fs::read(file).and_then(|content| Ok((content, fs::metadata(file)?.permissions().mode())));
        match read {
            Ok((content, mode)) => [&mode.to_be_bytes()[..], &Digest::of(&content).0].concat(),
            Err(_) => vec![0],
        }
    }))
}
