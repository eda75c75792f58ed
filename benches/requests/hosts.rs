//! Many hosts, each with a Service of one endpoint, as manifests and as a hand-written
//! configuration.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;

use super::wrk::CONNECTIONS;
use rig::ECHO;
use rig::manifests::{Manifests, classes, ingress, service_at};

/// The name of an application; in their order nginx has their upstreams in its list.
fn name(number: usize) -> String {
    format!("app-{number:05}")
}

/// The host of an application.
pub fn host(number: usize) -> String {
    format!("{}.bench.example", name(number))
}

/// The address of its only pod.
fn pod(number: usize) -> Ipv4Addr {
    let [.., high, low] = u32::try_from(number + 256).unwrap().to_be_bytes();
    Ipv4Addr::new(10, 244, high, low)
}

/// Writes an Ingress of the class, a Service and an EndpointSlice for each.
pub fn write(manifests: &Manifests, size: usize, class: &str) {
    manifests.write("classes.yaml", &classes());
    for number in 0..size {
        let name = name(number);
        let [service, slice] = service_at(&name, &[&pod(number).to_string()], ECHO);
        let object: Value = ingress(&name).class(class).host(&host(number), &name).build();
        manifests.write(&format!("{name}.yaml"), &[object, service, slice]);
    }
}

/// What answers for all pods: as little as nginx can do.
pub fn backends() -> String {
    format!("keepalive_requests 1000000;\nserver {{\n    listen {ECHO};\n    return 200 \"ok\";\n}}\n")
}

/// A server and an upstream for each host, the headers that nearly everybody sends, kept
/// connections, and nothing else.
pub fn hand_written(size: usize, address: SocketAddr) -> String {
    let mut text = String::from(
        "server_names_hash_max_size 16384;
server_names_hash_bucket_size 128;
proxy_http_version 1.1;
proxy_set_header Connection \"\";
proxy_set_header Host $host;
proxy_set_header X-Real-IP $remote_addr;
proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
proxy_set_header X-Forwarded-Proto $scheme;
",
    );
    for number in 0..size {
        let (name, host, pod) = (name(number), host(number), pod(number));
        let _ = write!(
            text,
            "upstream {name} {{
    server {pod}:{ECHO};
    keepalive {CONNECTIONS};
}}
server {{
    listen {address};
    server_name {host};
    location / {{
        proxy_pass http://{name};
    }}
}}
"
        );
    }
    text
}
