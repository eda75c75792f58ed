//! The upper limit of a row's number, and how the number is written.

use super::value::{byte_size, integer};
use crate::Limits;
use ingressd_model::ByteSize;

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// It is a size.
    Bytes,
    /// It is a number of seconds.
    Seconds,
    /// It has no unit.
    Count,
}

/// The upper limit of a row's number.
#[derive(Debug, Clone, Copy)]
pub enum Ceiling {
    /// The row has no number.
    NoNumber,
    /// No limit is needed, for this reason.
    NotNeeded(&'static str),
    /// A setting of the administrator is the limit.
    Setting {
        /// The key of the setting.
        key: &'static str,
        unit: Unit,
        /// Whether 0 means no limit, so that the ceiling replaces it too.
        zero_is_unlimited: bool,
        /// The ceiling; 0 means none.
        of: fn(&Limits) -> u64,
    },
}

impl Unit {
    /// The number as the value of an annotation.
    pub fn written(self, number: u64) -> String {
        match self {
            Unit::Bytes => ByteSize(number).to_string(),
            Unit::Seconds | Unit::Count => number.to_string(),
        }
    }

    /// The number, when the value is one.
    fn read(self, value: &str) -> Option<u64> {
        match self {
            Unit::Bytes => byte_size(value, 0, u64::MAX).ok().map(|size| size.0),
            Unit::Seconds | Unit::Count => integer(value, 0, u64::MAX).ok(),
        }
    }
}

impl Ceiling {
    /// The ceiling; 0 means none.
    pub fn most(&self, limits: &Limits) -> u64 {
        match self {
            Ceiling::Setting { of, .. } => of(limits),
            Ceiling::NoNumber | Ceiling::NotNeeded(_) => 0,
        }
    }

    /// The replacement of a value above the ceiling, and the setting of the ceiling.
    pub fn instead_of(&self, value: &str, limits: &Limits) -> Option<(String, &'static str)> {
        let Ceiling::Setting { key, unit, zero_is_unlimited, of } = self else { return None };
        let (ceiling, asked) = (of(limits), unit.read(value)?);
        let is_too_much = asked > ceiling || (asked == 0 && *zero_is_unlimited);
        (ceiling > 0 && is_too_much).then(|| (unit.written(ceiling), *key))
    }
}
