//! Every key of the settings: path, form, default, documentation and setter.

use std::sync::LazyLock;

use config::{Value, ValueKind};

use super::settings::Settings;
use super::value::{Form, Setting as _, on_off_or_dialect, put, text, untyped};
use super::{
    access, access_log, firewall, geoip2, global, hosts, ingress_nginx, limits, pacing, publishing, snippets, traffic,
};
use ingressd_model::{HostName, is_label};
use ingressd_objects::Selector;
use ingressd_translate::Scope;

/// A key of the settings.
#[derive(Debug)]
pub struct SettingRow {
    /// Its path: `section.key`, or a key of the top level.
    pub key: &'static str,
    /// What it is about. `ingressd explain` shows those that are not about the whole node.
    pub scope: Scope,
    /// How its value is written.
    pub form: Form,
    /// Its default, as TOML.
    pub default: &'static str,
    /// Its documentation; one paragraph.
    pub doc: &'static str,
    /// Checks a value and stores it, or returns one clause about the mistake.
    pub(super) set: fn(&mut Settings, &Value) -> Result<(), String>,
}

/// A row whose form is that of the type of its place in the settings; `$store` checks what the
/// type does not.
macro_rules! row {
    ($key:literal, $scope:expr, $default:literal, $($place:ident).+) => {
        row!($key, $scope, $default, $($place).+, $crate::value::put)
    };
    ($key:literal, $scope:expr, $default:literal, $($place:ident).+, $store:expr) => {
        $crate::table::SettingRow::new(
            $key,
            $scope,
            $crate::value::form(|settings| &settings.$($place).+),
            $default,
            |settings, value| $crate::value::store(&mut settings.$($place).+, value, $store),
        )
    };
}
pub(super) use row;

impl SettingRow {
    /// A row without documentation.
    pub(super) const fn new(
        key: &'static str,
        scope: Scope,
        form: Form,
        default: &'static str,
        set: fn(&mut Settings, &Value) -> Result<(), String>,
    ) -> SettingRow {
        SettingRow { key, scope, form, default, doc: "", set }
    }

    pub(super) const fn doc(self, doc: &'static str) -> SettingRow {
        SettingRow { doc, ..self }
    }

    /// Its section; empty for keys of the top level.
    pub fn section(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(section, _)| section)
    }

    /// Its name within the section.
    pub fn name(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(_, name)| name)
    }

    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("INGRESSD_{}", self.key.replace(['.', '-'], "_").to_uppercase())
    }

    pub(super) fn default_value(&self) -> Option<ValueKind> {
        self.default.parse().ok().as_ref().and_then(untyped)
    }

    /// Checks a value without storing it.
    pub(super) fn prove(&self, value: &Value) -> Result<(), String> {
        (self.set)(&mut Settings::empty(), value)
    }
}

/// The subject of each section, in the order of the documentation.
pub(super) const SECTIONS: &[(&str, &str)] = &[
    ("", "What is served"),
    ("hosts", "Which namespace may serve which host"),
    ("snippets", "Which namespace may use snippets of nginx's configuration"),
    ("listen", "Addresses and ports of nginx"),
    ("upstreams", "How backends are reached"),
    ("access", "Access of clients, and trusted proxies"),
    ("headers", "Headers of all hosts"),
    ("tls", "Certificates and redirects to https"),
    ("access-log", "How requests are logged"),
    ("traffic", "How requests are counted by Ingress and Service"),
    ("firewall", "Rules of ModSecurity, for routes that ask for it"),
    ("geoip2", "Databases with country, city and network of clients"),
    ("ingress-nginx", "Objects of an ingress-nginx that ingressd replaces"),
    ("limits", "Limits for one object, one namespace and the node"),
    ("nginx", "The nginx of this host, which ingressd never starts or stops"),
    ("apply", "How configuration is put in place"),
    ("pacing", "When changes are carried out"),
    ("publish", "Addresses, Events and Leases in the cluster"),
    ("http", "Health checks, metrics and status for programs"),
    ("control", "The control socket of the daemon"),
    ("log", "What is logged and how"),
];

/// Every key, by section.
pub fn rows() -> impl Iterator<Item = &'static SettingRow> {
    // Each key of a file and each variable is looked up here.
    static BY_SECTION: LazyLock<Vec<&SettingRow>> = LazyLock::new(|| {
        let mut rows: Vec<_> = TABLES.iter().copied().flatten().collect();
        rows.sort_by_key(|row| SECTIONS.iter().position(|(section, _)| *section == row.section()));
        rows
    });
    BY_SECTION.iter().copied()
}

/// The rows of each section.
const TABLES: &[&[SettingRow]] = &[
    ROWS,
    access::ROWS,
    access_log::ROWS,
    global::ROWS,
    firewall::ROWS,
    geoip2::ROWS,
    hosts::ROWS,
    ingress_nginx::ROWS,
    limits::ROWS,
    pacing::ROWS,
    publishing::ROWS,
    snippets::ROWS,
    traffic::ROWS,
];

/// The rows of most sections.
const ROWS: &[SettingRow] = &[
    row!("manifests", Scope::Node, r#""""#, manifests)
        .doc("Folder of manifests (YAML or JSON) that is served and watched instead of a cluster. `ingressd run --manifests` sets the same."),
    row!("kubeconfig", Scope::Node, r#""""#, cluster.kubeconfig)
        .doc("File with the address of the cluster that is served, and the credentials for it. Only its owner may read the file (mode 0600). The file, and the files that it names, may be replaced at any time. When neither this nor `manifests` is set, `/etc/ingressd/kubeconfig` is used. `ingressd run --kubeconfig` sets the same."),
    row!("namespaces", Scope::Node, "[]", cluster.namespaces, |names, value| {
        put(names, value)?;
        let wrong = names.iter().find(|name| !is_label(name));
        wrong.map_or(Ok(()), |name| Err(format!("{name:?} is not a name of a namespace")))
    })
        .doc("Namespaces of the cluster that are served; the credentials need rights only there. Empty serves all. When a namespace is removed from the list, the addresses in the status of its Ingresses stay: give these Ingresses another class first, or clear their status."),
    row!("namespace-selector", Scope::Node, r#""""#, cluster.namespace_selector, |selector, value| {
        put(selector, value)?;
        Option::<Selector>::read(value).map(drop)
    })
        .doc("Serves the namespaces with these labels, written as kubectl takes them with -l, for example `ingress=edge`, also when labels change. It replaces `namespaces`. When a namespace is no longer selected, the addresses of the nodes are removed from the status of its Ingresses."),
    row!("classes", Scope::Node, r#"[{ controller = "ingressd/nginx", dialect = "specification" }]"#, translate.classes)
        .doc("Which Ingresses are served, and by which rules: one table for each `spec.controller` of an IngressClass. To replace ingress-nginx, add a table for `k8s.io/ingress-nginx` with that dialect. The tables replace the default list."),
    row!("default-backend", Scope::Server, r#""""#, translate.default_backend)
        .doc("Service, as namespace/name, for requests that match no Ingress. Without one they get 404."),
    row!("cross-namespace", Scope::Node, "false", translate.cross_namespace)
        .doc("Whether an Ingress may name Secrets and ConfigMaps of another namespace. With true one tenant can use what belongs to another."),
    row!("listen.addresses", Scope::Listener, r#"["0.0.0.0", "::"]"#, translate.listeners.addresses)
        .doc("Addresses on which nginx listens."),
    row!("listen.http-port", Scope::Listener, "80", translate.listeners.http_port).doc("Port for HTTP, 0 for none."),
    row!("listen.https-port", Scope::Listener, "443", translate.listeners.https_port)
        .doc("Port for HTTPS, 0 for none."),
    row!("listen.public-https-port", Scope::Server, "443", gate.public_https_port)
        .doc("Port that clients use for https, which redirects name. It differs from `https-port` where a device in front of nginx translates ports."),
    row!("listen.http2", Scope::Listener, "true", gate.http2).doc("Whether HTTP/2 is offered over TLS."),
    row!("listen.proxy-protocol", Scope::Listener, "false", translate.listeners.proxy_protocol)
        .doc("Whether connections to both ports begin with a header of the PROXY protocol (version 1 or 2), as load balancers of TCP connections send it. nginx closes connections without it. In connections from `access.trusted-proxies`, which must not be empty, nginx takes the address of the client, and the port that the client connected to, from this header. It then trusts no `X-Forwarded` header of a request."),
    row!("listen.status", Scope::Node, r#""127.0.0.1:10246""#, gate.status)
        .doc("Loopback address on which nginx returns its generation and its connection counters. The daemon uses it to confirm reloads."),
    row!("listen.passthrough-port", Scope::Node, "10247", gate.passthrough_port)
        .doc("Port of 127.0.0.1, 127.0.0.2 and 127.0.0.3 on which nginx listens for its own connections while some host is passed through (`tls.passthrough`). Programs of this host that connect to it can send any client address: see docs/passthrough.md."),
    row!("listen.access-log", Scope::Server, r#""""#, gate.access_log.path)
        .doc("File for the access log. Empty leaves the file of nginx.conf. The section `access-log` sets what is logged. The package of nginx rotates `/var/log/nginx/*.log`; for other files you need a rule of logrotate (logs.md)."),
    row!("upstreams.endpoints", Scope::Upstream, r#""pod""#, translate.endpoints)
        .doc("How backends are reached: `pod` by pod addresses (the host needs routes to them), `nodeport`, `clusterip`, `loadbalancer`, or `auto` for the first of these that the Service offers and the host can reach. A Service overrides it with the annotation `ingressd/endpoints`."),
    row!("upstreams.reachable", Scope::Upstream, "[]", translate.reachable)
        .doc("Networks that this host reaches directly. With `auto`, pod addresses are used only within them."),
    row!("upstreams.external-names", Scope::Upstream, "true", translate.external_names)
        .doc("Whether Services of type ExternalName are served. Their names are resolved with `upstreams.resolvers`. A name of a Service of this cluster stands for that Service. Names of Services and pods of other namespaces are refused unless `access.shared-services` or `cross-namespace` allows them. This is decided by the name: whether another name has an address of a pod or Service of another namespace is not checked."),
    row!("upstreams.cluster-domain", Scope::Upstream, r#""cluster.local""#, translate.cluster_domain, |domain, value| {
        let name = text(value)?.trim_matches('.').to_ascii_lowercase();
        let name = HostName::new(&name).map_err(|why| format!("{name:?} is no domain: {why}"))?;
        *domain = name.as_str().into();
        Ok(())
    })
        .doc("The domain of the cluster, as kubelet has it in `clusterDomain`. `NAME.NAMESPACE.svc` before it, or alone, is the name of a Service in `auth-url`, `mirror-target` and Services of type ExternalName."),
    row!("upstreams.resolvers", Scope::Upstream, r#"["host"]"#, names.resolvers)
        .doc("DNS servers, with port, for the names of ExternalName Services and for names outside of the cluster in `auth-url` and `mirror-target`; `host` stands for the servers in /etc/resolv.conf of this host. Search domains are not used. The daemon resolves the names and nginx gets the addresses, so that a name that resolves to loopback, link-local or an address of an edge node is refused. With an empty list no name is resolved, and the routes answer 503."),
    row!("upstreams.resolve-interval", Scope::Upstream, r#""5s""#, names.interval)
        .doc("Shortest time until a name is resolved again. A longer time to live of the answer is used, up to five minutes."),
    row!("upstreams.local", Scope::Upstream, "false", translate.local_upstreams)
        .doc("Whether loopback and link-local addresses may be backends. With true the author of an Ingress can reach programs that listen only on this host; use it for demonstrations only."),
    row!("upstreams.own-addresses", Scope::Upstream, "[]", translate.own_upstreams)
        .doc("Addresses of this host or of other edge nodes that may be backends, each with its port, for example `192.0.2.10:9100`. All other ports of these nodes are refused as backends, because the author of an EndpointSlice could otherwise reach programs on them that trust the node. A pod with `hostNetwork` on an edge node needs its address here. Node ports, cluster addresses and addresses of load balancers, which tenants do not choose, do not. Ports that nginx listens on for the cluster stay refused."),
    row!("upstreams.keepalive", Scope::Upstream, "32", gate.upstream_keepalive)
        .doc("Idle connections that each worker keeps to each upstream."),
    row!("tls.default-certificate", Scope::Server, r#""""#, translate.default_certificate)
        .doc("Secret, as namespace/name, with the certificate for hosts that have none of their own. Without one the daemon makes a self-signed certificate once and keeps it."),
    row!("tls.protocols", Scope::Server, r#"["TLSv1.2", "TLSv1.3"]"#, gate.tls_protocols)
        .doc("Versions of TLS that hosts offer: TLSv1.2, TLSv1.3 or both."),
    row!("tls.passthrough", Scope::Listener, "false", translate.passthrough)
        .doc("Whether objects may have TLS of their hosts forwarded to their Services without decryption, by the annotation `ssl-passthrough`, as with the flag `--enable-ssl-passthrough` of ingress-nginx. nginx needs its stream module for it. As long as no object asks for it, nothing changes. See docs/passthrough.md."),
    row!("tls.redirect", Scope::Server, "true", translate.ssl_redirect)
        .doc("Whether hosts with a certificate redirect plain requests to https, where no annotation says otherwise."),
    row!("tls.force-redirect", Scope::Server, "false", translate.force_ssl_redirect)
        .doc("Whether all hosts redirect plain requests to https, also those without a certificate."),
    row!("tls.redirect-status", Scope::Server, "308", translate.redirect_status, |status, value| {
        put(status, value)?;
        match status {
            301 | 302 | 307 | 308 => Ok(()),
            other => Err(format!("{other} is none of 301, 302, 307, 308")),
        }
    })
        .doc("Status of these redirects: 301, 302, 307 or 308."),
    SettingRow::new("tls.hsts", Scope::Server, Form::Text, r#""dialect""#, |settings, value| {
        on_off_or_dialect(&mut settings.translate.hsts.enabled, value)
    })
        .doc("Whether Strict-Transport-Security is sent over TLS: `on`, `off`, or `dialect` for what the dialect of the class does (ingress-nginx sends it, the specification does not)."),
    row!("tls.hsts-max-age", Scope::Server, "31536000", translate.hsts.max_age)
        .doc("`max-age` of that header, in seconds."),
    row!("tls.hsts-include-subdomains", Scope::Server, "true", translate.hsts.include_subdomains)
        .doc("Whether that header has `includeSubDomains`."),
    row!("tls.hsts-preload", Scope::Server, "false", translate.hsts.preload).doc("Whether that header has `preload`."),
    row!("nginx.binary", Scope::Node, r#""/usr/sbin/nginx""#, nginx.binary)
        .doc("Path of nginx. ingressd runs it with -V to read its version and modules, and with -t to test configuration."),
    row!("nginx.configuration", Scope::Node, r#""/etc/nginx/nginx.conf""#, nginx.configuration)
        .doc("Its main configuration file."),
    row!("nginx.prefix", Scope::Node, r#""""#, nginx.prefix)
        .doc("Folder to which nginx's relative paths refer, as in its flag -p. Empty for the one it was built with."),
    row!("nginx.pid-file", Scope::Node, r#""/run/nginx.pid""#, nginx.pid_file)
        .doc("File with the process id of nginx's master."),
    row!("nginx.unit", Scope::Node, r#""nginx.service""#, nginx.unit)
        .doc("systemd unit of nginx, for the process id when the file does not have it. Empty when systemd does not run nginx."),
    row!("nginx.shared-servers", Scope::Node, "true", gate.shared_servers)
        .doc("Whether 16 or more hosts that differ only in their names and backends share a `server` block. Reloads then take a fraction of the time and of nginx's memory. Each request to such a host takes nginx some 9 nanoseconds more for each backend that it compares before the right one: 4 microseconds in the middle of 1000 backends, 22 in the middle of 5000 and 45 at their end, where a small request takes 18 without (docs/performance.md). Backends of namespaces with many are compared last, so that they cost others little. Set it to false where there are thousands of backends, few changes and very many requests. Where the `http` block of nginx.conf uses `$server_name`, as in the format of a log, no server is shared, because the variable has one value for each block."),
    row!("nginx.templates", Scope::Node, r#""""#, nginx.templates)
        .doc("Absolute path of a folder of templates (`NAME.hbs`) that replace those in the program; see docs/templates.md. Empty uses those in the program. The daemon reads them with the settings: a template that could put a value into a harmful position, or that omits a value, is a mistake in the settings."),
    row!("apply.root", Scope::Node, r#""/etc/nginx/ingressd""#, apply.root)
        .doc("Folder for the generations of the configuration. nginx includes `current/http/*.conf` below it."),
    row!("apply.state", Scope::Node, r#""/var/lib/ingressd""#, apply.state)
        .doc("Folder for state that must survive a restart: last good versions of objects, the quarantine, the default certificate."),
    row!("apply.confirm-timeout", Scope::Node, r#""60s""#, apply.confirm_timeout)
        .doc("How long nginx may take to run a new generation before the last confirmed one is put back, and how long the test of it may take. Object versions with which nginx takes longer go into quarantine, so that other changes are applied; after a change of this setting they are tried again."),
    row!("apply.kept-generations", Scope::Node, "10", apply.kept_generations)
        .doc("How many generations are kept on disk, at least 2."),
    row!("control.socket", Scope::Node, r#""/run/ingressd/control.sock""#, control_socket)
        .doc("Socket for `ingressd status` and other commands. Only root may use it. Its folder is created with mode 0700; an existing `/run/ingressd` gets that mode, and any other existing folder keeps its mode."),
    row!("log.format", Scope::Node, r#""auto""#, log.format)
        .doc("`journal` with structured fields, `text` or `json` on standard error, or `auto`: the journal when systemd connected standard error to it, text otherwise."),
    row!("log.level", Scope::Node, r#""info""#, log.level)
        .doc("Lowest level that is logged: error, warn, info, debug or trace."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_variables_are_unique_and_in_known_sections() {
        let mut keys: Vec<_> = rows().map(|row| row.key).collect();
        let mut variables: Vec<_> = rows().map(SettingRow::variable).collect();
        keys.sort_unstable();
        variables.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");
        assert!(variables.windows(2).all(|pair| pair[0] != pair[1]), "{variables:?}");
        let known = |row: &SettingRow| SECTIONS.iter().any(|(section, _)| *section == row.section());
        assert_eq!(rows().find(|row| !known(row)).map(|row| row.key), None, "a section that is not known");
    }
}
