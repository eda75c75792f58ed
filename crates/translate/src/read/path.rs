//! Parses paths of rules, and defines how they are matched, ordered and rewritten in each dialect.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::sync::{Arc, LazyLock};

use crate::annotation::reading::RequestedSession;
use crate::{Dialect, ExpressionScope, Reading};
use ingressd_model::{
    Behaviour, CookiePath, PathMatch, Pattern, Refused, Rewrite, RewritePattern, RewriteTarget, Session, UrlPath,
    expression, request_path,
};

/// The path below which certificate authorities ask for the answers to their challenges.
pub const CHALLENGES: &str = "/.well-known/acme-challenge";

/// The `pathType` of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathType {
    /// Exactly this path.
    Exact,
    /// By path elements.
    Prefix,
    /// Left to the controller: by elements, unless the object asks for regular expressions.
    ImplementationSpecific,
}

impl PathType {
    /// Parses the field; a missing one means `ImplementationSpecific`.
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "Exact" => Some(PathType::Exact),
            "Prefix" => Some(PathType::Prefix),
            "ImplementationSpecific" | "" => Some(PathType::ImplementationSpecific),
            _ => None,
        }
    }
}

/// All paths, which most hosts name: one string in memory.
static ROOT: LazyLock<Result<UrlPath, Refused>> = LazyLock::new(|| UrlPath::new("/"));

/// The path of a rule; an empty one is `/`. It may contain any character except control
/// characters.
pub fn read(written: Option<&str>) -> Result<UrlPath, Refused> {
    match written {
        None | Some("" | "/") => ROOT.clone(),
        Some(path) => UrlPath::new(path),
    }
}

/// How the requests of a claim are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Matching {
    /// Exactly this path.
    Exact,
    /// By path elements.
    Prefix,
    /// As an expression.
    Regex,
    /// By a prefix of characters, case-insensitively: as in ingress-nginx on a host with
    /// expressions.
    Caseless,
}

/// Whether this path of an object of the ingress-nginx dialect switches its whole host to regular
/// expressions.
///
/// A target that equals the path changes nothing on `/`. On any other path it does: a Prefix is
/// two locations there, one with a slash, and an Exact one leaves the automatic location `/` to be
/// rewritten.
pub fn enforces_regex(reading: &Reading, path: &UrlPath) -> bool {
    reading.use_regex || reading.rewrite_target.as_ref().is_some_and(|target| path.as_str() != "/" || !is(target, path))
}

/// Why a path stays text on a host where other objects of its namespace make paths expressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// It is no expression that could be served.
    NoExpression(Refused),
    /// As an expression it would take requests of a protected path.
    Protection,
}

/// Whether a text would match other paths as an expression. That a dot would match any character
/// is not meant.
pub fn is_more_than_text(path: &UrlPath) -> bool {
    path.as_str().contains(|character| character != '.' && expression::is_special(character))
}

/// Whether another object can make an expression of this path. What looks behind need not compile
/// in nginx, and nobody loses an object by an annotation of another one.
pub fn of_other_object(path: &UrlPath) -> Result<(), Refused> {
    if path.as_str().contains("(?<") {
        return Err(Refused::because("it looks behind"));
    }
    Pattern::new(path.as_str()).map(drop)
}

/// Whether no request has this text as its path when nginx compares it, which is after it has
/// decoded and resolved it; with the path that such requests have instead, if there is one.
pub fn is_unmatched(matching: Matching, path: &UrlPath) -> Option<Option<String>> {
    let text = path.as_str();
    let bytes = request_path::decoded(text).unwrap_or_else(|| text.as_bytes().to_vec());
    let compared = request_path::resolved(&bytes);
    (matching != Matching::Regex && compared.as_deref() != Some(text)).then_some(compared)
}

/// Whether no request at all can match, because nginx resolves paths. A location for it would take
/// requests for other paths, such as those without the last slash.
pub fn is_never_matched(path: &PathMatch) -> bool {
    match path {
        PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => {
            request_path::resolved(path.as_str().as_bytes()).as_deref() != Some(path.as_str())
        }
        PathMatch::Regex(_) => false,
    }
}

/// Whether a path that is matched as text may have been meant as an expression.
pub fn is_like_an_expression(matching: Matching, path: &UrlPath) -> bool {
    matches!(matching, Matching::Exact | Matching::Prefix) && path.as_str().contains(['*', '|', '[', '^'])
}

/// The match of a path in its server. `bare_is_taken` says whether the server has this path
/// without its trailing slash too; only when it has not, ingress-nginx redirects to the slash.
pub fn path_match(
    matching: Matching,
    dialect: &Dialect,
    path: &UrlPath,
    bare_is_taken: bool,
) -> Result<PathMatch, Refused> {
    let redirect_to_slash =
        dialect.redirects_to_slash && !bare_is_taken && path.as_str() != "/" && path.as_str().ends_with('/');
    Ok(match matching {
        Matching::Exact => PathMatch::Exact { path: path.clone(), redirect_to_slash },
        Matching::Prefix => PathMatch::Prefix { path: path.clone(), redirect_to_slash },
        Matching::Regex => PathMatch::Regex(Pattern::new(path.as_str())?),
        Matching::Caseless => PathMatch::Regex(Pattern::new(&expression::literal(path.as_str()))?),
    })
}

/// The order of ingress-nginx: exact paths, then expressions as it tries them (the longest first,
/// equal ones in reverse order), then prefixes from the longest to the shortest.
pub fn winning_order(left: (Matching, &UrlPath), right: (Matching, &UrlPath)) -> Ordering {
    let rank = |matching| match matching {
        Matching::Exact => 0,
        Matching::Regex | Matching::Caseless => 1,
        Matching::Prefix => 2,
    };
    let length = |path: &UrlPath| Reverse(path.as_str().len());
    let by_rank = rank(left.0).cmp(&rank(right.0));
    by_rank.then_with(|| length(left.1).cmp(&length(right.1))).then_with(|| match left.0 {
        Matching::Regex | Matching::Caseless => right.1.cmp(left.1),
        _ => left.1.cmp(right.1),
    })
}

/// The behaviour of this path: that of the object, with the rewrite if there is one.
pub fn behaviour(
    reading: &Reading,
    shared: &Arc<Behaviour>,
    dialect: &Dialect,
    kind: PathType,
    matching: Matching,
    path: &UrlPath,
) -> Result<Arc<Behaviour>, Refused> {
    let rewrite = rewrite(reading, dialect, kind, matching, path)?;
    let session = reading.session.as_ref().map(|requested| session(requested, matching, path));
    match rewrite.is_none() && session.is_none() {
        true => Ok(Arc::clone(shared)),
        false => Ok(Arc::new(Behaviour { rewrite, session, ..Behaviour::clone(shared) })),
    }
}

fn rewrite(
    reading: &Reading,
    dialect: &Dialect,
    kind: PathType,
    matching: Matching,
    path: &UrlPath,
) -> Result<Option<Rewrite>, Refused> {
    let Some(target) = &reading.rewrite_target else { return Ok(None) };
    let pattern = match (dialect.expressions, matching) {
        (ExpressionScope::Host, _) if is(target, path) && (kind == PathType::Exact || path.as_str() == "/") => {
            return Ok(None);
        }
        (ExpressionScope::Host, _) => RewritePattern::Unanchored(Pattern::new(path.as_str())?),
        (ExpressionScope::Object, Matching::Regex) => RewritePattern::Anchored(Pattern::new(path.as_str())?),
        (ExpressionScope::Object, _) => RewritePattern::Whole,
    };
    // nginx before 1.30.2 reserves too little memory for them (CVE-2026-9256).
    let is_encoded = target.is_url() || !target.query().is_empty();
    if is_encoded && target.captures().len() > 1 && expression::captures_twice(path.as_str()) {
        return Err(Refused::because(
            "its target is a URL or has a query, with several groups that may capture the same part of the path; use \
             one of them",
        ));
    }
    Ok(Some(Rewrite { pattern, target: target.clone() }))
}

/// The session cookie of a path. For an expression, or a path that a cookie cannot contain, its
/// `Path` is `/`.
fn session(requested: &RequestedSession, matching: Matching, path: &UrlPath) -> Session {
    let own = match matching {
        Matching::Exact | Matching::Prefix => CookiePath::new(path),
        Matching::Regex | Matching::Caseless => None,
    };
    Session { cookie: Arc::clone(&requested.cookie), path: requested.path.clone().or(own).unwrap_or_default() }
}

fn is(target: &RewriteTarget, path: &UrlPath) -> bool {
    let text: Cow<'_, str> = match target.parts() {
        [] => "/".into(),
        _ => target.parts().iter().map(ToString::to_string).collect::<String>().into(),
    };
    text == path.as_str()
}

/// Whether a path is written for one challenge, whatever the dots in it would match.
pub fn is_challenge(path: &UrlPath) -> bool {
    let token = path.as_str().strip_prefix(CHALLENGES).and_then(|rest| rest.strip_prefix('/'));
    token.is_some_and(|token| {
        !token.is_empty() && !token.contains(|other| other == '/' || expression::is_special(other))
    })
}
