//! The keys of the section `ingress-nginx`: objects of an ingress-nginx whose place this takes; it must not know what is in them.

use super::table::Row;
use super::value::{Form, put};

/// Its keys.
pub const ROWS: &[Row] = &[Row {
    key: "ingress-nginx.configmap",
    form: Form::Text,
    default: r#""""#,
    doc: "ConfigMap, as namespace/name, that an ingress-nginx was given with `--configmap`. What it says counts before these settings, and annotations count before it. docs/configmap.md says what each of its keys does here. The account needs the right to read ConfigMaps in that namespace: `ingressd kubeconfig` grants it when this is set.",
    set: |settings, value| put(&mut settings.ingress_nginx.config_map, value),
}];
