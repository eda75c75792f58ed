//! Resolves the targets of mirrored requests to endpoints, for each handler. A target that cannot
//! be reached never harms it. This must not know how copies are made.

use std::collections::HashMap;
use std::sync::Arc;

use super::server::Servers;
use crate::RequestedMirror;
use crate::admit::admitted::Admitted;
use crate::build::service;
use crate::claim::claimed::ClaimedHost;
use crate::resolve::reached::{self, UpstreamRole};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Behaviour, Handler, Mirror, ObjectId, Server};

/// Mirrors the requests of a server's handlers whose objects ask for it.
pub fn apply<'a>(servers: &mut Servers<'a>, server: &mut Server, claimed: &ClaimedHost<'_, 'a>) {
    let objects = claimed.objects.iter().filter_map(|object| Some((&**object.id(), (*object, mirror(object)?))));
    let objects: HashMap<&ObjectId, (&Admitted<'a>, &RequestedMirror)> = objects.collect();
    if objects.is_empty() {
        return;
    }
    let mut mirrors = HashMap::<&ObjectId, Option<Arc<Mirror>>>::new();
    // The behaviours by their address in memory, which several objects may share, and the object.
    let mut copied = HashMap::<(usize, &ObjectId), Arc<Behaviour>>::new();
    server.exchange(|handler| {
        let (id, (object, requested)) = objects.get_key_value(&*handler.origin.object)?;
        handler.action.upstream()?;
        if handler.action.is_grpc() {
            let note = "gRPC requests cannot be mirrored, because nginx reads the whole body before it sends the \
                request to the backend; turn mirroring off, or use HTTP";
            let origin = requested.service.origin.clone();
            servers.findings.push(Finding::new(Reason::UnsupportedAnnotation, origin, note));
            return None;
        }
        let mirror = mirrors.entry(id).or_insert_with(|| {
            let mode = object.mode(servers.options);
            let dialect = object.attached.class.dialect;
            match service::resolve(servers, &requested.service, UpstreamRole::Mirror, mode, dialect) {
                Ok(service) => {
                    let (origin, policy) = (requested.service.origin.clone(), Arc::clone(&requested.policy));
                    Some(Arc::new(Mirror { origin, service, policy }))
                }
                Err((reason, note)) => {
                    servers.findings.push(reached::without_copies(reason, &requested.service.origin, &note));
                    None
                }
            }
        });
        let mirror = Some(Arc::clone(mirror.as_ref()?));
        let place = (Arc::as_ptr(&handler.behaviour).addr(), *id);
        let behaviour = copied.entry(place);
        let behaviour = behaviour.or_insert_with(|| Arc::new(Behaviour { mirror, ..(*handler.behaviour).clone() }));
        Some(Handler { behaviour: Arc::clone(behaviour), ..handler.clone() })
    });
}

fn mirror<'s>(object: &'s Admitted<'_>) -> Option<&'s RequestedMirror> {
    object.policy.reading.mirror.as_deref()
}
