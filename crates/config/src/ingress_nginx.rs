//! The keys of the section `ingress-nginx`: objects of an ingress-nginx that this program
//! replaces.

use std::time::Duration;

use config::Value;

use super::table::{SettingRow, row};
use super::value::above_zero;
use ingressd_translate::Scope;

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    row!("ingress-nginx.configmap", Scope::Node, r#""""#, ingress_nginx.config_map)
        .doc("ConfigMap of ingress-nginx, as namespace/name, as in its flag `--configmap`. It overrides these settings, and annotations override it. docs/configmap.md says what each of its keys does here. The account needs the right to read ConfigMaps in that namespace: `ingressd kubeconfig` grants it when this is set."),
    row!("ingress-nginx.tcp-services-configmap", Scope::Listener, r#""""#, ingress_nginx.tcp_services)
        .doc("ConfigMap with TCP services, as namespace/name, as in the flag `--tcp-services-configmap` of ingress-nginx: each key is a port of this host, each value `namespace/service:port`. See docs/tcp-udp.md. Empty serves none."),
    row!("ingress-nginx.udp-services-configmap", Scope::Listener, r#""""#, ingress_nginx.udp_services)
        .doc("The same with UDP services (`--udp-services-configmap`)."),
    row!("ingress-nginx.proxy-stream-timeout", Scope::Listener, r#""600s""#, translate.streams.policy.timeout, open_time)
        .doc("How long a TCP connection or UDP session stays open while neither side sends anything."),
    row!("ingress-nginx.proxy-stream-next-upstream", Scope::Listener, "true", translate.streams.policy.next_upstream)
        .doc("Whether nginx tries another endpoint of a TCP or UDP service when it cannot connect to one."),
    row!("ingress-nginx.proxy-stream-next-upstream-timeout", Scope::Listener, r#""600s""#, translate.streams.policy.next_upstream_timeout)
        .doc("For how long nginx tries other endpoints, 0 for no limit."),
    row!("ingress-nginx.proxy-stream-next-upstream-tries", Scope::Listener, "3", translate.streams.policy.next_upstream_tries)
        .doc("How many endpoints nginx tries, 0 for all."),
    row!("ingress-nginx.proxy-stream-responses", Scope::Listener, "1", translate.streams.policy.responses)
        .doc("How many datagrams an endpoint of a UDP service sends in response to one of a client; then the session ends. With 0 responses do not reach the client."),
    row!("ingress-nginx.proxy-protocol-header-timeout", Scope::Listener, r#""30s""#, translate.streams.policy.header_timeout, open_time)
        .doc("How long a connection to a TCP service, or to a host that is passed through, may take to send its header of the PROXY protocol, where nginx expects one. On other ports `client_header_timeout` applies."),
];

/// A time that a connection stays open.
fn open_time(time: &mut Duration, value: &Value) -> Result<(), String> {
    above_zero(time, value, "with 0 every connection would end at once")
}
