//! How much one object and one namespace may ask for, as the administrator decides; it must not know how settings are written.

/// Bounds of whatever an object can make grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Paths of one host that one namespace may have: nginx compares each with many others whenever it reads them, and a test that
    /// takes longer than a minute keeps everybody's changes out.
    pub paths_of_host: usize,
    /// Findings of one object that are told.
    pub findings_of_object: usize,
    /// Findings of one namespace that are shown at once, or logged within a minute.
    pub findings_of_namespace: usize,
    /// Names behind Services of type ExternalName that are resolved for one namespace.
    pub names_of_namespace: usize,
    /// Addresses of one such name that are used.
    pub addresses_of_name: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            paths_of_host: 10_000,
            findings_of_object: 20,
            findings_of_namespace: 200,
            names_of_namespace: 500,
            addresses_of_name: 64,
        }
    }
}
