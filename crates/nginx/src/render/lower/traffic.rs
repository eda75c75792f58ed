//! The log from which the daemon counts requests: its line, and who writes it. It must not know
//! who reads it.

use crate::Decisions;
use crate::render::token::{INSTANCE, Path, Word, Words};
use crate::render::view::{Block, Tables};
use ingressd_model::catalogue::ACCESS_LOG;
use ingressd_model::{Directive, Instance, Refused};

use super::head::{Head, HeadSlots};
use super::location::Scene;
use super::slots::{Slot, Slots};

/// The variable with the number of the route among those of its host.
const ROUTE: &str = "traffic";

/// The line. A client chooses what stands for its host and method, in which nginx lets no blank
/// through; the last values have blanks themselves.
macro_rules! line {
    ($more:literal) => {
        concat!(
            "log_format ingressd_traffic \"$host $ingressd_traffic $proxy_host $status $request_method ",
            "$request_time $bytes_sent $request_length $upstream_response_time",
            $more,
            "\""
        )
    };
}
const LINE: &str = line!("");

/// The same with how long connecting took.
const LINE_WITH_CONNECTS: &str = line!(";$upstream_connect_time");

/// What logs nothing, and switches off what would be inherited. nginx connects to a syslog server
/// when it sends a line. After `access_log off` no other log of the same block would count.
const NO_OTHER_LOG: &str = "syslog:server=127.0.0.1 combined if=0";

/// The file that makes nginx log. It is no part of a generation and lies where nothing outlives
/// the host's start: an nginx that runs without a daemon logs nothing there.
pub fn snippet(lines: &std::path::Path, instance: &Instance) -> Result<String, Refused> {
    let format = Word::own("ingressd_traffic")?;
    let words = [Path::new(lines)?.into(), Words::from(format), "buffer=64k flush=1s".into()];
    let line = Words::line("access_log", Words::join(words));
    Ok(format!("{};\n", line.as_str().replace(INSTANCE, &instance.mark())))
}

/// Writes what all servers share.
pub fn say(decisions: &Decisions, tables: &mut Tables) -> Result<(), Refused> {
    if decisions.traffic.is_some() {
        tables.block(Block::new("geo $ingressd_traffic").row("default", "-"));
        tables.line(if decisions.traffic_connects { LINE_WITH_CONNECTS } else { LINE });
    }
    Ok(())
}

/// Switches off the logs that would be inherited, and no other.
pub fn no_other_log(decisions: &Decisions) -> Words {
    match decisions.traffic {
        Some(_) => Words::line("access_log", NO_OTHER_LOG),
        None => "access_log off".into(),
    }
}

/// Writes the log of a server.
pub fn of_server(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    if let Some(included) = included(head.facts.decisions)? {
        slots.connection.push(Words::line("include", included));
    }
    Ok(())
}

fn included(decisions: &Decisions) -> Result<Option<Path>, Refused> {
    decisions.traffic.as_deref().map(Path::new).transpose()
}

/// Whether [`lower`] writes the directive of a route in another way.
pub fn takes_over(directive: &Directive, decisions: &Decisions) -> bool {
    decisions.traffic.is_some() && *directive.row == ACCESS_LOG
}

/// Writes into a location which route it belongs to. Where the route is not logged, its requests
/// are counted all the same.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let decisions = scene.facts.decisions;
    let Some(included) = included(decisions)? else { return Ok(()) };
    let mut routes = scene.surroundings.server.all_routes();
    // What stands in for a route keeps the number of the route that led to it.
    if let Some(number) = routes.position(|route| !scene.place.is_named() && std::ptr::eq(route, scene.place.route)) {
        let words = [Word::variable(ROUTE)?, Word::number(number as u64)];
        slots.say(Slot::Counted, "set", Words::join(words));
    }
    if !scene.place.decides()
        && scene.handler.behaviour.directives.iter().any(|directive| takes_over(directive, decisions))
    {
        slots.say(Slot::Variables, "access_log", NO_OTHER_LOG);
        slots.say(Slot::Variables, "include", included);
    }
    Ok(())
}
