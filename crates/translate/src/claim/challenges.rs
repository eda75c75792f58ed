//! Finds certificates that cannot be renewed, because the challenges for their hosts belong to
//! other namespaces.

use std::sync::Arc;

use super::claimed::{self, ClaimedHost};
use super::claims::Claims;
use crate::admit::admitted::Admitted;
use crate::read::intent::TlsSpec;
use crate::value::host;
use crate::{Options, position};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, Origin, ServerName};
use ingressd_objects::Snapshot;

/// Adds a finding for each entry of `spec.tls` with a certificate of cert-manager and hosts of
/// other namespaces.
pub fn report(
    objects: &[Admitted<'_>],
    claimed_hosts: &[(ServerName, ClaimedHost<'_, '_>)],
    (snapshot, claims, options): (&Snapshot, &Claims, &Options),
    findings: &mut Vec<Finding>,
) {
    for object in objects.iter().filter(|object| object.closed_rules.is_none()) {
        let namespace = &object.id().namespace;
        if object.attached.tls.is_empty() || options.challenges.contains(namespace) {
            continue;
        }
        let asks = object.attached.intent.asks_for_certificates;
        for (number, entry) in object.attached.tls.iter().enumerate() {
            let theirs: Vec<_> =
                entry.hosts.iter().filter(|listed| is_of_others(listed, namespace, claimed_hosts, claims)).collect();
            if theirs.is_empty() || !(asks || is_of_cert_manager(entry, namespace, snapshot)) {
                continue;
            }
            let hosts = theirs.iter().map(|host| host.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
            let note = format!(
                "another namespace asked first for {hosts}, and challenges of certificate authorities are its; so \
                    cert-manager gets no certificate by HTTP-01 here: request it there, use DNS-01, or have the \
                    administrator name this namespace in `hosts.challenges`"
            );
            let origin = Origin::field(object.id(), Field::Tls(position(number)));
            findings.push(Finding::new(Reason::ForeignChallenge, origin, note));
        }
    }
}

/// Whether another namespace has a host. A wildcard takes no challenges.
fn is_of_others(
    listed: &str,
    own: &Arc<str>,
    claimed_hosts: &[(ServerName, ClaimedHost<'_, '_>)],
    claims: &Claims,
) -> bool {
    let Ok(name @ ServerName::Exact(_)) = host::server_name(listed) else { return false };
    let home = claimed::find(claimed_hosts, &name).and_then(ClaimedHost::home);
    let owner = home.or_else(|| claims.owner(&name).map(|owner| &*owner.namespace));
    owner.is_some_and(|owner| *owner != **own)
}

fn is_of_cert_manager(entry: &TlsSpec, namespace: &str, snapshot: &Snapshot) -> bool {
    entry.secret.as_deref().is_some_and(|name| is_issued(namespace, name, snapshot))
}

/// Whether cert-manager has written a Secret.
pub fn is_issued(namespace: &str, name: &str, snapshot: &Snapshot) -> bool {
    snapshot.secret(namespace, name).is_some_and(|secret| secret.object.is_issued)
}
