//! The web application firewall (ModSecurity) in a location, and the rules that its server loads.
//! It must not know what the rules say.

use crate::render::content::Part;
use crate::render::file_set::{File, Owners};
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::Text;
use crate::render::view::Statement;
use crate::{Decisions, Plan, RuleFiles};
use ingressd_model::catalogue::MODSECURITY_RULES;
use ingressd_model::{Refused, Route, Server};

use super::head::{Head, HeadSlots, statements};
use super::location::Scene;
use super::shared::behaviours;
use super::slots::{Slot, Slots, text};
use super::tables::Files;

/// The range of rule IDs that is reserved for the OWASP rules.
const CORE_RULES: &str = "SecRuleRemoveById 900000-999999";

/// Writes the directives. A location uses the rules of its server, which are loaded once; rules of
/// its own would be loaded for each location.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(firewall) = scene.route.behaviour.firewall.as_deref() else { return Ok(()) };
    slots.say(Slot::Firewall, "modsecurity", "on");
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
    server.all_routes().filter(|route| route.behaviour.firewall.is_some())
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

/// Writes the rules that a server loads, with the first field that asked for the firewall.
pub fn of_server(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let decisions = head.facts.decisions;
    if let Some(first) = guarded(head.server).next().filter(|_| !decisions.firewall.shared) {
        let rules = rules(decisions, has_core_rules(head.server, decisions));
        rules.for_each(|rules| slots.say(rules, &first.origin));
    }
    Ok(())
}

/// The file that servers require when the rules are loaded once for all sites.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    if plan.decisions.firewall.shared && behaviours(plan).any(|(behaviour, _)| behaviour.firewall.is_some()) {
        let rules: Vec<_> = rules(&plan.decisions, true).collect();
        let file = of_all_sites(statements(files.engine, &rules));
        files.put(names::firewall_file(), File::plain([file], Owners::default(), []));
    }
}

/// What the file consists of. Without the rules nginx would serve everybody unprotected, because
/// it needs none: what cannot be written is a line that nginx refuses.
fn of_all_sites(rules: Result<Filled, Refused>) -> Part {
    rules.map_or(Part::Fixed("modsecurity_rules;\n"), Part::Filled)
}

/// One directive for each file of rules, or for each pattern of files.
fn rules(decisions: &Decisions, with_core_rules: bool) -> impl Iterator<Item = Statement> {
    let core = decisions.firewall.core_rules.iter().filter(move |_| with_core_rules);
    let line = |files: &RuleFiles| Statement::plain(MODSECURITY_RULES.name, Text::including(files));
    decisions.firewall.rules.iter().chain(core).map(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_rules_of_all_sites_nginx_refuses_the_configuration() {
        let written = of_all_sites(Err(Refused::because("x")));
        assert_eq!(written.pieces().collect::<Vec<_>>(), [b"modsecurity_rules;\n"]);
    }

    #[test]
    fn every_file_of_rules_that_may_be_named_is_written() {
        for path in ["/etc/nginx/modsecurity.conf".to_owned(), format!("/{}/*", "a_./-Z9".repeat(142))] {
            let files: RuleFiles = path.parse().unwrap();
            assert_eq!(Text::including(&files), Text::new(&format!("Include {path}")).unwrap());
        }
    }
}
