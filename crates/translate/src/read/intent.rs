//! What one version of an object says, as values, made once for each version. It must not know
//! other objects, who gets what it asks for, or how the object was written.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;

use super::rule::Rule;
use crate::Layer;
use crate::read::port::PortReference;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{ObjectId, ObjectPlace, RefusedVersion};
use ingressd_objects::{Entry, Version};

/// Which version of which object says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub id: Arc<ObjectId>,
    pub uid: Option<Arc<str>>,
    /// The time of the object's creation.
    pub created: Option<Timestamp>,
    /// When its file was written, in seconds since 1970; `None` for objects of a cluster.
    pub written: Option<i64>,
    pub version: Version,
}

/// What an object asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    pub of: Source,
    /// Its hosts and paths.
    pub rules: Arc<[Rule]>,
    /// The backend for requests that none of its paths matches.
    pub rest: Option<Box<Reference>>,
    /// The entries of `spec.tls`.
    pub tls: Arc<[TlsSpec]>,
    /// The options that it says itself, as written.
    pub options: Layer,
    /// What is wrong with keys that are no options.
    pub findings: Box<[Finding]>,
    /// What is wrong with its paths.
    pub faults: Box<[Finding]>,
    /// Whether any of its paths is valid.
    pub has_valid_path: bool,
    /// Whether it asks cert-manager for its certificates.
    pub asks_for_certificates: bool,
    /// What it names to be served by, where it may name several, each with whether it is ours.
    pub parents: Box<[ObjectPlace]>,
}

impl Intent {
    /// What an object asks for that has these rules, and nothing else to say.
    pub fn of(of: Source, rules: Arc<[Rule]>) -> Self {
        let has_valid_path = rules.iter().flat_map(|rule| rule.paths.iter()).any(|path| path.parts().is_some());
        Intent {
            of,
            rules,
            rest: None,
            tls: Arc::default(),
            options: Layer::default(),
            findings: Box::default(),
            faults: Box::default(),
            has_valid_path,
            asks_for_certificates: false,
            parents: Box::default(),
        }
    }
}

/// A reference to a port of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reference {
    /// The Service; `None` for another kind of backend.
    pub service: Option<Arc<str>>,
    pub port: Port,
}

/// The port of a [`Reference`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Port {
    /// It names no valid one.
    #[default]
    Missing,
    /// The first port, where no object names one.
    First,
    Number(u16),
    Name(Arc<str>),
}

/// An entry of `spec.tls`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsSpec {
    /// The hosts that the certificate is for, as written.
    pub hosts: Arc<[Box<str>]>,
    /// The Secret with the certificate; never empty.
    pub secret: Option<Arc<str>>,
}

impl Source {
    /// The source of an object in a list.
    pub fn of(entry: Entry<'_>) -> Self {
        Source {
            id: Arc::clone(entry.id),
            uid: entry.object.shared_uid(),
            created: entry.object.created(),
            written: entry.place.and_then(|place| place.file.written),
            version: entry.version.clone(),
        }
    }

    /// That this version cannot be served as written.
    pub fn refused(&self, why: Reason) -> RefusedVersion {
        RefusedVersion { id: Arc::clone(&self.id), version: self.version.clone(), why }
    }

    /// Whether this is the source of the object.
    pub fn is_of(&self, entry: Entry<'_>) -> bool {
        let written = entry.place.and_then(|place| place.file.written);
        self.version == *entry.version
            && (self.uid.as_deref(), self.created, self.written)
                == (entry.object.uid(), entry.object.created(), written)
    }

    /// The oldest first; objects without a creation date, which come from files, after all others;
    /// then by namespace and name.
    pub fn oldest_first(&self, other: &Self) -> Ordering {
        // `None` sorts before `Some`, so absence is compared first.
        let by_age = self.created.is_none().cmp(&other.created.is_none()).then(self.created.cmp(&other.created));
        by_age.then_with(|| self.id.cmp(&other.id))
    }
}

impl From<PortReference<'_>> for Port {
    fn from(port: PortReference<'_>) -> Self {
        match port {
            PortReference::First => Port::First,
            PortReference::Number(number) => Port::Number(number),
            PortReference::Name(name) => Port::Name(name.into()),
        }
    }
}

impl Port {
    /// The port as references are compared; `None` where it is missing.
    pub fn reference(&self) -> Option<PortReference<'_>> {
        match self {
            Port::Missing => None,
            Port::First => Some(PortReference::First),
            Port::Number(number) => Some(PortReference::Number(*number)),
            Port::Name(name) => Some(PortReference::Name(name)),
        }
    }
}
