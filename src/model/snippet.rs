//! What a snippet of configuration asks for, word by word, each of them proven; it must not know who may write one.
//!
//! No text of a snippet is kept: what reaches nginx is written anew from these values, so that nothing in a snippet can end a
//! directive or a block, or begin another one.

use std::fmt;
use std::sync::Arc;

use super::catalogue::DirectiveRow;
use super::value::{LONGEST, plain, written_length};
use super::{Directive, HeaderName, Origin, Pattern, Refused, RouteVariable, Variable};

/// How long names of our own variables are at most.
const NAME: usize = 60;

/// The longest name of a variable that a snippet sets.
const LONGEST_NAME: usize = 20;

/// How long a host that takes the place of a text in an answer may be, with its port.
pub const LONGEST_HOST: u32 = 255;

/// How long the texts of all snippets of a route may become for a request.
const LONGEST_TEXTS: u32 = 2 << 20;
/// How many lines these may have in a location.
const MOST_LINES: usize = 1000;
/// How many texts are searched for in answers, and how many bytes these have together: nginx looks for each at each byte.
const MOST_SEARCHES: usize = 8;
const MOST_SEARCHED: u32 = 256;
/// Where nginx replaces all that it finds, how short that may be, and how many times as long what takes its place: nginx replaces
/// whatever it has read of an answer before it does anything else.
const SHORTEST_SEARCHED: u32 = 4;
const MOST_GROWTH: u32 = 32;

/// A variable that a snippet sets, under a name that no other snippet has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnVariable(Arc<str>);

impl OwnVariable {
    /// What marks the variables of tables, as no digest does.
    pub const OF_TABLES: &str = "table";

    /// The one of this name; `mark` tells snippets apart.
    pub fn new(mark: &str, name: &str) -> Result<Self, Refused> {
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        match !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(fits) {
            true => Ok(OwnVariable(format!("s_{mark}_{name}").into())),
            false => {
                Err(Refused(format!("a variable is named by up to {LONGEST_NAME} small letters, digits and _").into()))
            }
        }
    }

    /// Whether a table of all hosts gives its value.
    pub fn is_of_table(&self) -> bool {
        self.0.strip_prefix("s_").and_then(|rest| rest.strip_prefix(Self::OF_TABLES)).is_some()
    }

    /// Its name behind what names of ours begin with.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnippetPart {
    /// Text that stands for itself.
    Text(Arc<str>),
    /// A variable of nginx that may be read.
    Variable(Variable),
    /// A variable that the snippet sets.
    Own(OwnVariable),
    /// `$1` to `$9`.
    Capture(u8),
    /// What is known of the route without any request.
    Route(RouteVariable),
    /// The scheme that the client used.
    ClientScheme,
    /// The host that the client asked for, with its port.
    ClientHost,
    /// What tells the request from all others: `X-Request-ID`, as the backend gets it.
    RequestId,
}

/// A text with variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnippetText(Vec<SnippetPart>);

impl SnippetText {
    /// Proves the parts or says why they are refused.
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

    /// The parts in order.
    pub fn parts(&self) -> &[SnippetPart] {
        &self.0
    }

    fn length(&self) -> usize {
        self.0.iter().map(|part| part.to_string().len()).sum()
    }
}

/// When a request does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnippetCondition {
    /// The variable is neither empty nor 0.
    IsSet(SnippetPart),
    /// The variable is this text, or is not.
    Is {
        /// The variable.
        variable: SnippetPart,
        /// The text.
        text: SnippetText,
        /// It is not.
        not: bool,
    },
    /// The variable matches this expression, or does not.
    Matches {
        /// The variable.
        variable: SnippetPart,
        /// The expression.
        pattern: Pattern,
        /// Letters count whatever their case.
        any_case: bool,
        /// It does not.
        not: bool,
    },
}

/// What becomes of a request whose path was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteFlag {
    /// It goes on to the backend of its route.
    Break,
    /// Its client is redirected for now.
    Redirect,
    /// Its client is redirected for ever.
    Permanent,
}

impl RewriteFlag {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            RewriteFlag::Break => "break",
            RewriteFlag::Redirect => "redirect",
            RewriteFlag::Permanent => "permanent",
        }
    }
}

/// What nginx's rewrite module does, in the order of the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnippetStatement {
    /// Gives a variable a value.
    Set(OwnVariable, SnippetText),
    /// Answers with a status, and perhaps a text or the address of a redirect.
    Return(u16, Option<SnippetText>),
    /// Replaces the path.
    Rewrite(Pattern, SnippetText, RewriteFlag),
    /// Ends these statements.
    Break,
    /// Does others where a condition holds; there is no further condition among them.
    If(SnippetCondition, Vec<SnippetStatement>),
}

/// A header of answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetHeader {
    /// Its name.
    pub name: HeaderName,
    /// Its value.
    pub value: SnippetText,
    /// Whatever the status.
    pub always: bool,
}

/// A directive of a location that is written as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetDirective {
    /// Which one.
    pub row: &'static DirectiveRow,
    /// Its arguments.
    pub arguments: Vec<SnippetText>,
    /// There may be several: each adds to a list.
    pub is_list: bool,
}

/// What a snippet may cost each request, as whoever reads it finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Burden {
    /// What its expressions weigh together, see [`super::expression::weight_anywhere`].
    pub weight: u32,
    /// How long its texts may become together.
    pub longest: u32,
    /// The texts that it has searched for in answers: how long each is, and what takes its place.
    pub searches: Vec<(u32, u32)>,
}

/// What a snippet asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The field that has it.
    pub origin: Origin,
    /// What it may cost.
    pub burden: Burden,
    /// What happens to requests, in order.
    pub statements: Vec<SnippetStatement>,
    /// Headers of answers.
    pub answer_headers: Vec<SnippetHeader>,
    /// Headers of backends that do not reach clients.
    pub hidden_headers: Vec<HeaderName>,
    /// Headers for the backend.
    pub request_headers: Vec<(HeaderName, SnippetText)>,
    /// Other directives of a location.
    pub directives: Vec<SnippetDirective>,
    /// Settings of routes that do not say otherwise; only in snippets about a whole host.
    pub settings: Vec<Directive>,
}

impl Snippet {
    /// One that asks for nothing.
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

    /// Whether it reads a table of all hosts.
    pub fn reads_tables(&self) -> bool {
        let is_of_table = |part: &SnippetPart| matches!(part, SnippetPart::Own(own) if own.is_of_table());
        self.parts().into_iter().any(is_of_table)
    }

    /// How many lines it takes at most.
    pub fn lines(&self) -> usize {
        let statements: usize = self.statements.iter().map(SnippetStatement::lines).sum();
        let headers = self.answer_headers.len() + self.hidden_headers.len() + self.request_headers.len();
        statements + headers + self.directives.len() + self.settings.len()
    }

    /// How many variables it sets.
    pub fn variables(&self) -> usize {
        self.statements.iter().map(SnippetStatement::variables).sum()
    }

    /// How many bytes its texts have.
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

    /// The pieces of all its texts and conditions.
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

    /// Whether nginx can have all of these in one location: everybody's requests wait for what it does for one.
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

    /// Whether one of these has all replaced that is searched for in an answer, and not only the first that is found. Then a request that
    /// names a host longer than [`LONGEST_HOST`] has to be refused.
    pub fn replace_all(snippets: &[Arc<Snippet>]) -> bool {
        let is_off = |argument: &SnippetText| argument.to_string() == "off";
        let mut directives = snippets.iter().flat_map(|snippet| &snippet.directives);
        directives.any(|said| said.row.name == "sub_filter_once" && said.arguments.iter().any(is_off))
    }
}

impl SnippetStatement {
    fn parts(&self) -> Vec<&SnippetPart> {
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
