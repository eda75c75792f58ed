//! The limits of one object, host or Service, and the findings that warn before a limit leaves
//! anything out.

use crate::finding::{Finding, Reason};
use crate::model::Origin;

/// A limit and its name.
#[derive(Debug)]
pub struct Bound {
    /// The key of the settings.
    pub key: &'static str,
    /// The things that are counted.
    what: &'static str,
    /// The effect when there are more.
    beyond: &'static str,
}

macro_rules! bounds {
    ($($name:ident, $key:literal, $what:literal, $beyond:literal;)*) => {
        $(#[doc = concat!("`", $key, "`.")]
        pub const $name: Bound = Bound { key: $key, what: $what, beyond: $beyond };)*

        /// All limits.
        pub const ALL: &[Bound] = &[$($name,)*];
    };
}

bounds! {
    OBJECT_PATHS, "limits.object-paths", "paths of one object", "a version with more is not served";
    LIST_ENTRIES, "limits.object-list-entries", "elements in the lists of one object", "the list that exceeds the \
        limit counts as a bad value";
    ANNOTATION_BYTES, "limits.object-annotation-bytes", "bytes of one annotation", "a longer value counts as a bad \
        value";
    ORIGINS, "limits.object-origins", "origins of one object", "with more no CORS headers are sent";
    PASSWORDS, "limits.passwords", "users of one Secret", "further ones are left out";
    ENDPOINTS, "limits.upstream-endpoints", "endpoints of one port of a Service", "of more some get no requests";
    ADDRESSES, "limits.addresses-of-name", "addresses of one name", "of more some get no requests";
    HOST_PATHS, "limits.paths-of-host", "paths of one namespace on a host", "more are not served";
    HOST_EXPRESSIONS, "limits.expressions-of-host", "units of weight of the expressions of one namespace on a \
        host", "more are not served";
    NAMES, "limits.names-of-namespace", "names of one namespace behind Services of type ExternalName", "more are not resolved";
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
        let Bound { key, what, beyond } = self;
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        let note = || format!("there are {used} of the {most} {what} that {key} allows: {beyond}");
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
    fn what_is_told_is_nearly_used_up_and_no_more_than_that() {
        let told: Vec<_> = (0..8).filter(|used| OBJECT_PATHS.note(*used, 5).is_some()).collect();
        assert_eq!(told, [5]);
        let told: Vec<_> = [0, 80, 81, 100, 101].into_iter().filter(|used| NAMES.note(*used, 100).is_some()).collect();
        assert_eq!(told, [81, 100]);
        let note = ORIGINS.note(90, 100).unwrap();
        assert_eq!(
            note,
            "there are 90 of the 100 origins of one object that limits.object-origins allows: with more no CORS headers are sent"
        );
    }
}
