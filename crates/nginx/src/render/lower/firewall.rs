//! The web application firewall (ModSecurity) in a location, and the rules that its server loads.
//! It must not know what the rules say.

use crate::render::content::Part;
use crate::render::file_set::{File, Owners};
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::Text;
use crate::render::view::Statement;
use crate::{Decisions, FirewallRules, Plan, RuleFiles};
use ingressd_model::catalogue::MODSECURITY_RULES;
use ingressd_model::{Handler, Refused, Server};

use super::head::{Head, HeadSlots, statements};
use super::location::Scene;
use super::shared::behaviours;
use super::slots::{Slot, Slots, text};
use super::tables::Files;

/// The range of rule IDs that is reserved for the OWASP rules where the administrator's own files
/// contain them.
const CORE_RULES: &str = "SecRuleRemoveById 900000-999999";

/// Rules of ours before the OWASP rules, which lead requests past them in each phase: a route that
/// does not ask for the OWASP rules keeps all rules of the administrator, whatever their numbers
/// are. A route that asks for them leaves these out.
const PAST: [&str; 5] = [
    r#"SecAction "id:1990000001,phase:1,pass,nolog,skipAfter:INGRESSD_CORE_RULES""#,
    r#"SecAction "id:1990000002,phase:2,pass,nolog,skipAfter:INGRESSD_CORE_RULES""#,
    r#"SecAction "id:1990000003,phase:3,pass,nolog,skipAfter:INGRESSD_CORE_RULES""#,
    r#"SecAction "id:1990000004,phase:4,pass,nolog,skipAfter:INGRESSD_CORE_RULES""#,
    r#"SecAction "id:1990000005,phase:5,pass,nolog,skipAfter:INGRESSD_CORE_RULES""#,
];
const PAST_LEFT_OUT: &str = "SecRuleRemoveById 1990000001-1990000005";
/// What is behind the OWASP rules then.
const BEHIND: &str = "SecMarker INGRESSD_CORE_RULES";

/// Which requests meet the OWASP rules that the locations of a server inherit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoreRules {
    /// There are none.
    Absent,
    /// Those for routes that ask for them, and leave [`PAST`] out.
    Asked,
    /// They are among the administrator's rules, and told apart by their numbers.
    Among,
}

/// Writes the directives. A location uses the rules of its server, which are loaded once; rules of
/// its own would be loaded for each location.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(firewall) = scene.handler.behaviour.firewall.as_deref() else { return Ok(()) };
    slots.say(Slot::Firewall, "modsecurity", "on");
    match (scene.surroundings.core_rules, firewall.core_rules) {
        (CoreRules::Asked, true) => slots.say(Slot::Firewall, MODSECURITY_RULES.name, text(PAST_LEFT_OUT)?),
        (CoreRules::Among, false) => slots.say(Slot::Firewall, MODSECURITY_RULES.name, text(CORE_RULES)?),
        _ => {}
    }
    for setting in &firewall.settings {
        slots.say(Slot::Firewall, MODSECURITY_RULES.name, text(setting.as_str())?);
    }
    if let Some(transaction) = &firewall.transaction {
        slots.say(Slot::Firewall, "modsecurity_transaction_id", Text::line(transaction)?);
    }
    Ok(())
}

fn guarded(server: &Server) -> impl Iterator<Item = &Handler> {
    server.handlers().filter(|handler| handler.behaviour.firewall.is_some())
}

/// Whether any route of a server has the firewall.
pub fn is_asked(server: &Server) -> bool {
    guarded(server).next().is_some()
}

/// Which requests of a server meet the OWASP rules.
pub fn core_rules(server: &Server, decisions: &Decisions) -> CoreRules {
    let asks = |handler: &Handler| handler.behaviour.firewall.as_deref().is_some_and(|firewall| firewall.core_rules);
    match &decisions.firewall {
        _ if !is_asked(server) => CoreRules::Absent,
        rules if rules.core_rules.is_empty() => CoreRules::Among,
        rules if rules.shared || guarded(server).any(asks) => CoreRules::Asked,
        _ => CoreRules::Absent,
    }
}

/// Writes the rules that a server loads, with the first field that asked for the firewall.
pub fn of_server(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let decisions = head.facts.decisions;
    if let Some(first) = guarded(head.server).next().filter(|_| !decisions.firewall.shared) {
        let rules = rules(decisions, core_rules(head.server, decisions))?;
        rules.into_iter().for_each(|rules| slots.say(rules, &first.origin));
    }
    Ok(())
}

/// The file that servers require when the rules are loaded once for all sites.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    if plan.decisions.firewall.shared && behaviours(plan).any(|(behaviour, _)| behaviour.firewall.is_some()) {
        let rules = rules(&plan.decisions, CoreRules::Asked);
        let file = of_all_sites(rules.and_then(|rules| statements(files.engine, &rules)));
        files.put(names::firewall_file(), File::plain([file], Owners::default(), []));
    }
}

/// What the file consists of. Without the rules nginx would serve everybody unprotected, because
/// it needs none: what cannot be written is a line that nginx refuses.
fn of_all_sites(rules: Result<Filled, Refused>) -> Part {
    rules.map_or(Part::Fixed("modsecurity_rules;\n"), Part::Filled)
}

/// One directive for each file of rules, or for each pattern of files.
fn rules(decisions: &Decisions, core_rules: CoreRules) -> Result<Vec<Statement>, Refused> {
    let files = |files: &RuleFiles| Ok(Text::including(files));
    let FirewallRules { rules, core_rules: core, .. } = &decisions.firewall;
    let mut texts: Vec<_> = rules.iter().map(files).collect();
    if core_rules == CoreRules::Asked && !core.is_empty() {
        texts.extend(PAST.iter().map(|line| Text::new(line)));
        texts.extend(core.iter().map(files));
        texts.push(Text::new(BEHIND));
    }
    texts.into_iter().map(|text| Ok(Statement::plain(MODSECURITY_RULES.name, text?))).collect()
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
