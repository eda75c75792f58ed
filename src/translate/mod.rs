//! From what the cluster says to what traffic should do; it must not know nginx versions, files or clocks.

pub mod annotation;
mod backend;
mod budget;
mod certificate;
mod class;
mod endpoint;
mod external_name;
mod host;
mod ingress_nginx;
mod limits;
mod memory;
mod mode;
mod names;
mod options;
mod order;
mod path;
mod port;
mod reading;
mod server;
mod site;
mod subject;
mod target;
#[cfg(test)]
mod tests;
mod tls;
mod tls_entries;

pub use limits::{Limits, NamespaceLimits, ObjectLimits};
pub use names::{Answer, Names};
pub use options::{ClassRule, Dialect, EndpointMode, Hsts, Options};
pub use reading::Reading;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::{ParallelIterator as _, ParallelSlice as _};

use self::backend::Backends;
use self::endpoint::SliceIndex;
use self::memory::Memory;
use self::server::Servers;
use self::subject::Subject;
use self::tls::Tls;
use crate::finding::{Finding, Reason};
use crate::model::{Forwarded, Model, ObjectId, Origin, PasswordFile, Server, ServerName};
use crate::source::{Snapshot, Version};

/// Fewer hosts than this are not worth another thread.
const SMALLEST_PART: usize = 64;

/// Objects with more hosts than this are rare.
const FEW_HOSTS: usize = 16;

/// The product of one translation.
#[derive(Debug, Clone, Default)]
pub struct Translation {
    /// What traffic should do.
    pub model: Model,
    /// What is wrong with the objects, sorted.
    pub findings: Vec<Finding>,
    /// The objects that are ours, sorted by name.
    pub accepted: Vec<Accepted>,
    /// Object versions that cannot be served as written; their last good versions should take their place.
    pub refused: Vec<(Arc<ObjectId>, Version)>,
}

/// An Ingress that is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The Ingress.
    pub id: Arc<ObjectId>,
    /// The version that the model holds.
    pub version: Version,
    /// The hosts it defines or adds to, as written; `*` for the catch-all.
    pub hosts: Vec<Arc<str>>,
    /// How many routes of the model are its own.
    pub routes: u32,
    /// How many of them this nginx serves, which only who knows nginx can tell; until then all of them.
    pub served: u32,
}

/// Translates snapshots; what it remembers between calls only saves time, never changes the result.
#[derive(Debug)]
pub struct Translator {
    options: Options,
    memory: Memory,
}

impl Translator {
    /// A translator for these settings.
    pub fn new(options: Options) -> Self {
        Translator { options, memory: Memory::default() }
    }

    /// Says what traffic should do.
    pub fn translate(&mut self, snapshot: &Snapshot, names: &Names) -> Translation {
        let (options, memory) = (&self.options, &mut self.memory);
        memory.begin(snapshot);
        let mut translation = Translation { findings: snapshot.findings.clone(), ..Translation::default() };
        let subjects = subjects(snapshot, options, memory, &mut translation);
        let mut admission = budget::admit(subjects, &options.limits);
        let subjects = std::mem::take(&mut admission.subjects);
        translation.refused.append(&mut admission.refused);
        let mut findings = std::mem::take(&mut admission.findings);
        let sites = site::merge(&subjects, &mut findings);

        let default = options.default_certificate.as_ref();
        let default = default.and_then(|(namespace, name)| snapshot.secret(namespace, name));
        let named = subjects.iter().flat_map(|subject| tls::secrets(subject, snapshot));
        memory.certificates.prepare(named.chain(default));
        let slices = SliceIndex::new(snapshot);
        let nothing_built = || Servers {
            snapshot,
            options,
            backends: Backends::new(snapshot, names, options, &slices),
            tls: Tls::new(snapshot, options, &memory.certificates),
            findings: Vec::new(),
        };
        let mut servers = Servers { findings, ..nothing_built() };
        let catch_all = match sites.contains_key(&ServerName::CatchAll) {
            true => None,
            false => servers.build_catch_all(),
        };
        let sites: Vec<_> = sites.into_iter().collect();
        // What is resolved for several parts is the same in each.
        let parts = sites.par_chunks(sites.len().div_ceil(rayon::current_num_threads()).max(SMALLEST_PART));
        let parts = parts.map(|part| {
            let mut servers = nothing_built();
            let built = part.iter().filter_map(|(name, site)| servers.build(name, site)).collect::<Vec<_>>();
            (built, servers)
        });
        let mut built: Vec<_> = catch_all.into_iter().collect();
        for (part, builder) in parts.collect::<Vec<_>>() {
            built.extend(part);
            servers.merge(builder);
        }
        admission.close(&mut built);
        let Servers { backends, mut tls, mut findings, .. } = servers;
        let mut upstreams: Vec<_> = backends.into_upstreams().collect();
        budget::bound_endpoints(&mut upstreams, &options.limits, &mut findings);
        let default_certificate = tls.default_certificate();

        translation.accepted = accepted(&subjects, &built);
        translation.findings.extend(findings);
        translation.findings.append(&mut tls.findings);
        translation.findings.sort();
        translation.findings.dedup();
        translation.refused.append(&mut tls.refused);
        translation.refused.sort();
        translation.refused.dedup();
        translation.model = Model {
            servers: built.into_iter().map(Arc::new).collect(),
            upstreams: upstreams.into_iter().map(Arc::new).collect(),
            certificates: tls.used(),
            password_files: password_files(&subjects),
            default_certificate,
            forwarded: Forwarded { trusted: options.trusted_proxies.clone(), append: options.append_forwarded_for },
            zones: admission.zones,
        };
        memory.share(&mut translation.model);
        translation
    }
}

/// The objects that are ours and fit to be served, the oldest first. Of the others it is noted why they are not.
fn subjects<'a>(
    snapshot: &'a Snapshot,
    options: &'a Options,
    memory: &mut Memory,
    translation: &mut Translation,
) -> Vec<Subject<'a>> {
    let mut selected = Vec::with_capacity(snapshot.ingresses.len());
    for stored in snapshot.ingresses.iter() {
        match class::select(stored, snapshot, options) {
            Ok(rule) => selected.push((stored, rule)),
            Err(finding) => translation.findings.push(*finding),
        }
    }
    memory.prepare(&selected, snapshot, options);
    let mut subjects = Vec::with_capacity(selected.len());
    for (stored, rule) in selected {
        let (reading, behaviour) = memory.read(stored, rule.dialect, snapshot, options);
        translation.findings.extend_from_slice(&reading.findings);
        let subject = Subject { stored, rule, reading, behaviour, closed_rules: None };
        let faults = subject.faults();
        if subject.reading.refused || !faults.is_empty() {
            translation.findings.extend(faults);
            translation.refused.push((Arc::clone(&stored.id), stored.version.clone()));
            continue;
        }
        let tells = |finding: &Finding| finding.reason == Reason::ClosedRoute;
        if subject.reading.closed && !subject.reading.findings.iter().any(tells) {
            let note = "all routes of the object answer 503 until what protects them is mended";
            translation.findings.push(Finding::new(Reason::ClosedRoute, Origin::object(&stored.id), note));
        }
        subjects.push(subject);
    }
    subjects.sort_by(|left, right| order::oldest_first(left.stored, right.stored));
    subjects
}

fn accepted(subjects: &[Subject<'_>], servers: &[Server]) -> Vec<Accepted> {
    let routes = Server::routes_by_object(servers.iter());
    let served = subjects.iter().filter(|subject| subject.closed_rules.is_none());
    let mut accepted: Vec<_> = served.map(|subject| accept(subject, &routes)).collect();
    accepted.sort_by(|left, right| left.id.cmp(&right.id));
    accepted
}

fn accept(subject: &Subject<'_>, routes: &HashMap<&ObjectId, u32>) -> Accepted {
    let mut hosts: Vec<Arc<str>> = Vec::new();
    let mut known = HashSet::new();
    let rules = subject.rules().map(|(_, rule)| rule.host.as_deref().unwrap_or_default());
    let valid = rules.filter(|written| host::server_name(written).is_ok());
    let catch_all = subject.default_backend().filter(|_| subject.rules().next().is_none()).map(|_| "");
    for written in valid.chain(catch_all) {
        let written = if written.is_empty() { "*" } else { written };
        // To compare is quicker for a few, and takes minutes for thousands.
        let is_known = match hosts.len() {
            0..FEW_HOSTS => hosts.iter().any(|known| &**known == written),
            _ => {
                if known.is_empty() {
                    known.extend(hosts.iter().cloned());
                }
                known.contains(written)
            }
        };
        if !is_known {
            let host: Arc<str> = written.into();
            if !known.is_empty() {
                known.insert(Arc::clone(&host));
            }
            hosts.push(host);
        }
    }
    let (id, version) = (Arc::clone(subject.id()), subject.stored.version.clone());
    let routes = routes.get(&*id).copied().unwrap_or_default();
    Accepted { routes, served: routes, id, version, hosts }
}

fn password_files(subjects: &[Subject<'_>]) -> Vec<Arc<PasswordFile>> {
    let files = subjects.iter().filter_map(|subject| subject.reading.password_file.as_ref());
    let by_id: BTreeMap<_, _> = files.map(|file| (&file.id, file)).collect();
    by_id.into_values().map(Arc::clone).collect()
}

/// The place in a list as an [`Origin`] counts it; a list that long does not come out of a cluster.
fn position(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
