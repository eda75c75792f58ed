//! Generates docs/ingress-nginx.md from the tables of annotations, ConfigMap keys and flags.

use std::fmt::Write as _;

use super::flags::FLAGS;
use super::item::Equivalence;
use ingressd_translate::ANNOTATIONS;
use ingressd_translate::annotation::{Compared, mistakes};

const INTRODUCTION: &str = "# ingressd compared with ingress-nginx\n\n\
With this page you can look up whether ingressd serves an annotation, a key of the ConfigMap or a flag\n\
as ingress-nginx does. Words that the page does not explain are in the [glossary](glossary.md).\n\n\
- **equal**: the same, in classes with the dialect `ingress-nginx`.\n\
- **stricter**: the same, but ingressd accepts fewer requests or values, for the reason in the table.\n\
- **different**: it has another effect, or you have to do something first.\n\
- **refused**: it has no effect. Without an annotation that protects something the routes answer 503,\n  \
or the object is not served; [annotations.md](annotations.md) says which. A value that asks for\n  \
what ingressd always does is equal.\n\n\
A row is about values that both programs accept; a [later section](#values-that-are-refused) is about\n\
other values. [`ingressd migrate report`](migrate.md) judges the values of your objects.\n";

/// Differences that do not depend on any key.
const BEHAVIOURS: &[(&str, Compared)] = &[
    (
        "A path that two Ingresses of one namespace and one second ask for",
        Compared::Different(
            "The Ingress whose name comes first in the alphabet gets the path; with ingress-nginx the one whose name \
             comes last.",
            "write the path in one of them",
        ),
    ),
    (
        "A path or host that two namespaces ask for",
        Compared::Stricter(
            "The namespace that asked first gets it, whatever the age of the object, and a protected path loses no \
                requests to namespaces that came later. On a host of another namespace an expression counts as the \
                whole elements that it begins with: `/team.*` counts as `/`. Challenges of certificate authorities \
                belong to the namespace that asked first for the host.",
            "see [security-review.md](security-review.md#hosts)",
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
        "`spec.defaultBackend` beside a rule without a host in one Ingress",
        Compared::Different(
            "It gets all other requests for unknown hosts; with ingress-nginx the default backend of the controller gets them.",
            "remove spec.defaultBackend where it had no effect",
        ),
    ),
    (
        "Ingresses without a host",
        Compared::Stricter(
            "They set no certificate for unknown hosts, and do not replace the default backend.",
            "set `hosts.catch-all`",
        ),
    ),
    (
        "Annotations about redirects and rewrites of an Ingress with `spec.defaultBackend` and without rules",
        Compared::Different(
            "They count for requests of unknown hosts; ingress-nginx ignores them there.",
            "remove those that had no effect",
        ),
    ),
    (
        "An Ingress that nginx refuses",
        Compared::Different(
            "Only this Ingress is left out, or its last good version is served; changes of others are \
                             applied.",
            "",
        ),
    ),
    ("`appProtocol` of a Service, in classes of the dialect ingress-nginx", Compared::Equal),
    (
        "`appProtocol` of a Service, in classes of the specification's dialect",
        Compared::Different(
            "It sets the protocol towards the backend where no annotation does.",
            "set backend-protocol, or `upstreams.app-protocol` to off",
        ),
    ),
    (
        "Numbers without a bound, such as `proxy-body-size: 0` or a time of years",
        Compared::Stricter(
            "The administrator's ceiling is used instead, with a finding.",
            "see section `limits` of the [settings](settings.md)",
        ),
    ),
    ("Endpoints that terminate", Compared::Different("They get requests while no other endpoint is ready.", "")),
    (
        "`/nginx_status` of the default server",
        Compared::Different("The counters of nginx are available only on a loopback address.", "see `listen.status`"),
    ),
    (
        "The Event `Sync`",
        Compared::Different(
            "`Synced` says that nginx serves a version; other Events report what is wrong with \
            it.",
            "",
        ),
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
    text += &mistakes::document(&ANNOTATIONS, |compared| Equivalence::from(compared).name());
    let _ = write!(text, "\n## Keys of the ConfigMap\n\n{KEYS}{HEAD}");
    for facts in ingressd_config::config_map_keys() {
        line(&mut text, &format!("`{}`", facts.name), facts.compared);
    }
    let _ =
        write!(text, "\n## Without a key\n\n| behaviour | effect | why | what to do |\n| --- | --- | --- | --- |\n");
    for (behaviour, compared) in BEHAVIOURS {
        line(&mut text, behaviour, *compared);
    }
    text += "\n## Flags\n\n`ingressd migrate settings` prints the settings that replace them.\n\n\
             | flag | default | replacement |\n| --- | --- | --- |\n";
    for flag in FLAGS {
        let default = if flag.default.is_empty() { String::new() } else { format!("`{}`", flag.default) };
        let dashes = if flag.name.len() > 1 { "--" } else { "-" };
        let _ = writeln!(text, "| `{dashes}{}` | {default} | {} |", flag.name, flag.words());
    }
    text
}

/// The introduction of the table of keys.
const KEYS: &str = "[configmap.md](configmap.md) has the effect of each key. In ingress-nginx a value that a key does\n\
not accept is a line in the log of the controller, and the default of the program is used, or those words\n\
of a list that are valid. In ingressd it is a finding of the ConfigMap, and the setting or the default\n\
applies; where the key protects something, the last good version of the whole ConfigMap does.\n\n";

/// The introduction of the table of values that are refused.
const MISTAKES: &str = "\n## Values that are refused\n\n\
In ingressd a value that a key does not accept is always a [finding](findings.md) of the object; in\n\
ingress-nginx it is a line in the log of the controller, or nothing. Both serve the last good version\n\
of an object that is refused, where there is one. Where the table says that the default is used, it is\n\
the default in the settings or the ConfigMap.\n\n\
A value of the right form may still be one that nginx cannot serve, such as status 200 for a redirect.\n\
ingress-nginx leaves it out, or cannot change the configuration of the node any more. ingressd leaves\n\
it out with a finding, or refuses only this object; [annotations.md](annotations.md) shows examples\n\
for each key. Keys that are not served are not listed.\n\n";

const HEAD: &str = "| key | effect | why | what to do |\n| --- | --- | --- | --- |\n";

fn line(text: &mut String, name: &str, compared: Compared) {
    let (why, remedy) = compared.words();
    let _ = writeln!(text, "| {name} | {} | {} | {} |", Equivalence::from(compared).name(), cell(why), cell(remedy));
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
