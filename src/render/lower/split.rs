//! Variables that hold the upstream of a request where a route is split.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use crate::model::expression::{LIMITS, anywhere, literal};
use crate::model::{Action, Branch, Refused, Split, Test, Tested, UpstreamId};
use crate::nginx::Plan;
use crate::render::content::Part;
use crate::render::crowds::Crowds;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Word};
use crate::render::view;

/// Differs for each request, on whatever connection it comes.
pub const EACH_REQUEST: &str = "$connection:$connection_requests:$msec";

/// One file for each way of splitting, however many routes have it.
pub fn splits(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let mut files = BTreeMap::new();
    let crowds = LazyCell::new(|| Crowds::of(&plan.model.upstreams, &[]));
    let routes = plan.model.servers.iter().flat_map(|server| server.routes.iter().chain([&server.fallback]));
    for route in routes {
        let Action::Proxy { upstream, split: Some(split) } = &route.action else { continue };
        let name = names::split(split, upstream);
        files.entry(names::split_file(&name)).or_insert_with(|| {
            // What cannot be written sends nothing elsewhere.
            let none = Split { branches: Vec::new(), shares: Vec::new(), ..Split::clone(split) };
            let view = view(split, upstream, &name).or_else(|_| self::view(&none, upstream, &name));
            let text = view.ok().and_then(|view| engine.fill("split", &view).ok()).map(Part::Filled);
            let session = split.session.as_ref().map(|cookie| names::session_file(&names::session(cookie)));
            let upstreams = split.upstreams().chain([upstream]).map(|id| names::upstream_file(id, &crowds));
            File::plain(text, Owners(vec![(1, split.origin.clone())]), upstreams.chain(session))
        });
    }
    files
}

/// The last variable, which the route names, is that of the tests that are tried first.
fn view(split: &Split, upstream: &UpstreamId, name: &str) -> Result<view::Split, Refused> {
    let written = |upstream: &UpstreamId| Word::own(&names::upstream(upstream));
    let runs: Vec<_> = split.branches.chunk_by(|one, other| one.test.tested() == other.test.tested()).collect();
    let mut rest = written(upstream)?;
    let variable = |stage: usize| match stage {
        0 => Word::variable(name),
        _ => Word::variable(&format!("{name}_{stage}")),
    };
    let mut shares = Vec::new();
    if !split.shares.is_empty() {
        let part = |(upstream, share): &(UpstreamId, _)| {
            Ok(view::SplitPart { percent: Word::percent(*share), upstream: written(upstream)? })
        };
        let parts = split.shares.iter().map(part).collect::<Result<_, Refused>>()?;
        let own = variable(runs.len())?;
        let key = match &split.session {
            Some(cookie) => Word::variable(&names::session(cookie))?,
            None => Word::fixed(EACH_REQUEST),
        };
        shares.push(view::Shares { key, variable: own.clone(), parts, rest: std::mem::replace(&mut rest, own) });
    }
    let mut tests = Vec::new();
    for (stage, run) in runs.iter().enumerate().rev() {
        let subject = match run.first().map(|branch| branch.test.tested()) {
            Some(Tested::Header(name)) => Word::request_header(name)?,
            Some(Tested::Query) => Word::fixed("$args"),
            Some(Tested::Method) => Word::fixed("$request_method"),
            // One header holds all cookies.
            Some(Tested::Cookies) | None => Word::fixed("$http_cookie"),
        };
        let branch = |branch: &Branch| {
            Ok(view::SplitBranch {
                pattern: Literal::new(&pattern(&branch.test))?,
                upstream: written(&branch.upstream)?,
            })
        };
        let branches = run.iter().map(branch).collect::<Result<_, Refused>>()?;
        let own = variable(stage)?;
        tests.push(view::Tests { subject, variable: own.clone(), branches, rest: std::mem::replace(&mut rest, own) });
    }
    if shares.is_empty() && tests.is_empty() {
        // The route names a variable all the same.
        let (subject, branches) = (Word::fixed("$http_cookie"), Vec::new());
        tests.push(view::Tests { subject, variable: variable(0)?, branches, rest });
    }
    Ok(view::Split { shares, tests })
}

/// The key of `map` for a test. Plain keys would match without regard to case, and long ones overflow nginx's table.
fn pattern(test: &Test) -> String {
    match test {
        Test::Header(_, value) => format!("~^{}$", literal(value.as_str())),
        Test::HeaderMatches(_, pattern) => format!("~{LIMITS}{}", anywhere(pattern.as_str())),
        Test::Cookie(name, value) => {
            format!("~(?:^|;) *{}={} *(?:;|$)", literal(name.as_str()), literal(value.as_str()))
        }
        Test::Query(name, value) => format!("~(?:^|&){}={}(?:&|$)", literal(name.as_str()), literal(value.as_str())),
        Test::Method(name) => format!("~^{}$", literal(name.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HeaderName, HeaderValue, Pattern};

    #[test]
    fn each_test_is_an_expression_for_what_it_looks_at() {
        let name = |text| HeaderName::new(text).unwrap();
        let value = |text| HeaderValue::new(text).unwrap();
        let rows = [
            (Test::Header(name("X-A"), value("a.b")), "~^a\\.b$"),
            (Test::HeaderMatches(name("X-A"), Pattern::new("^a+$").unwrap()), &*format!("~{LIMITS}^a+$")),
            (Test::Cookie(name("c"), value("x|y")), "~(?:^|;) *c=x\\|y *(?:;|$)"),
            (Test::Query(name("v"), value("2?")), "~(?:^|&)v=2\\?(?:&|$)"),
            (Test::Method(name("PUT")), "~^PUT$"),
        ];
        for (test, expected) in rows {
            assert_eq!(pattern(&test), expected, "{test:?}");
        }
    }
}
