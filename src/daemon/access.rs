//! The rights that the daemon needs in a cluster.

mod manifests;

use std::collections::BTreeSet;
use std::sync::Arc;

use ingressd_cluster::publish::{Announced, EVENTS, Mode};
use ingressd_config::Settings;
use ingressd_objects::{Permission, ROWS};
use ingressd_translate::EndpointMode;

pub use manifests::manifests;

pub use ingressd_cluster::publish::LEASES;

/// Rights for all namespaces that are served.
pub fn global() -> Vec<Permission> {
    let read = ROWS.iter().flat_map(|row| [(!row.is_named).then_some(row.read), row.read_anywhere]).flatten();
    let publish = ROWS.iter().filter_map(|row| row.status);
    read.chain(publish).chain([EVENTS]).collect()
}

/// Rights for the namespaces of single objects that the settings name.
pub fn of_named() -> impl Iterator<Item = Permission> {
    ROWS.iter().filter(|row| row.is_named).map(|row| row.read)
}

/// Whether objects of this resource are cluster-scoped: a Role cannot grant access to them.
pub fn is_without_namespace(resource: &str) -> bool {
    ROWS.iter().any(|row| !row.is_namespaced && row.read.resource == resource)
}

/// The default name of the account, its roles and its namespace.
const STANDARD: &str = "ingressd";

/// What is granted, to which account, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The name of the ServiceAccount.
    pub account: String,
    /// The namespace of the account, and of the Leases.
    pub namespace: String,
    /// The namespaces that are served; empty for all.
    pub namespaces: Vec<Arc<str>>,
    /// Resources whose rights are left out.
    pub without: Vec<&'static str>,
    /// A Service that is watched although its namespace is not served.
    pub service: Option<(Arc<str>, Arc<str>)>,
    /// The namespaces whose ConfigMaps are read.
    pub config_maps: BTreeSet<Arc<str>>,
}

impl Default for Grant {
    fn default() -> Self {
        Grant {
            account: STANDARD.to_owned(),
            namespace: STANDARD.to_owned(),
            namespaces: Vec::new(),
            without: Vec::new(),
            service: None,
            config_maps: BTreeSet::new(),
        }
    }
}

impl Grant {
    /// The rights that an account of this name needs under these settings. Rights for features
    /// that the settings do not switch off are granted. Where only some namespaces are served,
    /// cluster-wide rights that can be missed are left out.
    pub fn of(settings: &Settings, account: &str) -> Self {
        let (cluster, publish) = (&settings.cluster, &settings.publish);
        let is_restricted = !cluster.namespaces.is_empty();
        let by_node = |mode| matches!(mode, EndpointMode::NodePort | EndpointMode::Auto);
        let needs_nodes = settings.translate.modes().into_iter().any(by_node)
            || (publish.mode != Mode::Service
                && publish.addresses.iter().any(|entry| matches!(entry, Announced::Node(_))));
        let mut without = Vec::new();
        let mut leave_out = |resource, when| without.extend(Some(resource).filter(|_| when));
        leave_out("nodes", is_restricted && !needs_nodes);
        leave_out("namespaces", is_restricted && !settings.translate.needs_labels());
        leave_out("ingresses/status", !publish.status);
        leave_out("events", !publish.events);
        let outside = |(namespace, _): &&(Arc<str>, Arc<str>)| is_restricted && !cluster.namespaces.contains(namespace);
        Grant {
            account: account.to_owned(),
            namespace: publish.namespace.to_string(),
            namespaces: cluster.namespaces.clone(),
            without,
            service: publish.service.as_ref().filter(|_| publish.mode == Mode::Service).filter(outside).cloned(),
            config_maps: settings.ingress_nginx.config_maps().map(|(namespace, _)| Arc::clone(namespace)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_read_or_changed_by_a_wildcard() {
        let all: Vec<_> = global().into_iter().chain(of_named()).chain([LEASES]).collect();
        let dangerous = ["*", "delete", "deletecollection", "escalate", "bind", "impersonate"];
        for permission in all {
            assert!(!permission.resource.contains('*') && permission.group != "*");
            assert!(permission.verbs.iter().all(|verb| !dangerous.contains(verb)), "{permission:?}");
        }
        assert_eq!(manifests().matches("\n---\n").count(), 6);
    }

    #[test]
    fn the_page_about_the_kubeconfig_has_the_rows_of_the_table_and_no_others() {
        let page = include_str!("../../docs/kubeconfig.md");
        let (_, table) = page.split_once("| resource | group | verbs | used for |\n").unwrap();
        let rows = table.lines().skip(1).take_while(|line| line.starts_with('|')).flat_map(|line| {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let group = if cells[2] == "core" { "" } else { cells[2] };
            let resources = cells[1].split(", ").take_while(|word| !word.starts_with("in "));
            resources.map(|resource| (group, resource, cells[3].to_owned())).collect::<Vec<_>>()
        });
        let all = global().into_iter().chain(of_named()).chain([LEASES]);
        let all = all.map(|right| (right.group, right.resource, right.verbs.join(", ")));
        assert_eq!(rows.collect::<BTreeSet<_>>(), all.collect());
    }

    fn settings(lines: &[(&str, &str)]) -> Settings {
        let flags = lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        ingressd_config::Sources { file: None, environment: Vec::new(), flags, ..Default::default() }.load().unwrap()
    }

    /// The kind, namespace, name and resources of each document, in order.
    fn outline(grant: &Grant) -> Vec<String> {
        let line = |document: &String| {
            let value: serde_json::Value = serde_saphyr::from_str(document.trim_start_matches("---\n")).unwrap();
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            let metadata = &value["metadata"];
            let rules = value["rules"].as_array().into_iter().flatten();
            let resources: Vec<_> = rules.map(|rule| text(&rule["resources"][0])).collect();
            let place =
                format!("{} {}/{}", text(&value["kind"]), text(&metadata["namespace"]), text(&metadata["name"]));
            format!("{place} {}", resources.join(",")).trim_end().to_owned()
        };
        grant.documents().iter().map(line).collect()
    }

    #[test]
    fn the_settings_of_a_fresh_installation_need_what_packages_grant() {
        assert_eq!(Grant::of(&settings(&[]), "ingressd"), Grant::default());
    }

    #[test]
    fn what_is_switched_off_needs_no_right() {
        let grant = Grant::of(&settings(&[("publish.status", "false"), ("publish.events", "false")]), "ingressd");
        let outline = outline(&grant);
        assert!(!outline[2].contains("status") && !outline[2].contains("events"), "{outline:?}");
        assert!(outline[2].contains("ingresses,") && outline[2].contains("nodes"), "{outline:?}");
    }

    #[test]
    fn where_some_namespaces_are_served_the_rights_are_in_them() {
        let settings = settings(&[
            ("namespaces", "shop,edge"),
            ("publish.namespace", "edge"),
            ("publish.mode", "service"),
            ("publish.service", "front/lb"),
        ]);
        let served = "ingresses,services,endpointslices,secrets,configmaps,ingresses/status,events";
        assert_eq!(
            outline(&Grant::of(&settings, "reader")),
            [
                "Namespace /edge".to_owned(),
                "ServiceAccount edge/reader".to_owned(),
                "ClusterRole /reader:edge ingressclasses".to_owned(),
                "ClusterRoleBinding /reader:edge".to_owned(),
                format!("Role edge/reader leases,{served}"),
                "RoleBinding edge/reader".to_owned(),
                "Role front/reader:edge services".to_owned(),
                "RoleBinding front/reader:edge".to_owned(),
                format!("Role shop/reader:edge {served}"),
                "RoleBinding shop/reader:edge".to_owned(),
            ]
        );
    }

    #[test]
    fn config_maps_are_read_where_the_settings_name_them() {
        let grant = Grant::of(&settings(&[("ingress-nginx.configmap", "ingress-nginx/controller")]), "ingressd");
        let roles: Vec<_> = outline(&grant).into_iter().filter(|line| line.starts_with("Role ")).collect();
        assert_eq!(roles, ["Role ingress-nginx/ingressd configmaps", "Role ingressd/ingressd leases"]);
    }

    #[test]
    fn names_stay_names() {
        let settings = settings(&[("namespaces", "[\"123\", \"null\", \"1e3\"]"), ("publish.namespace", "true")]);
        let outline = outline(&Grant::of(&settings, "0"));
        let roles: Vec<_> = outline.iter().filter_map(|line| line.strip_prefix("RoleBinding ")).collect();
        assert_eq!(roles, ["123/0:true", "1e3/0:true", "null/0:true", "true/0"]);
        assert_eq!(outline[1], "ServiceAccount true/0");
    }

    #[test]
    fn nodes_and_namespaces_are_seen_where_they_are_needed() {
        let by_name = r#"[{namespaces = ["shop"], hosts = ["*"]}]"#;
        let by_label = r#"[{selector = "team", hosts = ["*"]}]"#;
        for (lines, nodes, namespaces) in [
            (&[("namespaces", "shop")][..], false, false),
            (&[("namespaces", "shop"), ("upstreams.endpoints", "nodeport")], true, false),
            (&[("namespaces", "shop"), ("publish.addresses", "node:ExternalIP")], true, false),
            (&[("namespaces", "shop"), ("hosts.allowed", by_name)], false, false),
            (&[("namespaces", "shop"), ("hosts.allowed", by_label)], false, true),
            (&[("namespace-selector", "ingress=edge")], true, true),
        ] {
            let grant = Grant::of(&settings(lines), "ingressd");
            let global = &outline(&grant)[2];
            assert_eq!((global.contains("nodes"), global.contains("namespaces")), (nodes, namespaces), "{lines:?}");
        }
    }
}
