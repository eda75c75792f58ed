//! Values that are the one argument of a directive; they must not know of which.

use super::{boolean, seconds};
use crate::model::{Argument, Refused};

/// A time in seconds, at least one.
pub fn time(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Time(seconds(value)?)])
}

/// `true` and `false` for what nginx calls `on` and `off`.
pub fn switch(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Switch(boolean(value)?)])
}
