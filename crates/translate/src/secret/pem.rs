//! PEM as people write it, as PEM that every parser reads. It must not know what the blocks mean.

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// Other labels of certificates that OpenSSL reads. What a trusted one has behind its certificate
/// is for programs of OpenSSL alone.
const CERTIFICATES: [&str; 2] = ["X509 CERTIFICATE", "TRUSTED CERTIFICATE"];

/// The same blocks, each with lines of its own for its boundaries, with the label of RFC 7468 and
/// without indentation and byte order marks.
pub fn tidy(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut tidied = String::with_capacity(text.len());
    for line in text.split(['\n', '\r']) {
        boundaries(line.trim_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}'), &mut tidied);
    }
    tidied.into_bytes()
}

/// How many blocks a text has at most.
pub fn count(text: &[u8]) -> usize {
    String::from_utf8_lossy(text).matches(BEGIN).count()
}

/// What a text of certificates has besides these and is not read; parameters of keys hold none.
pub fn unread(tidied: &[u8]) -> Option<Unread> {
    const READ: [&str; 3] = ["CERTIFICATE", "DH PARAMETERS", "EC PARAMETERS"];
    let text = String::from_utf8_lossy(tidied);
    let mut is_inside = false;
    text.lines().find_map(|line| {
        if let Some(label) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(DASHES)) {
            is_inside = true;
            return (!READ.contains(&label)).then(|| Unread::Block(label.to_owned()));
        }
        is_inside &= !line.starts_with(END);
        (!is_inside && is_content(line)).then_some(Unread::Content)
    })
}

/// What is not read.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    /// A block with this label.
    Block(String),
    /// Lines such as blocks hold, behind a boundary that is none.
    Content,
}

/// Whether a line looks as if it were of a block; RFC 7468 has 64 characters in each.
fn is_content(line: &str) -> bool {
    line.len() >= 64 && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// Appends a line, with line ends around each boundary in it.
fn boundaries(mut line: &str, tidied: &mut String) {
    while let Some((at, boundary)) = [BEGIN, END].into_iter().filter_map(|mark| Some((line.find(mark)?, mark))).min() {
        let (before, rest) = line.split_at(at);
        let Some((label, after)) = rest.get(boundary.len()..).and_then(|rest| rest.split_once(DASHES)) else { break };
        let label = if CERTIFICATES.contains(&label) { "CERTIFICATE" } else { label };
        tidied.extend([before.trim(), "\n", boundary, label, DASHES, "\n"]);
        line = after;
    }
    tidied.extend([line.trim(), "\n"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_becomes_what_parsers_read() {
        let block = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let lines = |text: &[u8]| {
            let text = String::from_utf8(tidy(text)).unwrap();
            text.lines().filter(|line| !line.is_empty()).map(|line| line.to_owned() + "\n").collect::<String>()
        };
        for (what, text) in [
            ("nothing to do", block.to_owned()),
            ("a byte order mark", format!("\u{feff}{block}")),
            ("indentation", block.replace("-----BEGIN", "  -----BEGIN").replace("\n", " \n\t")),
            ("line ends of old systems", block.replace('\n', "\r")),
            ("line ends of Windows", block.replace('\n', "\r\n")),
            ("another label", block.replace("CERTIFICATE", "X509 CERTIFICATE")),
            ("a trusted one", block.replace("CERTIFICATE", "TRUSTED CERTIFICATE")),
            ("one line", block.replace('\n', "")),
        ] {
            assert_eq!(lines(text.as_bytes()), block, "{what}");
        }
        let glued = [block.trim_end(), block].concat();
        assert_eq!(lines(glued.as_bytes()), block.repeat(2));
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert_eq!(lines(key.as_bytes()), key);
        let unread = |text: String| unread(&tidy(text.as_bytes()));
        assert_eq!(unread([block, key].concat()), Some(Unread::Block("PRIVATE KEY".to_owned())));
        let long = block.replace("AAAA", &"A".repeat(64));
        let broken = long.replace("-----BEGIN", "----BEGIN");
        for (what, text, expected) in [
            ("a boundary that is none", [block, &broken].concat(), Some(Unread::Content)),
            ("nothing", [&long, block].concat(), None),
            ("what OpenSSL writes before a block", ["subject=CN = a.test\n", &long].concat(), None),
        ] {
            assert_eq!(unread(text), expected, "{what}");
        }
        assert_eq!(lines(b"-----BEGIN \xff\n"), "-----BEGIN \u{fffd}\n", "no boundary");
    }
}
