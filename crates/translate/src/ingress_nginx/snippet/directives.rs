//! The directives that a snippet may have, and how each is read; all others are refused.

use super::forms::{
    COUNT, PROXIED, bare, bares, expires, joined, kilobytes, none, number, one, same, seconds, switch, word,
};
use super::headers::{add_header, hide, more_set_headers, name_and_value, request_header, set_request_header};
use super::location;
use super::reader::Reader;
use super::statements::{answer, conditional, rewrite, set};
use super::text::Captures;
use crate::annotation::Table;
use ingressd_model::language::syntax::Directive;
use ingressd_model::{Refused, SnippetStatement, SnippetText};

/// How a directive is read.
#[derive(Clone, Copy)]
pub enum Read {
    /// By this function.
    By(fn(&mut Reader<'_>, &Directive) -> Result<(), Refused>),
    /// As the annotation with this key, with a value made of the arguments.
    Annotation(&'static str, fn(&[String]) -> Result<String, Refused>),
    /// As itself, written anew, when its arguments are valid.
    Plain { fits: fn(&[String]) -> Result<(), Refused>, is_list: bool },
    /// As nothing, because it happens anyway.
    Nothing(fn(&[String]) -> Result<(), Refused>),
}

/// A directive that snippets may have.
#[derive(Clone, Copy)]
pub struct Allowed {
    pub name: &'static str,
    /// Its arguments, in words.
    pub takes: &'static str,
    /// The alternative to a snippet; empty when there is none.
    pub instead: &'static str,
    /// How it is read.
    pub read: Read,
    /// Whether it may stand in snippets about whole hosts.
    pub of_hosts: bool,
    /// Whether it may stand only there.
    pub only_of_hosts: bool,
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
const HEADERS: &str = "custom-headers, the backend, or the setting headers.answers for all hosts";
const REQUEST_HEADERS: &str = "upstream-vhost, x-forwarded-prefix or connection-proxy-header for these headers, or the setting \
    headers.requests for all hosts";

/// All directives, sorted by name.
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
    plain("charset", "`utf-8` or `off`", "the backend", |words| word(words, &["utf-8", "off"])),
    annotation("client_body_buffer_size", "a size", "client-body-buffer-size", same),
    annotation("client_max_body_size", "a size", "proxy-body-size", same),
    plain("default_type", "a media type", "the backend", bare),
    by("deny", "a network, or `all`", "denylist-source-range", |reader, directive| {
        reader.address(false, one(&directive.arguments)?)
    })
    .of_routes(),
    plain("expires", "a time, `epoch`, `max` or `off`", "the backend", expires),
    plain("gzip", "`on` or `off`", "use-gzip in the ConfigMap, for all hosts", switch),
    plain("gzip_comp_level", "1 to 6", "gzip-level in the ConfigMap, for all hosts", |words| number(words, 1, 6)),
    plain("gzip_min_length", "a number", "gzip-min-length in the ConfigMap, for all hosts", |words| {
        number(words, 0, 1 << 30)
    }),
    plain("gzip_proxied", "words", "nothing for one host", |words| {
        match words.iter().all(|word| PROXIED.contains(&word.as_str())) {
            true if !words.is_empty() => Ok(()),
            _ => Err(Refused::because(
                "it takes the words off, expired, no-cache, no-store, private, no_last_modified, no_etag, auth and any",
            )),
        }
    }),
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
    list("proxy_cookie_path", "two texts that are not regular expressions", "proxy-cookie-path", |words| match words {
        [from, _] if !from.starts_with('~') => Ok(()),
        _ => Err(Refused::because("write two texts that are not regular expressions")),
    }),
    by("proxy_hide_header", "a name", HEADERS, |reader, directive| {
        let name = one(&directive.arguments)?;
        hide(reader, name)
    }),
    annotation("proxy_http_version", "1.0 or 1.1", "proxy-http-version", same),
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
    Allowed::new(
        "proxy_ssl_verify",
        "`off`",
        "nothing: backends are verified only where proxy-ssl-verify says so",
        Read::Nothing(|words| word(words, &["off"])),
    ),
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
    list("sub_filter", "a text and its replacement", "the backend", |words| match words {
        [from, _] if from.contains('$') => Err(Refused::because("the text to search for must not contain variables")),
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

/// The directive with this name.
pub fn find(name: &str) -> Option<&'static Allowed> {
    ALLOWED.binary_search_by_key(&name, |allowed| allowed.name).ok().and_then(|index| ALLOWED.get(index))
}

/// The table of directives for the documentation, in Markdown.
pub fn document(table: &Table) -> String {
    let mut text = String::from("| directive | arguments | in | without a snippet |\n| --- | --- | --- | --- |\n");
    for allowed in ALLOWED {
        let places = match (allowed.of_hosts, allowed.only_of_hosts) {
            (_, true) => "server",
            (true, false) => "configuration, server",
            (false, false) => "configuration",
        };
        let key = table.find(allowed.instead).map(|row| row.key);
        let instead = match key {
            Some(key) => format!("[{key}](annotations.md#{key})"),
            None => allowed.instead.to_owned(),
        };
        text.push_str(&format!("| `{}` | {} | {places} | {instead} |\n", allowed.name, allowed.takes));
    }
    text + &super::streams::document()
}
