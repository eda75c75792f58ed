//! Asks the API server what it is, what it allows, and who is there; it must not know what is right.

use std::path::PathBuf;

use futures_util::future::join_all;

use crate::config::Settings;
use crate::daemon::{Link, access};
use crate::doctor::facts::{Cluster, Permission};
use crate::doctor::table::Need;
use crate::publish::{self, Announced, Mode};
use crate::source::cluster::probe::{self, Wish};
use crate::source::cluster::{Clients, DEFAULT_KUBECONFIG};
use crate::translate::EndpointMode;

/// Most namespaces of the settings that permissions are asked for.
const MOST_NAMESPACES: usize = 8;

/// A cluster whose credentials are of no use.
pub fn without_credentials(settings: &Settings, why: String) -> Cluster {
    Cluster {
        kubeconfig: kubeconfig(settings),
        credentials: Err(why),
        server: None,
        permissions: Vec::new(),
        all_allowed: false,
        nodes: None,
        routes: Vec::new(),
        leases: None,
    }
}

fn kubeconfig(settings: &Settings) -> PathBuf {
    settings.cluster.kubeconfig.clone().unwrap_or_else(|| DEFAULT_KUBECONFIG.into())
}

/// Asks.
pub async fn look(settings: &Settings, link: &Link, needed: &impl Fn(Need) -> bool) -> Cluster {
    let clients = link.clients();
    let mut cluster = Cluster { credentials: Ok(()), ..without_credentials(settings, String::new()) };
    let server = probe::server(clients).await;
    let answers = server.is_ok();
    cluster.server = Some(server);
    if !answers {
        return cluster;
    }
    if needed(Need::Permissions) {
        cluster.permissions = permissions(settings, clients).await;
        let everything =
            Wish { group: "*".to_owned(), resource: "*".to_owned(), verb: "*".to_owned(), namespace: None };
        cluster.all_allowed = probe::allows(clients, &everything).await == Ok(true);
    }
    if needed(Need::Routes) {
        cluster.nodes = Some(probe::nodes(clients).await);
    }
    if needed(Need::Leases) {
        cluster.leases = Some(publish::probe::leases(clients, &settings.publish).await);
    }
    cluster
}

/// Asks for each permission of the shipped roles, where the settings make it needed.
async fn permissions(settings: &Settings, clients: &Clients) -> Vec<Permission> {
    let mut permissions = Vec::new();
    let leases = [Some(settings.publish.namespace.to_string())];
    let rows = access::CLUSTER.iter().map(|row| (row, namespaces(settings, row.resource)));
    for (row, namespaces) in rows.chain(access::LEASES.iter().map(|row| (row, leases.to_vec()))) {
        let wish = |verb: &str, namespace: &Option<String>| Wish {
            group: row.group.to_owned(),
            resource: row.resource.to_owned(),
            verb: verb.to_owned(),
            namespace: namespace.clone(),
        };
        let wishes = row.verbs.iter().flat_map(|verb| namespaces.iter().map(move |namespace| wish(verb, namespace)));
        let answers = wishes.map(async |wish| {
            let answer = probe::allows(clients, &wish).await;
            (wish, answer)
        });
        let resource = match row.group {
            "" => row.resource.to_owned(),
            group => format!("{}.{group}", row.resource),
        };
        let required = is_required(settings, row.resource);
        permissions.push(Permission { resource, purpose: row.purpose, required, answers: join_all(answers).await });
    }
    permissions
}

/// Where a permission is needed: everywhere, or in the namespaces that the settings name.
fn namespaces(settings: &Settings, resource: &str) -> Vec<Option<String>> {
    let named = &settings.cluster.namespaces;
    match named.is_empty() || access::WITHOUT_NAMESPACE.contains(&resource) {
        true => vec![None],
        false => named.iter().take(MOST_NAMESPACES).map(|name| Some(name.to_string())).collect(),
    }
}

/// Whether anything works without it under these settings.
fn is_required(settings: &Settings, resource: &str) -> bool {
    let translate = &settings.translate;
    let modes = translate.classes.iter().filter_map(|class| class.endpoints).chain([translate.endpoints]);
    let publish = &settings.publish;
    let by_node =
        publish.mode != Mode::Service && publish.addresses.iter().any(|entry| matches!(entry, Announced::Node(_)));
    match resource {
        "nodes" => by_node || modes.into_iter().any(|mode| mode == EndpointMode::NodePort),
        "namespaces" => settings.cluster.namespace_selector.is_some(),
        "ingresses/status" => settings.publish.status,
        "events" => settings.publish.events,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_left_out_is_not_required() {
        let mut settings = Settings::default();
        let optional = |settings: &Settings| {
            let rows = access::CLUSTER.iter().filter(|row| !is_required(settings, row.resource));
            rows.map(|row| row.resource).collect::<Vec<_>>()
        };
        // The table says so of these, and of no others.
        let may_be: Vec<_> = access::CLUSTER.iter().filter(|row| row.purpose.contains("may be left out")).collect();
        assert_eq!(optional(&settings), ["nodes", "namespaces"]);
        settings.publish.status = false;
        settings.publish.events = false;
        assert_eq!(optional(&settings), may_be.iter().map(|row| row.resource).collect::<Vec<_>>());
        settings.cluster.namespace_selector = Some("a=b".to_owned());
        settings.translate.endpoints = EndpointMode::NodePort;
        assert_eq!(optional(&settings), ["ingresses/status", "events"]);
    }

    #[test]
    fn with_named_namespaces_permissions_are_asked_for_there() {
        let mut settings = Settings::default();
        assert_eq!(namespaces(&settings, "services"), [None]);
        settings.cluster.namespaces = vec!["shop".into(), "blog".into()];
        assert_eq!(namespaces(&settings, "services"), [Some("shop".to_owned()), Some("blog".to_owned())]);
        assert_eq!(namespaces(&settings, "nodes"), [None]);
    }
}
