//! How much is kept of the Secrets, and of the ConfigMaps, of one namespace: each may be a
//! megabyte large, and every node keeps those that are named.

use std::collections::HashMap;
use std::sync::Arc;

use super::item::{Item, Unfit};
use crate::source::watched::Watched;
use ingressd_model::finding::Reason;
use ingressd_model::{Field, ObjectId};
use ingressd_objects::{List, Problem};

/// The most bytes that are kept of one namespace.
const MOST: usize = 32 << 20;

/// What is kept of each namespace, in bytes.
#[derive(Debug, Default)]
pub struct KeptBytes(HashMap<Arc<str>, usize>);

impl KeptBytes {
    /// What is kept of an object's namespace, without the object.
    pub fn beside<K: Watched>(list: &List<K::Kept>, id: &ObjectId) -> Self {
        let (Ok(first) | Err(first)) = list.position(&id.namespace, "");
        let own = list[first..].iter().take_while(|stored| stored.id.namespace == id.namespace);
        let others = own.filter(|stored| stored.id.name != id.name);
        let used = others.map(|stored| K::weight(&stored.object)).sum();
        KeptBytes([(Arc::clone(&id.namespace), used)].into())
    }

    /// The object as it is kept. One for which there is no room cannot be used.
    pub fn admit<K: Watched>(&mut self, item: Item<K>) -> Item<K> {
        let Ok(stored) = &item.outcome else { return item };
        let weight = K::weight(&stored.object);
        let used = self.0.entry(Arc::clone(&item.id.namespace)).or_default();
        if weight == 0 || *used + weight <= MOST {
            *used += weight;
            return item;
        }
        let note = format!(
            "it has {} KiB, and those of its kind that are kept of the namespace already have {} of {} MiB, which \
             is the most; name fewer, or smaller ones",
            weight.div_ceil(1 << 10),
            *used >> 20,
            MOST >> 20
        );
        let problems = vec![Problem { reason: Reason::OverBudget, field: Field::Object, note }];
        Item { outcome: Err(Unfit { problems, uid: None, published: None }), id: item.id }
    }

    /// The objects of a list as they are kept. Those that are kept already have precedence.
    pub fn admit_all<K: Watched>(mut self, before: &List<K::Kept>, items: Vec<Item<K>>) -> Vec<Item<K>> {
        let is_known = |item: &Item<K>| before.find(&item.id.namespace, &item.id.name).is_some();
        let (known, new): (Vec<_>, Vec<_>) = items.into_iter().partition(is_known);
        known.into_iter().chain(new).map(|item| self.admit(item)).collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;
    use k8s_openapi::api::core::v1::Secret;

    use super::super::found::Found;
    use super::super::stores::Stores;
    use super::*;
    use crate::source::cluster::Need;
    use crate::source::watched::WatchedKinds;
    use ingressd_model::Kind;
    use ingressd_objects::Needs;

    fn secret(namespace: &str, name: &str, mebibytes: usize) -> Item<Secret> {
        let mut object = Secret::default();
        object.metadata.namespace = Some(namespace.to_owned());
        object.metadata.name = Some(name.to_owned());
        let value = ByteString(vec![b'x'; mebibytes << 20]);
        object.data = Some([("tls.crt".to_owned(), value)].into());
        Found::typed(object).and_then(Item::of).unwrap()
    }

    fn held() -> Stores {
        let names = [("crowd", "a"), ("crowd", "b"), ("crowd", "c"), ("shop", "a")];
        let mut stores = Stores::new(
            WatchedKinds::default(),
            Needs::default(),
            names.map(|(namespace, name)| ObjectId::new(Kind::SECRET, namespace, name)),
        );
        stores.expect(Kind::SECRET, None, Need::Required);
        stores
    }

    fn shown(stores: &mut Stores) -> (Vec<String>, Vec<String>) {
        let snapshot = stores.read().snapshot.unwrap();
        let kept = snapshot.secrets.iter().map(|stored| format!("{}/{}", stored.id.namespace, stored.id.name));
        (kept.collect(), snapshot.findings.iter().map(|finding| finding.origin.to_string()).collect())
    }

    #[test]
    fn a_namespace_has_so_much_room_for_its_secrets_and_no_other_namespace_is_concerned() {
        let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let expected = (strings(&["crowd/a", "crowd/b", "shop/a"]), strings(&["Secret crowd/c"]));
        // By a list, and one by one.
        let mut stores = held();
        let items =
            vec![secret("crowd", "a", 16), secret("crowd", "b", 15), secret("crowd", "c", 2), secret("shop", "a", 9)];
        stores.replace::<Secret>(&None, items, Vec::new());
        assert_eq!(shown(&mut stores), expected);
        // What is kept stays, whatever the order of the next list is.
        let items =
            vec![secret("crowd", "c", 2), secret("crowd", "a", 16), secret("crowd", "b", 15), secret("shop", "a", 9)];
        stores.replace::<Secret>(&None, items, Vec::new());
        assert_eq!(shown(&mut stores), expected);
        stores.apply(secret("crowd", "c", 3));
        assert_eq!(shown(&mut stores), expected);
        // It is requested when there is room.
        stores.delete::<Secret>("crowd", "b");
        let (id, since) = stores.missing().take().expect("it is wanted");
        assert_eq!(id.to_string(), "Secret crowd/c");
        stores.answered(&id, since, Some(secret("crowd", "c", 3)));
        assert_eq!(shown(&mut stores), (strings(&["crowd/a", "crowd/c", "shop/a"]), Vec::new()));
        // One that grows is kept as it was.
        stores.apply(secret("crowd", "c", 20));
        assert_eq!(shown(&mut stores).0, strings(&["crowd/a", "crowd/c", "shop/a"]));
        assert_eq!(shown(&mut stores).1, strings(&["Secret crowd/c"]));
    }
}
