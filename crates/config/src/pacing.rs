//! The keys of the section `pacing`.

use super::table::Row;
use super::value::{Form, put};
use ingressd_translate::Scope;

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "pacing.gather",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""20ms""#,
        doc: "How long a change waits for further changes when there was no reload recently.",
        set: |settings, value| put(&mut settings.pacing.gather, value),
    },
    Row {
        key: "pacing.spacing",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""150ms""#,
        doc: "Shortest time from the start of one reload to the start of the next. The time grows with the duration of a reload, so that nginx reads its configuration for a fifth of the time at most, and to `pacing.ceiling` after a reload that left more old workers behind than before, because of long connections. No change waits longer than `pacing.ceiling` for these reasons. To have the same time between all reloads, set both to the same value.",
        set: |settings, value| put(&mut settings.pacing.spacing, value),
    },
    Row {
        key: "pacing.ceiling",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""1s""#,
        doc: "Longest time that a change waits, in addition to a running reload. With many old workers it may wait longer: see `pacing.most-draining`. It is also the time from the start of a reload that left old workers behind to the start of the next.",
        set: |settings, value| put(&mut settings.pacing.ceiling, value),
    },
    Row {
        key: "pacing.most-draining",
        scope: Scope::Node,
        form: Form::Number,
        default: "8",
        doc: "How many generations of old workers may finish their connections at once, at least 2: for each worker that accepts connections there may be as many old ones. Each generation keeps its configuration in memory for as long as one of its connections lasts, such as a WebSocket. From half of that number on, the time between reloads grows (`pacing.draining-time`). At that number the daemon ends workers before the next reload, with their connections: the oldest, but those that took connections for a minute or longer come last, because they have the most. Where nginx.conf sets worker_shutdown_timeout, nginx ends them after that time anyway.",
        set: |settings, value| {
            put(&mut settings.pacing.draining.generations, value)?;
            match settings.pacing.draining.generations {
                0 | 1 => {
                    Err("it is not at least 2: the workers that the last reload replaced could finish nothing"
                        .to_owned())
                }
                _ => Ok(()),
            }
        },
    },
    Row {
        key: "pacing.draining-time",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""40s""#,
        doc: "How long the daemon leaves old workers at least to finish their connections. While there are more than half as many as `pacing.most-draining` allows, it spaces reloads so that each gets this time, whatever `pacing.ceiling` says: with the defaults and endless changes a change waits for 5 s as a rule, and after a burst of them for 10 s.",
        set: |settings, value| put(&mut settings.pacing.draining.time, value),
    },
    Row {
        key: "pacing.recheck",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""1s""#,
        doc: "How often the daemon checks whether nginx stopped, started or crashed.",
        set: |settings, value| put(&mut settings.pacing.recheck, value),
    },
];
