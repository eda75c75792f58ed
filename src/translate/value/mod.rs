//! The grammars of values that users write, from text to typed values, and quoting of values in
//! notes. They must not know which key is read.

mod address;
pub mod arguments;
mod cluster_name;
mod external_name;
mod form;
mod name;
mod number;
mod origin;
mod redirect;
mod service;
mod target;
mod template;

pub use address::{address_list, network};
pub use cluster_name::{ClusterName, USUAL_DOMAIN};
pub use external_name::ExternalName;
pub use form::{Form, Shape};
pub use name::{
    CONFIG_MAP_REFERENCE, HEADER_NAME, HOST_NAME, METHOD, REALM, SECRET_REFERENCE, header_names, methods, realm,
    secret_reference,
};
pub use number::{
    LONGEST_SECONDS, ON_OFF, boolean, byte_size, integer, is_number, on_off, positive, seconds, seconds_or_unlimited,
};
pub use origin::{ORIGIN, origins};
pub use redirect::{REDIRECT_TARGET, REDIRECT_URL, redirect_status, redirect_url};
pub use service::{
    OF_POD, ServiceAddress, ServiceUrl, answer_durations, method, mirror_host, mirror_url, parameter, service_port,
    service_url, sign_in,
};
pub use target::{
    HASH_KEY, HOST_HEADER, PATH_PREFIX, REWRITE_TARGET, hash_key, host_header, is_harmless, prefix, rewrite_target,
};
pub use template::{TemplateUse, name as variable_name, template};

use ingressd_model::{Refused, VariableClass};

/// Whether nginx has decoded a variable, so that it may end a line.
pub fn is_decoded(name: &str) -> bool {
    VariableClass::of(name) == Some(VariableClass::Decoded)
}

/// Why such a variable has no place in a text that becomes a line.
pub fn decoded(name: &str) -> Refused {
    let instead = if name.ends_with("uri") { "; use $request_uri" } else { "" };
    Refused(format!("${name} is decoded and could contain a line break{instead}").into())
}

/// The longest part of a value in a note.
const LONGEST_EXCERPT: usize = 60;

/// A value for people: shortened, and with everything escaped that could forge a line.
pub fn excerpt(value: &str) -> String {
    let shown: String = value.chars().take(LONGEST_EXCERPT).collect();
    let rest = if shown.len() < value.len() { "..." } else { "" };
    format!("\"{}\"{rest}", shown.escape_debug())
}
