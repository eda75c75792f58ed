//! Paths whose requests have to meet conditions: the lists of their branches, which are completed
//! by what the next less specific path does.

use std::sync::Arc;

use super::server::Servers;
use crate::claim::claimed::{self, Claim};
use crate::read::path::Matching;
use crate::read::rule::{Backend, RulePath};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Action, Branch, ErrorPages, Handler, Origin, PathMatch, Route, Server, Test};

/// What happens to requests with the policy of a path's object.
type Answer = (Action, Option<Arc<ErrorPages>>);

/// A path with conditions.
#[derive(Debug)]
pub struct Conditional {
    /// The field of the path.
    origin: Origin,
    /// The conditions of each entry; those without an answer get that of the route as it is built.
    entries: Vec<(Vec<Test>, Option<Answer>)>,
    /// Whether what meets none of them belongs to another path.
    falls: bool,
}

impl Conditional {
    /// Whether these are the conditions of a route.
    pub fn is_of(&self, route: &Route) -> bool {
        self.origin == route.origin
    }
}

impl<'a> Servers<'a> {
    /// What all requests of a path get, or those of its first entry where each has conditions; and
    /// its conditions.
    pub fn answers(&mut self, claim: &Claim<'_, 'a>, to_url: bool) -> (Answer, Option<Conditional>) {
        let (rule, path) = (usize::from(claim.place.0), usize::from(claim.place.1));
        let rule = claim.object.attached.rules.get(rule);
        let Some((rule, first)) = rule.and_then(|rule| Some((rule, rule.paths.get(path)?))) else {
            return ((Action::Closed, None), None);
        };
        if first.all.is_empty() {
            return (self.answer(claim, first, to_url), None);
        }
        let rest = rule.entries(path).find(|entry| entry.all.is_empty());
        let own = rest.unwrap_or(first);
        let answer = self.answer(claim, own, to_url);
        let entries = rule.entries(path).take_while(|entry| !entry.all.is_empty());
        let entries = entries.map(|entry| {
            let all: Vec<Test> = entry.all.to_vec();
            let then = (!std::ptr::eq(entry, own)).then(|| self.answer(claim, entry, to_url));
            (all, then)
        });
        let conditional =
            Conditional { origin: claim.origin.clone(), entries: entries.collect(), falls: rest.is_none() };
        (answer, Some(conditional))
    }

    fn answer(&mut self, claim: &Claim<'_, 'a>, entry: &'a RulePath, to_url: bool) -> Answer {
        let (object, backend) = (claim.object, Some(Backend::from(&entry.backend)));
        let action = match claim.closed {
            true => Action::Closed,
            // A redirect needs no Service.
            false if to_url && !object.policy.reading.closed && object.policy.reading.redirect.is_none() => {
                Action::ToRewritten
            }
            false => self.action(object, backend, &claim.origin),
        };
        let action = self.with_others(action, claim, &entry.others);
        self.with_errors(action, object, backend)
    }
}

/// Completes the lists of branches, when all policies are known: what meets no condition of a path
/// gets the handlers of the next less specific one, with their policies.
pub fn complete(server: &mut Server, conditional: &[Conditional], findings: &mut Vec<Finding>) {
    if conditional.is_empty() {
        return;
    }
    let Server { routes, fallback, .. } = server;
    // Those that others go to are complete before these.
    for number in (0..routes.len()).rev() {
        let Some((route, later)) = routes[number..].split_first_mut() else { continue };
        let Some(asked) = conditional.iter().find(|one| one.is_of(route)) else { continue };
        let own = Arc::clone(&route.otherwise);
        let then = |answer: &Option<Answer>| match answer {
            Some((action, errors)) if own.action != Action::Closed => {
                Arc::new(Handler { action: action.clone(), errors: errors.clone(), ..Handler::clone(&own) })
            }
            _ => Arc::clone(&own),
        };
        let entries = asked.entries.iter();
        route.branches = entries.map(|(all, answer)| Branch { all: all.clone(), then: then(answer) }).collect();
        match next(&route.path, later, fallback).filter(|_| asked.falls) {
            Some(next) => {
                route.branches.extend(next.branches.iter().cloned());
                route.otherwise = Arc::clone(&next.otherwise);
            }
            None if asked.falls => {
                let origin = route.origin.clone();
                let note = "requests that meet none of its conditions answer 503: the host has regular expressions, \
                            and which of them takes a path is not known before nginx compares it; add the path \
                            without conditions";
                findings.push(Finding::new(Reason::ClosedRoute, origin.clone(), note));
                route.otherwise =
                    Arc::new(Handler { origin, action: Action::Closed, behaviour: Arc::default(), errors: None });
            }
            None => {}
        }
    }
}

/// The next less specific route; `None` where an expression may be it.
fn next<'r>(path: &PathMatch, later: &'r [Route], rest: &'r Route) -> Option<&'r Route> {
    let (PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. }) = path else { return None };
    let own = claimed::beginning(Matching::Prefix, path.as_str());
    let may_be = |route: &&Route| match &route.path {
        PathMatch::Regex(pattern) => {
            let other = claimed::beginning(Matching::Regex, pattern.as_str());
            own.starts_with(&*other) || other.starts_with(&*own)
        }
        literal => literal.is_above(path.as_str()),
    };
    let found = later.iter().find(may_be).unwrap_or(rest);
    Some(found).filter(|route| !matches!(route.path, PathMatch::Regex(_)))
}
