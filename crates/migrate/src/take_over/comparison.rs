//! Whether a report of `ingressd migrate compare` permits moving addresses. It must not know how
//! responses are compared.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

/// The version of such a report.
const VERSION: u64 = 1;

/// How far the clock of the comparing host may be ahead.
const AHEAD: Duration = Duration::from_secs(300);

/// The argument for the move.
///
/// # Errors
///
/// The argument against the move; one clause.
pub fn comparison(text: &str, now: Timestamp, oldest: Duration) -> Result<String, String> {
    let report: Value = serde_json::from_str(text).map_err(|error| format!("it is not a report: {error}"))?;
    let number = |key: &str| report[key].as_u64();
    let finished = report["finished"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let (Some(VERSION), Some(asked), Some(different), Some(finished)) =
        (number("version"), number("asked"), number("different"), finished)
    else {
        return Err("this version of ingressd cannot read the report, or the run of it did not end".to_owned());
    };
    let age = now.duration_since(finished);
    // Requests that neither side answered prove nothing.
    if asked <= number("unanswered").unwrap_or(0) {
        return Err("nothing was answered".to_owned());
    }
    if different > 0 {
        return Err(format!("{different} of {asked} answers differ"));
    }
    match Duration::try_from(age) {
        Ok(age) if age <= oldest => {}
        Err(_) if age.unsigned_abs() <= AHEAD => {}
        Ok(_) => return Err(format!("it is of {finished}, and may be at most {} h old", oldest.as_secs() / 3600)),
        Err(_) => return Err(format!("it is of {finished}, which is in the future")),
    }
    Ok(format!("none of {asked} answers differs, as of {finished}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_clean_and_recent_report_lets_addresses_move() {
        let now: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let day = Duration::from_secs(24 * 3600);
        let clean = json!({ "version": 1, "finished": "2026-03-02T09:00:00Z", "asked": 120, "different": 0 });
        let said = comparison(&clean.to_string(), now, day).unwrap();
        assert!(said.contains("none of 120"), "{said}");
        for (key, value, expected) in [
            ("version", json!(2), "cannot read"),
            ("asked", json!(0), "nothing was answered"),
            ("unanswered", json!(120), "nothing was answered"),
            ("different", json!(3), "3 of 120 answers differ"),
            ("different", json!(null), "cannot read"),
            ("finished", json!("2026-03-01T11:59:59Z"), "at most 24 h old"),
            ("finished", json!("2026-03-02T12:05:01Z"), "in the future"),
            ("finished", json!("yesterday"), "cannot read"),
            ("finished", json!(null), "did not end"),
        ] {
            let mut report = clean.clone();
            report[key] = value;
            let why = comparison(&report.to_string(), now, day).unwrap_err();
            assert!(why.contains(expected), "{key}: {why}");
        }
        assert!(comparison("", now, day).is_err());
        let ahead = clean.to_string().replace("09:00:00", "12:04:00");
        assert!(comparison(&ahead, now, day).is_ok(), "clocks differ");
    }
}
