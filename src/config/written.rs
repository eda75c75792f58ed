//! The values of each layer, kept beside the settings, so that the origin of a value can be shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use config::{Value, ValueKind};

use super::layer::Layer;
use super::settings::{Settings, defaults_of};
use super::table::{Row, rows};
use crate::model::{Effective, Written, WrittenAt};
use crate::translate::Places;

/// The values of the layers above the defaults, by key, the lowest layer first.
#[derive(Debug, Clone, Default)]
pub struct Layers(BTreeMap<&'static str, Vec<Written>>);

impl Layers {
    /// The values of these layers, given from the lowest.
    pub(super) fn of(layers: &[Layer]) -> Self {
        let mut said = Layers::default();
        for layer in layers {
            for row in rows() {
                let Some(value) = layer.value(row) else { continue };
                let place = value.origin().unwrap_or_default().into();
                said.add(row, value, WrittenAt::Settings(place));
            }
        }
        said
    }

    /// Adds a value over those before it.
    pub(super) fn add(&mut self, row: &Row, value: &Value, at: WrittenAt) {
        self.0.entry(row.key).or_default().push(Written { value: text(&value.kind).into(), at });
    }

    /// The places of keys that findings mention; objects are read again when one of these places
    /// changes.
    pub(super) fn places(&self) -> Places {
        let is_told = |key: &str| key.starts_with("limits.") || key == "access.max-trust";
        let told = self.0.iter().filter(|(key, _)| is_told(key));
        Places(Arc::new(told.filter_map(|(key, said)| Some((*key, said.last()?.at.clone()))).collect()))
    }
}

impl Settings {
    /// The effective value of a setting, and the values that it overrides; `None` for an unknown
    /// key.
    pub fn effective(&self, key: &str) -> Option<Effective> {
        let row = rows().find(|row| row.key == key)?;
        let own = defaults_of(&self.instance).into_iter().find(|(known, _)| *known == key);
        let built_in = match own {
            Some((_, text)) => text,
            None => text(&row.default_value()?),
        };
        let built_in = Written { value: built_in.into(), at: WrittenAt::BuiltIn };
        Effective::of([built_in].into_iter().chain(self.written.0.get(row.key).into_iter().flatten().cloned()))
    }
}

/// A value for people: strings without quotes, lists with commas.
fn text(value: &ValueKind) -> String {
    match value {
        ValueKind::Array(list) => list.iter().map(|item| text(&item.kind)).collect::<Vec<_>>().join(", "),
        ValueKind::Table(table) => {
            // Its own order is that of a hash map.
            let mut entries: Vec<_> =
                table.iter().map(|(key, value)| format!("{key} = {}", text(&value.kind))).collect();
            entries.sort();
            format!("{{ {} }}", entries.join(", "))
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Sources;
    use crate::model::Instance;

    /// The effective value with its place, after the values that it overrides.
    fn lines(sources: &Sources, key: &str) -> Vec<String> {
        let effective = sources.load().unwrap().effective(key).unwrap();
        let all = effective.overridden.iter().chain([&effective.counts]);
        all.map(|written| format!("{} {}", written.value, written.at)).collect()
    }

    #[test]
    fn a_setting_knows_every_layer_that_says_it() {
        let folder = tempfile::tempdir().unwrap();
        let (file, drop_in) = (folder.path().join("ingressd.toml"), folder.path().join("conf.d/1.toml"));
        std::fs::create_dir(folder.path().join("conf.d")).unwrap();
        std::fs::write(&file, "[listen]\nhttp-port = 81\naddresses = ['127.0.0.1', '::1']\n").unwrap();
        std::fs::write(&drop_in, "\nlisten.http-port = 82\n").unwrap();
        let variable = ("INGRESSD_LISTEN_HTTP_PORT".to_owned(), "83".to_owned());
        let sources = Sources {
            file: Some(file.clone()),
            environment: vec![variable],
            flags: vec![("listen.http-port".to_owned(), "84".to_owned())],
            ..Sources::default()
        };
        let (file, drop_in) = (file.display(), drop_in.display());
        assert_eq!(
            lines(&sources, "listen.http-port"),
            [
                "80 built in".to_owned(),
                format!("81 {file}:2"),
                format!("82 {drop_in}:2"),
                "83 environment variable INGRESSD_LISTEN_HTTP_PORT".to_owned(),
                "84 command line".to_owned(),
            ]
        );
        assert_eq!(lines(&sources, "listen.https-port"), ["443 built in"]);
        assert_eq!(lines(&sources, "listen.addresses")[1], format!("127.0.0.1, ::1 {file}:3"));
        let classes = lines(&sources, "classes");
        assert_eq!(classes, ["{ controller = ingressd/nginx, dialect = specification } built in"]);
        assert_eq!(sources.load().unwrap().effective("listen.nothing"), None);
    }

    #[test]
    fn an_instance_has_built_in_values_of_its_own() {
        let instance = Instance::new("edge").unwrap();
        let sources = Sources { instance, flags: Vec::new(), ..Sources::default() };
        assert_eq!(lines(&sources, "control.socket"), ["/run/ingressd-edge/control.sock built in"]);
    }
}
