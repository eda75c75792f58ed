//! The keys of the section `limits`.

use config::Value;

use super::table::Row;
use super::value::{Form, Setting as _, put};
use crate::translate::Scope;

/// Bytes of a mebibyte.
const MIB: u64 = 1 << 20;

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "limits.paths-of-host",
        scope: Scope::Node,
        form: Form::Number,
        default: "10000",
        doc: "How many paths of one host a namespace may have; those of its oldest objects count first. What is over it is not served, and answers 503 where it would be protected.",
        set: |settings, value| {
            let mut paths = 0;
            count(&mut paths, value)?;
            settings.translate.limits.paths_of_host = usize::try_from(paths).unwrap_or(usize::MAX);
            Ok(())
        },
    },
    Row {
        key: "limits.findings-of-object",
        scope: Scope::Node,
        form: Form::Number,
        default: "20",
        doc: "Findings of one object that are told: as Events, in the journal, in status and metrics. Of more, the severest are told, and how many others there are.",
        set: |settings, value| put(&mut settings.translate.limits.findings_of_object, value),
    },
    Row {
        key: "limits.findings-of-namespace",
        scope: Scope::Node,
        form: Form::Number,
        default: "200",
        doc: "Findings of one namespace that `/status.json` shows, and lines about them that the journal gets within a minute. Of more, the severest are shown, and how many others there are. Of all namespaces together 2000 are shown, each in its turn. Events are not bounded by it: they are written namespace by namespace in turn.",
        set: |settings, value| put(&mut settings.translate.limits.findings_of_namespace, value),
    },
    Row {
        key: "limits.names-of-namespace",
        scope: Scope::Node,
        form: Form::Number,
        default: "500",
        doc: "Names behind Services of type ExternalName that are resolved for one namespace. Those of Services to which nothing refers that is served are not resolved, unless they were before. Of more, the first in alphabetical order are resolved; the routes of the others answer 503, which is told.",
        set: |settings, value| put(&mut settings.translate.limits.names_of_namespace, value),
    },
    Row {
        key: "limits.addresses-of-name",
        scope: Scope::Node,
        form: Form::Number,
        default: "64",
        doc: "Addresses of one such name that are used. Of an answer with more, those that are in use stay, which is told.",
        set: |settings, value| put(&mut settings.translate.limits.addresses_of_name, value),
    },
    Row {
        key: "limits.expressions-of-host",
        scope: Scope::Node,
        form: Form::Number,
        default: "500",
        doc: "How many paths of one namespace on one host may be regular expressions: nginx tries them one after the other for each request. One that may look through a path again and again counts for more, from 25 to 250: those of one namespace on one host together take a request 100 ms at most, whatever its path consists of.",
        set: |settings, value| put(&mut settings.translate.limits.expressions_of_host, value),
    },
    Row {
        key: "limits.body-size",
        scope: Scope::Node,
        form: Form::Size,
        default: r#""16g""#,
        doc: "Ceiling for the annotation `proxy-body-size`, 0 for none: nginx collects the body of a request on the disk of this host, which all share. Registries and file stores that ask for unlimited bodies (0) get this much, which few layers and files reach; where those who write Ingresses are not trusted with the disk, set one that your largest upload needs.",
        set: |settings, value| put(&mut settings.translate.limits.body_size, value),
    },
    Row {
        key: "limits.body-buffer",
        scope: Scope::Node,
        form: Form::Size,
        default: r#""1m""#,
        doc: "Ceiling for the annotation `client-body-buffer-size`, 0 for none: memory of a worker for each request whose body is on its way. What is larger goes to a file, so a small buffer costs little; ingress-nginx has 8k, and 1m is the most that its users ask for in earnest.",
        set: |settings, value| put(&mut settings.translate.limits.body_buffer, value),
    },
    Row {
        key: "limits.answer-buffers",
        scope: Scope::Node,
        form: Form::Size,
        default: r#""2m""#,
        doc: "Ceiling for all buffers of one answer together (the annotations `proxy-buffers-number` times `proxy-buffer-size`), 0 for none: memory of a worker for each answer that is on its way. One buffer may be a quarter of it: large headers and cookies take 16k to 256k.",
        set: |settings, value| put(&mut settings.translate.limits.answer_buffers, value),
    },
    Row {
        key: "limits.answer-file",
        scope: Scope::Node,
        form: Form::Size,
        default: r#""1g""#,
        doc: "Ceiling for the annotation `proxy-max-temp-file-size`, 0 for none: disk of this host for each answer that its client takes slowly. It is nginx's own default; answers may be larger, nginx then reads on as the client takes them.",
        set: |settings, value| put(&mut settings.translate.limits.answer_file, value),
    },
    Row {
        key: "limits.timeout",
        scope: Scope::Node,
        form: Form::Duration,
        default: r#""24h""#,
        doc: "Ceiling for the annotations that say how long a backend is waited for, such as `proxy-read-timeout`, 0s for none. A connection that is silent for so long keeps memory, and after each reload a worker that would have ended. WebSockets ask for an hour to a day.",
        set: |settings, value| put(&mut settings.translate.limits.timeout, value),
    },
    Row {
        key: "limits.tries",
        scope: Scope::Node,
        form: Form::Number,
        default: "20",
        doc: "Ceiling for the annotation `proxy-next-upstream-tries`, 0 for none: how many endpoints one request may be sent to, one after the other. The default of the annotation is 3.",
        set: |settings, value| put(&mut settings.translate.limits.tries, value),
    },
    Row {
        key: "limits.password-cost",
        scope: Scope::Node,
        form: Form::Number,
        default: "10",
        doc: "What it may cost to verify one password, as the cost of bcrypt, 4 to 14. nginx computes the hash at each request with a password, and serves nobody else in that worker meanwhile: 2 ms with cost 5, 62 with 10, 250 with 12. SHA-crypt may have 5000 rounds where 8 is allowed, and twice as many for each one more; yescrypt up to its default of Debian takes 8. 10 is what Helm and Go make; 8 is wiser where tenants or clients are hostile. Users whose hash costs more are left out, with a finding.",
        set: |settings, value| {
            let cost = &mut settings.translate.limits.password.cost;
            put(cost, value)?;
            match cost {
                4..=14 => Ok(()),
                other => Err(format!("{other} is not within 4 to 14")),
            }
        },
    },
    Row {
        key: "limits.passwords",
        scope: Scope::Node,
        form: Form::Number,
        default: "5000",
        doc: "How many users one Secret with passwords may have: nginx reads the file from its start at each request. Those beyond are left out, with a finding.",
        set: |settings, value| put(&mut settings.translate.limits.password.users, value),
    },
    Row {
        key: "limits.object-paths",
        scope: Scope::Node,
        form: Form::Number,
        default: "2000",
        doc: "Paths that one Ingress may have. A version of it with more is not used: its last good version goes on being served, or the object is left out.",
        set: |settings, value| count(&mut settings.translate.limits.object.paths, value),
    },
    Row {
        key: "limits.object-list-entries",
        scope: Scope::Node,
        form: Form::Number,
        default: "5000",
        doc: "Elements that all comma-separated lists in the annotations of one Ingress may have together, such as networks that are let in. The list that goes beyond is as if it were wrong: one that protects routes closes them.",
        set: |settings, value| count(&mut settings.translate.limits.object.list_entries, value),
    },
    Row {
        key: "limits.object-annotation-bytes",
        scope: Scope::Node,
        form: Form::Number,
        default: "131072",
        doc: "Bytes that the value of one annotation that we read may have. A longer one is as if it were wrong.",
        set: |settings, value| count(&mut settings.translate.limits.object.annotation_bytes, value),
    },
    Row {
        key: "limits.object-origins",
        scope: Scope::Node,
        form: Form::Number,
        default: "200",
        doc: "Origins that `cors-allow-origin` of one Ingress may name: nginx tries one after the other. With more, no CORS headers are sent.",
        set: |settings, value| count(&mut settings.translate.limits.object.origins, value),
    },
    Row {
        key: "limits.upstream-endpoints",
        scope: Scope::Node,
        form: Form::Number,
        default: "2000",
        doc: "Endpoints of one port of a Service that requests are sent to. Of more, these many are used, chosen by their addresses, so that the choice stays when others come and go.",
        set: |settings, value| count(&mut settings.translate.limits.object.endpoints, value),
    },
    Row {
        key: "limits.namespace-hosts",
        scope: Scope::Node,
        form: Form::Number,
        default: "10000",
        doc: "Hosts that the Ingresses of one namespace may define. What goes beyond this or another budget of a namespace is left out, the newest objects first, and told of them; paths that such an object protects answer 503 where other objects would take their requests.",
        set: |settings, value| count(&mut settings.translate.limits.namespace.hosts, value),
    },
    Row {
        key: "limits.namespace-routes",
        scope: Scope::Node,
        form: Form::Number,
        default: "20000",
        doc: "Paths that the Ingresses of one namespace may have.",
        set: |settings, value| count(&mut settings.translate.limits.namespace.routes, value),
    },
    Row {
        key: "limits.namespace-upstreams",
        scope: Scope::Node,
        form: Form::Number,
        default: "10000",
        doc: "Ports of Services that the Ingresses of one namespace may refer to. Each is a file.",
        set: |settings, value| count(&mut settings.translate.limits.namespace.upstreams, value),
    },
    Row {
        key: "limits.namespace-endpoints",
        scope: Scope::Node,
        form: Form::Number,
        default: "50000",
        doc: "Endpoints of all ports of Services that the Ingresses of one namespace refer to. Of more, those ports that have the most use fewer, chosen as with `limits.upstream-endpoints`.",
        set: |settings, value| count(&mut settings.translate.limits.namespace.endpoints, value),
    },
    Row {
        key: "limits.namespace-certificates",
        scope: Scope::Node,
        form: Form::Number,
        default: "6000",
        doc: "Secrets with certificates that the Ingresses of one namespace may name. nginx reads each at every reload, for some 2 ms.",
        set: |settings, value| count(&mut settings.translate.limits.namespace.certificates, value),
    },
    Row {
        key: "limits.namespace-files",
        scope: Scope::Node,
        form: Form::Number,
        default: "40000",
        doc: "Files that the Ingresses of one namespace may cause: one for each host, port of a Service, Secret, long list, set of origins, and object that limits its clients.",
        set: |settings, value| count(&mut settings.translate.limits.namespace.files, value),
    },
    Row {
        key: "limits.namespace-zones-mib",
        scope: Scope::Node,
        form: Form::Number,
        default: "512",
        doc: "Shared memory, in MiB, in which the clients of Ingresses with limits are counted, for one namespace. Each limit of an Ingress has 5 MiB (some 80000 clients) while they fit; where there are more, each has half as much, and so on down to 80 KiB.",
        set: |settings, value| mebibytes(&mut settings.translate.limits.namespace.zones, value),
    },
    Row {
        key: "limits.namespace-configuration-mib",
        scope: Scope::Node,
        form: Form::Number,
        default: "128",
        doc: "Configuration, in MiB, that the Ingresses of one namespace may cause, as estimated before it is written: long texts in annotations count for each path.",
        set: |settings, value| mebibytes(&mut settings.translate.limits.namespace.configuration, value),
    },
    Row {
        key: "limits.namespace-memory-mib",
        scope: Scope::Node,
        form: Form::Number,
        default: "2048",
        doc: "Memory, in MiB, that nginx's master may need for what the Ingresses of one namespace cause, as estimated. While nginx reloads there is twice as much. Unless it is set to another number, a quarter of this host's memory where that is less: one namespace then never has more than half of it, so that changes of others always have room.",
        set: |settings, value| mebibytes(&mut settings.translate.limits.namespace.memory, value),
    },
    Row {
        key: "limits.namespace-test-seconds",
        scope: Scope::Node,
        form: Form::Number,
        default: "20",
        doc: "Seconds of a processor that nginx may need to read what the Ingresses of one namespace cause, as estimated. Each change of anybody waits for a reload, which takes about twice as long. Unless it is set to another number, a third of `apply.confirm-timeout` where that is less: the changes of others always have time left.",
        set: |settings, value| {
            count(&mut settings.translate.limits.namespace.test, value)?;
            let seconds = &mut settings.translate.limits.namespace.test;
            *seconds = seconds.saturating_mul(1_000_000);
            Ok(())
        },
    },
    Row {
        key: "limits.node-configuration-mib",
        scope: Scope::Node,
        form: Form::Number,
        default: "512",
        doc: "Configuration, in MiB, that the Ingresses of all namespaces may cause together, as estimated. Where they ask for more than this or another total, each namespace has a fair share of it: those that ask for less keep everything, and those that ask for more have as much as each other, and go without their newest objects.",
        set: |settings, value| mebibytes(&mut settings.translate.limits.node.configuration, value),
    },
    Row {
        key: "limits.node-memory-mib",
        scope: Scope::Node,
        form: Form::Number,
        default: "8192",
        doc: "Memory, in MiB, that nginx's master may need for what the Ingresses of all namespaces cause together, as estimated. While old workers finish their connections there is twice as much: set it to less than half of what the host has to spare. Unless it is set to another number, half of the memory of this host where that is less.",
        set: |settings, value| mebibytes(&mut settings.translate.limits.node.memory, value),
    },
    Row {
        key: "limits.node-test-seconds",
        scope: Scope::Node,
        form: Form::Number,
        default: "80",
        doc: "Seconds of a processor that nginx may need to read what the Ingresses of all namespaces cause together, as estimated, which is some two to three times what it takes. Each change of anybody waits for a reload, which has to end within `apply.confirm-timeout`. Four namespaces with 5000 Ingresses each, all with certificates, limits for clients and CORS, come to some 70.",
        set: |settings, value| {
            count(&mut settings.translate.limits.node.test, value)?;
            let seconds = &mut settings.translate.limits.node.test;
            *seconds = seconds.saturating_mul(1_000_000);
            Ok(())
        },
    },
];

fn count(slot: &mut u64, value: &Value) -> Result<(), String> {
    match u64::read(value)? {
        0 => Err("it takes at least 1".to_owned()),
        number => {
            *slot = number;
            Ok(())
        }
    }
}

fn mebibytes(slot: &mut u64, value: &Value) -> Result<(), String> {
    count(slot, value)?;
    *slot = slot.saturating_mul(MIB);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::translate::{bounds, budget_keys};

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

    /// What takes its ceiling where more is asked for, or bounds what is told: nothing is left
    /// out.
    const CEILINGS: &[&str] = &[
        "limits.findings-of-object",
        "limits.findings-of-namespace",
        "limits.body-size",
        "limits.body-buffer",
        "limits.answer-buffers",
        "limits.answer-file",
        "limits.timeout",
        "limits.tries",
        "limits.password-cost",
    ];

    #[test]
    fn every_limit_that_leaves_something_out_is_told_of_before() {
        let mut told: Vec<_> = budget_keys().chain(bounds::ALL.iter().map(|bound| bound.key)).collect();
        told.extend(CEILINGS);
        told.sort_unstable();
        let mut keys: Vec<_> = ROWS.iter().map(|row| row.key).collect();
        keys.sort_unstable();
        assert_eq!(told, keys);
    }
}
