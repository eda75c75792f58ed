//! The directives of a location whose backend speaks FastCGI. It must not know which application
//! that is.

use crate::render::token::{Text, Word};
use ingressd_model::catalogue::Module;
use ingressd_model::{ParameterName, Refused, Template};

use super::error_pages;
use super::location::Scene;
use super::slots::{Header, Slot, Slots};

/// Directives that are written where the route does not set them, because the host's own settings
/// of FastCGI are for its own sites.
const SAID: [(&str, &str); 21] = [
    ("fastcgi_bind", "off"),
    ("fastcgi_buffer_size", "4k"),
    ("fastcgi_buffering", "on"),
    ("fastcgi_buffers", "8 4k"),
    ("fastcgi_cache", "off"),
    ("fastcgi_connect_timeout", "5s"),
    ("fastcgi_ignore_client_abort", "off"),
    ("fastcgi_ignore_headers", "X-Accel-Redirect"),
    ("fastcgi_intercept_errors", "off"),
    ("fastcgi_keep_conn", "off"),
    ("fastcgi_limit_rate", "0"),
    ("fastcgi_max_temp_file_size", "1024m"),
    ("fastcgi_next_upstream", "error timeout"),
    ("fastcgi_next_upstream_timeout", "0"),
    ("fastcgi_next_upstream_tries", "3"),
    ("fastcgi_pass_request_body", "on"),
    ("fastcgi_pass_request_headers", "on"),
    ("fastcgi_read_timeout", "60s"),
    ("fastcgi_request_buffering", "on"),
    ("fastcgi_send_timeout", "60s"),
    ("fastcgi_store", "off"),
];

/// Writes the directives.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    if scene.handler.action.module() != Some(Module::FastCgi) {
        return Ok(());
    }
    let behaviour = &scene.handler.behaviour;
    let own: Vec<_> = behaviour.directives.iter().filter_map(|directive| directive.row.fastcgi).collect();
    let intercepts = scene.handler.errors.as_deref().is_some_and(error_pages::intercepts);
    for (name, arguments) in SAID {
        let is_own = own.contains(&name) || (intercepts && name == "fastcgi_intercept_errors");
        if !is_own {
            slots.say(Slot::Backend, name, Word::fixed(arguments));
        }
    }
    if let Some(index) = behaviour.fastcgi.as_deref().and_then(|fastcgi| fastcgi.index.as_ref()) {
        slots.say(Slot::Backend, "fastcgi_index", Word::new(index.as_str())?);
    }
    Ok(())
}

/// The parameters that a location sets, in the place of those that every application gets or in
/// addition.
pub fn parameters(scene: &Scene<'_>) -> Result<Vec<Header>, Refused> {
    let Some(fastcgi) = scene.handler.behaviour.fastcgi.as_deref() else { return Ok(Vec::new()) };
    let trusts = scene.facts.names_scheme();
    let parameter = |(name, value): &(ParameterName, Template)| {
        let value = Text::template(&[], value, trusts)?;
        Ok(Header::new(Word::new(name.as_str())?, value))
    };
    fastcgi.parameters.iter().map(parameter).collect()
}
