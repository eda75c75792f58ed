//! Ways in which nginx.conf may do what a ConfigMap asks of it, or not.

use super::Row;
use super::facts::asks;
use crate::doctor::report::Level::{Note, Ok as Good, Warning};

pub const ROWS: &[Row] = &[
    (
        "nginx-conf",
        |facts| asks(facts, "worker-processes", "4", Some(("worker_processes", "auto"))),
        Warning,
        "key worker-processes of the ConfigMap asks for something else: /etc/nginx/nginx.conf:3 says `worker_processes \
         auto;` -> write `worker_processes 4;` there",
    ),
    (
        "nginx-conf",
        |facts| asks(facts, "max-worker-connections", "16384", None),
        Warning,
        "/etc/nginx/nginx.conf does not have it -> write `worker_connections 16384;` into /etc/nginx/nginx.conf, in the block events",
    ),
    ("nginx-conf", |facts| asks(facts, "max-worker-open-files", "8192", None), Good, "ConfigMap edge/controller"),
    (
        "nginx-conf",
        |facts| asks(facts, "worker-processes", "4", Some(("worker_processes", "4"))),
        Good,
        "does everything",
    ),
    (
        "nginx-conf",
        |facts| {
            asks(facts, "worker-processes", "4", None);
            facts.objects = None;
        },
        Note,
        "not looked at",
    ),
];
