//! Findings as test results (JUnit XML), with a test for each object. It must not know how they
//! were found.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::placed::{FilePlace, Placed};
use crate::cli::offline::Processed;
use ingressd_model::finding::Severity;

/// A report in which each Ingress is a test, and so is every other object with findings. A test
/// fails when it has a finding of severity `least` or higher.
pub fn report(processed: &Processed, findings: &[Placed<'_>], least: Severity) -> Result<String, SerializeError> {
    let mut objects: BTreeMap<String, Vec<&Placed<'_>>> = BTreeMap::new();
    for ingress in processed.snapshot.ingresses.iter() {
        objects.entry(ingress.id.to_string()).or_default();
    }
    for placed in findings {
        objects.entry(placed.1.origin.object.to_string()).or_default().push(placed);
    }
    let file_of = |ingress: &str| {
        let all = processed.snapshot.ingresses.iter();
        let found = all.filter(|stored| stored.id.to_string() == ingress).find_map(|stored| stored.place.as_ref());
        found.map(|place| place.file.path.to_string())
    };
    let cases = objects.iter().map(|(object, placed)| {
        let file = placed.iter().find_map(|(place, _)| place.as_ref()).map(|place| place.file.to_string());
        case(object, &file.or_else(|| file_of(object)).unwrap_or_else(|| "ingressd".to_owned()), placed, least)
    });
    let mut suite = TestSuite::new("ingressd check");
    suite.add_test_cases(cases.collect::<Vec<_>>());
    let mut report = Report::new("ingressd check");
    report.add_test_suite(suite);
    report.to_string()
}

fn case(object: &str, file: &str, findings: &[&Placed<'_>], least: Severity) -> TestCase {
    let (bad, besides): (Vec<&Placed<'_>>, Vec<_>) =
        findings.iter().copied().partition(|(_, finding)| finding.severity >= least);
    let lines = |findings: &[&Placed<'_>]| findings.iter().map(|placed| line(placed)).collect::<Vec<_>>().join("\n");
    let status = match bad.first() {
        Some((_, first)) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(first.reason.row().name).set_message(first.printable_note()).set_description(lines(&bad));
            status
        }
        None => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(object, status);
    case.set_classname(file);
    if !besides.is_empty() {
        case.set_system_out(lines(&besides));
    }
    case
}

fn line((place, finding): &Placed<'_>) -> String {
    let place =
        place.as_ref().map(|FilePlace { file, line, column }| format!("{}:{line}:{column}: ", file.escape_debug()));
    format!("{}{}: {finding}", place.unwrap_or_default(), finding.severity.name())
}
