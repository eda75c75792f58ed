//! The grammars of values that users write, from text to typed values, and quoting of values in
//! notes.

mod address;
pub mod arguments;
mod cluster_name;
mod external_name;
mod form;
pub mod host;
mod name;
mod number;
mod origin;
mod redirect;
mod service;
mod target;
mod template;
mod text;

pub use address::{address_list, network};
pub use cluster_name::{ClusterName, USUAL_DOMAIN};
pub use external_name::ExternalName;
pub use form::{Form, Shape};
pub use name::{
    ALL, CONFIG_MAP_REFERENCE, HEADER_NAME, HEADER_NAME_OR_ALL, HOST_NAME, METHOD_OR_ALL, REALM, SECRET_REFERENCE,
    header_names, header_names_or_all, methods, methods_or_all, realm, secret_reference,
};
pub use number::{
    LONGEST_SECONDS, ON_OFF, boolean, byte_size, integer, is_number, on_off, one_of, positive, seconds,
    seconds_or_unlimited,
};
pub use origin::{ORIGIN, origins};
pub use redirect::{
    REDIRECT_TARGET, REDIRECT_TARGET_OR_PATH, REDIRECT_URL, goes_to_known_host, redirect_status, redirect_target,
    redirect_url,
};
pub use service::{
    OF_POD, ServiceAddress, ServiceUrl, answer_durations, method, mirror_host, mirror_url, parameter, service_port,
    service_url, sign_in,
};
pub use target::{
    HASH_KEY, HOST_HEADER, PATH_PREFIX, REWRITE_TARGET, hash_key, host_header, is_harmless, prefix, rewrite_target,
    text_with_groups,
};
pub use template::{TemplateUse, name as variable_name, template};
pub use text::{decoded, empty_entry, entries, excerpt, is_decoded, without_empty};
