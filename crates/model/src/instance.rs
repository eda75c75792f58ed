//! The instance of ingressd on this host: its name is part of every name that it uses in nginx.

use std::fmt;
use std::sync::Arc;

use super::value::Refused;

/// An instance: the only one, which has no name, or one of several that may share an nginx. The
/// instance without a name comes first in order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance(Arc<str>);

impl Default for Instance {
    fn default() -> Self {
        Instance("".into())
    }
}

impl Instance {
    /// The longest name. With it names of variables have up to 61 bytes. A host that sets the size
    /// of nginx's table of variables itself needs `variables_hash_bucket_size 128`, because the
    /// default takes 46.
    const LONGEST: usize = 12;

    /// The most bytes of [`Instance::mark`].
    pub const LONGEST_MARK: usize = Self::LONGEST + 2;

    /// Checks a name: lower-case letters and digits, beginning with a letter; empty for the only
    /// instance.
    pub fn new(name: &str) -> Result<Self, Refused> {
        let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        match plain && name.len() <= Self::LONGEST && !name.starts_with(|first: char| first.is_ascii_digit()) {
            true => Ok(Instance(name.into())),
            false => {
                Err(Refused::because("it is not a name of at most 12 lower-case letters and digits, a letter first"))
            }
        }
    }

    /// The name; empty for the only instance.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The suffix of `ingressd` in names. Nothing else in them begins with two underscores.
    pub fn mark(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("__{}", self.0) }
    }

    /// The variable with the number of the generation, without its dollar sign.
    pub fn generation_variable(&self) -> String {
        format!("ingressd{}_generation", self.mark())
    }

    /// The instance of such a variable.
    pub fn of_generation_variable(variable: &str) -> Option<Self> {
        let mark = variable.strip_prefix("ingressd")?.strip_suffix("_generation")?;
        match mark.strip_prefix("__") {
            Some(name) => Instance::new(name).ok().filter(|instance| !instance.0.is_empty()),
            None => mark.is_empty().then(Instance::default),
        }
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_variables_are_known_by_them() {
        for name in ["", "blue", "a1", "abcdefghijkl"] {
            let instance = Instance::new(name).unwrap();
            assert_eq!(Instance::of_generation_variable(&instance.generation_variable()), Some(instance));
        }
        for name in ["Blue", "1a", "a-b", "a_b", "abcdefghijklm", "../x", "a b"] {
            assert!(Instance::new(name).is_err(), "{name}");
        }
        for variable in ["ingressd_own_generation", "ingressd___generation", "generation", "ingressd_generationx"] {
            assert_eq!(Instance::of_generation_variable(variable), None, "{variable}");
        }
        assert!(Instance::default() < Instance::new("a").unwrap());
    }
}
