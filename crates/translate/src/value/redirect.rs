//! Parses targets and statuses of redirects.

use super::form::Shape;
use super::target::text_with_groups;
use ingressd_model::{RedirectUrl, Refused, RewriteTarget};

/// The form of [`redirect_url`], as far as an expression can check it.
pub const REDIRECT_URL: Shape = Shape {
    name: "a URL that begins with http:// or https://, without blanks, quotes, backslash, braces, ; and $",
    pattern: r"[Hh][Tt][Tt][Pp][Ss]?:[!#%&(-:=?-\[\]_a-z~]+",
    verbatim: true,
    ..Shape::DEFAULT
};

/// The form of [`redirect_target`], as far as an expression can check it.
pub const REDIRECT_TARGET: Shape = Shape {
    name: "a URL that begins with http://, https:// or $scheme://, with $1 to $9 and variables, without blanks, quotes, backslash and ;",
    pattern: r"(?:[Hh][Tt][Tt][Pp][Ss]?|\$scheme|\$\{scheme\}):[!#$%&(-:=?-\[\]_a-z{}~]+",
    verbatim: true,
    ..Shape::DEFAULT
};

/// The same where a path on the same host is allowed too.
pub const REDIRECT_TARGET_OR_PATH: Shape = Shape {
    name: "a URL that begins with http://, https:// or $scheme://, or a path, with $1 to $9 and variables, without blanks, quotes, backslash and ;",
    pattern: r"(?:[Hh][Tt][Tt][Pp][Ss]?|\$scheme|\$\{scheme\}):[!#$%&(-:=?-\[\]_a-z{}~]+|/(?:[!#$%&(-.0-:=?-\[\]_a-z{}~][!#$%&(-:=?-\[\]_a-z{}~]*)?",
    verbatim: true,
    ..Shape::DEFAULT
};

/// Parses an absolute URL of http or https.
///
/// Blanks around it are refused, as ingress-nginx does with URLs.
pub fn redirect_url(value: &str) -> Result<RedirectUrl, Refused> {
    if value.contains('$') {
        return Err(Refused::because("this redirect cannot hold variables"));
    }
    let target = RedirectUrl::new(value)?;
    match is_url(value) {
        true => Ok(target),
        false => Err(Refused::because("it is not a URL that begins with http:// or https://")),
    }
}

fn is_url(text: &str) -> bool {
    let parsed = url::Url::parse(text);
    parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Parses the same with groups of the path and variables behind the host, which is a text or that
/// of the request; with `path`, a path on the same host too.
pub fn redirect_target(value: &str, path: bool) -> Result<RewriteTarget, Refused> {
    let is_path = value.starts_with('/') && !value.starts_with("//");
    let fits = |character: char| RedirectUrl::new(character.encode_utf8(&mut [0; 4])).is_ok();
    let target = text_with_groups(value, fits)?;
    if path && is_path && target.to_string().starts_with('/') {
        return Ok(target);
    }
    match target.is_dynamic() {
        true => goes_to_known_host(&target).map(|()| target),
        false if is_url(value) => Ok(target),
        false => Err(Refused::because("it is not a URL that begins with http:// or https://")),
    }
}

/// Refuses a URL whose host a client could choose or lengthen.
pub fn goes_to_known_host(target: &RewriteTarget) -> Result<(), Refused> {
    const BEHIND: [&str; 6] = ["/", "?", "#", "${request_uri}", "${uri}", "${document_uri}"];
    let text = target.to_string();
    let schemes = ["http://", "https://", "${scheme}://"];
    let Some(rest) = schemes.iter().find_map(|scheme| text.strip_prefix(scheme)) else {
        return Err(Refused::because("it is not a URL that begins with http://, https:// or $scheme://"));
    };
    let (host, rest) = match rest.strip_prefix("${host}") {
        Some(rest) => ("host", rest),
        None => rest.split_at(rest.find(['/', '?', '#', '$', ':']).unwrap_or(rest.len())),
    };
    let port = rest.len() - rest.strip_prefix(':').map_or(rest, |rest| rest.trim_start_matches(digit)).len();
    let (port, rest) = rest.split_at(port);
    match is_url(&format!("http://{host}{port}/"))
        && (rest.is_empty() || BEHIND.iter().any(|one| rest.starts_with(one)))
    {
        true => Ok(()),
        false => Err(Refused::because(
            "its host is neither a text nor $host, or something is behind it that does not begin with /; write \
             https://host/$1 or https://host$request_uri",
        )),
    }
}

fn digit(character: char) -> bool {
    character.is_ascii_digit()
}

/// Parses a redirect status that browsers follow; `permanent` includes 308.
pub fn redirect_status(value: &str, permanent: bool) -> Result<u16, Refused> {
    match value.trim() {
        "301" => Ok(301),
        "302" => Ok(302),
        "303" => Ok(303),
        "307" => Ok(307),
        "308" if permanent => Ok(308),
        _ if permanent => Err(Refused::because("it is not one of 301, 302, 303, 307, 308")),
        _ => Err(Refused::because("it is not one of 301, 302, 303, 307")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for text in ["https://example.com", "http://example.com:81/a?b=c&d=%20#e", "/moved"] {
            assert!(redirect_target(text, true).is_ok(), "{text:?}");
        }
        for text in [
            "//example.com",
            "ftp://example.com",
            "javascript:alert(1)",
            "example.com",
            " https://example.com",
            "https://example.com ",
            "https://example.com\n",
            "https://example.com/;}",
            "https://example.com/\"",
            "https://",
            "https://example.com/$undefined",
            "https://example.com/$http_authorization",
            "https://example.com$1",
            "https://example.com$args",
            "https://example.com:$1/",
            "https://example.com:8${host}/",
            "https://$1/",
            "https://$http_host/",
            "https://$host.evil.test/",
            "https://a@$host/",
            "https://$arg_x.example.com/",
            "$scheme:/$host/",
            "$request_uri",
            "$1",
            "//$host/",
        ] {
            assert!(redirect_target(text, true).is_err(), "{text:?}");
        }
        for text in [
            "https://example.com/$1?x=$arg_y#$2",
            "https://example.com:8443$request_uri",
            "https://example.com?$args",
            "$scheme://$host/new/$1",
            "${scheme}://${host}:8443$uri",
            "/new/$1$is_args$args",
            "/$1",
        ] {
            assert!(redirect_target(text, true).is_ok(), "{text:?}");
            assert_eq!(redirect_target(text, false).is_err(), text.starts_with('/'), "{text:?}");
            assert!(redirect_url(text).is_err(), "{text:?}");
        }
        assert!(redirect_target("/moved", false).is_err());
    }
}
