//! ingressd as an administrator has it: installed from its package on booted systems of Debian; this must not know how it works inside.
//!
//! `make test-boot` runs it. It needs root, and file systems that `tests/boot/roots` makes. Each test has a machine of its own: a
//! container with systemd, nginx and a network in which it is alone.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod installing;
mod instances;
mod machine;
mod operating;
mod package;
mod packages;
mod site;

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
