//! Keeps ends of lines out of the lines that are made of what nginx has decoded: requests with
//! control characters in their path are refused where such a line would be written, and headers of
//! all hosts hold nothing then. It must not know which texts become lines.

use std::collections::BTreeSet;

use crate::Plan;
use crate::render::names;
use crate::render::token::{Text, Word, Words};
use crate::render::view::{Block, Comparison, Statement, Tables};
use ingressd_model::{Handler, Refused};

use super::head::{Head, HeadSlots};
use super::location::Scene;
use super::shared::handlers;
use super::slots::{Slot, Slots};

/// The variable with the path, whose copy decides whether a request is refused.
const PATH: &str = "uri";

/// Writes a copy of each variable that is empty where a control character is in it. nginx makes
/// it anew whenever it is used, because a rewrite changes the path.
pub fn say(plan: &Plan, tables: &mut Tables) -> Result<(), Refused> {
    let global = &plan.decisions.global;
    let mut copied: BTreeSet<&str> = global.decoded().collect();
    if global.writes_decoded_path() || handlers(plan).any(Handler::writes_decoded_path) {
        copied.insert(PATH);
    }
    for name in copied {
        let original = Word::nginx_variable(name)?;
        let copy = Block::map(original.clone(), Word::variable(&names::line(name))?).line("volatile");
        let copy = copy.row("default", original);
        tables.block(copy.row(r#""~[\x00-\x1f\x7f]""#, Text::new("")?));
    }
    Ok(())
}

fn refused() -> Result<Comparison, Refused> {
    Ok(Comparison {
        variable: Word::variable(&names::line(PATH))?,
        operator: Word::fixed("="),
        value: Text::new("")?.into(),
        name: Word::fixed("return"),
        arguments: Words::from("400"),
    })
}

/// Refuses requests for a route. No expression is matched here, because nginx would log the path.
pub fn of_location(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    if scene.handler.writes_decoded_path() && !scene.facts.decisions.global.writes_decoded_path() {
        slots.say_compared(Slot::Lines, refused()?);
    }
    Ok(())
}

/// Refuses requests for all routes, where a header of all hosts has the path.
pub fn of_server(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    if head.facts.decisions.global.writes_decoded_path() {
        slots.say(Statement { compared: vec![refused()?], ..Statement::default() }, &head.server.origin);
    }
    Ok(())
}
