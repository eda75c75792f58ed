//! From a group of endpoints to its file; it must not know who uses it.

use crate::model::{Refused, Upstream};
use crate::nginx::Decisions;
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, Owners};
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::{Number, Word};
use crate::render::view;

/// The file of an upstream.
pub fn upstream(upstream: &Upstream, decisions: &Decisions, engine: &Engine) -> File {
    // Names and addresses are words by construction; an empty file makes nginx name its users instead.
    let text = written(upstream, decisions, engine).ok().map(Part::Filled);
    File::plain(text, Owners(vec![(1, upstream.origin.clone())]), [])
}

fn written(upstream: &Upstream, decisions: &Decisions, engine: &Engine) -> Result<Filled, Refused> {
    let filled = engine.fill(
        "upstream",
        &view::Upstream {
            name: Word::own(&names::upstream(&upstream.id))?,
            // Kubernetes judges readiness; nginx's own judgement (`max_fails`) would send everything to the
            // others after one slow answer, and nothing to anybody when all of them were slow once.
            endpoints: upstream
                .endpoints
                .iter()
                .map(|endpoint| view::Endpoint {
                    address: Word::address(endpoint.address),
                    weight: (endpoint.weight > 1).then_some(Number(u64::from(endpoint.weight))).into_iter().collect(),
                })
                .collect(),
            keepalive: decisions
                .upstream_keepalive
                .filter(|connections| *connections > 0)
                .map(|connections| Number(u64::from(connections)))
                .into_iter()
                .collect(),
        },
    );
    filled.map_err(|error| Refused(error.to_string().into()))
}
