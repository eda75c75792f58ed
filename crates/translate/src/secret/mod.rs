//! What Secrets hold: certificates, keys and authorities, checked. It must not know what they are
//! used for.

pub mod authority;
pub mod certificate;
pub mod key;
pub mod pem;
