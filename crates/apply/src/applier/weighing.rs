//! Determines what is too much for nginx to test or reload in time.

use std::time::{Duration, Instant};

use super::super::confirm::RESIGNED;
use super::super::host::Host;
use super::super::outcome::Outcome;
use super::Applier;

/// A reload takes two or three times as long as a test.
const RELOAD: u32 = 3;

/// How many times the duration of a test of the files in place a test of changed files may take,
/// whatever the settings say.
const SLACK: u32 = 2;

/// The shortest limit for a test, where the settings allow it: a host has other work now and then.
const SHORTEST: Duration = Duration::from_secs(5);

impl<H: Host> Applier<H> {
    /// Looks whether nginx accepts the files in place. From then on each generation is tested as a
    /// whole before nginx gets it, with a time limit derived from this test, so that a generation
    /// that is too large fails fast. Returns false when nginx does not accept even the files in
    /// place, or does not run: then nothing can be determined.
    pub fn begin_weighing(&mut self) -> bool {
        let Ok(_turn) = self.turn() else { return false };
        self.host.limit_tests(None);
        let begun = Instant::now();
        let accepts = self.host.master().is_ok() && self.host.test(None).is_ok_and(|tested| tested.accepted);
        if accepts {
            self.weighs = true;
            self.host.limit_tests(Some(limit(begun.elapsed(), self.options.confirm_timeout)));
        }
        accepts
    }

    pub fn end_weighing(&mut self) {
        self.weighs = false;
        self.host.limit_tests(None);
    }

    /// The outcome when nothing was switched because it was too much for nginx.
    pub(super) fn untaken(&self, why: String, too_much: String) -> Outcome {
        let generation = self.generations.current().map(|manifest| manifest.generation);
        Outcome::RolledBack { generation, why, too_much: Some(too_much) }
    }

    /// The message for those whose objects make tests or reloads too slow.
    pub(super) fn slow(&self) -> String {
        let seconds = self.options.confirm_timeout.as_secs_f32();
        format!("it needed more than {seconds} s to load the configuration with this version")
    }

    /// The message for those whose objects keep a generation from being confirmed.
    pub(super) fn late(&self, why: &str) -> String {
        match why {
            RESIGNED => {
                "it does not start new workers with this version, though nginx -t accepts it: its error log says why; \
                 often memory or file descriptors are exhausted"
                    .to_owned()
            }
            _ => self.slow(),
        }
    }
}

/// The message for those whose objects need more memory or files than the host has.
pub(super) fn short(words: &str) -> String {
    format!("it cannot load the configuration with this version: {words}")
}

/// The time limit of a test that a reload has to follow in time, when a test of the files in place
/// takes `in_place`.
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
