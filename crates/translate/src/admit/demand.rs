//! Computes what an object asks for, before any reference is resolved.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::ClientRule;
use crate::Reading;
use crate::admit::admitted::Admitted;
use crate::read::port::PortReference;
use crate::read::rule::{self, RulePath};
use crate::secret::pem;
use crate::value::host;
use ingressd_model::cost::{self, Cost, LONGEST_CHAIN};
use ingressd_model::{BackendTls, Balance, CorsPart, ListMark, Protocol, ServerName, Snippet, Variables};
use ingressd_objects::Snapshot;

/// The demand of an object.
#[derive(Debug)]
pub struct Demand {
    /// Its cost without parts that others may share: paths, and what belongs to the object.
    pub own: Cost,
    /// The number of hosts, each counted as often as it is written.
    pub hosts: u64,
    /// The cost of their names, each counted as often as it is written.
    pub names: Cost,
    /// The number of references to Services.
    pub backends: u64,
    /// The number of references to Secrets with certificates.
    pub certificates: u64,
    /// How many certificates the longest chain of these may have.
    pub chain: u64,
    /// Its long address list.
    pub list: Option<(ListMark, Cost)>,
    /// The variables of CORS.
    pub cors: Vec<(CorsPart, Cost)>,
    /// The variables in its texts.
    pub variables: Variables,
    /// Snippets about its hosts, for all routes of its namespace there.
    pub of_hosts: Vec<Arc<Snippet>>,
    /// Whether the paths of its hosts have to be strict.
    pub is_strict: bool,
}

/// A port of a Service as an object names it, and how it is used: each combination is an upstream
/// of its own.
pub type Backend<'a> = (&'a str, Option<PortReference<'a>>, Manner);

/// Load balancing, protocol and TLS of an upstream.
pub type Manner = (Option<Arc<Balance>>, Option<Protocol>, Option<Arc<BackendTls>>, bool);

impl Demand {
    /// Computes the demand of an object.
    pub fn of(object: &Admitted<'_>) -> Self {
        let (reading, behaviour) = (&object.policy.reading, &*object.policy.behaviour);
        let mut texts = reading.redirect.as_ref().map_or(0, |(_, location)| cost::target_length(location.parts()));
        let target = reading.rewrite_target.as_ref();
        texts += target.map_or(0, |target| cost::target_length(target.parts()));
        let certificates = secrets(object).count();
        let mut own = Cost::default();
        let asked = match &reading.host.client_rule {
            Some(ClientRule::Good(asked)) => Some(asked),
            _ => None,
        };
        let has_tls = !object.attached.tls.is_empty() || asked.is_some_and(|asked| asked.chooses());
        let (mut hosts, mut names) = (0, Cost::default());
        for (_, rule) in object.rules() {
            hosts += 1;
            names += Cost::of_name(&rule.host);
            for entry in rule.paths.iter() {
                let path = entry.text().len();
                // A rewritten path is an expression, and is written once more in the `rewrite`
                // directive.
                let texts = texts + if target.is_some() || reading.use_regex { path } else { 0 };
                // Where it has conditions, its handler and that of the rest have locations too.
                let locations = if entry.all.is_empty() { 1 } else { 3 };
                let cost = Cost::of_route(path, texts, behaviour, has_tls);
                own += Cost { routes: cost.routes, ..cost * locations };
                own += of_expressions(entry.text(), reading);
                if let Some(asked) = asked {
                    own += Cost::of_guarded_path(asked);
                }
                own += Cost::of_path_with_error_pages(reading.errors.statuses.len());
                if reading.canary.is_some() || !entry.others.is_empty() || !entry.all.is_empty() {
                    own += Cost::of_split();
                }
            }
        }
        // A backend that stands in has a location of its own for each path.
        let stand_ins = u64::from(reading.errors.default_backend.is_some());
        own = Cost { routes: own.routes, ..own * (1 + stand_ins) };
        own += Cost::of_stand_in() * stand_ins * own.routes;
        if let Some(limits) = &behaviour.limits {
            own += Cost::of_limits(limits);
        }
        let names_endpoints = matches!(reading.balance.as_deref(), Some(Balance::Named(_)));
        // The sessions of a canary are those of its main object, which is not known yet.
        if reading.canary.is_some() || reading.session.is_some() && names_endpoints {
            let backends = backends(object).collect::<HashSet<_>>().len();
            own += Cost::of_naming_session() * u64::try_from(backends).unwrap_or(u64::MAX);
        } else if reading.session.is_some() {
            own += Cost::of_session();
        }
        own.files += u64::from(reading.password_file.is_some());
        let default = u64::from(object.default_backend().is_some());
        if let Some(requested) = &reading.authentication {
            own += Cost::of_asking(&requested.policy) * (own.routes + default) * (1 + stand_ins);
            own += Cost::of_question(&requested.policy) * (hosts + default);
            // Counted in case the service is not a Service that is counted elsewhere.
            own += Cost::of_upstream(0);
        }
        if let Some(requested) = &reading.mirror {
            let reported = reading.authentication.as_ref().map_or(0, |asked| asked.policy.response_headers.len());
            own += Cost::of_copying() * (own.routes + default) * (1 + stand_ins);
            own += Cost::of_copy(&requested.policy, reported) * (hosts + default);
            own += Cost::of_upstream(0);
        }
        if reading.protocol == Some(Protocol::FastCgi) {
            own += Cost::of_fastcgi(behaviour.fastcgi.as_deref()) * (own.routes + default);
        }
        own += Cost::of_error_pages(reading.errors.statuses.len()) * (hosts + default);
        own += Cost::of_host_directives(&reading.host.directives) * (hosts + default);
        if let Some(ClientRule::Good(asked)) = &reading.host.client_rule {
            // Each host reads the CA for itself, and it is not known yet which object decides.
            own += Cost::of_client_certificates(asked) * (hosts + default);
            own.files += 1 + u64::from(asked.authority.revoked.is_some());
        }
        if let Some(firewall) = behaviour.firewall.as_deref() {
            // It is not known yet whether another object of the host loads the rules as well.
            own += Cost::of_firewall(firewall) * (hosts + default);
        }
        if reading.passthrough.is_some() {
            own += Cost::of_passthrough() * hosts;
            own += Cost::of_upstream(0) * hosts;
        }
        if let Some(requested) = &reading.backend_tls {
            own += Cost::of_backend_tls() * (own.routes + default);
            own.certificates += u64::from(requested.certificate.is_some());
            own.files += u64::from(requested.certificate.is_some()) + u64::from(requested.authority.is_some());
        }
        let list = behaviour.access.as_deref().and_then(|list| Some((behaviour.referred_list()?, Cost::of_list(list))));
        let cors = behaviour.cors.iter().flat_map(|cors| cors.parts());
        let cors = cors.map(|part| (part.clone(), Cost::of_cors(&part))).collect();
        Demand {
            hosts: hosts + default + u64::try_from(redirected(object).count()).unwrap_or(u64::MAX),
            names,
            backends: own.routes + default,
            certificates: u64::try_from(certificates).unwrap_or(u64::MAX),
            chain: LONGEST_CHAIN,
            own,
            list,
            cors,
            variables: variables(object),
            of_hosts: reading.host.snippets.clone(),
            is_strict: behaviour.strict_paths,
        }
    }

    /// How many certificates nginx reads for each of its hosts at most.
    pub fn chain_of_host(&self) -> u64 {
        if self.certificates > 0 { self.chain } else { 0 }
    }

    /// Its greatest cost, when it shares nothing with others.
    pub fn most(&self) -> Cost {
        let mut cost = self.own;
        cost += Cost::of_host() * self.hosts;
        if self.chain_of_host() > 0 {
            cost += Cost::of_tls_host(self.chain_of_host()) * self.hosts;
        }
        cost += self.names;
        cost += Cost::of_upstream(0) * self.backends;
        cost += Cost::of_certificate() * self.certificates;
        cost += self.list.map(|(_, cost)| cost).unwrap_or_default();
        self.cors.iter().for_each(|(_, of_part)| cost += *of_part);
        cost += Cost::of_variables(self.variables.names().count());
        cost
    }
}

/// The longest path that is no expression in any case.
const LONGEST_PLAIN: usize = 250;

/// The cost of the expressions that a path becomes: a rewritten one is written again in each of
/// its two locations.
fn of_expressions(path: &str, reading: &Reading) -> Cost {
    match (&reading.rewrite_target, reading.use_regex || path.len() > LONGEST_PLAIN) {
        (Some(_), _) => Cost::of_expression(path) * 3,
        (None, true) => Cost::of_expression(path),
        (None, false) => Cost::default(),
    }
}

fn variables(object: &Admitted<'_>) -> Variables {
    let mut variables = Variables::default();
    let Reading { rewrite_target, redirect, balance, host, authentication, mirror, .. } = &*object.policy.reading;
    variables.of_behaviour(&object.policy.behaviour);
    host.snippets.iter().for_each(|snippet| variables.of_snippet(snippet));
    let redirect = redirect.iter().map(|(_, location)| location);
    rewrite_target.iter().chain(redirect).for_each(|target| variables.of_target(target));
    balance.iter().for_each(|balance| variables.of_balance(balance));
    authentication.iter().for_each(|asked| variables.of_question(&asked.policy));
    mirror.iter().for_each(|mirror| variables.of_copy(&mirror.policy));
    variables
}

/// The hosts of an object, as written, with those that it redirects.
pub fn hosts<'a>(object: &Admitted<'a>) -> impl Iterator<Item = Cow<'a, str>> {
    let alone = object.default_backend().filter(|_| object.rules().next().is_none()).map(|_| "*");
    let named = object.rules().map(|(_, rule)| &*rule.host).chain(alone);
    named.map(Cow::Borrowed).chain(redirected(object).map(|name| Cow::Owned(host::written(&name))))
}

/// The hosts that an object redirects to those of its rules.
fn redirected(object: &Admitted<'_>) -> impl Iterator<Item = ServerName> {
    let named = object.rules().filter_map(|(_, rule)| rule.name.as_ref().ok());
    named.filter(|_| object.policy.reading.host.redirects_www.is_some()).filter_map(rule::counterpart)
}

/// The number of its paths on each host.
pub fn paths<'a>(object: &Admitted<'a>) -> HashMap<&'a str, u64> {
    let mut paths = HashMap::new();
    for (_, rule) in object.rules() {
        let count = u64::try_from(rule.paths.len()).unwrap_or(u64::MAX);
        *paths.entry(&*rule.host).or_default() += count;
    }
    paths
}

/// The ports of Services that it refers to.
pub fn backends<'a>(object: &Admitted<'a>) -> impl Iterator<Item = Backend<'a>> {
    let paths = object.rules().flat_map(|(_, rule)| rule.paths.iter().flat_map(RulePath::backends));
    let paths = paths.map(rule::Backend::from);
    let reading = &object.policy.reading;
    let tls = reading.backend_tls.as_ref().map(|requested| Arc::clone(&requested.tls));
    let manner: Manner = (reading.balance.clone(), reading.protocol, tls, reading.by_cluster_address);
    paths
        .chain(object.default_backend())
        .filter_map(move |backend| Some((backend.service?, backend.port, manner.clone())))
}

/// The Secrets with certificates that it names.
pub fn secrets<'a>(object: &Admitted<'a>) -> impl Iterator<Item = &'a str> {
    object.attached.tls.iter().filter_map(|entry| entry.secret.as_deref())
}

/// The most bytes of certificates of an object that are looked through.
const MOST_LOOKED_THROUGH: usize = 16 << 10;

/// How many certificates the longest chain has in a Secret that an object names; 0 where there is
/// none, because then the host has no certificate of its own.
pub fn longest_chain<'a>(namespace: &str, secrets: impl Iterator<Item = &'a str>, snapshot: &Snapshot) -> u64 {
    let names: BTreeSet<_> = secrets.collect();
    let stored = names.into_iter().filter_map(|name| snapshot.secret(namespace, name));
    let chains = stored.filter_map(|stored| Some(&*stored.object.get("tls.crt")?.0));
    let (mut longest, mut bytes) = (0, 0);
    for chain in chains {
        bytes += chain.len();
        if bytes > MOST_LOOKED_THROUGH {
            return LONGEST_CHAIN;
        }
        longest = longest.max(pem::count(chain));
    }
    u64::try_from(longest).unwrap_or(u64::MAX)
}

/// The namespace of an object.
pub fn namespace<'a>(object: &Admitted<'a>) -> &'a Arc<str> {
    &object.id().namespace
}
