//! The other backends of a path, which take a share of its requests, and canaries.

use std::sync::Arc;

use super::server::{Servers, UNAVAILABLE};
use crate::admit::admitted::Admitted;
use crate::admit::canary::Offer;
use crate::claim::claimed::Claim;
use crate::read::intent::Reference;
use crate::read::rule::Backend;
use crate::resolve::backend::BackendReference;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Action, Branch, Choice, Origin, Share, Split, Test, UpstreamId};

impl<'a> Servers<'a> {
    /// Adds the other backends of a path to its action. A backend that cannot be used, or has
    /// another protocol than the main one, answers 503 to its share of the requests, the main one
    /// too; one without a share is not asked.
    pub fn with_others(&mut self, action: Action, claim: &Claim<'_, 'a>, others: &'a [(Share, Reference)]) -> Action {
        let is_open = matches!(action, Action::Proxy { .. }) || action == UNAVAILABLE;
        if others.is_empty() || !is_open {
            return action;
        }
        let shares = others.iter().map(|(share, backend)| (self.choice(claim, backend.into()), *share));
        let mut shares: Vec<_> = shares.collect();
        // Each is rounded, and together they may be more than all.
        let all = u64::from(Share::ALL.ten_thousandths());
        let mut left = all;
        for (_, share) in &mut shares {
            let own = left.min(share.ten_thousandths().into());
            (left, *share) = (left - own, Share::of(own, all));
        }
        let is_asked =
            |(choice, share): &(Choice, Share)| matches!(choice, Choice::Forward(_)) && share.ten_thousandths() > 0;
        let usable = shares.iter().position(is_asked);
        let main = match (action, usable) {
            (Action::Proxy { upstream, .. }, usable) if left > 0 || usable.is_none() => upstream,
            // Another one gets the requests that none of the shares takes, and the main one's
            // answer the share that is its own.
            (action, usable) => {
                let Some((Choice::Forward(upstream), _)) = usable.map(|usable| shares.swap_remove(usable)) else {
                    return action;
                };
                shares.push((Choice::Respond(503), Share::of(left, all)));
                upstream
            }
        };
        shares.retain(|(_, share)| share.ten_thousandths() > 0);
        for (choice, _) in &mut shares {
            // A location passes all its requests on in one way, and a TLS port gets nothing plain.
            if let Choice::Forward(other) = choice
                && other.protocol != main.protocol
            {
                let (service, named) = (&*main.service, &*other.service);
                let note = format!(
                    "the port of Service {named:?} has another protocol (`appProtocol`) than that of Service \
                     {service:?}, and its share of the requests answers 503; give both the same, or each a path of its \
                     own"
                );
                self.findings.push(Finding::new(Reason::UnsupportedBackend, claim.origin.clone(), note));
                *choice = Choice::Respond(503);
            }
        }
        let is_divided = !shares.is_empty();
        let split = Split { origin: claim.origin.clone(), branches: Vec::new(), session: None, shares };
        Action::Proxy { upstream: main, split: is_divided.then(|| Arc::new(split)) }
    }

    /// Adds the canary of a path to its action, if there is one.
    pub fn with_canary(&mut self, action: Action, object: &Admitted<'a>, offer: Option<&'a Offer<'a, 'a>>) -> Action {
        match (action, offer) {
            (Action::Proxy { upstream, split: None }, Some(offer)) => {
                let split = self.split(&upstream, object, offer);
                Action::Proxy { upstream, split }
            }
            (action @ Action::Proxy { .. }, Some(offer)) => {
                let note = "the main path has several backends with shares of the requests, so it changes nothing; \
                            add its Service to them";
                let origin = offer.object.policy.reading.canary.as_ref().map_or(&offer.origin, |canary| &canary.origin);
                self.findings.push(Finding::new(Reason::UnsupportedBackend, origin.clone(), note));
                action
            }
            (action, _) => action,
        }
    }

    /// The share of a canary in the requests to an upstream.
    fn split(&mut self, main: &UpstreamId, object: &Admitted<'a>, offer: &'a Offer<'a, 'a>) -> Option<Arc<Split>> {
        let canary = offer.object.policy.reading.canary.as_ref()?;
        let some = canary.share.ten_thousandths() > 0;
        // Findings are about the key: the route of the path is that of the main object, and goes
        // on.
        let own = self.upstream_beside(main, offer, &canary.origin);
        let is_away = own.is_none();
        self.idle.extend((is_away && (some || !canary.tests.is_empty())).then(|| offer.origin.clone()));
        let own = own?;
        if own == *main {
            let note = "it has the same Service as the main object, so it changes nothing; give it another Service";
            self.findings.push(Finding::new(Reason::UnsupportedBackend, canary.origin.clone(), note));
            return None;
        }
        let branch = |(test, takes): &(Test, bool)| {
            let upstream = if *takes { own.clone() } else { main.clone() };
            Branch { all: vec![test.clone()], then: Choice::Forward(upstream) }
        };
        let branches: Vec<_> = canary.tests.iter().map(branch).collect();
        let shares: Vec<_> = some.then(|| (Choice::Forward(own.clone()), canary.share)).into_iter().collect();
        let origin = canary.origin.clone();
        let changes_side = object.policy.reading.changes_side || offer.object.policy.reading.changes_side;
        let session = object.policy.reading.session.as_ref().filter(|_| !changes_side);
        let session = session.map(|session| session.cookie.name.clone());
        (some || !branches.is_empty()).then(|| Arc::new(Split { origin, branches, session, shares }))
    }

    /// The upstream of a canary.
    fn upstream_beside(&mut self, main: &UpstreamId, offer: &'a Offer<'a, 'a>, origin: &Origin) -> Option<UpstreamId> {
        let reference = self.reference(offer.object, Some(offer.backend), origin).ok()?;
        // The session applies to both sides, and both have the protocol of the main object.
        let of_main = main.balance.clone().filter(|balance| balance.cookie().is_some());
        let balance = of_main.or_else(|| reference.balance.clone());
        let (protocol, tls) = (Some(main.protocol), main.tls.clone());
        let reference = BackendReference { protocol, balance, tls, ..reference };
        match self.proxy(&reference, origin) {
            Action::Proxy { upstream, .. } => Some(upstream),
            _ => None,
        }
    }

    fn choice(&mut self, claim: &Claim<'_, 'a>, backend: Backend<'a>) -> Choice {
        let reference = self.reference(claim.object, Some(backend), &claim.origin);
        match reference.map(|reference| self.proxy(&reference, &claim.origin)) {
            Ok(Action::Proxy { upstream, .. }) => Choice::Forward(upstream),
            _ => Choice::Respond(503),
        }
    }
}
