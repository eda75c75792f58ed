//! The arbiter of all claims. It decides in three rounds: about ports, about hosts, and about the
//! paths of each host.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::asks;
use super::claimed::{self, ClaimedHost};
use super::claims::{Claims, Update};
use crate::admit::admitted::Admitted;
use crate::attach::Attached;
use crate::options::allowed::Allowances;
use crate::read::stream::StreamClaim;
use crate::{ClassRule, Options, World};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{ObjectId, ServerName};

/// Objects and hosts of which they get nothing, with the reason.
pub type Refusals<'a> = HashMap<(&'a ObjectId, ServerName), Reason>;

/// Objects and hosts of which they get nothing because others have all the paths.
pub type Outsiders<'a> = HashSet<(&'a ObjectId, ServerName)>;

/// Decides about all claims.
#[derive(Debug)]
pub struct Arbiter<'o, 'a> {
    pub options: &'o Options,
    world: &'o World,
    /// The claims of what is served.
    pub known: &'o Arc<Claims>,
    /// What each namespace may claim at all.
    pub allowances: Allowances<'a>,
    pub refusals: Refusals<'a>,
    pub outsiders: Outsiders<'a>,
    pub findings: Vec<Finding>,
}

/// Who has what.
#[derive(Debug)]
pub struct Settled<'s, 'a> {
    /// The claims that get their port, sorted by port.
    pub ports: Vec<StreamClaim<'s>>,
    /// The served hosts, in order.
    pub claimed_hosts: Vec<(ServerName, ClaimedHost<'s, 'a>)>,
    /// All present claims.
    pub claims: Arc<Claims>,
    /// Whether all is decided in the same way under these claims.
    pub is_final: bool,
    /// When the next reservation ends, in seconds since 1970.
    pub ends: Option<i64>,
    pub refusals: Refusals<'a>,
    pub outsiders: Outsiders<'a>,
    pub findings: Vec<Finding>,
}

impl<'o, 'a> Arbiter<'o, 'a> {
    /// Has decided nothing yet.
    pub fn new(options: &'o Options, world: &'o World, known: &'o Arc<Claims>, allowances: Allowances<'a>) -> Self {
        let (refusals, outsiders, findings) = Default::default();
        Arbiter { options, world, known, allowances, refusals, outsiders, findings }
    }

    /// Decides about the claims on ports, about those of objects that can be served, the oldest
    /// first, and of those that cannot, and keep their claims.
    pub fn settle<'s>(
        mut self,
        ports: Vec<StreamClaim<'s>>,
        objects: &'s [Admitted<'a>],
        withheld: &[&'a Attached<'a>],
    ) -> Settled<'s, 'a> {
        let claimed_hosts = claimed::gather(objects, &mut self);
        let asks = asks::of(&claimed_hosts, withheld, &mut self);
        let mut update = Update::of(self.known, self.options, self.world);
        let ports = self.ports(ports, withheld, &mut update);
        update.follow_names(&asks, &mut self.allowances);
        let (claims, ends, is_final) = update.finish();
        let claims = claims.behind_holders(&mut self.allowances);
        let claimed_hosts = self.hosts(claimed_hosts, &claims);
        let Arbiter { refusals, outsiders, findings, .. } = self;
        Settled { ports, claimed_hosts, claims, is_final, ends, refusals, outsiders, findings }
    }

    /// Why objects of this class and namespace may not ask for a host, whoever has it.
    pub fn forbids(&mut self, namespace: &Arc<str>, class: &ClassRule, name: &ServerName) -> Option<String> {
        if !self.may_use(class, name) {
            let note = "a regular expression takes any unknown host, and here each host belongs to one namespace \
                (`hosts.ownership`); list names or wildcards, or ask the administrator for all hosts in \
                `hosts.allowed`";
            return Some(note.to_owned());
        }
        let allowance = self.allowances.of(namespace);
        // While labels cannot be read all namespaces keep what they have.
        let has = || self.known.of(name).iter().any(|claimant| claimant.namespace == *namespace);
        let may_have = allowance.permits(name) || (allowance.undecided && has());
        (!may_have).then(|| format!("the administrator lets this namespace ask for {allowance} (`hosts.allowed`)"))
    }

    /// Whether objects of this class may use expressions for hosts: where hosts are exclusive,
    /// only namespaces may that the administrator allows all hosts.
    pub fn may_use(&self, class: &ClassRule, name: &ServerName) -> bool {
        let is_expression = matches!(name, ServerName::Expression(_));
        !is_expression || !class.is_exclusive(self.options.ownership) || !self.options.allowed_hosts.is_empty()
    }
}
