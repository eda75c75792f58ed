//! The rows; they must not know how they are tried.

mod authentication;
mod blame;
mod certificates;
mod expressions;
mod features;
mod hosts;
mod passthrough;
mod requests;
mod values;

use crate::row::Row;
use crate::stage::{DEFAULTS, Stage};

/// What concerns hosts that both sides name.
const SHARING: &[&[Row]] =
    &[hosts::ROWS, authentication::ROWS, expressions::ROWS, certificates::ROWS, blame::ROWS, features::ROWS];

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
