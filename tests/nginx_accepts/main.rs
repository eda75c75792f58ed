//! The distribution's nginx accepts what is rendered for a model that uses everything; no cluster,
//! no daemon.

mod everything;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ingressd_config::Usual as _;
use ingressd_model::finding::Finding;
use ingressd_model::{Field, Listener, LogLine, Model, Origin, Passthrough, ServerName, USUAL_LINE, Unlogged};
use ingressd_nginx::render::{FileSet, RenderWork, Renderer};
use ingressd_nginx::{AccessLogOptions, Capabilities, GateOptions, LogFormat, OtherSites, Plan, gate, syntax};

use everything::{everything, model, origin, tables, with_proxy_protocol};

/// The module for TCP and UDP of the distribution.
fn stream_module() -> String {
    let folders = ["/usr/lib/nginx/modules", "/usr/lib64/nginx/modules"];
    let files = folders.map(|folder| format!("{folder}/ngx_stream_module.so"));
    files.into_iter().find(|file| Path::new(file).exists()).expect("libnginx-mod-stream is installed")
}

fn options(current: &Path) -> GateOptions {
    GateOptions {
        status: "127.0.0.1:18246".parse().expect("an address"),
        current: current.to_owned(),
        access_log: AccessLogOptions {
            format: LogFormat::IngressNginx,
            line: Some(
                LogLine::new(&format!("{USUAL_LINE} $namespace $ingress_name $service_name $service_port"))
                    .expect("a line"),
            ),
            path: Some(current.join("access.log")),
            unlogged: ["/healthz", "~^/ping"].map(|text| Unlogged::new(text).expect("a request")).into(),
            ..AccessLogOptions::usual()
        },
        ..GateOptions::usual()
    }
}

fn installed() -> Capabilities {
    let output = Command::new("nginx").arg("-V").output().expect("nginx is installed");
    Capabilities::parse(&String::from_utf8_lossy(&output.stderr), &[stream_module()]).expect("it tells its version")
}

fn render(model: Model, current: &Path) -> (FileSet, Vec<Finding>) {
    let (plan, findings) = gate(&model.into(), &tables(), &installed(), &OtherSites::default(), &options(current));
    (Renderer::default().render(&plan).together(), findings)
}

/// What `nginx -t` says about the files, in a folder of their own.
fn test(files: &FileSet, root: &Path) -> (bool, String) {
    for (path, file) in &files.files {
        let path = root.join(&**path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, file.content.bytes()).expect("a file");
    }
    fs::write(root.join("http/generation.conf"), "map $nginx_version $ingressd_generation { default 1; }\n")
        .expect("a file");
    let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let folders: String =
        folders.iter().map(|name| format!("{name}_temp_path {};", root.join(name).display())).collect();
    let main = format!(
        "load_module {1}; pid {0}/pid; error_log stderr; events {{}} http {{ {folders} include {0}/http/*.conf; }} \
         stream {{ include {0}/stream/*.conf; }}",
        root.display(),
        stream_module()
    );
    fs::write(root.join("nginx.conf"), main).expect("a file");
    let output = Command::new("nginx").arg("-t").arg("-c").arg(root.join("nginx.conf")).output().expect("nginx runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The findings without the one that depends on the age of the nginx that is installed.
fn surprising(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| !finding.note.contains("passes on only the first of several headers"));
    findings
}

#[test]
fn nginx_accepts_a_model_that_uses_everything() {
    let root = tempfile::tempdir().expect("a folder");
    let (files, findings) = render(model(), root.path());
    assert_eq!(surprising(findings), []);
    let (accepted, words) = test(&files, root.path());
    assert!(accepted, "{words}");
    assert!(!words.contains("[warn]"), "{words}");
}

#[test]
fn nginx_accepts_the_proxy_protocol_and_the_address_that_it_names() {
    let root = tempfile::tempdir().expect("a folder");
    let (plan, findings) = gate(
        &with_proxy_protocol(model(), true).into(),
        &tables(),
        &installed(),
        &OtherSites::default(),
        &options(root.path()),
    );
    assert_eq!(surprising(findings), []);
    let files = Renderer::default().render(&plan).together();
    for (path, file) in files.files.iter().filter(|(path, _)| path.starts_with("http/server-")) {
        let text = file.content.text();
        let count = |words: &str| text.lines().filter(|line| line.contains(words)).count();
        let wanted =
            [("listen ", 2), (" proxy_protocol", 3), ("real_ip_header proxy_protocol;", 1), ("$ingressd_trusted_", 0)];
        assert_eq!(wanted.map(|(words, _)| (words, count(words))), wanted, "{path}");
    }
    let (accepted, words) = test(&files, root.path());
    assert!(accepted && !words.contains("[warn]"), "{words}");
}

#[test]
fn nginx_accepts_hosts_whose_tls_is_not_opened() {
    let sized = OtherSites { stream_directives: ["map_hash_max_size".to_owned()].into(), ..OtherSites::default() };
    // Whether the wildcard alone is passed on, so that hosts within it are opened; the PROXY
    // protocol; who sizes tables; and what the file of a host says how often.
    let rows = [
        (true, false, OtherSites::default(), [("listen ", 3), ("real_ip_header", 2), (" proxy_protocol", 3)]),
        (false, false, sized.clone(), [("listen ", 3), ("real_ip_header", 2), (" proxy_protocol", 3)]),
        (true, true, sized, [("listen ", 2), ("real_ip_header proxy_protocol;", 1), (" proxy_protocol", 3)]),
    ];
    for (is_wild, proxy_protocol, other_sites, wanted) in rows {
        let root = tempfile::tempdir().expect("a folder");
        let mut model = model();
        let is_passed = |name: &ServerName| match name {
            ServerName::CatchAll | ServerName::Expression(_) => false,
            ServerName::Exact(_) => !is_wild,
            ServerName::Wildcard(_) => true,
        };
        let names = model.servers.iter().map(|server| server.name.clone()).filter(is_passed);
        let passed = |name| Passthrough {
            upstream: (!is_wild).then(|| model.stream_upstreams[0].id.clone()),
            name,
            origin: origin(),
        };
        model.passthroughs.hosts = names.map(passed).collect();
        model.listeners = model.listeners.into_iter().map(Listener::passing).collect();
        let model = with_proxy_protocol(model, proxy_protocol);
        let (plan, findings) = gate(&model.into(), &tables(), &installed(), &other_sites, &options(root.path()));
        assert_eq!(surprising(findings), []);
        let files = Renderer::default().render(&plan).together();
        let stream = files.files["stream/passthrough-10247.conf"].content.text();
        assert_eq!(stream.contains("map_hash_max_size"), other_sites.stream_directives.is_empty());
        assert_eq!(stream.contains("\"shop.example.com\" $ingressd_inside;"), is_wild && !proxy_protocol, "{stream}");
        assert_eq!(stream.contains("\"shop.example.com\" ingressd.passed-"), !is_wild, "{stream}");
        let server = files.files["http/server-exact-shop.example.com.conf"].content.text();
        let count = |words: &str| server.lines().filter(|line| line.contains(words)).count();
        assert_eq!(wanted.map(|(words, _)| (words, count(words))), wanted, "{server}");
        if !other_sites.stream_directives.is_empty() {
            fs::create_dir_all(root.path().join("stream")).expect("a folder");
            fs::write(root.path().join("stream/00-own.conf"), "map_hash_max_size 4096;\n").expect("a file");
        }
        let (accepted, words) = test(&files, root.path());
        assert!(accepted && !words.contains("[warn]"), "{words}");
    }
}

#[test]
fn nginx_accepts_each_server_with_nothing_but_what_it_requires() {
    let root = tempfile::tempdir().expect("a folder");
    let (files, _) = render(model(), root.path());
    let servers: Vec<_> = files.files.keys().filter(|path| path.starts_with("http/server-")).collect();
    // Five of them, and the names that are reserved.
    assert_eq!(servers.len(), 6, "{servers:?}");
    for server in servers {
        let folder = root.path().join(server.replace('/', "_"));
        let (all, _) = render(model(), &folder);
        let wanted = all.files[server].requires.iter().chain([server]);
        let files = FileSet { files: wanted.map(|path| (path.clone(), Arc::clone(&all.files[path]))).collect() };
        let (accepted, words) = test(&files, &folder);
        assert!(accepted, "{server}: {words}");
    }
}

#[test]
fn the_same_model_gives_the_same_bytes_and_only_changes_are_rendered() {
    let root = Path::new("/nowhere");
    let (plan, _) = gate(&model().into(), &tables(), &installed(), &OtherSites::default(), &options(root));
    let mut renderer = Renderer::default();
    let rendered = renderer.render(&plan);
    let same = renderer.render(&plan);
    assert!(Arc::ptr_eq(&rendered.of_model, &same.of_model) && same.work == RenderWork::default());
    let (first, equal) = (rendered.together(), Plan { model: Arc::new(Model::clone(&plan.model)), ..plan.clone() });
    let again = renderer.render(&equal).together();
    assert_eq!(first, again);
    let kept = first.files.iter().filter(|(path, file)| Arc::ptr_eq(file, &again.files[*path])).count();
    // Servers but the catch-all server, from which reserved wildcards were taken, upstreams,
    // certificates, the password file, and services with their endpoints.
    assert_eq!(kept, 4 + 6 + 2 + 1 + 2 + 2);
    assert_eq!(Renderer::default().render(&plan).together(), first);
}

#[test]
fn every_line_of_a_server_has_an_owner_and_settings_have_their_own() {
    let mut model = model();
    let field = Origin { field: Field::Rule(7), ..origin() };
    let mut server = (*model.servers[2]).clone();
    let mut behaviour = everything();
    behaviour.directives[4].origin = field.clone();
    server.routes[0].behaviour = behaviour.into();
    model.servers[2] = server.into();
    let (files, _) = render(model, Path::new("/nowhere"));
    let file = &files.files["http/server-exact-shop.example.com.conf"];
    let text = file.content.text();
    for (line, words) in (1..).zip(text.lines()) {
        let owner = file.owners.of_line(line).expect("an owner");
        let timeout = owner == &field;
        assert_eq!(timeout, words.trim() == "proxy_read_timeout 120s;" && timeout, "{line}: {words}");
    }
    assert!((1..).zip(text.lines()).any(|(line, _)| file.owners.of_line(line) == Some(&field)));
}

#[test]
fn every_file_reads_as_nginx_reads_it() {
    let (files, _) = render(model(), Path::new("/nowhere"));
    for (path, file) in files.files.iter().filter(|(path, _)| path.starts_with("http/") || path.starts_with("stream/"))
    {
        let read = syntax::parse(&file.content.bytes());
        assert!(read.is_ok(), "{path}: {read:?}");
    }
}
