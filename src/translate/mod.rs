//! Translates what the cluster says to what traffic should do. It must not know nginx versions,
//! files or clocks.

pub mod admission;
mod aliases;
mod allowed;
pub mod annotation;
mod asked;
mod attach;
mod authentication;
mod authority;
mod backend;
pub mod bounds;
mod budget;
mod built;
mod canary;
mod certificate;
mod challenges;
pub mod claims;
mod class;
mod client_certificates;
mod dialect;
mod endpoint;
mod error_backend;
mod host;
mod ingress;
mod ingress_nginx;
mod intent;
mod kept;
mod key;
mod left_out;
mod limits;
mod memory;
mod mirror;
mod mode;
mod names;
mod options;
mod own_routes;
mod passthrough;
mod path;
mod pem;
mod port;
mod reading;
mod resolution;
mod rule;
mod server;
mod service;
mod site;
mod snippets;
mod stream_claims;
mod streams;
mod subject;
mod tables;
mod target;
#[cfg(test)]
pub(crate) mod tests;
mod tls;
mod tls_entries;
mod tls_idle;
pub mod value;

pub use allowed::{Allowance, Allowances, Allowed, AllowedHosts, HostPattern};
pub use asked::{Asked, AskedRoute, AskedTls, asked, asked_hosts, askers, host_with_wildcard};
pub use budget::keys as budget_keys;
pub use canary::Canary;
pub use claims::Claims;
pub use dialect::{DIALECTS, Dialect, ExpressionScope, INGRESS_NGINX, SPECIFICATION};
pub use host::written as written_host;
pub use limits::{Limits, NamespaceLimits, NodeLimits, ObjectLimits, PasswordLimits};
pub use names::{ChosenNames, NameAnswer, Names, Namespaces, Wanted};
pub use options::{ClassRule, DefaultValue, EndpointMode, HostOwnership, Hsts, Options};
pub use reading::{
    AppRoot, ClientRule, ErrorOptions, Everywhere, HostAliases, HostOptions, Reading, RequestedAuthentication,
    RequestedBackendTls, RequestedMirror, RequestedService, RequestedSession,
};
pub use snippets::{AllowedSnippets, SnippetKind};
pub use streams::StreamOptions;
pub use tables::{
    ANNOTATIONS, PREFIX, Scope, Table, effective_annotations, everywhere, judge_default, lookup_tables, passwords,
    snippet_alternatives, snippet_directives, snippet_variables, stream_directives,
};

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _, ParallelSlice as _, ParallelSliceMut as _};

use self::attach::Attached;
use self::backend::Backends;
use self::built::{Gathered, Surroundings};
use self::canary::Canaries;
use self::endpoint::Slices;
use self::intent::Intent;
use self::kept::Kept;
use self::memory::Memory;
use self::passthrough::Passed;
use self::resolution::NamedBy;
use self::server::Servers;
use self::site::{ClaimingObjects, Refusals, Sites};
use self::subject::{Subject, Withheld};
use self::tls::Tls;
use self::tls_entries::Entries;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{
    AccessList, Authority, Behaviour, Forwarded, HostName, Listener, Model, ObjectId, Origin, Passthrough,
    Passthroughs, PasswordFile, RouteCount, Server, ServerName,
};
use ingressd_objects::{Ingress, Snapshot, Stored, Version};

/// The fewest hosts that are worth another thread.
const SMALLEST_PART: usize = 64;

/// Objects with more hosts than this are rare.
const FEW_HOSTS: usize = 16;

/// The result of a translation.
#[derive(Debug, Clone, Default)]
pub struct Translation {
    pub model: Model,
    /// The findings about objects, sorted.
    pub findings: Vec<Finding>,
    /// The objects of our classes, sorted by name.
    pub accepted: Vec<Accepted>,
    /// Object versions that cannot be served as written; their last good versions should replace
    /// them.
    pub refused: Vec<(Arc<ObjectId>, Version)>,
    /// The claims on hosts and paths, including new ones: the input of the next translation once
    /// this one is served.
    pub claims: Arc<Claims>,
    /// When the passage of time alone changes the result, in seconds since 1970: the reservation
    /// of a host ends, or a certificate expires.
    pub due: Option<i64>,
    /// The DNS names of Services that are used, with the namespaces that use them.
    pub names: BTreeMap<HostName, Namespaces>,
    /// What had to be done.
    pub work: Work,
}

/// How much work a translation was: what was kept from the last one counts nowhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Object versions that were read.
    pub read: usize,
    /// Objects that were attached to their class.
    pub attached: usize,
    /// Hosts whose claims were decided.
    pub claimed: usize,
    /// Hosts that were built.
    pub built: usize,
    /// Upstreams that got other endpoints beside hosts that stay as they are.
    pub rows: usize,
}

/// Whether an Ingress is of one of our classes, whatever else it contains.
pub fn is_ours(ingress: &Stored<Ingress>, snapshot: &Snapshot, options: &Options) -> bool {
    class::select(ingress, snapshot, options).is_ok()
}

impl Translation {
    /// How many Ingresses of the snapshot are of our classes, served or not.
    pub fn ours(&self, snapshot: &Snapshot) -> usize {
        let foreign = self.findings.iter().filter(|finding| finding.reason == Reason::ForeignClass);
        let foreign: HashSet<_> = foreign.map(|finding| &finding.origin.object).collect();
        snapshot.ingresses.iter().filter(|stored| !foreign.contains(&stored.id)).count()
    }

    fn note_names(&mut self, names: &[NamedBy]) {
        for (name, namespace) in names {
            self.names.entry(name.clone()).or_default().insert(Arc::clone(namespace));
        }
    }
}

/// An Ingress of our classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The Ingress.
    pub id: Arc<ObjectId>,
    /// The version in the model.
    pub version: Version,
    /// The hosts that it defines or contributes to, as written; `*` for the catch-all.
    pub hosts: Vec<Arc<str>>,
    /// The number of its routes in the model that are served.
    pub routes: u32,
    /// How many of them are paths of another object of which this one takes a share, which may be
    /// 0.
    pub parts: u32,
    /// The number of further routes that answer 503 because a fault of the object closes them.
    pub closed: u32,
    /// How many routes this nginx serves, which only the gate knows; before that all of them.
    pub served: u32,
    /// How many of those answer 503, because a Service, its port or its endpoints are missing, or
    /// are shares of a canary that the main object takes because of that.
    pub unanswered: u32,
}

impl Accepted {
    /// Whether nothing of it is served because a fault of the object closes all its routes.
    pub const fn is_closed(&self) -> bool {
        self.routes == 0 && self.closed > 0
    }

    /// How many of its routes pass requests on.
    pub const fn answering(&self) -> u32 {
        self.served.saturating_sub(self.unanswered)
    }

    /// How many of its routes answer 503, for whatever reason.
    pub const fn answering_503(&self) -> u32 {
        self.closed.saturating_add(self.unanswered)
    }
}

/// Translates snapshots. Its caches save time and never change the result.
#[derive(Debug)]
pub struct Translator {
    options: Options,
    memory: Memory,
}

impl Translator {
    /// A translator for these settings.
    pub fn new(options: Options) -> Self {
        Translator { options, memory: Memory::default() }
    }

    /// Continues with other settings. What does not depend on the changed ones is kept.
    pub fn set_options(&mut self, options: Options) {
        self.memory.follow(&self.options, &options);
        self.options = options;
    }

    /// Sets the time, in seconds since 1970.
    pub fn set_now(&mut self, now: i64) {
        self.options.now = now;
    }

    /// Translates a snapshot. `claims` are those of the translation that is served.
    pub fn translate(&mut self, snapshot: &Snapshot, names: &Names, claims: &Arc<Claims>) -> Translation {
        let now = self.options.now;
        let Some(kept) = self.memory.kept.take().filter(|kept| kept.is_of(snapshot, names, claims, now)) else {
            return self.translate_all(snapshot, names, claims, false);
        };
        let Some(translation) = self.memory.follow_endpoints(&kept, snapshot, names) else {
            return self.translate_all(snapshot, names, claims, true);
        };
        self.memory.kept = Some(kept);
        translation
    }

    /// Translates everything; `begun` says whether what has changed is known already.
    fn translate_all(&mut self, snapshot: &Snapshot, names: &Names, claims: &Arc<Claims>, begun: bool) -> Translation {
        let (options, memory) = (&self.options, &mut self.memory);
        memory.begin(snapshot);
        let mut translation = Translation { findings: snapshot.findings.clone(), ..Translation::default() };
        let mut claims_on_ports = tables::claims_on_ports(snapshot, &options.streams, &mut translation.findings);
        translation.findings.extend(allowed::unseen(snapshot, options));
        let everywhere = tables::everywhere(snapshot, options);
        let selected = select(snapshot, options, &mut translation.findings);
        let intents = memory.read_all(&selected, snapshot, options);
        let classes = selected.iter().map(|(_, class)| *class);
        let mut attached: Vec<_> =
            intents.into_iter().zip(classes).map(|(intent, class)| Attached::new(intent, class)).collect();
        aliases::expand(&mut attached, &options.limits, &mut translation.findings);
        memory.keep_rules(&mut attached);
        let unserved = withheld(snapshot, options, memory);
        let Servable { subjects, withheld: refused, left_out } =
            judge(&attached, &everywhere.behaviour, &mut translation);
        // A canary has no claim that could be reserved for it.
        let withheld = unserved.iter().filter(|object| object.intent.reading.canary.is_none()).map(Withheld::from);
        let mut withheld: Vec<_> = withheld.chain(refused).collect();
        let mut admission = budget::admit(subjects, &options.limits, snapshot);
        let subjects = std::mem::take(&mut admission.subjects);
        withheld.append(&mut admission.withheld);
        let unserved_rules = client_certificates::unserved(&withheld);
        translation.refused.append(&mut admission.refused);
        let mut findings = std::mem::take(&mut admission.findings);
        let (canaries, subjects): (Vec<_>, Vec<_>) =
            subjects.into_iter().partition(|subject| subject.reading.canary.is_some());
        claims_on_ports.extend(stream_claims::of_objects(subjects.iter().chain(&canaries)));
        let ports = stream_claims::settle(claims_on_ports, options, claims.ports(), &mut findings);
        let options = &*streams::with_ports(options, &ports.claims);
        let offers = Canaries::of(&canaries, &mut findings);
        let allowances = Allowances::new(options, snapshot);
        let claiming = ClaimingObjects { subjects: &subjects, withheld: &withheld, allowances };
        let default = options.default_certificate.as_ref();
        let default = default.and_then(|(namespace, name)| snapshot.secret(namespace, name));
        let named = subjects.iter().flat_map(|subject| tls::secrets(subject, snapshot));
        // Claims are decided on one processor, so certificates are checked on the others.
        let (sites, ()) = rayon::join(
            || claiming.settle(options, claims, &mut findings),
            || memory.certificates.prepare(named.chain(default)),
        );
        let given_claims = claims;
        let Sites { sites, claims, ends, refusals, outsiders } = sites;
        let mut entries = Entries::new(snapshot, &memory.certificates);
        tls_idle::tell(&subjects, &sites, &outsiders, (snapshot, &mut entries), &mut findings);
        challenges::tell(&subjects, &sites, (snapshot, &claims, options), &mut findings);
        translation.claims = Claims::with_ports(claims, ports.holders);

        let slices = Slices::new(snapshot);
        let nothing_built = || Servers {
            options,
            backends: Backends::new(snapshot, names, options, &slices),
            canaries: &offers,
            unserved_rules: &unserved_rules,
            everywhere: &everywhere,
            taken: BTreeSet::new(),
            idle: BTreeSet::new(),
            tls: Tls::new(snapshot, options, &memory.certificates),
            passed: Passed::default(),
            findings: Vec::new(),
            refused: Vec::new(),
        };
        let mut dependencies = Vec::new();
        if !left_out.is_empty() {
            let (told, of_left_out) = left_out::findings(nothing_built(), &left_out);
            findings.extend(told);
            dependencies.extend(of_left_out);
        }
        let mut servers = nothing_built();
        let mut hosts = Vec::with_capacity(sites.len() + 1);
        if site::find(&sites, &ServerName::CatchAll).is_none() {
            let built = servers.build_catch_all();
            dependencies.extend_from_slice(&built.dependencies);
            hosts.push(Arc::new(built));
        }
        let surroundings = Surroundings { options, canaries: &offers, unserved: &unserved_rules, names };
        if !begun {
            memory.built.begin(snapshot, options);
            memory.built.refresh(snapshot, names, options);
        }
        hosts.extend(memory.built.build(&sites, surroundings, |sites| {
            // References that several parts resolve have the same result in each.
            let parts = sites.par_chunks(sites.len().div_ceil(rayon::current_num_threads()).max(SMALLEST_PART));
            let parts = parts.map(|part| {
                let mut servers = nothing_built();
                part.iter().map(|(name, site)| servers.build(name, site)).collect::<Vec<_>>()
            });
            parts.collect::<Vec<_>>().into_iter().flatten().collect()
        }));
        let Gathered { mut built, mut upstreams, mut certificates, passed, taken, idle, due } =
            Gathered::of(&hosts, ends, &mut translation, &mut findings);
        let of_closed = admission.close(&mut built);
        site::reserve(&mut built, &translation.claims);
        offers.tell(&taken, &mut findings);
        let Servers { mut backends, mut tls, .. } = servers;
        let (streams, stream_upstreams) =
            streams::build(&ports.claims, passed.upstreams, &mut backends, options, &mut findings);
        translation.note_names(&backends.names);
        dependencies.append(&mut backends.dependencies);
        findings.extend(budget::near_names(&translation.names, &options.limits));
        // Several objects may have asked for the same; which of them was resolved first does not
        // matter.
        upstreams.par_sort_by(|one, other| one.id.cmp(&other.id).then_with(|| one.origin.cmp(&other.origin)));
        upstreams.dedup_by(|one, other| Arc::ptr_eq(one, other) || one.id == other.id);
        memory.built.renew(&mut upstreams);
        let told = findings.len();
        budget::bound_endpoints(&mut upstreams, &built, &options.limits, &mut findings);
        let is_within_limits = findings.len() == told;
        let of_backends =
            subjects.iter().filter_map(|subject| subject.reading.backend_tls.as_ref()?.certificate.as_ref());
        of_backends.for_each(|certificate| tls.use_as_well(certificate));
        let default_certificate = tls.default_certificate();
        certificates.extend(tls.used().into_iter().map(|certificate| (certificate.id.clone(), certificate)));
        translation.due = [due, tls.due, ports.due].into_iter().flatten().min();

        let parts = [&taken, &idle].map(|of| offers.parts(of));
        translation.accepted = accepted(subjects.iter().chain(&canaries), &built, &parts, &refusals);
        translation.findings.extend(findings);
        translation.findings.extend(of_closed);
        translation.findings.append(&mut tls.findings);
        attach::relate(&attached, &mut translation.findings);
        translation.findings.sort();
        translation.findings.dedup();
        translation.refused.append(&mut tls.refused);
        translation.refused.sort();
        translation.refused.dedup();
        translation.model = Model {
            listeners: listeners(options, &passed.hosts),
            servers: built,
            upstreams,
            certificates: certificates.into_values().collect(),
            authorities: authorities(&subjects),
            password_files: password_files(&subjects),
            default_certificate,
            forwarded: Forwarded {
                trusted: options.trusted_proxies.clone(),
                only_addresses: options.only_addresses,
                append: options.append_forwarded_for,
            },
            server_directives: options.server_directives.clone(),
            lookup_tables: Arc::clone(&options.lookup_tables),
            zones: admission.zones,
            streams: streams.into_iter().map(Arc::new).collect(),
            passthroughs: Passthroughs { hosts: passed.hosts, policy: options.streams.policy.clone() },
            stream_upstreams: stream_upstreams.into_iter().map(Arc::new).collect(),
        };
        memory.share(&mut translation.model);
        translation.work = Work {
            read: memory.take_read(),
            attached: attached.len(),
            claimed: sites.len(),
            built: memory.built.anew,
            rows: memory.built.rows,
        };
        if is_within_limits {
            let given = (snapshot, names, given_claims);
            memory.kept = Kept::of(given, Arc::new(options.clone()), dependencies, &translation);
        }
        translation
    }
}

/// The listeners of hosts.
fn listeners(options: &Options, passed: &[Passthrough]) -> Vec<Listener> {
    let all = options.listeners.all();
    if passed.is_empty() { all } else { all.into_iter().map(Listener::passing).collect() }
}

/// The Ingresses of our classes, with findings about the others.
fn select<'a>(
    snapshot: &'a Snapshot,
    options: &'a Options,
    findings: &mut Vec<Finding>,
) -> Vec<(&'a Stored<Ingress>, &'a ClassRule)> {
    let mut selected = Vec::with_capacity(snapshot.ingresses.len());
    for stored in snapshot.ingresses.iter() {
        match class::select(stored, snapshot, options) {
            Ok(class) => selected.push((stored, class)),
            Err(finding) => findings.push(*finding),
        }
    }
    selected
}

/// The Ingresses of our classes that are kept out of service, of which no version is good.
fn withheld<'a>(snapshot: &'a Snapshot, options: &'a Options, memory: &mut Memory) -> Vec<Attached<'a>> {
    let ours = |stored| Some((stored, class::select(stored, snapshot, options).ok()?));
    let selected: Vec<_> = snapshot.withheld.iter().filter_map(ours).collect();
    let intents = memory.read_all(&selected, snapshot, options);
    intents.into_iter().zip(&selected).map(|(intent, (_, class))| Attached::new(intent, class)).collect()
}

/// Objects by whether they can be served as they are.
struct Servable<'a> {
    /// The valid ones, the oldest first.
    subjects: Vec<Subject<'a>>,
    /// The invalid ones, as claims.
    withheld: Vec<Withheld<'a>>,
    /// The invalid ones, as they would be served, the oldest first.
    left_out: Vec<Subject<'a>>,
}

/// Which of the objects can be served, with findings about the others.
fn judge<'a>(attached: &'a [Attached<'a>], everywhere: &Behaviour, translation: &mut Translation) -> Servable<'a> {
    let mut servable =
        Servable { subjects: Vec::with_capacity(attached.len()), withheld: Vec::new(), left_out: Vec::new() };
    let mut refused = Vec::new();
    for object in attached {
        let intent = &object.intent;
        let (of, reading) = (&intent.of, &intent.reading);
        translation.findings.extend_from_slice(&reading.findings);
        let subject = Subject::of(object, is_protected(intent, everywhere));
        if reading.refused || !intent.faults.is_empty() {
            translation.findings.extend_from_slice(&intent.faults);
            translation.refused.push((Arc::clone(&of.id), of.version.clone()));
            if reading.refused || !intent.is_fit {
                servable.left_out.push(subject.clone());
                servable.withheld.extend(reading.canary.is_none().then(|| Withheld::from(&subject)));
                refused.extend(intent.is_fit.then_some(subject));
                continue;
            }
        }
        let tells = |finding: &Finding| finding.reason == Reason::ClosedRoute;
        if reading.closed && reading.canary.is_none() && !reading.findings.iter().any(tells) {
            let note = "all routes of the object answer 503, because their protection cannot be set up; see its other findings";
            translation.findings.push(Finding::new(Reason::ClosedRoute, Origin::object(&of.id), note));
        }
        servable.subjects.push(subject);
    }
    budget::close_refused(refused, &mut servable.subjects);
    servable.subjects.sort_by(|left, right| left.intent.of.oldest_first(&right.intent.of));
    servable.left_out.sort_by(|left, right| left.intent.of.oldest_first(&right.intent.of));
    servable
}

/// Whether an object protects its routes by something that is its own. Protection in a canary has
/// no effect: the main object protects the path.
fn is_protected(intent: &Intent, everywhere: &Behaviour) -> bool {
    let (reading, behaviour) = (&intent.reading, &intent.behaviour);
    let lists = everywhere.access.as_deref();
    let is_everywhere = |access: &AccessList| {
        lists.is_some_and(|lists| access.deny() == lists.deny() && access.allow() == lists.allow())
    };
    let own_list = behaviour.access.as_deref().is_some_and(|access| !is_everywhere(access));
    let own_firewall = behaviour.firewall.is_some() && behaviour.firewall != everywhere.firewall;
    reading.canary.is_none()
        && (reading.closed
            || own_list
            || own_firewall
            || behaviour.basic_authentication.is_some()
            || reading.authentication.as_ref().is_some_and(|requested| !requested.service.is_everywhere)
            || reading.host.client_rule.is_some())
}

fn accepted<'s, 'a: 's>(
    subjects: impl Iterator<Item = &'s Subject<'a>>,
    servers: &[Arc<Server>],
    parts: &[HashMap<&ObjectId, u32>; 2],
    refusals: &Refusals<'_>,
) -> Vec<Accepted> {
    let routes = Server::routes_by_object(servers.iter().map(AsRef::as_ref));
    // What a budget leaves out has no claim, even where some of it stays closed.
    let within: Vec<_> = subjects.filter(|subject| subject.closed_rules.is_none()).collect();
    let accepted = within.into_par_iter().map(|subject| accept(subject, &routes, parts, refusals));
    let mut accepted: Vec<_> = accepted.collect();
    accepted.par_sort_by(|left, right| left.id.cmp(&right.id));
    accepted
}

fn accept(
    subject: &Subject<'_>,
    routes: &HashMap<&ObjectId, RouteCount>,
    parts: &[HashMap<&ObjectId, u32>; 2],
    refusals: &Refusals<'_>,
) -> Accepted {
    let mut hosts: Vec<Arc<str>> = Vec::new();
    let mut known = HashSet::new();
    let has = |name: &ServerName| refusals.is_empty() || !refusals.contains(&(&**subject.id(), name.clone()));
    let valid = subject.rules().filter(|(_, rule)| rule.name.as_ref().is_ok_and(has));
    let catch_all = (subject.is_for_all_hosts() && has(&ServerName::CatchAll)).then(|| Arc::from("*"));
    for host in valid.map(|(_, rule)| Arc::clone(&rule.host)).chain(catch_all) {
        // A linear search is faster for a few, and takes minutes for thousands.
        let is_known = match hosts.len() {
            0..FEW_HOSTS => hosts.contains(&host),
            _ => {
                if known.is_empty() {
                    known.extend(hosts.iter().cloned());
                }
                known.contains(&host)
            }
        };
        if !is_known {
            if !known.is_empty() {
                known.insert(Arc::clone(&host));
            }
            hosts.push(host);
        }
    }
    let (id, version) = (Arc::clone(subject.id()), subject.intent.of.version.clone());
    let RouteCount { open, closed } = routes.get(&*id).copied().unwrap_or_default();
    let [parts, unanswered] = parts.each_ref().map(|of| of.get(&*id).copied().unwrap_or_default());
    Accepted { routes: open + parts, parts, closed, served: open + parts, unanswered, id, version, hosts }
}

fn password_files(subjects: &[Subject<'_>]) -> Vec<Arc<PasswordFile>> {
    let files = subjects.iter().filter_map(|subject| subject.reading.password_file.as_ref());
    let by_id: BTreeMap<_, _> = files.map(|file| (&file.id, file)).collect();
    by_id.into_values().map(Arc::clone).collect()
}

fn authorities(subjects: &[Subject<'_>]) -> Vec<Arc<Authority>> {
    let of_clients = subjects.iter().filter_map(|subject| match &subject.reading.host.client_rule {
        Some(ClientRule::Good(rule)) => Some(&rule.authority),
        Some(ClientRule::Broken) | None => None,
    });
    let of_backends = subjects.iter().filter_map(|subject| subject.reading.backend_tls.as_ref()?.authority.as_ref());
    let by_id: BTreeMap<_, _> = of_clients.chain(of_backends).map(|authority| (&authority.id, authority)).collect();
    by_id.into_values().map(Arc::clone).collect()
}

/// The index in a list as an [`Origin`] stores it; longer lists do not occur in clusters.
fn position(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
