//! One check of a policy, said twice side by side: as an expression for an API server, and for this program.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::networking::v1::{Ingress, IngressSpec};

use crate::model::Field;
use crate::source::{Snapshot, Stored};

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its annotations.
    pub annotations: &'a BTreeMap<String, String>,
    /// What it asks for.
    pub spec: &'a IngressSpec,
    /// Its namespace.
    pub namespace: &'a str,
    /// The labels of that, if they are known.
    pub labels: Option<&'a BTreeMap<String, String>>,
}

static NO_ANNOTATIONS: BTreeMap<String, String> = BTreeMap::new();
static NO_SPEC: IngressSpec = IngressSpec { default_backend: None, ingress_class_name: None, rules: None, tls: None };

impl<'a> Candidate<'a> {
    /// The object, with what the snapshot knows of its namespace.
    pub fn new(stored: &'a Stored<Ingress>, snapshot: &'a Snapshot) -> Self {
        let namespace = &*stored.id.namespace;
        Candidate {
            annotations: stored.object.metadata.annotations.as_ref().unwrap_or(&NO_ANNOTATIONS),
            spec: stored.object.spec.as_ref().unwrap_or(&NO_SPEC),
            namespace,
            labels: snapshot.namespace(namespace).map(|stored| &stored.object.labels),
        }
    }

    /// The value of an annotation, unless it is empty, which is the same as none.
    pub fn value(&self, key: &str) -> Option<&'a str> {
        self.annotations.get(key).map(String::as_str).filter(|value| !value.trim().is_empty())
    }
}

pub type Wrong<'a> = Box<dyn Fn(&Candidate<'_>) -> Vec<Field> + 'a>;

/// What a policy asks for.
pub struct Check<'a> {
    /// True of what is right, in CEL.
    pub expression: String,
    /// What is told of what is wrong.
    pub message: String,
    /// The same, naming what is wrong, in CEL.
    pub naming: Option<String>,
    /// Where it is wrong.
    pub wrong: Wrong<'a>,
}

impl fmt::Debug for Check<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.message, self.expression)
    }
}
