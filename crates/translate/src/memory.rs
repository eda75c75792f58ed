//! The caches of a translator. They must not change any result.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use rayon::prelude::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _,
};

use crate::attach::Attached;
use crate::build::built::BuiltHosts;
use crate::kept::Kept;
use crate::read::ingress;
use crate::read::intent::Intent;
use crate::read::rule::Rule;
use crate::secret::certificate::Certificates;
use crate::tables::{self, Basis, Change, Table};
use crate::{ClassRule, Dialect, Names, Options, Reading, SMALLEST_PART, Translation, Work, admit};
use ingressd_model::{Behaviour, Model, ObjectId};
use ingressd_objects::references::may_refer;
use ingressd_objects::{Ingress, Snapshot, Stored, Version};

/// What is kept from one translation to the next.
#[derive(Debug, Default)]
pub struct Memory {
    /// Checked certificates.
    pub certificates: Certificates,
    /// Built hosts.
    pub built: BuiltHosts,
    readings: HashMap<Arc<ObjectId>, Remembered>,
    /// The versions of objects that annotations may refer to. When one changes, annotations that
    /// may refer to something are read again.
    referable: Vec<(Arc<ObjectId>, Version)>,
    model: Model,
    /// The last translation.
    pub kept: Option<Kept>,
    /// How many objects were read since this was last asked.
    read: usize,
    /// The rules of objects with aliases.
    rules: HashMap<Arc<ObjectId>, Arc<[Rule]>>,
}

#[derive(Debug)]
struct Remembered {
    dialect: &'static Dialect,
    table: &'static Table,
    basis: Basis,
    intent: Arc<Intent>,
    /// Whether an annotation may name a Secret, on which the reading then depends, or is a
    /// snippet.
    refers: bool,
}

/// What most objects have, because no annotation of theirs says anything about it.
static NO_READING: LazyLock<Arc<Reading>> = LazyLock::new(Arc::default);
static NO_BEHAVIOUR: LazyLock<Arc<Behaviour>> = LazyLock::new(Arc::default);

/// The value, or the one that all objects share which have none.
fn shared<T: PartialEq>(value: T, none: &Arc<T>) -> Arc<T> {
    if value == **none { Arc::clone(none) } else { Arc::new(value) }
}

impl Remembered {
    fn read(ingress: &Stored<Ingress>, class: &ClassRule, snapshot: &Snapshot, options: &Options) -> Self {
        let (mut reading, basis) = tables::read(ingress, class, snapshot, options);
        let mut behaviour = std::mem::take(&mut reading.behaviour);
        // The list stays in memory as long as the object.
        behaviour.directives.shrink_to_fit();
        reading.findings.shrink_to_fit();
        let (reading, behaviour) = (shared(reading, &NO_READING), shared(behaviour, &NO_BEHAVIOUR));
        let intent = Arc::new(ingress::read(ingress, class, reading, behaviour));
        let refers = ingress.object.annotations.iter().any(|(key, _)| {
            let row = || class.annotations.find(key.strip_prefix(class.annotations.prefix)?);
            may_refer(key) || (!options.snippets.is_empty() && row().is_some_and(|row| row.snippet.is_some()))
        });
        Remembered { dialect: class.dialect, table: class.annotations, basis, intent, refers }
    }

    fn is_of(&self, ingress: &Stored<Ingress>, rule: &ClassRule) -> bool {
        let of = &self.intent.of;
        let (uid, created) = (ingress.object.uid.as_deref(), ingress.object.created);
        let written = ingress.place.as_ref().and_then(|place| place.file.written);
        of.version == ingress.version
            && (of.uid.as_deref(), of.created, of.written) == (uid, created, written)
            && self.dialect == rule.dialect
            && self.table == rule.annotations
    }
}

impl Memory {
    /// Drops what this snapshot may have made wrong.
    pub fn begin(&mut self, snapshot: &Snapshot) {
        let referable = || {
            let secrets = snapshot.secrets.iter().map(|secret| (&secret.id, &secret.version));
            let maps = snapshot.config_maps.iter().map(|map| (&map.id, &map.version));
            // Labels of namespaces decide where snippets are allowed.
            secrets.chain(maps).chain(snapshot.namespaces.iter().map(|namespace| (&namespace.id, &namespace.version)))
        };
        if !referable().eq(self.referable.iter().map(|(id, version)| (id, version))) {
            self.readings.retain(|_, known| !known.refers);
            self.referable = referable().map(|(id, version)| (Arc::clone(id), version.clone())).collect();
        }
        if self.readings.len() > 2 * snapshot.ingresses.len() {
            self.readings.clear();
        }
    }

    /// Drops what is different under other settings.
    pub fn follow(&mut self, before: &Options, after: &Options) {
        let change = Change::between(before, after);
        self.readings.retain(|_, known| known.basis.outlasts(known.table, &change));
        if *after != (Options { now: after.now, ..before.clone() }) {
            self.kept = None;
        }
        // Hosts do not depend on the time and the claims of other nodes.
        let (now, claim_orders) = (after.now, Arc::clone(&after.claim_orders));
        if *after != (Options { now, claim_orders, ..before.clone() }) {
            self.built.forget();
        }
    }

    /// What these objects ask for, in their order. Objects that are not cached yet are read on all
    /// processors.
    pub fn read_all(
        &mut self,
        ingresses: &[(&Stored<Ingress>, &ClassRule)],
        snapshot: &Snapshot,
        options: &Options,
    ) -> Vec<Arc<Intent>> {
        let readings = &self.readings;
        let known =
            |ingress: &Stored<Ingress>, class| readings.get(&ingress.id).filter(|known| known.is_of(ingress, class));
        let read = ingresses.par_iter().map(|(ingress, class)| match known(ingress, class) {
            Some(known) => Ok(Arc::clone(&known.intent)),
            None => Err(Remembered::read(ingress, class, snapshot, options)),
        });
        let read: Vec<_> = read.collect();
        let anew = read.iter().filter(|read| read.is_err()).count();
        self.read += anew;
        self.readings.reserve(anew);
        let all = read.into_iter().zip(ingresses).map(|(read, (ingress, _))| {
            read.unwrap_or_else(|remembered| {
                let intent = Arc::clone(&remembered.intent);
                self.readings.insert(Arc::clone(&ingress.id), remembered);
                intent
            })
        });
        all.collect()
    }

    /// How many objects were read since this was last asked.
    pub fn take_read(&mut self) -> usize {
        std::mem::take(&mut self.read)
    }

    /// The last translation with the endpoints of this snapshot, where nothing else has changed;
    /// `None` where hosts have to be built for that.
    pub fn follow_endpoints(&mut self, kept: &Kept, snapshot: &Snapshot, names: &Names) -> Option<Translation> {
        let options = &*kept.options;
        self.built.begin(snapshot, options);
        self.built.refresh(snapshot, names, options);
        if self.built.is_stale || self.built.has_moved(&kept.dependencies) {
            return None;
        }
        let mut translation = kept.translation.clone();
        let Translation { model, findings, .. } = &mut translation;
        let told = findings.len();
        self.built.renew(&mut model.upstreams);
        admit::bound_endpoints(&mut model.upstreams, &model.servers, &options.limits, findings);
        // Findings about many endpoints are not those of the last translation.
        if findings.len() != told {
            return None;
        }
        share(&mut model.upstreams, &self.model.upstreams, |upstream| &upstream.id);
        self.model.upstreams.clone_from(&model.upstreams);
        translation.work = Work { rows: self.built.rows, ..Work::default() };
        Some(translation)
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
    /// compare them by pointer.
    pub fn share(&mut self, model: &mut Model) {
        share(&mut model.servers, &self.model.servers, |server| &server.name);
        share(&mut model.upstreams, &self.model.upstreams, |upstream| &upstream.id);
        share(&mut model.certificates, &self.model.certificates, |certificate| &certificate.id);
        share(&mut model.password_files, &self.model.password_files, |file| &file.id);
        share(&mut model.authorities, &self.model.authorities, |authority| &authority.id);
        share(&mut model.streams, &self.model.streams, |stream| &stream.listener.port);
        share(&mut model.stream_upstreams, &self.model.stream_upstreams, |upstream| &upstream.id);
        self.model = model.clone();
    }
}

/// Both lists are sorted by the key.
fn share<T: PartialEq + Send + Sync, K: Ord>(new: &mut [Arc<T>], old: &[Arc<T>], key: fn(&T) -> &K) {
    let mut old = old.iter().peekable();
    let namesakes = new.iter().map(|item| {
        while old.next_if(|candidate| key(candidate) < key(item)).is_some() {}
        old.next_if(|candidate| key(candidate) == key(item))
    });
    let namesakes: Vec<_> = namesakes.collect();
    let pairs = new.par_iter_mut().zip(namesakes).with_min_len(SMALLEST_PART);
    pairs.for_each(|(item, old)| {
        if let Some(same) = old.filter(|old| Arc::ptr_eq(old, item) || *old == item) {
            *item = Arc::clone(same);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_say_nothing_are_in_memory_once() {
        let read = |use_regex| shared(Reading { use_regex, ..Reading::default() }, &NO_READING);
        assert!(Arc::ptr_eq(&read(false), &read(false)));
        assert!(read(true).use_regex && !Arc::ptr_eq(&read(true), &read(true)));
    }
}
