//! When a certificate is valid, and how urgent it is to renew it.

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The difference of clocks between issuers and hosts that is tolerated.
const SKEW: i64 = 5 * 60;

/// How long before its expiry a certificate is reported, the longest first.
const WARNINGS: [i64; 3] = [30 * DAY, 14 * DAY, 3 * DAY];

/// The validity of a certificate, both ends included (RFC 5280, 4.1.2.5), in seconds since
/// 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Validity {
    /// Its first second.
    pub begins: i64,
    /// Its last second.
    pub ends: i64,
}

/// What has to be reported about a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidityPhase {
    /// Clients refuse it because its validity has not begun.
    NotYet,
    /// There is nothing to report.
    Good,
    /// It should have been renewed: less than this many seconds are left.
    Ending(i64),
    /// Clients refuse it because it has expired.
    Ended,
}

impl Validity {
    /// What has to be reported at a time.
    pub fn standing(self, now: i64) -> ValidityPhase {
        if now.saturating_add(SKEW) < self.begins {
            return ValidityPhase::NotYet;
        }
        if now > self.ends {
            return ValidityPhase::Ended;
        }
        let left = self.ends - now;
        self.warnings().filter(|before| left < *before).last().map_or(ValidityPhase::Good, ValidityPhase::Ending)
    }

    /// The next time at which that changes.
    pub fn changes(self, now: i64) -> Option<i64> {
        let warnings = self.warnings().map(|before| self.ends - before + 1);
        let moments = warnings.chain([self.begins - SKEW, self.ends.saturating_add(1)]);
        moments.filter(|moment| *moment > now).min()
    }

    /// cert-manager and ACME clients renew when a third of the validity is left, so nothing is
    /// reported before that. A certificate that is valid for some days is reported once, when a
    /// sixth is left.
    fn warnings(self) -> impl Iterator<Item = i64> {
        let lasts = self.ends.saturating_sub(self.begins);
        let brief = (lasts <= 3 * WARNINGS[WARNINGS.len() - 1]).then_some(lasts / 6);
        WARNINGS.into_iter().filter(move |before| *before < lasts / 3).chain(brief)
    }
}

/// A number of seconds for people: in days, or in hours when it is less than a day.
pub fn in_words(seconds: i64) -> String {
    let counted = |number: i64, unit: &str| format!("{number} {unit}{}", if number == 1 { "" } else { "s" });
    match (seconds / DAY, seconds / HOUR) {
        (..1, ..1) => "an hour".to_owned(),
        (..1, hours) => counted(hours, "hour"),
        (days, _) => counted(days, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::ValidityPhase::{Ended, Ending, Good, NotYet};
    use super::*;

    #[test]
    fn what_is_said_changes_on_command() {
        // Each row: the validity, and what is reported from when on.
        let year = 365 * DAY;
        let rows: &[(i64, &[(i64, ValidityPhase)])] = &[
            (
                year,
                &[
                    (-SKEW, Good),
                    (year - 30 * DAY + 1, Ending(30 * DAY)),
                    (year - 14 * DAY + 1, Ending(14 * DAY)),
                    (year - 3 * DAY + 1, Ending(3 * DAY)),
                    (year + 1, Ended),
                ],
            ),
            // It is renewed when a third is left.
            (
                90 * DAY,
                &[
                    (-SKEW, Good),
                    (76 * DAY + 1, Ending(14 * DAY)),
                    (87 * DAY + 1, Ending(3 * DAY)),
                    (90 * DAY + 1, Ended),
                ],
            ),
            (6 * DAY, &[(-SKEW, Good), (5 * DAY + 1, Ending(DAY)), (6 * DAY + 1, Ended)]),
            (DAY, &[(-SKEW, Good), (20 * HOUR + 1, Ending(4 * HOUR)), (DAY + 1, Ended)]),
        ];
        for (lasts, expected) in rows {
            let begins = 1_000 * DAY;
            let validity = Validity { begins, ends: begins + lasts };
            let mut now = begins - 2 * SKEW;
            assert_eq!(validity.standing(now), NotYet);
            let mut said = Vec::new();
            while let Some(next) = validity.changes(now) {
                assert_eq!(validity.standing(next - 1), validity.standing(now), "{lasts}: it changes before {next}");
                now = next;
                said.push((now - begins, validity.standing(now)));
            }
            assert_eq!(said, *expected, "{lasts}");
        }
    }

    #[test]
    fn times_are_said_in_words() {
        let reported = [HOUR - 1, HOUR, 5 * HOUR, DAY, 30 * DAY].map(in_words);
        assert_eq!(reported, ["an hour", "1 hour", "5 hours", "1 day", "30 days"]);
    }
}
