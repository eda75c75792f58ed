//! Variables that tell the session of a client, and the cookie that makes one.

use std::collections::BTreeMap;

use crate::model::expression::literal;
use crate::model::{Balance, HeaderName, Origin, Refused, Route, SameSite, Session, SessionCookie};
use crate::nginx::Plan;
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Text, Word, Words};
use crate::render::view;

use super::location::Scene;
use super::server::client_scheme;
use super::shared::routes;
use super::slots::{Header, Slot, Slots, text};

/// The session that clients are given by a route. Where nobody has a backend there is none, and nothing may name the variables of
/// it: nginx knows them only where a location sets them.
pub fn given(route: &Route) -> Option<&Session> {
    route.behaviour.session.as_ref().filter(|_| route.action.upstream().is_some())
}

/// What a location says: clients without a session are given one by whoever has a backend.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    if let Some(session) = given(scene.route) {
        let path = [Words::from(Word::variable(names::COOKIE_PATH)?), text(session.path.as_str())?];
        slots.say(Slot::Variables, "set", Words::join(path));
        let cookie = Word::variable(&names::session_cookie(&session.cookie))?;
        slots.answer_header(Header::fixed("Set-Cookie", cookie));
    }
    Ok(())
}

/// The files that a location needs whose clients are given the cookie.
pub fn requires(cookie: &SessionCookie) -> impl Iterator<Item = FilePath> + use<> {
    let own = [names::session(&cookie.name), names::session_cookie(cookie)];
    let conditional = is_conditional(cookie).then(names::same_site_file);
    own.map(|name| names::session_file(&name)).into_iter().chain(conditional)
}

/// One file for each name of a cookie, and one for each cookie.
pub fn sessions(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let mut files = same_site(plan, engine);
    let mut add = |name: String, origin: &Origin, requires: Vec<FilePath>, part: &dyn Fn(&str) -> Option<Part>| {
        let file = || File::plain(part(&name), Owners(vec![(1, origin.clone())]), requires);
        files.entry(names::session_file(&name)).or_insert_with(file);
    };
    let upstreams = plan.model.upstreams.iter().filter_map(|upstream| match upstream.id.balance.as_deref() {
        Some(Balance::Session(cookie)) => Some((cookie, &upstream.origin)),
        Some(_) | None => None,
    });
    let cookies = routes(plan).filter_map(|route| Some((&*given(route)?.cookie, &route.origin)));
    // A cookie has a session also where no request goes to an endpoint by it.
    for (name, origin) in upstreams.chain(cookies.clone().map(|(cookie, origin)| (&cookie.name, origin))) {
        let part = |variable: &str| Some(Part::Filled(engine.fill("session", &session(name, variable).ok()?).ok()?));
        add(names::session(name), origin, Vec::new(), &part);
    }
    let scheme = client_scheme(!plan.trusted().is_empty());
    for (cookie, origin) in cookies {
        let part = |variable: &str| {
            let view = session_cookie(cookie, variable, &scheme).ok()?;
            Some(Part::Filled(engine.fill("session_cookie", &view).ok()?))
        };
        let own = names::session_file(&names::session_cookie(cookie));
        let requires = requires(cookie).filter(|path| *path != own).collect();
        add(names::session_cookie(cookie), origin, requires, &part);
    }
    files
}

fn is_conditional(cookie: &SessionCookie) -> bool {
    cookie.same_site == Some(SameSite::NoneWhereKnown)
}

/// The file with what cookies say of `SameSite` to programs that know `None`, where one says it to those alone.
fn same_site(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    if !routes(plan).filter_map(given).any(|session| is_conditional(&session.cookie)) {
        return BTreeMap::new();
    }
    let view = Word::variable(names::SAME_SITE).map(|variable| view::SameSite { variable }).ok();
    let text = view.and_then(|view| engine.fill("same_site", &view).ok()).map(Part::Filled);
    BTreeMap::from([(names::same_site_file(), File::plain(text, Owners::default(), []))])
}

fn session(cookie: &HeaderName, name: &str) -> Result<view::Session, Refused> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    // nginx has variables for cookies of plain names; all others are looked for in the header.
    let (given, expressions) = match cookie.as_str().bytes().all(is_plain) {
        true => (Word::cookie(cookie)?, Vec::new()),
        false => {
            let given = Word::variable(&format!("{name}_given"))?;
            let pattern = Literal::new(&format!("~(?:^|;) *{}=([^;]+)", literal(cookie.as_str())))?;
            (given.clone(), vec![view::SessionExpression { given, pattern }])
        }
    };
    Ok(view::Session { expressions, given, session: Word::variable(name)? })
}

fn session_cookie(cookie: &SessionCookie, name: &str, scheme: &Word) -> Result<view::SessionCookie, Refused> {
    let session_name = names::session(&cookie.name);
    let session = session(&cookie.name, &session_name)?;
    let path = Word::variable(names::COOKIE_PATH)?;
    let text = |session, secure| Text::session_cookie(cookie, session, &path, secure);
    let (own, always) = (&session.session, cookie.always_secure);
    let variable = Word::variable(name)?;
    let mut view = view::SessionCookie {
        scheme: scheme.clone(),
        given: session.given.clone(),
        cookie: variable.clone(),
        secure: text(own, true)?,
        plain: text(own, always)?,
        changes: Vec::new(),
    };
    if cookie.changes_on_failure {
        view.cookie = Word::variable(&format!("{name}_1"))?;
        // Another session than that of a client that has none yet.
        let other = Word::fixed("$request_id-1");
        let (secure, plain) = (text(&other, true)?, text(&other, always)?);
        let (scheme, unchanged) = (scheme.clone(), view.cookie.clone());
        view.changes = vec![view::SessionChange { scheme, unchanged, cookie: variable, secure, plain }];
    }
    Ok(view)
}
