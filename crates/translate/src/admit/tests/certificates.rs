//! What certificates of hosts cost.

use std::sync::Arc;

use super::{accepted, simple, with, with_tls};
use crate::Translator;
use crate::tests::manifests::{snapshot, snapshot_of};
use crate::tests::world;
use ingressd_objects::{Secret, Stored};

/// A Secret whose chain has so many certificates.
pub fn secret_with(certificates: usize) -> Stored<Secret> {
    let block = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", "A".repeat(1400));
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: own, namespace: default}}\nstringData: {{tls.crt: {:?}}}",
        block.repeat(certificates)
    );
    let mut snapshot = snapshot_of(&secret);
    snapshot.secrets.edit().pop().expect("the Secret")
}

#[test]
fn a_host_costs_what_the_chain_of_its_certificate_takes() {
    let objects = ["a", "b", "c"].map(|name| with_tls(name, "own")).join("\n---\n");
    for (certificates, expected) in [(0, "a b c"), (1, "a b c"), (3, "a b"), (10, "a")] {
        let mut snapshot = snapshot(&objects);
        let secrets = snapshot.secrets.edit();
        secrets.extend((certificates > 0).then(|| secret_with(certificates)));
        secrets.sort_by(|left, right| left.id.cmp(&right.id));
        let options = with(|limits| limits.namespace.test = 3200);
        let translation = Translator::new(options).translate(&snapshot, &world(), &Arc::default());
        assert_eq!(accepted(&translation), expected, "{certificates}");
    }
}

#[test]
fn a_certificate_costs_whichever_object_names_its_host_first() {
    let of_b = with_tls("b", "own").replace("b.example.com", "a.example.com").replace("path: '/'", "path: '/b'");
    let mut snapshot = snapshot(&[simple("a", ""), of_b].join("\n---\n"));
    let secrets = snapshot.secrets.edit();
    secrets.push(secret_with(1));
    secrets.sort_by(|left, right| left.id.cmp(&right.id));
    for (memory, expected) in [(100_000, "a"), (170_000, "a b")] {
        let options = with(|limits| limits.namespace.memory = memory);
        let translation = Translator::new(options).translate(&snapshot, &world(), &Arc::default());
        assert_eq!(accepted(&translation), expected, "{memory}");
    }
}
