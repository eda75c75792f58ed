//! Which hosts of the cluster the host's other sites have already.

use std::collections::HashSet;
use std::sync::Arc;

use crate::SitesBeside;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, Model, Origin, Server, ServerName};

/// Drops hosts whose names other sites have. nginx would give such a host to us: if both have the
/// same name, the server that it reads first wins, and a name always wins over a wildcard or an
/// expression. Without this, an author of Ingresses could take over the host's own sites.
pub fn drop_taken_hosts(model: &mut Model, sites_beside: &SitesBeside, findings: &mut Vec<Finding>) {
    let taken = sites_beside.names();
    if taken.is_empty() {
        return;
    }
    for server in model.servers.iter_mut().filter(|server| !server.reserved.is_empty()) {
        Arc::make_mut(server).reserved.retain(|name| taken.holder(name).is_none());
    }
    model.servers.retain(|server| {
        let holder = taken.holder(&server.name);
        let mut report = |words: &str| {
            let reported = places(server).map(|place| Finding::new(Reason::HostConflict, place, words));
            findings.extend(reported);
        };
        if let Some(site) = holder {
            let words = format!(
                "the site at {} has the name {}, so the host is not served for the cluster; remove the name from that \
                 site, or use another host",
                site.place, site.name
            );
            report(&words);
        } else if let Some(place) = taken.rest().filter(|_| matches!(server.name, ServerName::Expression(_))) {
            let words = format!(
                "the site at {place} takes the requests for unknown hosts, so the regular expression is not served \
                    for the cluster; remove the default server or the expression from that site, or use names and \
                    wildcards"
            );
            report(&words);
            return false;
        } else if let Some(site) = taken.perhaps(&server.name) {
            // nginx tries expressions in the order in which it reads them, and our wildcards are
            // among them.
            let wins = match server.name {
                ServerName::Wildcard(_) if site.before_ours => {
                    "that site gets the requests that it matches, because nginx reads it first"
                }
                _ => "ingressd gets the requests",
            };
            let words = format!(
                "the site at {} has the regular expression {}, which may match this host, too; {wins}",
                site.place, site.name
            );
            report(&words);
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

/// The rule of each object that has a route of the host, and the key of each canary there: whoever
/// loses it is told.
pub(super) fn places(server: &Server) -> impl Iterator<Item = Origin> {
    let mut reported = HashSet::from([&server.origin.object]);
    let of_routes =
        server.all_routes().map(|route| &route.origin).filter(|origin| origin.object.kind.asks_for_routes());
    let canaries = server.handlers().filter_map(|handler| Some(&handler.action.split()?.origin));
    let others = of_routes.chain(canaries).filter(move |origin| reported.insert(&origin.object)).map(|origin| {
        match origin.field {
            Field::Path(rule, ..) => Origin::field(&origin.object, Field::Rule(rule)),
            _ => origin.clone(),
        }
    });
    std::iter::once(server.origin.clone()).chain(others)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{ConnectedBy, Listen, OtherSites, SiteListen, SiteName};
    use ingressd_model::{
        Action, Field, HostExpression, HostName, Kind, ObjectId, Origin, PathMatch, Route, Server, Split, UpstreamId,
        UrlPath,
    };

    const SITE: &[&str] = &["same.example", "*.wild.example", ".dot.example", "www.*", "~^shop\\d+\\.EXAMPLE$"];
    /// Words of the finding about a host: the site keeps it, or the site's expression may match
    /// it.
    const KEPT: &str = "is not served for the cluster";
    const UNCLEAR: &str = "may match this host, too";

    fn server(name: ServerName) -> Server {
        let origin = Origin { object: Arc::new(ObjectId::new(Kind::INGRESS, "default", "a")), field: Field::Object };
        let path = PathMatch::Prefix { path: UrlPath::new("/").unwrap(), redirect_to_slash: false };
        let action = Action::Respond { status: 404 };
        Server::usual(name, Route::plain(origin, path, action))
    }

    fn site_with(name: &str, port: u16) -> SiteName {
        let sockets = [([0, 0, 0, 0], port).into()].into();
        SiteName { place: "site:7".to_owned(), name: name.to_owned(), sockets, before_ours: false }
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
            let named = |name: &&str| site_with(name, *port);
            let other_sites = OtherSites { server_names: names.iter().map(named).collect(), ..OtherSites::default() };
            let name = match host.strip_prefix("*.") {
                _ if host.is_empty() => ServerName::CatchAll,
                _ if host.starts_with('~') => ServerName::Expression(HostExpression::new(&host[1..]).unwrap()),
                Some(parent) => ServerName::Wildcard(HostName::new(parent).unwrap()),
                None => ServerName::Exact(HostName::new(host).unwrap()),
            };
            let mut model = Model { servers: vec![Arc::new(server(name))], ..Model::default() };
            let mut findings = Vec::new();
            let listens = [listen(80, true), listen(443, true)];
            drop_taken_hosts(&mut model, &SitesBeside::of(&other_sites, &listens), &mut findings);
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

    #[test]
    fn each_object_that_loses_a_host_is_reported() {
        let mut taken = server(ServerName::Exact(HostName::new("same.example").unwrap()));
        for (name, path) in [("a", 0), ("b", 0), ("b", 1)] {
            let object = Arc::new(ObjectId::new(Kind::INGRESS, "default", name));
            let origin = Origin::field(&object, Field::Path(2, path, ""));
            taken.routes.push(Route { origin, ..taken.fallback.clone() });
        }
        let object = Arc::new(ObjectId::new(Kind::INGRESS, "default", "part"));
        let origin = Origin::field(&object, Field::Annotation("canary".into()));
        let split = Some(Arc::new(Split { origin, branches: Vec::new(), session: None, shares: Vec::new() }));
        taken.routes[1].action = Action::Proxy { upstream: UpstreamId::usual("default", "web", "80"), split };
        let mut model = Model { servers: vec![Arc::new(taken)], ..Model::default() };
        let sites = OtherSites { server_names: vec![site_with("same.example", 80)], ..OtherSites::default() };
        let mut findings = Vec::new();
        drop_taken_hosts(&mut model, &SitesBeside::of(&sites, &[listen(80, true)]), &mut findings);
        let reported: Vec<_> = findings.iter().map(|finding| finding.origin.to_string()).collect();
        let expected = [
            "Ingress default/a",
            "Ingress default/b: spec.rules[2]",
            "Ingress default/part: metadata.annotations[canary]",
        ];
        assert_eq!(reported, expected);
    }

    fn listen(port: u16, default_server: bool) -> Listen {
        let address = ([0, 0, 0, 0], port).into();
        let connected_by = ConnectedBy::Outside;
        Listen { address, ssl: false, proxy_protocol: false, default_server, connected_by }
    }

    #[test]
    fn of_two_expressions_the_one_wins_that_nginx_reads_first() {
        for (before_ours, expected) in [(true, "that site gets the requests"), (false, "ingressd gets the requests")] {
            for name in ["~^a\\d", "~^(?!a)b", "~."] {
                let site = SiteName { before_ours, ..site_with(name, 80) };
                let other_sites = OtherSites { server_names: vec![site], ..OtherSites::default() };
                let wildcard = server(ServerName::Wildcard(HostName::new("example").unwrap()));
                let mut model = Model { servers: vec![Arc::new(wildcard)], ..Model::default() };
                let (listens, mut findings) = ([listen(80, true)], Vec::new());
                drop_taken_hosts(&mut model, &SitesBeside::of(&other_sites, &listens), &mut findings);
                // What matches everything takes nothing when it is read last.
                let is_reported = before_ours || name != "~.";
                let reported = findings.iter().filter(|finding| finding.note.contains(expected)).count();
                assert_eq!(
                    (reported, findings.len()),
                    (usize::from(is_reported), usize::from(is_reported)),
                    "{name}: {findings:?}"
                );
            }
        }
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
            let listens = [listen(443, true), listen(80, is_ours)];
            drop_taken_hosts(&mut model, &SitesBeside::of(&other_sites, &listens), &mut findings);
            assert_eq!((model.servers.len(), model.servers[0].reserved.len()), (left, left - 1));
            let reported =
                findings.iter().filter(|finding| finding.note.contains("site:7") && finding.note.contains(KEPT));
            assert_eq!(reported.count(), 2 - left);
        }
    }

    #[test]
    fn no_name_is_reserved_that_another_site_has() {
        let other_sites = OtherSites { server_names: vec![site_with("same.example", 80)], ..OtherSites::default() };
        let names = ["own.example", "same.example"].map(|name| ServerName::Exact(HostName::new(name).unwrap()));
        let [own, _] = &names;
        let catch_all = Server { reserved: names.to_vec(), ..server(ServerName::CatchAll) };
        let expression = server(ServerName::Expression(HostExpression::new("^shop$").unwrap()));
        let mut model = Model { servers: [catch_all, expression].map(Arc::new).to_vec(), ..Model::default() };
        drop_taken_hosts(&mut model, &SitesBeside::of(&other_sites, &[listen(80, true)]), &mut Vec::new());
        assert_eq!(model.servers[0].reserved, std::slice::from_ref(own));
    }
}
