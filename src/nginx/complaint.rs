//! Reads what nginx says on its standard error when it tests a configuration; it must not know whose files it speaks of.

/// How serious nginx is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It goes on.
    Notice,
    /// It goes on, but something is odd.
    Warning,
    /// It does not start, or keeps its old configuration.
    Failure,
}

/// One line of nginx.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// How serious it is.
    pub level: Level,
    /// The words, without level and place.
    pub words: String,
    /// The file it names: the place of the mistake, or a file that it could not use.
    pub file: Option<String>,
    /// The line in the file.
    pub line: Option<u32>,
}

/// Every remark in order; lines of another form, such as the summary at the end, are left out.
pub fn parse(standard_error: &str) -> Vec<Remark> {
    standard_error.lines().filter_map(remark).collect()
}

fn remark(line: &str) -> Option<Remark> {
    // `nginx: [emerg] words`, or in a log `2026/11/21 10:00:00 [emerg] 12#12: *3 words`.
    let (_, rest) = line.split_once('[')?;
    let (level, rest) = rest.split_once("] ")?;
    let level = match level {
        "emerg" | "alert" | "crit" | "error" => Level::Failure,
        "warn" => Level::Warning,
        "notice" | "info" | "debug" => Level::Notice,
        _ => return None,
    };
    let words = without_process(rest);
    let (words, place) = match placed(words) {
        Some((words, file, number)) => (words, Some((file, Some(number)))),
        None => (words, named_file(words).map(|file| (file, None))),
    };
    let (file, line) = place.unzip();
    Some(Remark { level, words: words.to_owned(), file: file.map(str::to_owned), line: line.flatten() })
}

/// Leaves out `12#12: ` and `*3 `, which log files have in front of the words.
fn without_process(text: &str) -> &str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((head, rest)) = text.split_once(": ") else { return text };
    match head.split_once('#') {
        Some((process, thread)) if digits(process) && digits(thread) => match rest.split_once(' ') {
            Some((connection, words)) if connection.strip_prefix('*').is_some_and(digits) => words,
            _ => rest,
        },
        _ => text,
    }
}

/// Takes ` in FILE:LINE` from the end. A file name may hold colons and blanks, a line number is the last thing.
fn placed(text: &str) -> Option<(&str, &str, u32)> {
    let (head, number) = text.rsplit_once(':')?;
    let number = number.trim_end().parse().ok()?;
    let (words, file) = head.rsplit_once(" in /").map(|(words, _)| (words, &head[words.len() + 4..]))?;
    Some((words, file, number))
}

/// The absolute path in `cannot load certificate "/path"`, `open() "/path" failed` and their kin.
fn named_file(text: &str) -> Option<&str> {
    let start = text.find("\"/")? + 1;
    let length = text[start..].find('"')?;
    Some(&text[start..start + length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_form_of_remark() {
        type Row = (&'static str, Level, &'static str, Option<&'static str>, Option<u32>);
        let table: &[Row] = &[
            (
                "nginx: [emerg] unknown directive \"x\" in /etc/nginx/a b.conf:12",
                Level::Failure,
                "unknown directive \"x\"",
                Some("/etc/nginx/a b.conf"),
                Some(12),
            ),
            (
                "nginx: [emerg] pcre2_compile() failed: missing closing parenthesis in \"^/(\" at \"\" in /g/http/s.conf:7",
                Level::Failure,
                "pcre2_compile() failed: missing closing parenthesis in \"^/(\" at \"\"",
                Some("/g/http/s.conf"),
                Some(7),
            ),
            (
                "nginx: [emerg] cannot load certificate \"/g/certs/c.pem\": PEM_read_bio_X509_AUX() failed (SSL: error:0480006C)",
                Level::Failure,
                "cannot load certificate \"/g/certs/c.pem\": PEM_read_bio_X509_AUX() failed (SSL: error:0480006C)",
                Some("/g/certs/c.pem"),
                None,
            ),
            (
                "nginx: [warn] conflicting server name \"a.example\" on 0.0.0.0:80, ignored",
                Level::Warning,
                "conflicting server name \"a.example\" on 0.0.0.0:80, ignored",
                None,
                None,
            ),
            (
                "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)",
                Level::Failure,
                "bind() to 0.0.0.0:80 failed (98: Address already in use)",
                None,
                None,
            ),
            (
                "2026/11/21 10:00:00 [emerg] 812#812: *3 host not found in upstream \"x\" in /u.conf:2",
                Level::Failure,
                "host not found in upstream \"x\"",
                Some("/u.conf"),
                Some(2),
            ),
        ];
        for (text, level, words, file, line) in table {
            let expected =
                Remark { level: *level, words: (*words).to_owned(), file: file.map(str::to_owned), line: *line };
            assert_eq!(parse(text), [expected], "{text}");
        }
    }

    #[test]
    fn leaves_out_what_is_no_remark() {
        let summary =
            "nginx: the configuration file /n.conf syntax is ok\nnginx: configuration file /n.conf test failed\n";
        assert_eq!(parse(summary), []);
    }
}
