//! The keys of the ConfigMap and their effects.

mod defaults;
mod snippets;

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;

use super::keys::{Effect, KEYS};
use super::*;
use ingressd_model::{Cidr, Protocols, StreamPolicy};
use ingressd_nginx::SyslogServer;
use ingressd_objects::Stored;
use ingressd_translate::annotation::Trust;
use ingressd_translate::{ANNOTATIONS, common};

pub fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.ingress_nginx.config_map = Some(("edge".into(), "controller".into()));
    settings
}

pub fn snapshot(data: &[(&str, &str)]) -> Snapshot {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let stored = Stored {
        id: Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller")),
        version: Version("1".into()),
        object: Arc::new(ConfigMap { data: Some(data.collect()), ..ConfigMap::default() }),
        published: None,
        place: None,
    };
    Snapshot { config_maps: vec![stored].into(), ..Snapshot::default() }
}

fn layered(data: &[(&str, &str)]) -> Layered {
    settings().layered(&snapshot(data))
}

fn reported(layered: &Layered) -> Vec<String> {
    layered
        .findings
        .iter()
        .map(|finding| format!("{} {} {}", finding.origin.field, finding.reason, finding.note))
        .collect()
}

#[test]
fn the_table_is_sorted_and_names_what_exists() {
    assert!(
        KEYS.is_sorted_by(|one, other| one.name < other.name) || {
            let wrong = KEYS.windows(2).find(|pair| pair[0].name >= pair[1].name);
            panic!("{wrong:?}")
        }
    );
    for key in KEYS {
        match key.effect {
            Effect::Annotation(name) => assert!(ANNOTATIONS.find(name).is_some(), "{name}"),
            Effect::Setting(name, _) => assert!(rows().any(|row| row.key == name), "{name}"),
            _ => {}
        }
    }
}

#[test]
fn keys_take_the_place_of_settings() {
    let layered = layered(&[
        ("hsts", "false"),
        ("hsts-max-age", "60"),
        ("http-redirect-code", "301"),
        ("use-http2", "false"),
        ("annotations-risk-level", "Medium"),
        ("allow-cross-namespace-resources", "true"),
        ("compute-full-forwarded-for", "true"),
        ("upstream-keepalive-connections", "7"),
        ("bind-address", "192.0.2.1,2001:db8::1"),
        ("ssl-protocols", "TLSv1.3"),
        ("ssl-ciphers", "HIGH:!aNULL"),
        ("proxy-stream-timeout", "30s"),
        ("proxy-stream-next-upstream", "false"),
        ("proxy-stream-next-upstream-timeout", "7s"),
        ("proxy-stream-next-upstream-tries", "5"),
        ("proxy-stream-responses", "0"),
        ("proxy-protocol-header-timeout", "5s"),
    ]);
    assert_eq!(reported(&layered), Vec::<String>::new());
    let Settings { translate, gate, .. } = layered.settings;
    assert_eq!((translate.hsts.enabled, translate.hsts.max_age), (Some(false), 60));
    assert_eq!((translate.redirect_status, translate.max_trust), (301, Trust::Medium));
    assert!(translate.cross_namespace && translate.append_forwarded_for);
    assert_eq!((gate.http2, gate.upstream_keepalive, translate.listeners.addresses.len()), (false, 7, 2));
    assert_eq!(gate.tls_protocols, Protocols::Tls13);
    let said: Vec<_> = translate.server_directives.iter().map(|directive| directive.row.name).collect();
    assert_eq!(said, ["ssl_ciphers", "ssl_prefer_server_ciphers"]);
    let seconds = std::time::Duration::from_secs;
    let expected = StreamPolicy {
        timeout: seconds(30),
        next_upstream: false,
        next_upstream_timeout: seconds(7),
        next_upstream_tries: 5,
        responses: 0,
        header_timeout: seconds(5),
        directives: Arc::default(),
    };
    assert_eq!(translate.streams.policy, expected);
}

#[test]
fn keys_about_logs_take_the_place_of_settings() {
    let layered = layered(&[
        ("log-format-upstream", "$remote_addr $status"),
        ("log-format-escape-json", "true"),
        ("access-log-path", "/var/log/nginx/a.log"),
        ("http-access-log-path", "/var/log/nginx/b.log"),
        ("access-log-params", "buffer=16k flush=5s"),
        ("skip-access-log-urls", "/healthz,~^/ping"),
        ("enable-syslog", "true"),
        ("syslog-host", "192.0.2.1"),
        ("syslog-port", "1514"),
        ("enable-auth-access-log", "true"),
        ("disable-access-log", "true"),
        ("disable-http-access-log", "false"),
    ]);
    assert_eq!(reported(&layered), Vec::<String>::new());
    let log = layered.settings.gate.access_log;
    assert_eq!((log.line.map(|line| line.parts().len()), log.json, log.enabled), (Some(3), true, false));
    assert!(log.questions);
    assert_eq!((log.path, log.unlogged.len()), (Some("/var/log/nginx/b.log".into()), 2));
    assert_eq!(
        (log.syslog, log.syslog_address, log.syslog_port),
        (true, Some(SyslogServer::Address([192, 0, 2, 1].into())), 1514)
    );
    assert_eq!(log.buffering.size, Some(ByteSize(16 << 10)));
}

#[test]
fn keys_about_few_routes_and_connections_count_as_they_are_written() {
    let key = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB";
    let layered = layered(&[
        ("access-log-path", "/var/log/nginx/a.log"),
        ("log-format-stream", "$remote_addr $status"),
        ("stream-access-log-path", "/var/log/nginx/s.log"),
        ("disable-stream-access-log", "true"),
        ("enable-access-log-for-default-backend", "false"),
        ("grpc-buffer-size-kb", "64"),
        ("default-type", "text/html"),
        ("gzip-disable", "msie6"),
        ("ssl-session-ticket-key", key),
        ("enable-aio-write", "true"),
    ]);
    assert_eq!(reported(&layered), Vec::<String>::new());
    let Settings { translate, gate, .. } = layered.settings;
    let streams = &gate.access_log.streams;
    assert_eq!((streams.enabled, gate.access_log.unknown_hosts), (false, false));
    assert_eq!(streams.path.as_deref(), Some("/var/log/nginx/s.log".as_ref()));
    assert_eq!(streams.line.as_ref().map(|line| line.parts().len()), Some(3));
    let global = &gate.global;
    assert_eq!(global.grpc_buffer, Some(ByteSize(64 << 10)));
    assert_eq!(global.default_type.as_ref().map(ingressd_model::Text::as_str), Some("text/html"));
    assert_eq!(global.uncompressed, None, "nothing is compressed");
    assert_eq!(global.ticket_key.as_ref().map(|key| key.bytes().to_vec()), Some(vec![b'A'; 48]));
    let said: Vec<_> = translate.server_directives.iter().map(|directive| directive.row.name).collect();
    assert_eq!(said, ["aio", "aio_write"]);
    assert!(!format!("{global:?}").contains("65, 65"), "a key is never printed");
}

#[test]
fn compression_is_said_as_a_whole_or_not_at_all() {
    let said = |data: &[(&str, &str)]| -> Vec<String> {
        let directives = layered(data).settings.translate.server_directives;
        directives.iter().map(|directive| format!("{} {}", directive.row.name, directive.arguments.len())).collect()
    };
    let all = ["gzip 1", "gzip_comp_level 1", "gzip_min_length 1", "gzip_proxied 1", "gzip_types 2", "gzip_vary 1"];
    assert_eq!(said(&[("use-gzip", "true"), ("gzip-types", "text/html text/css application/json")]), all);
    assert_eq!(said(&[("use-gzip", "false"), ("gzip-level", "5")]), Vec::<String>::new());
    assert_eq!(said(&[("gzip-level", "5")]), Vec::<String>::new());
    assert_eq!(said(&[("use-gzip", "true"), ("gzip-types", "*;")])[4], "gzip_types 17");
}

#[test]
fn a_config_map_with_headers_is_part_of_the_version_and_counts_before_settings() {
    let with = |version: &str, headers: &[(&str, &str)]| {
        let named = snapshot(&[("add-headers", "edge/headers")]);
        let mut stored = snapshot(headers).config_maps[0].clone();
        stored.id = Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "headers"));
        stored.version = Version(version.into());
        Snapshot { config_maps: vec![named.config_maps[0].clone(), stored].into(), ..Snapshot::default() }
    };
    let settings = settings();
    let (one, two) = (with("1", &[("X-A", "b"), ("Date", "x")]), with("2", &[("X-A", "b")]));
    assert_ne!(settings.layer_version(&one), settings.layer_version(&two));
    let layered = settings.layered(&one);
    assert_eq!(layered.settings.gate.global.answer_headers.len(), 1);
    let found = &layered.findings[0];
    assert_eq!((&*found.origin.object.name, found.reason), ("headers", Reason::InvalidValue));
}

#[test]
fn the_config_map_of_the_settings_needs_objects_of_its_own_namespace() {
    let named = |namespace: &str, data: &[(&str, &str)]| {
        let mut stored = snapshot(data).config_maps[0].clone();
        stored.id = Arc::new(ObjectId::new(Kind::CONFIG_MAP, namespace, &stored.id.name));
        let needs = settings().needs(ingressd_translate::Readers::default());
        needs.of(&stored).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let data = [
        ("add-headers", "edge/answers"),
        ("proxy-set-headers", "other/requests"),
        ("ssl-dh-param", " edge/exchange "),
        ("default-ssl-certificate", "edge/certificate"),
    ];
    assert_eq!(named("edge", &data), ["Secret edge/exchange", "ConfigMap edge/answers"]);
    assert_eq!(named("edge", &[("add-headers", "edge/../answers"), ("ssl-dh-param", "other/exchange")]), [""; 0]);
    assert_eq!(named("other", &[("add-headers", "other/answers")]), [""; 0], "it is another ConfigMap");
}

#[test]
fn a_value_that_cannot_be_used_leaves_the_setting_and_says_why() {
    for (key, value, why) in [
        ("http-redirect-code", "200", "301, 302, 307, 308"),
        ("log-format-upstream", "a $nonsense", "no variable"),
        ("access-log-path", "/etc/passwd", "listen.access-log"),
        ("access-log-path", "/var/log/nginx/../x", "listen.access-log"),
        ("access-log-path", "/dev/stdout", "listen.access-log"),
        ("access-log-params", "if=$x", "none of"),
        ("syslog-host", "logs.example.com", "IP address"),
        ("syslog-host", "unix:/run/x.sock", "IP address"),
        ("limit-req-status-code", "200", "400 to 599"),
        ("hide-headers", "X A", "letters, digits"),
        ("gzip-level", "10", "is refused"),
        ("gzip-types", "text", "media types"),
        ("ssl-buffer-size", "1g", "is refused"),
        ("add-headers", "headers", "namespace/name"),
        ("global-allowed-response-headers", "X A", "letters, digits"),
        ("forwarded-host-header", "X A", "letters, digits"),
        ("generate-request-id", "maybe", "not true or false"),
        ("disable-ipv6", "maybe", "not true or false"),
        ("retry-non-idempotent", "maybe", "not true or false"),
        ("proxy-protocol-header-timeout", "0s", "at once"),
        ("use-http2", "maybe", "not true or false"),
        ("annotations-risk-level", "Great", "none of low"),
        ("proxy-body-size", "huge", "is refused"),
        ("large-client-header-buffers", "4", "4 8k"),
        ("large-client-header-buffers", "4 8g", "is refused"),
        ("proxy-real-ip-cidr", "10.0.0.0/8, x", "is refused"),
        ("bind-address", "eth0", "is refused"),
        ("ssl-protocols", "TLSv1 TLSv1.3", "not safe"),
        ("ssl-ciphers", "HIGH;", "not a list of ciphers"),
        ("proxy-stream-timeout", "0s", "at once"),
        ("proxy-stream-responses", "-1", "is refused"),
        ("grpc-buffer-size-kb", "2048", "is refused"),
        ("grpc-buffer-size-kb", "4k", "is refused"),
        ("default-type", "text", "media types"),
        ("default-type", "text/css text/html text/plain", "a media type"),
        ("gzip-disable", "(a*)*(", "is refused"),
        ("enable-aio-write", "maybe", "not true or false"),
        ("enable-access-log-for-default-backend", "maybe", "not true or false"),
        ("log-format-stream", "$request", "no variable of nginx for TCP"),
        ("stream-access-log-path", "/etc/passwd", "access-log.stream-path"),
        ("ssl-dh-param", "exchange", "namespace/name"),
        ("ssl-session-ticket-key", "?", "base64"),
        ("ssl-session-ticket-key", "c2hvcnQ=", "48 or 80"),
    ] {
        let layered = layered(&[(key, value)]);
        let reported = reported(&layered);
        assert!(
            reported.len() == 1 && reported[0].contains("InvalidValue") && reported[0].contains(why),
            "{key}: {reported:?}"
        );
        let (before, after) = (settings(), layered.settings);
        assert_eq!(after.translate, before.translate, "{key}");
        assert_eq!(after.translate.listeners.addresses, before.translate.listeners.addresses, "{key}");
        let protects = [
            "annotations-risk-level",
            "bind-address",
            "forwarded-host-header",
            "global-allowed-response-headers",
            "hide-headers",
            "proxy-real-ip-cidr",
            "ssl-protocols",
        ];
        let protects = protects.contains(&key);
        assert_eq!(layered.refused.is_some(), protects, "{key}");
    }
}

#[test]
fn keys_that_have_no_effect_say_so() {
    let layered = layered(&[
        ("worker-processes", "4"),
        ("http-snippet", "deny all;"),
        ("server-tokens", "false"),
        ("proxy-bodysize", "1m"),
        ("enable-opentelemetry", "true"),
        ("keep-alive", ""),
        ("zipkin-collector-host", "zipkin"),
    ]);
    let reported = reported(&layered);
    let reasons: Vec<_> = layered.findings.iter().map(|finding| (finding.reason, finding.severity)).collect();
    assert_eq!(
        reasons,
        [
            (Reason::UnsupportedKey, Severity::Warning),
            (Reason::UnsupportedKey, Severity::Warning),
            (Reason::UnknownKey, Severity::Warning),
            (Reason::UnsupportedKey, Severity::Info),
            (Reason::UnsupportedKey, Severity::Info)
        ],
        "{reported:?}"
    );
    assert!(reported[2].contains("proxy-body-size") && reported[3].contains("`worker_processes 4;`"), "{reported:?}");
}

#[test]
fn what_protects_is_refused_as_a_whole_and_closes_meanwhile() {
    let layered = layered(&[("whitelist-source-range", "10.0.0.0/8, x"), ("proxy-body-size", "2m")]);
    assert_eq!(
        layered.refused,
        Some(RefusedVersion {
            id: Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller")),
            version: Version("1".into()),
            why: Reason::InvalidSecurityValue,
        })
    );
    assert_eq!(layered.findings[0].reason, Reason::InvalidSecurityValue);
    let defaults = &layered.settings.translate.defaults;
    assert_eq!(
        defaults.iter().map(|default| default.row.key).collect::<Vec<_>>(),
        ["proxy-body-size", "allowlist-source-range"]
    );
}

#[test]
fn forwarded_headers_of_listed_proxies_are_trusted() {
    let trusted = |data: &[(&str, &str)]| layered(data).settings.translate.trusted_proxies;
    let one = address_list("10.0.0.0/8").unwrap();
    assert_eq!(trusted(&[("use-forwarded-headers", "true"), ("proxy-real-ip-cidr", "10.0.0.0/8")]), one);
    assert_eq!(trusted(&[("enable-real-ip", "true"), ("proxy-real-ip-cidr", "10.0.0.0/8")]), one);
    let only_addresses = |data: &[(&str, &str)]| layered(data).settings.translate.only_addresses;
    let [headers, address] = [("use-forwarded-headers", "true"), ("enable-real-ip", "true")];
    assert_eq!([&[headers][..], &[headers, address], &[address]].map(only_addresses), [false, false, true]);
    assert!(only_addresses(&[("use-forwarded-headers", "false"), address, ("proxy-real-ip-cidr", "10.0.0.0/8")]));
    assert_eq!(trusted(&[("proxy-real-ip-cidr", "10.0.0.0/8")]), []);
    assert_eq!(trusted(&[("use-forwarded-headers", "true"), ("proxy-real-ip-cidr", "x")]), []);
    let everybody = layered(&[("use-forwarded-headers", "true")]);
    assert_eq!((everybody.settings.translate.trusted_proxies.len(), everybody.findings.len()), (2, 1));
    let mut settings = settings();
    settings.translate.trusted_proxies = one.clone();
    let under = |data| settings.layered(&snapshot(data)).settings.translate.trusted_proxies;
    assert_eq!(under(&[("use-forwarded-headers", "true")]), one);
    assert_eq!(under(&[("use-forwarded-headers", "false")]), []);
    assert_eq!(under(&[]), one);
}

#[test]
fn the_proxy_protocol_of_listed_load_balancers_is_trusted() {
    let of = |layered: Layered| {
        let reported: Vec<_> = layered.findings.iter().map(|finding| finding.origin.field.to_string()).collect();
        (
            layered.settings.translate.listeners.proxy_protocol,
            layered.settings.translate.trusted_proxies,
            reported.join(" "),
        )
    };
    let [listed, own] = ["10.0.0.0/8", "192.0.2.1"].map(|text| address_list(text).unwrap());
    let everybody = address_list("0.0.0.0/0,::/0").unwrap();
    let [key, headers, list] = ["use-proxy-protocol", "use-forwarded-headers", "proxy-real-ip-cidr"];
    let mut with_own = settings();
    with_own.translate.trusted_proxies.clone_from(&own);
    let mut with_protocol = with_own.clone();
    with_protocol.translate.listeners.proxy_protocol = true;
    let (none, own_list) = (settings(), || own.clone());
    type Row<'r> = (&'r Settings, &'r [(&'r str, &'r str)], (bool, Vec<Cidr>, &'r str));
    let rows: &[Row<'_>] = &[
        (&none, &[(key, "true"), (list, "10.0.0.0/8")], (true, listed.clone(), "")),
        // As with ingress-nginx, all proxies are trusted without a list; here with a finding.
        (&none, &[(key, "true")], (true, everybody, "data[use-proxy-protocol]")),
        (&with_own, &[(key, "true")], (true, own_list(), "")),
        (&none, &[(key, "maybe")], (false, Vec::new(), "data[use-proxy-protocol]")),
        // The key about headers concerns headers only.
        (&none, &[(key, "true"), (list, "10.0.0.0/8"), (headers, "false")], (true, listed.clone(), "")),
        (
            &none,
            &[(key, "true"), (list, "10.0.0.0/8"), (headers, "true")],
            (true, listed.clone(), "data[use-forwarded-headers]"),
        ),
        (&with_protocol, &[(headers, "false")], (true, own_list(), "")),
        (&with_protocol, &[(list, "10.0.0.0/8")], (true, listed.clone(), "")),
        // Load balancers do not clear headers that clients send.
        (&with_protocol, &[(key, "false")], (false, Vec::new(), "")),
        (&with_protocol, &[(key, "false"), (headers, "true"), (list, "10.0.0.0/8")], (false, listed, "")),
        (&with_own, &[(key, "false")], (false, own_list(), "")),
    ];
    for (settings, data, (protocol, trusted, reported)) in rows {
        let expected = (*protocol, trusted.clone(), (*reported).to_owned());
        assert_eq!(of(settings.layered(&snapshot(data))), expected, "{data:?}");
    }
}

#[test]
fn one_that_is_missing_is_reported() {
    let layered = settings().layered(&Snapshot::default());
    assert_eq!(layered.findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(), [Reason::MissingConfigMap]);
    assert_eq!(Settings::default().layered(&Snapshot::default()).findings, []);
}

#[test]
fn what_it_says_of_settings_keeps_its_origin() {
    let layered =
        layered(&[("upstream-keepalive-connections", "7"), ("annotations-risk-level", "Low"), ("use-http2", "x")]);
    let lines = |key: &str| {
        let effective = layered.settings.effective(key).unwrap();
        let all = effective.overridden.iter().chain([&effective.counts]);
        all.map(|written| format!("{} {}", written.value, written.at)).collect::<Vec<_>>()
    };
    let of_map = "7 ConfigMap edge/controller: data[upstream-keepalive-connections]";
    assert_eq!(lines("upstreams.keepalive"), ["32 built in", of_map]);
    // An invalid value has no effect.
    assert_eq!(lines("listen.http2"), ["true built in"]);
    let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "cart"));
    let mut findings = [Finding::new(Reason::InvalidValue, Origin::object(&id), "access.max-trust is low")];
    layered.settings.report_places(&mut findings);
    let reported = "access.max-trust from ConfigMap edge/controller: data[annotations-risk-level] is low";
    assert_eq!(&*findings[0].note, reported);
}

#[test]
fn what_several_keys_say_together_has_the_origin_of_the_one_that_decides() {
    for (data, setting, expected) in [
        (&[("disable-ipv6", "true")][..], "listen.addresses", "0.0.0.0 ConfigMap edge/controller: data[disable-ipv6]"),
        (&[("use-forwarded-headers", "false")], TRUSTED, " ConfigMap edge/controller: data[use-forwarded-headers]"),
        (
            &[("enable-real-ip", "true"), ("proxy-real-ip-cidr", "192.0.2.0/24")],
            TRUSTED,
            "192.0.2.0/24 ConfigMap edge/controller: data[proxy-real-ip-cidr]",
        ),
        (
            &[("use-proxy-protocol", "true")],
            TRUSTED,
            "0.0.0.0/0, ::/0 ConfigMap edge/controller: data[use-proxy-protocol]",
        ),
        (
            &[("ssl-session-cache", "false"), ("ssl-session-cache-size", "5m")],
            "tls.session-cache",
            "0 ConfigMap edge/controller: data[ssl-session-cache]",
        ),
        (
            &[("enable-modsecurity", "true")],
            "firewall.shared",
            "true ConfigMap edge/controller: data[enable-modsecurity]",
        ),
    ] {
        let effective = layered(data).settings.effective(setting).unwrap();
        assert_eq!(format!("{} {}", effective.counts.value, effective.counts.at), expected, "{data:?}");
    }
    let retries = layered(&[("retry-non-idempotent", "true"), ("proxy-next-upstream", "error")]);
    let reported = "ConfigMap edge/controller: data[retry-non-idempotent]";
    assert_eq!(retries.settings.translate.defaults[0].at.to_string(), reported);
}

const TRUSTED: &str = "access.trusted-proxies";

#[test]
fn the_order_of_keys_does_not_change_what_is_said_of_all_hosts() {
    let retries = |data: &[(&str, &str)]| {
        let all = [&[("retry-non-idempotent", "true")], data].concat();
        let defaults = layered(&all).settings.translate.defaults;
        defaults.iter().map(|default| format!("{} {}", default.row.key, default.value)).collect::<Vec<_>>()
    };
    assert_eq!(retries(&[]), ["proxy-next-upstream error timeout non_idempotent"]);
    let more = [("proxy-next-upstream", "error http_502")];
    assert_eq!(retries(&more), ["proxy-next-upstream error http_502 non_idempotent"]);
    assert_eq!(retries(&[("proxy-next-upstream", "off")]), ["proxy-next-upstream off"]);
    assert_eq!(layered(&[("retry-non-idempotent", "false")]).settings.translate.defaults.len(), 0);

    let addresses = |data: &[(&str, &str)]| layered(data).settings.translate.listeners.addresses.len();
    assert_eq!(addresses(&[("disable-ipv6", "true")]), 1);
    assert_eq!(addresses(&[("bind-address", "192.0.2.1,192.0.2.2,2001:db8::1"), ("disable-ipv6", "true")]), 2);
    assert_eq!(addresses(&[("disable-ipv6", "false")]), 2);
    let settings =
        layered(&[("global-allowed-response-headers", "X-A,X-B"), ("forwarded-host-header", "X-C")]).settings;
    assert_eq!(settings.translate.allowed_headers.len(), 2);
    assert_eq!(settings.gate.global.host_header.unwrap().as_str(), "X-C");
}

#[test]
fn labels_of_the_namespace_decide_about_its_snippets_whenever_they_change() {
    let mut settings = settings();
    let allowed = ingressd_translate::AllowedSnippets {
        selector: Some("team=edge".parse().unwrap()),
        items: vec![SnippetKind::Location],
        ..Default::default()
    };
    settings.translate.snippets = vec![allowed];
    let with = |labels: Option<(&str, &str)>, data: &[(&str, &str)]| {
        let namespaces = labels.map(|(key, value)| Stored {
            id: Arc::new(ObjectId::new(Kind::NAMESPACE, "", "edge")),
            version: Version("1".into()),
            object: Arc::new(ingressd_objects::Namespace {
                uid: None,
                labels: [(key.to_owned(), value.to_owned())].into(),
            }),
            published: None,
            place: None,
        });
        Snapshot { namespaces: namespaces.into_iter().collect::<Vec<_>>().into(), ..snapshot(data) }
    };
    let data = [("location-snippet", "add_header X-A b;"), ("server-snippet", "add_header X-A b;")];
    let (unknown, other, chosen) =
        (with(None, &data), with(Some(("team", "shop")), &data), with(Some(("team", "edge")), &data));
    let counts = |snapshot: &Snapshot| settings.layered(snapshot).settings.translate.defaults.len();
    assert_eq!([counts(&unknown), counts(&other), counts(&chosen)], [0, 0, 1]);
    assert_eq!(settings.layer_version(&unknown), settings.layer_version(&other));
    assert_ne!(settings.layer_version(&other), settings.layer_version(&chosen));
    // Other keys do not make the layer depend on it.
    let without = [("proxy-body-size", "1m")];
    let version = |labels| settings.layer_version(&with(labels, &without));
    assert_eq!(version(Some(("team", "edge"))), version(None));
}
