//! Resolves the targets of mirrored requests to endpoints, for each route. A target that cannot be
//! reached never harms the route. It must not know how copies are made.

use std::collections::HashMap;
use std::sync::Arc;

use super::server::Servers;
use crate::RequestedMirror;
use crate::attach::subject::Subject;
use crate::build::service;
use crate::claim::site::Site;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Behaviour, Mirror, ObjectId, Server};

/// Mirrors the requests of a server's routes whose objects ask for it.
pub fn apply<'a>(servers: &mut Servers<'a>, server: &mut Server, site: &Site<'_, 'a>) {
    let subjects = site.subjects.iter().filter_map(|subject| Some((&**subject.id(), (*subject, mirror(subject)?))));
    let subjects: HashMap<&ObjectId, (&Subject<'a>, &RequestedMirror)> = subjects.collect();
    if subjects.is_empty() {
        return;
    }
    // The behaviours by their address in memory, which several objects may share, and the object.
    let mut copied = HashMap::<(usize, Arc<ObjectId>), Option<Arc<Behaviour>>>::new();
    for route in server.routes.iter_mut().chain([&mut server.fallback]) {
        let Some((subject, requested)) = subjects.get(&*route.origin.object) else { continue };
        if route.action.upstream().is_none() {
            continue;
        }
        if route.action.is_grpc() {
            let note = "gRPC requests cannot be mirrored, because nginx reads the whole body before it sends the \
                request to the backend; turn mirroring off, or use HTTP";
            let origin = requested.service.origin.clone();
            servers.findings.push(Finding::new(Reason::UnsupportedAnnotation, origin, note));
            continue;
        }
        let place = (Arc::as_ptr(&route.behaviour).addr(), Arc::clone(&route.origin.object));
        let behaviour = copied.entry(place).or_insert_with(|| {
            let mode = subject.mode(servers.options);
            match service::resolve(servers, &requested.service, mode, subject.rule.dialect) {
                Ok(service) => {
                    let (origin, policy) = (requested.service.origin.clone(), Arc::clone(&requested.policy));
                    let mirror = Some(Arc::new(Mirror { origin, service, policy }));
                    Some(Arc::new(Behaviour { mirror, ..(*route.behaviour).clone() }))
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
        if let Some(behaviour) = behaviour {
            route.behaviour = Arc::clone(behaviour);
        }
    }
}

fn mirror<'s>(subject: &'s Subject<'_>) -> Option<&'s RequestedMirror> {
    subject.reading.mirror.as_deref()
}
