//! Session affinity: the variables with the session of a client, and the cookie that starts a
//! session.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use crate::Plan;
use crate::render::file_set::FilePath;
use crate::render::names;
use crate::render::search_order::SearchOrder;
use crate::render::token::{Literal, Text, Word, Words};
use crate::render::view::{Block, Tables};
use ingressd_model::expression::literal;
use ingressd_model::{Handler, HeaderName, Refused, SameSite, Session, SessionCookie, Split, UpstreamId};

use super::location::Scene;
use super::named_endpoint;
use super::shared::{handlers, scheme};
use super::slots::{Header, Slot, Slots, text};
use super::split::{moves, others, without_tests};
use super::tables::Files;
use super::upstream::variables_of;

/// The session that a route gives to clients. A route without a backend has none, and must not use
/// its variables: nginx knows them only where a location sets them.
pub fn given(handler: &Handler) -> Option<&Session> {
    handler.behaviour.session.as_ref().filter(|_| handler.action.upstream().is_some())
}

/// Writes the directives: a location with a backend gives clients without a session a new one.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    if let Some(session) = given(scene.handler) {
        let path = [Words::from(Word::variable(names::COOKIE_PATH)?), text(session.path.as_str())?];
        slots.say(Slot::Variables, "set", Words::join(path));
        let cookie = Word::variable(&variable(&session.cookie, scene.handler))?;
        slots.answer_header(Header::fixed("Set-Cookie", cookie));
    }
    Ok(())
}

/// The upstreams of a route whose endpoints its cookie names, the main one first.
fn named(handler: &Handler) -> Vec<&UpstreamId> {
    let Some(main) = handler.action.upstream().filter(|main| main.naming_cookie().is_some()) else { return Vec::new() };
    [main].into_iter().chain(handler.action.split().into_iter().flat_map(|split| others(split, main))).collect()
}

/// The split whose tests bring clients to other upstreams than the main one, where they stay, by
/// what their cookie says behind the session.
fn moved(handler: &Handler) -> Option<(&UpstreamId, &Split)> {
    let (main, split) = (handler.action.upstream()?, handler.action.split()?);
    (main.naming_cookie().is_none() && moves(split, main)).then_some((main, split))
}

/// The variable with the cookie for clients of a route.
fn variable(cookie: &SessionCookie, handler: &Handler) -> String {
    match (named(handler).first(), handler.action.split()) {
        (Some(main), Some(split)) => names::split_cookie(cookie, split, main),
        (Some(main), None) => names::naming_cookie(cookie, main),
        (None, _) => match moved(handler) {
            Some((main, split)) => names::split_cookie(cookie, split, main),
            None => names::session_cookie(cookie),
        },
    }
}

/// The files that a route with the cookie requires.
pub fn requires(handler: &Handler) -> BTreeSet<FilePath> {
    let Some(Session { cookie, .. }) = given(handler) else { return BTreeSet::new() };
    let parts = named(handler).into_iter().map(|upstream| names::naming_cookie(cookie, upstream));
    let own = parts.chain([variable(cookie, handler)]).map(|name| names::variable_file(&name));
    own.chain(moved(handler).map(|_| usual_file(cookie))).chain(required(cookie)).collect()
}

/// The file of the cookie that is the session.
fn usual_file(cookie: &SessionCookie) -> FilePath {
    names::variable_file(&names::session_cookie(cookie))
}

/// The files that the file of a cookie requires.
fn required(cookie: &SessionCookie) -> impl Iterator<Item = FilePath> + use<> {
    let conditional = is_conditional(cookie).then(names::same_site_file);
    [names::variable_file(&names::session(&cookie.name)), names::cookie_path_file()].into_iter().chain(conditional)
}

/// One file for each cookie name, and one for each cookie.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let upstreams = plan.model.upstreams.iter();
    let upstreams = upstreams.filter_map(|one| Some((one.id.balance.as_deref()?.cookie()?, &one.origin)));
    let cookies = handlers(plan).filter_map(|handler| Some((&*given(handler)?.cookie, handler)));
    // A cookie has a session even where no upstream uses it.
    for (cookie, origin) in upstreams.chain(cookies.clone().map(|(cookie, handler)| (&cookie.name, &handler.origin))) {
        let name = names::session(cookie);
        files.add(names::variable_file(&name), Some(origin), [], |tables| session(cookie, &name, tables));
    }
    if cookies.clone().next().is_some() {
        // Locations set it, if there are any.
        files.add(names::cookie_path_file(), None, [], |tables| {
            let map = Block::map("1", Word::variable(names::COOKIE_PATH)?);
            tables.block(map.row("default", "/"));
            Ok(())
        });
    }
    if plan.model.upstreams.iter().any(|upstream| upstream.id.naming_cookie().is_some()) {
        files.add(names::answered_file(), None, [], named_endpoint::answers);
    }
    let scheme = scheme(!plan.trusted().is_empty());
    let search_order = LazyCell::new(|| SearchOrder::of(&plan.model.upstreams, &[]));
    for (cookie, handler) in cookies {
        match &named(handler)[..] {
            [] => {
                let name = names::session_cookie(cookie);
                files.add(names::variable_file(&name), Some(&handler.origin), required(cookie), |tables| {
                    Source::of_session(cookie, &scheme)?.say(cookie, &name, &scheme, tables)
                });
                if let Some((main, split)) = moved(handler) {
                    let name = names::split_cookie(cookie, split, main);
                    let parts = [names::variable_file(&names::split(split, main)), usual_file(cookie)];
                    let upstreams = others(split, main).into_iter().chain([main]);
                    let upstreams = upstreams.map(|upstream| names::upstream_file(upstream, &search_order));
                    let requires = parts.into_iter().chain(upstreams).chain(required(cookie));
                    files.add(names::variable_file(&name), Some(&handler.origin), requires, |tables| {
                        of_moved(cookie, &name, (main, split), &scheme, tables)
                    });
                }
            }
            named => naming_tables(cookie, handler, named, (&scheme, &search_order), files),
        }
        if is_conditional(cookie) {
            files.add(names::same_site_file(), None, [], same_site);
        }
    }
}

/// One file for each upstream of a route whose cookie names endpoints, and one that selects among
/// these where requests are split.
fn naming_tables(
    cookie: &SessionCookie,
    handler: &Handler,
    named: &[&UpstreamId],
    (scheme, search_order): (&Word, &SearchOrder),
    files: &mut Files<'_>,
) {
    let of_upstream = |id: &UpstreamId| [names::upstream_file(id, search_order)].into_iter().chain(variables_of(id));
    for upstream in named {
        let name = names::naming_cookie(cookie, upstream);
        let requires = of_upstream(upstream).chain(required(cookie));
        files.add(names::variable_file(&name), Some(&handler.origin), requires, |tables| {
            Source::of_endpoint(upstream, scheme)?.say(cookie, &name, scheme, tables)
        });
    }
    if let (Some(main), Some(split)) = (named.first(), handler.action.split()) {
        let name = names::split_cookie(cookie, split, main);
        let parts = named.iter().map(|id| names::variable_file(&names::naming_cookie(cookie, id)));
        let requires = [names::variable_file(&names::split(split, main))].into_iter().chain(parts);
        let requires = requires.chain(named.iter().flat_map(|id| of_upstream(id))).chain(required(cookie));
        files.add(names::variable_file(&name), Some(&handler.origin), requires, |tables| {
            of_split(cookie, &name, split, named, tables)
        });
    }
}

fn is_conditional(cookie: &SessionCookie) -> bool {
    cookie.same_site == Some(SameSite::NoneWhereKnown)
}

/// User agents that misinterpret `SameSite=None`, or drop cookies with it.
const WITHOUT_SAME_SITE: [&str; 4] = [
    r#""~CPU (?:iPhone )?OS 12[_0-9]* like Mac OS X\) AppleWebKit/""#,
    r#""~Macintosh; Intel Mac OS X 10_14[_0-9]*\) AppleWebKit/[.0-9]+ \(KHTML, like Gecko\)(?: Version/[.0-9]+ Safari/[.0-9]+)?$""#,
    r#""~Chrom(?:e|ium)/(?:5[1-9]|6[0-6])\.""#,
    r#""~UCBrowser/(?:(?:[0-9]|1[01])\.|12\.(?:[0-9]|1[0-2])\.|12\.13\.[01](?:[^0-9]|$))""#,
];

/// Writes the `SameSite` attribute for user agents that know `None`, where a cookie needs it.
fn same_site(tables: &mut Tables) -> Result<(), Refused> {
    let map = Block::map("$http_user_agent", Word::variable(names::SAME_SITE)?);
    tables.block(map.row("default", r#""; SameSite=None""#).rows(WITHOUT_SAME_SITE, r#""""#));
    Ok(())
}

/// A session with the side of a canary behind it.
const WITH_SIDE: &str = r#""~^(.+)\.[0-9a-f]{20}$""#;

/// The variable with the value of a cookie that the client sent.
pub fn sent(cookie: &HeaderName) -> Result<Word, Refused> {
    found(cookie, &names::session(cookie)).map(|(given, _)| given)
}

/// The variable with the value of a cookie that the client sent; where nginx has no variable for
/// it, also the expression that extracts it from the `Cookie` header.
fn found(cookie: &HeaderName, name: &str) -> Result<(Word, Option<Literal>), Refused> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match cookie.as_str().bytes().all(is_plain) {
        true => Ok((Word::cookie(cookie)?, None)),
        false => {
            let pattern = Literal::new(&format!("~(?:^|;) *{}=([^;]+)", literal(cookie.as_str())))?;
            Ok((Word::variable(&name.replacen("session", "given", 1))?, Some(pattern)))
        }
    }
}

fn session(cookie: &HeaderName, name: &str, tables: &mut Tables) -> Result<(), Refused> {
    let (given, pattern) = found(cookie, name)?;
    if let Some(pattern) = pattern {
        tables.block(Block::map("$http_cookie", given.clone()).row(pattern, "$1").row("default", r#""""#));
    }
    let map = Block::map(given.clone(), Word::variable(name)?);
    // The endpoint follows the session alone, and not the side of a canary behind it.
    let map = map.row(r#""""#, "$request_id").row(WITH_SIDE, "$1");
    tables.block(map.row("default", given));
    Ok(())
}

/// The variables from which the text of a cookie is made.
struct Source {
    /// Empty where the client has no session.
    given: Word,
    /// Empty where no endpoint has answered.
    answered: Word,
    /// The value for a client without a session.
    session: Word,
    /// What tells of an endpoint that failed, by https and by any scheme: the source of a `map`
    /// and its expressions.
    failed: (Word, [&'static str; 2]),
    /// The value for a client whose endpoint failed.
    other: Word,
}

impl Source {
    /// The cookie is the session.
    fn of_session(cookie: &SessionCookie, scheme: &Word) -> Result<Self, Refused> {
        let addresses = Word::fixed("$upstream_addr");
        let source = Word::concat([scheme.clone(), Word::fixed(":"), addresses.clone()]);
        Ok(Source {
            given: sent(&cookie.name)?,
            answered: addresses,
            session: Word::variable(&names::session(&cookie.name))?,
            failed: (source, [r#""~^https:.*,""#, r#""~^[a-z]+:.*,""#]),
            // Must differ from the session of a client that has none yet.
            other: Word::fixed("$request_id-1"),
        })
    }

    /// The cookie names the endpoint that has answered.
    fn of_endpoint(upstream: &UpstreamId, scheme: &Word) -> Result<Self, Refused> {
        let answer = Word::variable(&names::answering_endpoint(upstream))?;
        let rest = Word::fixed(":$upstream_addr");
        let source = Word::concat([scheme.clone(), Word::fixed(":"), answer.clone(), rest]);
        Ok(Source {
            given: Word::variable(&names::named_endpoint(upstream))?,
            answered: answer.clone(),
            session: answer.clone(),
            failed: (source, [r#""~^https:[^:]+:.*,""#, r#""~^[a-z]+:[^:]+:.*,""#]),
            other: answer,
        })
    }

    /// Writes the variable with the text of the cookie, which is empty where the client keeps its
    /// own.
    fn say(self, cookie: &SessionCookie, name: &str, scheme: &Word, tables: &mut Tables) -> Result<(), Refused> {
        let path = Word::variable(names::COOKIE_PATH)?;
        let text = |session, secure| Text::session_cookie(cookie, session, &path, secure);
        let (variable, always) = (Word::variable(name)?, cookie.always_secure);
        let first = if cookie.changes_on_failure { Word::variable(&format!("{name}_1"))? } else { variable.clone() };
        let colon = || Word::fixed(":");
        let source = Word::concat([scheme.clone(), colon(), self.given, colon(), self.answered]);
        let map = Block::map(source, first.clone()).row("default", r#""""#);
        let (session, other) = (&self.session, &self.other);
        tables.block(map.row(r#""~^https::.""#, text(session, true)?).row(r#""~^[a-z]+::.""#, text(session, always)?));
        if cookie.changes_on_failure {
            let (source, [by_https, by_any]) = self.failed;
            let map = Block::map(source, variable).row("default", first);
            tables.block(map.row(by_https, text(other, true)?).row(by_any, text(other, always)?));
        }
        Ok(())
    }
}

/// Writes the variable with the cookie of a client that the tests of a split bring to another
/// upstream than it would get without them; else it is the usual one.
fn of_moved(
    cookie: &SessionCookie,
    name: &str,
    (main, split): (&UpstreamId, &Split),
    scheme: &Word,
    tables: &mut Tables,
) -> Result<(), Refused> {
    let (path, session) = (Word::variable(names::COOKIE_PATH)?, Word::variable(&names::session(&cookie.name))?);
    let (with, without) = (Word::variable(&names::split(split, main))?, without_tests(split, main)?);
    let colon = || Word::fixed(":");
    let source = [scheme.clone(), colon(), with, colon(), without, colon(), Word::fixed("$upstream_addr")];
    let usual = Word::variable(&names::session_cookie(cookie))?;
    let map = Block::map(Word::concat(source), Word::variable(name)?).row("default", usual);
    let map = others(split, main).into_iter().try_fold(map, |map, other| {
        let session = Word::concat([session.clone(), Word::new(&names::side(other))?]);
        let text = |secure| Text::session_cookie(cookie, &session, &path, secure);
        let upstream = Word::own(&names::upstream(other))?;
        let brought = |scheme| {
            let (not, answered) = (Word::fixed(":(?!"), Word::fixed(":)[^:]*:."));
            Word::concat([Word::fixed(scheme), upstream.clone(), not, upstream.clone(), answered])
        };
        let by_any = text(cookie.always_secure)?;
        Ok::<_, Refused>(map.row(brought("~^https:"), text(true)?).row(brought("~^[a-z]+:"), by_any))
    })?;
    tables.block(map);
    Ok(())
}

/// Writes the variable with the cookie of the upstream that gets a request.
fn of_split(
    cookie: &SessionCookie,
    name: &str,
    split: &Split,
    named: &[&UpstreamId],
    tables: &mut Tables,
) -> Result<(), Refused> {
    let Some((main, others)) = named.split_first() else { return Ok(()) };
    let of = |upstream: &UpstreamId| Word::variable(&names::naming_cookie(cookie, upstream));
    let map = Block::map(Word::variable(&names::split(split, main))?, Word::variable(name)?).row("default", of(main)?);
    let map = others.iter().try_fold(map, |map, other| {
        // A plain key would have to fit into nginx's table. Names differ in more than their dots.
        let key = [Word::fixed("~^"), Word::own(&names::upstream(other))?, Word::fixed("$")];
        Ok::<_, Refused>(map.row(Word::concat(key), of(other)?))
    })?;
    tables.block(map);
    Ok(())
}
