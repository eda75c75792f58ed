//! What the checks say, as lines for people and JSON for machines; it must not know what is checked.

use serde_json::{Value, json};

/// How bad a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is as it should be.
    Ok,
    /// Worth knowing, or could not be looked at; nothing has to be done.
    Note,
    /// Something does not work as it could, or soon will not.
    Warning,
    /// Something that is needed does not work.
    Error,
}

impl Level {
    /// The word for people and machines.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// One thing that a check says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub text: String,
    /// What to do about it; empty when nothing is to be done.
    pub remedy: String,
}

impl Line {
    /// It is as it should be.
    pub fn ok(text: impl Into<String>) -> Self {
        Line { level: Level::Ok, text: text.into(), remedy: String::new() }
    }

    /// Worth knowing.
    pub fn note(text: impl Into<String>) -> Self {
        Line { level: Level::Note, text: text.into(), remedy: String::new() }
    }

    /// Something does not work as it could.
    pub fn warning(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Line { level: Level::Warning, text: text.into(), remedy: remedy.into() }
    }

    /// Something that is needed does not work.
    pub fn error(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Line { level: Level::Error, text: text.into(), remedy: remedy.into() }
    }
}

/// What all checks say, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Each line with the name of its check.
    pub lines: Vec<(&'static str, Line)>,
}

impl Report {
    /// The worst that was found.
    pub fn worst(&self) -> Level {
        self.lines.iter().map(|(_, line)| line.level).max().unwrap_or(Level::Ok)
    }

    fn count(&self, level: Level) -> usize {
        self.lines.iter().filter(|(_, line)| line.level == level).count()
    }

    /// A line for each finding, and a summary.
    pub fn text(&self) -> String {
        let width = self.lines.iter().map(|(check, _)| check.len()).max().unwrap_or(0);
        let mut text = String::new();
        for (check, line) in &self.lines {
            let remedy =
                if line.remedy.is_empty() { String::new() } else { format!(" -> {}", printable(&line.remedy)) };
            text += &format!("{:7}  {check:width$}  {}{remedy}\n", line.level.name(), printable(&line.text));
        }
        let (errors, warnings) = (self.count(Level::Error), self.count(Level::Warning));
        text + &format!("{errors} errors, {warnings} warnings\n")
    }

    /// The same for machines.
    pub fn json(&self) -> Value {
        let line = |(check, line): &(&'static str, Line)| {
            json!({
                "check": check,
                "level": line.level.name(),
                "text": line.text,
                "remedy": if line.remedy.is_empty() { Value::Null } else { line.remedy.as_str().into() },
            })
        };
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "errors": self.count(Level::Error),
            "warnings": self.count(Level::Warning),
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }
}

/// On one line, and nothing that would steer a terminal: texts may come from the cluster, and from nginx over many lines.
fn printable(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let escape = |character: char| match character.is_control() {
        true => character.escape_default().collect::<Vec<_>>(),
        false => vec![character],
    };
    lines.join(" | ").chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_a_line_each_that_nobody_can_forge_and_machines_the_same() {
        let report = Report {
            lines: vec![
                ("ports", Line::ok("free")),
                ("limits", Line::error("too \u{1b}[2Jfew\nfiles", "raise them")),
                ("clock", Line::note("unknown")),
            ],
        };
        let expected = "\
ok       ports   free
error    limits  too \\u{1b}[2Jfew | files -> raise them
note     clock   unknown
1 errors, 0 warnings
";
        assert_eq!((report.text().as_str(), report.worst()), (expected, Level::Error));
        let json = report.json();
        assert_eq!((&json["errors"], &json["lines"][1]["check"]), (&1.into(), &"limits".into()));
        assert_eq!((&json["lines"][1]["remedy"], &json["lines"][0]["remedy"]), (&"raise them".into(), &Value::Null));
    }
}
