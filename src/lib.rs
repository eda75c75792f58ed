//! ingressd makes the distribution's own nginx the ingress of a Kubernetes cluster, from outside
//! of it.
//!
//! ```text
//!  Kubernetes API / manifests directory
//!       |
//!    source ------> Snapshot                     what the cluster says, sorted, immutable
//!                      |
//!                  translate ------> Model + Findings          what traffic should do; pure
//!                                      |
//!                               nginx::gate(Capabilities) ---> Plan + Findings   what this nginx can do; pure
//!                                      |
//!                                   render ---> FileSet        paths, bytes, owners of every line; pure
//!                                      |
//!                                    apply ---> Outcome        stage, test, switch, HUP, confirm, or roll back
//!                                      |
//!    Snapshot + Findings + Outcome ----+-> publish             status, Events, Leases
//! ```
//!
//! Nothing calls backwards. ARCHITECTURE.md tells the rules; `tests/source_tree.rs` keeps them.

pub mod cli;
pub mod daemon;
#[cfg(feature = "demo")]
pub mod demo;
pub mod doctor;
pub mod setup;
