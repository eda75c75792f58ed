//! A DNS server whose answers a test sets.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::{Name, RData, Record};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// Seconds for which an answer may be kept.
const TIME_TO_LIVE: u32 = 1;

/// What it answers.
#[derive(Default)]
struct Zone {
    addresses: HashMap<String, Vec<IpAddr>>,
    silent: bool,
    /// Ends of names about which nothing is said.
    silent_about: Vec<String>,
    /// Whether the addresses of a name come in another order each time, and how many of them.
    rotates: Option<usize>,
    /// What was asked, in order.
    asked: Vec<String>,
}

/// The server; it ends when it is dropped.
pub struct Dns {
    zone: Arc<Mutex<Zone>>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Dns {
    /// Knows no name yet.
    pub async fn start() -> Self {
        let socket = UdpSocket::bind(("10.244.0.53", 53)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let zone = Arc::<Mutex<Zone>>::default();
        let known = Arc::clone(&zone);
        let task = tokio::spawn(async move {
            let mut datagram = [0; 4096];
            loop {
                let (length, client) = socket.recv_from(&mut datagram).await.unwrap();
                let answer = answer(&datagram[..length], &mut known.lock().unwrap());
                if let Some(answer) = answer {
                    socket.send_to(&answer, client).await.unwrap();
                }
            }
        });
        Dns { zone, address, task }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives a name these addresses, or none.
    pub fn set(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        self.zone.lock().unwrap().addresses.insert(format!("{name}."), addresses);
    }

    /// Never answers about names that end so.
    pub fn be_silent_about(&self, end: &str) {
        self.zone.lock().unwrap().silent_about.push(format!("{end}."));
    }

    /// Gives the addresses of a name in another order each time, and only the first so many of
    /// them.
    pub fn rotate(&self, most: usize) {
        self.zone.lock().unwrap().rotates = Some(most);
    }

    /// How many names below this one it was asked for.
    pub fn asked_below(&self, zone: &str) -> usize {
        let ending = format!(".{zone}");
        let asked = self.asked().into_iter().filter(|name| name.ends_with(&ending));
        asked.collect::<std::collections::HashSet<_>>().len()
    }

    /// The names that were asked for so far, each as often as it was.
    pub fn asked(&self) -> Vec<String> {
        self.zone.lock().unwrap().asked.clone()
    }

    /// Answers nothing any more.
    pub fn fall_silent(&self) {
        self.zone.lock().unwrap().silent = true;
    }
}

fn answer(question: &[u8], zone: &mut Zone) -> Option<Vec<u8>> {
    let question = Message::from_vec(question).unwrap();
    let asked = question.queries.first()?.name().to_string().to_lowercase();
    zone.asked.push(asked.trim_end_matches('.').to_owned());
    if zone.rotates.is_some() {
        zone.addresses
            .get_mut(&asked)
            .into_iter()
            .filter(|addresses| !addresses.is_empty())
            .for_each(|addresses| addresses.rotate_left(1));
    }
    let is_silent = zone.silent || zone.silent_about.iter().any(|end| asked.ends_with(&**end));
    let query = question.queries.first().filter(|_| !is_silent)?.clone();
    let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
    answer.metadata.recursion_available = true;
    let name: Name = query.name().clone();
    match zone.addresses.get(&name.to_string().to_lowercase()) {
        None => answer.metadata.response_code = ResponseCode::NXDomain,
        Some(addresses) => {
            let data = addresses.iter().take(zone.rotates.unwrap_or(usize::MAX)).map(|address| RData::from(*address));
            let asked = data.filter(|data| data.record_type() == query.query_type());
            answer.add_answers(asked.map(|data| Record::from_rdata(name.clone(), TIME_TO_LIVE, data)));
        }
    }
    answer.add_query(query);
    Some(answer.to_vec().unwrap())
}

impl Drop for Dns {
    fn drop(&mut self) {
        self.task.abort();
    }
}
