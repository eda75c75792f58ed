//! The origin of a part of the model: the object and the field.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::Kind;

/// The identity of an object: kind, namespace and name. The namespace is empty for cluster-scoped
/// objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty when it has none.
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl ObjectId {
    /// The identity with these parts.
    pub fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        ObjectId { kind, namespace: shared_text(namespace), name: name.into() }
    }

    /// Namespace and name, as commands have them; those of another kind than Ingress have that
    /// before them.
    pub fn path(&self) -> String {
        match self.kind {
            Kind::INGRESS => format!("{}/{}", self.namespace, self.name),
            kind => format!("{}/{}/{}", kind.name(), self.namespace, self.name),
        }
    }

    /// Its name as that of an Ingress is reported; that of another kind has its kind before it.
    pub fn name_with_kind(&self) -> Arc<str> {
        match self.kind {
            Kind::INGRESS => Arc::clone(&self.name),
            kind => format!("{}/{}", kind.name(), self.name).into(),
        }
    }
}

/// The index in a list as a field stores it; longer lists do not occur in clusters.
pub fn position(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

/// Texts that objects have in common, and some of objects that are gone.
static SHARED: LazyLock<Mutex<HashSet<Arc<str>>>> = LazyLock::new(Mutex::default);

/// A namespace or the number of a port as one string in memory for all objects that have it, of
/// which there may be thousands.
pub fn shared_text(text: &str) -> Arc<str> {
    let mut known = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(text) {
        return Arc::clone(known);
    }
    // Before the set grows, it forgets texts that no object has any more.
    if known.len() == known.capacity() {
        known.retain(|text| Arc::strong_count(text) > 1);
        let live = known.len();
        known.reserve(live.max(16));
    }
    let text: Arc<str> = text.into();
    known.insert(Arc::clone(&text));
    text
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names come from outside, so characters that could forge a line in a log are escaped.
        match self.namespace.is_empty() {
            true => write!(formatter, "{} {}", self.kind.name(), self.name.escape_debug()),
            false => {
                let (namespace, name) = (self.namespace.escape_debug(), self.name.escape_debug());
                write!(formatter, "{} {namespace}/{name}", self.kind.name())
            }
        }
    }
}

/// A place within an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The object as a whole.
    Object,
    /// `metadata.annotations[KEY]`; the key with its prefix.
    Annotation(Cow<'static, str>),
    /// `spec.rules[N]`.
    Rule(u16),
    /// `spec.rules[N].http.paths[M]`, and the field in it: empty, or for example
    /// `backend.service.name`.
    Path(u16, u16, &'static str),
    /// `spec.tls[N]`.
    Tls(u16),
    /// `spec.defaultBackend`.
    DefaultBackend,
    /// `data[KEY]` of a Secret or ConfigMap.
    Data(Cow<'static, str>),
    /// A line of a manifest file, from 1.
    Line(u32),
    /// Any other field, in the notation of `kubectl explain`.
    Other(Cow<'static, str>),
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Object => Ok(()),
            Field::Annotation(key) => write!(formatter, "metadata.annotations[{}]", key.escape_debug()),
            Field::Rule(rule) => write!(formatter, "spec.rules[{rule}]"),
            Field::Path(rule, path, "") => write!(formatter, "spec.rules[{rule}].http.paths[{path}]"),
            Field::Path(rule, path, part) => write!(formatter, "spec.rules[{rule}].http.paths[{path}].{part}"),
            Field::Tls(entry) => write!(formatter, "spec.tls[{entry}]"),
            Field::DefaultBackend => formatter.write_str("spec.defaultBackend"),
            Field::Data(key) => write!(formatter, "data[{}]", key.escape_debug()),
            Field::Line(line) => write!(formatter, "line {line}"),
            Field::Other(path) => write!(formatter, "{}", path.escape_debug()),
        }
    }
}

/// The object and the field that caused something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    pub object: Arc<ObjectId>,
    pub field: Field,
}

impl Origin {
    /// The object as a whole.
    pub fn object(object: &Arc<ObjectId>) -> Self {
        Origin { object: Arc::clone(object), field: Field::Object }
    }

    /// A field of the object.
    pub fn field(object: &Arc<ObjectId>, field: Field) -> Self {
        Origin { object: Arc::clone(object), field }
    }

    /// The field for people, empty for the object as a whole. Kinds of which only their rows know
    /// have fields of other names than an Ingress.
    pub fn place(&self) -> String {
        match self.field {
            _ if self.object.kind.has_fields_of_ingress() => self.field.to_string(),
            Field::Rule(host) => format!("host {}", u32::from(host) + 1),
            Field::Path(host, path, _) => format!("host {}, path {}", u32::from(host) + 1, u32::from(path) + 1),
            Field::Tls(entry) => format!("TLS entry {}", u32::from(entry) + 1),
            Field::DefaultBackend => "all other requests".to_owned(),
            _ => self.field.to_string(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Field::Object => write!(formatter, "{}", self.object),
            _ => write!(formatter, "{}: {}", self.object, self.place()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_names_of_their_kinds() {
        const ROUTE: Kind = Kind::new(&crate::KindName::new("AnotherRoute"));
        let place = |kind, field| Origin::field(&Arc::new(ObjectId::new(kind, "shop", "cart")), field).to_string();
        let field = Field::Path(0, 1, "backend.service.name");
        let of_ingress = "Ingress shop/cart: spec.rules[0].http.paths[1].backend.service.name";
        assert_eq!(place(Kind::INGRESS, field.clone()), of_ingress);
        assert_eq!(place(ROUTE, field), "AnotherRoute shop/cart: host 1, path 2");
        assert_eq!(place(ROUTE, Field::Other("spec.weight".into())), "AnotherRoute shop/cart: spec.weight");
    }

    #[test]
    fn a_namespace_is_in_memory_once_and_not_for_ever() {
        let of = |kind| ObjectId::new(kind, "a-shop", "cart").namespace;
        assert!(Arc::ptr_eq(&of(Kind::INGRESS), &of(Kind::SERVICE)));
        (0..20_000).for_each(|number| drop(shared_text(&number.to_string())));
        assert!(SHARED.lock().unwrap().len() < 10_000);
    }
}
