//! Checks the rest of this host: sockets, limits, confinement, the daemon.

use std::net::{IpAddr, SocketAddr};

use super::nginx::nginx;
use super::pods::known;
use crate::doctor::facts::{Facts, Folder, Free, Holder, OpenFiles, OpenSocket};
use crate::doctor::report::{Found, Line, or_ok};
use ingressd_config::AskedOfNode;
use ingressd_model::finding::count;
use ingressd_nginx::Inside;

/// nginx's default of `worker_connections`.
const USUAL_CONNECTIONS: u64 = 512;

pub fn ports(facts: &Facts) -> Found {
    let gate = facts.settings.gate_options();
    let listeners = facts.settings.translate.listeners.all();
    let of_nginx = listeners.iter().flat_map(ingressd_model::Listener::sockets);
    let inside = Inside::ALL.map(|address| SocketAddr::new(address, gate.passthrough_port));
    let inside = inside.into_iter().filter(|_| facts.settings.translate.passthrough);
    let of_nginx: Vec<_> = of_nginx.chain([gate.status]).chain(inside).collect();
    let daemon = facts.settings.http.address;
    let mut lines = Vec::new();
    let mut reported = Vec::new();
    for listener in &facts.listeners {
        let wanted = of_nginx.iter().find(|wanted| overlap(**wanted, listener.address));
        let line = match wanted {
            Some(wanted) => foreign(facts, listener, *wanted),
            None if overlap(daemon, listener.address) => not_daemon(facts, listener, daemon),
            None => None,
        };
        // A program usually listens on a port of both address families.
        if let Some((key, line)) = line
            && !reported.contains(&key)
        {
            reported.push(key);
            lines.push(line);
        }
    }
    if lines.is_empty() {
        let mut numbers: Vec<_> = of_nginx.iter().chain([&daemon]).map(SocketAddr::port).collect();
        numbers.dedup();
        let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        lines.push(Line::ok(format!("nobody else listens on {}", numbers.join(", "))));
    }
    lines.extend(without_layer(facts));
    Ok(lines)
}

/// What was judged by the settings alone.
pub fn without_layer(facts: &Facts) -> Option<Line> {
    let unread = facts.unread_layer.as_ref()?;
    Some(Line::note(format!(
        "addresses and ports are those of the settings, because what may say others was not read: {unread}"
    )))
}

type PortVerdict = ((u16, Vec<Holder>), Line);

/// A program that uses an address that nginx needs.
fn foreign(facts: &Facts, listener: &OpenSocket, wanted: SocketAddr) -> Option<PortVerdict> {
    let table = facts.master().ok();
    let is_nginx = |holder: &Holder| {
        table.is_some_and(|table| {
            table.master.pid == holder.pid || table.children.iter().any(|(child, _)| child.pid == holder.pid)
        })
    };
    if listener.holders.iter().any(is_nginx) {
        return None;
    }
    let key = (listener.address.port(), listener.holders.clone());
    let line = match &listener.holders[..] {
        [] if facts.is_root => Line::warning(
            format!(
                "somebody whom this host does not show listens on {}, which nginx needs for {wanted}",
                listener.address
            ),
            "look for a container or another network that shares the address",
        ),
        [] => Line::note(format!("somebody listens on {}; who it is, only root sees", listener.address)),
        holders => {
            let text = format!("{} listens on {}, which nginx needs for {wanted}", named(holders), listener.address);
            let remedy = match holders.iter().any(|holder| holder.name == "nginx") {
                true => {
                    "where it is the nginx of these settings, see nginx-running; otherwise choose another port or address in \
                     the section `listen` of ingressd.toml"
                }
                false => {
                    "let it listen elsewhere, or choose another port or address in the section `listen` of ingressd.toml"
                }
            };
            Line::error(text, remedy)
        }
    };
    Some((key, line))
}

/// A program that uses an address that our daemon needs. Its name is not enough, because there may
/// be several instances of ingressd.
fn not_daemon(facts: &Facts, listener: &OpenSocket, wanted: SocketAddr) -> Option<PortVerdict> {
    let is_daemon = |holder: &Holder| facts.daemon_process == Some(holder.pid);
    if listener.holders.is_empty() || listener.holders.iter().any(is_daemon) {
        return None;
    }
    let (who, address) = (named(&listener.holders), listener.address);
    let text = format!("{who} listens on {address}, which ingressd needs for {wanted}");
    let line = match listener.holders.iter().any(|holder| holder.name == "ingressd") {
        true => Line::error(
            format!("{text}, and does not answer on the control socket of these settings"),
            "give each instance an http.address of its own; or restart the daemon, when it is that of these settings",
        ),
        false => {
            Line::error(text, "let it listen elsewhere, or choose another address with http.address in ingressd.toml")
        }
    };
    Some(((listener.address.port(), listener.holders.clone()), line))
}

fn named(holders: &[Holder]) -> String {
    let names: Vec<_> = holders.iter().map(|holder| format!("{} (process {})", holder.name, holder.pid)).collect();
    names.join(", ")
}

/// Whether two programs cannot listen on both. An IPv6 socket for all addresses may accept IPv4
/// too.
fn overlap(wanted: SocketAddr, taken: SocketAddr) -> bool {
    let any = |address: IpAddr| address.is_unspecified();
    let alike = wanted.is_ipv4() == taken.is_ipv4();
    wanted.port() == taken.port()
        && match (any(wanted.ip()), any(taken.ip())) {
            (_, true) => alike || taken.is_ipv6(),
            (true, false) => alike,
            (false, false) => wanted.ip() == taken.ip(),
        }
}

pub fn limits(facts: &Facts) -> Found {
    let nginx = nginx(facts)?;
    let said = nginx.survey.other_sites.worker_connections.map(u64::from);
    let connections = said.unwrap_or(USUAL_CONNECTIONS);
    let inherited = nginx.master_files.map_or(0, |files| files.open);
    let mut lines = Vec::new();
    // A reload opens the sockets and logs of the new configuration beside those of the old one.
    if let Some(OpenFiles { open, limit }) = nginx.master_files.filter(|files| files.limit < 2 * files.open) {
        let unit = facts.settings.nginx.unit.as_deref().unwrap_or("nginx.service");
        lines.push(Line::warning(
            format!("nginx's master has {open} of {limit} files open, and a reload may need as many again"),
            format!("set LimitNOFILE={} with `systemctl edit {unit}`, which counts from its next start", 4 * open),
        ));
    }
    match nginx.worker_files {
        None => lines.push(Line::note(format!(
            "workers may have {connections} connections; how many files they may open is seen when nginx runs"
        ))),
        // What the master has open, its workers have open too: sockets and logs.
        Some(files) if files < connections + inherited => lines.push(Line::warning(
            format!(
                "workers may have {connections} connections, but only {files} files open, {inherited} of which are sockets \
                 and logs"
            ),
            format!(
                "write `worker_rlimit_nofile {};` into nginx.conf, outside of every block, and reload nginx",
                2 * (connections + inherited)
            ),
        )),
        Some(files) => {
            lines.push(Line::ok(format!("workers may have {connections} connections and {files} files open")));
        }
    }
    if let Some(Ok(objects)) = &facts.objects {
        let needed = 2 * objects.upstreams as u64;
        if facts.settings.gate.upstream_keepalive > 0 && connections < needed {
            lines.push(Line::warning(
                format!(
                    "{connections} connections are few for {} with {}: each worker keeps idle ones to each",
                    count(objects.hosts, "host", "hosts"),
                    count(objects.upstreams, "Service", "Services")
                ),
                format!(
                    "set worker_connections to at least {} and worker_rlimit_nofile to twice that in nginx.conf",
                    2 * needed
                ),
            ));
        }
    }
    Ok(lines)
}

pub fn status_page(facts: &Facts) -> Found {
    let http = &facts.settings.http;
    let Some(files) = http.page_files() else {
        let others =
            if http.remote { "other machines read health and metrics alone" } else { "only this host reads it" };
        return Err(Line::ok(format!("{others}: no http.certificate is set")));
    };
    let faults = facts.page_faults.iter().flatten();
    let lines: Vec<_> = faults
        .map(|fault| match fault.is_used {
            true => Line::warning(&fault.what, &fault.remedy),
            false => Line::error(&fault.what, &fault.remedy),
        })
        .collect();
    let asked = [(&files.authorities, "a certificate"), (&files.passwords, "a name and a password")];
    let asked: Vec<_> = asked.iter().filter(|(file, _)| file.is_some()).map(|(_, what)| *what).collect();
    or_ok(lines, format!("other machines see it over TLS with {}", asked.join(", and ")))
}

/// What has to be free in a folder for changes and logs of some days.
const ROOM: Free = Free { bytes: 16 << 20, inodes: Some(1000), read_only: false };

pub fn room(facts: &Facts) -> Found {
    if facts.folders.is_empty() {
        return Err(Line::note("not looked at: no folder is known that is written"));
    }
    let lines: Vec<_> = facts.folders.iter().filter_map(cramped).collect();
    let folders: Vec<_> = facts.folders.iter().map(|folder| folder.path.display().to_string()).collect();
    or_ok(lines, format!("there is room in {}", folders.join(", ")))
}

/// A line about a folder in which there is little room, or none.
fn cramped(Folder { path, purpose, free }: &Folder) -> Option<Line> {
    let place = format!("{} ({purpose})", path.display());
    let free = match free {
        Ok(free) => free,
        Err(why) => return Some(Line::note(format!("{place}: how much is free is not known: {why}"))),
    };
    if free.read_only {
        let remedy = "mount its file system writable, or let the settings name another folder";
        return Some(Line::error(format!("{place} cannot be written: its file system is read-only"), remedy));
    }
    let text = match (free.bytes < ROOM.bytes, free.inodes < ROOM.inodes && free.inodes.is_some()) {
        (true, _) => format!("{place}: {} KiB are free", free.bytes / 1024),
        (_, true) => format!("{place}: {} can be made", count(free.inodes.unwrap_or_default(), "file", "files")),
        _ => return None,
    };
    let remedy =
        "free space on its file system: where a log grew, rotate it; what ingressd wrote is cleaned up by itself";
    Some(match (free.bytes, free.inodes) {
        (0, _) | (_, Some(0)) => Line::error(text, remedy),
        _ => Line::warning(text, remedy),
    })
}

pub fn nginx_conf(facts: &Facts) -> Found {
    let Some((namespace, name)) = &facts.settings.ingress_nginx.config_map else {
        return Err(Line::ok("no ConfigMap of an ingress-nginx is named that could ask anything of nginx.conf"));
    };
    let (nginx, objects) = (nginx(facts)?, known(facts)?);
    let main = nginx.layout.configuration.display().to_string();
    let judge = |asked: &AskedOfNode| {
        let judged = asked.judge(&nginx.survey.other_sites, &main, nginx.worker_files);
        (!judged.is_met)
            .then(|| Line::warning(format!("{asked} asks for something else: {}", judged.says), judged.remedy))
    };
    let lines: Vec<_> = objects.asked.iter().filter_map(judge).collect();
    or_ok(lines, format!("{main} does everything that ConfigMap {namespace}/{name} asks of it"))
}

pub fn confinement(facts: &Facts) -> Found {
    let found = &facts.confinement;
    let mut lines = Vec::new();
    match (found.selinux_enforces, found.may_connect) {
        (Some(true), Some(false)) => lines.push(Line::error(
            "SELinux enforces, and does not let nginx connect to backends",
            "setsebool -P httpd_can_network_connect 1",
        )),
        (Some(true), _) => lines.push(Line::ok("SELinux enforces, and lets nginx connect to backends")),
        (Some(false), _) => lines.push(Line::note("SELinux only warns (permissive)")),
        (None, _) => {}
    }
    if let Some(profile) = &found.apparmor {
        lines.push(Line::note(format!("AppArmor has a profile for nginx: {profile}")));
    }
    if let Some(last) = found.denials.last() {
        lines.push(Line::warning(
            format!(
                "{} nginx or ingressd within a day; the last is: {last}",
                count(found.denials.len(), "denial concerns", "denials concern")
            ),
            "allow what they name: SELinux by a module of audit2allow, AppArmor in /etc/apparmor.d/local",
        ));
    }
    or_ok(lines, "neither SELinux nor AppArmor confines nginx, and no denial of the last day can be seen")
}

pub fn daemon(facts: &Facts) -> Found {
    let Some(status) = &facts.daemon else {
        let socket = facts.settings.control_socket.display();
        if !facts.is_root {
            return Err(Line::note(format!("not looked at: only root may ask the daemon on {socket}")));
        }
        return Err(match facts.has_generation {
            true => Line::warning(
                format!(
                    "no daemon answers on {socket}: nginx goes on with what it has, and nothing that changes is served"
                ),
                "`systemctl status ingressd` says why it ended, `systemctl enable --now ingressd` starts it",
            ),
            false => Line::note(format!("no daemon answers on {socket}; `systemctl enable --now ingressd` starts it")),
        });
    };
    let (phase, generation) = (status["phase"].as_str().unwrap_or("unknown"), &status["generation"]);
    let mut lines = Vec::new();
    if let Some(pinned) = status["pinned"]["generation"].as_u64() {
        let text = format!("it stays at generation {pinned}, and nothing that changes is applied");
        lines.push(Line::warning(text, "ingressd resume"));
    }
    if status["drained"] == true {
        let text = "this node is drained: its addresses are published nowhere";
        lines.push(Line::warning(text, "ingressd undrain, when it is to be used again"));
    }
    let failure = status["why"].as_str().filter(|_| phase != "serving" && status["ready"] == true);
    if let Some(why) = failure {
        let text = format!("it runs ({phase}), and nginx serves generation {generation}, but no change: {why}");
        lines.push(Line::error(text, "`ingressd status` lists what is wrong; the change is tried again by itself"));
        return Ok(lines);
    }
    if status["ready"] == true {
        lines.push(Line::ok(format!("it runs ({phase}), and nginx serves generation {generation}")));
        return Ok(lines);
    }
    let why = status["why"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
    let text = format!("it runs ({phase}), but nginx does not serve a confirmed generation{why}");
    lines.push(Line::warning(text, "ingressd status; journalctl --unit ingressd"));
    Ok(lines)
}
