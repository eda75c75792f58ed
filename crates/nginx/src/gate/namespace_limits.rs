//! How many connections one namespace may take at once, where the administrator limits that.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Capabilities, GateOptions};
use ingressd_model::Model;
use ingressd_model::catalogue::Module;
use ingressd_model::finding::{Finding, Reason};

use super::host;

/// How many requests of one namespace nginx works on at once; 0 for any number.
pub fn requests(capabilities: &Capabilities, options: &GateOptions, findings: &mut Vec<Finding>) -> u32 {
    if options.requests_of_namespace == 0 || capabilities.has(Module::LimitConn) {
        return options.requests_of_namespace;
    }
    let note = format!(
        "nginx has no {}, so limits.requests-of-namespace limits nothing; install a build with it, as all \
         distributions have it",
        Capabilities::name(Module::LimitConn)
    );
    findings.push(Finding::new(Reason::MissingCapability, host(), note));
    0
}

/// How many idle connections a worker keeps to each upstream of a namespace, where all together
/// would be more than its requests. These are powers of two, so that a further upstream seldom
/// changes the others.
pub fn kept(model: &Model, requests: u32, options: &GateOptions) -> BTreeMap<Arc<str>, u32> {
    let mut wanted = BTreeMap::<&Arc<str>, (u32, u32)>::new();
    for upstream in model.upstreams.iter().filter(|_| requests > 0) {
        let own = upstream.id.reuse.as_deref().map_or(options.upstream_keepalive, |own| own.connections);
        let (count, sum) = wanted.entry(&upstream.id.namespace).or_default();
        (*count, *sum) = (*count + 1, sum.saturating_add(own));
    }
    let share = |count: u32| match requests / count.max(1) {
        0 => 0,
        share => 1 << share.ilog2(),
    };
    let many = wanted.into_iter().filter(|(_, (_, sum))| *sum > requests);
    many.map(|(namespace, (count, _))| (Arc::clone(namespace), share(count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::catalogue::Version;
    use ingressd_model::{Kind, ObjectId, Origin, Upstream, UpstreamIdentity};

    #[test]
    fn without_the_module_the_limit_limits_nothing_and_is_reported() {
        let all = Capabilities::profile(Version(1, 22, 1));
        let mut without = all.clone();
        without.modules.remove(&Module::LimitConn);
        for (capabilities, asked, expected, reported) in
            [(&all, 7, 7, false), (&all, 0, 0, false), (&without, 7, 0, true), (&without, 0, 0, false)]
        {
            let options = GateOptions { requests_of_namespace: asked, ..GateOptions::default() };
            let mut findings = Vec::new();
            assert_eq!(requests(capabilities, &options, &mut findings), expected);
            let notes: Vec<_> = findings.iter().map(|finding| (finding.reason, &*finding.note)).collect();
            let is_right = |(reason, note): &(Reason, &str)| {
                *reason == Reason::MissingCapability && note.contains("limits.requests-of-namespace")
            };
            assert!(notes.len() == usize::from(reported) && notes.iter().all(is_right), "{asked}: {notes:?}");
        }
    }

    #[test]
    fn upstreams_of_a_namespace_share_what_it_may_have() {
        let upstreams = |namespace: &'static str, count: usize| {
            (0..count).map(move |number| {
                let id = UpstreamIdentity::usual(namespace, &format!("web-{number}"), "80").into();
                let origin = Origin::object(&Arc::new(ObjectId::new(Kind::SERVICE, namespace, "web")));
                Arc::new(Upstream { id, origin, uid: None, sharers: 1 })
            })
        };
        let of = |count, requests| {
            let model =
                Model { upstreams: upstreams("a", count).chain(upstreams("b", 1)).collect(), ..Model::default() };
            let options = GateOptions { upstream_keepalive: 32, ..GateOptions::default() };
            let kept = kept(&model, requests, &options);
            assert_eq!(kept.get("b"), None, "a small namespace has what it had");
            kept.get("a").copied()
        };
        for (count, requests, expected) in [
            (3, 0, None),
            (3, 96, None),
            (4, 96, Some(16)),
            (40, 100, Some(2)),
            (100, 100, Some(1)),
            (101, 100, Some(0)),
        ] {
            assert_eq!(of(count, requests), expected, "{count} upstreams and {requests} requests");
        }
    }
}
