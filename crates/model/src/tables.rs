//! What changes often, beside the model: where upstreams have endpoints, and the
//! bytes of certificates. It must not know how that was found.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::{Certificate, CertificateId, Endpoint, Model, Upstream, UpstreamId};

/// The tables beside a model. A change of a row alone leaves the model as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    /// The endpoints of each upstream, sorted by address, without duplicates.
    pub endpoints: BTreeMap<UpstreamId, Arc<[Endpoint]>>,
    /// Each certificate that is presented, with its key.
    pub certificates: BTreeMap<CertificateId, Arc<Certificate>>,
}

impl Tables {
    /// The endpoints of an upstream. Without any, its routes answer 503, and connections are
    /// closed at once.
    pub fn endpoints(&self, upstream: &UpstreamId) -> &[Endpoint] {
        self.endpoints.get(upstream).map_or(&[], |endpoints| endpoints)
    }

    /// These upstreams, which are sorted, with their endpoints.
    pub fn rows<'m>(
        &self,
        upstreams: &'m [Arc<Upstream>],
    ) -> impl Iterator<Item = (&'m Arc<Upstream>, Arc<[Endpoint]>)> {
        self.known(upstreams).map(|(upstream, endpoints)| (upstream, endpoints.cloned().unwrap_or_default()))
    }

    /// These upstreams, which are sorted, with what is known of their endpoints.
    pub fn known<'m>(
        &self,
        upstreams: &'m [Arc<Upstream>],
    ) -> impl Iterator<Item = (&'m Arc<Upstream>, Option<&Arc<[Endpoint]>>)> {
        let first = upstreams.first().map_or(Bound::Unbounded, |first| Bound::Included(&first.id));
        let mut rows = self.endpoints.range((first, Bound::Unbounded)).peekable();
        upstreams.iter().map(move |upstream| {
            while rows.next_if(|(id, _)| **id < upstream.id).is_some() {}
            (upstream, rows.next_if(|(id, _)| **id == upstream.id).map(|(_, endpoints)| endpoints))
        })
    }

    /// The upstreams of routes that answer 503, because nothing was found that could answer.
    pub fn without_endpoints<'m>(&self, model: &'m Model) -> impl Iterator<Item = &'m Arc<Upstream>> {
        self.rows(&model.upstreams).filter(|(_, endpoints)| endpoints.is_empty()).map(|(upstream, _)| upstream)
    }
}
