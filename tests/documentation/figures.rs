//! Figures that appear in several places equal those in the table of their measurement.

use ingressd_model::cost;

use super::pages;

/// The figures of a row of the table "What a request costs", microseconds at 1000 and 5000 hosts.
fn measured(row: &str) -> (f64, f64) {
    let page = pages::page("docs/performance.md");
    let line = page.text.lines().find(|line| line.starts_with(&format!("| {row} |")));
    let line = line.unwrap_or_else(|| panic!("docs/performance.md has no row {row:?}"));
    let cells: Vec<f64> = line.split('|').filter_map(|cell| cell.trim().strip_suffix(" us")?.parse().ok()).collect();
    let [thousand, five_thousand] = cells[..] else { panic!("{line}") };
    (thousand, five_thousand)
}

#[test]
fn the_search_over_upstreams_has_one_set_of_figures() {
    let first = measured("specification, shared servers, first upstream");
    let middle = measured("specification, shared servers, in the middle");
    let last = measured("specification, shared servers, last");
    let each = ((last.1 - first.1) * 1000.0 / 5000.0).round();
    let end = (last.1 - first.1).round();
    assert_eq!(
        each,
        cost::COMPARISON as f64,
        "nanoseconds in crates/model/src/cost, of which `ingressd doctor` tells multiples"
    );

    let row = ingressd_config::rows().find(|row| row.key == "nginx.shared-servers").unwrap();
    let of_setting = [
        format!("{each} nanoseconds"),
        format!("{} microseconds in the middle of 1000", (middle.0 - first.0).round()),
        format!("{} in the middle of 5000", (middle.1 - first.1).round()),
        format!("{end} at their end"),
        format!("takes {} without", measured("hand-written").0.floor()),
    ];
    for figure in of_setting {
        assert!(row.doc.contains(&figure), "{figure:?} is not in the text of {}: {}", row.key, row.doc);
    }
    let page = pages::page("docs/performance.md").text.replace('\n', " ");
    let of_page = [
        format!("some {each} ns for each"),
        format!("{end} us between the first and the last of 5000"),
        format!("{} us between those of 1000", (last.0 - first.0).round()),
    ];
    for figure in of_page {
        assert!(page.contains(&figure), "{figure:?} is not in the text of docs/performance.md");
    }
    let note = pages::page("docs/decisions/0021-shared-servers.md");
    assert!(note.text.contains(&format!("some {each} nanoseconds each")), "{}", note.name);
}
