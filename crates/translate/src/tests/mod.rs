//! Translations of manifests, as lines of text in tables.

mod aliases;
mod backends;
mod canaries;
mod certificates;
mod chains;
mod changes;
mod client_certificates;
pub mod cluster;
mod conditions;
pub mod dialects;
mod fallbacks;
mod host_options;
mod hosts_and_paths;
mod keys;
mod layers;
pub mod manifests;
mod modes;
mod needs;
mod order;
mod over_time;
mod passthrough;
mod rows;
mod selection;
mod series;
mod served;
mod settings;
mod strangers;
mod streams;
mod tenants;
mod touched;
mod whole_hosts;
mod wildcards;

use std::sync::Arc;

use crate::value::host;
use crate::{ClassRule, HostOwnership, INGRESS_NGINX, Names, Options, SPECIFICATION, Translation, Translator, World};
use ingressd_model::{Action, PathMatch, RewritePattern, Route, TlsTermination};
use manifests::snapshot;

/// Settings with a class of each dialect.
pub fn options() -> Options {
    let rule = |controller: &str, dialect, legacy: &str| ClassRule {
        legacy_class: Some(legacy.into()),
        ..ClassRule::new(controller, dialect)
    };
    let classes =
        vec![rule("ingressd/nginx", &SPECIFICATION, "ingressd"), rule("k8s.io/ingress-nginx", &INGRESS_NGINX, "nginx")];
    Options { classes, own_ports: vec![80, 443], ..Options::default() }
}

/// A time after the certificates of the fixtures become valid.
pub fn world() -> World {
    World { now: 1_800_000_000, ..World::default() }
}

/// The same with shared hosts.
pub fn shared() -> Options {
    Options { ownership: HostOwnership::Shared, ..options() }
}

/// The same with these answers of DNS.
pub fn named(names: Names) -> World {
    World { names: Arc::new(names), ..world() }
}

/// The same where these are addresses of this node.
pub fn at(own_addresses: &[&str]) -> World {
    World { own_addresses: own_addresses.iter().map(|own| own.parse().unwrap()).collect(), ..world() }
}

/// Translates the common fixtures with these documents.
pub fn translate(documents: &str, options: Options) -> Translation {
    translate_in(&world(), documents, options)
}

/// The same in this world.
pub fn translate_in(world: &World, documents: &str, options: Options) -> Translation {
    Translator::new(options).translate(&snapshot(documents), world, &Default::default())
}

/// A rule for one path.
pub fn path(path: &str, kind: &str, service: &str) -> String {
    format!("{{path: '{path}', pathType: {kind}, backend: {{service: {{name: {service}, port: {{number: 80}}}}}}}}")
}

/// An Ingress with one host; `annotations` are written as a flow map without the prefix.
pub fn ingress(name: &str, class: &str, host: &str, annotations: &str, paths: &[String]) -> String {
    let prefixed: Vec<_> = annotations
        .split(", ")
        .filter(|pair| !pair.is_empty())
        .map(|pair| format!("nginx.ingress.kubernetes.io/{pair}"))
        .collect();
    let (annotations, paths) = (prefixed.join(", "), paths.join(", "));
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}, namespace: default, annotations: \
         {{{annotations}}}}}\nspec: {{ingressClassName: {class}, rules: [{{host: '{host}', http: {{paths: [{paths}]}}}}]}}\n"
    )
}

/// Servers and routes, one on each line.
pub fn routes(translation: &Translation) -> Vec<String> {
    let mut lines = Vec::new();
    for server in &translation.model.servers {
        let tls = match &server.tls {
            TlsTermination::Default => "",
            TlsTermination::DefaultDeclared => " declared",
            TlsTermination::Own(_) => " own",
        };
        lines.push(format!("{}{tls}", host::written(&server.name)));
        lines.extend(server.routes.iter().map(|route| format!("  {}", line(route))));
        lines.push(format!("  else {}", line(&server.fallback)));
    }
    lines
}

fn line(route: &Route) -> String {
    let mark = |redirect: &bool| if *redirect { " 301" } else { "" };
    let path = match &route.path {
        PathMatch::Exact { path, redirect_to_slash } => format!("= {path}{}", mark(redirect_to_slash)),
        PathMatch::Prefix { path, redirect_to_slash } => format!("{path}{}", mark(redirect_to_slash)),
        PathMatch::Regex(pattern) => format!("~ {pattern}"),
    };
    let action = match &route.action {
        Action::Proxy { upstream, .. } => format!("{} {:?}", upstream.service, upstream.protocol),
        Action::Redirect { status, location } => format!("{status} {location}"),
        Action::ToRewritten => "302".to_owned(),
        Action::ToHost { status, host } => format!("{status} to {host}"),
        Action::Respond { status } => status.to_string(),
        Action::Closed => "503".to_owned(),
    };
    let rewrite = route.behaviour.rewrite.as_ref().map(|rewrite| match &rewrite.pattern {
        RewritePattern::Unanchored(pattern) => format!(" rewrite {pattern}"),
        RewritePattern::Anchored(pattern) => format!(" rewrite ^{pattern}"),
        RewritePattern::Whole => " rewrite all".to_owned(),
    });
    format!("{path} -> {action}{}", rewrite.unwrap_or_default())
}

/// Upstreams with their addresses, one on each line.
pub fn upstreams(translation: &Translation) -> Vec<String> {
    let line = |upstream: &std::sync::Arc<ingressd_model::Upstream>| {
        let endpoints = translation.tables.endpoints(&upstream.id).iter();
        let endpoints: String = endpoints.map(|one| format!(" {}*{}", one.address, one.weight)).collect();
        format!("{} {}{}{endpoints}", upstream.id.service, upstream.id.port, upstream.id.mode)
    };
    translation.model.upstreams.iter().map(line).collect()
}

/// Reasons of findings with the name of their object, one on each line.
pub fn findings(translation: &Translation) -> Vec<String> {
    let line =
        |finding: &ingressd_model::finding::Finding| format!("{} {}", finding.origin.object.name, finding.reason);
    translation.findings.iter().map(line).collect()
}
