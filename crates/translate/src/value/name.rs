//! Parses names: of headers, methods, realms and Secrets.

use super::form::Shape;
use ingressd_model::{HeaderName, Kind, Refused, Text, is_label, is_subdomain};

/// The form of one name in [`header_names`].
pub const HEADER_NAME: Shape =
    Shape { name: "a header name of letters, digits, - and _", pattern: "[A-Za-z0-9_-]+", ..Shape::DEFAULT };

/// What stands for all names.
pub const ALL: &str = "*";

/// The form of one name in [`header_names_or_all`].
pub const HEADER_NAME_OR_ALL: Shape =
    Shape { name: "a header name of letters, digits, - and _, or *", pattern: r"[A-Za-z0-9_-]+|\*", ..Shape::DEFAULT };

/// The form of one name in [`methods_or_all`].
pub const METHOD_OR_ALL: Shape =
    Shape { name: "a method of letters, or *", pattern: r"[A-Za-z]+|\*", ..Shape::DEFAULT };

/// The form of [`realm`].
pub const REALM: Shape = Shape {
    name: "printable ASCII without quotes, backslash and $, other than off",
    pattern: r"[ !#%-\[\]-~]+",
    never: "(?i)^off$",
    ..Shape::DEFAULT
};

/// The form of [`secret_reference`].
pub const SECRET_REFERENCE: Shape = Shape {
    name: "the name of a Secret, or namespace/name",
    pattern: r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?/)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*",
    longest: 63 + 1 + 253,
    refers_to: Some(Kind::SECRET),
    ..Shape::DEFAULT
};

/// The same for a ConfigMap.
pub const CONFIG_MAP_REFERENCE: Shape =
    Shape { name: "the name of a ConfigMap, or namespace/name", refers_to: Some(Kind::CONFIG_MAP), ..SECRET_REFERENCE };

/// A DNS name in any case.
pub const HOST_NAME: Shape = Shape {
    name: "a DNS name",
    pattern: r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*",
    longest: 253,
    any_case: true,
    ..Shape::DEFAULT
};

/// Parses a comma-separated list of header names: letters, digits, `-` and `_`.
pub fn header_names(value: &str) -> Result<Vec<HeaderName>, Refused> {
    tokens(value, "a header name", is_header_name)
}

/// The same, with [`ALL`] among them.
pub fn header_names_or_all(value: &str) -> Result<Vec<HeaderName>, Refused> {
    tokens(value, "a header name", |item| item == ALL || is_header_name(item))
}

fn is_header_name(item: &str) -> bool {
    item.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Parses a comma-separated list of methods: letters.
pub fn methods(value: &str) -> Result<Vec<HeaderName>, Refused> {
    tokens(value, "a method", is_method)
}

/// The same, with [`ALL`] among them.
pub fn methods_or_all(value: &str) -> Result<Vec<HeaderName>, Refused> {
    tokens(value, "a method", |item| item == ALL || is_method(item))
}

fn is_method(item: &str) -> bool {
    item.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn tokens(value: &str, what: &str, fits: fn(&str) -> bool) -> Result<Vec<HeaderName>, Refused> {
    let mut list = Vec::new();
    for item in super::entries(value)? {
        let token = HeaderName::new(item).ok().filter(|_| fits(item));
        let token = token.ok_or_else(|| Refused(format!("{} is not {what}", super::excerpt(item)).into()))?;
        if !list.contains(&token) {
            list.push(token);
        }
    }
    Ok(list)
}

/// Parses the text that a browser shows when it asks for a password.
pub fn realm(value: &str) -> Result<Text, Refused> {
    let value = value.trim();
    // nginx interprets the realm "off", quoted or not, as no authentication.
    if value.eq_ignore_ascii_case("off") {
        return Err(Refused::because("nginx would switch authentication off"));
    }
    match value.bytes().all(|byte| (byte.is_ascii_graphic() || byte == b' ') && !b"\"\\".contains(&byte)) {
        true => Text::new(value),
        false => Err(Refused::because("a realm is printable ASCII without quotes and backslashes")),
    }
}

/// Parses the name of a Secret, with or without its namespace: `name` or `namespace/name`.
pub fn secret_reference(value: &str) -> Result<(Option<&str>, &str), Refused> {
    let value = value.trim();
    let (namespace, name) = match value.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, value),
    };
    match namespace.is_none_or(is_label) && is_subdomain(name) {
        true => Ok((namespace, name)),
        false => Err(Refused::because("it is not the name of a Secret: name or namespace/name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets() {
        assert_eq!(secret_reference("users"), Ok((None, "users")));
        assert_eq!(secret_reference(" shop/users.v2\n"), Ok((Some("shop"), "users.v2")));
        for text in ["", "/", "a/", "/a", "a/b/c", "../a", "a/../b", "A", "a b", "a\nb", "a..b", "-a", "$a", "~a"] {
            assert!(secret_reference(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_realm_never_switches_authentication_off() {
        for text in ["off", "OFF", " off ", "a\"b", "a\\", "a$b", "a\tb", "a\nb", "ä"] {
            assert!(realm(text).is_err(), "{text:?}");
        }
        assert!(realm("Members - only; please").is_ok());
    }

    #[test]
    fn lists_of_tokens() {
        assert_eq!(methods("GET, PUT,GET").map(|list| list.len()), Ok(2));
        assert_eq!(methods("GET,, PUT,").map(|list| list.len()), Ok(2));
        assert_eq!(methods_or_all("*, GET").map(|list| list.len()), Ok(2));
        assert_eq!(header_names_or_all("X-A,*").map(|list| list.len()), Ok(2));
        assert!(header_names_or_all("X*").is_err() && methods_or_all("**").is_err());
        for text in ["*", "GET PUT", ", ,", "G1", "GET;", ""] {
            assert!(methods(text).is_err(), "{text:?}");
        }
        assert!(header_names("X-Forwarded-For, dnt").is_ok());
        for text in ["X:Y", "X\r\nY: z", "X Y", "X$host", "*", "Ä"] {
            assert!(header_names(text).is_err(), "{text:?}");
        }
    }
}
