//! Requests through the distribution's nginx as the daemon sets it up: these tests must not know how anything works inside.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod authentication;
mod cors;
mod demo;
mod endpoints;
mod headers;
mod hosts;
mod paths;
mod protocols;
mod quarantine;
mod redirects;
mod rewrites;
mod rig;
mod rig_itself;
mod tls;
