//! `ingressd setup` on the layouts of Debian, Fedora, RHEL and nginx.org, with the real nginx over files of the test's own; this must not know how steps are taken.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::rig::namespace;
use crate::rig::nginx::Nginx;

/// What Fedora's package installs as nginx.conf; its server is after everything else.
const FEDORA: &str = "user www-data;
worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;

# Load dynamic modules. See /usr/share/doc/nginx/README.dynamic.
include /usr/share/nginx/modules/*.conf;

events {
    worker_connections 1024;
}

http {
    log_format  main  '$remote_addr - $remote_user [$time_local] \"$request\" '
                      '$status $body_bytes_sent \"$http_referer\" '
                      '\"$http_user_agent\" \"$http_x_forwarded_for\"';

    access_log  /var/log/nginx/access.log  main;

    sendfile            on;
    keepalive_timeout   65;
    types_hash_max_size 4096;

    include             /etc/nginx/mime.types;
    default_type        application/octet-stream;

    # Load modular configuration files from the /etc/nginx/conf.d directory.
    include /etc/nginx/conf.d/*.conf;

    server {
        listen       80;
        listen       [::]:80;
        server_name  _;
        root         /usr/share/nginx/html;

        # Load configuration files for the default server block.
        include /etc/nginx/default.d/*.conf;

        error_page 404 /404.html;
        location = /404.html {
        }
    }

# Settings for a TLS enabled server.
#
#    server {
#        listen       443 ssl;
#    }
}
";

/// What nginx.org's package installs.
const NGINX_ORG: &str = "
user  www-data;
worker_processes  auto;
load_module MODULE;

error_log  /var/log/nginx/error.log notice;
pid        /run/nginx.pid;


events {
    worker_connections  1024;
}


http {
    include       /etc/nginx/mime.types;
    default_type  application/octet-stream;

    access_log  /var/log/nginx/access.log;

    sendfile        on;
    #gzip  on;

    include /etc/nginx/conf.d/*.conf;
}
";

const NGINX_ORG_DEFAULT: &str = "server {
    listen       80;
    server_name  localhost;

    location / {
        root   /usr/share/nginx/html;
        index  index.html index.htm;
    }
}
";

/// Layouts of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Package {
    Debian,
    Fedora,
    Rhel,
    NginxOrg,
}

use Package::{Debian, Fedora, NginxOrg, Rhel};

/// A host with an nginx of this layout, seen by this thread and what it starts: `/etc/nginx`, `/usr/share/nginx` and the
/// folders of ingressd are the test's own.
struct Host {
    folder: tempfile::TempDir,
}

/// Everything below these folders, by path: kind, mode, owner and content.
type Tree = BTreeMap<PathBuf, String>;

fn run(test: impl FnOnce(Host) + Send + 'static, package: Package) {
    namespace::run_alone(move || test(Host::new(package)));
}

fn stream_module() -> &'static str {
    let places = ["/usr/lib/nginx/modules/ngx_stream_module.so", "/usr/lib64/nginx/modules/ngx_stream_module.so"];
    places.into_iter().find(|path| Path::new(path).exists()).expect("the stream module: tests/requirements installs it")
}

impl Host {
    fn new(package: Package) -> Host {
        let host = Host { folder: tempfile::Builder::new().prefix("ingressd-test-").tempdir().unwrap() };
        let load = format!("load_module {};\n", stream_module());
        let host_types = fs::read("/etc/nginx/mime.types").unwrap();
        for folder in ["nginx/conf.d", "share/html", "ingressd", "var"] {
            fs::create_dir_all(host.path(folder)).unwrap();
        }
        fs::write(host.path("nginx/mime.types"), host_types).unwrap();
        match package {
            Debian => {
                // The distribution's own files, where this is Debian; they are the same that its package installs.
                for folder in ["modules-enabled", "sites-available", "sites-enabled"] {
                    fs::create_dir(host.path("nginx").join(folder)).unwrap();
                }
                host.write("nginx/nginx.conf", include_str!("setup/debian-nginx.conf"));
                host.write("nginx/sites-available/default", include_str!("setup/debian-default"));
                symlink("/etc/nginx/sites-available/default", host.path("nginx/sites-enabled/default")).unwrap();
                host.write("nginx/modules-enabled/50-mod-stream.conf", &load);
            }
            Fedora | Rhel => {
                fs::create_dir(host.path("share/modules")).unwrap();
                let claims = if package == Rhel { " default_server" } else { "" };
                let text = FEDORA.replace("       80;", &format!("       80{claims};"));
                host.write("nginx/nginx.conf", &text.replace("[::]:80;", &format!("[::]:80{claims};")));
                host.write("share/modules/mod-stream.conf", &load);
            }
            NginxOrg => {
                // There the module is built in.
                host.write("nginx/nginx.conf", &NGINX_ORG.replace("MODULE", stream_module()));
                host.write("nginx/conf.d/default.conf", NGINX_ORG_DEFAULT);
            }
        }
        let settings = format!(
            "apply.state = {:?}\nkubeconfig = {:?}\n[nginx]\nbinary = {:?}\nunit = ''\n",
            host.path("var/state"),
            host.path("ingressd/kubeconfig"),
            Nginx::binary()
        );
        host.write("ingressd/ingressd.toml", &settings);
        host.write("ingressd/kubeconfig", "{}");
        fs::set_permissions(host.path("ingressd/kubeconfig"), Permissions::from_mode(0o644)).unwrap();
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).unwrap();
        for (from, to) in [("nginx", "/etc/nginx"), ("share", "/usr/share/nginx")] {
            mount(Some(&host.path(from)), to, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
        }
        assert_eq!(host.nginx("-t").0, Some(0), "the layout itself is good");
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn append(&self, name: &str, text: &str) {
        let before = fs::read_to_string(self.path(name)).unwrap();
        self.write(name, &(before + text));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ingressd"));
        command.arg("setup").args(arguments).arg("--config").arg(self.path("ingressd/ingressd.toml"));
        command
    }

    /// Runs setup; its exit code and everything it said.
    fn setup(&self, arguments: &[&str]) -> (Option<i32>, String) {
        said(&self.command(arguments).output().unwrap())
    }

    fn nginx(&self, flag: &str) -> (Option<i32>, String) {
        said(&Command::new(Nginx::binary()).arg(flag).output().unwrap())
    }

    /// What stands everywhere, but for logs.
    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        add(self.folder.path(), &mut tree);
        tree
    }

    /// Puts a generation in place that is told from all else.
    fn write_generation(&self) {
        for context in ["http", "stream"] {
            fs::create_dir_all(self.path("nginx/ingressd/generations/1").join(context)).unwrap();
        }
        symlink("generations/1", self.path("nginx/ingressd/current")).unwrap();
        self.write("nginx/ingressd/current/http/a.conf", "server { listen 81; server_name generated-http; }\n");
        self.write("nginx/ingressd/current/stream/a.conf", "server { listen 82; return generated-stream; }\n");
    }
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output.status.code(), text.concat())
}

fn add(path: &Path, tree: &mut Tree) {
    let metadata = fs::symlink_metadata(path).unwrap();
    let kind = match () {
        () if metadata.is_symlink() => format!("link to {}", fs::read_link(path).unwrap().display()),
        () if metadata.is_dir() => {
            fs::read_dir(path).unwrap().for_each(|entry| add(&entry.unwrap().path(), tree));
            "folder".to_owned()
        }
        () => format!("file of {}", fs::read(path).unwrap().escape_ascii()),
    };
    let about = format!("{:o} {}:{} {kind}", metadata.mode(), metadata.uid(), metadata.gid());
    tree.insert(path.to_owned(), about);
}

#[test]
fn every_layout_is_made_ready_and_put_back_to_the_byte() {
    for package in [Debian, Fedora, Rhel, NginxOrg] {
        run(
            move |host| {
                let before = host.tree();
                let (code, text) = host.setup(&["--disable-default-site"]);
                assert_eq!((code, host.tree() == before), (Some(0), true), "only shown on {package:?}: {text}");
                assert!(text.contains("would") && text.contains("Nothing was changed"), "{package:?}: {text}");

                let (code, text) = host.setup(&["--yes", "--disable-default-site"]);
                assert_eq!(code, Some(0), "{package:?}: {text}");
                host.write_generation();
                let (code, dump) = host.nginx("-T");
                assert_eq!(code, Some(0), "{package:?}: {dump}");
                for word in ["generated-http", "generated-stream"] {
                    assert!(dump.contains(word), "{package:?}: {word} in {dump}");
                }
                // Where nobody else claims it, our own default server is the first.
                let site = dump.lines().filter(|line| !line.trim_start().starts_with('#'));
                let claims =
                    site.filter(|line| line.contains("listen") && line.contains("80") && !line.contains("808"));
                assert_eq!(claims.count(), if package == Fedora { 2 } else { 0 }, "{package:?}: {dump}");
                let mode = fs::metadata(host.path("ingressd/kubeconfig")).unwrap().mode() & 0o777;
                assert_eq!(mode, 0o600, "{package:?}");

                let ready = host.tree();
                let (code, text) = host.setup(&["--yes", "--disable-default-site"]);
                assert!(code == Some(0) && text.contains("There was nothing to do"), "{package:?}: {text}");
                assert_eq!(host.tree(), ready, "{package:?}");

                // What the daemon wrote is no business of setup's: the folder stays as long as it is in use.
                fs::remove_dir_all(host.path("nginx/ingressd/generations")).unwrap();
                fs::remove_file(host.path("nginx/ingressd/current")).unwrap();
                let (code, text) = host.setup(&["--undo"]);
                assert_eq!(code, Some(0), "{package:?}: {text}");
                assert_eq!(host.tree(), before, "{package:?}: {text}");
                assert!(host.setup(&["--undo"]).1.contains("nothing to undo"), "{package:?}");
            },
            package,
        );
    }
}

#[test]
fn the_default_site_goes_only_on_request_and_only_when_it_is_the_distributions() {
    for package in [Debian, Rhel, NginxOrg] {
        run(
            move |host| {
                let sites = ["nginx/sites-enabled/default", "nginx/conf.d/default.conf", "nginx/nginx.conf"];
                let site = sites.iter().find(|name| host.path(name).exists()).unwrap();
                let (code, text) = host.setup(&["--yes"]);
                assert!(code == Some(0) && text.contains("--disable-default-site"), "{package:?}: {text}");
                assert!(host.nginx("-T").1.contains("listen"), "{package:?}");
                // Somebody made it a site of their own.
                let file =
                    fs::canonicalize(host.path(site)).unwrap_or_else(|_| host.path("nginx/sites-available/default"));
                let name = if package == NginxOrg { "server_name  localhost" } else { "server_name _" };
                let name = if package == Rhel { "server_name  _" } else { name };
                let text = fs::read_to_string(&file).unwrap();
                assert!(text.contains(name), "{package:?}: {text}");
                fs::write(&file, text.replace(name, "server_name shop.example")).unwrap();
                let own = host.tree();
                let (code, text) = host.setup(&["--yes", "--disable-default-site"]);
                assert!(code == Some(0) && text.contains("shop.example"), "{package:?}: {text}");
                assert_eq!(host.tree(), own, "{package:?}: {text}");
            },
            package,
        );
    }
}

#[test]
fn a_run_that_is_cut_off_anywhere_is_undone_to_the_byte() {
    const ABORT_AT: &str = "TEST_INGRESSD_SETUP_ABORT_AT";
    for package in [Debian, NginxOrg] {
        run(
            move |host| {
                let before = host.tree();
                let mut cut = 0;
                for point in 1.. {
                    let point = point.to_string();
                    let mut command = host.command(&["--yes", "--disable-default-site"]);
                    let output = command.env(ABORT_AT, &point).output().unwrap();
                    let (code, text) = host.setup(&["--undo"]);
                    assert_eq!(code, Some(0), "{package:?} at {point}: {text}");
                    assert_eq!(host.tree(), before, "{package:?} at {point}: {text}");
                    if output.status.success() {
                        break;
                    }
                    assert_eq!(output.status.code(), None, "{package:?} at {point}: {}", said(&output).1);
                    cut += 1;
                }
                assert!(cut > 10, "{package:?}: only {cut} points");
                // And when taking back is cut off.
                for point in 1.. {
                    let (code, text) = host.setup(&["--yes", "--disable-default-site"]);
                    assert_eq!(code, Some(0), "{package:?} at {point}: {text}");
                    let output = host.command(&["--undo"]).env(ABORT_AT, point.to_string()).output().unwrap();
                    let (code, text) = host.setup(&["--undo"]);
                    assert_eq!(code, Some(0), "{package:?} at {point}: {text}");
                    assert_eq!(host.tree(), before, "{package:?} at {point}: {text}");
                    if output.status.success() {
                        assert!(point > 5, "{package:?}: only {point} points");
                        break;
                    }
                }
            },
            package,
        );
    }
}

#[test]
fn what_somebody_changed_since_is_never_overwritten() {
    run(
        |host| {
            let before = host.tree();
            assert_eq!(host.setup(&["--yes", "--disable-default-site"]).0, Some(0));
            host.append("nginx/conf.d/ingressd.conf", "# mine\n");
            let edited = host.tree().remove(&host.path("nginx/conf.d/ingressd.conf"));
            let (code, text) = host.setup(&["--undo"]);
            assert!(code == Some(1) && text.contains("conf.d/ingressd.conf: somebody changed it"), "{text}");
            let mut left = host.tree();
            assert_eq!(left.remove(&host.path("nginx/conf.d/ingressd.conf")), edited);
            left.retain(|path, _| !path.starts_with(host.path("var/state")));
            assert_eq!(left, before, "everything else is undone: {text}");
            let (code, text) = host.setup(&["--undo", "--keep-edited"]);
            assert_eq!(code, Some(0), "{text}");
            assert_eq!(host.tree().remove(&host.path("nginx/conf.d/ingressd.conf")), edited);
            assert!(!host.path("var/state").exists());
            // One that includes something else is left alone, and said so.
            host.write("nginx/conf.d/ingressd.conf", "# mine\n");
            let (code, text) = host.setup(&["--yes"]);
            assert!(code == Some(0) && text.contains("does not include"), "{text}");
            assert_eq!(fs::read_to_string(host.path("nginx/conf.d/ingressd.conf")).unwrap(), "# mine\n");
        },
        Debian,
    );
}

#[test]
fn nothing_is_done_where_nginx_refuses_and_a_step_that_it_refuses_is_taken_back() {
    run(
        |host| {
            // A generation that does harm as soon as it is included.
            host.write_generation();
            host.write("nginx/ingressd/current/http/a.conf", "nonsense;\n");
            let before = host.tree();
            let (code, text) = host.setup(&["--yes"]);
            assert!(code == Some(69) && text.contains("step http-include, which was taken back"), "{text}");
            assert!(text.contains("nonsense"), "nginx's own words: {text}");
            assert_eq!(host.nginx("-t").0, Some(0));
            assert!(!host.path("nginx/conf.d/ingressd.conf").exists());
            host.setup(&["--undo"]);
            assert_eq!(host.tree(), before);

            host.append("nginx/nginx.conf", "nonsense;\n");
            let broken = host.tree();
            for arguments in [&["--yes"][..], &[]] {
                let (code, text) = host.setup(arguments);
                assert!(code == Some(69) && text.contains("nothing is changed"), "{text}");
                assert_eq!(host.tree(), broken);
            }
        },
        Debian,
    );
}

#[test]
fn a_module_that_goes_takes_nothing_down_that_undo_could_not_mend() {
    run(
        |host| {
            let before = host.tree();
            assert_eq!(host.setup(&["--yes"]).0, Some(0));
            let module = host.path("nginx/modules-enabled/50-mod-stream.conf");
            let text = fs::read(&module).unwrap();
            fs::remove_file(&module).unwrap();
            assert_eq!(host.nginx("-t").0, Some(1), "the stream block is left without its module");
            let (code, text_of_undo) = host.setup(&["--undo"]);
            assert_eq!((code, host.nginx("-t").0), (Some(0), Some(0)), "{text_of_undo}");
            fs::write(&module, text).unwrap();
            assert_eq!(host.tree(), before);
            // Without the module there is no step for it.
            fs::remove_file(&module).unwrap();
            let (code, text) = host.setup(&["--yes"]);
            assert!(code == Some(0) && text.contains("libnginx-mod-stream"), "{text}");
            assert_eq!(host.nginx("-t").0, Some(0));
        },
        Debian,
    );
}

#[test]
fn a_configuration_of_ones_own_gets_lines_in_its_blocks() {
    run(
        |host| {
            let text = fs::read_to_string(host.path("nginx/nginx.conf")).unwrap();
            let text = text.replace("    include /etc/nginx/conf.d/*.conf;\n", "");
            host.write("nginx/nginx.conf", &(text + "stream {\n    tcp_nodelay on;\n}\n"));
            let before = host.tree();
            let (code, text) = host.setup(&["--yes"]);
            assert_eq!(code, Some(0), "{text}");
            host.write_generation();
            let (code, dump) = host.nginx("-T");
            assert!(code == Some(0) && dump.contains("generated-http") && dump.contains("generated-stream"), "{dump}");
            assert_eq!(dump.matches("\nstream {").count(), 1);
            fs::remove_dir_all(host.path("nginx/ingressd/generations")).unwrap();
            fs::remove_file(host.path("nginx/ingressd/current")).unwrap();
            assert_eq!(host.setup(&["--undo"]).0, Some(0));
            assert_eq!(host.tree(), before);
        },
        NginxOrg,
    );
}
