//! Every check: its name, subject and explanation.

use super::checks::{cluster, host, nginx, pods, publishing};
use super::facts::Facts;
use super::report::{Found, Line};

/// Facts that take time or rights to gather.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// nginx: its version, files and processes.
    Nginx,
    /// Listening sockets, SELinux, AppArmor.
    Host,
    /// The generation in place.
    Generation,
    /// The daemon, if one runs.
    Daemon,
    /// Credentials and the API server.
    Cluster,
    /// The rights that the API server grants.
    Permissions,
    /// The ConfigMap that the settings name, which is a layer over them.
    Layer,
    /// The objects, and connections to endpoints.
    Objects,
    /// Nodes and the routes to their pods.
    Routes,
    /// The nodes that publish.
    Leases,
}

/// A check of the doctor.
pub struct Check {
    pub(crate) name: &'static str,
    /// Its subject; one sentence.
    pub about: &'static str,
    /// What a failure means, and the remedy.
    pub wrong: &'static str,
    /// The facts that it needs.
    pub needs: &'static [Need],
    judge: fn(&Facts) -> Found,
}

const fn check(name: &'static str, needs: &'static [Need], judge: fn(&Facts) -> Found) -> Check {
    Check { name, about: "", wrong: "", needs, judge }
}

impl Check {
    const fn about(self, about: &'static str) -> Check {
        Check { about, ..self }
    }

    const fn wrong(self, wrong: &'static str) -> Check {
        Check { wrong, ..self }
    }

    /// What it finds.
    pub(super) fn lines(&self, facts: &Facts) -> Vec<Line> {
        (self.judge)(facts).unwrap_or_else(|why| vec![why])
    }
}

/// The checks at the end of setup.
pub const FIRST: &[&str] = &[
    "nginx-version",
    "nginx-modules",
    "nginx-configuration",
    "nginx-running",
    "includes",
    "default-server",
    "kubeconfig",
    "api-server",
    "clock",
    "permissions",
];

/// Every check, in the order of the report.
pub const CHECKS: &[Check] = &[
    check("nginx-version", &[Need::Nginx], nginx::version)
        .about("The version of the nginx that the settings name, and the features of later versions that it lacks.")
        .wrong("ingressd needs nginx 1.18 or newer: install the one of the distribution, or name another one with \
                `nginx.binary`."),
    check("nginx-modules", &[Need::Nginx, Need::Objects], nginx::modules)
        .about("The modules that this nginx has, and the directives that it lacks without the others.")
        .wrong("Objects that need a missing module get a finding, and routes whose protection needs it answer 503. Install the package of the module, or an nginx that is built with it."),
    check("nginx-configuration", &[Need::Nginx], nginx::configuration)
        .about("What `nginx -t` says of the host's configuration.")
        .wrong("While nginx refuses its configuration no change is served, and nginx could not be started again: do not restart or stop it. Correct the line that nginx names. When the line is in a file of ingressd, `ingressd status` names the object. Where nginx warns that a table is too small, write the line that the check names."),
    check("nginx-running", &[Need::Nginx], nginx::running)
        .about("Whether nginx runs, with the pid file that the settings name.")
        .wrong("ingressd never starts nginx: `systemctl enable --now nginx`. When nginx runs all the same, set `nginx.pid-file` to the path of the directive `pid` in nginx.conf, and `nginx.unit` to the unit of nginx."),
    check("includes", &[Need::Nginx], nginx::includes)
        .about("Whether nginx includes the generated files, in `http` and where it can in `stream`.")
        .wrong("Without the include nginx does not read the generated files: run `ingressd setup --yes`."),
    check("default-server", &[Need::Nginx, Need::Layer], nginx::default_server)
        .about("Whether another site of this node takes the requests for unknown hosts on the ports of Ingresses.")
        .wrong("The other site keeps these requests. If that is not intended, remove its `default_server`; `ingressd setup --yes --disable-default-site` disables the distribution's default site."),
    check("other-sites", &[Need::Nginx, Need::Objects], nginx::other_sites)
        .about("Sockets, host names and protocols of other sites of this nginx that Ingresses need, too.")
        .wrong("Other sites take precedence, and the conflicting part of the Ingress is left out. The line says what to change and where."),
    check("ports", &[Need::Nginx, Need::Host, Need::Daemon, Need::Layer], host::ports)
        .about("Whether other programs listen on the ports that nginx and ingressd need.")
        .wrong("nginx cannot listen on a port that another program uses, and then refuses the whole change. Let that program listen elsewhere, or choose other ports in the section `listen` or `http` of ingressd.toml."),
    check("limits", &[Need::Nginx, Need::Objects], host::limits)
        .about("Whether the processes of nginx that run may have enough files (`LimitNOFILE=` of its unit, `worker_rlimit_nofile`): workers for their connections, sockets and logs, the master for a reload; and whether there are enough connections for the number of Services.")
        .wrong("Workers refuse requests when they have no connection or file left. Raise `worker_connections` in the `events` block of nginx.conf, and set `worker_rlimit_nofile` to twice that number. A master without files refuses changes: raise `LimitNOFILE=` of its unit."),
    check("room", &[Need::Nginx], host::room)
        .about("Whether there are space and inodes in each folder that ingressd and nginx write to: generations, state, sockets, logs and temporary files.")
        .wrong("Without room no change is served, and nginx loses lines of its logs and refuses large requests. Free space on the file system of the folder, for example by rotating logs."),
    check("nginx-conf", &[Need::Nginx, Need::Objects], host::nginx_conf)
        .about("Whether nginx.conf has the values that the ConfigMap of ingress-nginx asks for, such as the number of worker processes and the level of the error log.")
        .wrong("ingressd does not change nginx.conf. Write the line that the check names, test it with `nginx -t`, and reload nginx. Where nginx.conf is right, remove the key from the ConfigMap."),
    check("shared-servers", &[Need::Nginx, Need::Objects], nginx::shared_servers)
        .about("How long nginx searches for the backend of a request to a host that shares its server, with as many Services as there are.")
        .wrong("Hosts with the same options share a server. This makes reloads short, and each request to these hosts a little more expensive. With thousands of Services, few changes and very many requests, set `nginx.shared-servers = false`."),
    check("expressions", &[Need::Nginx, Need::Objects], nginx::expressions)
        .about("Whether nginx compiles regular expressions to machine code (`pcre_jit` in nginx.conf), where paths are regular expressions.")
        .wrong("nginx tries the expressions of a host one after the other for each request, and compiled ones take a fraction of the time. Write `pcre_jit on;` into nginx.conf, outside of all blocks. An nginx that was built without `--with-pcre-jit` (see `nginx -V`) warns about that line."),
    check("confinement", &[Need::Host], host::confinement)
        .about("SELinux and AppArmor: whether nginx may connect to backends, and what was denied within the last day, as far as that can be seen.")
        .wrong("On SELinux: `setsebool -P httpd_can_network_connect 1`. For other denials allow what the line names, in a module made by audit2allow or in AppArmor's local profile."),
    check("daemon", &[Need::Daemon], host::daemon)
        .about("Whether the daemon runs, nginx serves its confirmed generation, and changes are served. All other checks work without the daemon.")
        .wrong("`systemctl enable --now ingressd` starts the daemon; `ingressd status` and `journalctl --unit ingressd` say why it is not ready."),
    check("status-page", &[Need::Host], host::status_page)
        .about("Whether other machines can see the status page by the files that the settings name.")
        .wrong("A certificate that cannot be used leaves the one before in use until the daemon ends, and other files that cannot be used let nobody in. What to do stands beside each file; docs/status-page.md shows how the files are made."),
    check("kubeconfig", &[Need::Cluster], cluster::kubeconfig)
        .about("Whether the kubeconfig exists, can be read only by its owner, and can be used.")
        .wrong("`ingressd kubeconfig` creates one. The daemon refuses a kubeconfig that others may read: run `chmod \
                600` on it."),
    check("api-server", &[Need::Cluster], cluster::server)
        .about("Whether the API server answers and knows whose credentials these are.")
        .wrong("nginx goes on serving, but no change reaches it. Check the address in the kubeconfig, the route to it, firewalls, and whether the credentials have expired."),
    check("clock", &[Need::Cluster], cluster::clock)
        .about("How far the clocks of this host and of the API server are apart.")
        .wrong("With a wrong clock, valid certificates and tokens seem to have expired or not to be valid yet. Run a time service on both hosts (chrony, systemd-timesyncd)."),
    check("permissions", &[Need::Cluster, Need::Permissions], cluster::permissions)
        .about("Whether the credentials have each permission of the shipped roles (SelfSubjectAccessReview), and whether they have more than these.")
        .wrong("Apply the roles that the packages ship, /usr/share/doc/ingressd/examples/rbac.yaml, or run `ingressd kubeconfig --force`."),
    check("objects", &[Need::Cluster, Need::Objects], pods::objects)
        .about("Whether the objects can be read, how many Ingresses ingressd serves, and how many findings there are.")
        .wrong("When ingressd serves no Ingress, check the class: each Ingress names an IngressClass, whose `spec.controller` has to be in the setting `classes`. `ingressd status` lists findings."),
    check("tenants", &[Need::Cluster, Need::Objects], pods::tenants)
        .about("Wildcard hosts that `hosts.allowed` gives to nobody, and authentication services on routes without strict paths.")
        .wrong("Where namespaces do not trust each other, anyone may serve a host below such a wildcard. An authentication service that judges by the path can be asked about another path than the one that the backend reads. Where everybody who writes Ingresses is trusted, nothing has to be done."),
    check("routes", &[Need::Cluster, Need::Routes, Need::Objects], pods::routes)
        .about("Where this host sends packets for the pods of each Node, by its routing table.")
        .wrong("With the endpoint mode `pod` the host needs a route to each pod network, by BGP or by static routes (docs/networking.md). Otherwise choose another mode with `upstreams.endpoints`."),
    check("endpoints", &[Need::Cluster, Need::Objects], pods::endpoints)
        .about("Connections to a sample of endpoints, as each endpoint mode would make them, and which modes work from here.")
        .wrong("Requests get 502 or 504 where nginx cannot reach endpoints. Choose a mode that works with `upstreams.endpoints`, or correct routes, firewalls and NetworkPolicies."),
    check("leases", &[Need::Cluster, Need::Leases], publishing::leases)
        .about("Which node is the leader, and which nodes are members of the group, by the Leases in the cluster.")
        .wrong("The address of a node that does not renew its Lease is withdrawn from the status of Ingresses. Check the daemon on that node, its clock, and its connection to the API server."),
    check("certificates", &[Need::Generation], publishing::certificates)
        .about("When the certificates that nginx serves expire.")
        .wrong("Clients refuse an expired certificate. Renew it in its Secret; with cert-manager, look at the Certificate and the Order."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_first_checks_exist_in_their_order() {
        let names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
        assert!(names.iter().enumerate().all(|(index, name)| !names[..index].contains(name)), "{names:?}");
        let places: Vec<_> = FIRST.iter().map(|name| names.iter().position(|known| known == name)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    }
}
