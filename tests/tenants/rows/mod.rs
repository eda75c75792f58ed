//! The rows.

mod authentication;
mod blame;
mod certificates;
mod expressions;
mod features;
pub mod hosts;
mod limits;
mod passthrough;
mod requests;
mod rests;
mod snippets;
mod strangers;
mod values;

use crate::row::Row;
use crate::stage::{DEFAULTS, Stage};

/// What concerns hosts that both sides name.
const SHARING: &[&[Row]] = &[
    hosts::ROWS,
    strangers::ROWS,
    rests::ROWS,
    authentication::ROWS,
    expressions::ROWS,
    certificates::ROWS,
    features::ROWS,
];

/// What costs others memory and time, and what clients send.
const COSTS: &[&[Row]] = &[values::ROWS, requests::ROWS];

#[test]
fn what_is_shared_by_default() {
    DEFAULTS.run(SHARING);
}

#[test]
fn what_is_shared_when_each_dialect_has_the_rule_of_the_other() {
    Stage { crossed: true, ..DEFAULTS }.run(SHARING);
}

/// What nginx itself may refuse. Each search for a culprit takes several tests and reloads of
/// everything on the stage, so these rows have a stage of their own.
const COMPLAINTS: &[&[Row]] = &[blame::ROWS];

#[test]
fn whose_line_nginx_complains_about() {
    DEFAULTS.run(COMPLAINTS);
}

#[test]
fn whose_line_nginx_complains_about_when_each_dialect_has_the_rule_of_the_other() {
    Stage { crossed: true, ..DEFAULTS }.run(COMPLAINTS);
}

/// Where a host has room for a few paths of each namespace.
const LIMITED: Stage = Stage { settings: limits::SETTINGS, ..DEFAULTS };

#[test]
fn who_is_over_a_limit_goes_without() {
    LIMITED.run(&[limits::ROWS]);
}

#[test]
fn who_is_over_a_limit_goes_without_when_each_dialect_has_the_rule_of_the_other() {
    Stage { crossed: true, ..LIMITED }.run(&[limits::ROWS]);
}

/// What is asked of TLS where the administrator lets objects have it passed on.
const PASSING: Stage = Stage { settings: &[("tls.passthrough", "true")], ..DEFAULTS };

#[test]
fn whose_tls_is_passed_on_unopened() {
    PASSING.run(&[passthrough::ROWS]);
}

#[test]
fn whose_tls_is_passed_on_when_each_dialect_has_the_rule_of_the_other() {
    Stage { crossed: true, ..PASSING }.run(&[passthrough::ROWS]);
}

#[test]
fn what_values_cost_and_clients_send() {
    DEFAULTS.run(COSTS);
}

/// The namespaces of rows whose names begin with `scribes`, in their orders.
const SCRIBES: &str = "[{kinds = ['configuration-snippet', 'server-snippet'], namespaces = [\
    'evil-scribes-a-whole-host-se', 'evil-scribes-a-whole-host-st', 'evil-scribes-a-whole-host-ne', \
    'evil-scribes-a-whole-host-nt', 'evil-scribes-over-a-snippet-se', 'evil-scribes-over-a-snippet-st', \
    'evil-scribes-over-a-snippet-ne', 'evil-scribes-over-a-snippet-nt', 'victim-scribes-over-a-snippet-se', \
    'victim-scribes-over-a-snippet-st', 'victim-scribes-over-a-snippet-ne', 'victim-scribes-over-a-snippet-nt', \
    'evil-scribes-what-is-refused-se', 'evil-scribes-what-is-refused-st', 'evil-scribes-what-is-refused-ne', \
    'evil-scribes-what-is-refused-nt']}]";

/// What is tried where the administrator lets those write snippets.
const SCRIBING: Stage = Stage { settings: &[("snippets.allowed", SCRIBES)], ..DEFAULTS };

#[test]
fn whose_snippets_count() {
    SCRIBING.run(&[snippets::ROWS]);
}
