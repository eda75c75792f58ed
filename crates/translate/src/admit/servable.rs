//! Which of the attached objects can be served as they are.

use super::admitted::Admitted;
use super::close_refused;
use crate::attach::Attached;
use crate::read::path::PathType;
use crate::{ExpressionScope, Policy, position};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{AccessList, Behaviour, Field, Origin, RefusedVersion};

/// Objects by whether they can be served as they are.
#[derive(Default)]
pub struct Servable<'a> {
    /// The valid ones, the oldest first.
    pub objects: Vec<Admitted<'a>>,
    /// The invalid ones, as claims.
    pub withheld: Vec<&'a Attached<'a>>,
    /// The invalid ones, as they would be served, the oldest first.
    pub left_out: Vec<Admitted<'a>>,
    /// The versions that are invalid.
    pub refused: Vec<RefusedVersion>,
    pub findings: Vec<Finding>,
}

/// Which of the objects can be served.
pub fn judge<'a>(attached: &'a [Attached<'a>], common: &Behaviour) -> Servable<'a> {
    let mut servable = Servable { objects: Vec::with_capacity(attached.len()), ..Servable::default() };
    let mut refused = Vec::new();
    for object in attached {
        let (intent, reading) = (&object.intent, &object.policy.reading);
        let of = &intent.of;
        servable.findings.extend_from_slice(&intent.findings);
        servable.findings.extend_from_slice(&reading.findings);
        let without_groups = without_groups(object);
        let object = Admitted::of(object, is_protected(&object.policy, common));
        if reading.refused || !intent.faults.is_empty() || !without_groups.is_empty() {
            // The rest can be served while there is no earlier version, unless requests would
            // reach other routes than intended.
            let is_fit = intent.has_valid_path && without_groups.is_empty();
            servable.findings.extend_from_slice(&intent.faults);
            servable.findings.extend(without_groups);
            let is_value = reading.refused || intent.faults.is_empty();
            servable.refused.push(of.refused(if is_value { Reason::RefusedValue } else { Reason::InvalidPath }));
            if reading.refused || !is_fit {
                servable.left_out.push(object.clone());
                servable.withheld.extend(reading.canary.is_none().then_some(object.attached));
                refused.extend(is_fit.then_some(object));
                continue;
            }
        }
        let reports = |finding: &Finding| finding.reason == Reason::ClosedRoute;
        if reading.closed && reading.canary.is_none() && !reading.findings.iter().any(reports) {
            let note = "all routes of the object answer 503, because their protection cannot be set up; see its other findings";
            servable.findings.push(Finding::new(Reason::ClosedRoute, Origin::object(&of.id), note));
        }
        servable.objects.push(object);
    }
    close_refused(refused, &mut servable.objects);
    servable.objects.sort_by(|left, right| left.attached.intent.of.oldest_first(&right.attached.intent.of));
    servable.left_out.sort_by(|left, right| left.attached.intent.of.oldest_first(&right.attached.intent.of));
    servable
}

/// Whether an object protects its routes by something that is its own. Protection in a canary has
/// no effect: the main object protects the path.
fn is_protected(Policy { reading, behaviour }: &Policy, common: &Behaviour) -> bool {
    let lists = common.access.as_deref();
    let is_common = |access: &AccessList| {
        lists.is_some_and(|lists| access.deny() == lists.deny() && access.allow() == lists.allow())
    };
    let own_list = behaviour.access.as_deref().is_some_and(|access| !is_common(access));
    let own_firewall = behaviour.firewall.is_some() && behaviour.firewall != common.firewall;
    reading.canary.is_none()
        && (reading.closed
            || own_list
            || own_firewall
            || behaviour.basic_authentication.is_some()
            || reading.authentication.as_ref().is_some_and(|requested| !requested.service.is_global)
            || reading.host.client_rule.is_some())
}

/// Findings about valid paths that have no groups, although what counts for the object refers to
/// groups.
fn without_groups(object: &Attached<'_>) -> Vec<Finding> {
    let (intent, Policy { reading, behaviour }) = (&object.intent, &object.policy);
    if !reading.has_captures(behaviour) {
        return Vec::new();
    }
    let has_groups = |kind: PathType| match object.class.dialect.expressions {
        ExpressionScope::Object => reading.use_regex && kind == PathType::ImplementationSpecific,
        ExpressionScope::Host => reading.use_regex || reading.rewrite_target.is_some(),
    };
    let paths = intent.rules.iter().enumerate();
    let paths =
        paths.flat_map(|(rule, said)| said.paths.iter().enumerate().map(move |(path, said)| (rule, path, said)));
    let without = paths.filter(|(.., path)| path.parts().is_some_and(|(_, kind)| !has_groups(kind)));
    let note = "an annotation refers to captures such as $1, but this path is not a regular expression; set use-regex \
        and the type ImplementationSpecific";
    let finding = |(rule, path, _)| {
        let origin = Origin::field(&intent.of.id, Field::Path(position(rule), position(path), "path"));
        Finding::new(Reason::RefusedValue, origin, note)
    };
    without.map(finding).collect()
}
