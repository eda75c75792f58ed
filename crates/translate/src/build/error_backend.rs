//! Error pages: the backend that replaces responses of a path's own, where an object or the
//! administrator names one.

use std::sync::Arc;

use super::server::{Servers, UNAVAILABLE};
use crate::admit::admitted::Admitted;
use crate::read::port::PortReference;
use crate::read::rule::Backend;
use crate::resolve::reached::UpstreamRole;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Action, ErrorPages, Origin, Protocol, StandIn};

impl<'a> Servers<'a> {
    /// The action of a path with its error pages, when the object asks for them. The backend that
    /// the object names gets all requests while the path's own has no endpoints.
    pub fn with_errors(
        &mut self,
        action: Action,
        object: &Admitted<'a>,
        backend: Option<Backend<'a>>,
    ) -> (Action, Option<Arc<ErrorPages>>) {
        let asked = &object.policy.reading.errors;
        let stand_in = match &asked.default_backend {
            Some(_) if action == UNAVAILABLE => StandIn::Always,
            Some(_) if action.upstream().is_some() => StandIn::WithoutEndpoints,
            _ => StandIn::Never,
        };
        let has_answers = !asked.statuses.is_empty() && action.upstream().is_some();
        let Some(origin) = asked.default_backend.as_ref().map(|(_, origin)| origin).or(asked.statuses_at.as_ref())
        else {
            return (action, None);
        };
        if stand_in == StandIn::Never && !has_answers {
            // The backend is not needed now, but a mistake in its name is reported before it is.
            self.named_backend(object);
            return (action, None);
        }
        let (uses, used) = (self.uses.len(), self.backends.used.len());
        let other = self.other_backend(object, origin);
        if let Some(own) = action.upstream().filter(|_| !has_answers) {
            self.uses[uses..].iter_mut().for_each(|one| one.role = UpstreamRole::StandIn(own.clone()));
        }
        let Some(other) = other else {
            self.backends.used.truncate(used);
            return (action, None);
        };
        let Action::Proxy { upstream, .. } = &other else { return (action, None) };
        let port = match backend.and_then(|backend| backend.port) {
            Some(PortReference::Number(number)) => number.to_string().into(),
            Some(PortReference::Name(name)) => name.into(),
            Some(PortReference::First) | None => "".into(),
        };
        let pages = ErrorPages {
            upstream: upstream.clone(),
            statuses: asked.statuses.clone(),
            intercepts: !asked.passes_backend_errors,
            stand_in,
            service: backend.and_then(|backend| backend.service).unwrap_or_default().into(),
            port,
            origin: origin.clone(),
        };
        (if stand_in == StandIn::Always { other } else { action }, Some(Arc::new(pages)))
    }

    /// The Service that an object names for error pages, if it exists.
    fn named_backend(&mut self, object: &Admitted<'a>) -> Option<&'a str> {
        let (named, origin) = object.policy.reading.errors.default_backend.as_ref()?;
        // The name of the reading does not live long enough; that of the snapshot does.
        let namespace = &object.id().namespace;
        let service = self.backends.service(namespace, named).map(|stored| &*stored.id.name);
        if service.is_none() {
            let note = format!("there is no Service {named:?} in the namespace {namespace:?}");
            self.findings.push(Finding::new(Reason::MissingService, origin.clone(), note));
        }
        service
    }

    /// The backend that an object names for error pages, or that of the settings.
    fn other_backend(&mut self, object: &Admitted<'a>, origin: &Origin) -> Option<Action> {
        let (dialect, http) = (object.attached.class.dialect, Some(Protocol::Http));
        let found = match object.policy.reading.errors.default_backend {
            Some(_) => {
                let (namespace, service) = (&object.id().namespace, self.named_backend(object)?);
                self.first_port(namespace, service, object.mode(self.options), dialect, http, origin)
            }
            None => {
                let Some((namespace, service)) = &self.options.default_backend else {
                    let note = "there is no default backend for these statuses; name one in the annotation \
                        default-backend, or in the setting default-backend";
                    self.findings.push(Finding::new(Reason::UnsupportedAnnotation, origin.clone(), note));
                    return None;
                };
                self.first_port(namespace, service, self.options.endpoints, dialect, http, origin)
            }
        };
        let upstream = found.upstream()?;
        (!self.lacks_endpoints(upstream)).then_some(found)
    }
}
