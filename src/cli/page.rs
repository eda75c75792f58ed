//! The layout of output: columns, lines as wide as the terminal, colours.

use std::io::{IsTerminal as _, stdout};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The shortest line, however narrow the terminal is.
const NARROWEST: usize = 40;

/// The style of what does not work.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// The style of what does not work as it could.
pub const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
/// The style of what is good.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// The style of column names and secondary text.
pub const FAINT: Style = Style::new().dimmed();
/// The style of what is looked for first.
pub const STRONG: Style = Style::new().bold();

/// The text in a style; [`super::output::show`] removes styles where they are not supported.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// The greatest width of a line: that of the terminal, and unlimited elsewhere, so that `grep`
/// finds related words on one line.
pub fn width() -> Option<usize> {
    let terminal = stdout().is_terminal().then(|| {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        columns.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
    });
    terminal.flatten().map(|width: usize| width.max(NARROWEST))
}

/// Wraps the text to lines of this width; all but the first are indented by `hang` blanks. The
/// first line begins at column `begun`. A word that is wider than a line is broken.
pub fn wrapped(text: &str, width: Option<usize>, begun: usize, hang: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let room = width.saturating_sub(hang).max(1);
    let mut lines = String::new();
    let mut column = begun;
    for (number, word) in text.split(' ').enumerate() {
        let blank = usize::from(number > 0);
        if number > 0 && column + blank + word.width() > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(hang));
            column = hang;
        } else if number > 0 {
            lines.push(' ');
            column += 1;
        }
        column = push_broken(&mut lines, word, (width, hang, room), column);
    }
    lines
}

/// Adds a word, on as many lines as necessary; returns the column behind it.
fn push_broken(lines: &mut String, word: &str, (width, hang, room): (usize, usize, usize), mut column: usize) -> usize {
    let is_long = word.width() > room;
    for character in word.chars() {
        let wide = character.width().unwrap_or(0);
        if is_long && column + wide > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(hang));
            column = hang;
        }
        lines.push(character);
        column += wide;
    }
    column
}

/// Aligns columns to their widest cells, except the last one. `style` returns the style of a cell,
/// by row and column.
pub fn aligned<const COLUMNS: usize>(
    rows: &[[String; COLUMNS]],
    style: impl Fn(usize, usize) -> Option<Style>,
) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let widths: Vec<_> = (0..COLUMNS - 1).map(width).chain([0]).collect();
    let line = |(number, row): (usize, &[String; COLUMNS])| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            match style(number, column) {
                Some(style) => format!("{}{padding}", styled(style, cell)),
                None => format!("{cell}{padding}"),
            }
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().enumerate().map(line).collect()
}

/// Column names are faint, everything else has no style.
pub fn header(row: usize, _: usize) -> Option<Style> {
    (row == 0).then_some(FAINT)
}

/// A duration in its greatest unit.
pub fn duration(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let unit = units.iter().find(|(length, _)| seconds >= 2 * length);
    unit.map_or_else(|| format!("{seconds} s"), |(length, name)| format!("{} {name}", seconds / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_wide_as_the_terminal_and_nowhere_else() {
        for (text, width, begun, hang, expected) in [
            ("one two three", None, 0, 2, "one two three"),
            ("one two three", Some(7), 0, 2, "one two\n  three"),
            ("one two three", Some(7), 4, 0, "one\ntwo\nthree"),
            ("a verylongword b", Some(8), 0, 2, "a\n  verylo\n  ngword\n  b"),
            ("大大大 x", Some(6), 0, 0, "大大大\nx"),
            ("", Some(6), 0, 0, ""),
        ] {
            assert_eq!(wrapped(text, width, begun, hang), expected, "{text:?} within {width:?}");
        }
    }

    #[test]
    fn columns_count_what_is_seen() {
        let rows = [["A", "B"], ["大", "x"], ["abc", "y"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows, |_, _| None), ["A    B", "大   x", "abc  y"]);
        let first = aligned(&rows, header)[0].clone();
        assert_eq!(anstream::adapter::strip_str(&first).to_string(), "A    B");
    }

    #[test]
    fn time_is_told_in_its_greatest_unit() {
        let told = [0, 119, 120, 7199, 7200, 172_800].map(duration);
        assert_eq!(told, ["0 s", "119 s", "2 min", "119 min", "2 h", "2 d"]);
    }
}
