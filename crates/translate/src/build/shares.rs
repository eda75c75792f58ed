//! The other backends of a path, which take a share of its requests.

use std::sync::Arc;

use super::server::{Servers, UNAVAILABLE};
use crate::claim::site::Claim;
use crate::read::intent::Reference;
use crate::read::rule::Backend;
use ingressd_model::{Action, Choice, Share, Split};

impl<'a> Servers<'a> {
    /// Adds the other backends of a path to its action. A backend that cannot be used answers 503
    /// to its share of the requests, the main one too; one without a share is not asked.
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
        let is_divided = !shares.is_empty();
        let split = Split { origin: claim.origin.clone(), branches: Vec::new(), session: None, shares };
        Action::Proxy { upstream: main, split: is_divided.then(|| Arc::new(split)) }
    }

    fn choice(&mut self, claim: &Claim<'_, 'a>, backend: Backend<'a>) -> Choice {
        let reference = self.reference(claim.subject, Some(backend), &claim.origin);
        match reference.map(|reference| self.proxy(&reference, &claim.origin)) {
            Ok(Action::Proxy { upstream, .. }) => Choice::Forward(upstream),
            _ => Choice::Respond(503),
        }
    }
}
