//! Parses the messages that nginx prints when it tests a configuration.

/// The severity of a message of nginx.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// nginx goes on.
    Notice,
    /// nginx goes on, but something is odd.
    Warning,
    /// nginx does not start, or keeps its old configuration.
    Failure,
}

/// One message of nginx.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// How serious it is.
    pub level: Level,
    /// The text, without level and place.
    pub words: String,
    /// The file it names: the place of the mistake, or a file that it could not use.
    pub file: Option<String>,
    /// The line in the file.
    pub line: Option<u32>,
}

/// Parses every message in order. Lines of another form, such as the summary at the end, are left
/// out.
pub fn parse(standard_error: &str) -> Vec<Remark> {
    standard_error.lines().filter_map(remark).collect()
}

impl Remark {
    /// Whether the host ran out of a resource (memory, files, disk). The line that nginx names
    /// then is only where it happened.
    pub fn is_shortage(&self) -> bool {
        const SHORTAGES: [&str; 6] = [
            "Cannot allocate memory",
            "failed to allocate heap memory",
            "malloc failure",
            "Too many open files",
            "No space left on device",
            "nginx was ended by signal",
        ];
        // What users wrote stands between quotes, and may contain quotes itself.
        let (head, rest) = self.words.split_once('"').unwrap_or((&self.words, ""));
        let tail = rest.rsplit_once('"').map_or("", |(_, tail)| tail);
        SHORTAGES.iter().any(|shortage| head.contains(shortage) || tail.contains(shortage))
    }
}

fn remark(line: &str) -> Option<Remark> {
    // The form is `nginx: [emerg] words`, or in a log
    // `2026/11/21 10:00:00 [emerg] 12#12: *3 words`.
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

/// Strips `12#12: ` and `*3 `, which log files have in front of the text.
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

/// Splits ` in FILE:LINE` from the end. A file name may contain colons and blanks; the line number
/// is the last part.
fn placed(text: &str) -> Option<(&str, &str, u32)> {
    let (head, number) = text.rsplit_once(':')?;
    let number = number.trim_end().parse().ok()?;
    let (words, file) = head.rsplit_once(" in /").map(|(words, _)| (words, &head[words.len() + 4..]))?;
    Some((words, file, number))
}

/// Finds the absolute path in `cannot load certificate "/path"`, `open() "/path" failed` and
/// similar messages.
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
    fn distinguishes_what_the_host_is_short_of_from_what_users_wrote() {
        for (text, expected) in [
            ("nginx: [alert] mmap(MAP_ANON|MAP_SHARED, 314572800) failed (12: Cannot allocate memory)", true),
            (
                "nginx: [emerg] pcre2_compile() failed: failed to allocate heap memory in \"^/x\" in /g/http/s.conf:7",
                true,
            ),
            ("nginx: [emerg] open() \"/g/http/s.conf\" failed (24: Too many open files) in /n.conf:7", true),
            (
                "nginx: [emerg] cannot load certificate \"/g/c.pem\": BIO_new_file() failed (SSL: error::Too many open files)",
                true,
            ),
            ("nginx: [emerg] nginx was ended by signal 9", true),
            ("nginx: [emerg] pcre2_compile() failed: missing ) in \"^/Cannot allocate memory(\" in /s.conf:7", false),
            ("nginx: [emerg] missing ) in \"^/\" Cannot allocate memory \"(\" in /s.conf:7", false),
            ("nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)", false),
        ] {
            assert_eq!(parse(text)[0].is_shortage(), expected, "{text}");
        }
    }

    #[test]
    fn leaves_out_what_is_no_remark() {
        let summary =
            "nginx: the configuration file /n.conf syntax is ok\nnginx: configuration file /n.conf test failed\n";
        assert_eq!(parse(summary), []);
    }
}
