//! Whether the administrator drained this node, across restarts.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use super::state_file;
use ingressd_apply::unless_missing;

/// The mark of a drained node; clones share it.
#[derive(Debug, Clone)]
pub struct Drain {
    file: PathBuf,
    drained: Arc<watch::Sender<bool>>,
}

impl Drain {
    /// Reads the mark that an earlier run left in this folder.
    ///
    /// # Errors
    ///
    /// When it cannot be found out whether there is one.
    pub fn open(state: &Path) -> io::Result<Self> {
        let file = state.join("drained");
        let drained = watch::Sender::new(file.try_exists()?);
        Ok(Drain { file, drained: Arc::new(drained) })
    }

    /// Drains the node, or ends that.
    ///
    /// # Errors
    ///
    /// When it could not be recorded for the next start; then nothing changes.
    pub fn set(&self, drained: bool) -> io::Result<()> {
        match drained {
            true => {
                state_file::make_folder(self.file.parent().unwrap_or(Path::new("/")))?;
                // A host that loses its power must not come back published.
                std::fs::File::create(&self.file)?.sync_all()?;
                self.flush()?;
            }
            false => unless_missing(std::fs::remove_file(&self.file))?.map_or(Ok(()), |()| self.flush())?,
        }
        if self.drained.send_replace(drained) != drained {
            tracing::info!("this node is {}", if drained { "drained" } else { "no longer drained" });
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        std::fs::File::open(self.file.parent().unwrap_or(Path::new("/")))?.sync_all()
    }

    /// Whether the node is drained, and changes of that.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.drained.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_survives_a_restart_and_can_be_undone() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let drain = Drain::open(&state).unwrap();
        let watch = drain.watch();
        assert!(!*watch.borrow());
        drain.set(true).unwrap();
        assert!(*watch.borrow() && *Drain::open(&state).unwrap().watch().borrow());
        drain.set(false).unwrap();
        drain.set(false).unwrap();
        assert!(!*watch.borrow() && !*Drain::open(&state).unwrap().watch().borrow());
    }
}
