//! The keys of the section `ingress-nginx`: objects of an ingress-nginx that this program
//! replaces.

use super::table::Row;
use super::value::{Form, put};
use crate::translate::Scope;

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "ingress-nginx.configmap",
        scope: Scope::Node,
        form: Form::Text,
        default: r#""""#,
        doc: "ConfigMap, as namespace/name, that an ingress-nginx was given with `--configmap`. What it says counts before these settings, and annotations count before it. docs/configmap.md says what each of its keys does here. The account needs the right to read ConfigMaps in that namespace: `ingressd kubeconfig` grants it when this is set.",
        set: |settings, value| put(&mut settings.ingress_nginx.config_map, value),
    },
    Row {
        key: "ingress-nginx.tcp-services-configmap",
        scope: Scope::Listener,
        form: Form::Text,
        default: r#""""#,
        doc: "ConfigMap, as namespace/name, with TCP services, as an ingress-nginx was given with `--tcp-services-configmap`: each key is a port of this host, each value `namespace/service:port`. docs/tcp-udp.md says more. Empty serves none.",
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
        doc: "How long neither side of a TCP connection or UDP session may send anything before it ends.",
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
        doc: "Whether another endpoint of a TCP or UDP service is tried where one cannot be connected to.",
        set: |settings, value| put(&mut settings.translate.streams.policy.next_upstream, value),
    },
    Row {
        key: "ingress-nginx.proxy-stream-next-upstream-timeout",
        scope: Scope::Listener,
        form: Form::Duration,
        default: r#""600s""#,
        doc: "For how long others are tried, 0 for no bound.",
        set: |settings, value| put(&mut settings.translate.streams.policy.next_upstream_timeout, value),
    },
    Row {
        key: "ingress-nginx.proxy-stream-next-upstream-tries",
        scope: Scope::Listener,
        form: Form::Number,
        default: "3",
        doc: "How many endpoints are tried, 0 for all.",
        set: |settings, value| put(&mut settings.translate.streams.policy.next_upstream_tries, value),
    },
    Row {
        key: "ingress-nginx.proxy-stream-responses",
        scope: Scope::Listener,
        form: Form::Number,
        default: "1",
        doc: "How many datagrams of an endpoint answer one of a client of a UDP service; after the last the session ends. With 0 none is expected, and none gets back.",
        set: |settings, value| put(&mut settings.translate.streams.policy.responses, value),
    },
    Row {
        key: "ingress-nginx.proxy-protocol-header-timeout",
        scope: Scope::Listener,
        form: Form::Duration,
        default: r#""30s""#,
        doc: "How long a connection to a TCP service, or to a host whose TLS is passed through, may take to send its header of the PROXY protocol, where one is expected. On other ports it is `client_header_timeout`.",
        set: |settings, value| {
            put(&mut settings.translate.streams.policy.header_timeout, value)?;
            match settings.translate.streams.policy.header_timeout.is_zero() {
                true => Err("with 0 every connection would end at once".to_owned()),
                false => Ok(()),
            }
        },
    },
];
