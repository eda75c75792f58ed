//! The fields that a type of Kubernetes has at each place of an object.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// The names of fields by path, written as in [`ingressd_model::Field::Other`]; the path of the
/// object itself is empty.
pub type Fields = BTreeMap<String, &'static [&'static str]>;

/// The fields of `K` at every place where the value has an object for a struct, even if the value
/// cannot be decoded.
pub fn known<K: DeserializeOwned>(value: &Value) -> Fields {
    let fields = RefCell::default();
    // Errors are reported by the code that decodes the object.
    let _ = K::deserialize(ValueAtPath { path: String::new(), value, fields: &fields });
    fields.into_inner()
}

/// A value with its path. When a struct is deserialised from it, the struct's fields are recorded.
struct ValueAtPath<'a> {
    path: String,
    value: &'a Value,
    fields: &'a RefCell<Fields>,
}

impl<'a> ValueAtPath<'a> {
    fn within(&self, path: String, value: &'a Value) -> Self {
        ValueAtPath { path, value, fields: self.fields }
    }
}

/// The path of a field of the value at this path.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

impl<'a> IntoDeserializer<'a, serde_json::Error> for ValueAtPath<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for ValueAtPath<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.value {
            Value::Object(map) => {
                let within = map.iter().map(|(key, value)| (key.as_str(), self.within(join(&self.path, key), value)));
                visitor.visit_map(MapDeserializer::new(within))
            }
            Value::Array(items) => {
                let within = items.iter().enumerate();
                let within = within.map(|(index, value)| self.within(format!("{}[{index}]", self.path), value));
                visitor.visit_seq(SeqDeserializer::new(within))
            }
            value => value.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.fields.borrow_mut().insert(self.path.clone(), fields);
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use k8s_openapi::api::networking::v1::Ingress;
    use serde_json::json;

    use super::known;

    #[test]
    fn types_name_their_fields_wherever_they_stand() {
        let fields = known::<Ingress>(&json!({
            "metadata": {"name": "a", "labels": {"b": "c"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {
                "ingresClassName": "c",
                "rules": [{"host": "a"}, {"http": {"paths": [{"pathTyp": "x", "backend": {"service": {"name": "w", "port": {"number": 80}}}}]}}],
            },
        }));
        let has = |path: &str, name: &str| fields.get(path).is_some_and(|fields| fields.contains(&name));
        for (path, name) in [
            ("", "spec"),
            ("metadata", "annotations"),
            ("spec", "ingressClassName"),
            ("spec.rules[1].http.paths[0]", "pathType"),
            ("spec.rules[1].http.paths[0].backend.service.port", "number"),
        ] {
            assert!(has(path, name), "{path} {name}: {fields:#?}");
        }
        assert!(!fields.contains_key("metadata.labels"), "keys of a map are anybody's: {fields:#?}");
        // A value that cannot be decoded has fields as far as it was read.
        assert!(known::<Ingress>(&json!({"spec": {"rules": "none"}})).contains_key("spec"));
        assert!(known::<Secret>(&json!({"data": {"a": "eA=="}, "type": "x"})).contains_key(""));
    }
}
