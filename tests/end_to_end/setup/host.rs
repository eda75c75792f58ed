//! A host with an nginx in the layout of a package, with files of the test's own.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use rig::namespace;
use rig::nginx::Nginx;

/// What Fedora's package installs as nginx.conf; its server is after everything else.
pub const FEDORA: &str = "user www-data;
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
pub const NGINX_ORG: &str = "
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

pub const NGINX_ORG_DEFAULT: &str = "server {
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
pub enum Package {
    Debian,
    Fedora,
    Rhel,
    NginxOrg,
}

use Package::{Debian, Fedora, NginxOrg, Rhel};

/// A host with an nginx of this layout, seen by this thread and what it starts: `/etc/nginx`,
/// `/usr/share/nginx` and the folders of ingressd are the test's own.
pub struct Host {
    folder: tempfile::TempDir,
}

/// Everything below these folders, by path: kind, mode, owner and content.
pub type Tree = BTreeMap<PathBuf, String>;

pub fn run(test: impl FnOnce(Host) + Send + 'static, package: Package) {
    namespace::run_alone(move || test(Host::new(package)));
}

pub fn stream_module() -> &'static str {
    let places = ["/usr/lib/nginx/modules/ngx_stream_module.so", "/usr/lib64/nginx/modules/ngx_stream_module.so"];
    places.into_iter().find(|path| Path::new(path).exists()).expect("the stream module: tests/requirements installs it")
}

impl Host {
    pub fn new(package: Package) -> Host {
        let host = Host { folder: tempfile::Builder::new().prefix("ingressd-test-").tempdir().unwrap() };
        let load = format!("load_module {};\n", stream_module());
        let host_types = fs::read("/etc/nginx/mime.types").unwrap();
        for folder in ["nginx/conf.d", "share/html", "ingressd", "var"] {
            fs::create_dir_all(host.path(folder)).unwrap();
        }
        fs::write(host.path("nginx/mime.types"), host_types).unwrap();
        match package {
            Debian => {
                // On Debian the test uses the distribution's own files, which are those that its
                // package installs.
                for folder in ["modules-enabled", "sites-available", "sites-enabled"] {
                    fs::create_dir(host.path("nginx").join(folder)).unwrap();
                }
                host.write("nginx/nginx.conf", include_str!("debian-nginx.conf"));
                host.write("nginx/sites-available/default", include_str!("debian-default"));
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
                // On this system the module is built in.
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

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn append(&self, name: &str, text: &str) {
        let before = fs::read_to_string(self.path(name)).unwrap();
        self.write(name, &(before + text));
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ingressd"));
        command.arg("setup").args(arguments).arg("--config").arg(self.path("ingressd/ingressd.toml"));
        command
    }

    /// Runs setup; its exit code and everything it said.
    pub fn setup(&self, arguments: &[&str]) -> (Option<i32>, String) {
        said(&self.command(arguments).output().unwrap())
    }

    pub fn nginx(&self, flag: &str) -> (Option<i32>, String) {
        said(&Command::new(Nginx::binary()).arg(flag).output().unwrap())
    }

    /// The content of all files, without logs.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        add(self.folder.path(), &mut tree);
        tree
    }

    /// Puts a recognizable generation in place.
    pub fn write_generation(&self) {
        for context in ["http", "stream"] {
            fs::create_dir_all(self.path("nginx/ingressd/generations/1").join(context)).unwrap();
        }
        symlink("generations/1", self.path("nginx/ingressd/current")).unwrap();
        self.write("nginx/ingressd/current/http/a.conf", "server { listen 81; server_name generated-http; }\n");
        self.write("nginx/ingressd/current/stream/a.conf", "server { listen 82; return generated-stream; }\n");
    }
}

pub fn said(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output.status.code(), text.concat())
}

pub fn add(path: &Path, tree: &mut Tree) {
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
