//! Checks the arguments of directives in snippets. It must not know which directive they are for.

use crate::value::excerpt;
use ingressd_model::Refused;

/// The words of `gzip_proxied`.
pub(super) const PROXIED: [&str; 9] =
    ["off", "expired", "no-cache", "no-store", "private", "no_last_modified", "no_etag", "auth", "any"];

pub(super) const COUNT: Refused = Refused::because("it has the wrong number of arguments");

pub(super) fn one(words: &[String]) -> Result<&str, Refused> {
    match words {
        [word] => Ok(word),
        _ => Err(COUNT),
    }
}

pub(super) fn none(words: &[String]) -> Result<(), Refused> {
    if words.is_empty() { Ok(()) } else { Err(COUNT) }
}

pub(super) fn word(words: &[String], known: &[&str]) -> Result<(), Refused> {
    let word = one(words)?;
    match known.contains(&word) {
        true => Ok(()),
        false => Err(Refused(format!("{} is not {}", excerpt(word), known.join(" or ")).into())),
    }
}

pub(super) fn switch(words: &[String]) -> Result<(), Refused> {
    word(words, &["on", "off"])
}

pub(super) fn number(words: &[String], least: u64, most: u64) -> Result<(), Refused> {
    match one(words)?.parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(()),
        _ => Err(Refused(format!("it is not a number from {least} to {most}").into())),
    }
}

/// Whether a word consists of characters without a special meaning to nginx, as media types and
/// names do.
pub(super) fn is_bare(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._+/".contains(&byte))
}

pub(super) fn bare(words: &[String]) -> Result<(), Refused> {
    one(words)?;
    bares(words)
}

pub(super) fn bares(words: &[String]) -> Result<(), Refused> {
    match words.iter().find(|word| !is_bare(word)) {
        Some(word) => Err(Refused(format!("{} is not a word of letters, digits and - . _ + /", excerpt(word)).into())),
        None if words.is_empty() => Err(COUNT),
        None => Ok(()),
    }
}

/// The words that [`expires`] accepts besides times.
pub(super) const NO_TIME: [&str; 3] = ["epoch", "max", "off"];

/// Checks one number with its unit. nginx's test would refuse others with a message that could
/// blame other objects of the namespace.
pub(super) fn expires(words: &[String]) -> Result<(), Refused> {
    let (words, is_modified) = match words {
        [modified, rest @ ..] if modified == "modified" => (rest, true),
        words => (words, false),
    };
    let word = one(words)?;
    let time = word.strip_prefix(['+', '-']).unwrap_or(word);
    let number = time.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(time);
    let is_time = !number.is_empty() && number.len() <= 8 && number.bytes().all(|byte| byte.is_ascii_digit());
    match is_time || (!is_modified && NO_TIME.contains(&word)) {
        true => Ok(()),
        false => Err(Refused::because("it is not a number with s, m, h or d, nor epoch, max or off")),
    }
}

pub(super) fn same(words: &[String]) -> Result<String, Refused> {
    one(words).map(str::to_owned)
}

pub(super) fn joined(words: &[String]) -> Result<String, Refused> {
    if words.is_empty() { Err(COUNT) } else { Ok(words.join(" ")) }
}

/// Converts to kilobytes, the unit of the annotations.
pub(super) fn kilobytes(words: &[String]) -> Result<String, Refused> {
    let size = crate::value::byte_size(one(words)?, 0, 1 << 40)?;
    match size.0 % 1024 {
        0 => Ok((size.0 / 1024).to_string()),
        _ => Err(Refused::because("it is not a whole number of kilobytes")),
    }
}

/// Converts a time of nginx to whole seconds, the unit of the annotations.
pub(super) fn seconds(words: &[String]) -> Result<String, Refused> {
    const FORM: Refused = Refused::because("it is not a time in whole seconds, such as 60s or 1m");
    let (mut rest, mut total) = (one(words)?, 0_u64);
    while !rest.is_empty() {
        let end = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..end].parse().map_err(|_| FORM)?;
        let unit_end = rest[end..].bytes().position(|byte| byte.is_ascii_digit()).map_or(rest.len(), |at| end + at);
        let milliseconds = match &rest[end..unit_end] {
            "ms" => 1,
            "" | "s" => 1000,
            "m" => 60 * 1000,
            "h" => 3600 * 1000,
            "d" => 24 * 3600 * 1000,
            _ => return Err(FORM),
        };
        total = number.checked_mul(milliseconds).and_then(|part| total.checked_add(part)).ok_or(FORM)?;
        rest = &rest[unit_end..];
    }
    if total % 1000 == 0 { Ok((total / 1000).to_string()) } else { Err(FORM) }
}
