//! The rows of the tables beside the model: the endpoints of its upstreams, within the limits. It
//! must not know how endpoints are found.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::resolve::backend::Found;
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
    /// The endpoints that were found of each upstream.
    found: Tables,
    /// Those of them that are used.
    tables: Arc<Tables>,
}

/// The tables of a model, with what is wrong, and how many of their rows the last ones did not
/// have.
pub type Made = (Arc<Tables>, Vec<Finding>, usize);

impl Rows {
    /// Takes over what was found now; of other upstreams the same is known as before.
    pub fn learn(&mut self, found: Found) {
        self.found.endpoints.extend(found);
    }

    /// The tables of a model. What is equal is the same in memory as in the last ones.
    pub fn tables(&mut self, model: &Model, limits: &Limits) -> Made {
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
        let mut endpoints: BTreeMap<_, _> = all.map(|row| (row.upstream.id.clone(), row.endpoints)).collect();
        let changed = keep(&mut endpoints, &self.tables.endpoints);
        if changed > 0 || endpoints.len() != self.tables.endpoints.len() {
            self.tables = Arc::new(Tables { endpoints });
        }
        (Arc::clone(&self.tables), findings, changed)
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
