//! The slots of a location, into which the features of a route write their directives.

use crate::render::family::Family;
use crate::render::token::{Text, Word, Words};
use crate::render::view;
use ingressd_model::{Origin, Refused};

/// The parts of a location, in the order in which they are written. nginx's rewrite module
/// executes its directives (`if`, `set`, `return`, `rewrite`) in the order of the lines, so this
/// is also the order in which they apply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// By which route requests are counted, also those that nothing below lets pass.
    Counted,
    /// What keeps the groups of the location's path, before any other expression is matched.
    Groups,
    /// The origin of the request, if it is allowed: all answers tell it.
    Origin,
    /// What keeps ends of lines out of lines, before any of them is written.
    Lines,
    /// The redirect to the same path with a slash at its end.
    ToSlash,
    /// How address lists and authentication are combined (`satisfy`).
    Satisfy,
    Https,
    ClientCertificates,
    /// CORS preflight requests, which are answered before any access control.
    Preflight,
    /// Variables that later directives use.
    Variables,
    /// Directives of snippets in a location without a backend, which would not be reached behind
    /// its response.
    Conditions,
    /// A response of nginx itself, in the place of a backend's.
    Answer,
    /// Access by long address lists.
    Denied,
    /// Directives of snippets, in their order.
    Snippets,
    /// The rewritten path for the backend.
    Rewrite,
    /// Access by short address lists.
    Access,
    /// Authentication by password, or by another service.
    Authentication,
    /// The web application firewall.
    Firewall,
    /// Rate and connection limits.
    Limits,
    AnswerHeaders,
    /// How requests are sent to the backend.
    Backend,
}

/// A header to set, with its value.
#[derive(Debug, Clone)]
pub struct Header {
    pub name: Word,
    pub value: Words,
    /// The owner of the line, where that is not the object of the route.
    pub owner: Option<Origin>,
}

impl Header {
    /// A header that no object asked for.
    pub fn fixed(name: &'static str, value: impl Into<Words>) -> Self {
        Header::new(Word::fixed(name), value)
    }

    /// A header that the object of the route asked for.
    pub fn new(name: Word, value: impl Into<Words>) -> Self {
        Header { name, value: value.into(), owner: None }
    }
}

/// The headers that a server sets for all its locations. nginx keeps each of these as one list,
/// which a location replaces as a whole, so that a location with headers of its own has to repeat
/// them.
#[derive(Debug, Clone, Default)]
pub struct Inherited {
    pub answer_headers: Vec<Header>,
    /// Headers of backends that are removed.
    pub hidden_headers: Vec<Word>,
    /// Headers of requests to backends, in addition to the usual list.
    pub request_headers: Vec<Header>,
}

/// A directive, with its owner where that is not the object of the route.
pub type Statement = (view::Statement, Option<Origin>);

/// The directives of a location so far.
#[derive(Debug, Default)]
pub struct Slots {
    statements: Vec<(Slot, Statement)>,
    /// The owner of the directives that are added now, where that is not the object of the route.
    owner: Option<Origin>,
    answer_headers: Vec<Header>,
    success_headers: Vec<Header>,
    hidden_headers: Vec<Word>,
    request_headers: Vec<Header>,
    /// Names of headers that replace inherited ones.
    replaced: Vec<Word>,
}

impl Slots {
    /// The slots of a location for subrequests, which reset what the server sets.
    pub fn of_subrequests() -> Self {
        let mut slots = Slots::default();
        slots.say(Slot::Backend, "internal", Words::nothing());
        for (name, arguments) in
            [("proxy_intercept_errors", "off"), ("error_page", "599 /"), ("client_max_body_size", "0")]
        {
            slots.say(Slot::Backend, name, arguments);
        }
        slots
    }

    /// Adds a directive.
    pub fn say(&mut self, slot: Slot, name: &'static str, arguments: impl Into<Words>) {
        self.push(slot, view::Statement::plain(name, arguments));
    }

    /// Adds a directive that applies to requests for which a variable is neither empty nor 0.
    pub fn say_if(&mut self, slot: Slot, condition: Word, name: &'static str, arguments: impl Into<Words>) {
        self.push(slot, view::Statement::conditional(condition, name, arguments));
    }

    /// Adds a directive that applies to requests for which a variable compares with a value.
    pub fn say_compared(&mut self, slot: Slot, compared: view::Comparison) {
        self.push(slot, view::Statement { compared: vec![compared], ..Default::default() });
    }

    fn push(&mut self, slot: Slot, statement: view::Statement) {
        self.statements.push((slot, (statement, self.owner.clone())));
    }

    /// Sets the owner of the following directives; `None` means the object of the route.
    pub fn owned_by(&mut self, owner: Option<Origin>) {
        self.owner = owner;
    }

    /// Adds a header to responses with any status.
    pub fn answer_header(&mut self, header: Header) {
        self.answer_headers.push(header);
    }

    /// Sets a response header, in the place of that of the backend, of the server, or of one that
    /// was set before.
    pub fn replace_answer_header(&mut self, header: Header) {
        self.answer_headers.retain(|own| !own.name.as_str().eq_ignore_ascii_case(header.name.as_str()));
        self.hide_header(header.name.clone());
        self.replaced.push(header.name.clone());
        self.answer_headers.push(header);
    }

    /// Adds a header to responses with a status of success or redirection.
    pub fn answer_header_of_success(&mut self, header: Header) {
        self.success_headers.push(header);
    }

    /// Removes a header of the backend from responses.
    pub fn hide_header(&mut self, name: Word) {
        self.hidden_headers.push(name);
    }

    /// Sets a request header for the backend, in the place of the usual one, or of one that was
    /// set before.
    pub fn request_header(&mut self, header: Header) {
        self.request_headers.retain(|own| !own.name.as_str().eq_ignore_ascii_case(header.name.as_str()));
        self.request_headers.push(header);
    }

    /// The request headers that the location has to set after the usual list; `None` where those
    /// of the server apply. `repeats` says that the server sets none, so that the location has to.
    pub fn request_headers(&self, inherited: &Inherited, repeats: bool) -> Option<Vec<Header>> {
        (repeats || !self.request_headers.is_empty()).then(|| {
            let differs = |own: &Header, header: &Header| !own.name.as_str().eq_ignore_ascii_case(header.name.as_str());
            let is_own = |header: &&Header| self.request_headers.iter().all(|own| differs(own, header));
            inherited.request_headers.iter().filter(is_own).chain(&self.request_headers).cloned().collect()
        })
    }

    /// All other directives in order, where the object of the route owns all of them.
    pub fn statements(self, inherited: &Inherited, family: Option<Family>) -> Vec<view::Statement> {
        self.owned_statements(inherited, family).into_iter().map(|(statement, _)| statement).collect()
    }

    /// All other directives in order, each with its owner.
    pub fn owned_statements(mut self, inherited: &Inherited, family: Option<Family>) -> Vec<Statement> {
        if !self.answer_headers.is_empty() || !self.success_headers.is_empty() {
            let all = std::mem::take(&mut self.answer_headers);
            let replaced = std::mem::take(&mut self.replaced);
            let is_kept = |header: &&Header| {
                !replaced.iter().any(|name| name.as_str().eq_ignore_ascii_case(header.name.as_str()))
            };
            for Header { name, value, owner } in std::mem::take(&mut self.success_headers) {
                self.owner = owner;
                self.say(Slot::AnswerHeaders, "add_header", Words::join([name.into(), value]));
            }
            for Header { name, value, owner } in
                all.into_iter().chain(inherited.answer_headers.iter().filter(is_kept).cloned())
            {
                self.owner = owner;
                let arguments = [name.into(), value, Word::fixed("always").into()];
                self.say(Slot::AnswerHeaders, "add_header", Words::join(arguments));
            }
        }
        self.owner = None;
        // The server sets it for HTTP backends only.
        if let Some(family) = family
            && (family != Family::Proxy || !self.hidden_headers.is_empty())
        {
            let all = std::mem::take(&mut self.hidden_headers);
            for name in all.into_iter().chain(inherited.hidden_headers.iter().cloned()) {
                self.say(Slot::AnswerHeaders, family.hide_header(), name);
            }
        }
        self.statements.sort_by_key(|(slot, _)| *slot);
        self.statements.into_iter().map(|(_, statement)| statement).collect()
    }
}

/// A quoted text; no word for an empty one.
pub fn text(text: &str) -> Result<Words, Refused> {
    Text::new(text).map(Words::from)
}
