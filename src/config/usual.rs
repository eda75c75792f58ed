//! What the options of the rooms are where nobody writes anything: what the rows say, in which
//! each default stands once.

use std::sync::LazyLock;

use super::settings::Settings;
use crate::apply::{self, SystemOptions};
use crate::model::{HostListeners, StreamPolicy};
use crate::nginx::{AccessLogOptions, Everywhere, FirewallOptions, GateOptions};
use crate::translate::{Limits, NamespaceLimits, NodeLimits, ObjectLimits, StreamOptions};
use crate::{publish, translate};

/// Nobody writes anything there.
static USUAL: LazyLock<Settings> = LazyLock::new(Settings::default);

macro_rules! usual {
    ($($type:ty: $($part:ident).+;)*) => {
        $(impl Default for $type {
            fn default() -> Self {
                USUAL.$($part).+.clone()
            }
        })*
    };
}

usual! {
    translate::Options: translate;
    HostListeners: translate.listeners;
    StreamOptions: translate.streams;
    StreamPolicy: translate.streams.policy;
    Limits: translate.limits;
    ObjectLimits: translate.limits.object;
    NamespaceLimits: translate.limits.namespace;
    NodeLimits: translate.limits.node;
    Everywhere: gate.everywhere;
    AccessLogOptions: gate.access_log;
    FirewallOptions: gate.firewall;
    publish::Options: publish;
}

impl Default for GateOptions {
    fn default() -> Self {
        USUAL.gate_options()
    }
}

impl Default for apply::Options {
    fn default() -> Self {
        let Settings { apply, nginx, pacing, .. } = &*USUAL;
        apply::Options {
            root: apply.root.clone(),
            state: apply.state.clone(),
            nginx_configuration: Some(nginx.configuration.clone()),
            keep: apply.kept_generations,
            confirm_timeout: apply.confirm_timeout,
            most_draining: pacing.most_draining,
            ..apply::Options::empty()
        }
    }
}

impl Default for SystemOptions {
    fn default() -> Self {
        let Settings { apply, nginx, gate, .. } = &*USUAL;
        SystemOptions {
            binary: nginx.binary.clone(),
            pid_file: nginx.pid_file.clone(),
            status: gate.status,
            test_timeout: apply.confirm_timeout,
            ..SystemOptions::empty()
        }
    }
}
