//! The keys of the section `snippets`: who may write raw configuration.

use std::ops::RangeInclusive;

use config::Value;

use super::hosts::put_allowed;
use super::table::{SettingRow, row};
use super::value::{Column, Form, Setting, one_of, text};
use ingressd_translate::{Scope, SnippetKind};

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    SettingRow::new("snippets.allowed", Scope::Route, Form::Tables(ALLOWED), "[]", |settings, value| {
        put_allowed(&mut settings.translate.snippets, value, ALLOWED, "it lists no kinds of snippets")
    })
        .doc("Which namespaces may use which snippets of nginx's configuration. Without a table none may, and an object with a snippet is refused. The namespaces may then use the directives in docs/snippets.md for their own routes; their snippets also make nginx do more work for each request. Tables select namespaces as in `hosts.allowed`. `access.max-trust` has no effect on snippets."),
    row!("snippets.annotations", Scope::Route, "true", translate.annotation_snippets)
        .doc("Whether snippets in annotations are used where `snippets.allowed` allows them. With false none is used, while those in the ConfigMap of ingress-nginx still are. The key `allow-snippet-annotations` of that ConfigMap overrides this setting."),
];

/// The columns of `[[snippets.allowed]]`.
const ALLOWED: &[Column] = &[
    Column::new("namespaces", Form::List, r#"["team-a"]"#).doc("Names of namespaces; `*` for all."),
    Column::new("selector", Form::Text, r#""snippets=yes""#)
        .doc("Labels of namespaces, written as kubectl takes them with -l. A namespace whose labels are not known yet is selected by no selector."),
    Column::new("kinds", Form::List, r#"["configuration-snippet"]"#)
        .doc("The snippets that they may use: the annotations `configuration-snippet`, `server-snippet`, `auth-snippet` and `stream-snippet`, and, for the namespace of the ConfigMap that `ingress-nginx.configmap` names, its keys `http-snippet` (tables for all hosts), `location-snippet`, `server-snippet`, `stream-snippet` (TCP and UDP services) and, by the kind `auth-snippet`, `global-auth-snippet`. `main-snippet` is never used."),
    Column::new("ports", Form::List, r#"["5432", "6000-6009"]"#)
        .doc("TCP and UDP ports of the node that the annotation `stream-snippet` of these namespaces may open, as numbers or ranges. List a port for one namespace: of several the first one keeps it. Without this key the kind `stream-snippet` counts in the ConfigMap alone."),
];

/// A port, or the first and the last one.
impl Setting for RangeInclusive<u16> {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0 && port.to_string() == text);
        let range = port(first).zip(port(last)).filter(|(first, last)| first <= last);
        let range = range.map(|(first, last)| first..=last);
        range.ok_or_else(|| format!("{text:?} is no port, such as \"5432\", nor a range, such as \"6000-6009\""))
    }
}

impl Setting for SnippetKind {
    fn read(value: &Value) -> Result<Self, String> {
        one_of(value, &SnippetKind::ALL.map(|kind| (kind.name(), kind)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Settings, Sources};
    use ingressd_translate::SnippetKind;

    fn load(text: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ingressd.toml");
        std::fs::write(&file, text).unwrap();
        let settings = Sources { file: Some(file), ..Sources::default() }.load();
        settings.map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    }

    #[test]
    fn snippets_are_allowed_by_kind_and_namespace() {
        let text = "[[snippets.allowed]]\nnamespaces = ['a']\nkinds = ['server-snippet', 'auth-snippet']\n\
                    [[snippets.allowed]]\nselector = 'team'\nkinds = ['configuration-snippet']\n";
        let read = load(text).unwrap().translate;
        assert!(read.needs_labels() && read.annotation_snippets);
        let labels = [("team".to_owned(), "x".to_owned())].into();
        for (kind, namespace, labels, expected) in [
            (SnippetKind::Server, "a", None, true),
            (SnippetKind::Server, "b", Some(&labels), false),
            (SnippetKind::Configuration, "a", None, false),
            (SnippetKind::Configuration, "b", Some(&labels), true),
            (SnippetKind::Location, "a", Some(&labels), false),
        ] {
            assert_eq!(read.allows_snippet(kind, namespace, labels), expected, "{kind:?} in {namespace}");
        }
        assert!(!load("").unwrap().translate.allows_snippet_somewhere(SnippetKind::Server));
    }

    #[test]
    fn ports_are_numbers_and_ranges() {
        let table = "[[snippets.allowed]]\nnamespaces = ['a']\nkinds = ['stream-snippet']\nports = ";
        let read = load(&format!("{table}['5432', '6000-6009']\n")).unwrap().translate;
        let has = |port| read.snippets[0].has_port(port);
        assert_eq!([5431, 5432, 6000, 6009, 6010].map(has), [false, true, true, true, false]);
        for wrong in ["0", "x", "", "70000", "6009-6000", "6000-", "-1", "+5", "1-2-3", "6000 - 6009", "05"] {
            let message = load(&format!("{table}['{wrong}']\n")).unwrap_err();
            assert!(message.contains("is no port") && message.contains("6000-6009"), "{wrong}: {message}");
        }
    }

    #[test]
    fn mistakes_name_the_table_and_the_key() {
        for (table, expected) in [
            ("kinds = ['server-snippet']", "it selects no namespace"),
            ("namespaces = ['a']", "it lists no kinds"),
            ("namespaces = ['A']\nkinds = ['server-snippet']", "is not a name of a namespace"),
            ("namespaces = ['a']\nkinds = ['main-snippet']", "main-snippet"),
            ("selector = 'a b'\nkinds = ['server-snippet']", "is no selector of labels"),
            ("namespaces = ['a']\nkind = ['server-snippet']", "unknown key \"kind\""),
        ] {
            let message = load(&format!("[[snippets.allowed]]\n{table}\n")).unwrap_err();
            assert!(message.contains("snippets.allowed: table 1: ") && message.contains(expected), "got {message}");
        }
    }
}
