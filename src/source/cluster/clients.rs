//! The clients of the API server, one for each purpose, that outlive credentials.

use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use tokio::sync::{Notify, watch};

use super::requests::Requests;
use super::switch::Switch;

/// How long a connection to the API server may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The clients of the API server. Each has connections and deadlines of its own, so that failures
/// of one do not affect the others. They stay the same when credentials are renewed; requests that
/// are under way end with those that they began with. None of them repeats a request by itself.
#[derive(Clone)]
pub struct Clients {
    /// For lists and watches. Answers may last for ever: the reader sets deadlines.
    pub watch: Client,
    /// For status and Events: few at once, each answered within 15 s.
    pub write: Client,
    /// For Leases: answered within 5 s.
    pub lease: Client,
    requests: Arc<Requests>,
    line: watch::Receiver<Line>,
    /// Notified when the API server answers 401.
    unknown: Arc<Notify>,
}

/// What each client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Lists and watches.
    Watch,
    /// Status and Events.
    Write,
    /// Leases.
    Lease,
}

impl Purpose {
    /// How long an answer may take to begin, and pauses within it.
    pub const fn deadline(self) -> Option<Duration> {
        match self {
            Purpose::Watch => None,
            Purpose::Write => Some(Duration::from_secs(15)),
            Purpose::Lease => Some(Duration::from_secs(5)),
        }
    }

    /// How many requests are sent at once; more wait.
    pub const fn concurrency(self) -> usize {
        match self {
            Purpose::Watch => 64,
            Purpose::Write => 8,
            Purpose::Lease => 4,
        }
    }
}

/// What connects us with the API server at this moment.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The clients with the newest credentials that were of use; `None` before the first.
    pub connections: Option<Arc<Connections>>,
    /// Counts the renewals of credentials.
    pub renewals: u64,
    /// Why the newest credentials are of no use.
    pub failure: Option<Arc<str>>,
}

/// Clients with one set of credentials.
pub struct Connections {
    /// The server and everything that tells it from another.
    pub server: String,
    clients: [Client; 3],
}

impl Connections {
    /// Makes the clients. Nothing is sent; files are read.
    ///
    /// # Errors
    ///
    /// When a file that the kubeconfig names gives no credentials.
    pub fn new(config: &Config) -> Result<Self, kube::Error> {
        let client = |purpose: Purpose| {
            let mut config = config.clone();
            config.connect_timeout = Some(CONNECT_TIMEOUT);
            config.read_timeout = purpose.deadline();
            config.reset_reader_on_write = true;
            // The callers have a back-off of their own and show failures at once.
            config.default_retry = false;
            Client::try_from(config)
        };
        let clients = [client(Purpose::Watch)?, client(Purpose::Write)?, client(Purpose::Lease)?];
        Ok(Connections { server: config.cluster_url.to_string(), clients })
    }

    /// The client for a purpose.
    pub fn client(&self, purpose: Purpose) -> &Client {
        &self.clients[purpose as usize]
    }
}

impl Clients {
    /// Clients over the connection that the switch has at the moment of a request.
    pub(super) fn new(line: watch::Receiver<Line>) -> Self {
        let (requests, unknown) = (Arc::<Requests>::default(), Arc::<Notify>::default());
        let client = |purpose| Switch::client(purpose, line.clone(), Arc::clone(&requests), Arc::clone(&unknown));
        let (watch, write, lease) = (client(Purpose::Watch), client(Purpose::Write), client(Purpose::Lease));
        Clients { watch, write, lease, requests, line, unknown }
    }

    /// The same client for each purpose, for tests against a double of the API server.
    pub fn of(client: &Client) -> Self {
        let clients = [client.clone(), client.clone(), client.clone()];
        let connections = Connections { server: String::new(), clients };
        let line = Line { connections: Some(Arc::new(connections)), ..Line::default() };
        // Without a sender the line stays as it is.
        Clients::new(watch::channel(line).1)
    }

    /// Which server is asked now; `None` before there are credentials.
    pub fn server(&self) -> Option<String> {
        self.line.borrow().connections.as_ref().map(|connections| connections.server.clone())
    }

    /// What was asked so far.
    pub fn requests(&self) -> &Arc<Requests> {
        &self.requests
    }

    /// Notified when the API server answers 401: the credentials have ended, whatever their own
    /// expiry says.
    pub(super) fn unknown(&self) -> &Arc<Notify> {
        &self.unknown
    }

    /// What connects us, to see it change.
    pub(super) fn line(&self) -> watch::Receiver<Line> {
        self.line.clone()
    }
}

/// Clients cannot be shown, and credentials should not.
impl std::fmt::Debug for Connections {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connections").field("server", &self.server).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Clients").field("requests", &self.requests).finish_non_exhaustive()
    }
}
