//! Which Service an address in a URL means, and who may use it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::value::{ClusterName, OF_POD, ServiceAddress};
use ingressd_model::finding::Reason;

/// Why a service cannot be reached.
pub type Fault = (Reason, Arc<str>);
/// The address, which is that of a Service where the name is one of this cluster's.
pub fn in_cluster<'r>(address: &'r ServiceAddress, domain: &str) -> Result<Cow<'r, ServiceAddress>, Fault> {
    let ServiceAddress::Name(name, port) = address else { return Ok(Cow::Borrowed(address)) };
    match ClusterName::of(name.as_str(), domain) {
        None => Ok(Cow::Borrowed(address)),
        Some(ClusterName::Service { name, namespace }) => {
            Ok(Cow::Owned(ServiceAddress::Service { namespace: namespace.into(), name: name.into(), port: *port }))
        }
        Some(ClusterName::Other { .. }) => Err((Reason::CrossNamespace, OF_POD.into())),
    }
}

/// Why a Service of another namespace is not used.
pub fn refusal(namespace: &str, name: &str) -> String {
    format!(
        "Service {name:?} is in another namespace, {namespace:?}, and the administrator does not allow its use; use a \
         Service of this namespace, or have the administrator list \"{namespace}/{name}\" in `access.shared-services`"
    )
}
