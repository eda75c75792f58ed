//! The connection to the cluster, which is kept across settings that name the same cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::Error;
use ingressd_cluster::source::cluster::{self, Clients, Connected, DEFAULT_KUBECONFIG};
use ingressd_config::Settings;

/// The connection to the cluster that a kubeconfig names. Clones share it; it is closed with the
/// last.
#[derive(Debug, Clone)]
pub struct Link {
    kubeconfig: PathBuf,
    connected: Arc<Connected>,
}

impl Link {
    /// The connection that the settings ask for: the earlier one if it is the same; `None` when
    /// the source is a folder.
    ///
    /// # Errors
    ///
    /// When they name no source, or a kubeconfig that cannot be used. An unreachable cluster is no
    /// error.
    pub async fn of(settings: &Settings, earlier: Option<&Link>) -> Result<Option<Self>, Error> {
        let standard = Path::new(DEFAULT_KUBECONFIG);
        let kubeconfig = match (&settings.manifests, &settings.cluster.kubeconfig) {
            (Some(_), _) => return Ok(None),
            (None, Some(kubeconfig)) => kubeconfig,
            // Reading one that cannot be looked at now tells why.
            (None, None) if standard.try_exists().unwrap_or(true) => standard,
            (None, None) => return Err(Error::NoSource),
        };
        // The connection follows changes of its files by itself.
        if let Some(earlier) = earlier.filter(|earlier| earlier.kubeconfig == *kubeconfig) {
            return Ok(Some(earlier.clone()));
        }
        let connected = Arc::new(cluster::connect(kubeconfig).await?);
        Ok(Some(Link { kubeconfig: kubeconfig.to_owned(), connected }))
    }

    pub(crate) fn clients(&self) -> &Clients {
        self.connected.clients()
    }

    /// Whether both are the same connection.
    pub fn is_same(&self, other: &Link) -> bool {
        Arc::ptr_eq(&self.connected, &other.connected)
    }
}
