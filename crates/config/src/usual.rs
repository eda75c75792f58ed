//! The options of the rooms without any settings: they are made of the defaults in the rows, each
//! of which is written once.

use std::sync::OnceLock;

use super::settings::Settings;
use ingressd_apply::{self as apply, SystemOptions};
use ingressd_model::{HostListeners, StreamPolicy};
use ingressd_nginx::{AccessLogOptions, FirewallOptions, GateOptions, GeoOptions, Global, StreamLogOptions};

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

/// The options of a room as they are without any settings.
pub trait Usual {
    /// The defaults of the rows.
    fn usual() -> Self;
}

macro_rules! usual {
    ($($type:ty: $($part:ident).+;)*) => {
        $(impl Usual for $type {
            fn usual() -> Self {
                usual().$($part).+.clone()
            }
        })*
    };
}

usual! {
    HostListeners: translate.listeners;
    StreamPolicy: translate.streams.policy;
    Global: gate.global;
    AccessLogOptions: gate.access_log;
    FirewallOptions: gate.firewall;
    GeoOptions: gate.geo;
    StreamLogOptions: gate.access_log.streams;
}

impl Usual for GateOptions {
    fn usual() -> Self {
        usual().gate_options()
    }
}

impl Usual for apply::Options {
    fn usual() -> Self {
        usual().apply_options()
    }
}

impl Usual for SystemOptions {
    fn usual() -> Self {
        SystemOptions { configuration: None, unit: None, ..usual().system_options() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_rows_are_those_of_the_rooms() {
        let of_rows = format!("{:#?}\n{:#?}", usual().translate, usual().publish_options());
        let of_rooms = format!(
            "{:#?}\n{:#?}",
            ingressd_translate::Options::default(),
            ingressd_cluster::publish::Options::default()
        );
        assert_eq!(of_rows.lines().zip(of_rooms.lines()).find(|(row, room)| row != room), None);
        assert_eq!(of_rows.len(), of_rooms.len());
    }
}
