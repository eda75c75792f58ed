//! Paths whose requests have different handlers: the location of the path asks a variable for the
//! location of the handler, and applies no policy itself. nginx has a location for each path and
//! each handler, however many conditions lead to it.

use std::collections::{HashMap, HashSet};

use crate::Plan;
use crate::render::file_set::FilePath;
use crate::render::names;
use crate::render::token::{Literal, Word, Words};
use crate::render::view::{self, Block, Comparison};
use ingressd_model::catalogue::CLIENT_MAX_BODY_SIZE;
use ingressd_model::{Argument, Branch, Directive, ErrorPages, Handler, Refused, Route, Server};

use super::location::{Location, Scene, of_place};
use super::paths::Place;
use super::slots::{Inherited, Slot, Slots};
use super::split::decided;
use super::tables::Files;
use super::{access_log, answer, groups, traffic};

/// The number of each handler that conditions lead to, by its address in memory.
pub type Numbers = HashMap<*const Handler, usize>;

/// The routes with conditions.
fn deciding(server: &Server) -> impl Iterator<Item = &Route> {
    server.all_routes().filter(|route| !route.branches.is_empty())
}

/// The handlers that conditions lead to, each once, with the first route that they belong to.
fn handlers(server: &Server) -> Vec<(&Route, &Handler)> {
    let mut known = HashSet::new();
    let all = deciding(server).flat_map(|route| route.handlers().map(move |handler| (route, handler)));
    all.filter(|(_, handler)| known.insert(std::ptr::from_ref(*handler))).collect()
}

/// Numbers them, in order.
pub fn numbers(server: &Server) -> Numbers {
    let all = handlers(server).into_iter().enumerate();
    all.map(|(number, (_, handler))| (std::ptr::from_ref(handler), number)).collect()
}

/// The internal locations of a server's handlers.
pub fn places(server: &Server) -> Result<Vec<Place<'_>>, Refused> {
    let place = |(number, (route, handler)): (usize, (_, _))| {
        Ok(Place { number: Some(number), ..Place::named(&names::handler(number), route, handler)? })
    };
    handlers(server).into_iter().enumerate().map(place).collect()
}

/// The name of the variable with the location of the handler of a request, and what makes it.
fn variables(route: &Route, numbers: &Numbers) -> Result<(String, Vec<Block>), Refused> {
    let place = |handler: &Handler| match numbers.get(&std::ptr::from_ref(handler)) {
        Some(number) => Ok(names::handler(*number)),
        None => Err(Refused::because("a handler has no number")),
    };
    let branches = route.branches.iter().map(|one| Ok((&one.all[..], place(&one.then)?)));
    let branches = branches.collect::<Result<Vec<_>, Refused>>()?;
    let rest = place(&route.otherwise)?;
    let name = names::branches(&branches, &rest);
    let mut blocks = Vec::new();
    let branches: Vec<_> = branches.into_iter().map(|(all, then)| Branch { all: all.to_vec(), then }).collect();
    decided(&branches, &|name: &String| Word::own(name), &name, Word::own(&rest)?, &mut blocks)?;
    Ok((name, blocks))
}

/// The variables of a server that can be written; locations that need others are closed.
fn written(server: &Server) -> impl Iterator<Item = (&Route, String, Vec<Block>)> {
    let numbers = numbers(server);
    deciding(server).filter_map(move |route| {
        let (name, blocks) = variables(route, &numbers).ok()?;
        Some((route, name, blocks))
    })
}

/// The files that a server requires for them.
pub fn requires(server: &Server) -> impl Iterator<Item = FilePath> {
    written(server).map(|(_, name, _)| names::variable_file(&name))
}

/// One file for each distinct list of conditions.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    for (route, name, blocks) in plan.model.servers.iter().flat_map(|server| written(server)) {
        files.add(names::variable_file(&name), Some(&route.origin), [], |tables| {
            blocks.into_iter().for_each(|block| tables.block(block));
            Ok(())
        });
    }
}

/// The location of a path that leads to those of handlers. nginx compares the length of a body
/// with a limit before it reads any variable: here there is none.
pub fn location(scene: &Scene<'_>) -> Result<Location, Refused> {
    let (route, surroundings) = (scene.place.route, scene.surroundings);
    let mut slots = Slots::default();
    groups::of_branches(scene, &mut slots)?;
    answer::to_slash(scene, &mut slots)?;
    access_log::of_path(scene, &mut slots)?;
    traffic::lower(scene, &mut slots)?;
    let (name, _) = variables(route, surroundings.numbers)?;
    let place = Word::variable(&name)?;
    let status = Word::number(u64::from(ErrorPages::WITHOUT_ENDPOINTS));
    slots.say(Slot::Answer, "return", status.clone());
    // The request gets the error pages of the location that it is handed to.
    slots.say(Slot::Backend, "recursive_error_pages", "on");
    slots.say(Slot::Backend, "error_page", Words::join([status, Word::fixed("="), place]));
    slots.say(Slot::Backend, CLIENT_MAX_BODY_SIZE.name, "0");
    let view = view::Location { statements: slots.statements(&Inherited::default(), None), ..of_place(scene.place)? };
    Ok(Location { view, family: None, request_headers: None, parameters: Vec::new(), owners: Vec::new() })
}

/// nginx's own limit of a body, in bytes.
const USUAL_LIMIT: u64 = 1 << 20;

/// Refuses bodies that are longer than the handler allows, which nginx itself does before it knows
/// the handler.
pub fn body_limit(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    if scene.place.number.is_none() {
        return Ok(());
    }
    let is_limit = |directive: &&Directive| *directive.row == CLIENT_MAX_BODY_SIZE;
    let own = scene.handler.behaviour.directives.iter().find(is_limit);
    let said = own.or(scene.surroundings.common.iter().copied().find(is_limit));
    let limit = said.map_or(USUAL_LIMIT, |directive| match &directive.arguments[..] {
        [Argument::Size(size)] => size.0,
        _ => USUAL_LIMIT,
    });
    if limit > 0 {
        let (variable, operator) = (Word::fixed("$content_length"), Word::fixed("~"));
        let value = Literal::new(&longer_than(limit))?.into();
        let name = Word::fixed("return");
        slots.say_compared(Slot::Counted, Comparison { variable, operator, value, name, arguments: "413".into() });
    }
    Ok(())
}

/// An expression for numbers that are greater than this one.
fn longer_than(limit: u64) -> String {
    let digits = limit.to_string();
    let greater = digits.char_indices().filter(|(_, digit)| *digit != '9').map(|(place, digit)| {
        let (next, more) = (u32::from(digit) - u32::from('0') + 1, digits.len() - place - 1);
        format!("{}[{next}-9][0-9]{{{more}}}", &digits[..place])
    });
    let longer = format!("[1-9][0-9]{{{},}}", digits.len());
    let all: Vec<_> = [longer].into_iter().chain(greater).collect();
    format!("^0*(?:{})$", all.join("|"))
}

#[cfg(test)]
mod tests {
    use super::longer_than;

    #[test]
    fn a_number_is_compared_digit_by_digit() {
        assert_eq!(longer_than(1), "^0*(?:[1-9][0-9]{1,}|[2-9][0-9]{0})$");
        assert_eq!(longer_than(109), "^0*(?:[1-9][0-9]{3,}|[2-9][0-9]{2}|1[1-9][0-9]{1})$");
    }
}
