//! The stages of a translation, in their order, each a function from values to values. They must
//! not know the tables of annotations.

use std::sync::Arc;

use rayon::prelude::{ParallelIterator as _, ParallelSlice as _, ParallelSliceMut as _};

use crate::admit::admission::Admission;
use crate::admit::servable::{self, Servable};
use crate::assemble::{self, left_out};
use crate::attach::canary::Canaries;
use crate::attach::subject::{Subject, Withheld};
use crate::attach::{self, Attached, aliases};
use crate::build::built::{Built, BuiltHosts, Gathered, Outside};
use crate::build::client_certificates::{self, Unserved};
use crate::build::materials::Materials;
use crate::build::server::Servers;
use crate::build::streams;
use crate::certified::Use;
use crate::claim::arbiter::{Arbiter, Settled};
use crate::claim::site;
use crate::claim::tls_entries::Entries;
use crate::claim::{challenges, ports, tls_idle};
use crate::given::Given;
use crate::memory::Memory;
use crate::read::stream::StreamClaim;
use crate::secret::certificate::Certificates;
use crate::{Allowances, CommonPolicy, Options, SMALLEST_PART, Translation, admit, select};
use ingressd_model::finding::Finding;
use ingressd_model::{Forwarded, Model, ObjectState, Passthroughs, ServerName, Tables, Upstream};

/// The objects of our classes, with what counts for them.
pub struct Objects<'a> {
    pub attached: Vec<Attached<'a>>,
    /// Versions that are not to be served, and keep their claims.
    unserved: Vec<Attached<'a>>,
    /// What counts where no object has a say.
    pub common: CommonPolicy,
}

/// Selects, reads and attaches them. The others come as states.
pub fn attach<'a>(
    given: Given<'a>,
    memory: &mut Memory,
    findings: &mut Vec<Finding>,
) -> (Objects<'a>, Vec<ObjectState>) {
    let Given { snapshot, options, readers, .. } = given;
    let common = memory.policies.common(snapshot, options);
    let (selected, others) = select::select(snapshot, readers, options, findings);
    let intents = memory.read_all(&selected, snapshot, options);
    let mut attached = memory.policies.attach(intents, &selected, snapshot, options);
    aliases::expand(&mut attached, &options.limits, findings);
    memory.keep_rules(&mut attached);
    let unserved = select::withheld(snapshot, readers, options);
    let intents = memory.read_all(&unserved, snapshot, options);
    let unserved = memory.policies.attach(intents, &unserved, snapshot, options);
    (Objects { attached, unserved, common }, others)
}

/// The objects by what becomes of them.
pub struct Admitted<'a> {
    /// Those that are served, the oldest first, without canaries.
    pub subjects: Vec<Subject<'a>>,
    pub canaries: Vec<Subject<'a>>,
    /// Those that are not served, and keep their claims.
    withheld: Vec<Withheld<'a>>,
    /// Those that are not served, as they would be.
    left_out: Vec<Subject<'a>>,
    /// Client certificate rules of objects that are not served.
    pub unserved_rules: Unserved,
    /// What the budgets left.
    admission: Admission<'a>,
}

/// Leaves out what cannot be served, or is beyond a limit.
pub fn admit<'a>(objects: &'a Objects<'a>, given: Given<'_>, translation: &mut Translation) -> Admitted<'a> {
    let Servable { subjects, withheld: refused, left_out } =
        servable::judge(&objects.attached, &objects.common.policy.behaviour, translation);
    // A canary has no claim that could be reserved for it.
    let withheld = objects.unserved.iter().filter(|object| object.policy.reading.canary.is_none());
    let mut withheld: Vec<_> = withheld.map(Withheld::from).chain(refused).collect();
    let mut admission = admit::admit(subjects, &given.options.limits, given.snapshot);
    withheld.append(&mut admission.withheld);
    translation.refused.append(&mut admission.refused);
    translation.findings.append(&mut admission.findings);
    let subjects = std::mem::take(&mut admission.subjects).into_iter();
    let (canaries, subjects) = subjects.partition(|subject| subject.reading.canary.is_some());
    let unserved_rules = client_certificates::unserved(&withheld);
    Admitted { subjects, canaries, withheld, left_out, unserved_rules, admission }
}

/// Decides who gets ports, hosts and paths. `ports` are the claims of the administrator.
pub fn claim<'s, 'a: 's>(
    mut ports: Vec<StreamClaim<'s>>,
    admitted: &'s Admitted<'a>,
    given: Given<'a>,
    certificates: &mut Certificates,
) -> Settled<'s, 'a> {
    let (Given { snapshot, world, options, claims, .. }, subjects) = (given, &admitted.subjects);
    ports.extend(ports::of_objects(subjects.iter().chain(&admitted.canaries)));
    let arbiter = Arbiter::new(options, world, claims, Allowances::new(options, snapshot));
    let default = options.default_certificate.as_ref();
    let default = default.and_then(|(namespace, name)| snapshot.secret(namespace, name));
    let named = subjects.iter().flat_map(|subject| {
        let secrets = subject.tls.iter().filter_map(|entry| entry.secret.as_deref());
        secrets.filter_map(|secret| snapshot.secret(&subject.id().namespace, secret))
    });
    // Claims are decided on one processor, so certificates are checked on the others.
    let (mut settled, ()) = rayon::join(
        || arbiter.settle(ports, subjects, &admitted.withheld),
        || certificates.prepare(named.chain(default)),
    );
    let Settled { sites, claims, outsiders, findings, .. } = &mut settled;
    let mut entries = Entries::new(snapshot, certificates);
    tls_idle::report(subjects, sites, outsiders, (snapshot, &mut entries), findings);
    challenges::report(subjects, sites, (snapshot, claims, options), findings);
    settled
}

/// The hosts that were built or kept.
pub struct Hosts<'a> {
    hosts: Vec<Arc<Built>>,
    /// What the rest may be built with.
    servers: Servers<'a>,
    /// What endpoints matter for outside of hosts.
    pub outside: Outside,
    /// What was found out for hosts that were built.
    pub found: Tables,
}

/// Follows references and builds the servers of hosts, of which it keeps those that stay.
pub fn build<'a>(
    admitted: &Admitted<'a>,
    sites: &[(ServerName, site::Site<'_, 'a>)],
    materials: Materials<'a>,
    kept: &mut BuiltHosts,
    findings: &mut Vec<Finding>,
) -> Hosts<'a> {
    let (mut outside, mut found) = (Outside::default(), Tables::default());
    if !admitted.left_out.is_empty() {
        let (reported, of_left_out) = left_out::findings(Servers::new(materials), &admitted.left_out);
        findings.extend(reported);
        outside = of_left_out;
    }
    let mut servers = Servers::new(materials);
    let mut hosts = Vec::with_capacity(sites.len() + 1);
    if site::find(sites, &ServerName::CatchAll).is_none() {
        let built = servers.build_catch_all();
        outside.dependencies.extend_from_slice(&built.dependencies);
        outside.resolutions.extend_from_slice(&built.resolutions);
        hosts.push(Arc::new(built));
    }
    hosts.extend(kept.build(sites, materials, |sites| {
        // References that several parts resolve have the same result in each.
        let parts = sites.par_chunks(sites.len().div_ceil(rayon::current_num_threads()).max(SMALLEST_PART));
        let parts = parts.map(|part| {
            let mut servers = Servers::new(materials);
            let built: Vec<_> = part.iter().map(|(name, site)| servers.build(name, site)).collect();
            (built, Tables { endpoints: servers.backends.found, certificates: servers.tls.found })
        });
        let (built, of_parts): (Vec<_>, Vec<_>) = parts.unzip();
        for Tables { endpoints, certificates } in of_parts {
            found.endpoints.extend(endpoints);
            found.certificates.extend(certificates);
        }
        built.into_iter().flatten().collect()
    }));
    Hosts { hosts, servers, outside, found }
}

/// The model, and what is remembered beside it.
pub struct Assembled {
    pub model: Model,
    /// What endpoints matter for outside of hosts.
    pub outside: Outside,
    /// What was found out about endpoints and certificates.
    pub found: Tables,
    /// Where fields name certificates.
    pub uses: Vec<Use>,
}

/// Puts together what was built, with what belongs to no host. States, findings and what else is
/// told of objects go into the translation.
pub fn assemble<'a>(
    built: Hosts<'a>,
    (objects, others): (&Objects<'_>, Vec<ObjectState>),
    admitted: &Admitted<'a>,
    (settled, offers): (&Settled<'a, 'a>, &Canaries<'_, 'a>),
    options: &Options,
    translation: &mut Translation,
) -> Assembled {
    let Settled { ports, refusals, ends, .. } = settled;
    let Admitted { subjects, canaries, admission, .. } = admitted;
    let Hosts { hosts: of_hosts, servers: Servers { mut backends, mut tls, .. }, mut outside, mut found } = built;
    let mut findings = Vec::new();
    let Gathered { built: mut servers, mut upstreams, mut certificates, mut uses, passed, taken, idle } =
        Gathered::of(&of_hosts, translation, &mut findings);
    findings.extend(admission.close(&mut servers));
    site::reserve(&mut servers, &translation.claims);
    offers.report(&taken, &mut findings);
    let streams = streams::build(ports, &mut backends, options, &mut findings);
    translation.note_names(&backends.names);
    upstreams.append(&mut backends.used);
    found.endpoints.append(&mut backends.found);
    outside.extend(Outside::of(backends));
    findings.extend(admit::near_names(&translation.names, &options.limits));
    // Several objects may have asked for the same; which of them was resolved first does not
    // matter.
    upstreams.par_sort_by(|one, other| one.id.cmp(&other.id).then_with(|| one.origin.cmp(&other.origin)));
    upstreams.dedup_by(|one, other| Arc::ptr_eq(one, other) || one.id == other.id);
    let is_of_stream = |upstream: &Arc<Upstream>| upstream.id.protocol.is_of_stream();
    let (mut stream_upstreams, upstreams): (Vec<_>, Vec<_>) = upstreams.into_iter().partition(is_of_stream);
    streams::share_connections(ports, &streams, &mut stream_upstreams);
    let of_backends = subjects.iter().filter_map(|subject| subject.reading.backend_tls.as_ref()?.certificate.as_ref());
    of_backends.for_each(|certificate| tls.use_as_well(certificate));
    let default_certificate = tls.default_certificate();
    certificates.extend(tls.used().into_iter().map(|certificate| (certificate.id.clone(), certificate)));
    found.certificates.append(&mut tls.found);
    uses.append(&mut tls.uses);
    findings.append(&mut tls.findings);

    translation.due = *ends;
    let parts = [&taken, &idle].map(|of| offers.parts(of));
    let all = subjects.iter().chain(canaries);
    let (ours, refused) = ([&objects.attached[..], &objects.unserved[..]], &translation.refused);
    translation.states = assemble::states::states(others, ours, refused, all, &servers, &parts, refusals);
    translation.findings.extend(findings);
    attach::relate(&objects.attached, &mut translation.findings);
    translation.findings.sort();
    translation.findings.dedup();
    translation.refused.append(&mut tls.refused);
    translation.refused.sort();
    translation.refused.dedup_by(|later, first| (&later.id, &later.version) == (&first.id, &first.version));
    let model = Model {
        listeners: assemble::listeners(options, &passed),
        servers,
        upstreams,
        certificates: certificates.into_values().collect(),
        authorities: assemble::authorities(subjects),
        password_files: assemble::password_files(subjects),
        default_certificate,
        forwarded: Forwarded {
            trusted: options.trusted_proxies.clone(),
            only_addresses: options.only_addresses,
            append: options.append_forwarded_for,
        },
        server_directives: options.server_directives.clone(),
        lookup_tables: Arc::clone(&options.lookup_tables),
        zones: admission.zones.clone(),
        streams: streams.into_iter().map(Arc::new).collect(),
        passthroughs: Passthroughs { hosts: passed, policy: options.streams.policy.clone() },
        stream_upstreams,
    };
    Assembled { model, outside, found, uses }
}
