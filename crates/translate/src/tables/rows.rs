//! The rows of the tables beside the model: the endpoints of its upstreams, within the limits, and
//! its certificates. It must not know how these are found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::certified::Reported;
use super::endpoints;
use crate::Limits;
use crate::resolve::reached::{self, EndpointTroubles, FoundRows};
use crate::secret::certificate::Use;
use ingressd_model::finding::Finding;
use ingressd_model::{Endpoint, Model, Tables, Upstream, UpstreamId, UpstreamIdentity};

/// An upstream with its endpoints.
#[derive(Debug)]
pub struct UpstreamRow<'m> {
    pub upstream: &'m Upstream,
    pub endpoints: Arc<[Endpoint]>,
}

/// The fields that name certificates and lead to upstreams.
#[derive(Debug, Default)]
pub struct TableUses {
    pub certificates: Vec<Use>,
    /// By host.
    pub upstreams: Vec<Arc<[reached::UpstreamUse]>>,
}

/// The rows of the last translation.
#[derive(Debug, Default)]
pub struct Rows {
    /// The endpoints and certificates that were found.
    found: Tables,
    /// Those of them that are used.
    tables: Arc<Tables>,
    /// The model and the limits that they are of.
    of: (Arc<Model>, Limits),
    /// The namespaces of upstreams whose endpoints were found since.
    moved: BTreeSet<Arc<str>>,
    /// What is wrong with the number of endpoints, by the namespace and whether TCP and UDP
    /// services are meant.
    bounded: BTreeMap<(Arc<str>, bool), Vec<Finding>>,
    uses: TableUses,
    /// What was found about the dates of certificates; `None` when it has to be found anew.
    reported: Option<Reported>,
    troubles: EndpointTroubles,
    /// What was found where upstreams are used; `None` when it has to be found anew.
    reached: Option<Vec<Finding>>,
}

/// The tables of a model.
#[derive(Debug)]
pub struct Made {
    pub tables: Arc<Tables>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// When that changes by time alone, in seconds since 1970.
    pub due: Option<i64>,
    /// How many rows the last tables did not have.
    pub changed: usize,
}

impl Rows {
    /// Takes over what was found now; of others the same is known as before.
    pub fn learn(&mut self, FoundRows { tables: found, mut troubles }: FoundRows) {
        self.moved.extend(found.endpoints.keys().map(|id| Arc::clone(&id.namespace)));
        for id in found.endpoints.keys() {
            let now = troubles.remove(id);
            if self.troubles.get(id) != now.as_ref() {
                self.reached = None;
                match now {
                    Some(now) => drop(self.troubles.insert(id.clone(), now)),
                    None => drop(self.troubles.remove(id)),
                }
            }
        }
        self.found.endpoints.extend(found.endpoints);
        if !found.certificates.is_empty() {
            self.found.certificates.extend(found.certificates);
            self.reported = None;
        }
    }

    /// Takes over which fields name certificates and lead to upstreams.
    pub fn set_uses(&mut self, uses: TableUses) {
        (self.uses, self.reported, self.reached) = (uses, None, None);
    }

    /// The tables of a model now. What is equal is the same in memory as in the last ones.
    pub fn tables(&mut self, model: &Arc<Model>, limits: &Limits, now: i64) -> Made {
        let is_of_last = Arc::ptr_eq(model, &self.of.0) && *limits == self.of.1;
        let moved = std::mem::take(&mut self.moved);
        let mut changed = match is_of_last {
            true => self.follow(&moved),
            false => self.make((Arc::clone(model), limits.clone())),
        };
        if !is_of_last || self.reported.is_none() {
            changed += self.present();
        }
        let Rows { found, tables, uses, reported, bounded, troubles, reached, .. } = self;
        let reported = match reported.take().filter(|reported| reported.holds(now)) {
            Some(kept) => reported.insert(kept),
            None => {
                let is_used: BTreeSet<_> =
                    uses.certificates.iter().map(|(id, _)| id).chain(tables.certificates.keys()).collect();
                found.certificates.retain(|id, _| is_used.contains(id));
                reported.insert(Reported::of(&uses.certificates, &found.certificates, now))
            }
        };
        let reached = reached.get_or_insert_with(|| reached::findings(&uses.upstreams, troubles));
        let findings = bounded.values().flatten().chain(&reported.findings).chain(&*reached).cloned().collect();
        Made { tables: Arc::clone(tables), findings, due: reported.due, changed }
    }

    /// Takes over the endpoints of these namespaces. Returns how many rows are new or differ.
    fn follow(&mut self, namespaces: &BTreeSet<Arc<str>>) -> usize {
        let (model, limits) = self.of.clone();
        let mut changed = 0;
        for upstreams in namespaces.iter().flat_map(|namespace| of_namespace(&model, namespace)) {
            let rows = self.bounded(upstreams, &model, &limits);
            let both = rows.into_iter().zip(self.tables.known(upstreams));
            let differ = both.filter(|(row, (_, known))| Some(&row.endpoints) != *known);
            let differ: Vec<_> = differ.map(|(row, _)| row.entry()).collect();
            if !differ.is_empty() {
                changed += differ.len();
                Arc::make_mut(&mut self.tables).endpoints.extend(differ);
            }
        }
        changed
    }

    /// Makes the rows of all upstreams. Returns how many are new or differ.
    fn make(&mut self, of: (Arc<Model>, Limits)) -> usize {
        let (model, limits) = of.clone();
        self.of = of;
        self.bounded.clear();
        let all = [&model.upstreams, &model.stream_upstreams];
        let known = all.into_iter().flat_map(|upstreams| self.found.rows(upstreams));
        self.found.endpoints = known.map(|(upstream, endpoints)| (upstream.id.clone(), endpoints)).collect();
        let parts = all
            .into_iter()
            .flat_map(|upstreams| upstreams.chunk_by(|one, other| one.id.namespace == other.id.namespace));
        let mut endpoints =
            parts.flat_map(|upstreams| self.bounded(upstreams, &model, &limits)).map(UpstreamRow::entry).collect();
        let changed = keep(&mut endpoints, &self.tables.endpoints);
        if changed > 0 || endpoints.len() < self.tables.endpoints.len() {
            self.tables = Arc::new(Tables { endpoints, certificates: self.tables.certificates.clone() });
        }
        changed
    }

    /// Makes the rows of the certificates that are presented. Returns how many are new or differ.
    fn present(&mut self) -> usize {
        let presented = self.of.0.certificates.iter();
        let presented = presented.filter_map(|one| self.found.certificates.get_key_value(&one.id));
        let mut certificates = presented.map(|(id, certificate)| (id.clone(), Arc::clone(certificate))).collect();
        let changed = keep(&mut certificates, &self.tables.certificates);
        if changed > 0 || certificates.len() < self.tables.certificates.len() {
            Arc::make_mut(&mut self.tables).certificates = certificates;
        }
        changed
    }

    /// The rows of the upstreams of a namespace within the limits.
    fn bounded<'m>(&mut self, upstreams: &'m [Arc<Upstream>], model: &Model, limits: &Limits) -> Vec<UpstreamRow<'m>> {
        let rows = self.found.rows(upstreams).map(|(upstream, endpoints)| UpstreamRow { upstream, endpoints });
        let mut rows: Vec<_> = rows.collect();
        if let Some(UpstreamIdentity { namespace, protocol, .. }) = rows.first().map(|row| &*row.upstream.id) {
            let findings = endpoints::bound(&mut rows, &model.servers, limits);
            self.bounded.insert((Arc::clone(namespace), protocol.is_of_stream()), findings);
        }
        rows
    }
}

impl UpstreamRow<'_> {
    fn entry(self) -> (UpstreamId, Arc<[Endpoint]>) {
        (self.upstream.id.clone(), self.endpoints)
    }
}

/// The upstreams of a namespace, which are together: those of hosts, and those of TCP and UDP
/// services.
fn of_namespace<'m>(model: &'m Model, namespace: &str) -> [&'m [Arc<Upstream>]; 2] {
    [&model.upstreams, &model.stream_upstreams].map(|all| {
        let first = all.partition_point(|upstream| *upstream.id.namespace < *namespace);
        let behind = all.partition_point(|upstream| *upstream.id.namespace <= *namespace);
        &all[first..behind]
    })
}

/// Puts equal values of the last table in the place of those of this one, and counts the others.
fn keep<K: Ord, V: PartialEq + ?Sized>(table: &mut BTreeMap<K, Arc<V>>, before: &BTreeMap<K, Arc<V>>) -> usize {
    let mut before = before.iter().peekable();
    let mut changed = 0;
    for (id, value) in table {
        while before.next_if(|(other, _)| *other < id).is_some() {}
        match before.next_if(|(other, _)| *other == id) {
            Some((_, same)) if Arc::ptr_eq(same, value) || **same == **value => *value = Arc::clone(same),
            _ => changed += 1,
        }
    }
    changed
}
