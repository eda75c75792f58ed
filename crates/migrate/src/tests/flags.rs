//! Every flag with a value: the drop-in has the setting with it, or says why there is none.

use std::collections::BTreeSet;

use super::*;

/// Settings with their values.
type Expected = &'static [(&'static str, &'static str)];

/// Flags with a setting: the argument, the settings that come of it with their values, and how
/// that compares. Of a class the value is a part.
const SET: &[(&str, Expected, Equivalence)] = &[
    ("--annotations-prefix=edge.example/", &[("classes", "annotations-prefix = edge.example,")], Equivalence::Equal),
    ("--bind-addresses=192.0.2.1,2001:db8::1", &[("listen.addresses", "192.0.2.1, 2001:db8::1")], Equivalence::Equal),
    ("--configmap=edge/all", &[("ingress-nginx.configmap", "edge/all")], Equivalence::Equal),
    ("--controller-class=edge.example/a", &[("classes", "controller = edge.example/a,")], Equivalence::Equal),
    ("--default-backend-service=edge/errors", &[("default-backend", "edge/errors")], Equivalence::Equal),
    ("--default-ssl-certificate=edge/pair", &[("tls.default-certificate", "edge/pair")], Equivalence::Equal),
    ("--disable-catch-all", &[("hosts.disable-catch-all", "true")], Equivalence::Equal),
    ("--disable-svc-external-name=T", &[("upstreams.external-names", "false")], Equivalence::Equal),
    ("--election-ttl=45s", &[("publish.lease-duration", "45s")], Equivalence::Different),
    ("--enable-ssl-passthrough", &[("tls.passthrough", "true")], Equivalence::Equal),
    ("--healthz-port=10300", &[("http.address", "127.0.0.1:10300")], Equivalence::Stricter),
    ("--http-port=8080", &[("listen.http-port", "8080")], Equivalence::Equal),
    ("--https-port=8443", &[("listen.https-port", "8443")], Equivalence::Equal),
    ("--ingress-class=edge", &[("classes", "legacy-class = edge ")], Equivalence::Equal),
    ("--ingress-class-by-name", &[("classes", "class-name = nginx,")], Equivalence::Equal),
    (
        "--publish-service=edge/front",
        &[("publish.mode", "service"), ("publish.service", "edge/front")],
        Equivalence::Different,
    ),
    (
        "--publish-status-address=192.0.2.1,lb.example",
        &[("publish.mode", "fixed"), ("publish.addresses", "192.0.2.1, lb.example")],
        Equivalence::Equal,
    ),
    ("--report-node-internal-ip-address", &[("publish.addresses", "node:InternalIP")], Equivalence::Equal),
    ("--status-port=10301", &[("listen.status", "127.0.0.1:10301")], Equivalence::Equal),
    ("--sync-rate-limit=0.5", &[("pacing.spacing", "2000ms")], Equivalence::Equal),
    ("--tcp-services-configmap=edge/tcp", &[("ingress-nginx.tcp-services-configmap", "edge/tcp")], Equivalence::Equal),
    ("--udp-services-configmap=edge/udp", &[("ingress-nginx.udp-services-configmap", "edge/udp")], Equivalence::Equal),
    ("--watch-ingress-without-class", &[("classes", "without-class = true")], Equivalence::Equal),
    ("--watch-namespace=shop", &[("namespaces", "shop")], Equivalence::Equal),
    ("--watch-namespace-selector=team=a", &[("namespace-selector", "team=a")], Equivalence::Equal),
];

/// Flags without one, with a value, and a word of the reason.
const NOT_SET: &[(&str, &str, Equivalence)] = &[
    (
        "add_dir_header=true alsologtostderr=true log_backtrace_at=a.go:1 log_dir=/x log_file=/x log_file_max_size=1 \
         logtostderr=false one_output=true skip_headers=true skip_log_headers=true stderrthreshold=1 v=5 vmodule=a=1",
        "journal",
        Equivalence::Equal,
    ),
    ("apiserver-host=https://a certificate-authority=/x kubeconfig=/x", "`ingressd kubeconfig`", Equivalence::Equal),
    ("deep-inspect=false enable-annotation-validation=false", "always parsed", Equivalence::Refused),
    (
        "default-server-port=1 dynamic-configuration-retries=1 internal-logger-address=a profiler-port=1 profiling=false \
         stream-port=1",
        "internal port",
        Equivalence::Equal,
    ),
    (
        "disable-full-test=true validating-webhook=:1 validating-webhook-certificate=/x validating-webhook-key=/x",
        "`ingressd admission`",
        Equivalence::Equal,
    ),
    ("disable-leader-election=true election-id=a", "`publish.lease`", Equivalence::Equal),
    ("disable-sync-events=true", "`publish.events`", Equivalence::Equal),
    (
        "enable-dynamic-certificates=false enable-dynamic-configuration=false sort-backends=true",
        "removed it",
        Equivalence::Equal,
    ),
    ("enable-metrics=false exclude-socket-metrics=a monitor-max-batch-size=1", "always served", Equivalence::Equal),
    ("force-namespace-isolation=true", "`cross-namespace`", Equivalence::Equal),
    ("health-check-path=/x", "`/healthz`", Equivalence::Equal),
    ("post-shutdown-grace-period=1 shutdown-grace-period=1", "`ingressd drain`", Equivalence::Equal),
    ("ssl-passthrough-proxy-port=1", "both kinds", Equivalence::Equal),
    ("status-update-interval=1", "`publish.status-rate`", Equivalence::Equal),
    ("sync-period=1h", "resynchronization", Equivalence::Equal),
    ("update-status=false", "`publish.hold`", Equivalence::Equal),
    ("update-status-on-shutdown=false", "`publish.grace-period`", Equivalence::Equal),
    ("version=true", "`ingressd --version`", Equivalence::Equal),
    (
        "bucket-factor=1 length-buckets=1 metrics-per-host=false metrics-per-undefined-host=true \
         report-status-classes=true size-buckets=1 time-buckets=1",
        "traffic.ingress-nginx-names",
        Equivalence::Refused,
    ),
    ("enable-ssl-chain-completion=true", "into the Secret", Equivalence::Refused),
    ("enable-topology-aware-routing=true", "no zone", Equivalence::Refused),
    ("healthz-host=192.0.2.1", "`http.remote`", Equivalence::Refused),
    (
        "maxmind-edition-ids=a maxmind-license-key=a maxmind-mirror=a maxmind-retries-count=1 maxmind-retries-timeout=1",
        "`geoip2.databases`",
        Equivalence::Refused,
    ),
];

fn of_table() -> impl Iterator<Item = &'static str> {
    NOT_SET.iter().flat_map(|(flags, ..)| flags.split_whitespace())
}

#[test]
fn every_flag_has_a_row() {
    let name = |argument: &'static str| argument.trim_start_matches("--").split('=').next().unwrap_or_default();
    let rows: Vec<_> = SET.iter().map(|(flag, ..)| name(flag)).chain(of_table().map(name)).collect();
    let all: BTreeSet<_> = rows.iter().copied().collect();
    assert_eq!(all.len(), rows.len(), "each once");
    assert_eq!(all, FLAGS.iter().map(|flag| flag.name).collect());
}

#[test]
fn a_flag_becomes_its_setting_with_its_value() {
    for (flag, expected, verdict) in SET {
        let written = drop_in(&controller(&[flag]));
        let read = Sources::load_text(&written.text).unwrap_or_else(|error| panic!("{flag}: {error}"));
        for (key, value) in *expected {
            let counts = read.effective(key).unwrap().counts.value;
            let is_right = if *key == "classes" { format!("{counts} ").contains(value) } else { *counts == **value };
            assert!(is_right, "{flag}: {key} is {counts}, not {value}");
            assert_ne!(counts, settings(&[]).effective(key).unwrap().counts.value, "{flag} changes {key}");
        }
        let [item] = &written.flags[..] else { panic!("{flag}: {:?}", written.flags) };
        assert_eq!((&*item.name, item.verdict), (*flag, *verdict), "{item:?}");
    }
}

#[test]
fn a_flag_without_a_setting_says_why_and_sets_nothing() {
    let plain = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let bare = plain(&drop_in(&controller(&[])).text);
    for (flags, why, verdict) in NOT_SET {
        for flag in flags.split_whitespace() {
            let written = drop_in(&controller(&[&format!("--{flag}")]));
            assert_eq!(plain(&written.text), bare, "{flag}");
            let [item] = &written.flags[..] else { panic!("{flag}: {:?}", written.flags) };
            assert_eq!(item.verdict, *verdict, "{item:?}");
            let reported = format!("{} {}", item.why, item.remedy);
            assert!(reported.contains(why) && written.text.contains(why), "{flag}: {reported}\n{}", written.text);
        }
    }
}
