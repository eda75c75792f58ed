//! Names and password hashes in Secrets, line by line; it must not know who uses them, and never shows one.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::Secret;

/// The key of a Secret that holds a whole file.
const FILE_KEY: &str = "auth";

/// Most rounds of SHA-crypt, whose default is 5000: about 50 ms.
const MOST_ROUNDS: u32 = 100_000;
/// Highest cost of bcrypt, a power of two: about 250 ms.
const HIGHEST_COST: u8 = 12;
/// The settings of yescrypt up to its default; those beyond take more than 16 MiB and 30 ms.
const YESCRYPT_SETTINGS: [&str; 5] = ["j75", "j85", "j7T", "j8T", "j9T"];

/// One user.
#[derive(Debug, PartialEq, Eq)]
pub struct Password<'a> {
    user: Cow<'a, str>,
    hash: Cow<'a, str>,
}

impl<'a> Password<'a> {
    /// Proves both halves: one line, one colon between them.
    fn new(user: Cow<'a, str>, hash: Cow<'a, str>) -> Result<Self, &'static str> {
        let broken = |text: &str| text.chars().any(|character| character.is_control() || character == ':');
        match () {
            () if user.is_empty() => Err("has no name"),
            () if hash.is_empty() => Err("has no password"),
            () if broken(&user) => Err("has a colon or control character in its name"),
            () if broken(&hash) => Err("has a colon or control character in its password"),
            () if !is_affordable(&hash) => Err("has a password hash of an unknown kind, or one that takes too long"),
            () => Ok(Password { user, hash }),
        }
    }

    /// The line of a password file.
    pub fn line(&self) -> String {
        format!("{}:{}\n", self.user, self.hash)
    }
}

/// Whether the hash is of a kind whose computation is bounded.
///
/// nginx computes it at each request, in the worker that serves everybody else: with `$6$rounds=999999999$` one request
/// of one tenant would stop all others for many minutes.
fn is_affordable(hash: &str) -> bool {
    let Some(rest) = hash.strip_prefix('$') else {
        // nginx's own kinds, and the thirteen characters of DES; a longer DES names its own number of rounds.
        let is_des = hash.len() == 13 && hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./".contains(&byte));
        return is_des || ["{SHA}", "{SSHA}", "{PLAIN}"].iter().any(|kind| hash.starts_with(kind));
    };
    let Some((kind, rest)) = rest.split_once('$') else { return false };
    let first = rest.split('$').next().unwrap_or_default();
    match kind {
        "apr1" | "1" => true,
        "5" | "6" => match first.strip_prefix("rounds=") {
            Some(rounds) => rounds.parse::<u32>().is_ok_and(|rounds| rounds <= MOST_ROUNDS),
            None => true,
        },
        "2a" | "2b" | "2y" => first.parse::<u8>().is_ok_and(|cost| cost <= HIGHEST_COST),
        "y" => YESCRYPT_SETTINGS.contains(&first),
        _ => false,
    }
}

/// The users of a Secret, and notes about entries that are left out. Notes name no user and no hash.
pub type Passwords<'a> = (Vec<Password<'a>>, Vec<String>);

/// Reads `auth` as lines of `user:hash`, with an optional comment behind another colon; `None` without that key.
pub fn of_file(secret: &Secret) -> Option<Passwords<'_>> {
    let (_, content) = values(secret).find(|(key, _)| *key == FILE_KEY)?;
    let mut found = Passwords::default();
    let lines = content.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    for (number, line) in (1..).zip(lines) {
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let entry = match std::str::from_utf8(line).map(|line| line.split_once(':')) {
            // nginx reads up to the next colon; what follows is a comment.
            Ok(Some((user, rest))) => Password::new(user.into(), rest.split(':').next().unwrap_or_default().into()),
            Ok(None) => Err("has no colon between name and password"),
            Err(_) => Err("is not UTF-8"),
        };
        match entry {
            Ok(password) => found.0.push(password),
            Err(fault) => found.1.push(format!("line {number} of {FILE_KEY} {fault}; it is left out")),
        }
    }
    Some(found)
}

/// Reads each key as a user and its value as the hash.
pub fn of_map(secret: &Secret) -> Passwords<'_> {
    let mut found = Passwords::default();
    for (number, (user, hash)) in (1..).zip(values(secret)) {
        // Tools like `echo` end a value with a newline; within a value it would be a second user.
        let hash = hash.strip_suffix(b"\n").unwrap_or(hash);
        let entry = match std::str::from_utf8(hash) {
            Ok(hash) => Password::new(user.into(), hash.into()),
            Err(_) => Err("is not UTF-8"),
        };
        match entry {
            Ok(password) => found.0.push(password),
            Err(fault) => found.1.push(format!("entry {number}, in order of keys, {fault}; it is left out")),
        }
    }
    found
}

fn values(secret: &Secret) -> impl Iterator<Item = (&str, &[u8])> {
    secret.data.iter().flatten().map(|(key, value)| (key.as_str(), value.0.as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::ByteString;
    use proptest::prelude::*;

    fn secret(values: &[(&str, &str)]) -> Secret {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let data = values.iter().map(|(key, value)| ((*key).to_owned(), bytes(value))).collect();
        Secret { data: Some(data), ..Secret::default() }
    }

    fn lines((passwords, faults): Passwords<'_>) -> (String, usize) {
        (passwords.iter().map(Password::line).collect(), faults.len())
    }

    #[test]
    fn files() {
        let cases = [
            ("a:$apr1$x$y\nb:{SHA}z\n", "a:$apr1$x$y\nb:{SHA}z\n", 0),
            ("# users\r\n\r\na:{SHA}h\r\n", "a:{SHA}h\n", 0),
            ("a:{SHA}h:comment", "a:{SHA}h\n", 0),
            ("a:{SHA}h\nbroken\n:{SHA}h\nb:\n", "a:{SHA}h\n", 3),
            ("a:{SHA}h\rb:{SHA}h\n", "", 1),
            ("a\u{0}:{SHA}h\nb:{SHA}h\u{85}", "", 2),
            ("", "", 0),
        ];
        for (content, expected, faults) in cases {
            let secret = secret(&[("auth", content)]);
            assert_eq!(of_file(&secret).map(lines), Some((expected.to_owned(), faults)), "{content:?}");
        }
        assert_eq!(of_file(&secret(&[("users", "a:{SHA}h")])), None);
    }

    #[test]
    fn a_map_entry_is_one_user_only() {
        let values =
            [("a", "{SHA}1\n"), ("b", "{SHA}2\nadmin:{SHA}3"), ("c:d", "{SHA}h"), ("e", "{SHA}h:f"), ("g", "")];
        assert_eq!(lines(of_map(&secret(&values))), ("a:{SHA}1\n".to_owned(), 4));
    }

    #[test]
    fn a_hash_is_of_a_kind_that_does_not_stop_a_worker() {
        let cases = [
            ("$apr1$salt$hash", true),
            ("$1$salt$hash", true),
            ("{SHA}hash", true),
            ("{SSHA}hash", true),
            ("{PLAIN}password", true),
            ("rl.3StKT.4T8M", true),
            ("$5$salt$hash", true),
            ("$6$rounds=100000$salt$hash", true),
            ("$6$rounds=100001$salt$hash", false),
            ("$6$rounds=999999999$salt$hash", false),
            ("$6$rounds=$salt$hash", false),
            ("$2y$12$salthash", true),
            ("$2y$13$salthash", false),
            ("$2b$31$salthash", false),
            ("$2x$05$salthash", false),
            ("$y$j9T$salt$hash", true),
            ("$y$jFT$salt$hash", false),
            ("$gy$j9T$salt$hash", false),
            ("$7$CU..../....salt$hash", false),
            ("$sha1$4294967295$salt$hash", false),
            ("$md5,rounds=4294967295$salt$hash", false),
            // DES with a number of rounds of its own.
            ("_zzzzsalthashhashhas", false),
            ("password", false),
            ("", false),
        ];
        for (hash, expected) in cases {
            assert_eq!(is_affordable(hash), expected, "{hash}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_line_is_always_one_user_and_one_hash(key in any::<String>(), rest in "[ab:#\r\n\u{85}\0$]{0,12}") {
            let value = rest.replace('b', "{SHA}");
            let secret = secret(&[("auth", &value), (&key, &value)]);
            let file = of_file(&secret).unwrap_or_default();
            for line in file.0.iter().chain(&of_map(&secret).0).map(Password::line) {
                let line = line.strip_suffix('\n').unwrap_or_default();
                prop_assert_eq!(line.split(':').filter(|half| !half.is_empty()).count(), 2, "{:?}", line);
                prop_assert!(!line.contains(char::is_control), "{:?}", line);
            }
        }
    }
}
