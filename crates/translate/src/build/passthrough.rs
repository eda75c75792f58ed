//! What happens to the objects of a host of which TLS is passed through, or which ask for it.
//!
//! An object of another namespace that asks for it gets its own routes closed, because terminating
//! its TLS is not what it asked for.

use super::client_certificates;
use crate::admit::admitted::Admitted;
use crate::claim::claimed::{self, Claim, ClaimedHost};
use crate::value::host;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Origin, Server};

/// Adds findings for the other objects of the host, and closes the routes of those that ask in
/// vain.
pub fn settle(server: &mut Server, claimed: &ClaimedHost<'_, '_>, findings: &mut Vec<Finding>) {
    let decider = claimed.passing();
    let is_concerned = |object: &&Admitted<'_>| object.policy.reading.passthrough.is_some();
    if decider.is_none() && !claimed.objects.iter().any(is_concerned) {
        return;
    }
    let (name, home) = (host::written(&server.name), claimed.home());
    for object in &claimed.objects {
        let is_at_home = home == Some(&*object.id().namespace);
        match (&object.policy.reading.passthrough, decider) {
            (Some(origin), Some(claim)) if claim.object.id() == object.id() => {
                findings.extend(moot(object, claim, claimed, &name, origin));
            }
            (Some(origin), _) if !is_at_home || claimed::is_unknown(&server.name) => {
                let note = match is_at_home {
                    true => "an object without a host cannot be passed through; name the hosts; the routes answer 503"
                        .to_owned(),
                    false => format!(
                        "another namespace asked for {name} first and decides about TLS passthrough there; the routes \
                            answer 503; remove this key, or use another host"
                    ),
                };
                findings.push(Finding::new(Reason::ClosedRoute, origin.clone(), note));
                client_certificates::close(server, |route| route.origin.object == *object.id());
            }
            (Some(origin), None) => {
                let note = format!(
                    "TLS passthrough needs the path / of the host, which the object does not have on {name}; nginx \
                     terminates TLS of the host"
                );
                findings.push(Finding::new(Reason::UnsupportedAnnotation, origin.clone(), note));
            }
            (asked, Some(claim)) => {
                let origin = asked.clone().unwrap_or_else(|| Origin::object(object.id()));
                let whose = match is_at_home {
                    true => claim.object.id().to_string(),
                    false => "the namespace that asked for it first".to_owned(),
                };
                let note = format!(
                    "{whose} passes TLS of {name} through, so this object is used only for plain http of the host"
                );
                findings.push(Finding::new(Reason::HostRuleConflict, origin, note));
            }
            (None, None) => {}
        }
    }
}

/// Findings about other options of the deciding object that have no effect on TLS.
fn moot(
    object: &Admitted<'_>,
    claim: &Claim<'_, '_>,
    claimed: &ClaimedHost<'_, '_>,
    name: &str,
    origin: &Origin,
) -> Option<Finding> {
    let paths = claimed.claims.iter().filter(|other| other.object.id() == object.id() && other.origin != claim.origin);
    let paths = paths.map(|other| crate::value::excerpt(other.path.as_str()));
    let said = object.attached.intent.options.iter().map(|option| option.row).filter(|row| row.is_served());
    let said = said.map(|row| row.key).filter(|key| !OF_PLAIN_HTTP.contains(key)).map(str::to_owned);
    let all: Vec<_> = said.chain(paths).take(MOST_REPORTED).collect();
    let note = format!(
        "TLS of {name} is passed through to the Service of the path /, so these have an effect only for plain http: {}",
        all.join(", ")
    );
    (!all.is_empty()).then(|| Finding::new(Reason::UnsupportedAnnotation, origin.clone(), note))
}

/// Keys that are about plain http only, and the key for passthrough itself.
const OF_PLAIN_HTTP: [&str; 5] =
    ["backend-protocol", "force-ssl-redirect", "preserve-trailing-slash", "ssl-passthrough", "ssl-redirect"];

/// How many keys and paths a finding lists.
const MOST_REPORTED: usize = 20;
