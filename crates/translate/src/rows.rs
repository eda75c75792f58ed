//! The rows of the tables beside the model: the endpoints of its upstreams, within the limits, and
//! its certificates. It must not know how these are found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::certified::{Reported, Use};
use crate::{Limits, admit};
use ingressd_model::finding::Finding;
use ingressd_model::{Endpoint, Model, Tables, Upstream};

/// The row of an upstream.
#[derive(Debug)]
pub struct Row<'m> {
    pub upstream: &'m Upstream,
    pub endpoints: Arc<[Endpoint]>,
}

impl<'m> Row<'m> {
    fn of((upstream, endpoints): (&'m Arc<Upstream>, Arc<[Endpoint]>)) -> Self {
        Row { upstream, endpoints }
    }
}

/// The rows of the last translation.
#[derive(Debug, Default)]
pub struct Rows {
    /// The endpoints and certificates that were found.
    found: Tables,
    /// Those of them that are used.
    tables: Arc<Tables>,
    /// Where fields name certificates.
    uses: Vec<Use>,
    /// What was found about the dates of these; `None` when it has to be found anew.
    reported: Option<Reported>,
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
    pub fn learn(&mut self, found: Tables) {
        self.found.endpoints.extend(found.endpoints);
        if !found.certificates.is_empty() {
            self.found.certificates.extend(found.certificates);
            self.reported = None;
        }
    }

    /// Takes over where fields name certificates.
    pub fn set_uses(&mut self, uses: Vec<Use>) {
        (self.uses, self.reported) = (uses, None);
    }

    /// The tables of a model now. What is equal is the same in memory as in the last ones.
    pub fn tables(&mut self, model: &Model, limits: &Limits, now: i64) -> Made {
        let mut findings = Vec::new();
        let mut of_hosts: Vec<_> = self.found.rows(&model.upstreams).map(Row::of).collect();
        let mut of_streams: Vec<_> = self.found.rows(&model.stream_upstreams).map(Row::of).collect();
        let known = of_hosts.iter().chain(&of_streams);
        self.found.endpoints = known.map(|row| (row.upstream.id.clone(), Arc::clone(&row.endpoints))).collect();
        admit::bound_endpoints(&mut of_hosts, &model.servers, limits, &mut findings);
        for row in &mut of_streams {
            findings.extend(admit::bound_endpoints_of(row, limits));
        }
        let all = of_hosts.into_iter().chain(of_streams);
        let endpoints = all.map(|row| (row.upstream.id.clone(), row.endpoints)).collect();
        let presented = model.certificates.iter().filter_map(|one| self.found.certificates.get_key_value(&one.id));
        let certificates = presented.map(|(id, certificate)| (id.clone(), Arc::clone(certificate))).collect();
        let mut tables = Tables { endpoints, certificates };
        let changed = keep(&mut tables.endpoints, &self.tables.endpoints)
            + keep(&mut tables.certificates, &self.tables.certificates);
        let (one, other) = (&tables, &*self.tables);
        let is_shorter =
            one.endpoints.len() < other.endpoints.len() || one.certificates.len() < other.certificates.len();
        if changed > 0 || is_shorter {
            self.tables = Arc::new(tables);
        }
        let Rows { found, tables, uses, reported } = self;
        let reported = match reported.take().filter(|reported| reported.holds(now)) {
            Some(kept) => reported.insert(kept),
            None => {
                let is_used: BTreeSet<_> = uses.iter().map(|(id, _)| id).chain(tables.certificates.keys()).collect();
                found.certificates.retain(|id, _| is_used.contains(id));
                reported.insert(Reported::of(uses, &found.certificates, now))
            }
        };
        findings.extend_from_slice(&reported.findings);
        Made { tables: Arc::clone(tables), findings, due: reported.due, changed }
    }
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
