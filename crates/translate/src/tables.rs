//! Connects the engine with the tables of dialects: the only place where the semantics of
//! Ingresses meet annotations.

use std::sync::Arc;

use crate::annotation::{self, Context, NotedOptions, Row};
use crate::ingress_nginx::{errors, external_authentication, mirror, snippet};
use crate::select::class;
use crate::value::ServiceAddress;
use crate::{ClassRule, DefaultValue, Everywhere, INGRESS_NGINX, Options, Reading, SPECIFICATION};
use ingressd_model::{Effective, Kind, ObjectId, WrittenAt};
use ingressd_objects::{Ingress, Snapshot, Stored, StringMap};

pub use crate::annotation::{Basis, Change, Scope, Table, Trust};
pub use crate::ingress_nginx::password as passwords;
pub use crate::ingress_nginx::services::claims as claims_on_ports;
pub use crate::ingress_nginx::snippet::{
    of_streams as stream_directives, tables as lookup_tables, variables as snippet_variables,
};
pub use crate::ingress_nginx::{PREFIX, TABLE as ANNOTATIONS};

/// Reads the annotations of an object, and returns the settings that the reading depends on.
pub fn read(ingress: &Stored<Ingress>, rule: &ClassRule, snapshot: &Snapshot, options: &Options) -> (Reading, Basis) {
    let annotations = &ingress.object.annotations;
    let (object, namespace) = (&ingress.id, &*ingress.id.namespace);
    let (dialect, table, options) = (rule.dialect, rule.annotations, &NotedOptions::new(options));
    annotation::read_with_basis(&Context { object, namespace, dialect, table, snapshot, options }, annotations)
}

/// What counts of each annotation for an Ingress, and what that took the place of; nothing where
/// it is none of ours. `settings` tells what counts of a setting.
pub fn effective_annotations(
    id: &ObjectId,
    snapshot: &Snapshot,
    options: &Options,
    settings: &dyn Fn(&str) -> Option<Effective>,
) -> Vec<(&'static Table, &'static Row, Effective)> {
    let Some(stored) = snapshot.ingresses.find(&id.namespace, &id.name).filter(|_| id.kind == Kind::Ingress) else {
        return Vec::new();
    };
    let Ok(rule) = class::select(stored, snapshot, options) else { return Vec::new() };
    let annotations = &stored.object.annotations;
    let (object, namespace, table) = (&stored.id, &*id.namespace, rule.annotations);
    let (dialect, noted) = (rule.dialect, &NotedOptions::new(options));
    let context = Context { object, namespace, dialect, table, snapshot, options: noted };
    let is_canary = annotation::read(&context, annotations).canary.is_some();
    let rows = table.rows().filter(|row| row.is_served() || row.is_allowed_somewhere(options));
    let rows = rows.filter(|row| row.counts_on_canary || !is_canary);
    let found = rows.filter_map(|row| {
        let effective = annotation::effective(&context, annotations, row.key, settings)?;
        // Alone it has no effect.
        let is_idle = effective.counts.at == WrittenAt::BuiltIn && !row.counts_with.is_empty();
        (!is_idle).then_some((table, row, effective))
    });
    found.collect()
}

/// What the administrator asks for where no object has a say.
pub fn everywhere(snapshot: &Snapshot, options: &Options) -> Everywhere {
    let (dialect, table) = match options.classes.first() {
        Some(rule) => (rule.dialect, rule.annotations),
        None => (&SPECIFICATION, &ANNOTATIONS),
    };
    let (object, options) =
        (&Arc::new(ObjectId::new(Kind::Settings, "", "default-backend")), &NotedOptions::new(options));
    let context = Context { object, namespace: "", dialect, table, snapshot, options };
    let Reading { behaviour, closed, authentication, .. } = annotation::read(&context, &StringMap::default());
    Everywhere { dialect, behaviour: Arc::new(behaviour), closed, authentication }
}

/// The alternatives to a snippet, one clause for each of its directives.
pub fn snippet_alternatives(key: &str, text: &str) -> Vec<String> {
    snippet::alternatives(&ANNOTATIONS, key, text)
}

/// The directives that a snippet may have, in Markdown.
pub fn snippet_directives() -> String {
    snippet::document(&ANNOTATIONS)
}

/// Checks whether a default of an annotation can be used: the result has its faults, and whether
/// it protects something.
pub fn judge_default(default: &DefaultValue, under: &Options) -> Reading {
    annotation::judge(&ANNOTATIONS, &INGRESS_NGINX, default, under)
}

/// Extracts the address of a service from a value.
type AddressOf = fn(&str) -> Option<ServiceAddress>;

/// The annotations that name services by URLs.
const SERVICES: [(&str, AddressOf); 2] =
    [(external_authentication::FULL_KEY, external_authentication::address), (mirror::FULL_KEY, mirror::address)];

/// The addresses of services that objects of our classes or the administrator name by URLs, with
/// the namespaces.
pub fn services_by_url<'a>(
    snapshot: &'a Snapshot,
    options: &'a Options,
) -> impl Iterator<Item = (ServiceAddress, &'a Arc<str>)> {
    let everywhere = options.defaults.iter().filter(|default| default.key == external_authentication::KEY);
    let everywhere = everywhere.filter_map(|default| {
        Some((external_authentication::address(&default.value)?, &default.origin.object.namespace))
    });
    let of_objects = snapshot.ingresses.iter().flat_map(move |stored| {
        // The annotation is a key of the table in both dialects.
        let all = SERVICES.iter().filter_map(move |(key, address)| address(stored.object.annotations.get(key)?));
        all.filter(move |_| class::select(stored, snapshot, options).is_ok())
            .map(move |address| (address, &stored.id.namespace))
    });
    everywhere.chain(of_objects)
}

/// The Service that an object names as default backend in an annotation.
pub fn default_backend(ingress: &Ingress) -> Option<&str> {
    ingress.annotations.get(errors::BACKEND).map(str::trim)
}
