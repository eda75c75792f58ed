//! The ConfigMap keys about compression, which make directives of every server together. They must
//! not know other keys.

use super::keys::Statement;
use ingressd_model::{Argument, Pattern, Refused, Text, catalogue};
use ingressd_nginx::Uncompressed;
use ingressd_translate::value::{boolean, integer};

/// The media types that are compressed by default, besides text/html.
const MEDIA_TYPES: &str = "application/atom+xml application/javascript application/x-javascript application/json \
    application/rss+xml application/vnd.ms-fontobject application/x-font-ttf application/x-web-app-manifest+json \
    application/xhtml+xml application/xml font/opentype image/svg+xml image/x-icon text/css text/javascript text/plain \
    text/x-component";
/// What Brotli compresses besides these by default.
const OF_BROTLI: &str = "application/xml+rss";

/// Parses media types separated by blanks.
pub(super) fn media_types(value: &str) -> Result<Vec<Argument>, Refused> {
    let fits = |word: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"/+.-*".contains(&byte);
        word == "*" || (word.bytes().all(known) && word.split('/').filter(|part| !part.is_empty()).count() == 2)
    };
    // nginx warns about text/html, which it always compresses.
    let words = value.split_whitespace().filter(|word| *word != "text/html");
    words
        .map(|word| match fits(word) {
            true => Text::new(word).map(Argument::Text),
            false => Err(Refused::because("it is not media types such as text/css, with blanks between")),
        })
        .collect()
}

/// One media type.
pub(super) fn media_type(value: &str) -> Result<Text, Refused> {
    let mut types = media_types(value)?;
    match (types.pop(), types.pop(), value.trim()) {
        // It is left out among those that are compressed.
        (None, _, "text/html") => Text::new("text/html"),
        (Some(Argument::Text(text)), None, _) if text.as_str() != "*" => Ok(text),
        _ => Err(Refused::because("it is not a media type such as text/html")),
    }
}

/// Programs that get answers as they are.
pub(super) fn uncompressed(value: &str) -> Result<Uncompressed, Refused> {
    match value.trim() {
        "msie6" => Ok(Uncompressed::OldExplorers),
        expression => Pattern::new(expression).map(Uncompressed::Matching),
    }
}

/// The same, where answers are compressed.
pub(super) fn uncompressed_by(value: &dyn Fn(&str) -> Option<String>) -> Option<Uncompressed> {
    let programs = value("gzip-disable").filter(|_| Compression(value).is_on("use-gzip"));
    programs.and_then(|programs| uncompressed(&programs).ok())
}

/// What keys say of one way to compress answers.
struct Compression<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Compression<'_> {
    fn is_on(&self, key: &str) -> bool {
        (self.0)(key).is_some_and(|on| boolean(&on) == Ok(true))
    }

    fn number(&self, key: &str, least: u64, most: u64, default: u64) -> Vec<Argument> {
        let number = (self.0)(key).and_then(|value| integer(&value, least, most).ok());
        vec![Argument::Number(number.unwrap_or(default))]
    }

    fn types(&self, key: &str, default: &str) -> Result<Vec<Argument>, Refused> {
        let types = (self.0)(key).and_then(|value| media_types(&value).ok()).filter(|types| !types.is_empty());
        types.map_or_else(|| media_types(default), Ok)
    }
}

/// The directives about Brotli for these keys.
pub(super) fn brotli(value: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Statement>, Refused> {
    let asked = Compression(value);
    if !asked.is_on("enable-brotli") {
        return Ok(Vec::new());
    }
    Ok(vec![
        (&catalogue::BROTLI, vec![Argument::Switch(true)]),
        (&catalogue::BROTLI_COMP_LEVEL, asked.number("brotli-level", 0, 11, 4)),
        (&catalogue::BROTLI_MIN_LENGTH, asked.number("brotli-min-length", 0, 1 << 30, 20)),
        (&catalogue::BROTLI_TYPES, asked.types("brotli-types", &format!("{OF_BROTLI} {MEDIA_TYPES}"))?),
    ])
}

/// The directives about gzip for these keys.
pub(super) fn gzip(value: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Statement>, Refused> {
    let asked = Compression(value);
    if !asked.is_on("use-gzip") {
        return Ok(Vec::new());
    }
    Ok(vec![
        (&catalogue::GZIP, vec![Argument::Switch(true)]),
        (&catalogue::GZIP_COMP_LEVEL, asked.number("gzip-level", 1, 9, 1)),
        (&catalogue::GZIP_MIN_LENGTH, asked.number("gzip-min-length", 0, 1 << 30, 256)),
        (&catalogue::GZIP_PROXIED, vec![Argument::Word("any")]),
        (&catalogue::GZIP_TYPES, asked.types("gzip-types", MEDIA_TYPES)?),
        (&catalogue::GZIP_VARY, vec![Argument::Switch(true)]),
    ])
}
