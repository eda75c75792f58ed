//! ConfigMaps with headers that ingress-nginx's ConfigMap names. It must not know how headers are
//! written.

use std::sync::Arc;

use super::Layer;
use super::keys::Headers;
use crate::global;
use ingressd_model::finding::Reason;
use ingressd_model::{Field, Kind, ObjectId, Origin};
use ingressd_nginx::SetHeader;
use ingressd_translate::value::excerpt;

/// The most headers of one ConfigMap.
const MOST: usize = 100;

impl Layer<'_> {
    /// Reads the headers of a ConfigMap; invalid ones are left out.
    pub(super) fn headers(&mut self, headers: Headers, value: &str, origin: &Origin) {
        let namespace = &self.id.namespace;
        let Some((own, name)) = value.trim().split_once('/') else {
            let note = format!("{} is refused: it is not of the form namespace/name", excerpt(value));
            return self.find(Reason::InvalidValue, origin.clone(), note);
        };
        if *own != **namespace {
            let note = format!("the ConfigMap has to be in the namespace {namespace}; copy it there");
            return self.find(Reason::CrossNamespace, origin.clone(), note);
        }
        let Some(stored) = self.snapshot.config_map(own, name) else {
            let note = format!(
                "ConfigMap {own}/{name} does not exist, or the node may not read it (docs/kubeconfig.md); none of its \
                    headers is set"
            );
            return self.find(Reason::MissingConfigMap, origin.clone(), note);
        };
        let (key, setting) = match headers {
            Headers::Answers => ("add-headers", "headers.answers"),
            Headers::Requests => ("proxy-set-headers", "headers.requests"),
        };
        let id = Arc::new(ObjectId::new(Kind::CONFIG_MAP, own, name));
        for (number, (name, value)) in stored.object.data.iter().flatten().enumerate() {
            let origin = Origin::field(&id, Field::Data(name.clone().into()));
            let header = global::header(name, value).map_err(|refused| refused.to_string());
            let proven = header.and_then(|header| {
                let one = std::slice::from_ref(&header);
                match headers {
                    Headers::Answers => global::answer_headers(one)?,
                    Headers::Requests => global::request_headers(one)?,
                }
                match number < MOST {
                    true => Ok(header),
                    false => Err(format!("only {MOST} headers are read")),
                }
            });
            let global = &mut self.settings.gate.global;
            let set = match headers {
                Headers::Answers => &mut global.answer_headers,
                Headers::Requests => &mut global.request_headers,
            };
            match proven {
                Ok(header) => {
                    // It takes precedence over the one in the settings.
                    set.retain(|other| !other.name.as_str().eq_ignore_ascii_case(header.name.as_str()));
                    set.push(header);
                }
                Err(why) => self.find(Reason::InvalidValue, origin, format!("{} is refused: {why}", excerpt(value))),
            }
        }
        let global = &self.settings.gate.global;
        let set = match headers {
            Headers::Answers => &global.answer_headers,
            Headers::Requests => &global.request_headers,
        };
        let text = |header: &SetHeader| {
            let value = header.value.parts().iter().map(ToString::to_string).collect::<String>();
            format!("{}: {value}", header.name.as_str())
        };
        let set: Vec<_> = set.iter().map(text).collect();
        self.reported(key, setting, &set);
    }
}
