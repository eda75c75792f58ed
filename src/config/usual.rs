//! The options of the rooms without any settings: they are made of the defaults in the rows, each
//! of which is written once.

use std::sync::OnceLock;

use super::settings::Settings;
use crate::apply::{self, SystemOptions};
use crate::model::{HostListeners, StreamPolicy};
use crate::nginx::{AccessLogOptions, Everywhere, FirewallOptions, GateOptions, GeoOptions, StreamLogOptions};
use crate::translate::{Limits, NamespaceLimits, NodeLimits, ObjectLimits, StreamOptions};
use crate::{publish, translate};

/// The settings with all defaults. `Settings::empty` must not use them: that would be an endless
/// recursion.
fn usual() -> &'static Settings {
    static USUAL: OnceLock<Settings> = OnceLock::new();
    match USUAL.get() {
        Some(usual) => usual,
        // Within `get_or_init` such a recursion would be a silent deadlock.
        None => {
            let made = Settings::default();
            USUAL.get_or_init(|| made)
        }
    }
}

macro_rules! usual {
    ($($type:ty: $($part:ident).+;)*) => {
        $(impl Default for $type {
            fn default() -> Self {
                usual().$($part).+.clone()
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
    GeoOptions: gate.geo;
    StreamLogOptions: gate.access_log.streams;
    publish::Options: publish;
}

impl Default for GateOptions {
    fn default() -> Self {
        usual().gate_options()
    }
}

impl Default for apply::Options {
    fn default() -> Self {
        let Settings { apply, nginx, pacing, .. } = usual();
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
        let Settings { apply, nginx, gate, .. } = usual();
        SystemOptions {
            binary: nginx.binary.clone(),
            pid_file: nginx.pid_file.clone(),
            status: gate.status,
            test_timeout: apply.confirm_timeout,
            ..SystemOptions::empty()
        }
    }
}
