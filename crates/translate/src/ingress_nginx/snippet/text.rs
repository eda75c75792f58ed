//! Texts in snippets: which variables may stand where. It must not know directives.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::value::{decoded, excerpt, is_decoded, variable_name};
use ingressd_model::{
    GeoVariable, LONGEST_FOR_REQUEST, LONGEST_HOST, LONGEST_LINE, OwnVariable, Pattern, Refused, RouteVariable,
    SnippetPart, SnippetText, Variable, expression, longest_variable,
};

/// The place of a text, which decides which variables are safe in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPlace {
    /// It is only compared.
    Compared,
    /// It becomes a path for the backend, which nginx encodes.
    Path,
    /// It becomes a header, a URL or a body.
    Value,
}

/// What is known about captures in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Captures {
    /// There are none, or those of another expression.
    Unknown,
    /// They are parts of what the client sent, unchanged, of up to this length.
    Plain(u32),
    /// They are parts of the decoded path.
    Decoded,
}

impl Captures {
    /// The greatest length of a capture.
    fn longest(self) -> u32 {
        match self {
            Captures::Unknown | Captures::Decoded => LONGEST_LINE,
            Captures::Plain(longest) => longest,
        }
    }
}

/// Variables that contain only what the client sent, or the outcome of its own request. Decoded
/// ones are compared, or become a path that nginx encodes; none becomes a value.
pub const READABLE: &[&str] = &[
    "args",
    "body_bytes_sent",
    "bytes_sent",
    "content_length",
    "content_type",
    "document_uri",
    "host",
    "http_host",
    "is_args",
    "msec",
    "proxy_add_x_forwarded_for",
    "query_string",
    "remote_addr",
    "remote_port",
    "remote_user",
    "request_id",
    "request_length",
    "request_method",
    "request_time",
    "request_uri",
    "scheme",
    "server_name",
    "server_port",
    "server_protocol",
    "ssl_cipher",
    "ssl_client_fingerprint",
    "ssl_client_serial",
    "ssl_client_verify",
    "ssl_protocol",
    "status",
    "time_iso8601",
    "time_local",
    "upstream_connect_time",
    "upstream_header_time",
    "upstream_response_length",
    "upstream_response_time",
    "upstream_status",
    "uri",
];

/// Families of such variables, by their prefixes.
pub const FAMILIES: &[&str] = &["arg_", "cookie_", "http_", "upstream_http_"];

/// Variables with passwords or tokens, which are for the backend alone.
pub const SECRET: &[&str] = &["http_authorization", "http_cookie", "http_proxy_authorization"];

/// Names of places, companies and networks are shorter.
const LONGEST_GEO: u32 = 1 << 10;

/// `https`.
const LONGEST_SCHEME: u32 = 5;

/// The variables that the texts of a snippet may use.
#[derive(Debug, Default)]
pub struct Variables {
    /// The mark that distinguishes the variables of this snippet from those of others.
    pub mark: String,
    /// The variables that the snippet sets.
    pub own: BTreeSet<String>,
    /// The greatest lengths of the variables that are set so far, and of those of lookup tables.
    pub sizes: BTreeMap<OwnVariable, u32>,
    /// The greatest total length of all texts so far.
    pub total: Cell<u32>,
    /// The total weight of all expressions so far.
    pub weight: Cell<u32>,
}

impl Variables {
    /// The greatest length of a text for a request.
    pub fn size(&self, text: &SnippetText, captures: Captures) -> u32 {
        text.parts().iter().map(|part| self.longest(part, captures)).fold(0, u32::saturating_add)
    }

    /// The greatest length of a part of a text.
    pub fn longest(&self, part: &SnippetPart, captures: Captures) -> u32 {
        match part {
            SnippetPart::Text(text) => u32::try_from(text.len()).unwrap_or(u32::MAX),
            SnippetPart::Own(own) => self.sizes.get(own).copied().unwrap_or_default(),
            SnippetPart::Variable(name) => longest_variable(name.as_str()),
            SnippetPart::Capture(_) => captures.longest(),
            SnippetPart::Route(_) | SnippetPart::ClientScheme | SnippetPart::ClientHost | SnippetPart::RequestId => {
                LONGEST_LINE
            }
            SnippetPart::Geo(_) => LONGEST_GEO,
        }
    }

    /// The greatest length of a text that replaces another one in a response. Where all
    /// occurrences are replaced, longer host names are refused.
    pub fn replacement_size(&self, text: &SnippetText) -> u32 {
        let longest = |part: &SnippetPart| match part {
            SnippetPart::ClientHost => LONGEST_HOST,
            SnippetPart::ClientScheme => LONGEST_SCHEME,
            SnippetPart::Variable(name) if ["host", "http_host"].contains(&name.as_str()) => LONGEST_HOST,
            SnippetPart::Variable(name) if name.as_str() == "scheme" => LONGEST_SCHEME,
            part => self.longest(part, Captures::Unknown),
        };
        text.parts().iter().map(longest).fold(0, u32::saturating_add)
    }

    /// Adds the weight of matching a text of this length with an expression.
    pub fn weigh(&self, pattern: &Pattern, longest: u32) {
        let weight = expression::weight_anywhere(pattern.as_str(), longest).unwrap_or(expression::HEAVIEST);
        self.weight.set(self.weight.get().saturating_add(weight));
    }

    /// A variable by its name.
    pub fn named(&self, name: &str, place: TextPlace) -> Result<SnippetPart, Refused> {
        let lower = name.to_ascii_lowercase();
        if self.own.contains(&lower) {
            let own = OwnVariable::new(&self.mark, &lower)?;
            return match self.sizes.contains_key(&own) {
                true => Ok(SnippetPart::Own(own)),
                false => Err(Refused(format!("${name} is set further below; set it before it is read").into())),
            };
        }
        let of_table = OwnVariable::new(OwnVariable::OF_TABLES, &lower).ok();
        if let Some(own) = of_table.filter(|own| self.sizes.contains_key(own)) {
            return Ok(SnippetPart::Own(own));
        }
        match name {
            "" => return Err(Refused::because("a $ refers to nothing")),
            "best_http_host" => return Ok(SnippetPart::ClientHost),
            "pass_access_scheme" => return Ok(SnippetPart::ClientScheme),
            "req_id" => return Ok(SnippetPart::RequestId),
            _ => {}
        }
        if let Some(variable) = GeoVariable::named(&lower) {
            return Ok(SnippetPart::Geo(variable));
        }
        if let Some(variable) = RouteVariable::named(name) {
            return match place {
                TextPlace::Compared => Err(Refused(
                    format!(
                        "${name} is the same for all requests, so the condition decides \
                        nothing"
                    )
                    .into(),
                )),
                TextPlace::Path | TextPlace::Value => Ok(SnippetPart::Route(variable)),
            };
        }
        if SECRET.contains(&name) {
            return Err(Refused(
                format!("${name} contains passwords or tokens, which only the backend may get").into(),
            ));
        }
        if is_decoded(name) && is_readable(name) && place == TextPlace::Value {
            return Err(decoded(name));
        }
        match Variable::named(name) {
            Ok(variable) if is_readable(name) => Ok(SnippetPart::Variable(variable)),
            _ => Err(Refused(
                format!(
                    "a snippet may not read ${}, and this one does not set \
                it",
                    excerpt(name)
                )
                .into(),
            )),
        }
    }

    /// Parses a text, with what is known about captures.
    pub fn text(&self, text: &str, place: TextPlace, captures: Captures) -> Result<SnippetText, Refused> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            if !before.is_empty() {
                parts.push(SnippetPart::Text(Arc::from(before)));
            }
            rest = match after.as_bytes().first() {
                Some(digit @ b'1'..=b'9') => {
                    match (captures, place) {
                        (Captures::Plain(_), _) | (Captures::Decoded, TextPlace::Path | TextPlace::Compared) => {}
                        (Captures::Unknown, _) => {
                            return Err(Refused::because(
                                "no regular expression before it in this block has a capture",
                            ));
                        }
                        (Captures::Decoded, TextPlace::Value) => {
                            return Err(Refused::because(
                                "what it captures is decoded and could contain a line break; match $request_uri",
                            ));
                        }
                    }
                    parts.push(SnippetPart::Capture(digit - b'0'));
                    &after[1..]
                }
                _ => {
                    let (name, after) = variable_name(after)?;
                    parts.push(self.named(name, place)?);
                    after
                }
            };
        }
        if !rest.is_empty() {
            parts.push(SnippetPart::Text(Arc::from(rest)));
        }
        if parts.iter().any(matches_again) && parts.iter().any(|part| matches!(part, SnippetPart::Capture(_))) {
            return Err(Refused::because("its variables would overwrite the captures; use $host and $scheme"));
        }
        let text = SnippetText::new(parts)?;
        let size = self.size(&text, captures);
        if size > LONGEST_FOR_REQUEST {
            return Err(Refused::because("with its variables it could become too long; use fewer variables"));
        }
        self.total.set(self.total.get().saturating_add(size));
        Ok(text)
    }
}

/// Whether the table of a variable matches expressions, whose captures take the place of others.
pub fn matches_again(part: &SnippetPart) -> bool {
    match part {
        SnippetPart::ClientHost | SnippetPart::ClientScheme => true,
        SnippetPart::Own(own) => own.is_of_table(),
        _ => false,
    }
}

/// Whether a part of a text is a variable that nginx has decoded.
pub fn is_decoded_part(part: &SnippetPart) -> bool {
    matches!(part, SnippetPart::Variable(name) if is_decoded(name.as_str()))
}

/// Whether an nginx variable may be used.
pub fn is_readable(name: &str) -> bool {
    let is_in = |family: &&str| name.strip_prefix(family).is_some_and(|rest| !rest.is_empty());
    (READABLE.contains(&name) || FAMILIES.iter().any(is_in)) && !SECRET.contains(&name)
}

/// The usable variables in Markdown, for the documentation.
pub fn variables() -> String {
    let named = READABLE.iter().filter(|name| !is_decoded(name)).map(|name| format!("`${name}`"));
    let families = FAMILIES.iter().chain([&"geoip2_"]).map(|family| format!("`${family}*`"));
    let mut text = String::new();
    let mut line = String::new();
    for name in named.chain(families) {
        if line.len() + name.len() > 95 {
            text.push_str(&format!("{}\n", line.trim_end()));
            line.clear();
        }
        line.push_str(&format!("{name}, "));
    }
    let secret: Vec<_> = SECRET.iter().map(|name| format!("`${name}`")).collect();
    text.push_str(&format!("{}\nbut not {}.\n", line.trim_end(), secret.join(", ")));
    text
}
