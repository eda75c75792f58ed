//! Parses numbers, sizes, times and switches in the forms of ingress-nginx.

use std::time::Duration;

use super::form::Form;
use ingressd_model::{ByteSize, Refused};

/// The longest time in seconds, about 68 years: nginx counts milliseconds in 64 bits.
pub const LONGEST_SECONDS: u64 = i32::MAX as u64;

/// Parses a boolean of Go: `1 t T true TRUE True` or `0 f F false FALSE False`.
pub fn boolean(value: &str) -> Result<bool, Refused> {
    match value.trim() {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(Refused::because("it is not true or false")),
    }
}

/// The meaning of one of these words.
pub fn one_of<T: Copy>(value: &str, words: &[(&str, T)], refusal: &'static str) -> Result<T, Refused> {
    let known = words.iter().find(|(word, _)| *word == value.trim());
    known.map(|(_, meaning)| *meaning).ok_or(Refused::because(refusal))
}

/// The form of [`on_off`].
pub const ON_OFF: Form = Form::Word(&["on", "off"]);

/// Parses exactly `on` or `off`.
pub fn on_off(value: &str) -> Result<bool, Refused> {
    match value.trim() {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Refused::because("it is not on or off")),
    }
}

/// Parses a whole number from `least` to `most`.
pub fn integer(value: &str, least: u64, most: u64) -> Result<u64, Refused> {
    match value.trim().parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(Refused(format!("it is not a whole number from {least} to {most}").into())),
    }
}

/// Whether the value is a whole number, of any size and sign.
pub fn is_number(value: &str) -> bool {
    let value = value.trim();
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses a whole number; 0 means none.
pub fn positive(value: &str, most: u32) -> Result<Option<u32>, Refused> {
    let number = integer(value, 0, most.into())?;
    Ok(u32::try_from(number).ok().filter(|number| *number > 0))
}

/// Parses a time of at least one second, without a unit.
pub fn seconds(value: &str) -> Result<Duration, Refused> {
    whole_seconds(value, 1)
}

/// Parses a time in seconds, without a unit; 0 means no limit.
pub fn seconds_or_unlimited(value: &str) -> Result<Duration, Refused> {
    whole_seconds(value, 0)
}

fn whole_seconds(value: &str, least: u64) -> Result<Duration, Refused> {
    integer(value, least, LONGEST_SECONDS)
        .map(Duration::from_secs)
        .map_err(|_| Refused(format!("it is not a whole number of seconds, without a unit, from {least}").into()))
}

/// Parses a size: digits and optionally `b`, `k`, `m` or `g`, from `least` to `most` bytes.
pub fn byte_size(value: &str, least: u64, most: u64) -> Result<ByteSize, Refused> {
    let value = value.trim();
    let (digits, unit) = match value.as_bytes().last().map(u8::to_ascii_lowercase) {
        Some(b'b') => (&value[..value.len() - 1], 1),
        Some(b'k') => (&value[..value.len() - 1], 1 << 10),
        Some(b'm') => (&value[..value.len() - 1], 1 << 20),
        Some(b'g') => (&value[..value.len() - 1], 1 << 30),
        _ => (value, 1),
    };
    let number = match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse::<u64>().ok(),
        false => None,
    };
    let size = number.ok_or(Refused::because("it is not a size: digits and optionally k, m or g"))?;
    match size.checked_mul(unit) {
        Some(size) if (least..=most).contains(&size) => Ok(ByteSize(size)),
        _ => Err(Refused(format!("it is not from {} to {}", ByteSize(least), ByteSize(most)).into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let size = |text| byte_size(text, 1, 1 << 40).map(|size| size.0).ok();
        for (text, expected) in [
            ("8k", Some(8192)),
            (" 8K\n", Some(8192)),
            ("1g", Some(1 << 30)),
            ("17b", Some(17)),
            ("17", Some(17)),
            ("0", None),
            ("-1", None),
            ("+1", None),
            ("k", None),
            ("8 k", None),
            ("8kk", None),
            ("8é", None),
            ("99999999999999999999", None),
            ("9999999999999999999g", None),
        ] {
            assert_eq!(size(text), expected, "{text:?}");
        }
    }

    #[test]
    fn times_have_no_unit() {
        assert_eq!(seconds("30"), Ok(Duration::from_secs(30)));
        for text in ["30s", "0", "-1", "1.5", "2147483648", ""] {
            assert!(seconds(text).is_err(), "{text:?}");
        }
        assert_eq!(seconds_or_unlimited("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn booleans_are_those_of_go() {
        for text in ["yes", "on", "TrUe", "1.0", ""] {
            assert!(boolean(text).is_err(), "{text:?}");
        }
        assert_eq!(boolean(" T "), Ok(true));
    }
}
