//! How requests are logged: the line and its variables, and what servers and locations say of it.

use std::collections::BTreeMap;

use crate::model::LogVariable::{Alternative, IngressName, Namespace, RequestId, ServiceName, ServicePort, Upstream};
use crate::model::catalogue::Module;
use crate::model::expression::{LIMITS, anywhere};
use crate::model::{Action, Handover, Kind, LogLine, LogVariable, Refused, Server, ServerName, Unlogged, UpstreamId};
use crate::nginx::{AccessLog, Buffering, LogPlace, LogTarget, Logs, Plan};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Path, Text, Word, Words};
use crate::render::view;

use super::location::Scene;
use super::slots::{Slot, Slots, text};

/// The variable that tells whether a request is logged.
const LOGGED: &str = "logged";
/// Variables that follow from the name of the upstream that was asked.
const OF_BACKENDS: [LogVariable; 5] = [Namespace, ServiceName, ServicePort, Upstream, Alternative];
const FORMAT: &str = "ingressd_line";

/// The file that servers require which log in a way of their own.
pub fn access_log(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let log = &plan.decisions.access_log;
    if !is_needed(log) {
        return BTreeMap::new();
    }
    let text = view(log).ok().and_then(|view| engine.fill("access_log", &view).ok()).map(Part::Filled);
    let geo = plan.decisions.geo.is_asked().then(names::geo_file);
    BTreeMap::from([(names::access_log_file(), File::plain(text, Owners::default(), geo))])
}

/// Whether servers name anything of that file.
pub fn is_needed(log: &AccessLog) -> bool {
    matches!(log.logs, Logs::To(_)) && (log.line.is_some() || !log.unlogged.is_empty())
}

fn view(log: &AccessLog) -> Result<view::AccessLog, Refused> {
    let tells = |variables: &[LogVariable]| {
        log.line.as_deref().is_some_and(|line| variables.iter().any(|variable| line.tells(*variable)))
    };
    let format = |line: &LogLine| {
        Ok(view::LogFormat {
            name: Word::own(FORMAT)?,
            escape: Word::fixed(if log.json { "json" } else { "default" }),
            line: Text::log_line(line)?,
        })
    };
    let skip = || {
        let requests = log.unlogged.iter().map(unlogged).collect::<Result<_, Refused>>()?;
        Ok(view::LogSkip { variable: Word::variable(LOGGED)?, requests })
    };
    Ok(view::AccessLog {
        backends: tells(&OF_BACKENDS),
        namespace: tells(&[Namespace]),
        service: tells(&[ServiceName]),
        port: tells(&[ServicePort]),
        upstream: tells(&[Upstream]),
        alternative: tells(&[Alternative]),
        ingress: tells(&[IngressName]),
        request_id: tells(&[RequestId]),
        skip: (!log.unlogged.is_empty()).then(skip).transpose()?.into_iter().collect(),
        formats: log.line.as_deref().map(format).transpose()?.into_iter().collect(),
    })
}

fn unlogged(request: &Unlogged) -> Result<Literal, Refused> {
    match request {
        Unlogged::Exact(path) => Literal::new(path.as_str()),
        Unlogged::Expression { pattern, case_sensitive: true } => {
            Literal::new(&format!("~{LIMITS}{}", anywhere(pattern.as_str())))
        }
        Unlogged::Expression { pattern, case_sensitive: false } => {
            Literal::new(&format!("~*{LIMITS}{}", anywhere(pattern.as_str())))
        }
    }
}

/// What a server says: the arguments of each `access_log`.
pub fn of_server(log: &AccessLog, server: &Server) -> Result<Vec<Words>, Refused> {
    let has_line = log.line(server.handover == Handover::Detailed).is_some();
    let mut routes = server.routes.iter().chain([&server.fallback]);
    let is_unknown =
        server.name == ServerName::CatchAll && routes.all(|route| route.origin.object.kind != Kind::Ingress);
    match &log.logs {
        _ if is_unknown && log.leaves_out_unknown_hosts => Ok(vec![Word::fixed("off").into()]),
        Logs::Inherited => Ok(Vec::new()),
        Logs::Off => Ok(vec![Word::fixed("off").into()]),
        Logs::To(targets) => targets.iter().map(|target| words(target, has_line, !log.unlogged.is_empty())).collect(),
    }
}

fn words(target: &LogTarget, has_line: bool, skips: bool) -> Result<Words, Refused> {
    let place = match &target.place {
        LogPlace::File(path) => Path::new(path)?.into(),
        LogPlace::Syslog(address) => Word::syslog(*address).into(),
        LogPlace::Host(place) => Literal::new(place)?.into(),
    };
    // nginx takes one condition; that of the settings is the nearer one.
    let kept = target.parameters.iter().filter(|word| !(skips && word.starts_with("if=")));
    let kept = kept.map(|word| Literal::new(word).map(Words::from)).collect::<Result<Vec<_>, _>>()?;
    let condition = skips.then(|| Word::variable(LOGGED)).transpose()?.map(|word| Word::setting("if", &word));
    let parameters: Vec<_> = buffering(target.buffering).chain(condition).map(Words::from).chain(kept).collect();
    let format = match (&target.format, has_line) {
        (_, true) => Some(Word::own(FORMAT)?.into()),
        (Some(format), false) => Some(Literal::new(format)?.into()),
        (None, false) => (!parameters.is_empty()).then(|| Word::fixed("combined").into()),
    };
    Ok(Words::join([place].into_iter().chain(format.into_iter().chain(parameters))))
}

/// How lines are gathered.
pub fn buffering(Buffering { size, flush, gzip }: Buffering) -> impl Iterator<Item = Word> {
    let own = [
        size.map(|size| Word::setting("buffer", &Word::size(size))),
        flush.map(|flush| Word::setting("flush", &Word::time(flush))),
        gzip.map(|level| Word::setting("gzip", &Word::number(u64::from(level)))),
    ];
    own.into_iter().flatten()
}

/// What a location says for the variables of the line.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(line) = scene.surroundings.log_line else { return Ok(()) };
    let mut set = |variable: &str, value: Words| {
        slots.say(Slot::Variables, "set", Words::join([Words::from(Word::variable(variable)?), value]));
        Ok(())
    };
    if line.tells(LogVariable::IngressName) {
        set("log_ingress", text(&scene.route.origin.object.name)?)?;
    }
    let Action::Proxy { upstream, split } = &scene.route.action else { return Ok(()) };
    let name = |upstream: &UpstreamId| Word::own(&names::upstream(upstream));
    if split.is_some() && [LogVariable::Upstream, LogVariable::Alternative].iter().any(|one| line.tells(*one)) {
        set("log_main", name(upstream)?.into())?;
    }
    // nginx has no variable with the name that `grpc_pass` and `fastcgi_pass` have.
    if scene.route.action.module() != Some(Module::Proxy) && OF_BACKENDS.iter().any(|variable| line.tells(*variable)) {
        let handed = match split {
            Some(split) => Word::variable(&names::split(split, upstream))?,
            None => name(upstream)?,
        };
        set("log_handed", handed.into())?;
    }
    Ok(())
}
