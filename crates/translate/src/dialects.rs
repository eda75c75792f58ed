//! Connects the engine with the tables of dialects: the only place where the semantics of
//! Ingresses meet annotations.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::annotation::{self, Context, Row};
use crate::ingress_nginx::{errors, external_authentication, mirror, snippet};
use crate::read::ingress;
use crate::read::reader::{Declared, ReadKind, Reader, Readers};
use crate::select::seen::Seen;
use crate::select::{self, class};
use crate::value::{ServiceAddress, secret_reference};
use crate::{ClassRule, Dialect, INGRESS_NGINX, Options, Reading};
use ingressd_model::finding::Finding;
use ingressd_model::{Effective, Kind, ObjectId, WrittenAt, is_subdomain};
use ingressd_objects::{Ingress, Snapshot, Stored};

pub use crate::annotation::{Layer, OptionEntry, Scope, Table};
pub use crate::ingress_nginx::password as passwords;
pub use crate::ingress_nginx::services::claims as claims_on_ports;
pub use crate::ingress_nginx::snippet::{
    of_streams as stream_directives, tables as lookup_tables, variables as snippet_variables,
};
pub use crate::ingress_nginx::{PREFIX, TABLE as ANNOTATIONS};

/// The options that an Ingress of this class says itself, with findings about keys that are none.
pub fn options(ingress: Seen<'_, Ingress>, rule: &ClassRule, options: &Options) -> (Layer, Vec<Finding>) {
    annotation::options(ingress.entry.id, &ingress.object.annotations, rule.annotations, options.keys_of_config_map)
}

/// The readers of kinds of Kubernetes.
pub static READERS: [Reader; 1] = [Reader::of::<Ingresses>()];

impl Default for Readers {
    fn default() -> Self {
        Readers(&READERS)
    }
}

/// How Ingresses are read.
pub struct Ingresses;

impl ReadKind for Ingresses {
    type Kept = Ingress;

    const KIND: Kind = Kind::INGRESS;

    fn select<'o>(
        seen: Seen<'_, Ingress>,
        snapshot: &Snapshot,
        options: &'o Options,
    ) -> Result<&'o ClassRule, Box<Finding>> {
        class::select(seen, snapshot, options)
    }

    fn read(seen: Seen<'_, Ingress>, class: &ClassRule, _: &Snapshot, options: &Options) -> Declared {
        Declared { intent: ingress::read(seen, self::options(seen, class, options)), looked_up: Vec::new() }
    }

    /// Those of its TLS entries and of its annotations. Keys that are in no table of ours would
    /// fill the memory of every node.
    fn needs(seen: Seen<'_, Ingress>, options: &Options) -> BTreeSet<ObjectId> {
        let own = &*seen.entry.id.namespace;
        let of_tls = seen.object.tls.iter().filter_map(|tls| tls.secret_name.as_deref());
        let of_tls = of_tls.filter(|name| is_subdomain(name)).map(|name| ObjectId::new(Kind::SECRET, own, name));
        let named = |(key, value)| {
            let (row, _) = options.classes.iter().find_map(|class| class.annotations.entry(key))?;
            let (kind, (namespace, name)) = (row.form.refers_to()?, secret_reference(value).ok()?);
            Some(ObjectId::new(kind, namespace.unwrap_or(own), name))
        };
        of_tls.chain(seen.object.annotations.iter().filter_map(named)).collect()
    }
}

/// What counts for an object that says these options itself.
pub fn merge(
    object: &Arc<ObjectId>,
    own: &Layer,
    (dialect, table): (&'static Dialect, &'static Table),
    snapshot: &Snapshot,
    options: &Options,
) -> Reading {
    annotation::merge(&Context { object, dialect, table, snapshot, options }, own)
}

/// What counts of each annotation for an object, and what that took the place of; nothing where it
/// is none of ours. `settings` tells what counts of a setting.
pub fn effective_annotations(
    id: &ObjectId,
    snapshot: &Snapshot,
    (readers, options): (Readers, &Options),
    settings: &dyn Fn(&str) -> Option<Effective>,
) -> Vec<(&'static Table, &'static Row, Effective)> {
    let read = || {
        let (entry, reader) = (snapshot.entry(id)?, readers.of(id.kind)?);
        let rule = (reader.select)(entry, snapshot, options)?.ok()?;
        Some((entry.id, rule, reader.read(entry, rule, snapshot, options)?.intent.options))
    };
    let Some((object, rule, own)) = read() else { return Vec::new() };
    let (dialect, table) = (rule.dialect, rule.annotations);
    let context = Context { object, dialect, table, snapshot, options };
    let is_canary = annotation::merge(&context, &own).canary.is_some();
    let rows = table.rows().filter(|row| row.is_served() || row.is_allowed_somewhere(options));
    let rows = rows.filter(|row| row.counts_on_canary || !is_canary);
    let found = rows.filter_map(|row| {
        let effective = annotation::effective(&context, &own, row, settings)?;
        // Alone it has no effect.
        let is_idle = effective.counts.at == WrittenAt::BuiltIn && !row.counts_with.is_empty();
        (!is_idle).then_some((table, row, effective))
    });
    found.collect()
}

/// The alternatives to a snippet, one clause for each of its directives.
pub fn snippet_alternatives(key: &str, text: &str) -> Vec<String> {
    snippet::alternatives(&ANNOTATIONS, key, text)
}

/// The directives that a snippet may have, in Markdown.
pub fn snippet_directives() -> String {
    snippet::document(&ANNOTATIONS)
}

/// Checks whether an option of the ConfigMap can be used: the result has its faults, and whether
/// it protects something.
pub fn judge(option: &OptionEntry, under: &Options) -> Reading {
    let Options { limits, lookup_tables, .. } = under.clone();
    let options = Options { defaults: [option.clone()].into(), limits, lookup_tables, ..Options::default() };
    merge(&option.at.object, &Layer::default(), (&INGRESS_NGINX, &ANNOTATIONS), &Snapshot::default(), &options)
}

/// Extracts the address of a service from a value.
type AddressOf = fn(&str) -> Option<ServiceAddress>;

/// The annotations that name services by URLs, without the prefix.
const SERVICES: [(&str, AddressOf); 2] =
    [(external_authentication::KEY, external_authentication::address), (mirror::KEY, mirror::address)];

/// The addresses of services that objects of our classes or the administrator name by URLs, with
/// the namespaces.
pub fn services_by_url<'a>(
    snapshot: &'a Snapshot,
    options: &'a Options,
) -> impl Iterator<Item = (ServiceAddress, &'a Arc<str>)> {
    let common = options.defaults.iter().filter(|option| option.row.key == external_authentication::KEY);
    let common = common
        .filter_map(|option| Some((external_authentication::address(&option.value)?, &option.at.object.namespace)));
    let names_one = |stored: &&Stored<Ingress>| {
        let mut written = stored.object.annotations.iter().map(|(key, _)| key);
        written.any(|written| SERVICES.iter().any(|(key, _)| written.ends_with(key)))
    };
    let of_objects = snapshot.ingresses.iter().filter(names_one).flat_map(move |stored| {
        let class = select::of_ingress(stored, snapshot, options);
        // The annotation is a key of the table in both dialects.
        let written = move |key: &str| stored.object.annotations.get(&format!("{}{key}", class?.annotations.prefix));
        let all = SERVICES.iter().filter_map(move |(key, address)| address(written(key)?));
        all.map(move |address| (address, &stored.id.namespace))
    });
    common.chain(of_objects)
}

/// The Service that an object of this class names as default backend in an annotation.
pub fn default_backend<'o>(ingress: &'o Ingress, class: &ClassRule) -> Option<&'o str> {
    ingress.annotations.get(&format!("{}{}", class.annotations.prefix, errors::BACKEND)).map(str::trim)
}
