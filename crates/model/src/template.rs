//! A text with variables of a request, for a URL, a header or a key.

use std::fmt;
use std::sync::Arc;

use super::value::{LONGEST, LONGEST_LINE, bounded, literal_length, longest_variable, plain, written_length};
use super::{Refused, Variable};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TemplatePart {
    /// Literal text.
    Text(Arc<str>),
    /// A variable of nginx.
    Variable(Variable),
    /// The scheme that the client used.
    ClientScheme,
    /// The host that the client requested, with its port.
    ClientHost,
    /// The request URI that the client sent, encoded for a query.
    EscapedTarget,
}

/// Text with variables.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Template(Vec<TemplatePart>);

impl Template {
    /// Checks the parts, or returns why they are refused.
    pub fn new(parts: Vec<TemplatePart>) -> Result<Self, Refused> {
        let mut length = 0;
        for part in &parts {
            length += match part {
                TemplatePart::Text(text) => written_length(plain(text)?) + text.matches('$').count() * DOLLAR,
                part => part.to_string().len() + DOLLAR,
            };
        }
        if length > LONGEST {
            return Err(Refused(format!("it is {length} bytes long, nginx takes at most {LONGEST}").into()));
        }
        bounded(parts.iter().map(TemplatePart::longest))?;
        Ok(Template(parts))
    }

    /// Its greatest length for a request.
    pub fn longest(&self) -> u32 {
        self.0.iter().map(TemplatePart::longest).fold(0, u32::saturating_add)
    }

    /// A template of literal text.
    pub fn text(text: &str) -> Result<Self, Refused> {
        Template::new(vec![TemplatePart::Text(text.into())])
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[TemplatePart] {
        &self.0
    }

    /// Its length as it is written.
    pub fn length(&self) -> usize {
        self.0.iter().map(|part| part.to_string().len()).sum()
    }

    /// Whether it differs between requests.
    pub fn has_variables(&self) -> bool {
        self.0.iter().any(|part| !matches!(part, TemplatePart::Text(_)))
    }

    /// Whether it contains the encoded URI of the request.
    pub fn escapes(&self) -> bool {
        self.0.contains(&TemplatePart::EscapedTarget)
    }
}

/// The longest name of a variable of ours.
const DOLLAR: usize = 60;

impl TemplatePart {
    fn longest(&self) -> u32 {
        match self {
            TemplatePart::Text(text) => literal_length(text),
            TemplatePart::Variable(name) => longest_variable(name.as_str()),
            TemplatePart::ClientScheme | TemplatePart::ClientHost => LONGEST_LINE,
            // Each character takes up to three.
            TemplatePart::EscapedTarget => 3 * LONGEST_LINE,
        }
    }
}

impl fmt::Display for TemplatePart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplatePart::Text(text) => formatter.write_str(text),
            TemplatePart::Variable(name) => write!(formatter, "${{{name}}}"),
            TemplatePart::ClientScheme => formatter.write_str("${client_scheme}"),
            TemplatePart::ClientHost => formatter.write_str("${client_host}"),
            TemplatePart::EscapedTarget => formatter.write_str("${escaped_request_uri}"),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| write!(formatter, "{part}"))
    }
}
