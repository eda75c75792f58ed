//! Paths of requests as nginx compares them: without the escapes of URLs, and resolved.

/// A path without the escapes of URLs; `None` for one that nginx refuses.
pub fn decoded(path: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let [byte, behind @ ..] = rest {
        let (read, following) = match (byte, behind) {
            (b'%', [high, low, behind @ ..]) => {
                let code = u8::try_from(16 * digit(high)? + digit(low)?).ok();
                (code.filter(|code| *code != 0)?, behind)
            }
            (b'%', _) => return None,
            (byte, behind) => (*byte, behind),
        };
        bytes.push(read);
        rest = following;
    }
    Some(bytes)
}

/// A decoded path with one slash for several, and without `.` and `..` as elements. `None` for
/// what nginx refuses, because that leads above `/`.
pub fn resolved(path: &[u8]) -> Option<String> {
    let (mut parts, mut is_folder) = (Vec::new(), true);
    for part in path.split(|byte| *byte == b'/') {
        is_folder = matches!(part, b"" | b"." | b"..");
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            _ => parts.push(String::from_utf8_lossy(part)),
        }
    }
    let end = if is_folder && !parts.is_empty() { "/" } else { "" };
    Some(format!("/{}{end}", parts.join("/")))
}
