//! What a reference to a Service was resolved to, kept for the next translation. It must not know
//! how references are resolved.

use std::sync::Arc;

use super::backend::BackendReference;
use super::dependency::Dependency;
use crate::read::intent::Port;
use crate::read::port::PortReference;
use crate::{Dialect, EndpointMode};
use ingressd_model::finding::Reason;
use ingressd_model::{BackendTls, Balance, ConnectionReuse, HostName, Protocol, Upstream};

/// A DNS name of a Service, and the namespace of the Service.
pub type NamedBy = (HostName, Arc<str>);

/// A finding about a reference, for the referring object.
pub type Note = (Reason, Arc<str>);

/// The names and objects that were noted before a resolution, which collects its own.
pub type Noted = (Vec<NamedBy>, Vec<Dependency>);

/// The result of a reference: an upstream or none, and findings. Which endpoints there are, and
/// what is wrong with these, is in the rows beside it.
#[derive(Debug, Clone, Default)]
pub struct Resolution {
    /// What was resolved; `None` for a host that is no Service.
    pub reference: Option<KeptReference>,
    /// The upstream.
    pub target: Option<Arc<Upstream>>,
    /// The findings; never empty without a target.
    pub notes: Vec<Note>,
    /// The DNS names whose addresses are needed.
    pub names: Vec<NamedBy>,
    /// The objects that were looked up.
    pub dependencies: Box<[Dependency]>,
}

/// A [`BackendReference`] that outlives the objects that it was read from.
#[derive(Debug, Clone)]
pub struct KeptReference {
    namespace: Arc<str>,
    service: Arc<str>,
    port: Port,
    dialect: &'static Dialect,
    mode: EndpointMode,
    by_cluster_address: bool,
    protocol: Option<Protocol>,
    balance: Option<Arc<Balance>>,
    tls: Option<Arc<BackendTls>>,
    reuse: Option<Arc<ConnectionReuse>>,
}

impl Resolution {
    /// Whether nothing but endpoints differs: who refers to it is served as before.
    pub fn has_other_endpoints_only(&self, other: &Self) -> bool {
        self.names.is_empty()
            && other.names.is_empty()
            && self.notes == other.notes
            && self.dependencies == other.dependencies
            && self.target == other.target
    }
}

impl KeptReference {
    /// Keeps a reference.
    pub fn of(reference: &BackendReference<'_>) -> Self {
        let BackendReference { dialect, mode, by_cluster_address, protocol, .. } = *reference;
        KeptReference {
            namespace: reference.namespace.into(),
            service: reference.service.into(),
            port: reference.port.into(),
            dialect,
            mode,
            by_cluster_address,
            protocol,
            balance: reference.balance.clone(),
            tls: reference.tls.clone(),
            reuse: reference.reuse.clone(),
        }
    }

    /// The same, with the names that are in memory for its upstream.
    pub fn sharing(mut self, target: Option<&Upstream>) -> Self {
        if let Some(Upstream { id, .. }) = target {
            for (own, same) in [(&mut self.namespace, &id.namespace), (&mut self.service, &id.service)] {
                if own == same {
                    *own = Arc::clone(same);
                }
            }
        }
        self
    }

    /// The reference, to be resolved again.
    pub fn borrowed(&self) -> BackendReference<'_> {
        let KeptReference { dialect, mode, by_cluster_address, protocol, .. } = *self;
        BackendReference {
            namespace: &self.namespace,
            service: &self.service,
            port: self.port.reference().unwrap_or(PortReference::First),
            dialect,
            mode,
            by_cluster_address,
            protocol,
            balance: self.balance.clone(),
            tls: self.tls.clone(),
            reuse: self.reuse.clone(),
        }
    }
}
