//! Generates docs/ingress-nginx.md from the tables of annotations, ConfigMap keys and flags.

use std::fmt::Write as _;

use super::flags::FLAGS;
use super::item::Verdict;
use crate::config;
use crate::translate::ANNOTATIONS;
use crate::translate::annotation::{Compared, mistakes};

const INTRODUCTION: &str = "# ingressd beside ingress-nginx\n\n\
With this page you can look up how every annotation, key of the ConfigMap and flag of ingress-nginx\n\
is served here. Words that it does not explain are in the [glossary](glossary.md).\n\n\
- **equal**: the same, for classes with the dialect `ingress-nginx`.\n\
- **stricter**: the same, but less gets through or less is believed, for the reason that is given.\n\
- **different**: something else comes of it, or somebody has to do something first.\n\
- **refused**: nothing comes of it. An annotation that protects something closes its routes (503),\n  \
or the object is not served; [annotations.md](annotations.md) says which. A value that asks for\n  \
what happens anyway is equal.\n\n\
A row says what holds for a value that both programs take; what becomes of others is told\n\
[further down](#values-that-are-none). [`ingressd migrate report`](migrate.md) judges your values.\n";

/// Differences that do not depend on any key.
const BEHAVIOURS: &[(&str, Compared)] = &[
    (
        "A path that two Ingresses of one namespace and one second ask for",
        Compared::Different(
            "The one whose name comes first in the alphabet has it; with ingress-nginx the one whose name comes last.",
            "ask for it in one of them",
        ),
    ),
    (
        "A path or host that two namespaces ask for",
        Compared::Stricter(
            "Who asked first has it, whatever the age of the object, and a path that is protected loses nothing to others.",
            "see [security.md](security.md)",
        ),
    ),
    (
        "What nginx.conf of a node says of all sites, such as `keepalive_timeout` or `ssl_buffer_size`",
        Compared::Different(
            "It counts where no key says otherwise; with ingress-nginx the built-in values of the keys do.",
            "write the keys that matter into the ConfigMap",
        ),
    ),
    (
        "Ingresses without a host",
        Compared::Stricter(
            "They bring no certificate for unknown hosts, and do not replace the default backend.",
            "set `hosts.catch-all`",
        ),
    ),
    (
        "An Ingress that nginx refuses",
        Compared::Different("It alone is left out, or its last good version is served; others go on changing.", ""),
    ),
    (
        "`appProtocol` of a Service",
        Compared::Different(
            "It says how the backend is spoken to where no annotation does.",
            "set backend-protocol, or take appProtocol out",
        ),
    ),
    (
        "Numbers without a bound, such as `proxy-body-size: 0` or a time of years",
        Compared::Stricter(
            "The administrator's ceiling takes their place, with a finding.",
            "see section `limits` of the [settings](settings.md)",
        ),
    ),
    ("Endpoints that terminate", Compared::Different("They get requests while no other endpoint is ready.", "")),
    (
        "`/nginx_status` of the default server",
        Compared::Different("What nginx counts is asked on the loopback address alone.", "see `listen.status`"),
    ),
    (
        "The Event `Sync`",
        Compared::Different("`Synced` says that nginx serves a version; other Events tell what is wrong with it.", ""),
    ),
];

/// The page.
pub fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    let _ = write!(text, "\n## Annotations\n\nPrefix of all keys: `{}`.\n\n{HEAD}", ANNOTATIONS.prefix);
    let mut rows: Vec<_> = ANNOTATIONS.rows().collect();
    rows.sort_by_key(|row| row.key);
    for row in rows {
        let others: String = row.aliases.iter().map(|alias| format!(", `{alias}`")).collect();
        line(&mut text, &format!("[`{0}`](annotations.md#{0}){others}", row.key), row.compared);
    }
    text += MISTAKES;
    text += &mistakes::document(&ANNOTATIONS, |compared| Verdict::from(compared).name());
    let _ = write!(text, "\n## Keys of the ConfigMap\n\n{KEYS}{HEAD}");
    for facts in config::config_map_keys() {
        line(&mut text, &format!("`{}`", facts.name), facts.compared);
    }
    let _ =
        write!(text, "\n## Without a key\n\n| behaviour | effect | why | what to do |\n| --- | --- | --- | --- |\n");
    for (behaviour, compared) in BEHAVIOURS {
        line(&mut text, behaviour, *compared);
    }
    text += "\n## Flags\n\n`ingressd migrate settings` writes the settings that take their place.\n\n\
             | flag | default | what takes its place |\n| --- | --- | --- |\n";
    for flag in FLAGS {
        let default = if flag.default.is_empty() { String::new() } else { format!("`{}`", flag.default) };
        let dashes = if flag.name.len() > 1 { "--" } else { "-" };
        let _ = writeln!(text, "| `{dashes}{}` | {default} | {} |", flag.name, flag.words());
    }
    text
}

/// What is said before the table of keys.
const KEYS: &str = "[configmap.md](configmap.md) says what each becomes. With ingress-nginx a value that a key does\n\
not take is a line in the log of the controller, and the built-in value counts, or those words of a\n\
list that are good. Here it is a finding at the ConfigMap, and what counts below the ConfigMap goes\n\
on counting; where the key protects something, the last good version of the whole ConfigMap does.\n\n";

/// What is said before the table of values that are none.
const MISTAKES: &str = "\n## Values that are none\n\n\
A value that a key does not take is a [finding](findings.md) at the object here, whatever becomes of it;\n\
with ingress-nginx it is a line in the log of the controller, or nothing. An object that is refused is\n\
served by its last good version, where there is one, by both. Where the default counts, that of the\n\
settings or the ConfigMap does.\n\n\
A value of the right form may still be one that nginx cannot serve, such as status 200 for a redirect:\n\
with ingress-nginx it is left out, or the whole configuration of the node is never changed again. Here\n\
it is left out with a finding, or this object alone is refused;\n\
[annotations.md](annotations.md) shows examples for each key. Keys that are not served are not listed.\n\n";

const HEAD: &str = "| key | effect | why | what to do |\n| --- | --- | --- | --- |\n";

fn line(text: &mut String, name: &str, compared: Compared) {
    let (why, remedy) = compared.words();
    let _ = writeln!(text, "| {name} | {} | {} | {} |", Verdict::from(compared).name(), cell(why), cell(remedy));
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
