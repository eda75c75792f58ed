//! Checks whether requests can reach pods from here, and in which endpoint mode.

use std::collections::BTreeMap;

use super::cluster::answering;
use super::some;
use crate::doctor::facts::{Facts, Network, Objects, Reached, Sample};
use crate::doctor::report::{Found, Level, Line, or_ok};
use ingressd_model::finding::{count, count_of};
use ingressd_translate::EndpointMode;

/// The name of the mode in the settings.
pub const fn word(mode: EndpointMode) -> &'static str {
    match mode {
        EndpointMode::Pod => "pod",
        EndpointMode::NodePort => "nodeport",
        EndpointMode::ClusterIp => "clusterip",
        EndpointMode::LoadBalancer => "loadbalancer",
        EndpointMode::Auto => "auto",
    }
}

/// The demand of the objects, or a line why it is not known.
pub fn known(facts: &Facts) -> Result<&Objects, Line> {
    match &facts.objects {
        Some(Ok(objects)) => Ok(objects),
        Some(Err(_)) => Err(Line::note("not looked at: the objects cannot be read, see objects")),
        None => {
            answering(facts)?;
            Err(Line::note("not looked at: the objects were not read, see objects"))
        }
    }
}

pub fn objects(facts: &Facts) -> Found {
    if let Some(Err(why)) = &facts.objects {
        return Err(Line::error(format!("the objects cannot be read: {why}"), "see api-server and permissions"));
    }
    let objects = known(facts)?;
    let Objects { ingresses, accepted, hosts, errors, warnings, .. } = objects;
    let counted = match accepted {
        0 => Line::warning(
            format!("{} ours", count_of(0, *ingresses, "Ingress", "Ingresses")),
            "name an IngressClass in the Ingress whose spec.controller stands in `classes` of ingressd.toml",
        ),
        _ => Line::ok(format!(
            "{} ours, with {}",
            count_of(*accepted, *ingresses, "Ingress", "Ingresses"),
            count(*hosts, "host", "hosts")
        )),
    };
    let findings = (errors + warnings > 0).then(|| {
        let number = |number: usize, word: &str| count(number, word, &format!("{word}s"));
        let text = format!("{} and {} about objects", number(*errors, "error"), number(*warnings, "warning"));
        let remedy = "`ingressd status` lists them where a daemon runs, `kubectl get events` tells their authors";
        Line::new(if *errors > 0 { Level::Warning } else { Level::Note }, text, remedy)
    });
    Ok(std::iter::once(counted).chain(findings).collect())
}

pub fn tenants(facts: &Facts) -> Found {
    let Objects { free_wildcards, loose, .. } = known(facts)?;
    let note = |names: &[String], text: &str, remedy: &str| {
        (!names.is_empty()).then(|| Line::new(Level::Note, format!("{text}: {}", some(names)), remedy))
    };
    let lines = [
        note(
            free_wildcards,
            "wildcard hosts that are free for all",
            "name each in `hosts.allowed` for its namespace; then what it protects there is kept from others",
        ),
        note(
            loose,
            "authentication services that get paths as clients wrote them",
            "set `access.strict-paths` to \"on\" where the service judges by the path",
        ),
    ];
    let lines = lines.into_iter().flatten().collect();
    or_ok(lines, "no wildcard host is free for all, and paths that services judge are strict")
}

fn sample(facts: &Facts, mode: EndpointMode) -> Option<&Sample> {
    let Some(Ok(objects)) = &facts.objects else { return None };
    objects.samples.iter().find(|sample| sample.mode == mode)
}

pub fn routes(facts: &Facts) -> Found {
    let cluster = answering(facts)?;
    if cluster.routes.is_empty() {
        let why = match &cluster.nodes {
            Some(Err(why)) => format!("the Nodes cannot be listed: {why}"),
            _ => "no Node tells a network of its pods, and there is no endpoint to look for".to_owned(),
        };
        return Err(Line::note(format!("not looked at: {why}")));
    }
    let modes = facts.settings.translate.modes();
    let needed = modes.contains(&EndpointMode::Pod);
    let reached = sample(facts, EndpointMode::Pod).is_some_and(|sample| {
        !sample.tried.is_empty() && sample.tried.iter().all(|(_, reached)| *reached == Reached::Yes)
    });
    let name = |network: &Network| match network.node.is_empty() {
        true => network.network.to_string(),
        false => format!("{} of {}", network.network, network.node),
    };
    let (mut good, mut by_default, mut none) = (BTreeMap::<String, usize>::new(), Vec::new(), Vec::new());
    for network in &cluster.routes {
        match &network.route {
            Err(why) => none.push(format!("{} ({why})", name(network))),
            Ok(route) if route.prefix == 0 && !reached => by_default.push(name(network)),
            Ok(route) => {
                let interface = route.interface.as_deref().unwrap_or("an interface");
                let way = match (route.local, route.gateway) {
                    (true, _) => "on this host".to_owned(),
                    (_, Some(gateway)) => format!("by {gateway} on {interface}"),
                    (_, None) => format!("on {interface}"),
                };
                *good.entry(way).or_default() += 1;
            }
        }
    }
    let remedy = "give this host routes to the pod networks (BGP, or static ones over the Nodes), or set upstreams.endpoints, or \
                  the endpoints of a class, to a mode that the check endpoints finds to work";
    let bad = |text: String, level| match needed {
        true => Line::new(level, text, remedy),
        false => {
            let modes: Vec<_> = modes.iter().map(|mode| word(*mode)).collect();
            Line::note(format!("{text}; not needed with the endpoint mode {}", modes.join(", ")))
        }
    };
    let mut lines = Vec::new();
    if !none.is_empty() && reached {
        // There is no endpoint yet that an Ingress refers to.
        let text = format!("no route to {}, where no endpoint is so far: all that were tried answer", some(&none));
        lines.push(bad(text, Level::Warning));
    } else if !none.is_empty() {
        lines.push(bad(format!("no route to pods: {}", some(&none)), Level::Error));
    }
    if !by_default.is_empty() {
        let text =
            format!("only the default route leads to pods, whose router may not know them: {}", some(&by_default));
        lines.push(bad(text, Level::Warning));
    }
    if !good.is_empty() {
        let ways: Vec<_> = good.iter().map(|(way, count)| format!("{count} {way}")).collect();
        lines.push(Line::ok(format!("pod networks are reached: {}", some(&ways))));
    }
    Ok(lines)
}

pub fn endpoints(facts: &Facts) -> Found {
    let objects = known(facts)?;
    let chosen = facts.settings.translate.modes();
    let works = |sample: &&Sample| !sample.tried.is_empty() && share(sample) == sample.tried.len();
    let working: Vec<_> = objects.samples.iter().filter(works).map(|sample| word(sample.mode)).collect();
    Ok(objects.samples.iter().map(|sample| judge(sample, chosen.contains(&sample.mode), &working)).collect())
}

/// How many addresses were reached.
fn share(sample: &Sample) -> usize {
    sample.tried.iter().filter(|(_, reached)| *reached == Reached::Yes).count()
}

fn judge(sample: &Sample, chosen: bool, working: &[&str]) -> Line {
    let mode = word(sample.mode);
    let Sample { known, tried, .. } = sample;
    if tried.is_empty() {
        return match chosen {
            true => Line::note(format!("{mode}, which is chosen: there is no address to try yet")),
            false => Line::note(format!("{mode}: no Service offers it")),
        };
    }
    let failed = tried.iter().filter_map(|(address, reached)| match reached {
        Reached::Yes => None,
        Reached::Refused => Some(format!("{address} refuses")),
        Reached::No(why) => Some(format!("{address}: {why}")),
    });
    let failed: Vec<_> = failed.collect();
    let reached = share(sample);
    let text = format!(
        "{mode}{}: {reached} of {} ({known} known)",
        if chosen { ", which is chosen" } else { "" },
        count(tried.len(), "address answers", "addresses answer")
    );
    let text = if failed.is_empty() { text } else { format!("{text}; {}", some(&failed)) };
    let remedy = match working {
        [] => "no mode works from here: give this host routes to pods or Nodes, and look at firewalls".to_owned(),
        modes => {
            format!(
                "set upstreams.endpoints, or endpoints of a class, to a mode that works from here: {}",
                modes.join(", ")
            )
        }
    };
    match (chosen, reached) {
        (_, reached) if reached == tried.len() => Line::ok(text),
        (false, _) => Line::note(text),
        (true, 0) => Line::error(text, remedy),
        (true, _) => Line::warning(
            text,
            "look at these endpoints: are their Nodes up, and does a NetworkPolicy or firewall keep this host out?",
        ),
    }
}
