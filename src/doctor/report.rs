//! The results of the checks, as lines and as JSON.

use serde_json::{Value, json};

/// The level of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything is good.
    Ok,
    /// It is worth knowing, or could not be checked; nothing has to be done.
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

/// One result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub level: Level,
    /// What was found.
    pub text: String,
    /// The remedy; empty when nothing has to be done.
    pub remedy: String,
}

/// What a check finds, or the one line with which it ends early.
pub type Found = Result<Vec<Line>, Line>;

/// Lines about what is wrong, or one that nothing is.
pub fn or_ok(lines: Vec<Line>, good: impl Into<String>) -> Found {
    Ok(if lines.is_empty() { vec![Line::ok(good)] } else { lines })
}

impl Line {
    pub fn new(level: Level, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Line { level, text: text.into(), remedy: remedy.into() }
    }

    /// A line with level [`Level::Ok`].
    pub fn ok(text: impl Into<String>) -> Self {
        Line::new(Level::Ok, text, "")
    }

    /// A line with level [`Level::Note`].
    pub fn note(text: impl Into<String>) -> Self {
        Line::new(Level::Note, text, "")
    }

    /// A line with level [`Level::Warning`].
    pub fn warning(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Line::new(Level::Warning, text, remedy)
    }

    /// A line with level [`Level::Error`].
    pub fn error(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Line::new(Level::Error, text, remedy)
    }
}

/// The results of all checks, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Each line with the name of its check.
    pub lines: Vec<(&'static str, Line)>,
}

impl Report {
    /// The worst level.
    pub fn worst(&self) -> Level {
        self.lines.iter().map(|(_, line)| line.level).max().unwrap_or(Level::Ok)
    }

    /// How many lines have this level.
    pub fn count(&self, level: Level) -> usize {
        self.lines.iter().filter(|(_, line)| line.level == level).count()
    }

    /// The report as JSON.
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
    fn machines_get_everything_with_the_worst_first() {
        let report =
            Report { lines: vec![("ports", Line::ok("free")), ("limits", Line::error("too few", "raise them"))] };
        let json = report.json();
        assert_eq!((report.worst(), report.count(Level::Ok)), (Level::Error, 1));
        assert_eq!((&json["errors"], &json["lines"][1]["check"]), (&1.into(), &"limits".into()));
        assert_eq!((&json["lines"][1]["remedy"], &json["lines"][0]["remedy"]), (&"raise them".into(), &Value::Null));
    }
}
