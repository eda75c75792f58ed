//! What counts without any settings: the only settings that name tables of annotations.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use crate::annotation::Trust;
use crate::read::path::CHALLENGES;
use crate::value::USUAL_DOMAIN;
use crate::{
    ANNOTATIONS, ClassRule, Dialect, EndpointMode, HostOwnership, Hsts, Limits, Options, SPECIFICATION, StreamOptions,
};
use ingressd_model::{HostListeners, StreamPolicy, UrlPath};

impl ClassRule {
    /// A rule for a controller name and a dialect, without further settings.
    pub fn new(controller: &str, dialect: &'static Dialect) -> Self {
        ClassRule {
            controller: controller.into(),
            dialect,
            class_name: None,
            legacy_class: None,
            without_class: false,
            endpoints: None,
            ownership: None,
            annotations: &ANNOTATIONS,
        }
    }
}

/// Without any settings.
impl Default for Options {
    fn default() -> Self {
        Options {
            classes: vec![ClassRule::new("ingressd/nginx", &SPECIFICATION)],
            fills_in_class: false,
            listeners: HostListeners {
                addresses: vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
                http_port: 80,
                https_port: 443,
                proxy_protocol: false,
            },
            ownership: HostOwnership::default(),
            host_grace: 300,
            catch_all: Vec::new(),
            challenges: Vec::new(),
            no_catch_all: false,
            endpoints: EndpointMode::Pod,
            reachable: Vec::new(),
            external_names: true,
            cluster_domain: USUAL_DOMAIN.into(),
            local_upstreams: false,
            cross_namespace: false,
            shared_services: Vec::new(),
            app_protocol: None,
            own_upstreams: Vec::new(),
            own_ports: Vec::new(),
            default_backend: None,
            default_certificate: None,
            ssl_redirect: true,
            force_ssl_redirect: false,
            redirect_status: 308,
            hsts: Hsts { enabled: None, max_age: 31_536_000, include_subdomains: true, preload: false },
            allowlist: Vec::new(),
            denylist: Vec::new(),
            no_authentication: UrlPath::new(CHALLENGES).into_iter().collect(),
            max_trust: Trust::High,
            strict_paths: None,
            trusted_proxies: Vec::new(),
            only_addresses: false,
            append_forwarded_for: false,
            allowed_hosts: Vec::new(),
            snippets: Vec::new(),
            annotation_snippets: true,
            passthrough: false,
            streams: StreamOptions::default(),
            shares_firewall_rules: false,
            limits: Limits::default(),
            allowed_headers: Vec::new(),
            keys_of_config_map: &[],
            defaults: Arc::default(),
            server_directives: Vec::new(),
            lookup_tables: Arc::default(),
        }
    }
}

/// Without any settings.
impl Default for StreamOptions {
    fn default() -> Self {
        let policy = StreamPolicy {
            timeout: Duration::from_secs(600),
            next_upstream: true,
            next_upstream_timeout: Duration::from_secs(600),
            next_upstream_tries: 3,
            responses: 1,
            header_timeout: Duration::from_secs(30),
            directives: Arc::default(),
        };
        StreamOptions { tcp_services: None, udp_services: None, policy, reserved: Vec::new() }
    }
}
