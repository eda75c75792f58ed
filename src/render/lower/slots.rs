//! What the features of a route say in its location, each in its slot.

use crate::model::catalogue::Module;
use crate::model::{Origin, Protocol, Refused};
use crate::render::token::{Text, Word, Words};
use crate::render::view;

/// The parts of a location, in the order in which they are written. nginx's rewrite module obeys its directives (`if`, `set`,
/// `return`, `rewrite`) in the order of the lines, so that it is also the order in which a request is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// To the same path with a slash at its end.
    ToSlash,
    /// How ways of choosing clients go together.
    Satisfy,
    Https,
    ClientCertificates,
    /// Requests that are answered before anybody is asked: preflights of browsers.
    Preflight,
    /// Variables that the rest refers to.
    Variables,
    /// An answer of our own in the place of a backend's.
    Answer,
    /// Clients by long lists of addresses.
    Denied,
    /// What snippets have nginx do, in their order.
    Snippets,
    /// Another path for the backend.
    Rewrite,
    /// Clients by short lists of addresses.
    Access,
    /// Clients by password, or by what another service says.
    Authentication,
    /// Requests by what is in them.
    Firewall,
    /// How much each client may ask for.
    Limits,
    AnswerHeaders,
    /// How the backend is spoken to.
    Backend,
}

/// A header that is set, with its value.
#[derive(Debug, Clone)]
pub struct Header {
    pub name: Word,
    pub value: Words,
    /// Who asks for it, where that is not the object of the route.
    pub owner: Option<Origin>,
}

impl Header {
    /// A header of the program itself.
    pub fn fixed(name: &'static str, value: impl Into<Words>) -> Self {
        Header::new(Word::fixed(name), value)
    }

    /// One that the object of the route asks for.
    pub fn new(name: Word, value: impl Into<Words>) -> Self {
        Header { name, value: value.into(), owner: None }
    }
}

/// What the server says for all its locations, and what a location that says anything of the kind has to repeat: nginx keeps each
/// of these as one list, which a location replaces as a whole.
#[derive(Debug, Clone, Default)]
pub struct Inherited {
    pub answer_headers: Vec<Header>,
    /// Headers of backends that do not reach clients.
    pub hidden_headers: Vec<Word>,
    /// Headers of requests to backends, besides the list that every backend gets.
    pub request_headers: Vec<Header>,
}

/// One directive, and who asks for it, where that is not the object of the route.
pub type Statement = (view::Statement, Option<Origin>);

/// What a location says so far.
#[derive(Debug, Default)]
pub struct Slots {
    statements: Vec<(Slot, Statement)>,
    /// Who asks for what is said now, where that is not the object of the route.
    owner: Option<Origin>,
    answer_headers: Vec<Header>,
    success_headers: Vec<Header>,
    hidden_headers: Vec<Word>,
    request_headers: Vec<Header>,
    /// Names of headers that take the place of those that are inherited.
    replaced: Vec<Word>,
}

impl Slots {
    /// Says a directive.
    pub fn say(&mut self, slot: Slot, name: &'static str, arguments: impl Into<Words>) {
        self.push(slot, view::Statement::plain(name, arguments));
    }

    /// Says a directive for requests for which a variable is neither empty nor 0.
    pub fn say_if(&mut self, slot: Slot, condition: Word, name: &'static str, arguments: impl Into<Words>) {
        self.push(slot, view::Statement::conditional(condition, name, arguments));
    }

    /// Says a directive for requests for which a variable is like something else.
    pub fn say_compared(&mut self, slot: Slot, compared: view::Compared) {
        self.push(slot, view::Statement { compared: vec![compared], ..Default::default() });
    }

    fn push(&mut self, slot: Slot, statement: view::Statement) {
        self.statements.push((slot, (statement, self.owner.clone())));
    }

    /// Has this own the lines of what is said from now on; nothing is the object of the route.
    pub fn owned_by(&mut self, owner: Option<Origin>) {
        self.owner = owner;
    }

    /// Adds a header to answers, whatever their status.
    pub fn answer_header(&mut self, header: Header) {
        self.answer_headers.push(header);
    }

    /// Sets a header of answers, in the place of that of the backend, of the server, or of one that was set before.
    pub fn replace_answer_header(&mut self, header: Header) {
        self.answer_headers.retain(|own| !own.name.as_str().eq_ignore_ascii_case(header.name.as_str()));
        self.hide_header(header.name.clone());
        self.replaced.push(header.name.clone());
        self.answer_headers.push(header);
    }

    /// Adds a header to answers with a status of success or of a redirect.
    pub fn answer_header_of_success(&mut self, header: Header) {
        self.success_headers.push(header);
    }

    /// Keeps a header of the backend from clients.
    pub fn hide_header(&mut self, name: Word) {
        self.hidden_headers.push(name);
    }

    /// Sets a header of requests to the backend, in the place of the one that every backend gets, or of one that was set before.
    pub fn request_header(&mut self, header: Header) {
        self.request_headers.retain(|own| !own.name.as_str().eq_ignore_ascii_case(header.name.as_str()));
        self.request_headers.push(header);
    }

    /// The headers of requests to the backend that the location has to set after the list that every backend gets; `None` where
    /// those of the server count. `repeats` where the server has none of the kind.
    pub fn request_headers(&self, inherited: &Inherited, repeats: bool) -> Option<Vec<Header>> {
        (repeats || !self.request_headers.is_empty()).then(|| {
            let differs = |own: &Header, header: &Header| !own.name.as_str().eq_ignore_ascii_case(header.name.as_str());
            let is_own = |header: &&Header| self.request_headers.iter().all(|own| differs(own, header));
            inherited.request_headers.iter().filter(is_own).chain(&self.request_headers).cloned().collect()
        })
    }

    /// Everything else in order, where the object of the route owns all of it.
    pub fn statements(self, inherited: &Inherited, family: Option<Family>) -> Vec<view::Statement> {
        self.owned_statements(inherited, family).into_iter().map(|(statement, _)| statement).collect()
    }

    /// Everything else in order, each with who asks for it.
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
        // The server says it for HTTP only.
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

/// Whose directives speak to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `ngx_http_proxy_module`.
    Proxy,
    /// `ngx_http_grpc_module`.
    Grpc,
    /// `ngx_http_fastcgi_module`.
    FastCgi,
}

impl Family {
    /// Those that speak a protocol.
    pub const fn of(protocol: Protocol) -> Self {
        match protocol.module() {
            Module::Grpc => Family::Grpc,
            Module::FastCgi => Family::FastCgi,
            _ => Family::Proxy,
        }
    }

    /// Has other backends answer in the place of this one where its answers are errors.
    pub const fn intercept_errors(self) -> &'static str {
        match self {
            Family::Proxy => "proxy_intercept_errors",
            Family::Grpc => "grpc_intercept_errors",
            Family::FastCgi => "fastcgi_intercept_errors",
        }
    }

    /// Keeps a header of the backend from clients.
    pub const fn hide_header(self) -> &'static str {
        match self {
            Family::Proxy => "proxy_hide_header",
            Family::Grpc => "grpc_hide_header",
            Family::FastCgi => "fastcgi_hide_header",
        }
    }

    /// Sets a header of requests.
    pub const fn set_header(self) -> &'static str {
        match self {
            Family::Proxy => "proxy_set_header",
            Family::Grpc => "grpc_set_header",
            Family::FastCgi => "fastcgi_param",
        }
    }

    /// Hands requests over.
    pub const fn pass(self) -> &'static str {
        match self {
            Family::Proxy => "proxy_pass",
            Family::Grpc => "grpc_pass",
            Family::FastCgi => "fastcgi_pass",
        }
    }
}

/// A text that is proven where there is one.
pub fn text(text: &str) -> Result<Words, Refused> {
    Text::new(text).map(Words::from)
}
