//! The objects that the annotations of the tests refer to.

use std::sync::{Arc, LazyLock};

use k8s_openapi::api::core::v1::ConfigMap;

use ingressd_model::{Kind, ObjectId, SecretBytes};
use ingressd_objects::{Secret, Snapshot, Stored, Version};

pub fn secret(namespace: &str, name: &str, values: &[(&str, &str)]) -> Stored<Secret> {
    let data = values.iter().map(|(key, value)| ((*key).into(), SecretBytes(value.as_bytes().into()))).collect();
    Stored {
        id: Arc::new(ObjectId::new(Kind::SECRET, namespace, name)),
        version: Version("1".into()),
        object: Arc::new(Secret { data, ..Secret::default() }),
        published: None,
        place: None,
    }
}

/// A self-signed certificate and its key.
static SIGNED: LazyLock<(String, String)> = LazyLock::new(|| {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(vec!["backend.test".to_owned()]).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
});

pub fn snapshot() -> Snapshot {
    let (certificate, key) = &*SIGNED;
    let secrets = vec![
        secret("default", "authority", &[("ca.crt", certificate)]),
        secret("default", "backend", &[("ca.crt", certificate), ("tls.crt", certificate), ("tls.key", key)]),
        secret("default", "users", &[("auth", "ada:$apr1$x$y\n")]),
        secret("default", "users-map", &[("ada", "$apr1$x$y")]),
        secret("elsewhere", "users", &[("auth", "eve:$apr1$x$y\n")]),
    ];
    let config_maps = vec![
        config_map(
            "default",
            "answer-headers",
            &[("Cache-Control", "max-age=60; $1 \"x\""), ("X-Frame-Options", "DENY")],
        ),
        config_map("default", "bad-answer-headers", &[("X-Frame-Options", "DENY\r\nX-Evil: 1")]),
        config_map("default", "bad-headers", &[("X-Realm", "$undefined")]),
        config_map("default", "bad-params", &[("SCRIPT_FILENAME", "/app/$arg_file")]),
        config_map("default", "headers", &[("X-Realm", "staff of $host")]),
        config_map(
            "default",
            "params",
            &[("REALM", "staff of $host"), ("SCRIPT_FILENAME", "/app$fastcgi_script_name")],
        ),
        config_map("elsewhere", "answer-headers", &[("X-Frame-Options", "DENY")]),
        config_map("elsewhere", "headers", &[("X-Realm", "staff")]),
    ];
    Snapshot { secrets: secrets.into(), config_maps: config_maps.into(), ..Snapshot::default() }
}

fn config_map(namespace: &str, name: &str, values: &[(&str, &str)]) -> Stored<ConfigMap> {
    let data = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Stored {
        id: Arc::new(ObjectId::new(Kind::CONFIG_MAP, namespace, name)),
        version: Version("1".into()),
        object: Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }),
        published: None,
        place: None,
    }
}
