//! Manifests as the daemon reads them, and the settings under which they are translated.

use std::collections::BTreeSet;

use ingressd_model::HeaderName;
use ingressd_objects::directory::ChangedFiles;
use ingressd_objects::{Directory, Snapshot};
use ingressd_translate::{
    AllowedSnippets, ClassRule, INGRESS_NGINX, Options, SPECIFICATION, SnippetKind, StreamOptions,
};

/// 2027-01-01, when certificates are judged.
pub const NOW: i64 = 1_798_761_600;

/// Reads a manifest file of this text.
pub fn snapshot(text: &str) -> Snapshot {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.yaml");
    std::fs::write(&file, text).unwrap();
    let mut directory = Directory::new(vec![file]);
    let snapshot = directory.refresh(&ChangedFiles::All, &BTreeSet::new(), &mut |_| ()).unwrap();
    Snapshot::clone(&snapshot)
}

/// Namespace and name of the ConfigMaps with TCP and UDP services, which count where they are.
pub const TCP_SERVICES: (&str, &str) = ("default", "tcp-services");
pub const UDP_SERVICES: (&str, &str) = ("default", "udp-services");

/// Headers of answers that objects may set.
const ALLOWED_HEADERS: [&str; 5] =
    ["content-security-policy", "Set-Cookie", "Strict-Transport-Security", "Vary", "X-Frame-Options"];
/// The namespace whose snippets count.
pub const SCRIBES: &str = "scribes";

/// Both dialects, and the default certificate in this namespace and of this name.
pub fn options(default_certificate: (&str, &str), snapshot: &Snapshot) -> Options {
    let class = |controller: &str, dialect, legacy: Option<&str>| ClassRule {
        legacy_class: legacy.map(Into::into),
        ..ClassRule::new(controller, dialect)
    };
    let (namespace, name) = default_certificate;
    let services =
        |(namespace, name): (&str, &str)| snapshot.config_map(namespace, name).map(|_| (namespace.into(), name.into()));
    let streams = StreamOptions {
        tcp_services: services(TCP_SERVICES),
        udp_services: services(UDP_SERVICES),
        reserved: vec![(80, "listen.http-port"), (443, "listen.https-port"), (10246, "listen.status")],
        ..StreamOptions::default()
    };
    Options {
        classes: vec![
            class("ingressd/nginx", &SPECIFICATION, None),
            class("k8s.io/ingress-nginx", &INGRESS_NGINX, Some("nginx")),
        ],
        default_certificate: Some((namespace.into(), name.into())),
        allowed_headers: ALLOWED_HEADERS.into_iter().filter_map(|name| HeaderName::new(name).ok()).collect(),
        passthrough: true,
        snippets: vec![AllowedSnippets {
            namespaces: vec![SCRIBES.into()],
            items: SnippetKind::ALL.to_vec(),
            ports: vec![5000..=5999],
            ..AllowedSnippets::default()
        }],
        streams,
        ..Options::default()
    }
}
