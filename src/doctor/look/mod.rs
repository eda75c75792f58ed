//! Gathers the facts that checks need, each with a time limit. It must not know how they are
//! judged.

mod cluster;
mod confinement;
mod connections;
mod folders;
mod generation;
mod nginx;
mod objects;
mod routes;
mod sockets;

pub use generation::certificate_names;

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use super::facts::{Facts, NoNginx, Source};
use super::table::Need;
use crate::daemon::{Link, control, page_faults};
use ingressd_config::Settings;
use ingressd_objects::Snapshot;

/// Gathers all facts that are needed.
pub async fn look(settings: &Settings, needs: &BTreeSet<Need>) -> Facts {
    let needed = |need| needs.contains(&need);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut facts = Facts {
        settings: settings.clone(),
        unread_layer: None,
        now: i64::try_from(now).unwrap_or(i64::MAX),
        is_root: nix::unistd::geteuid().is_root(),
        nginx: Err(NoNginx { why: String::new(), tested: None, master: Err(String::new()) }),
        folders: Vec::new(),
        listeners: Vec::new(),
        confinement: super::facts::Confinement::default(),
        daemon: None,
        daemon_process: None,
        has_generation: settings.apply.root.join("current").exists(),
        certificates: Vec::new(),
        page_faults: None,
        source: Source::None,
        objects: None,
    };
    if needed(Need::Daemon) {
        let answer = control::ask(&settings.control_socket, "status", control::PATIENCE).ok();
        facts.daemon = answer.and_then(|answer| serde_json::from_str(&answer).ok());
        facts.daemon_process = sockets::behind(&settings.control_socket);
    }
    if needed(Need::Host) {
        facts.listeners = sockets::listeners();
        facts.confinement = confinement::look(&confinement::Paths::default(), facts.now);
        facts.page_faults = settings.http.page_files().map(|files| page_faults(&files, facts.now));
    }
    if needed(Need::Generation) {
        facts.certificates = generation::certificates(&settings.apply.root.join("current"));
    }
    let mut translation = None;
    let layer = settings.ingress_nginx.config_map.as_ref();
    let reads = needed(Need::Objects) || (needed(Need::Layer) && layer.is_some());
    if needed(Need::Cluster) || reads {
        let (source, read) = from_source(settings, &needed, reads).await;
        facts.source = source;
        if let Some((namespace, name)) = layer.filter(|_| reads) {
            let why = match &read {
                Some(Ok(_)) => None,
                Some(Err(why)) => Some(why.as_str()),
                None => Some("the cluster cannot be asked, see kubeconfig and api-server"),
            };
            facts.unread_layer = why.map(|why| format!("ConfigMap {namespace}/{name}: {why}"));
        }
        if let Some(Ok(snapshot)) = &read {
            // It may say something else of this host.
            facts.settings = settings.layered(snapshot).settings;
        }
        if let Some(read) = read.filter(|_| needed(Need::Objects)) {
            facts.objects = Some(match read {
                Ok(snapshot) => {
                    let (objects, translated) = objects::look(settings, &snapshot).await;
                    translation = Some(translated);
                    Ok(objects)
                }
                Err(why) => Err(why),
            });
        }
    }
    if needed(Need::Nginx) {
        let nothing = || objects::translate(&facts.settings, &Snapshot::default());
        facts.nginx = nginx::look(&facts.settings, translation.unwrap_or_else(nothing));
        facts.folders = folders::look(&facts.settings, &facts.nginx);
    }
    facts
}

/// Looks at the source of objects, and `reads` them.
async fn from_source(
    settings: &Settings,
    needed: &impl Fn(Need) -> bool,
    reads: bool,
) -> (Source, Option<Result<std::sync::Arc<Snapshot>, String>>) {
    if let Some(folder) = &settings.manifests {
        let read = match reads {
            true => Some(objects::read(settings, None).await),
            false => None,
        };
        return (Source::Manifests(folder.clone()), read);
    }
    let (mut cluster, link) = match Link::of(settings, None).await {
        Ok(Some(link)) => (cluster::look(settings, &link, needed).await, Some(link)),
        Ok(None) | Err(crate::daemon::Error::NoSource) => return (Source::None, None),
        Err(error) => (cluster::without_credentials(settings, error.to_string()), None),
    };
    let answers = matches!(cluster.server, Some(Ok(_)));
    let read = match &link {
        Some(link) if answers && reads => Some(objects::read(settings, Some(link)).await),
        _ => None,
    };
    if needed(Need::Routes) && answers {
        let snapshot = read.as_ref().and_then(|read| read.as_ref().ok());
        cluster.routes = routes::look(cluster.nodes.as_ref(), snapshot.map(|snapshot| &**snapshot)).await;
    }
    (Source::Cluster(Box::new(cluster)), read)
}
