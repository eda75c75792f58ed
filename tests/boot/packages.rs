//! The packages that `make test-boot` built: this version and a higher one.

use std::path::PathBuf;

use super::machine::{Disk, target};

/// The .deb of this version.
pub fn deb() -> PathBuf {
    only("packages", "deb")
}

/// The .rpm of this version.
pub fn rpm() -> PathBuf {
    only("packages", "rpm")
}

/// The .deb of a higher version of the same program.
pub fn next_deb() -> PathBuf {
    only("next-packages", "deb")
}

/// The .rpm of a higher version of the same program.
pub fn next_rpm() -> PathBuf {
    only("next-packages", "rpm")
}

fn only(folder: &str, ending: &str) -> PathBuf {
    let folder = target().join("boot").join(folder);
    let files = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let found = Vec::from_iter(files.filter(|path| path.extension().is_some_and(|end| end == ending)));
    let [file] = &found[..] else { panic!("{found:?} in {}: run `make test-boot`", folder.display()) };
    file.clone()
}

/// Puts both versions of the .deb on a disk, as /root/ingressd.deb and /root/next.deb.
pub fn put(disk: &Disk) {
    disk.copy(&deb(), "/root/ingressd.deb");
    disk.copy(&next_deb(), "/root/next.deb");
}
