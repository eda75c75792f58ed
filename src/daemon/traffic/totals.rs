//! The counts of each object in few numbers, for people.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::Traffic;
use super::figures::Figure;

/// What was counted of an Ingress and a Service since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Total {
    pub namespace: Arc<str>,
    pub ingress: Arc<str>,
    pub service: Arc<str>,
    pub requests: u64,
    /// Those that were answered 5xx.
    pub failed: u64,
    pub mean: Duration,
    pub sent: u64,
}

impl Traffic {
    /// The counts by name.
    pub fn totals(&self) -> Vec<Total> {
        let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let total = |figure: &Figure| -> u64 { figure.requests.iter().flatten().sum() };
        let all = figures.objects.sorted().into_iter().map(|(key, figure)| Total {
            namespace: Arc::clone(&key.namespace),
            ingress: Arc::clone(&key.ingress),
            service: Arc::clone(&key.service),
            requests: total(figure),
            failed: figure.requests.iter().filter_map(|counts| counts.last()).sum(),
            #[expect(clippy::cast_precision_loss, reason = "nobody reads so many digits")]
            mean: Duration::try_from_secs_f64(figure.duration.sum / total(figure).max(1) as f64).unwrap_or_default(),
            sent: figure.sent,
        });
        all.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_all_methods_are_one_number() {
        let traffic = Traffic::default();
        for line in ["a.example - - 200 GET 0.100 9 1 -", "a.example - - 503 POST 0.300 9 1 -"] {
            traffic.tell(line);
        }
        let totals = traffic.totals();
        let [total] = totals.as_slice() else { panic!("{totals:?}") };
        assert_eq!((total.requests, total.failed, total.mean.as_millis(), total.sent), (2, 1, 200, 18));
    }
}
