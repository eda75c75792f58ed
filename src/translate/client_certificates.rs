//! Which object decides what a host asks of the certificates of its clients; it must not know annotations or how nginx asks.
//!
//! The oldest object with such a rule decides, among those of the namespace whose host it is. Where its rule cannot be applied, that
//! namespace's routes of the host are closed. An object of another namespace with a rule closes its own routes: they would be open to
//! whom it wants kept out.

use std::sync::Arc;

use super::ClientRule;
use super::host;
use super::site::Site;
use crate::finding::{Finding, Reason};
use crate::model::{Action, Origin, Route, Server, ServerName};

/// Has a server ask for certificates, and closes what would be open without.
pub fn apply(server: &mut Server, site: &Site<'_, '_>, findings: &mut Vec<Finding>) {
    let rules = site.subjects.iter().filter_map(|subject| Some((*subject, subject.reading.client_rule.as_ref()?)));
    if rules.clone().next().is_none() {
        return;
    }
    let name = host::written(&server.name);
    let home = site.subjects.first().filter(|_| !site.is_without_owner).map(|oldest| &oldest.id().namespace);
    // Clients that name no host, or an unknown one, are asked by the catch-all server: what they show there would count everywhere.
    let has_rule = server.name != ServerName::CatchAll;
    let decider = rules.clone().find(|(subject, _)| has_rule && home == Some(&subject.id().namespace));
    for (subject, rule) in rules {
        let ClientRule::Good(asked) = rule else { continue };
        let is_at_home = home == Some(&subject.id().namespace);
        let note = match decider {
            Some((older, _)) if older.id() == subject.id() => continue,
            Some((_, ClientRule::Good(decided))) if asked.is_like(decided) => continue,
            Some((older, _)) if is_at_home => {
                let note = format!(
                    "{} is older and decides what {name} asks of certificates of clients; say the same in both, or take another host",
                    older.id()
                );
                findings.push(Finding::new(Reason::HostRuleConflict, asked.origin.clone(), note));
                continue;
            }
            _ if !has_rule => {
                "requests to hosts that nobody names cannot be asked for certificates; name the hosts".to_owned()
            }
            _ => format!(
                "another namespace asked for {name} first and decides what it asks of certificates of clients; the routes answer 503 \
                 until this key is gone or the host is another one"
            ),
        };
        findings.push(Finding::new(Reason::ClosedRoute, asked.origin.clone(), note));
        close(server, |route| route.origin.object == *subject.id());
    }
    match (decider, home) {
        (Some((_, ClientRule::Good(rule))), Some(home)) => {
            for guest in site.subjects.iter().filter(|subject| subject.id().namespace != *home) {
                let note =
                    format!("{name} asks clients for certificates, as the namespace that asked for it first says");
                findings.push(Finding::new(Reason::HostRuleConflict, Origin::object(guest.id()), note));
            }
            server.client_certificates = Some(Arc::clone(rule));
        }
        (Some((decider, ClientRule::Broken)), Some(home)) => {
            let of_home = site.subjects.iter().filter(|subject| subject.id().namespace == *home);
            for other in of_home.filter(|subject| !subject.reading.closed) {
                let note = format!(
                    "{} decides what {name} asks of certificates of clients, and that cannot be applied: the routes answer 503 \
                     until it is mended",
                    decider.id()
                );
                findings.push(Finding::new(Reason::ClosedRoute, Origin::object(other.id()), note));
            }
            close(server, |route| route.origin.object.namespace == *home);
        }
        _ => {}
    }
}

fn close(server: &mut Server, concerns: impl Fn(&Route) -> bool) {
    let all = server.routes.iter_mut().chain([&mut server.fallback]);
    all.filter(|route| concerns(route)).for_each(|route| route.action = Action::Closed);
}
