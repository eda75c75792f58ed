//! nginx's complaints: a remark is a part of its line, and names what nginx named.

use ingressd_nginx::complaint::{self, Level, Remark};

pub fn check(data: &[u8]) {
    // As it is read from nginx.
    let text = String::from_utf8_lossy(data);
    let remarks = complaint::parse(&text);
    let mut lines = text.lines();
    for remark in &remarks {
        // Each has a line of its own, in their order.
        let is_of = |line: &str| {
            let file = remark.file.as_deref().unwrap_or_default();
            line.contains(&remark.words) && line.contains(file)
        };
        assert!(lines.any(is_of), "{remark:?}: {text:?}");
        assert!(remark.file.as_ref().is_none_or(|file| file.starts_with('/')), "{remark:?}");
        assert!(remark.line.is_none() || remark.file.is_some(), "{remark:?}");
        let _ = remark.is_shortage();
    }
    text.lines().for_each(placed);
}

/// Words of nginx at a place of a file are read back.
fn placed(words: &str) {
    for (name, level) in [("emerg", Level::Failure), ("warn", Level::Warning), ("notice", Level::Notice)] {
        let remark = |words: &str| {
            let parsed = complaint::parse(&format!("nginx: [{name}] {words} in /etc/nginx/a b:c.conf:7"));
            parsed.into_iter().next().unwrap_or_else(|| panic!("{words:?} is no remark"))
        };
        // What looks like a process in front of the words is one.
        let words = format!("directive \"{words}\" is odd");
        let file = Some("/etc/nginx/a b:c.conf".to_owned());
        assert_eq!(remark(&words), Remark { level, words, file, line: Some(7) });
    }
}
