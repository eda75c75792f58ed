//! The command is killed at the moments that matter, and run again or undone; this must not know
//! how it is made.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::clients::Clients;
use super::controller::{Controller, MANAGER};
use super::several::end_writing;
use super::{
    ADDRESS, CONTROLLER, OLD, TOKENS, administrators, command, expect_challenge, expect_published,
    expect_written_by_controller, migrate, order, prepare, record, report, write_solver,
};
use rig::client::get;
use rig::cluster::Cluster;
use rig::cluster::proxy::rules::Hold;
use rig::cluster::proxy::{Action, Call, Proxy};
use rig::manifests::ingress;
use rig::wait;

/// The step during which the command is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    TakeOver,
    Undo,
}

impl Step {
    const fn opposite(self) -> Self {
        match self {
            Step::TakeOver => Step::Undo,
            Step::Undo => Step::TakeOver,
        }
    }

    /// The addresses in the statuses when it has ended.
    const fn end(self) -> &'static str {
        match self {
            Step::TakeOver => ADDRESS,
            Step::Undo => OLD,
        }
    }
}

/// A moment: the call that is held then, by whom it is made, and where `cart` and `shop` lead
/// when the command is dead.
struct Moment {
    what: &'static str,
    step: Step,
    action: fn(Hold) -> Action,
    held: fn(&Call) -> bool,
    left: [&'static str; 2],
}

const MOMENTS: [Moment; 7] = [
    Moment {
        what: "the record is written, and the nodes are not told",
        step: Step::TakeOver,
        action: Action::HoldCall,
        held: is_order,
        left: [OLD, OLD],
    },
    Moment {
        what: "one status is the nodes', and another is being written",
        step: Step::TakeOver,
        action: Action::HoldCall,
        held: |call| is_status_of(call, "shop") && !is_put_back(call),
        left: [ADDRESS, OLD],
    },
    Moment {
        what: "the nodes are told, and the command does not know it",
        step: Step::TakeOver,
        action: Action::HoldAnswer,
        held: is_order,
        left: [ADDRESS, ADDRESS],
    },
    Moment {
        what: "the nodes are not told to write no more",
        step: Step::Undo,
        action: Action::HoldCall,
        held: is_order,
        left: [ADDRESS, ADDRESS],
    },
    Moment {
        what: "the nodes write no more, and nothing is put back",
        step: Step::Undo,
        action: Action::HoldCall,
        held: is_put_back,
        left: [ADDRESS, ADDRESS],
    },
    Moment {
        what: "one status is put back, and another is not",
        step: Step::Undo,
        action: Action::HoldCall,
        held: is_shop_put_back,
        left: [OLD, ADDRESS],
    },
    Moment {
        what: "all is put back, and the command does not know it",
        step: Step::Undo,
        action: Action::HoldAnswer,
        held: is_shop_put_back,
        left: [OLD, OLD],
    },
];

fn is_order(call: &Call) -> bool {
    call.method == Method::PATCH && call.resource == "leases" && call.name.as_deref() == Some("ingressd.status")
}

fn is_status_of(call: &Call, name: &str) -> bool {
    call.is_write() && call.subresource.as_deref() == Some("status") && call.name.as_deref() == Some(name)
}

/// The former status is written with the field manager of the controller, which itself does not go
/// through the proxy.
fn is_put_back(call: &Call) -> bool {
    call.subresource.as_deref() == Some("status") && call.query.contains(&format!("fieldManager={MANAGER}"))
}

fn is_shop_put_back(call: &Call) -> bool {
    is_put_back(call) && is_status_of(call, "shop")
}

/// What a load balancer of a cloud has, which the controller copies from its Service.
fn of_load_balancer() -> Value {
    json!({ "loadBalancer": { "ingress": [
        { "hostname": "a1b2.elb.example", "ports": [{ "port": 443, "protocol": "TCP" }] },
        { "ip": "203.0.113.10" },
    ] } })
}

/// The kubeconfig of an administrator with the necessary rights, whose calls the proxy sees.
async fn through(cluster: &Cluster, proxy: &Proxy) -> PathBuf {
    let direct = administrators::without(cluster, None).await;
    let mut config: Value = serde_json::from_slice(&fs::read(direct).unwrap()).unwrap();
    let authority = cluster.folder().join("proxy.crt");
    fs::write(&authority, proxy.authority()).unwrap();
    config["clusters"][0]["cluster"] = json!({ "server": proxy.url(), "certificate-authority": authority });
    let path = cluster.folder().join("through-proxy.kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path
}

/// A cluster in which addresses move back and forth.
struct Scene<'a> {
    cluster: &'a Cluster,
    proxy: &'a Proxy,
    kubeconfig: PathBuf,
    report: String,
}

impl Scene<'_> {
    fn arguments(&self, step: Step) -> Vec<&str> {
        match step {
            Step::TakeOver => vec!["--compare", &self.report],
            Step::Undo => vec!["--undo"],
        }
    }

    async fn run(&self, step: Step) {
        migrate(self.cluster, &self.kubeconfig, "take-over", &self.arguments(step)).await.is(0, &[]);
    }

    /// Runs the command until the call of the moment is held, and kills it. The call is still
    /// held then.
    async fn kill_at(&self, moment: &Moment) -> Hold {
        let hold = Hold::default();
        self.proxy.rules.add_times(1, moment.held, (moment.action)(hold.clone()));
        let folder = self.cluster.daemon.folder();
        let mut command = command(self.cluster, folder, &self.kubeconfig, "take-over", &self.arguments(moment.step));
        let mut child = command.stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        hold.arrived().await;
        let what = format!("what is left: {}", moment.what);
        wait::until_right(
            &what,
            async || self.addresses().await,
            |left| *left == moment.left.map(|one| vec![one.to_owned()]),
        )
        .await;
        child.start_kill().unwrap();
        let ended: ExitStatus = child.wait().await.unwrap();
        assert_eq!(ended.signal(), Some(Signal::SIGKILL as i32), "{}: it ended before", moment.what);
        assert!(record(self.cluster).exists(), "{}: what was there before is lost", moment.what);
        hold
    }

    async fn addresses(&self) -> [Vec<String>; 2] {
        [self.cluster.objects.addresses("cart").await, self.cluster.objects.addresses("shop").await]
    }

    /// Runs this command after the killed one. A write of the node that is held reaches the API
    /// server in the midst of it.
    async fn go_on(&self, moment: &Moment, step: Step, hold: &Hold) {
        let word = if step == Step::Undo { "hold" } else { "publish" };
        tokio::join!(self.run(step), async {
            wait::until_right("the order", async || order(self.cluster).await, |order| order.as_deref() == Some(word))
                .await;
            hold.let_go();
        });
        println!("{}: {step:?} ended", moment.what);
        let is_undone = step == Step::Undo;
        expect_published(self.cluster, &["cart", "shop"], step.end()).await;
        assert_eq!(record(self.cluster).exists(), !is_undone, "{}", moment.what);
        let balanced = &self.cluster.objects.get("Ingress", "balanced").await["status"];
        if is_undone {
            expect_written_by_controller(self.cluster, &["cart", "shop"]).await;
            assert_eq!(*balanced, of_load_balancer(), "{}", moment.what);
        } else {
            assert_eq!(balanced["loadBalancer"]["ingress"], json!([{ "ip": ADDRESS }]), "{}", moment.what);
        }
    }

    async fn try_moment(&self, moment: &Moment, next: Step) {
        if self.addresses().await != [[moment.step.opposite().end()]; 2] {
            self.run(moment.step.opposite()).await;
        }
        let hold = self.kill_at(moment).await;
        // Both the controller and the node answer clients.
        assert_eq!(get("http://cart.example/").send().await.status, 200);
        self.go_on(moment, next, &hold).await;
        self.proxy.rules.clear();
    }
}

#[test]
fn a_command_that_is_killed_is_run_again_or_undone_and_nothing_is_lost() {
    rig::cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        let old = prepare(cluster).await;
        let controller: Controller = end_writing(cluster, old).await;
        cluster.objects.apply(ingress("balanced").class("nginx").host("balanced.example", "web")).await;
        cluster.objects.set_status("Ingress", "balanced", of_load_balancer()).await;
        let cart = Arc::new(cluster.objects.follow_addresses("cart").await);
        let shop = cluster.objects.follow_addresses("shop").await;
        let clients = Clients::start("cart.example", Arc::clone(&cart), CONTROLLER);
        let kubeconfig = through(cluster, &proxy).await;
        let report = report(cluster, 0, Timestamp::now());
        let scene = Scene { cluster, proxy: &proxy, kubeconfig, report };
        for moment in &MOMENTS {
            scene.try_moment(moment, moment.step.opposite()).await;
        }
        for moment in &MOMENTS {
            scene.try_moment(moment, moment.step).await;
        }
        let left = fs::read_dir(cluster.folder()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with(".take-over-")).collect();
        assert!(left.is_empty(), "{left:?}");
        let answered = clients.stop().await;
        assert_eq!(answered.failures, [""; 0]);
        assert!(answered.by_controller > 0 && answered.by_nodes > 0, "{answered:?}");
        cart.was_never_empty();
        shop.was_never_empty();
        controller.stop().await;
    });
}

/// cert-manager takes a solver's Ingress away when the challenge is answered, and makes the next
/// one when it likes.
#[test]
fn solvers_that_come_and_go_while_statuses_are_put_back_are_no_hindrance() {
    rig::cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        let old = prepare(cluster).await;
        let [first, second] = ["cm-acme-http-solver-1", "cm-acme-http-solver-2"];
        write_solver(cluster, first, TOKENS[0], true).await;
        cluster.objects.until_published(first, &[OLD]).await;
        let controller = end_writing(cluster, old).await;
        // The nodes are the first to write its status.
        write_solver(cluster, second, TOKENS[1], false).await;
        let kubeconfig = through(cluster, &proxy).await;
        let report = report(cluster, 0, Timestamp::now());
        let scene = Scene { cluster, proxy: &proxy, kubeconfig, report };
        scene.run(Step::TakeOver).await;
        expect_published(cluster, &["cart", "shop", first, second], ADDRESS).await;

        let holds = [Hold::default(), Hold::default()];
        for (name, hold) in [first, second].into_iter().zip(&holds) {
            proxy.rules.add_times(1, move |call| is_status_of(call, name), Action::HoldCall(hold.clone()));
        }
        tokio::join!(scene.run(Step::Undo), async {
            holds[0].arrived().await;
            cluster.objects.delete("Ingress", first).await;
            holds[0].let_go();
            holds[1].arrived().await;
            cluster.objects.delete("Ingress", second).await;
            cluster.objects.gone("Ingress", second).await;
            write_solver(cluster, second, TOKENS[0], true).await;
            holds[1].let_go();
        });
        expect_published(cluster, &["cart", "shop"], OLD).await;
        assert_eq!(cluster.objects.addresses(second).await, [""; 0], "it is another one than was recorded");
        assert!(!record(cluster).exists());
        expect_challenge(TOKENS[0]).await;
        controller.stop().await;
    });
}
