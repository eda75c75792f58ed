//! Clients by their addresses, and by their passwords, in a location; it must not know the other ways of choosing them.

use crate::model::{AccessList, Refused};
use crate::render::names;
use crate::render::token::{Path, Word};

use super::location::Scene;
use super::slots::{Header, Slot, Slots, text};

/// What a location says about addresses.
pub fn by_address(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(list) = scene.route.behaviour.access.as_deref() else { return Ok(()) };
    if let Some(mark) = AccessList::mark(list) {
        slots.say_if(Slot::Denied, Word::variable(&names::list(mark))?, "return", Word::fixed("403"));
        return Ok(());
    }
    list.deny().iter().for_each(|network| slots.say(Slot::Access, "deny", Word::network(network)));
    list.allow().iter().for_each(|network| slots.say(Slot::Access, "allow", Word::network(network)));
    let rest = if list.allow().is_empty() { "allow" } else { "deny" };
    slots.say(Slot::Access, rest, Word::fixed("all"));
    Ok(())
}

/// What it says about passwords, which do not go on to the backend.
pub fn by_password(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(basic) = scene.route.behaviour.basic_authentication.as_deref() else { return Ok(()) };
    let file = scene.facts.decisions.current.join(&*names::password_file(&basic.file));
    slots.say(Slot::Authentication, "auth_basic", text(basic.realm.as_str())?);
    slots.say(Slot::Authentication, "auth_basic_user_file", Path::new(&file)?);
    if scene.route.action.upstream().is_some() {
        slots.request_header(Header::fixed("Authorization", Word::fixed("\"\"")));
    }
    Ok(())
}

/// How they go together: whoever is chosen in one way has to be chosen in all others too.
pub fn together(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let behaviour = &scene.route.behaviour;
    if behaviour.access.is_some() || behaviour.basic_authentication.is_some() {
        slots.say(Slot::Satisfy, "satisfy", Word::fixed("all"));
    }
    Ok(())
}
