//! Requests through the distribution's nginx as the daemon sets it up: these tests must not know how anything works inside.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod clock;
mod crash;
mod disk;
mod failure;
mod load;
mod many;
mod quarantine;
mod rig;
mod rig_itself;
mod settings;
