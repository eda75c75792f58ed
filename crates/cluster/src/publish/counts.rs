//! Counters of what was published, for the metrics.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

/// The result of writing a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusWrite {
    /// It was written.
    Written,
    /// The object was changed meanwhile, and is compared again.
    Outdated,
    /// The object is gone, or the API refuses the status.
    Refused,
    /// The API failed or did not respond in time.
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventResult {
    /// It was written.
    Sent,
    /// It exists already, from this node or another leader.
    Known,
    /// It was suppressed because there were too many.
    Suppressed,
    /// It could not be written.
    Failed,
}

/// Counters that last as long as the process.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    status_writes: Family<ResultLabel, Counter>,
    events: Family<ResultLabel, Counter>,
}

impl Counts {
    /// Counts a write of status.
    pub fn status(&self, write: StatusWrite) {
        let result = match write {
            StatusWrite::Written => "written",
            StatusWrite::Outdated => "outdated",
            StatusWrite::Refused => "refused",
            StatusWrite::Failed => "failed",
        };
        self.status_writes.get_or_create(&ResultLabel { result }).inc();
    }

    /// Counts Events with this result.
    pub fn events(&self, result: EventResult, count: usize) {
        let result = match result {
            EventResult::Sent => "sent",
            EventResult::Known => "known",
            EventResult::Suppressed => "suppressed",
            EventResult::Failed => "failed",
        };
        self.events.get_or_create(&ResultLabel { result }).inc_by(count as u64);
    }

    /// Adds the counters to this registry.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Writes of the status of Ingresses, by result";
        registry.register("status_writes", help, self.status_writes.clone());
        registry.register("events", "Events about objects, by result", self.events.clone());
    }
}
