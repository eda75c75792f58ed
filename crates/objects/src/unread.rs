//! Removes unused parts of checked objects, because all objects stay in memory.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, NodeStatus, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};

use super::secret::WRITTEN;

/// The label that connects a slice with its Service.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The types of Secrets that hold nothing for nginx: Helm releases, and tokens.
const UNREAD_SECRETS: [&str; 2] = ["helm.sh/release.v1", "kubernetes.io/service-account-token"];

/// The keys of Secrets whose values are read as files. Any other one may be the name of a user,
/// with the hash of a password.
const FILES: [&str; 6] = ["auth", "ca.crl", "ca.crt", "dhparam.pem", "tls.crt", "tls.key"];

/// How much is kept of the value of another key: no password has so long a hash, and a longer one
/// is still seen to be too long.
const LONGEST_HASH: usize = 260;

/// An object that contains more than is used. A map with a single key takes half a kilobyte.
pub trait DropUnread {
    /// Removes the unused parts.
    fn drop_unread(&mut self) {}
}

impl DropUnread for ConfigMap {}

impl DropUnread for IngressClass {
    fn drop_unread(&mut self) {
        self.metadata.labels = None;
    }
}

impl DropUnread for Secret {
    fn drop_unread(&mut self) {
        self.metadata.labels = None;
        self.metadata.annotations.iter_mut().for_each(|annotations| annotations.retain(|key, _| key == WRITTEN));
        self.metadata.creation_timestamp = None;
        // The list leaves these out. A request for a single object cannot, so a reference to one
        // would keep its content in memory: many may be a megabyte large.
        if self.type_.as_deref().is_some_and(|own| UNREAD_SECRETS.contains(&own)) {
            self.data = None;
        }
        let others = self.data.iter_mut().flatten().filter(|(key, _)| !FILES.contains(&key.as_str()));
        for (_, value) in others.filter(|(_, value)| value.0.len() > LONGEST_HASH) {
            value.0 = value.0[..LONGEST_HASH].to_vec();
        }
    }
}

impl DropUnread for EndpointSlice {
    fn drop_unread(&mut self) {
        // One of the annotations is the time of the last change, which would make every version a
        // new one.
        self.metadata.annotations = None;
        self.metadata.creation_timestamp = None;
        if let Some(labels) = &mut self.metadata.labels {
            labels.retain(|label, _| label == SERVICE_NAME);
        }
        for endpoint in self.endpoints.iter_mut().flatten() {
            endpoint.deprecated_topology = None;
            endpoint.hints = None;
            endpoint.hostname = None;
            endpoint.zone = None;
            if let Some(target) = &mut endpoint.target_ref {
                target.api_version = None;
                target.field_path = None;
                target.resource_version = None;
                target.uid = None;
            }
        }
    }
}

/// A Node is updated every few minutes, and lists every image that it has.
impl DropUnread for Node {
    fn drop_unread(&mut self) {
        self.metadata.annotations = None;
        self.metadata.creation_timestamp = None;
        self.spec = None;
        let Some(status) = self.status.take() else { return };
        let mut conditions = status.conditions;
        conditions.iter_mut().for_each(|conditions| conditions.retain(|condition| condition.type_ == "Ready"));
        conditions.iter_mut().flatten().for_each(|condition| {
            condition.last_heartbeat_time = None;
            condition.last_transition_time = None;
            condition.message = None;
            condition.reason = None;
        });
        self.status = Some(NodeStatus { addresses: status.addresses, conditions, ..NodeStatus::default() });
    }
}

/// Only the labels are used, and others write annotations.
impl DropUnread for Namespace {
    fn drop_unread(&mut self) {
        self.metadata.annotations = None;
        self.metadata.creation_timestamp = None;
        self.spec = None;
        self.status = None;
    }
}

impl DropUnread for Ingress {
    fn drop_unread(&mut self) {
        self.metadata.labels = None;
        self.status = None;
    }
}

impl DropUnread for Service {
    fn drop_unread(&mut self) {
        self.metadata.labels = None;
        self.metadata.creation_timestamp = None;
        if let Some(status) = &mut self.status {
            status.conditions = None;
            if status.load_balancer.as_ref().is_some_and(|balancer| balancer.ingress.is_none()) {
                self.status = None;
            }
        }
        if let Some(spec) = &mut self.spec {
            spec.selector = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    #[test]
    fn of_a_secret_what_is_read_is_kept() {
        let value = |length: usize| ByteString(vec![b'x'; length]);
        let data = FILES.map(|key| (key.to_owned(), value(1 << 16)));
        let others = [("alice", 60), ("bob", 1 << 16)].map(|(key, length)| (key.to_owned(), value(length)));
        let mut secret = Secret { data: Some(data.into_iter().chain(others).collect()), ..Secret::default() };
        let annotations = [WRITTEN, "example.com/other"].map(|key| (key.to_owned(), "a".to_owned()));
        secret.metadata.annotations = Some(annotations.into());
        secret.drop_unread();
        assert!(crate::Secret::from(secret.clone()).is_issued);
        assert_eq!(secret.metadata.annotations.iter().flatten().count(), 1);
        let kept = secret.data.iter().flatten().map(|(key, value)| (key.as_str(), value.0.len(), value.0.capacity()));
        let whole = |key| (key, 1 << 16, 1 << 16);
        let mut expected: Vec<_> = FILES.map(whole).into();
        expected.extend([("alice", 60, 60), ("bob", LONGEST_HASH, LONGEST_HASH)]);
        expected.sort_unstable();
        assert_eq!(kept.collect::<Vec<_>>(), expected);
    }
}
