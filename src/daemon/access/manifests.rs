//! The RBAC manifests with exactly the rights that a daemon needs, for `kubectl apply`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Grant, LEASES, Permission, STANDARD, global, is_without_namespace, of_named};
use ingressd_objects::yaml::document;

type Rule = (PolicyRule, &'static str);

/// The manifests that packages contain.
pub fn manifests() -> String {
    let introduction = "# What ingressd may do in a cluster, and nothing else. Generated from the table that the program is built with.\n\
         #\n\
         # `ingressd kubeconfig` applies this and writes the kubeconfig of a node. By hand: apply it, and give each node a\n\
         # kubeconfig with credentials of this account, for example a token:\n\
         #   kubectl create token ingressd --namespace ingressd --duration 8760h\n";
    introduction.to_owned() + &Grant::default().documents().concat()
}

impl Grant {
    /// The manifests: namespace, account, roles and bindings, one document each.
    pub fn documents(&self) -> Vec<String> {
        let metadata = ObjectMeta { name: Some(self.namespace.clone()), ..ObjectMeta::default() };
        let namespace = document(&Namespace { metadata, ..Namespace::default() });
        std::iter::once(namespace).chain(self.documents_within()).collect()
    }

    /// The manifests without the namespace, which may contain other objects. These can be deleted
    /// again.
    pub fn documents_within(&self) -> Vec<String> {
        let metadata = place(&self.namespace, &self.account);
        let mut documents = vec![document(&ServiceAccount { metadata, ..ServiceAccount::default() })];
        let needed = global().into_iter().filter(|permission| !self.without.contains(&permission.resource));
        let (of_cluster, within): (Vec<_>, Vec<_>) =
            needed.partition(|permission| self.namespaces.is_empty() || is_without_namespace(permission.resource));
        let metadata = ObjectMeta { name: Some(self.name()), ..ObjectMeta::default() };
        let (rules, purposes) = of_cluster.iter().map(rule).unzip();
        let role = ClusterRole { metadata: metadata.clone(), rules: Some(rules), ..ClusterRole::default() };
        documents.push(explained(&document(&role), purposes));
        let (role_ref, subjects) = self.binding("ClusterRole", &self.name());
        documents.push(document(&ClusterRoleBinding { metadata, role_ref, subjects }));
        for (namespace, rules) in self.within(&within) {
            // Its own namespace contains the Leases, with a Role for each group of nodes.
            let name = if namespace == self.namespace { self.account.clone() } else { self.name() };
            let metadata = place(&namespace, &name);
            let (rules, purposes) = rules.into_iter().unzip();
            documents.push(explained(&document(&Role { metadata: metadata.clone(), rules: Some(rules) }), purposes));
            let (role_ref, subjects) = self.binding("Role", &name);
            documents.push(document(&RoleBinding { metadata, role_ref, subjects }));
        }
        documents
    }

    /// The rules of the Role of each namespace.
    fn within(&self, served: &[Permission]) -> BTreeMap<String, Vec<Rule>> {
        let mut rules = BTreeMap::from([(self.namespace.clone(), vec![rule(&LEASES)])]);
        for namespace in &self.namespaces {
            rules.entry(namespace.to_string()).or_default().extend(served.iter().map(rule));
        }
        for namespace in &self.config_maps {
            rules.entry(namespace.to_string()).or_default().extend(of_named().map(|permission| rule(&permission)));
        }
        if let Some((namespace, name)) = &self.service {
            let purpose = "the addresses that are published";
            let services = Permission { group: "", resource: "services", verbs: &["list", "watch"], purpose };
            let (mut services, purpose) = rule(&services);
            services.resource_names = Some(vec![name.to_string()]);
            rules.entry(namespace.to_string()).or_default().push((services, purpose));
        }
        rules
    }

    /// A Secret that the cluster fills with a token of the account; the token is valid until the
    /// Secret is deleted.
    pub fn secret(&self) -> String {
        let annotations = [("kubernetes.io/service-account.name".to_owned(), self.account.clone())];
        let metadata = ObjectMeta {
            annotations: Some(BTreeMap::from(annotations)),
            ..place(&self.namespace, &self.secret_name())
        };
        let type_ = Some("kubernetes.io/service-account-token".to_owned());
        document(&Secret { metadata, type_, ..Secret::default() })
    }

    pub(crate) fn secret_name(&self) -> String {
        format!("{}-token", self.account)
    }

    /// The name of objects outside of the account's namespace: other groups of nodes have other
    /// names.
    fn name(&self) -> String {
        match self.namespace == STANDARD {
            true => self.account.clone(),
            false => format!("{}:{}", self.account, self.namespace),
        }
    }

    fn binding(&self, kind: &str, role: &str) -> (RoleRef, Option<Vec<Subject>>) {
        let api_group = "rbac.authorization.k8s.io".to_owned();
        let account = Subject {
            kind: "ServiceAccount".to_owned(),
            name: self.account.clone(),
            namespace: Some(self.namespace.clone()),
            api_group: None,
        };
        (RoleRef { api_group: Some(api_group), kind: kind.to_owned(), name: role.to_owned() }, Some(vec![account]))
    }
}

fn place(namespace: &str, name: &str) -> ObjectMeta {
    let (namespace, name) = (Some(namespace.to_owned()), Some(name.to_owned()));
    ObjectMeta { namespace, name, ..ObjectMeta::default() }
}

fn rule(permission: &Permission) -> Rule {
    let rule = PolicyRule {
        api_groups: Some(vec![permission.group.to_owned()]),
        resources: Some(vec![permission.resource.to_owned()]),
        verbs: permission.verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    (rule, permission.purpose)
}

/// The document of a role, with the purpose of each of its rules in a comment above.
fn explained(document: &str, purposes: Vec<&str>) -> String {
    let mut purposes = purposes.into_iter();
    let explain = |line: &str| match line.trim_start().starts_with("- apiGroups:").then(|| purposes.next()).flatten() {
        Some(purpose) => format!("{}# {purpose}\n{line}\n", &line[..line.len() - line.trim_start().len()]),
        None => format!("{line}\n"),
    };
    document.lines().map(explain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_says_what_it_is_for() {
        let text = manifests();
        let lines = Vec::from_iter(text.lines().map(str::trim));
        let rules = Vec::from_iter((0..lines.len()).filter(|line| lines[*line].starts_with("- apiGroups:")));
        let purposes = global().into_iter().chain([LEASES]).map(|permission| format!("# {}", permission.purpose));
        let said = rules.iter().map(|line| lines[line - 1].to_owned());
        assert_eq!(Vec::from_iter(said), Vec::from_iter(purposes));
    }

    #[test]
    fn names_that_a_reader_could_take_for_something_else_are_quoted() {
        for name in ["yes", "no", "on", "off", "y", "n", "true", "null", "0", "1e3", "0x1f", "2001-01-01"] {
            let text = document(&ServiceAccount { metadata: place(name, name), ..ServiceAccount::default() });
            for key in ["name", "namespace"] {
                let quoted = ['"', '\''].map(|quote| format!("  {key}: {quote}{name}{quote}\n"));
                assert!(quoted.iter().any(|line| text.contains(line)), "{text}");
            }
        }
    }
}
