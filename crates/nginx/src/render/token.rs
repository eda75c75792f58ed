//! Tokens of nginx's configuration language, checked and quoted when they are made.

mod snippet;
mod text;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use crate::SyslogSocket;
use crate::lexer::push_quoted;
use crate::render::shape::Form;
use crate::render::view::View;
use ingressd_model::{
    ByteSize, Cidr, Ciphers, Digest, HeaderName, HostName, Instance, Refused, Share, VariableClass, hexadecimal,
};

pub use snippet::Surroundings as SnippetSurroundings;

/// The longest word in bytes as written; nginx's parser takes 4096 including the closing quote.
const LONGEST: usize = 4090;

/// The placeholder for the name of the instance in our names, until the engine replaces it. No
/// word of a user contains it, because control characters are refused.
pub const INSTANCE: char = '\u{2}';

/// The variable with a dollar sign as its value, because nginx's language cannot escape a dollar
/// sign.
const DOLLAR: &str = "${ingressd\u{2}_dollar}";

/// The prefix of our names.
const OURS: &str = "ingressd";

/// The least number of hexadecimal digits by which a name is one of many.
const DIGEST: usize = 16;

/// The longest name of a variable that nginx's table takes by default.
const LONGEST_NAME: usize = 46;

/// One of our names for variables. nginx compares each name that it reads with those of all
/// variables, one by one: first the length, then the bytes. Names with a digest may be many and
/// look alike, so they begin with a letter that differs, and their length varies.
fn own_name(name: &str) -> String {
    let is_digest = |part: &str| part.len() >= DIGEST && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let room = LONGEST_NAME.saturating_sub(format!("g_{OURS}_{name}").len());
    let mut apart = String::new();
    if name.split('_').any(is_digest) && room > 0 {
        let [letter, length, digits @ ..] = Digest::of(name.as_bytes()).first::<10>();
        apart.push(char::from(b'g' + letter % 16));
        apart.extend(hexadecimal(&digits).chars().take(usize::from(length) % (room + 1)));
        apart.push('_');
    }
    apart + OURS + "\u{2}_" + name
}

/// A word that needs no quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(Cow<'static, str>);

impl Word {
    /// A word of the program itself.
    pub const fn fixed(word: &'static str) -> Self {
        Word(Cow::Borrowed(word))
    }

    /// The word as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks a text of letters, digits and `_ . / : -`.
    pub fn new(text: &str) -> Result<Self, Refused> {
        let bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:-".contains(&byte);
        match !text.is_empty() && text.len() <= LONGEST && text.bytes().all(bare) {
            true => Ok(Word(Cow::Owned(text.to_owned()))),
            false => Err(Refused::because("it is not a word of letters, digits and _ . / : -")),
        }
    }

    /// A list of ciphers, whose characters have no special meaning to nginx.
    pub fn ciphers(ciphers: &Ciphers) -> Self {
        Word(Cow::Owned(ciphers.as_str().to_owned()))
    }

    /// One of our names, such as that of an upstream, a zone or, behind an `@`, a location. As
    /// [`Word::new`], with the placeholder of the instance behind the first `ingressd`.
    pub fn own(name: &str) -> Result<Self, Refused> {
        let (at, name) = name.strip_prefix('@').map_or(("", name), |name| ("@", name));
        let Word(word) = Self::new(name)?;
        match word.split_once(OURS) {
            Some((before, after)) => Ok(Word(Cow::Owned([at, before, OURS, "\u{2}", after].concat()))),
            None => Err(Refused::because("it is no name of ours")),
        }
    }

    /// A reference to one of our variables: `ingressd_` and the name, see `own_name`.
    pub fn variable(name: &str) -> Result<Self, Refused> {
        match !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            true => Ok(Word(Cow::Owned(["$", &own_name(name)].concat()))),
            false => Err(Refused::because("it is not the name of a variable")),
        }
    }

    /// A variable of nginx.
    ///
    /// # Errors
    ///
    /// When it is none that texts may hold.
    pub fn nginx_variable(name: &str) -> Result<Self, Refused> {
        match VariableClass::of(name) {
            Some(_) => Ok(Word(Cow::Owned(format!("${name}")))),
            None => Err(Refused::because("it is no variable of nginx")),
        }
    }

    /// The variable with a request header.
    ///
    /// # Errors
    ///
    /// When the name holds more than letters, digits, `-` and `_`: nginx has no variable for it.
    pub fn request_header(name: &HeaderName) -> Result<Self, Refused> {
        let name = name.as_str();
        match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            true => Ok(Word(Cow::Owned(format!("$http_{}", name.to_ascii_lowercase().replace('-', "_"))))),
            false => Err(Refused::because("nginx has no variable for a header of this name")),
        }
    }

    /// The name of a header or method.
    ///
    /// # Errors
    ///
    /// When it holds more than letters, digits, `-` and `_`.
    pub fn header_name(name: &HeaderName) -> Result<Self, Refused> {
        let name = name.as_str();
        match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            true => Ok(Word(Cow::Owned(name.to_owned()))),
            false => Err(Refused::because("it holds more than letters, digits, - and _")),
        }
    }

    /// The CGI parameter with a request header.
    pub fn header_parameter(Word(name): &Word) -> Self {
        Word(Cow::Owned(format!("HTTP_{}", name.to_ascii_uppercase().replace('-', "_"))))
    }

    /// The variable with a response header of a backend or of an authentication service.
    ///
    /// # Errors
    ///
    /// As [`Word::header_name`].
    pub fn answer_header(name: &HeaderName) -> Result<Self, Refused> {
        let Word(name) = Self::header_name(name)?;
        Ok(Word(Cow::Owned(format!("$upstream_http_{}", name.to_ascii_lowercase().replace('-', "_")))))
    }

    /// The variable with a cookie of a request.
    ///
    /// # Errors
    ///
    /// When the name holds more than letters, digits and `_`: nginx has no variable for it.
    pub fn cookie(name: &HeaderName) -> Result<Self, Refused> {
        match name.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            true => Ok(Word(Cow::Owned(format!("$cookie_{name}")))),
            false => Err(Refused::because("nginx has no variable for a cookie of this name")),
        }
    }

    /// Words without blanks between them.
    pub fn concat<const N: usize>(words: [Word; N]) -> Self {
        Word(Cow::Owned(words.iter().map(Word::as_str).collect()))
    }

    /// A share as a percentage.
    pub fn percent(share: Share) -> Self {
        let share = share.ten_thousandths();
        Word(Cow::Owned(format!("{}.{:02}%", share / 100, share % 100)))
    }

    /// An address with its port.
    pub fn address(address: SocketAddr) -> Self {
        Word(Cow::Owned(address.to_string()))
    }

    /// A syslog server, where lines of a log go.
    pub fn syslog(address: SocketAddr) -> Self {
        Word(Cow::Owned(format!("syslog:server={address}")))
    }

    /// The socket of a syslog server of this host, which knows the host's name.
    pub fn syslog_socket(socket: &SyslogSocket) -> Self {
        Word(Cow::Owned(format!("syslog:server=unix:{socket},nohostname")))
    }

    pub fn number(number: u64) -> Self {
        Word(Cow::Owned(number.to_string()))
    }

    /// A size with its unit.
    pub fn size(size: ByteSize) -> Self {
        Word(Cow::Owned(size.to_string()))
    }

    /// A time in seconds, or in milliseconds when it is not a whole number of seconds.
    pub fn time(time: Duration) -> Self {
        Word(Cow::Owned(match time.subsec_millis() {
            0 => format!("{}s", time.as_secs()),
            _ => format!("{}ms", time.as_millis()),
        }))
    }

    /// A time in minutes, where it is a whole number of them.
    pub fn long_time(time: Duration) -> Self {
        match time.as_secs().is_multiple_of(60) && time.subsec_nanos() == 0 {
            true => Word(Cow::Owned(format!("{}m", time.as_secs() / 60))),
            false => Self::time(time),
        }
    }

    /// An https URL: the variables with its host and its path, and the port between them.
    pub fn https_url(host: &'static str, port: u16, uri: &'static str) -> Self {
        let port = if port == 443 { String::new() } else { format!(":{port}") };
        Word(Cow::Owned(format!("https://{host}{port}{uri}")))
    }

    /// The URL of the request at another host: the variable with the scheme, the host, and the
    /// variable with the port behind a colon, if any.
    pub fn to_host(Word(scheme): &Word, host: &HostName, port: &'static str) -> Self {
        Word(Cow::Owned(format!("{scheme}://{host}{port}$request_uri")))
    }

    /// A parameter of a directive, such as `zone=name`.
    pub fn setting(name: &'static str, value: &Word) -> Self {
        Word(Cow::Owned(format!("{name}={}", value.0)))
    }

    pub fn network(network: &Cidr) -> Self {
        Word(Cow::Owned(network.to_string()))
    }
}

/// Several words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Cow<'static, str>);

impl Words {
    /// The words as they are written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// No word at all.
    pub fn nothing() -> Self {
        Words(Cow::Borrowed(""))
    }

    /// A directive with its arguments.
    pub fn line(name: &'static str, arguments: impl Into<Words>) -> Self {
        Words::join([Words::from(name), arguments.into()])
    }

    /// The words, joined by blanks.
    pub fn join<W: Into<Words>>(words: impl IntoIterator<Item = W>) -> Self {
        let mut joined = String::new();
        for word in words {
            joined.push_str(if joined.is_empty() { "" } else { " " });
            joined.push_str(&word.into().0);
        }
        Words(Cow::Owned(joined))
    }
}

/// Words of the program itself; in names of ours the instance is marked.
impl From<&'static str> for Words {
    fn from(words: &'static str) -> Self {
        match words.contains("ingressd_") {
            true => Words(Cow::Owned(words.replace("ingressd_", &format!("{OURS}{INSTANCE}_")))),
            false => Words(Cow::Borrowed(words)),
        }
    }
}

impl From<Word> for Words {
    fn from(word: Word) -> Self {
        Words(word.0)
    }
}

impl From<Literal> for Words {
    fn from(literal: Literal) -> Self {
        Words(Cow::Owned(literal.0))
    }
}

impl From<Text> for Words {
    fn from(text: Text) -> Self {
        Words(Cow::Owned(text.0))
    }
}

impl From<Path> for Words {
    fn from(path: Path) -> Self {
        Words(Cow::Owned(path.0))
    }
}

/// A quoted text for places where nginx takes each character literally: paths of locations,
/// expressions, names of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal(String);

impl Literal {
    /// Quotes the text.
    pub fn new(text: &str) -> Result<Self, Refused> {
        quote(text, false).map(Literal)
    }
}

/// A quoted text for places where nginx expands variables; a dollar sign stands for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(String);

/// The absolute path of a file, quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// Quotes the path. A `$` is refused: nginx would look for the file at each request instead of
    /// at its start.
    pub fn new(path: &std::path::Path) -> Result<Self, Refused> {
        match path.to_str() {
            Some(text) if text.starts_with('/') && !text.contains('$') => quote(text, false).map(Path),
            _ => Err(Refused::because("it is not an absolute path in UTF-8 without $")),
        }
    }
}

/// How a token stands in a view.
enum FixedOrWord<'t> {
    /// A text of the program itself belongs to the form of the view, which thousands of files
    /// share.
    Fixed(&'static str),
    Word(&'t str),
}

impl<'t> From<&'t Cow<'static, str>> for FixedOrWord<'t> {
    fn from(text: &'t Cow<'static, str>) -> Self {
        match text {
            // Names of ours differ between instances.
            Cow::Borrowed(fixed) if !fixed.contains(INSTANCE) => FixedOrWord::Fixed(fixed),
            text => FixedOrWord::Word(text),
        }
    }
}

impl View for FixedOrWord<'_> {
    fn add_to(&self, form: &mut Form<'_>) {
        match self {
            FixedOrWord::Fixed(text) => form.add_fixed(text),
            FixedOrWord::Word(text) => form.add_word(text),
        }
    }

    fn value(&self, write: &mut dyn FnMut(&str) -> String) -> Value {
        match self {
            FixedOrWord::Fixed(text) => (*text).into(),
            FixedOrWord::Word(text) => write(text).into(),
        }
    }
}

impl View for Word {
    fn add_to(&self, form: &mut Form<'_>) {
        FixedOrWord::from(&self.0).add_to(form);
    }

    fn value(&self, write: &mut dyn FnMut(&str) -> String) -> Value {
        FixedOrWord::from(&self.0).value(write)
    }
}

impl View for Words {
    fn add_to(&self, form: &mut Form<'_>) {
        FixedOrWord::from(&self.0).add_to(form);
    }

    fn value(&self, write: &mut dyn FnMut(&str) -> String) -> Value {
        FixedOrWord::from(&self.0).value(write)
    }
}

impl View for Literal {
    fn add_to(&self, form: &mut Form<'_>) {
        FixedOrWord::Word(&self.0).add_to(form);
    }

    fn value(&self, write: &mut dyn FnMut(&str) -> String) -> Value {
        FixedOrWord::Word(&self.0).value(write)
    }
}

fn quote(text: &str, expands: bool) -> Result<String, Refused> {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    escape(text, expands, &mut quoted)?;
    quoted.push('"');
    fits(quoted)
}

fn escape(text: &str, expands: bool, into: &mut String) -> Result<(), Refused> {
    for character in text.chars() {
        match character {
            '$' if expands => into.push_str(DOLLAR),
            character if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') => {
                return Err(Refused::because("it holds a control character"));
            }
            character => push_quoted(character, into),
        }
    }
    Ok(())
}

fn fits(quoted: String) -> Result<String, Refused> {
    let marks = quoted.matches(INSTANCE).count();
    match quoted.len() + marks * Instance::LONGEST_MARK <= LONGEST {
        true => Ok(quoted),
        false => Err(Refused::because("it is longer than nginx takes")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::syntax;
    use ingressd_model::{RewriteTarget, TargetPart};

    /// The one argument of a directive with this token, as nginx parses it.
    fn read(token: impl Into<Words>) -> String {
        let Words(token) = token.into();
        let text = format!("x {};y;", token.replace(INSTANCE, ""));
        let tree = syntax::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(tree.len(), 2, "{text}");
        assert_eq!((tree[0].arguments.len(), &tree[0].block), (1, &None), "{text}");
        tree[0].arguments[0].clone()
    }

    #[test]
    fn what_is_allowed_is_not_refused() {
        assert_eq!(read(Literal::new(r#"^/a\d"{2};#"#).expect("printable")), r#"^/a\d"{2};#"#);
        assert!(Literal::new(&"\\".repeat(2044)).is_ok() && Literal::new(&"\\".repeat(2045)).is_err());
        assert_eq!(Text::new("a$b").expect("printable").0, "\"a${ingressd\u{2}_dollar}b\"");
        for control in ["\n", "\0", "\u{1}", "\u{2}", "\u{7f}", "\u{85}", "\u{2028}", "\t"] {
            assert!(Literal::new(control).is_err() && Text::new(control).is_err(), "{control:?}");
        }
        for (text, written) in [("http://x", "http://x"), ("http:/x", "/http:/x"), ("x", "/x"), ("/x", "/x")] {
            let target = RewriteTarget::new(vec![TargetPart::Literal(Arc::from(text))]).expect("no dollar");
            assert_eq!(read(Text::replacement(&target).expect("printable")), written);
        }
    }
}
