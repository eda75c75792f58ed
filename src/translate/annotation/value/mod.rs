//! The grammars of annotation values: from text to typed values; they must not know which key is read.

mod address;
mod name;
mod number;
mod origin;
mod redirect;
mod target;

pub use address::address_list;
pub use name::{
    HEADER_NAME, HOST_NAME, METHOD, REALM, SECRET_REFERENCE, header_names, methods, realm, secret_reference,
};
pub use number::{
    LONGEST_SECONDS, ON_OFF, boolean, byte_size, integer, on_off, positive, seconds, seconds_or_unlimited,
};
pub use origin::{ORIGIN, origins};
pub use redirect::{REDIRECT_TARGET, REDIRECT_URL, redirect_status, redirect_url};
pub use target::{
    HASH_KEY, HOST_HEADER, PATH_PREFIX, REWRITE_TARGET, hash_key, host_header, is_harmless, prefix, rewrite_target,
};

/// Longest part of a value that stands in a note.
const LONGEST_EXCERPT: usize = 60;

/// A value for people: cut and without anything that could forge a line.
pub fn excerpt(value: &str) -> String {
    let shown: String = value.chars().take(LONGEST_EXCERPT).collect();
    let rest = if shown.len() < value.len() { "..." } else { "" };
    format!("\"{}\"{rest}", shown.escape_debug())
}
