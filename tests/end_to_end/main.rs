//! Requests through the distribution's nginx as the daemon sets it up: these tests must not know how anything works inside.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod alike;
mod authentication;
mod budgets;
mod burdens;
mod canaries;
mod challenges;
mod clock;
mod cors;
mod costs;
mod crash;
mod crowds;
mod demo;
mod disk;
mod doctor;
mod downgrade;
mod endpoints;
mod external_names;
mod failure;
mod generations;
mod headers;
mod hosts;
mod injection;
mod instances;
mod load;
mod many;
mod neighbour;
mod operation;
mod own_addresses;
mod paths;
mod protocols;
mod quarantine;
mod rebinding;
mod redirects;
mod rewrites;
#[path = "../rig/mod.rs"]
mod rig;
mod rig_itself;
mod sessions;
mod settings;
mod setup;
mod status;
mod strict_paths;
mod templates;
mod tls;
