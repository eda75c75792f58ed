//! Translates what the cluster says to what traffic should do. It must not know nginx versions,
//! files or clocks.

pub mod admission;
mod admit;
mod allowed;
pub mod annotation;
mod asked;
mod assemble;
mod attach;
pub mod bounds;
mod build;
mod certified;
mod claim;
mod dialect;
mod given;
mod ingress_nginx;
mod kept;
mod limits;
mod memory;
mod names;
mod options;
mod policies;
mod read;
mod reader;
mod resolve;
mod rows;
mod secret;
mod seen;
mod select;
mod snippets;
mod stages;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
pub mod value;
mod world;

pub use admit::keys as budget_keys;
pub use allowed::{Allowance, Allowances, Allowed, AllowedHosts, HostPattern};
pub use asked::{Asked, AskedRoute, AskedTls, asked, asked_hosts, askers, host_with_wildcard};
pub use claim::claims::{Claimant, Claims, Line as ClaimLine};
pub use dialect::{DIALECTS, Dialect, ExpressionScope, INGRESS_NGINX, SPECIFICATION};
pub use limits::{Limits, NamespaceLimits, NodeLimits, ObjectLimits, PasswordLimits};
pub use names::{ChosenNames, NameAnswer, Names, Namespaces, Wanted};
pub use options::{ClassRule, EndpointMode, HostOwnership, Hsts, Layer, OptionEntry, Options, StreamOptions};
pub use policies::common;
pub use read::intent::{Intent, Port, Reference, Source, TlsSpec};
pub use read::path::PathType;
pub use read::reading::{
    AppRoot, Canary, ClientRule, CommonPolicy, ErrorOptions, HostAliases, HostOptions, Policy, Reading,
    RequestedAuthentication, RequestedBackendTls, RequestedMirror, RequestedService, RequestedSession,
};
pub use read::rule::{Rule, RulePath};
pub use reader::{Declared, ReadKind, Reader, Readers};
pub use seen::Seen;
pub use select::class::of_name as class_of_name;
pub use select::is_ours;
pub use snippets::{AllowedSnippets, SnippetKind};
pub use tables::{
    ANNOTATIONS, PREFIX, READERS, Scope, Table, effective_annotations, judge, lookup_tables, passwords,
    snippet_alternatives, snippet_directives, snippet_variables, stream_directives,
};
pub use value::host::written as written_host;
pub use world::World;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::attach::canary::Canaries;
use self::build::built::Outside;
use self::build::materials::Materials;
use self::build::streams;
use self::given::Given;
use self::kept::Kept;
use self::memory::Memory;
use self::resolve::endpoint::Slices;
use self::resolve::resolution::NamedBy;
use self::stages::Assembled;
use ingressd_model::finding::Finding;
use ingressd_model::{HostName, Model, ObjectId, ObjectState, RefusedVersion, Tables, WorkingVersion};
use ingressd_objects::Snapshot;

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
    pub refused: Vec<RefusedVersion>,
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
    readers: Readers,
    memory: Memory,
}

impl Translator {
    /// A translator for these settings.
    pub fn new(options: Options) -> Self {
        Translator { options, readers: Readers::default(), memory: Memory::default() }
    }

    /// Reads objects as this table says.
    pub fn set_readers(&mut self, readers: Readers) {
        self.readers = readers;
    }

    /// The table by which it reads objects.
    pub const fn readers(&self) -> Readers {
        self.readers
    }

    /// Continues with other settings. What does not depend on the changed ones is kept.
    pub fn set_options(&mut self, options: Options) {
        self.memory.follow(&self.options, &options);
        self.options = options;
    }

    /// Translates a snapshot. `claims` are those of the translation that is served.
    pub fn translate(&mut self, snapshot: &Snapshot, world: &World, claims: &Arc<Claims>) -> Translation {
        let Some(mut kept) = self.memory.kept.take().filter(|kept| kept.is_of(snapshot, world, claims)) else {
            return self.translate_all(snapshot, world, claims, false);
        };
        if !self.memory.follow_tables(&mut kept, snapshot, world) {
            return self.translate_all(snapshot, world, claims, true);
        }
        let translation = Translation { work: Work::default(), ..kept.translation.clone() };
        let translation = self.memory.complete(translation, &kept.options, world.now);
        self.memory.kept = Some(kept);
        translation
    }

    /// Translates everything; `begun` says whether what has changed is known already.
    fn translate_all(&mut self, snapshot: &Snapshot, world: &World, claims: &Arc<Claims>, begun: bool) -> Translation {
        let (options, readers, memory) = (&self.options, self.readers, &mut self.memory);
        memory.begin(snapshot, world, readers);
        if !begun {
            memory.renew(snapshot);
        }
        let mut translation = Translation { findings: snapshot.findings.clone(), ..Translation::default() };
        let of_administrator = tables::claims_on_ports(snapshot, &options.streams, &mut translation.findings);
        translation.findings.extend(allowed::unseen(snapshot, options));
        let given = Given { snapshot, world, claims, options, readers };
        let (objects, others) = stages::attach(given, memory, &mut translation.findings);
        let admitted = stages::admit(&objects, given, &mut translation);
        let mut settled = stages::claim(of_administrator, &admitted, given, &mut memory.certificates);
        translation.findings.append(&mut settled.findings);
        translation.claims = Arc::clone(&settled.claims);
        let options = &*streams::with_ports(options, &settled.ports);
        let given = Given { options, ..given };
        let offers = &Canaries::of(&admitted.canaries, &mut translation.findings);
        if !begun {
            memory.built.follow(snapshot, options);
            memory.rows.learn(memory.built.refresh(snapshot, world, options, &Outside::default()));
        }
        let materials = Materials {
            given,
            slices: &Slices::new(snapshot),
            canaries: offers,
            unserved_rules: &admitted.unserved_rules,
            common: &objects.common,
            certificates: &memory.certificates,
        };
        let built = stages::build(&admitted, &settled.sites, materials, &mut memory.built, &mut translation.findings);
        let decided = (&settled, offers);
        let Assembled { model, outside, found, uses } =
            stages::assemble(built, (&objects, others), &admitted, decided, options, &mut translation);
        memory.rows.learn(found);
        memory.rows.set_uses(uses);
        translation.model = memory.share(model);
        let states = memory.share_states(&mut translation.states);
        translation.work = Work {
            read: memory.take_read(),
            attached: objects.attached.len(),
            claimed: settled.sites.len(),
            built: memory.built.anew,
            rows: 0,
            states,
        };
        memory.kept = Kept::of((snapshot, world, claims), Arc::new(options.clone()), outside, &translation);
        memory.complete(translation, options, world.now)
    }
}

/// The index in a list as an [`ingressd_model::Origin`] stores it; longer lists do not occur in
/// clusters.
fn position(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
