//! The directives that a snippet may have, and what each becomes; whatever is not here is refused.

use super::condition::{self, pattern};
use super::location;
use super::reader::Reader;
use super::text::{Captures, FAMILIES, Place, READABLE, is_readable};
use crate::model::language::syntax::Directive;
use crate::model::{
    AnswerHeader, HeaderName, OwnVariable, Refused, RewriteFlag, RouteVariable, SnippetStatement, SnippetText,
};
use crate::translate::ingress_nginx::external_authentication::settable;
use crate::translate::value::{excerpt, header_names};

/// What becomes of a directive.
#[derive(Clone, Copy)]
pub enum Read {
    /// What this makes of it.
    By(fn(&mut Reader<'_>, &Directive) -> Result<(), Refused>),
    /// The annotation of this key, with a value made of the arguments.
    Annotation(&'static str, fn(&[String]) -> Result<String, Refused>),
    /// Itself, written anew, where its arguments are like this.
    Plain { fits: fn(&[String]) -> Result<(), Refused>, is_list: bool },
    /// Nothing: it happens anyway.
    Nothing(fn(&[String]) -> Result<(), Refused>),
}

/// A directive that a snippet may have.
#[derive(Clone, Copy)]
pub struct Allowed {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, for people.
    pub takes: &'static str,
    /// What does the same without a snippet; empty where nothing does.
    pub instead: &'static str,
    /// What becomes of it.
    pub read: Read,
    /// It may stand in snippets about whole hosts.
    pub of_hosts: bool,
    /// It may stand nowhere else.
    pub only_of_hosts: bool,
    /// It has a block.
    pub has_block: bool,
}

impl Allowed {
    const fn new(name: &'static str, takes: &'static str, instead: &'static str, read: Read) -> Self {
        Allowed { name, takes, instead, read, of_hosts: true, only_of_hosts: false, has_block: false }
    }

    const fn of_routes(self) -> Self {
        Allowed { of_hosts: false, ..self }
    }

    const fn block(self) -> Self {
        Allowed { has_block: true, ..self }
    }
}

const fn annotation(
    name: &'static str,
    takes: &'static str,
    key: &'static str,
    written: fn(&[String]) -> Result<String, Refused>,
) -> Allowed {
    Allowed::new(name, takes, key, Read::Annotation(key, written))
}

const fn by(
    name: &'static str,
    takes: &'static str,
    instead: &'static str,
    read: fn(&mut Reader<'_>, &Directive) -> Result<(), Refused>,
) -> Allowed {
    Allowed::new(name, takes, instead, Read::By(read))
}

const fn plain(
    name: &'static str,
    takes: &'static str,
    instead: &'static str,
    fits: fn(&[String]) -> Result<(), Refused>,
) -> Allowed {
    Allowed::new(name, takes, instead, Read::Plain { fits, is_list: false })
}

const fn list(
    name: &'static str,
    takes: &'static str,
    instead: &'static str,
    fits: fn(&[String]) -> Result<(), Refused>,
) -> Allowed {
    Allowed::new(name, takes, instead, Read::Plain { fits, is_list: true })
}

const REDIRECT: &str =
    "permanent-redirect, temporal-redirect, app-root or from-to-www-redirect for redirects of all requests";
const HEADERS: &str = "the backend, or the setting headers.answers for all hosts";
const REQUEST_HEADERS: &str = "upstream-vhost, x-forwarded-prefix or connection-proxy-header for these headers, or the setting \
    headers.requests for all hosts";

/// All of them, sorted by name.
pub static ALLOWED: &[Allowed] = &[
    annotation("access_log", "`off`", "enable-access-log", |words| word(words, &["off"]).map(|()| "false".to_owned()))
        .of_routes(),
    by("add_header", "name, value, `always`", HEADERS, add_header),
    by("allow", "a network, or `all`", "allowlist-source-range", |reader, directive| {
        reader.address(true, one(&directive.arguments)?)
    })
    .of_routes(),
    by("break", "nothing", "rewrite-target", |reader, directive| {
        none(&directive.arguments)?;
        reader.snippet.statements.push(SnippetStatement::Break);
        Ok(())
    }),
    plain("charset", "a name, or `off`", "the backend", bare),
    annotation("client_body_buffer_size", "a size", "client-body-buffer-size", same),
    annotation("client_max_body_size", "a size", "proxy-body-size", same),
    plain("default_type", "a media type", "the backend", bare),
    by("deny", "a network, or `all`", "denylist-source-range", |reader, directive| {
        reader.address(false, one(&directive.arguments)?)
    })
    .of_routes(),
    plain("expires", "a time, `epoch`, `max` or `off`", "the backend", expires),
    plain("gzip", "`on` or `off`", "use-gzip in the ConfigMap, for all hosts", switch),
    plain("gzip_comp_level", "1 to 9", "gzip-level in the ConfigMap, for all hosts", |words| number(words, 1, 9)),
    plain("gzip_min_length", "a number", "gzip-min-length in the ConfigMap, for all hosts", |words| {
        number(words, 0, 1 << 30)
    }),
    plain("gzip_proxied", "words", "nothing for one host", bares),
    plain("gzip_types", "media types", "gzip-types in the ConfigMap, for all hosts", bares),
    plain("gzip_vary", "`on` or `off`", "use-gzip in the ConfigMap, for all hosts", switch),
    by(
        "if",
        "a condition without files, and a block of add_header, break, return, rewrite and set",
        "canary-by-header, \
        canary-by-cookie or paths of their own where requests are told apart",
        conditional,
    )
    .block(),
    annotation("limit_rate", "a size", "limit-rate", kilobytes).of_routes(),
    annotation("limit_rate_after", "a size", "limit-rate-after", kilobytes).of_routes(),
    Allowed {
        only_of_hosts: true,
        ..by(
            "location",
            "a path, and a block of one `return` or `deny all`",
            "a path in the rules of an Ingress",
            location::read,
        )
        .block()
    },
    by("more_clear_headers", "names", HEADERS, |reader, directive| {
        directive.arguments.iter().try_for_each(|name| hide(reader, name))
    }),
    by("more_clear_input_headers", "names", REQUEST_HEADERS, |reader, directive| {
        directive.arguments.iter().try_for_each(|name| request_header(reader, name, SnippetText::default()))
    }),
    by("more_set_headers", "\"name: value\"", HEADERS, more_set_headers),
    by("more_set_input_headers", "\"name: value\"", REQUEST_HEADERS, |reader, directive| {
        directive.arguments.iter().try_for_each(|pair| {
            let (name, value) = name_and_value(pair)?;
            set_request_header(reader, name, value)
        })
    }),
    annotation("proxy_buffer_size", "a size", "proxy-buffer-size", same).of_routes(),
    annotation("proxy_buffering", "`on` or `off`", "proxy-buffering", same),
    by("proxy_buffers", "a number and a size", "proxy-buffers-number and proxy-buffer-size", |reader, directive| {
        let [count, size] = directive.arguments.as_slice() else { return Err(COUNT) };
        reader.imply("proxy-buffers-number", count.clone())?;
        reader.imply("proxy-buffer-size", size.clone())
    })
    .of_routes(),
    annotation("proxy_busy_buffers_size", "a size", "proxy-busy-buffers-size", same),
    annotation("proxy_connect_timeout", "a time", "proxy-connect-timeout", seconds),
    annotation("proxy_cookie_domain", "two words, or `off`", "proxy-cookie-domain", joined).of_routes(),
    list("proxy_cookie_path", "two texts that are no expressions", "proxy-cookie-path", |words| match words {
        [from, _] if !from.starts_with('~') => Ok(()),
        _ => Err(Refused::because("it is two texts that are no expressions")),
    }),
    by("proxy_hide_header", "a name", HEADERS, |reader, directive| {
        let name = one(&directive.arguments)?;
        hide(reader, name)
    }),
    annotation("proxy_http_version", "1.0 or 1.1", "proxy-http-version", same),
    plain("proxy_ignore_client_abort", "`on` or `off`", "nothing", switch),
    annotation("proxy_max_temp_file_size", "a size", "proxy-max-temp-file-size", same),
    annotation("proxy_next_upstream", "words", "proxy-next-upstream", joined),
    annotation("proxy_next_upstream_timeout", "a time", "proxy-next-upstream-timeout", seconds),
    annotation("proxy_next_upstream_tries", "a number", "proxy-next-upstream-tries", same),
    annotation("proxy_read_timeout", "a time", "proxy-read-timeout", seconds),
    by("proxy_redirect", "two words, or `off`", "proxy-redirect-from and proxy-redirect-to", |reader, directive| {
        match directive.arguments.as_slice() {
            [off] if off == "off" => reader.imply("proxy-redirect-from", off.clone()),
            [from, to] => {
                reader.imply("proxy-redirect-from", from.clone())?;
                reader.imply("proxy-redirect-to", to.clone())
            }
            _ => Err(COUNT),
        }
    })
    .of_routes(),
    annotation("proxy_request_buffering", "`on` or `off`", "proxy-request-buffering", same),
    annotation("proxy_send_timeout", "a time", "proxy-send-timeout", seconds),
    by("proxy_set_header", "a name and a value", REQUEST_HEADERS, |reader, directive| {
        let [name, value] = directive.arguments.as_slice() else { return Err(COUNT) };
        set_request_header(reader, name, value)
    }),
    by("return", "a status, and a text or URL", REDIRECT, |reader, directive| {
        let statement = answer(reader, &directive.arguments, Captures::Unknown)?;
        reader.snippet.statements.push(statement);
        Ok(())
    }),
    by(
        "rewrite",
        "an expression, a target, and `break`, `redirect` or `permanent`",
        "rewrite-target",
        |reader, directive| {
            let statement = rewrite(reader, &directive.arguments)?;
            reader.snippet.statements.push(statement);
            Ok(())
        },
    ),
    annotation("satisfy", "`all` or `any`", "satisfy", same).of_routes(),
    Allowed::new("server_tokens", "`off`", "nothing: it is off", Read::Nothing(|words| word(words, &["off"]))),
    by("set", "a variable and a value", "nothing", |reader, directive| {
        let statement = set(reader, &directive.arguments, Captures::Unknown, false)?;
        reader.snippet.statements.push(statement);
        Ok(())
    }),
    list("sub_filter", "a text and what takes its place", "the backend", |words| match words {
        [from, _] if !from.is_empty() => Ok(()),
        _ => Err(COUNT),
    }),
    plain("sub_filter_last_modified", "`on` or `off`", "the backend", switch),
    plain("sub_filter_once", "`on` or `off`", "the backend", switch),
    plain("sub_filter_types", "media types, or `*`", "the backend", |words| match words {
        [all] if all == "*" => Ok(()),
        words => bares(words),
    }),
];

/// The directive of this name.
pub fn find(name: &str) -> Option<&'static Allowed> {
    ALLOWED.binary_search_by_key(&name, |allowed| allowed.name).ok().and_then(|index| ALLOWED.get(index))
}

const COUNT: Refused = Refused::because("it has another number of arguments");

fn one(words: &[String]) -> Result<&str, Refused> {
    match words {
        [word] => Ok(word),
        _ => Err(COUNT),
    }
}

fn none(words: &[String]) -> Result<(), Refused> {
    if words.is_empty() { Ok(()) } else { Err(COUNT) }
}

fn word(words: &[String], known: &[&str]) -> Result<(), Refused> {
    let word = one(words)?;
    match known.contains(&word) {
        true => Ok(()),
        false => Err(Refused(format!("{} is not {}", excerpt(word), known.join(" or ")).into())),
    }
}

fn switch(words: &[String]) -> Result<(), Refused> {
    word(words, &["on", "off"])
}

fn number(words: &[String], least: u64, most: u64) -> Result<(), Refused> {
    match one(words)?.parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(()),
        _ => Err(Refused(format!("it is not a number from {least} to {most}").into())),
    }
}

/// A word of a media type or a name: nothing that nginx would read otherwise.
fn is_bare(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._+/".contains(&byte))
}

fn bare(words: &[String]) -> Result<(), Refused> {
    one(words)?;
    bares(words)
}

fn bares(words: &[String]) -> Result<(), Refused> {
    match words.iter().find(|word| !is_bare(word)) {
        Some(word) => Err(Refused(format!("{} is not a word of letters, digits and - . _ + /", excerpt(word)).into())),
        None if words.is_empty() => Err(COUNT),
        None => Ok(()),
    }
}

fn expires(words: &[String]) -> Result<(), Refused> {
    let (words, is_modified) = match words {
        [modified, rest @ ..] if modified == "modified" => (rest, true),
        words => (words, false),
    };
    let word = one(words)?;
    let time = word.strip_prefix(['+', '-', '@']).unwrap_or(word);
    let is_time =
        time.starts_with(|first: char| first.is_ascii_digit()) && time.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match is_time || (!is_modified && ["epoch", "max", "off"].contains(&word)) {
        true => Ok(()),
        false => Err(Refused::because("it is not a time, epoch, max or off")),
    }
}

fn same(words: &[String]) -> Result<String, Refused> {
    one(words).map(str::to_owned)
}

fn joined(words: &[String]) -> Result<String, Refused> {
    if words.is_empty() { Err(COUNT) } else { Ok(words.join(" ")) }
}

/// The annotations count in kilobytes.
fn kilobytes(words: &[String]) -> Result<String, Refused> {
    let size = crate::translate::value::byte_size(one(words)?, 0, 1 << 40)?;
    match size.0 % 1024 {
        0 => Ok((size.0 / 1024).to_string()),
        _ => Err(Refused::because("it is not a whole number of kilobytes")),
    }
}

/// A time as nginx writes it, in the whole seconds of annotations.
fn seconds(words: &[String]) -> Result<String, Refused> {
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

fn header_name(name: &str) -> Result<HeaderName, Refused> {
    let mut names = header_names(name)?;
    match names.len() {
        1 => Ok(names.remove(0)),
        _ => Err(Refused::because("it is not one name of a header")),
    }
}

/// Headers of answers that are not for a snippet: what frames an answer, and what would reach other hosts.
fn answer_name(name: &str) -> Result<HeaderName, Refused> {
    let name = header_name(name)?;
    match name.as_str().to_ascii_lowercase().as_str() {
        "strict-transport-security" => {
            Err(Refused::because("it may reach other hosts; the administrator's tls.hsts sends it"))
        }
        "server" | "date" => Err(Refused(format!("nginx itself writes {name}").into())),
        lower if lower.starts_with("x-accel-") => Err(Refused::because("nginx itself reads it")),
        _ => settable(&name).map(|()| name),
    }
}

fn hide(reader: &mut Reader<'_>, name: &str) -> Result<(), Refused> {
    let name = answer_name(name)?;
    if !reader.snippet.hidden_headers.contains(&name) {
        reader.snippet.hidden_headers.push(name);
    }
    Ok(())
}

fn answer_header(reader: &mut Reader<'_>, name: &str, value: SnippetText, always: bool) -> Result<(), Refused> {
    let name = answer_name(name)?;
    reader.snippet.answer_headers.push(AnswerHeader { name, value, always });
    Ok(())
}

fn add_header(reader: &mut Reader<'_>, directive: &Directive) -> Result<(), Refused> {
    let (name, value, always) = header_arguments(directive)?;
    let value = reader.value(value)?;
    answer_header(reader, name, value, always)
}

fn header_arguments(directive: &Directive) -> Result<(&str, &str, bool), Refused> {
    match directive.arguments.as_slice() {
        [name, value] => Ok((name, value, false)),
        [name, value, always] if always == "always" => Ok((name, value, true)),
        _ => Err(COUNT),
    }
}

fn name_and_value(pair: &str) -> Result<(&str, &str), Refused> {
    match pair.split_once(':') {
        _ if pair.starts_with('-') => Err(Refused::because("it has no options here: it counts for all answers")),
        Some((name, value)) => Ok((name.trim(), value.trim())),
        None => Ok((pair.trim(), "")),
    }
}

/// The header takes the place of one of the backend.
fn more_set_headers(reader: &mut Reader<'_>, directive: &Directive) -> Result<(), Refused> {
    for pair in &directive.arguments {
        let (name, value) = name_and_value(pair)?;
        hide(reader, name)?;
        if !value.is_empty() {
            let value = reader.value(value)?;
            answer_header(reader, name, value, true)?;
        }
    }
    if directive.arguments.is_empty() { Err(COUNT) } else { Ok(()) }
}

/// What every snippet about WebSockets says, and what happens anyway.
fn is_usual_upgrade(name: &str, value: &str) -> bool {
    match name.to_ascii_lowercase().as_str() {
        "upgrade" => value == "$http_upgrade",
        "connection" => {
            ["upgrade", "$connection_upgrade", "$http_connection", ""].contains(&&*value.to_ascii_lowercase())
        }
        _ => false,
    }
}

fn set_request_header(reader: &mut Reader<'_>, name: &str, value: &str) -> Result<(), Refused> {
    if is_usual_upgrade(name, value) {
        return Ok(());
    }
    let value = reader.value(value)?;
    request_header(reader, name, value)
}

fn request_header(reader: &mut Reader<'_>, name: &str, value: SnippetText) -> Result<(), Refused> {
    let name = header_name(name)?;
    match name.as_str().to_ascii_lowercase().as_str() {
        "connection" => return Err(Refused::because("it frames the request; use connection-proxy-header")),
        "proxy" => return Err(Refused::because("a program behind the backend would choose its proxy by it")),
        "x-ingress-hops" => return Err(Refused::because("it ends requests that go round and round")),
        "host" => {}
        _ => settable(&name)?,
    }
    reader.snippet.request_headers.push((name, value));
    Ok(())
}

/// Whether a snippet may set a variable of this name: nginx has none like it.
pub fn may_be_set(name: &str) -> bool {
    let is_nginx = |name: &str| READABLE.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family));
    let lower = name.to_ascii_lowercase();
    !is_nginx(&lower)
        && !is_readable(&lower)
        && RouteVariable::named(&lower).is_none()
        && OwnVariable::new("", &lower).is_ok()
        && !lower.starts_with(|first: char| first.is_ascii_digit())
        && !super::text::DECODED.contains(&&*lower)
}

fn set(
    reader: &mut Reader<'_>,
    words: &[String],
    captures: Captures,
    in_condition: bool,
) -> Result<SnippetStatement, Refused> {
    let [name, value] = words else { return Err(COUNT) };
    let name = name.strip_prefix('$').ok_or(Refused::because("what is set is a variable: $name"))?;
    if !may_be_set(name) {
        return Err(Refused(
            format!("${} is a variable of nginx's own, or no name of up to 20 letters, digits and _", excerpt(name))
                .into(),
        ));
    }
    let value = reader.variables.text(value, Place::Value, captures)?;
    reader.set(&name.to_ascii_lowercase(), value, in_condition)
}

/// Statuses that nginx answers with a `Location`.
const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

/// `return`, with what is known of captures.
pub fn answer(reader: &Reader<'_>, words: &[String], captures: Captures) -> Result<SnippetStatement, Refused> {
    let text = |text: &str| reader.variables.text(text, Place::Value, captures);
    let is_url = |text: &str| ["http://", "https://", "$scheme"].iter().any(|start| text.starts_with(start));
    let (status, value) = match words {
        [url] if is_url(url) => (302, Some(url)),
        [status] => (parse_status(status)?, None),
        [status, value] => (parse_status(status)?, Some(value)),
        _ => return Err(COUNT),
    };
    if let (true, Some(value)) = (REDIRECTS.contains(&status), value)
        && !is_url(value)
        && !value.starts_with(['/', '$'])
    {
        return Err(Refused::because("a redirect goes to a URL or a path"));
    }
    Ok(SnippetStatement::Return(status, value.map(|value| text(value)).transpose()?))
}

fn parse_status(word: &str) -> Result<u16, Refused> {
    match word.parse() {
        Ok(status @ 200..=599) => Ok(status),
        _ => Err(Refused(format!("{} is not a status from 200 to 599, or a URL", excerpt(word)).into())),
    }
}

fn rewrite(reader: &Reader<'_>, words: &[String]) -> Result<SnippetStatement, Refused> {
    let [expression, target, flag] = words else {
        return Err(Refused::because(
            "without a flag another location would take the request; add break, redirect or permanent",
        ));
    };
    let mut flag = match flag.as_str() {
        "break" => RewriteFlag::Break,
        "redirect" => RewriteFlag::Redirect,
        "permanent" => RewriteFlag::Permanent,
        "last" => {
            return Err(Refused::because(
                "with last another location would take the request; use break, redirect or permanent",
            ));
        }
        _ => return Err(Refused(format!("{} is no flag", excerpt(flag)).into())),
    };
    if ["http://", "https://", "$scheme"].iter().any(|start| target.starts_with(start)) && flag == RewriteFlag::Break {
        flag = RewriteFlag::Redirect;
    }
    let place = if flag == RewriteFlag::Break { Place::Path } else { Place::Value };
    if place == Place::Path && !target.starts_with(['/', '$']) {
        return Err(Refused::because("a path begins with /"));
    }
    // nginx encodes what is captured of the path where it redirects.
    let target = reader.variables.text(target, place, Captures::Plain)?;
    Ok(SnippetStatement::Rewrite(pattern(expression)?, target, flag))
}

/// A block for some requests.
fn conditional(reader: &mut Reader<'_>, directive: &Directive) -> Result<(), Refused> {
    let (condition, mut captures) = condition::read(&directive.arguments, &reader.variables)?;
    let mut then = Vec::new();
    for (number, inner) in directive.children().iter().enumerate() {
        let at =
            |refused: Refused| Refused(format!("{} in line {}: {refused}", excerpt(&inner.name), inner.line).into());
        if inner.block.is_some() {
            return Err(at(Refused::because("no block stands within another one")));
        }
        let words = &inner.arguments;
        let statement = match inner.name.as_str() {
            "break" => none(words).map(|()| SnippetStatement::Break),
            "return" => answer(reader, words, captures),
            "set" => set(reader, words, captures, true),
            "rewrite" => {
                let statement = rewrite(reader, words);
                captures = Captures::Decoded;
                statement
            }
            "add_header" => conditional_header(reader, inner, captures, number),
            name => Err(match find(name) {
                Some(_) => Refused::because(
                    "in a block of if there may be add_header, break, return, rewrite and set; set a variable and use it outside",
                ),
                None => super::refused::why(name),
            }),
        };
        then.push(statement.map_err(at)?);
    }
    if then.is_empty() {
        return Err(Refused::because("its block does nothing"));
    }
    reader.snippet.statements.push(SnippetStatement::If(condition, then));
    Ok(())
}

/// A header in a block would take the place of all others of the location: so the block sets a variable, which is empty elsewhere, and
/// nginx sends no empty header.
fn conditional_header(
    reader: &mut Reader<'_>,
    directive: &Directive,
    captures: Captures,
    number: usize,
) -> Result<SnippetStatement, Refused> {
    let (name, value, always) = header_arguments(directive)?;
    let value = reader.variables.text(value, Place::Value, captures)?;
    // What users name begins with a letter or _.
    let variable = format!("{}_{number}", reader.snippet.statements.len());
    let statement = reader.set(&variable, value, true)?;
    let SnippetStatement::Set(own, _) = &statement else { return Ok(statement) };
    let value = SnippetText::new(vec![crate::model::SnippetPart::Own(own.clone())])?;
    answer_header(reader, name, value, always)?;
    Ok(statement)
}

/// The table of directives for the documentation, in Markdown.
pub fn document() -> String {
    let mut text = String::from("| directive | arguments | in | without a snippet |\n| --- | --- | --- | --- |\n");
    for allowed in ALLOWED {
        let places = match (allowed.of_hosts, allowed.only_of_hosts) {
            (_, true) => "server",
            (true, false) => "configuration, server",
            (false, false) => "configuration",
        };
        let key = crate::translate::ANNOTATIONS.find(allowed.instead).map(|row| row.key);
        let instead = match key {
            Some(key) => format!("[{key}](annotations.md#{key})"),
            None => allowed.instead.to_owned(),
        };
        text.push_str(&format!("| `{}` | {} | {places} | {instead} |\n", allowed.name, allowed.takes));
    }
    text
}
