//! The administrator's settings: one row for each key, used by the parser, the man page and the
//! sample.

mod access;
mod access_log;
mod config_map;
mod decisive;
mod document;
mod firewall;
mod geoip2;
mod global;
mod hosts;
mod ingress_nginx;
mod layer;
mod layers;
mod limits;
mod options;
mod pacing;
mod publishing;
mod settings;
mod snippets;
mod table;
mod templates;
mod traffic;
mod usual;
mod value;
mod written;

pub use config_map::{
    AskedOfNode, KeyFacts, Layered, OfNode, document as config_map_reference, facts as config_map_keys,
};
pub use decisive::known as known_of_others;
pub use document::{manual, reference, sample};
pub use layers::{DEFAULT_FILE, Error, Mistake, Sources};
pub use settings::{
    Apply, Cluster, Http, Log, LogFormat, NameSettings, Nginx, Pacing, PageFiles, Resolver, Settings, Traffic,
};
pub use table::{SettingRow, rows};
pub use usual::Usual;
pub use value::{Column, Form, duration};
