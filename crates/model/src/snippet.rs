//! The content of a snippet of configuration, as checked values. It must not know who may write
//! one.
//!
//! No text of a snippet is kept: directives are written anew from these values, so that nothing in
//! a snippet can end a directive or a block, or begin another one.

use std::fmt;
use std::sync::Arc;

use super::catalogue::DirectiveRow;
use super::value::{LONGEST, plain, written_length};
use super::{Directive, GeoVariable, HeaderName, Origin, Pattern, Refused, RouteVariable, Variable};

/// The longest name of a variable of ours.
const NAME: usize = 60;

/// The longest name of a variable that a snippet sets.
const LONGEST_NAME: usize = 20;

/// The longest host, with its port, that replaces a text in a response.
pub const LONGEST_HOST: u32 = 255;

/// The longest that the texts of all snippets of a route may become for a request.
const LONGEST_TEXTS: u32 = 2 << 20;
/// The most lines that these may have in a location.
const MOST_LINES: usize = 1000;
/// How many texts are searched for in responses, and the most bytes that they have together: nginx
/// compares each at each byte.
const MOST_SEARCHES: usize = 8;
const MOST_SEARCHED: u32 = 256;
/// Where nginx replaces all occurrences: the shortest text to search, and by how many times its
/// replacement may be longer. nginx replaces everything that it has read of a response before it
/// does anything else.
const SHORTEST_SEARCHED: u32 = 4;
const MOST_GROWTH: u32 = 32;

/// A variable that a snippet sets, with a name that no other snippet has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnVariable(Arc<str>);

impl OwnVariable {
    /// The mark of variables of lookup tables; no digest is equal to it.
    pub const OF_TABLES: &str = "s_table";

    /// The variable with this name; `mark` distinguishes snippets.
    pub fn new(mark: &str, name: &str) -> Result<Self, Refused> {
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        match !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(fits) {
            true => Ok(OwnVariable(format!("{mark}_{name}").into())),
            false => {
                Err(Refused(format!("a variable is named by up to {LONGEST_NAME} small letters, digits and _").into()))
            }
        }
    }

    /// Whether a lookup table gives its value.
    pub fn is_of_table(&self) -> bool {
        self.0.starts_with(Self::OF_TABLES)
    }

    /// Its name, without the prefix of our names.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnippetPart {
    /// Literal text.
    Text(Arc<str>),
    /// A variable of nginx that may be read.
    Variable(Variable),
    /// A variable that the snippet sets.
    Own(OwnVariable),
    /// `$1` to `$9`.
    Capture(u8),
    /// A property of the route.
    Route(RouteVariable),
    /// What a database tells of the client's address.
    Geo(GeoVariable),
    /// The scheme that the client used.
    ClientScheme,
    /// The host that the client requested, with its port.
    ClientHost,
    /// What tells the request from all others: `X-Request-ID`, as the backend gets it.
    RequestId,
}

/// A text with variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnippetText(Vec<SnippetPart>);

impl SnippetText {
    /// Checks the parts, or returns why they are refused.
    pub fn new(parts: Vec<SnippetPart>) -> Result<Self, Refused> {
        let mut length = 0;
        for part in &parts {
            length += match part {
                SnippetPart::Text(text) => written_length(plain(text)?) + text.matches('$').count() * NAME,
                SnippetPart::Capture(0 | 10..) => return Err(Refused::because("captures are $1 to $9")),
                SnippetPart::Variable(name) => name.as_str().len() + 3,
                _ => NAME,
            };
        }
        match length > LONGEST {
            true => Err(Refused(format!("it is {length} bytes long, nginx takes at most {LONGEST}").into())),
            false => Ok(SnippetText(parts)),
        }
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[SnippetPart] {
        &self.0
    }

    fn length(&self) -> usize {
        self.0.iter().map(|part| part.to_string().len()).sum()
    }
}

/// A condition on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnippetCondition {
    /// The variable is neither empty nor 0.
    IsSet(SnippetPart),
    /// The variable equals this text, or does not.
    Is {
        variable: SnippetPart,
        text: SnippetText,
        /// Whether the condition is negated.
        not: bool,
    },
    /// The variable matches this expression, or does not.
    Matches {
        variable: SnippetPart,
        /// The expression.
        pattern: Pattern,
        /// Whether case is ignored.
        any_case: bool,
        /// Whether the condition is negated.
        not: bool,
    },
}

/// What happens to a request after its path was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteFlag {
    /// It is passed to the backend of its route.
    Break,
    /// The client is redirected by 302.
    Redirect,
    /// The client is redirected by 301.
    Permanent,
}

impl RewriteFlag {
    /// Its name in nginx.
    pub const fn name(self) -> &'static str {
        match self {
            RewriteFlag::Break => "break",
            RewriteFlag::Redirect => "redirect",
            RewriteFlag::Permanent => "permanent",
        }
    }
}

/// A directive of nginx's rewrite module; they are executed in the order of the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnippetStatement {
    /// Sets a variable.
    Set(OwnVariable, SnippetText),
    /// Responds with a status, and perhaps a text or the URL of a redirect.
    Return(u16, Option<SnippetText>),
    /// Replaces the path.
    Rewrite(Pattern, SnippetText, RewriteFlag),
    /// Ends the execution.
    Break,
    /// Executes others if a condition holds; these contain no condition.
    If(SnippetCondition, Vec<SnippetStatement>),
}

/// A response header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetHeader {
    pub name: HeaderName,
    pub value: SnippetText,
    /// Whether it is sent with any status.
    pub always: bool,
}

/// Another directive of a location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetDirective {
    /// Its row of the catalogue.
    pub row: &'static DirectiveRow,
    pub arguments: Vec<SnippetText>,
    /// Whether it may occur several times, each adding to a list.
    pub is_list: bool,
}

/// The cost of a snippet for each request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Burden {
    /// The total weight of its expressions, see [`super::expression::weight_anywhere`].
    pub weight: u32,
    /// The total length that its texts may have.
    pub longest: u32,
    /// The texts that are searched for in responses: the length of each, and of its replacement.
    pub searches: Vec<(u32, u32)>,
}

/// The content of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The field with the snippet.
    pub origin: Origin,
    /// Its cost.
    pub burden: Burden,
    /// What happens to requests, in order.
    pub statements: Vec<SnippetStatement>,
    /// Response headers.
    pub answer_headers: Vec<SnippetHeader>,
    /// Headers of backends that are removed.
    pub hidden_headers: Vec<HeaderName>,
    /// Request headers for the backend.
    pub request_headers: Vec<(HeaderName, SnippetText)>,
    /// Other directives of a location.
    pub directives: Vec<SnippetDirective>,
    /// Directives for routes that do not set them themselves; only in snippets about a whole host.
    pub settings: Vec<Directive>,
}

impl Snippet {
    /// A snippet without content.
    pub fn new(origin: Origin) -> Self {
        Snippet {
            origin,
            burden: Burden::default(),
            statements: Vec::new(),
            answer_headers: Vec::new(),
            hidden_headers: Vec::new(),
            request_headers: Vec::new(),
            directives: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// Whether it uses a lookup table.
    pub fn reads_tables(&self) -> bool {
        let is_of_table = |part: &SnippetPart| matches!(part, SnippetPart::Own(own) if own.is_of_table());
        self.parts().into_iter().any(is_of_table)
    }

    /// The most lines that it can have.
    pub fn lines(&self) -> usize {
        let statements: usize = self.statements.iter().map(SnippetStatement::lines).sum();
        let headers = self.answer_headers.len() + self.hidden_headers.len() + self.request_headers.len();
        statements + headers + self.directives.len() + self.settings.len()
    }

    /// The number of variables that it sets.
    pub fn variables(&self) -> usize {
        self.statements.iter().map(SnippetStatement::variables).sum()
    }

    /// The length of its texts in bytes.
    pub fn length(&self) -> usize {
        let statements: usize = self.statements.iter().map(SnippetStatement::length).sum();
        let answers: usize =
            self.answer_headers.iter().map(|header| header.name.as_str().len() + header.value.length()).sum();
        let requests: usize =
            self.request_headers.iter().map(|(name, value)| name.as_str().len() + value.length()).sum();
        let hidden: usize = self.hidden_headers.iter().map(|name| name.as_str().len()).sum();
        let arguments = self.directives.iter().flat_map(|directive| &directive.arguments);
        statements + answers + requests + hidden + arguments.map(SnippetText::length).sum::<usize>()
    }

    /// The parts of all its texts and conditions.
    pub fn parts(&self) -> Vec<&SnippetPart> {
        let answers = self.answer_headers.iter().map(|header| &header.value);
        let requests = self.request_headers.iter().map(|(_, value)| value);
        let arguments = self.directives.iter().flat_map(|directive| &directive.arguments);
        let texts = answers.chain(requests).chain(arguments).flat_map(SnippetText::parts);
        texts.chain(self.statements.iter().flat_map(SnippetStatement::parts)).collect()
    }

    /// The expressions that a request is matched with.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.statements.iter().flat_map(SnippetStatement::patterns)
    }

    /// Checks that nginx can have all of these in one location: the work for one request delays
    /// all others of a worker.
    pub fn fit_together(snippets: &[Arc<Snippet>]) -> Result<(), Refused> {
        let burdens = || snippets.iter().map(|snippet| &snippet.burden);
        if burdens().map(|burden| burden.longest).fold(0, u32::saturating_add) > LONGEST_TEXTS {
            return Err(Refused::because(
                "with its variables all that it says may become more than 2 MB long for a request; refer to fewer of them",
            ));
        }
        if snippets.iter().map(|snippet| snippet.lines()).sum::<usize>() > MOST_LINES {
            return Err(Refused(format!("it takes more than {MOST_LINES} lines in a location").into()));
        }
        let searches: Vec<_> = burdens().flat_map(|burden| &burden.searches).collect();
        if searches.len() > MOST_SEARCHES || searches.iter().map(|(from, _)| from).sum::<u32>() > MOST_SEARCHED {
            return Err(Refused(
                format!("more than {MOST_SEARCHES} texts, or {MOST_SEARCHED} bytes, are searched for by sub_filter")
                    .into(),
            ));
        }
        let grows = |(from, to): &&(u32, u32)| *from < SHORTEST_SEARCHED || *to > MOST_GROWTH.saturating_mul(*from);
        match Self::replace_all(snippets) && searches.iter().any(grows) {
            true => Err(Refused(
                format!(
                    "with sub_filter_once off, what is searched for has at least {SHORTEST_SEARCHED} bytes, and what takes its place \
                     is at most {MOST_GROWTH} times as long, with its variables"
                )
                .into(),
            )),
            false => Ok(()),
        }
    }

    /// Whether one of these replaces all occurrences of a text in responses, and not only the
    /// first. Then requests with a host longer than [`LONGEST_HOST`] have to be refused.
    pub fn replace_all(snippets: &[Arc<Snippet>]) -> bool {
        let is_off = |argument: &SnippetText| argument.to_string() == "off";
        let mut directives = snippets.iter().flat_map(|snippet| &snippet.directives);
        directives.any(|said| said.row.name == "sub_filter_once" && said.arguments.iter().any(is_off))
    }
}

impl SnippetStatement {
    /// The pieces of its texts and conditions.
    pub fn parts(&self) -> Vec<&SnippetPart> {
        match self {
            SnippetStatement::Set(_, text) | SnippetStatement::Rewrite(_, text, _) => text.parts().iter().collect(),
            SnippetStatement::Return(_, text) => text.iter().flat_map(SnippetText::parts).collect(),
            SnippetStatement::Break => Vec::new(),
            SnippetStatement::If(condition, then) => {
                let (part, text) = match condition {
                    SnippetCondition::IsSet(part) => (part, None),
                    SnippetCondition::Is { variable, text, .. } => (variable, Some(text)),
                    SnippetCondition::Matches { variable, .. } => (variable, None),
                };
                let of_condition = text.into_iter().flat_map(SnippetText::parts).chain([part]);
                of_condition.chain(then.iter().flat_map(SnippetStatement::parts)).collect()
            }
        }
    }

    fn variables(&self) -> usize {
        match self {
            SnippetStatement::Set(..) => 1,
            SnippetStatement::If(_, then) => then.iter().map(SnippetStatement::variables).sum(),
            _ => 0,
        }
    }

    fn lines(&self) -> usize {
        match self {
            SnippetStatement::If(_, then) => 4 + 3 * then.iter().map(SnippetStatement::lines).sum::<usize>(),
            _ => 1,
        }
    }

    fn length(&self) -> usize {
        match self {
            SnippetStatement::Set(name, value) => name.as_str().len() + value.length(),
            SnippetStatement::Return(_, text) => text.as_ref().map_or(0, SnippetText::length),
            SnippetStatement::Rewrite(pattern, target, _) => pattern.as_str().len() + target.length(),
            SnippetStatement::Break => 0,
            SnippetStatement::If(condition, then) => {
                let of_condition = match condition {
                    SnippetCondition::IsSet(_) => 0,
                    SnippetCondition::Is { text, .. } => text.length(),
                    SnippetCondition::Matches { pattern, .. } => pattern.as_str().len(),
                };
                of_condition + then.iter().map(SnippetStatement::length).sum::<usize>()
            }
        }
    }

    fn patterns(&self) -> Vec<&Pattern> {
        match self {
            SnippetStatement::Rewrite(pattern, ..) => vec![pattern],
            SnippetStatement::If(condition, then) => {
                let own = match condition {
                    SnippetCondition::Matches { pattern, .. } => Some(pattern),
                    _ => None,
                };
                own.into_iter().chain(then.iter().flat_map(SnippetStatement::patterns)).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for SnippetPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnippetPart::Text(text) => formatter.write_str(text),
            SnippetPart::Variable(name) => write!(formatter, "${{{name}}}"),
            SnippetPart::Geo(variable) => write!(formatter, "${{{variable}}}"),
            SnippetPart::Own(own) => write!(formatter, "${{{}}}", own.as_str()),
            SnippetPart::Capture(number) => write!(formatter, "${number}"),
            SnippetPart::Route(variable) => write!(formatter, "${{{variable:?}}}"),
            SnippetPart::ClientScheme => formatter.write_str("${client_scheme}"),
            SnippetPart::ClientHost => formatter.write_str("${client_host}"),
            SnippetPart::RequestId => formatter.write_str("${req_id}"),
        }
    }
}

impl fmt::Display for SnippetText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| write!(formatter, "{part}"))
    }
}

impl fmt::Display for SnippetCondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnippetCondition::IsSet(variable) => write!(formatter, "{variable}"),
            SnippetCondition::Is { variable, text, not } => {
                write!(formatter, "{variable} {} \"{text}\"", if *not { "!=" } else { "=" })
            }
            SnippetCondition::Matches { variable, pattern, any_case, not } => {
                let (not, case) = (if *not { "!" } else { "" }, if *any_case { "*" } else { "" });
                write!(formatter, "{variable} {not}~{case} \"{pattern}\"")
            }
        }
    }
}

impl fmt::Display for SnippetStatement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnippetStatement::Set(name, value) => write!(formatter, "set ${} \"{value}\"", name.as_str()),
            SnippetStatement::Return(status, None) => write!(formatter, "return {status}"),
            SnippetStatement::Return(status, Some(text)) => write!(formatter, "return {status} \"{text}\""),
            SnippetStatement::Rewrite(pattern, target, flag) => {
                write!(formatter, "rewrite \"{pattern}\" \"{target}\" {}", flag.name())
            }
            SnippetStatement::Break => formatter.write_str("break"),
            SnippetStatement::If(condition, then) => {
                write!(formatter, "if {condition}:")?;
                then.iter().try_for_each(|statement| write!(formatter, " {statement};"))
            }
        }
    }
}
