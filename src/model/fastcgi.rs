//! What backends that speak FastCGI are told besides what all of them are; it must not know which annotation asked for it.

use super::{FileName, ParameterName, Template};

/// Parameters of requests to a FastCGI application.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FastCgi {
    /// What is put behind a path that ends with a slash, in the name of the script.
    pub index: Option<FileName>,
    /// Parameters, in the place of those that every application gets; sorted by name, each at most once.
    pub parameters: Vec<(ParameterName, Template)>,
}
