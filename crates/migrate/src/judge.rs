//! Assigns the findings of the pipeline to keys and objects. It must not find anything itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::certificates::{SiteCertificate, TlsHost, certificate_clashes};
use super::controller::Controller;
use super::drop_in::DropIn;
use super::item::{Equivalence, Item, KnownKey};
use super::report::{Ingress, Report};
use super::served::Served;
use ingressd_config::OfNode;
use ingressd_model::finding::{Finding, Reason, Severity, on_one_line};
use ingressd_model::{Field, Kind, ObjectId, ObjectState, Server};
use ingressd_objects::{IngressTls, Inventory, StringMap};
use ingressd_translate::annotation::{Compared, Form, Row, Table, asks_for_nothing, mistakes};
use ingressd_translate::{ANNOTATIONS, snippet_alternatives};

#[derive(Debug)]
pub struct ReportInput<'a> {
    /// What there is.
    pub inventory: &'a Inventory,
    /// The findings of the pipeline.
    pub findings: &'a [Finding],
    /// The states of the objects.
    pub states: &'a [Arc<ObjectState>],
    /// The controller that is to be replaced; `None` when none was found, so that defaults count.
    pub controller: Option<&'a Controller>,
    /// The settings that replace its flags.
    pub drop_in: &'a DropIn,
    /// Whether the pipeline ran for the nginx of this host.
    pub is_this_host: bool,
    /// What nginx.conf of this host says of keys that belong there.
    pub of_node: &'a BTreeMap<&'static str, OfNode>,
    /// Certificates that other sites of this host serve.
    pub of_sites: &'a [SiteCertificate],
    /// What the Ingresses become.
    pub servers: &'a [Arc<Server>],
}

/// Findings by what they are about.
type ByObject<'a> = HashMap<&'a ObjectId, Vec<&'a Finding>>;

/// Makes the report.
pub fn judge(judged: &ReportInput<'_>) -> Report {
    let mut by_object = ByObject::new();
    judged.findings.iter().for_each(|finding| by_object.entry(&finding.origin.object).or_default().push(finding));
    let flag = |name: &str| judged.controller.and_then(|controller| controller.value(name));
    let table = ANNOTATIONS
        .behind(&format!("{}/", flag("annotations-prefix").unwrap_or(ANNOTATIONS.prefix).trim_end_matches('/')));
    let served = Served::of(judged.servers, &judged.inventory.snapshot, table);
    let (mut ingresses, mut of_tls) = (Vec::new(), Vec::new());
    let (mut others, mut classless) = (0, Vec::new());
    for stored in &judged.inventory.snapshot.ingresses {
        let findings = by_object.get(&*stored.id).map_or(&[][..], Vec::as_slice);
        let object = &stored.object;
        if state(judged, &stored.id).is_some_and(|state| !state.is_ours()) {
            others += 1;
            let has_class = object.class_name.is_some() || object.annotations.has("kubernetes.io/ingress.class");
            classless.extend((!has_class).then(|| format!("{}/{}", stored.id.namespace, stored.id.name)));
            continue;
        }
        let hosts = object.rules.iter().map(|rule| rule.host.as_deref().unwrap_or("*").to_owned());
        let mut hosts: Vec<_> = hosts.collect();
        hosts.dedup();
        for entry in &object.tls {
            of_tls.extend(tls_hosts(&stored.id, entry, &hosts));
        }
        let name = (stored.id.namespace.to_string(), stored.id.name.to_string());
        let published = judged.inventory.published.get(&name).cloned().unwrap_or_default();
        let is_checked = judged.controller.is_none_or(Controller::validates);
        let mut items = items(&object.annotations, findings, table, is_checked);
        served.add(&stored.id, &object.annotations, &mut items);
        ingresses.push(Ingress { namespace: name.0, name: name.1, hosts, published, items });
    }
    Report {
        controller: judged.controller.map(|controller| (controller.workload.clone(), controller.image.clone())),
        flags: judged.drop_in.flags.clone(),
        config_map: flag("configmap").map(|name| (name.to_owned(), config_map(judged, &by_object, name))),
        streams: streams(judged, &by_object, flag),
        objects: objects(judged.findings, flag),
        ingresses,
        others,
        notes: notes(judged, &classless),
        unread: judged.findings.iter().filter(|finding| finding.origin.object.kind == Kind::FILE).count(),
        clashes: judged.is_this_host.then(|| clashes(judged.findings)),
        certificates: certificate_clashes(&of_tls, judged.of_sites),
    }
}

/// The hosts of an entry of `spec.tls` with its Secret; without a list those of the rules.
fn tls_hosts(id: &ObjectId, entry: &IngressTls, of_rules: &[String]) -> Vec<TlsHost> {
    let secret =
        entry.secret_name.as_deref().filter(|name| !name.is_empty()).map(|name| format!("{}/{name}", id.namespace));
    let (ingress, secret) = (format!("{}/{}", id.namespace, id.name), secret.unwrap_or_default());
    let of_host = |host: &str| TlsHost { host: host.to_owned(), ingress: ingress.clone(), secret: secret.clone() };
    match entry.hosts.is_empty() {
        true => of_rules.iter().map(|host| of_host(host)).collect(),
        false => entry.hosts.iter().map(|host| of_host(host)).collect(),
    }
}

/// A snippet where it counts.
const SNIPPET: Compared = Compared::Different(
    "A snippet is parsed into values: docs/snippets.md says what \
    differs.",
    "",
);

/// The items of one Ingress: its annotations, then everything else. Values may be checked by
/// ingress-nginx before it uses them.
fn items(annotations: &StringMap, findings: &[&Finding], table: &Table, is_checked: bool) -> Vec<Item> {
    let mut items = Vec::new();
    for (key, value) in annotations.iter() {
        let Some(name) = key.strip_prefix(table.prefix) else { continue };
        let known = table.find(name).map(|row| match row.snippet {
            Some(_) => KnownKey { is_key: true, compared: SNIPPET, ..KnownKey::NOTHING },
            None => KnownKey {
                is_key: true,
                compared: row.compared,
                is_served: row.is_served(),
                asks_for_nothing: asks_for_nothing(row, value),
                mistake: row.is_served().then(|| of_mistake(row, is_checked)),
            },
        });
        let known = known.unwrap_or(KnownKey::NOTHING);
        let is_at = |finding: &&&Finding| matches!(&finding.origin.field, Field::Annotation(at) if **at == *key);
        let found = findings.iter().filter(is_at);
        let found = found.filter_map(|finding| Item::of_finding(name, value, finding, known)).collect();
        items.push(without_snippet(worst(found).unwrap_or_else(|| Item::of_key(name, value, known.silent()))));
    }
    let rest = findings.iter().filter(|finding| match &finding.origin.field {
        Field::Annotation(key) => !key.starts_with(table.prefix),
        _ => true,
    });
    items.extend(rest.filter_map(|finding| Item::of_finding(&place(finding), "", finding, KnownKey::NOTHING)));
    items
}

/// What a value does that is refused here: where ingress-nginx may take it, never the same.
fn of_mistake(row: &Row, is_checked: bool) -> Compared {
    const TAKEN: Compared = Compared::Different("ingress-nginx may use the value, which has no effect here.", "");
    let is_refused_there = match row.form {
        Form::Boolean | Form::Integer { .. } | Form::Addresses => true,
        Form::Word(_) | Form::AnyCase(_) | Form::Words(_) | Form::Size { .. } => is_checked,
        _ => false,
    };
    let compared = mistakes::compared(row);
    if is_refused_there || Equivalence::from(compared) >= Equivalence::from(TAKEN) { compared } else { TAKEN }
}

fn place(finding: &Finding) -> String {
    match &finding.origin.field {
        Field::Object => "the object".to_owned(),
        field => field.to_string(),
    }
}

/// The item of a snippet that is not allowed, with the alternative to each directive.
fn without_snippet(item: Item) -> Item {
    if item.verdict != Equivalence::Refused || !item.remedy.starts_with("raw configuration") {
        return item;
    }
    Item { remedy: snippet_alternatives(&item.name, &item.value).join("; "), ..item }
}

/// The worst of several items about one key.
fn worst(items: Vec<Item>) -> Option<Item> {
    let remedies: Vec<_> = items.iter().map(|item| item.remedy.clone()).filter(|remedy| !remedy.is_empty()).collect();
    let worst = items.into_iter().max_by_key(|item| item.verdict)?;
    Some(Item { remedy: remedies.join("; "), ..worst })
}

fn object(name: &str) -> ObjectId {
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    ObjectId::new(Kind::CONFIG_MAP, namespace, name)
}

/// The entries of a ConfigMap.
fn data<'a>(judged: &ReportInput<'a>, id: &ObjectId) -> impl Iterator<Item = (&'a String, &'a String)> + use<'a> {
    let stored = judged.inventory.snapshot.config_map(&id.namespace, &id.name);
    stored.into_iter().flat_map(|stored| stored.object.data.iter().flatten())
}

/// The items of the ConfigMap with this name, or one that it is missing.
fn config_map(judged: &ReportInput<'_>, by_object: &ByObject<'_>, name: &str) -> Vec<Item> {
    let id = object(name);
    if let Some(missing) = missing(judged, "the ConfigMap", "configmap", &id) {
        return vec![missing];
    }
    let findings = by_object.get(&id).map_or(&[][..], Vec::as_slice);
    let known: HashMap<_, _> = ingressd_config::config_map_keys().map(|facts| (facts.name, facts)).collect();
    let mut items = Vec::new();
    for (key, value) in data(judged, &id) {
        let facts = known.get(key.as_str());
        let known = facts.map(|facts| KnownKey {
            is_key: true,
            compared: facts.compared,
            is_served: facts.is_served,
            asks_for_nothing: facts.asks_for_nothing(value),
            mistake: None,
        });
        let known = known.unwrap_or(KnownKey::NOTHING);
        let is_at = |finding: &&&Finding| matches!(&finding.origin.field, Field::Data(at) if **at == *key);
        let found = findings.iter().filter(is_at).filter_map(|finding| Item::of_finding(key, value, finding, known));
        let item = worst(found.collect()).unwrap_or_else(|| Item::of_key(key, value, known.silent()));
        let item = match judged.of_node.get(key.as_str()) {
            Some(said) => of_node(item, said),
            None => item,
        };
        let becomes = facts.filter(|facts| facts.is_served).map_or_else(String::new, |facts| facts.becomes.clone());
        items.push(Item { becomes, ..without_snippet(item) });
    }
    let whole = findings.iter().filter(|finding| finding.origin.field == Field::Object);
    items.extend(whole.filter_map(|finding| Item::of_finding("the ConfigMap", "", finding, KnownKey::NOTHING)));
    items
}

/// The item of a ConfigMap that a flag names and that was not read.
fn missing(judged: &ReportInput<'_>, name: &str, flag: &str, id: &ObjectId) -> Option<Item> {
    let (namespace, map) = (&id.namespace, &id.name);
    // A flag that names no ConfigMap is reported with the flags.
    if namespace.is_empty() || map.is_empty() || judged.inventory.snapshot.config_map(namespace, map).is_some() {
        return None;
    }
    Some(Item {
        name: name.to_owned(),
        value: format!("{namespace}/{map}"),
        verdict: Equivalence::Refused,
        why: "It is not in what was read, and nobody knows what it says.".to_owned(),
        remedy: format!(
            "read it too (kubectl get configmap {map} --namespace {namespace} -o yaml); where the cluster has none, take --{flag} out of \
             the arguments of the controller"
        ),
        ..Item::default()
    })
}

/// A key that belongs to nginx.conf, where this host's is known.
fn of_node(item: Item, said: &OfNode) -> Item {
    match said.is_met {
        true => Item { verdict: Equivalence::Equal, why: said.says.clone(), remedy: String::new(), ..item },
        false => Item { verdict: Equivalence::Different, remedy: format!("{}: {}", said.says, said.remedy), ..item },
    }
}

/// What is said of TCP and UDP services.
fn streams<'a>(
    judged: &ReportInput<'_>,
    by_object: &ByObject<'_>,
    flag: impl Fn(&str) -> Option<&'a str>,
) -> Vec<Item> {
    let mut items = Vec::new();
    for (of_flag, transport) in [("tcp-services-configmap", "TCP"), ("udp-services-configmap", "UDP")] {
        let Some(name) = flag(of_flag) else { continue };
        let id = object(name);
        if let Some(missing) = missing(judged, &format!("{transport} services"), of_flag, &id) {
            items.push(missing);
            continue;
        }
        let findings = by_object.get(&id).map_or(&[][..], Vec::as_slice);
        for (port, value) in data(judged, &id) {
            let is_at = |finding: &&&Finding| matches!(&finding.origin.field, Field::Data(at) if *at == **port);
            let name = format!("{transport} port {port}");
            let found = findings.iter().filter(is_at);
            let found = found.filter_map(|finding| Item::of_finding(&name, value, finding, KnownKey::NOTHING));
            items.push(worst(found.collect()).unwrap_or_else(|| Item::of_key(&name, value, Compared::Equal)));
        }
        let whole = findings.iter().filter(|finding| finding.origin.field == Field::Object);
        let whole = whole
            .filter_map(|finding| Item::of_finding(&format!("{transport} services"), name, finding, KnownKey::NOTHING));
        items.extend(whole);
    }
    items
}

/// What is said of objects that have no place elsewhere in the report: Services, Secrets, and the
/// ConfigMaps that keys and annotations name.
fn objects<'a>(findings: &[Finding], flag: impl Fn(&str) -> Option<&'a str>) -> Vec<Item> {
    let named = ["configmap", "tcp-services-configmap", "udp-services-configmap"];
    let named = named.into_iter().filter_map(flag).map(object).collect::<Vec<_>>();
    let is_other = |finding: &&Finding| {
        let id = &*finding.origin.object;
        !matches!(id.kind, Kind::INGRESS | Kind::FILE | Kind::HOST | Kind::SETTINGS) && !named.contains(id)
    };
    let item = |finding: &Finding| {
        let name = finding.origin.to_string();
        Item::of_finding(&name, "", finding, KnownKey::NOTHING).filter(|item| item.verdict != Equivalence::Equal)
    };
    findings.iter().filter(is_other).filter_map(item).collect()
}

/// What is wrong with what was read, or is not known.
fn notes(judged: &ReportInput<'_>, classless: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    let controller =
        judged.controller.map_or("k8s.io/ingress-nginx", |found| found.value_or_default("controller-class"));
    let is_its = |class: &str| class == controller;
    let mut classes = judged.inventory.snapshot.ingress_classes.iter();
    if !classes
        .any(|stored| stored.object.spec.as_ref().and_then(|spec| spec.controller.as_deref()).is_some_and(is_its))
    {
        notes.push(format!(
            "there is no IngressClass of the controller {controller}, so Ingresses that name it in \
                spec.ingressClassName are left out; add it to the input if it exists (kubectl get ingressclasses)"
        ));
    }
    if let Some(first) = classless.first() {
        let more = if classless.len() > 1 { format!(" and {} more", classless.len() - 1) } else { String::new() };
        notes.push(format!(
            "Ingresses without a class, which the controller does not serve either: {first}{more}; set \
                spec.ingressClassName where they are to be served"
        ));
    }
    if judged.controller.is_none() {
        notes.push(
            "no Deployment or DaemonSet of an ingress-nginx was found, so the defaults of its flags are \
                used"
                .to_owned(),
        );
    }
    if let Some(controller) = judged.controller.filter(|controller| !controller.validates()) {
        let version = controller.version().map(|[major, minor, patch]| format!(" {major}.{minor}.{patch}"));
        notes.push(format!(
            "the controller{} uses values of annotations as they are, because versions before 1.12 and those with \
                --enable-annotation-validation=false do not check them: it may use values that are refused here",
            version.unwrap_or_default()
        ));
    }
    if judged.inventory.is_without_secrets {
        notes.push("only the names of Secrets were read; their contents are assumed to be valid".to_owned());
    }
    let is_reported = |finding: &&Finding| {
        let is_why = || state(judged, &finding.origin.object).is_some_and(|state| state.is_why(finding));
        finding.origin.object.kind == Kind::FILE || (finding.severity >= Severity::Warning && is_why())
    };
    notes.extend(judged.findings.iter().filter(is_reported).map(|finding| on_one_line(&finding.to_string())));
    notes
}

fn state<'a>(judged: &ReportInput<'a>, id: &ObjectId) -> Option<&'a Arc<ObjectState>> {
    ObjectState::find(judged.states, id)
}

/// Conflicts with other sites of this host, or with its nginx.conf.
fn clashes(findings: &[Finding]) -> Vec<String> {
    let reasons = [Reason::HostConflict, Reason::DefaultServerTaken, Reason::PortConflict];
    let of_host = |finding: &&Finding| {
        reasons.contains(&finding.reason)
            || (finding.reason == Reason::MissingCapability && finding.origin.object.kind == Kind::HOST)
    };
    findings.iter().filter(of_host).map(|finding| on_one_line(&finding.to_string())).collect()
}

/// The worst verdict.
pub(super) fn worst_of<'a>(items: impl Iterator<Item = &'a Item>) -> Equivalence {
    items.map(|item| item.verdict).max().unwrap_or_default()
}
