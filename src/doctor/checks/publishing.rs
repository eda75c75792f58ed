//! Checks the nodes that publish, and the served certificates.

use jiff::Timestamp;

use super::cluster::answering;
use super::some;
use crate::doctor::facts::{Facts, Served};
use crate::doctor::report::{Found, Line};
use ingressd_cluster::publish::lease_name;
use ingressd_cluster::publish::probe::Kept;
use ingressd_model::finding::count;
use ingressd_model::{Validity, ValidityPhase, in_words};

/// The remedy for a certificate that expires.
const RENEW: &str = "renew it in its Secret; where cert-manager does that, look at its Certificate and Order";

/// By how many seconds a clock may be ahead without a line.
const TOLERATED: i64 = 5;

pub fn leases(facts: &Facts) -> Found {
    let cluster = answering(facts)?;
    let namespace = &facts.settings.publish.namespace;
    let leases = match &cluster.leases {
        None => return Err(Line::note("not looked at: the API server was not asked for them, see api-server")),
        Some(Err(why)) => {
            let remedy = "see permissions; the namespace of publish.namespace must exist";
            return Err(Line::error(format!("the Leases in {namespace} cannot be read: {why}"), remedy));
        }
        Some(Ok(leases)) => leases,
    };
    // Renewals are compared with the clock of the API server: clocks of the nodes may differ, for
    // which there is another check.
    let ahead = cluster.server.as_ref().and_then(|server| server.as_ref().ok()?.ahead).unwrap_or_default();
    let now = leases.read + ahead;
    if leases.members.is_empty() && leases.leader.is_none() {
        return Err(Line::note(format!(
            "no node has told of itself in {namespace} yet: a daemon does so when nginx serves"
        )));
    }
    let mut lines = vec![match &leases.leader {
        None => Line::warning(
            "nobody leads: no address and no Event is written",
            "start a daemon; it leads after some seconds",
        ),
        Some(leader) => match age(leader, now) {
            Some(age) if age > seconds(leader) => Line::warning(
                format!("{} leads, but did not renew its Lease for {age} s", leader.what),
                "another node takes over when one runs; look at the daemon and the clock of that node",
            ),
            _ => Line::ok(format!("{} leads", leader.what)),
        },
    }];
    for member in &leases.members {
        let (node, addresses) = (&member.what.identity, member.what.addresses.iter().map(ToString::to_string));
        let addresses = addresses.collect::<Vec<_>>().join(", ");
        let age = age(member, now);
        let lease = lease_name(&facts.settings.publish.lease, node);
        let remove = format!("of a node that is gone for good, `kubectl delete lease --namespace {namespace} {lease}`");
        lines.push(match age {
            // This is the state of a drained node, which `ingressd status --cluster` calls good.
            Some(age) if age > seconds(member) && member.what.drained => Line::note(format!(
                "{node} ({addresses}) is drained, and did not renew its Lease for {age} s; {remove}"
            )),
            Some(age) if age > seconds(member) => Line::warning(
                format!("{node} ({addresses}) did not renew its Lease for {age} s and is not published"),
                format!("look at the daemon on that node; {remove}"),
            ),
            Some(age) if age < -TOLERATED => Line::warning(
                format!("{node} ({addresses}) has a clock that is {} s ahead of the API server's", -age),
                "let a time service set its clock",
            ),
            _ if member.what.drained => Line::note(format!("{node} ({addresses}) is drained")),
            _ if !member.what.serving => Line::warning(
                format!("{node} ({addresses}) lives, but its nginx serves no confirmed generation"),
                "look at `ingressd status` on that node",
            ),
            _ => Line::ok(format!("{node} ({addresses}) lives and serves")),
        });
    }
    Ok(lines)
}

/// The time since the last renewal.
fn age<T>(kept: &Kept<T>, now: i64) -> Option<i64> {
    kept.renewed.map(|renewed| now - renewed.as_second())
}

fn seconds<T>(kept: &Kept<T>) -> i64 {
    i64::try_from(kept.duration.as_secs()).unwrap_or(i64::MAX)
}

pub fn certificates(facts: &Facts) -> Found {
    let root = facts.settings.apply.root.join("current");
    if facts.certificates.is_empty() {
        return Err(Line::note(format!("no certificate is served: there is none below {}", root.display())));
    }
    let mut lines = Vec::new();
    let mut good = Vec::<(&Served, i64)>::new();
    for served in &facts.certificates {
        let name = || {
            let hosts =
                if served.hosts.is_empty() { String::new() } else { format!(", used by {}", some(&served.hosts)) };
            format!("the certificate for {}{hosts}", some(&served.names))
        };
        let validity = match &served.validity {
            Ok(validity) => *validity,
            Err(why) => {
                let text = format!("{} cannot be read: {why}", served.file.display());
                lines.push(Line::warning(text, "run this as root"));
                continue;
            }
        };
        let Validity { begins, ends } = validity;
        match validity.standing(facts.now) {
            ValidityPhase::Good => good.push((served, ends)),
            ValidityPhase::Ended => lines.push(Line::error(format!("{} ended on {}", name(), day(ends)), RENEW)),
            ValidityPhase::NotYet => {
                let text = format!("{} is not valid before {}", name(), day(begins));
                lines.push(Line::error(text, "if that is now, look at the clocks of this host and of its issuer"));
            }
            ValidityPhase::Ending(_) => {
                let text = format!("{} ends on {}, in {}", name(), day(ends), in_words(ends - facts.now));
                lines.push(Line::warning(text, RENEW));
            }
        }
    }
    if let Some((served, end)) = good.iter().min_by_key(|(_, end)| *end) {
        let text = format!(
            "{}; the first to end is that for {}, on {}",
            count(good.len(), "certificate is good", "certificates are good"),
            some(&served.names),
            day(*end)
        );
        lines.push(Line::ok(text));
    }
    Ok(lines)
}

fn day(second: i64) -> String {
    Timestamp::from_second(second).map_or_else(|_| second.to_string(), |time| time.strftime("%Y-%m-%d").to_string())
}
