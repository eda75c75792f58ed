//! Takes lines of a log out of what a container runtime (CRI) or kubectl wrote around them. It
//! must not know what the lines say.

use std::borrow::Cow;
use std::collections::HashMap;

/// Joins the parts into which a container runtime divides long lines: their tag is `P`, and that
/// of the last part is `F`.
#[derive(Debug, Default)]
pub struct Lines {
    /// Parts of lines that have not ended, by pod and stream.
    begun: HashMap<String, String>,
}

impl Lines {
    /// The line that ends here; `None` when a part of it is to follow.
    pub fn end<'l>(&mut self, line: &'l str) -> Option<Cow<'l, str>> {
        let line = line.trim_start().trim_end_matches(['\r', '\n']);
        let of_pod = line.strip_prefix("[pod/").and_then(|rest| rest.split_once("] "));
        let (pod, line) = of_pod.unwrap_or(("", line));
        let Some((stream, is_last, text)) = of_runtime(line) else { return Some(line.into()) };
        let key = format!("{pod} {stream}");
        match (self.begun.remove(&key), is_last) {
            (None, true) => Some(text.into()),
            (Some(before), true) => Some((before + text).into()),
            (before, false) => {
                self.begun.insert(key, before.unwrap_or_default() + text);
                None
            }
        }
    }

    /// How many lines have begun and not ended.
    pub fn begun(&self) -> usize {
        self.begun.len()
    }
}

/// The stream, whether the line ends here, and the text of what a container runtime wrote.
fn of_runtime(line: &str) -> Option<(&str, bool, &str)> {
    let (stream, rest) = without_time(line)?.split_once(' ')?;
    let (tag, text) = rest.split_once(' ')?;
    let is_last = [("F", true), ("P", false)].into_iter().find(|(name, _)| *name == tag)?.1;
    ["stdout", "stderr"].contains(&stream).then_some((stream, is_last, text))
}

/// The line without the time before it, if there is one.
pub fn without_time(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ')?;
    time.parse::<jiff::Timestamp>().ok().map(|_| rest)
}
