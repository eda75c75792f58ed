//! The documentation of the rows, for web and man page; it must not know any particular key.

/// The page for the web.
pub fn document() -> String {
    String::new()
}
/// The manual page.
pub fn manual() -> String {
    String::new()
}
