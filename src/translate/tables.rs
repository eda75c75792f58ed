//! Which annotations are read, and by whom: the one place where the semantics of Ingresses meet the engine and the tables of dialects.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::Ingress;

use super::annotation::{self, Context};
use super::{ClassRule, DefaultValue, Dialect, Options, Reading, RequestedAuthentication};
use crate::model::{Behaviour, Kind, ObjectId};
use crate::source::{Snapshot, Stored};

pub use super::annotation::{Table, Trust};
pub use super::ingress_nginx::services::claims as claims_on_ports;
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
#[derive(Debug)]
pub struct Everywhere {
    /// Whose semantics count.
    pub dialect: Dialect,
    /// How requests are served.
    pub behaviour: Arc<Behaviour>,
    /// Something that protects everything is wrong.
    pub closed: bool,
    /// The service that is asked about clients.
    pub authentication: Option<Arc<RequestedAuthentication>>,
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

/// Whether a default of an annotation of ingress-nginx can be used: what is wrong with it, and whether it protects something.
pub fn judge_default(default: &DefaultValue, under: &Options) -> Reading {
    annotation::judge(&ANNOTATIONS, Dialect::IngressNginx, default, under)
}
