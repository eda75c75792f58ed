//! Decides which object sets an option of a whole host when several do.
//!
//! The oldest object with the option decides, among those of the namespace that claimed the host
//! first. Each option is decided separately. Objects with another value get a finding, and their
//! value has no effect.

use std::collections::BTreeSet;

use super::ClaimedHost;
use crate::admit::admitted::Admitted;
use crate::attach::younger;
use crate::value::host;
use crate::{AppRoot, HostOptions};
use ingressd_model::catalogue::Module;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{ClientCertificates, Directive, Origin, ServerName};

/// An option of an object for its hosts.
pub trait HostOption {
    /// The field that sets it.
    fn origin(&self) -> &Origin;
    /// Whether both have the same value, wherever they are written.
    fn is_like(&self, other: &Self) -> bool;
    /// The end of the sentence "decides ...".
    fn object(&self, host: &str) -> String;
    /// Whether it may be set for unknown hosts, where it would affect hosts of others.
    fn fits_unknown_hosts(&self) -> bool;
}

impl HostOption for Directive {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn is_like(&self, other: &Self) -> bool {
        self.row == other.row && self.arguments == other.arguments
    }

    fn object(&self, host: &str) -> String {
        format!("{} of {host}", self.row.name)
    }

    fn fits_unknown_hosts(&self) -> bool {
        // Hosts without a certificate of their own use the handshakes of the default server.
        self.row.module != Some(Module::Ssl)
    }
}

impl HostOption for ClientCertificates {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn is_like(&self, other: &Self) -> bool {
        ClientCertificates::is_like(self, other)
    }

    fn object(&self, host: &str) -> String {
        format!("the client certificates of {host}")
    }

    fn fits_unknown_hosts(&self) -> bool {
        // A certificate shown to the default server would count for all hosts.
        false
    }
}

impl HostOption for AppRoot {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn is_like(&self, other: &Self) -> bool {
        self.target == other.target
    }

    fn object(&self, host: &str) -> String {
        format!("the redirect of / of {host}")
    }

    fn fits_unknown_hosts(&self) -> bool {
        true
    }
}

/// An object of a host with its value of an option.
#[derive(Debug)]
pub struct Saying<'s, 'a, T> {
    pub object: &'s Admitted<'a>,
    pub says: &'s T,
    /// Whether it is of the namespace that claimed the host first.
    pub is_at_home: bool,
}

/// The objects with a value of an option.
#[derive(Debug)]
pub struct Decision<'s, 'a, T> {
    /// The object that decides.
    pub winner: Option<Saying<'s, 'a, T>>,
    /// All others, in the order of the objects of the host.
    pub losers: Vec<Saying<'s, 'a, T>>,
}

/// Decides which object sets an option of a host.
pub fn decide<'s, 'a, T>(
    claimed: &ClaimedHost<'s, 'a>,
    option: impl Fn(&'s HostOptions) -> Option<&'s T>,
) -> Decision<'s, 'a, T> {
    let home = claimed.home();
    let said = claimed.objects.iter().filter_map(|object| {
        let says = option(&object.policy.reading.host)?;
        Some(Saying { object, says, is_at_home: home == Some(&*object.id().namespace) })
    });
    let mut losers: Vec<_> = said.collect();
    let winner = losers.iter().position(|saying| saying.is_at_home).map(|first| losers.remove(first));
    Decision { winner, losers }
}

/// The effective value of an option of a host; objects with another value get a finding.
pub fn settle<'s, T: HostOption>(
    name: &ServerName,
    claimed: &ClaimedHost<'s, '_>,
    option: impl Fn(&'s HostOptions) -> Option<&'s T>,
    findings: &mut Vec<Finding>,
) -> Option<&'s T> {
    let Decision { winner, losers } = decide(claimed, option);
    let is_refused = |saying: &Saying<'_, '_, T>| *name == ServerName::CatchAll && !saying.says.fits_unknown_hosts();
    let (refused, winner) = match winner {
        Some(winner) if is_refused(&winner) => (Some(winner), None),
        winner => (None, winner),
    };
    for loser in refused.iter().chain(&losers) {
        let what = loser.says.object(&host::written(name));
        let note = match &winner {
            Some(winner) if winner.says.is_like(loser.says) => continue,
            _ if is_refused(loser) => format!("it would decide about {what}, also for hosts of others; name the hosts"),
            Some(winner) if loser.is_at_home => younger(winner.object.id(), &what),
            _ => {
                format!(
                    "another namespace asked for the host first and decides about {what}; remove the key, or use \
                     another host"
                )
            }
        };
        findings.push(Finding::new(Reason::HostRuleConflict, loser.says.origin().clone(), note));
    }
    winner.map(|winner| winner.says)
}

/// The effective directives of a host, sorted by name.
pub fn directives(name: &ServerName, claimed: &ClaimedHost<'_, '_>, findings: &mut Vec<Finding>) -> Vec<Directive> {
    let said = claimed.objects.iter().flat_map(|object| &object.policy.reading.host.directives);
    let rows: BTreeSet<&str> = said.map(|directive| directive.row.name).collect();
    let counting = rows.into_iter().filter_map(|row| {
        settle(name, claimed, |host| host.directives.iter().find(|directive| directive.row.name == row), findings)
    });
    counting.cloned().collect()
}
