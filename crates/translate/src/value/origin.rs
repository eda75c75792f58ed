//! Parses origins of cross-origin requests.

use super::form::Shape;
use ingressd_model::{OriginPattern, OriginUrl, Refused};

/// The form of one origin in [`origins`].
pub const ORIGIN: Shape = Shape {
    name: "an origin scheme://host or scheme://host:port, with *. in front of the host for one label more, null, or *",
    pattern: r"\*|null|[a-z][a-z0-9+.-]*://(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*(?::[+]?0*(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?",
    any_case: true,
    ..Shape::DEFAULT
};

/// A comma-separated list of `scheme://host[:port]`, `scheme://*.host[:port]`, `null` or `*`.
///
/// A `*` replaces all others in the list. Browsers send origins in lower case, so the list is
/// converted. Invalid origins are dropped, and the first error is returned with the list; when no
/// origin is left the list is refused.
pub fn origins(value: &str) -> Result<(Vec<OriginPattern>, Option<Refused>), Refused> {
    let (mut list, mut left_out) = (Vec::new(), None);
    for item in super::entries(value)? {
        match origin(item) {
            Ok(pattern) if list.contains(&pattern) => {}
            Ok(pattern) => list.push(pattern),
            Err(refused) => left_out = left_out.or(Some(refused)),
        }
    }
    match left_out {
        Some(refused) if list.is_empty() => Err(refused),
        left_out if list.contains(&OriginPattern::Any) => Ok((vec![OriginPattern::Any], left_out)),
        left_out => Ok((list, left_out)),
    }
}

fn origin(item: &str) -> Result<OriginPattern, Refused> {
    let blamed = |refused: Refused| Refused(format!("{}: {refused}", super::excerpt(item)).into());
    let item = item.to_ascii_lowercase();
    match (item.as_str(), item.split_once("://*.")) {
        ("*", _) => Ok(OriginPattern::Any),
        ("null", _) => Ok(OriginPattern::Null),
        (_, Some((scheme, host))) => {
            OriginUrl::new(&format!("{scheme}://{host}")).map(OriginPattern::Wildcard).map_err(blamed)
        }
        (_, None) => OriginUrl::new(&item).map(OriginPattern::Exact).map_err(blamed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(origins("https://A.example, *"), Ok((vec![OriginPattern::Any], None)));
        let counts = |text| origins(text).map(|(list, left_out)| (list.len(), left_out.is_some()));
        assert_eq!(counts("https://a.example,https://*.b.example:8443, null"), Ok((3, false)));
        assert_eq!(counts("https://a.example, b.example, https://c.example;"), Ok((1, true)));
        assert_eq!(counts("https://a.example, ,"), Ok((1, false)));
        assert!(origins(" ,").is_err());
        for text in [
            "a.example",
            "https://a.example/",
            "https://a.example/path",
            "https://*",
            "https://*.*.a",
            "https://a*.example",
            "https://a.example\"; add_header X y; #",
            "https://a.example:0",
            "https://$host",
            "https://a.example\n",
        ] {
            let refused = origins(text).is_err();
            assert_eq!(refused, text != "https://a.example\n", "{text:?}");
        }
    }
}
