//! What the daemon may do in a cluster, permission by permission, and the manifests that grant exactly that; it must not know how any of it is used.

/// One permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission {
    /// The API group, empty for the oldest one.
    pub group: &'static str,
    /// The resource, with its subresource.
    pub resource: &'static str,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// What it is for.
    pub purpose: &'static str,
}

const fn permission(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    purpose: &'static str,
) -> Permission {
    Permission { group, resource, verbs, purpose }
}

/// In all namespaces.
pub const CLUSTER: &[Permission] = &[
    permission("networking.k8s.io", "ingresses", &["list", "watch"], "what is served"),
    permission("networking.k8s.io", "ingressclasses", &["list", "watch"], "which Ingresses are ours"),
    permission("", "services", &["list", "watch"], "where requests go"),
    permission("discovery.k8s.io", "endpointslices", &["list", "watch"], "where requests go"),
    permission(
        "",
        "secrets",
        &["get", "list", "watch"],
        "certificates and passwords; only those that are referred to are kept",
    ),
    permission("", "nodes", &["list", "watch"], "the endpoint mode nodeport; may be left out otherwise"),
    permission("", "namespaces", &["list", "watch"], "the setting namespace-selector; may be left out otherwise"),
    permission(
        "networking.k8s.io",
        "ingresses/status",
        &["patch"],
        "the addresses of the nodes; may be left out with publish.status = false",
    ),
    permission(
        "events.k8s.io",
        "events",
        &["create"],
        "what is wrong with objects; may be left out with publish.events = false",
    ),
];

/// In the namespace of the Leases.
pub const LEASES: &[Permission] = &[permission(
    "coordination.k8s.io",
    "leases",
    &["get", "list", "watch", "create", "update"],
    "who leads and which nodes are there",
)];

/// The manifests: namespace, account, roles and bindings.
pub fn manifests() -> String {
    let mut text = String::from(
        "# What ingressd may do in a cluster, and nothing else. Generated from the table that the program is built with.\n\
         #\n\
         # Each node gets a kubeconfig with credentials of this account, for example a token:\n\
         #   kubectl create token ingressd --namespace ingressd --duration 8760h\n",
    );
    let names = "  name: ingressd\n";
    let namespaced = "  name: ingressd\n  namespace: ingressd\n";
    text.push_str(&document("v1", "Namespace", names, ""));
    text.push_str(&document("v1", "ServiceAccount", namespaced, ""));
    text.push_str(&document(RBAC, "ClusterRole", names, &rules(CLUSTER)));
    text.push_str(&document(RBAC, "ClusterRoleBinding", names, &binding("ClusterRole")));
    text.push_str(&document(RBAC, "Role", namespaced, &rules(LEASES)));
    text.push_str(&document(RBAC, "RoleBinding", namespaced, &binding("Role")));
    text
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";

fn document(api_version: &str, kind: &str, metadata: &str, content: &str) -> String {
    format!("---\napiVersion: {api_version}\nkind: {kind}\nmetadata:\n{metadata}{content}")
}

fn rules(permissions: &[Permission]) -> String {
    let rule = |Permission { group, resource, verbs, purpose }: &Permission| {
        let verbs = verbs.join(", ");
        format!("  # {purpose}\n  - apiGroups: [\"{group}\"]\n    resources: [{resource}]\n    verbs: [{verbs}]\n")
    };
    format!("rules:\n{}", permissions.iter().map(rule).collect::<String>())
}

fn binding(kind: &str) -> String {
    format!(
        "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: ingressd\n\
         subjects:\n  - kind: ServiceAccount\n    name: ingressd\n    namespace: ingressd\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_read_or_changed_by_a_wildcard() {
        let all: Vec<_> = CLUSTER.iter().chain(LEASES).collect();
        let dangerous = ["*", "delete", "deletecollection", "escalate", "bind", "impersonate"];
        for permission in all {
            assert!(!permission.resource.contains('*') && permission.group != "*");
            assert!(permission.verbs.iter().all(|verb| !dangerous.contains(verb)), "{permission:?}");
        }
        assert_eq!(manifests().matches("\n---\n").count(), 6);
    }
}
