//! Which hosts of the cluster the host's other sites have already.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

use crate::finding::{Finding, Reason};
use crate::model::{Model, ServerName};
use crate::nginx::{Listen, OtherSites, SiteName};

/// A name that no host has: an expression that matches it matches everything else too, as a
/// default server does.
const NOBODY: &[u8] = b"nobody.ingressd.invalid";

/// The names of other sites on our ports.
struct OtherNames<'n> {
    exact: HashMap<&'n str, &'n SiteName>,
    /// Wildcards such as `*.example.com`, by `example.com`: in nginx they match any number of
    /// labels.
    below: Vec<(&'n str, &'n SiteName)>,
    /// Wildcards such as `www.*`, by `www.`.
    beginning: Vec<(&'n str, &'n SiteName)>,
    expressions: Vec<(Regex, &'n SiteName)>,
    /// Expressions that only nginx can parse.
    unread: Vec<&'n SiteName>,
    /// The place of a site that gets the requests for unknown hosts.
    rest: Option<&'n str>,
}

/// Drops hosts whose names other sites have. nginx would give such a host to us: if both have the
/// same name, the server that it reads first wins, and a name always wins over a wildcard or an
/// expression. Without this, whoever may write an Ingress could take over the host's own sites.
pub fn drop_taken_hosts(model: &mut Model, other_sites: &OtherSites, listens: &[Listen], findings: &mut Vec<Finding>) {
    let taken = OtherNames::of(other_sites, listens);
    if taken.is_empty() {
        return;
    }
    for server in model.servers.iter_mut().filter(|server| !server.reserved.is_empty()) {
        Arc::make_mut(server).reserved.retain(|name| taken.holder(name).is_none());
    }
    model.servers.retain(|server| {
        let holder = taken.holder(&server.name);
        if let Some(site) = holder {
            let words = format!(
                "the site at {} has the name {}, so the host is not served for the cluster; remove the name from that \
                 site, or use another host",
                site.place, site.name
            );
            findings.push(Finding::new(Reason::HostConflict, server.origin.clone(), words));
        } else if let Some(place) = taken.rest.filter(|_| matches!(server.name, ServerName::Expression(_))) {
            let words = format!(
                "the site at {place} takes the requests for unknown hosts, so the regular expression is not served \
                    for the cluster; remove the default server or the expression from that site, or use names and \
                    wildcards"
            );
            findings.push(Finding::new(Reason::HostConflict, server.origin.clone(), words));
            return false;
        } else if let Some(site) = taken.perhaps(&server.name) {
            let words = format!(
                "the site at {} has the regular expression {}, which may match this host, too; ingressd gets the \
                 requests",
                site.place, site.name
            );
            findings.push(Finding::new(Reason::HostConflict, server.origin.clone(), words));
        }
        holder.is_none()
    });
    if !model.servers.iter().any(|server| matches!(server.name, ServerName::Expression(_))) {
        // Nothing is left that they would have to be kept from.
        for server in model.servers.iter_mut().filter(|server| !server.reserved.is_empty()) {
            Arc::make_mut(server).reserved.clear();
        }
    }
}

impl<'n> OtherNames<'n> {
    fn of(other_sites: &'n OtherSites, listens: &[Listen]) -> Self {
        let ports: BTreeSet<_> = listens.iter().map(|listen| listen.address.port()).collect();
        let mut taken = OtherNames {
            exact: HashMap::new(),
            below: Vec::new(),
            beginning: Vec::new(),
            expressions: Vec::new(),
            unread: Vec::new(),
            rest: listens
                .iter()
                .filter(|listen| !listen.default_server)
                .find_map(|listen| default_site(other_sites, listen)),
        };
        for site in other_sites.server_names.iter().filter(|site| !site.ports.is_disjoint(&ports)) {
            let name = site.name.as_str();
            if let Some(expression) = name.strip_prefix('~') {
                match read(expression) {
                    Some(regex) if regex.is_match(NOBODY) => taken.rest = taken.rest.or(Some(&site.place)),
                    Some(regex) => taken.expressions.push((regex, site)),
                    None => taken.unread.push(site),
                }
            } else if let Some(parent) = name.strip_prefix("*.") {
                taken.below.push((parent, site));
            } else if let Some(parent) = name.strip_prefix('.') {
                taken.exact.entry(parent).or_insert(site);
                taken.below.push((parent, site));
            } else if let Some(beginning) = name.strip_suffix('*').filter(|beginning| beginning.ends_with('.')) {
                taken.beginning.push((beginning, site));
            } else {
                taken.exact.entry(name).or_insert(site);
            }
        }
        taken
    }

    fn is_empty(&self) -> bool {
        let OtherNames { exact, below, beginning, expressions, unread, rest } = self;
        let has_names = !exact.is_empty() || !below.is_empty() || !beginning.is_empty();
        !has_names && expressions.is_empty() && unread.is_empty() && rest.is_none()
    }

    /// The site that would lose requests to this host of ours, or that would leave none to it.
    fn holder(&self, name: &ServerName) -> Option<&'n SiteName> {
        let is_below = |name: &str, parent: &str| name.strip_suffix(parent).is_some_and(|labels| labels.ends_with('.'));
        match name {
            ServerName::CatchAll => None,
            // Only nginx can tell which hosts match both expressions, and which of the two it
            // tries first.
            ServerName::Expression(_) => {
                let mut theirs = self.expressions.iter().map(|(_, site)| *site).chain(self.unread.iter().copied());
                theirs.next()
            }
            ServerName::Exact(host) => {
                let host = host.as_str();
                let exact = self.exact.get(host).copied();
                let below = || self.below.iter().find(|(parent, _)| is_below(host, parent)).map(|(_, site)| *site);
                let beginning = || {
                    let mut all = self.beginning.iter();
                    all.find(|(beginning, _)| host.starts_with(beginning)).map(|(_, site)| *site)
                };
                let expression = || {
                    let mut all = self.expressions.iter();
                    all.find(|(regex, _)| regex.is_match(host.as_bytes())).map(|(_, site)| *site)
                };
                exact.or_else(below).or_else(beginning).or_else(expression)
            }
            // Our wildcard is an expression to nginx, so wildcards of other sites go first.
            ServerName::Wildcard(parent) => {
                let ours = parent.as_str();
                let covers = |theirs: &str| theirs == ours || is_below(ours, theirs);
                self.below.iter().find(|(theirs, _)| covers(theirs)).map(|(_, site)| *site)
            }
        }
    }

    /// A site that may lose requests to this host of ours: only nginx can tell.
    fn perhaps(&self, name: &ServerName) -> Option<&'n SiteName> {
        let unread = self.unread.first().copied();
        match name {
            ServerName::CatchAll | ServerName::Expression(_) => None,
            ServerName::Exact(_) => unread,
            ServerName::Wildcard(_) => unread.or_else(|| self.expressions.first().map(|(_, site)| *site)),
        }
    }
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
    use std::sync::Arc;

    use super::*;
    use crate::model::{
        Action, Field, HostExpression, HostName, Kind, ObjectId, Origin, PathMatch, Route, Server, UrlPath,
    };
    use crate::nginx::{ConnectedBy, SiteListen};

    const SITE: &[&str] = &["same.example", "*.wild.example", ".dot.example", "www.*", "~^shop\\d+\\.EXAMPLE$"];
    /// Words of the finding about a host: the site keeps it, or the site's expression may match
    /// it.
    const KEPT: &str = "is not served for the cluster";
    const UNCLEAR: &str = "may match this host, too";

    fn server(name: ServerName) -> Server {
        let origin = Origin { object: Arc::new(ObjectId::new(Kind::Ingress, "default", "a")), field: Field::Object };
        let path = PathMatch::Prefix { path: UrlPath::new("/").unwrap(), redirect_to_slash: false };
        let action = Action::Respond { status: 404 };
        Server::usual(name, Route { origin, path, action, behaviour: Arc::default(), errors: None })
    }

    #[test]
    fn names_of_other_sites_stay_theirs() {
        let rows: &[(&[&str], u16, &str, &str)] = &[
            (SITE, 80, "same.example", KEPT),
            (SITE, 8080, "same.example", ""),
            (SITE, 80, "other.same.example", ""),
            (SITE, 443, "a.wild.example", KEPT),
            (SITE, 80, "b.a.wild.example", KEPT),
            (SITE, 80, "wild.example", ""),
            (SITE, 80, "notwild.example", ""),
            (SITE, 80, "dot.example", KEPT),
            (SITE, 80, "a.dot.example", KEPT),
            (SITE, 80, "www.anything.example", KEPT),
            (SITE, 80, "wwww.example", ""),
            (SITE, 80, "shop12.example", KEPT),
            (SITE, 80, "shop.example", ""),
            (SITE, 80, "*.wild.example", KEPT),
            (SITE, 80, "*.a.wild.example", KEPT),
            // The site's expression may match some of these names.
            (SITE, 80, "*.example", UNCLEAR),
            (&["same.example"], 80, "*.example", ""),
            (SITE, 80, "", ""),
            // An expression that matches every name is a default server; one that cannot be parsed
            // here may match anything.
            (&["~^(?<name>.+)$", "_", "\"\""], 80, "same.example", ""),
            (&["~^(?!a)b"], 80, "same.example", UNCLEAR),
            // Which of two expressions is tried first is unknown; exact names go before
            // expressions.
            (SITE, 80, "~^shop$", KEPT),
            (&["~^(?!a)b"], 80, "~^shop$", KEPT),
            (&["same.example", "*.wild.example"], 80, "~^shop$", ""),
            (&["same.example", "~^(?<name>.+)$"], 80, "~^shop$", KEPT),
            (&["~^(?<name>.+)$"], 8080, "~^shop$", ""),
        ];
        for (names, port, host, expected) in rows {
            let named =
                |name: &&str| SiteName { place: "site:7".to_owned(), name: (*name).to_owned(), ports: [*port].into() };
            let other_sites = OtherSites { server_names: names.iter().map(named).collect(), ..OtherSites::default() };
            let name = match host.strip_prefix("*.") {
                _ if host.is_empty() => ServerName::CatchAll,
                _ if host.starts_with('~') => ServerName::Expression(HostExpression::new(&host[1..]).unwrap()),
                Some(parent) => ServerName::Wildcard(HostName::new(parent).unwrap()),
                None => ServerName::Exact(HostName::new(host).unwrap()),
            };
            let mut model = Model { servers: vec![Arc::new(server(name))], ..Model::default() };
            let mut findings = Vec::new();
            drop_taken_hosts(&mut model, &other_sites, &[listen(80, true), listen(443, true)], &mut findings);
            let notes: Vec<_> = findings.iter().map(|finding| (finding.reason, &*finding.note)).collect();
            assert_eq!(model.servers.is_empty(), *expected == KEPT, "{host}: {notes:?}");
            match expected.is_empty() {
                true => assert_eq!(notes, [], "{host}"),
                false => assert!(
                    matches!(&*notes, [(Reason::HostConflict, note)] if note.contains("site:7") && note.contains(expected)),
                    "{host}: {notes:?}"
                ),
            }
        }
    }

    fn listen(port: u16, default_server: bool) -> Listen {
        let address = ([0, 0, 0, 0], port).into();
        let connected_by = ConnectedBy::Outside;
        Listen { address, ssl: false, proxy_protocol: false, default_server, connected_by }
    }

    #[test]
    fn an_expression_takes_nothing_from_a_default_server() {
        let site = SiteListen {
            place: "site:7".into(),
            address: ([0, 0, 0, 0], 80).into(),
            default_server: true,
            ssl: false,
            http2: false,
            proxy_protocol: false,
            dual_stack: false,
            before_ours: false,
        };
        let other_sites = OtherSites { listens: vec![site], ..OtherSites::default() };
        for (is_ours, left) in [(true, 2), (false, 1)] {
            let expression = server(ServerName::Expression(HostExpression::new("^shop$").unwrap()));
            let own = ServerName::Exact(HostName::new("own.example").unwrap());
            let catch_all = Server { reserved: vec![own], ..server(ServerName::CatchAll) };
            let mut model = Model { servers: [catch_all, expression].map(Arc::new).to_vec(), ..Model::default() };
            let mut findings = Vec::new();
            drop_taken_hosts(&mut model, &other_sites, &[listen(443, true), listen(80, is_ours)], &mut findings);
            assert_eq!((model.servers.len(), model.servers[0].reserved.len()), (left, left - 1));
            let told = findings.iter().filter(|finding| finding.note.contains("site:7") && finding.note.contains(KEPT));
            assert_eq!(told.count(), 2 - left);
        }
    }

    #[test]
    fn no_name_is_reserved_that_another_site_has() {
        let site = |name: &str| SiteName { place: "site:7".into(), name: name.into(), ports: [80].into() };
        let other_sites = OtherSites { server_names: vec![site("same.example")], ..OtherSites::default() };
        let names = ["own.example", "same.example"].map(|name| ServerName::Exact(HostName::new(name).unwrap()));
        let [own, _] = &names;
        let catch_all = Server { reserved: names.to_vec(), ..server(ServerName::CatchAll) };
        let expression = server(ServerName::Expression(HostExpression::new("^shop$").unwrap()));
        let mut model = Model { servers: [catch_all, expression].map(Arc::new).to_vec(), ..Model::default() };
        drop_taken_hosts(&mut model, &other_sites, &[listen(80, true)], &mut Vec::new());
        assert_eq!(model.servers[0].reserved, std::slice::from_ref(own));
    }
}
