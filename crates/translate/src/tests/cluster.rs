//! Objects of several namespaces over time.

use std::sync::Arc;

use super::manifests::snapshot;
use super::{ingress, path, world};
use crate::{Claims, Options, Translation, Translator, World};
use ingressd_objects::Snapshot;

/// An Ingress of a namespace with paths `TYPE PATH`. The Service `web` exists in namespace
/// `default` only, so others answer 503.
pub fn of(namespace: &str, name: &str, class: &str, host: &str, annotations: &str, paths: &[&str]) -> String {
    let paths: Vec<_> = paths.iter().map(|written| written.split_once(' ').unwrap()).collect();
    let paths: Vec<_> = paths.iter().map(|(kind, text)| path(text, kind, name)).collect();
    ingress(name, class, host, annotations, &paths).replace("namespace: default", &format!("namespace: {namespace}"))
}

/// A cluster over time: the claims of each step are the input of the next.
pub struct Cluster {
    pub options: Options,
    pub world: World,
    pub claims: Arc<Claims>,
    pub due: Option<i64>,
}

impl Cluster {
    pub fn new(options: Options) -> Self {
        Cluster { options, world: world(), claims: Arc::default(), due: None }
    }

    pub fn read(&mut self, snapshot: &Snapshot) -> Translation {
        let translation = Translator::new(self.options.clone()).translate(snapshot, &self.world, &self.claims);
        self.claims = Arc::clone(&translation.claims);
        self.due = translation.due;
        translation
    }

    /// A new node that knows only what this one publishes in its Lease.
    pub fn newcomer(&self) -> Self {
        let claim_orders = [Arc::new(self.claims.order())].into();
        Cluster { world: World { claim_orders, ..self.world.clone() }, ..Cluster::new(self.options.clone()) }
    }

    /// Advances the time, and returns it.
    pub fn advance(&mut self, seconds: i64) -> i64 {
        self.world.now += seconds;
        self.world.now
    }

    pub fn now(&mut self, documents: &[&String]) -> Translation {
        let documents: Vec<_> = documents.iter().map(|document| document.as_str()).collect();
        self.read(&snapshot(&documents.join("\n---\n")))
    }
}
