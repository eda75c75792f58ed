//! Password files: each line is one user and one hash of a known kind, whatever a Secret holds,
//! and notes are about lines.

use std::collections::BTreeMap;

use ingressd_model::SecretBytes;
use ingressd_objects::Secret;
use ingressd_translate::passwords::{Password, Passwords, of_file, of_map};
use ingressd_translate::{Limits, PasswordLimits};

/// The longest line: name, colon, hash and newline.
const LONGEST: usize = 2 * 256 + 2;

/// A file of passwords, whose lines are also entries of a Secret: a key stands before the first
/// colon.
pub fn check(data: &[u8]) {
    let few = PasswordLimits { users: 2, ..Limits::default().password };
    let file = secret([("auth".to_owned(), data.to_vec())]);
    let entries = data.split(|byte| *byte == b'\n').map(|line| {
        let (key, value) = line.split_at(line.iter().position(|byte| *byte == b':').unwrap_or(line.len()));
        // A second newline is one within a value.
        let value = value.iter().skip(1).map(|byte| if *byte == b'|' { b'\n' } else { *byte });
        (String::from_utf8_lossy(key).into_owned(), value.collect())
    });
    let map = secret(entries);
    for limits in [Limits::default().password, few] {
        let found = of_file(&file, limits).unwrap_or_else(|| panic!("the file is not found"));
        lines(&found, limits);
        // What was written is read as it is.
        let written: String = found.0.iter().map(Password::line).collect();
        let again = secret([("auth".to_owned(), written.clone().into_bytes())]);
        let again = of_file(&again, limits).unwrap_or_default();
        let read: String = again.0.iter().map(Password::line).collect();
        assert_eq!((read, again.1.as_slice()), (written, &[][..]));
        lines(&of_map(&map, limits), limits);
    }
    assert_eq!(of_file(&secret([]), few), None);
}

fn secret(entries: impl IntoIterator<Item = (String, Vec<u8>)>) -> Secret {
    let data: BTreeMap<_, _> = entries.into_iter().collect();
    let data = data.into_iter().map(|(key, value)| (key.into(), SecretBytes(value.into()))).collect();
    Secret { data, ..Secret::default() }
}

fn lines((passwords, notes): &Passwords<'_>, limits: PasswordLimits) {
    assert!(passwords.len() <= limits.users, "{passwords:?}");
    for line in passwords.iter().map(Password::line) {
        let Some(entry) = line.strip_suffix('\n') else { panic!("{line:?} is no line") };
        assert!(line.len() <= LONGEST && !entry.contains(char::is_control), "{line:?}");
        let Some((user, hash)) = entry.split_once(':') else { panic!("{line:?} has no hash") };
        assert!(!user.is_empty() && !hash.is_empty() && !hash.contains(':'), "{line:?}");
        assert!(!hash.starts_with("{PLAIN}"), "{line:?}");
        // nginx takes a line that begins like this for a comment.
        assert!(!user.starts_with('#'), "{line:?} is a comment");
    }
    for note in notes {
        let is_of_us = note.starts_with("line ") || note.starts_with("entry ");
        assert!(is_of_us && note.len() < 300 && !note.contains(char::is_control), "{note:?}");
    }
}
