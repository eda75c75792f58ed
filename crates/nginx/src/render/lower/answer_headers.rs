//! Response headers that an object sets for its routes. It must not know where they are written.

use crate::render::token::{Text, Word};
use ingressd_model::Refused;

use super::location::Scene;
use super::slots::{Header, Slots};

/// Writes the headers, which replace those of the backend and those of all hosts. Cookies are
/// added instead.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    for header in scene.handler.behaviour.answer_headers.as_deref().unwrap_or_default() {
        let written = Header::new(Word::header_name(header.name())?, Text::new(header.value().as_str())?);
        match header.is_cookie() {
            true => slots.answer_header(written),
            false => slots.replace_answer_header(written),
        }
    }
    Ok(())
}
