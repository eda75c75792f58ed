//! Faults of the host: ports, room, limits and the daemon.

use serde_json::json;

use super::Row;
use super::facts::*;
use crate::doctor::facts::OpenFiles;
use crate::doctor::report::Level::{Error, Note, Ok as Good, Warning};

pub const ROWS: &[Row] = &[
    ("ports", |facts| facts.listeners.push(listener("0.0.0.0:443", 9, "haproxy")), Error, "haproxy (process 9)"),
    ("ports", |facts| facts.listeners.push(listener("[::]:443", 9, "haproxy")), Error, "haproxy"),
    ("ports", |facts| facts.listeners.push(listener("192.0.2.1:80", 9, "haproxy")), Error, "192.0.2.1:80"),
    ("ports", |facts| facts.listeners.push(listener("0.0.0.0:8080", 9, "haproxy")), Good, "nobody else"),
    ("ports", |facts| facts.listeners.push(listener("127.0.0.1:10246", 9, "other")), Error, "10246"),
    ("ports", |facts| facts.listeners[1] = listener("127.0.0.1:10254", 9, "other"), Error, "http.address"),
    // The daemon of another instance uses our address: ours cannot start, or runs without it.
    ("ports", |facts| facts.daemon_process = None, Error, "ingressd (process 7) listens on 127.0.0.1:10254"),
    ("ports", |facts| facts.listeners[1] = listener("127.0.0.1:10254", 9, "ingressd"), Error, "http.address"),
    ("ports", |facts| nginx(facts).master = Err("gone".into()), Error, "see nginx-running"),
    ("ports", |facts| no_nginx(facts, "line 3", Some("nginx.conf:3")), Good, "nobody else"),
    ("status-page", |_| {}, Good, "only this host reads it"),
    ("status-page", |facts| facts.settings.http.remote = true, Good, "health and metrics alone"),
    ("status-page", |facts| page(facts, None), Good, "over TLS with a certificate, and a name and a password"),
    ("status-page", |facts| page(facts, Some(false)), Error, "/p cannot be read"),
    ("status-page", |facts| page(facts, Some(true)), Warning, "/p cannot be read"),
    ("room", |facts| free(facts, 1 << 20, None, false), Warning, "generations): 1024 KiB are free"),
    ("room", |facts| free(facts, 0, None, false), Error, "free space"),
    ("room", |facts| free(facts, 1 << 40, Some(7), false), Warning, "7 files can be made"),
    ("room", |facts| free(facts, 1 << 40, Some(0), false), Error, "0 files can be made"),
    ("room", |facts| free(facts, 1 << 40, None, true), Error, "read-only"),
    ("room", |facts| facts.folders[0].free = Err("no".into()), Note, "is not known: no"),
    ("ports", |facts| facts.listeners[0].holders.clear(), Warning, "does not show"),
    (
        "ports",
        |facts| {
            facts.listeners[0].holders.clear();
            facts.is_root = false;
        },
        Note,
        "only root",
    ),
    ("ports", |facts| facts.unread_layer = Some("ConfigMap a/b: no".into()), Note, "was not read: ConfigMap a/b: no"),
    // nginx listens on one address, or one address family only: other sockets do not matter.
    ("ports", |facts| others(facts, "0.0.0.0", "[2001:db8::1]:443"), Good, "nobody else"),
    ("ports", |facts| others(facts, "0.0.0.0", "192.0.2.1:443"), Error, "haproxy"),
    ("ports", |facts| others(facts, "0.0.0.0", "[::]:443"), Error, "haproxy"),
    ("ports", |facts| others(facts, "::", "0.0.0.0:443"), Good, "nobody else"),
    ("ports", |facts| others(facts, "192.0.2.1", "192.0.2.9:443"), Good, "nobody else"),
    ("ports", |facts| others(facts, "192.0.2.1", "192.0.2.1:443"), Error, "haproxy"),
    ("ports", |facts| facts.listeners[0] = listener("0.0.0.0:80", MASTER + 1, "nginx"), Good, "nobody else"),
    ("limits", |facts| nginx(facts).worker_files = Some(4200), Good, "4200 files"),
    ("limits", |facts| nginx(facts).worker_files = Some(4096), Warning, "20 of which are sockets"),
    (
        "limits",
        |facts| nginx(facts).master_files = Some(OpenFiles { open: 600, limit: 1024 }),
        Warning,
        "LimitNOFILE=2400",
    ),
    (
        "limits",
        |facts| {
            objects(facts).upstreams = 3000;
            facts.settings.gate.upstream_keepalive = 0;
        },
        Good,
        "8192 files",
    ),
    ("limits", |facts| objects(facts).upstreams = 2048, Good, "8192 files"),
    ("limits", |facts| nginx(facts).worker_files = Some(1024), Warning, "worker_rlimit_nofile 8232"),
    ("limits", |facts| objects(facts).upstreams = 3000, Warning, "3000 Services"),
    (
        "limits",
        |facts| {
            nginx(facts).survey.other_sites.worker_connections = None;
            nginx(facts).worker_files = Some(511);
        },
        Warning,
        "512 connections",
    ),
    ("limits", |facts| nginx(facts).worker_files = None, Note, "when nginx runs"),
    ("daemon", |facts| facts.daemon = None, Warning, "nothing that changes is served"),
    ("daemon", |facts| (facts.daemon, facts.has_generation) = (None, false), Note, "no daemon answers"),
    (
        "daemon",
        |facts| facts.daemon = Some(json!({"phase": "serving", "ready": true, "pinned": {"generation": 5}})),
        Warning,
        "stays at generation 5",
    ),
    (
        "daemon",
        |facts| facts.daemon = Some(json!({"phase": "serving", "ready": true, "drained": true})),
        Warning,
        "is drained",
    ),
    (
        "daemon",
        |facts| facts.daemon = Some(json!({"phase": "nginx-down", "ready": false, "why": "it is down"})),
        Warning,
        "it is down",
    ),
    (
        "daemon",
        |facts| facts.daemon = Some(json!({"phase": "failed", "ready": true, "generation": 7, "why": "disk full"})),
        Error,
        "but no change: disk full",
    ),
    ("daemon", |facts| (facts.daemon, facts.is_root) = (None, false), Note, "only root may ask"),
];
