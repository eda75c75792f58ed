//! Finds entries of `spec.tls` for hosts of which the object has no path.

use std::collections::HashSet;

use super::site::{self, Refusals, Site};
use super::subject::Subject;
use super::{FEW_HOSTS, host, position};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, ObjectId, Origin, ServerName};
use ingressd_objects::IngressTls;

/// Adds findings about entries without effect on a host of others: entries of objects that do not
/// claim the host, and of `outsiders`, which claim it and got no path. A host without an owner is
/// ignored, because nothing is refused there.
pub fn tell(
    subjects: &[Subject<'_>],
    sites: &[(ServerName, Site<'_, '_>)],
    outsiders: &Refusals<'_>,
    findings: &mut Vec<Finding>,
) {
    for subject in subjects {
        let entries = &subject.stored.object.tls;
        let is_ordinary = outsiders.is_empty() && lists_its_own(subject, entries);
        if entries.is_empty() || is_ordinary || subject.closed_rules.is_some() {
            continue;
        }
        let own = subject.rules().filter_map(|(_, rule)| rule.host.as_deref());
        let own: HashSet<String> = own.map(str::to_ascii_lowercase).collect();
        let above: HashSet<&str> = own.iter().filter_map(|own| Some(own.split_once('.')?.1)).collect();
        for (number, entry) in entries.iter().enumerate() {
            let idle =
                entry.hosts.iter().filter(|listed| is_idle(listed, (subject.id(), &own, &above), sites, outsiders));
            let mut idle = idle.map(|listed| listed.escape_debug());
            let Some(first) = idle.next() else { continue };
            let more = match idle.count() {
                0 => String::new(),
                more => format!(" and {more} more of its hosts"),
            };
            let note = format!(
                "the entry has no effect on \"{first}\"{more}, where other objects have paths and this one has none; \
                    list the host in an object that has a path there, or remove it here"
            );
            let origin = Origin::field(subject.id(), Field::Tls(position(number)));
            findings.push(Finding::new(Reason::TlsWithoutPath, origin, note));
        }
    }
}

/// Whether an object with few rules lists only their hosts, as most do; then nothing has to be
/// looked up.
fn lists_its_own(subject: &Subject<'_>, entries: &[IngressTls]) -> bool {
    let rules = || subject.rules().filter_map(|(_, rule)| rule.host.as_ref());
    let mut listed = entries.iter().flat_map(|entry| entry.hosts.iter());
    rules().nth(FEW_HOSTS).is_none() && listed.all(|listed| rules().any(|own| own == listed))
}

fn is_idle(
    listed: &str,
    (id, own, above): (&ObjectId, &HashSet<String>, &HashSet<&str>),
    sites: &[(ServerName, Site<'_, '_>)],
    outsiders: &Refusals<'_>,
) -> bool {
    let lower = listed.to_ascii_lowercase();
    let is_asked = own.contains(&lower);
    if is_asked && outsiders.is_empty() {
        return false;
    }
    let Ok(name) = host::server_name(&lower) else { return false };
    if is_asked {
        return outsiders.contains(&(id, name));
    }
    // A host that the object redirects from or to `www.` needs a certificate for that.
    let is_others = |site: &Site<'_, '_>| site.redirect.as_ref().is_none_or(|(_, asked)| *asked.object != *id);
    // A wildcard is effective for the hosts within it.
    site::find(sites, &name).is_some_and(is_others)
        && !lower.strip_prefix("*.").is_some_and(|parent| above.contains(parent))
}
