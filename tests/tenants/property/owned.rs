//! Which requests are the victim's, by the rules as they are written down.

use super::Answer;
use super::drawn::{Claim, Draw, Drawn, OWN_ROOT, claims};
use crate::scene::Ownership;

/// The backend of requests that no Ingress takes.
const DEFAULT: &str = "10.244.3.1";

/// Whether the response of a request belongs to the victim, so that the attacker must not change
/// it. The victim's claims are the older ones.
pub fn is_owned(draw: &Draw, ownership: Ownership, name: &str, target: &str, alone: &Answer) -> bool {
    let is_below_its_wildcard = ownership == Ownership::Namespace && is_below_wildcard(draw, name);
    if !has_host(draw, name) && !is_below_its_wildcard {
        return false;
    }
    if ownership == Ownership::Namespace {
        return true;
    }
    // Where the victim has no path, or only the default backend answers, others may have paths.
    if alone.backend.as_deref() == Some(DEFAULT) || alone.status == 404 {
        return false;
    }
    let path = target.split('?').next().unwrap_or_default();
    // No claim of the attacker goes around a protected path of the victim. A closed host also
    // answers 503 outside of the victim's paths, which says nothing about them.
    let own = wholes(&draw.victim).filter(|claim| claim.host == host_of(draw, name));
    if alone.backend.is_none()
        && [401, 403, 503].contains(&alone.status)
        && own.into_iter().any(|claim| holds(&claim, path))
    {
        return true;
    }
    let others = wholes(&draw.evil).filter(|claim| claim.host == host_of(draw, name));
    let foreign = others.filter_map(|claim| reach(&claim, path)).max();
    let is_it = |claim: &Claim| alone.backend.as_ref() == Some(&format!("10.244.1.{}", claim.backend + 1));
    match claims(&draw.victim).into_iter().find(is_it) {
        Some(own) => foreign.is_none_or(|foreign| foreign <= beginning(own.path).len()),
        // Its root leads elsewhere, also where a younger path takes all requests.
        None if path == "/" && alone.sends_to(OWN_ROOT) => true,
        // Only a path of its own is sent to its slash.
        None if alone.sends_to(&format!("{path}/")) => foreign.is_none_or(|foreign| foreign <= path.len()),
        // A redirect of a whole host does not tell whether the victim has the path.
        None => foreign.is_none(),
    }
}

/// Whether the victim asks for this very host, or for its wildcard and the attacker not for the
/// host itself.
pub fn has_host(draw: &Draw, name: &str) -> bool {
    has(draw, name) || (is_below_wildcard(draw, name) && !asks(&draw.evil, name))
}

fn has(draw: &Draw, host: &str) -> bool {
    asks(&draw.victim, host)
}

/// Whether a side asks for a host, by a rule or by a redirect.
fn asks(side: &[Drawn], host: &str) -> bool {
    wholes(side).any(|claim| claim.host == host) || side.iter().any(|drawn| drawn.redirected() == Some(host))
}

/// Whether the victim's wildcard has this host: it replaces one label.
fn is_below_wildcard(draw: &Draw, name: &str) -> bool {
    has(draw, "*") && !name.contains('.')
}

/// Everything that a side asks for, but for parts of what another object has.
fn wholes(side: &[Drawn]) -> impl Iterator<Item = Claim> {
    claims(side).into_iter().filter(|claim| !claim.is_part)
}

/// The host that answers for a name.
fn host_of<'n>(draw: &Draw, name: &'n str) -> &'n str {
    if has(draw, name) || name.contains('.') { name } else { "*" }
}

/// How much of a path an attacker's claim fixes, when it may take it.
fn reach(claim: &Claim, path: &str) -> Option<usize> {
    let starts =
        |beginning: &str| path.to_lowercase().starts_with(&beginning.to_lowercase()).then_some(beginning.len());
    starts(claim.path.trim_end_matches('/')).max(starts(beginning(claim.path)))
}

/// Whether a path is a claim's own, or lies below it, as it stands there.
fn holds(claim: &Claim, path: &str) -> bool {
    if claim.exact {
        return claim.path == path;
    }
    let own = claim.path.trim_end_matches('/');
    path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What is the same in all that an expression matches, without a slash at its end.
fn beginning(path: &str) -> &str {
    let end = path.find(['(', '[', '.', '*', '$', '|']).unwrap_or(path.len());
    path[..end].trim_end_matches('/')
}
