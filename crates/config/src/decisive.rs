//! The settings that decide which objects are served and how they are judged, as text for those
//! who judge the same objects without access to a node.

use std::sync::Arc;

use config::{Config, Value, ValueKind};
use toml_edit::{Array, InlineTable};

use super::layers::{Sources, merged_value};
use super::table::{SettingRow, rows};

/// The sections of which every key decides.
const SECTIONS: [&str; 4] = ["hosts", "ingress-nginx", "limits", "snippets"];

/// Single keys of other sections. None of their values is a secret.
const KEYS: [&str; 25] = [
    "access.allowlist",
    "access.denylist",
    "access.max-trust",
    "access.no-authentication",
    "access.shared-services",
    "access.strict-paths",
    "classes",
    "cross-namespace",
    "default-backend",
    "headers.allowed",
    "listen.http-port",
    "listen.https-port",
    "listen.passthrough-port",
    "namespace-selector",
    "namespaces",
    "tls.default-certificate",
    "tls.force-redirect",
    "tls.passthrough",
    "tls.redirect",
    "tls.redirect-status",
    "upstreams.cluster-domain",
    "upstreams.endpoints",
    "upstreams.external-names",
    "upstreams.local",
    "upstreams.reachable",
];

/// The longest text in bytes: it has to fit beside others into a Lease, which is written every few
/// seconds.
const LONGEST: usize = 8 << 10;

fn is_decisive(row: &SettingRow) -> bool {
    SECTIONS.contains(&row.section()) || KEYS.contains(&row.key)
}

/// Those that somebody has written, a line of TOML each; `None` where they are longer than a Lease
/// should be.
pub(super) fn text(merged: &Config) -> Option<Arc<str>> {
    let lines = rows().filter(|row| is_decisive(row)).filter_map(|row| {
        let value = merged_value(merged, row.key)?;
        let is_written = Some(&value.kind) != row.default_value().as_ref();
        is_written.then(|| written(value)).flatten().map(|value| format!("{} = {value}\n", row.key))
    });
    Some(lines.collect::<String>()).filter(|text| text.len() <= LONGEST).map(Into::into)
}

/// What of such a text this version knows and may take from others, and the keys of the rest.
pub fn known(text: &str) -> (String, Vec<String>) {
    let (mut known, mut others) = (String::new(), Vec::new());
    for line in text.lines() {
        let key = line.split_once(" = ").map_or(line, |(key, _)| key);
        match rows().any(|row| row.key == key && is_decisive(row)) && Sources::load_text(line).is_ok() {
            true => known += &format!("{line}\n"),
            false => others.push(key.to_owned()),
        }
    }
    (known, others)
}

/// A value as TOML; keys of tables are sorted, because their own order is that of a hash map.
fn written(value: &Value) -> Option<toml_edit::Value> {
    Some(match &value.kind {
        ValueKind::String(text) => text.as_str().into(),
        ValueKind::Boolean(truth) => (*truth).into(),
        ValueKind::I64(number) => (*number).into(),
        ValueKind::Float(number) => (*number).into(),
        ValueKind::Array(list) => toml_edit::Value::Array(list.iter().map(written).collect::<Option<Array>>()?),
        ValueKind::Table(table) => {
            let mut entries: Vec<_> = table.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(key, value)| Some((key.as_str(), written(value)?)));
            toml_edit::Value::InlineTable(entries.collect::<Option<InlineTable>>()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Settings;

    fn of(text: &str) -> Settings {
        Sources::load_text(text).unwrap()
    }

    #[test]
    fn every_name_is_one_of_a_row() {
        let keys: BTreeSet<_> = rows().map(|row| row.key).collect();
        assert!(KEYS.iter().all(|key| keys.contains(key)));
        assert!(SECTIONS.iter().all(|section| rows().any(|row| row.section() == *section)));
    }

    #[test]
    fn what_was_written_and_decides_is_read_back_the_same() {
        assert_eq!(of("").decisive.as_deref(), Some(""), "what is built in need not be told");
        let settings = of("hosts.ownership = 'shared'\nlimits.timeout = '10m'\nkubeconfig = '/root/secret'\n\
             hosts.allowed = [{ namespaces = ['team-a'], hosts = ['*.a.example', 'b.example'] }]\ncross-namespace = true\n\
             headers.answers = ['X-Token: secret']\n[[classes]]\ncontroller = 'k8s.io/ingress-nginx'\n\
             dialect = 'ingress-nginx'\nlegacy-class = 'nginx'\n");
        let text = settings.decisive.clone().unwrap();
        assert!(!text.contains("secret") && text.lines().count() == 5, "{text}");
        let read = of(&text);
        assert_eq!(read.decisive.as_ref(), Some(&text));
        assert_eq!(format!("{:?}", read.translate.classes), format!("{:?}", settings.translate.classes));
        assert_eq!((read.translate.ownership, read.translate.cross_namespace), (settings.translate.ownership, true));
    }

    #[test]
    fn what_another_version_or_somebody_else_has_written_is_left_out() {
        let text =
            "cross-namespace = true\nlimits.invented = 5\napply.state = \"/tmp/x\"\nlimits.timeout = \"ages\"\n[x";
        let (known, others) = known(text);
        assert_eq!(known, "cross-namespace = true\n");
        assert_eq!(others, ["limits.invented", "apply.state", "limits.timeout", "[x"]);
    }

    #[test]
    fn more_than_a_lease_should_hold_is_not_reported() {
        let names = (0..1000).map(|number| format!("'namespace-{number}'")).collect::<Vec<_>>().join(",");
        assert_eq!(of(&format!("namespaces = [{names}]")).decisive, None);
    }
}
