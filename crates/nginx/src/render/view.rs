//! The views that fill the templates. They hold only checked tokens, so that no text can reach a
//! file unquoted. They must not know any feature.

use serde_json::Value;

use super::shape::Form;
use super::token::{Literal, Word, Words};

/// What fills a template, or a part of that.
pub trait View {
    /// Adds it to a form. What fills the same template in another way has another form.
    fn add_to(&self, form: &mut Form<'_>);

    /// What the template reads. `write` says what stands for each word that is not a text of the
    /// program itself.
    fn value(&self, write: &mut dyn FnMut(&str) -> String) -> Value;
}

impl View for bool {
    fn add_to(&self, form: &mut Form<'_>) {
        form.add_switch(*self);
    }

    fn value(&self, _: &mut dyn FnMut(&str) -> String) -> Value {
        (*self).into()
    }
}

impl<V: View> View for Vec<V> {
    fn add_to(&self, form: &mut Form<'_>) {
        form.add_length(self.len());
        self.iter().for_each(|one| one.add_to(form));
    }

    fn value(&self, write: &mut dyn FnMut(&str) -> String) -> Value {
        self.iter().map(|one| one.value(write)).collect()
    }
}

impl<V: View> View for &V {
    fn add_to(&self, form: &mut Form<'_>) {
        (*self).add_to(form);
    }

    fn value(&self, write: &mut dyn FnMut(&str) -> String) -> Value {
        (*self).value(write)
    }
}

/// Structures whose fields are views.
macro_rules! views {
    ($($(#[$about:meta])* pub struct $name:ident $(<$life:lifetime>)? {
        $($(#[$about_field:meta])* pub $field:ident: $kind:ty,)*
    })*) => {
        $($(#[$about])* pub struct $name $(<$life>)? { $($(#[$about_field])* pub $field: $kind,)* }

        impl $(<$life>)? View for $name $(<$life>)? {
            fn add_to(&self, _form: &mut Form<'_>) {
                $(self.$field.add_to(_form);)*
            }

            fn value(&self, _write: &mut dyn FnMut(&str) -> String) -> Value {
                Value::Object([$((stringify!($field).to_owned(), self.$field.value(_write))),*].into_iter().collect())
            }
        })*
    };
}

views! {
    /// The view of a template without values.
    #[derive(Debug)]
    pub struct Nothing {}

    /// Directives of features beside hosts and services: tables, zones and servers.
    #[derive(Debug, Default)]
    pub struct Tables {
        pub statements: Vec<TablesStatement>,
    }

    /// One of the lists has one element, the other is empty.
    #[derive(Debug)]
    pub struct TablesStatement {
        pub block: Vec<Block>,
        pub line: Vec<Words>,
    }

    /// A block of lines.
    #[derive(Debug)]
    pub struct Block {
        /// The text before its opening brace.
        pub opening: Words,
        pub lines: Vec<Words>,
    }

    /// The daemon's own status server.
    #[derive(Debug)]
    pub struct StatusServer {
        /// Where it listens.
        pub address: Word,
        pub directives: Vec<Words>,
        pub locations: Vec<Block>,
    }

    /// The beginning of a server block.
    #[derive(Debug)]
    pub struct Listens {
        /// Arguments of each `listen`.
        pub listens: Vec<Words>,
    }

    /// A name of a server.
    #[derive(Debug)]
    pub struct Name {
        pub name: Literal,
    }

    /// The beginning of a `map` from hosts to upstreams.
    #[derive(Debug)]
    pub struct Backends {
        /// The variable with the result.
        pub variable: Word,
    }

    /// A row of such a table.
    #[derive(Debug)]
    pub struct Backend {
        pub host: Literal,
        pub upstream: Word,
    }

    /// The part of a server between its names and the headers for its backends.
    #[derive(Debug, Default)]
    pub struct Server {
        /// Sockets, TLS, logs and clients, and overrides of the host's `http` level.
        pub connection: Vec<Words>,
        /// Buffers for requests and responses.
        pub buffers: Vec<Words>,
        /// How backends are spoken to.
        pub backends: Vec<Words>,
    }

    /// Directives of features in a server, or directives of a location about the headers for its
    /// backend.
    #[derive(Debug)]
    pub struct Statements<'a> {
        pub statements: Vec<&'a Statement>,
    }

    /// A location from its first line to the request headers, which are a template of their own.
    #[derive(Debug)]
    pub struct Location {
        /// `=`, `~`, `~*` or `^~`; or the name of an internal location.
        pub modifier: Word,
        /// The path or expression; empty behind a name.
        pub path: Words,
        /// Plain directives, one line each, directly below the first line.
        pub directives: Vec<Directive>,
        /// Whether ambiguous paths are refused in this location, and not in the whole server.
        pub strict_paths: bool,
        /// The directives of features, in order.
        pub statements: Vec<Statement>,
        /// The backend, none or one.
        pub pass: Vec<Pass>,
    }

    /// A directive of a feature: one of the lists has one element, the others none.
    #[derive(Debug, Clone, Default)]
    pub struct Statement {
        /// It applies when a variable is set.
        pub conditional: Vec<Conditional>,
        /// It applies when a variable compares with a value.
        pub compared: Vec<Comparison>,
        /// It applies to all requests.
        pub plain: Vec<Directive>,
    }

    /// A directive that applies to requests for which a variable is set.
    #[derive(Debug, Clone)]
    pub struct Conditional {
        /// The variable.
        pub condition: Word,
        /// The name of the directive.
        pub name: Word,
        pub arguments: Words,
    }

    /// A directive that applies to requests for which a variable compares with a value.
    #[derive(Debug, Clone)]
    pub struct Comparison {
        pub variable: Word,
        /// The operator of nginx's `if`.
        pub operator: Word,
        /// The value to compare with.
        pub value: Words,
        /// The name of the directive.
        pub name: Word,
        pub arguments: Words,
    }

    /// How requests are passed to a backend.
    #[derive(Debug)]
    pub struct Pass {
        /// `proxy_pass`, `grpc_pass` or `fastcgi_pass`.
        pub directive: Word,
        /// `http://`, `https://`, `$scheme://`, `grpc://` or `grpcs://`; empty for FastCGI.
        pub scheme: Word,
        /// The upstream, or the variable with its name.
        pub upstream: Word,
    }

    #[derive(Debug, Clone)]
    pub struct Directive {
        pub name: Word,
        pub arguments: Words,
    }

    /// An upstream with its endpoints.
    #[derive(Debug)]
    pub struct Upstream {
        pub name: Word,
        /// How an endpoint is chosen.
        pub balancing: Vec<Words>,
        /// Address and port of each endpoint, with its parameters.
        pub endpoints: Vec<Words>,
        /// Directives about connections.
        pub connections: Vec<Words>,
    }

    /// A TCP or UDP service.
    #[derive(Debug)]
    pub struct Stream {
        /// The arguments of each `listen`.
        pub listens: Vec<Words>,
        pub directives: Vec<Words>,
        /// The name of the endpoints.
        pub upstream: Word,
    }

    /// The upstream of a TCP or UDP service.
    #[derive(Debug)]
    pub struct StreamUpstream {
        pub name: Word,
        /// How an endpoint is chosen.
        pub balancing: Vec<Words>,
        /// Address and port of each endpoint, with its parameters; or a line for none.
        pub endpoints: Vec<Words>,
    }
}

impl Tables {
    /// Adds a line.
    pub fn line(&mut self, line: impl Into<Words>) {
        self.statements.push(TablesStatement { block: Vec::new(), line: vec![line.into()] });
    }

    /// Adds a block.
    pub fn block(&mut self, block: Block) {
        self.statements.push(TablesStatement { block: vec![block], line: Vec::new() });
    }
}

impl Block {
    /// A block without lines.
    pub fn new(opening: impl Into<Words>) -> Self {
        Block { opening: opening.into(), lines: Vec::new() }
    }

    /// A `map` from a text to the value of a variable.
    pub fn map(source: impl Into<Words>, variable: impl Into<Words>) -> Self {
        Block::new(Words::join(["map".into(), source.into(), variable.into()]))
    }

    /// A `geo` table from the network of an address to the value of a variable.
    pub fn geo(source: impl Into<Words>, variable: impl Into<Words>) -> Self {
        Block::new(Words::join(["geo".into(), source.into(), variable.into()]))
    }

    /// Adds a line.
    pub fn line(mut self, line: impl Into<Words>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Adds a row of a table.
    pub fn row(self, key: impl Into<Words>, value: impl Into<Words>) -> Self {
        self.line(Words::join([key.into(), value.into()]))
    }

    /// Adds a row for each key.
    pub fn rows<K: Into<Words>>(mut self, keys: impl IntoIterator<Item = K>, value: &'static str) -> Self {
        self.lines.extend(keys.into_iter().map(|key| Words::join([key.into(), value.into()])));
        self
    }
}

impl Location {
    /// One that says nothing.
    pub fn new(modifier: Word, path: impl Into<Words>) -> Self {
        let (directives, statements, pass) = (Vec::new(), Vec::new(), Vec::new());
        Location { modifier, path: path.into(), directives, strict_paths: false, statements, pass }
    }
}

impl Statement {
    /// A directive that applies to all requests.
    pub fn plain(name: &'static str, arguments: impl Into<Words>) -> Self {
        Directive { name: Word::fixed(name), arguments: arguments.into() }.into()
    }

    /// A directive that applies to requests for which a variable is neither empty nor 0.
    pub fn conditional(condition: Word, name: &'static str, arguments: impl Into<Words>) -> Self {
        let conditional = Conditional { condition, name: Word::fixed(name), arguments: arguments.into() };
        Statement { conditional: vec![conditional], ..Statement::default() }
    }
}

impl From<Directive> for Statement {
    fn from(plain: Directive) -> Self {
        Statement { plain: vec![plain], ..Statement::default() }
    }
}

#[cfg(test)]
impl View for Value {
    fn add_to(&self, form: &mut Form<'_>) {
        match self {
            Value::String(text) => form.add_word(text),
            Value::Array(elements) => elements.add_to(form),
            Value::Object(members) => members.iter().for_each(|(name, member)| {
                form.add_fixed(name);
                member.add_to(form);
            }),
            other => form.add_fixed(&other.to_string()),
        }
    }

    fn value(&self, write: &mut dyn FnMut(&str) -> String) -> Value {
        match self {
            Value::String(text) => write(text).into(),
            Value::Array(elements) => elements.value(write),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(name, member)| (name.clone(), member.value(write))).collect())
            }
            other => other.clone(),
        }
    }
}
