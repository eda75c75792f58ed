//! The table of `ingressd top` for people.

use anstyle::Style;

use super::figures::{Between, Row};
use crate::cli::page::{BAD, DOUBTFUL, FAINT, STRONG, aligned, styled, wrapped};
use ingressd_model::finding::printable;

/// The lines of a terminal that are no rows: the first two, the names of columns, two notes, and
/// where the cursor is.
const AROUND: usize = 6;

/// The columns in the order in which narrow lines lack them.
const DISPENSABLE: &[&str] = &["IN/S", "4XX/S", "OUT/S", "P50", "ENDPOINTS P99"];

/// The share of failed requests that is bad, and not only doubtful.
const MANY: f64 = 0.05;

/// The table on lines of this width, with no more lines than there are.
pub fn table(between: &Between, width: Option<usize>, height: Option<usize>) -> String {
    let most = height.map_or(usize::MAX, |height| height.saturating_sub(AROUND).max(1));
    let names = [between.by, "REQ/S", "4XX/S", "5XX/S", "P50", "P99", "ENDPOINTS P99", "OUT/S", "IN/S"];
    let mut cells = vec![names.map(str::to_owned)];
    cells.extend(between.rows.iter().take(most).map(|row| of(row, between.longest)));
    let style = |row: usize, column: usize| match (row, column) {
        (0, _) => Some(FAINT),
        (row, 3) => between.rows.get(row - 1).and_then(of_errors),
        _ => None,
    };
    let mut lines = vec![styled(STRONG, &wrapped(&headline(between), width, 0, 0)), String::new()];
    match between.rows.is_empty() {
        true => lines.push("no requests".to_owned()),
        false => lines.extend(aligned(&cells, DISPENSABLE, width, style)),
    }
    if between.rows.len() > most {
        lines.push(styled(FAINT, &format!("{} more", between.rows.len() - most)));
    }
    lines.join("\n") + "\n"
}

fn headline(between: &Between) -> String {
    let (all, errors) = (between.requests_per_second, between.server_errors_per_second);
    let share = if all > 0.0 { 100.0 * errors / all } else { 0.0 };
    let sampled = (between.sampling > 1).then(|| format!(", estimated from one of {} requests", between.sampling));
    let sampled = sampled.unwrap_or_default();
    format!("{} requests a second, {share:.1} % with 5xx, in {:.0} s{sampled}", rate(all), between.seconds)
}

fn of_errors(row: &Row) -> Option<Style> {
    match row.server_errors_per_second {
        errors if errors > MANY * row.requests_per_second => Some(BAD),
        errors if errors > 0.0 => Some(DOUBTFUL),
        _ => None,
    }
}

fn of(row: &Row, longest: f64) -> [String; 9] {
    let time = |seconds| time(seconds, longest);
    [
        printable(&row.name.word()),
        rate(row.requests_per_second),
        rate(row.client_errors_per_second),
        rate(row.server_errors_per_second),
        time(row.p50_seconds),
        time(row.p99_seconds),
        time(row.upstream_p99_seconds),
        bytes(row.sent_bytes_per_second),
        bytes(row.received_bytes_per_second),
    ]
}

fn rate(rate: f64) -> String {
    match rate {
        0.0 => "-".to_owned(),
        rate if rate < 0.1 => format!("{rate:.2}"),
        rate if rate < 10.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}

fn time(seconds: Option<f64>, longest: f64) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(seconds) if seconds >= longest => format!("> {seconds:.0} s"),
        Some(seconds) if seconds >= 1.0 => format!("{seconds:.1} s"),
        Some(seconds) => format!("{:.0} ms", (seconds * 1000.0).ceil()),
    }
}

fn bytes(bytes: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes / unit),
        None if bytes == 0.0 => "-".to_owned(),
        None => format!("{bytes:.0} B"),
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::super::figures::Name;
    use super::*;

    fn row(host: &str, errors: f64, slow: Option<f64>) -> Row {
        Row {
            name: Name::Host { host: host.to_owned() },
            requests_per_second: 1234.5,
            client_errors_per_second: 0.25,
            server_errors_per_second: errors,
            p50_seconds: Some(0.0025),
            p99_seconds: slow,
            upstream_p50_seconds: None,
            upstream_p99_seconds: Some(1.25),
            sent_bytes_per_second: 5.3e6,
            received_bytes_per_second: 0.0,
        }
    }

    fn example() -> Between {
        let rows = vec![row("a-shop-with-a-long-name.example", 0.0, Some(0.3)), row("\u{1b}[2J", 100.0, Some(10.0))];
        let (requests_per_second, server_errors_per_second) = (2469.0, 100.0);
        let sampling = 1;
        Between {
            by: "HOST",
            seconds: 9.98,
            sampling,
            requests_per_second,
            server_errors_per_second,
            longest: 10.0,
            rows,
        }
    }

    fn plain(width: Option<usize>, height: Option<usize>) -> String {
        anstream::adapter::strip_str(&table(&example(), width, height)).to_string()
    }

    #[test]
    fn estimates_are_said_to_be_some() {
        let text = table(&Between { sampling: 8, ..example() }, None, None);
        assert!(text.contains("in 10 s, estimated from one of 8 requests"), "{text}");
    }

    #[test]
    fn every_row_has_its_figures_and_steers_no_terminal() {
        let expected = "\
2469 requests a second, 4.1 % with 5xx, in 10 s

HOST                             REQ/S  4XX/S  5XX/S  P50   P99     ENDPOINTS P99  OUT/S   IN/S
a-shop-with-a-long-name.example  1234   0.2    -      3 ms  300 ms  1.2 s          5.3 MB  -
\\u{1b}[2J                        1234   0.2    100    3 ms  > 10 s  1.2 s          5.3 MB  -
";
        assert_eq!(plain(None, None), expected);
    }

    #[test]
    fn it_is_no_larger_than_the_terminal() {
        let narrow = plain(Some(80), Some(6));
        assert!(narrow.lines().all(|line| line.width() <= 80), "{narrow}");
        assert!(narrow.contains("5XX/S") && narrow.contains("P99") && narrow.contains("1 more"), "{narrow}");
        assert!(narrow.lines().count() <= 6, "{narrow}");
    }
}
