//! What is published in the status of a kind: where it stands in an object, what it should be, and
//! how it is applied. The ledger and the writer know a kind only by this trait.

use std::fmt::Debug;

use k8s_openapi::api::networking::v1::Ingress;
use serde_json::{Value, json};

use super::address::Address;
use super::served::Served;
use ingressd_model::{ObjectId, ObjectState};
use ingressd_objects::{KindRow, Published};

/// The part of a status that we write; the default is empty.
pub trait Content: Clone + Eq + Default + Debug + Send + Sync + 'static {
    /// The addresses in it, sorted.
    fn addresses(&self) -> &[Address];

    /// Whether nothing is published.
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Addresses alone.
impl Content for Vec<Address> {
    fn addresses(&self) -> &[Address] {
        self
    }
}

/// What the content of a status follows from.
#[derive(Debug)]
pub struct Situation<'a> {
    /// Its name.
    pub id: &'a ObjectId,
    /// What this host serves, with the objects as they were last read.
    pub served: &'a Served,
    /// The status that it has.
    pub published: &'a Published,
    /// Its state, where it is in a served namespace.
    pub state: Option<&'a ObjectState>,
    /// Whether the state is that of its present version.
    pub is_current: bool,
    /// The addresses that it should have.
    pub addresses: Vec<Address>,
}

/// How the status of a kind is read, computed and written.
pub trait StatusStrategy: Send + Sync + 'static {
    type Kind: kube::Resource<DynamicType = ()> + KindRow;
    /// What to say where it cannot be written.
    const TROUBLE: &'static str;
    /// The content that is published.
    type Content: Content;

    /// The content of a status, and whether it has nothing else in the part that we write.
    fn current(&self, published: &Published) -> (Self::Content, bool);

    /// The content that should be published.
    fn content(&self, situation: Situation<'_>) -> Self::Content;

    /// The `status` to apply for a content.
    fn status(&self, content: &Self::Content) -> Value;
}

/// The strategy of Ingresses: the addresses of the nodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct IngressAddresses;

impl StatusStrategy for IngressAddresses {
    type Kind = Ingress;
    type Content = Vec<Address>;

    const TROUBLE: &'static str = "the status of Ingresses cannot be written";

    fn current(&self, published: &Published) -> (Vec<Address>, bool) {
        let status = published.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let entries = status.and_then(|balancer| balancer.ingress.as_deref()).unwrap_or_default();
        let mut plain = true;
        let mut addresses = Vec::with_capacity(entries.len());
        for entry in entries {
            let (text, other) = match &entry.ip {
                Some(ip) => (Some(ip), entry.hostname.is_some()),
                None => (entry.hostname.as_ref(), false),
            };
            let has_ports = entry.ports.as_ref().is_some_and(|ports| !ports.is_empty());
            match text.and_then(|text| text.parse().ok()).filter(|_| !other && !has_ports) {
                Some(address) => addresses.push(address),
                None => plain = false,
            }
        }
        addresses.sort();
        (addresses, plain)
    }

    fn content(&self, situation: Situation<'_>) -> Vec<Address> {
        situation.addresses
    }

    fn status(&self, addresses: &Vec<Address>) -> Value {
        json!({ "loadBalancer": { "ingress": entries(addresses) } })
    }
}

/// Addresses as the entries of a load balancer's status.
pub fn entries(addresses: &[Address]) -> Vec<Value> {
    let entry = |address: &Address| match address {
        Address::Ip(address) => json!({ "ip": address.to_string() }),
        Address::Name(name) => json!({ "hostname": &**name }),
    };
    addresses.iter().map(entry).collect()
}
