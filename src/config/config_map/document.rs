//! Generates docs/configmap.md from the table of keys.

use std::fmt::Write as _;

use super::keys::{Effect, Headers, KEYS, Key};
use crate::translate::ANNOTATIONS;
use crate::translate::annotation::{Compared, OnError, Row};

const INTRODUCTION: &str = "# The ConfigMap of ingress-nginx\n\n\
With this page you can look up what each key of the ConfigMap of an ingress-nginx does here. Words\n\
that it does not explain are in the [glossary](glossary.md).\n\n\
An ingress-nginx is given a ConfigMap with its flag `--configmap`. ingressd reads the same one:\n\n\
```toml\n[ingress-nginx]\nconfigmap = \"ingress-nginx/ingress-nginx-controller\"\n```\n\n\
What it says counts for all Ingresses that are served, and before the settings of `ingressd.toml`;\n\
annotations count before it. A change is one reload. A key that cannot be used is a finding at the\n\
ConfigMap (`ingressd status`, and an Event on it); the others count. Where the value of a key that\n\
protects something cannot be used, such as `whitelist-source-range` or `proxy-real-ip-cidr`, the\n\
last good version of the ConfigMap goes on counting. Without one a list of clients closes the\n\
routes (503) until it is mended; other keys have no effect then. A ConfigMap that is deleted while\n\
the setting names it goes on counting as it was: take the setting out first. An empty value is\n\
the same as no key.\n\n\
The account needs the right to read ConfigMaps in that namespace: `ingressd kubeconfig` grants it\n\
when the setting is there.\n\n\
`enable-underscores-in-headers: true` and `ignore-invalid-headers: false` let clients send headers\n\
such as `X_Forwarded_For` and `ssl_client_verify`, which some backends take for those with dashes\n\
that nginx vouches for.\n\n\
Until nginx knows the host of a request, directives of every server, such as `keep-alive`, count\n\
as the default server of the port has them.\n\n\
| key | about | what it does |\n| --- | --- | --- |\n";

/// The page.
pub fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for key in KEYS {
        let _ = writeln!(text, "| `{}` | {} | {} |", key.name, key.scope().about(), words(key));
    }
    text
}

/// The facts about one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFacts {
    /// Its name.
    pub name: &'static str,
    /// Its effect here.
    pub becomes: String,
    /// The effect compared with ingress-nginx.
    pub compared: Compared,
    /// Whether it has an effect of its own.
    pub is_served: bool,
}

/// Every key.
pub fn facts() -> impl Iterator<Item = KeyFacts> {
    KEYS.iter().map(|key| KeyFacts {
        name: key.name,
        becomes: words(key),
        compared: key.compared(),
        is_served: !matches!(
            key.effect,
            Effect::Unserved { .. } | Effect::Host(_) | Effect::Snippet(..) | Effect::Tables
        ),
    })
}

fn words(key: &Key) -> String {
    match key.effect {
        Effect::Annotation(name) => match ANNOTATIONS.find(name) {
            Some(row) if row.is_served() => format!("default of the annotation `{name}`"),
            Some(Row { on_error: OnError::Close, .. }) => {
                format!("closes the routes (503), because the annotation `{name}` protects them and is not served yet")
            }
            _ => format!("no effect as long as the annotation `{name}` is not served"),
        },
        Effect::Setting(name, _) => format!("takes the place of the setting `{name}`"),
        Effect::Server(row, _) => format!("`{}` in every server", row.name),
        Effect::Headers(Headers::Answers) => "headers of all answers, one for each key of the ConfigMap of the same \
                                              namespace that it names, besides the setting `headers.answers`"
            .to_owned(),
        Effect::Headers(Headers::Requests) => "headers of all requests to backends, one for each key of the ConfigMap of \
                                               the same namespace that it names, besides the setting `headers.requests`"
            .to_owned(),
        Effect::Directives(words, _) | Effect::Finally(_, words, _) | Effect::Read(words, _) => words.to_owned(),
        Effect::Brotli(_) => "says with the others how answers are compressed by Brotli in every server, when `enable-brotli` is \
                              true and nginx has the module (libnginx-mod-http-brotli-filter)"
            .to_owned(),
        Effect::Gzip(_) => "says with the others how answers are compressed in every server, when `use-gzip` is true: \
                            `gzip-level`, `gzip-min-length`, `gzip-types` and `gzip-disable`"
            .to_owned(),
        Effect::Forwarded(_) => "says with the others who is believed about clients, in the place of the \
                                 setting `access.trusted-proxies`: `use-forwarded-headers` switches it on or off for \
                                 `X-Forwarded` headers, `enable-real-ip` for the address of the client alone, \
                                 `use-proxy-protocol` switches it on for the PROXY protocol alone, `proxy-real-ip-cidr` \
                                 lists the proxies; without a list, and without the setting, everybody is believed, with \
                                 a finding"
            .to_owned(),
        Effect::Host(directive) => format!("no effect: belongs to nginx.conf of each node as `{directive}`"),
        Effect::Snippet(annotation, _) => format!(
            "counts for all routes beside the annotation `{annotation}` where the setting `snippets.allowed` lets the namespace of \
             the ConfigMap write it"
        ),
        Effect::Tables => "tables (`map` and `geo`) whose variables snippets may read, where the setting `snippets.allowed` lets the \
                           namespace of the ConfigMap write them"
            .to_owned(),
        Effect::Unserved { harmless: "", instead } => format!("no effect: {instead}"),
        Effect::Unserved { harmless, instead } => format!("no effect but as `{harmless}`: {instead}"),
    }
}
