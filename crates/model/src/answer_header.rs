//! A response header that is set in the place of the backend's. It must not know which option sets
//! it.

use super::{HeaderName, HeaderText, Refused};

/// Headers that nginx itself sets for each response, or that control its transfer.
const OF_NGINX: [&str; 10] = [
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Type",
    "Date",
    "Keep-Alive",
    "Server",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
];

/// The longest name of a header that fits into nginx's hash tables, of which that for gRPC is the
/// smallest.
pub const LONGEST_HEADER_NAME: usize = 46;

/// A response header.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerHeader {
    name: HeaderName,
    value: HeaderText,
}

impl AnswerHeader {
    /// Checks that nginx can send the header in the place of that of a backend.
    pub fn new(name: HeaderName, value: HeaderText) -> Result<Self, Refused> {
        let is_plain = name.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        match OF_NGINX.iter().any(|own| own.eq_ignore_ascii_case(name.as_str())) {
            _ if !is_plain => Err(Refused::because("a name of a header is letters, digits, - and _")),
            _ if name.as_str().len() > LONGEST_HEADER_NAME => {
                Err(Refused::because("a name of a header has more than 46 letters, which is more than nginx takes"))
            }
            true => Err(Refused(format!("nginx makes {name} of each answer").into())),
            false => Ok(AnswerHeader { name, value }),
        }
    }

    /// Its name: letters, digits, `-` and `_`.
    pub const fn name(&self) -> &HeaderName {
        &self.name
    }

    pub const fn value(&self) -> &HeaderText {
        &self.value
    }

    /// Whether it is `Set-Cookie`: a response may have several of them, and each stays.
    pub fn is_cookie(&self) -> bool {
        self.name.as_str().eq_ignore_ascii_case("Set-Cookie")
    }
}
