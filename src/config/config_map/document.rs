//! docs/configmap.md, made of the table of keys.

use std::fmt::Write as _;

use super::keys::{Effect, KEYS, Key};

const INTRODUCTION: &str = "# The ConfigMap of ingress-nginx\n\n\
With this page you can look up what each key of the ConfigMap of an ingress-nginx does here. Words\n\
that it does not explain are in the [glossary](glossary.md).\n\n\
An ingress-nginx is given a ConfigMap with its flag `--configmap`. ingressd reads the same one:\n\n\
```toml\n[ingress-nginx]\nconfigmap = \"ingress-nginx/ingress-nginx-controller\"\n```\n\n\
What it says counts for all Ingresses that are served, and before the settings of `ingressd.toml`;\n\
annotations count before it. A change is one reload. A key that cannot be used is a finding at the\n\
ConfigMap (`ingressd status`, and an Event on it); the others count. Where the value of a key that\n\
protects something cannot be used, such as `whitelist-source-range` or `proxy-real-ip-cidr`, the last\n\
good version of the ConfigMap goes on counting; without one such a list closes the routes (503) until\n\
it is mended, and another key has no effect. A ConfigMap that is deleted while the setting names it\n\
goes on counting as it was: take the setting out first. An empty value\n\
is the same as no key. The account needs the right to read ConfigMaps in that namespace:\n\
`ingressd kubeconfig` grants it when the setting is there.\n\n\
`enable-underscores-in-headers: true` and `ignore-invalid-headers: false` let clients send headers\n\
such as `X_Forwarded_For` and `ssl_client_verify`, which some backends take for those with dashes\n\
that nginx vouches for.\n\n\
What every server says (`keep-alive` and others below) nginx takes of the default server of a port\n\
until it knows the host of a request.\n\n\
| key | what it does |\n| --- | --- |\n";

/// The page.
pub fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for key in KEYS {
        let _ = writeln!(text, "| `{}` | {} |", key.name, words(key));
    }
    text
}

fn words(key: &Key) -> String {
    match key.effect {
        Effect::Annotation(name) => format!("default of the annotation `{name}`"),
        Effect::Setting(name, _) => format!("takes the place of the setting `{name}`"),
        Effect::Server(row, _) => format!("`{}` in every server", row.name),
        Effect::Forwarded(_) => "says with the others who is believed about clients, in the place of the \
                                 setting `access.trusted-proxies`: `use-forwarded-headers` or `enable-real-ip` switches \
                                 it on or off for `X-Forwarded` headers, `use-proxy-protocol` switches it on for the PROXY \
                                 protocol alone, `proxy-real-ip-cidr` lists the proxies; without a list, and without the \
                                 setting, everybody is believed, with a finding"
            .to_owned(),
        Effect::Host(directive) => format!("no effect: belongs to nginx.conf of each node as `{directive}`"),
        Effect::Unserved { harmless: "", instead } => format!("no effect: {instead}"),
        Effect::Unserved { harmless, instead } => format!("no effect but as `{harmless}`: {instead}"),
    }
}
