//! kubectl's plugin in the hands of an administrator, and of a tenant who may read one namespace
//! and no node.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};

use rig::cluster::control_plane::binary;
use rig::cluster::objects::ADDRESS;
use rig::cluster::{self, Cluster, certificates, url};
use rig::manifests::ingress;
use rig::{program, wait};

/// What kubectl runs: the control plane's own kubectl, with our program beside it.
struct Kubectl {
    folder: PathBuf,
    kubeconfig: PathBuf,
    group: String,
}

impl Kubectl {
    fn new(cluster: &Cluster, kubeconfig: PathBuf) -> Self {
        let folder = cluster.folder().join("path");
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["kubectl-ingressd", "kubectl_complete-ingressd"] {
            let packaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name);
            let script = std::fs::read_to_string(packaged).unwrap();
            let own = script.replace("/usr/sbin/ingressd", program().to_str().unwrap());
            assert_ne!(own, script);
            std::fs::write(folder.join(name), own).unwrap();
            std::fs::set_permissions(folder.join(name), Permissions::from_mode(0o755)).unwrap();
        }
        Kubectl { folder, kubeconfig, group: format!("{}/ingressd", cluster.objects.namespace()) }
    }

    /// Exit status, output and messages.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(binary());
        command.arg("kubectl").args(arguments).env("PATH", &self.folder).env("KUBECONFIG", &self.kubeconfig);
        let Output { status, stdout, stderr } = command.output().unwrap();
        let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (status.code().unwrap(), stdout, stderr)
    }

    /// The JSON, which is as it is documented.
    fn json(&self, step: &str, arguments: &[&str]) -> (i32, Value) {
        let (code, text, notes) = self.plugin(step, &[arguments, &["--json"]].concat());
        let reported = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{notes}"));
        let document = ingressd::cli::schema::of(&format!("kubectl ingressd {step}")).unwrap();
        assert_eq!(document.differences(&reported), [""; 0].map(str::to_owned).into(), "{reported}");
        (code, reported)
    }

    fn plugin(&self, step: &str, arguments: &[&str]) -> (i32, String, String) {
        self.run(&[&["ingressd", step, "--group", &self.group], arguments].concat())
    }
}

/// The kubeconfig of a user with these rights in the test's namespace, which is that of its
/// context.
async fn tenant(cluster: &Cluster, user: &str, rules: Value) -> PathBuf {
    let group = "rbac.authorization.k8s.io";
    let (version, namespace) = (format!("{group}/v1"), cluster.objects.namespace());
    let role = json!({"apiVersion": version, "kind": "Role", "metadata": {"name": user}, "rules": rules});
    let binding = json!({
        "apiVersion": version, "kind": "RoleBinding", "metadata": {"name": user},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": user},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}]
    });
    cluster.objects.apply_all([role, binding]).await;
    let pair = certificates::of_user(user, Duration::from_secs(3600));
    let file = |name: &str, text: &str| {
        let path = cluster.folder().join(format!("{user}-{name}"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let authority = String::from_utf8(cluster.authority()).unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "own",
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": user, "namespace": namespace}}],
        "clusters": [{"name": "own", "cluster": {"server": url(), "certificate-authority": file("ca", &authority)}}],
        "users": [{"name": user, "user": {
            "client-certificate": file("certificate", &pair.certificate), "client-key": file("key", &pair.key)
        }}]
    });
    file("kubeconfig", &config.to_string())
}

/// The rights to read all that is of one namespace, as the ClusterRole `view` and Leases.
fn reading() -> Value {
    json!([
        {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["list"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["services", "configmaps"], "verbs": ["list"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list", "get"]},
    ])
}

fn manifest(cluster: &Cluster, name: &str, object: &Value) -> String {
    let path = cluster.folder().join(name);
    std::fs::write(&path, object.to_string()).unwrap();
    path.display().to_string()
}

/// A host of which nothing is in any other test.
fn host(cluster: &Cluster) -> String {
    format!("shop.{}.example", cluster.objects.namespace())
}

async fn serve_shop(cluster: &mut Cluster) {
    let host = host(cluster);
    cluster.objects.serve("web", &["10.244.0.1"]).await;
    let class = cluster.objects.class("nginx");
    let shop = ingress("shop").class(&class).host(&host, "web").annotation("proxy-body-size", "3m");
    cluster.objects.apply(shop).await;
    cluster.daemon.set("access.max-trust", "medium");
    cluster.start().await;
    cluster.objects.until_published("shop", &[ADDRESS]).await;
}

fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in:\n{text}");
    }
}

#[test]
fn a_tenant_asks_with_his_own_rights_and_needs_no_node() {
    cluster::run(async |cluster| {
        serve_shop(cluster).await;
        let (host, namespace) = (host(cluster), cluster.objects.namespace().to_owned());
        let tenant = tenant(cluster, "tenant", reading()).await;
        let kubectl = Kubectl::new(cluster, tenant);
        let url = format!("https://{host}/cart");
        // The rights are in force when the API server has seen them.
        wait::until("the rights of the tenant", async || (kubectl.plugin("explain", &[&url]).0 == 0).then_some(()))
            .await;

        let (code, text, notes) = kubectl.plugin("explain", &[&url]);
        assert_eq!(code, 0, "{text}{notes}");
        has(&text, &["is taken by Ingress", "goes to Service", "proxy-body-size", "3m"]);
        let only = format!("you may read namespace {namespace} only");
        has(&notes, &["judged by the settings that node", &only, "you may not list secrets", "ingressclasses"]);

        let (code, text, _) = kubectl.plugin("status", &[]);
        assert_eq!(code, 0, "{text}");
        has(&text, &["leader", "serving", "shop", &host, ADDRESS]);

        // What would change; the manifest names no namespace.
        let class = cluster.objects.class("nginx");
        let edited = ingress("shop").class(&class).path(&host, "Prefix", "/new", "web").host(&host, "away");
        let write = |name: &str, mut object: Value| {
            object["metadata"].as_object_mut().unwrap().remove("namespace");
            manifest(cluster, name, &object)
        };
        let file = write("edited.yaml", edited.clone().build());
        let (code, text, _) = kubectl.plugin("diff", &[&file]);
        assert_eq!(code, 1, "{text}");
        has(&text, &["+ /new goes to", "- nginx.ingress.kubernetes.io/proxy-body-size = 3m", "MissingService"]);
        let (code, text, _) = kubectl.plugin("explain", &[&url, "--filename", &file]);
        assert!(code == 0 && text.contains("is answered 503"), "{text}");
        for (step, arguments) in [("explain", &[&*url][..]), ("diff", &[&*file]), ("status", &[])] {
            kubectl.json(step, arguments);
        }
        let secure = ingress("shop").class(&class).host(&host, "web").annotation("proxy-body-size", "3m");
        let secure = write("secure.yaml", secure.tls(&[&host], "pair").build());
        let (code, text, _) = kubectl.plugin("diff", &["-f", &secure]);
        assert_eq!(code, 1, "{text}");
        has(&text, &["+ its certificate is in", "over plain http it is answered 308"]);
        // By the settings of the nodes this annotation is too much.
        let file = write("trusting.yaml", edited.annotation("upstream-hash-by", "$request_uri").build());
        let (code, text, _) = kubectl.plugin("check", &[&file]);
        assert_eq!(code, 1, "{text}");
        has(&text, &[&format!("{file}:1: "), "MissingService", "access.max-trust"]);
        let (code, answer) = kubectl.json("check", &[&file]);
        assert!(code == 1 && answer["answer"][0]["file"] == *file, "{answer}");
        assert!(
            answer["notes"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains(&only)),
            "{answer}"
        );
        // Nothing was applied.
        assert_eq!(kubectl.plugin("diff", &[&manifest(cluster, "same.yaml", &current(cluster).await)]).0, 0);

        let (_, text, _) = kubectl.run(&["__complete", "ingressd", "ex"]);
        has(&text, &["explain\n", ":4"]);
    });
}

/// The Ingress as the API server has it.
async fn current(cluster: &Cluster) -> Value {
    cluster.objects.get("Ingress", "shop").await
}

#[test]
fn an_administrator_sees_every_namespace_and_who_may_read_nothing_learns_so() {
    cluster::run(async |cluster| {
        serve_shop(cluster).await;
        let administrator = Kubectl::new(cluster, cluster.control_plane.kubeconfig());
        let namespace = cluster.objects.namespace().to_owned();
        let url = host(cluster);
        let (code, text, notes) = administrator.plugin("explain", &[&url, "--namespace", &namespace]);
        assert_eq!(code, 0, "{text}{notes}");
        assert!(!notes.contains("you may"), "{notes}");
        let (code, text, _) = administrator.plugin("explain", &["nobody.example"]);
        assert!(code == 1 && text.contains("No Ingress that is served has the host"), "{text}");
        // Settings of a file count instead of those of the nodes.
        let settings = cluster.folder().join("settings.toml");
        std::fs::write(&settings, "classes = []\n").unwrap();
        let with = |file: &Path| administrator.plugin("explain", &[&url, "--config", file.to_str().unwrap()]);
        let (code, text, notes) = with(&settings);
        assert!(code == 78 || code == 1, "{text}{notes}");
        std::fs::write(&settings, "[hosts]\nowner = 1\n").unwrap();
        let (code, _, words) = with(&settings);
        assert!(code == 78 && words.contains("settings.toml:2"), "{words}");

        let nobody = Kubectl::new(cluster, tenant(cluster, "nobody", json!([])).await);
        let (code, _, words) = nobody.plugin("status", &[]);
        assert_eq!(code, 77, "{words}");
        has(&words, &["you may not list ingresses", &namespace, "--namespace"]);
        let missing = cluster.folder().join("missing");
        let (code, _, words) = administrator.plugin("status", &["--kubeconfig", missing.to_str().unwrap()]);
        assert!(code == 78 && words.contains("cannot be used"), "{words}");
    });
}
