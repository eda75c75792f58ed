//! Decides which object sets the client certificate rule of a host.
//!
//! The oldest object with a rule decides, among those of the namespace that owns the host. When
//! its rule cannot be applied, the routes of that namespace on the host are closed. An object of
//! another namespace with a rule gets its own routes closed, because its rule would not protect
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ClientRule;
use crate::attach::Attached;
use crate::attach::younger;
use crate::claim::claimed::{self, ClaimedHost, Decision, HostOption as _, Saying};
use crate::value::host;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Action, Origin, Route, Server, ServerName};

/// The namespaces, by host, with an unserved object that has such a rule.
pub type Unserved = BTreeMap<ServerName, BTreeSet<Arc<str>>>;

/// Finds rules of objects that are not served: what they protect must not become open meanwhile.
pub fn unserved(withheld: &[&Attached<'_>]) -> Unserved {
    let mut unserved = Unserved::new();
    for object in withheld.iter().filter(|object| object.policy.reading.host.client_rule.is_some()) {
        for name in object.hosts() {
            unserved.entry(name).or_default().insert(Arc::clone(object.namespace()));
        }
    }
    unserved
}

/// Applies the rule to a server, and closes routes that would be unprotected without it.
pub fn apply(server: &mut Server, claimed: &ClaimedHost<'_, '_>, unserved: &Unserved, findings: &mut Vec<Finding>) {
    let unserved = unserved.get(&server.name);
    let Decision { winner, losers } = claimed::decide(claimed, |host| host.client_rule.as_ref());
    if winner.is_none() && losers.is_empty() && unserved.is_none() {
        return;
    }
    let (name, home) = (host::written(&server.name), claimed.home());
    // Clients without a server name, or with an unknown one, would show their certificate to the
    // catch-all server, where it would count for all hosts.
    let is_refused = server.name == ServerName::CatchAll;
    let (refused, winner) = if is_refused { (winner, None) } else { (None, winner) };
    for loser in refused.iter().chain(&losers) {
        let ClientRule::Good(asked) = loser.says else { continue };
        let note = match &winner {
            Some(Saying { says: ClientRule::Good(decided), .. }) if asked.is_like(decided) => continue,
            Some(winner) if loser.is_at_home => {
                let note = younger(winner.object.id(), &asked.object(&name));
                findings.push(Finding::new(Reason::HostRuleConflict, asked.origin.clone(), note));
                continue;
            }
            _ if is_refused => "an object without a host cannot require client certificates; name the hosts".to_owned(),
            _ => format!(
                "another namespace asked for {name} first and decides about client certificates there; the routes \
                    answer 503; remove this key, or use another host"
            ),
        };
        findings.push(Finding::new(Reason::ClosedRoute, asked.origin.clone(), note));
        close(server, |route| route.origin.object == *loser.object.id());
    }
    let decider = winner.map(|winner| (winner.object, winner.says));
    match (decider, home) {
        (Some((_, ClientRule::Good(rule))), Some(home)) => {
            for guest in claimed.objects.iter().filter(|object| *object.id().namespace != *home) {
                let note = format!("the namespace that asked for {name} first requires client certificates there");
                findings.push(Finding::new(Reason::HostRuleConflict, Origin::object(guest.id()), note));
            }
            server.client_certificates = Some(Arc::clone(rule));
        }
        (Some((decider, ClientRule::Broken)), Some(home)) => {
            let of_home = claimed.objects.iter().filter(|object| *object.id().namespace == *home);
            for other in of_home.filter(|object| !object.policy.reading.closed) {
                let note = format!(
                    "{} decides about client certificates of {name}, and its rule cannot be applied; the routes \
                        answer 503 until that rule is corrected",
                    decider.id()
                );
                findings.push(Finding::new(Reason::ClosedRoute, Origin::object(other.id()), note));
            }
            close(server, |route| *route.origin.object.namespace == *home);
        }
        (None, Some(home)) if unserved.is_some_and(|namespaces| namespaces.contains(home)) => {
            let note = format!(
                "another object of the namespace requires client certificates for {name}, and its present version \
                    cannot be served; the routes answer 503 until that object is corrected"
            );
            let of_home = claimed.objects.iter().filter(|object| *object.id().namespace == *home);
            for open in of_home.filter(|object| !object.policy.reading.closed) {
                findings.push(Finding::new(Reason::ClosedRoute, Origin::object(open.id()), note.clone()));
            }
            close(server, |route| *route.origin.object.namespace == *home);
        }
        _ => {}
    }
}

/// Closes the routes of a server for which the condition holds.
pub fn close(server: &mut Server, concerns: impl Fn(&Route) -> bool) {
    let all = server.routes.iter_mut().chain([&mut server.fallback]);
    all.filter(|route| concerns(route)).for_each(|route| route.action = Action::Closed);
}
