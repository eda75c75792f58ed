//! A token bucket, which limits bursts and the rate per second.

use std::time::Duration;

use tokio::time::Instant;

/// A token bucket; it starts full.
#[derive(Debug, Clone)]
pub struct Bucket {
    burst: u32,
    interval: Duration,
    /// When it will be full again: the further in the future, the fewer tokens it has.
    full: Option<Instant>,
}

impl Bucket {
    /// A bucket of `burst` tokens to which one is added each `interval`.
    pub fn new(burst: u32, interval: Duration) -> Self {
        Bucket { burst: burst.max(1), interval, full: None }
    }

    /// A bucket of `burst` tokens to which `rate` are added each second.
    pub fn per_second(rate: u32, burst: u32) -> Self {
        Bucket::new(burst, Duration::from_secs(1) / rate.max(1))
    }

    /// Takes a token.
    ///
    /// # Errors
    ///
    /// When the bucket is empty; the error is the time of the next token.
    pub fn take(&mut self, now: Instant) -> Result<(), Instant> {
        let full = self.full.map_or(now, |full| full.max(now)) + self.interval;
        let earliest = full.checked_sub(self.interval * self.burst).unwrap_or(now);
        match earliest <= now {
            true => {
                self.full = Some(full);
                Ok(())
            }
            false => Err(earliest),
        }
    }

    /// Whether no token is missing.
    pub fn is_full(&self, now: Instant) -> bool {
        self.full.is_none_or(|full| full <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_once_and_so_many_a_second() {
        let began = Instant::now();
        let mut bucket = Bucket::per_second(20, 3);
        assert_eq!([(); 4].map(|()| bucket.take(began).is_ok()), [true, true, true, false]);
        assert_eq!(bucket.take(began), Err(began + Duration::from_millis(50)));
        let later = began + Duration::from_millis(100);
        assert_eq!([(); 3].map(|()| bucket.take(later).is_ok()), [true, true, false]);
        assert!(!bucket.is_full(later));
        let rested = began + Duration::from_secs(60);
        assert!(bucket.is_full(rested));
        assert_eq!([(); 4].map(|()| bucket.take(rested).is_ok()), [true, true, true, false]);
    }
}
