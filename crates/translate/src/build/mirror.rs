//! Resolves the targets of mirrored requests to endpoints, for each handler. A target that cannot
//! be reached never harms it. This must not know how copies are made.

use std::collections::HashMap;
use std::sync::Arc;

use super::server::Servers;
use crate::RequestedMirror;
use crate::attach::subject::Subject;
use crate::build::service;
use crate::claim::claimed::ClaimedHost;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Behaviour, Handler, Mirror, ObjectId, Server};

/// Mirrors the requests of a server's handlers whose objects ask for it.
pub fn apply<'a>(servers: &mut Servers<'a>, server: &mut Server, claimed: &ClaimedHost<'_, 'a>) {
    let subjects = claimed.subjects.iter().filter_map(|subject| Some((&**subject.id(), (*subject, mirror(subject)?))));
    let subjects: HashMap<&ObjectId, (&Subject<'a>, &RequestedMirror)> = subjects.collect();
    if subjects.is_empty() {
        return;
    }
    let mut mirrors = HashMap::<&ObjectId, Option<Arc<Mirror>>>::new();
    // The behaviours by their address in memory, which several objects may share, and the object.
    let mut copied = HashMap::<(usize, &ObjectId), Arc<Behaviour>>::new();
    server.exchange(|handler| {
        let (id, (subject, requested)) = subjects.get_key_value(&*handler.origin.object)?;
        handler.action.upstream()?;
        if handler.action.is_grpc() {
            let note = "gRPC requests cannot be mirrored, because nginx reads the whole body before it sends the \
                request to the backend; turn mirroring off, or use HTTP";
            let origin = requested.service.origin.clone();
            servers.findings.push(Finding::new(Reason::UnsupportedAnnotation, origin, note));
            return None;
        }
        let mirror = mirrors.entry(id).or_insert_with(|| {
            let mode = subject.mode(servers.options);
            match service::resolve(servers, &requested.service, mode, subject.rule.dialect) {
                Ok(service) => {
                    let (origin, policy) = (requested.service.origin.clone(), Arc::clone(&requested.policy));
                    Some(Arc::new(Mirror { origin, service, policy }))
                }
                Err((reason, note)) => {
                    let note = format!("{note}; no request is mirrored");
                    // The served requests are not affected.
                    let reason = if reason == Reason::CrossNamespace { reason } else { Reason::MirrorLeftOut };
                    servers.findings.push(Finding::new(reason, requested.service.origin.clone(), note));
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

fn mirror<'s>(subject: &'s Subject<'_>) -> Option<&'s RequestedMirror> {
    subject.reading.mirror.as_deref()
}
