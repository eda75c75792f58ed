//! The fields of an Ingress that are used, kept small because clusters have thousands. It must not
//! know what they mean.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::TypedLocalObjectReference;
use k8s_openapi::api::networking::v1::{
    self as api, HTTPIngressPath, HTTPIngressRuleValue, IngressServiceBackend, IngressSpec, ServiceBackendPort,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use super::StringMap;

/// The used fields of an Ingress. On disk it has the form of the API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "api::Ingress", into = "api::Ingress")]
pub struct Ingress {
    pub uid: Option<Arc<str>>,
    /// The time of its creation.
    pub created: Option<Timestamp>,
    pub annotations: StringMap,
    /// The name of its class (`spec.ingressClassName`).
    pub class_name: Option<Box<str>>,
    pub default_backend: Option<Box<IngressBackend>>,
    pub rules: Box<[IngressRule]>,
    /// Its TLS entries.
    pub tls: Box<[IngressTls]>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngressRule {
    /// The host; `None` for all hosts.
    pub host: Option<Box<str>>,
    /// The paths of `http`; a rule without `http` has none.
    pub paths: Box<[IngressPath]>,
}

/// A path of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngressPath {
    pub path: Option<Box<str>>,
    /// The type as written.
    pub path_type: Cow<'static, str>,
    pub backend: IngressBackend,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngressBackend {
    /// The name of a Service; `None` for a resource of another kind.
    pub service: Option<Arc<str>>,
    /// The name of the port of the Service.
    pub port_name: Option<Arc<str>>,
    /// The number of the port of the Service.
    pub port_number: Option<i32>,
}

/// A TLS entry of an Ingress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngressTls {
    /// The hosts that the certificate is for.
    pub hosts: Arc<[Box<str>]>,
    pub secret_name: Option<Arc<str>>,
}

fn shared(text: Option<String>) -> Option<Arc<str>> {
    text.map(Arc::from)
}

fn boxed(text: Option<String>) -> Option<Box<str>> {
    text.map(String::into_boxed_str)
}

fn text<T: AsRef<str>>(kept: Option<T>) -> Option<String> {
    kept.map(|text| text.as_ref().to_owned())
}

impl From<api::Ingress> for Ingress {
    fn from(ingress: api::Ingress) -> Self {
        let spec = ingress.spec.unwrap_or_default();
        let mut rules: Box<[_]> = spec.rules.into_iter().flatten().map(IngressRule::from).collect();
        share(rules.iter_mut().flat_map(|rule| &mut rule.paths));
        Ingress {
            uid: shared(ingress.metadata.uid),
            created: ingress.metadata.creation_timestamp.map(|time| time.0),
            annotations: ingress.metadata.annotations.into(),
            class_name: boxed(spec.ingress_class_name),
            default_backend: spec.default_backend.map(|backend| Box::new(backend.into())),
            rules,
            tls: spec.tls.into_iter().flatten().map(IngressTls::from).collect(),
        }
    }
}

/// Most paths of an object name the same Service: one string in memory.
fn share<'p>(paths: impl Iterator<Item = &'p mut IngressPath>) {
    let mut last: Option<Arc<str>> = None;
    for service in paths.filter_map(|path| path.backend.service.as_mut()) {
        if let Some(same) = last.filter(|last| last == service) {
            *service = same;
        }
        last = Some(Arc::clone(service));
    }
}

impl From<api::IngressRule> for IngressRule {
    fn from(rule: api::IngressRule) -> Self {
        let paths = rule.http.into_iter().flat_map(|http| http.paths).map(IngressPath::from);
        IngressRule { host: boxed(rule.host), paths: paths.collect() }
    }
}

impl From<HTTPIngressPath> for IngressPath {
    fn from(path: HTTPIngressPath) -> Self {
        let known = ["Prefix", "Exact", "ImplementationSpecific"].into_iter().find(|known| *known == path.path_type);
        IngressPath {
            path: boxed(path.path),
            path_type: known.map_or_else(|| path.path_type.into(), Cow::Borrowed),
            backend: path.backend.into(),
        }
    }
}

impl From<api::IngressBackend> for IngressBackend {
    fn from(backend: api::IngressBackend) -> Self {
        let Some(service) = backend.service else { return IngressBackend::default() };
        let port = service.port.unwrap_or_default();
        IngressBackend { service: Some(service.name.into()), port_name: shared(port.name), port_number: port.number }
    }
}

impl From<api::IngressTLS> for IngressTls {
    fn from(entry: api::IngressTLS) -> Self {
        let hosts = entry.hosts.into_iter().flatten().map(String::into_boxed_str);
        IngressTls { hosts: hosts.collect(), secret_name: shared(entry.secret_name) }
    }
}

impl From<Ingress> for api::Ingress {
    fn from(ingress: Ingress) -> Self {
        let spec = IngressSpec {
            ingress_class_name: text(ingress.class_name),
            default_backend: ingress.default_backend.map(|backend| (*backend).into()),
            rules: Some(ingress.rules.into_iter().map(api::IngressRule::from).collect()),
            tls: Some(ingress.tls.into_iter().map(api::IngressTLS::from).collect()),
        };
        api::Ingress {
            metadata: ObjectMeta {
                uid: text(ingress.uid),
                creation_timestamp: ingress.created.map(Time),
                annotations: ingress.annotations.into(),
                ..ObjectMeta::default()
            },
            spec: Some(spec),
            status: None,
        }
    }
}

impl From<IngressRule> for api::IngressRule {
    fn from(rule: IngressRule) -> Self {
        let paths: Vec<_> = rule.paths.into_iter().map(HTTPIngressPath::from).collect();
        let http = (!paths.is_empty()).then_some(HTTPIngressRuleValue { paths });
        api::IngressRule { host: text(rule.host), http }
    }
}

impl From<IngressPath> for HTTPIngressPath {
    fn from(path: IngressPath) -> Self {
        HTTPIngressPath { path: text(path.path), path_type: path.path_type.into_owned(), backend: path.backend.into() }
    }
}

impl From<IngressBackend> for api::IngressBackend {
    fn from(backend: IngressBackend) -> Self {
        let port = ServiceBackendPort { name: text(backend.port_name), number: backend.port_number };
        let service =
            backend.service.map(|name| IngressServiceBackend { name: name.as_ref().to_owned(), port: Some(port) });
        // What a resource is called does not matter.
        let resource = service.is_none().then(TypedLocalObjectReference::default);
        api::IngressBackend { resource, service }
    }
}

impl From<IngressTls> for api::IngressTLS {
    fn from(entry: IngressTls) -> Self {
        let hosts = entry.hosts.iter().map(ToString::to_string).collect();
        api::IngressTLS { hosts: Some(hosts), secret_name: text(entry.secret_name) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::validation::Validate as _;

    fn read(value: &Value) -> Ingress {
        serde_json::from_value(value.clone()).unwrap()
    }

    fn service(name: &str, port: &Value) -> Value {
        json!({ "service": { "name": name, "port": port } })
    }

    #[test]
    fn the_used_fields_are_kept() {
        let ingress = read(&json!({
            "metadata": {
                "name": "shop", "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z", "annotations": { "b": "2", "a": "1" },
            },
            "spec": {
                "ingressClassName": "ours",
                "defaultBackend": service("rest", &json!({ "name": "http" })),
                "rules": [
                    { "host": "a.example", "http": { "paths": [
                        { "path": "/", "pathType": "Prefix", "backend": service("web", &json!({ "number": 80 })) },
                        { "pathType": "Other", "backend": { "resource": { "kind": "Bucket", "name": "b" } } },
                    ] } },
                    {},
                ],
                "tls": [{ "hosts": ["a.example"], "secretName": "pair" }, {}],
            },
        }));
        assert_eq!((ingress.uid.as_deref(), ingress.class_name.as_deref()), (Some("u"), Some("ours")));
        assert_eq!(ingress.created, Some("2026-01-02T03:04:05Z".parse().unwrap()));
        assert_eq!(ingress.annotations.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
        let rest = IngressBackend { service: Some("rest".into()), port_name: Some("http".into()), port_number: None };
        assert_eq!(ingress.default_backend.as_deref(), Some(&rest));
        let [first, second] = &*ingress.rules else { panic!("{ingress:?}") };
        let [web, bucket] = &*first.paths else { panic!("{first:?}") };
        let backend = IngressBackend { service: Some("web".into()), port_name: None, port_number: Some(80) };
        assert_eq!(*web, IngressPath { path: Some("/".into()), path_type: "Prefix".into(), backend });
        assert_eq!((&*bucket.path_type, bucket.backend.service.as_deref(), &bucket.path), ("Other", None, &None));
        assert_eq!((first.host.as_deref(), second), (Some("a.example"), &IngressRule::default()));
        let [pair, empty] = &*ingress.tls else { panic!("{ingress:?}") };
        assert_eq!((&*pair.hosts[0], pair.secret_name.as_deref()), ("a.example", Some("pair")));
        assert_eq!(*empty, IngressTls::default());
    }

    #[test]
    fn a_service_that_paths_have_in_common_is_in_memory_once() {
        let path = |name: &str| json!({ "pathType": "Exact", "backend": service(name, &json!({ "number": 80 })) });
        let rule = |paths: &[Value]| json!({ "http": { "paths": paths } });
        let rules = [rule(&[path("web"), path("web")]), rule(&[path("web"), path("api")])];
        let ingress = read(&json!({ "metadata": {}, "spec": { "rules": rules } }));
        let services =
            ingress.rules.iter().flat_map(|rule| &rule.paths).map(|path| path.backend.service.clone().unwrap());
        let [first, second, third, other] = &*services.collect::<Vec<_>>() else { panic!("{ingress:?}") };
        assert!(Arc::ptr_eq(first, second) && Arc::ptr_eq(first, third));
        assert_eq!([&**first, &**other], ["web", "api"]);
    }

    #[test]
    fn what_is_written_is_read_again_and_is_still_valid() {
        let path = |backend: Value| json!({ "path": "/", "pathType": "Exact", "backend": backend });
        let backends = [
            service("web", &json!({ "number": 80 })),
            service("web", &json!({ "name": "http" })),
            json!({ "resource": { "apiGroup": "example.com", "kind": "Bucket", "name": "b" } }),
        ];
        for backend in backends {
            let ingress = read(&json!({
                "metadata": { "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z", "annotations": { "a": "1" } },
                "spec": {
                    "defaultBackend": backend,
                    "rules": [{ "host": "a.example", "http": { "paths": [path(backend.clone())] } }, {}],
                    "tls": [{ "hosts": ["a.example"], "secretName": "pair" }, {}],
                },
            }));
            let written = serde_json::to_value(&ingress).unwrap();
            assert_eq!(read(&written), ingress, "{backend} became {written}");
            let mut problems = Vec::new();
            api::Ingress::from(ingress).validate(&mut problems);
            assert!(problems.is_empty(), "{backend} became {written}: {problems:?}");
        }
    }
}
