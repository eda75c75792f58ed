//! Gathers the facts about the cluster from the API server.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use crate::daemon::{Link, access};
use crate::doctor::facts::{Cluster, Permission};
use crate::doctor::table::Need;
use ingressd_cluster::publish::{self, Announced, Mode};
use ingressd_cluster::source::cluster::probe::{self, AccessReview};
use ingressd_cluster::source::cluster::{Clients, DEFAULT_KUBECONFIG};
use ingressd_config::Settings;
use ingressd_translate::EndpointMode;

/// The number of concurrent access reviews.
const AT_ONCE: usize = 16;

/// The time limit for all of them: there may be thousands of namespaces.
const PATIENCE: Duration = Duration::from_secs(20);

/// The facts about a cluster whose credentials cannot be used.
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

/// Gathers the facts.
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
        let everything = AccessReview {
            group: "*".to_owned(),
            resource: "*".to_owned(),
            verb: "*".to_owned(),
            ..AccessReview::default()
        };
        cluster.all_allowed = probe::allows(clients, &everything).await == Ok(true);
    }
    if needed(Need::Routes) {
        cluster.nodes = Some(probe::nodes(clients).await);
    }
    if needed(Need::Leases) {
        cluster.leases = Some(publish::probe::leases(clients.lease.clone(), &settings.publish).await);
    }
    cluster
}

/// Asks the API server about each right that the settings make necessary.
async fn permissions(settings: &Settings, clients: &Clients) -> Vec<Permission> {
    let until = Instant::now() + PATIENCE;
    let ask = async |review: AccessReview| {
        let answer = match timeout_at(until, probe::allows(clients, &review)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("not everything was answered within {} s", PATIENCE.as_secs())),
        };
        (review, answer)
    };
    let mut permissions = Vec::new();
    for (row, places) in wanted(settings) {
        let resource = match row.group {
            "" => row.resource.to_owned(),
            group => format!("{}.{group}", row.resource),
        };
        let answers = stream::iter(reviews(&row, &places)).map(ask).buffered(AT_ONCE).collect().await;
        let required = is_required(settings, row.resource);
        permissions.push(Permission { resource, purpose: row.purpose, required, answers });
    }
    permissions
}

/// Namespace and name; `None` for all.
type ResourceScope = (Option<String>, Option<String>);

/// Each right of the packages' roles, with the places where these settings need it.
fn wanted(settings: &Settings) -> Vec<(ingressd_objects::Permission, Vec<ResourceScope>)> {
    let global = |row: &ingressd_objects::Permission| (*row, places(settings, row.resource));
    let leases = vec![(Some(settings.publish.namespace.to_string()), None)];
    let mut wanted: Vec<_> = access::global().iter().map(global).collect();
    // An object outside of the namespaces that are served.
    if let Some((namespace, name)) = access::Grant::of(settings, "").service {
        let purpose = "the addresses that are published";
        let row = ingressd_objects::Permission { group: "", resource: "services", verbs: &["list", "watch"], purpose };
        wanted.push((row, vec![(Some(namespace.to_string()), Some(name.to_string()))]));
    }
    wanted.push((access::LEASES, leases));
    wanted
}

/// All namespaces, or those that the settings name.
fn places(settings: &Settings, resource: &str) -> Vec<ResourceScope> {
    let named = &settings.cluster.namespaces;
    match named.is_empty() || access::is_without_namespace(resource) {
        true => vec![(None, None)],
        false => named.iter().map(|name| (Some(name.to_string()), None)).collect(),
    }
}

fn reviews(row: &ingressd_objects::Permission, places: &[ResourceScope]) -> Vec<AccessReview> {
    let review = |(namespace, name): &ResourceScope, verb: &&str| AccessReview {
        group: row.group.to_owned(),
        resource: row.resource.to_owned(),
        verb: (*verb).to_owned(),
        namespace: namespace.clone(),
        name: name.clone(),
    };
    places.iter().flat_map(|place| row.verbs.iter().map(move |verb| review(place, verb))).collect()
}

/// Whether it is necessary under these settings.
fn is_required(settings: &Settings, resource: &str) -> bool {
    let translate = &settings.translate;
    let modes = translate.classes.iter().filter_map(|class| class.endpoints).chain([translate.endpoints]);
    let publish = &settings.publish;
    let by_node =
        publish.mode != Mode::Service && publish.addresses.iter().any(|entry| matches!(entry, Announced::Node(_)));
    match resource {
        // Those that objects name; ConfigMaps of the settings have a row of their own.
        "configmaps" => false,
        "nodes" => by_node || modes.into_iter().any(|mode| mode == EndpointMode::NodePort),
        "namespaces" => settings.cluster.namespace_selector.is_some() || translate.needs_labels(),
        "ingresses/status" => settings.publish.status,
        "events" => settings.publish.events,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_translate::AllowedHosts;

    #[test]
    fn what_may_be_left_out_is_not_required() {
        let mut settings = Settings::default();
        let optional = |settings: &Settings| {
            let rows = access::global().into_iter().filter(|row| !is_required(settings, row.resource));
            rows.map(|row| row.resource).collect::<Vec<_>>()
        };
        // The table marks these, and no others.
        let may_be = access::global().into_iter().filter(|row| row.purpose.contains("not needed"));
        let may_be: Vec<_> = may_be.map(|row| row.resource).collect();
        assert_eq!(optional(&settings), ["configmaps", "nodes", "namespaces"]);
        settings.publish.status = false;
        settings.publish.events = false;
        assert_eq!(optional(&settings), may_be);
        settings.cluster.namespace_selector = Some("a=b".to_owned());
        settings.translate.endpoints = EndpointMode::NodePort;
        assert_eq!(optional(&settings), ["configmaps", "ingresses/status", "events"]);
        settings.cluster.namespace_selector = None;
        let selecting = AllowedHosts { selector: "team=a".parse().ok(), ..AllowedHosts::default() };
        settings.translate.allowed_hosts = vec![selecting];
        assert_eq!(optional(&settings), ["configmaps", "ingresses/status", "events"]);
    }

    /// The namespaces in which each right is asked for, with a name for a single object.
    fn asked(settings: &Settings) -> Vec<(&'static str, Vec<String>)> {
        let place = |(namespace, name): &ResourceScope| match (namespace, name) {
            (None, _) => String::from("everywhere"),
            (Some(namespace), None) => namespace.clone(),
            (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        };
        let row = |(row, places): &(ingressd_objects::Permission, Vec<ResourceScope>)| {
            // Each verb in each place.
            let reviews = reviews(row, places);
            assert!(reviews.chunks(row.verbs.len()).all(|chunk| chunk.iter().map(|review| &review.verb).eq(row.verbs)));
            let firsts = reviews.iter().step_by(row.verbs.len());
            (row.resource, firsts.map(|review| place(&(review.namespace.clone(), review.name.clone()))).collect())
        };
        wanted(settings).iter().map(row).collect()
    }

    #[test]
    fn permissions_are_asked_for_in_every_namespace_that_is_named() {
        let mut settings = Settings::default();
        assert!(asked(&settings).iter().all(|(resource, places)| *resource == "leases" || *places == ["everywhere"]));
        let names: Vec<String> = (1..=30).map(|number| format!("shop-{number}")).collect();
        settings.cluster.namespaces = names.iter().map(|name| name.as_str().into()).collect();
        for (resource, places) in asked(&settings) {
            let expected = match resource {
                "leases" => vec!["ingressd".to_owned()],
                _ if access::is_without_namespace(resource) => vec!["everywhere".to_owned()],
                _ => names.clone(),
            };
            assert_eq!(places, expected, "{resource}");
        }
    }

    #[test]
    fn a_service_that_is_published_and_lies_outside_is_asked_for_by_its_name() {
        let mut settings = Settings::default();
        settings.cluster.namespaces = vec!["shop".into()];
        settings.publish.mode = Mode::Service;
        settings.publish.service = Some(("front".into(), "lb".into()));
        let of_services = |settings: &Settings| {
            let asked = asked(settings).into_iter().filter(|(resource, _)| *resource == "services");
            asked.flat_map(|(_, places)| places).collect::<Vec<_>>()
        };
        assert_eq!(of_services(&settings), ["shop", "front/lb"]);
        settings.cluster.namespaces.push("front".into());
        assert_eq!(of_services(&settings), ["shop", "front"]);
        settings.cluster.namespaces.clear();
        assert_eq!(of_services(&settings), ["everywhere"]);
    }
}
