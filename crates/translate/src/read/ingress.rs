//! Reads an Ingress: its rules, its TLS entries, and with its annotations what is wrong with its
//! paths. It must not know other objects that have the same hosts.

use std::sync::Arc;

use super::intent::{Intent, Port, Reference, Source, TlsSpec};
use super::path::{self, PathType};
use super::rule::{Rule, RulePath};
use crate::read::port::PortReference;
use crate::value::host;
use crate::{ClassRule, Dialect, ExpressionScope, Reading, position};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Behaviour, Field, Origin, ServerName};
use ingressd_objects::{Ingress, IngressBackend, IngressPath, IngressRule, Stored};

/// Annotations by which an object asks cert-manager for its certificates.
const ASKS: [&str; 3] = ["cert-manager.io/cluster-issuer", "cert-manager.io/issuer", "kubernetes.io/tls-acme"];

/// What an Ingress of this class asks for, whose annotations were read.
pub fn read(stored: &Stored<Ingress>, class: &ClassRule, reading: Arc<Reading>, behaviour: Arc<Behaviour>) -> Intent {
    let object = &*stored.object;
    let rules: Arc<[Rule]> = object.rules.iter().map(rule).collect();
    let (faults, is_fit) = faults(stored, class, (&reading, &behaviour), &rules);
    let asks = |key: &&str| object.annotations.get(key).is_some_and(|value| !value.is_empty() && value != "false");
    let table = class.annotations;
    let row = |key: &str| table.find(key.strip_prefix(table.prefix)?).filter(|row| row.is_served());
    let keys = object.annotations.iter().filter(|_| reading.passthrough.is_some());
    Intent {
        of: Source::of(stored, object.uid.as_deref(), object.created),
        rest: object.default_backend.as_deref().map(reference),
        tls: object
            .tls
            .iter()
            .map(|entry| TlsSpec {
                hosts: Arc::clone(&entry.hosts),
                secret: entry.secret_name.clone().filter(|name| !name.is_empty()),
            })
            .collect(),
        asks_for_certificates: ASKS.iter().any(asks),
        keys: keys.filter_map(|(key, _)| row(key)).map(|row| row.key).collect(),
        rules,
        reading,
        behaviour,
        faults,
        is_fit,
    }
}

fn rule(written: &IngressRule) -> Rule {
    let text = written.host.as_deref().unwrap_or_default();
    let name = host::server_name(text);
    // Nearly all hosts are written in canonical form, so that the text can be shared.
    let host = match &name {
        Ok(ServerName::Exact(host)) if host.as_str() == text => host.text(),
        Ok(ServerName::CatchAll) => "*".into(),
        _ => text.into(),
    };
    Rule { name, host, paths: written.paths.iter().map(path).collect(), is_alias: false }
}

fn path(entry: &IngressPath) -> RulePath {
    RulePath {
        path: path::read(entry.path.as_deref()),
        kind: PathType::read(&entry.path_type),
        backend: reference(&entry.backend),
    }
}

fn reference(backend: &IngressBackend) -> Reference {
    let port = match (&backend.port_name, PortReference::read(backend.port_name.as_deref(), backend.port_number)) {
        (Some(name), Some(PortReference::Name(_))) => Port::Name(Arc::clone(name)),
        (_, port) => port.map_or(Port::Missing, Port::from),
    };
    Reference { service: backend.service.clone(), port }
}

/// The findings about the paths, and whether the rest of this version can be served while there is
/// no earlier one: that is so unless requests would reach other routes than intended.
fn faults(
    stored: &Stored<Ingress>,
    class: &ClassRule,
    (reading, behaviour): (&Reading, &Behaviour),
    rules: &[Rule],
) -> (Box<[Finding]>, bool) {
    let has_captures = reading.has_captures(behaviour);
    let written = stored.object.rules.iter().zip(rules).enumerate();
    let paths = written.flat_map(|(number, (written, rule))| {
        let paths = written.paths.iter().zip(rule.paths.iter()).enumerate();
        paths.map(move |(index, (written, path))| (number, index, written, path))
    });
    let mut has_good = false;
    let faults = paths.filter_map(|(rule, number, written, read)| {
        let fault = match (&read.path, read.kind) {
            (Err(refused), _) => Some(("path", Reason::InvalidPath, format!("it is refused: {refused}"))),
            (Ok(_), None) => {
                let note = format!("{:?} is not one of Exact, Prefix, ImplementationSpecific", written.path_type);
                Some(("pathType", Reason::InvalidPath, note))
            }
            (Ok(_), Some(kind)) => (has_captures && !has_groups(class.dialect, reading, kind)).then(|| {
                let note = "an annotation refers to captures such as $1, but this path is not a regular expression; \
                    set use-regex and the type ImplementationSpecific";
                ("path", Reason::RefusedValue, note.to_owned())
            }),
        };
        has_good |= fault.is_none();
        fault.map(|(part, reason, note)| {
            let field = Field::Path(position(rule), position(number), part);
            Finding::new(reason, Origin::field(&stored.id, field), note)
        })
    });
    let faults: Box<[_]> = faults.collect();
    let is_fit = has_good && faults.iter().all(|fault| fault.reason == Reason::InvalidPath);
    (faults, is_fit)
}

/// Whether paths of this type have groups that texts may refer to.
fn has_groups(dialect: &Dialect, reading: &Reading, kind: PathType) -> bool {
    match dialect.expressions {
        ExpressionScope::Object => reading.use_regex && kind == PathType::ImplementationSpecific,
        ExpressionScope::Host => reading.use_regex || reading.rewrite_target.is_some(),
    }
}
