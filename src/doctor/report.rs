//! What the checks say, as lines and as JSON for machines.

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

    /// How many lines are of this level.
    pub fn count(&self, level: Level) -> usize {
        self.lines.iter().filter(|(_, line)| line.level == level).count()
    }

    /// What machines get.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_get_everything_with_the_worst_told_first() {
        let report =
            Report { lines: vec![("ports", Line::ok("free")), ("limits", Line::error("too few", "raise them"))] };
        let json = report.json();
        assert_eq!((report.worst(), report.count(Level::Ok)), (Level::Error, 1));
        assert_eq!((&json["errors"], &json["lines"][1]["check"]), (&1.into(), &"limits".into()));
        assert_eq!((&json["lines"][1]["remedy"], &json["lines"][0]["remedy"]), (&"raise them".into(), &Value::Null));
    }
}
