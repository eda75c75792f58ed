//! The order of precedence of two Ingresses.

use std::cmp::Ordering;

use ingressd_objects::{Ingress, Stored};

/// The oldest first; objects without a creation date, which come from files, after all others;
/// then by namespace and name.
pub fn oldest_first(left: &Stored<Ingress>, right: &Stored<Ingress>) -> Ordering {
    let created = |ingress: &Stored<Ingress>| ingress.object.created;
    let (left_created, right_created) = (created(left), created(right));
    // `None` sorts before `Some`, so absence is compared first.
    let by_age = left_created.is_none().cmp(&right_created.is_none()).then(left_created.cmp(&right_created));
    by_age.then_with(|| left.id.cmp(&right.id))
}
