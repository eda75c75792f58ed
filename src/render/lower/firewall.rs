//! The web application firewall (ModSecurity) in a location, and the rules that its server loads.
//! It must not know what the rules say.

use std::collections::BTreeMap;

use crate::model::catalogue::MODSECURITY_RULES;
use crate::model::{Origin, Refused, Route, Server};
use crate::nginx::{Decisions, Plan, RuleFiles};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Text, Word};
use crate::render::view;

use super::location::Scene;
use super::shared::behaviours;
use super::slots::{Slot, Slots, text};

/// The range of rule IDs that is reserved for the OWASP rules.
const CORE_RULES: &str = "SecRuleRemoveById 900000-999999";

/// Writes the directives. A location uses the rules of its server, which are loaded once; rules of
/// its own would be loaded for each location.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(firewall) = scene.route.behaviour.firewall.as_deref() else { return Ok(()) };
    slots.say(Slot::Firewall, "modsecurity", Word::fixed("on"));
    if scene.surroundings.core_rules && !firewall.core_rules {
        slots.say(Slot::Firewall, MODSECURITY_RULES.name, text(CORE_RULES)?);
    }
    for setting in &firewall.settings {
        slots.say(Slot::Firewall, MODSECURITY_RULES.name, text(setting.as_str())?);
    }
    if let Some(transaction) = &firewall.transaction {
        slots.say(Slot::Firewall, "modsecurity_transaction_id", Text::log_line(transaction)?);
    }
    Ok(())
}

fn guarded(server: &Server) -> impl Iterator<Item = &Route> {
    server.routes.iter().chain([&server.fallback]).filter(|route| route.behaviour.firewall.is_some())
}

/// Whether any route of a server has the firewall.
pub fn is_asked(server: &Server) -> bool {
    guarded(server).next().is_some()
}

/// Whether the OWASP rules are among those that a server's locations inherit.
pub fn has_core_rules(server: &Server, decisions: &Decisions) -> bool {
    let asks = |route: &Route| route.behaviour.firewall.as_deref().is_some_and(|firewall| firewall.core_rules);
    is_asked(server)
        && (decisions.firewall.shared || decisions.firewall.core_rules.is_empty() || guarded(server).any(asks))
}

/// The rules that a server loads, and the first field that asked for the firewall.
pub fn of_server<'s>(
    server: &'s Server,
    decisions: &Decisions,
) -> Result<Option<(view::Firewall, &'s Origin)>, Refused> {
    let first = guarded(server).next().filter(|_| !decisions.firewall.shared);
    let Some(Route { origin, .. }) = first else { return Ok(None) };
    let view = rules(decisions, has_core_rules(server, decisions))?;
    Ok(Some((view, origin)).filter(|(view, _)| !view.directives.is_empty()))
}

/// The file that servers require when the rules are loaded once for all sites.
pub fn firewall(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let is_needed =
        plan.decisions.firewall.shared && behaviours(plan).any(|(behaviour, _)| behaviour.firewall.is_some());
    if !is_needed {
        return BTreeMap::new();
    }
    let text = rules(&plan.decisions, true).ok().and_then(|view| engine.fill("firewall", &view).ok()).map(Part::Filled);
    BTreeMap::from([(names::firewall_file(), File::plain(text, Owners::default(), []))])
}

fn rules(decisions: &Decisions, with_core_rules: bool) -> Result<view::Firewall, Refused> {
    let core = decisions.firewall.core_rules.iter().filter(|_| with_core_rules);
    let line = |files: &RuleFiles| {
        let arguments = text(&format!("Include {files}"))?;
        Ok(view::Directive { name: Word::fixed(MODSECURITY_RULES.name), arguments })
    };
    let directives = decisions.firewall.rules.iter().chain(core).map(line).collect::<Result<_, Refused>>()?;
    Ok(view::Firewall { directives })
}
