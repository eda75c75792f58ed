//! Converts values of ingress-nginx's ConfigMap to values of settings and directives. It must not
//! know the keys.

use std::net::IpAddr;

use super::keys::Statement;
use crate::settings::Settings;
use ingressd_model::{Argument, Origin, Refused, WrittenAt, catalogue};
use ingressd_translate::value::{boolean, byte_size, integer};
use ingressd_translate::{ANNOTATIONS, OptionEntry};

/// The value unchanged, where the setting has the same form.
pub fn same(value: &str) -> Result<String, Refused> {
    Ok(value.trim().to_owned())
}

/// What a key switches off, a setting switches on.
pub fn inverted(value: &str) -> Result<String, Refused> {
    boolean(value).map(|is_off| (!is_off).to_string())
}

pub fn only_ipv4(settings: &mut Settings, _: &mut Vec<OptionEntry>, origin: &Origin) {
    let addresses = &mut settings.translate.listeners.addresses;
    // Without any server no name could be resolved.
    if addresses.iter().any(IpAddr::is_ipv4) {
        addresses.retain(IpAddr::is_ipv4);
        let left = addresses.clone();
        settings.written.say_list("listen.addresses", &left, WrittenAt::Object(origin.clone()));
    }
}

pub fn retry_all(_: &mut Settings, defaults: &mut Vec<OptionEntry>, origin: &Origin) {
    const ALL: &str = "non_idempotent";
    let Some(row) = ANNOTATIONS.find("proxy-next-upstream") else { return };
    match defaults.iter_mut().find(|default| default.row.key == row.key) {
        Some(default) if default.value.split_whitespace().any(|word| word == "off" || word == ALL) => {}
        Some(default) => {
            default.value = format!("{} {ALL}", default.value).into();
            default.at = origin.clone();
        }
        None => {
            let value = format!("{} {ALL}", row.default).into();
            defaults.push(OptionEntry { row, value, at: origin.clone() });
        }
    }
}

pub fn backend_server_header(value: &str) -> Result<Vec<Statement>, Refused> {
    let rows = [&catalogue::PROXY_PASS_HEADER, &catalogue::GRPC_PASS_HEADER];
    let says = |row| (row, vec![Argument::Word("Server")]);
    boolean(value).map(|is_on| rows.into_iter().filter(|_| is_on).map(says).collect())
}

/// Where logs may be written on a node: nginx opens them as root, and refuses the whole
/// configuration when it cannot.
const LOGS: &str = "/var/log/nginx/";

pub fn log_file(value: &str) -> Result<String, Refused> {
    let fits = |name: &str| {
        !name.starts_with('.') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    match value.trim().strip_prefix(LOGS).is_some_and(|name| !name.is_empty() && fits(name)) {
        true => Ok(value.trim().to_owned()),
        false => Err(Refused::because(
            "a ConfigMap may name only files in /var/log/nginx/; for other files set listen.access-log or \
                access-log.stream-path on each node",
        )),
    }
}

/// nginx connects as a user of the host, so the ConfigMap names no socket of it.
pub fn syslog_host(value: &str) -> Result<String, Refused> {
    match value.trim().starts_with("unix:") {
        true => Err(Refused::because(
            "a ConfigMap may name only an IP address; for a socket set access-log.syslog-address on each node",
        )),
        false => Ok(value.to_owned()),
    }
}

pub fn on_or_off(value: &str) -> Result<String, Refused> {
    boolean(value).map(|is_on| if is_on { "on" } else { "off" }.to_owned())
}

/// Threads write what does not fit into memory, or the worker does, whatever nginx.conf says.
pub fn threads(value: &str) -> Result<Vec<Statement>, Refused> {
    let is_on = boolean(value)?;
    let threads = is_on.then(|| (&catalogue::AIO, vec![Argument::Word("threads")]));
    Ok(threads.into_iter().chain([(&catalogue::AIO_WRITE, vec![Argument::Switch(is_on)])]).collect())
}

pub fn is_boolean(value: &str) -> Result<(), Refused> {
    boolean(value).map(drop)
}

/// 0 closes connections after each request.
pub fn keepalive(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Time(std::time::Duration::from_secs(integer(value, 0, 86_400)?))])
}

pub fn requests(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Number(integer(value, 1, 1_000_000_000)?)])
}

/// A larger buffer is memory that every client could occupy.
const LARGEST_HEADER: u64 = 1 << 20;

pub fn header_buffer(value: &str) -> Result<Vec<Argument>, Refused> {
    Ok(vec![Argument::Size(byte_size(value, 256, LARGEST_HEADER)?)])
}

pub fn header_buffers(value: &str) -> Result<Vec<Argument>, Refused> {
    let mut parts = value.split_whitespace();
    let (Some(number), Some(size), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(Refused::because("it is not a number and a size, such as 4 8k"));
    };
    let number = Argument::Number(integer(number, 1, 64)?);
    Ok(vec![number, Argument::Size(byte_size(size, 512, LARGEST_HEADER)?)])
}
