//! What does not hold yet; it must not know why.

/// Rows and tests that wait for what makes them hold. They must fail: one that holds has to be taken out. The list is empty when
/// nothing is awaited.
pub const AWAITED: &[&str] = &[];
