//! Recognizes DNS names that only a cluster has. Nothing is resolved here.

use ingressd_model::is_label;

/// The domain of a cluster that has not chosen another one.
pub const USUAL_DOMAIN: &str = "cluster.local";

/// What a name means within a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterName<'n> {
    /// As Services have it: `NAME.NAMESPACE.svc`.
    Service { name: &'n str, namespace: &'n str },
    /// A pod, or something else of a namespace, if it has one.
    Other { namespace: Option<&'n str> },
}

impl<'n> ClusterName<'n> {
    /// The meaning of a name in lower case in a cluster with this domain; `None` for names of
    /// others. The domain may be left out.
    pub fn of(text: &'n str, domain: &str) -> Option<Self> {
        let text = text.strip_suffix(domain).and_then(|rest| rest.strip_suffix('.')).unwrap_or(text);
        let (rest, kind) = text.rsplit_once('.').unwrap_or(("", text));
        match (kind, rest.split_once('.')) {
            ("svc", Some((name, namespace))) if is_label(name) && is_label(namespace) => {
                Some(ClusterName::Service { name, namespace })
            }
            ("svc" | "pod", _) => Some(ClusterName::Other {
                namespace: rest.rsplit('.').next().filter(|namespace| !namespace.is_empty()),
            }),
            _ => None,
        }
    }

    /// Whose name it is.
    pub const fn namespace(self) -> Option<&'n str> {
        match self {
            ClusterName::Service { namespace, .. } => Some(namespace),
            ClusterName::Other { namespace } => namespace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_cluster() {
        let service = |name, namespace| Some(ClusterName::Service { name, namespace });
        let other = |namespace| Some(ClusterName::Other { namespace });
        for (text, domain, expected) in [
            ("admin.victim.svc.cluster.local", USUAL_DOMAIN, service("admin", "victim")),
            ("admin.victim.svc", USUAL_DOMAIN, service("admin", "victim")),
            ("kubernetes.default.svc", USUAL_DOMAIN, service("kubernetes", "default")),
            ("admin.victim.svc.corp.example", "corp.example", service("admin", "victim")),
            ("admin.victim.svc.corp.example", USUAL_DOMAIN, None),
            ("p-0.web.victim.svc.cluster.local", USUAL_DOMAIN, other(Some("victim"))),
            ("_http._tcp.web.victim.svc", USUAL_DOMAIN, other(Some("victim"))),
            ("10-1-2-3.victim.pod.cluster.local", USUAL_DOMAIN, other(Some("victim"))),
            ("10-1-2-3.victim.pod", USUAL_DOMAIN, other(Some("victim"))),
            ("victim.svc.cluster.local", USUAL_DOMAIN, other(Some("victim"))),
            ("svc.cluster.local", USUAL_DOMAIN, other(None)),
            ("backend.example.net", USUAL_DOMAIN, None),
            ("svc.example.net", USUAL_DOMAIN, None),
            ("cluster.local", USUAL_DOMAIN, None),
            ("db", USUAL_DOMAIN, None),
        ] {
            assert_eq!(ClusterName::of(text, domain), expected, "{text} in {domain}");
        }
    }
}
