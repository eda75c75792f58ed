//! Which Secrets and ConfigMaps an object may refer to, so that only those are kept in memory.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;

use super::{Ingress, Stored};
use ingressd_model::{Kind, ObjectId, is_subdomain};

/// The annotations, of all dialects and without the prefix, which the settings choose for each
/// class, whose values name an object of these kinds. Those of invented keys would fill the memory
/// of every node.
pub const NAMING: [(&str, Kind); 6] = [
    ("auth-proxy-set-headers", Kind::CONFIG_MAP),
    ("auth-secret", Kind::SECRET),
    ("auth-tls-secret", Kind::SECRET),
    ("custom-headers", Kind::CONFIG_MAP),
    ("fastcgi-params-configmap", Kind::CONFIG_MAP),
    ("proxy-ssl-secret", Kind::SECRET),
];

/// Whether an annotation with this key, without its prefix, may name a Secret or ConfigMap.
pub fn may_refer(key: &str) -> bool {
    kind_of(key).is_some()
}

fn kind_of(key: &str) -> Option<Kind> {
    NAMING.iter().find(|(naming, _)| *naming == key).map(|(_, kind)| *kind)
}

/// The Secrets and ConfigMaps that an Ingress may refer to: those in its `tls`, and the values of
/// annotations that name one, with or without a namespace.
pub fn of_ingress(stored: &Stored<Ingress>) -> BTreeSet<ObjectId> {
    let own = &*stored.id.namespace;
    let of_tls = stored.object.tls.iter().filter_map(|tls| tls.secret_name.as_deref());
    let annotations = stored.object.annotations.iter();
    let annotations = annotations.filter_map(|(key, value)| Some((kind_of(key.split_once('/')?.1)?, value.trim())));
    let of_tls = of_tls.map(|name| (Kind::SECRET, name));
    let parts = |(kind, text): (Kind, &'_ str)| match text.split_once('/') {
        Some((namespace, name)) => (kind, namespace.to_owned(), name.to_owned()),
        None => (kind, own.to_owned(), text.to_owned()),
    };
    let all = of_tls.chain(annotations).map(parts);
    let possible = all.filter(|(_, namespace, name)| is_subdomain(namespace) && is_subdomain(name));
    possible.map(|(kind, namespace, name)| ObjectId::new(kind, &namespace, &name)).collect()
}

/// Keys of ingress-nginx's ConfigMap that name other ConfigMaps, with headers.
pub const KEYS_OF_HEADERS: [&str; 2] = ["add-headers", "proxy-set-headers"];

/// The key that names a Secret with parameters for ciphers.
pub const KEY_OF_DH_PARAMETERS: &str = "ssl-dh-param";

/// The ConfigMaps and the Secret in the same namespace that a ConfigMap refers to by its keys
/// about headers and by the key above. This is evaluated for each ConfigMap that is kept, whatever
/// its purpose is.
pub fn of_config_map(stored: &Stored<ConfigMap>) -> BTreeSet<ObjectId> {
    let own = &*stored.id.namespace;
    let data = stored.object.data.iter().flatten();
    let kind = |key: &str| match key {
        KEY_OF_DH_PARAMETERS => Some(Kind::SECRET),
        _ => KEYS_OF_HEADERS.contains(&key).then_some(Kind::CONFIG_MAP),
    };
    let named = data.filter_map(|(key, value)| Some((kind(key)?, value.trim().split_once('/')?)));
    let possible = named.filter(|(_, (namespace, name))| *namespace == own && is_subdomain(name));
    possible.map(|(kind, (namespace, name))| ObjectId::new(kind, namespace, name)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{IngressTls, Version};

    fn stored<K>(kind: Kind, namespace: &str, object: K) -> Stored<K> {
        let id = Arc::new(ObjectId::new(kind, namespace, "it"));
        Stored { id, version: Version("1".into()), object: Arc::new(object), published: None, place: None }
    }

    fn names(names: &[(&str, &str)]) -> BTreeSet<ObjectId> {
        names.iter().map(|(namespace, name)| ObjectId::new(Kind::SECRET, namespace, name)).collect()
    }

    #[test]
    fn what_a_known_annotation_names_counts_and_nothing_else() {
        let annotation = |key: &str, value: &str| (format!("nginx.ingress.kubernetes.io/{key}"), value.to_owned());
        let annotations = [
            annotation("auth-secret", "passwords"),
            annotation("auth-tls-secret", " other/authority "),
            annotation("proxy-ssl-secret", "8m"),
            annotation("proxy-body-size", "9m"),
            annotation("auth-secret-type", "auth-file"),
            annotation("auth-proxy-set-headers", "headers"),
            annotation("fastcgi-params-configmap", "other/params"),
            annotation("custom-headers", "other/answers"),
            annotation("auth-response-headers", "x-user"),
            annotation("auth-secret-of-nobody", "unread"),
            annotation("invented-secret", "unread"),
            ("edge.example.com/auth-secret".to_owned(), "of-another-prefix".to_owned()),
            ("auth-secret".to_owned(), "unread".to_owned()),
        ];
        let tls = [Some("tls.example"), Some(""), None];
        let tls = tls.map(|name| IngressTls { secret_name: name.map(Arc::from), ..IngressTls::default() });
        let ingress = Ingress { annotations: annotations.into(), tls: tls.into(), ..Ingress::default() };
        let expected = [
            ("other", "authority"),
            ("shop", "8m"),
            ("shop", "of-another-prefix"),
            ("shop", "passwords"),
            ("shop", "tls.example"),
        ];
        let mut expected = names(&expected);
        expected.insert(ObjectId::new(Kind::CONFIG_MAP, "shop", "headers"));
        expected.insert(ObjectId::new(Kind::CONFIG_MAP, "other", "params"));
        expected.insert(ObjectId::new(Kind::CONFIG_MAP, "other", "answers"));
        assert_eq!(of_ingress(&stored(Kind::INGRESS, "shop", ingress)), expected);
    }

    #[test]
    fn a_config_map_names_objects_of_its_own_namespace_by_three_keys() {
        let data = [
            ("add-headers", "edge/answers"),
            ("proxy-set-headers", "other/requests"),
            ("ssl-dh-param", " edge/exchange "),
            ("default-ssl-certificate", "edge/certificate"),
        ];
        let named = |data: &[(&str, &str)]| {
            let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            of_config_map(&stored(Kind::CONFIG_MAP, "edge", ConfigMap { data: Some(data), ..ConfigMap::default() }))
        };
        let mut expected = names(&[("edge", "exchange")]);
        expected.insert(ObjectId::new(Kind::CONFIG_MAP, "edge", "answers"));
        assert_eq!(named(&data), expected);
        assert_eq!(named(&[("ssl-dh-param", "other/exchange")]), names(&[]));
    }
}
