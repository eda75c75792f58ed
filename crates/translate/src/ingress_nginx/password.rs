//! Parses user names and password hashes in Secrets, line by line. None of them is ever shown.

use std::borrow::Cow;

use crate::PasswordLimits;
use ingressd_objects::Secret;

/// The key of a Secret with a whole file.
const FILE_KEY: &str = "auth";

/// The longest name and the longest hash in bytes: hashes of every kind have less than 150.
const LONGEST: usize = 256;

/// The default rounds of SHA-crypt.
const DEFAULT_ROUNDS: u32 = 5000;
/// The bcrypt cost that takes as long as these rounds with the longest password that a client can
/// send, 511 bytes: 16 ms. Usual passwords take an eighth of that.
const COST_OF_DEFAULT_ROUNDS: u8 = 8;
/// The parameters of yescrypt up to Debian's default, with the bcrypt cost that takes as long;
/// higher ones need more than 16 MiB.
const YESCRYPT: [(&str, u8); 5] = [("j75", 4), ("j85", 5), ("j7T", 6), ("j8T", 7), ("j9T", 8)];

/// Why an entry is left out: the end of a sentence about the entry.
type Fault = Cow<'static, str>;

/// One user.
#[derive(Debug, PartialEq, Eq)]
pub struct Password<'a> {
    user: Cow<'a, str>,
    hash: Cow<'a, str>,
}

impl<'a> Password<'a> {
    /// Checks both halves of an entry, which becomes one line with one colon between them.
    fn new(user: Cow<'a, str>, hash: Cow<'a, str>, limits: PasswordLimits) -> Result<Self, Fault> {
        let broken = |text: &str| text.chars().any(|character| character.is_control() || character == ':');
        match () {
            () if user.is_empty() => Err("has no name".into()),
            // The keys of a Secret may, where no API server has seen it.
            () if user.starts_with('#') => Err("has a name that begins with #, which nginx takes for a comment".into()),
            () if hash.is_empty() => Err("has no password".into()),
            () if broken(&user) => Err("has a colon or control character in its name".into()),
            () if broken(&hash) => Err("has a colon or control character in its password".into()),
            () if user.len() > LONGEST || hash.len() > LONGEST => {
                Err(format!("has a name or hash of more than {LONGEST} bytes").into())
            }
            () => match (cost(&hash)?, limits.cost) {
                (cost, most) if cost <= most => Ok(Password { user, hash }),
                (_, most) => Err(format!(
                    "has a hash that takes nginx too long for each request (limits.password-cost is {most}); make a \
                        new one with htpasswd -B -C {most}"
                )
                .into()),
            },
        }
    }

    /// The line in the password file.
    pub fn line(&self) -> String {
        format!("{}:{}\n", self.user, self.hash)
    }
}

/// The cost of the hash on the scale of bcrypt: each step doubles the time, and 10 means some 60
/// ms.
///
/// nginx computes the hash for each request, which blocks the worker: with `$6$rounds=999999999$`
/// one request of one tenant would stop all others for many minutes.
fn cost(hash: &str) -> Result<u8, Fault> {
    const UNKNOWN: Fault = Cow::Borrowed("has a hash of an unknown kind; make a new one with htpasswd -B");
    let Some(rest) = hash.strip_prefix('$') else {
        // nginx's own kinds, and traditional DES with thirteen characters; extended DES contains
        // its own number of rounds.
        let is_des = hash.len() == 13 && hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./".contains(&byte));
        return match () {
            () if is_des || hash.starts_with("{SHA}") || hash.starts_with("{SSHA}") => Ok(0),
            () if hash.starts_with("{PLAIN}") => {
                Err("has a password in plain text, which is refused; make a hash with htpasswd -B".into())
            }
            () => Err(UNKNOWN),
        };
    };
    let (kind, rest) = rest.split_once('$').ok_or(UNKNOWN)?;
    let first = rest.split('$').next().unwrap_or_default();
    match kind {
        "apr1" | "1" => Ok(0),
        "5" | "6" => {
            let rounds = match first.strip_prefix("rounds=") {
                Some(rounds) => rounds.parse::<u32>().map_err(|_| UNKNOWN)?,
                None => DEFAULT_ROUNDS,
            };
            let is_enough = |doublings: &u8| u64::from(rounds) <= u64::from(DEFAULT_ROUNDS) << doublings;
            Ok(COST_OF_DEFAULT_ROUNDS + (0..32).find(is_enough).unwrap_or(32))
        }
        "2a" | "2b" | "2y" => first.parse::<u8>().map_err(|_| UNKNOWN),
        "y" => YESCRYPT.iter().find(|(setting, _)| *setting == first).map(|(_, cost)| *cost).ok_or(Cow::Borrowed(
            "has a hash of yescrypt with a cost above its default, which takes nginx too long; make a new one with \
             htpasswd -B",
        )),
        _ => Err(UNKNOWN),
    }
}

/// The users of a Secret, and notes about entries that are left out. Notes contain neither user
/// names nor hashes.
pub type Passwords<'a> = (Vec<Password<'a>>, Vec<String>);

/// Parses `auth` as lines of `user:hash`, with an optional comment behind another colon; `None`
/// without that key.
pub fn of_file<'a>(secret: &'a Secret, limits: PasswordLimits) -> Option<Passwords<'a>> {
    let (_, content) = values(secret).find(|(key, _)| *key == FILE_KEY)?;
    let mut found = Passwords::default();
    let lines = content.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    for (number, line) in (1..).zip(lines) {
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let entry = match std::str::from_utf8(line).map(|line| line.split_once(':')) {
            // nginx reads up to the next colon; the rest is a comment.
            Ok(Some((user, rest))) => {
                Password::new(user.into(), rest.split(':').next().unwrap_or_default().into(), limits)
            }
            Ok(None) => Err("has no colon between name and password".into()),
            Err(_) => Err("is not UTF-8".into()),
        };
        if !take(&mut found, entry, limits, || format!("line {number} of {FILE_KEY}")) {
            break;
        }
    }
    Some(found)
}

/// Reads each key as a user name and its value as the hash.
pub fn of_map<'a>(secret: &'a Secret, limits: PasswordLimits) -> Passwords<'a> {
    let mut found = Passwords::default();
    for (number, (user, hash)) in (1..).zip(values(secret)) {
        // Tools like `echo` end a value with a newline; anywhere else in a value it would begin a
        // second user.
        let hash = hash.strip_suffix(b"\n").unwrap_or(hash);
        let entry = match std::str::from_utf8(hash) {
            Ok(hash) => Password::new(user.into(), hash.into(), limits),
            Err(_) => Err("is not UTF-8".into()),
        };
        if !take(&mut found, entry, limits, || format!("entry {number}, in order of keys,")) {
            break;
        }
    }
    found
}

/// Adds an entry or a note why it is left out; returns `false` when there are too many to go on.
fn take<'a>(
    found: &mut Passwords<'a>,
    entry: Result<Password<'a>, Fault>,
    limits: PasswordLimits,
    place: impl Fn() -> String,
) -> bool {
    match entry {
        Ok(_) if found.0.len() >= limits.users => {
            let most = limits.users;
            found.1.push(format!(
                "{} and all after it are left out: nginx reads all users for each request, and limits.passwords \
                    allows {most}",
                place()
            ));
            return false;
        }
        Ok(password) => found.0.push(password),
        Err(fault) => found.1.push(format!("{} {fault}; it is left out", place())),
    }
    true
}

fn values(secret: &Secret) -> impl Iterator<Item = (&str, &[u8])> {
    secret.data.iter().map(|(key, value)| (&**key, &*value.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Limits;
    use ingressd_model::SecretBytes;

    fn secret(values: &[(&str, &str)]) -> Secret {
        let data: BTreeMap<_, _> = values.iter().map(|(key, value)| (*key, value.as_bytes())).collect();
        let data = data.into_iter().map(|(key, value)| (key.into(), SecretBytes(value.into()))).collect();
        Secret { data, ..Secret::default() }
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
            assert_eq!(
                of_file(&secret, Limits::default().password).map(lines),
                Some((expected.to_owned(), faults)),
                "{content:?}"
            );
        }
        assert_eq!(of_file(&secret(&[("users", "a:{SHA}h")]), Limits::default().password), None);
    }

    #[test]
    fn a_map_entry_is_one_user_only() {
        let values = [
            ("a", "{SHA}1\n"),
            ("b", "{SHA}2\nadmin:{SHA}3"),
            ("c:d", "{SHA}h"),
            ("e", "{SHA}h:f"),
            ("g", ""),
            ("#h", "{SHA}h"),
        ];
        assert_eq!(lines(of_map(&secret(&values), Limits::default().password)), ("a:{SHA}1\n".to_owned(), 5));
    }

    #[test]
    fn a_hash_is_of_a_kind_that_does_not_stop_a_worker() {
        let cases = [
            ("$apr1$salt$hash", Ok(0)),
            ("$1$salt$hash", Ok(0)),
            ("{SHA}hash", Ok(0)),
            ("{SSHA}hash", Ok(0)),
            ("rl.3StKT.4T8M", Ok(0)),
            ("$5$salt$hash", Ok(8)),
            ("$6$rounds=1000$salt$hash", Ok(8)),
            ("$6$rounds=5001$salt$hash", Ok(9)),
            ("$6$rounds=20000$salt$hash", Ok(10)),
            ("$6$rounds=100000$salt$hash", Ok(13)),
            ("$6$rounds=999999999$salt$hash", Ok(26)),
            ("$6$rounds=4294967295$salt$hash", Ok(28)),
            ("$6$rounds=99999999999$salt$hash", Err("unknown kind")),
            ("$6$rounds=$salt$hash", Err("unknown kind")),
            ("$2y$05$salthash", Ok(5)),
            ("$2b$31$salthash", Ok(31)),
            ("$2y$999$salthash", Err("unknown kind")),
            ("$2x$05$salthash", Err("unknown kind")),
            ("$y$j9T$salt$hash", Ok(8)),
            ("$y$jAT$salt$hash", Err("above its default")),
            ("$gy$j9T$salt$hash", Err("unknown kind")),
            ("$7$CU..../....salt$hash", Err("unknown kind")),
            ("$sha1$4294967295$salt$hash", Err("unknown kind")),
            ("$md5,rounds=4294967295$salt$hash", Err("unknown kind")),
            // Extended DES, with a number of rounds of its own.
            ("_zzzzsalthashhashhas", Err("unknown kind")),
            ("{PLAIN}password", Err("plain text")),
            ("{SMD5}hash", Err("unknown kind")),
            ("password", Err("unknown kind")),
            ("", Err("unknown kind")),
        ];
        for (hash, expected) in cases {
            match (cost(hash), expected) {
                (Ok(given), Ok(expected)) => assert_eq!(given, expected, "{hash}"),
                (Err(given), Err(expected)) => assert!(given.contains(expected), "{hash}: {given}"),
                (given, _) => panic!("{hash} costs {given:?}"),
            }
        }
    }

    #[test]
    fn cost_length_and_number_have_bounds_and_the_others_serve() {
        let limits = |cost, users| PasswordLimits { cost, users };
        let long = format!("a:{{SHA}}{}\nb:{{SHA}}h", "x".repeat(300));
        let cases: [(&str, PasswordLimits, &str, &str); 7] = [
            ("a:$2y$10$x\nb:$2y$11$x\n", limits(10, 9), "a:$2y$10$x\n", "htpasswd -B -C 10"),
            ("a:$2y$10$x\nb:$2y$05$x\n", limits(8, 9), "b:$2y$05$x\n", "limits.password-cost is 8"),
            ("a:$6$x$y\nb:{SHA}h", limits(7, 9), "b:{SHA}h\n", "too long"),
            ("a:$6$x$y\nb:{SHA}h", limits(8, 9), "a:$6$x$y\nb:{SHA}h\n", ""),
            ("a:{PLAIN}secret\nb:{SHA}h", limits(10, 9), "b:{SHA}h\n", "htpasswd -B"),
            (&long, limits(10, 9), "b:{SHA}h\n", "more than 256 bytes"),
            ("a:{SHA}h\nb:{SHA}h\nc:{SHA}h\nd:", limits(10, 2), "a:{SHA}h\nb:{SHA}h\n", "limits.passwords allows 2"),
        ];
        for (content, limits, expected, note) in cases {
            let file = secret(&[("auth", content)]);
            let (passwords, notes) = of_file(&file, limits).unwrap_or_default();
            assert_eq!(passwords.iter().map(Password::line).collect::<String>(), expected, "{notes:?}");
            assert_eq!(notes.len(), usize::from(!note.is_empty()), "{notes:?}");
            assert!(notes.iter().all(|found| found.contains(note) && !found.contains("secret")), "{notes:?}");
        }
        let map = secret(&[("a", "{SHA}h"), ("b", "{PLAIN}h"), ("c", "{SHA}h"), ("d", "{SHA}h")]);
        assert_eq!(lines(of_map(&map, limits(10, 2))), ("a:{SHA}h\nc:{SHA}h\n".to_owned(), 2));
    }
}
