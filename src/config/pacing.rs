//! The keys of the section `pacing`.

use super::table::Row;
use super::value::{Form, put};
use crate::translate::Scope;

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "pacing.gather",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""20ms""#,
        doc: "How long a change waits for others that come with it, when nothing was reloaded lately.",
        set: |settings, value| put(&mut settings.pacing.gather, value),
    },
    Row {
        key: "pacing.spacing",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""150ms""#,
        doc: "Least time from the start of one reload to the start of the next. It grows with what a reload costs, so that nginx reads its configuration for a fifth of the time at most, and to `pacing.ceiling` after a reload that left more old workers behind than there were before, because of connections that last. No change waits longer than `pacing.ceiling` for either. Set it to the same value, to have reloads always as far apart.",
        set: |settings, value| put(&mut settings.pacing.spacing, value),
    },
    Row {
        key: "pacing.ceiling",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""1s""#,
        doc: "Longest time that any change waits, besides a reload that is running, and while there is room for old workers: see `pacing.most-draining`. It is also the time from the start of a reload that left old workers behind to the start of the next.",
        set: |settings, value| put(&mut settings.pacing.ceiling, value),
    },
    Row {
        key: "pacing.most-draining",
        scope: Scope::Node,
        form: Form::Number,
        default: "8",
        doc: "How many generations of old workers may finish their connections at once, at least 2: for each worker that takes connections there may be as many old ones. Each generation keeps its configuration in memory for as long as one of its connections lasts, such as a WebSocket. From half of that number on reloads are spaced out, and when it is reached the oldest old workers are ended before the next reload, and with them their connections. Where nginx.conf sets worker_shutdown_timeout, nginx ends them after that time anyway.",
        set: |settings, value| {
            put(&mut settings.pacing.most_draining, value)?;
            match settings.pacing.most_draining {
                0 | 1 => {
                    Err("it is not at least 2: the workers that the last reload replaced could finish nothing"
                        .to_owned())
                }
                _ => Ok(()),
            }
        },
    },
    Row {
        key: "pacing.crowded-spacing",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""5s""#,
        doc: "Least time from the start of one reload to the start of the next when as many old workers as `pacing.most-draining` allows finish their connections; with fewer it is shorter, down to nothing at half of them. It counts more than `pacing.ceiling`, and is the longest that a change waits for that reason. So a connection lasts for at least `pacing.most-draining` times as long, however often the configuration changes, once there are so many.",
        set: |settings, value| put(&mut settings.pacing.crowded_spacing, value),
    },
    Row {
        key: "pacing.recheck",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""1s""#,
        doc: "How often nginx is looked at, to notice that it stopped, started or crashed.",
        set: |settings, value| put(&mut settings.pacing.recheck, value),
    },
];
