//! Parses rewrite targets and similar texts: text, captures and harmless variables.

use std::sync::Arc;

use super::form::Shape;
use ingressd_model::{Refused, RewriteTarget, RouteVariable, TargetPart, Variable};

/// Variables of nginx that contain only what the client sent.
const VARIABLES: [&str; 11] = [
    "args",
    "document_uri",
    "host",
    "is_args",
    "query_string",
    "remote_addr",
    "request_method",
    "request_uri",
    "scheme",
    "server_name",
    "uri",
];
/// Families of such variables, by their prefixes.
const VARIABLE_PREFIXES: [&str; 3] = ["arg_", "cookie_", "http_"];
/// Variables whose values begin with a slash.
const SLASHED: [&str; 6] = ["$uri", "${uri}", "$document_uri", "${document_uri}", "$request_uri", "${request_uri}"];
/// Starts of a value with which ingress-nginx redirects, because nginx does.
const URL_STARTS: [&str; 4] = ["http://", "https://", "$scheme", "${scheme}"];
/// Headers with passwords, which the backend does not get.
const SECRET_VARIABLES: [&str; 2] = ["http_authorization", "http_proxy_authorization"];

/// Whether a variable contains only what the client sent, and no password.
pub fn is_harmless(name: &str) -> bool {
    let is_known = VARIABLES.contains(&name) || VARIABLE_PREFIXES.iter().any(|start| name.starts_with(start));
    is_known && !SECRET_VARIABLES.contains(&name) && name != "http_cookie"
}

/// The form of [`rewrite_target`].
pub const REWRITE_TARGET: Shape = Shape {
    name: "a path, or a URL, with $1 to $9 and variables that repeat what the client sent, without ;",
    pattern: r"(?:[A-Za-z0-9_/.~:@+,=&!*()?-]|\$[1-9]|\$\{(?:args|document_uri|host|is_args|query_string|remote_addr|request_method|request_uri|scheme|server_name|uri|(?:arg|cookie|http)_[a-z0-9_]+)\}|(?:\$(?:args|document_uri|host|is_args|query_string|remote_addr|request_method|request_uri|scheme|server_name|uri|(?:arg|cookie|http)_[a-z0-9_]+))+(?:[/.~:@+,=&!*()?-]|\$[1-9]|\$\{(?:args|document_uri|host|is_args|query_string|remote_addr|request_method|request_uri|scheme|server_name|uri|(?:arg|cookie|http)_[a-z0-9_]+)\}))*(?:\$(?:args|document_uri|host|is_args|query_string|remote_addr|request_method|request_uri|scheme|server_name|uri|(?:arg|cookie|http)_[a-z0-9_]+))*",
    never: r"^https?://(?:$|[^A-Za-z0-9$])|^(?:\$scheme|\$\{scheme\})(?:$|[^:]|:(?:$|[^/]|/(?:$|[^/]|/(?:$|[^A-Za-z0-9$]))))|\$\{?http_(?:proxy_)?authorization(?:[^a-z0-9_]|$)",
    ..Shape::DEFAULT
};

/// The form of [`prefix`].
pub const PATH_PREFIX: Shape = Shape {
    name: "text with $1 to $9 and the variables of rewrite-target, without ? and ;",
    never: r"\?|\$\{?http_(?:proxy_)?authorization(?:[^a-z0-9_]|$)",
    ..REWRITE_TARGET
};

/// The form of [`host_header`], without its variables.
pub const HOST_HEADER: Shape =
    Shape { name: "letters, digits, - . _ : and variables", pattern: r"[A-Za-z0-9._:${}-]+", ..Shape::DEFAULT };

/// The form of [`hash_key`].
pub const HASH_KEY: Shape = Shape {
    name: "text and variables that repeat what the client sent, at least one",
    pattern: r"(?:[a-z0-9_/.~:@+,=&!*()-]|\$\{(?:args|document_uri|host|is_args|query_string|remote_addr|binary_remote_addr|request_method|request_uri|scheme|server_name|uri|(?:arg|cookie|http)_[a-z0-9_]+)\}|(?:\$(?:args|document_uri|host|is_args|query_string|remote_addr|binary_remote_addr|request_method|request_uri|scheme|server_name|uri|(?:arg|cookie|http)_[a-z0-9_]+))+(?:[/.~:@+,=&!*()-]|\$\{(?:args|document_uri|host|is_args|query_string|remote_addr|binary_remote_addr|request_method|request_uri|scheme|server_name|uri|(?:arg|cookie|http)_[a-z0-9_]+)\}))*(?:\$(?:args|document_uri|host|is_args|query_string|remote_addr|binary_remote_addr|request_method|request_uri|scheme|server_name|uri|(?:arg|cookie|http)_[a-z0-9_]+))*",
    never: r"^[^$]*$|\$\{?http_(?:proxy_)?authorization(?:[^a-z0-9_]|$)",
    any_case: true,
    ..Shape::DEFAULT
};

/// Parses a rewrite target: a path with `$1` to `$9` and variables; a missing leading slash is
/// added to text. A URL is the target of a redirect.
///
/// A target that begins with a capture is not changed: `/app(/.*)` with `$1` is common, and the
/// capture contains the slash.
pub fn rewrite_target(value: &str) -> Result<RewriteTarget, Refused> {
    let value = value.trim();
    let is_url = URL_STARTS.iter().any(|start| value.starts_with(start));
    if is_url && !has_host(value) {
        return Err(Refused::because("it begins like a URL and has no host; write https://host/path, or a path"));
    }
    let mut literal = String::new();
    if !is_url
        && !value.starts_with('/')
        && !SLASHED.iter().any(|start| value.starts_with(start))
        && !starts_with_capture(value)
    {
        literal.push('/');
    }
    RewriteTarget::new(parts(value, literal, false, |character| is_path_character(character) || character == '?')?)
}

/// Parses a host header: text, groups of the path and variables, including those of
/// [`RouteVariable`].
pub fn host_header(value: &str) -> Result<RewriteTarget, Refused> {
    let parts = parts(value.trim(), String::new(), true, is_path_character)?;
    let fits = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte));
    match parts.iter().all(|part| !matches!(part, TargetPart::Literal(text) if !fits(text))) {
        true => RewriteTarget::new(parts),
        false => Err(Refused::because("a host is letters, digits, - . _ and variables")),
    }
}

/// Parses a text of such characters, with groups of the path and variables.
pub fn text_with_groups(value: &str, fits: fn(char) -> bool) -> Result<RewriteTarget, Refused> {
    RewriteTarget::new(parts(value, String::new(), false, fits)?)
}

/// Parses a prefix of paths: text, captures and variables.
pub fn prefix(value: &str) -> Result<RewriteTarget, Refused> {
    text_with_groups(value.trim(), is_path_character)
}

/// Parses a hash key, by which equal requests go to one endpoint: text and at least one variable.
pub fn hash_key(value: &str) -> Result<RewriteTarget, Refused> {
    // The key reaches no backend, and both forms of the client's address are equivalent.
    let value = value.trim().replace("binary_remote_addr", "remote_addr");
    let parts = parts(&lower_variables(&value), String::new(), false, is_path_character)?;
    match parts.iter().any(|part| matches!(part, TargetPart::Variable(_))) {
        _ if parts.iter().any(|part| matches!(part, TargetPart::Capture(_))) => {
            Err(Refused::because("it holds a capture such as $1; use variables"))
        }
        true => RewriteTarget::new(parts),
        false => Err(Refused::because("it holds no variable, so all requests would go to one endpoint")),
    }
}

/// nginx's variables have lower-case names, but users may write others.
fn lower_variables(value: &str) -> String {
    let mut in_name = false;
    let lower = |character: char| {
        in_name = character == '$' || (in_name && (character.is_ascii_alphanumeric() || "_{".contains(character)));
        if in_name { character.to_ascii_lowercase() } else { character }
    };
    value.chars().map(lower).collect()
}

/// Parses text that is appended to `literal`; `of_route` allows properties of the route, and
/// `fits` says which ASCII characters are literal.
fn parts(value: &str, mut literal: String, of_route: bool, fits: fn(char) -> bool) -> Result<Vec<TargetPart>, Refused> {
    let mut parts = Vec::new();
    let mut rest = value;
    while let Some(character) = rest.chars().next() {
        let part = match character {
            '$' => {
                let (part, after) = reference(&rest[1..], of_route)?;
                rest = after;
                part
            }
            _ if character.is_ascii() && fits(character) => {
                literal.push(character);
                rest = &rest[1..];
                continue;
            }
            _ => {
                return Err(Refused(format!("it cannot hold {} here", super::excerpt(&character.to_string())).into()));
            }
        };
        flush(&mut literal, &mut parts);
        parts.push(part);
    }
    flush(&mut literal, &mut parts);
    Ok(parts)
}

/// Whether a host, or what stands for it, follows the scheme.
fn has_host(url: &str) -> bool {
    let scheme = ["http", "https", "$scheme", "${scheme}"];
    let rest = scheme.iter().find_map(|scheme| url.strip_prefix(scheme)?.strip_prefix("://"));
    rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '$'))
}

fn starts_with_capture(value: &str) -> bool {
    matches!(value.as_bytes(), [b'$', b'1'..=b'9', ..])
}

fn flush(literal: &mut String, parts: &mut Vec<TargetPart>) {
    if !literal.is_empty() {
        parts.push(TargetPart::Literal(Arc::from(std::mem::take(literal))));
    }
}

/// Parses what follows a `$`, and returns the rest.
fn reference(text: &str, of_route: bool) -> Result<(TargetPart, &str), Refused> {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(digit @ b'1'..=b'9') => Ok((TargetPart::Capture(digit - b'0'), &text[1..])),
        Some(b'{') => match text[1..].split_once('}') {
            Some((name, rest)) => Ok((TargetPart::Variable(variable(name, of_route)?), rest)),
            None => Err(Refused::because("a ${ is never closed")),
        },
        _ => {
            let end = bytes.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
            let (name, rest) = text.split_at(end.unwrap_or(text.len()));
            Ok((TargetPart::Variable(variable(name, of_route)?), rest))
        }
    }
}

fn variable(name: &str, of_route: bool) -> Result<Variable, Refused> {
    let harmless = VARIABLES.contains(&name)
        || (of_route && RouteVariable::named(name).is_some())
        || VARIABLE_PREFIXES.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()));
    match Variable::named(name) {
        Ok(variable) if harmless && !SECRET_VARIABLES.contains(&name) => Ok(variable),
        _ if name.is_empty() => Err(Refused::because("a $ refers to nothing")),
        _ => Err(Refused(format!("unknown {} variable", super::excerpt(name)).into())),
    }
}

/// Characters that are literal in a path, and have no meaning to nginx.
fn is_path_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "/-._~:@+,=&!*()".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_text_and_variables_of_any_case() {
        let shown = |text| hash_key(text).map(|key| key.parts().iter().map(ToString::to_string).collect::<String>());
        assert_eq!(shown("$binary_remote_addr").as_deref(), Ok("${remote_addr}"));
        assert_eq!(
            shown("u-$cookie_JSESSIONID-${Http_X_User}X").as_deref(),
            Ok("u-${cookie_jsessionid}-${http_x_user}X")
        );
        for text in
            ["", "fixed", "$1", "$request_uri$2", "$http_authorization", "$ssl_client_raw_cert", "$a;b", "${host"]
        {
            assert!(hash_key(text).is_err(), "{text}");
        }
    }

    #[test]
    fn targets() {
        let shown = |text| rewrite_target(text).map(|target| target.parts().iter().map(ToString::to_string).collect());
        let cases: [(&str, Result<&str, &str>); 28] = [
            ("/$2", Ok("/$2")),
            ("$1", Ok("$1")),
            ("$uri", Ok("${uri}")),
            ("$host", Ok("/${host}")),
            ("app", Ok("/app")),
            ("/$10", Ok("/$10")),
            ("/a/${host}b$arg_x", Ok("/a/${host}b${arg_x}")),
            ("/$host/$1", Ok("/${host}/$1")),
            ("/$server_name", Ok("/${host}")),
            ("/$foo", Err("unknown \"foo\" variable")),
            ("/$ingressd_x", Err("unknown \"ingressd_x\" variable")),
            ("/$http_", Err("unknown \"http_\" variable")),
            ("/$HOST", Err("unknown \"HOST\" variable")),
            ("/$http_authorization", Err("unknown \"http_authorization\" variable")),
            ("/${host", Err("never closed")),
            ("/$", Err("refers to nothing")),
            ("/a?b=$1", Ok("/a?b=$1")),
            ("a?", Ok("/a?")),
            ("/a;b", Err("cannot hold \";\"")),
            ("/a b", Err("cannot hold \" \"")),
            ("/a\u{2028}b", Err("cannot hold")),
            ("https://example.com/$1", Ok("https://example.com/$1")),
            ("$scheme://a$uri", Ok("${scheme}://a${uri}")),
            ("http:///a", Err("has no host")),
            ("$scheme/a", Err("has no host")),
            ("/$0", Err("unknown \"0\" variable")),
            // A request of 8 KB would become one of 14 MB.
            (&"$1".repeat(900), Err("at most 256 KB")),
            ("/$http_a$http_b$http_c$http_d$http_e$http_f$http_g$http_h", Err("at most 256 KB")),
        ];
        for (text, expected) in cases {
            let given: Result<String, Refused> = shown(text);
            match (given, expected) {
                (Ok(given), Ok(expected)) => assert_eq!(given, expected, "{text:?}"),
                (Err(given), Err(expected)) => assert!(given.to_string().contains(expected), "{text:?}: {given}"),
                (given, _) => panic!("{text:?} gives {given:?}"),
            }
        }
    }
}
