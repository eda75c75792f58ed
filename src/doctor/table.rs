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
        about: "The version of the nginx that the settings name, and what it lacks that later versions have.",
        wrong: "ingressd needs nginx 1.18 or newer: install the distribution's, or name another with `nginx.binary`.",
        needs: &[Need::Nginx],
        judge: nginx::version,
    },
    Check {
        name: "nginx-modules",
        about: "The modules that this nginx has, and the directives that it lacks without the others.",
        wrong: "Objects that ask for what is lacking get a finding, and routes that would be less protected answer 503. Install the module's package, or an nginx that is built with it.",
        needs: &[Need::Nginx, Need::Objects],
        judge: nginx::modules,
    },
    Check {
        name: "nginx-configuration",
        about: "What `nginx -t` says of the host's configuration.",
        wrong: "While nginx refuses its configuration nothing new is served, and nginx does not come back from a restart. Mend the line that it names; when that is in a file of ingressd, `ingressd status` tells the object.",
        needs: &[Need::Nginx],
        judge: nginx::configuration,
    },
    Check {
        name: "nginx-running",
        about: "Whether nginx runs, with the pid file that the settings name.",
        wrong: "ingressd never starts nginx: `systemctl enable --now nginx`. When it runs all the same, make `nginx.pid-file` and `nginx.unit` say what the line `pid` in nginx.conf and the unit say.",
        needs: &[Need::Nginx],
        judge: nginx::running,
    },
    Check {
        name: "includes",
        about: "Whether nginx includes the generated files, in `http` and where it can in `stream`.",
        wrong: "Without the include nginx never reads what is generated: run `ingressd setup`.",
        needs: &[Need::Nginx],
        judge: nginx::includes,
    },
    Check {
        name: "default-server",
        about: "Whether another site of this host has the requests for unknown hosts on our ports.",
        wrong: "The other site keeps them. That is right when it is meant to; the distribution's default site is moved out of the way by `ingressd setup --yes --disable-default-site`.",
        needs: &[Need::Nginx],
        judge: nginx::default_server,
    },
    Check {
        name: "other-sites",
        about: "What other sites of this host have that hosts of the cluster would need: sockets, names, protocols.",
        wrong: "Other sites keep what they have, and what the cluster asks for is left out. The line says what to change where.",
        needs: &[Need::Nginx, Need::Objects],
        judge: nginx::other_sites,
    },
    Check {
        name: "ports",
        about: "Whether programs other than nginx and ingressd listen on the ports that these need.",
        wrong: "nginx cannot take a port that another program has, and drops the whole change: stop that program, or choose other ports in section `listen` or `http` of ingressd.toml.",
        needs: &[Need::Nginx, Need::Host, Need::Daemon],
        judge: host::ports,
    },
    Check {
        name: "limits",
        about: "How many files and connections nginx's workers may have, against each other and against the number of Services.",
        wrong: "Workers refuse requests when they have no connection or file left: raise `worker_connections` in the block `events` and `worker_rlimit_nofile` in nginx.conf, the latter to twice the former.",
        needs: &[Need::Nginx, Need::Objects],
        judge: host::limits,
    },
    Check {
        name: "nginx-conf",
        about: "What the ConfigMap of an ingress-nginx asks of nginx.conf, such as worker processes and the level of the error log, against what stands there.",
        wrong: "What belongs to nginx.conf is not ours to write. Write the line that is named, test it with `nginx -t`, and reload nginx; or take the key out of the ConfigMap where nginx.conf is right.",
        needs: &[Need::Nginx, Need::Objects],
        judge: host::nginx_conf,
    },
    Check {
        name: "shared-servers",
        about: "How long nginx searches for the backend of a request to a host that shares its server, with as many Services as there are.",
        wrong: "Hosts that are served alike share servers, which makes reloads short and each request to them a little dearer. Where there are thousands of Services, few changes and very many requests, set `nginx.shared-servers = false`.",
        needs: &[Need::Nginx, Need::Objects],
        judge: nginx::shared_servers,
    },
    Check {
        name: "expressions",
        about: "Whether nginx compiles expressions to machine code (`pcre_jit` in nginx.conf), where paths are expressions.",
        wrong: "nginx tries the expressions of a host one after the other for each request, and compiled ones take a fraction of the time: write `pcre_jit on;` into nginx.conf, outside of every block. nginx warns where it was built without (`nginx -V` names no `--with-pcre-jit`).",
        needs: &[Need::Nginx, Need::Objects],
        judge: nginx::expressions,
    },
    Check {
        name: "confinement",
        about: "SELinux and AppArmor: whether nginx may connect to backends, and what was denied within the last day, as far as that can be seen.",
        wrong: "On SELinux: `setsebool -P httpd_can_network_connect 1`. Other denials name what to allow, in a module made by audit2allow or in AppArmor's local profile.",
        needs: &[Need::Host],
        judge: host::confinement,
    },
    Check {
        name: "daemon",
        about: "Whether the daemon runs and nginx serves its confirmed generation. Everything else is looked at without it.",
        wrong: "`systemctl enable --now ingressd` starts it, `ingressd status` and `journalctl --unit ingressd` tell why it is not ready.",
        needs: &[Need::Daemon],
        judge: host::daemon,
    },
    Check {
        name: "kubeconfig",
        about: "Whether the kubeconfig is there, for its owner alone, and can be used.",
        wrong: "`ingressd kubeconfig` makes one. One that others may read is refused: `chmod 600`.",
        needs: &[Need::Cluster],
        judge: cluster::kubeconfig,
    },
    Check {
        name: "api-server",
        about: "Whether the API server answers and knows whose credentials these are.",
        wrong: "nginx goes on with what it has, and learns nothing new. Look at the address in the kubeconfig, the route to it, firewalls, and whether the credentials have ended.",
        needs: &[Need::Cluster],
        judge: cluster::server,
    },
    Check {
        name: "clock",
        about: "How far the clocks of this host and of the API server are apart.",
        wrong: "Certificates and tokens seem to have ended, or not to have begun. Run a time service on both (chrony, systemd-timesyncd).",
        needs: &[Need::Cluster],
        judge: cluster::clock,
    },
    Check {
        name: "permissions",
        about: "Each permission of the shipped roles, asked of the API server (SelfSubjectAccessReview), and whether the credentials open more than that.",
        wrong: "Apply the roles that the packages ship, /usr/share/doc/ingressd/examples/rbac.yaml, or let `ingressd kubeconfig` do it.",
        needs: &[Need::Cluster, Need::Permissions],
        judge: cluster::permissions,
    },
    Check {
        name: "objects",
        about: "Whether the objects can be read, how many Ingresses are ours, and how many findings there are.",
        wrong: "With no Ingress of ours, look at the class: an IngressClass whose `spec.controller` stands in `classes`, named by the Ingress. `ingressd status` lists findings.",
        needs: &[Need::Cluster, Need::Objects],
        judge: pods::objects,
    },
    Check {
        name: "routes",
        about: "Where this host sends packets for the pods of each Node: a look into its routing table for each pod network.",
        wrong: "With the endpoint mode `pod` the host needs a route to each pod network: by BGP with the cluster's network, by static routes over the Nodes, or choose another mode with `upstreams.endpoints`.",
        needs: &[Need::Cluster, Need::Routes, Need::Objects],
        judge: pods::routes,
    },
    Check {
        name: "endpoints",
        about: "Connections to a sample of endpoints, as each endpoint mode would make them, and which modes work from here.",
        wrong: "Requests get 502 or 504 where endpoints are not reached. Choose a mode that works with `upstreams.endpoints`, or mend routes and firewalls (NetworkPolicies too).",
        needs: &[Need::Cluster, Need::Objects],
        judge: pods::endpoints,
    },
    Check {
        name: "leases",
        about: "Who leads, and which nodes are members, by the Leases in the cluster.",
        wrong: "A node whose Lease is not renewed is withdrawn from the status of Ingresses. Look at the daemon on that node, at its clock, and at its way to the API server.",
        needs: &[Need::Cluster, Need::Leases],
        judge: publishing::leases,
    },
    Check {
        name: "certificates",
        about: "When the certificates end that nginx serves.",
        wrong: "Clients refuse a certificate that has ended: renew it in its Secret; where cert-manager does that, look at its Certificate and Order.",
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
