//! One check of a policy, in two equivalent forms: as a CEL expression for an API server, and as
//! code for this program.

use std::collections::BTreeMap;
use std::fmt;

use ingressd_model::Field;
use ingressd_objects::{Ingress, Snapshot, Stored};

/// The object to be checked.
#[derive(Debug, Clone, Copy)]
pub struct Submitted<'a> {
    pub object: &'a Ingress,
    pub namespace: &'a str,
    /// The labels of its namespace, if they are known.
    pub labels: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Submitted<'a> {
    /// The object, with what the snapshot knows about its namespace.
    pub fn new(stored: &'a Stored<Ingress>, snapshot: &'a Snapshot) -> Self {
        let namespace = &*stored.id.namespace;
        Submitted {
            object: &stored.object,
            namespace,
            labels: snapshot.namespace(namespace).map(|stored| &stored.object.labels),
        }
    }

    /// The value of an annotation; an empty one counts as missing.
    pub fn value(&self, key: &str) -> Option<&'a str> {
        self.object.annotations.get(key).filter(|value| !value.trim().is_empty())
    }
}

pub type Wrong<'a> = Box<dyn Fn(&Submitted<'_>) -> Vec<Field> + 'a>;

/// One condition of a policy.
pub struct Check<'a> {
    /// A CEL expression that is true for valid objects.
    pub expression: String,
    /// The message about invalid objects.
    pub message: String,
    /// A CEL expression for a message that names what is wrong.
    pub naming: Option<String>,
    /// The code that finds the invalid fields.
    pub wrong: Wrong<'a>,
}

impl fmt::Debug for Check<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.message, self.expression)
    }
}
