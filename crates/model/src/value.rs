//! Values that are checked once, when they are made.
//!
//! No value contains a control character, and none is longer than [`LONGEST`] bytes: a value in a
//! configuration file can neither end a line nor exceed nginx's limit of 4096 bytes for a word.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::{VariableClass, expression};

/// An address range, `10.0.0.0/8`; a single address is a range of full length.
pub type Cidr = ipnet::IpNet;

/// The longest value in bytes, with quotes and backslashes counted twice: nginx reads at most 4096
/// bytes as one word, each of those characters needs an escape, and an expression gets a few bytes
/// around it.
pub const LONGEST: usize = 4000;

/// Why a text is not a value: one clause that completes "is refused: ...".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub Cow<'static, str>);

impl Refused {
    /// A refusal with a fixed reason.
    pub const fn because(reason: &'static str) -> Self {
        Refused(Cow::Borrowed(reason))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The checks that all values have in common.
pub(super) fn plain(text: &str) -> Result<&str, Refused> {
    let length = written_length(text);
    if length > LONGEST {
        return Err(Refused(format!("it is {length} bytes long, nginx takes at most {LONGEST}").into()));
    }
    match text.chars().find(|character| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')) {
        Some(character) => {
            Err(Refused(format!("it holds the control character {}", character.escape_unicode()).into()))
        }
        None => Ok(text),
    }
}

/// The length in bytes between quotes, where quotes and backslashes need an escape.
pub(super) fn written_length(text: &str) -> usize {
    text.len() + text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

/// The most bytes that a text with variables may become for a request. Otherwise a request of a
/// few KB could become as many MB, which nginx would keep until its backend has responded.
pub const LONGEST_FOR_REQUEST: u32 = 256 << 10;

/// The longest variable that comes from a client: nginx reads header lines of 8 KB.
pub const LONGEST_LINE: u32 = 8 << 10;

/// The greatest length of an nginx variable. nginx joins headers with the same name, and headers
/// of a backend may be longer than those of clients.
pub fn longest_variable(name: &str) -> u32 {
    let is_header = name.starts_with("http_") || name.starts_with("upstream_http_");
    if is_header { 4 * LONGEST_LINE } else { LONGEST_LINE }
}

/// Refuses texts that may become too long for a request.
pub(super) fn bounded(lengths: impl Iterator<Item = u32>) -> Result<u32, Refused> {
    match lengths.fold(0, u32::saturating_add) {
        length if length > LONGEST_FOR_REQUEST => Err(Refused(
            format!(
                "with its variables it may become {} KB long for a request, at most {} KB are allowed; refer to fewer of them",
                length.div_ceil(1 << 10),
                LONGEST_FOR_REQUEST >> 10
            )
            .into(),
        )),
        length => Ok(length),
    }
}

/// The length of a literal text.
pub(super) fn literal_length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

macro_rules! text_value {
    ($name:ident, $documentation:literal, $check:expr) => {
        #[doc = $documentation]
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the text, or returns why it is refused.
            pub fn new(text: &str) -> Result<Self, Refused> {
                let check: fn(&str) -> Result<(), Refused> = $check;
                check(plain(text)?)?;
                Ok($name(text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text, as a shared pointer.
            pub fn text(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}({:?})", stringify!($name), &self.0)
            }
        }
    };
}

text_value!(
    HostName,
    "A DNS name in lower case without a trailing dot, RFC 1123; underscores are allowed as browsers do.",
    |text| {
        let label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        match !text.is_empty() && text.len() <= 253 && text.split('.').all(label) {
            true => Ok(()),
            false => Err(Refused::because("it is not a DNS name in lower case")),
        }
    }
);

/// The longest list of ciphers.
const LONGEST_CIPHERS: usize = 512;

text_value!(Ciphers, "Ciphers in the words of OpenSSL; whether it knows one of them, only OpenSSL can tell.", |text| {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"+:_-!@=.".contains(&byte);
    match !text.is_empty() && text.len() <= LONGEST_CIPHERS && text.bytes().all(is_known) {
        true => Ok(()),
        false => Err(Refused::because("it is not a list of ciphers of up to 512 letters")),
    }
});

text_value!(
    UrlPath,
    "A request path as nginx matches it: decoded, beginning with a slash, and short enough to be written as an expression.",
    |text| {
        // A character with a meaning in expressions gets a backslash there, which needs an escape
        // of its own between quotes.
        let special = text.chars().filter(|character| expression::is_special(*character)).count();
        let length = written_length(text) + 2 * special;
        match text.starts_with('/') {
            _ if length > LONGEST => {
                Err(Refused(format!("it takes {length} bytes as an expression, nginx takes at most {LONGEST}").into()))
            }
            true => Ok(()),
            false => Err(Refused::because("it does not begin with /")),
        }
    }
);

impl UrlPath {
    /// The path `/`, of the same type.
    pub fn root(&self) -> Self {
        UrlPath("/".into())
    }
}

text_value!(Pattern, "The source of a PCRE expression whose cost is bounded, without named groups.", |text| match text
    .is_empty()
{
    true => Err(Refused::because("it is empty")),
    false => expression::weight(text).map(drop),
});

text_value!(
    HostExpression,
    "The source of an expression for names of hosts, whose cost is bounded, without named groups: printable, without blanks and commas.",
    |text| {
        HostExpression::read(text)?;
        match text.is_empty() {
            true => Err(Refused::because("it is empty")),
            false => expression::weight(text).map(drop),
        }
    }
);

impl HostExpression {
    /// The longest expression in bytes: as long as a host.
    const LONGEST: usize = 253;

    /// Reads an expression that was checked before it was written down, because estimating its
    /// cost takes longer than everything else.
    pub fn read(text: &str) -> Result<Self, Refused> {
        if text.len() > Self::LONGEST {
            return Err(Refused::because("it is longer than 253 letters, which no host is"));
        }
        match text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',') {
            true => Ok(HostExpression(text.into())),
            false => Err(Refused::because("it holds what no host does, such as a blank or a letter that is not ASCII")),
        }
    }
}

text_value!(HeaderName, "A token of RFC 9110: a header name, or a method.", |text| {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    match !text.is_empty() && text.bytes().all(|byte| token(byte) && byte != b'$') {
        true => Ok(()),
        false => Err(Refused::because("it is not a token of letters, digits and -")),
    }
});

text_value!(OriginUrl, "Scheme, host and optional port, in lower case: `https://example.com:8443`.", |text| {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(Refused::because("it is not an origin: scheme://host[:port]"));
    };
    let (host, port) = rest.rsplit_once(':').map_or((rest, None), |(host, port)| (host, Some(port)));
    let scheme_fits = scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.'));
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|number| number > 0));
    match scheme_fits && port_fits && HostName::new(host).is_ok() {
        true => Ok(()),
        false => Err(Refused::because("it is not an origin: scheme://host[:port]")),
    }
});

text_value!(
    RedirectUrl,
    "The target of a redirect: printable ASCII without blanks, quotes, backslash, braces, `;` or `$`.",
    |text| {
        match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'\\{};$<>^`|".contains(&byte))
        {
            true => Ok(()),
            false => Err(Refused::because("it holds a character that a URL cannot hold")),
        }
    }
);

text_value!(Text, "Text for people, such as a realm; no `$`, which nginx would expand.", |text| {
    match text.contains('$') {
        false => Ok(()),
        true => Err(Refused::because("it holds a $, which nginx would expand")),
    }
});

text_value!(
    HeaderValue,
    "The value of a header or a cookie, to be compared with what requests have; short enough to be written as an expression.",
    |text| {
        let special = text.chars().filter(|character| expression::is_special(*character)).count();
        match written_length(text) + 2 * special + 1000 > LONGEST {
            true => Err(Refused::because("it is too long to be compared")),
            false => Ok(()),
        }
    }
);

text_value!(
    FileName,
    "The name of a file in whichever folder: letters, digits, - . and _, without a dot in front.",
    |text| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        match (1..=255).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('.') {
            true => Ok(()),
            false => Err(Refused::because("it is not the name of a file: letters, digits, - . and _")),
        }
    }
);

text_value!(
    ParameterName,
    "The name of a parameter of CGI: letters, digits and _, as names of variables are.",
    |text| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        match (1..=64).contains(&text.len())
            && text.bytes().all(fits)
            && !text.starts_with(|first: char| first.is_ascii_digit())
        {
            true => Ok(()),
            false => Err(Refused::because("it is not the name of a parameter: letters, digits and _")),
        }
    }
);
/// The longest value of a header, and the most dollar signs in it, each of which is written as a
/// variable of ours.
const LONGEST_HEADER_TEXT: usize = 2000;
const MOST_DOLLARS: usize = 32;

text_value!(HeaderText, "The value of a header that is sent as it is, dollar signs too.", |text| {
    match text.len() <= LONGEST_HEADER_TEXT && text.matches('$').count() <= MOST_DOLLARS {
        _ if text.trim().is_empty() => Err(Refused::because("it is empty")),
        true => Ok(()),
        false => Err(Refused::because("it has more than 2000 letters, or more than 32 dollar signs")),
    }
});

text_value!(Variable, "The name of a variable of nginx, without the `$`; never one of ours.", |text| {
    let fits = !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    match fits && !text.starts_with("ingressd") {
        true => Ok(()),
        false => Err(Refused::because("it is not a variable that may be used here")),
    }
});

impl Variable {
    /// The variable with this name in an object. Hosts that are alike share a server, whose name
    /// may be that of another host, so `server_name` becomes `host`.
    pub fn named(name: &str) -> Result<Self, Refused> {
        Self::new(if name == "server_name" { "host" } else { name })
    }
}

/// A size in bytes; written with `k` or `m` where that is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KIB: u64 = 1024;
        const MIB: u64 = KIB * KIB;
        match self.0 {
            0 => formatter.write_str("0"),
            size if size % MIB == 0 => write!(formatter, "{}m", size / MIB),
            size if size % KIB == 0 => write!(formatter, "{}k", size / KIB),
            size => write!(formatter, "{size}"),
        }
    }
}

/// A part of a rewrite target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetPart {
    /// Text without `$` and control characters.
    Literal(Arc<str>),
    /// `$1` to `$9`: a capture of the expression.
    Capture(u8),
    /// A variable of nginx.
    Variable(Variable),
}

/// A text with groups of the path and variables, such as the target of a rewrite: that begins with
/// `/`, or is a URL to which clients are redirected, and may have a query behind a `?`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RewriteTarget(Box<[TargetPart]>);

impl RewriteTarget {
    /// Checks the parts, or returns why they are refused. An empty list means `/`.
    pub fn new(parts: Vec<TargetPart>) -> Result<Self, Refused> {
        for part in &parts {
            match part {
                TargetPart::Literal(text) if plain(text)?.contains('$') => {
                    return Err(Refused::because("it holds a $ that refers to nothing"));
                }
                TargetPart::Capture(0 | 10..) => return Err(Refused::because("captures are $1 to $9")),
                _ => {}
            }
        }
        let length: usize = parts.iter().map(|part| written_length(&part.to_string())).sum();
        if length > LONGEST {
            return Err(Refused(format!("it is {length} bytes long, nginx takes at most {LONGEST}").into()));
        }
        bounded(parts.iter().map(|part| match part {
            TargetPart::Literal(text) => literal_length(text),
            TargetPart::Capture(_) => LONGEST_LINE,
            TargetPart::Variable(name) => longest_variable(name.as_str()),
        }))?;
        Ok(RewriteTarget(parts.into()))
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[TargetPart] {
        &self.0
    }

    /// Whether nginx redirects to it, because a scheme and a host begin it.
    pub fn is_url(&self) -> bool {
        match &*self.0 {
            [TargetPart::Literal(start), ..] => start.starts_with("http://") || start.starts_with("https://"),
            [TargetPart::Variable(name), TargetPart::Literal(next), ..] => {
                name.as_str() == "scheme" && next.starts_with("://")
            }
            _ => false,
        }
    }

    /// Whether it differs between requests.
    pub fn is_dynamic(&self) -> bool {
        self.0.iter().any(|part| !matches!(part, TargetPart::Literal(_)))
    }

    /// The parts behind the first `?`; it has a query where there are any.
    pub fn query(&self) -> &[TargetPart] {
        let begins = |part: &TargetPart| matches!(part, TargetPart::Literal(text) if text.contains('?'));
        self.0.iter().position(begins).map_or(&[], |first| &self.0[first..])
    }

    /// Whether it refers to a capture.
    pub fn has_captures(&self) -> bool {
        !self.captures().is_empty()
    }

    /// The captures to which it refers.
    pub fn captures(&self) -> BTreeSet<u8> {
        let capture = |part: &TargetPart| if let TargetPart::Capture(number) = part { Some(*number) } else { None };
        self.0.iter().filter_map(capture).collect()
    }
}

impl fmt::Display for RewriteTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| write!(formatter, "{part}"))
    }
}

impl From<&RedirectUrl> for RewriteTarget {
    fn from(url: &RedirectUrl) -> Self {
        RewriteTarget([TargetPart::Literal(url.text())].into())
    }
}

impl TargetPart {
    /// Whether nginx has decoded it, and what it holds may end a line.
    pub fn is_decoded(&self) -> bool {
        match self {
            TargetPart::Literal(_) => false,
            TargetPart::Capture(_) => true,
            TargetPart::Variable(name) => VariableClass::of(name.as_str()) == Some(VariableClass::Decoded),
        }
    }
}

impl fmt::Display for TargetPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetPart::Literal(text) => formatter.write_str(text),
            TargetPart::Capture(number) => write!(formatter, "${number}"),
            TargetPart::Variable(name) => write!(formatter, "${{{name}}}"),
        }
    }
}
