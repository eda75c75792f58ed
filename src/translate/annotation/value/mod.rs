//! The grammars of annotation values: from text to typed values; they must not know which key is read.

mod address;
mod name;
mod number;
mod origin;
mod redirect;
mod target;

pub use address::address_list;
pub use name::{header_names, methods, realm, secret_reference};
pub use number::{boolean, byte_size, integer, on_off, positive, seconds, seconds_or_unlimited};
pub use origin::origins;
pub use redirect::{redirect_status, redirect_url};
pub use target::{hash_key, host_header, is_harmless, prefix, rewrite_target};

/// Longest part of a value that is quoted in a note.
const LONGEST_QUOTE: usize = 60;

/// A value for people: cut and without anything that could forge a line.
pub fn quoted(value: &str) -> String {
    let shown: String = value.chars().take(LONGEST_QUOTE).collect();
    let rest = if shown.len() < value.len() { "..." } else { "" };
    format!("\"{}\"{rest}", shown.escape_debug())
}
