//! The keys of the section `ingress-nginx`: objects of an ingress-nginx that this program
//! replaces.

use super::table::Row;
use super::value::{Form, put};
use ingressd_translate::Scope;

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "ingress-nginx.configmap",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""""#,
        doc: "ConfigMap of ingress-nginx, as namespace/name, as in its flag `--configmap`. It overrides these settings, and annotations override it. docs/configmap.md says what each of its keys does here. The account needs the right to read ConfigMaps in that namespace: `ingressd kubeconfig` grants it when this is set.",
        set: |settings, value| put(&mut settings.ingress_nginx.config_map, value),
    },
    Row {
        key: "ingress-nginx.tcp-services-configmap",
        scope: Scope::Listener,
        form: Form::Text,
        default: r#""""#,
        doc: "ConfigMap with TCP services, as namespace/name, as in the flag `--tcp-services-configmap` of ingress-nginx: each key is a port of this host, each value `namespace/service:port`. See docs/tcp-udp.md. Empty serves none.",
        set: |settings, value| put(&mut settings.ingress_nginx.tcp_services, value),
    },
    Row {
        key: "ingress-nginx.udp-services-configmap",
        scope: Scope::Listener,
        form: Form::Text,
        default: r#""""#,
        doc: "The same with UDP services (`--udp-services-configmap`).",
        set: |settings, value| put(&mut settings.ingress_nginx.udp_services, value),
    },
    Row {
        key: "ingress-nginx.proxy-stream-timeout",
        scope: Scope::Listener,
        form: Form::Duration,
        default: r#""600s""#,
        doc: "How long a TCP connection or UDP session stays open while neither side sends anything.",
        set: |settings, value| {
            put(&mut settings.translate.streams.policy.timeout, value)?;
            match settings.translate.streams.policy.timeout.is_zero() {
                true => Err("with 0 every connection would end at once".to_owned()),
                false => Ok(()),
            }
        },
    },
    Row {
        key: "ingress-nginx.proxy-stream-next-upstream",
        scope: Scope::Listener,
        form: Form::Boolean,
        default: "true",
        doc: "Whether nginx tries another endpoint of a TCP or UDP service when it cannot connect to one.",
        set: |settings, value| put(&mut settings.translate.streams.policy.next_upstream, value),
    },
    Row {
        key: "ingress-nginx.proxy-stream-next-upstream-timeout",
        scope: Scope::Listener,
        form: Form::Duration,
        default: r#""600s""#,
        doc: "For how long nginx tries other endpoints, 0 for no limit.",
        set: |settings, value| put(&mut settings.translate.streams.policy.next_upstream_timeout, value),
    },
    Row {
        key: "ingress-nginx.proxy-stream-next-upstream-tries",
        scope: Scope::Listener,
        form: Form::Number,
        default: "3",
        doc: "How many endpoints nginx tries, 0 for all.",
        set: |settings, value| put(&mut settings.translate.streams.policy.next_upstream_tries, value),
    },
    Row {
        key: "ingress-nginx.proxy-stream-responses",
        scope: Scope::Listener,
        form: Form::Number,
        default: "1",
        doc: "How many datagrams an endpoint of a UDP service sends in response to one of a client; then the session ends. With 0 responses do not reach the client.",
        set: |settings, value| put(&mut settings.translate.streams.policy.responses, value),
    },
    Row {
        key: "ingress-nginx.proxy-protocol-header-timeout",
        scope: Scope::Listener,
        form: Form::Duration,
        default: r#""30s""#,
        doc: "How long a connection to a TCP service, or to a host that is passed through, may take to send its header of the PROXY protocol, where nginx expects one. On other ports `client_header_timeout` applies.",
        set: |settings, value| {
            put(&mut settings.translate.streams.policy.header_timeout, value)?;
            match settings.translate.streams.policy.header_timeout.is_zero() {
                true => Err("with 0 every connection would end at once".to_owned()),
                false => Ok(()),
            }
        },
    },
];
