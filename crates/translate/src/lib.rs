//! Translates what the cluster says to what traffic should do. It must not know nginx versions,
//! files or clocks.

pub mod admission;
mod admit;
pub mod annotation;
mod asked;
mod assemble;
mod attach;
pub mod bounds;
mod build;
mod certified;
pub mod claim;
mod dialect;
mod ingress_nginx;
mod kept;
mod limits;
mod memory;
mod names;
mod options;
mod policies;
mod read;
mod resolve;
mod rows;
mod secret;
mod select;
mod snippets;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
pub mod value;

pub use admit::keys as budget_keys;
pub use asked::{Asked, AskedRoute, AskedTls, asked, asked_hosts, askers, host_with_wildcard};
pub use claim::allowed::{Allowance, Allowances, Allowed, AllowedHosts, HostPattern};
pub use claim::claims::Claims;
pub use dialect::{DIALECTS, Dialect, ExpressionScope, INGRESS_NGINX, SPECIFICATION};
pub use limits::{Limits, NamespaceLimits, NodeLimits, ObjectLimits, PasswordLimits};
pub use names::{ChosenNames, NameAnswer, Names, Namespaces, Wanted};
pub use options::{ClassRule, EndpointMode, HostOwnership, Hsts, Layer, OptionEntry, Options, StreamOptions};
pub use policies::everywhere;
pub use read::reading::{
    AppRoot, Canary, ClientRule, ErrorOptions, Everywhere, HostAliases, HostOptions, Policy, Reading,
    RequestedAuthentication, RequestedBackendTls, RequestedMirror, RequestedService, RequestedSession,
};
pub use select::is_ours;
pub use snippets::{AllowedSnippets, SnippetKind};
pub use tables::{
    ANNOTATIONS, PREFIX, Scope, Table, effective_annotations, judge, lookup_tables, passwords, snippet_alternatives,
    snippet_directives, snippet_variables, stream_directives,
};
pub use value::host::written as written_host;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::{ParallelIterator as _, ParallelSlice as _, ParallelSliceMut as _};

use self::admit::servable::{self, Servable};
use self::assemble::left_out;
use self::attach::aliases;
use self::attach::canary::Canaries;
use self::attach::subject::Withheld;
use self::build::built::{Gathered, Outside, Surroundings};
use self::build::server::Servers;
use self::build::tls::{self, Tls};
use self::build::{client_certificates, streams};
use self::claim::site::{self, ClaimingObjects, Sites};
use self::claim::tls_entries::Entries;
use self::claim::{allowed, challenges, stream_claims, tls_idle};
use self::kept::Kept;
use self::memory::Memory;
use self::resolve::backend::Backends;
use self::resolve::endpoint::Slices;
use self::resolve::resolution::NamedBy;
use ingressd_model::finding::Finding;
use ingressd_model::{
    Forwarded, HostName, Model, ObjectId, ObjectState, Passthroughs, ServerName, Tables, Upstream, WorkingVersion,
};
use ingressd_objects::{Snapshot, Version};

/// The fewest hosts that are worth another thread.
const SMALLEST_PART: usize = 64;

/// Objects with more hosts than this are rare.
const FEW_HOSTS: usize = 16;

/// The result of a translation.
#[derive(Debug, Clone, Default)]
pub struct Translation {
    /// What traffic should do; the same in memory as in the last translation where it is equal.
    pub model: Arc<Model>,
    /// What changes often, beside it.
    pub tables: Arc<Tables>,
    /// The findings about objects, sorted.
    pub findings: Vec<Finding>,
    /// The states of all objects.
    pub states: Vec<Arc<ObjectState>>,
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
    /// Rows of the tables that are new or different.
    pub rows: usize,
    /// Objects whose state differs.
    pub states: usize,
}

impl Translation {
    /// How many Ingresses are of our classes, served or not.
    pub fn ours(&self) -> usize {
        self.states.iter().filter(|state| state.is_ours()).count()
    }

    /// The objects of which something is to be served, with what that is.
    pub fn accepted(&self) -> impl Iterator<Item = (&Arc<ObjectId>, &WorkingVersion)> {
        self.states.iter().filter_map(|state| Some((&state.id, &**state.working.as_ref()?)))
    }

    fn note_names(&mut self, names: &[NamedBy]) {
        for (name, namespace) in names {
            self.names.entry(name.clone()).or_default().insert(Arc::clone(namespace));
        }
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
        let Some(mut kept) = self.memory.kept.take().filter(|kept| kept.is_of(snapshot, names, claims, now)) else {
            return self.translate_all(snapshot, names, claims, false);
        };
        if !self.memory.follow_tables(&mut kept, snapshot, names) {
            return self.translate_all(snapshot, names, claims, true);
        }
        let translation = Translation { work: Work::default(), ..kept.translation.clone() };
        let translation = self.memory.complete(translation, &kept.options, now);
        self.memory.kept = Some(kept);
        translation
    }

    /// Translates everything; `begun` says whether what has changed is known already.
    fn translate_all(&mut self, snapshot: &Snapshot, names: &Names, claims: &Arc<Claims>, begun: bool) -> Translation {
        let (options, memory) = (&self.options, &mut self.memory);
        memory.begin(snapshot);
        if !begun {
            memory.renew(snapshot);
        }
        let mut translation = Translation { findings: snapshot.findings.clone(), ..Translation::default() };
        let mut claims_on_ports = tables::claims_on_ports(snapshot, &options.streams, &mut translation.findings);
        translation.findings.extend(allowed::unseen(snapshot, options));
        let everywhere = memory.policies.everywhere(snapshot, options);
        let (selected, others) = select::select(snapshot, options, &mut translation.findings);
        let intents = memory.read_all(&selected, options);
        let mut attached = memory.policies.attach(intents, &selected, snapshot, options);
        aliases::expand(&mut attached, &options.limits, &mut translation.findings);
        memory.keep_rules(&mut attached);
        let unserved = select::withheld(snapshot, options);
        let intents = memory.read_all(&unserved, options);
        let unserved = memory.policies.attach(intents, &unserved, snapshot, options);
        let Servable { subjects, withheld: refused, left_out } =
            servable::judge(&attached, &everywhere.policy.behaviour, &mut translation);
        // A canary has no claim that could be reserved for it.
        let withheld = unserved.iter().filter(|object| object.policy.reading.canary.is_none()).map(Withheld::from);
        let mut withheld: Vec<_> = withheld.chain(refused).collect();
        let mut admission = admit::admit(subjects, &options.limits, snapshot);
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
            passed: Vec::new(),
            findings: Vec::new(),
            refused: Vec::new(),
        };
        let (mut outside, mut found) = (Outside::default(), Tables::default());
        if !left_out.is_empty() {
            let (told, of_left_out) = left_out::findings(nothing_built(), &left_out);
            findings.extend(told);
            outside = of_left_out;
        }
        let mut servers = nothing_built();
        let mut hosts = Vec::with_capacity(sites.len() + 1);
        if site::find(&sites, &ServerName::CatchAll).is_none() {
            let built = servers.build_catch_all();
            outside.dependencies.extend_from_slice(&built.dependencies);
            outside.resolutions.extend_from_slice(&built.resolutions);
            hosts.push(Arc::new(built));
        }
        let surroundings = Surroundings { canaries: &offers, unserved: &unserved_rules, names };
        if !begun {
            memory.built.follow(snapshot, options);
            memory.rows.learn(memory.built.refresh(snapshot, names, options, &Outside::default()));
        }
        hosts.extend(memory.built.build(&sites, surroundings, |sites| {
            // References that several parts resolve have the same result in each.
            let parts = sites.par_chunks(sites.len().div_ceil(rayon::current_num_threads()).max(SMALLEST_PART));
            let parts = parts.map(|part| {
                let mut servers = nothing_built();
                let built: Vec<_> = part.iter().map(|(name, site)| servers.build(name, site)).collect();
                (built, Tables { endpoints: servers.backends.found, certificates: servers.tls.found })
            });
            let (built, of_parts): (Vec<_>, Vec<_>) = parts.unzip();
            for Tables { endpoints, certificates } in of_parts {
                found.endpoints.extend(endpoints);
                found.certificates.extend(certificates);
            }
            built.into_iter().flatten().collect()
        }));
        let Gathered { mut built, mut upstreams, mut certificates, mut uses, passed, taken, idle } =
            Gathered::of(&hosts, &mut translation, &mut findings);
        let of_closed = admission.close(&mut built);
        site::reserve(&mut built, &translation.claims);
        offers.tell(&taken, &mut findings);
        let Servers { mut backends, mut tls, .. } = servers;
        let streams = streams::build(&ports.claims, &mut backends, options, &mut findings);
        translation.note_names(&backends.names);
        upstreams.append(&mut backends.used);
        found.endpoints.append(&mut backends.found);
        outside.extend(Outside::of(backends));
        findings.extend(admit::near_names(&translation.names, &options.limits));
        // Several objects may have asked for the same; which of them was resolved first does not
        // matter.
        upstreams.par_sort_by(|one, other| one.id.cmp(&other.id).then_with(|| one.origin.cmp(&other.origin)));
        upstreams.dedup_by(|one, other| Arc::ptr_eq(one, other) || one.id == other.id);
        let is_of_stream = |upstream: &Arc<Upstream>| upstream.id.protocol.is_of_stream();
        let (mut stream_upstreams, upstreams): (Vec<_>, Vec<_>) = upstreams.into_iter().partition(is_of_stream);
        streams::share_connections(&ports.claims, &streams, &mut stream_upstreams);
        let of_backends =
            subjects.iter().filter_map(|subject| subject.reading.backend_tls.as_ref()?.certificate.as_ref());
        of_backends.for_each(|certificate| tls.use_as_well(certificate));
        let default_certificate = tls.default_certificate();
        certificates.extend(tls.used().into_iter().map(|certificate| (certificate.id.clone(), certificate)));
        found.certificates.append(&mut tls.found);
        memory.rows.learn(found);
        uses.append(&mut tls.uses);
        memory.rows.set_uses(uses);
        translation.due = [ends, ports.due].into_iter().flatten().min();

        let parts = [&taken, &idle].map(|of| offers.parts(of));
        let all = subjects.iter().chain(&canaries);
        translation.states = assemble::states::states(others, &attached, all, &built, &parts, &refusals);
        translation.findings.extend(findings);
        translation.findings.extend(of_closed);
        translation.findings.append(&mut tls.findings);
        attach::relate(&attached, &mut translation.findings);
        translation.findings.sort();
        translation.findings.dedup();
        translation.refused.append(&mut tls.refused);
        translation.refused.sort();
        translation.refused.dedup();
        translation.model = memory.share(Model {
            listeners: assemble::listeners(options, &passed),
            servers: built,
            upstreams,
            certificates: certificates.into_values().collect(),
            authorities: assemble::authorities(&subjects),
            password_files: assemble::password_files(&subjects),
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
            passthroughs: Passthroughs { hosts: passed, policy: options.streams.policy.clone() },
            stream_upstreams,
        });
        let states = memory.share_states(&mut translation.states);
        translation.work = Work {
            read: memory.take_read(),
            attached: attached.len(),
            claimed: sites.len(),
            built: memory.built.anew,
            rows: 0,
            states,
        };
        let given = (snapshot, names, given_claims);
        memory.kept = Kept::of(given, Arc::new(options.clone()), outside, &translation);
        memory.complete(translation, options, options.now)
    }
}

/// The index in a list as an [`ingressd_model::Origin`] stores it; longer lists do not occur in
/// clusters.
fn position(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
