//! The effect of a row stays within its scope, so that no object decides about a host without a
//! rule for conflicts.

use super::*;
use ingressd_model::Behaviour;

#[test]
fn a_row_sets_nothing_outside_of_its_scope() {
    let mut of_hosts = 0;
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        let without = given(row.beside);
        for (value, _) in row.all_tries() {
            let with = tried(row, row.key, value);
            let says_of_hosts = (&with.host, &with.passthrough) != (&without.host, &without.passthrough);
            let matches_otherwise =
                (with.use_regex, &with.rewrite_target) != (without.use_regex, &without.rewrite_target);
            let rest = |reading: &Reading| Reading {
                host: Default::default(),
                passthrough: None,
                // Strict paths follow from a closed route.
                behaviour: Behaviour { strict_paths: false, ..reading.behaviour.clone() },
                use_regex: false,
                rewrite_target: None,
                closed: false,
                refused: false,
                falls_short: false,
                findings: Vec::new(),
                ..reading.clone()
            };
            let is_otherwise = rest(&with) != rest(&without);
            let expected = match row.scope {
                // A host with passthrough uses TLS to its backend for plain requests too.
                Scope::Server => (says_of_hosts, false, is_otherwise && with.passthrough.is_some()),
                Scope::Matching => (false, matches_otherwise, false),
                Scope::Route | Scope::Upstream => (false, false, is_otherwise),
                Scope::Listener | Scope::Node => (false, false, false),
            };
            assert_eq!((says_of_hosts, matches_otherwise, is_otherwise), expected, "{}: {value}", row.key);
            of_hosts += usize::from(says_of_hosts);
        }
    }
    assert!(of_hosts > 5);
}
