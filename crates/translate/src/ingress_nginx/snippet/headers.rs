//! Headers in snippets: which may be set, and which they replace. It must not know how the headers
//! of a location are merged.

use super::forms::COUNT;
use super::reader::Reader;
use crate::ingress_nginx::external_authentication::settable;
use crate::value::excerpt;
use crate::value::header_names;
use ingressd_model::language::syntax::Directive;
use ingressd_model::{HeaderName, Refused, SnippetHeader, SnippetText};

pub(super) fn header_name(name: &str) -> Result<HeaderName, Refused> {
    let mut names = header_names(name)?;
    match names.len() {
        1 => Ok(names.remove(0)),
        _ => Err(Refused::because("it is not the name of a header")),
    }
}

/// Checks a response header: headers that frame a response, or that affect other hosts, are
/// refused.
pub(super) fn answer_name(name: &str) -> Result<HeaderName, Refused> {
    let name = header_name(name)?;
    match name.as_str().to_ascii_lowercase().as_str() {
        "strict-transport-security" => {
            Err(Refused::because("it may affect other hosts; the administrator sets it by tls.hsts"))
        }
        "server" | "date" => Err(Refused(format!("nginx itself writes {name}").into())),
        lower if lower.starts_with("x-accel-") => Err(Refused::because("nginx itself interprets it")),
        _ => settable(&name).map(|()| name),
    }
}

pub(super) fn hide(reader: &mut Reader<'_>, name: &str) -> Result<(), Refused> {
    let name = answer_name(name)?;
    if !reader.snippet.hidden_headers.contains(&name) {
        reader.snippet.hidden_headers.push(name);
    }
    Ok(())
}

pub(super) fn answer_header(
    reader: &mut Reader<'_>,
    name: &str,
    value: SnippetText,
    always: bool,
) -> Result<(), Refused> {
    let name = answer_name(name)?;
    reader.snippet.answer_headers.push(SnippetHeader { name, value, always });
    Ok(())
}

pub(super) fn add_header(reader: &mut Reader<'_>, directive: &Directive) -> Result<(), Refused> {
    let (name, value, always) = header_arguments(directive)?;
    let value = reader.value(value)?;
    answer_header(reader, name, value, always)
}

pub(super) fn header_arguments(directive: &Directive) -> Result<(&str, &str, bool), Refused> {
    match directive.arguments.as_slice() {
        [name, value] => Ok((name, value, false)),
        [name, value, always] if always == "always" => Ok((name, value, true)),
        _ => Err(COUNT),
    }
}

pub(super) fn name_and_value(pair: &str) -> Result<(&str, &str), Refused> {
    match pair.split_once(':') {
        _ if pair.starts_with('-') => Err(Refused::because("options are not allowed: it applies to all responses")),
        Some((name, value)) => Ok((name.trim(), value.trim())),
        None => Ok((pair.trim(), "")),
    }
}

/// The header replaces that of the backend.
pub(super) fn more_set_headers(reader: &mut Reader<'_>, directive: &Directive) -> Result<(), Refused> {
    let mut has_value = false;
    for pair in &directive.arguments {
        if has_value && !pair.contains(':') {
            return Err(Refused(
                format!("{} has no : after its name; perhaps a ; is missing before it", excerpt(pair)).into(),
            ));
        }
        has_value |= pair.contains(':');
        let (name, value) = name_and_value(pair)?;
        hide(reader, name)?;
        if !value.is_empty() {
            let value = reader.value(value)?;
            answer_header(reader, name, value, true)?;
        }
    }
    if directive.arguments.is_empty() { Err(COUNT) } else { Ok(()) }
}

/// Whether it is a usual header for WebSockets, which is set anyway.
pub(super) fn is_usual_upgrade(name: &str, value: &str) -> bool {
    match name.to_ascii_lowercase().as_str() {
        "upgrade" => value == "$http_upgrade",
        "connection" => {
            ["upgrade", "$connection_upgrade", "$http_connection", ""].contains(&&*value.to_ascii_lowercase())
        }
        _ => false,
    }
}

pub(super) fn set_request_header(reader: &mut Reader<'_>, name: &str, value: &str) -> Result<(), Refused> {
    if is_usual_upgrade(name, value) {
        return Ok(());
    }
    let value = reader.value(value)?;
    request_header(reader, name, value)
}

pub(super) fn request_header(reader: &mut Reader<'_>, name: &str, value: SnippetText) -> Result<(), Refused> {
    let name = header_name(name)?;
    match name.as_str().to_ascii_lowercase().as_str() {
        "connection" => return Err(Refused::because("it frames the request; use connection-proxy-header")),
        "proxy" => return Err(Refused::because("CGI programs would choose their proxy by it")),
        "host" => {}
        _ => settable(&name)?,
    }
    reader.snippet.request_headers.push((name, value));
    Ok(())
}
