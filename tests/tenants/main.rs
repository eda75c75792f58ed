//! What tenants share: no object that a tenant may create in one namespace changes anything for
//! clients of another one.
//!
//! Most of it is rows of data (`row.rs`), many of which are tried at once through one nginx
//! (`stage.rs`). Each row is tried in both dialects, under both rules of who owns a host and in
//! every order of creation, each time in two namespaces and with hosts of its own. What takes a
//! machine to its limits is weighed by itself (`weigh.rs`).
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod alone;
mod asking;
mod growing;
mod heavy;
mod property;
mod row;
mod rows;
mod scene;
mod stage;
mod weigh;
