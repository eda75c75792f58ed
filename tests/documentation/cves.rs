//! The table of CVEs names a test for each number, and every such test is in it.

use regex::Regex;

use super::pages::{page, root};

#[test]
fn every_number_has_a_test_that_is_there() {
    let page = page("docs/security-review.md");
    let row = Regex::new(r"(?m)^\| CVE-(\d+)-(\d+) \| [^|]+ \| [^|]+ \| `(\w+)` \|$").unwrap();
    let rows: Vec<_> =
        row.captures_iter(&page.text).map(|found| [1, 2, 3].map(|part| found[part].to_owned())).collect();
    assert!(rows.len() > 20, "the table was not found");
    let code = std::fs::read_to_string(root().join("tests/injection/cves.rs")).unwrap();
    let test = Regex::new(r"#\[test\]\nfn (cve_\w+)\(\)").unwrap();
    let tests: Vec<_> = test.captures_iter(&code).map(|found| found[1].to_owned()).collect();
    let named: Vec<_> = rows.iter().map(|[_, _, name]| name.clone()).collect();
    assert_eq!(named, tests, "rows of docs/security-review.md and tests in tests/injection/cves.rs, in one order");
    for [year, number, name] in rows {
        assert!(name.starts_with(&format!("cve_{year}_{number}_")), "CVE-{year}-{number}: {name}");
    }
}
