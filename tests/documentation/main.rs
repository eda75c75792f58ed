//! The documentation is right: what is generated is in the repository, and every block, command,
//! setting and link of every page is one that the program, nginx, kubectl or the repository knows.
//! This must not know what pages are about. `UPDATE=1` writes generated pages.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod blocks;
mod commands;
mod coverage;
mod cves;
mod decisions;
mod figures;
mod generated;
mod lines;
mod links;
mod reading;
mod words;

#[path = "../pages/mod.rs"]
mod pages;
