//! Every string that a manifest can carry, and how one is planted into objects that are otherwise
//! harmless.

use std::sync::LazyLock;

use base64::Engine as _;
use ingressd_translate::{ANNOTATIONS, annotation::Gives};
use serde_json::{Map, Value, json};

const PREFIX: &str = ingressd_translate::PREFIX;
/// Where a value goes.
enum Place {
    /// A string at this pointer.
    At(&'static str),
    /// The same, in base64.
    Encoded(&'static str),
    /// A key of the map at this pointer, whose value is given.
    Key(&'static str, &'static str),
    /// The host of a second rule.
    Host,
    /// The name of the Service's port.
    PortName,
    /// An annotation with this key.
    Annotation(String),
    /// An annotation whose key begins with this and goes on with the value.
    AnnotationKey(&'static str),
}

/// A string that a manifest can carry.
pub struct Field {
    /// The name for messages.
    pub name: String,
    /// Values that do no harm, with all trees that they give.
    pub harmless: Vec<String>,
    /// Whether it has an effect of its own: of the others a few values are enough.
    pub is_served: bool,
    /// Annotations beside it.
    beside: Vec<(String, String)>,
    object: &'static str,
    place: Place,
}

impl Field {
    fn new(object: &'static str, place: Place, harmless: &[&str]) -> Self {
        let place_name = match &place {
            Place::At(pointer) | Place::Encoded(pointer) => (*pointer).to_owned(),
            Place::Key(pointer, _) => format!("{pointer} (key)"),
            Place::Host => "host".to_owned(),
            Place::PortName => "port name".to_owned(),
            Place::Annotation(key) => key.clone(),
            Place::AnnotationKey(prefix) => format!("annotation key {prefix}..."),
        };
        Field {
            name: format!("{object} {place_name}"),
            harmless: harmless.iter().map(|value| (*value).to_owned()).collect(),
            is_served: true,
            beside: Vec::new(),
            object,
            place,
        }
    }

    fn beside(mut self, annotations: &[(&str, &str)]) -> Self {
        self.name.extend(annotations.iter().map(|(key, value)| format!(" beside {key}={value}")));
        self.beside.extend(annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned())));
        self
    }

    /// The objects of one case: an Ingress for the host and the object of the field, with the
    /// value planted.
    pub fn objects(&self, number: usize, class: &str, value: Option<&str>) -> Vec<Value> {
        let mut objects = case(number, class, self.object);
        for (key, beside) in &self.beside {
            objects["Ingress"]["metadata"]["annotations"][key] = json!(beside);
        }
        let object = &mut objects[self.object];
        if let Some(value) = value {
            match &self.place {
                Place::At(pointer) => *at(object, pointer) = json!(value),
                Place::Encoded(pointer) => {
                    *at(object, pointer) = json!(base64::engine::general_purpose::STANDARD.encode(value));
                }
                Place::Key(pointer, fixed) => at(object, pointer)[value] = json!(fixed),
                Place::Host => {
                    let mut second = object["spec"]["rules"][0].clone();
                    second["host"] = json!(value);
                    object["spec"]["rules"] = json!([object["spec"]["rules"][0], second]);
                }
                Place::PortName => {
                    *at(object, "/spec/rules/0/http/paths/0/backend/service/port") = json!({"name": value});
                }
                Place::Annotation(key) => at(object, "/metadata/annotations")[key] = json!(value),
                Place::AnnotationKey(prefix) => {
                    at(object, "/metadata/annotations")[format!("{prefix}{value}")] = json!("x");
                }
            }
        }
        let Value::Object(objects) = objects else { unreachable!() };
        // A canary is nothing without a main object.
        let main = self.is_of_canary().then(|| {
            let mut main = ingress("default", &format!("c{number}-main"), class, &host(number), "main");
            main["spec"]["tls"] = json!([{"hosts": [host(number)], "secretName": "tls"}]);
            main
        });
        objects.into_iter().map(|(_, object)| object).chain(main).collect()
    }

    fn is_of_canary(&self) -> bool {
        let key = format!("{PREFIX}canary");
        self.beside.iter().any(|(beside, _)| *beside == key)
            || matches!(&self.place, Place::Annotation(own) if *own == key)
    }
}

fn at<'a>(object: &'a mut Value, pointer: &str) -> &'a mut Value {
    object.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}"))
}

static CERTIFICATE: LazyLock<(String, String)> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(vec!["*.test".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
});

/// A Secret with a certificate for `*.test`.
pub fn tls_secret(namespace: &str, name: &str) -> Value {
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let data = json!({"tls.crt": encode(&CERTIFICATE.0), "tls.key": encode(&CERTIFICATE.1)});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name}, "data": data})
}

/// The same with an authority.
fn authority_secret(namespace: &str, name: &str) -> Value {
    let mut secret = tls_secret(namespace, name);
    secret["data"]["ca.crt"] = secret["data"]["tls.crt"].clone();
    secret
}

/// A Secret with these texts.
pub fn secret(namespace: &str, name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name}, "stringData": data})
}

/// A Service with one address.
pub fn service(namespace: &str, name: &str, address: &str) -> [Value; 2] {
    [
        json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"namespace": namespace, "name": name, "annotations": {}, "labels": {}},
            "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.10", "externalName": "db.example.net", "ipFamilies": ["IPv4"],
                "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP", "appProtocol": "http"}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.1", "hostname": "lb.example.net"}]}}}),
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"namespace": namespace, "name": format!("{name}-1"), "annotations": {},
                "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4", "ports": [{"name": "http", "port": 8080, "protocol": "TCP", "appProtocol": "http"}],
            "endpoints": [{"addresses": [address], "hostname": "pod", "nodeName": "node-1",
                "targetRef": {"kind": "Pod", "name": "pod", "namespace": namespace}, "conditions": {"ready": true}}]}),
    ]
}

/// An Ingress for one host and everything below `/`.
pub fn ingress(namespace: &str, name: &str, class: &str, host: &str, service: &str) -> Value {
    let path = json!({"path": "/", "pathType": "Prefix",
        "backend": {"service": {"name": service, "port": {"number": 80}}}});
    json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"namespace": namespace, "name": name, "annotations": {}, "labels": {}},
        "spec": {"ingressClassName": class, "rules": [{"host": host, "http": {"paths": [path]}}]}})
}

/// The objects beside each case: classes, objects that cases refer to, and a bystander of another
/// tenant.
pub fn surroundings() -> Vec<Value> {
    let class = |name: &str, controller: &str| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": name},
            "spec": {"controller": controller}})
    };
    let password = "$apr1$7mVKPRzS$lSXhPBmjGIrRobLY7b0RW/";
    let mut bystander = ingress("other", "bystander", "nginx", "bystander.test", "web");
    bystander["metadata"]["creationTimestamp"] = json!("2025-01-01T00:00:00Z");
    bystander["spec"]["tls"] = json!([{"hosts": ["bystander.test"], "secretName": "tls"}]);
    for (key, value) in [("enable-cors", "true"), ("limit-rps", "5"), ("auth-type", "basic"), ("auth-secret", "users")]
    {
        bystander["metadata"]["annotations"][format!("{PREFIX}{key}")] = json!(value);
    }
    let mut all = vec![
        class("ingressd", "ingressd/nginx"),
        class("nginx", "k8s.io/ingress-nginx"),
        bystander,
        tls_secret("other", "tls"),
        tls_secret("host", "default-tls"),
        secret("other", "users", json!({"auth": format!("carol:{password}\n")})),
        secret("default", "users", json!({"auth": format!("alice:{password}\n")})),
        secret("default", "users-map", json!({"alice": password})),
        tls_secret("default", "tls"),
        authority_secret("default", "authority"),
        authority_secret("default", "backend"),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "headers"},
            "data": {"X-Realm": "staff of $host"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "params"},
            "data": {"REALM": "staff of $host", "SCRIPT_FILENAME": "/app$fastcgi_script_name"}}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"},
            "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.11"}],
                "conditions": [{"type": "Ready", "status": "True"}]}}),
    ];
    all.extend(service("default", "web", "10.244.0.1"));
    all.extend(service("default", "main", "10.244.0.3"));
    all.extend(service("other", "web", "10.244.9.1"));
    all
}

/// The host of a case.
pub fn host(number: usize) -> String {
    format!("h{number}.test")
}

fn case(number: usize, class: &str, object: &str) -> Value {
    let mut objects = Map::new();
    let name = format!("c{number}");
    // Only what the field belongs to is the case's own: the rest is shared.
    let own = matches!(object, "Service" | "EndpointSlice");
    let mut ingress = ingress("default", &name, class, &host(number), if own { &name } else { "web" });
    ingress["spec"]["tls"] = json!([{"hosts": [host(number)], "secretName": "tls"}]);
    match object {
        "Service" | "EndpointSlice" => {
            let [service, slice] = service("default", &name, "10.244.0.2");
            objects.insert("Service".to_owned(), service);
            objects.insert("EndpointSlice".to_owned(), slice);
        }
        "Secret" => {
            ingress["spec"]["tls"][0]["secretName"] = json!(name);
            objects.insert("Secret".to_owned(), tls_secret("default", &name));
        }
        "Passwords" => {
            let annotations = &mut ingress["metadata"]["annotations"];
            annotations[format!("{PREFIX}auth-type")] = json!("basic");
            annotations[format!("{PREFIX}auth-secret")] = json!(name);
            let mut secret = secret("default", &name, json!({}));
            secret["data"] = json!({"auth": "YWxpY2U6e1NIQX14Cg==", "alice": "e1NIQX14"});
            objects.insert("Passwords".to_owned(), secret);
        }
        "ConfigMap" => {
            objects.insert(
                "ConfigMap".to_owned(),
                json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"namespace": "default", "name": name}, "data": {"a": "b"}}),
            );
        }
        "Node" => {
            objects.insert(
                "Node".to_owned(),
                json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {}},
                "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.12"}],
                    "conditions": [{"type": "Ready", "status": "True"}]}}),
            );
        }
        "IngressClass" => {
            objects.insert(
                "IngressClass".to_owned(),
                json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
                "metadata": {"name": name}, "spec": {"controller": "example.com/x"}}),
            );
        }
        _ => {}
    }
    objects.insert("Ingress".to_owned(), ingress);
    Value::Object(objects)
}

/// Every string besides the annotations of an Ingress.
pub fn plain() -> Vec<Field> {
    use Place::{Annotation, AnnotationKey, At, Encoded, Key};
    let long = format!("/{}", "a".repeat(300));
    let paths: [&str; 5] = ["/", "/a", "/a/", &long, "/a?b"];
    let path = || At("/spec/rules/0/http/paths/0/path");
    vec![
        Field::new("Ingress", At("/metadata/name"), &["name"]),
        Field::new("Ingress", At("/metadata/namespace"), &["default"]),
        Field::new("Ingress", Key("/metadata/labels", "x"), &["label"]),
        Field::new("Ingress", Annotation("kubernetes.io/ingress.class".to_owned()), &["ingressd"]),
        Field::new("Ingress", Annotation("example.com/x".to_owned()), &["x"]),
        Field::new("Ingress", AnnotationKey(""), &["example.com/x"]),
        Field::new("Ingress", AnnotationKey(PREFIX), &["example"]),
        Field::new("Ingress", AnnotationKey("ingressd/"), &["example"]),
        Field::new("Ingress", AnnotationKey("nginx.org/"), &["example"]),
        Field::new("Ingress", At("/spec/ingressClassName"), &["ingressd"]),
        Field::new(
            "Ingress",
            At("/spec/rules/0/http/paths/0/pathType"),
            &["Prefix", "Exact", "ImplementationSpecific"],
        ),
        Field::new("Ingress", path(), &paths),
        Field::new("Ingress", path(), &paths).beside(&[("rewrite-target", "/x")]),
        Field::new("Ingress", path(), &paths).beside(&[("use-regex", "true")]),
        Field::new("Ingress", At("/spec/rules/0/http/paths/0/backend/service/name"), &["web"]),
        Field::new("Ingress", At("/spec/tls/0/secretName"), &["tls", ""]),
        Field::new("Ingress", At("/spec/tls/0/hosts/0"), &["a.test"]),
        Field::new("Service", At("/metadata/name"), &["web-2"]),
        Field::new("Service", At("/metadata/namespace"), &["default"]),
        Field::new("Service", Annotation("ingressd/endpoints".to_owned()), &["pod", "clusterip", "loadbalancer"]),
        Field::new("Service", AnnotationKey(""), &["x"]),
        Field::new("Service", At("/spec/type"), &["ClusterIP", "ExternalName"]),
        Field::new("Service", At("/spec/clusterIP"), &["10.96.0.11"]),
        Field::new("Service", At("/spec/externalName"), &["db.example.net"]),
        Field::new("Service", At("/spec/ipFamilies/0"), &["IPv4"]),
        Field::new("Service", At("/spec/ports/0/name"), &["http"]),
        Field::new("Service", At("/spec/ports/0/targetPort"), &["http"]),
        Field::new("Service", At("/spec/ports/0/protocol"), &["TCP"]),
        Field::new("Service", At("/spec/ports/0/appProtocol"), &["http", "kubernetes.io/h2c"]),
        Field::new("Service", At("/status/loadBalancer/ingress/0/ip"), &["198.51.100.2"]),
        Field::new("Service", At("/status/loadBalancer/ingress/0/hostname"), &["x.example.net"]),
        Field::new("EndpointSlice", At("/metadata/name"), &["slice"]),
        Field::new("EndpointSlice", At("/metadata/namespace"), &["default"]),
        Field::new("EndpointSlice", At("/metadata/labels/kubernetes.io~1service-name"), &["web"]),
        Field::new("EndpointSlice", Key("/metadata/labels", "x"), &["label"]),
        Field::new("EndpointSlice", At("/addressType"), &["IPv4"]),
        Field::new("EndpointSlice", At("/endpoints/0/addresses/0"), &["10.244.0.3"]),
        Field::new("EndpointSlice", At("/endpoints/0/hostname"), &["pod"]),
        Field::new("EndpointSlice", At("/endpoints/0/nodeName"), &["node-1"]),
        Field::new("EndpointSlice", At("/endpoints/0/targetRef/name"), &["pod"]),
        Field::new("EndpointSlice", At("/ports/0/name"), &["http"]),
        Field::new("EndpointSlice", At("/ports/0/protocol"), &["TCP"]),
        Field::new("EndpointSlice", At("/ports/0/appProtocol"), &["http"]),
        Field::new("Secret", At("/metadata/name"), &["name"]),
        Field::new("Secret", At("/metadata/namespace"), &["default"]),
        Field::new("Secret", Encoded("/data/tls.crt"), &[&CERTIFICATE.0]),
        Field::new("Secret", Encoded("/data/tls.key"), &[&CERTIFICATE.1]),
        Field::new("Secret", Key("/data", "eA=="), &["other"]),
        Field::new("Passwords", At("/metadata/name"), &["name"]),
        Field::new("Passwords", Encoded("/data/auth"), &["alice:{SHA}x\n"]),
        Field::new("Passwords", Encoded("/data/alice"), &["{SHA}x"]).beside(&[("auth-secret-type", "auth-map")]),
        Field::new("Passwords", Key("/data", "e1NIQX14"), &["bob"]).beside(&[("auth-secret-type", "auth-map")]),
        Field::new("ConfigMap", At("/metadata/name"), &["name"]),
        Field::new("ConfigMap", Key("/data", "x"), &["key"]),
        Field::new("ConfigMap", At("/data/a"), &["value"]),
        Field::new("Node", At("/metadata/name"), &["node-2"]),
        Field::new("Node", Key("/metadata/labels", "x"), &["label"]),
        Field::new("Node", At("/status/addresses/0/address"), &["192.0.2.13"]),
        Field::new("IngressClass", At("/metadata/name"), &["name"]),
        Field::new("IngressClass", At("/spec/controller"), &["example.com/y"]),
        Field::new("Ingress", Place::Host, &["another.test"]),
        Field::new("Ingress", Place::PortName, &["http"]),
    ]
}

/// Values with parts of the request, which nginx keeps in variables and looks through.
const DYNAMIC: &[(&str, &str)] = &[
    ("proxy-cookie-path", "/one/ /$http_cookie"),
    ("proxy-redirect-from", "http://backend/$1"),
    ("proxy-redirect-to", "https://example.com/$1"),
];

/// Every annotation of an Ingress, by its key and by its other names.
pub fn annotations() -> Vec<Field> {
    let mut fields = Vec::new();
    for row in ANNOTATIONS.rows() {
        for key in std::iter::once(&row.key).chain(row.aliases) {
            let harmless: Vec<_> = row
                .all_tries()
                .into_iter()
                .filter(|(_, gives)| !matches!(gives, Gives::Refused(_) | Gives::LeftOut(_)))
                .map(|(value, _)| value)
                .chain(DYNAMIC.iter().filter(|(known, _)| known == key).map(|(_, value)| *value))
                .collect();
            let field = Field::new("Ingress", Place::Annotation(format!("{PREFIX}{key}")), &harmless);
            fields.push(Field { is_served: row.is_served(), ..field.beside(row.beside) });
        }
    }
    fields
}
