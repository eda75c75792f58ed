//! The files of examples/high-availability in use: an address that moves between nodes, and one
//! that nodes announce by BGP.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rig::client::get;
use rig::cluster;
use rig::cluster::history::History;
use rig::cluster::node::Node;
use rig::namespace::{Namespace, add_interface, has_users};
use rig::open_to_all;
use rig::wait;

/// Texts in the files, in the order in which they are replaced: longer ones first.
const NODE: &str = "198.51.100.11";
const ROUTER: &str = "198.51.100.1";
const SHARED: &str = "203.0.113.80";

/// The shared addresses of these tests: on the segment of the nodes, and nowhere but by a route.
const ON_SEGMENT: &str = "10.100.250.80";
const BY_ROUTE: &str = "172.31.0.80";

/// A file of the folder, with names and addresses of a test instead of its own.
fn example(name: &str, replaced: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/high-availability").join(name);
    let text = fs::read_to_string(path).unwrap();
    replaced.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{name} does not say {from}");
        text.replace(from, to)
    })
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn program(places: &[&str]) -> String {
    let found = places.iter().find(|path| Path::new(path).exists());
    (*found.unwrap_or_else(|| panic!("none of {places:?} is installed: run tests/requirements"))).to_owned()
}

fn bird() -> String {
    program(&["/usr/sbin/bird", "/usr/bin/bird"])
}

fn keepalived() -> String {
    program(&["/usr/sbin/keepalived", "/usr/bin/keepalived"])
}

/// A program that runs in a network, and ends with this value.
struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    fn start(namespace: &Namespace, log: PathBuf, mut command: Command) -> Self {
        let output = fs::File::create(&log).unwrap();
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        Running { child: namespace.within(|| command.spawn()).unwrap(), log }
    }

    /// Asks it to end, and waits until it has.
    async fn stop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().try_into().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        wait::until("the end of a program", async || self.child.try_wait().unwrap()).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has children ends them only when it is asked to.
        if let (Ok(None), Ok(pid)) = (self.child.try_wait(), self.child.id().try_into()) {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM);
            for _ in 0..200 {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("--- {} ---\n{}", self.log.display(), fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

/// Whether the node has this address.
fn has(node: &Node, address: &str) -> bool {
    node.namespace.within(|| {
        let shown = Command::new("ip").args(["-brief", "address", "show"]).output().unwrap();
        String::from_utf8_lossy(&shown.stdout).split_whitespace().any(|word| word.starts_with(&format!("{address}/")))
    })
}

/// Waits until these nodes, by their places, have the address.
async fn until_held(nodes: &[Node], address: &str, by: &[usize]) {
    let holders = async || (0..nodes.len()).filter(|place| has(&nodes[*place], address)).collect::<Vec<_>>();
    wait::until_right("who has the shared address", holders, |holders| holders == by).await;
}

/// Waits until the host is served on the shared address, by whoever has it now.
async fn until_served_on(address: &str) {
    let address: std::net::IpAddr = address.parse().unwrap();
    let request = || get("http://shop.example/").to(address).try_send();
    wait::until("an answer on the shared address", async || {
        request().await.is_ok_and(|reply| reply.status == 200).then_some(())
    })
    .await;
}

/// Two nodes that publish one address.
async fn nodes(cluster: &cluster::Cluster, shared: &str) -> (Vec<Node>, History<Vec<String>>) {
    cluster.objects.serve_shop().await;
    let mut nodes: Vec<_> = ["one", "two"].into_iter().map(|name| cluster.add_node(name)).collect();
    for node in &mut nodes {
        node.daemon.set("publish.mode", "fixed");
        node.daemon.set("publish.addresses", shared);
        node.start().await;
    }
    let shop = cluster.objects.follow_addresses("shop").await;
    shop.until_published(&[shared]).await;
    (nodes, shop)
}

fn keepalived_of(node: &Node) -> Running {
    let folder = node.daemon.folder();
    let replaced = [("eth0", "cluster0"), ("203.0.113.80/24", "10.100.250.80/16")];
    let text = example("keepalived.conf", &replaced);
    let text = if has_users() { text } else { text.replace("script_user nobody", "script_user root") };
    let file = write(folder, "keepalived.conf", &text);
    let mut command = Command::new(keepalived());
    command.args(["--dont-fork", "--log-console", "--vrrp", "--use-file"]).arg(file);
    command.arg("--pid").arg(folder.join("keepalived.pid"));
    command.arg("--vrrp_pid").arg(folder.join("vrrp.pid"));
    Running::start(&node.namespace, folder.join("keepalived.log"), command)
}

#[test]
fn keepalived_moves_the_address_to_a_node_that_serves() {
    cluster::run(async |cluster| {
        let (nodes, shop) = nodes(cluster, ON_SEGMENT).await;
        let mut first = keepalived_of(&nodes[0]);
        until_held(&nodes, ON_SEGMENT, &[0]).await;
        let _second = keepalived_of(&nodes[1]);
        until_served_on(ON_SEGMENT).await;
        // Its nginx stops, and comes back: the address does not.
        nodes[0].nginx.stop().await;
        until_held(&nodes, ON_SEGMENT, &[1]).await;
        until_served_on(ON_SEGMENT).await;
        nodes[0].nginx.start();
        nodes[0].daemon.get("/readyz").await.unwrap();
        let ready = async || nodes[0].daemon.get("/readyz").await.unwrap().status;
        wait::until_right("the first node", ready, |status| *status == 200).await;
        // A drained node gives the address away. The address stays published, because another node
        // has it.
        nodes[1].drain(true);
        until_held(&nodes, ON_SEGMENT, &[0]).await;
        until_served_on(ON_SEGMENT).await;
        // Where no node is ready it stays with one of them.
        let noticed = "Changing effective priority from 100 to 50";
        let times = async || fs::read_to_string(&first.log).unwrap().matches(noticed).count();
        let before = times().await;
        nodes[0].drain(true);
        shop.until_published(&[]).await;
        wait::until_right("the end of its readiness", times, |times| *times > before).await;
        until_held(&nodes, ON_SEGMENT, &[0]).await;
        // It takes the address with it, however long it needs for that.
        first.stop().await;
        until_held(&nodes, ON_SEGMENT, &[1]).await;
    });
}

/// The router that the nodes tell of their addresses, in the test's own network.
fn router(cluster: &cluster::Cluster, nodes: &[Node]) -> Running {
    let peers: Vec<_> = (nodes.iter().enumerate())
        .map(|(number, node)| {
            format!(
                "protocol bgp edge{number} {{\n local as 64600;\n neighbor {} as 64601;\n \
                 ipv4 {{ import all; export none; }};\n}}\n",
                node.address
            )
        })
        .collect();
    let text = format!(
        "router id {};\nprotocol device {{}}\nprotocol kernel {{ ipv4 {{ import none; export all; }}; }}\n{}",
        cluster.address,
        peers.concat()
    );
    let folder = cluster.folder();
    let file = write(folder, "router.conf", &text);
    let mut command = Command::new(bird());
    command.arg("-f").arg("-c").arg(file).arg("-s").arg(folder.join("router.sock"));
    Running::start(&Namespace::current(), folder.join("router.log"), command)
}

/// What gives the node the address while it is ready.
fn giving(node: &Node) -> Running {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/high-availability/ingressd-announce");
    // It would make one of a kind that not every kernel has.
    node.namespace.within(|| add_interface("ingress0"));
    let mut announce = Command::new(script);
    announce.args(["ingress0", &format!("{BY_ROUTE}/32")]).env("INGRESSD_PAUSE", "0.1");
    Running::start(&node.namespace, node.daemon.folder().join("announce.log"), announce)
}

/// What tells the router of it: BIRD.
fn bird_of(cluster: &cluster::Cluster, node: &Node) -> Running {
    let folder = node.daemon.folder();
    let router = cluster.address.to_string();
    // Sessions that are refused before the other side runs are tried again soon.
    let quick = (
        "hold time 9;",
        "hold time 9;\n    connect delay time 1;\n    connect retry time 1;\n    error wait time 1, 2;",
    );
    let replaced = [(NODE, node.address.as_str()), (ROUTER, &router), ("log syslog all;", "log stderr all;"), quick];
    let file = write(folder, "bird.conf", &example("bird.conf", &replaced));
    let mut bird = Command::new(bird());
    bird.arg("-f").arg("-c").arg(file).arg("-s").arg(folder.join("bird.sock"));
    Running::start(&node.namespace, folder.join("bird.log"), bird)
}

/// FRR: what reads the kernel's addresses, and what speaks BGP. They run as a user of their own.
fn frr_of(cluster: &cluster::Cluster, node: &Node) -> Vec<Running> {
    let folder = node.daemon.folder().join("frr");
    let user = nix::unistd::User::from_name("frr").unwrap().expect("FRR is installed: run tests/requirements");
    fs::create_dir(&folder).unwrap();
    nix::unistd::chown(&folder, Some(user.uid), Some(user.gid)).unwrap();
    let router = cluster.address.to_string();
    let replaced = [(NODE, node.address.as_str()), (ROUTER, &router), (SHARED, BY_ROUTE)];
    let configuration = write(&folder, "frr.conf", &example("frr.conf", &replaced));
    let empty = write(&folder, "zebra.conf", "!\n");
    open_to_all(&configuration);
    open_to_all(&empty);
    let start = |name: &str, configuration: &Path| {
        let places = [format!("/usr/lib/frr/{name}"), format!("/usr/libexec/frr/{name}")];
        let mut command = Command::new(program(&places.each_ref().map(String::as_str)));
        command.args(["--log", "stdout", "--config_file"]).arg(configuration);
        command.arg("--socket").arg(folder.join("zebra.sock")).arg("--vty_socket").arg(&folder);
        command.arg("--pid_file").arg(folder.join(format!("{name}.pid")));
        Running::start(&node.namespace, folder.join(format!("{name}.log")), command)
    };
    vec![start("zebra", &empty), start("bgpd", &configuration)]
}

/// Waits until the router sends what is for the shared address to one of these nodes.
async fn until_routed(to: &[&Node]) {
    let route = async || {
        let shown = Command::new("ip").args(["route", "show", BY_ROUTE]).output().unwrap();
        String::from_utf8_lossy(&shown.stdout).into_owned()
    };
    let right = |route: &String| match to {
        [] => route.is_empty(),
        nodes => nodes.iter().any(|node| route.contains(&format!("via {} ", node.address))),
    };
    wait::until_right("the route to the shared address", route, right).await;
}

#[test]
fn bgp_announces_the_address_while_a_node_serves() {
    cluster::run(async |cluster| {
        let (mut nodes, shop) = nodes(cluster, BY_ROUTE).await;
        let _router = router(cluster, &nodes);
        let (_bird, _giving) = (bird_of(cluster, &nodes[0]), giving(&nodes[0]));
        until_routed(&[&nodes[0]]).await;
        until_served_on(BY_ROUTE).await;
        nodes[0].nginx.stop().await;
        until_routed(&[]).await;
        nodes[0].nginx.start();
        until_routed(&[&nodes[0]]).await;

        // Another node announces the same, and takes over.
        let reporting_of_two = match has_users() {
            true => frr_of(cluster, &nodes[1]),
            // Here FRR could not be the user that it wants to be.
            false => vec![bird_of(cluster, &nodes[1])],
        };
        let mut giving_of_two = giving(&nodes[1]);
        wait::until("the address of the other", async || has(&nodes[1], BY_ROUTE).then_some(())).await;
        nodes[0].drain(true);
        until_routed(&[&nodes[1]]).await;
        until_served_on(BY_ROUTE).await;
        assert_eq!(shop.states().last().unwrap(), &[BY_ROUTE]);
        // A daemon that is gone cannot say that it is ready.
        nodes[0].drain(false);
        until_routed(&[&nodes[0], &nodes[1]]).await;
        nodes[1].daemon.kill();
        wait::until("the end of the other's address", async || (!has(&nodes[1], BY_ROUTE)).then_some(())).await;
        until_routed(&[&nodes[0]]).await;
        nodes[1].daemon.start();
        wait::until("the address of the other", async || has(&nodes[1], BY_ROUTE).then_some(())).await;
        giving_of_two.stop().await;
        assert!(!has(&nodes[1], BY_ROUTE), "it takes with it what it gave");
        drop(reporting_of_two);
    });
}

#[test]
fn the_files_are_understood_by_what_reads_them() {
    cluster::run(async |cluster| {
        let folder = cluster.folder();
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            (output.status.success(), said)
        };
        add_interface("eth0");
        // Version 2.2.7 ends itself in a test of scripts that run as somebody else.
        let keepalived_conf = example("keepalived.conf", &[("script_user nobody", "script_user root")]);
        let vtysh = program(&["/usr/bin/vtysh"]);
        // How it is tested, what it holds, and what of it is broken to see that the test notices.
        type Check<'a> = (String, &'a [&'a str], String, &'a str);
        let checks: [Check<'_>; 3] = [
            (keepalived(), &["--config-test", "--use-file"], keepalived_conf, "virtual_ipaddress {"),
            (bird(), &["-p", "-c"], example("bird.conf", &[]), "neighbor"),
            (vtysh, &["-C", "-f"], example("frr.conf", &[]), "neighbor"),
        ];
        for (number, (program, arguments, text, broken)) in checks.into_iter().enumerate() {
            let file = write(folder, &format!("{number}.conf"), &text);
            let (good, said) = run(&program, &[arguments, &[file.to_str().unwrap()]].concat());
            assert!(good, "{program}: {said}");
            let file = write(folder, &format!("{number}.broken"), &text.replacen(broken, "nonsense", 1));
            let (good, said) = run(&program, &[arguments, &[file.to_str().unwrap()]].concat());
            assert!(!good, "{program} takes {broken:?} for nonsense: {said}");
        }
        // The unit starts the script as it is used here.
        let unit = example("ingressd-announce.service", &[]);
        assert!(unit.contains(&format!("ingressd-announce ingress0 {SHARED}/32 ")), "{unit}");
    });
}
