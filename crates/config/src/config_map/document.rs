//! Generates docs/configmap.md from the table of keys.

use std::fmt::Write as _;

use super::compared::NOTHING;
use super::keys::{Effect, Headers, KEYS, Key};
use ingressd_model::{LogVariable, VariableClass};
use ingressd_translate::ANNOTATIONS;
use ingressd_translate::annotation::{Compared, OnError, Row, asks, asks_for_nothing};

const INTRODUCTION: &str = "# The ConfigMap of ingress-nginx\n\n\
With this page you can look up what ingressd does with each key of the ConfigMap of ingress-nginx.\n\
Words that the page does not explain are in the [glossary](glossary.md).\n\n\
ingress-nginx reads the ConfigMap that its flag `--configmap` names. ingressd reads the same one:\n\n\
```toml\n[ingress-nginx]\nconfigmap = \"ingress-nginx/ingress-nginx-controller\"\n```\n\n\
It applies to all Ingresses of ingressd. Its keys override the settings of `ingressd.toml`, and\n\
annotations override its keys. A change takes one reload. A key that cannot be used is a finding of\n\
the ConfigMap (`ingressd status`, and an Event), and the other keys stay in force. There is one\n\
exception: when the value of a key that protects something cannot be used, such as\n\
`whitelist-source-range` or `proxy-real-ip-cidr`, the last good version of the whole ConfigMap\n\
stays in force. Without such a version a bad list of clients closes the routes (503) until it is\n\
corrected, and other bad keys have no effect. A ConfigMap that is deleted while the setting names\n\
it also stays in force: remove the setting first. An empty value is the same as no key.\n\n\
The account of the node needs the right to read ConfigMaps in that namespace: `ingressd kubeconfig`\n\
grants it when the setting is there.\n\n\
With `enable-underscores-in-headers: true` or `ignore-invalid-headers: false` clients can send\n\
headers such as `X_Forwarded_For` and `ssl_client_verify`, which some backends confuse with the\n\
headers with dashes that nginx sets.\n\n\
Directives that are set in every server, such as `keep-alive`, have the values of the default\n\
server of the port until nginx knows the host of a request.\n\n\
| key | about | effect |\n| --- | --- | --- |\n";

const VARIABLES: &str = "\n## Variables in headers\n\n\
The headers of the ConfigMaps that `proxy-set-headers`, `custom-headers` and `add-headers` name, and\n\
those of the settings `headers.requests` and `headers.answers`, may hold the variables below. For\n\
`NAME` write a name in small letters, with `_` for `-`. Variables with passwords, all cookies or a\n\
body are not among them. A variable that this nginx does not have is `-`, with a finding. Some, such\n\
as `$uri` and `$remote_user`, hold what nginx has decoded: where that has a control character, they\n\
are empty, and with the path in a header such requests get 400.\n\n";

/// The page.
pub fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for key in KEYS {
        let _ = writeln!(text, "| `{}` | {} | {} |", key.name, key.scope().about(), words(key));
    }
    text.push_str(VARIABLES);
    let named = LogVariable::names().map(str::to_owned).chain(VariableClass::reported());
    for name in named {
        let _ = writeln!(text, "- `${name}`");
    }
    text
}

/// The facts about one key.
#[derive(Debug, Clone)]
pub struct KeyFacts {
    pub name: &'static str,
    /// Its effect here.
    pub becomes: String,
    /// The effect compared with ingress-nginx.
    pub compared: Compared,
    /// Whether it has an effect of its own.
    pub is_served: bool,
    key: &'static Key,
}

impl KeyFacts {
    /// Whether a value asks for what happens anyway, with ingress-nginx too.
    pub fn asks_for_nothing(&self, value: &str) -> bool {
        match self.key.effect {
            Effect::Annotation(name) => ANNOTATIONS.find(name).is_some_and(|row| asks_for_nothing(row, value)),
            _ => NOTHING.iter().any(|(name, harmless)| *name == self.name && !asks(value, harmless)),
        }
    }
}

/// Every key.
pub fn facts() -> impl Iterator<Item = KeyFacts> {
    KEYS.iter().map(|key| KeyFacts {
        name: key.name,
        becomes: words(key),
        compared: key.compared(),
        is_served: !matches!(
            key.effect,
            Effect::Unserved { .. } | Effect::Host(_) | Effect::Snippet(..) | Effect::Whole(..)
        ),
        key,
    })
}

fn words(key: &Key) -> String {
    match key.effect {
        Effect::Annotation(name) => match ANNOTATIONS.find(name) {
            Some(row) if row.is_served() => format!("default of the annotation `{name}`"),
            Some(Row { on_error: OnError::Close, .. }) => {
                format!("closes the routes (503), because the annotation `{name}` protects them and is not served")
            }
            _ => format!("no effect as long as the annotation `{name}` is not served"),
        },
        Effect::Setting(name, _) => format!("overrides the setting `{name}`"),
        Effect::Server(row, _) => format!("`{}` in every server", row.name),
        Effect::Headers(Headers::Answers) => "headers of all responses, one for each key of the ConfigMap of the same \
                                              namespace that it names, in addition to the setting `headers.answers`"
            .to_owned(),
        Effect::Headers(Headers::Requests) => "headers of all requests to backends, one for each key of the ConfigMap of \
                                               the same namespace that it names, in addition to the setting `headers.requests`"
            .to_owned(),
        Effect::Directives(words, _)
        | Effect::Finally(_, words, _)
        | Effect::Read(words, _) => words.to_owned(),
        Effect::Brotli(_) => "compression of responses by Brotli in every server, when `enable-brotli` is true and nginx has the \
                              module (libnginx-mod-http-brotli-filter)"
            .to_owned(),
        Effect::Gzip(_) => "compression of responses by gzip in every server, when `use-gzip` is true, with `gzip-level`, \
                            `gzip-min-length`, `gzip-types` and `gzip-disable`"
            .to_owned(),
        Effect::Forwarded(_) => "trusted proxies, instead of the setting `access.trusted-proxies`: `use-forwarded-headers` \
                                 switches `X-Forwarded` headers on or off, `enable-real-ip` those about the address of the \
                                 client alone, `use-proxy-protocol` switches the PROXY protocol on, `proxy-real-ip-cidr` lists \
                                 the proxies; without a list, and without the setting, every client is trusted, with a finding"
            .to_owned(),
        Effect::Host(directive) => format!("no effect: set `{directive}` in nginx.conf of each node"),
        Effect::Snippet(annotation, _) => format!(
            "applies to all routes, in addition to the annotation `{annotation}`, where the setting `snippets.allowed` allows it to \
             the namespace of the ConfigMap"
        ),
        Effect::Whole(_, words, _) => {
            format!("{words}, where the setting `snippets.allowed` allows them to the namespace of the ConfigMap")
        }
        Effect::Unserved { harmless: "", instead } => format!("no effect: {instead}"),
        Effect::Unserved { harmless, instead } => format!("no effect, and no finding for `{harmless}`: {instead}"),
    }
}
