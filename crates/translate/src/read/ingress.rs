//! Reads an Ingress: its rules, its TLS entries and its options, and what is wrong with its paths.

use std::sync::Arc;

use super::intent::{Intent, Port, Reference, Source, TlsSpec};
use super::rule::{Rule, RulePath};
use crate::read::port::PortReference;
use crate::select::seen::Seen;
use crate::{Layer, position};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, Origin};
use ingressd_objects::{Ingress, IngressBackend, IngressPath, IngressRule};

/// Annotations by which an object asks cert-manager for its certificates.
const ASKS: [&str; 3] = ["cert-manager.io/cluster-issuer", "cert-manager.io/issuer", "kubernetes.io/tls-acme"];

/// What an Ingress asks for that says these options, with findings about them.
pub fn read(seen: Seen<'_, Ingress>, (options, findings): (Layer, Vec<Finding>)) -> Intent {
    let object = seen.object;
    let rules: Arc<[Rule]> = object.rules.iter().map(rule).collect();
    let (faults, has_valid_path) = faults(seen, &rules);
    let asks = |key: &&str| object.annotations.get(key).is_some_and(|value| !value.is_empty() && value != "false");
    Intent {
        of: Source::of(seen.entry),
        rest: object.default_backend.as_deref().map(|backend| Box::new(reference(backend))),
        tls: object
            .tls
            .iter()
            .map(|entry| TlsSpec {
                hosts: Arc::clone(&entry.hosts),
                secret: entry.secret_name.clone().filter(|name| !name.is_empty()),
            })
            .collect(),
        asks_for_certificates: ASKS.iter().any(asks),
        options,
        findings: findings.into(),
        rules,
        faults,
        has_valid_path,
        parents: Box::default(),
    }
}

fn rule(written: &IngressRule) -> Rule {
    Rule::read(written.host.as_deref().unwrap_or_default(), written.paths.iter().map(path).collect())
}

fn path(entry: &IngressPath) -> RulePath {
    RulePath::read(entry.path.as_deref(), &entry.path_type, reference(&entry.backend))
}

fn reference(backend: &IngressBackend) -> Reference {
    let port = match (&backend.port_name, PortReference::read(backend.port_name.as_deref(), backend.port_number)) {
        (Some(name), Some(PortReference::Name(_))) => Port::Name(Arc::clone(name)),
        (_, port) => port.map_or(Port::Missing, Port::from),
    };
    Reference { service: backend.service.clone(), port }
}

/// The findings about the paths, and whether any of them is valid.
fn faults(seen: Seen<'_, Ingress>, rules: &[Rule]) -> (Box<[Finding]>, bool) {
    let written = seen.object.rules.iter().zip(rules).enumerate();
    let paths = written.flat_map(|(number, (written, rule))| {
        let paths = written.paths.iter().zip(rule.paths.iter()).enumerate();
        paths.map(move |(index, (written, path))| (number, index, written, path))
    });
    let mut has_valid = false;
    let faults = paths.filter_map(|(rule, number, written, read)| {
        let (part, note) = match (&read.path, read.kind) {
            (Err(refused), _) => ("path", format!("it is refused: {refused}")),
            (Ok(_), None) => {
                ("pathType", format!("{:?} is not one of Exact, Prefix, ImplementationSpecific", written.path_type))
            }
            (Ok(_), Some(_)) => {
                has_valid = true;
                return None;
            }
        };
        let field = Field::Path(position(rule), position(number), part);
        Some(Finding::new(Reason::InvalidPath, Origin::field(seen.entry.id, field), note))
    });
    (faults.collect(), has_valid)
}
