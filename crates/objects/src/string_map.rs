//! Texts by key, as annotations and the data of a ConfigMap are, sorted and kept small: a
//! `BTreeMap` with one key takes half a kilobyte.

use std::collections::BTreeMap;

/// Texts by key, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StringMap(Box<[(Box<str>, Box<str>)]>);

impl StringMap {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entry(key).map(|(_, value)| value)
    }

    /// A key as it is kept, and its value.
    pub fn entry(&self, key: &str) -> Option<(&str, &str)> {
        let index = self.0.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        let (key, value) = self.0.get(index)?;
        Some((key, value))
    }

    /// Keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a key is there.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

impl<K: Into<Box<str>>, V: Into<Box<str>>> FromIterator<(K, V)> for StringMap {
    /// The last value of a key is the one that counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let sorted: BTreeMap<Box<str>, Box<str>> =
            entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        StringMap(sorted.into_iter().collect())
    }
}

impl<K: Into<Box<str>>, V: Into<Box<str>>, const N: usize> From<[(K, V); N]> for StringMap {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

/// As the types of the API have it.
impl From<Option<BTreeMap<String, String>>> for StringMap {
    fn from(map: Option<BTreeMap<String, String>>) -> Self {
        let entries = map.into_iter().flatten();
        StringMap(entries.map(|(key, value)| (key.into(), value.into())).collect())
    }
}

/// `None` when there is no key.
impl From<StringMap> for Option<BTreeMap<String, String>> {
    fn from(annotations: StringMap) -> Self {
        let entries = annotations.0.into_iter().map(|(key, value)| (key.into(), value.into()));
        Some(entries.collect::<BTreeMap<_, _>>()).filter(|map| !map.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_last_value_and_keys_are_sorted() {
        let map = StringMap::from([("b", "1"), ("a", "2"), ("b", "3")]);
        assert_eq!(map.iter().collect::<Vec<_>>(), [("a", "2"), ("b", "3")]);
        assert_eq!([map.get("a"), map.get("b"), map.get("c")], [Some("2"), Some("3"), None]);
        assert_eq!(map.entry("b"), Some(("b", "3")));
        assert!(map.has("a") && !map.has("") && !map.is_empty());
    }

    #[test]
    fn no_keys_are_no_map_of_the_api() {
        let empty: Option<BTreeMap<String, String>> = StringMap::default().into();
        assert_eq!(empty, None);
        let one: Option<BTreeMap<String, String>> = StringMap::from([("a", "1")]).into();
        assert_eq!(StringMap::from(one.clone()), StringMap::from([("a", "1")]));
        assert_eq!(one, Some([("a".to_owned(), "1".to_owned())].into()));
    }
}
