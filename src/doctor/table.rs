//! Every check: its name, subject and explanation.

use super::checks::{cluster, host, nginx, pods, publishing};
use super::facts::Facts;
use super::report::Line;

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
    pub(super) judge: fn(&Facts) -> Vec<Line>,
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
    Check {
        name: "nginx-version",
        about: "The version of the nginx that the settings name, and the features of later versions that it lacks.",
        wrong: "ingressd needs nginx 1.18 or newer: install the one of the distribution, or name another one with \
                `nginx.binary`.",
        needs: &[Need::Nginx],
        judge: nginx::version,
    },
    Check {
        name: "nginx-modules",
        about: "The modules that this nginx has, and the directives that it lacks without the others.",
        wrong: "Objects that need a missing module get a finding, and routes whose protection needs it answer 503. Install the package of the module, or an nginx that is built with it.",
        needs: &[Need::Nginx, Need::Objects],
        judge: nginx::modules,
    },
    Check {
        name: "nginx-configuration",
        about: "What `nginx -t` says of the host's configuration.",
        wrong: "While nginx refuses its configuration no change is served, and nginx could not be started again: do not restart or stop it. Correct the line that nginx names. When the line is in a file of ingressd, `ingressd status` names the object. Where nginx warns that a table is too small, write the line that the check names.",
        needs: &[Need::Nginx],
        judge: nginx::configuration,
    },
    Check {
        name: "nginx-running",
        about: "Whether nginx runs, with the pid file that the settings name.",
        wrong: "ingressd never starts nginx: `systemctl enable --now nginx`. When nginx runs all the same, set `nginx.pid-file` to the path of the directive `pid` in nginx.conf, and `nginx.unit` to the unit of nginx.",
        needs: &[Need::Nginx],
        judge: nginx::running,
    },
    Check {
        name: "includes",
        about: "Whether nginx includes the generated files, in `http` and where it can in `stream`.",
        wrong: "Without the include nginx does not read the generated files: run `ingressd setup --yes`.",
        needs: &[Need::Nginx],
        judge: nginx::includes,
    },
    Check {
        name: "default-server",
        about: "Whether another site of this node takes the requests for unknown hosts on the ports of Ingresses.",
        wrong: "The other site keeps these requests. If that is not intended, remove its `default_server`; `ingressd setup --yes --disable-default-site` disables the distribution's default site.",
        needs: &[Need::Nginx, Need::Layer],
        judge: nginx::default_server,
    },
    Check {
        name: "other-sites",
        about: "Sockets, host names and protocols of other sites of this nginx that Ingresses need, too.",
        wrong: "Other sites take precedence, and the conflicting part of the Ingress is left out. The line says what to change and where.",
        needs: &[Need::Nginx, Need::Objects],
        judge: nginx::other_sites,
    },
    Check {
        name: "ports",
        about: "Whether other programs listen on the ports that nginx and ingressd need.",
        wrong: "nginx cannot listen on a port that another program uses, and then refuses the whole change. Let that program listen elsewhere, or choose other ports in the section `listen` or `http` of ingressd.toml.",
        needs: &[Need::Nginx, Need::Host, Need::Daemon, Need::Layer],
        judge: host::ports,
    },
    Check {
        name: "limits",
        about: "Whether the processes of nginx that run may have enough files (`LimitNOFILE=` of its unit, `worker_rlimit_nofile`): workers for their connections, sockets and logs, the master for a reload; and whether there are enough connections for the number of Services.",
        wrong: "Workers refuse requests when they have no connection or file left. Raise `worker_connections` in the `events` block of nginx.conf, and set `worker_rlimit_nofile` to twice that number. A master without files refuses changes: raise `LimitNOFILE=` of its unit.",
        needs: &[Need::Nginx, Need::Objects],
        judge: host::limits,
    },
    Check {
        name: "room",
        about: "Whether there are space and inodes in each folder that ingressd and nginx write to: generations, state, sockets, logs and temporary files.",
        wrong: "Without room no change is served, and nginx loses lines of its logs and refuses large requests. Free space on the file system of the folder, for example by rotating logs.",
        needs: &[Need::Nginx],
        judge: host::room,
    },
    Check {
        name: "nginx-conf",
        about: "Whether nginx.conf has the values that the ConfigMap of ingress-nginx asks for, such as the number of worker processes and the level of the error log.",
        wrong: "ingressd does not change nginx.conf. Write the line that the check names, test it with `nginx -t`, and reload nginx. Where nginx.conf is right, remove the key from the ConfigMap.",
        needs: &[Need::Nginx, Need::Objects],
        judge: host::nginx_conf,
    },
    Check {
        name: "shared-servers",
        about: "How long nginx searches for the backend of a request to a host that shares its server, with as many Services as there are.",
        wrong: "Hosts with the same options share a server. This makes reloads short, and each request to these hosts a little more expensive. With thousands of Services, few changes and very many requests, set `nginx.shared-servers = false`.",
        needs: &[Need::Nginx, Need::Objects],
        judge: nginx::shared_servers,
    },
    Check {
        name: "expressions",
        about: "Whether nginx compiles regular expressions to machine code (`pcre_jit` in nginx.conf), where paths are regular expressions.",
        wrong: "nginx tries the expressions of a host one after the other for each request, and compiled ones take a fraction of the time. Write `pcre_jit on;` into nginx.conf, outside of all blocks. An nginx that was built without `--with-pcre-jit` (see `nginx -V`) warns about that line.",
        needs: &[Need::Nginx, Need::Objects],
        judge: nginx::expressions,
    },
    Check {
        name: "confinement",
        about: "SELinux and AppArmor: whether nginx may connect to backends, and what was denied within the last day, as far as that can be seen.",
        wrong: "On SELinux: `setsebool -P httpd_can_network_connect 1`. For other denials allow what the line names, in a module made by audit2allow or in AppArmor's local profile.",
        needs: &[Need::Host],
        judge: host::confinement,
    },
    Check {
        name: "daemon",
        about: "Whether the daemon runs, nginx serves its confirmed generation, and changes are served. All other checks work without the daemon.",
        wrong: "`systemctl enable --now ingressd` starts the daemon; `ingressd status` and `journalctl --unit ingressd` say why it is not ready.",
        needs: &[Need::Daemon],
        judge: host::daemon,
    },
    Check {
        name: "status-page",
        about: "Whether other machines can see the status page by the files that the settings name.",
        wrong: "A certificate that cannot be used leaves the one before in use until the daemon ends, and other files that cannot be used let nobody in. What to do stands beside each file; docs/status-page.md shows how the files are made.",
        needs: &[Need::Host],
        judge: host::status_page,
    },
    Check {
        name: "kubeconfig",
        about: "Whether the kubeconfig exists, can be read only by its owner, and can be used.",
        wrong: "`ingressd kubeconfig` creates one. The daemon refuses a kubeconfig that others may read: run `chmod \
                600` on it.",
        needs: &[Need::Cluster],
        judge: cluster::kubeconfig,
    },
    Check {
        name: "api-server",
        about: "Whether the API server answers and knows whose credentials these are.",
        wrong: "nginx goes on serving, but no change reaches it. Check the address in the kubeconfig, the route to it, firewalls, and whether the credentials have expired.",
        needs: &[Need::Cluster],
        judge: cluster::server,
    },
    Check {
        name: "clock",
        about: "How far the clocks of this host and of the API server are apart.",
        wrong: "With a wrong clock, valid certificates and tokens seem to have expired or not to be valid yet. Run a time service on both hosts (chrony, systemd-timesyncd).",
        needs: &[Need::Cluster],
        judge: cluster::clock,
    },
    Check {
        name: "permissions",
        about: "Whether the credentials have each permission of the shipped roles (SelfSubjectAccessReview), and whether they have more than these.",
        wrong: "Apply the roles that the packages ship, /usr/share/doc/ingressd/examples/rbac.yaml, or run `ingressd kubeconfig --force`.",
        needs: &[Need::Cluster, Need::Permissions],
        judge: cluster::permissions,
    },
    Check {
        name: "objects",
        about: "Whether the objects can be read, how many Ingresses ingressd serves, and how many findings there are.",
        wrong: "When ingressd serves no Ingress, check the class: each Ingress names an IngressClass, whose `spec.controller` has to be in the setting `classes`. `ingressd status` lists findings.",
        needs: &[Need::Cluster, Need::Objects],
        judge: pods::objects,
    },
    Check {
        name: "tenants",
        about: "Wildcard hosts that `hosts.allowed` gives to nobody, and authentication services on routes without strict paths.",
        wrong: "Where namespaces do not trust each other, anyone may serve a host below such a wildcard. An authentication service that judges by the path can be asked about another path than the one that the backend reads. Where everybody who writes Ingresses is trusted, nothing has to be done.",
        needs: &[Need::Cluster, Need::Objects],
        judge: pods::tenants,
    },
    Check {
        name: "routes",
        about: "Where this host sends packets for the pods of each Node, by its routing table.",
        wrong: "With the endpoint mode `pod` the host needs a route to each pod network, by BGP or by static routes (docs/networking.md). Otherwise choose another mode with `upstreams.endpoints`.",
        needs: &[Need::Cluster, Need::Routes, Need::Objects],
        judge: pods::routes,
    },
    Check {
        name: "endpoints",
        about: "Connections to a sample of endpoints, as each endpoint mode would make them, and which modes work from here.",
        wrong: "Requests get 502 or 504 where nginx cannot reach endpoints. Choose a mode that works with `upstreams.endpoints`, or correct routes, firewalls and NetworkPolicies.",
        needs: &[Need::Cluster, Need::Objects],
        judge: pods::endpoints,
    },
    Check {
        name: "leases",
        about: "Which node is the leader, and which nodes are members of the group, by the Leases in the cluster.",
        wrong: "The address of a node that does not renew its Lease is withdrawn from the status of Ingresses. Check the daemon on that node, its clock, and its connection to the API server.",
        needs: &[Need::Cluster, Need::Leases],
        judge: publishing::leases,
    },
    Check {
        name: "certificates",
        about: "When the certificates that nginx serves expire.",
        wrong: "Clients refuse an expired certificate. Renew it in its Secret; with cert-manager, look at the Certificate and the Order.",
        needs: &[Need::Generation],
        judge: publishing::certificates,
    },
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
