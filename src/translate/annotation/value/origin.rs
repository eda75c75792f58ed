//! Origins of cross-origin requests; it must not know how they are compared.

use crate::model::{OriginPattern, OriginUrl, Refused};

/// A comma-separated list of `scheme://host[:port]`, `scheme://*.host[:port]`, `null` or `*`.
///
/// `*` stands for all others in the list. Browsers write origins in lower case, so the list is read so.
pub fn origins(value: &str) -> Result<Vec<OriginPattern>, Refused> {
    let mut list = Vec::new();
    for item in value.split(',') {
        let pattern = origin(item.trim())?;
        if !list.contains(&pattern) {
            list.push(pattern);
        }
    }
    match list.contains(&OriginPattern::Any) {
        true => Ok(vec![OriginPattern::Any]),
        false => Ok(list),
    }
}

fn origin(item: &str) -> Result<OriginPattern, Refused> {
    let blamed = |refused: Refused| Refused(format!("{}: {refused}", super::quoted(item)).into());
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
        assert_eq!(origins("https://A.example, *"), Ok(vec![OriginPattern::Any]));
        assert_eq!(origins("https://a.example,https://*.b.example:8443, null").map(|list| list.len()), Ok(3));
        for text in [
            "a.example",
            "https://a.example/",
            "https://a.example/path",
            "https://*",
            "https://*.*.a",
            "https://a*.example",
            "https://a.example,",
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
