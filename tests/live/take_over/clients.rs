//! Clients that follow the addresses in a status, as names in DNS that follow it do.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::interval;

use rig::client::get;
use rig::cluster::history::History;

/// Time between two requests of one client.
const PACE: Duration = Duration::from_millis(10);

/// The results of the requests.
#[derive(Debug, Default)]
pub struct Answered {
    /// How many the controller answered.
    pub by_controller: u64,
    /// How many the nodes answered.
    pub by_nodes: u64,
    /// What failed.
    pub failures: Vec<String>,
}

/// A client that runs until [`Clients::stop`].
pub struct Clients {
    stop: watch::Sender<bool>,
    task: JoinHandle<Answered>,
}

impl Clients {
    /// Asks for a host wherever its status leads, at each address in turn. The controller has this
    /// address and port.
    pub fn start(host: &'static str, status: Arc<History<Vec<String>>>, controller: (&'static str, u16)) -> Self {
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            let (mut answered, mut ticks) = (Answered::default(), interval(PACE));
            while !*stopped.borrow() {
                ticks.tick().await;
                let addresses = status.states().pop().unwrap_or_default();
                let turn = usize::try_from(answered.by_nodes).unwrap() % addresses.len().max(1);
                let Some(address) = addresses.get(turn) else {
                    answered.failures.push("no address".to_owned());
                    continue;
                };
                let is_controller = address == controller.0;
                let port = if is_controller { controller.1 } else { 80 };
                let request = get(&format!("http://{host}:{port}/")).to(address.parse::<IpAddr>().unwrap());
                match request.try_send().await {
                    Ok(reply) if reply.status == 200 && is_controller => answered.by_controller += 1,
                    Ok(reply) if reply.status == 200 => answered.by_nodes += 1,
                    Ok(reply) => answered.failures.push(format!("{address}: {}", reply.status)),
                    Err(error) => answered.failures.push(format!("{address}: {error:?}")),
                }
            }
            answered
        });
        Clients { stop, task }
    }

    /// Ends it.
    pub async fn stop(self) -> Answered {
        self.stop.send_replace(true);
        self.task.await.unwrap()
    }
}
