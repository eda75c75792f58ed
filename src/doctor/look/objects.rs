//! Reads the objects once, and translates them as the daemon would, in each endpoint mode.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::connections::{attempt, spread};
use crate::daemon::{Composition, Feed, KindTables, Link, claims_kept_in, to_look_with};
use crate::doctor::checks::pods::word;
use crate::doctor::facts::{Objects, Sample};
use ingressd_cluster::source::cluster::Need;
use ingressd_config::Settings;
use ingressd_model::finding::Severity;
use ingressd_model::{Model, PathMatch, ServerName, Transport};
use ingressd_objects::{Condition, Snapshot};
use ingressd_translate::{Allowances, EndpointMode, Names, Translation, World, written_host};

/// The time limit for reading everything.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most addresses that are tried in each mode.
const SAMPLE: usize = 16;

/// The modes that are compared.
const MODES: [EndpointMode; 4] =
    [EndpointMode::Pod, EndpointMode::NodePort, EndpointMode::ClusterIp, EndpointMode::LoadBalancer];

/// Reads the source once.
///
/// # Errors
///
/// Why it cannot be read, or could not be read in time.
pub async fn read(settings: &Settings, link: Option<&Link>) -> Result<Arc<Snapshot>, String> {
    let mut feed = Feed::start(settings, KindTables::default(), link).map_err(|error| error.to_string())?;
    let mut last = None;
    let reported = async {
        loop {
            let reading = feed.next().await;
            if let Some(snapshot) = reading.snapshot {
                return Ok(snapshot);
            }
            let refused = reading.watches.iter().any(|watch| watch.refused && watch.need == Need::Required);
            match reading.failure {
                // Waiting longer would not help; and a folder is read once.
                Some(why) if refused || reading.watches.is_empty() => return Err(why.to_string()),
                failure => last = failure.or(last.take()),
            }
        }
    };
    match tokio::time::timeout(PATIENCE, reported).await {
        Ok(read) => read,
        Err(_) => {
            let why = last.map(|why| format!(": {why}")).unwrap_or_default();
            Err(format!("not everything was read within {} s{why}", PATIENCE.as_secs()))
        }
    }
}

/// A translation, and what made it, which has the gate for it.
pub struct Translated {
    pub composition: Composition,
    pub translation: Translation,
}

/// Translates the objects as the settings have it. DNS is not asked, because only the way to pods
/// matters here.
pub fn translate(settings: &Settings, snapshot: &Snapshot) -> Translated {
    let on_this_host = to_look_with(settings).unwrap_or_else(|_| (settings.translate_options(), World::default()));
    let mut composition = Composition::new(settings, on_this_host, None);
    let claims = claims_kept_in(&settings.apply.state).unwrap_or_default();
    let named = composition.translate(snapshot, &claims).names;
    composition.world.names = Arc::new(Names::unasked(named.into_keys()));
    let translation = composition.translate(snapshot, &claims);
    Translated { composition, translation }
}

/// The same with this endpoint mode for all.
fn translate_by(mode: EndpointMode, settings: &Settings, snapshot: &Snapshot) -> Translation {
    let mut settings = settings.clone();
    settings.translate.endpoints = mode;
    settings.translate.classes.iter_mut().for_each(|class| class.endpoints = None);
    translate(&settings, snapshot).translation
}

/// The demand of the objects, with tried samples of addresses, and the daemon's
/// translation.
pub async fn look(settings: &Settings, snapshot: &Snapshot) -> (Objects, Translated) {
    let translated = translate(settings, snapshot);
    let translation = &translated.translation;
    let count = |severity| translation.findings.iter().filter(|finding| finding.severity == severity).count();
    let routes = translation.model.servers.iter().flat_map(|server| &server.routes);
    let mut objects = Objects {
        ingresses: snapshot.ingresses.len(),
        accepted: translation.ours(),
        hosts: translation.model.servers.len(),
        upstreams: translation.model.upstreams.len(),
        expressions: routes.filter(|route| matches!(route.path, PathMatch::Regex(_))).count(),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        free_wildcards: free_wildcards(settings, snapshot, &translation.model),
        loose: loose(&translation.model),
        asked: settings.asked_of_nodes(snapshot),
        samples: Vec::new(),
    };
    let auto = Some(EndpointMode::Auto).filter(|auto| settings.translate.modes().contains(auto));
    for mode in MODES.into_iter().chain(auto) {
        let mut known = addresses(&translate_by(mode, settings, snapshot), mode);
        if known.is_empty() && mode == EndpointMode::Pod {
            known = any_pods(snapshot);
        }
        let known: Vec<_> = known.into_iter().collect();
        let tried = attempt(spread(&known, SAMPLE)).await;
        objects.samples.push(Sample { mode, known: known.len(), tried });
    }
    (objects, translated)
}

/// The wildcard hosts whose namespace has them only because it asked first.
fn free_wildcards(settings: &Settings, snapshot: &Snapshot, model: &Model) -> Vec<String> {
    let allowances = Allowances::new(&settings.translate, snapshot);
    let wildcards = model.servers.iter().filter(|server| matches!(server.name, ServerName::Wildcard(_)));
    let free = wildcards.filter(|server| !allowances.gives(&server.origin.object.namespace, &server.name));
    free.map(|server| format!("{} of {:?}", written_host(&server.name), &*server.origin.object.namespace)).collect()
}

/// Objects whose authentication service may read a path otherwise than nginx.
fn loose(model: &Model) -> Vec<String> {
    let routes = model.servers.iter().flat_map(|server| server.all_routes());
    let loose =
        routes.filter(|route| route.behaviour.external_authentication.is_some() && !route.behaviour.strict_paths);
    let objects: BTreeSet<_> = loose.map(|route| route.origin.object.to_string()).collect();
    objects.into_iter().collect()
}

/// The addresses of endpoints that were found in this mode; a Service may select another mode for
/// itself.
fn addresses(translation: &Translation, mode: EndpointMode) -> BTreeSet<SocketAddr> {
    let name = if mode == EndpointMode::Pod { "" } else { word(mode) };
    let rows = translation.tables.endpoints.iter();
    let rows = rows.filter(|(id, _)| id.mode == name && !id.protocol.is_of_stream());
    rows.flat_map(|(_, endpoints)| endpoints.iter()).map(|endpoint| endpoint.address).collect()
}

/// Ready pods of any Service, when no Ingress refers to one yet. Other endpoints, such as those of
/// the API server, do not show the way to pods.
pub fn any_pods(snapshot: &Snapshot) -> BTreeSet<SocketAddr> {
    let mut found = BTreeSet::new();
    for slice in snapshot.endpoint_slices.iter().map(|slice| &slice.object) {
        let tcp = slice.ports.iter().filter(|port| port.transport == Some(Transport::Tcp));
        let ports = tcp.filter_map(|port| u16::try_from(port.number?).ok());
        let is_pod = |target: &str| target.starts_with("Pod/");
        let ready = slice.endpoints.iter().filter(|endpoint| {
            endpoint.condition == Condition::Ready && endpoint.target.as_deref().is_some_and(is_pod)
        });
        let addresses: Vec<_> = ready.map(|endpoint| endpoint.address).collect();
        found.extend(ports.flat_map(|port| addresses.iter().map(move |address| SocketAddr::new(*address, port))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use ingressd_objects::directory::{ChangedFiles, Directory};
    use ingressd_translate::{Allowed, INGRESS_NGINX};

    /// A class, and a Service with an endpoint.
    const OTHERS: &str = "apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: ingressd}
spec: {controller: ingressd/nginx}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.244.0.1], conditions: {ready: true}}]
";

    fn ingress(name: &str, host: &str, annotations: &str) -> String {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}, namespace: default, annotations: {{{annotations}}}}}\n\
             spec: {{ingressClassName: ingressd, rules: [{{host: '{host}', http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: \
             {{name: web, port: {{number: 80}}}}}}}}]}}}}]}}\n"
        )
    }

    #[test]
    fn what_tenants_may_do_is_named() {
        let asks = "nginx.ingress.kubernetes.io/auth-url: 'http://web.default.svc.cluster.local/'";
        let documents = [
            OTHERS.to_owned(),
            ingress("wild", "*.shop.example", ""),
            ingress("given", "*.given.example", ""),
            ingress("judged", "a.example", asks),
            ingress("external", "b.example", "nginx.ingress.kubernetes.io/auth-url: 'http://auth.example/'"),
        ];
        let given = |namespace: &str, host: &str| Allowed {
            namespaces: vec![namespace.into()],
            items: vec![host.parse().unwrap()],
            ..Allowed::default()
        };
        let mut settings = Settings::default();
        settings.translate.allowed_hosts = vec![given("default", "*.given.example"), given("*", "*")];
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("all.yaml"), documents.join("---\n")).unwrap();
        let mut directory = Directory::new(vec![folder.path().to_owned()]);
        let snapshot = directory.refresh(&ChangedFiles::All, &BTreeSet::new(), &mut |_| {}).unwrap();
        let found = |settings: &Settings| {
            let translation = translate(settings, &snapshot).translation;
            let free = free_wildcards(settings, &snapshot, &translation.model);
            (free, loose(&translation.model))
        };
        let (free, named) = found(&settings);
        assert_eq!((free, named), (vec![r#"*.shop.example of "default""#.to_owned()], Vec::new()));
        settings.translate.classes.iter_mut().for_each(|class| class.dialect = &INGRESS_NGINX);
        assert_eq!(found(&settings).1, ["Ingress default/external", "Ingress default/judged"]);
    }
}
