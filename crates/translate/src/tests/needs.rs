//! What the source has to keep for an Ingress.

use std::sync::Arc;

use super::dialects::tiny;
use super::options;
use crate::{ANNOTATIONS, Options, Readers};
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{Entry, Ingress, IngressTls, Stored, Version};

/// What an Ingress of the namespace `shop` needs that has these annotations and TLS entries.
fn needs(annotations: &[(&str, &str)], tls: &[&str], options: &Options) -> Vec<String> {
    let tls = tls.iter().map(|name| IngressTls { secret_name: Some((*name).into()), ..IngressTls::default() });
    let annotations = annotations.iter().copied().collect();
    let object = Arc::new(Ingress { annotations, tls: tls.collect(), ..Ingress::default() });
    let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "it"));
    let stored = Stored { id, version: Version("1".into()), object, published: None, place: None };
    Readers::default().needs(Entry::from(&stored), options).iter().map(ToString::to_string).collect()
}

#[test]
fn every_key_whose_row_names_an_object_counts_and_no_other_key() {
    for row in ANNOTATIONS.rows() {
        let kind = row.form.refers_to().map(|kind| format!("{} other/named", kind.name()));
        for key in std::iter::once(&row.key).chain(row.aliases) {
            let needed = needs(&[(&format!("{}{key}", ANNOTATIONS.prefix), " other/named ")], &[], &options());
            assert_eq!(needed, Vec::from_iter(kind.clone()), "{key}");
        }
    }
    // A row of any table is enough.
    assert_eq!(needs(&[("tiny.example/badge", "badges")], &[], &tiny()), ["Secret shop/badges"]);
}

#[test]
fn names_count_behind_the_prefix_of_a_class_alone() {
    let key = |name: &str| format!("{}{name}", ANNOTATIONS.prefix);
    let [secret, unclear, invented, map] =
        ["auth-secret", "auth-tls-secret", "invented-secret", "auth-proxy-set-headers"].map(key);
    let annotations = [
        (&*secret, "passwords"),
        (&*unclear, "../authority"),
        (&*invented, "unread"),
        (&*map, "other/headers"),
        ("auth-secret", "unread"),
        ("edge.example/auth-secret", "of-another-prefix"),
    ];
    let tls = ["tls.example", "", "other/pair"];
    let mut options = options();
    let expected = ["Secret shop/passwords", "Secret shop/tls.example", "ConfigMap other/headers"];
    assert_eq!(needs(&annotations, &tls, &options), expected);
    options.classes.iter_mut().for_each(|class| class.annotations = ANNOTATIONS.behind("edge.example/"));
    assert_eq!(needs(&annotations, &[], &options), ["Secret shop/of-another-prefix"]);
}
