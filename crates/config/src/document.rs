//! Generates the sample file, the man page and the reference from the table of keys.

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::table::{SECTIONS, SettingRow, rows};
use super::value::{Column, Form};

/// The longest line of the sample.
const WIDTH: usize = 100;

fn sections() -> impl Iterator<Item = (&'static str, &'static str, impl Iterator<Item = &'static SettingRow>)> {
    let of = |section: &'static str| rows().filter(move |row| row.section() == section);
    let filled = SECTIONS.iter().filter(move |(section, _)| of(section).next().is_some());
    filled.map(move |(section, about)| (*section, *about, of(section)))
}

fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    lines + &line + "\n"
}

/// The settings file that is shipped: every key with its documentation and default, commented out.
pub fn sample() -> String {
    let mut text = comment(
        "Settings of ingressd. Every key is shown with its default; remove the # in front of a key to change it. \
         Files named conf.d/*.toml beside this one are read after it, then environment variables \
         (INGRESSD_LISTEN_HTTP_PORT for listen.http-port), then flags. Unknown keys and values of the wrong form are \
         errors with file, key and line: the daemon does not start, or keeps the earlier settings on a reload. See \
         ingressd.toml(5).",
    );
    for (section, about, rows) in sections() {
        text.push_str(&format!("\n# ---- {about}\n"));
        if !section.is_empty() {
            text.push_str(&format!("[{section}]\n"));
        }
        // A table header would swallow the keys that follow it.
        let (tables, plain): (Vec<_>, Vec<_>) = rows.partition(|row| matches!(row.form, Form::Tables(_)));
        for row in plain.into_iter().chain(tables) {
            text.push('\n');
            text.push_str(&comment(row.doc));
            match row.form {
                Form::Tables(columns) => text.push_str(&sample_of_table(row.key, columns)),
                _ => text.push_str(&format!("#{} = {}\n", row.name(), row.default)),
            }
        }
    }
    text
}

fn sample_of_table(key: &str, columns: &[Column]) -> String {
    let mut text = format!("#[[{key}]]\n");
    for column in columns {
        text.push_str(&comment(column.doc));
        text.push_str(&format!("#{} = {}\n", column.key, column.example));
    }
    text
}

/// Splits a paragraph at backquotes: what stands between them is shown in italics.
fn inlines(text: &str) -> Vec<Inline> {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 1 { italic(part) } else { roman(part) }).collect()
}

/// The man page ingressd.toml(5), as roff.
pub fn manual() -> String {
    let mut page = Roff::new();
    let version = concat!("ingressd ", env!("CARGO_PKG_VERSION"));
    page.control("TH", ["ingressd.toml", "5", "", version, ""]);
    page.control("SH", ["NAME"]);
    page.text([roman("ingressd.toml - settings of ingressd")]);
    page.control("SH", ["SYNOPSIS"]);
    page.text([italic("/etc/ingressd/ingressd.toml"), roman(", "), italic("/etc/ingressd/conf.d/*.toml")]);
    page.control("SH", ["DESCRIPTION"]);
    for paragraph in [
        "The daemon and the offline commands read their settings from several sources, of which later ones override earlier ones: defaults, the file, the drop-ins in the order of their names, environment variables, flags.",
        "The variable of a key is `INGRESSD_` and the key in upper case with `.` and `-` as `_`: `INGRESSD_LISTEN_HTTP_PORT`. On the command line it is `--set listen.http-port=8080`. In both, strings need no quotes and lists may be separated by commas.",
        "Unknown keys and values of the wrong form are errors that name file, line and key: exit status 78 at the start; on a reload (`systemctl reload ingressd`) the settings in force stay.",
    ] {
        page.control("PP", []);
        page.text(inlines(paragraph));
    }
    for (section, about, rows) in sections() {
        page.control("SH", [if section.is_empty() { "KEYS" } else { section }.to_uppercase().as_str()]);
        page.text([roman(about), roman(".")]);
        for row in rows {
            page.control("TP", []);
            page.text([
                bold(row.key),
                roman(format!(" (about {}; ", row.scope.about())),
                roman(row.form.name()),
                roman("; default "),
                italic(row.default),
                roman(")"),
            ]);
            page.text(inlines(row.doc));
            if let Form::Tables(columns) = row.form {
                page.control("RS", []);
                for column in columns {
                    page.control("TP", []);
                    page.text([bold(column.key), roman(" ("), roman(column.form.name()), roman(")")]);
                    page.text(inlines(column.doc));
                }
                page.control("RE", []);
            }
        }
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([
        bold("ingressd"),
        roman("(8), "),
        bold("ingressd-run"),
        roman("(8), "),
        bold("ingressd-annotations"),
        roman("(7)"),
    ]);
    page.to_roff()
}

/// The reference of all keys in Markdown; each has an anchor.
pub fn reference() -> String {
    let mut text = String::from(
        "# Settings\n\nWith this page you can look up every setting: its effect, its form, its default and its variable. Words that the page does\n\
         not explain are in the [glossary](glossary.md).\n\n\
         The daemon reads `/etc/ingressd/ingressd.toml`, then `/etc/ingressd/conf.d/*.toml` in the order of their names, then environment\n\
         variables, then flags; later ones override earlier ones. Write a key below the header of its section, `http-port = 8080` below\n\
         `[listen]`, or `listen.http-port = 8080` before any header. An unknown key or a value of the wrong form is an error with file,\n\
         line and key: the daemon ends with exit status 78, or on `systemctl reload ingressd` keeps the earlier settings.\n\n\
         The same is in `ingressd.toml(5)`.\n",
    );
    for (_, about, rows) in sections() {
        text.push_str(&format!("\n## {about}\n"));
        for row in rows {
            let (key, form, default, variable) = (row.key, row.form.name(), row.default, row.variable());
            text.push_str(&format!(
                "\n### {key}\n\n{}\n\nAbout {}. Form: {form}; default `{default}`; variable `{variable}`.\n",
                row.doc,
                row.scope.about(),
            ));
            if let Form::Tables(columns) = row.form {
                text.push_str("\n| key | form | meaning |\n| --- | --- | --- |\n");
                for column in columns {
                    text.push_str(&format!("| `{}` | {} | {} |\n", column.key, column.form.name(), column.doc));
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_with_every_key_uncommented_holds_the_defaults() {
        let uncommented: String = sample()
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ingressd.toml");
        std::fs::write(&file, uncommented).unwrap();
        let read = crate::Sources { file: Some(file), ..Default::default() }.load().unwrap();
        let mut default = crate::Settings::default();
        // The sample shows these keys, which are absent by default.
        default.translate.allowed_hosts = read.translate.allowed_hosts.clone();
        assert_eq!(default.translate.allowed_hosts.len(), 1);
        default.translate.snippets = read.translate.snippets.clone();
        assert_eq!(default.translate.snippets.len(), 1);
        default.translate.classes[0].class_name = Some("nginx".into());
        default.translate.classes[0].legacy_class = Some("nginx".into());
        default.translate.classes[0].endpoints = Some(ingressd_translate::EndpointMode::Pod);
        default.translate.classes[0].ownership = Some(ingressd_translate::HostOwnership::Namespace);
        // The places of values are not part of the comparison, and these keys are told to others.
        (default.written, default.decisive) = (read.written.clone(), read.decisive.clone());
        assert_eq!(format!("{read:?}"), format!("{default:?}"));
    }
}
