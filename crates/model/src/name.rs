//! The forms of object names (RFC 1123, as Kubernetes reads it).

/// Whether it is a label of RFC 1123: at most 63 lower-case letters, digits and inner hyphens.
/// Names of namespaces and Services have this form.
pub fn is_label(name: &str) -> bool {
    name.len() <= 63 && is_long_label(name)
}

/// Whether it is a list of such labels with dots between them, of at most 253 characters; here
/// labels may be longer than 63. Names of most other objects have this form.
pub fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_long_label)
}

fn is_long_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(inner) && !name.starts_with('-') && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_names() {
        let long = "a".repeat(64);
        for (name, label, subdomain) in [
            ("a", true, true),
            ("a-b1", true, true),
            ("1a", true, true),
            (&long[..63], true, true),
            (&long, false, true),
            ("a.b", false, true),
            ("", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("a..b", false, false),
            ("a.-b", false, false),
            ("A", false, false),
            ("a_b", false, false),
            ("a\n", false, false),
            (&"a.".repeat(127), false, false),
        ] {
            assert_eq!((is_label(name), is_subdomain(name)), (label, subdomain), "{name:?}");
        }
    }
}
