//! Checks the way to the cluster: credentials, the API server, its clock, and rights.

use std::collections::BTreeMap;

use super::some;
use crate::doctor::facts::{Cluster, Facts, Permission, Source};
use crate::doctor::report::{Found, Line};
use ingressd_cluster::source::cluster::DEFAULT_KUBECONFIG;
use ingressd_cluster::source::cluster::probe::AccessReview;

/// The difference of clocks in seconds at which certificates and tokens may fail, and at which
/// they will.
const SUSPICIOUS: i64 = 5;
const WRONG: i64 = 60;

/// The cluster, or a line why there is nothing to check.
pub fn cluster(facts: &Facts) -> Result<&Cluster, Line> {
    match &facts.source {
        Source::Cluster(cluster) => Ok(cluster),
        Source::Manifests(folder) => {
            let words = format!("the settings name the folder {}, not a cluster", folder.display());
            Err(Line::note(words))
        }
        Source::None => Err(Line::note("not looked at: no cluster is named, see kubeconfig")),
    }
}

/// The cluster, provided that its API server responds.
pub fn answering(facts: &Facts) -> Result<&Cluster, Line> {
    let cluster = cluster(facts)?;
    match &cluster.server {
        Some(Ok(_)) => Ok(cluster),
        Some(Err(_)) => Err(Line::note("not looked at: the API server does not answer, see api-server")),
        None => Err(Line::note("not looked at: there are no credentials, see kubeconfig")),
    }
}

pub fn kubeconfig(facts: &Facts) -> Found {
    if matches!(facts.source, Source::None) {
        let text = format!("no cluster is named, and {DEFAULT_KUBECONFIG} is not there");
        return Err(Line::error(
            text,
            "make one with `ingressd kubeconfig`, or name a file with `kubeconfig` in ingressd.toml",
        ));
    }
    let cluster = cluster(facts)?;
    let line = match &cluster.credentials {
        Ok(()) => Line::ok(format!("{} can be used, and is for its owner alone", cluster.kubeconfig.display())),
        Err(_) if !facts.is_root => Line::note(format!(
            "not looked at: {} is for its owner alone, which usually is root",
            cluster.kubeconfig.display()
        )),
        Err(why) => Line::error(
            why,
            format!("correct {}, or make another one with `ingressd kubeconfig --force`", cluster.kubeconfig.display()),
        ),
    };
    Ok(vec![line])
}

/// `api-server`.
pub fn server(facts: &Facts) -> Found {
    let cluster = cluster(facts)?;
    match &cluster.server {
        Some(Ok(server)) => Ok(vec![Line::ok(format!("it answers, and is {}", server.version))]),
        Some(Err(why)) => Err(Line::error(
            format!("it does not answer as it should: {why}"),
            "do that where it says what to do; otherwise look at `server` and the credentials in the kubeconfig, and at the \
             way there: route, firewall, proxy",
        )),
        None => Err(Line::note("not looked at: there are no credentials, see kubeconfig")),
    }
}

pub fn clock(facts: &Facts) -> Found {
    let cluster = answering(facts)?;
    let Some(Ok(server)) = &cluster.server else { return Ok(Vec::new()) };
    let Some(ahead) = server.ahead else {
        return Err(Line::note("the API server does not tell the time"));
    };
    let direction = if ahead < 0 { "ahead of" } else { "behind" };
    let text = format!("this host is {} s {direction} the API server", ahead.abs());
    let remedy = "let a time service set both clocks: chrony or systemd-timesyncd";
    match ahead.abs() {
        WRONG.. => Err(Line::error(text, remedy)),
        SUSPICIOUS.. => Err(Line::warning(text, remedy)),
        _ => Ok(vec![Line::ok("the clocks of this host and the API server agree")]),
    }
}

pub fn permissions(facts: &Facts) -> Found {
    let cluster = answering(facts)?;
    let mut lines: Vec<_> = cluster.permissions.iter().map(permission).collect();
    if cluster.all_allowed {
        lines.push(Line::warning(
            "these credentials open everything in the cluster: whoever takes this host has the cluster",
            "make credentials of least privilege with `ingressd kubeconfig`",
        ));
    }
    Ok(lines)
}

/// Verbs, grouped by the places in which they are equal.
fn named<'a>(reviews: impl Iterator<Item = &'a AccessReview>) -> String {
    let mut verbs = BTreeMap::<_, Vec<&str>>::new();
    for review in reviews {
        verbs.entry((&review.namespace, &review.name)).or_default().push(&review.verb);
    }
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for ((namespace, name), verbs) in verbs {
        let name = name.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        let place = namespace.as_ref().map(|namespace| format!("{namespace}{name}"));
        places.entry(verbs.join(", ")).or_default().extend(place);
    }
    let place = |(verbs, places): (String, Vec<String>)| match places.is_empty() {
        true => verbs,
        false => format!("{verbs} in {}", some(&places)),
    };
    places.into_iter().map(place).collect::<Vec<_>>().join("; ")
}

fn permission(permission: &Permission) -> Line {
    let Permission { resource, purpose, required, answers } = permission;
    let with = |right: bool| named(answers.iter().filter(|(_, answer)| *answer == Ok(right)).map(|(review, _)| review));
    if let Some(why) = answers.iter().find_map(|(_, answer)| answer.as_ref().err()) {
        let remedy = "look at the API server; every account may ask it this";
        return Line::warning(format!("{resource}: it is not known whether it is allowed: {why}"), remedy);
    }
    let refused = with(false);
    if refused.is_empty() {
        return Line::ok(format!("{resource}: {}", with(true)));
    }
    let text = format!("{resource}: not allowed: {refused} ({purpose})");
    match required {
        true => Line::error(
            text,
            "`ingressd kubeconfig --force`, or kubectl apply -f /usr/share/doc/ingressd/examples/rbac.yaml",
        ),
        false => Line::note(text),
    }
}
