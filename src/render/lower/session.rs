//! Session affinity: the variables with the session of a client, and the cookie that starts a
//! session.

use crate::model::expression::literal;
use crate::model::{Balance, HeaderName, Refused, Route, SameSite, Session, SessionCookie};
use crate::nginx::Plan;
use crate::render::file_set::FilePath;
use crate::render::names;
use crate::render::token::{Literal, Text, Word, Words};
use crate::render::view::{Block, Tables};

use super::location::Scene;
use super::shared::{routes, scheme};
use super::slots::{Header, Slot, Slots, text};
use super::tables::Files;

/// The session that a route gives to clients. A route without a backend has none, and must not use
/// its variables: nginx knows them only where a location sets them.
pub fn given(route: &Route) -> Option<&Session> {
    route.behaviour.session.as_ref().filter(|_| route.action.upstream().is_some())
}

/// Writes the directives: a location with a backend gives clients without a session a new one.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    if let Some(session) = given(scene.route) {
        let path = [Words::from(Word::variable(names::COOKIE_PATH)?), text(session.path.as_str())?];
        slots.say(Slot::Variables, "set", Words::join(path));
        let cookie = Word::variable(&names::session_cookie(&session.cookie))?;
        slots.answer_header(Header::fixed("Set-Cookie", cookie));
    }
    Ok(())
}

/// The files that a location with the cookie requires.
pub fn requires(cookie: &SessionCookie) -> impl Iterator<Item = FilePath> + use<> {
    let own = [names::session(&cookie.name), names::session_cookie(cookie)];
    let conditional = is_conditional(cookie).then(names::same_site_file);
    own.map(|name| names::session_file(&name)).into_iter().chain(conditional)
}

/// One file for each cookie name, and one for each cookie.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let upstreams = plan.model.upstreams.iter().filter_map(|upstream| match upstream.id.balance.as_deref() {
        Some(Balance::Session(cookie)) => Some((cookie, &upstream.origin)),
        Some(_) | None => None,
    });
    let cookies = routes(plan).filter_map(|route| Some((&*given(route)?.cookie, &route.origin)));
    // A cookie has a session even where no upstream uses it.
    for (cookie, origin) in upstreams.chain(cookies.clone().map(|(cookie, origin)| (&cookie.name, origin))) {
        let name = names::session(cookie);
        files.add(names::session_file(&name), Some(origin), [], |tables| session(cookie, &name, tables));
    }
    let scheme = scheme(!plan.trusted().is_empty());
    for (cookie, origin) in cookies {
        let name = names::session_cookie(cookie);
        let own = names::session_file(&name);
        let requires = requires(cookie).filter(|path| *path != own);
        files.add(own.clone(), Some(origin), requires, |tables| session_cookie(cookie, &name, &scheme, tables));
        if is_conditional(cookie) {
            files.add(names::same_site_file(), None, [], same_site);
        }
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

/// The variable with the value of a cookie that the client sent; where nginx has no variable for
/// it, also the expression that extracts it from the `Cookie` header.
fn found(cookie: &HeaderName, name: &str) -> Result<(Word, Option<Literal>), Refused> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match cookie.as_str().bytes().all(is_plain) {
        true => Ok((Word::cookie(cookie)?, None)),
        false => {
            let pattern = Literal::new(&format!("~(?:^|;) *{}=([^;]+)", literal(cookie.as_str())))?;
            Ok((Word::variable(&format!("{name}_given"))?, Some(pattern)))
        }
    }
}

fn session(cookie: &HeaderName, name: &str, tables: &mut Tables) -> Result<(), Refused> {
    let (given, pattern) = found(cookie, name)?;
    if let Some(pattern) = pattern {
        tables.block(Block::map("$http_cookie", given.clone()).row(pattern, "$1").row("default", r#""""#));
    }
    let map = Block::map(given.clone(), Word::variable(name)?);
    tables.block(map.row(r#""""#, "$request_id").row("default", given));
    Ok(())
}

fn session_cookie(cookie: &SessionCookie, name: &str, scheme: &Word, tables: &mut Tables) -> Result<(), Refused> {
    let session = names::session(&cookie.name);
    let (given, _) = found(&cookie.name, &session)?;
    let session = Word::variable(&session)?;
    let path = Word::variable(names::COOKIE_PATH)?;
    let text = |session, secure| Text::session_cookie(cookie, session, &path, secure);
    let (variable, always) = (Word::variable(name)?, cookie.always_secure);
    let first = if cookie.changes_on_failure { Word::variable(&format!("{name}_1"))? } else { variable.clone() };
    let source = Word::concat([scheme.clone(), Word::fixed(":"), given, Word::fixed(":$upstream_addr")]);
    let map = Block::map(source, first.clone()).row("default", r#""""#);
    tables.block(map.row(r#""~^https::.""#, text(&session, true)?).row(r#""~^[a-z]+::.""#, text(&session, always)?));
    if cookie.changes_on_failure {
        // Must differ from the session of a client that has none yet.
        let other = Word::fixed("$request_id-1");
        let source = Word::concat([scheme.clone(), Word::fixed(":$upstream_addr")]);
        let map = Block::map(source, variable).row("default", first);
        tables.block(map.row(r#""~^https:.*,""#, text(&other, true)?).row(r#""~^[a-z]+:.*,""#, text(&other, always)?));
    }
    Ok(())
}
