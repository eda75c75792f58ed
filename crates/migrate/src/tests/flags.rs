//! Every flag with a value: the drop-in has the setting with it, or says why there is none.

use std::collections::BTreeSet;

use super::*;

/// Settings with their values.
type Expected = &'static [(&'static str, &'static str)];

/// Flags with a setting: the argument, the settings that come of it with their values, and how
/// that compares. Of a class the value is a part.
const SET: &[(&str, Expected, Verdict)] = &[
    ("--annotations-prefix=edge.example/", &[("classes", "annotations-prefix = edge.example,")], Verdict::Equal),
    ("--bind-addresses=192.0.2.1,2001:db8::1", &[("listen.addresses", "192.0.2.1, 2001:db8::1")], Verdict::Equal),
    ("--configmap=edge/all", &[("ingress-nginx.configmap", "edge/all")], Verdict::Equal),
    ("--controller-class=edge.example/a", &[("classes", "controller = edge.example/a,")], Verdict::Equal),
    ("--default-backend-service=edge/errors", &[("default-backend", "edge/errors")], Verdict::Equal),
    ("--default-ssl-certificate=edge/pair", &[("tls.default-certificate", "edge/pair")], Verdict::Equal),
    ("--disable-catch-all", &[("hosts.disable-catch-all", "true")], Verdict::Equal),
    ("--disable-svc-external-name=T", &[("upstreams.external-names", "false")], Verdict::Equal),
    ("--election-ttl=45s", &[("publish.lease-duration", "45s")], Verdict::Different),
    ("--enable-ssl-passthrough", &[("tls.passthrough", "true")], Verdict::Equal),
    ("--healthz-port=10300", &[("http.address", "127.0.0.1:10300")], Verdict::Stricter),
    ("--http-port=8080", &[("listen.http-port", "8080")], Verdict::Equal),
    ("--https-port=8443", &[("listen.https-port", "8443")], Verdict::Equal),
    ("--ingress-class=edge", &[("classes", "legacy-class = edge ")], Verdict::Equal),
    ("--ingress-class-by-name", &[("classes", "class-name = nginx,")], Verdict::Equal),
    (
        "--publish-service=edge/front",
        &[("publish.mode", "service"), ("publish.service", "edge/front")],
        Verdict::Different,
    ),
    (
        "--publish-status-address=192.0.2.1,lb.example",
        &[("publish.mode", "fixed"), ("publish.addresses", "192.0.2.1, lb.example")],
        Verdict::Equal,
    ),
    ("--report-node-internal-ip-address", &[("publish.addresses", "node:InternalIP")], Verdict::Equal),
    ("--status-port=10301", &[("listen.status", "127.0.0.1:10301")], Verdict::Equal),
    ("--sync-rate-limit=0.5", &[("pacing.spacing", "2000ms")], Verdict::Equal),
    ("--tcp-services-configmap=edge/tcp", &[("ingress-nginx.tcp-services-configmap", "edge/tcp")], Verdict::Equal),
    ("--udp-services-configmap=edge/udp", &[("ingress-nginx.udp-services-configmap", "edge/udp")], Verdict::Equal),
    ("--watch-ingress-without-class", &[("classes", "without-class = true")], Verdict::Equal),
    ("--watch-namespace=shop", &[("namespaces", "shop")], Verdict::Equal),
    ("--watch-namespace-selector=team=a", &[("namespace-selector", "team=a")], Verdict::Equal),
];

/// Flags without one, with a value, and a word of the reason.
const NOT_SET: &[(&str, &str, Verdict)] = &[
    (
        "add_dir_header=true alsologtostderr=true log_backtrace_at=a.go:1 log_dir=/x log_file=/x log_file_max_size=1 \
         logtostderr=false one_output=true skip_headers=true skip_log_headers=true stderrthreshold=1 v=5 vmodule=a=1",
        "journal",
        Verdict::Equal,
    ),
    ("apiserver-host=https://a certificate-authority=/x kubeconfig=/x", "`ingressd kubeconfig`", Verdict::Equal),
    ("deep-inspect=false enable-annotation-validation=false", "always parsed", Verdict::Refused),
    (
        "default-server-port=1 dynamic-configuration-retries=1 internal-logger-address=a profiler-port=1 profiling=false \
         stream-port=1",
        "internal port",
        Verdict::Equal,
    ),
    (
        "disable-full-test=true validating-webhook=:1 validating-webhook-certificate=/x validating-webhook-key=/x",
        "`ingressd admission`",
        Verdict::Equal,
    ),
    ("disable-leader-election=true election-id=a", "`publish.lease`", Verdict::Equal),
    ("disable-sync-events=true", "`publish.events`", Verdict::Equal),
    (
        "enable-dynamic-certificates=false enable-dynamic-configuration=false sort-backends=true",
        "removed it",
        Verdict::Equal,
    ),
    ("enable-metrics=false exclude-socket-metrics=a monitor-max-batch-size=1", "always served", Verdict::Equal),
    ("force-namespace-isolation=true", "`cross-namespace`", Verdict::Equal),
    ("health-check-path=/x", "`/healthz`", Verdict::Equal),
    ("post-shutdown-grace-period=1 shutdown-grace-period=1", "`ingressd drain`", Verdict::Equal),
    ("ssl-passthrough-proxy-port=1", "both kinds", Verdict::Equal),
    ("status-update-interval=1", "`publish.status-rate`", Verdict::Equal),
    ("sync-period=1h", "resynchronization", Verdict::Equal),
    ("update-status=false", "`publish.hold`", Verdict::Equal),
    ("update-status-on-shutdown=false", "`publish.grace-period`", Verdict::Equal),
    ("version=true", "`ingressd --version`", Verdict::Equal),
    (
        "bucket-factor=1 length-buckets=1 metrics-per-host=false metrics-per-undefined-host=true \
         report-status-classes=true size-buckets=1 time-buckets=1",
        "traffic.ingress-nginx-names",
        Verdict::Refused,
    ),
    ("enable-ssl-chain-completion=true", "into the Secret", Verdict::Refused),
    ("enable-topology-aware-routing=true", "no zone", Verdict::Refused),
    ("healthz-host=192.0.2.1", "`http.remote`", Verdict::Refused),
    (
        "maxmind-edition-ids=a maxmind-license-key=a maxmind-mirror=a maxmind-retries-count=1 maxmind-retries-timeout=1",
        "`geoip2.databases`",
        Verdict::Refused,
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
