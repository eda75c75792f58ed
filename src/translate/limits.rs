//! How much one object and one namespace may ask for, as the administrator decides; it must not know how settings are written.

/// Bounds of whatever an object can make grow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {}
