//! Parses targets and statuses of redirects.

use super::form::Shape;
use ingressd_model::{RedirectUrl, Refused};

/// The form of [`redirect_url`], as far as an expression can check it.
pub const REDIRECT_URL: Shape = Shape {
    name: "a URL that begins with http:// or https://, without blanks, quotes, backslash, braces, ; and $",
    pattern: r"[Hh][Tt][Tt][Pp][Ss]?:[!#%&(-:=?-\[\]_a-z~]+",
    verbatim: true,
    ..Shape::DEFAULT
};

/// The same where a path on the same host is allowed too.
pub const REDIRECT_TARGET: Shape = Shape {
    name: "a URL that begins with http:// or https://, or a path, without blanks, quotes, backslash, braces, ; and $",
    pattern: r"[Hh][Tt][Tt][Pp][Ss]?:[!#%&(-:=?-\[\]_a-z~]+|/(?:[!#%&(-.0-:=?-\[\]_a-z~][!#%&(-:=?-\[\]_a-z~]*)?",
    verbatim: true,
    ..Shape::DEFAULT
};

/// Parses an absolute URL of http or https; with `path`, a path on the same host too.
///
/// Blanks around it are refused, as ingress-nginx does with URLs.
pub fn redirect_url(value: &str, path: bool) -> Result<RedirectUrl, Refused> {
    if value.contains('$') {
        return Err(Refused::because("a redirect cannot hold variables"));
    }
    let target = RedirectUrl::new(value)?;
    let is_path = value.starts_with('/') && !value.starts_with("//");
    let parsed = url::Url::parse(value).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    match (parsed, path && is_path) {
        (Some(_), _) | (None, true) => Ok(target),
        (None, false) => Err(Refused::because("it is not a URL that begins with http:// or https://")),
    }
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
            assert!(redirect_url(text, true).is_ok(), "{text:?}");
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
            "https://example.com/$request_uri",
            "https://example.com/\"",
            "https://",
        ] {
            assert!(redirect_url(text, true).is_err(), "{text:?}");
        }
        assert!(redirect_url("/moved", false).is_err());
    }
}
