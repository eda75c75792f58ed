//! HTTP-01 challenges reach the Ingresses that cert-manager writes for them, whatever else their
//! host has.

use serde_json::{Value, json};

use rig::ECHO;
use rig::client::get;
use rig::manifests::{Ingress, endpoint_slice, in_namespace, ingress, secret, service};

/// The address of the solver, which answers challenges.
const SOLVER: &str = "10.244.2.1:8080";

/// The token of a challenge, which the certificate authority requests.
const TOKEN: &str = "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAj-_X0";

/// The namespace that the administrator names for challenges.
const NAMED: &str = "solvers";

/// Says that the path of a challenge goes into the Ingress that has it.
const IN_PLACE: &str = "acme.cert-manager.io/http01-edit-in-place";

/// What cert-manager writes for one challenge, in this namespace: a Service and an Ingress to it.
fn solver(namespace: &str, host: &str, class: &str, path_type: &str) -> [Value; 3] {
    let name = format!("cm-acme-http-solver-{}", host.replace('.', "-"));
    let mut service = service(&name, ECHO);
    service["spec"]["type"] = json!("NodePort");
    service["spec"]["ports"][0]["port"] = json!(8089);
    let backend = json!({"service": {"name": name, "port": {"number": 8089}}});
    let ingress = ingress(&name)
        .class(class)
        .path_to(host, path_type, &format!("/.well-known/acme-challenge/{TOKEN}"), backend)
        .annotation("whitelist-source-range", "0.0.0.0/0,::/0");
    [service, endpoint_slice(&name, &["10.244.2.1"], ECHO), ingress.build()]
        .map(|object| in_namespace(namespace, object))
}

/// An Ingress of everything below the host, which has its name.
fn app(host: &str, class: &str) -> Ingress {
    ingress(host).class(class).host(&format!("{host}.test"), "web")
}

/// One into which cert-manager writes the path itself, instead of an Ingress of its own.
fn in_place(app: Ingress) -> Ingress {
    app.raw_annotation(IN_PLACE, "true")
}

/// Adds the path of a solver's Ingress to the rule of the same host.
fn edit(app: &mut Value, solver: &Value) {
    let path = solver["spec"]["rules"][0]["http"]["paths"][0].clone();
    app["spec"]["rules"][0]["http"]["paths"].as_array_mut().unwrap().insert(0, path);
}

fn with_expressions(host: &str, class: &str) -> Vec<Value> {
    let app = ingress(host).class(class).annotation("use-regex", "true");
    vec![app.path(&format!("{host}.test"), "ImplementationSpecific", "/.*", "web").build()]
}

/// The other objects of a host, the namespace of its solver, and who answers a challenge and
/// another plain request: in a class of the specification, whose hosts have one owner, and in one
/// of ingress-nginx, whose hosts are shared.
struct Row {
    name: &'static str,
    path_types: &'static [&'static str],
    objects: fn(&str, &str) -> Vec<Value>,
    namespace: &'static str,
    answers: [[&'static str; 2]; 2],
}

/// What cert-manager writes, newer versions the first.
const BOTH: &[&str] = &["Exact", "ImplementationSpecific"];

const ROWS: &[Row] = &[
    Row {
        name: "first",
        path_types: BOTH,
        objects: |_, _| Vec::new(),
        namespace: "default",
        answers: [[SOLVER, "404"], [SOLVER, "404"]],
    },
    Row {
        name: "served",
        path_types: BOTH,
        objects: |host, class| vec![app(host, class).build()],
        namespace: "default",
        answers: [[SOLVER, "web"], [SOLVER, "web"]],
    },
    Row {
        name: "redirected",
        path_types: BOTH,
        objects: |host, class| vec![app(host, class).tls(&[&format!("{host}.test")], "not-issued-yet").build()],
        namespace: "default",
        answers: [[SOLVER, "308"], [SOLVER, "308"]],
    },
    Row {
        name: "forced",
        path_types: BOTH,
        objects: |host, class| vec![app(host, class).annotation("force-ssl-redirect", "true").build()],
        namespace: "default",
        answers: [[SOLVER, "308"], [SOLVER, "308"]],
    },
    Row {
        name: "in-place",
        path_types: BOTH,
        objects: |host, class| vec![in_place(app(host, class).annotation("force-ssl-redirect", "true")).build()],
        namespace: "default",
        answers: [[SOLVER, "308"], [SOLVER, "308"]],
    },
    Row {
        name: "closed",
        path_types: BOTH,
        objects: |host, class| vec![app(host, class).annotation("whitelist-source-range", "192.0.2.1").build()],
        namespace: "default",
        answers: [[SOLVER, "403"], [SOLVER, "403"]],
    },
    Row {
        name: "with-passwords",
        path_types: BOTH,
        objects: |host, class| {
            let app = app(host, class).annotation("auth-type", "basic").annotation("auth-secret", "users");
            vec![app.build()]
        },
        namespace: "default",
        answers: [[SOLVER, "401"], [SOLVER, "401"]],
    },
    Row {
        name: "with-expressions",
        path_types: BOTH,
        objects: with_expressions,
        namespace: "default",
        answers: [[SOLVER, "web"], [SOLVER, "web"]],
    },
    Row {
        name: "of-another",
        path_types: BOTH,
        objects: |host, class| vec![app(host, class).build()],
        namespace: "certificates",
        answers: [["web", "web"], ["web", "web"]],
    },
    Row {
        name: "named",
        path_types: BOTH,
        objects: |host, class| vec![app(host, class).build()],
        namespace: NAMED,
        answers: [[SOLVER, "web"], [SOLVER, "web"]],
    },
    Row {
        name: "named-closed",
        path_types: BOTH,
        objects: |host, class| vec![app(host, class).annotation("whitelist-source-range", "192.0.2.1").build()],
        namespace: NAMED,
        answers: [[SOLVER, "403"], [SOLVER, "403"]],
    },
    Row {
        name: "named-expressions",
        path_types: BOTH,
        objects: with_expressions,
        namespace: NAMED,
        answers: [[SOLVER, "web"], [SOLVER, "web"]],
    },
    Row {
        name: "of-another-closed",
        path_types: BOTH,
        objects: |host, class| vec![app(host, class).annotation("whitelist-source-range", "192.0.2.1").build()],
        namespace: "certificates",
        answers: [["403", "403"], ["403", "403"]],
    },
];

#[test]
fn a_challenge_reaches_its_solver_beside_every_feature_of_the_host() {
    rig::run(async |rig| {
        rig.serve(&["web"]);
        let hash = "shop:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n";
        rig.manifests.write("users.yaml", &[secret("users", "Opaque", &[("auth", hash)])]);
        let (mut others, mut edited, mut solvers, mut expected) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for Row { name, path_types, objects, namespace, answers } in ROWS {
            for (class, [to_challenge, otherwise]) in ["ingressd", "nginx"].into_iter().zip(answers) {
                for path_type in *path_types {
                    let host = format!("{name}-{class}-{}", path_type[..1].to_lowercase());
                    let mut apps = objects(&host, class);
                    others.extend(apps.clone());
                    let host = format!("{host}.test");
                    let [service, slice, ingress] = solver(namespace, &host, class, path_type);
                    solvers.extend([service, slice]);
                    match apps.first_mut().filter(|app| app["metadata"]["annotations"][IN_PLACE] == "true") {
                        Some(app) => edit(app, &ingress),
                        None => solvers.push(ingress),
                    }
                    edited.extend(apps);
                    expected.push((get(&format!("http://{host}/.well-known/acme-challenge/{TOKEN}")), *to_challenge));
                    expected.push((get(&format!("http://{host}/x")), *otherwise));
                }
            }
        }
        // A certificate is asked for when its Ingress is there already.
        rig.manifests.write("others.yaml", &others);
        rig.daemon.set("hosts.challenges", &format!("['{NAMED}']"));
        rig.start().await;
        rig.manifests.write("others.yaml", &edited);
        rig.manifests.write("solvers.yaml", &solvers);
        rig.daemon.confirmed("cm-acme-http-solver-first-nginx-e-test").await;
        rig.expect(expected).await;
    });
}
