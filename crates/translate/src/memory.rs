//! The caches of a translator. They must not change any result.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use rayon::prelude::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _,
};

use crate::admit::longest_chain;
use crate::attach::policies::Policies;
use crate::attach::{self, Aliased, Attached};
use crate::build::built::BuiltHosts;
use crate::claim::challenges;
use crate::claim::claimed::SMALLEST_PART;
use crate::dialects::Table;
use crate::kept::LastTranslation;
use crate::read::intent::Intent;
use crate::read::reader::{Declared, Readers};
use crate::read::rule::Rule;
use crate::resolve::reached::FoundRows;
use crate::secret::certificate::Certificates;
use crate::select::{self, Selected};
use crate::tables::rows::{Made, Rows};
use crate::{Dialect, OptionEntry, Options, Translation, World};
use ingressd_model::{Certificate, CertificateId, Kind, Model, ObjectId, ObjectState, Tables};
use ingressd_objects::{Snapshot, Version};

/// What is kept from one translation to the next.
#[derive(Debug, Default)]
pub struct Memory {
    /// Checked certificates.
    pub certificates: Certificates,
    /// Built hosts.
    pub built: BuiltHosts,
    readings: HashMap<Arc<ObjectId>, Remembered>,
    /// What counts for objects.
    pub policies: Policies,
    /// The versions of objects that options may refer to. When one changes, options that may refer
    /// to something are merged again.
    referable: Vec<(Arc<ObjectId>, Version)>,
    /// The kinds of which nothing could be read.
    unseen: Vec<Kind>,
    own_addresses: Vec<SocketAddr>,
    model: Arc<Model>,
    /// The endpoints of its upstreams, and its certificates.
    pub rows: Rows,
    /// The objects of the last translation with aliases.
    pub aliased: Aliased,
    states: Vec<Arc<ObjectState>>,
    /// The last translation.
    pub kept: Option<LastTranslation>,
    /// How many objects were read since this was last asked.
    read: usize,
    /// The rules of objects with aliases.
    rules: HashMap<Arc<ObjectId>, Arc<[Rule]>>,
}

#[derive(Debug)]
struct Remembered {
    dialect: &'static Dialect,
    table: &'static Table,
    intent: Arc<Intent>,
    /// The versions of the objects that were looked up.
    noted: Box<[(Option<Version>, ObjectId)]>,
}

impl Remembered {
    fn read(selected: &Selected<'_>, readers: Readers, snapshot: &Snapshot, options: &Options) -> Option<Self> {
        let Selected { entry, class } = *selected;
        let Declared { intent, looked_up } = readers.of(entry.id.kind)?.read(entry, class, snapshot, options)?;
        let noted = looked_up.into_iter().map(|id| (snapshot.version(&id).cloned(), id)).collect();
        Some(Remembered { dialect: class.dialect, table: class.annotations, intent: Arc::new(intent), noted })
    }

    fn is_of(&self, Selected { entry, class }: &Selected<'_>, snapshot: &Snapshot) -> bool {
        self.intent.of.is_of(*entry)
            && self.dialect == class.dialect
            && self.table == class.annotations
            && self.noted.iter().all(|(version, id)| snapshot.version(id) == version.as_ref())
    }
}

impl Memory {
    /// Drops what this snapshot may have made wrong.
    pub fn begin(&mut self, snapshot: &Snapshot, world: &World, readers: Readers) {
        if self.own_addresses != world.own_addresses {
            self.built.forget();
            self.own_addresses.clone_from(&world.own_addresses);
        }
        let referable = || {
            let secrets = snapshot.secrets.iter().map(|secret| (&secret.id, &secret.version));
            let maps = snapshot.config_maps.iter().map(|map| (&map.id, &map.version));
            // Labels of namespaces decide where snippets are allowed.
            secrets.chain(maps).chain(snapshot.namespaces.iter().map(|namespace| (&namespace.id, &namespace.version)))
        };
        let is_same = referable().eq(self.referable.iter().map(|(id, version)| (id, version)));
        if !is_same || self.unseen != snapshot.unseen {
            self.policies.forget_references();
            self.unseen.clone_from(&snapshot.unseen);
            self.referable = referable().map(|(id, version)| (Arc::clone(id), version.clone())).collect();
        }
        let objects = select::count(snapshot, |kind| readers.of(kind).is_some());
        if self.readings.len() > 2 * objects {
            self.readings.clear();
        }
        self.policies.shrink(objects);
    }

    /// Drops what is different under other settings.
    pub fn follow(&mut self, before: &Options, after: &Options) {
        if after.keys_of_config_map != before.keys_of_config_map {
            self.readings.clear();
        }
        if after != before {
            self.kept = None;
            self.built.forget();
            self.policies.forget();
        }
    }

    /// What these objects ask for, in their order. Objects that are not cached yet are read on all
    /// processors.
    pub fn read_all(
        &mut self,
        selected: &[Selected<'_>],
        readers: Readers,
        snapshot: &Snapshot,
        options: &Options,
    ) -> Vec<Arc<Intent>> {
        let readings = &self.readings;
        let known = |object: &Selected<'_>| readings.get(object.entry.id).filter(|known| known.is_of(object, snapshot));
        let read = selected.par_iter().map(|object| match known(object) {
            Some(known) => Some(Ok(Arc::clone(&known.intent))),
            None => Remembered::read(object, readers, snapshot, options).map(Err),
        });
        let read: Vec<_> = read.collect();
        let anew = read.iter().flatten().filter(|read| read.is_err()).count();
        self.read += anew;
        self.readings.reserve(anew);
        let all = read.into_iter().zip(selected).filter_map(|(read, object)| {
            Some(read?.unwrap_or_else(|remembered| {
                let intent = Arc::clone(&remembered.intent);
                self.readings.insert(Arc::clone(object.entry.id), remembered);
                intent
            }))
        });
        all.collect()
    }

    /// How many objects were read since this was last asked.
    pub fn take_read(&mut self) -> usize {
        std::mem::take(&mut self.read)
    }

    /// Takes over certificates of this snapshot that were renewed, and returns them.
    pub fn renew(&mut self, snapshot: &Snapshot) -> Vec<Arc<Certificate>> {
        let renewed = self.built.begin(snapshot, &mut self.certificates);
        let certificates = renewed.iter().map(|one| (one.of.id.clone(), Arc::clone(one))).collect();
        let tables = Tables { certificates, ..Tables::default() };
        self.rows.learn(FoundRows { tables, ..FoundRows::default() });
        renewed
    }

    /// Takes over endpoints and certificates of this snapshot, where nothing else has changed
    /// since the last translation. Returns whether that was enough; otherwise hosts have to be
    /// built.
    pub fn follow_tables(&mut self, kept: &mut LastTranslation, snapshot: &Snapshot, world: &World) -> bool {
        let renewed = self.renew(snapshot);
        self.built.follow(snapshot, &kept.options);
        self.rows.learn(self.built.refresh(snapshot, world, &kept.options, &kept.outside));
        let is_enough = renewed.iter().all(|one| self.is_row_alone(&one.of.id, kept, snapshot));
        kept.snapshot.secrets = snapshot.secrets.clone();
        is_enough && !self.built.is_stale && self.built.is_unchanged()
    }

    /// Whether a certificate that was renewed concerns no annotation, no budget and no challenge.
    fn is_row_alone(&self, id: &CertificateId, kept: &LastTranslation, snapshot: &Snapshot) -> bool {
        let CertificateId::Secret(id) = id else { return false };
        let is_named = |option: &OptionEntry| option.value.contains(&*id.name) && option.row.form.refers_to().is_some();
        let chain = |intent: &Intent, snapshot: &Snapshot| {
            let secrets = intent.tls.iter().filter_map(|entry| entry.secret.as_deref());
            longest_chain(&id.namespace, secrets, snapshot)
        };
        let names = |intent: &Intent| {
            intent.of.id.namespace == id.namespace
                && intent.tls.iter().any(|entry| entry.secret.as_deref() == Some(&*id.name))
        };
        let is_indifferent = |intent: &Intent| {
            !intent.options.iter().any(is_named)
                && (!names(intent) || chain(intent, &kept.snapshot) == chain(intent, snapshot))
        };
        let [before, now] = [&kept.snapshot, snapshot].map(|one| challenges::is_issued(&id.namespace, &id.name, one));
        before == now
            && !kept.options.defaults.iter().any(is_named)
            && self.readings.values().all(|known| is_indifferent(&known.intent))
    }

    /// Adds the tables to a translation that has its model.
    pub fn complete(&mut self, mut translation: Translation, options: &Options, now: i64) -> Translation {
        let Made { tables, mut findings, due, changed } = self.rows.tables(&translation.model, &options.limits, now);
        (translation.tables, translation.work.rows) = (tables, changed);
        translation.due = [translation.due, due].into_iter().flatten().min();
        if !findings.is_empty() {
            attach::relate(&self.aliased, &mut findings);
            translation.findings.extend(findings);
            translation.findings.sort();
            translation.findings.dedup();
        }
        translation
    }

    /// Replaces rules with aliases by equal ones of the last translation, so that later steps can
    /// compare them by pointer.
    pub fn keep_rules(&mut self, attached: &mut [Attached<'_>]) {
        let before = std::mem::take(&mut self.rules);
        for object in attached.iter_mut().filter(|object| object.implied_at.is_some()) {
            let id = &object.intent.of.id;
            if let Some(same) = before.get(id).filter(|rules| **rules == object.rules) {
                object.rules = Arc::clone(same);
            }
            self.rules.insert(Arc::clone(id), Arc::clone(&object.rules));
        }
    }

    /// Replaces parts of the model by equal ones of the last model, so that later steps can
    /// compare them by pointer; a model that is equal as a whole is the last one.
    pub fn share(&mut self, mut model: Model) -> Arc<Model> {
        let last = &*self.model;
        share(&mut model.servers, &last.servers, |server| &server.name);
        share(&mut model.upstreams, &last.upstreams, |upstream| &upstream.id);
        share(&mut model.certificates, &last.certificates, |certificate| &certificate.id);
        share(&mut model.password_files, &last.password_files, |file| &file.id);
        share(&mut model.authorities, &last.authorities, |authority| &authority.id);
        share(&mut model.streams, &last.streams, |stream| &stream.listener.port);
        share(&mut model.stream_upstreams, &last.stream_upstreams, |upstream| &upstream.id);
        if model != *last {
            self.model = Arc::new(model);
        }
        Arc::clone(&self.model)
    }

    /// Replaces states by equal ones of the last translation. Returns the number of those that
    /// differ.
    pub fn share_states(&mut self, states: &mut Vec<Arc<ObjectState>>) -> usize {
        let changed = share(states, &self.states, |state| &state.id);
        self.states.clone_from(states);
        changed
    }
}

/// Both lists are sorted by the key. Returns how many items are new or differ.
fn share<T: PartialEq + Send + Sync, K: Ord>(new: &mut [Arc<T>], old: &[Arc<T>], key: fn(&T) -> &K) -> usize {
    let mut old = old.iter().peekable();
    let namesakes = new.iter().map(|item| {
        while old.next_if(|candidate| key(candidate) < key(item)).is_some() {}
        old.next_if(|candidate| key(candidate) == key(item))
    });
    let namesakes: Vec<_> = namesakes.collect();
    let pairs = new.par_iter_mut().zip(namesakes).with_min_len(SMALLEST_PART);
    let changed = pairs.filter_map(|(item, old)| {
        let same = old.filter(|old| Arc::ptr_eq(old, item) || *old == item);
        same.map(|same| *item = Arc::clone(same)).is_none().then_some(())
    });
    changed.count()
}
