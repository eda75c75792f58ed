//! Explains a difference by annotations, fields, keys or flags: from the report about the
//! Ingresses of a host, and from what each can change. It must not know how a difference was
//! found.

use super::answer::Part;
use crate::item::{Equivalence, Item};
use crate::report::Report;

/// The most explanations of one difference.
const MOST: usize = 4;

/// The kind of an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An annotation of an Ingress.
    Annotation,
    /// Another part of an Ingress.
    Field,
    /// A key of the ConfigMap.
    Key,
    /// A flag of the controller.
    Flag,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Annotation => "annotation",
            Kind::Field => "field",
            Kind::Key => "key of the ConfigMap",
            Kind::Flag => "flag",
        }
    }
}

/// An explanation of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Because {
    /// Its kind.
    pub kind: Kind,
    /// The Ingress, as namespace/name; empty for keys and flags, which hold for all.
    pub ingress: String,
    /// The item of the report.
    pub item: Item,
    /// Whether the report predicts the difference: the item is not equal, and can have this
    /// effect. Otherwise it is only related to the difference.
    pub is_foreseen: bool,
}

/// What an annotation or key can change in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topic {
    /// Access control and limits.
    Access,
    /// The selected backend, and its request headers.
    Backend,
    /// The certificate, and TLS.
    Tls,
    /// Redirects and the matching of paths.
    Routing,
    /// Session cookies.
    Session,
    /// Cookies of backends.
    Cookies,
    /// Redirects of backends.
    Location,
    /// CORS headers.
    Cors,
    /// Strict-Transport-Security.
    Hsts,
    /// Other headers.
    Headers,
    /// Error pages.
    Errors,
    Compression,
    /// Any part.
    Anything,
    /// Nothing that a client sees.
    Nothing,
}

/// Prefixes of names, and what they can change; the first match counts. Other parts of an object
/// can change anything; other settings for all change nothing that is compared, except snippets.
const TOPICS: &[(&str, Topic)] = &[
    ("access-log", Topic::Nothing),
    ("affinity", Topic::Session),
    ("allow-snippet", Topic::Nothing),
    ("allowlist", Topic::Access),
    ("annotation", Topic::Nothing),
    ("app-root", Topic::Routing),
    ("auth-always-set-cookie", Topic::Cookies),
    ("auth", Topic::Access),
    ("block-", Topic::Access),
    ("brotli", Topic::Compression),
    ("cors-", Topic::Cors),
    ("custom-headers", Topic::Headers),
    ("custom-http-errors", Topic::Errors),
    ("default-backend", Topic::Errors),
    ("default-type", Topic::Errors),
    ("denylist", Topic::Access),
    ("disable-access-log", Topic::Nothing),
    ("disable-proxy-intercept-errors", Topic::Errors),
    ("enable-access-log", Topic::Nothing),
    ("enable-brotli", Topic::Compression),
    ("enable-cors", Topic::Cors),
    ("enable-global-auth", Topic::Access),
    ("enable-modsecurity", Topic::Access),
    ("enable-opentelemetry", Topic::Nothing),
    ("enable-owasp", Topic::Access),
    ("enable-rewrite-log", Topic::Nothing),
    ("enable-underscores-in-headers", Topic::Backend),
    ("error-log", Topic::Nothing),
    ("force-ssl-redirect", Topic::Routing),
    ("from-to-www-redirect", Topic::Routing),
    ("add-headers", Topic::Headers),
    ("global-allowed-response-headers", Topic::Headers),
    ("global-auth", Topic::Access),
    ("gzip", Topic::Compression),
    ("hide-headers", Topic::Headers),
    ("hsts", Topic::Hsts),
    ("http-redirect-code", Topic::Routing),
    ("limit-", Topic::Access),
    ("log-format", Topic::Nothing),
    ("max-worker", Topic::Nothing),
    ("mirror", Topic::Nothing),
    ("modsecurity", Topic::Access),
    ("no-auth-locations", Topic::Access),
    ("no-tls-redirect-locations", Topic::Routing),
    ("opentelemetry", Topic::Nothing),
    ("otel", Topic::Nothing),
    ("otlp", Topic::Nothing),
    ("permanent-redirect", Topic::Routing),
    ("preserve-trailing-slash", Topic::Routing),
    ("proxy-cookie", Topic::Cookies),
    ("proxy-redirect", Topic::Location),
    ("relative-redirects", Topic::Routing),
    ("rewrite-target", Topic::Routing),
    ("satisfy", Topic::Access),
    ("session-cookie", Topic::Session),
    ("spec.tls", Topic::Tls),
    ("ssl-passthrough", Topic::Tls),
    ("ssl-redirect", Topic::Routing),
    ("ssl-", Topic::Tls),
    ("temporal-redirect", Topic::Routing),
    ("use-gzip", Topic::Compression),
    ("use-port-in-redirects", Topic::Routing),
    ("use-regex", Topic::Routing),
    ("whitelist", Topic::Access),
    ("worker-", Topic::Nothing),
    ("--default-ssl-certificate", Topic::Tls),
    ("--default-backend-service", Topic::Errors),
    ("--disable-catch-all", Topic::Routing),
    ("--enable-ssl-", Topic::Tls),
    ("--http", Topic::Nothing),
    ("--watch-", Topic::Anything),
    ("--", Topic::Nothing),
    ("backend-protocol", Topic::Backend),
    ("canary", Topic::Backend),
    ("client-", Topic::Backend),
    ("compute-full-forwarded-for", Topic::Backend),
    ("connection-proxy-header", Topic::Backend),
    ("fastcgi", Topic::Backend),
    ("forwarded-", Topic::Backend),
    ("load-balance", Topic::Backend),
    ("proxy-", Topic::Backend),
    ("service-upstream", Topic::Backend),
    ("strict-validate-path-type", Topic::Routing),
    ("upstream-", Topic::Backend),
    ("use-forwarded-headers", Topic::Backend),
    ("x-forwarded-prefix", Topic::Backend),
];

/// The statuses of access control and limits.
const OF_ACCESS: [&str; 9] = ["302", "400", "401", "403", "429", "495", "496", "500", "503"];

impl Topic {
    fn of(because: &Because) -> Self {
        let name = &because.item.name;
        let known = TOPICS.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, topic)| *topic);
        let is_of_object = matches!(because.kind, Kind::Annotation | Kind::Field);
        let unknown = if is_of_object || name.contains("snippet") { Topic::Anything } else { Topic::Nothing };
        known.unwrap_or(unknown)
    }

    /// Whether a difference in this part may come from the topic, given all parts that differ in
    /// the same answer: a body that is compressed on one side, or an error on one side, shows in
    /// another part too.
    fn may_cause(self, part: &Part, values: [&str; 2], seen: &[Part]) -> bool {
        let is_seen = |name: &str| seen.iter().any(|part| matches!(part, Part::Header(seen) if seen == name));
        let is_other_end = || seen.contains(&Part::Status) || seen.contains(&Part::Answer);
        let header = match part {
            Part::Header(name) => name.as_str(),
            _ => "",
        };
        let is_cors = header.starts_with("access-control-") || header == "vary";
        match self {
            Topic::Anything => !matches!(part, Part::Certificate),
            Topic::Nothing => false,
            Topic::Access => match part {
                Part::Status => values.iter().any(|value| OF_ACCESS.contains(value)),
                Part::Answer | Part::Location => true,
                Part::Body => is_other_end(),
                _ => ["www-authenticate", "retry-after"].contains(&header),
            },
            Topic::Backend => !matches!(part, Part::Certificate) && !is_cors && header != "strict-transport-security",
            Topic::Tls => matches!(part, Part::Answer | Part::Certificate | Part::Status | Part::Location),
            Topic::Routing => matches!(part, Part::Status | Part::Location | Part::Body) || header == "content-type",
            Topic::Session | Topic::Cookies => matches!(part, Part::Cookie(_)),
            Topic::Location => matches!(part, Part::Location) || header == "refresh",
            Topic::Cors => is_cors || matches!(part, Part::Status),
            Topic::Hsts => header == "strict-transport-security",
            Topic::Headers => matches!(part, Part::Header(_)),
            Topic::Errors => match part {
                Part::Body => is_other_end() || is_seen("content-type"),
                part => matches!(part, Part::Status) || header == "content-type",
            },
            Topic::Compression => match part {
                Part::Body => is_seen("content-encoding"),
                _ => ["content-encoding", "vary", "etag"].contains(&header),
            },
        }
    }
}

/// The explanations of a difference in a part, given both values and all parts that differ: items
/// that are not equal, first of the Ingress whose route matched, then of other Ingresses of the
/// host, then of the ConfigMap and the flags; without any, items that are related to the part.
pub fn explain(
    part: &Part,
    values: [&str; 2],
    seen: &[Part],
    ingress: Option<&str>,
    others: &[String],
    report: &Report,
) -> Vec<Because> {
    let own = ingress.into_iter().flat_map(|name| of_ingress(report, name));
    let others = others.iter().filter(|other| Some(other.as_str()) != ingress);
    let others = others.flat_map(|name| of_ingress(report, name));
    let of = |kind: Kind| move |item: &Item| because(kind, "", item);
    let keys = report.config_map.iter().flat_map(|(_, items)| items).map(of(Kind::Key));
    let of_all = keys.chain(report.flags.iter().map(of(Kind::Flag)));
    let groups: [Vec<Because>; 3] = [own.collect(), others.collect(), of_all.collect()];
    let concerns = |because: &&Because| Topic::of(because).may_cause(part, values, seen);
    let groups = groups.map(|group| group.iter().filter(concerns).cloned().collect::<Vec<_>>());
    let foreseen = groups.iter().map(|group| group.iter().filter(|because| because.is_foreseen).cloned());
    let foreseen = foreseen.map(Vec::from_iter).find(|found| !found.is_empty());
    let mut found = foreseen.unwrap_or_else(|| {
        let is_about =
            |because: &&Because| Topic::of(because) != Topic::Anything || because.item.verdict != Equivalence::Equal;
        groups.iter().flatten().filter(is_about).cloned().collect()
    });
    found.sort_by_key(|because| {
        let is_vague = Topic::of(because) == Topic::Anything;
        (std::cmp::Reverse(because.item.verdict), is_vague)
    });
    found.truncate(MOST);
    found
}

fn because(kind: Kind, ingress: &str, item: &Item) -> Because {
    let because = Because { kind, ingress: ingress.to_owned(), item: item.clone(), is_foreseen: false };
    // A setting for all that can change anything does not explain a particular difference.
    let is_vague = ingress.is_empty() && Topic::of(&because) == Topic::Anything;
    Because { is_foreseen: item.verdict != Equivalence::Equal && !is_vague, ..because }
}

/// All items of the report about an Ingress.
fn of_ingress(report: &Report, name: &str) -> Vec<Because> {
    let is_meant = |one: &&crate::report::Ingress| name.split_once('/') == Some((&one.namespace, &one.name));
    let items = report.ingresses.iter().filter(is_meant).flat_map(|ingress| &ingress.items);
    let of = |item: &Item| {
        let is_field = item.name.contains(['.', '[', ' ', '/']);
        because(if is_field { Kind::Field } else { Kind::Annotation }, name, item)
    };
    items.map(of).collect()
}
