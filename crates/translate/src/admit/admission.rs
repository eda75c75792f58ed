//! Decides which objects are served when a namespace asks for more than its budget.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};

use super::admitted::Admitted;
use super::demand::{self, Backend, Demand, namespace};
use super::shares::Shares;
use super::{BUDGETS, Budget, Total, is_near, near, near_total, zones};
use crate::attach::Attached;
use crate::value::host;
use crate::{HostOptions, Limits, Policy, Reading, bounds};
use ingressd_model::cost::Cost;
use ingressd_model::finding::{Finding, Reason, count};
use ingressd_model::{
    Action, ByteSize, CorsPart, Handler, HostName, ListMark, ObjectId, Origin, RefusedVersion, Server, ServerName,
    Snippet,
};
use ingressd_objects::Snapshot;

/// The objects within their budgets.
#[derive(Debug, Default)]
pub struct Admission<'a> {
    /// The objects, the oldest first: those that are served, and those of which only closed paths
    /// are left.
    pub objects: Vec<Admitted<'a>>,
    /// The size of each zone where it is not the usual one, by namespace.
    pub zones: BTreeMap<Arc<str>, ByteSize>,
    /// Versions that alone exceed the limits of one object.
    pub refused: Vec<RefusedVersion>,
    /// Objects that are left out and keep their claims on hosts: as many as a namespace may have.
    pub withheld: Vec<&'a Attached<'a>>,
    pub findings: Vec<Finding>,
    /// Hosts on which all paths of a namespace are closed, because it protects more than its
    /// budget.
    closed: HashMap<ServerName, BTreeSet<Arc<str>>>,
}

/// Leaves out the newest objects of namespaces that exceed their budget. The objects come with the
/// oldest first.
pub fn admit<'a>(objects: Vec<Admitted<'a>>, limits: &Limits, snapshot: &Snapshot) -> Admission<'a> {
    let mut demands: Vec<_> = objects.par_iter().with_min_len(256).map(Demand::of).collect();
    let mut most: BTreeMap<&Arc<str>, Cost> = BTreeMap::new();
    let mut strict = BTreeSet::new();
    let mut said: BTreeMap<&Arc<str>, Vec<Arc<Snippet>>> = BTreeMap::new();
    for (object, demand) in objects.iter().zip(&demands) {
        *most.entry(namespace(object)).or_default() += demand.most();
        strict.extend(demand.is_strict.then(|| namespace(object)));
        if !demand.of_hosts.is_empty() {
            let said = said.entry(namespace(object)).or_default();
            said.extend(unsaid(said, &demand.of_hosts));
        }
    }
    for (namespace, snippets) in said {
        let cost = most.entry(namespace).or_default();
        *cost += of_snippets(&snippets) * (cost.routes + cost.hosts);
    }
    for (_, cost) in most.iter_mut().filter(|(namespace, _)| strict.contains(*namespace)) {
        *cost += Cost::of_strict_path() * cost.routes;
    }
    let all = sum(most.values()).alone();
    let is_nearly_full = BUDGETS
        .iter()
        .any(|budget| budget.total.as_ref().is_some_and(|total| is_near((budget.used)(&all), (total.limit)(limits))));
    let is_over = |budget: &Budget, cost: &Cost| is_near((budget.used)(&cost.alone()), (budget.limit)(limits));
    most.retain(|_, cost| is_nearly_full || BUDGETS.iter().any(|budget| is_over(budget, cost)));
    // Only what comes near to a limit is looked at more closely.
    for (object, demand) in objects.iter().zip(&mut demands) {
        if most.contains_key(namespace(object)) {
            demand.chain = demand::longest_chain(demand::namespace(object), demand::secrets(object), snapshot);
        }
    }
    let mut tallies: Tallies<'a> =
        most.into_keys().map(|namespace| (Arc::clone(namespace), Tally::default())).collect();

    let mut admission = Admission::default();
    let mut left_out = Vec::new();
    let asked = objects.into_iter().zip(&demands).collect();
    let mut admitted = take(asked, &mut tallies, (limits, &Shares::none()), &mut left_out);
    if is_nearly_full {
        admission.findings.extend(nearly_all(&sum(tallies.values().map(|tally| &tally.cost)).alone(), limits));
        admitted = share(admitted, &mut tallies, limits, &mut left_out);
    }
    let mut counts: BTreeMap<&'a Arc<str>, u64> = BTreeMap::new();
    for (object, demand) in admitted {
        if demand.own.zones > 0 {
            *counts.entry(namespace(&object)).or_default() += demand.own.zones;
        }
        let paths = usize::try_from(demand.own.routes).unwrap_or(usize::MAX);
        let near = bounds::OBJECT_PATHS.near(paths, limits.object.paths, || Origin::object(object.id()));
        admission.findings.extend(near);
        admission.objects.push(object);
    }
    admission.zones = zones::sizes(counts, limits.namespace.zones);
    let mut reported: Vec<_> = tallies.iter().collect();
    reported.sort_unstable_by_key(|(namespace, _)| Arc::clone(namespace));
    for (namespace, tally) in reported {
        admission.findings.extend(tally.nearly(namespace, limits));
    }
    if !left_out.is_empty() {
        admission.leave_out(left_out, limits);
    }
    admission
}

/// The totals of namespaces that may exceed a budget.
type Tallies<'a> = HashMap<Arc<str>, Tally<'a>>;
type Demands<'a, 'd> = Vec<(Admitted<'a>, &'d Demand)>;

/// The objects within the budgets of their namespaces.
fn take<'a, 'd>(
    asked: Demands<'a, 'd>,
    tallies: &mut Tallies<'a>,
    (limits, shares): (&Limits, &Shares),
    left_out: &mut Vec<(Admitted<'a>, Why)>,
) -> Demands<'a, 'd> {
    let mut taken = Vec::with_capacity(asked.len());
    for (object, demand) in asked {
        let tally = tallies.get_mut(namespace(&object));
        let over = || tally.and_then(|tally| tally.take(&object, demand, limits, shares));
        match object_over(demand, limits).or_else(over) {
            None => taken.push((object, demand)),
            Some(why) => left_out.push((object, why)),
        }
    }
    taken
}

/// The objects within the shares of their namespaces in the node's total. A namespace below its
/// share keeps everything.
fn share<'a, 'd>(
    asked: Demands<'a, 'd>,
    tallies: &mut Tallies<'a>,
    limits: &Limits,
    left_out: &mut Vec<(Admitted<'a>, Why)>,
) -> Demands<'a, 'd> {
    let costs: Vec<_> = tallies.values().map(|tally| tally.cost).collect();
    let shares = Shares::of(&costs, limits);
    let exceeds = |tally: &Tally<'_>| shares.are_exceeded(&tally.cost);
    let mut anew: Tallies<'a> =
        tallies.extract_if(|_, tally| exceeds(tally)).map(|(namespace, _)| (namespace, Tally::default())).collect();
    if anew.is_empty() {
        return asked;
    }
    let (number, kept) = (left_out.len(), take(asked, &mut anew, (limits, &shares), left_out));
    tallies.extend(anew);
    // All objects that are left out, for whichever reason, are handled with the oldest first.
    if number > 0 {
        left_out.sort_by(|(left, _), (right, _)| left.attached.intent.of.oldest_first(&right.attached.intent.of));
    }
    kept
}

pub fn sum<'c>(costs: impl IntoIterator<Item = &'c Cost>) -> Cost {
    costs.into_iter().fold(Cost::default(), |mut sum, cost| {
        sum += *cost;
        sum
    })
}

/// Findings about totals that are nearly used up.
fn nearly_all(all: &Cost, limits: &Limits) -> Vec<Finding> {
    let near = |Budget { what, unit, used, total, .. }: &Budget| {
        let total = total.as_ref()?;
        let (used, limit) = (used(all), (total.limit)(limits));
        is_near(used, limit).then(|| near_total(total.key, *what, used.div_ceil(*unit), limit / unit))
    };
    BUDGETS.iter().filter_map(near).collect()
}

/// Why an object is not served.
struct Why {
    note: String,
    /// Whether the version alone is too large, whatever other objects ask for.
    by_itself: bool,
}

fn object_over(demand: &Demand, limits: &Limits) -> Option<Why> {
    let (paths, most) = (demand.own.routes, limits.object.paths);
    (paths > most).then(|| Why {
        note: format!(
            "it has {paths} paths, and limits.object-paths allows {most}; distribute them over several objects, or \
                have the administrator raise the limit"
        ),
        by_itself: true,
    })
}

/// The total of a namespace so far.
#[derive(Debug, Default)]
struct Tally<'a> {
    cost: Cost,
    hosts: HashSet<Cow<'a, str>>,
    /// How many certificates the chains of hosts have.
    secured: HashMap<Cow<'a, str>, u64>,
    backends: HashSet<Backend<'a>>,
    secrets: HashSet<&'a str>,
    lists: HashSet<ListMark>,
    cors: HashSet<CorsPart>,
    variables: HashSet<String>,
    paths: HashMap<&'a str, Paths>,
}

/// The snippets that are not among the others.
fn unsaid(said: &[Arc<Snippet>], snippets: &[Arc<Snippet>]) -> Vec<Arc<Snippet>> {
    snippets.iter().filter(|snippet| !said.contains(snippet)).cloned().collect()
}

/// The cost of snippets for each route.
fn of_snippets(snippets: &[Arc<Snippet>]) -> Cost {
    sum(snippets.iter().map(|snippet| Cost::of_snippet(snippet)).collect::<Vec<_>>().iter())
}

/// The paths that a namespace has on a host.
#[derive(Debug, Clone, Default)]
struct Paths {
    number: u64,
    /// The snippets about the whole host, each once. They cost for each path and for the fallback.
    said: Vec<Arc<Snippet>>,
    /// Whether all paths have to be strict, because one of the objects asks for it. On a host of
    /// one namespace the server checks this once; here each path is counted, because other
    /// namespaces may come to share the host.
    are_strict: bool,
}

impl Paths {
    /// How many of the paths are counted as strict.
    const fn strict(&self) -> u64 {
        if self.are_strict { self.number } else { 0 }
    }

    /// The same with further paths, and the additional cost of these for the host.
    fn with(&self, number: u64, demand: &Demand) -> (Self, Cost) {
        let new = unsaid(&self.said, &demand.of_hosts);
        let mut cost = of_snippets(&self.said) * number;
        cost += of_snippets(&new) * (self.number + number + 1);
        let said = self.said.iter().cloned().chain(new).collect();
        let are_strict = self.are_strict || demand.is_strict;
        (Paths { number: self.number + number, said, are_strict }, cost)
    }
}

impl<'a> Tally<'a> {
    /// Adds an object, or returns why it does not fit.
    fn take(&mut self, object: &Admitted<'a>, demand: &Demand, limits: &Limits, shares: &Shares) -> Option<Why> {
        let hosts: HashSet<_> = demand::hosts(object).filter(|host| !self.hosts.contains(host)).collect();
        // Another object may have named the host before.
        let chain = demand.chain_of_host();
        let is_longer = |host: &Cow<'_, str>| chain > self.secured.get(host).copied().unwrap_or_default();
        let secured: HashSet<_> = demand::hosts(object).filter(is_longer).collect();
        let backends: HashSet<_> = demand::backends(object).filter(|one| !self.backends.contains(one)).collect();
        let secrets: HashSet<_> = demand::secrets(object).filter(|one| !self.secrets.contains(one)).collect();
        let list = demand.list.filter(|(mark, _)| !self.lists.contains(mark));
        let cors: Vec<_> = demand.cors.iter().filter(|(part, _)| !self.cors.contains(part)).collect();
        let variables = demand.variables.names().filter(|name| !self.variables.contains(*name));
        let variables: Vec<_> = variables.map(str::to_owned).collect();
        let paths = demand::paths(object).into_iter().map(|(host, number)| {
            let before = self.paths.get(host).cloned().unwrap_or_default();
            let (after, said) = before.with(number, demand);
            (host, after.strict() - before.strict(), said, after)
        });
        let paths: Vec<_> = paths.collect();
        let strict = paths.iter().map(|(_, strict, ..)| strict).sum();
        let mut cost = self.cost;
        cost += demand.own;
        cost += Cost::of_strict_path() * strict;
        cost += sum(paths.iter().map(|(_, _, said, _)| said));
        cost += Cost::of_host() * number(hosts.len());
        cost += Cost::of_tls_host(chain) * number(secured.len());
        cost += sum(hosts.iter().map(|host| Cost::of_name(host)).collect::<Vec<_>>().iter());
        cost += Cost::of_upstream(0) * number(backends.len());
        cost += Cost::of_certificate() * number(secrets.len());
        cost += list.map(|(_, cost)| cost).unwrap_or_default();
        cost += sum(cors.iter().map(|(_, cost)| cost));
        cost += Cost::of_variables(variables.len());
        let asked = shares.among_all(&cost);
        let over = |(number, budget): &(usize, &Budget)| {
            (budget.used)(&asked) > (budget.limit)(limits).min(shares.get(*number))
        };
        if let Some((number, Budget { key, what, unit, limit, used, total })) = BUDGETS.iter().enumerate().find(over) {
            let (share, own) = (shares.get(number), limit(limits));
            let needs = count(used(&asked).div_ceil(*unit), what.0, what.1);
            let allows = match total.as_ref().filter(|_| share < own) {
                Some(Total { key, limit }) => format!(
                    "and its fair share is {}, because all namespaces together need more than the {} that {key} allows",
                    share / unit,
                    limit(limits) / unit
                ),
                None => format!("and {key} allows {}", own / unit),
            };
            let note = format!(
                "with this object the namespace {:?} needs {needs}, {allows}; older objects take precedence, so \
                    this one is not served; remove what is not needed, or have the administrator raise the limit",
                namespace(object)
            );
            return Some(Why { note, by_itself: false });
        }
        self.cost = cost;
        self.hosts.extend(hosts);
        self.secured.extend(secured.into_iter().map(|host| (host, chain)));
        self.backends.extend(backends);
        self.secrets.extend(secrets);
        self.lists.extend(list.map(|(mark, _)| mark));
        self.cors.extend(cors.into_iter().map(|(part, _)| part.clone()));
        self.variables.extend(variables);
        self.paths.extend(paths.into_iter().map(|(host, _, _, after)| (host, after)));
        None
    }

    /// Findings about budgets that are nearly used up.
    fn nearly(&self, namespace: &str, limits: &Limits) -> Vec<Finding> {
        let near = |Budget { key, what, unit, limit, used, .. }: &Budget| {
            let (used, limit) = (used(&self.cost.alone()), limit(limits));
            is_near(used, limit).then(|| near(namespace, key, *what, used.div_ceil(*unit), limit / unit))
        };
        BUDGETS.iter().filter_map(near).collect()
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl<'a> Admission<'a> {
    /// Adds findings about objects that are not served, and closes what they protect.
    fn leave_out(&mut self, left_out: Vec<(Admitted<'a>, Why)>, limits: &Limits) {
        let served = hosts(&self.objects);
        let mut closed: HashMap<&Arc<str>, u64> = HashMap::new();
        let mut held: HashMap<&Arc<str>, u64> = HashMap::new();
        for (object, Why { mut note, by_itself }) in left_out {
            if by_itself {
                self.refused.push(object.attached.intent.of.refused(Reason::OverBudget));
            }
            let hosts = held.entry(namespace(&object)).or_default();
            *hosts += number(demand::hosts(&object).count());
            if *hosts <= limits.namespace.hosts {
                self.withheld.extend(object.policy.reading.canary.is_none().then_some(object.attached));
            }
            let origin = Origin::object(object.id());
            // Requests for their paths must not reach the routes of others unprotected.
            let fallen = fallen(&object, &served);
            if !fallen.is_empty() {
                note += "; the paths that it protects answer 503 where other objects would take their requests";
                let paths: usize = object
                    .rules()
                    .filter(|(number, _)| fallen.iter().any(|(fallen, _)| fallen == number))
                    .map(|(_, rule)| rule.paths.len())
                    .sum();
                let closed = closed.entry(namespace(&object)).or_default();
                match *closed + number(paths) <= limits.namespace.routes {
                    true => {
                        *closed += number(paths);
                        let rules = fallen.into_iter().map(|(number, _)| number).collect();
                        self.objects.push(closed_object(object, rules));
                    }
                    // Even closed paths would be too many.
                    false => {
                        note += ", and so do all paths of the namespace on these hosts, because even closed ones are too many";
                        for (_, name) in fallen {
                            self.closed.entry(name).or_default().insert(Arc::clone(&origin.object.namespace));
                        }
                    }
                }
            }
            self.findings.push(Finding::new(Reason::OverBudget, origin, note));
        }
        self.objects.sort_by(|left, right| left.attached.intent.of.oldest_first(&right.attached.intent.of));
    }

    /// Closes hosts of namespaces that protect more than their budget, and adds a finding for each
    /// object that loses routes by it.
    pub fn close(&self, servers: &mut [Arc<Server>]) -> Vec<Finding> {
        let mut reported = BTreeSet::new();
        if self.closed.is_empty() {
            return Vec::new();
        }
        for server in servers {
            let Some(namespaces) = self.closed.get(&server.name) else { continue };
            let name = host::written(&server.name);
            Arc::make_mut(server).exchange(|handler| {
                let object = &handler.origin.object;
                let is_closed = namespaces.contains(&object.namespace);
                is_closed.then(|| {
                    reported.insert((Arc::clone(object), name.clone()));
                    Handler { action: Action::Closed, ..handler.clone() }
                })
            });
        }
        let report = |(object, host): (Arc<ObjectId>, String)| {
            let note = format!(
                "its paths on {host} answer 503, because newer objects of the namespace protect more paths there than \
                    limits.namespace-routes allows, and their requests must not reach this object; see the findings \
                    of these objects"
            );
            Finding::new(Reason::ClosedRoute, Origin::object(&object), note)
        };
        reported.into_iter().map(report).collect()
    }
}

/// The hosts of these objects.
fn hosts(objects: &[Admitted<'_>]) -> HashSet<ServerName> {
    objects.iter().flat_map(Admitted::rules).filter_map(|(_, rule)| rule.name.as_ref().ok().cloned()).collect()
}

/// The rules of a protecting object whose requests would reach other objects without it, and the
/// server for them.
fn fallen(object: &Admitted<'_>, served: &HashSet<ServerName>) -> Vec<(usize, ServerName)> {
    let rules = object.rules().filter(|_| object.is_protected);
    rules.filter_map(|(number, rule)| Some((number, falls(rule.name.as_ref().ok()?, served)?))).collect()
}

/// Closes the paths that refused objects protect, where other objects would get their requests.
/// The refusal itself has a finding already.
pub fn close_refused<'a>(refused: Vec<Admitted<'a>>, objects: &mut Vec<Admitted<'a>>) {
    if refused.is_empty() {
        return;
    }
    let served = hosts(objects);
    for object in refused {
        let rules: Arc<[usize]> = fallen(&object, &served).into_iter().map(|(number, _)| number).collect();
        if !rules.is_empty() {
            objects.push(closed_object(object, rules));
        }
    }
}

/// The server that would get the requests of a host, if this object does not define it alone.
fn falls(name: &ServerName, served: &HashSet<ServerName>) -> Option<ServerName> {
    let parent = match name {
        // Only nginx can tell which of the other expressions would match.
        ServerName::Expression(_) => return Some(name.clone()),
        ServerName::Exact(host) => host.as_str().split_once('.').and_then(|(_, parent)| HostName::new(parent).ok()),
        ServerName::Wildcard(_) | ServerName::CatchAll => None,
    };
    let candidates = [Some(name.clone()), parent.map(ServerName::Wildcard), Some(ServerName::CatchAll)];
    candidates.into_iter().flatten().find(|candidate| served.contains(candidate))
}

/// The object with these rules only, all of whose paths answer 503.
fn closed_object<'a>(object: Admitted<'a>, rules: Arc<[usize]>) -> Admitted<'a> {
    let Reading { use_regex, rewrite_target, host, .. } = &*object.policy.reading;
    let reading = Reading {
        use_regex: *use_regex,
        rewrite_target: rewrite_target.clone(),
        // The host's client certificate rule protects more than the object's own paths.
        host: HostOptions { client_rule: host.client_rule.clone(), ..HostOptions::default() },
        closed: true,
        ..Reading::default()
    };
    let policy = Policy { reading: Arc::new(reading), behaviour: Arc::default() };
    Admitted { policy, closed_rules: Some(rules), ..object }
}
