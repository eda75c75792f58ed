//! The contexts of nginx's configuration.

/// A context: a kind of block in nginx's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// The top level.
    Main,
    Events,
    Http,
    /// `server` in `http`.
    Server,
    ServerIf,
    Location,
    LocationIf,
    /// `upstream` in `http`.
    Upstream,
    Stream,
    StreamServer,
    StreamUpstream,
}

impl Context {
    /// Every context.
    pub const ALL: [Context; 11] = [
        Context::Main,
        Context::Events,
        Context::Http,
        Context::Server,
        Context::ServerIf,
        Context::Location,
        Context::LocationIf,
        Context::Upstream,
        Context::Stream,
        Context::StreamServer,
        Context::StreamUpstream,
    ];

    /// The context inside a block that stands here; `None` for blocks without directives, such as
    /// `map`.
    pub fn within(self, block: &str) -> Option<Self> {
        match (self, block) {
            (Context::Main, "events") => Some(Context::Events),
            (Context::Main, "http") => Some(Context::Http),
            (Context::Main, "stream") => Some(Context::Stream),
            (Context::Http, "server") => Some(Context::Server),
            (Context::Http, "upstream") => Some(Context::Upstream),
            (Context::Server | Context::Location, "location") => Some(Context::Location),
            (Context::Server, "if") => Some(Context::ServerIf),
            (Context::Location, "if") => Some(Context::LocationIf),
            (Context::Stream, "server") => Some(Context::StreamServer),
            (Context::Stream, "upstream") => Some(Context::StreamUpstream),
            _ => None,
        }
    }
}

/// A set of contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Contexts(u16);

impl Contexts {
    /// The empty set.
    pub const NONE: Contexts = Contexts(0);

    pub(super) const fn of(contexts: &[Context]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < contexts.len() {
            bits |= 1 << contexts[index] as u16;
            index += 1;
        }
        Contexts(bits)
    }

    /// Whether the set contains a context.
    pub const fn hold(self, context: Context) -> bool {
        self.0 & (1 << context as u16) != 0
    }
}

pub(super) const MAIN: Contexts = Contexts::of(&[Context::Main]);
pub(super) const HTTP: Contexts = Contexts::of(&[Context::Http]);
pub(super) const SERVER: Contexts = Contexts::of(&[Context::Server]);
pub(super) const HTTP_SERVER: Contexts = Contexts::of(&[Context::Http, Context::Server]);
pub(super) const HTTP_TO_LOCATION: Contexts = Contexts::of(&[Context::Http, Context::Server, Context::Location]);
pub(super) const HTTP_TO_IF: Contexts =
    Contexts::of(&[Context::Http, Context::Server, Context::Location, Context::LocationIf]);
pub(super) const REWRITING: Contexts =
    Contexts::of(&[Context::Server, Context::ServerIf, Context::Location, Context::LocationIf]);
