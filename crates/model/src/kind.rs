//! The kinds of things that can cause configuration or a finding, as interned names: whoever has a
//! kind of its own makes one.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A kind. Those below come in their order, and others after them by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(&'static KindName);

/// The name of a kind, once in memory.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindName {
    order: u8,
    name: &'static str,
}

impl KindName {
    /// The name of a kind that is none of those below.
    pub const fn new(name: &'static str) -> Self {
        KindName { order: u8::MAX, name }
    }
}

/// The kinds with a name here, each with its place in the order.
macro_rules! kinds {
    ($($(#[$meaning:meta])* $constant:ident $name:literal $order:literal;)*) => {
        impl Kind {
            $($(#[$meaning])* pub const $constant: Kind = Kind(&KindName { order: $order, name: $name });)*
        }

        const KNOWN: &[Kind] = &[$(Kind::$constant),*];
    };
}

kinds! {
    /// `networking.k8s.io/v1` Ingress.
    INGRESS "Ingress" 0;
    /// `networking.k8s.io/v1` IngressClass.
    INGRESS_CLASS "IngressClass" 1;
    /// `v1` Service.
    SERVICE "Service" 2;
    /// `discovery.k8s.io/v1` EndpointSlice.
    ENDPOINT_SLICE "EndpointSlice" 3;
    /// `v1` Secret.
    SECRET "Secret" 4;
    /// `v1` ConfigMap.
    CONFIG_MAP "ConfigMap" 5;
    /// `v1` Node.
    NODE "Node" 6;
    /// `v1` Namespace.
    NAMESPACE "Namespace" 7;
    /// A manifest file, when its content could not be decoded into an object; the name is its
    /// path.
    FILE "File" 8;
    /// The administrator's settings; the name is the key.
    SETTINGS "Settings" 9;
    /// The nginx of this host and the sites that others configured in it; the name is a file or
    /// `nginx`.
    HOST "Host" 10;
}

/// The longest name of a kind that an API server accepts.
const LONGEST: usize = 63;

/// The most kinds of other names that are kept: there are not so many that mean something.
const MOST: usize = 256;

/// Kinds of other names that were read.
static READ: Mutex<Vec<Kind>> = Mutex::new(Vec::new());

impl Kind {
    /// The kind with this name, which is none of those above.
    pub const fn new(name: &'static KindName) -> Self {
        Kind(name)
    }

    /// The name of the kind in Kubernetes.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Whether its objects may ask for routes: Ingresses, and kinds that are none of those above.
    pub fn asks_for_routes(self) -> bool {
        self == Kind::INGRESS || !self.has_fields_of_ingress()
    }

    /// Whether its fields are called as those of Ingresses, where it has such.
    pub(crate) const fn has_fields_of_ingress(self) -> bool {
        self.0.order != u8::MAX
    }

    /// The kind with a name that was written by us or an administrator; `None` for a text that is
    /// no name of a kind. It stays in memory.
    pub fn read(name: &str) -> Option<Self> {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let known = KNOWN.iter().chain(read.iter()).find(|kind| kind.name() == name).copied();
        if known.is_some()
            || name.is_empty()
            || read.len() == MOST
            || name.len() > LONGEST
            || !name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return known;
        }
        let kind = Kind(Box::leak(Box::new(KindName::new(Box::leak(name.into())))));
        read.push(kind);
        Some(kind)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_equal_by_name_and_others_come_last() {
        const ROUTE: Kind = Kind::new(&KindName::new("AnotherRoute"));
        assert_eq!(Kind::read("AnotherRoute"), Some(ROUTE));
        assert_eq!(Kind::read("Ingress"), Some(Kind::INGRESS));
        assert_eq!((Kind::read(""), Kind::read("a/b"), Kind::read(&"a".repeat(64))), (None, None, None));
        assert!(KNOWN.is_sorted() && KNOWN.iter().all(|known| *known < ROUTE));
        assert_eq!(format!("{ROUTE:?} {:?}", Kind::CONFIG_MAP), "AnotherRoute ConfigMap");
    }
}
