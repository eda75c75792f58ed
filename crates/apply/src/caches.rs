//! Removes what nginx cached for roots of generations that no longer exist.

use std::fs;
use std::path::Path;

use ingressd_nginx::answer_memory;

/// Removes the folders below nginx's temporary ones that have the name of such a root, and nothing
/// else. A root elsewhere than beside this daemon's own may be hidden from it by its unit, which
/// has a `/tmp` and a `/root` of its own, or not mounted.
pub fn remove_abandoned(temporary: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(temporary) else { return };
    for entry in entries.flatten() {
        let root = entry.file_name().to_str().and_then(answer_memory::root_of);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_gone = |root: &Path| {
            root.parent() == own.parent() && fs::symlink_metadata(root).is_err_and(|error| is_missing(&error))
        };
        if let Some(root) = root.filter(|root| is_folder && is_gone(root)) {
            let path = entry.path();
            match fs::remove_dir_all(&path) {
                Ok(()) => tracing::info!("{} is removed: {} no longer exists", path.display(), root.display()),
                Err(why) => tracing::warn!("{} of an earlier root cannot be removed: {why}", path.display()),
            }
        }
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_roots_that_are_gone_are_removed() {
        let host = tempfile::tempdir().unwrap();
        let (temporary, there) = (host.path().join("var"), host.path().join("ingressd"));
        let (gone, hidden) = (host.path().join("ingressd-blue"), host.path().join("tmp/ingressd"));
        let other = host.path().join("other");
        // The unit's own folder is there, and the root in that of the host is not seen.
        let hiding = host.path().join("tmp");
        [&temporary, &there, &other, &hiding].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let of = |root: &Path| temporary.join(answer_memory::folder_of(root).unwrap());
        for folder in [of(&there), of(&gone), of(&hidden), temporary.join("proxy"), temporary.join("ingressd-mine")] {
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("answer"), "200").unwrap();
        }
        fs::write(other.join("kept"), "").unwrap();
        // A link is not followed, and a file is no folder.
        std::os::unix::fs::symlink(&other, of(&host.path().join("link"))).unwrap();
        fs::write(of(&host.path().join("file")), "").unwrap();
        remove_abandoned(&temporary, &there);
        assert!(!of(&gone).exists());
        assert!(
            [of(&there), of(&hidden), temporary.join("proxy"), temporary.join("ingressd-mine")]
                .iter()
                .all(|path| path.join("answer").exists())
        );
        assert!(other.join("kept").exists() && of(&host.path().join("file")).exists());
    }
}
