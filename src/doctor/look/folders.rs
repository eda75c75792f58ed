//! Gathers how much room there is in the folders that ingressd and nginx write to.

use std::path::{Path, PathBuf};

use nix::sys::statvfs::{FsFlags, statvfs};

use super::nginx::log_folders;
use crate::doctor::facts::{Folder, Free, Nginx, NoNginx};
use ingressd_config::Settings;

/// The room in each folder; one that is not there yet will be made on the file system of the
/// folder above it.
pub fn look(settings: &Settings, nginx: &Result<Nginx, NoNginx>) -> Vec<Folder> {
    let parent = |path: &Path| path.parent().map(Path::to_owned);
    let master = match nginx {
        Ok(nginx) => &nginx.master,
        Err(none) => &none.master,
    };
    let temporary = nginx.as_ref().ok().and_then(|nginx| nginx.survey.capabilities.temporary.clone());
    let logs = master.as_ref().map(log_folders).unwrap_or_default();
    let ours: [(Option<PathBuf>, &str); 5] = [
        (Some(settings.apply.root.clone()), "generations"),
        (Some(settings.apply.state.clone()), "ingressd's state"),
        (parent(&settings.control_socket), "the control socket"),
        (parent(&settings.nginx.pid_file), "nginx's pid file and a lock"),
        (temporary, "nginx's temporary files"),
    ];
    let ours = ours.into_iter().filter_map(|(path, purpose)| Some((path?, purpose)));
    let all = ours.chain(logs.into_iter().map(|path| (path, "nginx's logs")));
    let mut folders = Vec::<Folder>::new();
    for (path, purpose) in all.filter(|(path, _)| path.is_absolute()) {
        if !folders.iter().any(|known| known.path == path) {
            let free = free(&path);
            folders.push(Folder { path, purpose, free });
        }
    }
    folders
}

fn free(path: &Path) -> Result<Free, String> {
    let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let found = statvfs(there).map_err(|error| error.desc().to_owned())?;
    Ok(Free {
        bytes: found.blocks_available() * found.fragment_size(),
        inodes: (found.files() > 0).then(|| found.files_available()),
        read_only: found.flags().contains(FsFlags::ST_RDONLY),
    })
}
