//! ingressd as an administrator has it: installed from its package on booted systems of Debian.
//!
//! `make test-boot` runs it. It needs root, and file systems that `tests/boot/roots` makes. Each
//! test has a machine of its own: a container with systemd and nginx, alone in its network or
//! joined to that of a control plane, pods and clients.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod documents;
mod erasing;
mod failing;
mod installing;
mod instances;
mod machine;
mod migrating;
mod node;
mod operating;
mod package;
mod packages;
#[path = "../pages/mod.rs"]
mod pages;
mod removing;
mod setting_up;
mod site;
mod surroundings;
mod undoing;
mod versions;

/// A test for each release of Debian.
macro_rules! on_each_release {
    ($scenario:ident) => {
        #[test]
        fn bookworm() {
            $scenario("bookworm");
        }

        #[test]
        fn trixie() {
            $scenario("trixie");
        }

        #[test]
        fn forky() {
            $scenario("forky");
        }
    };
}
pub(crate) use on_each_release;
