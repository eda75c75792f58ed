//! The keys of the section `pacing`.

use super::table::{SettingRow, row};
use super::value::put;
use ingressd_translate::Scope;

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    row!("pacing.gather", Scope::Node, r#""20ms""#, pacing.gather)
        .doc("How long a change waits for further changes when there was no reload recently."),
    row!("pacing.spacing", Scope::Node, r#""150ms""#, pacing.spacing)
        .doc("Shortest time from the start of one reload to the start of the next. The time grows with the duration of a reload, so that nginx reads its configuration for a fifth of the time at most, and to `pacing.ceiling` after a reload that left more old workers behind than before, because of long connections. No change waits longer than `pacing.ceiling` for these reasons. To have the same time between all reloads, set both to the same value."),
    row!("pacing.ceiling", Scope::Node, r#""1s""#, pacing.ceiling)
        .doc("Longest time that a change waits, in addition to a running reload. With many old workers it may wait longer: see `pacing.most-draining`. It is also the time from the start of a reload that left old workers behind to the start of the next."),
    row!("pacing.most-draining", Scope::Node, "8", pacing.draining.generations, |generations, value| {
        put(generations, value)?;
        match generations {
            0 | 1 => {
                Err("it is not at least 2: the workers that the last reload replaced could finish nothing".to_owned())
            }
            _ => Ok(()),
        }
    })
        .doc("How many generations of old workers may finish their connections at once, at least 2: for each worker that accepts connections there may be as many old ones. Each generation keeps its configuration in memory for as long as one of its connections lasts, such as a WebSocket. From half of that number on, the time between reloads grows (`pacing.draining-time`). At that number the daemon ends workers before the next reload, with their connections: the oldest, but those that took connections for a minute or longer come last, because they have the most. Where nginx.conf sets worker_shutdown_timeout, nginx ends them after that time anyway."),
    row!("pacing.draining-time", Scope::Node, r#""40s""#, pacing.draining.time)
        .doc("How long the daemon leaves old workers at least to finish their connections. While there are more than half as many as `pacing.most-draining` allows, it spaces reloads so that each gets this time, whatever `pacing.ceiling` says: with the defaults and endless changes a change waits for 5 s as a rule, and after a burst of them for 10 s."),
    row!("pacing.recheck", Scope::Node, r#""1s""#, pacing.recheck)
        .doc("How often the daemon checks whether nginx stopped, started or crashed."),
];
