//! Parses texts with variables of a request: URLs, headers and keys.

use std::sync::Arc;

use super::{excerpt, is_decoded};
use ingressd_model::{Refused, Template, TemplatePart, Variable};

/// The place of a template, which decides which variables are safe in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateUse {
    /// The URL of a subrequest.
    Question,
    /// The URL of a redirect.
    Redirect,
    /// The value of a header.
    Header,
    /// A key that is compared.
    Key,
    /// The URL of a mirrored request.
    Copy,
    /// A FastCGI parameter, which has a length prefix, so that no character can end it.
    Parameter,
    /// A FastCGI parameter with a file name: a client may select among the files of the
    /// application by the path alone.
    File,
}

/// Variables that contain neither blanks nor line ends, because nginx has checked them or because
/// they come from the first line of a request.
const PLAIN: [&str; 7] = ["host", "http_host", "remote_addr", "request_method", "request_uri", "scheme", "server_name"];
/// Parts of the query, which a subrequest does not have.
const QUERY: [&str; 3] = ["args", "is_args", "query_string"];

/// Further variables of CGI.
const OF_CGI: [&str; 10] = [
    "content_length",
    "content_type",
    "https",
    "remote_port",
    "request_id",
    "request_length",
    "request_time",
    "server_addr",
    "server_port",
    "server_protocol",
];
/// The paths among these.
const PATHS: [&str; 4] = ["document_uri", "fastcgi_path_info", "fastcgi_script_name", "uri"];

/// Parses a template. Its text consists of URL characters; in headers of any printable ones.
pub fn template(value: &str, place: TemplateUse) -> Result<Template, Refused> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = value;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character != '$' {
            let is_free = matches!(place, TemplateUse::Header | TemplateUse::Parameter | TemplateUse::File);
            match is_free || is_url_character(character) {
                true => text.push(character),
                false => {
                    return Err(Refused(format!("it cannot hold {} here", excerpt(&character.to_string())).into()));
                }
            }
            continue;
        }
        let (name, after) = name(rest)?;
        rest = after;
        if !text.is_empty() {
            parts.push(TemplatePart::Text(Arc::from(std::mem::take(&mut text))));
        }
        parts.push(variable(name, place)?);
    }
    if !text.is_empty() {
        parts.push(TemplatePart::Text(text.into()));
    }
    Template::new(parts)
}

/// Splits the name of a variable behind a `$` from the rest.
pub fn name(text: &str) -> Result<(&str, &str), Refused> {
    if let Some(braced) = text.strip_prefix('{') {
        return braced.split_once('}').ok_or(Refused::because("a ${ is never closed"));
    }
    let end = text.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'_');
    Ok(text.split_at(end.unwrap_or(text.len())))
}

fn variable(name: &str, place: TemplateUse) -> Result<TemplatePart, Refused> {
    match name {
        "" => return Err(Refused::because("a $ refers to nothing")),
        "document_root" | "realpath_root" => {
            return Err(Refused(
                format!("${name} is a folder of the node; write the folder of the application").into(),
            ));
        }
        "escaped_request_uri" if !place.escapes() => {}
        "pass_access_scheme" | "best_http_host" if place == TemplateUse::File => {}
        "pass_access_scheme" => return Ok(TemplatePart::ClientScheme),
        "best_http_host" => return Ok(TemplatePart::ClientHost),
        "escaped_request_uri" => return Ok(TemplatePart::EscapedTarget),
        _ => {}
    }
    let is_in = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty());
    let is_header = is_in("http_") || is_in("cookie_");
    let is_query = QUERY.contains(&name) || is_in("arg_");
    let fits = match place {
        TemplateUse::File if PATHS.contains(&name) => true,
        TemplateUse::File => {
            return Err(Refused(
                format!("${name} would let clients choose the file; use a path such as $fastcgi_script_name").into(),
            ));
        }
        TemplateUse::Parameter if name == "http_authorization" => {
            return Err(Refused::because("applications do not get the password that nginx asks for"));
        }
        TemplateUse::Parameter if PATHS.contains(&name) => true,
        TemplateUse::Parameter | TemplateUse::Key if name == "remote_user" => true,
        _ if PLAIN.contains(&name) => true,
        _ if is_decoded(name) => return Err(super::decoded(name)),
        TemplateUse::Question | TemplateUse::Header | TemplateUse::Key if is_query => {
            return Err(Refused(
                format!("${name} is empty in the request to the service; use $escaped_request_uri").into(),
            ));
        }
        TemplateUse::Question | TemplateUse::Copy if is_header => {
            return Err(Refused(
                format!("${name} may hold blanks, which a URL cannot; the service gets all headers of the client")
                    .into(),
            ));
        }
        TemplateUse::Question => false,
        TemplateUse::Redirect | TemplateUse::Copy => is_query,
        TemplateUse::Parameter => is_query || is_header || OF_CGI.contains(&name),
        TemplateUse::Header => is_header,
        TemplateUse::Key => is_header,
    };
    match Variable::named(name) {
        Ok(variable) if fits => Ok(TemplatePart::Variable(variable)),
        _ => Err(Refused(format!("unknown {} variable", excerpt(name)).into())),
    }
}

impl TemplateUse {
    /// Whether the encoded URI of the request may stand there.
    const fn escapes(self) -> bool {
        !matches!(self, TemplateUse::Copy | TemplateUse::Parameter | TemplateUse::File)
    }
}

/// Characters that are literal in a URL, and have no meaning to nginx.
fn is_url_character(character: char) -> bool {
    character.is_ascii_graphic() && !"\"'\\{};$<>^`|".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_stand_where_they_cannot_break_anything() {
        let shown = |text, place| template(text, place).map(|template| template.to_string());
        let rows: [(&str, TemplateUse, Result<&str, &str>); 34] = [
            (
                "/check?u=$scheme://$host$request_uri",
                TemplateUse::Question,
                Ok("/check?u=${scheme}://${host}${request_uri}"),
            ),
            ("/a?u=${escaped_request_uri}x", TemplateUse::Question, Ok("/a?u=${escaped_request_uri}x")),
            ("/a?u=$uri", TemplateUse::Question, Err("contain a line break")),
            ("/a?u=$args", TemplateUse::Question, Err("is empty in the request")),
            ("/a?u=$arg_x", TemplateUse::Question, Err("is empty in the request")),
            ("/a?u=$http_x", TemplateUse::Question, Err("may hold blanks")),
            ("/a?u=$cookie_x", TemplateUse::Question, Err("may hold blanks")),
            ("/a?u=$args", TemplateUse::Redirect, Ok("/a?u=${args}")),
            ("/a?u=$document_uri", TemplateUse::Redirect, Err("contain a line break")),
            ("/a b", TemplateUse::Redirect, Err("cannot hold \" \"")),
            ("/a;", TemplateUse::Question, Err("cannot hold \";\"")),
            ("/a{", TemplateUse::Question, Err("cannot hold \"{\"")),
            ("a \"b\" '; $http_x", TemplateUse::Header, Ok("a \"b\" '; ${http_x}")),
            ("$uri", TemplateUse::Header, Err("contain a line break")),
            ("a\nb", TemplateUse::Header, Err("control character")),
            ("$remote_user$cookie_sid", TemplateUse::Key, Ok("${remote_user}${cookie_sid}")),
            ("$ssl_client_raw_cert", TemplateUse::Key, Err("unknown \"ssl_client_raw_cert\" variable")),
            ("$ingressd_x", TemplateUse::Header, Err("unknown \"ingressd_x\" variable")),
            ("/a$request_uri?$args", TemplateUse::Copy, Ok("/a${request_uri}?${args}")),
            ("/$uri", TemplateUse::Copy, Err("contain a line break")),
            // Hosts share servers.
            ("/$server_name", TemplateUse::Copy, Ok("/${host}")),
            ("/$escaped_request_uri", TemplateUse::Copy, Err("unknown")),
            ("a b; \"$uri\" $http_x $arg_y", TemplateUse::Parameter, Ok("a b; \"${uri}\" ${http_x} ${arg_y}")),
            ("$https$server_protocol", TemplateUse::Parameter, Ok("${https}${server_protocol}")),
            ("$ssl_client_raw_cert", TemplateUse::Parameter, Err("unknown")),
            ("$http_authorization", TemplateUse::Parameter, Err("do not get the password")),
            ("$document_root", TemplateUse::Parameter, Err("a folder of the node")),
            ("/app$fastcgi_script_name", TemplateUse::File, Ok("/app${fastcgi_script_name}")),
            ("/app/$arg_file", TemplateUse::File, Err("choose the file")),
            ("/app/$host", TemplateUse::File, Err("choose the file")),
            ("$document_root/x", TemplateUse::File, Err("a folder of the node")),
            ("/a\nb", TemplateUse::File, Err("control character")),
            ("${host", TemplateUse::Header, Err("never closed")),
            ("a$", TemplateUse::Header, Err("refers to nothing")),
        ];
        for (text, place, expected) in rows {
            match (shown(text, place), expected) {
                (Ok(given), Ok(expected)) => assert_eq!(given, expected, "{text:?}"),
                (Err(given), Err(expected)) => assert!(given.to_string().contains(expected), "{text:?}: {given}"),
                (given, _) => panic!("{text:?} gives {given:?}"),
            }
        }
    }
}
