//! Finds the known word that a user may have meant by an unknown one.

/// The longest known word in bytes. Nothing similar is sought for longer unknown words.
const LONGEST: usize = 63;

/// Words whose lengths differ by more are not compared: a typo is a letter or two, and comparing
/// is slow.
const LENGTH_DIFFERENCE: usize = 4;

/// Words less similar than this are not proposed.
const LIKENESS: f64 = 0.84;

/// How many letters a typo may get wrong: up to a third of the word, so that a missing ending is
/// still recognised.
fn most_wrong(word: &str) -> usize {
    word.chars().count().max(6) / 3
}

/// The known word most similar to this one, when one is similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let near = known.into_iter().filter(|known| known.len().abs_diff(word.len()) <= LENGTH_DIFFERENCE);
    let alike = near.map(|known| (strsim::jaro_winkler(word, known), known));
    let alike = alike
        .filter(|(likeness, known)| *likeness >= LIKENESS && strsim::osa_distance(word, known) <= most_wrong(word));
    // Words of equal similarity are ordered by name, because the known words may come in any
    // order.
    alike.max_by(|left, right| left.0.total_cmp(&right.0).then(right.1.cmp(left.1))).map(|(_, known)| known)
}

/// The end of a note about an unknown word: the most similar known word, when there is one.
/// `prefix` is what all known words begin with.
pub fn hint<'a>(prefix: &str, word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|known| format!("; did you mean {prefix}{known}?")).unwrap_or_default()
}

/// A note about an unknown key, wherever it was written.
pub fn unknown_key<'a>(prefix: &str, key: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    format!("there is no such key{}", hint(prefix, key, known))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typos_are_distinguished_from_other_words() {
        let known = ["host", "hosts", "ingressClassName", "pathType", "path", "rules", "http.remote"];
        for (word, expected) in [
            ("ingresClassName", Some("ingressClassName")),
            ("ingressClass", Some("ingressClassName")),
            ("pathTyp", Some("pathType")),
            ("hots", Some("host")),
            ("annotations", None),
            ("http-prt", None),
            ("htp.remote", Some("http.remote")),
            ("", None),
            (&"pathType".repeat(10), None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
