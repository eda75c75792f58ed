//! Resolves the URL of a service to endpoints. It must not know what the service is for.

use std::sync::Arc;

use crate::build::server::Servers;
use crate::read::port::PortReference;
use crate::resolve::backend::BackendReference;
use crate::resolve::reached::UpstreamRole;
use crate::resolve::service::{Fault, in_cluster, refusal};
use crate::value::ServiceAddress;
use crate::{Dialect, EndpointMode, RequestedService};
use ingressd_model::UpstreamId;
use ingressd_model::finding::{Finding, Reason};

/// Its upstream.
pub type Target = Result<UpstreamId, Fault>;

/// The upstream of a service, which has a role; findings about an existing one are added.
pub fn resolve<'a>(
    servers: &mut Servers<'a>,
    requested: &RequestedService,
    role: UpstreamRole,
    mode: EndpointMode,
    dialect: &'static Dialect,
) -> Target {
    let own = &requested.origin.object.namespace;
    let resolution = match &*in_cluster(&requested.address, &servers.options.cluster_domain)? {
        ServiceAddress::SameHost => return Err((Reason::MissingService, "it has no host".into())),
        ServiceAddress::Service { namespace, name, port } => {
            let is_foreign = namespace != own && !requested.is_global;
            if is_foreign && !servers.options.may_use_service(own, namespace, name) {
                return Err((Reason::CrossNamespace, refusal(namespace, name).into()));
            }
            // The Service in the snapshot, which lives long enough.
            let Some(service) = servers.backends.service(namespace, name) else {
                let note = format!("there is no Service {name:?} in the namespace {namespace:?}");
                return Err((Reason::MissingService, note.into()));
            };
            let reference = BackendReference {
                namespace: &service.id.namespace,
                service: &service.id.name,
                port: PortReference::Number(*port),
                dialect,
                mode,
                by_cluster_address: false,
                protocol: Some(requested.protocol),
                balance: None,
                tls: None,
                reuse: requested.reuse.clone(),
            };
            servers.backends.resolve(&reference)
        }
        ServiceAddress::Name(..) | ServiceAddress::Address(..) => servers.backends.resolve_host(requested),
    };
    let reported = |note: &(Reason, Arc<str>)| Finding::new(note.0, requested.origin.clone(), Arc::clone(&note.1));
    match &resolution.target {
        Some(upstream) => {
            servers.findings.extend(resolution.notes.iter().map(reported));
            servers.lead(&upstream.id, &requested.origin, role);
            Ok(upstream.id.clone())
        }
        None => Err(resolution.notes.last().cloned().unwrap_or((Reason::MissingService, "it does not exist".into()))),
    }
}
