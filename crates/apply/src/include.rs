//! The files that an argument of nginx's `include` names: nginx asks glob(3), whose rules for
//! hidden files, brackets and backslashes differ from those of other matchers.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::error::is_shortage;

/// The files in nginx's order, which is that of their bytes. A path without `*`, `?` and `[` is
/// taken as it is written.
///
/// # Errors
///
/// A shortage of our own, which does not tell what is there. Folders that cannot be read for other
/// reasons have no files for nginx either.
pub fn included(pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let written = pattern.as_os_str().as_bytes();
    if !written.iter().any(|byte| b"*?[".contains(byte)) {
        return Ok(vec![pattern.to_owned()]);
    }
    let root = if pattern.is_absolute() { "/" } else { "" };
    let parts = written.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
    let mut found = vec![PathBuf::from(root)];
    for part in parts {
        let named: Option<Vec<u8>> = (!has_wildcards(part)).then(|| unescaped(part));
        let within = |folder: PathBuf| match &named {
            Some(name) => Ok(vec![folder.join(OsStr::from_bytes(name))]),
            None => matching(&folder, part),
        };
        found = found.into_iter().map(within).collect::<io::Result<Vec<_>>>()?.concat();
    }
    let there = found.into_iter().map(|path| Ok(seen(path.symlink_metadata())?.map(|_| path)));
    let mut there: Vec<_> = there.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect();
    there.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    Ok(there)
}

/// What a folder has for a part of a pattern.
fn matching(folder: &Path, part: &[u8]) -> io::Result<Vec<PathBuf>> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in seen(fs::read_dir(place))?.into_iter().flatten() {
        let name = seen(entry)?.map(|entry| entry.file_name());
        found.extend(name.filter(|name| matches(part, name.as_bytes())).map(|name| folder.join(name)));
    }
    Ok(found)
}

/// What there is, unless a shortage of our own keeps it from being seen.
fn seen<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(error) if is_shortage(&error) => Err(error),
        read => Ok(read.ok()),
    }
}

fn has_wildcards(part: &[u8]) -> bool {
    let opens = part.iter().position(|byte| *byte == b'[');
    part.contains(&b'*') || part.contains(&b'?') || opens.is_some_and(|place| part[place..].contains(&b']'))
}

fn unescaped(part: &[u8]) -> Vec<u8> {
    let mut rest = part.iter();
    let mut name = Vec::with_capacity(part.len());
    while let Some(byte) = rest.next() {
        name.extend(if *byte == b'\\' { rest.next() } else { Some(byte) });
    }
    name
}

/// Whether a pattern without slashes matches a name. Wildcards match no dot at its beginning.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.starts_with(b".") && !pattern.starts_with(b".") && !pattern.starts_with(b"\\.") {
        return false;
    }
    let (mut left, mut rest) = (pattern, name);
    // Behind the last `*`, and what it has not taken yet: it takes one byte more each time.
    let mut last: Option<(&[u8], &[u8])> = None;
    loop {
        let next = match (left, rest) {
            ([], []) => return true,
            ([b'*', behind @ ..], _) => {
                last = Some((behind, rest));
                left = behind;
                continue;
            }
            (_, [byte, following @ ..]) => one(left, *byte).map(|behind| (behind, following)),
            (_, []) => None,
        };
        (left, rest) = match (next, last) {
            (Some(next), _) => next,
            (None, Some((behind, [_, following @ ..]))) => {
                last = Some((behind, following));
                (behind, following)
            }
            (None, _) => return false,
        };
    }
}

/// What is behind the first element of a pattern, when that matches a byte.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (is_match, behind) = match pattern {
        [b'?', behind @ ..] => (true, behind),
        [b'\\', escaped, behind @ ..] => (*escaped == byte, behind),
        [b'[', set @ ..] => in_set(set, byte).unwrap_or((byte == b'[', set)),
        [literal, behind @ ..] => (*literal != b'\\' && *literal == byte, behind),
        [] => return None,
    };
    is_match.then_some(behind)
}

/// Whether the set behind a `[` has a byte, and what is behind the set; `None` where nothing ends
/// it, so that the `[` stands for itself.
fn in_set(set: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let (not, mut rest) = match set {
        [b'!' | b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut is_first, mut has) = (true, false);
    loop {
        if let [b']', behind @ ..] = rest
            && !is_first
        {
            return Some((has != not, behind));
        }
        is_first = false;
        if let Some((class, behind)) = class(rest) {
            has |= class(&byte);
            rest = behind;
            continue;
        }
        let (first, behind) = member(rest)?;
        (has, rest) = match behind {
            [b'-', end @ ..] if !end.starts_with(b"]") => {
                let (last, behind) = member(end)?;
                (has || (first..=last).contains(&byte), behind)
            }
            behind => (has || first == byte, behind),
        };
    }
}

/// A byte of a set, which a backslash may escape, and what is behind it.
fn member(set: &[u8]) -> Option<(u8, &[u8])> {
    match set {
        [b'\\', escaped, behind @ ..] => Some((*escaped, behind)),
        [byte, behind @ ..] => Some((*byte, behind)),
        [] => None,
    }
}

/// Whether a class has a byte.
type Has = fn(&u8) -> bool;

/// A class of bytes, such as `[:digit:]`, and what is behind it.
fn class(set: &[u8]) -> Option<(Has, &[u8])> {
    const CLASSES: [(&[u8], Has); 7] = [
        (b"[:alnum:]", u8::is_ascii_alphanumeric),
        (b"[:alpha:]", u8::is_ascii_alphabetic),
        (b"[:digit:]", u8::is_ascii_digit),
        (b"[:lower:]", u8::is_ascii_lowercase),
        (b"[:punct:]", u8::is_ascii_punctuation),
        (b"[:upper:]", u8::is_ascii_uppercase),
        (b"[:xdigit:]", u8::is_ascii_hexdigit),
    ];
    CLASSES.iter().find_map(|(name, has)| Some((*has, set.strip_prefix(*name)?)))
}
