//! The fields of a Secret that are used. Its bytes are shared with what is made of them.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use ingressd_model::SecretBytes;

/// An annotation of the Secrets that cert-manager writes.
pub const WRITTEN: &str = "cert-manager.io/certificate-name";

/// The used fields of a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "api::Secret", into = "api::Secret")]
pub struct Secret {
    pub uid: Option<Box<str>>,
    /// Whether cert-manager has written it.
    pub is_issued: bool,
    /// The values by key, sorted.
    pub data: Box<[(Box<str>, SecretBytes)]>,
}

impl Secret {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&SecretBytes> {
        self.data.iter().find_map(|(own, value)| (**own == *key).then_some(value))
    }
}

impl From<api::Secret> for Secret {
    fn from(secret: api::Secret) -> Self {
        let (metadata, data) = (secret.metadata, secret.data.into_iter().flatten());
        Secret {
            uid: metadata.uid.map(Into::into),
            is_issued: metadata.annotations.is_some_and(|annotations| annotations.contains_key(WRITTEN)),
            data: data.map(|(key, ByteString(value))| (key.into(), SecretBytes(value.into()))).collect(),
        }
    }
}

impl From<Secret> for api::Secret {
    fn from(secret: Secret) -> Self {
        let Secret { uid, is_issued, data } = secret;
        let annotations = is_issued.then(|| [(WRITTEN.to_owned(), String::new())].into());
        let metadata = ObjectMeta { uid: uid.map(Into::into), annotations, ..ObjectMeta::default() };
        let data = data.into_iter().map(|(key, SecretBytes(value))| (key.into(), ByteString(value.to_vec())));
        api::Secret { metadata, data: Some(data.collect()), ..api::Secret::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for annotations in [json!({ WRITTEN: "pair" }), json!({})] {
            let read: Secret = serde_json::from_value(json!({
                "metadata": { "uid": "u", "annotations": annotations },
                "data": { "tls.key": "a2V5", "tls.crt": "Y3J0" },
            }))
            .unwrap();
            assert_eq!(read.is_issued, annotations != json!({}));
            assert_eq!(
                (read.uid.as_deref(), read.get("tls.key").map(|value| &*value.0)),
                (Some("u"), Some(&b"key"[..]))
            );
            assert_eq!((&*read.data[0].0, read.get("ca.crt")), ("tls.crt", None));
            let written = serde_json::to_value(&read).unwrap();
            assert_eq!(serde_json::from_value::<Secret>(written).unwrap(), read);
        }
    }
}
