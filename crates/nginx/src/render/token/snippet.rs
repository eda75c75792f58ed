//! Texts and variables of snippets as tokens of nginx's language. It must not know which directive
//! they are for.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use super::{INSTANCE, OURS, Text, Word, escape, fits, own_name};
use ingressd_model::{OwnVariable, Refused, RouteVariable, SnippetPart, SnippetText};

/// What the variables of snippets depend on besides the request.
pub struct Surroundings<'a> {
    /// Values that are known from the route.
    pub known: &'a dyn Fn(RouteVariable) -> Option<Arc<str>>,
    /// Whether proxies are trusted to name the scheme of a request.
    pub trusts: bool,
    /// Whether `$ingressd_request_id` is defined.
    pub has_request_ids: bool,
}

impl Text {
    /// A text of a snippet.
    pub fn of_snippet(text: &SnippetText, surroundings: &Surroundings<'_>) -> Result<Self, Refused> {
        let mut quoted = String::from("\"");
        for part in text.parts() {
            match part {
                SnippetPart::Text(text) => escape(text, true, &mut quoted)?,
                SnippetPart::Route(variable) => {
                    if let Some(text) = (surroundings.known)(*variable) {
                        escape(&text, true, &mut quoted)?;
                    }
                }
                SnippetPart::Capture(number) => {
                    let _ = write!(quoted, "${number}");
                }
                part => {
                    let name = name(part, surroundings).unwrap_or_default();
                    let _ = write!(quoted, "${{{name}}}");
                }
            }
        }
        quoted.push('"');
        fits(quoted).map(Text)
    }
}

impl Word {
    /// A reference to a variable in a condition; `None` when the part is not a variable, or is
    /// known from the route.
    pub fn of_snippet(part: &SnippetPart, surroundings: &Surroundings<'_>) -> Option<Self> {
        name(part, surroundings).map(|name| Word(Cow::Owned(format!("${name}"))))
    }

    /// A variable that a snippet defines.
    pub fn own_variable(own: &OwnVariable) -> Self {
        Word(Cow::Owned(format!("${}", own_name(own.as_str()))))
    }
}

/// The name of a variable: letters, digits and `_`.
fn name(part: &SnippetPart, surroundings: &Surroundings<'_>) -> Option<String> {
    match part {
        SnippetPart::Variable(name) => Some(name.to_string()),
        SnippetPart::Geo(variable) => Some(format!("{OURS}{INSTANCE}_{variable}")),
        SnippetPart::Own(own) => Some(own_name(own.as_str())),
        SnippetPart::ClientScheme if surroundings.trusts => Some(format!("{OURS}{INSTANCE}_scheme")),
        SnippetPart::ClientScheme => Some("scheme".to_owned()),
        SnippetPart::ClientHost => Some(format!("{OURS}{INSTANCE}_host")),
        SnippetPart::RequestId if surroundings.has_request_ids => Some(format!("{OURS}{INSTANCE}_request_id")),
        SnippetPart::RequestId => Some("request_id".to_owned()),
        SnippetPart::Text(_) | SnippetPart::Route(_) | SnippetPart::Capture(_) => None,
    }
}
