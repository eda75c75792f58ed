//! Reads ConfigMaps with headers that annotations name. It must not know which key names them, or
//! what the headers are for.

use std::collections::BTreeMap;

use crate::annotation::{Context, Entry, Form, SecretReference};
use crate::value::{CONFIG_MAP_REFERENCE, excerpt, header_names, secret_reference};
use ingressd_model::finding::Reason;
use ingressd_model::{HeaderName, Kind, Origin, Refused};

/// The most headers in a ConfigMap.
const MOST_HEADERS: usize = 32;

/// Why a ConfigMap cannot be used, so that the routes are closed.
pub type Fault = (Reason, Origin, String);

/// The form of [`reference()`].
pub const REFERENCE: Form =
    Form::Partly(&Form::Text(&CONFIG_MAP_REFERENCE), "whether the ConfigMap is there, may be named and what it holds");

/// Parses a reference to a ConfigMap.
pub fn reference(entry: &Entry<'_>) -> Result<SecretReference, Refused> {
    let (namespace, name) = secret_reference(entry.value)
        .map_err(|_| Refused::because("it is not the name of a ConfigMap: name or namespace/name"))?;
    let (namespace, name) = (namespace.map(str::to_owned), name.to_owned());
    Ok(SecretReference { namespace, name, origin: entry.origin() })
}

/// The headers in a ConfigMap, each parsed by `read`; if one of them is invalid, none is used.
pub fn headers<T>(
    context: &Context<'_>,
    wanted: &SecretReference,
    read: impl Fn(HeaderName, &str) -> Result<T, Refused>,
) -> Result<Vec<T>, Fault> {
    let fault = |reason, note: String| (reason, wanted.origin.clone(), format!("{note}; the routes answer 503"));
    let (namespace, name) = (wanted.namespace.as_deref().unwrap_or(context.namespace()), &wanted.name);
    if namespace != context.namespace() && !context.options.cross_namespace {
        let note = "the ConfigMap is in another namespace, which the administrator does not allow (`cross-namespace`)";
        return Err(fault(Reason::CrossNamespace, note.to_owned()));
    }
    let Some(map) = context.snapshot.config_map(namespace, name) else {
        return Err(fault(Reason::MissingConfigMap, missing(context, namespace, name)));
    };
    let none = BTreeMap::new();
    let data = map.object.data.as_ref().unwrap_or(&none);
    if data.len() > MOST_HEADERS {
        let note = format!("ConfigMap {namespace}/{name} has more than 32 headers");
        return Err(fault(Reason::InvalidSecurityValue, note));
    }
    let header = |(key, value): (&String, &String)| {
        one_name(key).and_then(|key| read(key, value.trim_end_matches('\n'))).map_err(|refused: Refused| {
            let note = format!("key {} of ConfigMap {namespace}/{name} is refused: {refused}", excerpt(key));
            fault(Reason::InvalidSecurityValue, note)
        })
    };
    data.iter().map(header).collect()
}

fn missing(context: &Context<'_>, namespace: &str, name: &str) -> String {
    match context.snapshot.unseen.contains(&Kind::CONFIG_MAP) {
        true => format!(
            "the node may not read ConfigMap {namespace}/{name}: give its account the right to read ConfigMaps \
                (docs/kubeconfig.md)"
        ),
        false => format!("ConfigMap {namespace}/{name} does not exist, or may not be read"),
    }
}

fn one_name(key: &str) -> Result<HeaderName, Refused> {
    let mut names = header_names(key)?;
    match names.len() {
        1 => Ok(names.remove(0)),
        _ => Err(Refused::because("it is not the name of a header")),
    }
}
