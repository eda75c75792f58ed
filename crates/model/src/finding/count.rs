//! Numbers with what they count.

use std::fmt::Display;

/// A number with the singular or the plural of a word.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    let word = if number == N::from(1) { one } else { many };
    format!("{number} {word}")
}

/// How many of all, before what is said of them: `1 of 3 hosts is`.
pub fn count_of(part: usize, all: usize, one: &str, many: &str) -> String {
    let verb = if part == 1 || all == 1 { "is" } else { "are" };
    format!("{part} of {} {verb}", count(all, one, many))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_and_verbs_agree_with_their_numbers() {
        for (part, all, expected) in [
            (0, 0, "0 of 0 hosts are"),
            (0, 1, "0 of 1 host is"),
            (1, 1, "1 of 1 host is"),
            (1, 2, "1 of 2 hosts is"),
            (2, 2, "2 of 2 hosts are"),
        ] {
            assert_eq!(count_of(part, all, "host", "hosts"), expected);
        }
    }
}
