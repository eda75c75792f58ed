//! How many requests came in each minute of the last hour. It must not know what they were.

/// How many minutes are kept.
pub const MINUTES: usize = 60;

/// Requests by minute, and how many of them failed. It takes 488 bytes, however many there are.
#[derive(Debug, Clone)]
pub struct Recent {
    /// The last minute in which one came.
    minute: u64,
    counts: [[u32; 2]; MINUTES],
}

impl Default for Recent {
    fn default() -> Self {
        Recent { minute: 0, counts: [[0; 2]; MINUTES] }
    }
}

impl Recent {
    /// Counts so many requests in this minute. Those that are earlier than the last, because
    /// somebody has set the clock, count in the last.
    pub fn count(&mut self, minute: u64, requests: u64, fail: bool) {
        let passed = minute.saturating_sub(self.minute).min(MINUTES as u64);
        self.minute = self.minute.max(minute);
        for ago in 0..passed {
            self.counts[place(self.minute - ago)] = [0; 2];
        }
        let [all, failed] = &mut self.counts[place(self.minute)];
        let requests = u32::try_from(requests).unwrap_or(u32::MAX);
        *all = all.saturating_add(requests);
        *failed = failed.saturating_add(if fail { requests } else { 0 });
    }

    /// The counts of the hour that ends with this minute, the oldest first.
    pub fn until(&self, minute: u64) -> [[u32; 2]; MINUTES] {
        let last = minute.max(self.minute);
        std::array::from_fn(|number| {
            let minute = (last + 1 + number as u64).saturating_sub(MINUTES as u64);
            let is_kept = minute <= self.minute && minute + MINUTES as u64 > self.minute;
            if is_kept { self.counts[place(minute)] } else { [0; 2] }
        })
    }
}

fn place(minute: u64) -> usize {
    (minute % MINUTES as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_kept_and_what_is_older_is_gone() {
        let mut recent = Recent::default();
        for (minute, fails) in [(1000, false), (1000, true), (1002, false), (1001, false), (1059, false)] {
            recent.count(minute, 1, fails);
        }
        let reported = |recent: &Recent, minute| {
            let counts = recent.until(minute).into_iter().enumerate();
            counts.filter(|(_, counts)| *counts != [0; 2]).collect::<Vec<_>>()
        };
        assert_eq!(reported(&recent, 1059), [(0, [2, 1]), (2, [2, 0]), (59, [1, 0])]);
        assert_eq!(reported(&recent, 1060), [(1, [2, 0]), (58, [1, 0])]);
        assert_eq!(reported(&recent, 1119), []);
        recent.count(1062, 1, true);
        assert_eq!(reported(&recent, 1062), [(56, [1, 0]), (59, [1, 1])]);
        recent.count(5000, 1, false);
        assert_eq!(reported(&recent, 5000), [(59, [1, 0])]);
        assert_eq!(reported(&recent, 4000), [(59, [1, 0])], "the clock was set back");
        assert_eq!(std::mem::size_of::<Recent>(), 488);
    }
}
