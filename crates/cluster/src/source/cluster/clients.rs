//! The clients of the API server, one for each purpose. They are kept when credentials are
//! renewed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::{Client, Config};
use tokio::sync::{Notify, watch};

use super::requests::Requests;
use super::switch::Switch;

/// The time limit for connecting to the API server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The clients of the API server. Each has connections and deadlines of its own, so that failures
/// of one do not affect the others. When credentials are renewed the clients stay, and requests in
/// progress end with the old credentials. None of them repeats a request by itself.
#[derive(Clone)]
pub struct Clients {
    /// For lists and watches. Responses may last for ever: the reader sets deadlines.
    pub watch: Client,
    /// For statuses and Events: few at once, each with a response within 15 s.
    pub write: Client,
    /// For Leases: with a response within 5 s.
    pub lease: Client,
    requests: Arc<Requests>,
    line: watch::Receiver<Line>,
    /// Notified when the API server responds 401.
    unknown: Arc<Notify>,
    /// When a list was found to be older than what was seen before; `None` while none was.
    restored: watch::Sender<Option<Instant>>,
}

/// What revisions of objects belong to. They mean nothing to another API server, nor to one whose
/// store was restored from a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The URL of the server; `None` before there are credentials.
    pub server: Option<String>,
    /// When its data were seen to be older than before; `None` while they never were.
    pub restored: Option<Instant>,
}

/// The purpose of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Lists and watches.
    Watch,
    /// Statuses and Events.
    Write,
    Lease,
}

impl Purpose {
    /// The time limit for the beginning of a response, and for pauses within it.
    pub const fn deadline(self) -> Option<Duration> {
        match self {
            Purpose::Watch => None,
            Purpose::Write => Some(Duration::from_secs(15)),
            Purpose::Lease => Some(Duration::from_secs(5)),
        }
    }

    /// How many requests are sent at once; others wait.
    pub const fn concurrency(self) -> usize {
        match self {
            Purpose::Watch => 64,
            Purpose::Write => 8,
            Purpose::Lease => 4,
        }
    }
}

/// The present connection to the API server.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The clients with the newest credentials that worked; `None` before the first.
    pub connections: Option<Arc<Connections>>,
    /// The number of renewals of credentials.
    pub renewals: u64,
    /// Why the newest credentials cannot be used.
    pub failure: Option<Arc<str>>,
}

/// Clients with one set of credentials.
pub struct Connections {
    /// The URL of the server and everything else that distinguishes it from another.
    pub server: String,
    clients: [Client; 3],
}

impl Connections {
    /// Makes the clients. This reads files and sends nothing.
    ///
    /// # Errors
    ///
    /// When a file that the kubeconfig names contains no credentials.
    pub fn new(config: &Config) -> Result<Self, kube::Error> {
        let client = |purpose: Purpose| {
            let mut config = config.clone();
            config.connect_timeout = Some(CONNECT_TIMEOUT);
            config.read_timeout = purpose.deadline();
            config.reset_reader_on_write = true;
            // The callers have a backoff of their own and report failures at once.
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
    /// Clients that use the connection of the switch at the time of each request.
    pub(super) fn new(line: watch::Receiver<Line>) -> Self {
        let (requests, unknown) = (Arc::<Requests>::default(), Arc::<Notify>::default());
        let client = |purpose| Switch::client(purpose, line.clone(), Arc::clone(&requests), Arc::clone(&unknown));
        let (watch, write, lease) = (client(Purpose::Watch), client(Purpose::Write), client(Purpose::Lease));
        Clients { watch, write, lease, requests, line, unknown, restored: watch::Sender::new(None) }
    }

    /// The same client for each purpose, for tests against a double of the API server.
    pub fn of(client: &Client) -> Self {
        let clients = [client.clone(), client.clone(), client.clone()];
        let connections = Connections { server: String::new(), clients };
        let line = Line { connections: Some(Arc::new(connections)), ..Line::default() };
        // Without a sender the connection never changes.
        Clients::new(watch::channel(line).1)
    }

    /// The API server that is asked now; `None` before there are credentials.
    pub fn server(&self) -> Option<String> {
        self.line.borrow().connections.as_ref().map(|connections| connections.server.clone())
    }

    /// What the revisions that are read now belong to.
    pub fn history(&self) -> History {
        History { server: self.server(), restored: *self.restored.borrow() }
    }

    /// Tells all streams when the data of the API server are older than before.
    pub(super) fn restored(&self) -> watch::Sender<Option<Instant>> {
        self.restored.clone()
    }

    /// The counters of requests.
    pub fn requests(&self) -> &Arc<Requests> {
        &self.requests
    }

    /// Notified when the API server responds 401: the credentials are not valid any more, whatever
    /// their expiry says.
    pub(super) fn unknown(&self) -> &Arc<Notify> {
        &self.unknown
    }

    /// The present connection, and changes of it.
    pub(super) fn line(&self) -> watch::Receiver<Line> {
        self.line.clone()
    }
}

/// Clients have no text form, and credentials must not be shown.
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// `{"told":true}`, compressed.
    const COMPRESSED: [u8; 33] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 42, 201, 207, 73, 81, 178, 42, 41, 42, 77, 173, 5, 0, 1, 120, 1, 114,
        13, 0, 0, 0,
    ];

    /// API servers compress long lists for those who ask for it.
    #[tokio::test]
    async fn compressed_answers_are_asked_for_and_read() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut head, mut part) = (Vec::new(), [0; 4096]);
            while !head.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut part).await.unwrap();
                head.extend_from_slice(&part[..count]);
            }
            let answer = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 33\r\n\r\n";
            stream.write_all(&[answer.as_bytes(), &COMPRESSED].concat()).await.unwrap();
            String::from_utf8(head).unwrap()
        });
        let connections = Connections::new(&Config::new(url.parse().unwrap())).unwrap();
        let request = http::Request::get("/api").body(Vec::new()).unwrap();
        let answer: serde_json::Value = connections.client(Purpose::Watch).request(request).await.unwrap();
        assert_eq!(answer, serde_json::json!({"told": true}));
        assert!(server.await.unwrap().contains("accept-encoding: gzip"));
    }
}
