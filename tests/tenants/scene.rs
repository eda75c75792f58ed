//! The names, dates and objects of one case of a row.

use std::fmt;

use serde_json::{Value, json};

use rig::ECHO;
use rig::manifests::{self, Ingress, in_namespace};

/// Whose semantics the classes of both sides have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    Specification,
    IngressNginx,
}

/// Who owns a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ownership {
    /// One namespace does.
    Namespace,
    /// Several may have paths of it.
    Shared,
}

impl Ownership {
    /// The word in the settings.
    pub fn word(self) -> &'static str {
        match self {
            Ownership::Namespace => "namespace",
            Ownership::Shared => "shared",
        }
    }
}

/// Which side's objects are there first, and which have the older date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// The victim's are served when the attacker creates its own.
    Young,
    /// The victim's are served when the attacker changes objects that are older than they.
    Edited,
    /// The victim's are served when the attacker creates its own, and both have the same date.
    SameSecond,
    /// Both are there when the daemon starts for the first time. The attacker's are younger.
    Together,
    /// The attacker's are served when the victim creates its own.
    AttackerFirst,
}

/// The addresses of the backends, and how rows call them.
pub const BACKENDS: &[(&str, &str)] =
    &[("10.244.1.1", "victim"), ("10.244.1.2", "admin"), ("10.244.1.3", "default"), ("10.244.2.1", "evil")];

/// Name, side and address of the Services that each case has.
const SERVICES: &[(&str, bool, &str)] =
    &[("web", true, "10.244.1.1"), ("admin", true, "10.244.1.2"), ("web", false, "10.244.2.1")];

/// One case of a row: two namespaces and the hosts below one name.
#[derive(Debug, Clone)]
pub struct Scene {
    pub dialect: Dialect,
    pub ownership: Ownership,
    pub order: Order,
    /// Different from case to case; part of a host and of a namespace.
    pub mark: String,
    /// The namespace of the victim.
    pub victim: String,
    /// The namespace of the attacker, which is in front of it in the alphabet.
    pub evil: String,
}

impl Scene {
    pub fn new(row: &str, dialect: Dialect, ownership: Ownership, order: Order) -> Self {
        let order_mark = match order {
            Order::Young => "y",
            Order::Edited => "e",
            Order::SameSecond => "s",
            Order::Together => "t",
            Order::AttackerFirst => "a",
        };
        let dialect_mark = if dialect == Dialect::Specification { "s" } else { "n" };
        let mark = format!("{row}-{dialect_mark}{order_mark}");
        Scene { dialect, ownership, order, victim: format!("victim-{mark}"), evil: format!("evil-{mark}"), mark }
    }

    /// A host of this case: `shop` is `shop.MARK.test`, and `*` the wildcard.
    pub fn host(&self, name: &str) -> String {
        format!("{name}.{}.test", self.mark)
    }

    /// A text in which `{h}` stands for what all hosts of the case end with.
    pub fn fill(&self, text: &str) -> String {
        text.replace("{h}", &format!("{}.test", self.mark))
    }

    pub fn class(&self) -> &'static str {
        match self.dialect {
            Dialect::Specification => "ingressd",
            Dialect::IngressNginx => "nginx",
        }
    }

    /// An Ingress of the victim.
    pub fn of_victim(&self, name: &str) -> Ingress {
        manifests::ingress(name).namespace(&self.victim).class(self.class()).created("2026-01-02T00:00:00Z")
    }

    /// An Ingress that the victim makes when the attack stands.
    pub fn later(&self, name: &str) -> Ingress {
        self.of_victim(name).created("2026-01-04T00:00:00Z")
    }

    /// An Ingress of the attacker, dated as the order has it.
    pub fn of_evil(&self, name: &str) -> Ingress {
        let created = match self.order {
            Order::Young | Order::Together => "2026-01-03T00:00:00Z",
            Order::SameSecond => "2026-01-02T00:00:00Z",
            Order::Edited | Order::AttackerFirst => "2026-01-01T00:00:00Z",
        };
        manifests::ingress(name).namespace(&self.evil).class(self.class()).created(created)
    }

    /// The victim's `shop`, at which most attacks aim: everything goes to `web`, and `/admin` to
    /// `admin` for 10.244.5.0/24 only.
    pub fn shop(&self) -> Vec<Value> {
        let host = self.host("shop");
        let admin = self.of_victim("admin").path(&host, "Exact", "/admin", "admin");
        vec![
            self.of_victim("shop").path(&host, "Prefix", "/", "web").build(),
            admin.annotation("allowlist-source-range", "10.244.5.0/24").build(),
        ]
    }

    /// The Services that each case has.
    pub fn services(&self) -> Vec<Value> {
        let both = |(name, is_victims, address): &(&str, bool, &str)| {
            let namespace = if *is_victims { &self.victim } else { &self.evil };
            manifests::service_at(name, &[address], ECHO).map(|object| in_namespace(namespace, object))
        };
        SERVICES.iter().flat_map(both).collect()
    }
}

/// What the attacker's objects were before they were changed: as old, by the same names, with a
/// host of their own.
pub fn harmless(scene: &Scene, objects: Vec<Value>) -> Vec<Value> {
    let tame = |mut object: Value| {
        if object["kind"] == "Ingress" {
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            let own = manifests::ingress(&name).host(&format!("old-{name}.{}.test", scene.mark), "web").build();
            object["spec"]["rules"] = own["spec"]["rules"].clone();
            object["spec"]["tls"] = json!([]);
            object["spec"].as_object_mut().unwrap().remove("defaultBackend");
            object["metadata"]["annotations"] = json!({});
        }
        object
    };
    objects.into_iter().map(tame).collect()
}

impl fmt::Display for Scene {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({:?}, {:?}, {:?})", self.mark, self.dialect, self.ownership, self.order)
    }
}
