//! ingress-nginx's ConfigMap as a layer over the settings: the effective settings, and findings
//! about the ConfigMap.

mod compared;
mod compression;
mod document;
mod forms;
mod headers;
mod keys;
mod node;
#[cfg(test)]
mod tests;
mod tls;

pub use document::{KeyFacts, document, facts};
pub(super) use keys::keys_without_annotation;
pub use node::{AskedOfNode, OfNode};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::keys::{Change, Effect, KEYS, Key};
use super::settings::Settings;
use super::table::rows;
use super::value::Form;
use ingressd_model::finding::{Finding, Reason, Severity, unknown_key};
use ingressd_model::{
    Argument, ByteSize, Directive, Field, Kind, ObjectId, Origin, Refused, RefusedVersion, WrittenAt, catalogue,
    is_subdomain,
};
use ingressd_objects::rows::ConfigMap;
use ingressd_objects::{Snapshot, Version};
use ingressd_translate::annotation::asks;
use ingressd_translate::value::{address_list, boolean, empty_entry, excerpt, without_empty};
use ingressd_translate::{ANNOTATIONS, OptionEntry, SnippetKind, judge};

/// Settings with a ConfigMap as a layer.
#[derive(Debug, Clone)]
pub struct Layered {
    /// The effective settings.
    pub settings: Settings,
    /// The findings about the ConfigMap.
    pub findings: Vec<Finding>,
    /// The version of the ConfigMap, when a protecting value is invalid: its last good version
    /// should replace it.
    pub refused: Option<RefusedVersion>,
}

impl Settings {
    /// The versions of the ConfigMap and of those that it names; `None` when none is named or it
    /// does not exist.
    pub fn layer_version(&self, snapshot: &Snapshot) -> Option<Version> {
        let (namespace, name) = self.ingress_nginx.config_map.as_ref()?;
        let stored = snapshot.config_map(namespace, name)?;
        let data = stored.object.data.as_ref();
        let needs = needs(&stored.id, &stored.object);
        let named = needs.iter().map(|id| snapshot.version(id).map_or("", |version| &*version.0));
        // Labels of its namespace decide which of its snippets count.
        let snippets = KEYS.iter().filter_map(|key| match key.effect {
            Effect::Snippet(_, kind) => Some((key.name, kind)),
            Effect::Whole(kind, ..) => Some((key.name, kind)),
            _ => None,
        });
        let snippets = snippets.filter(|(name, kind)| {
            data.is_some_and(|data| data.contains_key(*name)) && self.allows_snippet_of(namespace, *kind, snapshot)
        });
        let all: Vec<_> = named.chain(snippets.map(|(name, _)| name)).collect();
        Some(match all.iter().all(|version| version.is_empty()) {
            true => stored.version.clone(),
            false => Version(format!("{} {}", stored.version.0, all.join(" ")).into()),
        })
    }

    /// Whether a snippet of the ConfigMap in this namespace is allowed.
    fn allows_snippet_of(&self, namespace: &str, kind: SnippetKind, snapshot: &Snapshot) -> bool {
        let labels = snapshot.namespace(namespace).map(|stored| &stored.object.labels);
        self.translate.allows_snippet(kind, namespace, labels)
    }

    /// The settings with the ConfigMap that they name.
    pub fn layered(&self, snapshot: &Snapshot) -> Layered {
        let mut layered = Layered { settings: self.clone(), findings: Vec::new(), refused: None };
        let Some((namespace, name)) = &self.ingress_nginx.config_map else { return layered };
        let Some(stored) = snapshot.config_map(namespace, name) else {
            let origin = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, namespace, name)));
            let note = "the setting ingress-nginx.configmap names this ConfigMap, which does not exist; its last good \
                version, if there is one, stays in force; create it, or remove the setting";
            layered.refused = Some(RefusedVersion {
                id: Arc::clone(&origin.object),
                version: Version("".into()),
                why: Reason::MissingConfigMap,
            });
            layered.findings.push(Finding::new(Reason::MissingConfigMap, origin, note));
            return layered;
        };
        let nothing = BTreeMap::new();
        let (id, settings) = (&stored.id, self.clone());
        let (defaults, last, findings) = (Vec::new(), Vec::new(), Vec::new());
        let mut layer = Layer { id, snapshot, settings, defaults, last, findings };
        let is_safe = layer.read(stored.object.data.as_ref().unwrap_or(&nothing));
        layer.settings.translate.defaults = layer.defaults.into();
        layer.settings.translate.server_directives.sort_by_key(|directive| directive.row.name);
        let refused = (!is_safe).then(|| RefusedVersion {
            id: Arc::clone(&stored.id),
            version: stored.version.clone(),
            why: Reason::InvalidSecurityValue,
        });
        Layered { settings: layer.settings, findings: layer.findings, refused }
    }
}

/// The ConfigMaps and Secrets of its own namespace that a ConfigMap names.
pub(super) fn needs(id: &ObjectId, map: &ConfigMap) -> BTreeSet<ObjectId> {
    let named = |key: &Key| {
        let kind = match key.effect {
            Effect::Headers(_) => Kind::CONFIG_MAP,
            _ if key.name == tls::DH_PARAMETERS => Kind::SECRET,
            _ => return None,
        };
        let (namespace, name) = map.data.as_ref()?.get(key.name)?.trim().split_once('/')?;
        (*namespace == *id.namespace && is_subdomain(name)).then(|| ObjectId::new(kind, namespace, name))
    };
    KEYS.iter().filter_map(named).collect()
}

/// A ConfigMap that is being read.
struct Layer<'a> {
    id: &'a Arc<ObjectId>,
    snapshot: &'a Snapshot,
    settings: Settings,
    defaults: Vec<OptionEntry>,
    /// Changes that happen after all keys are read.
    last: Vec<(Change, Origin)>,
    findings: Vec<Finding>,
}

impl Layer<'_> {
    /// Reads all keys; returns whether all protecting values are valid.
    fn read(&mut self, data: &BTreeMap<String, String>) -> bool {
        let mut is_safe = true;
        let had_protocol = self.settings.translate.listeners.proxy_protocol;
        for (name, value) in data {
            let origin = Origin::field(self.id, Field::Data(name.clone().into()));
            let Some(key) = keys::find(name) else {
                self.find(Reason::UnknownKey, origin, unknown_key("", name, KEYS.iter().map(|key| key.name)));
                continue;
            };
            // An empty value is the default.
            if !value.trim().is_empty() {
                is_safe &= self.apply(key, value, &origin);
            }
        }
        for (change, origin) in std::mem::take(&mut self.last) {
            change(&mut self.settings, &mut self.defaults, &origin);
        }
        self.trust_proxies(data, had_protocol);
        let value = |key: &str| data.get(key).filter(|value| !value.trim().is_empty()).cloned();
        for (said, key) in [(compression::gzip(&value), "use-gzip"), (compression::brotli(&value), "enable-brotli")] {
            self.say(said.unwrap_or_default(), &Origin::field(self.id, Field::Data(key.into())));
        }
        self.settings.gate.global.uncompressed = compression::uncompressed_by(&value);
        if data.get("enable-modsecurity").is_some_and(|value| boolean(value) == Ok(true)) {
            // Otherwise each host would load the rules.
            self.settings.share_firewall_rules(true);
            self.reported("enable-modsecurity", "firewall.shared", &["true"]);
        }
        if data.get("ssl-session-cache").is_some_and(|value| boolean(value) == Ok(false)) {
            // This holds whatever size another key asks for.
            self.settings.gate.global.session_cache = ByteSize(0);
            self.reported("ssl-session-cache", "tls.session-cache", &["0"]);
        }
        is_safe
    }

    /// Notes what a key made of a setting.
    fn reported<T: std::fmt::Display>(&mut self, key: &'static str, setting: &'static str, values: &[T]) {
        let origin = Origin::field(self.id, Field::Data(key.into()));
        self.settings.written.say_list(setting, values, WrittenAt::Object(origin));
    }

    /// Says directives in every server.
    fn say(&mut self, said: Vec<keys::Statement>, origin: &Origin) {
        let directive = |(row, arguments)| Directive { row, arguments, origin: origin.clone() };
        self.settings.translate.server_directives.extend(said.into_iter().map(directive));
    }

    fn find(&mut self, reason: Reason, origin: Origin, note: impl Into<Arc<str>>) {
        self.findings.push(Finding::new(reason, origin, note));
    }

    /// Applies a key; returns false when a protecting value is invalid.
    fn apply(&mut self, key: &'static Key, value: &str, origin: &Origin) -> bool {
        let done = match key.effect {
            Effect::Annotation(name) => return self.default(name, value, origin),
            Effect::Setting(setting, written) => self.set(setting, written, value, origin),
            Effect::Server(row, parse) => parse(value).map(|arguments| {
                let mut say = |row, arguments| {
                    let directive = Directive { row, arguments, origin: origin.clone() };
                    self.settings.translate.server_directives.push(directive);
                };
                say(row, arguments);
                if row == &catalogue::SSL_CIPHERS {
                    // A list of ciphers is meant in its order of preference.
                    say(&catalogue::SSL_PREFER_SERVER_CIPHERS, vec![Argument::Switch(true)]);
                }
            }),
            Effect::Headers(headers) => {
                self.headers(headers, value, origin);
                Ok(())
            }
            Effect::Read(_, read) => read(self, value, origin),
            Effect::Directives(_, of) => of(value).map(|said| self.say(said, origin)),
            Effect::Forwarded(form) | Effect::Gzip(form) | Effect::Brotli(form) => form(value),
            Effect::Finally(_, _, change) => {
                boolean(value).map(|is_on| self.last.extend(is_on.then(|| (change, origin.clone()))))
            }
            Effect::Host(_) => node::note(key.name, value).map(|note| {
                self.findings.extend(note.map(|note| Finding {
                    severity: Severity::Info,
                    ..Finding::new(Reason::UnsupportedKey, origin.clone(), note)
                }));
            }),
            Effect::Snippet(annotation, kind) => {
                if self.settings.allows_snippet_of(&self.id.namespace, kind, self.snapshot) {
                    // What is left out may protect something: the last good version is used
                    // instead.
                    return self.default(annotation, value, origin)
                        && self.defaults.last().is_some_and(|option| option.at == *origin);
                }
                self.find(Reason::UnsupportedKey, origin.clone(), keys::ALLOW);
                Ok(())
            }
            Effect::Whole(kind, _, read) => {
                if !self.settings.allows_snippet_of(&self.id.namespace, kind, self.snapshot) {
                    self.find(Reason::UnsupportedKey, origin.clone(), keys::ALLOW);
                    return true;
                }
                if let Err(refused) = read(self, value, origin) {
                    // What is left out may protect something: the last good version is used
                    // instead.
                    let note = format!("{} is refused: {refused}", excerpt(value));
                    self.find(Reason::RefusedValue, origin.clone(), note);
                    return false;
                }
                Ok(())
            }
            Effect::Unserved { harmless, instead } => {
                if asks(value, harmless) {
                    let lines = node::note(key.name, value).ok().flatten();
                    let note = lines.map_or_else(|| instead.into(), Arc::<str>::from);
                    let finding = Finding::new(Reason::UnsupportedKey, origin.clone(), note);
                    // A key that ingress-nginx ignores as well changes nothing.
                    let severity = if instead == keys::REMOVED { Severity::Info } else { finding.severity };
                    self.findings.push(Finding { severity, ..finding });
                }
                Ok(())
            }
        };
        if let Err(refused) = done {
            let note = format!("{} is refused: {refused}", excerpt(value));
            self.find(Reason::InvalidValue, origin.clone(), note);
            return !key.protects();
        }
        true
    }

    /// Says an option for all objects. A protecting but invalid one is kept, so that it closes
    /// what it should protect.
    fn default(&mut self, key: &'static str, value: &str, origin: &Origin) -> bool {
        let Some(row) = ANNOTATIONS.find(key) else { return true };
        let rest = without_empty(value).filter(|_| row.form.is_list());
        if let Some(note) = empty_entry(value).filter(|_| rest.is_some()) {
            self.find(Reason::InvalidValue, origin.clone(), note);
        }
        let value = rest.as_deref().unwrap_or(value);
        let option = OptionEntry { row, value: value.into(), at: origin.clone() };
        let reading = judge(&option, &self.settings.translate_options());
        self.findings.extend(reading.findings);
        if !reading.falls_short || reading.closed {
            self.defaults.push(option);
        }
        // What protects stays as it was, if it was there.
        !(reading.closed || reading.refused)
    }

    /// Overrides a setting.
    fn set(&mut self, key: &str, written: keys::IntoSetting, value: &str, origin: &Origin) -> Result<(), Refused> {
        let row = rows().find(|row| row.key == key).ok_or_else(|| Refused::because("it has no setting"))?;
        let written = written(value)?;
        if written.is_empty() {
            return Ok(());
        }
        let value = row.form.read_of_config_map(&written).map_err(|why| Refused(why.into()))?;
        // The setter may have changed a part before it refuses the value.
        let mut settings = self.settings.clone();
        let at = WrittenAt::Object(origin.clone());
        let value = config::Value::new(Some(&at.to_string()), value);
        (row.set)(&mut settings, &value).map_err(|why| Refused(why.into()))?;
        if let Some(note) = empty_entry(&written).filter(|_| matches!(row.form, Form::List)) {
            self.find(Reason::InvalidValue, origin.clone(), note);
        }
        settings.written.add(row, &value, at);
        self.settings = settings;
        Ok(())
    }

    /// Decides which proxies are trusted, which depends on several keys. `had_protocol` is the
    /// PROXY protocol in the settings.
    fn trust_proxies(&mut self, data: &BTreeMap<String, String>, had_protocol: bool) {
        const SETTING: &str = "access.trusted-proxies";
        let read = |key: &str| data.get(key).and_then(|value| boolean(value).ok());
        let origin = |key: &'static str| Origin::field(self.id, Field::Data(key.into()));
        let asked = [read("use-forwarded-headers"), read("enable-real-ip")];
        let protocol = self.settings.translate.listeners.proxy_protocol;
        if protocol && asked[0] == Some(true) {
            let note = "it has no effect beside use-proxy-protocol: load balancers that speak the PROXY protocol pass \
                        on the X-Forwarded headers of clients, so nginx trusts none of them; remove the key";
            self.find(Reason::UnsupportedKey, origin("use-forwarded-headers"), note);
        }
        // Proxies that were trusted for the PROXY protocol may pass on headers of strangers.
        let denies = asked.contains(&Some(false)) || (had_protocol && !protocol);
        let by = |answer: bool| match asked {
            [Some(said), _] if said == answer && !protocol => "use-forwarded-headers",
            [_, Some(said)] if said == answer && !protocol => "enable-real-ip",
            _ => "use-proxy-protocol",
        };
        // Proxies that the settings list are trusted as those say.
        let only_addresses = asked[0] != Some(true);
        let trusted = &mut self.settings.translate.trusted_proxies;
        match (protocol || asked.contains(&Some(true)), denies) {
            (true, _) => {}
            (false, true) => {
                trusted.clear();
                return self.reported::<&str>(by(false), SETTING, &[]);
            }
            (false, false) => return,
        }
        let listed = data.get("proxy-real-ip-cidr").map(|value| value.trim()).filter(|value| !value.is_empty());
        match (listed.map(address_list), address_list("0.0.0.0/0,::/0")) {
            (Some(Ok(listed)), _) => {
                self.reported("proxy-real-ip-cidr", SETTING, &listed);
                (self.settings.translate.trusted_proxies, self.settings.translate.only_addresses) =
                    (listed, only_addresses);
            }
            (None, Ok(everybody)) if trusted.is_empty() => {
                self.reported(by(true), SETTING, &everybody);
                (self.settings.translate.trusted_proxies, self.settings.translate.only_addresses) =
                    (everybody, only_addresses);
                let note = "nginx trusts every client about its address, so that clients can bypass lists of \
                            addresses: list the proxies in proxy-real-ip-cidr, or in the setting \
                            access.trusted-proxies";
                self.find(Reason::EveryClientTrusted, origin(by(true)), note);
            }
            // An invalid value has a finding, and no proxy is trusted for it.
            _ => {}
        }
    }
}
