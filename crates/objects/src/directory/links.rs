//! Finds the symbolic links on the way to a file or folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The most links on one way, as in the kernel.
const MOST: usize = 40;

/// Calls `through` with each link on the way to an absolute path, and with what the last one leads
/// to. Where there is no link, it is not called.
pub fn follow(path: &Path, through: &mut dyn FnMut(&Path)) {
    let mut left = parts(path);
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = left.pop() {
        match part.to_str() {
            Some("/") => at = PathBuf::from("/"),
            Some("..") => drop(at.pop()),
            _ => {
                at.push(part);
                let Ok(target) = fs::read_link(&at) else { continue };
                links += 1;
                if links > MOST {
                    return;
                }
                through(&at);
                at.pop();
                left.append(&mut parts(&target));
            }
        }
    }
    if links > 0 {
        through(&at);
    }
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev().filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_is_on_the_way() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("releases/1/sub")).unwrap();
        fs::create_dir(home.join("folder")).unwrap();
        fs::write(home.join("releases/1/sub/a.yaml"), "").unwrap();
        symlink("1", home.join("releases/current")).unwrap();
        symlink("../releases/current/./sub", home.join("folder/sub")).unwrap();
        symlink("round", home.join("round")).unwrap();
        for (path, expected) in [
            ("folder/sub/a.yaml", &["folder/sub", "releases/current", "releases/1/sub/a.yaml"][..]),
            ("folder/sub", &["folder/sub", "releases/current", "releases/1/sub"]),
            ("releases/1/sub/a.yaml", &[]),
            ("releases/current/missing", &["releases/current", "releases/1/missing"]),
        ] {
            let mut found = Vec::new();
            follow(&home.join(path), &mut |path| found.push(path.to_owned()));
            assert_eq!(found, expected.iter().map(|path| home.join(path)).collect::<Vec<_>>(), "{path}");
        }
        let mut count = 0;
        follow(&home.join("round"), &mut |_| count += 1);
        assert_eq!(count, MOST);
    }
}
