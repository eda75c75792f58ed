//! The API calls by which an administrator orders nodes to hold or publish, watches them, and
//! restores statuses. It must not know in which order they are made.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::Request;
use kube::{Api, Client, Resource as _};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::record::{Entry, Wrote};
use crate::publish::call::{Failure, call};
use crate::publish::member::{GROUP_LABEL, Member};
use crate::publish::members::{Life, Members};
use crate::publish::membership::STOPPED;
use crate::publish::options::Options;
use crate::publish::order::{Order, Writes};
use crate::source::cluster::Administrator;

/// The field manager of the order, and of restored values without a known manager.
const MANAGER: &str = "ingressd-migrate";

/// How long one response may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// The time between two looks at the nodes.
const LOOK: Duration = Duration::from_millis(300);

/// The administrator's calls about the nodes of a group and about statuses.
pub struct HandOver {
    client: Client,
    leases: Api<Lease>,
    options: Options,
}

impl HandOver {
    /// The calls for the group of these options.
    pub fn new(administrator: &Administrator, options: &Options) -> Self {
        let client = administrator.client();
        HandOver { leases: Api::namespaced(client.clone(), &options.namespace), client, options: options.clone() }
    }

    /// The field manager of the nodes.
    pub fn manager(&self) -> String {
        self.options.manager()
    }

    /// Writes an order for all nodes of the group. They see it by their watch of Leases; nodes
    /// that start later see it too.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn give(&self, order: Order) -> Result<(), Failure> {
        let group = &self.options.lease;
        let lease = order.lease(&self.options.namespace, group);
        let (parameters, name) = (PatchParams::apply(MANAGER).force(), Order::lease_name(group));
        call(PATIENCE, self.leases.patch(&name, &parameters, &Patch::Apply(&lease))).await.map(drop)
    }

    /// The current order, if any.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn order(&self) -> Result<Option<Order>, Failure> {
        Ok(self.leases().await?.iter().find_map(Order::read))
    }

    async fn leases(&self) -> Result<Vec<Lease>, Failure> {
        let of_group = ListParams::default().labels(&format!("{GROUP_LABEL}={}", self.options.lease));
        Ok(call(PATIENCE, self.leases.list(&of_group)).await?.items)
    }

    /// Every node that has a record, alive or not.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn members(&self) -> Result<Vec<Arc<Member>>, Failure> {
        let (now, mut members) = (Instant::now(), Members::new(self.options.lease_duration));
        members.replace(&self.leases().await?, now);
        Ok(members.members(now).map(|(member, _)| Arc::clone(member)).collect())
    }

    /// The nodes, once it is known which are alive: a live node renews its Lease several times
    /// within its duration. This does not wait for nodes whose daemon was stopped cleanly.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn nodes(&self) -> Result<Vec<(Arc<Member>, Life)>, Failure> {
        self.watch_until(self.options.lease_duration, |member, life| life != Life::Presumed || has_stopped(member))
            .await
            .map(|(members, _)| members)
    }

    /// Waits until no node writes statuses any more. After the time limit it returns the nodes
    /// that still may.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn until_held(&self, limit: Duration) -> Result<Vec<Arc<Member>>, Failure> {
        let is_quiet = |member: &Member, life| {
            let is_held = matches!(member.writes, Some(Writes::Held | Writes::Never));
            is_held || life == Life::Expired || has_stopped(member)
        };
        let (members, is_over) = self.watch_until(limit, is_quiet).await?;
        let loud = members.into_iter().filter(|(member, life)| is_over && !is_quiet(member, *life));
        Ok(loud.map(|(member, _)| member).collect())
    }

    /// Looks at the nodes until each fulfils the condition, or the time limit is over; the result
    /// says which.
    async fn watch_until(
        &self,
        limit: Duration,
        is_right: impl Fn(&Member, Life) -> bool,
    ) -> Result<(Vec<(Arc<Member>, Life)>, bool), Failure> {
        let (begun, mut members) = (Instant::now(), Members::new(self.options.lease_duration));
        loop {
            members.replace(&self.leases().await?, Instant::now());
            let now = Instant::now();
            let is_over = now - begun > limit;
            let members: Vec<_> = members.members(now).map(|(member, life)| (Arc::clone(member), life)).collect();
            if is_over || members.iter().all(|(member, life)| is_right(member, *life)) {
                return Ok((members, is_over));
            }
            sleep(LOOK).await;
        }
    }

    /// Restores the former status of an Ingress under its former field manager, unless the object
    /// has changed since `now`.
    ///
    /// # Errors
    ///
    /// The error of the API server.
    pub async fn put_back(&self, before: &Entry, now: &Entry) -> Result<(), Failure> {
        let request = put_back(before, now, &self.manager()).map_err(kube::Error::BuildRequest);
        // The response is not decoded: managed fields may be nested deeper than the library reads.
        let answer = async { self.client.request_text(request?).await };
        call(PATIENCE, answer).await.map(drop)
    }
}

/// Whether a node's daemon has ended: it writes nothing, whatever its record said last.
fn has_stopped(member: &Member) -> bool {
    *member.phase == *STOPPED
}

fn put_back(before: &Entry, now: &Entry, nodes: &str) -> Result<http::Request<Vec<u8>>, kube::core::request::Error> {
    let request = Request::new(Ingress::url_path(&(), Some(&before.namespace)));
    let metadata = json!({ "uid": now.uid, "resourceVersion": now.resource_version });
    let writer = before.written_by.iter().find(|wrote| wrote.manager != nodes);
    let applied = |status: Option<&Value>| {
        let mut object = json!({
            "apiVersion": Ingress::api_version(&()), "kind": Ingress::kind(&()), "metadata": metadata.clone(),
        });
        object["metadata"]["namespace"] = json!(before.namespace);
        object["metadata"]["name"] = json!(before.name);
        if let Some(status) = status {
            object["status"] = json!({ "loadBalancer": status });
        }
        Patch::Apply(object)
    };
    let (parameters, patch) = match writer {
        // The status was empty before: what the nodes applied is removed.
        _ if before.addresses().is_empty() => (PatchParams::apply(nodes).force(), applied(None)),
        Some(Wrote { manager, .. }) if writer.is_some_and(Wrote::is_applied) => {
            (PatchParams::apply(manager).force(), applied(Some(&before.load_balancer)))
        }
        _ => {
            let manager = writer.map_or(MANAGER, |wrote| &wrote.manager).to_owned();
            let object = json!({ "metadata": metadata, "status": { "loadBalancer": before.load_balancer } });
            (PatchParams { field_manager: Some(manager), ..PatchParams::default() }, Patch::Merge(object))
        }
    };
    request.patch_subresource("status", &before.name, &parameters, &patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = "ingressd/ingressd/ingressd";

    fn entry(address: Option<&str>, written_by: &[(&str, &str)]) -> Entry {
        let load_balancer = address.map_or(Value::Null, |ip| json!({ "ingress": [{ "ip": ip }] }));
        let wrote = |(manager, operation): &(&str, &str)| Wrote {
            manager: (*manager).to_owned(),
            operation: (*operation).to_owned(),
        };
        Entry {
            namespace: "shop".to_owned(),
            name: "cart".to_owned(),
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
            load_balancer,
            written_by: written_by.iter().map(wrote).collect(),
        }
    }

    #[test]
    fn the_former_status_is_written_as_its_field_manager_and_over_one_version() {
        let now = Entry { resource_version: "9".to_owned(), ..entry(Some("192.0.2.1"), &[(NODES, "Apply")]) };
        for (what, before, manager, kind, status) in [
            (
                "by the controller",
                entry(Some("203.0.113.9"), &[("nginx-ingress-controller", "Update")]),
                "nginx-ingress-controller",
                "application/merge-patch+json",
                json!({ "loadBalancer": { "ingress": [{ "ip": "203.0.113.9" }] } }),
            ),
            (
                "by apply",
                entry(Some("203.0.113.9"), &[(NODES, "Apply"), ("other", "Apply")]),
                "other",
                "application/apply-patch+yaml",
                json!({ "loadBalancer": { "ingress": [{ "ip": "203.0.113.9" }] } }),
            ),
            (
                "by nobody knows whom",
                entry(Some("203.0.113.9"), &[]),
                MANAGER,
                "application/merge-patch+json",
                json!({ "loadBalancer": { "ingress": [{ "ip": "203.0.113.9" }] } }),
            ),
            (
                "nothing",
                entry(None, &[("nginx-ingress-controller", "Update")]),
                NODES,
                "application/apply-patch+yaml",
                Value::Null,
            ),
        ] {
            let request = put_back(&before, &now, NODES).unwrap();
            let uri = request.uri().to_string();
            assert!(
                uri.starts_with("/apis/networking.k8s.io/v1/namespaces/shop/ingresses/cart/status?"),
                "{what}: {uri}"
            );
            let query: Vec<_> = url::form_urlencoded::parse(request.uri().query().unwrap().as_bytes()).collect();
            assert!(query.iter().any(|(key, value)| key == "fieldManager" && value == manager), "{what}: {uri}");
            assert_eq!(request.headers()["content-type"], kind, "{what}");
            let body: Value = serde_json::from_slice(request.body()).unwrap();
            assert_eq!((&body["metadata"]["uid"], &body["metadata"]["resourceVersion"]), (&json!("u"), &json!("9")));
            assert_eq!(body["status"], status, "{what}");
        }
    }
}
