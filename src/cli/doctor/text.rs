//! The doctor's report for people: problems first, then the number of successful checks.

use std::collections::BTreeSet;

use anstyle::Style;

use crate::cli::page::{BAD, DOUBTFUL, FAINT, GOOD, styled, wrapped};
use crate::doctor::{Level, Line, Report};
use ingressd_model::finding::{count, on_one_line};

/// The column of the check's name, behind the level.
const INDENT: usize = 9;

/// The report on lines of this width; with `all` it includes successful checks.
pub fn text(report: &Report, all: bool, width: Option<usize>) -> String {
    let longest = report.lines.iter().map(|(check, _)| check.len()).max().unwrap_or(0);
    let mut text = String::new();
    for level in [Level::Error, Level::Warning, Level::Note, Level::Ok] {
        if level == Level::Ok && !all {
            continue;
        }
        let mut lines: Vec<_> = report.lines.iter().filter(|(_, line)| line.level == level).collect();
        while !lines.is_empty() {
            let (check, line) = lines.remove(0);
            text += &shown(check, line, longest, width);
            // A remark that several checks make is shown once.
            let (alike, others) = lines.into_iter().partition::<Vec<_>, _>(|(name, other)| {
                name != check && (&other.text, &other.remedy) == (&line.text, &line.remedy)
            });
            if !alike.is_empty() {
                let names = alike.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                let indent = INDENT + longest + 2;
                let words = format!("(so say {names})");
                text += &format!("{}{}\n", " ".repeat(indent), wrapped(&words, width, indent, indent));
            }
            lines = others;
        }
    }
    text + &summary(report, all, width) + "\n"
}

/// One line, with its remedy below.
fn shown(check: &str, line: &Line, longest: usize, width: Option<usize>) -> String {
    let indent = INDENT + longest + 2;
    let level = styled(style_of(line.level), &format!("{:7}", line.level.name()));
    let words = wrapped(&on_one_line(&line.text), width, indent, indent);
    let mut shown = format!("{level}  {check:longest$}  {words}\n");
    if !line.remedy.is_empty() {
        let blanks = " ".repeat(indent);
        let remedy = wrapped(&on_one_line(&line.remedy), width, indent + 3, indent + 3);
        shown += &format!("{blanks}-> {remedy}\n");
    }
    shown
}

fn summary(report: &Report, all: bool, width: Option<usize>) -> String {
    let checks: BTreeSet<_> = report.lines.iter().map(|(check, _)| check).collect();
    let reported: BTreeSet<_> =
        report.lines.iter().filter(|(_, line)| line.level != Level::Ok).map(|(check, _)| check).collect();
    let fine = u64::try_from(checks.difference(&reported).count()).unwrap_or(u64::MAX);
    let fine =
        format!("{} fine{}", count(fine, "check is", "checks are"), if all { "" } else { " (--all lists them)" });
    let number = |level| u64::try_from(report.count(level)).unwrap_or(u64::MAX);
    match (number(Level::Error), number(Level::Warning)) {
        (0, 0) => styled(GOOD, &fine),
        (errors, warnings) => {
            let (errors, warnings) = (count(errors, "error", "errors"), count(warnings, "warning", "warnings"));
            wrapped(&format!("{errors}, {warnings}; {fine}"), width, 0, 0)
        }
    }
}

const fn style_of(level: Level) -> Style {
    match level {
        Level::Error => BAD,
        Level::Warning => DOUBTFUL,
        Level::Note => FAINT,
        Level::Ok => GOOD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            lines: vec![
                ("ports", Line::ok("free")),
                ("rights", Line::ok("some")),
                ("rights", Line::warning("one is missing", "grant it")),
                ("limits", Line::error("too \u{1b}[2J\u{202e}few\nfiles", "raise them")),
                ("clock", Line::note("unknown")),
                ("routes", Line::note("unknown")),
            ],
        }
    }

    fn plain(all: bool, width: Option<usize>) -> String {
        anstream::adapter::strip_str(&text(&report(), all, width)).to_string()
    }

    #[test]
    fn what_is_wrong_comes_first_with_its_remedy_below_and_nobody_can_forge_it() {
        let expected = "\
error    limits  too \\u{1b}[2J\\u{202e}few | files
                 -> raise them
warning  rights  one is missing
                 -> grant it
note     clock   unknown
                 (so say routes)
";
        assert_eq!(plain(false, None), format!("{expected}1 error, 1 warning; 1 check is fine (--all lists them)\n"));
        let fine = "ok       ports   free\nok       rights  some\n";
        assert_eq!(plain(true, None), format!("{expected}{fine}1 error, 1 warning; 1 check is fine\n"));
        assert!(plain(false, Some(40)).lines().all(|line| line.len() <= 40), "{}", plain(false, Some(40)));
        let well = Report { lines: vec![("ports", Line::ok("free")), ("clock", Line::ok("right"))] };
        assert_eq!(
            anstream::adapter::strip_str(&text(&well, false, None)).to_string(),
            "2 checks are fine (--all lists them)\n"
        );
    }
}
