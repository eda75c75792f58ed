//! The folder in which nginx caches the answers of authentication services: its name says whose it
//! is.

use std::path::{Path, PathBuf};

const PREFIX: &str = "ingressd-authentication";

/// The name of the folder for the root of a daemon's generations; `None` when that is no text.
pub fn folder_of(root: &Path) -> Option<String> {
    let mut name = PREFIX.to_owned();
    for byte in root.to_str()?.bytes() {
        match byte {
            b'/' => name.push('-'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' => name.push(char::from(byte)),
            byte => name.push_str(&format!("_{byte:02x}")),
        }
    }
    Some(name)
}

/// The root that a folder of this name is for, if it has such a name.
pub fn root_of(name: &str) -> Option<PathBuf> {
    let mut path = Vec::new();
    let mut rest = name.strip_prefix(PREFIX)?.bytes();
    while let Some(byte) = rest.next() {
        path.push(match byte {
            b'-' => b'/',
            b'_' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    let root = PathBuf::from(String::from_utf8(path).ok()?);
    // No other name is taken for one of ours.
    (root.is_absolute() && folder_of(&root)? == name).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_which_root_it_is_for() {
        for root in ["/etc/nginx/ingressd", "/etc/nginx/ingressd-blue", "/tmp/a_b %/é/root", "/"] {
            let name = folder_of(Path::new(root)).unwrap();
            assert_eq!(root_of(&name).as_deref(), Some(Path::new(root)), "{name}");
            assert!(!name.contains('/'), "{name}");
        }
        for name in
            ["proxy", PREFIX, "ingressd-authentication-4aea79_", "ingressd-authentication-_2fa", "ingressd-other"]
        {
            assert_eq!(root_of(name), None, "{name}");
        }
    }
}
