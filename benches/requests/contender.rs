//! An nginx with one worker and a configuration of its own, hand-written or rendered from
//! manifests.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use ingressd_model::HostListeners;
use ingressd_model::catalogue::Version;
use ingressd_nginx::render::Renderer;
use ingressd_nginx::{Capabilities, GateOptions, OtherSites, gate};
use ingressd_objects::Directory;
use ingressd_objects::directory::ChangedFiles;
use ingressd_translate::{ClassRule, Dialect, Options, SPECIFICATION, Translator, World};
use nix::unistd::Pid;

use super::hosts;
use super::wrk::CONNECTIONS;
use crate::common::process::processor_time;
use ingressd_config::Usual as _;
use rig::manifests::Manifests;
use rig::nginx::Nginx;
use rig::wait;

/// The port of the first contender; each has its own, and one for its status.
const FIRST_PORT: u16 = 8100;
const FIRST_STATUS: u16 = 10_246;

/// Directives of all configurations, the hand-written one included. There is one worker, so that
/// its time is that of the configuration.
const CONFIGURATION: &str = r"
user root root;
worker_processes 1;
pid {prefix}/nginx.pid;
error_log {prefix}/log/error.log;
events {
    worker_connections 4096;
}
http {
    access_log off;
    client_body_temp_path {prefix}/temp/body;
    proxy_temp_path {prefix}/temp/proxy;
    fastcgi_temp_path {prefix}/temp/fastcgi;
    uwsgi_temp_path {prefix}/temp/uwsgi;
    scgi_temp_path {prefix}/temp/scgi;
    include {prefix}/conf.d/*.conf;
}
";

/// An nginx that takes part.
pub struct Contender {
    /// What it is called in the report.
    pub name: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    nginx: Nginx,
}

/// Lays out an nginx.
fn prepare(folder: &Path, name: &str) -> Nginx {
    let nginx = Nginx::prepare(&folder.join(name.replace([' ', ','], "-")));
    fs::write(nginx.configuration(), CONFIGURATION.replace("{prefix}", nginx.prefix().to_str().unwrap())).unwrap();
    nginx
}

/// Starts what answers for all pods.
pub fn backends(folder: &Path) -> Nginx {
    let nginx = prepare(folder, "backends");
    fs::write(nginx.prefix().join("conf.d/backends.conf"), hosts::backends()).unwrap();
    nginx.start();
    nginx
}

/// Where the contender of this number listens.
fn address(number: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, FIRST_PORT + number))
}

impl Contender {
    /// The one that all others are compared with.
    pub fn hand_written(folder: &Path, size: usize) -> Self {
        let (name, address) = ("hand-written", address(0));
        let nginx = prepare(folder, name);
        fs::write(nginx.prefix().join("conf.d/hosts.conf"), hosts::hand_written(size, address)).unwrap();
        Contender { name, address, nginx }
    }

    /// An nginx with the configuration of ingressd.
    pub fn rendered(
        folder: &Path,
        number: u16,
        name: &'static str,
        size: usize,
        dialect: &'static Dialect,
        shared_servers: bool,
    ) -> Self {
        let address = address(number);
        let nginx = prepare(folder, name);
        let current = nginx.prefix().join("current");
        let listeners = HostListeners {
            addresses: vec![IpAddr::from(Ipv4Addr::LOCALHOST)],
            http_port: address.port(),
            https_port: 0,
            proxy_protocol: false,
        };
        let options = GateOptions {
            status: SocketAddr::from((Ipv4Addr::LOCALHOST, FIRST_STATUS + number)),
            current: current.clone(),
            // With fewer, half of what is measured would be connections to backends.
            upstream_keepalive: CONNECTIONS,
            shared_servers,
            ..GateOptions::usual()
        };
        let manifests = Manifests::new(&nginx.prefix().join("manifests"));
        let class = if dialect == &SPECIFICATION { "ingressd" } else { "nginx" };
        hosts::write(&manifests, size, class);
        let files = render(manifests.folder(), dialect, listeners, &options);
        for (path, content) in &files {
            let path = current.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        assert_eq!(files.len() > 2 * size, !shared_servers, "a host has a file of its own, or shares one");
        let include =
            format!("geo $ingressd_generation {{\n    default 1;\n}}\ninclude {}/http/*.conf;\n", current.display());
        fs::write(nginx.prefix().join("conf.d/ingressd.conf"), include).unwrap();
        Contender { name, address, nginx }
    }

    /// Starts it.
    pub fn start(&self) {
        self.nginx.start();
    }

    /// Its only worker.
    pub async fn worker(&self) -> Pid {
        let workers = async || self.nginx.workers();
        wait::until_right("the worker", workers, |workers| workers.len() == 1).await[0]
    }

    /// What a test of its configuration costs, which is most of a reload.
    pub fn test(&self) -> Duration {
        let before = processor_time(Pid::this()).children;
        let (is_accepted, words) = self.nginx.test();
        assert!(is_accepted, "{}: {words}", self.name);
        processor_time(Pid::this()).children - before
    }
}

/// What ingressd writes for a folder of manifests, by path.
fn render(
    folder: &Path,
    dialect: &'static Dialect,
    listeners: HostListeners,
    options: &GateOptions,
) -> Vec<(String, Vec<u8>)> {
    let mut directory = Directory::new(vec![folder.to_owned()]);
    let snapshot = directory.refresh(&ChangedFiles::All, &Default::default(), &mut |_| {}).unwrap();
    let controller = if dialect == &SPECIFICATION { "ingressd/nginx" } else { "k8s.io/ingress-nginx" };
    let class = ClassRule::new(controller, dialect);
    let mut translator = Translator::new(Options { listeners, classes: vec![class], ..Options::default() });
    let translation = translator.translate(&snapshot, &World::default(), &Default::default());
    assert!(translation.findings.is_empty(), "{:#?}", translation.findings.first());
    // This is the version of Debian 12.
    let capabilities = Capabilities::profile(Version(1, 22, 1));
    let (plan, _) = gate(&translation.model, &translation.tables, &capabilities, &OtherSites::default(), options);
    let files = Renderer::default().render(&plan).together().files;
    files.iter().map(|(path, file)| (path.to_string(), file.content.bytes())).collect()
}
