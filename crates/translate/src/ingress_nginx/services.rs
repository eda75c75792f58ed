//! Reads ConfigMaps with TCP and UDP services: a port of the host, and
//! `namespace/service:port[:PROXY[:PROXY]]`.

use std::sync::Arc;

use crate::options::StreamOptions;
use crate::read::port::PortReference;
use crate::read::stream::StreamClaim;
use crate::value::excerpt;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, Kind, ObjectId, Origin, Port, StreamPolicy, Transport};
use ingressd_objects::Snapshot;

/// The claims of the ConfigMaps that the settings name.
pub fn claims<'a>(
    snapshot: &'a Snapshot,
    options: &StreamOptions,
    findings: &mut Vec<Finding>,
) -> Vec<StreamClaim<'a>> {
    let mut claims = Vec::new();
    for (name, transport) in [(&options.tcp_services, Transport::Tcp), (&options.udp_services, Transport::Udp)] {
        let Some((namespace, name)) = name else { continue };
        let Some(stored) = snapshot.config_map(namespace, name) else {
            let origin = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, namespace, name)));
            let setting = if transport == Transport::Tcp { "tcp-services-configmap" } else { "udp-services-configmap" };
            let note = format!(
                "the setting ingress-nginx.{setting} names this ConfigMap, which does not exist; no {} service is \
                 served; create it, or remove the setting",
                transport.name()
            );
            findings.push(Finding::new(Reason::MissingConfigMap, origin, note));
            continue;
        };
        for (key, value) in stored.object.data.iter().flatten() {
            let origin = Origin::field(&stored.id, Field::Data(key.clone().into()));
            match claim(&origin, transport, key, value, &options.policy) {
                Ok(claim) => claims.push(claim),
                Err(note) => findings.push(Finding::new(Reason::InvalidValue, origin, note)),
            }
        }
    }
    claims
}

/// Parses one entry; the error contains the right form.
fn claim<'a>(
    origin: &Origin,
    transport: Transport,
    key: &str,
    value: &'a str,
    policy: &StreamPolicy,
) -> Result<StreamClaim<'a>, String> {
    // Two spellings of one number would be two entries for one port.
    let number = number(key).filter(|number| number.to_string() == key);
    let number = number.ok_or_else(|| format!("{} is no port: the key is a number from 1 to 65535", excerpt(key)))?;
    let form = || {
        format!(
            "{} is not of the form namespace/service:port, for TCP optionally with :PROXY or :PROXY:PROXY after it",
            excerpt(value)
        )
    };
    let mut parts = value.trim().split(':');
    let (namespace, service) = parts.next().and_then(|name| name.split_once('/')).ok_or_else(form)?;
    let port = parts.next().filter(|port| !port.is_empty()).ok_or_else(form)?;
    let port = match port.bytes().all(|byte| byte.is_ascii_digit()) {
        true => PortReference::Number(self::number(port).ok_or_else(form)?),
        false => PortReference::Name(port),
    };
    let (first, second) = (parts.next(), parts.next());
    let is_on = |word: Option<&str>| match word {
        None | Some("") => Some(false),
        Some(word) => word.eq_ignore_ascii_case("PROXY").then_some(true),
    };
    let (Some(accepts), Some(sends), None) = (is_on(first), is_on(second), parts.next()) else { return Err(form()) };
    if namespace.is_empty() || service.is_empty() {
        return Err(form());
    }
    if transport == Transport::Udp && (accepts || sends) {
        return Err("nginx has no PROXY protocol for UDP; remove it".to_owned());
    }
    Ok(StreamClaim {
        origin: origin.clone(),
        since: None,
        wanted: Port { transport, number },
        accepts_proxy_protocol: accepts,
        namespace,
        service,
        port,
        sends_proxy_protocol: sends,
        policy: policy.clone(),
    })
}

fn number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(transport: Transport, key: &str, value: &str) -> Result<String, String> {
        let origin = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, "a", "tcp")));
        claim(&origin, transport, key, value, &StreamPolicy::empty()).map(|claim| {
            let StreamClaim { wanted, accepts_proxy_protocol, namespace, service, port, sends_proxy_protocol, .. } =
                claim;
            let mark = |is_on, text| if is_on { text } else { "" };
            let (accepts, sends) = (mark(accepts_proxy_protocol, " in"), mark(sends_proxy_protocol, " out"));
            format!("{} {namespace} {service} {}{accepts}{sends}", wanted, port.written())
        })
    }

    #[test]
    fn every_form_of_an_entry_is_read() {
        for (value, expected) in [
            ("data/postgres:5432", "TCP port 7 data postgres 5432"),
            ("data/postgres:sql", "TCP port 7 data postgres \"sql\""),
            ("data/postgres:5432:PROXY", "TCP port 7 data postgres 5432 in"),
            ("data/postgres:5432:proxy:Proxy", "TCP port 7 data postgres 5432 in out"),
            ("data/postgres:5432::PROXY", "TCP port 7 data postgres 5432 out"),
            ("data/postgres:5432::", "TCP port 7 data postgres 5432"),
            (" data/postgres:5432\n", "TCP port 7 data postgres 5432"),
        ] {
            assert_eq!(read(Transport::Tcp, "7", value).as_deref(), Ok(expected), "{value}");
        }
        assert_eq!(read(Transport::Udp, "53", "kube-system/dns:53").as_deref(), Ok("UDP port 53 kube-system dns 53"));
    }

    #[test]
    fn what_is_not_of_the_form_is_refused_and_the_form_named() {
        for value in [
            "",
            ":",
            "/:1",
            "a:1",
            "a/:1",
            "/b:1",
            "a/b",
            "a/b:",
            "a/b:0",
            "a/b:65536",
            "a/b:99999999999",
            "a/b:1:PROXYY",
            "a/b:1:PROXY:PROXY:PROXY",
            "a/b:1:PROXY:yes",
            "a/b:1:PROXY:PROXY:",
        ] {
            let reported = read(Transport::Tcp, "7", value).unwrap_err();
            assert!(reported.contains("namespace/service:port"), "{value}: {reported}");
        }
        for key in ["", "0", "00", "07", "+7", "-7", "7 ", "65536", "http", "7;", "7 proxy_protocol", "٧"] {
            let reported = read(Transport::Tcp, key, "a/b:1").unwrap_err();
            assert!(reported.contains("from 1 to 65535"), "{key}: {reported}");
        }
        for value in ["a/b:53:PROXY", "a/b:53::PROXY"] {
            assert!(read(Transport::Udp, "53", value).unwrap_err().contains("UDP"), "{value}");
        }
        assert!(read(Transport::Udp, "53", "a/b:53::").is_ok());
    }
}
