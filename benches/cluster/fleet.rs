//! A fleet of many nodes, of which only the Leases are there: what it costs the leader and a
//! follower while nothing changes but the times of renewals.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::common::process::processor_time;
use crate::common::report::Figure;
use crate::common::session::Session;
use rig::cluster::objects::Objects;

/// How many nodes there are, and how often each renews its Lease.
const NODES: u32 = 100;
const RENEWAL: Duration = Duration::from_secs(5);

/// How long is measured, after all nodes are known.
const TIME: Duration = Duration::from_secs(30);

/// Measures the daemon as the leader, and then as a follower.
pub async fn fleet(session: &mut Session<'_>, objects: &Objects) {
    for role in ["leader", "follower"] {
        let measured = async {
            sleep(2 * RENEWAL).await;
            let before = processor_time(session.daemon.pid()).own;
            sleep(TIME).await;
            (processor_time(session.daemon.pid()).own - before).div_f64(TIME.as_secs_f64())
        };
        tokio::select! {
            used = measured => {
                let name = format!("fleet of {NODES}: processor time of the {role}, per second");
                session.figures.push(Figure::time(name, used));
            }
            () = renew(objects, role == "follower") => {}
        }
    }
    for number in 0..NODES {
        objects.delete("Lease", &name(number)).await;
    }
    // Nobody leads until then.
    objects.merge("Lease", "ingressd", json!({"spec": {"holderIdentity": ""}})).await;
    session.daemon.status_when("the leader", |status| status["role"] == "leader").await;
}

/// Renews the Leases of all nodes, for ever; with that of the leader where another one leads.
async fn renew(objects: &Objects, leads: bool) {
    let mut ticks = interval(RENEWAL / NODES);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in (0..NODES).cycle() {
        ticks.tick().await;
        if number == 0 && leads {
            objects.apply(lease("ingressd", "other_0_0")).await;
        }
        let mut lease = lease(&name(number), &format!("{}_0", name(number)));
        // What the node serves is too old for any address of it to be published.
        lease["metadata"]["labels"] = json!({"ingressd/group": "ingressd"});
        lease["metadata"]["annotations"] = json!({
            "ingressd/addresses": format!("198.18.0.{}", number + 1), "ingressd/serving": "true", "ingressd/observed": "1"
        });
        objects.apply(lease).await;
    }
}

fn name(number: u32) -> String {
    format!("fleet-{number}")
}

fn lease(name: &str, holder: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": MicroTime(Timestamp::now())
        }
    })
}
