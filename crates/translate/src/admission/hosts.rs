//! The check which hosts a namespace may claim.

use super::check::{Check, Submitted};
use super::expression;
use crate::options::allowed::{Allowance, AllowedHosts, HostPattern};
use crate::value::host;
use ingressd_model::{Field, ServerName};

/// The hosts of an object's rules, in lower case; a missing host is empty.
pub const ASKED: &str = "(has(object.spec.rules) ? object.spec.rules.map(r, has(r.host) ? r.host.lowerAscii() : '') : []) + \
     (has(object.spec.defaultBackend) && (!has(object.spec.rules) || object.spec.rules.size() == 0) ? [''] : [])";

/// The labels of the namespace.
pub const LABELS: &str = "has(namespaceObject.metadata.labels) ? namespaceObject.metadata.labels : {}";

/// Checks that a namespace claims only hosts that it may have; empty when every namespace may have
/// all.
pub fn checks(entries: &[AllowedHosts]) -> Vec<Check<'_>> {
    if entries.is_empty() {
        return Vec::new();
    }
    let allowed: Vec<_> =
        entries.iter().map(|entry| format!("({} && {})", selects(entry), holds(&entry.items))).collect();
    let allowed = allowed.join(" || ");
    const FAULT: &str = "the administrator does not allow the host to this namespace (hosts.allowed)";
    vec![Check {
        expression: format!("variables.hosts.all(h, {allowed})"),
        message: FAULT.to_owned(),
        naming: Some(format!(
            "variables.hosts.filter(h, !({allowed})).map(h, h == '' ? '*' : h).join(', ') + {}",
            expression::text(&format!(": {FAULT}"))
        )),
        wrong: Box::new(|submitted| wrong(entries, submitted)),
    }]
}

/// An expression that is true when an entry is about the namespace of the object.
fn selects(entry: &AllowedHosts) -> String {
    let everybody = entry.namespaces.is_empty() || entry.namespaces.iter().any(|name| &**name == "*");
    let named = (!everybody).then(|| {
        let names = expression::list(entry.namespaces.iter().map(|name| &**name));
        format!("object.metadata.namespace in {names}")
    });
    let labelled = entry.selector.as_ref().map(|selector| expression::selects(selector, "variables.labels"));
    let conditions: Vec<_> = named.into_iter().chain(labelled).collect();
    if conditions.is_empty() { "true".to_owned() } else { conditions.join(" && ") }
}

/// An expression that is true when the host `h` matches one of these patterns.
fn holds(patterns: &[HostPattern]) -> String {
    if patterns.contains(&HostPattern::Any) {
        return "true".to_owned();
    }
    let exact: Vec<&str> = patterns
        .iter()
        .filter_map(|pattern| match pattern {
            HostPattern::Exact(host) => Some(host.as_str()),
            HostPattern::Any | HostPattern::Below(_) => None,
        })
        .collect();
    let below: Vec<String> = patterns
        .iter()
        .filter_map(|pattern| match pattern {
            HostPattern::Below(parent) => Some(format!(".{parent}")),
            HostPattern::Any | HostPattern::Exact(_) => None,
        })
        .collect();
    let exact = (!exact.is_empty()).then(|| format!("h in {}", expression::list(exact)));
    let below = (!below.is_empty())
        .then(|| format!("{}.exists(p, h.endsWith(p))", expression::list(below.iter().map(String::as_str))));
    format!("({})", exact.into_iter().chain(below).collect::<Vec<_>>().join(" || "))
}

fn wrong(entries: &[AllowedHosts], submitted: &Submitted<'_>) -> Vec<Field> {
    let allowance = Allowance::of(entries, submitted.namespace, submitted.labels);
    let rules = &submitted.object.rules;
    let may_have = |host: &str| host::server_name(host).is_ok_and(|name| allowance.permits(&name));
    let of_rules = (0..).zip(rules).filter(|(_, rule)| !may_have(rule.host.as_deref().unwrap_or_default()));
    let for_all = submitted.object.default_backend.is_some() && rules.is_empty();
    let for_all = (for_all && !allowance.permits(&ServerName::CatchAll)).then_some(Field::DefaultBackend);
    of_rules.map(|(number, _)| Field::Rule(number)).chain(for_all).collect()
}
