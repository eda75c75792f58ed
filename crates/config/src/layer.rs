//! One layer of the settings as a source of the `config` crate: the values that rows accept, and
//! the mistakes in the others.

use std::path::Path;

use config::{ConfigError, Map, Source, Value, ValueKind};
use toml_edit::{Document, TableLike};

use super::layers::Mistake;
use super::settings::defaults_of;
use super::table::{SettingRow, rows};
use super::value::untyped;
use ingressd_model::Instance;
use ingressd_model::finding::{hint, nearest};

/// Environment variables with our prefix that are not keys, such as the path of the file.
const OTHER_VARIABLES: &[&str] = &["INGRESSD_CONFIG", "INGRESSD_INSTANCE"];

/// The values of one place. Mistakes are reported even when a later layer sets the same key.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    /// The values by key, each with its origin.
    values: Map<String, Value>,
    pub(super) mistakes: Vec<Mistake>,
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ConfigError> {
        Ok(self.values.clone())
    }
}

impl Layer {
    pub(super) fn defaults(instance: &Instance) -> Self {
        let mut layer = Layer::default();
        for row in rows() {
            layer.set("default", row, row.default_value());
        }
        for (key, text) in defaults_of(instance) {
            layer.text("default", key, &text);
        }
        layer
    }

    pub(super) fn file(path: &Path, text: &str) -> Self {
        let mut layer = Layer::default();
        let origin = |offset: usize| {
            let before = &text.as_bytes()[..offset.min(text.len())];
            format!("{}:{}", path.display(), before.iter().filter(|byte| **byte == b'\n').count() + 1)
        };
        let (document, wrong) = match Document::parse(text) {
            Ok(document) => (Ok(document), None),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                // The text before the mistake, for callers that use as much as possible.
                let before = text.get(..start).and_then(|before| before.rfind('\n')).map_or("", |end| &text[..end]);
                (Document::parse(before), Some((start, error)))
            }
        };
        if let Ok(document) = document {
            layer.table(&origin, "", document.as_table());
        }
        if let Some((start, error)) = wrong {
            layer.mistake(&origin(start), "", error.message().to_owned());
        }
        layer
    }

    pub(super) fn variables(environment: &[(String, String)]) -> Self {
        let mut layer = Layer::default();
        for (name, text) in environment.iter().filter(|(name, _)| name.starts_with("INGRESSD_")) {
            let origin = format!("environment variable {name}");
            match rows().find(|row| row.variable() == *name) {
                Some(row) => layer.text(&origin, row.key, text),
                None if OTHER_VARIABLES.contains(&name.as_str()) => {}
                None => {
                    let variables: Vec<_> = rows().map(SettingRow::variable).collect();
                    let hint = hint("", name, variables.iter().map(String::as_str));
                    layer.mistake(&origin, "", format!("it names no setting{hint}"));
                }
            }
        }
        layer
    }

    pub(super) fn flags(flags: &[(String, String)]) -> Self {
        let mut layer = Layer::default();
        for (key, text) in flags {
            layer.text("command line", key, text);
        }
        layer
    }

    fn table(&mut self, origin: &dyn Fn(usize) -> String, prefix: &str, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            let written = table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
            let here = origin(written.map_or(0, |span| span.start));
            let is_section = rows().any(|row| row.section() == key);
            match (rows().find(|row| row.key == key), item.as_table_like()) {
                // Tables and arrays of tables become inline ones.
                (Some(row), _) => self.set(&here, row, item.clone().into_value().ok().as_ref().and_then(untyped)),
                (None, Some(section)) if is_section => self.table(origin, &key, section),
                (None, None) if is_section => self.mistake(&here, &key, "it is a section, not a value".to_owned()),
                (None, _) => self.unknown(&here, &key),
            }
        }
    }

    /// Adds a value from outside of files, which has no quotes.
    fn text(&mut self, origin: &str, key: &str, text: &str) {
        match rows().find(|row| row.key == key) {
            Some(row) => match row.form.read_text(text) {
                Ok(value) => self.set(origin, row, Some(value)),
                Err(why) => self.mistake(origin, key, why),
            },
            None => self.unknown(origin, key),
        }
    }

    fn set(&mut self, origin: &str, row: &SettingRow, value: Option<ValueKind>) {
        let value = value.map(|kind| Value::new(Some(&origin.to_owned()), kind));
        let value = value.ok_or_else(|| format!("it takes a value of the form: {}", row.form.name()));
        match value.and_then(|value| row.prove(&value).map(|()| value)) {
            Ok(value) => drop(self.values.insert(row.key.to_owned(), value)),
            Err(why) => self.mistake(origin, row.key, why),
        }
    }

    /// The value of a key.
    pub(super) fn value(&self, row: &SettingRow) -> Option<&Value> {
        self.values.get(row.key)
    }

    fn unknown(&mut self, origin: &str, key: &str) {
        // The same key in another section is more similar than any other in this one.
        let name = |key: &str| key.rsplit('.').next().map(str::to_owned);
        let elsewhere = rows().map(|row| row.key).find(|known| name(known) == name(key));
        // So is a similar key, where a key without a section has none.
        let alike = || {
            let names = rows().filter_map(|row| row.key.rsplit('.').next());
            let meant = nearest(key, names).filter(|_| !key.contains('.'))?;
            rows().map(|row| row.key).find(|known| known.rsplit('.').next() == Some(meant))
        };
        let hint = match elsewhere {
            Some(known) => format!("; did you mean {known}?"),
            None => match hint("", key, rows().map(|row| row.key)) {
                none if none.is_empty() => alike().map(|known| format!("; did you mean {known}?")).unwrap_or_default(),
                hint => hint,
            },
        };
        let remedy = if hint.is_empty() { "; correct or remove it: ingressd.toml(5) lists all keys" } else { &*hint };
        self.mistake(origin, key, format!("there is no such key{remedy}"));
    }

    fn mistake(&mut self, origin: &str, key: &str, why: String) {
        self.mistakes.push(Mistake { origin: origin.to_owned(), key: key.to_owned(), why });
    }
}
