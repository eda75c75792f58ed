//! Objects that nginx takes alone and refuses together: one of the two waits, and nobody else.

use serde_json::Value;

use rig::client::get;
use rig::manifests::{in_namespace, ingress, service_at};
use rig::status::{notes, quarantined, reports, serving};
use rig::{ECHO, Rig};

/// A test of a configuration that has both marks fails with this message.
const WRAPPER: &str = r#"#!/bin/sh
file=
expected=
for word in "$@"; do
    [ -n "$expected" ] && file=$word
    expected=
    [ "$word" = -c ] && expected=yes
done
files=$(sed -n 's/^include "\(.*\)";$/\1/p' "$file" 2>/dev/null)
[ "$file" = "{configuration}" ] && files="{current}/http/*.conf"
if [ -n "$files" ] && grep -qsF mark-one $files && grep -qsF mark-two $files; then
    place=$(grep -nsF mark-{named} $files /dev/null | head -n 1 | cut -d: -f1,2)
    echo "nginx: [emerg] unknown \"clash\" variable{in}" >&2
    exit 1
fi
exec {nginx} "$@"
"#;

/// How nginx tells of the clash, and whose line it names.
struct Form {
    named: &'static str,
    place: &'static str,
}

fn start(rig: &mut Rig, form: &Form) {
    rig.nginx.replace_program();
    rig.nginx.start();
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let script = WRAPPER
        .replace("{configuration}", &text(&rig.nginx.configuration()))
        .replace("{current}", &text(&rig.daemon.root().join("current")))
        .replace("{named}", form.named)
        .replace("{in}", form.place);
    rig.nginx.wrap_program(&script);
    rig.daemon.set("nginx.binary", &text(&rig.nginx.prefix().join("nginx")));
}

/// The two that clash, and twelve others, each in a namespace of its own.
fn objects(hosts: [&str; 2]) -> Vec<Value> {
    let of = |name: &str, host: &str, path: &str, created: &str| {
        let object = ingress(name).namespace(name).class("nginx").created(created);
        object.path(host, "Prefix", path, "web").build()
    };
    let service =
        |namespace: &str| service_at("web", &["10.244.0.2"], ECHO).map(|object| in_namespace(namespace, object));
    let mut all = vec![
        of("one", hosts[0], "/mark-one", "2026-01-01T00:00:00Z"),
        of("two", hosts[1], "/mark-two", "2026-02-01T00:00:00Z"),
    ];
    all.extend(service("one"));
    all.extend(service("two"));
    for number in 0..12 {
        let name = format!("other-{number}");
        all.push(of(&name, &format!("{name}.test"), "/", "2026-03-01T00:00:00Z"));
        all.extend(service(&name));
    }
    all
}

async fn only_the_younger_waits(rig: &mut Rig, hosts: [&str; 2]) {
    let reported = |status: &Value| serving(status).is_some() && quarantined(status) == ["Ingress two"];
    let status = rig.daemon.status_when("the younger in quarantine", reported).await;
    assert!(notes(&status, "Ingress two", "Quarantined")[0].contains("unknown \"clash\" variable"), "{status}");
    assert!(!reports(&status, "Host nginx", "ReloadFailed"), "{status}");
    let urls: Vec<_> = (0..12).map(|number| format!("other-{number}.test/")).collect();
    for url in urls.iter().map(String::as_str).chain([&*format!("{}/mark-one", hosts[0])]) {
        get(&format!("http://{url}")).send_until(url, |reply| reply.status == 200).await;
    }
}

/// The two on their hosts, written to a daemon that runs or before it starts.
fn the_younger_waits(form: Form, hosts: [&'static str; 2], is_later: bool) {
    rig::run(async move |rig| {
        start(rig, &form);
        rig.daemon.set("hosts.ownership", "shared");
        if is_later {
            rig.daemon.start();
            rig.daemon.ready().await;
        }
        rig.manifests.write("objects.yaml", &objects(hosts));
        if !is_later {
            rig.daemon.start();
        }
        only_the_younger_waits(rig, hosts).await;
        // It is tried again when the elder is gone.
        rig.manifests.write("objects.yaml", &objects(hosts)[1..]);
        let url = format!("http://{}/mark-two", hosts[1]);
        get(&url).send_until("the younger", |reply| reply.status == 200).await;
        rig.daemon.status_when("nobody in quarantine", |status| quarantined(status).is_empty()).await;
    });
}

const OWN: [&str; 2] = ["one.test", "two.test"];
const SHARED: [&str; 2] = ["both.test", "both.test"];

#[test]
fn without_a_place() {
    the_younger_waits(Form { named: "one", place: "" }, OWN, true);
}

#[test]
fn without_a_place_on_one_host_at_the_first_start() {
    the_younger_waits(Form { named: "one", place: "" }, SHARED, false);
}

#[test]
fn in_a_line_of_the_elder() {
    the_younger_waits(Form { named: "one", place: " in $place" }, OWN, true);
}

#[test]
fn in_a_line_of_the_elder_on_one_host() {
    the_younger_waits(Form { named: "one", place: " in $place" }, SHARED, true);
}

#[test]
fn in_a_line_of_the_younger_at_the_first_start() {
    the_younger_waits(Form { named: "two", place: " in $place" }, OWN, false);
}
