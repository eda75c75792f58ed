//! When a certificate is valid, and how urgent it is to renew it.

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Clocks of issuers and of hosts differ by as much without anything being wrong.
const SKEW: i64 = 5 * 60;

/// How long before its end a certificate is warned of, the longest first.
const WARNINGS: [i64; 3] = [30 * DAY, 14 * DAY, 3 * DAY];

/// The time in which a certificate is valid, both ends included (RFC 5280, 4.1.2.5), in seconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Validity {
    /// Its first second.
    pub begins: i64,
    /// Its last second.
    pub ends: i64,
}

/// What is to be said of a certificate at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Clients refuse it until its validity begins.
    NotYet,
    /// Nothing.
    Good,
    /// It should have been renewed: less than so many seconds are left.
    Ending(i64),
    /// Clients refuse it.
    Ended,
}

impl Validity {
    /// What is to be said at a moment.
    pub fn standing(self, now: i64) -> Standing {
        if now.saturating_add(SKEW) < self.begins {
            return Standing::NotYet;
        }
        if now > self.ends {
            return Standing::Ended;
        }
        let left = self.ends - now;
        self.warnings().filter(|before| left < *before).last().map_or(Standing::Good, Standing::Ending)
    }

    /// The next moment at which that changes.
    pub fn changes(self, now: i64) -> Option<i64> {
        let warnings = self.warnings().map(|before| self.ends - before + 1);
        let moments = warnings.chain([self.begins - SKEW, self.ends.saturating_add(1)]);
        moments.filter(|moment| *moment > now).min()
    }

    /// Who renews in time does so when a third is left, as cert-manager and ACME clients do: nothing is said before that. What lasts only
    /// for days is warned of once, when a sixth is left.
    fn warnings(self) -> impl Iterator<Item = i64> {
        let lasts = self.ends.saturating_sub(self.begins);
        let brief = (lasts <= 3 * WARNINGS[WARNINGS.len() - 1]).then_some(lasts / 6);
        WARNINGS.into_iter().filter(move |before| *before < lasts / 3).chain(brief)
    }
}

/// So many seconds for people: in days, and where that is not one, in hours.
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
    use super::Standing::{Ended, Ending, Good, NotYet};
    use super::*;

    #[test]
    fn what_is_said_changes_when_it_is_told_to() {
        // How long it lasts, and what is said from when on.
        let year = 365 * DAY;
        let rows: &[(i64, &[(i64, Standing)])] = &[
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
            // Renewed when a third is left.
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
    fn times_are_told_in_words() {
        let told = [HOUR - 1, HOUR, 5 * HOUR, DAY, 30 * DAY].map(in_words);
        assert_eq!(told, ["an hour", "1 hour", "5 hours", "1 day", "30 days"]);
    }
}
