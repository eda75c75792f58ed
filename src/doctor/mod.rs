//! Checks whether this host and its cluster are ready for each other, with remedies for each
//! fault. It changes nothing.
//!
//! `look` gathers facts with time limits; `checks` judge them and know neither files, clocks nor
//! networks. `table` has a row for each check, from which command, manual and documentation are
//! generated.

mod checks;
mod document;
mod facts;
mod look;
mod report;
mod table;

pub use document::{document, manual};
pub use look::{certificate_names, look};
pub use report::{Level, Line, Report};
pub use table::{CHECKS, Check, FIRST, Need};

use std::collections::BTreeSet;

use ingressd_config::Settings;

/// Gathers facts and runs the checks with these names.
pub async fn examine(settings: &Settings, names: &BTreeSet<&str>) -> Report {
    let checks: Vec<_> = CHECKS.iter().filter(|check| names.contains(check.name)).collect();
    let needs: BTreeSet<Need> = checks.iter().flat_map(|check| check.needs).copied().collect();
    let facts = look(settings, &needs).await;
    let lines = checks.into_iter().flat_map(|check| {
        let name = check.name;
        check.lines(&facts).into_iter().map(move |line| (name, line))
    });
    Report { lines: lines.collect() }
}
