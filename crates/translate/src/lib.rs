//! Translates what the cluster says to what traffic should do.

pub mod admission;
mod admit;
pub mod annotation;
mod asked;
mod assemble;
mod attach;
mod build;
mod claim;
mod defaults;
mod dialects;
mod given;
mod ingress_nginx;
mod kept;
mod memory;
mod options;
mod read;
mod resolve;
mod secret;
mod select;
mod stages;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod translation;
pub mod value;
mod world;

pub use admit::keys as budget_keys;
pub use annotation::reading::{
    AppRoot, Canary, ClientRule, CommonPolicy, ErrorOptions, HostAliases, HostOptions, Policy, Reading,
    RequestedAuthentication, RequestedBackendTls, RequestedMirror, RequestedService, RequestedSession,
};
pub use annotation::{Layer, OptionEntry};
pub use asked::{Asked, AskedRoute, AskedTls, asked, asked_hosts, askers, host_with_wildcard};
pub use attach::policies::common;
pub use claim::claims::{Claimant, Claims, Line as ClaimLine};
pub use dialects::{
    ANNOTATIONS, PREFIX, READERS, Scope, Table, effective_annotations, judge, lookup_tables, passwords,
    snippet_alternatives, snippet_directives, snippet_variables, stream_directives,
};
pub use options::allowed::{Allowance, Allowances, Allowed, AllowedHosts, HostPattern};
pub use options::bounds;
pub use options::dialect::{DIALECTS, Dialect, ExpressionScope, INGRESS_NGINX, SPECIFICATION};
pub use options::limits::{Limits, NamespaceLimits, NodeLimits, ObjectLimits, PasswordLimits};
pub use options::snippets::{AllowedSnippets, SnippetKind};
pub use options::{ClassRule, EndpointMode, HostOwnership, Hsts, Options, StreamOptions};
pub use read::intent::{Intent, Port, Reference, Source, TlsSpec};
pub use read::path::PathType;
pub use read::reader::{Declared, ReadKind, Reader, Readers};
pub use read::rule::{Rule, RulePath};
pub use resolve::names::{ChosenNames, Wanted};
pub use select::class::of_name as class_of_name;
pub use select::is_ours;
pub use select::seen::Seen;
pub use translation::{Translation, Work};
pub use value::host::written as written_host;
pub use world::{NameAnswer, Names, Namespaces, World};

use std::sync::Arc;

use self::admit::canary::Canaries;
use self::build::built::Outside;
use self::build::materials::Materials;
use self::build::streams;
use self::given::Given;
use self::kept::LastTranslation;
use self::memory::Memory;
use self::resolve::endpoint::Slices;
use self::stages::Assembled;
use ingressd_model::position;
use ingressd_objects::Snapshot;

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
        let of_administrator = dialects::claims_on_ports(snapshot, &options.streams, &mut translation.findings);
        translation.findings.extend(options::allowed::unseen(snapshot, options));
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
        let built =
            stages::build(&admitted, &settled.claimed_hosts, materials, &mut memory.built, &mut translation.findings);
        let decided = (&settled, offers);
        memory.aliased = attach::aliased(&objects.attached);
        let aliased = &memory.aliased;
        let Assembled { model, outside, found, uses } =
            stages::assemble(built, (&objects, others, aliased), &admitted, decided, options, &mut translation);
        memory.rows.learn(found);
        memory.rows.set_uses(uses);
        translation.model = memory.share(model);
        let states = memory.share_states(&mut translation.states);
        translation.work = Work {
            read: memory.take_read(),
            attached: objects.attached.len(),
            claimed: settled.claimed_hosts.len(),
            built: memory.built.anew,
            rows: 0,
            states,
        };
        let kept = || LastTranslation::of(snapshot, world, Arc::new(options.clone()), outside, &translation);
        memory.kept = settled.is_final.then(kept);
        memory.complete(translation, options, world.now)
    }
}
