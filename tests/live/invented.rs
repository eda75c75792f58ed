//! A kind that only this test knows, from watch to answer and back to its status: the daemon's own
//! `run` with one more row in each of its tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use ingressd::daemon::{self, KindTables, Request, control};
use ingressd_cluster::publish::{
    Address, Content, EVENTS, STATUSES, Situation, StatusRow, StatusStrategy, Statuses, entries,
};
use ingressd_cluster::source::{WATCHED, WatchRow, Watched, WatchedKinds};
use ingressd_config::Sources;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{
    Field, HeaderName, HeaderValue, Kind, KindName, ObjectId, ObjectPlace, Origin, PlaceKind, Share, Test, Verdict,
};
use ingressd_objects::{DropUnread, KindRow, Lasting, Permission, Published, ROWS, Row, Snapshot, Validate};
use ingressd_translate::{
    ANNOTATIONS, ClassRule, Declared, Intent, OptionEntry, Options, Port, READERS, ReadKind, Reader, Readers,
    Reference, Rule, RulePath, Seen, Source, class_of_name,
};
use rig::client::{Reply, get};
use rig::cluster::objects::{ADDRESS, Objects};
use rig::cluster::{self, Cluster};
use rig::manifests::secret;
use rig::wait;

const SIGNPOST: Kind = Kind::new(&KindName::new("Signpost"));
/// The controller of the classes that this test serves.
static CONTROLLER: OnceLock<String> = OnceLock::new();

// --- the row of its objects

/// Hosts and ways: those of an object without an owner, or its part in those of another one, which
/// names it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Signpost {
    metadata: ObjectMeta,
    spec: Spec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<Value>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Spec {
    classes: Vec<String>,
    hosts: Vec<String>,
    ways: Vec<Way>,
    owner: Option<[String; 2]>,
    /// Whether its paths are regular expressions.
    expressions: bool,
    /// The Secret with the passwords of those who may go its ways.
    passwords: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Way {
    path: String,
    /// A header that its requests have; others go the shorter way.
    header: BTreeMap<String, String>,
    to: Vec<Target>,
    /// The object of another namespace that says where its requests go.
    part: Option<[String; 2]>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Target {
    service: String,
    weight: u32,
}

impl Resource for Signpost {
    type Scope = NamespaceResourceScope;
    const API_VERSION: &'static str = "roads.example/v1";
    const GROUP: &'static str = "roads.example";
    const KIND: &'static str = "Signpost";
    const VERSION: &'static str = "v1";
    const URL_PATH_SEGMENT: &'static str = "signposts";
}

impl Metadata for Signpost {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Validate for Signpost {}
impl DropUnread for Signpost {}

impl KindRow for Signpost {
    type Kept = Self;
    const MODEL_KIND: Kind = SIGNPOST;
    const READ: Permission = Permission::of::<Self>(&["list", "watch"], "ways");
    const STATUS: Option<Permission> =
        Some(Permission { resource: "signposts/status", ..Permission::of::<Self>(&["patch"], "who serves them") });
    const MAY_BE_ABSENT: bool = true;
    const IS_PUT_BACK: bool = true;
    const LASTING: Option<Lasting<Self>> = Some(Lasting::whole());
}

impl Watched for Signpost {
    const HAS_WHOLE_STATUS: bool = true;
    fn take_published(&mut self) -> Option<Published> {
        Some(Published::take_whole(&mut self.metadata, self.status.take().unwrap_or_default()))
    }
}

// --- the row of its reader

struct Signposts;

impl ReadKind for Signposts {
    type Kept = Signpost;
    const KIND: Kind = SIGNPOST;

    fn select<'o>(
        seen: Seen<'_, Signpost>,
        snapshot: &Snapshot,
        options: &'o Options,
    ) -> Result<&'o ClassRule, Box<Finding>> {
        let rule = seen.object.spec.classes.iter().find_map(|class| class_of_name(class, snapshot, options));
        let foreign =
            || Finding::new(Reason::ForeignClass, Origin::object(seen.entry.id), "none of its classes is ours");
        rule.ok_or_else(|| Box::new(foreign()))
    }

    fn read(seen: Seen<'_, Signpost>, _: &ClassRule, snapshot: &Snapshot, options: &Options) -> Declared {
        let own = &seen.object.spec;
        let owner = own.owner.as_ref().map(|owner| ObjectId::new(SIGNPOST, &owner[0], &owner[1]));
        let name = [seen.entry.id.namespace.to_string(), seen.entry.id.name.to_string()];
        let is_part = |way: &&Way| way.part.as_ref() == Some(&name);
        let (hosts, paths): (_, Arc<[_]>) = match &owner {
            None => (&own.hosts, own.ways.iter().filter(|way| way.part.is_none()).map(|way| path(way, own)).collect()),
            Some(owner) => {
                let owner = Signpost::list(snapshot).find(&owner.namespace, &owner.name);
                let of_owner = owner.map_or(own, |stored| &stored.object.spec);
                let given = of_owner.ways.iter().filter(is_part).map(|way| &way.path);
                let paths =
                    given.flat_map(|path| own.ways.iter().map(move |way| Way { path: path.clone(), ..way.clone() }));
                (&of_owner.hosts, paths.map(|way| self::path(&way, own)).collect())
            }
        };
        let rules = hosts.iter().map(|host| Rule::read(host, Arc::clone(&paths))).collect();
        let passwords = own.passwords.as_deref();
        let said = [
            ("use-regex", own.expressions.then_some("true"), "spec.expressions"),
            ("auth-type", passwords.and(Some("basic")), "spec.passwords"),
            ("auth-secret", passwords, "spec.passwords"),
        ];
        let said = said.into_iter().filter_map(|(key, value, field)| {
            let at = Origin::field(seen.entry.id, Field::Other(field.into()));
            Some(OptionEntry { row: ANNOTATIONS.find(key)?, value: value?.into(), at })
        });
        let said = said.collect();
        let class = |name: &String| Arc::new(ObjectId::new(Kind::INGRESS_CLASS, "", name));
        let parents = own.classes.iter().map(|name| ObjectPlace {
            at: PlaceKind::Parent(class(name)),
            verdict: class_of_name(name, snapshot, options)
                .map_or(Verdict::NotOurs(Reason::ForeignClass), |_| Verdict::Good),
        });
        let looked_up = own.classes.iter().map(|name| ObjectId::clone(&class(name))).chain(owner).collect();
        let parents = parents.collect();
        Declared { intent: Intent { options: said, parents, ..Intent::of(Source::of(seen.entry), rules) }, looked_up }
    }

    fn needs(seen: Seen<'_, Signpost>, _: &Options) -> BTreeSet<ObjectId> {
        let passwords = seen.object.spec.passwords.iter();
        passwords.map(|name| ObjectId::new(Kind::SECRET, &seen.entry.id.namespace, name)).collect()
    }
}

/// A path with its conditions and all its backends.
fn path(way: &Way, spec: &Spec) -> RulePath {
    let to = |target: &Target| Reference { service: Some(target.service.as_str().into()), port: Port::Number(80) };
    let test = |(name, value): (&String, &String)| {
        Test::Header(HeaderName::new(name).unwrap(), HeaderValue::new(value).unwrap())
    };
    let whole = way.to.iter().map(|target| u64::from(target.weight)).sum();
    let share = |target: &Target| (Share::of(target.weight.into(), whole), to(target));
    let kind = if spec.expressions { "ImplementationSpecific" } else { "Prefix" };
    let others = way.to[1..].iter().map(share).collect();
    let all = way.header.iter().map(test).collect();
    RulePath { all, others, ..RulePath::read(Some(&way.path), kind, to(&way.to[0])) }
}

// --- the row of its status

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Parents {
    addresses: Vec<Address>,
    /// The entries of all controllers.
    all: Vec<Value>,
}

impl Content for Parents {
    fn addresses(&self) -> &[Address] {
        &self.addresses
    }
}

#[derive(Default)]
struct OfSignposts;

impl OfSignposts {
    fn is_ours(parent: &Value) -> bool {
        parent["controller"].as_str() == CONTROLLER.get().map(String::as_str)
    }

    fn current(published: &Published) -> Parents {
        let status = published.whole.as_ref().map(|whole| (**whole).clone()).unwrap_or_default();
        let list = |key: &str| status[key].as_array().cloned().unwrap_or_default();
        let addresses = list("addresses").iter().filter_map(|entry| entry["ip"].as_str()?.parse().ok()).collect();
        Parents { addresses, all: list("parents") }
    }
}

impl StatusStrategy for OfSignposts {
    type Kind = Signpost;
    type Content = Parents;
    const TROUBLE: &'static str = "the status of Signposts cannot be written";

    fn current(&self, published: &Published) -> (Parents, bool) {
        (Self::current(published), true)
    }

    fn content(&self, situation: Situation<'_>) -> Parents {
        let Situation { published, state, is_current, addresses, .. } = situation;
        let mut all = Self::current(published).all;
        let Some(state) = state.filter(|_| is_current) else { return Parents { addresses, all } };
        all.retain(|parent| !Self::is_ours(parent));
        let condition = |sort: &str, holds: bool, why: &str| {
            let status = if holds { "True" } else { "False" };
            json!({"type": sort, "status": status, "reason": why, "observedGeneration": state.generation})
        };
        let why = |well: &'static str| state.reason().map_or(well, |reason| reason.row().name);
        let conditions = [
            condition("Accepted", state.reason().is_none(), why("Accepted")),
            condition("Programmed", !addresses.is_empty(), why("Programmed")),
        ];
        let entry = |class: &Arc<ObjectId>| json!({"class": &*class.name, "controller": CONTROLLER.get(), "conditions": conditions});
        all.extend(state.parents().map(entry));
        Parents { addresses, all }
    }

    fn status(&self, content: &Parents) -> Value {
        json!({"addresses": entries(&content.addresses), "parents": content.all})
    }
}

/// The daemon's tables with one more row in each.
fn tables() -> KindTables {
    KindTables {
        objects: WatchedKinds([&WATCHED[..], &[WatchRow::of::<Signpost>()]].concat().leak()),
        readers: Readers([&READERS[..], &[Reader::of::<Signposts>()]].concat().leak()),
        statuses: Statuses([&STATUSES[..], &[StatusRow::of::<OfSignposts>()]].concat().leak()),
    }
}

// --- the test

fn definitions(objects: &Objects) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Api::all_with(objects.client(), &ApiResource::from_gvk(&kind))
}

fn definition() -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": any, "status": any}});
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}
    });
    let names = json!({"kind": "Signpost", "plural": "signposts", "singular": "signpost", "listKind": "SignpostList"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "signposts.roads.example"},
        "spec": {"group": "roads.example", "scope": "Namespaced", "names": names, "versions": [version]}
    })
}

fn signposts(objects: &Objects) -> Api<DynamicObject> {
    Api::namespaced_with(objects.client(), objects.namespace(), &ApiResource::erase::<Signpost>(&()))
}

async fn put(objects: &Objects, name: &str, spec: Value) {
    let object =
        json!({"apiVersion": "roads.example/v1", "kind": "Signpost", "metadata": {"name": name}, "spec": spec});
    let how = PatchParams::apply("test").force();
    // The API server serves a kind a moment after it has its definition.
    wait::until("the kind", async || signposts(objects).patch(name, &how, &Patch::Apply(&object)).await.ok()).await;
}

/// Waits until a status is right.
async fn reported(objects: &Objects, name: &str, right: impl Fn(&Value) -> bool) -> Value {
    let status = async || signposts(objects).get(name).await.unwrap().data["status"].clone();
    wait::until_right(&format!("the status of {name}"), status, |status| right(status)).await
}

/// Starts the daemon in this process, with the rights that the rows of the kinds name alone.
async fn start(cluster: &Cluster) -> (mpsc::Sender<Request>, tokio::task::JoinHandle<Result<(), daemon::Error>>) {
    let rows = ROWS.iter().copied().chain([Row::of::<Signpost>()]);
    let rights = rows.flat_map(|row| [Some(row.read), row.read_anywhere, row.status]).flatten().chain([EVENTS]);
    let rule = |Permission { group, resource, verbs, .. }| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    cluster.credentials.set_rules(&cluster.objects, &rights.map(rule).collect()).await;
    let flags = [("publish.addresses".to_owned(), format!("[{ADDRESS:?}]"))].into();
    let sources = Sources { file: Some(cluster.folder().join("ingressd.toml")), flags, ..Sources::default() };
    let settings = sources.load().unwrap();
    let (requests, received) = mpsc::channel(1);
    let load = Box::new(|| Err("nobody asks for it".to_owned()));
    (requests, tokio::spawn(daemon::run(settings, tables(), load, received, watch::Sender::default())))
}

/// The answer of the daemon to a request over its socket.
async fn asked(cluster: &Cluster, request: String) -> Value {
    let socket = cluster.folder().join("control.sock");
    let answer = tokio::task::spawn_blocking(move || control::ask(&socket, &request, None)).await.unwrap();
    serde_json::from_str::<Value>(&answer.unwrap()).unwrap()["subject"].take()
}

fn is_from(reply: &Reply, address: &str) -> bool {
    reply.status == 200 && reply.echo().address.ip().to_string() == address
}

#[test]
fn a_kind_that_only_a_test_knows_is_served_and_reported() {
    cluster::run(async |cluster| {
        CONTROLLER.get_or_init(|| cluster.objects.controller("nginx"));
        let objects = &cluster.objects;
        let elsewhere = Objects::new(objects.client(), &format!("{}-else", objects.namespace())).await;
        for (objects, service, address) in
            [(objects, "near", "10.244.0.1"), (objects, "far", "10.244.0.2"), (&elsewhere, "part", "10.244.0.3")]
        {
            objects.serve(service, &[address]).await;
        }
        cluster.nginx.start();
        let (requests, running) = start(cluster).await;
        // The API server does not have the kind yet, which is no mistake.
        let ready = async || cluster.daemon.status().await.unwrap_or_default();
        let status = wait::until_right("the daemon", ready, |status| status["ready"] == true).await;
        let watched = status["watches"].as_array().unwrap().iter().find(|watch| watch["kind"] == "Signpost").unwrap();
        assert_eq!((watched["state"].as_str(), &watched["failure"]), (Some("absent"), &Value::Null));

        let create = PatchParams::apply("test").force();
        definitions(objects).patch("signposts.roads.example", &create, &Patch::Apply(definition())).await.unwrap();
        let (class, other) = (objects.class("nginx"), format!("other-{}", objects.namespace()));
        objects
            .apply(json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": other},
                "spec": {"controller": "other.example/controller"}}))
            .await;
        let to = |service: &str, weight: u32| json!({"service": service, "weight": weight});
        let part = json!([elsewhere.namespace(), "part"]);
        let spec = |weight: u32| {
            json!({"classes": [class, other], "hosts": ["sign.example"], "ways": [
                {"path": "/", "to": [to("near", weight), to("missing", 1)]},
                {"path": "/deep", "header": {"x-way": "long"}, "to": [to("far", 1)]},
                {"path": "/part", "part": part},
            ]})
        };
        put(objects, "main", spec(1)).await;
        let theirs = json!({"class": other, "controller": "other.example/controller", "conditions": []});
        let merge = Patch::Merge(json!({"status": {"parents": [theirs]}}));
        signposts(objects).patch_status("main", &PatchParams::default(), &merge).await.unwrap();
        let owner = json!([objects.namespace(), "main"]);
        let ways = json!([{"to": [to("part", 1)]}]);
        put(&elsewhere, "part", json!({"classes": [class], "owner": owner, "ways": ways})).await;

        // Shares, one of which has no Service; a header with a fall to the shorter path; a part.
        let url = |path: &str| get(&format!("http://sign.example{path}"));
        url("/").send_until("the Service", |reply| is_from(reply, "10.244.0.1")).await;
        url("/").send_until("the share without one", |reply| reply.status == 503).await;
        url("/part/x").send_until("the part", |reply| is_from(reply, "10.244.0.3")).await;
        for _ in 0..20 {
            assert!(is_from(&url("/deep/down").header("x-way", "long").send().await, "10.244.0.2"));
            let fallen = url("/deep/down").header("x-way", "short").send().await;
            assert!(fallen.status == 503 || is_from(&fallen, "10.244.0.1"));
        }

        // Requests are counted for it.
        let (namespace, labels) = (objects.namespace(), r#"service="near",method="read",status="2xx""#);
        let series =
            format!(r#"ingressd_traffic_requests_total{{namespace="{namespace}",ingress="Signpost/main",{labels}}}"#);
        let counted = async || cluster.daemon.metric(&series).await;
        wait::until_right("its requests", counted, |count| *count > 0.0).await;

        // What belongs to a protected path of an Ingress is not opened by a longer one.
        let service = json!({"name": "near", "port": {"number": 80}});
        let paths = json!([{"path": "/", "pathType": "Prefix", "backend": {"service": service}}]);
        let rules = json!([{"host": "guarded.example", "http": {"paths": paths}}]);
        let annotations = json!({"nginx.ingress.kubernetes.io/whitelist-source-range": "192.0.2.0/24"});
        let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "guarded",
            "annotations": annotations}, "spec": {"ingressClassName": class, "rules": rules}});
        objects.apply(ingress).await;
        let ask = |path: &str| get(&format!("http://guarded.example{path}")).header("x-way", "long");
        ask("/").send_until("the protection", |reply| reply.status == 403).await;
        let way = json!({"path": "/deep", "header": {"x-way": "long", "x-speed": "slow"}, "to": [to("far", 1)]});
        put(objects, "beside", json!({"classes": [class], "hosts": ["guarded.example"], "ways": [way]})).await;
        ask("/deep").header("x-speed", "slow").send_until("the way", |reply| is_from(reply, "10.244.0.2")).await;
        assert_eq!(ask("/deep").send().await.status, 403);

        // The Secret that it names is there in the first cycle that serves it.
        objects.apply(secret("passwords", "Opaque", &[("auth", "a:$apr1$x$vxlZ.6wQkoYjY5ZDKOuOA0\n")])).await;
        let ways = json!([{"path": "/", "to": [to("near", 1)]}]);
        let closed = json!({"classes": [class], "hosts": ["closed.example"], "passwords": "passwords", "ways": ways});
        put(objects, "closed", closed).await;
        let first = get("http://closed.example/").send_until("its host", |reply| reply.status != 404).await;
        assert_eq!(first.status, 401);

        // Its status, with the entry of the other controller.
        let holds = |status: &Value, generation: u64| {
            let conditions = status["parents"][1]["conditions"].as_array().cloned().unwrap_or_default();
            let is_true = |one: &Value| one["status"] == "True" && one["observedGeneration"] == generation;
            conditions.len() == 2 && conditions.iter().all(is_true)
        };
        let status = reported(objects, "main", |status| holds(status, 1)).await;
        assert_eq!(status["parents"][0], theirs);
        assert_eq!(status["parents"][1]["class"], json!(class));
        assert_eq!(status["parents"].as_array().unwrap().len(), 2, "none for the class of the other");
        assert_eq!(status["addresses"], json!([{"ip": ADDRESS}]));
        reported(&elsewhere, "part", |status| status["parents"][0]["conditions"][1]["status"] == "True").await;
        put(objects, "main", spec(3)).await;
        let status = reported(objects, "main", |status| holds(status, 2)).await;
        assert_eq!(status["parents"][0], theirs);

        // What it asked for is explained.
        let explained = asked(cluster, "explain http://sign.example/deep/down".to_owned()).await;
        assert_eq!(explained["route"]["from"], format!("Signpost {}/main: host 1, path 2", objects.namespace()));
        assert_eq!(explained["route"]["is_of_object"], true);
        assert_eq!(explained["route"]["answer"]["ingress"], format!("Signpost/{namespace}/main"));

        // Of what nginx refuses an earlier version is served, or nothing, and all others.
        let bent = |class: &str, name: &str, path: &str| {
            let ways = json!([{"path": path, "to": [to("near", 1)]}]);
            json!({"classes": [class], "hosts": [format!("{name}.example")], "expressions": true, "ways": ways})
        };
        put(objects, "bent", bent(&class, "bent", "/works")).await;
        let works = || get("http://bent.example/works");
        works().send_until("an expression", |reply| is_from(reply, "10.244.0.1")).await;
        // What counts there was said by it.
        let said = format!("Signpost {namespace}/bent: spec.expressions");
        let options = async || asked(cluster, "explain http://bent.example/works".to_owned()).await["options"].take();
        wait::until_right("its option", options, |options| options.to_string().contains(&said)).await;
        for name in ["bent", "worse"] {
            put(objects, name, bent(&class, name, "/works/a(?<=a+)")).await;
        }
        for (name, state) in [("bent", "last good"), ("worse", "refused")] {
            let is_refused = |status: &Value| {
                let accepted = &status["parents"][0]["conditions"][0];
                accepted["status"] == "False" && accepted["reason"] == "Quarantined"
            };
            reported(objects, name, is_refused).await;
            let shown = asked(cluster, format!("ingress Signpost/{}/{name}", objects.namespace())).await;
            assert_eq!((&shown["state"], &shown["reason"]), (&json!(state), &json!("Quarantined")));
            assert_eq!(shown["hosts"], json!([format!("{name}.example")]));
            let of_host = asked(cluster, format!("host {name}.example")).await;
            assert_eq!(
                (&of_host["ingresses"][0]["kind"], &of_host["ingresses"][0]["state"]),
                (&json!("Signpost"), &json!(state))
            );
        }
        assert!(is_from(&works().send().await, "10.244.0.1") && is_from(&url("/part/x").send().await, "10.244.0.3"));
        assert_ne!(get("http://worse.example/works").send().await.status, 200);
        // What is not ours any more keeps nothing that was said of it, though it had no address.
        put(objects, "worse", bent(&other, "worse", "/works")).await;
        reported(objects, "worse", |status| status["parents"].as_array().is_none_or(Vec::is_empty)).await;

        // With the kind go its objects.
        definitions(objects).delete("signposts.roads.example", &DeleteParams::default()).await.unwrap();
        url("/").send_until("the end of the host", |reply| reply.status == 404).await;
        requests.send(Request::Stop).await.unwrap();
        running.await.unwrap().unwrap();
    });
}
