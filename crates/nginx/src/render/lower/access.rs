//! Access control by client address and by password in a location.

use crate::render::names;
use crate::render::token::{Path, Word};
use ingressd_model::{Refused, Satisfy};

use super::external_authentication;
use super::location::Scene;
use super::slots::{Header, Slot, Slots, text};

/// Writes the directives about addresses.
pub fn by_address(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(list) = scene.handler.behaviour.access.as_deref() else { return Ok(()) };
    if let Some(mark) = scene.handler.behaviour.referred_list() {
        slots.say_if(Slot::Denied, Word::variable(&names::list(mark))?, "return", Word::fixed("403"));
        return Ok(());
    }
    list.deny().iter().for_each(|network| slots.say(Slot::Access, "deny", Word::network(network)));
    list.allow().iter().for_each(|network| slots.say(Slot::Access, "allow", Word::network(network)));
    match (list.allow().is_empty(), scene.handler.behaviour.satisfy) {
        (false, _) => slots.say(Slot::Access, "deny", "all"),
        (true, Satisfy::All) => slots.say(Slot::Access, "allow", "all"),
        // With `satisfy any`, every client that the list does not deny would be let in by it.
        (true, Satisfy::Any) => {}
    }
    Ok(())
}

/// Writes the directives about passwords; credentials are not passed on to the backend.
pub fn by_password(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(basic) = scene.handler.behaviour.basic_authentication.as_deref() else { return Ok(()) };
    let file = scene.facts.decisions.current.join(&*names::password_file(&basic.file));
    slots.say(Slot::Authentication, "auth_basic", text(basic.realm.as_str())?);
    slots.say(Slot::Authentication, "auth_basic_user_file", Path::new(&file)?);
    if scene.handler.action.upstream().is_some() {
        slots.request_header(Header::fixed("Authorization", Word::fixed("\"\"")));
    }
    Ok(())
}

/// Writes how the two are combined (`satisfy`).
pub fn together(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let behaviour = &scene.handler.behaviour;
    let asks = behaviour.basic_authentication.is_some() || external_authentication::asked(scene.handler).is_some();
    if behaviour.access.is_some() || asks {
        let way = match behaviour.satisfy {
            // A list that lets no client in cannot be satisfied, and would leave passwords as the
            // only way.
            Satisfy::Any if asks => "any",
            _ => "all",
        };
        slots.say(Slot::Satisfy, "satisfy", Word::fixed(way));
        if way == "any" && behaviour.access.is_none() {
            // The server's override of the host's lists (`allow all`) would let every client in.
            slots.say(Slot::Access, "deny", "all");
        }
    }
    Ok(())
}
