//! FastCGI parameters that a route sets in addition to the usual ones. It must not know which
//! annotation asked for them.

use super::{FileName, ParameterName, Template};

/// The parameters of requests to a FastCGI application.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FastCgi {
    /// The file that is appended to a path with a trailing slash, for the name of the script.
    pub index: Option<FileName>,
    /// Parameters that replace the usual ones; sorted by name, without duplicates.
    pub parameters: Vec<(ParameterName, Template)>,
}
