//! The keys of the section `traffic`.

use super::table::{SettingRow, row};
use super::value::put;
use ingressd_translate::Scope;

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    row!("traffic.enabled", Scope::Node, "false", traffic.enabled)
        .doc("Whether requests are counted by Ingress and Service for `/metrics` (`ingressd_traffic_*`). nginx writes a line for each request into a file that the daemon reads and empties each second, which takes some 3 % of nginx's processor time for a small request."),
    row!("traffic.ingress-nginx-names", Scope::Node, "false", traffic.ingress_nginx_names)
        .doc("Whether `/metrics` also has the metrics that the dashboards of ingress-nginx ask for, with its names and labels (`nginx_ingress_controller_*`). Those about requests need `traffic.enabled`. A thousand combinations of Ingress, host, path, method and status are counted apart, which can be 40 000 lines or 13 MB for Prometheus."),
    row!("traffic.errors", Scope::Node, "true", traffic.errors)
        .doc("Whether the daemon reads nginx's error log, so that `/metrics` (`ingressd_nginx_errors_total`) and `ingressd explain` tell what nginx complains about for each Ingress. No more than 256 KiB of it are read each second. It is read where `error_log` of nginx.conf names a file; which file that is, the daemon looks up when it starts and when it is told to reload."),
    row!("traffic.folder", Scope::Node, r#""/run/nginx-ingressd""#, traffic.folder, |folder, value| {
        put(folder, value)?;
        let folder = folder.to_str().unwrap_or_default();
        match folder.starts_with('/') && !folder.contains(['$', '*', '?', '[']) {
            true => Ok(()),
            false => Err("it is not an absolute path without $, *, ? and [".to_owned()),
        }
    })
        .doc("Folder of that file, which should be in memory (a tmpfs). It is created with mode 0711, and so is an existing one set. The file never takes more than 16 MiB, also while no daemon runs; its size as `ls` shows it is near to the largest of a file, and says nothing."),
];
