//! Manifests as the daemon reads them, and the settings under which they are translated; this must not know what comes of them.

use std::collections::BTreeSet;

use ingressd::source::directory::Changes;
use ingressd::source::{Directory, Snapshot};
use ingressd::translate::{ClassRule, Dialect, Options};

/// 2027-01-01, when certificates are judged.
const NOW: i64 = 1_798_761_600;

/// Reads a manifest file of this text.
pub fn snapshot(text: &str) -> Snapshot {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.yaml");
    std::fs::write(&file, text).unwrap();
    let mut directory = Directory::new(vec![file]);
    let snapshot = directory.refresh(&Changes::All, &BTreeSet::new(), &mut |_| ()).unwrap();
    Snapshot::clone(&snapshot)
}

/// Both dialects, and the default certificate in this namespace and of this name.
pub fn options(default_certificate: (&str, &str)) -> Options {
    let class = |controller: &str, dialect, legacy: Option<&str>| ClassRule {
        legacy_class: legacy.map(Into::into),
        ..ClassRule::new(controller, dialect)
    };
    let (namespace, name) = default_certificate;
    Options {
        classes: vec![
            class("ingressd/nginx", Dialect::Specification, None),
            class("k8s.io/ingress-nginx", Dialect::IngressNginx, Some("nginx")),
        ],
        default_certificate: Some((namespace.into(), name.into())),
        now: NOW,
        ..Options::default()
    }
}
