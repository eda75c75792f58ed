//! The host's other sites on the sockets of the cluster's hosts, and what nginx gives to them. It
//! must not know objects.

use std::collections::HashMap;
use std::net::SocketAddr;

use regex::bytes::{Regex, RegexBuilder};

use super::{Listen, OtherSites, SiteName};
use ingressd_model::ServerName;

/// A name that no host has: an expression that matches it matches everything else too, as a
/// default server does.
const NOBODY: &[u8] = b"nobody.ingressd.invalid";

/// Other sites on our sockets. Those that listen on a single address of the node for themselves
/// are not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SitesBeside {
    /// Their names on our ports, in nginx's order.
    names: Vec<SiteName>,
    /// Our sockets for clients, each with the place of the site that is its default server.
    sockets: Vec<(Listen, Option<String>)>,
}

/// A site that takes requests for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteTaking {
    /// The sockets on which it does.
    pub sockets: Vec<SocketAddr>,
    /// The file and line.
    pub place: String,
    /// Its name that fits; `None` where it takes what fits no server.
    pub name: Option<String>,
    /// Whether only nginx can tell that its name, an expression, fits.
    pub is_unclear: bool,
}

impl SitesBeside {
    /// Those of our sockets.
    pub fn of(other_sites: &OtherSites, listens: &[Listen]) -> Self {
        let is_ours = |site: &&SiteName| {
            let mut ports = site.sockets.iter().map(SocketAddr::port);
            ports.any(|port| listens.iter().any(|listen| listen.address.port() == port))
        };
        let socket = |listen: &Listen| {
            let default = (!listen.default_server).then(|| default_site(other_sites, listen)).flatten();
            (listen.clone(), default.map(str::to_owned))
        };
        SitesBeside {
            names: other_sites.server_names.iter().filter(is_ours).cloned().collect(),
            sockets: listens.iter().map(socket).collect(),
        }
    }

    /// Our sockets for clients.
    pub fn sockets(&self) -> impl Iterator<Item = &Listen> {
        self.sockets.iter().map(|(listen, _)| listen)
    }

    /// The names on any of our ports.
    pub fn names(&self) -> OtherNames<'_> {
        let default = self.sockets.iter().find_map(|(_, default)| default.as_deref());
        OtherNames::of(self.names.iter(), default)
    }

    /// The sites that take requests for a host which goes to this server of ours where no other
    /// site has it.
    pub fn taking(&self, host: &str, ours: &ServerName) -> Vec<SiteTaking> {
        let mut taking: Vec<SiteTaking> = Vec::new();
        for (Listen { address: socket, .. }, default) in &self.sockets {
            let names = self.names.iter().filter(|site| site.sockets.contains(socket));
            for (place, name, is_unclear) in OtherNames::of(names, default.as_deref()).taking(host, ours) {
                let is_it = |known: &&mut SiteTaking| {
                    (known.place.as_str(), known.name.as_deref(), known.is_unclear) == (place, name, is_unclear)
                };
                match taking.iter_mut().find(is_it) {
                    Some(known) => known.sockets.push(*socket),
                    None => taking.push(SiteTaking {
                        sockets: vec![*socket],
                        place: place.to_owned(),
                        name: name.map(str::to_owned),
                        is_unclear,
                    }),
                }
            }
        }
        taking
    }
}

/// The names of other sites.
#[derive(Debug)]
pub struct OtherNames<'n> {
    exact: HashMap<&'n str, &'n SiteName>,
    /// Wildcards such as `*.example.com`, by `example.com`: in nginx they match any number of
    /// labels.
    below: Vec<(&'n str, &'n SiteName)>,
    /// Wildcards such as `www.*`, by `www.`.
    beginning: Vec<(&'n str, &'n SiteName)>,
    /// In nginx's order.
    expressions: Vec<Expression<'n>>,
    /// The place of a default server.
    default: Option<&'n str>,
}

/// An expression of another site.
#[derive(Debug)]
struct Expression<'n> {
    /// `None` where only nginx can parse it.
    regex: Option<Regex>,
    site: &'n SiteName,
}

impl Expression<'_> {
    /// Whether it matches every name; then it takes nothing from names of ours.
    fn is_default(&self) -> bool {
        self.regex.as_ref().is_some_and(|regex| regex.is_match(NOBODY))
    }
}

impl<'n> OtherNames<'n> {
    fn of(names: impl Iterator<Item = &'n SiteName>, default: Option<&'n str>) -> Self {
        let (exact, below, beginning, expressions) = Default::default();
        let mut all = OtherNames { exact, below, beginning, expressions, default };
        for site in names {
            let name = site.name.as_str();
            if let Some(expression) = name.strip_prefix('~') {
                all.expressions.push(Expression { regex: read(expression), site });
            } else if let Some(parent) = name.strip_prefix("*.") {
                all.below.push((parent, site));
            } else if let Some(parent) = name.strip_prefix('.') {
                all.exact.entry(parent).or_insert(site);
                all.below.push((parent, site));
            } else if let Some(beginning) = name.strip_suffix('*').filter(|beginning| beginning.ends_with('.')) {
                all.beginning.push((beginning, site));
            } else {
                all.exact.entry(name).or_insert(site);
            }
        }
        // nginx prefers longer wildcards.
        all.below.sort_by_key(|(parent, _)| std::cmp::Reverse(parent.len()));
        all.beginning.sort_by_key(|(beginning, _)| std::cmp::Reverse(beginning.len()));
        all
    }

    /// Whether there are none, and no default server.
    pub fn is_empty(&self) -> bool {
        let OtherNames { exact, below, beginning, expressions, default } = self;
        exact.is_empty() && below.is_empty() && beginning.is_empty() && expressions.is_empty() && default.is_none()
    }

    /// The place of a site that gets the requests for unknown hosts.
    pub fn rest(&self) -> Option<&'n str> {
        let expression = || self.expressions.iter().find(|expression| expression.is_default());
        self.default.or_else(|| expression().map(|expression| expression.site.place.as_str()))
    }

    /// Expressions that match some names and not all, or of which that is unknown.
    fn own_expressions(&self) -> impl Iterator<Item = &Expression<'n>> {
        self.expressions.iter().filter(|expression| !expression.is_default())
    }

    /// The site that has this host by a name or a wildcard.
    fn named(&self, host: &str) -> Option<&'n SiteName> {
        let below = || self.below.iter().find(|(parent, _)| is_below(host, parent)).map(|(_, site)| *site);
        let beginning = || {
            let mut all = self.beginning.iter();
            all.find(|(beginning, _)| host.starts_with(beginning)).map(|(_, site)| *site)
        };
        self.exact.get(host).copied().or_else(below).or_else(beginning)
    }

    /// The site that would lose requests to this host of ours, or that would leave none to it.
    pub fn holder(&self, name: &ServerName) -> Option<&'n SiteName> {
        match name {
            ServerName::CatchAll => None,
            // Only nginx can tell which hosts match both expressions, and which of the two it
            // tries first.
            ServerName::Expression(_) => {
                let read = self.own_expressions().find(|expression| expression.regex.is_some());
                read.or_else(|| self.own_expressions().next()).map(|expression| expression.site)
            }
            ServerName::Exact(host) => {
                let host = host.as_str();
                let matches =
                    |one: &&Expression<'_>| one.regex.as_ref().is_some_and(|regex| regex.is_match(host.as_bytes()));
                self.named(host).or_else(|| self.own_expressions().find(matches).map(|expression| expression.site))
            }
            // Our wildcard is an expression to nginx, so wildcards of other sites go first.
            ServerName::Wildcard(parent) => {
                let ours = parent.as_str();
                let covers = |theirs: &str| theirs == ours || is_below(ours, theirs);
                self.below.iter().find(|(theirs, _)| covers(theirs)).map(|(_, site)| *site)
            }
        }
    }

    /// A site that may lose requests to this host of ours, or take some from it: only nginx can
    /// tell.
    pub fn perhaps(&self, name: &ServerName) -> Option<&'n SiteName> {
        let unread = || self.own_expressions().find(|expression| expression.regex.is_none());
        let found = match name {
            ServerName::CatchAll | ServerName::Expression(_) => None,
            ServerName::Exact(_) => unread(),
            ServerName::Wildcard(_) => {
                let earlier = self.expressions.iter().find(|expression| expression.site.before_ours);
                earlier.or_else(unread).or_else(|| self.own_expressions().next())
            }
        };
        found.map(|expression| expression.site)
    }

    /// What takes requests for a host that goes to this server of ours otherwise: its place, the
    /// name that fits, and whether only nginx can tell that.
    fn taking(&self, host: &str, ours: &ServerName) -> Vec<(&'n str, Option<&'n str>, bool)> {
        let reported = |site: &'n SiteName, is_unclear| (site.place.as_str(), Some(site.name.as_str()), is_unclear);
        if matches!(ours, ServerName::Exact(_)) {
            return Vec::new();
        }
        if let Some(site) = self.named(host) {
            return vec![reported(site, false)];
        }
        let is_last = *ours == ServerName::CatchAll;
        let mut taking = Vec::new();
        // Our wildcards and expressions are in the same order with theirs.
        for expression in self.expressions.iter().filter(|expression| is_last || expression.site.before_ours) {
            match expression.regex.as_ref().map(|regex| regex.is_match(host.as_bytes())) {
                Some(true) => {
                    taking.push(reported(expression.site, false));
                    return taking;
                }
                Some(false) => {}
                None => taking.push(reported(expression.site, true)),
            }
        }
        taking.extend(self.default.filter(|_| is_last).map(|place| (place, None, false)));
        taking
    }
}

fn is_below(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|labels| labels.ends_with('.'))
}

/// The place of the site that is the default server of one of our sockets.
fn default_site<'n>(other_sites: &'n OtherSites, listen: &Listen) -> Option<&'n str> {
    let same = || other_sites.listens.iter().filter(|other| other.address == listen.address);
    let default = same().find(|other| other.default_server).or_else(|| same().next());
    default.map(|other| other.place.as_str())
}

/// Parses an expression as nginx reads it, for names in lower case. `None` when it uses something
/// that only PCRE has.
fn read(expression: &str) -> Option<Regex> {
    RegexBuilder::new(expression).unicode(false).case_insensitive(true).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectedBy;
    use ingressd_model::HostName;

    #[test]
    fn what_only_nginx_knows_is_reported_as_unclear_with_what_takes_the_rest() {
        let address: SocketAddr = ([0, 0, 0, 0], 80).into();
        let site = |name: &str| SiteName {
            place: "site:7".to_owned(),
            name: name.to_owned(),
            sockets: [address].into(),
            before_ours: name.contains("first"),
        };
        let names = ["~^(?!a)[bc]", "~^first", "~^c"].map(site).to_vec();
        let other_sites = OtherSites { server_names: names, ..OtherSites::default() };
        let connected_by = ConnectedBy::Outside;
        let listen = Listen { address, ssl: false, proxy_protocol: false, default_server: true, connected_by };
        let beside = SitesBeside::of(&other_sites, &[listen]);
        let name = || HostName::new("test").unwrap();
        for (ours, host, expected) in [
            (ServerName::CatchAll, "b.test", &[("~^(?!a)[bc]", true)][..]),
            (ServerName::CatchAll, "c.test", &[("~^(?!a)[bc]", true), ("~^c", false)]),
            (ServerName::CatchAll, "first.test", &[("~^(?!a)[bc]", true), ("~^first", false)]),
            // Those that nginx reads behind our files take nothing from a wildcard.
            (ServerName::Wildcard(name()), "c.test", &[]),
            (ServerName::Wildcard(name()), "first.test", &[("~^first", false)]),
            (ServerName::Exact(name()), "test", &[]),
        ] {
            let taking = beside.taking(host, &ours);
            let reported: Vec<_> = taking.iter().map(|site| (site.name.as_deref().unwrap(), site.is_unclear)).collect();
            assert_eq!(reported, expected, "{ours:?} {host}");
        }
    }
}
