//! What may be too much for nginx, and how long it is looked for.

use std::time::{Duration, Instant};

use super::super::confirm::RESIGNED;
use super::super::host::Host;
use super::super::outcome::Outcome;
use super::Applier;

/// A reload takes two or three times as long as a test.
const RELOAD: u32 = 3;

/// How many times as long as the test of what is in place one with a change may take, whatever the settings say.
const SLACK: u32 = 2;

/// A test is given this long where the settings allow it: a host has other things to do now and then.
const SHORTEST: Duration = Duration::from_secs(5);

impl<H: Host> Applier<H> {
    /// Looks whether nginx accepts what is in place. From then on each generation is tested as a whole before nginx gets it,
    /// and given no longer for that than the time of this test suggests: nobody waits for a whole reload to learn that it is
    /// too much. False when nginx does not even accept what is in place, or does not run: then nothing can be found out.
    pub fn begin_weighing(&mut self) -> bool {
        let _turn = self.turn();
        self.host.limit_tests(None);
        let begun = Instant::now();
        let accepts = self.host.master().is_ok() && self.host.test(None).is_ok_and(|tested| tested.accepted);
        if accepts {
            self.weighs = true;
            self.host.limit_tests(Some(limit(begun.elapsed(), self.options.confirm_timeout)));
        }
        accepts
    }

    pub(crate) fn end_weighing(&mut self) {
        self.weighs = false;
        self.host.limit_tests(None);
    }

    /// Nothing was switched, because there was too much.
    pub(super) fn untaken(&self, why: String, too_much: String) -> Outcome {
        let generation = self.generations.current().map(|manifest| manifest.generation);
        Outcome::RolledBack { generation, why, too_much: Some(too_much) }
    }

    /// What is said of whoever makes tests or reloads too slow.
    pub(super) fn slow(&self) -> String {
        format!("it needed longer than {:?} to take the configuration with it", self.options.confirm_timeout)
    }

    /// What is said of whoever keeps a generation from being confirmed.
    pub(super) fn late(&self, why: &str) -> String {
        match why {
            RESIGNED => {
                "it does not start with it, though nginx -t accepts it: its error log says why; often memory or file \
                         descriptors are short"
                    .to_owned()
            }
            _ => self.slow(),
        }
    }
}

/// What is said of whoever takes more than there is.
pub(super) fn short(words: &str) -> String {
    format!("it cannot take the configuration with it: {words}")
}

/// How long a test may take that is to be followed by a reload in time, where one of what is in place takes this long.
fn limit(in_place: Duration, confirm_timeout: Duration) -> Duration {
    (confirm_timeout / RELOAD).max(in_place * SLACK).max(SHORTEST).min(confirm_timeout)
}

#[cfg(test)]
mod tests {
    use super::{Duration, limit};

    #[test]
    fn a_test_may_take_as_long_as_a_reload_after_it_would_be_in_time() {
        for (in_place, confirm_timeout, expected) in [(1, 60, 20), (15, 60, 30), (40, 60, 60), (0, 10, 5), (0, 2, 2)] {
            let seconds = Duration::from_secs;
            assert_eq!(limit(seconds(in_place), seconds(confirm_timeout)), seconds(expected), "{in_place}");
        }
    }
}
