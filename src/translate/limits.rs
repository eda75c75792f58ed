//! How much one object and one namespace may ask for, as the administrator decides; it must not know how settings are written.

/// Bounds of whatever an object can make grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Paths of one host that one namespace may have: nginx compares each with many others whenever it reads them, and a test that
    /// takes longer than a minute keeps everybody's changes out.
    pub paths_of_host: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { paths_of_host: 10_000 }
    }
}
