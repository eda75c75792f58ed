//! Parses values that become the only argument of a directive. It must not know the directive.

use super::{boolean, seconds};
use ingressd_model::{Argument, Refused};

/// Parses a time of at least one second.
pub fn time(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Time(seconds(value)?)])
}

/// Converts `true` and `false` to nginx's `on` and `off`.
pub fn switch(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Switch(boolean(value)?)])
}
