//! The values of each layer, kept beside the settings, so that the origin of a value can be shown.

use std::collections::BTreeMap;

use config::{Value, ValueKind};

use super::layer::Layer;
use super::settings::{Settings, defaults_of};
use super::table::{SettingRow, rows};
use ingressd_model::finding::Finding;
use ingressd_model::{Effective, Written, WrittenAt};

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
    pub(super) fn add(&mut self, row: &SettingRow, value: &Value, at: WrittenAt) {
        self.0.entry(row.key).or_default().push(Written { value: text(&value.kind).into(), at });
    }

    /// The same for a value that is known as text.
    pub(super) fn say(&mut self, key: &'static str, value: &str, at: WrittenAt) {
        self.0.entry(key).or_default().push(Written { value: value.into(), at });
    }

    /// The same for a list.
    pub(super) fn say_list<T: std::fmt::Display>(&mut self, key: &'static str, list: &[T], at: WrittenAt) {
        self.say(key, &list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "), at);
    }

    /// Where the value was written that counts; `None` for what is built in.
    fn place(&self, key: &str) -> Option<&WrittenAt> {
        Some(&self.0.get(key)?.last()?.at)
    }

    /// A note with places behind the first mention of each setting that is written; `None` where
    /// it mentions none.
    fn with_places(&self, note: &str) -> Option<String> {
        let is_of_key = |character: char| character.is_ascii_alphanumeric() || ".-".contains(character);
        let (mut reported, mut rest, mut known) = (String::new(), note, Vec::new());
        while let Some(start) = rest.find(is_of_key) {
            let (before, word) = rest.split_at(start);
            let end = word.find(|character| !is_of_key(character)).unwrap_or(word.len());
            let key = word[..end].trim_end_matches(['.', '-']);
            let (mut end, is_quoted) = (key.len().max(1), before.ends_with('`') && word[key.len()..].starts_with('`'));
            let place = self.place(key).filter(|_| key.contains('.') || is_quoted);
            // Where a value follows, it is what should be written.
            let place = place.filter(|_| !word[key.len()..].trim_start_matches('`').starts_with(" ="));
            end += usize::from(place.is_some() && is_quoted);
            reported.push_str(before);
            reported.push_str(&word[..end]);
            rest = &word[end..];
            if let Some(place) = place.filter(|_| !known.contains(&key)) {
                known.push(key);
                reported.push_str(&format!(" from {place}"));
            }
        }
        reported.push_str(rest);
        (!known.is_empty()).then_some(reported)
    }
}

impl Settings {
    /// Says in each finding about settings where those were written.
    pub fn report_places(&self, findings: &mut [Finding]) {
        for finding in findings {
            if let Some(note) = self.written.with_places(&finding.note) {
                finding.note = note.into();
            }
        }
    }

    /// What counts of a setting, and what it took the place of; nothing when there is no such key.
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
    use crate::Sources;
    use ingressd_model::Instance;

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
    fn notes_say_where_the_settings_were_written_that_they_speak_of() {
        let flags = [("limits.timeout", "10m"), ("cross-namespace", "true"), ("hosts.allowed", "[]")];
        let flags = flags.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let settings = Sources { flags: flags.into(), ..Sources::default() }.load().unwrap();
        for (note, expected) in [
            ("limits.timeout sets it, limits.timeout", "limits.timeout from command line sets it, limits.timeout"),
            ("more than limits.timeout.", "more than limits.timeout from command line."),
            ("it needs `cross-namespace`: ask", "it needs `cross-namespace` from command line: ask"),
            ("(`hosts.allowed`)", "(`hosts.allowed` from command line)"),
            // What is built in has no place, other words are no keys, and a remedy is left as it
            // is.
            ("limits.body-size and cross-namespace", ""),
            ("limits.timeouts a.limits.timeout", ""),
            ("set limits.timeout = 5 or `limits.timeout` = 5", ""),
            ("", ""),
            ("Zürich: ...- `", ""),
        ] {
            let reported = settings.written.with_places(note);
            assert_eq!(reported.as_deref().unwrap_or_default(), expected, "{note}");
        }
    }

    #[test]
    fn an_instance_has_built_in_values_of_its_own() {
        let instance = Instance::new("edge").unwrap();
        let sources = Sources { instance, flags: Vec::new(), ..Sources::default() };
        assert_eq!(lines(&sources, "control.socket"), ["/run/ingressd-edge/control.sock built in"]);
    }
}
