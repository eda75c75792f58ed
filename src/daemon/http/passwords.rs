//! Who may see the status page from other machines, by name and password. It must not know how a
//! request comes here, beyond the address that it comes from.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use ingressd_model::Digest;

/// How long an address has to wait after a wrong password.
pub const PAUSE: Duration = Duration::from_secs(2);

/// The costs of hashes that are accepted; the last one takes a second.
const COSTS: std::ops::RangeInclusive<u32> = 4..=14;

/// The remedy for each line.
const AGAIN: &str = "make lines with htpasswd -B -C 10";

/// The names, and the hashes of their passwords. Without a name nobody is known.
pub struct Passwords {
    users: Vec<User>,
    /// One hash is computed at a time: each takes a processor for as long as its cost says, and
    /// whoever guesses would take it from the daemon and from nginx.
    turn: Arc<Semaphore>,
    /// Where wrong passwords lately came from.
    guesses: Mutex<Vec<(IpAddr, Instant)>>,
}

struct User {
    name: String,
    hash: String,
    /// What was once found right, so that not every request costs a hash. The hash is part of it,
    /// so that whoever does not know that learns nothing from how long a comparison takes.
    known: OnceLock<Digest>,
}

/// What is thought of a name and a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordCheck {
    Right,
    Wrong,
    /// It was not looked at, because of what else is being or was just found wrong.
    Early,
}

impl Passwords {
    /// Nobody.
    pub fn none() -> Self {
        Passwords { users: Vec::new(), turn: Arc::new(Semaphore::new(1)), guesses: Mutex::default() }
    }

    /// Reads lines `NAME:HASH`, or returns what is wrong with them, and the remedy.
    pub fn read(text: &str) -> Result<Self, (String, &'static str)> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let users: Vec<_> = lines.map(|(number, line)| User::read(number, line)).collect::<Result<_, _>>()?;
        match users.is_empty() {
            true => Err(("it names nobody".to_owned(), AGAIN)),
            false => Ok(Passwords { users, ..Passwords::none() }),
        }
    }

    /// Whether this is a user with that password; the answer for a name that is not known takes as
    /// long as for a wrong password.
    pub async fn judge(&self, name: &str, password: &[u8], from: IpAddr) -> PasswordCheck {
        let user = self.users.iter().find(|user| user.name == name);
        let digest = user.map(|user| Digest::of_all([user.hash.as_bytes(), password]));
        if user.is_some_and(|user| user.known.get() == digest.as_ref()) {
            return PasswordCheck::Right;
        }
        let Some(hash) = user.or(self.users.first()).map(|user| user.hash.clone()) else { return PasswordCheck::Wrong };
        let from = network(from);
        if self.guesses(Instant::now()).iter().any(|(guesser, _)| *guesser == from) {
            return PasswordCheck::Early;
        }
        let Ok(turn) = Arc::clone(&self.turn).try_acquire_owned() else { return PasswordCheck::Early };
        // It counts as a guess until it is found right: the client may not wait for that.
        self.guesses(Instant::now()).push((from, Instant::now()));
        let (password, is_known) = (password.to_owned(), user.is_some());
        // It is computed to its end, also when nobody waits for it any more.
        let verified = spawn_blocking(move || {
            let is_right = bcrypt::verify(password, &hash).unwrap_or(false) && is_known;
            if !is_right {
                tracing::warn!("a wrong name or password for the status page came from {from}");
            }
            (is_right, turn).0
        });
        match (verified.await, user) {
            (Ok(true), Some(user)) => {
                let _ = user.known.set(digest.unwrap_or_default());
                self.guesses(Instant::now()).retain(|(guesser, _)| *guesser != from);
                PasswordCheck::Right
            }
            _ => PasswordCheck::Wrong,
        }
    }

    /// The guesses that still count. There are few, because each has cost a hash.
    fn guesses(&self, now: Instant) -> MutexGuard<'_, Vec<(IpAddr, Instant)>> {
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        guesses.retain(|(_, at)| now.saturating_duration_since(*at) < PAUSE);
        guesses
    }
}

impl User {
    fn read(number: usize, line: &str) -> Result<Self, (String, &'static str)> {
        let Some((name, hash)) = line.split_once(':').filter(|(name, _)| !name.is_empty()) else {
            return Err((format!("line {number} is not NAME:HASH"), AGAIN));
        };
        let cost = hash.parse::<bcrypt::HashParts>().ok().map(|parts| parts.get_cost());
        match cost {
            Some(cost) if COSTS.contains(&cost) => {
                Ok(User { name: name.to_owned(), hash: hash.to_owned(), known: OnceLock::new() })
            }
            Some(cost) => Err((format!("the hash in line {number} has cost {cost}, not one of 4 to 14"), AGAIN)),
            None => Err((format!("the hash in line {number} is none of bcrypt"), AGAIN)),
        }
    }
}

/// Whoever has one address of a network of IPv6 has all of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

impl fmt::Debug for Passwords {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Passwords").finish_non_exhaustive()
    }
}

/// The name and the password in the value of a header `Authorization`.
pub fn basic(value: &[u8]) -> Option<(String, Vec<u8>)> {
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    let (scheme, reported) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    let reported = BASE64_STANDARD.decode(reported.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let middle = reported.iter().position(|byte| *byte == b':')?;
    Some((std::str::from_utf8(&reported[..middle]).ok()?.to_owned(), reported[middle + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_used_says_what_to_do() {
        let good = bcrypt::hash("x", 4).unwrap();
        for (text, words) in [
            ("", "it names nobody"),
            ("# ann\n\n", "it names nobody"),
            ("ann\n", "line 1 is not NAME:HASH"),
            (":$2y$04$x\n", "line 1 is not NAME:HASH"),
            ("# all\nann:secret\n", "the hash in line 2 is none of bcrypt"),
            ("ann:$apr1$salt$9R2Ty9mVKkmJ7TyKsnNEK.\n", "the hash in line 1 is none of bcrypt"),
            (&format!("ann:{}\n", good.replace("$04$", "$15$")), "the hash in line 1 has cost 15, not one of 4 to 14"),
        ] {
            assert_eq!(Passwords::read(text).unwrap_err(), (words.to_owned(), AGAIN), "{text:?}");
        }
        assert_eq!(
            Passwords::read(&format!(" ann:{good} \n#\nben:{}\n", good.replace("2b", "2y"))).unwrap().users.len(),
            2
        );
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_guesses_has_to_wait_and_nobody_else() {
        let hash = bcrypt::hash("geheim", 4).unwrap();
        let passwords = Passwords::read(&format!("ann:{hash}\n")).unwrap();
        let from = |address: &str| address.parse::<IpAddr>().unwrap();
        let (here, there) = (from("2001:db8::1"), from("192.0.2.9"));
        let judge = async |name: &str, password: &str, from| passwords.judge(name, password.as_bytes(), from).await;
        assert_eq!(judge("ann", "wrong", here).await, PasswordCheck::Wrong);
        assert_eq!(judge("ann", "geheim", from("2001:db8::2")).await, PasswordCheck::Early, "it is the same network");
        assert_eq!(judge("eve", "geheim", there).await, PasswordCheck::Wrong, "nobody has this name");
        assert_eq!(judge("ann", "geheim", from("192.0.2.8")).await, PasswordCheck::Right);
        // What is known costs nothing, so it needs neither a pause nor a turn.
        let turn = passwords.turn.try_acquire().unwrap();
        assert_eq!(judge("ann", "geheim", here).await, PasswordCheck::Right);
        assert_eq!(judge("ann", "geheim2", from("192.0.2.7")).await, PasswordCheck::Early, "another hash is computed");
        drop(turn);
        tokio::time::advance(PAUSE).await;
        assert_eq!(judge("ann", "wrong", here).await, PasswordCheck::Wrong, "the pause has ended");
        assert_eq!(Passwords::none().judge("", b"", there).await, PasswordCheck::Wrong);
    }

    #[tokio::test]
    async fn a_guess_counts_although_nobody_waits_for_its_end() {
        let passwords = Passwords::read(&format!("ann:{}\n", bcrypt::hash("geheim", 8).unwrap())).unwrap();
        let from = IpAddr::from([192, 0, 2, 1]);
        {
            let mut given_up = std::pin::pin!(passwords.judge("ann", b"wrong", from));
            let _ = futures_util::poll!(given_up.as_mut());
        }
        let _ = passwords.turn.acquire().await.unwrap();
        assert_eq!(passwords.judge("ann", b"geheim", from).await, PasswordCheck::Early);
    }

    /// The example of Apache's page "Password Formats".
    #[tokio::test]
    async fn a_line_of_htpasswd_is_understood() {
        let line = "myName:$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC";
        let (passwords, from) = (Passwords::read(line).unwrap(), IpAddr::from([192, 0, 2, 1]));
        let wrong = (u128::MAX.to_string(), PasswordCheck::Wrong);
        for (password, expected) in [("myPassword".to_owned(), PasswordCheck::Right), wrong] {
            assert_eq!(passwords.judge("myName", password.as_bytes(), from).await, expected);
        }
    }

    #[test]
    fn a_header_has_a_name_and_a_password() {
        for (value, expected) in [
            ("Basic YW5uOmEgYjpj", Some(("ann", "a b:c"))),
            ("basic YW5uOg==", Some(("ann", ""))),
            ("Bearer YW5uOmE=", None),
            ("Basic YW5u", None),
            ("Basic %", None),
            ("Basic", None),
        ] {
            let found = basic(value.as_bytes());
            let expected = expected.map(|(name, password)| (name.to_owned(), password.as_bytes().to_vec()));
            assert_eq!(found, expected, "{value}");
        }
    }
}
