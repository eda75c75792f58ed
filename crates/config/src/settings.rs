//! The settings as typed values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::Config;

use super::layer::Layer;
use super::layers::{merge, merged_value};
use super::table::rows;
use super::written::Layers;
use ingressd_apply::Allowance;
use ingressd_cluster::publish;
use ingressd_model::{HostName, Instance};
use ingressd_nginx as nginx;
use ingressd_nginx::render::Templates;
use ingressd_translate::SnippetKind;

/// The administrator's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which of several instances this is.
    pub instance: Instance,
    /// Folder of manifests to serve.
    pub manifests: Option<PathBuf>,
    /// The cluster to serve.
    pub cluster: Cluster,
    /// The nginx of this host.
    pub nginx: Nginx,
    /// The replacements of the program's own templates: the contents of `nginx.templates`.
    pub templates: Templates,
    /// How configuration is applied.
    pub apply: Apply,
    /// When changes are applied.
    pub pacing: Pacing,
    /// What is published to the cluster and to other nodes.
    pub publish: publish::Options,
    /// The endpoints for health checks and monitoring.
    pub http: Http,
    pub control_socket: PathBuf,
    /// Whether requests are counted by object, and how.
    pub traffic: Traffic,
    /// What is logged and how.
    pub log: Log,
    /// How DNS names of Services are resolved.
    pub names: NameSettings,
    /// Objects of an ingress-nginx that this program replaces.
    pub ingress_nginx: IngressNginx,
    /// The semantics of objects. Read it through [`Settings::translate_options`], which adds what
    /// follows from other settings.
    pub translate: ingressd_translate::Options,
    /// Listeners and paths. Read it through [`Settings::gate_options`].
    pub gate: nginx::GateOptions,
    /// What of them decides how objects are judged, as TOML; `None` where that is too long for
    /// others to be told.
    pub decisive: Option<Arc<str>>,
    /// The values of each layer, by key.
    pub(super) written: Layers,
}

/// The cluster to serve.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    /// The file with its address and our credentials.
    pub kubeconfig: Option<PathBuf>,
    /// The namespaces that are watched; empty means all.
    pub namespaces: Vec<Arc<str>>,
    /// A label selector for the namespaces that are watched, instead of their names.
    pub namespace_selector: Option<String>,
}

/// The nginx of this host.
#[derive(Debug, Clone, Default)]
pub struct Nginx {
    /// The program, for `-V` and `-t`.
    pub binary: PathBuf,
    /// Its main configuration file.
    pub configuration: PathBuf,
    /// The directory of its relative paths (`nginx -p`); `None` for the built-in one.
    pub prefix: Option<PathBuf>,
    /// The file with the PID of its master.
    pub pid_file: PathBuf,
    /// Its systemd unit; `None` when systemd does not run it.
    pub unit: Option<String>,
    /// The folder of templates; they are read with the settings, see [`Settings::templates`].
    pub templates: Option<PathBuf>,
}

/// How configuration is applied.
#[derive(Debug, Clone, Default)]
pub struct Apply {
    /// The folder of the generations, below nginx's own.
    pub root: PathBuf,
    /// Folder for last good versions, the quarantine and the journal.
    pub state: PathBuf,
    /// How long new workers may take to start before the earlier generation is put back.
    pub confirm_timeout: Duration,
    /// How many generations are kept.
    pub kept_generations: usize,
    /// How many hosts one change may take away; 0 for any number.
    pub most_removed: usize,
}

/// The DNS servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolver {
    /// Those that programs of this host ask.
    OfHost,
    /// This one.
    Server(SocketAddr),
}

/// How names behind Services are resolved.
#[derive(Debug, Clone, Default)]
pub struct NameSettings {
    /// DNS servers; without one no name is resolved.
    pub resolvers: Vec<Resolver>,
    /// Least time between two questions for a name.
    pub interval: Duration,
}

/// Objects of an ingress-nginx that this program replaces, each with namespace and name.
#[derive(Debug, Clone, Default)]
pub struct IngressNginx {
    /// The ConfigMap of its flag `--configmap`.
    pub config_map: Option<(Arc<str>, Arc<str>)>,
    /// The ConfigMap of its flag `--tcp-services-configmap`.
    pub tcp_services: Option<(Arc<str>, Arc<str>)>,
    /// The ConfigMap of its flag `--udp-services-configmap`.
    pub udp_services: Option<(Arc<str>, Arc<str>)>,
}

impl IngressNginx {
    /// Whether TCP or UDP services are asked for.
    pub fn has_streams(&self) -> bool {
        self.tcp_services.is_some() || self.udp_services.is_some()
    }

    /// All ConfigMaps that are read.
    pub fn config_maps(&self) -> impl Iterator<Item = &(Arc<str>, Arc<str>)> {
        [&self.config_map, &self.tcp_services, &self.udp_services].into_iter().flatten()
    }
}

/// When changes are applied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pacing {
    /// How long a change waits for others that come with it.
    pub gather: Duration,
    /// The least time from the start of one reload to the start of the next.
    pub spacing: Duration,
    /// The longest time that a change waits, not counting a running reload, and while more old
    /// workers are allowed.
    pub ceiling: Duration,
    /// How much old workers are given to finish their connections.
    pub draining: Allowance,
    /// How often nginx is checked for a stop, start or crash.
    pub recheck: Duration,
}

/// The endpoints for health checks and monitoring.
#[derive(Debug, Clone)]
pub struct Http {
    /// Address and port.
    pub address: SocketAddr,
    /// Whether an address that other machines can reach is allowed.
    pub remote: bool,
    /// Accepted host names of requests, besides addresses and `localhost`.
    pub hosts: Vec<HostName>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub password_file: Option<PathBuf>,
    pub client_ca: Option<PathBuf>,
}

/// The files by which other machines may see the status page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Names and passwords, where they are needed.
    pub passwords: Option<PathBuf>,
    /// The authorities of clients, where a certificate is needed.
    pub authorities: Option<PathBuf>,
}

impl Http {
    /// The files by which other machines may see the status page; `None` where they may not.
    pub fn page_files(&self) -> Option<PageFiles> {
        let (passwords, authorities) = (self.password_file.clone(), self.client_ca.clone());
        let is_complete = self.remote && (passwords.is_some() || authorities.is_some());
        let (certificate, key) = self.certificate.clone().zip(self.key.clone()).filter(|_| is_complete)?;
        Some(PageFiles { certificate, key, passwords, authorities })
    }
}

/// How requests are counted by object.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    pub enabled: bool,
    /// Whether metrics have the names and labels of ingress-nginx as well.
    pub ingress_nginx_names: bool,
    /// Whether nginx's error log is read.
    pub errors: bool,
    /// The folder between nginx and the daemon.
    pub folder: PathBuf,
}

/// What is logged and how.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The destination and the format.
    pub format: LogFormat,
    /// The least level, or a filter by module in the syntax of `tracing`.
    pub level: String,
}

/// The destination and format of logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// The journal when systemd connected standard error to it, text otherwise.
    #[default]
    Automatic,
    /// The journal, with structured fields.
    Journal,
    /// Text lines on standard error.
    Text,
    /// JSON objects on standard error, one on each line.
    Json,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::of_instance(&Instance::default())
    }
}

/// The defaults that differ for one of several instances: it shares only nginx with the others.
pub(super) fn defaults_of(instance: &Instance) -> Vec<(&'static str, String)> {
    match instance.name() {
        "" => Vec::new(),
        _ => vec![
            ("apply.root", format!("/etc/nginx/ingressd-{instance}")),
            ("apply.state", format!("/var/lib/ingressd-{instance}")),
            ("control.socket", format!("/run/ingressd-{instance}/control.sock")),
            ("publish.lease", format!("ingressd-{instance}")),
            ("traffic.folder", format!("/run/nginx-ingressd-{instance}")),
        ],
    }
}

impl Settings {
    /// The defaults of one of several instances.
    pub fn of_instance(instance: &Instance) -> Self {
        Settings::of(instance, &merge(vec![Layer::defaults(instance)]))
    }

    /// Makes the settings from the merged layers.
    pub(super) fn of(instance: &Instance, merged: &Config) -> Self {
        let mut settings = Settings { instance: instance.clone(), ..Settings::empty() };
        for row in rows() {
            let value = merged_value(merged, row.key).ok_or_else(|| "it has no default".to_owned());
            if let Err(why) = value.and_then(|value| (row.set)(&mut settings, value)) {
                unreachable!("what a layer accepted of {} is refused: {why}", row.key);
            }
        }
        settings
    }

    /// Settings before any row has set a value.
    pub(super) fn empty() -> Self {
        Settings {
            instance: Instance::default(),
            manifests: None,
            cluster: Cluster::default(),
            nginx: Nginx::default(),
            templates: Templates::default(),
            apply: Apply::default(),
            pacing: Pacing::default(),
            publish: publish::Options::default(),
            http: Http {
                address: SocketAddr::from(([127, 0, 0, 1], 0)),
                remote: false,
                hosts: Vec::new(),
                certificate: None,
                key: None,
                password_file: None,
                client_ca: None,
            },
            control_socket: PathBuf::new(),
            traffic: Traffic::default(),
            log: Log::default(),
            names: NameSettings::default(),
            ingress_nginx: IngressNginx::default(),
            translate: ingressd_translate::Options::default(),
            gate: nginx::GateOptions::empty(),
            decisive: None,
            written: Layers::default(),
        }
    }

    /// Whether a stream block of nginx is needed.
    pub fn needs_streams(&self) -> bool {
        self.ingress_nginx.has_streams()
            || self.translate.passthrough
            || self.translate.allows_snippet_somewhere(SnippetKind::Stream)
    }

    /// The addresses of our own listeners beside those for hosts. They are never upstreams.
    pub const fn own_listeners(&self) -> [SocketAddr; 2] {
        [self.gate.status, self.http.address]
    }

    /// Sets whether the rules of the firewall are loaded once for all sites, which also affects
    /// budgets.
    pub(super) fn share_firewall_rules(&mut self, are_shared: bool) {
        self.gate.firewall.shared = are_shared;
        self.translate.shares_firewall_rules = are_shared;
    }

    /// Contradictions: pairs of a key and one clause.
    pub(super) fn contradictions(&self) -> Vec<(&'static str, String)> {
        let mut found = self.http_contradictions();
        if !self.gate.status.ip().is_loopback() {
            found.push(("listen.status", format!("{} is not a loopback address", self.gate.status)));
        }
        if self.translate.listeners.http_port == 0 && self.translate.listeners.https_port == 0 {
            found.push(("listen.http-port", "both ports are 0: nothing would be served".into()));
        }
        if self.translate.listeners.http_port == self.translate.listeners.https_port
            && self.translate.listeners.http_port != 0
        {
            found.push(("listen.https-port", "HTTP and HTTPS cannot share a port".into()));
        }
        let port = self.gate.passthrough_port;
        let others = [
            self.translate.listeners.http_port,
            self.translate.listeners.https_port,
            self.gate.status.port(),
            self.http.address.port(),
        ];
        if self.translate.passthrough && (port == 0 || others.contains(&port)) {
            let why = "nginx needs a port of its own there, because of tls.passthrough";
            found.push(("listen.passthrough-port", why.into()));
        }
        if self.translate.listeners.proxy_protocol && self.translate.trusted_proxies.is_empty() {
            let why = "no load balancer is trusted, so every address would be the load balancer's: name it in \
                       access.trusted-proxies";
            found.push(("listen.proxy-protocol", why.into()));
        }
        if self.manifests.is_some() && self.cluster.kubeconfig.is_some() {
            found.push(("manifests", "a folder and a cluster cannot be served at once: leave out kubeconfig".into()));
        }
        if !self.cluster.namespaces.is_empty() && self.cluster.namespace_selector.is_some() {
            found.push(("namespaces", "it cannot be combined with namespace-selector".into()));
        }
        if let Some((namespace, _)) = &self.translate.default_certificate
            && self.manifests.is_none()
            && !self.cluster.namespaces.is_empty()
            && !self.cluster.namespaces.iter().any(|served| **served == **namespace)
        {
            let why = format!(
                "the namespace {namespace:?} is not served: add it to namespaces, or name a Secret of one that is"
            );
            found.push(("tls.default-certificate", why));
        }
        found.extend(self.publishing_contradictions());
        if self.pacing.ceiling < self.pacing.gather {
            found.push(("pacing.ceiling", "it is shorter than pacing.gather".into()));
        }
        if self.translate.classes.is_empty() {
            found.push(("classes", "without a class no Ingress is served".into()));
        }
        found
    }

    fn publishing_contradictions(&self) -> Vec<(&'static str, String)> {
        let publish = &self.publish;
        let mut found = Vec::new();
        let mut refuse = |key, why: String| found.push((key, why));
        if publish.mode == publish::Mode::Service && publish.service.is_none() {
            refuse("publish.mode", "the Service to copy is not named: set publish.service".into());
        }
        if publish.mode != publish::Mode::Service && publish.service.is_some() {
            let why =
                format!("it has no effect with publish.mode = {:?}: set that to \"service\"", publish.mode.name());
            refuse("publish.service", why);
        }
        if publish.mode == publish::Mode::Service {
            return found;
        }
        if publish.addresses.is_empty() && publish.status {
            let why = "without an address there is nothing to publish: set publish.status = false";
            refuse("publish.addresses", why.into());
        }
        if publish.addresses.len() > publish::MOST_ADDRESSES {
            let why = format!("there are {}, and at most {}", publish.addresses.len(), publish::MOST_ADDRESSES);
            refuse("publish.addresses", why);
        }
        let own = publish.addresses.iter().find(|entry| !matches!(entry, publish::Announced::Fixed(_)));
        if let (publish::Mode::Fixed, Some(own)) = (publish.mode, own) {
            let why =
                format!("{own} differs from node to node: with publish.mode = \"fixed\" name the addresses themselves");
            refuse("publish.addresses", why);
        }
        found
    }
}
