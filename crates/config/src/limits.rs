//! The keys of the section `limits`.

use config::Value;

use super::table::{SettingRow, row};
use super::value::{count, put};
use ingressd_translate::Scope;

/// Bytes of a mebibyte.
const MIB: u64 = 1 << 20;

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    row!("limits.paths-of-host", Scope::Node, "10000", translate.limits.paths_of_host, count)
        .doc("How many paths a namespace may have on one host; those of its oldest objects take precedence. Further paths are not served, or answer 503 where they would be protected."),
    row!("limits.findings-of-object", Scope::Node, "20", translate.limits.findings_of_object)
        .doc("How many findings of one object are reported, in Events, the journal, status and metrics. When there are more, the severest are reported, and the number of the others."),
    row!("limits.findings-of-namespace", Scope::Node, "200", translate.limits.findings_of_namespace)
        .doc("How many findings of one namespace `/status.json` shows, and how many lines about them the journal gets within a minute. When there are more, the severest are shown, and the number of the others. Of all namespaces together 2000 are shown, with a fair share for each. The setting does not limit Events, which are written for each namespace in turn."),
    row!("limits.names-of-namespace", Scope::Node, "500", translate.limits.names_of_namespace)
        .doc("How many names of Services of type ExternalName are resolved for one namespace. Names of Services that no served object refers to are not resolved. When there are more, the first in alphabetical order are resolved; the routes of the others answer 503, with a finding."),
    row!("limits.ports-of-namespace", Scope::Node, "20", translate.limits.ports_of_namespace)
        .doc("How many TCP and UDP ports of the node objects of one namespace may open by `stream-snippet`, of those that `snippets.allowed` lists. nginx counts each as one of a worker's connections."),
    row!("limits.addresses-of-name", Scope::Node, "64", translate.limits.addresses_of_name)
        .doc("How many addresses of one such name are used. When an answer has more, addresses that are in use stay in use, and there is a finding."),
    row!("limits.expressions-of-host", Scope::Node, "500", translate.limits.expressions_of_host)
        .doc("How many paths of one namespace on one host may be regular expressions: nginx tries them one after the other for each request. An expression that may scan a path repeatedly counts as more than one, from 25 to 250. So all expressions of one namespace on one host delay a request by 100 ms at most, whatever its path."),
    row!("limits.body-size", Scope::Node, r#""16g""#, translate.limits.body_size)
        .doc("Ceiling for the annotation `proxy-body-size`, 0 for none: nginx stores the body of a request on the disk of this host, which all namespaces share. Registries and file stores that ask for unlimited bodies (0) get this size, which few layers and files reach. Where the authors of Ingresses are not trusted, set the size of your largest upload."),
    row!("limits.body-buffer", Scope::Node, r#""1m""#, translate.limits.body_buffer)
        .doc("Ceiling for the annotation `client-body-buffer-size`, 0 for none: memory of a worker for each request while its body arrives. A larger body goes to a file, so a small buffer costs little. The default of ingress-nginx is 8k, and few users need more than 1m."),
    row!("limits.answer-buffers", Scope::Node, r#""2m""#, translate.limits.answer_buffers)
        .doc("Ceiling for all buffers of one answer together (the annotations `proxy-buffers-number` times `proxy-buffer-size`), 0 for none: memory of a worker for each answer while it is sent. One buffer may have a quarter of it: large headers and cookies take 16k to 256k."),
    row!("limits.answer-file", Scope::Node, r#""1g""#, translate.limits.answer_file)
        .doc("Ceiling for the annotation `proxy-max-temp-file-size`, 0 for none: disk of this host for each answer to a slow client. The default is that of nginx. Answers may be larger: nginx then reads them from the backend only as fast as the client does."),
    row!("limits.timeout", Scope::Node, r#""24h""#, translate.limits.timeout)
        .doc("Ceiling for the annotations that set how long nginx waits for a backend, such as `proxy-read-timeout`, 0s for none. An idle connection keeps memory, and after a reload an old worker, for that time. WebSockets usually need an hour to a day."),
    row!("limits.tries", Scope::Node, "20", translate.limits.tries)
        .doc("Ceiling for the annotation `proxy-next-upstream-tries`, 0 for none: how many endpoints one request may be sent to, one after the other. The default of the annotation is 3."),
    row!("limits.stream-connections", Scope::Node, "50", gate.stream_percent, |percent, value| {
        put(percent, value)?;
        match percent {
            1..=100 => Ok(()),
            other => Err(format!("{other} is not within 1 to 100")),
        }
    })
        .doc("How many percent of a worker's connections (`worker_connections` in nginx.conf) all hosts of one namespace with TLS passthrough may take at once, or all services of its objects (`stream-snippet`), or one TCP or UDP service of the administrator. nginx closes further connections at once. A connection that is passed through takes four of them, of workers that may differ, and one to a TCP or UDP service two. So a backend that is slow, or that connects to its own host or port again and again, leaves the rest to everybody else."),
    row!("limits.requests-of-namespace", Scope::Node, "0", gate.requests_of_namespace)
        .doc("How many requests of one namespace nginx of this node works on at once, 0 for any number. nginx answers further ones with 503, or `limit-conn-status-code` of the ConfigMap, and without an error page of the namespace's own backend. A worker keeps as many idle connections to backends of the namespace at most, where `upstreams.keepalive` would keep more. A request takes two of a worker's connections (`worker_connections`), with `mirror-target` three, and idle ones come on top: with a fifth of them no namespace alone can take them all, however slow its backends are. Anybody who sends so many slow requests to a namespace keeps further clients from it, so the number has to be well above what the busiest one needs. It costs each request a lookup in memory that the workers share."),
    row!("limits.password-cost", Scope::Node, "10", translate.limits.password.cost, |cost, value| {
        put(cost, value)?;
        match cost {
            4..=14 => Ok(()),
            other => Err(format!("{other} is not within 4 to 14")),
        }
    })
        .doc("Highest cost of a password hash, as the cost of bcrypt, 4 to 14. nginx computes the hash for each request with a password, and that worker serves no other request meanwhile: 2 ms with cost 5, 62 with 10, 250 with 12. SHA-crypt with 5000 rounds counts as 8, and twice as many rounds as one more; yescrypt up to Debian's default counts as 8. Helm and Go write hashes of cost 10; use 8 where tenants or clients are hostile. Users with a more expensive hash are left out, with a finding."),
    row!("limits.passwords", Scope::Node, "5000", translate.limits.password.users)
        .doc("How many users one Secret with passwords may have: nginx reads the file from its start for each request. Further users are left out, with a finding."),
    row!("limits.object-paths", Scope::Node, "2000", translate.limits.object.paths, count)
        .doc("How many paths one Ingress may have. A version with more is not served: its last good version is, or else the object is left out."),
    row!("limits.object-list-entries", Scope::Node, "5000", translate.limits.object.list_entries, count)
        .doc("How many elements all comma-separated lists in the annotations of one Ingress may have together, such as allowed networks. The list that exceeds the limit counts as a bad value: one that protects routes closes them."),
    row!("limits.object-annotation-bytes", Scope::Node, "131072", translate.limits.object.annotation_bytes, count)
        .doc("How many bytes the value of one annotation may have. A longer one counts as a bad value."),
    row!("limits.object-origins", Scope::Node, "200", translate.limits.object.origins, count)
        .doc("How many origins `cors-allow-origin` of one Ingress may name: nginx tries one after the other. With more, no CORS headers are sent."),
    row!("limits.upstream-endpoints", Scope::Node, "2000", translate.limits.object.endpoints, count)
        .doc("How many endpoints of one port of a Service get requests. When there are more, their addresses decide which are used, so that the choice stays the same when endpoints are added or removed."),
    row!("limits.namespace-hosts", Scope::Node, "10000", translate.limits.namespace.hosts, count)
        .doc("How many hosts the Ingresses of one namespace may have. When this or another budget of a namespace is exceeded, its newest objects are left out, with a finding; paths that such an object protects answer 503 where other objects would take their requests."),
    row!("limits.namespace-routes", Scope::Node, "20000", translate.limits.namespace.routes, count)
        .doc("How many paths the Ingresses of one namespace may have."),
    row!("limits.namespace-upstreams", Scope::Node, "10000", translate.limits.namespace.upstreams, count)
        .doc("How many ports of Services the Ingresses of one namespace may refer to. Each of them is a file."),
    row!("limits.namespace-endpoints", Scope::Node, "50000", translate.limits.namespace.endpoints, count)
        .doc("How many endpoints all ports of Services together may have that the Ingresses of one namespace refer to. When there are more, the ports with the most endpoints use fewer, chosen as with `limits.upstream-endpoints`."),
    row!("limits.namespace-certificates", Scope::Node, "6000", translate.limits.namespace.certificates, count)
        .doc("How many Secrets with certificates the Ingresses of one namespace may name. nginx reads each of them at every reload, which takes some 2 ms."),
    row!("limits.namespace-files", Scope::Node, "40000", translate.limits.namespace.files, count)
        .doc("How many files the Ingresses of one namespace may need: one for each host, port of a Service, Secret, long list, set of origins, and object that limits its clients."),
    row!("limits.namespace-zones-mib", Scope::Node, "512", translate.limits.namespace.zones, mebibytes)
        .doc("Shared memory, in MiB, in which nginx counts the clients of Ingresses with limits, for one namespace. Each limit of an Ingress has 5 MiB (some 80000 clients). When these exceed the budget, each has half as much, and so on down to 80 KiB."),
    row!("limits.namespace-configuration-mib", Scope::Node, "128", translate.limits.namespace.configuration, mebibytes)
        .doc("Estimated size of the configuration, in MiB, for the Ingresses of one namespace: long texts in annotations count for each path."),
    row!("limits.namespace-memory-mib", Scope::Node, "2048", translate.limits.namespace.memory, mebibytes)
        .doc("Estimated memory, in MiB, of nginx's master for the Ingresses of one namespace. A reload needs twice as much. Where the setting has its default, a quarter of this host's memory is used if that is less: one namespace then never needs more than half of the memory, which leaves room for changes of others."),
    row!("limits.namespace-test-seconds", Scope::Node, "20", translate.limits.namespace.test, seconds)
        .doc("Estimated processor time, in seconds, that nginx needs to read the configuration for the Ingresses of one namespace. Each change in any namespace waits for a reload, which takes about twice as long. Where the setting has its default, a third of `apply.confirm-timeout` is used if that is less, which leaves time for changes of others."),
    row!("limits.node-configuration-mib", Scope::Node, "512", translate.limits.node.configuration, mebibytes)
        .doc("Estimated size of the configuration, in MiB, for the Ingresses of all namespaces together. When this or another total is exceeded, each namespace has a fair share of it: namespaces that need less keep everything, and the others have equal shares and lose their newest objects."),
    row!("limits.node-memory-mib", Scope::Node, "8192", translate.limits.node.memory, mebibytes)
        .doc("Estimated memory, in MiB, of nginx's master for the Ingresses of all namespaces together. While old workers finish their connections twice as much is needed: set less than half of the memory that the host has for nginx. Where the setting has its default, half of the memory of this host is used if that is less."),
    row!("limits.node-test-seconds", Scope::Node, "80", translate.limits.node.test, seconds)
        .doc("Estimated processor time, in seconds, that nginx needs to read the configuration for the Ingresses of all namespaces together. The estimate is some two to three times the real time. Each change waits for a reload, which has to end within `apply.confirm-timeout`. The time for variables (limits for clients, long lists, CORS for some origins, sessions, canaries, snippets) grows with their number among all namespaces, because nginx compares their names. Three namespaces with 5000 Ingresses each, all with certificates, limits for clients and CORS, need some 65 s."),
];

fn mebibytes(slot: &mut u64, value: &Value) -> Result<(), String> {
    count(slot, value)?;
    *slot = slot.saturating_mul(MIB);
    Ok(())
}

/// Seconds, which are stored as microseconds.
fn seconds(slot: &mut u64, value: &Value) -> Result<(), String> {
    count(slot, value)?;
    *slot = slot.saturating_mul(1_000_000);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use ingressd_translate::{bounds, budget_keys};

    #[test]
    fn budgets_are_never_without_a_bound() {
        let mut settings = Settings::default();
        for row in ROWS {
            let default = Value::from(row.default_value().expect("a default"));
            (row.set)(&mut settings, &default).expect("a default that is accepted");
            let is_budget =
                ["object-", "upstream-", "namespace-", "node-"].iter().any(|start| row.name().starts_with(start));
            assert!(!is_budget || (row.set)(&mut settings, &Value::from(0)).is_err(), "{}", row.key);
        }
    }

    /// Limits that leave nothing out: a value above them is reduced to them, or they bound
    /// reports.
    const CEILINGS: &[&str] = &[
        "limits.findings-of-object",
        "limits.findings-of-namespace",
        "limits.body-size",
        "limits.body-buffer",
        "limits.answer-buffers",
        "limits.answer-file",
        "limits.timeout",
        "limits.tries",
        "limits.stream-connections",
        "limits.requests-of-namespace",
        "limits.password-cost",
    ];

    #[test]
    fn every_limit_that_leaves_something_out_is_reported_before() {
        let mut reported: Vec<_> = budget_keys().chain(bounds::ALL.iter().map(|bound| bound.key)).collect();
        reported.extend(CEILINGS);
        reported.sort_unstable();
        let mut keys: Vec<_> = ROWS.iter().map(|row| row.key).collect();
        keys.sort_unstable();
        assert_eq!(reported, keys);
    }
}
