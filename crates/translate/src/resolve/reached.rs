//! What is found about the endpoints of upstreams, at the fields that lead to them: it changes by
//! slices alone, and is in no host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::resolve::resolution::Note;
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{Origin, Tables, UpstreamId};

/// What is wrong with the endpoints of an upstream.
#[derive(Debug, PartialEq, Eq)]
pub struct EndpointTrouble {
    /// Never empty. Where there is no endpoint, the last one says why.
    pub notes: Vec<Note>,
    pub is_empty: bool,
}

/// What is wrong with the endpoints of upstreams; others are not here.
pub type EndpointTroubles = BTreeMap<UpstreamId, Arc<EndpointTrouble>>;

/// Whether nothing was found that could answer.
pub fn is_empty(upstream: &UpstreamId, troubles: &EndpointTroubles) -> bool {
    troubles.get(upstream).is_some_and(|trouble| trouble.is_empty)
}

/// What was found out about rows.
#[derive(Debug, Default)]
pub struct FoundRows {
    pub tables: Tables,
    /// What is wrong with the endpoints there.
    pub troubles: EndpointTroubles,
}

impl FoundRows {
    /// Adds what was found out elsewhere.
    pub fn extend(&mut self, other: FoundRows) {
        self.tables.endpoints.extend(other.tables.endpoints);
        self.tables.certificates.extend(other.tables.certificates);
        self.troubles.extend(other.troubles);
    }
}

/// A field that leads to an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamUse {
    pub upstream: UpstreamId,
    pub origin: Origin,
    pub role: UpstreamRole,
}

/// What an upstream is to a field that leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamRole {
    /// It gets requests or connections.
    Backend,
    /// It would get them if the route were not closed. DNS is not asked for its name.
    BehindClosed,
    /// It gets them while this one has no endpoints, and need not be ready before.
    StandIn(UpstreamId),
    /// It decides who may pass.
    Authentication,
    /// It decides who may pass, and its path reports what else is wrong.
    AuthenticationOnHost,
    /// It gets copies.
    Mirror,
}

/// What is found where upstreams are used. The troubles of others are dropped.
pub fn findings(uses: &[Arc<[UpstreamUse]>], troubles: &mut EndpointTroubles) -> Vec<Finding> {
    let (mut findings, mut known) = (Vec::new(), BTreeSet::new());
    if troubles.is_empty() {
        return findings;
    }
    for one in uses.iter().flat_map(|uses| &**uses) {
        if let Some((id, trouble)) = troubles.get_key_value(&one.upstream) {
            one.report(trouble, troubles, &mut findings);
            known.insert(id.clone());
        }
    }
    troubles.retain(|id, _| known.contains(id));
    findings
}

impl UpstreamUse {
    fn report(&self, trouble: &EndpointTrouble, troubles: &EndpointTroubles, findings: &mut Vec<Finding>) {
        let UpstreamUse { upstream, origin, role } = self;
        let reported = |(reason, note): &Note| Finding::new(*reason, origin.clone(), Arc::clone(note));
        let all_but = |left_out: Option<Reason>| {
            trouble.notes.iter().filter(move |(reason, _)| Some(*reason) != left_out).map(reported)
        };
        let why = trouble.notes.last().filter(|_| trouble.is_empty);
        match (role, why) {
            (UpstreamRole::Backend, _) | (UpstreamRole::Authentication | UpstreamRole::Mirror, None) => {
                findings.extend(all_but(None));
            }
            (UpstreamRole::BehindClosed, _) => findings.extend(all_but(Some(Reason::UnresolvedName))),
            (UpstreamRole::StandIn(own), _) => {
                let is_needed = is_empty(own, troubles);
                findings.extend(all_but((!is_needed).then_some(Reason::NoEndpoints)));
            }
            (UpstreamRole::Authentication, Some((reason, note))) => findings.push(closing(*reason, origin, note)),
            (UpstreamRole::AuthenticationOnHost, None) => {}
            (UpstreamRole::AuthenticationOnHost, Some(_)) => {
                let note = format!("Service {:?} of the path on the host has no endpoints", &*upstream.service);
                findings.push(closing(Reason::NoEndpoints, origin, &note));
            }
            (UpstreamRole::Mirror, Some((reason, note))) => findings.push(without_copies(*reason, origin, note)),
        }
    }
}

/// The finding about a service that should say who may pass.
pub fn closing(reason: Reason, origin: &Origin, note: &str) -> Finding {
    let note = format!("{note}; the routes that need it answer 503");
    Finding { severity: Severity::Error, ..Finding::new(reason, origin.clone(), note) }
}

/// The finding about a service that should get copies. The served requests are not affected.
pub fn without_copies(reason: Reason, origin: &Origin, note: &str) -> Finding {
    let reason = if reason == Reason::CrossNamespace { reason } else { Reason::MirrorLeftOut };
    Finding::new(reason, origin.clone(), format!("{note}; no request is mirrored"))
}
