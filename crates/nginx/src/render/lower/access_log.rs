//! Access logs: the log format with its variables, and the directives of servers and locations.

use std::sync::Arc;

use crate::render::names;
use crate::render::token::{Literal, Path, Text, Word, Words};
use crate::render::view::{Block, Tables};
use crate::{AccessLog, Buffering, Decisions, Global, LogPlace, LogTarget, Logs, Plan};
use ingressd_model::LogVariable::{
    Alternative, Host, IngressName, IngressNamespace, Namespace, Port, RequestId, Scheme, ServiceName, ServicePort,
    Status, Time, Upstream,
};
use ingressd_model::catalogue::Module;
use ingressd_model::{
    Action, HeaderSet, Kind, LogVariable, PathMatch, Refused, Route, Server, ServerName, Unlogged, UpstreamId,
};

use super::head::{Head, HeadSlots};
use super::location::Scene;
use super::slots::{Slot, Slots, text};
use super::tables::{Files, matching};
use super::traffic;

/// The variable that says whether a request is logged.
const LOGGED: &str = "logged";
/// Variables that are derived from the name of the request's upstream.
const OF_BACKENDS: [LogVariable; 5] = [Namespace, ServiceName, ServicePort, Upstream, Alternative];
const FORMAT: &str = "ingressd_line";
/// Variables that locations set, and the blocks with what they are elsewhere.
const OF_LOCATIONS: [(LogVariable, &str); 3] = [
    (IngressNamespace, "geo $ingressd_log_ingress_namespace"),
    (IngressName, "geo $ingressd_log_ingress"),
    (LogVariable::Path, "geo $ingressd_log_path"),
];
/// The longest path in a line, in characters.
const LONGEST_PATH: usize = 200;

/// The file that servers require which use a log format or conditions of ours, or headers with
/// properties of routes.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let Decisions { access_log: log, global, .. } = &*plan.decisions;
    // Unknown hosts have a server also where the model has none.
    let unknown = Server::of_unknown_hosts();
    if plan.model.servers.iter().map(Arc::as_ref).chain(&unknown).any(|server| is_needed(log, global, server)) {
        let geo = plan.decisions.geo.is_asked().then(names::geo_file);
        files.add(names::access_log_file(), None, geo, |tables| say(plan, tables));
    }
}

/// Whether a server uses anything of that file.
pub fn is_needed(log: &AccessLog, global: &Global, server: &Server) -> bool {
    let has_line = || log.line(server.header_set == HeaderSet::Detailed).is_some();
    global.names_route() || matches!(log.logs, Logs::To(_)) && (!log.unlogged.is_empty() || has_line())
}

/// Variables of the line that are derived from the name of the upstream: the variable, the
/// expression that extracts it, and what it contains.
const FROM_NAMES: [(LogVariable, &str, &str, &str); 3] = [
    (
        Namespace,
        "$ingressd_log_namespace",
        r#""~^[0-9a-f]+\.ingressd[^.]*\.(?<ingressd_log_a>[^.]+)\.[^.]+\.[^.]+""#,
        "$ingressd_log_a",
    ),
    (
        ServiceName,
        "$ingressd_log_service",
        r#""~^[0-9a-f]+\.ingressd[^.]*\.[^.]+\.(?<ingressd_log_b>[^.]+)\.[^.]+""#,
        "$ingressd_log_b",
    ),
    (
        ServicePort,
        "$ingressd_log_port",
        r#""~^[0-9a-f]+\.ingressd[^.]*\.[^.]+\.[^.]+\.(?<ingressd_log_c>[^.]+)""#,
        "$ingressd_log_c",
    ),
];

fn say(plan: &Plan, tables: &mut Tables) -> Result<(), Refused> {
    let Decisions { access_log: log, global, .. } = &*plan.decisions;
    let reports = |variable| global.reports(variable) || log.line.as_deref().is_some_and(|line| line.reports(variable));
    // What a subrequest says would stay for its request.
    let map = |source: &'static str, variable: &'static str| match global.names_route() || log.questions {
        true => Block::map(source, variable).line("volatile"),
        false => Block::map(source, variable),
    };
    if OF_BACKENDS.into_iter().any(reports) {
        tables.block(map("1", "$ingressd_log_handed").row("default", "$proxy_host"));
        tables.block(Block::new("geo $ingressd_log_main").row("default", r#""""#));
    }
    for (_, variable, pattern, value) in FROM_NAMES.into_iter().filter(|(variable, ..)| reports(*variable)) {
        tables.block(map("$ingressd_log_handed", variable).row("default", "-").row(pattern, value));
    }
    if reports(Upstream) {
        tables.block(
            map("$ingressd_log_main:$ingressd_log_handed", "$ingressd_log_upstream").row("default", "-").row(
                r#""~^:?[0-9a-f]+\.ingressd[^.]*\.(?<ingressd_log_d>[^.]+)\.(?<ingressd_log_e>[^.]+)\.(?<ingressd_log_f>[^.:]+)""#,
                "$ingressd_log_d-$ingressd_log_e-$ingressd_log_f",
            ),
        );
    }
    if reports(Alternative) {
        tables.block(
            map("$ingressd_log_main:$ingressd_log_handed", "$ingressd_log_alternative")
                .row("default", r#""""#)
                .row(r#""~^([^:]+):\1$""#, r#""""#)
                .row(
                    r#""~^[^:]+:[0-9a-f]+\.ingressd[^.]*\.(?<ingressd_log_g>[^.]+)\.(?<ingressd_log_h>[^.]+)\.(?<ingressd_log_i>[^.:]+)""#,
                    "$ingressd_log_g-$ingressd_log_h-$ingressd_log_i",
                ),
        );
    }
    for (_, geo) in OF_LOCATIONS.into_iter().filter(|(variable, _)| reports(*variable)) {
        tables.block(Block::new(geo).row("default", "-"));
    }
    if reports(Time) {
        let map = Block::map("$time_iso8601/$msec", "$ingressd_log_time").line("volatile");
        tables.block(map.row("default", "$time_iso8601").row(
            r#""~^(?<ingressd_log_j>[-0-9]+T[0-9:]+)(?<ingressd_log_k>[^/]*)/[0-9]+(?<ingressd_log_l>[.][0-9]+)$""#,
            "$ingressd_log_j$ingressd_log_l$ingressd_log_k",
        ));
    }
    if reports(Status) {
        let map = Block::map("$status", "$ingressd_log_status").line("volatile").row("default", "$status");
        tables.block(map.row(r#""~^0+(?<ingressd_log_m>[0-9]+)$""#, "$ingressd_log_m"));
    }
    let scheme = if plan.trusted().is_empty() { "$scheme" } else { "$ingressd_scheme" };
    for (_, variable, source) in [
        (Host, "$ingressd_log_host", "$ingressd_host"),
        (Scheme, "$ingressd_log_scheme", scheme),
        (Port, "$ingressd_log_server_port", "$ingressd_port"),
    ]
    .into_iter()
    .filter(|(variable, ..)| reports(*variable))
    {
        tables.block(Block::map(source, variable).row("default", source));
    }
    if reports(RequestId) {
        let map = Block::map("$http_x_request_id", "$ingressd_log_request_id");
        tables.block(map.row("default", "$http_x_request_id").row(r#""""#, "$request_id"));
    }
    if !log.unlogged.is_empty() {
        let requests = log.unlogged.iter().map(unlogged).collect::<Result<Vec<_>, _>>()?;
        tables.block(Block::map("$request_uri", Word::variable(LOGGED)?).row("default", "1").rows(requests, "0"));
    }
    if let Some(line) = &log.line {
        let escape = if log.json { "escape=json" } else { "escape=default" };
        let format = [Word::own(FORMAT)?.into(), escape.into(), Text::log_line(line)?.into()];
        tables.line(Words::line("log_format", Words::join::<Words>(format)));
    }
    Ok(())
}

fn unlogged(request: &Unlogged) -> Result<Literal, Refused> {
    match request {
        Unlogged::Exact(path) => Literal::new(path.as_str()),
        Unlogged::Expression { pattern, case_sensitive } => matching(pattern, *case_sensitive),
    }
}

/// Writes the logs of a server.
pub fn of_server(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let log = &head.facts.decisions.access_log;
    let has_line = log.line(head.is_detailed()).is_some();
    let mut routes = head.server.routes.iter().chain([&head.server.fallback]);
    let is_unknown =
        head.server.name == ServerName::CatchAll && routes.all(|route| !route.origin.object.kind.asks_for_routes());
    if is_unknown && log.leaves_out_unknown_hosts {
        slots.connection.push(traffic::no_other_log(head.facts.decisions));
        return Ok(());
    }
    let targets = match &log.logs {
        Logs::Inherited => return Ok(()),
        Logs::Off => {
            slots.connection.push(traffic::no_other_log(head.facts.decisions));
            return Ok(());
        }
        Logs::To(targets) => targets,
    };
    for target in targets {
        slots.connection.push(Words::line("access_log", words(target, has_line, !log.unlogged.is_empty())?));
    }
    Ok(())
}

/// The logs of subrequests: those of a server of the ingress-nginx dialect, but for the one that
/// requests are counted by.
pub fn of_subrequests(decisions: &Decisions) -> Result<Vec<Words>, Refused> {
    let log = &decisions.access_log;
    match (&log.logs, &decisions.traffic) {
        (Logs::To(targets), Some(_)) => {
            let has_line = log.line(true).is_some();
            targets.iter().map(|target| words(target, has_line, !log.unlogged.is_empty())).collect()
        }
        (Logs::Off | Logs::Inherited, Some(_)) => Ok(vec!["off".into()]),
        (_, None) => Ok(Vec::new()),
    }
}

fn words(target: &LogTarget, has_line: bool, skips: bool) -> Result<Words, Refused> {
    let place = match &target.place {
        LogPlace::File(path) => Path::new(path)?.into(),
        LogPlace::Syslog(address) => Word::syslog(*address).into(),
        LogPlace::Socket(socket) => Word::syslog_socket(socket).into(),
        LogPlace::Host(place) => Literal::new(place)?.into(),
    };
    // nginx takes one condition for each log; ours replaces the host's.
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

/// Whether the log line or a header has a variable.
fn reports(scene: &Scene<'_>, variable: LogVariable) -> bool {
    let line = scene.surroundings.log_line;
    scene.facts.decisions.global.reports(variable) || line.is_some_and(|line| line.reports(variable))
}

fn set(variable: &str, value: Words, slots: &mut Slots) -> Result<(), Refused> {
    slots.say(Slot::Variables, "set", Words::join([Words::from(Word::variable(variable)?), value]));
    Ok(())
}

/// Writes the path of the rule into its location. Those that it leads to keep it.
pub fn of_path(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let route = scene.place.route;
    let is_rest = std::ptr::eq(route, &scene.surroundings.server.fallback);
    if scene.place.is_named() || is_rest || route.origin.object.kind != Kind::INGRESS {
        return Ok(());
    }
    if reports(scene, LogVariable::Path) { set("log_path", text(&path(route))?, slots) } else { Ok(()) }
}

/// Writes the variables that the log line and headers need into a location.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let reports = |variable| reports(scene, variable);
    let mut set = |variable: &str, value: Words| set(variable, value, slots);
    let object = &scene.handler.origin.object;
    let is_ingress = object.kind == Kind::INGRESS;
    if is_ingress && reports(IngressNamespace) {
        set("log_ingress_namespace", text(&object.namespace)?)?;
    }
    if is_ingress && reports(IngressName) {
        set("log_ingress", text(&object.name)?)?;
    }
    let Action::Proxy { upstream, split } = &scene.handler.action else { return Ok(()) };
    let name = |upstream: &UpstreamId| Word::own(&names::upstream(upstream));
    if split.is_some() && [Upstream, Alternative].into_iter().any(reports) {
        set("log_main", name(upstream)?.into())?;
    }
    // The location that led to what stands in may have said another.
    if scene.place.is_named() && scene.place.number.is_none() && OF_BACKENDS.into_iter().any(reports) {
        set("log_main", text("")?)?;
        set("log_handed", name(upstream)?.into())?;
    }
    // nginx has no variable for the argument of `grpc_pass` or `fastcgi_pass`.
    if scene.handler.action.module() != Some(Module::Proxy) && OF_BACKENDS.into_iter().any(reports) {
        let handed = match split {
            Some(split) => Word::variable(&names::split(split, upstream))?,
            None => name(upstream)?,
        };
        set("log_handed", handed.into())?;
    }
    Ok(())
}

/// The path of a rule, as it is written.
fn path(route: &Route) -> String {
    let text = match &route.path {
        PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => path.text(),
        PathMatch::Regex(pattern) => pattern.text(),
    };
    text.chars().take(LONGEST_PATH).collect()
}
