//! Finds entries of `spec.tls` without effect, most of them for hosts of which the object has no
//! path.

use std::collections::{HashMap, HashSet};

use super::arbiter::Outsiders;
use super::claimed::{self, ClaimedHost};
use super::tls_entries::Entries;
use crate::admit::admitted::Admitted;
use crate::position;
use crate::read::intent::TlsSpec;
use crate::value::host;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, ObjectId, Origin, ServerName};
use ingressd_objects::Snapshot;

/// Objects with more hosts than this are rare.
pub const FEW_HOSTS: usize = 16;

/// Adds findings about entries without effect on a host of others: entries of objects that do not
/// claim the host, and of `outsiders`, which claim it and got no path. A host without an owner is
/// ignored, because nothing is refused there, unless the entry has no other.
pub fn report<'a>(
    objects: &[Admitted<'a>],
    claimed_hosts: &[(ServerName, ClaimedHost<'_, 'a>)],
    outsiders: &Outsiders<'_>,
    (snapshot, entries): (&Snapshot, &mut Entries<'a>),
    findings: &mut Vec<Finding>,
) {
    for object in objects {
        let written = &object.attached.tls;
        let is_ordinary = outsiders.is_empty() && lists_its_own(object, written);
        if written.is_empty() || is_ordinary || object.closed_rules.is_some() {
            continue;
        }
        let own: HashSet<String> = written_hosts(object).map(str::to_ascii_lowercase).collect();
        let redirected = redirected(object.id(), &own, claimed_hosts);
        let covered = own.iter().chain(redirected.iter().map(|(host, _)| host));
        let above: HashSet<&str> = covered.filter_map(|host| Some(host.split_once('.')?.1)).collect();
        let mut earlier = HashMap::<String, usize>::new();
        let mut used = None;
        for (number, entry) in written.iter().enumerate() {
            let idle = entry
                .hosts
                .iter()
                .filter(|listed| is_idle(listed, (object.id(), &own, &above), claimed_hosts, outsiders));
            let mut idle = idle.map(|listed| listed.escape_debug());
            let first = idle.next();
            let count = if first.is_some() { 1 + idle.count() } else { 0 };
            let note = match first {
                Some(first) => {
                    let more = match count {
                        1 => String::new(),
                        more => format!(" and {} more of its hosts", more - 1),
                    };
                    Some(format!(
                        "the entry has no effect on \"{first}\"{more}, where other objects have paths and this one has \
                         none; list the host in an object that has a path there, or remove it here"
                    ))
                }
                None if entry.hosts.is_empty() => {
                    let used = used.get_or_insert_with(|| used_secrets(object, &redirected, entries));
                    (!used.contains(&entry.secret.as_deref())).then(|| unused(entry))
                }
                None => unlisted(entry, (&own, &above), claimed_hosts)
                    .or_else(|| repeated(entry, written, &earlier))
                    .or_else(|| {
                        let used = used.get_or_insert_with(|| used_secrets(object, &redirected, entries));
                        unused_within(entry, (&own, &above), used)
                    }),
            };
            for listed in entry.hosts.iter() {
                earlier.entry(listed.to_ascii_lowercase()).or_insert(number);
            }
            let Some(note) = note else { continue };
            let origin = Origin::field(object.id(), Field::Tls(position(number)));
            let is_whole = count == 0 || count == entry.hosts.len();
            if is_whole
                && let Some(secret) = entry.secret.as_deref()
                && snapshot.secret(&object.id().namespace, secret).is_none()
            {
                let namespace = &object.id().namespace;
                let note = format!("there is no Secret {secret:?} in the namespace {namespace:?}");
                findings.push(Finding::new(Reason::MissingSecret, origin.clone(), note));
            }
            findings.push(Finding::new(Reason::TlsWithoutPath, origin, note));
        }
    }
}

/// The hosts of its rules, as written.
fn written_hosts<'a>(object: &Admitted<'a>) -> impl Iterator<Item = &'a str> {
    let named = object.rules().filter(|(_, rule)| rule.name != Ok(ServerName::CatchAll));
    named.map(|(_, rule)| &*rule.host)
}

/// The hosts that the object redirects from or to `www.`, which need certificates, too.
fn redirected(
    id: &ObjectId,
    own: &HashSet<String>,
    claimed_hosts: &[(ServerName, ClaimedHost<'_, '_>)],
) -> Vec<(String, ServerName)> {
    let other = |own: &String| own.strip_prefix("www.").map_or_else(|| format!("www.{own}"), str::to_owned);
    let named = own.iter().map(other).filter_map(|host| host::server_name(&host).ok().map(|name| (host, name)));
    let is_its =
        |claimed: &ClaimedHost<'_, '_>| claimed.redirect.as_ref().is_some_and(|(_, asked)| *asked.object == *id);
    named.filter(|(_, name)| claimed::find(claimed_hosts, name).is_some_and(is_its)).collect()
}

/// The Secrets of the entries that decide about a host of the object.
fn used_secrets<'a>(
    object: &Admitted<'a>,
    redirected: &[(String, ServerName)],
    entries: &mut Entries<'a>,
) -> HashSet<Option<&'a str>> {
    let named = object.rules().filter_map(|(_, rule)| rule.name.as_ref().ok());
    let named = named.chain(redirected.iter().map(|(_, name)| name));
    let rest = object.takes_the_rest().then_some(&ServerName::CatchAll);
    named.chain(rest).filter_map(|name| Some(entries.of_host(object, name)?.1.secret.as_deref())).collect()
}

/// The note about an entry without hosts that is used for none.
fn unused(entry: &TlsSpec) -> String {
    let secret = match entry.secret.as_deref() {
        Some(secret) => format!("Secret {secret:?} is"),
        None => "it is".to_owned(),
    };
    format!(
        "the entry lists no hosts, and {secret} used for no host of the object; often a dash is too many: write hosts \
         and secretName in one entry"
    )
}

/// The note about an entry that lists only hosts on which nobody has a path.
fn unlisted(
    entry: &TlsSpec,
    (own, above): (&HashSet<String>, &HashSet<&str>),
    claimed_hosts: &[(ServerName, ClaimedHost<'_, '_>)],
) -> Option<String> {
    let is_served = |listed: &str| {
        let lower = listed.to_ascii_lowercase();
        own.contains(&lower)
            || is_above(&lower, above)
            || host::server_name(&lower).is_ok_and(|name| claimed::find(claimed_hosts, &name).is_some())
    };
    let first = entry.hosts.first()?;
    (!entry.hosts.iter().any(|listed| is_served(listed))).then(|| {
        format!(
            "the entry has no effect, because no object has a rule for \"{}\"; add one, or remove the entry",
            first.escape_debug()
        )
    })
}

/// The note about an entry whose hosts earlier entries with other Secrets list.
fn repeated(entry: &TlsSpec, written: &[TlsSpec], earlier: &HashMap<String, usize>) -> Option<String> {
    let before = |listed: &str| earlier.get(&listed.to_ascii_lowercase()).copied();
    let is_other = |number: &usize| written[*number].secret != entry.secret;
    let numbers = entry.hosts.iter().map(|listed| before(listed).filter(is_other));
    let numbers = numbers.collect::<Option<Vec<_>>>()?;
    let first = numbers.first()?;
    Some(format!("the entry has no effect, because spec.tls[{first}] lists its hosts already; remove one of them"))
}

/// The note about an entry that lists a wildcard, and none of the object's hosts, and whose Secret
/// is used for no host.
fn unused_within(
    entry: &TlsSpec,
    (own, above): (&HashSet<String>, &HashSet<&str>),
    used: &HashSet<Option<&str>>,
) -> Option<String> {
    let secret = entry.secret.as_deref()?;
    let listed: Vec<_> = entry.hosts.iter().map(|listed| listed.to_ascii_lowercase()).collect();
    let wide = listed.iter().find(|listed| is_above(listed, above))?;
    let is_idle = !listed.iter().any(|listed| own.contains(listed)) && !used.contains(&Some(secret));
    is_idle.then(|| {
        format!(
            "Secret {secret:?} is used for no host of the object, because no rule has the host \"{}\" and no certificate \
             in it names a host of the object that another entry does not list; list the hosts that it is for",
            wide.escape_debug()
        )
    })
}

/// Whether an object with few rules has one entry, which lists only their hosts, as most do; then
/// nothing has to be looked up.
fn lists_its_own(object: &Admitted<'_>, entries: &[TlsSpec]) -> bool {
    if !matches!(entries, [only] if !only.hosts.is_empty()) {
        return false;
    }
    let mut listed = entries.iter().flat_map(|entry| entry.hosts.iter());
    written_hosts(object).nth(FEW_HOSTS).is_none()
        && listed.all(|listed| written_hosts(object).any(|own| *own == **listed))
}

fn is_idle(
    listed: &str,
    (id, own, above): (&ObjectId, &HashSet<String>, &HashSet<&str>),
    claimed_hosts: &[(ServerName, ClaimedHost<'_, '_>)],
    outsiders: &Outsiders<'_>,
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
    let is_others =
        |claimed: &ClaimedHost<'_, '_>| claimed.redirect.as_ref().is_none_or(|(_, asked)| *asked.object != *id);
    // A wildcard is effective for the hosts within it.
    claimed::find(claimed_hosts, &name).is_some_and(is_others) && !is_above(&lower, above)
}

/// Whether this is a wildcard, in lower case, for a host that has one of these above it.
fn is_above(listed: &str, above: &HashSet<&str>) -> bool {
    listed.strip_prefix("*.").is_some_and(|parent| above.contains(parent))
}
