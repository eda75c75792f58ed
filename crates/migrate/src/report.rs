//! A report as a value, and as JSON.

use serde_json::{Value, json};

use super::certificates::CertificateClash;
use super::item::{Equivalence, Item};
use super::judge::worst_of;

/// The report about an ingress-nginx and its objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Its workload and its image.
    pub controller: Option<(String, String)>,
    /// The items of its flags.
    pub flags: Vec<Item>,
    /// Its ConfigMap, if it has one, with the items of the keys.
    pub config_map: Option<(String, Vec<Item>)>,
    /// Its TCP and UDP services.
    pub streams: Vec<Item>,
    /// Other objects, such as ConfigMaps that keys name.
    pub objects: Vec<Item>,
    /// Its Ingresses, sorted.
    pub ingresses: Vec<Ingress>,
    /// How many Ingresses belong to other controllers.
    pub others: usize,
    /// What is not known, or could not be read.
    pub notes: Vec<String>,
    /// How many parts of what was read are no objects, so that the report is not about them.
    pub unread: usize,
    /// Conflicts with other sites of this host; `None` when the report is not for this host.
    pub clashes: Option<Vec<String>>,
    /// Names that have a certificate of another site of this host too.
    pub certificates: Vec<CertificateClash>,
}

/// The report about an Ingress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ingress {
    pub namespace: String,
    pub name: String,
    /// Its hosts; `*` for none.
    pub hosts: Vec<String>,
    /// The addresses in its status.
    pub published: Vec<String>,
    /// The items of its annotations and other fields.
    pub items: Vec<Item>,
}

impl Ingress {
    /// The worst verdict of its items.
    pub fn verdict(&self) -> Equivalence {
        worst_of(self.items.iter())
    }

    /// Whether nothing has to be done for it.
    pub fn needs_nothing(&self) -> bool {
        !self.items.iter().any(Item::needs_something)
    }
}

impl Report {
    /// All items that are not about an Ingress.
    pub fn of_controller(&self) -> impl Iterator<Item = &Item> {
        let of_map = self.config_map.iter().flat_map(|(_, items)| items);
        self.flags.iter().chain(of_map).chain(&self.streams).chain(&self.objects)
    }

    /// The worst verdict. Objects that could not be read count as refused.
    pub fn verdict(&self) -> Equivalence {
        if self.unread > 0 {
            return Equivalence::Refused;
        }
        worst_of(self.of_controller().chain(self.ingresses.iter().flat_map(|ingress| &ingress.items)))
    }

    /// How many Ingresses need no attention.
    pub fn ready(&self) -> usize {
        self.ingresses.iter().filter(|ingress| ingress.needs_nothing()).count()
    }

    /// How many Ingresses have this worst verdict.
    pub fn count(&self, verdict: Equivalence) -> usize {
        self.ingresses.iter().filter(|ingress| ingress.verdict() == verdict).count()
    }

    /// How many items that are not about an Ingress have this verdict.
    pub fn count_of_controller(&self, verdict: Equivalence) -> usize {
        self.of_controller().filter(|item| item.verdict == verdict).count()
    }

    /// The report as JSON.
    pub fn json(&self) -> Value {
        let ingresses = self.ingresses.iter().map(|ingress| {
            json!({
                "namespace": ingress.namespace,
                "name": ingress.name,
                "hosts": ingress.hosts,
                "published": ingress.published,
                "verdict": ingress.verdict().name(),
                "needsNothing": ingress.needs_nothing(),
                "items": items(&ingress.items),
            })
        });
        let counts: serde_json::Map<_, _> =
            Equivalence::ALL.iter().map(|verdict| (verdict.name().to_owned(), json!(self.count(*verdict)))).collect();
        let of_controller: serde_json::Map<_, _> = Equivalence::ALL
            .iter()
            .map(|verdict| (verdict.name().to_owned(), json!(self.count_of_controller(*verdict))))
            .collect();
        let controller = self.controller.as_ref();
        json!({
            "controller": controller.map(|(workload, image)| json!({ "workload": workload, "image": image })),
            "summary": {
                "ingresses": self.ingresses.len(),
                "needNothing": self.ready(),
                "others": self.others,
                "unread": self.unread,
                "verdicts": counts,
                "ofController": of_controller,
                "verdict": self.verdict().name(),
            },
            "flags": items(&self.flags),
            "configMap": self.config_map.as_ref().map(|(name, of)| json!({ "name": name, "keys": items(of) })),
            "services": items(&self.streams),
            "objects": items(&self.objects),
            "ingresses": ingresses.collect::<Vec<_>>(),
            "clashes": self.clashes,
            "certificates": self.clashes.as_ref().map(|_| self.certificates.iter().map(CertificateClash::json).collect::<Vec<_>>()),
            "notes": self.notes,
        })
    }
}

fn items(items: &[Item]) -> Vec<Value> {
    let item = |item: &Item| {
        json!({
            "name": item.name,
            "value": item.value,
            "verdict": item.verdict.name(),
            "becomes": item.becomes,
            "why": item.why,
            "remedy": item.remedy,
        })
    };
    items.iter().map(item).collect()
}
