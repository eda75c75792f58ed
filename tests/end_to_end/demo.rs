//! The demo, as a user runs it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use rig::client::get;
use rig::wait;

/// Manifests of somebody who has a cluster.
const OWN: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: own, namespace: team}
spec: {selector: {app: own}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: own, namespace: team}
spec:
  ingressClassName: public
  rules:
  - host: own.localhost
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: own, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: safe, namespace: team, annotations: {nginx.ingress.kubernetes.io/backend-protocol: HTTPS}}
spec:
  ingressClassName: public
  rules:
  - host: own.localhost
    http: {paths: [{path: /safe, pathType: Prefix, backend: {service: {name: own, port: {number: 80}}}}]}
"#;

/// Processes whose command line names this folder.
fn processes_of(folder: &Path) -> usize {
    let folder = folder.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(folder)).count()
}

#[test]
fn the_demo_serves_its_examples_and_leaves_nothing_behind() {
    rig::run(async |rig| {
        let temporary = rig.folder().join("temporary");
        fs::create_dir(&temporary).unwrap();
        // The rig's own backend has the port that the demo wants.
        rig.backends.stop().await;
        let output = rig.folder().join("output");
        let manifests = rig.folder().join("mine");
        fs::create_dir(&manifests).unwrap();
        let examples = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/demo")).unwrap();
        for file in examples.map(Result::unwrap) {
            fs::copy(file.path(), manifests.join(file.file_name())).unwrap();
        }
        let mut demo = Command::new(env!("CARGO_BIN_EXE_ingressd"))
            .args(["demo", "mine"])
            .current_dir(rig.folder())
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null())
            .stdout(fs::File::create(&output).unwrap())
            .spawn()
            .unwrap();
        let hello = get("http://hello.localhost:8080/api").send_until("the demo", |reply| reply.status == 200).await;
        assert_eq!(hello.echo().name, "api");
        assert_eq!(get("https://secure.localhost:8443/").send().await.peer.unwrap().names, ["secure.localhost"]);
        let reported = async || fs::read_to_string(&output).unwrap();
        wait::until_right("a line about what is served", reported, |text| text.contains("serving: generation 1")).await;
        let introduction = reported().await;
        assert!(introduction.contains("curl http://hello.localhost:8080/"));
        let page = introduction.lines().find_map(|line| line.strip_prefix("The status page is ")).unwrap();
        let page = get(page).send().await;
        assert!(page.status == 200 && String::from_utf8_lossy(&page.body).contains("hello.localhost"));
        assert!(processes_of(&temporary) > 0, "nginx runs");
        // A mistake is reported with the file that the user edits.
        let wrong = manifests.join("wrong.yaml");
        fs::write(&wrong, "kind: [\n").unwrap();
        let reported = wait::until_right("what is wrong", reported, |text| text.contains("wrong.yaml")).await;
        assert!(
            reported.contains(wrong.to_str().unwrap()) && !reported.contains(temporary.to_str().unwrap()),
            "{reported}"
        );

        // The user's own Services need no EndpointSlices, with TLS and without, and their class
        // need not be there.
        fs::remove_file(&wrong).unwrap();
        fs::write(manifests.join("own.yaml"), OWN).unwrap();
        let own = get("http://own.localhost:8080/").send_until("an own Service", |reply| reply.status == 200).await;
        assert_eq!((own.echo().name.as_str(), own.echo().tls.is_some()), ("own", false));
        let safe = get("http://own.localhost:8080/safe").send_until("one with TLS", |reply| reply.status == 200).await;
        assert!(safe.echo().tls.is_some());

        kill(Pid::from_raw(demo.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        let status = wait::until("the end of the demo", async || demo.try_wait().unwrap()).await;
        assert_eq!((status.code(), status.signal()), (Some(0), None));
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
        assert_eq!(processes_of(&temporary), 0);
    });
}
