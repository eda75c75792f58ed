//! Applies snippets about a whole host to routes. It must not know how a snippet is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::Limits;
use crate::claim::claimed::ClaimedHost;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Action, Behaviour, Origin, Route, Server, Snippet};

/// Applies snippets about a whole host to the routes of their namespace there, and to no others.
pub fn apply(server: &mut Server, claimed: &ClaimedHost<'_, '_>, limits: &Limits, findings: &mut Vec<Finding>) {
    // Nearly no host has one.
    if claimed.objects.iter().all(|object| object.policy.reading.host.snippets.is_empty()) {
        return;
    }
    let mut by_namespace: BTreeMap<&str, Vec<&Arc<Snippet>>> = BTreeMap::new();
    for object in &claimed.objects {
        let snippets = by_namespace.entry(&object.id().namespace).or_default();
        for snippet in &object.policy.reading.host.snippets {
            // A snippet that the administrator sets for all objects is added once.
            if !snippets.contains(&snippet) {
                snippets.push(snippet);
            }
        }
    }
    let heavy: BTreeSet<&str> = by_namespace
        .iter()
        .filter(|(_, snippets)| {
            let weights = snippets.iter().map(|snippet| snippet.burden.weight);
            weights.fold(0, u32::saturating_add) > limits.expressions_of_host
        })
        .map(|(namespace, _)| *namespace)
        .collect();
    for namespace in &heavy {
        let Some(last) = by_namespace[namespace].last() else { continue };
        let note = format!(
            "the regular expressions in server-snippets of the namespace have a higher weight on this host than the \
                {} that limits.expressions-of-host allows, so its routes there answer 503; use fewer",
            limits.expressions_of_host
        );
        let of_namespace = claimed.objects.iter().filter(|object| *object.id().namespace == **namespace);
        let others = of_namespace.filter(|object| **object.id() != *last.origin.object);
        let places = others.map(|object| Origin::object(object.id())).chain([last.origin.clone()]);
        findings.extend(places.map(|place| Finding::new(Reason::ClosedRoute, place, note.as_str())));
    }
    let fallback = (!claimed.is_without_owner).then_some(&mut server.fallback);
    let mut reported = BTreeSet::new();
    for route in server.routes.iter_mut().chain(fallback) {
        let namespace = Arc::clone(&route.origin.object.namespace);
        let close = |route: &mut Route| {
            (route.action, route.behaviour, route.errors) = (Action::Closed, Arc::default(), None);
        };
        match by_namespace.get(&*namespace) {
            Some(_) if heavy.contains(&*namespace) => close(route),
            Some(snippets) if !snippets.is_empty() && route.action != Action::Closed => {
                add(route, snippets);
                let Err(refused) = Snippet::fit_together(&route.behaviour.snippets) else { continue };
                close(route);
                if reported.insert(Arc::clone(&route.origin.object)) {
                    let note = format!("the snippets of the namespace for it are refused together: {refused}");
                    findings.push(Finding::new(Reason::ClosedRoute, Origin::object(&route.origin.object), note));
                }
            }
            _ => {}
        }
    }
}

/// An object's own snippets come after those about the whole host, and take precedence over them.
fn add(route: &mut Route, snippets: &[&Arc<Snippet>]) {
    let behaviour: &mut Behaviour = Arc::make_mut(&mut route.behaviour);
    behaviour.snippets.splice(0..0, snippets.iter().map(|snippet| Arc::clone(snippet)));
    for setting in snippets.iter().flat_map(|snippet| &snippet.settings) {
        if behaviour.directives.iter().all(|own| own.row != setting.row) {
            behaviour.directives.push(setting.clone());
        }
    }
    behaviour.directives.sort_by_key(|directive| directive.row.name);
}
