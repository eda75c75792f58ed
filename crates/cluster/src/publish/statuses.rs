//! The table of statuses: which kinds have one that is written, and how.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use kube::Client;
use tokio::sync::watch;

use super::address::Address;
use super::counts::Counts;
use super::options::Options;
use super::order::Writes;
use super::status::{Content as _, IngressAddresses, StatusStrategy};
use super::trouble::Trouble;
use super::writer::{Inputs, Writer};
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{Entry, KindRow as _, Published};

/// What one writer reports.
type Report = (Vec<Arc<ObjectId>>, Writes);

/// What all writers of statuses report together.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    /// Objects that another controller keeps changing.
    pub contended: watch::Sender<Vec<Arc<ObjectId>>>,
    /// Whether this node writes statuses.
    pub writes: watch::Sender<Writes>,
    /// The same of each writer, by what it writes.
    each: Arc<Mutex<BTreeMap<&'static str, Report>>>,
}

impl Outputs {
    /// Reports to these. The writers are expected to be those of this table.
    pub fn new(contended: watch::Sender<Vec<Arc<ObjectId>>>, writes: watch::Sender<Writes>, table: Statuses) -> Self {
        let each = table.0.iter().map(|row| (row.trouble, (Vec::new(), Writes::Now))).collect();
        Outputs { contended, writes, each: Arc::new(Mutex::new(each)) }
    }

    /// Takes over what the writer of this strategy says; `Held` is told where all are.
    pub fn report<S: StatusStrategy>(&self, contended: Option<Vec<Arc<ObjectId>>>, writes: Option<Writes>) {
        let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
        let own = each.entry(S::TROUBLE).or_insert_with(|| (Vec::new(), Writes::Now));
        own.0 = contended.unwrap_or_else(|| std::mem::take(&mut own.0));
        own.1 = writes.unwrap_or(own.1);
        let mut contended: Vec<_> = each.values().flat_map(|(contended, _)| contended).cloned().collect();
        contended.sort();
        let is_held = each.values().all(|(_, writes)| *writes == Writes::Held);
        let writes = if is_held { Writes::Held } else { Writes::Now };
        self.contended.send_if_modified(|reported| {
            let changed = *reported != contended;
            *reported = contended;
            changed
        });
        self.writes.send_if_modified(|reported| std::mem::replace(reported, writes) != writes);
    }
}

/// What a writer is made of.
pub struct Parts {
    pub client: Client,
    pub identity: Arc<str>,
    pub options: Arc<Options>,
    pub counts: Counts,
    pub outputs: Outputs,
    pub trouble: Trouble,
}

/// A row of the table of statuses, as a value.
#[derive(Debug, Clone, Copy)]
pub struct StatusRow {
    kind: Kind,
    addresses: fn(&Published) -> Vec<Address>,
    /// What to say where the status cannot be written.
    pub trouble: &'static str,
    start: fn(Parts, Inputs) -> BoxFuture<'static, ()>,
}

impl StatusRow {
    /// The row of this strategy.
    pub const fn of<S: StatusStrategy + Default>() -> Self {
        StatusRow {
            kind: S::Kind::MODEL_KIND,
            addresses: |published| S::default().current(published).0.addresses().to_vec(),
            trouble: S::TROUBLE,
            start: |parts, inputs| Box::pin(Writer::new(S::default(), parts).run(inputs)),
        }
    }

    /// Writes for ever.
    pub fn start(&self, parts: Parts, inputs: Inputs) -> BoxFuture<'static, ()> {
        (self.start)(parts, inputs)
    }
}

/// A table of statuses; the default has that of Ingresses.
#[derive(Debug, Clone, Copy)]
pub struct Statuses(pub &'static [StatusRow]);

impl Statuses {
    /// The addresses in the status of an object, sorted.
    pub fn addresses(self, entry: Entry<'_>) -> Vec<Address> {
        let row = self.0.iter().find(|row| row.kind == entry.id.kind).zip(entry.published);
        row.map(|(row, published)| (row.addresses)(published)).unwrap_or_default()
    }
}

/// The kinds of Kubernetes.
pub static STATUSES: [StatusRow; 1] = [StatusRow::of::<IngressAddresses>()];

impl Default for Statuses {
    fn default() -> Self {
        Statuses(&STATUSES)
    }
}
