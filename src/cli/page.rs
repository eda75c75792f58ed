//! The layout of output: columns, lines as wide as the terminal, colours.

use std::io::{IsTerminal as _, stdout};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The shortest line, however narrow the terminal is.
const NARROWEST: usize = 40;

/// What stands between two columns.
const GAP: &str = "  ";

/// Columns are left out of a table before cells become narrower than this.
const LEAST: usize = 16;

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

/// The number of lines of the terminal; unlimited elsewhere.
pub fn height() -> Option<usize> {
    let terminal = stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    terminal.map(|(_, height)| usize::from(height.0))
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
        let may_break = number > 0 || begun > hang;
        if may_break && column + blank + word.width() > width {
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

/// A table whose first row has the names of its columns, which are as wide as their widest cells.
/// On narrower lines columns are left out in the order of `dispensable`, which a line behind the
/// table names, and cells are cut. `style` returns the style of a cell, by row and column.
pub fn aligned<const COLUMNS: usize>(
    rows: &[[String; COLUMNS]],
    dispensable: &[&str],
    width: Option<usize>,
    style: impl Fn(usize, usize) -> Option<Style>,
) -> Vec<String> {
    let widest = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let whole: [usize; COLUMNS] = std::array::from_fn(widest);
    let mut shown: Vec<_> = (0..COLUMNS).collect();
    let needed = |shown: &[usize], most: usize| {
        shown.iter().map(|column| whole[*column].min(most) + GAP.len()).sum::<usize>() - GAP.len()
    };
    let (mut left_out, mut most) = (Vec::new(), usize::MAX);
    if let Some(width) = width {
        for name in dispensable.iter().filter(|name| rows.iter().take(1).flatten().any(|cell| cell == *name)) {
            if needed(&shown, LEAST) > width {
                shown.retain(|column| rows[0][*column] != *name);
                left_out.push(*name);
            }
        }
        let widest = whole.iter().copied().max().unwrap_or(0);
        most = (1..=widest).rev().find(|most| needed(&shown, *most) <= width).unwrap_or(1);
    }
    let line = |(number, row): (usize, &[String; COLUMNS])| {
        let cells = shown.iter().map(|column| {
            let cell = cut(&row[*column], most);
            let is_last = shown.last() == Some(column);
            let padding = if is_last { 0 } else { whole[*column].min(most).saturating_sub(cell.width()) };
            let cell = style(number, *column).map_or_else(|| cell.clone(), |style| styled(style, &cell));
            cell + &" ".repeat(padding)
        });
        cells.collect::<Vec<_>>().join(GAP)
    };
    let mut lines: Vec<_> = rows.iter().enumerate().map(line).collect();
    if !left_out.is_empty() {
        let words = format!("Wider lines also have {}.", left_out.join(", "));
        lines.push(styled(FAINT, &wrapped(&words, width, 0, 0)));
    }
    lines
}

/// The beginning of a cell that is wider.
fn cut(cell: &str, most: usize) -> String {
    if cell.width() <= most {
        return cell.to_owned();
    }
    let mut column = 1;
    let fits = |character: &char| {
        column += character.width().unwrap_or(0);
        column <= most
    };
    cell.chars().take_while(fits).chain(['\u{2026}']).collect()
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
            ("seven on", Some(7), 4, 2, "\n  seven\n  on"),
            ("", Some(6), 0, 0, ""),
        ] {
            assert_eq!(wrapped(text, width, begun, hang), expected, "{text:?} within {width:?}");
        }
    }

    #[test]
    fn columns_count_what_is_seen() {
        let rows = [["A", "B"], ["大", "x"], ["abc", "y"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows, &[], None, |_, _| None), ["A    B", "大   x", "abc  y"]);
        let first = aligned(&rows, &[], None, header)[0].clone();
        assert_eq!(anstream::adapter::strip_str(&first).to_string(), "A    B");
    }

    #[test]
    fn tables_are_as_wide_as_the_terminal_and_nowhere_else() {
        let rows = [
            ["NAME", "SINCE", "AT", "HOSTS"],
            ["a-name-that-is-long", "2 h", "192.0.2.1", "大大大大大大大大大大.example"],
        ];
        let rows = rows.map(|row| row.map(str::to_owned));
        let plain = |width| {
            let lines = aligned(&rows, &["SINCE", "NONE", "AT"], width, header);
            lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect::<Vec<_>>()
        };
        for (width, expected) in [
            (
                None,
                &[
                    "NAME                 SINCE  AT         HOSTS",
                    "a-name-that-is-long  2 h    192.0.2.1  大大大大大大大大大大.example",
                ][..],
            ),
            (
                Some(60),
                &[
                    "NAME                 SINCE  AT         HOSTS",
                    "a-name-that-is-long  2 h    192.0.2.1  大大大大大大大大大大…",
                ],
            ),
            (
                Some(50),
                &[
                    "NAME                AT         HOSTS",
                    "a-name-that-is-lo…  192.0.2.1  大大大大大大大大…",
                    "Wider lines also have SINCE.",
                ],
            ),
            (
                Some(40),
                &[
                    "NAME                 HOSTS",
                    "a-name-that-is-long  大大大大大大大大大…",
                    "Wider lines also have SINCE, AT.",
                ],
            ),
        ] {
            assert_eq!(plain(width), expected, "{width:?}");
            assert!(width.is_none_or(|width| plain(Some(width)).iter().all(|line| line.width() <= width)), "{width:?}");
        }
    }

    #[test]
    fn time_is_said_in_its_greatest_unit() {
        let reported = [0, 119, 120, 7199, 7200, 172_800].map(duration);
        assert_eq!(reported, ["0 s", "119 s", "2 min", "119 min", "2 h", "2 d"]);
    }
}
