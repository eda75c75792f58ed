//! The record of the statuses of Ingresses before the nodes wrote them, with the field managers.
//! It must not know files.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the record's format.
const VERSION: u32 = 1;

/// The operation of server-side apply in managed fields.
const APPLY: &str = "Apply";

/// A field manager that wrote the addresses of an Ingress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrote {
    /// The name of the field manager.
    pub manager: String,
    /// The operation: `Apply` or `Update`.
    pub operation: String,
}

impl Wrote {
    /// Whether it was server-side apply.
    pub fn is_applied(&self) -> bool {
        self.operation == APPLY
    }
}

/// The status of an Ingress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// The `resourceVersion` of the object with this status.
    pub resource_version: String,
    /// `status.loadBalancer` as written.
    pub load_balancer: Value,
    /// All field managers that own the addresses.
    pub written_by: Vec<Wrote>,
}

impl Entry {
    /// Reads an Ingress; `None` when the value is not an Ingress.
    pub fn of(ingress: &Value) -> Option<Self> {
        let text = |pointer| ingress.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let managed = ingress.pointer("/metadata/managedFields").and_then(Value::as_array);
        let is_writer = |entry: &&Value| entry.pointer("/fieldsV1/f:status/f:loadBalancer/f:ingress").is_some();
        let wrote = |entry: &Value| {
            let text = |key: &str| Some(entry.get(key)?.as_str()?.to_owned());
            Some(Wrote { manager: text("manager")?, operation: text("operation")? })
        };
        Some(Entry {
            namespace: text("/metadata/namespace")?,
            name: text("/metadata/name")?,
            uid: text("/metadata/uid")?,
            resource_version: text("/metadata/resourceVersion")?,
            load_balancer: ingress.pointer("/status/loadBalancer").cloned().unwrap_or(Value::Null),
            written_by: managed.into_iter().flatten().filter(is_writer).filter_map(wrote).collect(),
        })
    }

    /// Namespace and name, joined by a slash.
    pub fn id(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The IP addresses and host names, as written.
    pub fn addresses(&self) -> Vec<&str> {
        let entries = self.load_balancer.get("ingress").and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(|entry| entry.get("ip").or_else(|| entry.get("hostname"))?.as_str()).collect()
    }

    /// Whether this manager applied the addresses.
    pub fn is_applied_by(&self, manager: &str) -> bool {
        self.written_by.iter().any(|wrote| wrote.is_applied() && wrote.manager == manager)
    }
}

/// The former statuses of all Ingresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// The URL of the API server.
    pub server: String,
    /// The field manager of the nodes.
    pub nodes: String,
    /// Each Ingress, once.
    pub ingresses: Vec<Entry>,
}

impl Record {
    /// An empty one.
    pub fn new(server: &str, nodes: &str) -> Self {
        Record { version: VERSION, server: server.to_owned(), nodes: nodes.to_owned(), ingresses: Vec::new() }
    }

    /// Parses a record.
    ///
    /// # Errors
    ///
    /// Why the text is not a record; one clause.
    pub fn read(text: &str) -> Result<Self, String> {
        let record: Record = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match record.version {
            VERSION => Ok(record),
            other => Err(format!("it has the form {other}, and this version of ingressd knows only {VERSION}")),
        }
    }

    /// The text of the record.
    pub fn text(&self) -> String {
        // Serialising strings, numbers and lists cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Updates the record with the present statuses. A status that the nodes have written already
    /// does not show what was there before: for such an Ingress the record keeps its entry.
    /// Returns the Ingresses without an entry.
    pub fn update(&mut self, now: &[Entry]) -> Vec<String> {
        let before = std::mem::take(&mut self.ingresses);
        let mut unknown = Vec::new();
        for entry in now {
            let kept = match entry.is_applied_by(&self.nodes) {
                true => before.iter().find(|known| known.uid == entry.uid),
                false => Some(entry),
            };
            match kept {
                Some(kept) => self.ingresses.push(kept.clone()),
                None => unknown.push(entry.id()),
            }
        }
        unknown
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NODES: &str = "ingressd/ingressd/ingressd";

    /// An Ingress with this address, as written by a field manager.
    fn ingress(name: &str, address: &str, manager: &str, operation: &str) -> Value {
        let fields = json!({"f:status": {"f:loadBalancer": {"f:ingress": {}}}});
        json!({
            "metadata": {
                "namespace": "shop", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "7",
                "managedFields": [
                    {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}},
                    {"manager": manager, "operation": operation, "subresource": "status", "fieldsV1": fields},
                ]
            },
            "status": {"loadBalancer": {"ingress": [{"ip": address}, {"hostname": "lb.example", "ports": []}, {}]}}
        })
    }

    fn entry(name: &str, address: &str, manager: &str, operation: &str) -> Entry {
        Entry::of(&ingress(name, address, manager, operation)).unwrap()
    }

    #[test]
    fn an_ingress_says_what_stands_there_and_who_wrote_it() {
        let old = entry("cart", "203.0.113.9", "nginx-ingress-controller", "Update");
        assert_eq!(old.addresses(), ["203.0.113.9", "lb.example"]);
        assert_eq!(old.written_by.len(), 1);
        assert!(!old.is_applied_by("nginx-ingress-controller") && !old.is_applied_by(NODES));
        assert!(entry("cart", "192.0.2.1", NODES, "Apply").is_applied_by(NODES));
        let bare = json!({"metadata": {"namespace": "a", "name": "b", "uid": "c", "resourceVersion": "1"}});
        assert_eq!(Entry::of(&bare).unwrap().addresses(), [""; 0]);
        assert_eq!(Entry::of(&json!({"metadata": {"name": "b"}})), None);
    }

    #[test]
    fn a_record_keeps_what_was_there_and_forgets_nothing_when_it_is_made_again() {
        let mut record = Record::new("https://api.example", NODES);
        let old = entry("cart", "203.0.113.9", "nginx-ingress-controller", "Update");
        let ours = |name| entry(name, "192.0.2.1", NODES, "Apply");
        assert_eq!(record.update(&[old.clone(), ours("new")]), ["shop/new"]);
        assert_eq!(record.ingresses, std::slice::from_ref(&old));
        let read = Record::read(&record.text()).unwrap();
        assert_eq!(read, record);
        // The takeover was interrupted: some statuses are the nodes' already, and a new Ingress
        // came.
        let other = entry("other", "203.0.113.9", "nginx-ingress-controller", "Update");
        assert_eq!(record.update(&[ours("cart"), other.clone()]), [""; 0]);
        assert_eq!(record.ingresses, [old.clone(), other]);
        // A status that is not the nodes' any more is recorded as it is now; another object of the
        // same name has another UID.
        let moved = entry("cart", "203.0.113.10", "nginx-ingress-controller", "Update");
        record.update(std::slice::from_ref(&moved));
        assert_eq!(record.ingresses, [moved]);
        let another = Entry { uid: "another".to_owned(), ..ours("cart") };
        assert_eq!(record.update(&[another]), ["shop/cart"]);
        assert!(record.ingresses.is_empty());
    }

    #[test]
    fn what_is_no_record_is_not_read() {
        let text = Record::new("https://api.example", NODES).text();
        assert!(Record::read(&text.replace("\"version\": 1", "\"version\": 2")).unwrap_err().contains("form 2"));
        assert!(Record::read("{}").is_err());
    }
}
