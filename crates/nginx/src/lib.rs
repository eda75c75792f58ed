//! What this host's nginx is and can do, and the gate that fits a model to it.

pub mod access_log;
pub mod answer_memory;
mod capabilities;
pub mod complaint;
mod firewall;
mod gate;
pub mod geoip;
mod global;
mod host_lines;
mod open_files;
mod other_sites;
mod plan;
pub mod render;
mod sites_beside;
mod stream_log;
#[cfg(test)]
mod usual;

pub use access_log::{
    AccessLog, AccessLogOptions, Buffering, LogFormat, LogPlace, LogTarget, Logs, SyslogServer, SyslogSocket,
};
pub use capabilities::{Capabilities, JOINS_HEADERS, UnknownBuild};
pub use firewall::{FirewallOptions, FirewallRules, RuleFiles};
pub use gate::{Gate, Gated, WORKER_CONNECTIONS, gate, wanted};
pub use geoip::{Geo, GeoFile, GeoOptions};
pub use global::{
    Global, HeaderTest, KEEPALIVE_TIME, KEEPALIVE_TIMEOUT, OcspResponder, SetHeader, StapleSource, Uncompressed,
};
pub use host_lines::{HostBlock, HostLine};
pub use ingressd_model::language::{lexer, syntax};
pub use open_files::OpenFiles;
pub use other_sites::{
    HostConfiguration, OtherSites, ParsedFile, SiteCertificate, SiteListen, SiteName, StreamListen, survey,
};
pub use plan::{ConnectedBy, Decisions, GateOptions, Http2, Inside, Listen, NamesHash, Plan, Preread, Reset};
pub use sites_beside::{SiteTaking, SitesBeside};
pub use stream_log::{StreamLog, StreamLogOptions};
