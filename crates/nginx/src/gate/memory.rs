//! The gate for a series of models: it decides again when the model, nginx or the settings are
//! others, and not for other tables.

use std::sync::Arc;

use crate::{Capabilities, GateOptions, OtherSites, Plan};
use ingressd_model::finding::Finding;
use ingressd_model::{Model, Tables};

use super::{Node, decide, streams};

/// The gate, with what it decided last. That saves time and never changes the result.
#[derive(Debug, Default)]
pub struct Gate(Option<Decided>);

/// A decision, and what it was made of.
#[derive(Debug)]
struct Decided {
    model: Arc<Model>,
    capabilities: Capabilities,
    other_sites: OtherSites,
    options: GateOptions,
    plan: Plan,
    findings: Vec<Finding>,
}

/// What the gate lets pass.
#[derive(Debug)]
pub struct Gated {
    pub plan: Plan,
    /// What it does not, sorted.
    pub findings: Vec<Finding>,
    /// How many hosts it decided about; none where nothing but the tables has changed.
    pub hosts: usize,
}

impl Gate {
    /// Fits a model and its tables to what this nginx can do. A route whose protection nginx
    /// cannot provide is closed.
    pub fn pass(
        &mut self,
        model: &Arc<Model>,
        tables: &Arc<Tables>,
        capabilities: &Capabilities,
        other_sites: &OtherSites,
        options: &GateOptions,
    ) -> Gated {
        let is_of = |decided: &Decided| {
            Arc::ptr_eq(&decided.model, model)
                && (&decided.capabilities, &decided.other_sites, &decided.options)
                    == (capabilities, other_sites, options)
        };
        let kept = self.0.take().filter(is_of);
        let hosts = if kept.is_some() { 0 } else { model.servers.len() };
        let decided = self.0.insert(kept.unwrap_or_else(|| {
            let (plan, findings) = decide(model, &Node { capabilities, other_sites, options });
            Decided {
                model: Arc::clone(model),
                capabilities: capabilities.clone(),
                other_sites: other_sites.clone(),
                options: options.clone(),
                plan,
                findings,
            }
        }));
        let (tables, reported) = streams::bound_endpoints(&decided.plan, tables);
        let mut findings = decided.findings.clone();
        if !reported.is_empty() {
            findings.extend(reported);
            findings.sort();
            findings.dedup();
        }
        Gated { plan: Plan { tables, ..decided.plan.clone() }, findings, hosts }
    }
}
