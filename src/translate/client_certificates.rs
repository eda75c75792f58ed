//! Decides which object sets the client certificate rule of a host.
//!
//! The oldest object with a rule decides, among those of the namespace that owns the host. When
//! its rule cannot be applied, the routes of that namespace on the host are closed. An object of
//! another namespace with a rule gets its own routes closed, because its rule would not protect
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::site::{self, Decision, HostOption as _, Saying, Site};
use super::subject::Withheld;
use super::{ClientRule, host};
use crate::finding::{Finding, Reason};
use crate::model::{Action, Origin, Route, Server, ServerName};

/// The namespaces, by host, with an unserved object that has such a rule.
pub type Unserved = BTreeMap<ServerName, BTreeSet<Arc<str>>>;

/// Finds rules of objects that are not served: what they protect must not become open meanwhile.
pub fn unserved(withheld: &[Withheld<'_>]) -> Unserved {
    let mut unserved = Unserved::new();
    for object in withheld.iter().filter(|object| object.known.reading.host.client_rule.is_some()) {
        for name in object.hosts() {
            unserved.entry(name.clone()).or_default().insert(Arc::clone(&object.stored.id.namespace));
        }
    }
    unserved
}

/// Applies the rule to a server, and closes routes that would be unprotected without it.
pub fn apply(server: &mut Server, site: &Site<'_, '_>, unserved: &Unserved, findings: &mut Vec<Finding>) {
    let unserved = unserved.get(&server.name);
    let Decision { winner, losers } = site::decide(site, |host| host.client_rule.as_ref());
    if winner.is_none() && losers.is_empty() && unserved.is_none() {
        return;
    }
    let (name, home) = (host::written(&server.name), site.home());
    // Clients without a server name, or with an unknown one, would show their certificate to the
    // catch-all server, where it would count for all hosts.
    let is_refused = server.name == ServerName::CatchAll;
    let (refused, winner) = if is_refused { (winner, None) } else { (None, winner) };
    for loser in refused.iter().chain(&losers) {
        let ClientRule::Good(asked) = loser.says else { continue };
        let note = match &winner {
            Some(Saying { says: ClientRule::Good(decided), .. }) if asked.is_like(decided) => continue,
            Some(winner) if loser.is_at_home => {
                let note = site::younger(winner.subject.id(), &asked.subject(&name));
                findings.push(Finding::new(Reason::HostRuleConflict, asked.origin.clone(), note));
                continue;
            }
            _ if is_refused => {
                "requests to hosts that nobody names cannot be asked for certificates; name the hosts".to_owned()
            }
            _ => format!(
                "another namespace asked for {name} first and decides what it asks of certificates of clients; the routes answer 503 \
                 until this key is gone or the host is another one"
            ),
        };
        findings.push(Finding::new(Reason::ClosedRoute, asked.origin.clone(), note));
        close(server, |route| route.origin.object == *loser.subject.id());
    }
    let decider = winner.map(|winner| (winner.subject, winner.says));
    match (decider, home) {
        (Some((_, ClientRule::Good(rule))), Some(home)) => {
            for guest in site.subjects.iter().filter(|subject| *subject.id().namespace != *home) {
                let note =
                    format!("{name} asks clients for certificates, as the namespace that asked for it first says");
                findings.push(Finding::new(Reason::HostRuleConflict, Origin::object(guest.id()), note));
            }
            server.client_certificates = Some(Arc::clone(rule));
        }
        (Some((decider, ClientRule::Broken)), Some(home)) => {
            let of_home = site.subjects.iter().filter(|subject| *subject.id().namespace == *home);
            for other in of_home.filter(|subject| !subject.reading.closed) {
                let note = format!(
                    "{} decides what {name} asks of certificates of clients, and that cannot be applied: the routes answer 503 \
                     until it is mended",
                    decider.id()
                );
                findings.push(Finding::new(Reason::ClosedRoute, Origin::object(other.id()), note));
            }
            close(server, |route| *route.origin.object.namespace == *home);
        }
        (None, Some(home)) if unserved.is_some_and(|namespaces| namespaces.contains(home)) => {
            let note = format!(
                "another object of the namespace asks clients of {name} for certificates, and cannot be served as it is now: the \
                 routes answer 503 until it is mended"
            );
            let of_home = site.subjects.iter().filter(|subject| *subject.id().namespace == *home);
            for open in of_home.filter(|subject| !subject.reading.closed) {
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
