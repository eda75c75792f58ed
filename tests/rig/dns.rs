//! A DNS server whose answers a test sets; it must not know who asks.

use std::collections::{HashMap, HashSet};
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
    /// Names below this one are never answered.
    silent_zone: Option<String>,
    /// Every name that was asked for.
    asked: HashSet<String>,
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

    /// Answers nothing about the names below this one.
    pub fn ignore(&self, zone: &str) {
        self.zone.lock().unwrap().silent_zone = Some(format!(".{zone}."));
    }

    /// How many names below this one it was asked for.
    pub fn asked(&self, zone: &str) -> usize {
        let ending = format!(".{zone}.");
        self.zone.lock().unwrap().asked.iter().filter(|name| name.ends_with(&ending)).count()
    }

    /// Answers nothing any more.
    pub fn fall_silent(&self) {
        self.zone.lock().unwrap().silent = true;
    }
}

fn answer(question: &[u8], zone: &mut Zone) -> Option<Vec<u8>> {
    let question = Message::from_vec(question).unwrap();
    let query = question.queries.first()?.clone();
    let asked = query.name().to_string().to_lowercase();
    let is_ignored = zone.silent_zone.as_ref().is_some_and(|ending| asked.ends_with(ending));
    zone.asked.insert(asked);
    if zone.silent || is_ignored {
        return None;
    }
    let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
    answer.metadata.recursion_available = true;
    let name: Name = query.name().clone();
    match zone.addresses.get(&name.to_string().to_lowercase()) {
        None => answer.metadata.response_code = ResponseCode::NXDomain,
        Some(addresses) => {
            let data = addresses.iter().map(|address| RData::from(*address));
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
