//! Names of the variables that snippets set.

use super::{options, reading};

/// What tells the variables of one snippet from those of others, as far as a line names any.
pub fn marks(line: &str) -> impl Iterator<Item = String> {
    let words = line.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let mark = |word: &str| Some(word.split_once('_')?.0.to_owned() + "_");
    let is_mark = |mark: &String| mark.len() == 17 && mark[..16].bytes().all(|byte| byte.is_ascii_hexdigit());
    words.filter_map(mark).filter(is_mark)
}

#[test]
fn variables_of_two_snippets_never_share_a_name() {
    let name = |key, text: &str, namespace: &str| {
        let mut options = options();
        options.snippets[0].namespaces.push(namespace.into());
        let reading = reading(namespace, &options, &[(key, text)]);
        let snippet = reading.behaviour.snippets.iter().chain(&reading.host.snippets).next().cloned().unwrap();
        snippet.statements[0].to_string()
    };
    let text = "set $plan gold;";
    let first = name("configuration-snippet", text, "scribe");
    for other in [
        name("configuration-snippet", "set $plan gold; ", "scribe"),
        name("server-snippet", text, "scribe"),
        name("configuration-snippet", text, "copyist"),
    ] {
        assert_ne!(first, other);
        assert_eq!(marks(&other).count(), 1, "{other}");
    }
}
