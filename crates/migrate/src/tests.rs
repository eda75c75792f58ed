//! Flags, drop-ins and verdicts.

mod flags;

use std::collections::BTreeSet;

use super::controller::{Argument, Controller, controllers};
use super::flags::{Counterpart, FLAGS, Takes};
use super::*;
use ingressd_config::{Settings, Sources, rows};
use ingressd_model::finding::{Finding, Reason, Severity, printable};
use ingressd_model::{Kind, ObjectId, Origin};
use ingressd_objects::{Container, Workload};
use ingressd_translate::annotation::Compared;
use ingressd_translate::{INGRESS_NGINX, SPECIFICATION};

fn workload(image: &str, words: &[&str]) -> Workload {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    let containers = vec![Container { image: image.to_owned(), words }];
    Workload { kind: "Deployment".to_owned(), namespace: "edge".to_owned(), name: "controller".to_owned(), containers }
}

fn controller(words: &[&str]) -> Controller {
    let mut all = vec!["/nginx-ingress-controller"];
    all.extend(words);
    controllers(&[workload("controller", &all)]).pop().unwrap()
}

fn settings(words: &[&str]) -> Settings {
    Sources::load_text(&drop_in(&controller(words)).text).unwrap()
}

#[test]
fn the_table_is_sorted_and_names_settings_that_there_are() {
    assert!(FLAGS.windows(2).all(|pair| pair[0].name < pair[1].name), "sorted, each once");
    let keys: BTreeSet<_> = rows().map(|row| row.key).collect();
    for flag in FLAGS {
        if let Counterpart::Settings(named, write, _) = flag.counterpart {
            // Another part of the program adds that one.
            let known = |key: &&&str| keys.contains(**key) || **key == "tls.passthrough";
            assert!(named.iter().all(|key| known(&key)), "{}: {named:?}", flag.name);
            let default = write(flag.default).unwrap_or_default();
            assert!(default.iter().all(|(key, _)| named.contains(key)), "{}", flag.name);
        }
    }
    for flag in [
        "annotations-prefix",
        "ingress-class-by-name",
        "disable-catch-all",
        "default-backend-service",
        "publish-service",
        "publish-status-address",
        "report-node-internal-ip-address",
        "enable-ssl-passthrough",
        "watch-ingress-without-class",
        "watch-namespace",
        "watch-namespace-selector",
        "default-ssl-certificate",
        "configmap",
        "tcp-services-configmap",
        "udp-services-configmap",
        "http-port",
        "https-port",
        "controller-class",
        "ingress-class",
    ] {
        let place = Flag::find(flag).unwrap_or_else(|| panic!("{flag} is missing")).counterpart;
        assert!(matches!(place, Counterpart::Settings(..) | Counterpart::Class(..)), "{flag} has no setting");
    }
}

#[test]
fn a_controller_is_known_by_its_image_or_its_program() {
    for (image, words, expected) in [
        ("registry.k8s.io/ingress-nginx/controller:v1.12.1@sha256:ab", &[][..], true),
        ("ingress-nginx/controller", &[], true),
        ("registry.example:5000/ingress-nginx/controller", &[], true),
        ("bitnami/nginx-ingress-controller:1", &[], true),
        ("private/image", &["/usr/bin/dumb-init", "--", "/nginx-ingress-controller", "--v=2"], true),
        ("nginx/nginx-ingress:3", &["-nginx-configmaps=a/b"], false),
        ("my/controller", &["--other=nginx-ingress-controller"], false),
    ] {
        assert_eq!(!controllers(&[workload(image, words)]).is_empty(), expected, "{image} {words:?}");
    }
}

#[test]
fn flags_are_read_as_the_controller_reads_them() {
    let read = |words: &[&str]| {
        let arguments = controller(words).arguments;
        arguments.iter().map(|Argument { name, value }| format!("{name}={value}")).collect::<Vec<_>>()
    };
    assert_eq!(read(&["--http-port=81", "--https-port", "444"]), ["http-port=81", "https-port=444"]);
    assert_eq!(read(&["--update-status", "--watch-namespace", "a"]), ["update-status=true", "watch-namespace=a"]);
    assert_eq!(read(&["--update-status=false", "-v=3", "loose"]), ["update-status=false", "v=3"]);
    assert_eq!(read(&["--http-port=81", "--http-port=82"]), ["http-port=82"]);
    assert_eq!(read(&["--new-thing", "--v", "2"]), ["new-thing=true", "v=2"]);
    assert_eq!(read(&["--configmap"]), ["configmap="]);
}

#[test]
fn settings_do_what_the_flags_did() {
    let read = settings(&[
        "--publish-service=edge/controller",
        "--controller-class=example.com/edge",
        "--ingress-class=edge",
        "--configmap=edge/all",
        "--tcp-services-configmap=edge/tcp",
        "--udp-services-configmap=edge/udp",
        "--default-backend-service=edge/errors",
        "--default-ssl-certificate=edge/pair",
        "--http-port=8080",
        "--https-port=8443",
        "--annotations-prefix=edge.example.com",
        "--ingress-class-by-name",
        "--watch-ingress-without-class=true",
        "--disable-catch-all",
        "--disable-svc-external-name",
        "--sync-rate-limit=0.5",
        "--watch-namespace-selector=team=a",
        "--status-port=10300",
        "--update-status=false",
    ]);
    let [class, own] = &read.translate.classes[..] else { panic!("{:?}", read.translate.classes) };
    assert_eq!((&*class.controller, class.dialect), ("example.com/edge", &INGRESS_NGINX));
    assert_eq!((class.legacy_class.as_deref(), class.class_name.as_deref()), (Some("edge"), Some("edge")));
    assert_eq!((class.without_class, class.annotations.prefix), (true, "edge.example.com/"));
    assert_eq!((&*own.controller, own.dialect), ("ingressd/nginx", &SPECIFICATION));
    let named = |pair: &Option<(std::sync::Arc<str>, std::sync::Arc<str>)>| {
        pair.as_ref().map(|(namespace, name)| format!("{namespace}/{name}")).unwrap_or_default()
    };
    let maps = &read.ingress_nginx;
    let maps = [&maps.config_map, &maps.tcp_services, &maps.udp_services].map(named);
    assert_eq!(maps, ["edge/all", "edge/tcp", "edge/udp"]);
    let translate = &read.translate;
    assert_eq!([&translate.default_backend, &translate.default_certificate].map(named), ["edge/errors", "edge/pair"]);
    assert!(translate.no_catch_all && !translate.external_names);
    assert_eq!(
        (read.translate.listeners.http_port, read.translate.listeners.https_port, read.gate.status.port()),
        (8080, 8443, 10300)
    );
    assert_eq!(read.publish.mode, ingressd_cluster::publish::Mode::Service);
    assert_eq!((named(&read.publish.service), read.publish.status), ("edge/controller".to_owned(), true));
    assert!(read.publish.hold, "a controller that writes nothing any more may be about to hand over");
    assert_eq!(read.cluster.namespace_selector.as_deref(), Some("team=a"));
    assert_eq!(read.pacing.spacing, std::time::Duration::from_secs(2));

    let fixed = settings(&["--publish-status-address=192.0.2.1, lb.example", "--watch-namespace=shop"]).publish;
    assert_eq!(fixed.mode, ingressd_cluster::publish::Mode::Fixed);
    assert_eq!(fixed.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(), ["192.0.2.1", "lb.example"]);
    let internal = settings(&["--report-node-internal-ip-address"]).publish;
    assert_eq!(internal.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(), ["node:InternalIP"]);
    assert_eq!(settings(&["--watch-namespace=shop"]).cluster.namespaces, ["shop".into()]);

    let bare = settings(&[]);
    let class = &bare.translate.classes[0];
    assert_eq!((&*class.controller, class.legacy_class.as_deref()), ("k8s.io/ingress-nginx", Some("nginx")));
    assert_eq!((class.class_name.is_none(), class.without_class), (true, false));
}

/// Each line has its flag in a comment, before or behind it.
#[test]
fn each_line_says_where_it_comes_from() {
    let words = [
        "--http-port=81",
        "--ingress-class=edge",
        "--publish-service=a/b",
        "--v=2",
        "--profiling",
        "--metrics-per-host=false",
    ];
    let text = drop_in(&controller(&words)).text;
    for (line, flag) in
        [("listen.http-port = 81", "# --http-port=81"), ("publish.mode = \"service\"", "# --publish-service=a/b")]
    {
        let (before, _) = text.split_once(line).unwrap_or_else(|| panic!("{line} is not in {text}"));
        assert!(before.rsplit("\n\n").next().unwrap().starts_with(flag), "{text}");
    }
    assert!(text.contains("legacy-class = \"edge\" # --ingress-class=edge\n"), "{text}");
    for comment in [
        "# -v=2: no setting is needed: ",
        "# --profiling: no setting is needed: ",
        "# --metrics-per-host=false: there is no replacement: ",
    ] {
        assert!(text.contains(comment), "{comment}: {text}");
    }
}

/// The author of a Deployment must not be able to write other settings.
#[test]
fn values_stay_where_they_are() {
    for value in ["a/b\nlisten.http-port = 9", "a/b\"\nlisten.http-port = 9\n#", "a/\u{7f}", "'''", "\\", "\r\nx = 1"] {
        for flag in FLAGS {
            let dashes = format!("--{}={value}", flag.name);
            let text = drop_in(&controller(&[&dashes])).text;
            let read = Sources::load_text(&text).unwrap_or_else(|error| panic!("{dashes:?}: {error}\n{text}"));
            assert_eq!(read.translate.listeners.http_port, 80, "{dashes:?}: {text}");
        }
        let unknown = format!("--{value}");
        assert_eq!(
            Sources::load_text(&drop_in(&controller(&[&unknown])).text).unwrap().translate.listeners.http_port,
            80
        );
    }
}

#[test]
fn what_has_no_setting_is_reported() {
    let verdict = |words: &[&str]| {
        let flags = drop_in(&controller(words)).flags;
        let [item] = &flags[..] else { panic!("{flags:?}") };
        (item.verdict, item.becomes.clone())
    };
    let (equal, refused) = (Equivalence::Equal, Equivalence::Refused);
    for (flag, expected, becomes) in [
        ("--http-port=81", equal, "listen.http-port = 81"),
        ("--http-port=x", refused, ""),
        ("--configmap=all", refused, ""),
        ("--configmap=", equal, ""),
        ("--disable-catch-all=false", equal, ""),
        ("--disable-catch-all", equal, "hosts.disable-catch-all = true"),
        ("--metrics-per-host", equal, ""),
        ("--metrics-per-host=false", refused, ""),
        ("--validating-webhook=:8443", equal, ""),
        ("--annotations-prefix=a b", refused, ""),
        ("--annotations-prefix=a.example", equal, "classes: annotations-prefix"),
        ("--watch-namespace=Shop", refused, ""),
        ("--no-such-flag", refused, ""),
        ("--publish-service=a/b", Equivalence::Different, "publish.mode = \"service\", publish.service = \"a/b\""),
    ] {
        assert_eq!(verdict(&[flag]), (expected, becomes.to_owned()), "{flag}");
    }
    // Flags about the served namespaces take precedence over contradicting ones.
    let both = ["--default-ssl-certificate=edge/pair", "--watch-namespace=shop"];
    assert_eq!(settings(&both).cluster.namespaces, ["shop".into()]);
    let flags = drop_in(&controller(&both)).flags;
    let refused: Vec<_> = flags.iter().filter(|item| item.verdict == refused).map(|item| &*item.name).collect();
    assert_eq!(refused, ["--default-ssl-certificate=edge/pair"]);
    let flags = drop_in(&controller(&["--publish-status-address=192.0.2.1", "--publish-service=a/b"])).flags;
    let reported: Vec<_> = flags.iter().map(|item| (item.verdict, &*item.remedy)).collect();
    assert_eq!(reported[1], (Equivalence::Refused, "a flag before it sets publish.mode already; remove one of them"));
    assert!(FLAGS.iter().any(|flag| flag.takes == Takes::Switch));
}

#[test]
fn findings_decide_what_a_key_is() {
    let origin = || Origin::object(&std::sync::Arc::new(ObjectId::new(Kind::INGRESS, "a", "b")));
    let of = |compared, is_served| KnownKey { compared, is_served, ..KnownKey::NOTHING };
    let different = Compared::Different("It is.", "");
    let refused = Compared::Refused("It is.", "do this");
    for (reason, compared, expected) in [
        (Reason::InvalidValue, Compared::Equal, Some(Equivalence::Refused)),
        (Reason::UnsupportedAnnotation, Compared::Equal, Some(Equivalence::Different)),
        (Reason::UnsupportedAnnotation, different, Some(Equivalence::Different)),
        (Reason::UnsupportedAnnotation, refused, Some(Equivalence::Refused)),
        (Reason::UnsupportedKey, different, Some(Equivalence::Different)),
        (Reason::AboveCeiling, Compared::Equal, Some(Equivalence::Stricter)),
        (Reason::UnknownAnnotation, Compared::Equal, Some(Equivalence::Equal)),
        (Reason::InvalidSecurityValue, different, Some(Equivalence::Refused)),
        (Reason::MissingService, Compared::Equal, None),
        (Reason::HostConflict, Compared::Equal, None),
    ] {
        let item = Item::of_finding("key", "value", &Finding::new(reason, origin(), "words"), of(compared, true));
        assert_eq!(item.map(|item| item.verdict), expected, "{reason} {compared:?}");
    }
    // Values that are none: what ingress-nginx makes of them counts.
    for (reason, mistake, expected) in [
        (Reason::InvalidValue, Compared::Equal, Equivalence::Equal),
        (Reason::InvalidValue, different, Equivalence::Different),
        // Nothing of the object is served: whoever reads the report sees why.
        (Reason::InvalidSecurityValue, Compared::Equal, Equivalence::Refused),
        (Reason::RefusedValue, Compared::Equal, Equivalence::Refused),
    ] {
        let known = KnownKey { mistake: Some(mistake), ..of(Compared::Equal, true) };
        let item = Item::of_finding("key", "value", &Finding::new(reason, origin(), "words"), known);
        assert_eq!(item.map(|item| item.verdict), Some(expected), "{reason} {mistake:?}");
    }
    // Keys without effect; some have none with ingress-nginx either.
    for (compared, expected) in
        [(Compared::Equal, Equivalence::Equal), (refused, Equivalence::Refused), (different, Equivalence::Different)]
    {
        let finding = Finding::new(Reason::UnsupportedAnnotation, origin(), "words");
        let item = Item::of_finding("key", "value", &finding, of(compared, false));
        assert_eq!(item.map(|item| item.verdict), Some(expected));
        assert_eq!(of(compared, false).silent(), Compared::Equal);
    }
    let foreign = Finding::new(Reason::CrossNamespace, origin(), "words");
    for (key, expected) in [
        ("auth-secret", Equivalence::Refused),
        ("auth-url", Equivalence::Refused),
        ("mirror-target", Equivalence::Refused),
    ] {
        let item = Item::of_finding(key, "value", &foreign, of(Compared::Equal, true));
        assert_eq!(item.map(|item| item.verdict), Some(expected), "{key}");
    }
    let empty = Finding { severity: Severity::Info, ..Finding::new(Reason::InvalidValue, origin(), "empty") };
    let item = Item::of_finding("key", "", &empty, of(Compared::Equal, true)).unwrap();
    assert_eq!((item.verdict, item.needs_something()), (Equivalence::Equal, false));
}

/// No text of an object leaves its place on the page.
#[test]
fn the_page_escapes_everything_and_loads_nothing() {
    let hostile =
        "</style></code><script>alert(1)</script>\"'&<img src=x onerror=y>\u{1b}[2J\u{9b}\u{7f}\r\u{202e}\u{2066}"
            .to_owned();
    let item = Item {
        name: hostile.clone(),
        value: hostile.clone(),
        verdict: Equivalence::Refused,
        becomes: hostile.clone(),
        why: hostile.clone(),
        remedy: hostile.clone(),
    };
    let ingress = Ingress {
        namespace: hostile.clone(),
        name: hostile.clone(),
        hosts: vec![hostile.clone()],
        published: vec![hostile.clone()],
        items: vec![item.clone()],
    };
    let of = TlsHost { host: hostile.clone(), ingress: hostile.clone(), secret: hostile.clone() };
    let certificate = CertificateClash { of, file: hostile.clone(), place: hostile.clone(), is_taken: true };
    let report = Report {
        controller: Some((hostile.clone(), hostile.clone())),
        flags: vec![item.clone()],
        config_map: Some((hostile.clone(), vec![item.clone()])),
        streams: vec![item.clone()],
        objects: vec![item],
        ingresses: vec![ingress],
        others: 1,
        notes: vec![hostile.clone()],
        unread: 1,
        clashes: Some(vec![hostile]),
        certificates: vec![certificate],
    };
    let page = page(&report);
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script") && !page.contains("<img"), "{page}");
    assert!(!page.contains("src=\"") && !page.contains("href=") && !page.contains("url("), "{page}");
    // Each < begins an element of the page itself, whose attributes run nothing.
    let attributes = r#"(?: (?:lang|charset|name|content|http-equiv|class)="[^"<>]*"| open)*"#;
    let element = regex::Regex::new(&format!("<(?:!DOCTYPE html|/?[a-z][a-z0-9]*{attributes})>")).unwrap();
    assert_eq!(element.find_iter(&page).count(), page.matches('<').count(), "{page}");
    assert_eq!(page.matches("</style>").count(), 1);
    // Nor does anything steer a terminal that shows it.
    assert!(page.contains("\\u{1b}[2J") && page.split('\n').all(|line| line == printable(line)), "{page:?}");
}
