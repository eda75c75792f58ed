//! What the tests of this room take for usual options: those that matter to them, as the settings
//! have them.

use std::net::SocketAddr;
use std::time::Duration;

use ingressd_model::{ByteSize, HostListeners, Protocols};

use crate::{AccessLogOptions, FirewallOptions, GateOptions, GeoOptions, Global, LogFormat, StreamLogOptions};

/// All addresses and the ports 80 and 443.
pub fn listeners() -> HostListeners {
    let addresses = vec!["0.0.0.0".parse().unwrap(), "::".parse().unwrap()];
    HostListeners { addresses, http_port: 80, https_port: 443, ..HostListeners::empty() }
}

impl Default for GateOptions {
    fn default() -> Self {
        GateOptions {
            public_https_port: 443,
            http2: true,
            tls_protocols: Protocols::Both,
            status: SocketAddr::from(([127, 0, 0, 1], 10246)),
            passthrough_port: 10247,
            current: "/etc/nginx/ingressd/current".into(),
            upstream_keepalive: 32,
            stream_percent: 50,
            global: Global {
                request_ids: true,
                rate_status: 503,
                connections_status: 503,
                session_timeout: Duration::from_secs(600),
                session_cache: ByteSize(10 << 20),
                ..Global::empty()
            },
            access_log: AccessLogOptions::default(),
            firewall: FirewallOptions::default(),
            geo: GeoOptions::default(),
            shared_servers: true,
            ..GateOptions::empty()
        }
    }
}

impl Default for AccessLogOptions {
    fn default() -> Self {
        AccessLogOptions {
            enabled: true,
            requests: true,
            unknown_hosts: true,
            format: LogFormat::Dialect,
            syslog_port: 514,
            streams: StreamLogOptions::default(),
            ..AccessLogOptions::empty()
        }
    }
}

impl Default for StreamLogOptions {
    fn default() -> Self {
        StreamLogOptions { enabled: true, ..StreamLogOptions::empty() }
    }
}

impl Default for FirewallOptions {
    fn default() -> Self {
        let core_rules = [
            "/etc/modsecurity/crs/crs-setup.conf",
            "/etc/modsecurity/crs/REQUEST-900-EXCLUSION-RULES-BEFORE-CRS.conf",
            "/usr/share/modsecurity-crs/rules/*.conf",
            "/etc/modsecurity/crs/RESPONSE-999-EXCLUSION-RULES-AFTER-CRS.conf",
        ];
        FirewallOptions {
            rules: vec!["/etc/nginx/modsecurity.conf".parse().unwrap()],
            core_rules: core_rules.map(|rules| rules.parse().unwrap()).to_vec(),
            ..FirewallOptions::empty()
        }
    }
}

impl Default for GeoOptions {
    fn default() -> Self {
        GeoOptions::empty()
    }
}
