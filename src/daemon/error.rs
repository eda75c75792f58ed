//! Why the daemon cannot run, for the user who started it.

use std::path::{Path, PathBuf};

use super::pipeline;
use ingressd_cluster::source::WatchError;
use ingressd_cluster::source::cluster::KubeconfigError;

/// Why the daemon cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to serve.
    #[error(
        "nothing to serve: make a kubeconfig with `ingressd kubeconfig`, or name one with --kubeconfig or a folder with \
         --manifests, or by the settings of these names"
    )]
    NoSource,
    /// The source cannot be watched.
    #[error(transparent)]
    Source(#[from] WatchError),
    /// The credentials for the cluster cannot be used.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// An address cannot be listened on.
    #[error("the address of http.address, {address}, cannot be used: {source}")]
    Http {
        /// As the settings have it.
        address: std::net::SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The control socket cannot be created.
    #[error("the socket of control.socket, {}, cannot be made: {source}", path.display())]
    Control {
        /// As the settings have it.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// nginx or a folder cannot be used.
    #[error("{0}")]
    Pipeline(#[source] Box<pipeline::Error>),
}

impl Error {
    /// What an earlier run kept in the state folder cannot be read now.
    pub fn unreadable(state: &Path, source: std::io::Error) -> Self {
        Error::Pipeline(Box::new(pipeline::Error::State { path: state.to_owned(), source }))
    }

    /// Whether access to a file or folder was denied, so that the daemon has to run as another
    /// user.
    pub fn is_permission(&self) -> bool {
        if matches!(self, Error::Kubeconfig(KubeconfigError::Exposed { .. })) {
            return true;
        }
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            let denied = |error: &std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
            if error.downcast_ref().is_some_and(denied) {
                return true;
            }
            source = error.source();
        }
        false
    }
}
