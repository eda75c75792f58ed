//! What counts for each object: what it says itself, over what the administrator says for all. It
//! is merged anew only where one of them, or something that they name, has changed.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};

use crate::attach::Attached;
use crate::dialects::{self, ANNOTATIONS, Table};
use crate::read::intent::Intent;
use crate::select::Selected;
use crate::{ClassRule, CommonPolicy, Dialect, Layer, Options, Policy, SPECIFICATION};
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::Snapshot;

/// How options are read.
type Semantics = (&'static Dialect, &'static Table);

/// The policies of objects, and for each way to read options what counts where nobody says any.
#[derive(Debug, Default)]
pub struct Policies {
    of_objects: HashMap<Arc<ObjectId>, Merged>,
    plain: Vec<Merged>,
}

#[derive(Debug)]
struct Merged {
    /// What the object says itself: the same while its address is.
    own: Layer,
    semantics: Semantics,
    policy: Policy,
    /// Whether an option of the object may name a Secret, on which the policy then depends, or is
    /// a snippet.
    refers: bool,
    /// Whether what is below the object has changed since.
    is_stale: bool,
}

impl Merged {
    /// Merges the layers. What is equal to a part of another policy is shared with it.
    fn new<'p>(
        object: &Arc<ObjectId>,
        own: &Layer,
        semantics: Semantics,
        (snapshot, options): (&Snapshot, &Options),
        others: impl Iterator<Item = &'p Policy> + Clone,
    ) -> Self {
        let mut reading = dialects::merge(object, own, semantics, snapshot, options);
        let mut behaviour = std::mem::take(&mut reading.behaviour);
        // The lists stay in memory as long as the object.
        behaviour.directives.shrink_to_fit();
        reading.findings.shrink_to_fit();
        let reading = shared(reading, others.clone().map(|other| &other.reading));
        let policy = Policy { reading, behaviour: shared(behaviour, others.map(|other| &other.behaviour)) };
        let has_snippets = !options.snippets.is_empty();
        let mut rows = own.iter().map(|option| option.row);
        let refers = rows.any(|row| row.form.refers_to().is_some() || (has_snippets && row.snippet.is_some()));
        Merged { own: Arc::clone(own), semantics, policy, refers, is_stale: false }
    }

    fn is_of(&self, own: &Layer, semantics: Semantics) -> bool {
        !self.is_stale && Arc::ptr_eq(&self.own, own) && self.semantics == semantics
    }
}

/// The value, or an equal one that is in memory already.
fn shared<'p, T: PartialEq + 'p>(value: T, mut others: impl Iterator<Item = &'p Arc<T>>) -> Arc<T> {
    others.find(|other| ***other == value).map_or_else(|| Arc::new(value), Arc::clone)
}

impl Policies {
    /// Forgets what depends on other objects than the one that says the options.
    pub fn forget_references(&mut self) {
        self.of_objects.values_mut().for_each(|known| known.is_stale |= known.refers);
    }

    /// Forgets everything: the administrator says something else.
    pub fn forget(&mut self) {
        self.of_objects.values_mut().chain(&mut self.plain).for_each(|known| known.is_stale = true);
    }

    /// Lets go of those of objects that are gone, where these are many.
    pub fn shrink(&mut self, objects: usize) {
        if self.of_objects.len() > 2 * objects {
            self.of_objects.clear();
        }
    }

    /// What counts where no object has a say.
    pub fn common(&mut self, snapshot: &Snapshot, options: &Options) -> CommonPolicy {
        let semantics = options.classes.first().map_or((&SPECIFICATION, &ANNOTATIONS), semantics);
        CommonPolicy { dialect: semantics.0, policy: self.plain(semantics, (snapshot, options)) }
    }

    fn plain(&mut self, semantics: Semantics, given: (&Snapshot, &Options)) -> Policy {
        let (object, own) = (Arc::new(ObjectId::new(Kind::SETTINGS, "", "default-backend")), Layer::default());
        let known = self.plain.iter().position(|known| known.semantics == semantics);
        let known = known.map(|known| self.plain.swap_remove(known));
        let merged = match known {
            Some(known) if !known.is_stale => known,
            known => Merged::new(&object, &own, semantics, given, known.iter().map(|known| &known.policy)),
        };
        let policy = merged.policy.clone();
        self.plain.push(merged);
        policy
    }

    /// Attaches these intents to their classes and to what counts for them; what is not known yet
    /// is merged on all processors. Objects that say nothing share what counts.
    pub fn attach<'a>(
        &mut self,
        intents: Vec<Arc<Intent>>,
        selected: &[Selected<'a>],
        snapshot: &Snapshot,
        options: &Options,
    ) -> Vec<Attached<'a>> {
        let given = (snapshot, options);
        let plain: Vec<_> = options.classes.iter().map(|class| self.plain(semantics(class), given)).collect();
        let anew = intents.par_iter().zip(selected).map(|(intent, Selected { class, .. })| {
            let (known, semantics) = (self.of_objects.get(&intent.of.id), semantics(class));
            if known.is_some_and(|known| known.is_of(&intent.options, semantics)) {
                return None;
            }
            let others = known.map(|known| &known.policy).into_iter().chain(&plain);
            Some(Merged::new(&intent.of.id, &intent.options, semantics, given, others))
        });
        let anew: Vec<_> = anew.collect();
        let all = intents.into_iter().zip(selected).zip(anew).filter_map(|((intent, Selected { class, .. }), anew)| {
            if let Some(anew) = anew {
                self.of_objects.insert(Arc::clone(&intent.of.id), anew);
            }
            let policy = self.of_objects.get(&intent.of.id)?.policy.clone();
            Some(Attached::new(intent, class, policy))
        });
        all.collect()
    }
}

fn semantics(class: &ClassRule) -> Semantics {
    (class.dialect, class.annotations)
}

/// What counts where no object has a say.
pub fn common(snapshot: &Snapshot, options: &Options) -> CommonPolicy {
    Policies::default().common(snapshot, options)
}
