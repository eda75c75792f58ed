//! Traffic splits (canaries): the variables with the upstream of a request, or with a mark where
//! it is answered.

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashSet};

use crate::Plan;
use crate::render::names;
use crate::render::search_order::SearchOrder;
use crate::render::token::{Literal, Word, Words};
use crate::render::view::{self, Block};
use ingressd_model::expression::{LIMITS, anywhere, literal};
use ingressd_model::{Action, Branch, Choice, Refused, Share, Split, Test, Tested, UpstreamId};

use super::answer::{redirected, with_name};
use super::empty;
use super::location::Scene;
use super::session::sent;
use super::shared::handlers;
use super::slots::{Slot, Slots};
use super::tables::Files;
use super::upstream::variables_of;

/// A text that differs for each request, on any connection.
pub const EACH_REQUEST: &str = "$connection:$connection_requests:$msec";

/// One file for each distinct split, however many routes use it.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let search_order = LazyCell::new(|| SearchOrder::of(&plan.model.upstreams, &[]));
    let empty = LazyCell::new(|| empty::empty(plan));
    for handler in handlers(plan) {
        let Action::Proxy { upstream, split: Some(split) } = &handler.action else { continue };
        let name = names::split(split, upstream);
        let session = split.session.as_ref().map(|cookie| names::variable_file(&names::session(cookie)));
        let upstreams = split.upstreams().chain([upstream]).map(|id| names::upstream_file(id, &search_order));
        let variables = split.upstreams().chain([upstream]).flat_map(variables_of);
        let requires = upstreams.chain(session).chain(variables);
        files.add(names::variable_file(&name), Some(&split.origin), requires, |tables| {
            // A split that cannot be written sends all requests to the main upstream.
            let none = Split { branches: Vec::new(), shares: Vec::new(), ..Split::clone(split) };
            blocks(split, upstream, &empty, &name)
                .or_else(|_| blocks(&none, upstream, &empty, &name))
                .map(|blocks| blocks.into_iter().for_each(|block| tables.block(block)))
        });
    }
}

/// A variable (`split_clients`) that takes each of these words for a share of the values of its
/// key.
pub fn shares(
    key: Word,
    variable: Word,
    parts: impl IntoIterator<Item = (Word, Share)>,
    rest: impl Into<Words>,
) -> Block {
    let block = Block::new(Words::join(["split_clients".into(), Words::from(key), variable.into()]));
    parts.into_iter().fold(block, |block, (word, share)| block.row(Word::percent(share), word)).row("*", rest)
}

/// The last variable, which the route uses, is that of the tests that are tried first. What an
/// upstream without endpoints would get, the main one gets.
fn blocks(
    split: &Split,
    upstream: &UpstreamId,
    empty: &HashSet<&UpstreamId>,
    name: &str,
) -> Result<Vec<Block>, Refused> {
    let written =
        |other: &UpstreamId| Word::own(&names::upstream(if empty.contains(other) { upstream } else { other }));
    let stages = runs(&split.branches).count();
    let mut rest = written(upstream)?;
    let variable = |stage: usize| variable(name, stage);
    let mut blocks = Vec::new();
    let is_named = upstream.naming_cookie().is_some();
    let others = others(split, upstream);
    // Clients that are on a side stay there.
    let staying = split.session.as_ref().filter(|_| if is_named { !others.is_empty() } else { moves(split, upstream) });
    if !split.shares.is_empty() {
        let part = |(choice, share): &(Choice, Share)| match choice {
            Choice::Forward(upstream) => Ok((written(upstream)?, *share)),
            answer => Ok((mark(split, answer)?, *share)),
        };
        let parts = split.shares.iter().map(part).collect::<Result<Vec<_>, Refused>>()?;
        let own = variable(stages + usize::from(staying.is_some()))?;
        let key = match &split.session {
            Some(cookie) if !is_named => Word::variable(&names::session(cookie))?,
            _ => Word::fixed(EACH_REQUEST),
        };
        let main = std::mem::replace(&mut rest, own.clone());
        blocks.push(shares(key, own, parts, main));
    }
    if let Some(cookie) = staying {
        let own = variable(stages)?;
        let new = std::mem::replace(&mut rest, own.clone());
        blocks.push(match is_named {
            true => sides(&[upstream].into_iter().chain(others).collect::<Vec<_>>(), own, new)?,
            false => others.iter().try_fold(Block::map(sent(cookie)?, own).row("default", new), |map, other| {
                let ends = Literal::new(&format!("~{}$", literal(&names::side(other))))?;
                Ok::<_, Refused>(map.row(ends, written(other)?))
            })?,
        });
    }
    let value = |choice: &Choice| match choice {
        Choice::Forward(upstream) => written(upstream),
        answer @ (Choice::Redirect(..) | Choice::Respond(_)) => mark(split, answer),
    };
    rest = decided(&split.branches, &value, name, rest, &mut blocks)?;
    if blocks.is_empty() {
        // The route uses the variable even when it has no test.
        blocks.push(Block::map("$http_cookie", variable(0)?).row("default", rest));
    }
    Ok(blocks)
}

/// The variable of a stage; the first has the name alone.
fn variable(name: &str, stage: usize) -> Result<Word, Refused> {
    Word::variable(&if stage == 0 { name.to_owned() } else { format!("{name}_{stage}") })
}

/// Branches that follow each other and look at the same part of a request share a variable.
fn runs<T>(branches: &[Branch<T>]) -> impl DoubleEndedIterator<Item = &[Branch<T>]> {
    branches.chunk_by(|one, other| match (&one.all[..], &other.all[..]) {
        ([one], [other]) => one.tested() == other.tested(),
        _ => false,
    })
}

/// nginx evaluates at most 100 variables within each other. More tests than these are divided.
const DEEPEST: usize = 32;

/// Adds the variables of branches in order, and returns the one that has the value of the first
/// that a request takes, or what is for the rest. Further tests of a branch have variables of
/// their own, of which nginx asks each when those before have passed.
pub fn decided<T>(
    branches: &[Branch<T>],
    value: &impl Fn(&T) -> Result<Word, Refused>,
    name: &str,
    mut rest: Word,
    blocks: &mut Vec<Block>,
) -> Result<Word, Refused> {
    if branches.len() > 1 && branches.iter().map(|branch| branch.all.len()).sum::<usize>() > DEEPEST {
        let (first, others) = branches.split_at(branches.len() / 2);
        let others = decided(others, value, &format!("{name}_b"), rest, blocks)?;
        let found = decided(first, value, &format!("{name}_a"), Word::fixed(r#""""#), blocks)?;
        let own = variable(name, 0)?;
        let map = Block::map(found.clone(), own.clone());
        blocks.push(map.row(r#""""#, others).row("default", found));
        return Ok(own);
    }
    let runs: Vec<_> = runs(branches).collect();
    for (stage, run) in runs.into_iter().enumerate().rev() {
        let own = variable(name, stage)?;
        let mut subject = Word::fixed("$http_cookie");
        let mut rows = Vec::new();
        for branch in run {
            let mut value = value(&branch.then)?;
            for (number, test) in branch.all.iter().enumerate().rev() {
                let (of_test, key) = (tested(test)?, Literal::new(&pattern(test))?);
                if number == 0 {
                    subject = of_test;
                    rows.push((key, value.clone()));
                } else {
                    let further = Word::variable(&format!("{name}_{stage}_{number}"))?;
                    let map = Block::map(of_test, further.clone()).row(key, value);
                    blocks.push(map.row("default", rest.clone()));
                    value = further;
                }
            }
        }
        let map = Block::map(subject, own.clone());
        let map = rows.into_iter().fold(map, |map, (key, value)| map.row(key, value));
        blocks.push(map.row("default", std::mem::replace(&mut rest, own)));
    }
    Ok(rest)
}

/// The variable with the part of a request that a test looks at.
fn tested(test: &Test) -> Result<Word, Refused> {
    match test.tested() {
        Tested::Header(name) => Word::request_header(name),
        Tested::Query => Ok(Word::fixed("$args")),
        Tested::Method => Ok(Word::fixed("$request_method")),
        // One header contains all cookies.
        Tested::Cookies => Ok(Word::fixed("$http_cookie")),
    }
}

/// The upstreams besides the main one that may get requests.
pub fn others<'s>(split: &'s Split, upstream: &UpstreamId) -> BTreeSet<&'s UpstreamId> {
    split.upstreams().filter(|other| *other != upstream).collect()
}

/// Whether tests bring clients that stay where they are to other upstreams than the main one.
pub fn moves(split: &Split, upstream: &UpstreamId) -> bool {
    let moves = |branch: &Branch<Choice>| matches!(&branch.then, Choice::Forward(other) if other != upstream);
    split.session.is_some() && split.branches.iter().any(moves)
}

/// The variable with the upstream that would get a request if it passed no test, where clients
/// stay on a side.
pub fn without_tests(split: &Split, upstream: &UpstreamId) -> Result<Word, Refused> {
    variable(&names::split(split, upstream), runs(&split.branches).count())
}

/// A variable with the upstream of which the client's cookie names an endpoint; with another
/// variable where it names none.
fn sides(upstreams: &[&UpstreamId], variable: Word, none: Word) -> Result<Block, Refused> {
    let source = upstreams.iter().try_fold(Word::fixed(""), |before, id| {
        let separator = Word::fixed(if before.as_str().is_empty() { "" } else { ":" });
        Ok::<_, Refused>(Word::concat([before, separator, Word::variable(&names::named_endpoint(id))?]))
    })?;
    let map = Block::map(source, variable).row("default", none);
    upstreams.iter().enumerate().try_fold(map, |map, (before, id)| {
        let is_named = Literal::new(&format!("~^{}[^:]", "[^:]*:".repeat(before)))?;
        Ok(map.row(is_named, Word::own(&names::upstream(id))?))
    })
}

/// The value of the variable in place of an upstream where requests are answered: no upstream has
/// such a name.
fn mark(split: &Split, answer: &Choice) -> Result<Word, Refused> {
    let number = split.choices().position(|choice| choice == answer).unwrap_or_default();
    Word::new(&format!("answer_{number}"))
}

/// Writes the responses of a location for requests that are answered before a backend is asked.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Action::Proxy { upstream, split: Some(split) } = &scene.handler.action else { return Ok(()) };
    let mut known = BTreeSet::new();
    for choice in split.choices() {
        let arguments = match choice {
            Choice::Forward(_) => continue,
            Choice::Redirect(status, location) => redirected(*status, location)?,
            Choice::Respond(status) => with_name(*status)?,
        };
        let value = mark(split, choice)?;
        if known.insert(value.as_str().to_owned()) {
            let variable = Word::variable(&names::split(split, upstream))?;
            let (operator, name) = (Word::fixed("="), Word::fixed("return"));
            let value = value.into();
            slots.say_compared(Slot::Answer, view::Comparison { variable, operator, value, name, arguments });
        }
    }
    Ok(())
}

/// The key of `map` for a test, as a regular expression. Plain keys would ignore case, and long
/// ones would not fit into nginx's table.
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
    use ingressd_model::{HeaderName, HeaderValue, Pattern};

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
