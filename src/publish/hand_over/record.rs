//! What stood in the status of Ingresses before the nodes wrote there, and under which name somebody wrote it; it must not know files.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form of a record.
const VERSION: u32 = 1;

/// What server-side apply is called in managed fields.
const APPLY: &str = "Apply";

/// Who wrote the addresses of an Ingress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrote {
    /// The name of the field manager.
    pub manager: String,
    /// How: `Apply` or `Update`.
    pub operation: String,
}

impl Wrote {
    /// Whether it was server-side apply.
    pub fn is_applied(&self) -> bool {
        self.operation == APPLY
    }
}

/// What stands in the status of an Ingress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What the API server calls it.
    pub uid: String,
    /// The version in which it stands there.
    pub resource_version: String,
    /// `status.loadBalancer` as it is written.
    pub load_balancer: Value,
    /// Everybody who wrote the addresses and still counts as such.
    pub written_by: Vec<Wrote>,
}

impl Entry {
    /// What an Ingress says; `None` for what is none.
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

    /// Its namespace and name.
    pub fn id(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The addresses and host names, as they stand there.
    pub fn addresses(&self) -> Vec<&str> {
        let entries = self.load_balancer.get("ingress").and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(|entry| entry.get("ip").or_else(|| entry.get("hostname"))?.as_str()).collect()
    }

    /// Whether it was applied under this name.
    pub fn is_applied_by(&self, manager: &str) -> bool {
        self.written_by.iter().any(|wrote| wrote.is_applied() && wrote.manager == manager)
    }
}

/// What stood there, of all Ingresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// The URL of the API server.
    pub server: String,
    /// The field manager of the nodes.
    pub nodes: String,
    /// Each Ingress once.
    pub ingresses: Vec<Entry>,
}

impl Record {
    /// An empty one.
    pub fn new(server: &str, nodes: &str) -> Self {
        Record { version: VERSION, server: server.to_owned(), nodes: nodes.to_owned(), ingresses: Vec::new() }
    }

    /// Reads one.
    ///
    /// # Errors
    ///
    /// Why it is none, one clause.
    pub fn read(text: &str) -> Result<Self, String> {
        let record: Record = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match record.version {
            VERSION => Ok(record),
            other => Err(format!("it has the form {other}, and this version of ingressd knows only {VERSION}")),
        }
    }

    /// As it is written.
    pub fn text(&self) -> String {
        // A value of strings, numbers and lists can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Brings it up to date with what stands there now. What is the nodes' already says nothing of what was there before: of that
    /// it keeps what it knows, and names the Ingresses of which it knows nothing.
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

    /// An Ingress with this address, which somebody wrote.
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
        // It was broken off half way: some are the nodes' by now, and another one came.
        let other = entry("other", "203.0.113.9", "nginx-ingress-controller", "Update");
        assert_eq!(record.update(&[ours("cart"), other.clone()]), [""; 0]);
        assert_eq!(record.ingresses, [old.clone(), other]);
        // What is not the nodes' any more is recorded as it is now; another object of the same name is another one.
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
