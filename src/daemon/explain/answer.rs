//! What nginx answers to a request, as values that can be compared with an answer of it. It must
//! not know other servers and routes.

use serde_json::{Value, json};

use super::InForce;
use ingressd_model::{Action, Choice, Handler, Route, Server, Split, UpstreamId};

/// What nginx answers to a request.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The status, where nginx itself answers.
    pub status: Option<u16>,
    /// Where it redirects to, where that is the same for all requests.
    location: Option<String>,
    /// The host that it redirects to, where the path stays.
    host: Option<String>,
    /// The Services of which one answers, as namespace/name.
    services: Vec<String>,
    /// The statuses of what may come before: checks of clients, limits, parts of a split; `None`
    /// where a snippet may answer anything.
    instead: Option<Vec<u16>>,
}

impl Answer {
    /// An answer of nginx that depends on no option.
    pub fn of_status(status: u16) -> Self {
        Answer { status: Some(status), instead: Some(Vec::new()), ..Answer::default() }
    }

    /// Names of members are a contract.
    pub fn json(&self, route: Option<&Route>, over_plain_http: Option<u16>) -> Value {
        let object = route.map(|route| &route.origin.object).filter(|object| object.kind.asks_for_routes());
        json!({
            "ingress": object.map(|object| object.path()),
            "status": self.status,
            "location": self.location,
            "host": self.host,
            "services": self.services,
            "instead": self.instead,
            "over_plain_http": over_plain_http,
        })
    }
}

impl InForce {
    /// What a route answers.
    pub(super) fn answer(&self, server: &Server, route: &Route) -> Answer {
        let answer = self.handled(server, &route.otherwise);
        if route.branches.is_empty() {
            return answer;
        }
        // Which of its handlers takes a request depends on more than its path.
        let others = route.branches.iter().flat_map(|branch| self.handled(server, &branch.then).services);
        Answer { services: answer.services.into_iter().chain(others).collect(), ..Answer::default() }
    }

    fn handled(&self, server: &Server, handler: &Handler) -> Answer {
        let instead = self.instead(server, handler);
        let name = |id: &UpstreamId| format!("{}/{}", id.namespace, id.service);
        let answer = |status| Answer { status: Some(status), instead: instead.clone(), ..Answer::default() };
        match &handler.action {
            _ if handler.lacks_endpoints(|upstream| self.lacks_endpoints(upstream)) => match handler.page(503) {
                Some(other) => Answer { services: vec![name(other)], instead, ..Answer::default() },
                None => answer(503),
            },
            Action::Proxy { upstream, split } => {
                let pages = handler.errors.as_deref().map(|pages| &pages.upstream);
                let services = match self.lacks_endpoints(upstream) {
                    true => Vec::from_iter(pages),
                    false => {
                        let parts = split.as_deref().into_iter().flat_map(Split::upstreams);
                        [upstream].into_iter().chain(parts).chain(pages).collect()
                    }
                };
                let mut services: Vec<_> = services.into_iter().map(name).collect();
                services.dedup();
                Answer { services, instead, ..Answer::default() }
            }
            Action::Redirect { status, location } => {
                let location = (!location.is_dynamic()).then(|| location.to_string());
                Answer { location, ..answer(*status) }
            }
            Action::ToRewritten => answer(302),
            Action::ToHost { status, host } => Answer { host: Some(host.to_string()), ..answer(*status) },
            Action::Respond { status } => answer(*status),
            Action::Closed => answer(503),
        }
    }

    /// The statuses by which nginx may answer before it does what the route is for.
    fn instead(&self, server: &Server, handler: &Handler) -> Option<Vec<u16>> {
        let (behaviour, global) = (&handler.behaviour, &self.settings.gate.global);
        if !behaviour.snippets.is_empty() {
            return None;
        }
        let is_blocking = !global.blocked_networks.is_empty()
            || !global.blocked_agents.is_empty()
            || !global.blocked_referers.is_empty();
        let mut statuses: Vec<u16> = Vec::new();
        let mut may = |is_so: bool, those: &[u16]| statuses.extend(those.iter().filter(|_| is_so));
        may(is_blocking || behaviour.access.is_some() || behaviour.firewall.is_some(), &[403]);
        may(behaviour.basic_authentication.is_some(), &[401]);
        // Where the service does not answer, nginx says 500.
        may(behaviour.external_authentication.is_some(), &[302, 401, 403, 500]);
        may(behaviour.limits.is_some(), &[global.rate_status, global.connections_status]);
        may(server.client_certificates.is_some(), &[302, 400, 403]);
        for choice in handler.action.split().into_iter().flat_map(Split::choices) {
            match choice {
                Choice::Forward(_) => {}
                Choice::Redirect(status, _) | Choice::Respond(status) => statuses.push(*status),
            }
        }
        statuses.sort_unstable();
        statuses.dedup();
        Some(statuses)
    }
}
