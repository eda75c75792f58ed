//! The limits of one object, host or Service, and the findings that warn before a limit leaves
//! anything out.

use ingressd_model::Origin;
use ingressd_model::finding::{Finding, Reason, count};

/// A limit and its name.
#[derive(Debug)]
pub struct Bound {
    /// The key of the settings.
    pub key: &'static str,
    /// What is counted: one of it, and many.
    what: (&'static str, &'static str),
    /// The effect when there are more.
    beyond: &'static str,
}

macro_rules! bounds {
    ($($name:ident, $key:literal, $one:literal, $many:literal, $beyond:literal;)*) => {
        $(#[doc = concat!("`", $key, "`.")]
        pub const $name: Bound = Bound { key: $key, what: ($one, $many), beyond: $beyond };)*

        /// All limits.
        pub const ALL: &[Bound] = &[$($name,)*];
    };
}

bounds! {
    OBJECT_PATHS, "limits.object-paths", "path of one object", "paths of one object", "a version with more is not served";
    LIST_ENTRIES, "limits.object-list-entries", "element in the lists of one object", "elements in the lists of one object", "the list that exceeds the \
        limit counts as a bad value";
    ANNOTATION_BYTES, "limits.object-annotation-bytes", "byte of one annotation", "bytes of one annotation", "a longer value counts as a bad \
        value";
    ORIGINS, "limits.object-origins", "origin of one object", "origins of one object", "if there are more, no CORS headers are sent";
    PASSWORDS, "limits.passwords", "user of one Secret", "users of one Secret", "further ones are left out";
    ENDPOINTS, "limits.upstream-endpoints", "endpoint of one port of a Service", "endpoints of one port of a Service", "if there are more, some get no requests";
    ADDRESSES, "limits.addresses-of-name", "address of one name", "addresses of one name", "if there are more, some get no requests";
    HOST_PATHS, "limits.paths-of-host", "path of one namespace on a host", "paths of one namespace on a host", "more are not served";
    HOST_EXPRESSIONS, "limits.expressions-of-host", "unit of weight of the expressions of one namespace on a \
        host", "units of weight of the expressions of one namespace on a \
        host", "more are not served";
    NAMES, "limits.names-of-namespace", "name of one namespace behind Services of type ExternalName", "names of one namespace behind Services of type ExternalName", "more are not resolved";
    PORTS, "limits.ports-of-namespace", "port of the node that objects of one namespace open", "ports of the node that objects of one namespace open", "more are not served";
}

impl Bound {
    /// The finding when four fifths are used. The code that applies the limit reports more than
    /// `most`.
    pub fn near(&self, used: usize, most: u64, origin: impl FnOnce() -> Origin) -> Option<Finding> {
        let note = self.note(used, most)?;
        Some(Finding::new(Reason::NearBudget, origin(), note))
    }

    /// The text of the finding.
    pub fn note(&self, used: usize, most: u64) -> Option<String> {
        let Bound { key, what: (one, many), beyond } = self;
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        let note = || {
            let verb = if used == 1 { "is" } else { "are" };
            format!("there {verb} {used} of the {} that {key} allows: {beyond}", count(most, one, many))
        };
        (used <= most && is_near(used, most)).then(note)
    }
}

/// Whether four fifths are used.
pub fn is_near(used: u64, limit: u64) -> bool {
    used.saturating_mul(5) > limit.saturating_mul(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reported_is_nearly_used_up_and_no_more_than_that() {
        let reported: Vec<_> = (0..8).filter(|used| OBJECT_PATHS.note(*used, 5).is_some()).collect();
        assert_eq!(reported, [5]);
        let reported: Vec<_> =
            [0, 80, 81, 100, 101].into_iter().filter(|used| NAMES.note(*used, 100).is_some()).collect();
        assert_eq!(reported, [81, 100]);
        assert!(PASSWORDS.note(1, 1).unwrap().starts_with("there is 1 of the 1 user of one Secret that"));
        let note = ORIGINS.note(90, 100).unwrap();
        assert_eq!(
            note,
            "there are 90 of the 100 origins of one object that limits.object-origins allows: if there are more, no CORS headers are sent"
        );
    }
}
