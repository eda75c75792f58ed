//! Which annotations are read, and by whom: the one place where the semantics of Ingresses meet the engine and the tables of dialects.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::Ingress;

use super::annotation::{self, Context};
use super::ingress_nginx::{external_authentication, snippet};
use super::{ClassRule, DefaultValue, Dialect, Everywhere, Options, Reading, class};
use crate::model::{HostName, Kind, ObjectId};
use crate::source::{Snapshot, Stored};

pub use super::annotation::{Table, Trust};
pub use super::ingress_nginx::services::claims as claims_on_ports;
pub use super::ingress_nginx::snippet::variables as snippet_variables;
pub use super::ingress_nginx::{PREFIX, TABLE as ANNOTATIONS};

/// What the annotations of an object ask for.
pub fn read(ingress: &Stored<Ingress>, rule: &ClassRule, snapshot: &Snapshot, options: &Options) -> Reading {
    let none = BTreeMap::new();
    let annotations = ingress.object.metadata.annotations.as_ref().unwrap_or(&none);
    let (object, namespace) = (&ingress.id, &*ingress.id.namespace);
    let (dialect, table) = (rule.dialect, rule.annotations);
    annotation::read(&Context { object, namespace, dialect, table, snapshot, options }, annotations)
}

/// What the administrator asks for where no object has a say.
pub fn everywhere(snapshot: &Snapshot, options: &Options) -> Everywhere {
    let (dialect, table) = match options.classes.first() {
        Some(rule) => (rule.dialect, rule.annotations),
        None => (Dialect::Specification, &ANNOTATIONS),
    };
    let object = &Arc::new(ObjectId::new(Kind::Settings, "", "default-backend"));
    let context = Context { object, namespace: "", dialect, table, snapshot, options };
    let Reading { behaviour, closed, authentication, .. } = annotation::read(&context, &BTreeMap::new());
    Everywhere { dialect, behaviour: Arc::new(behaviour), closed, authentication }
}

/// What does the same as a snippet, one clause for each of its directives.
pub fn snippet_alternatives(text: &str) -> Vec<String> {
    snippet::alternatives(&ANNOTATIONS, text)
}

/// The directives that a snippet may have, in Markdown.
pub fn snippet_directives() -> String {
    snippet::document(&ANNOTATIONS)
}

/// Whether a default of an annotation of ingress-nginx can be used: what is wrong with it, and whether it protects something.
pub fn judge_default(default: &DefaultValue, under: &Options) -> Reading {
    annotation::judge(&ANNOTATIONS, Dialect::IngressNginx, default, under)
}

/// The hosts of services that say who may pass, as far as objects of ours or the administrator name them, with the namespaces that do.
pub fn hosts_of_services<'a>(snapshot: &'a Snapshot, options: &'a Options) -> Vec<(HostName, &'a Arc<str>)> {
    let everywhere = options.defaults.iter().filter(|default| default.key == external_authentication::KEY);
    let everywhere = everywhere.map(|default| (&*default.value, &default.origin.object.namespace));
    let of_objects = snapshot.ingresses.iter().filter_map(|stored| {
        let annotations = stored.object.metadata.annotations.as_ref()?;
        // Whatever dialect reads it, it is a key of the table.
        let value = annotations.get(external_authentication::FULL_KEY)?;
        class::select(stored, snapshot, options).ok()?;
        Some((value.as_str(), &stored.id.namespace))
    });
    let all = everywhere.chain(of_objects);
    all.filter_map(|(value, namespace)| Some((external_authentication::name(value)?, namespace))).collect()
}
